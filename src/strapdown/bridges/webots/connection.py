"""Connection over one socket: received bytes, the requests in them, and pending answers."""

from __future__ import annotations

import socket
from struct import pack
from typing import TYPE_CHECKING, Final

from strapdown.bridges.webots.requests import request_size
from strapdown.bridges.webots.wire import quit_message
from strapdown.errors import FormatError

if TYPE_CHECKING:
    from strapdown.bridges.webots.wire import Session
    from strapdown.webots.port import Port

__all__ = ["Connection"]

CHUNK: Final = 1 << 16
MAX_AHEAD: Final = 1 << 20
"""Most data that a controller may send before it has its answer [bytes]."""
RECEIVE_S: Final = 0.02
"""Longest wait of one receive call [s]."""


class Connection:
    """Connection of a controller, or of a client that may become one.

    Parameters
    ----------
    peer : socket
    robot : str
        The robot that it has; empty until a handshake is over.

    Attributes
    ----------
    tcp : bool
        The transport: TCP, or a UNIX socket.
    port, session
        Of the robot; None until the first request.
    waits : bool
        For the end of a step; until then its next request has to wait too.
    received : bytes or bytearray
        Received bytes that are not processed yet.
    unsent : bytes
        Data still to be sent.
    told : set of str
        Notes that were logged once already.
    """

    def __init__(self, peer: socket.socket, robot: str) -> None:
        self.robot = robot
        self.tcp = peer.family != socket.AF_UNIX
        self.port: Port | None = None
        self.session: Session | None = None
        self.waits = False
        self.received: bytes | bytearray = b""
        self.unsent = b""
        self.told: set[str] = set()
        self._peer = peer
        limit = pack("ll", 0, round(RECEIVE_S * 1e6))
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        if self.tcp:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __str__(self) -> str:
        return f"robot {self.robot!r}" if self.robot else "a connection"

    def fileno(self) -> int:
        """Return the number of the socket, as polling wants it."""
        return self._peer.fileno()

    def receive(self) -> bool:
        """Receive available data; False if the other end has closed."""
        try:
            data = self._peer.recv(CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if self.received:
            self._growing().extend(data)
        else:
            self.received = data
        return bool(data)

    def request(self) -> bytes | None:
        """Return the next request, if it is all here and its turn.

        Returns
        -------
        bytes or None
            Empty: goodbye.

        Raises
        ------
        FormatError
            The data are not a request, or more than a controller may send ahead.
        """
        received = self.received
        if self.waits or self.unsent:
            if len(received) > MAX_AHEAD:
                raise FormatError(
                    f"expected a controller to wait for answers, got {len(received)} bytes"
                )
            return None
        size = request_size(received)
        if size == len(received):
            self.received = b""
            return bytes(received)
        if size is None or len(received) < size:
            return None
        received = self._growing()
        request = bytes(received[:size])
        del received[:size]
        return request

    def send(self, data: bytes = b"") -> None:
        """Send what can be sent now, and keep the rest."""
        data = self.unsent + data
        try:
            sent = self._peer.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        except OSError:  # the next receive call detects that the other end is lost
            sent = len(data)
        self.unsent = data[sent:]

    def quit(self, timeout_s: float) -> None:
        """Send a controller the request to quit; OSError if it has left already."""
        self._peer.settimeout(timeout_s)
        self._peer.sendall(self.unsent + quit_message(tcp=self.tcp))

    def drain(self, timeout_s: float) -> bool:
        """Discard received data; False if the other end has closed."""
        self._peer.settimeout(timeout_s)
        return bool(self._peer.recv(CHUNK))

    def close(self) -> None:
        """Close the socket."""
        self._peer.close()

    def _growing(self) -> bytearray:
        """Return a buffer of received bytes."""
        if isinstance(self.received, bytes):
            self.received = bytearray(self.received)
        return self.received

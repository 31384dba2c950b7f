"""One end of MAVLink over UDP."""

from __future__ import annotations

import math
import socket
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_member
from strapdown._closing import Closing
from strapdown._html import FieldsAsHtml
from strapdown.errors import PeerLostError, ValueRangeError
from strapdown.formats.mavlink.conversion import NO_AMBIENT, records_from_series
from strapdown.formats.mavlink.frames import Decoder
from strapdown.formats.mavlink.messages import (
    AXES,
    Kind,
    dialect,
    messages_from_records,
    stamps_of,
)
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown.formats.mavlink.conversion import Ambient, RawScale
    from strapdown.formats.mavlink.messages import WireMessage
    from strapdown.series import ImuSeries

__all__ = ["LOOPBACK", "MavlinkLink", "SendReport", "address_of"]

LOOPBACK: Final = "127.0.0.1"
_DATAGRAM: Final = 1 << 16
_BLOCK: Final = 1024
_BUFFER: Final = 1 << 22
"""Bytes that may wait to be received; a burst longer than that is lost."""


@dataclass(frozen=True)
class SendReport(FieldsAsHtml):
    """An account of a sending.

    Parameters
    ----------
    messages : int
        How many were sent.
    refused : int
        Number of these that the system reports as refused at the address.
    saturated : int
        How many hold a number that did not fit 16 bits.
    wall_s : float
        How long it took [s].
    """

    messages: int
    refused: int
    saturated: int
    wall_s: float


class MavlinkLink(Closing):
    """MAVLink 2 over UDP, to one address or from any sender.

    Parameters
    ----------
    to : str, optional
        ``[HOST:]PORT`` to send to; its answers are received.
    listen : str, optional
        ``[HOST:]PORT`` to receive at; answers go to who was heard last. Without a host it is
        ``127.0.0.1``, which other machines cannot reach. Port 0 is any free one.
    system, component : int
        Who sends, by the numbers of MAVLink.

    Attributes
    ----------
    decoder : Decoder
        Counts what was received and what was lost.

    Raises
    ------
    ValueRangeError
        Neither or both of ``to`` and ``listen`` are given, or an address is none.
    BackendMissingError
        pymavlink is not installed.
    OSError
        The address is not available; ``filename`` contains it.

    Examples
    --------
    >>> with MavlinkLink(listen="0") as link:
    ...     print(link.receive(timeout_s=0.0))
    None
    """

    def __init__(
        self,
        *,
        to: str | None = None,
        listen: str | None = None,
        system: int = 1,
        component: int = 1,
    ) -> None:
        if (to is None) is (listen is None):
            raise ValueRangeError(f"expected either to= or listen=, got {to!r} and {listen!r}")
        self._mav = dialect().MAVLink(None, srcSystem=system, srcComponent=component)
        self.decoder = Decoder()
        self._received: deque[WireMessage] = deque()
        self._refused = 0
        self._is_listening = to is None
        self._heard: tuple[str, int] | None = None
        place = address_of(f"{listen if to is None else to}", least=0 if to is None else 1)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            (self._socket.bind if self._is_listening else self._socket.connect)(place)
        except OSError as error:
            self._socket.close()
            raise type(error)(error.errno, error.strerror, "{}:{}".format(*place)) from None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of this end."""
        host, port = self._socket.getsockname()
        return host, port

    def send(self, kind: Kind, records: NDArray[np.void], *, speed: float = math.inf) -> SendReport:
        """Send messages, at once or at the times of their stamps.

        Parameters
        ----------
        kind : Kind
            Which message they are.
        records : (N,) array of DTYPES[kind]
        speed : float
            Seconds of the stamps that go by in one second, counted from the first message;
            infinite: do not wait.

        Returns
        -------
        SendReport

        Raises
        ------
        ValueRangeError
            The speed is not positive.
        PeerLostError
            The link listens, and has not heard anybody to answer to.
        """
        if not speed > 0.0:
            raise ValueRangeError(f"expected a speed above 0, got {speed}")
        refused, begin = self._refused, time.monotonic()
        for first in range(0, len(records), _BLOCK):
            block = records[first : first + _BLOCK]
            offsets = (stamps_of(block) - stamps_of(records[:1])) / (NS_PER_S * speed)
            for message, offset in zip(messages_from_records(kind, block), offsets, strict=True):
                wait = begin + float(offset) - time.monotonic()
                if wait > 0.0:
                    time.sleep(wait)
                self.send_message(message)
        self._note_refusal()
        took = time.monotonic() - begin
        return SendReport(len(records), self._refused - refused, _saturated(records), took)

    def send_message(self, message: WireMessage) -> None:
        """Send a message object of pymavlink.

        Raises
        ------
        PeerLostError
            The link listens, and has not heard anybody to answer to.
        """
        if self._is_listening and self._heard is None:
            host, port = self.address
            raise PeerLostError(
                f"expected somebody to answer to, nobody was heard at {host}:{port}; receive first"
            )
        data = message.pack(self._mav)
        try:
            self._put(data)
        except ConnectionRefusedError:  # said of the message before
            self._refused += 1
            self._put(data)
        self._mav.seq = (self._mav.seq + 1) % 256

    def send_imu(
        self,
        series: ImuSeries,
        *,
        kind: Kind | str = Kind.HIL_SENSOR,
        speed: float = 1.0,
        ambient: Ambient = NO_AMBIENT,
        scale: RawScale | None = None,
    ) -> SendReport:
        """Send samples at the times of their stamps.

        Parameters
        ----------
        series : ImuSeries
            In the order of time.
        kind : Kind or its name
            Which message.
        speed : float
            As :meth:`send`.
        ambient, scale : optional
            As :func:`~strapdown.bridges.mavlink.records_from_series`.

        Returns
        -------
        SendReport

        Raises
        ------
        ValueRangeError, UnknownNameError, ShapeError
            As ``records_from_series``.
        PeerLostError
            As :meth:`send`.
        """
        kind = as_member(Kind, kind, "MAVLink message")
        records = records_from_series(kind, series, ambient=ambient, scale=scale)
        return self.send(kind, records, speed=speed)

    def receive(self, timeout_s: float | None = None) -> WireMessage | None:
        """Return the next message of any kind, an object of pymavlink.

        Parameters
        ----------
        timeout_s : float, optional
            How long to wait for it [s]; by default for ever.

        Returns
        -------
        object or None
            None if none came in time.
        """
        until = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while not self._received:
            left = max(until - time.monotonic(), 0.0)
            self._socket.settimeout(None if left == math.inf else left)
            try:
                data, sender = self._socket.recvfrom(_DATAGRAM)
            except (TimeoutError, BlockingIOError):
                return None
            except ConnectionRefusedError:  # said of an earlier sending
                self._refused += 1
                continue
            finally:
                self._socket.settimeout(None)
            self._received.extend(self.decoder.datagram(data))
            if self._is_listening:
                self._heard = sender
        return self._received.popleft()

    def close(self) -> None:
        """Leave the address; a second call does nothing."""
        self._socket.close()

    def _put(self, data: bytes) -> None:
        """Send a frame to the one address, or to who was heard last."""
        if self._heard is None:
            self._socket.send(data)
        else:
            self._socket.sendto(data, self._heard)

    def _note_refusal(self) -> None:
        """Count a send that the system reports as refused at the address."""
        if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._refused += 1


def _saturated(records: NDArray[np.void]) -> int:
    """Return how many messages hold the smallest or largest number of 16 bits."""
    if records.dtype["xacc" if "xacc" in (records.dtype.names or ()) else 0] != np.int16:
        return 0
    limits = np.iinfo(np.int16)
    rows = np.zeros(len(records), np.bool_)
    for name in AXES:
        rows |= (records[name] == limits.min) | (records[name] == limits.max)
    return int(rows.sum())


def address_of(text: str, *, least: int) -> tuple[str, int]:
    """Return the host and port of ``[HOST:]PORT``; without a host it is :data:`LOOPBACK`.

    Raises
    ------
    ValueRangeError
        The text is no such address, or the port is below ``least``.
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()) or not least <= int(port) <= 65535:
        raise ValueRangeError(f"expected [HOST:]PORT with a port of {least} to 65535, got {text!r}")
    try:
        host.encode("idna")
    except UnicodeError:
        raise ValueRangeError(f"expected the name of a host, got {host!r}") from None
    return host or LOOPBACK, int(port)

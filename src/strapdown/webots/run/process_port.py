"""Port of a robot whose controller runs in a separate process.

Each end has one of a pair of connected sockets, so nothing listens on an address. A message is a
list of plain values (numbers, texts, lists, dictionaries): neither end can make the other load or
run code. Requests of the controller: ``configure``, ``step`` with milliseconds and requests,
``supervise`` with a method and its arguments, ``close``. Each but the last has one reply: ``done``
and a value, or ``failed`` with the class and the text of an error.
"""

from __future__ import annotations

import builtins
import marshal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from strapdown import errors
from strapdown.webots.port import Answer, DeviceInfo, RobotInfo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from socket import socket

    from strapdown.webots.port import Request

__all__ = ["MessageSocket", "ProcessPort", "fail", "reply"]

Plain: TypeAlias = Any
"""A number, a text, bytes, None, or a list, tuple or dictionary of such."""

DONE = "done"
FAILED = "failed"
GONE = 1
"""Exit status of a controller whose simulation vanished."""
_SIZE: Final = 4
"""Number of bytes before each message that contain its length."""


class MessageSocket:
    """Messages of plain values over one of a pair of connected sockets.

    Parameters
    ----------
    end : socket
        Blocking; closed with the connection.
    """

    def __init__(self, end: socket) -> None:
        self.fileno = end.fileno
        self.close = end.close
        self._send, self._receive = end.sendall, end.recv

    def send(self, message: Plain) -> None:
        """Send plain values; instances of subclasses are sent as their plain base type."""
        try:
            data = marshal.dumps(message)
        except ValueError:
            data = marshal.dumps(_plain(message))
        self._send(len(data).to_bytes(_SIZE, "little") + data)

    def receive(self) -> Plain:
        """Return the next message.

        Raises
        ------
        EOFError, OSError
            The other end was closed.
        """
        size = int.from_bytes(self._exactly(_SIZE), "little")
        return marshal.loads(self._exactly(size))  # noqa: S302 (plain values of our own process)

    def _exactly(self, size: int) -> bytes:
        data = self._receive(size)
        while len(data) < size:
            more = self._receive(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data


def reply(socket: MessageSocket, value: Plain) -> None:
    """Answer a request of the controller."""
    socket.send((DONE, value))


def fail(socket: MessageSocket, error: Exception) -> None:
    """Answer a request of the controller with an error, which is raised there."""
    socket.send((FAILED, (type(error).__name__, str(error))))


class ProcessPort:
    """The controller's end, a :class:`strapdown.webots.port.Port`.

    Parameters
    ----------
    socket : MessageSocket
        This end of the pair of sockets.
    """

    def __init__(self, socket: MessageSocket) -> None:
        self._socket = socket

    def configure(self) -> RobotInfo:
        """Return the description of robot and world; the first call of a controller."""
        info = RobotInfo(*self._ask("configure"))
        return info._replace(devices=tuple(DeviceInfo(*each) for each in info.devices))

    def begin(self, ms: int, requests: Sequence[Request]) -> None:
        """Send requests, and ask for ``ms`` of simulated time."""
        self._send("step", ms, requests)

    def end(self) -> Answer:
        """Wait for the answer to :meth:`begin`."""
        answer = Answer(*self._receive())
        if answer.devices:
            answer = answer._replace(devices=[DeviceInfo(*each) for each in answer.devices])
        return answer

    def exchange(self, ms: int, requests: Sequence[Request]) -> Answer:
        """Call :meth:`begin` and :meth:`end`."""
        self.begin(ms, requests)
        return self.end()

    def supervise(self, method: str, *arguments: Any) -> Any:  # noqa: ANN401 (as the method says)
        """Call a supervisor's method in the process of the world."""
        return self._ask("supervise", method, arguments)

    def close(self) -> None:
        """Announce that the controller no longer participates; its process may continue."""
        try:
            self._socket.send(("close",))
        except OSError:
            return  # the simulation ended first

    def _ask(self, word: str, *arguments: Plain) -> Plain:
        self._send(word, *arguments)
        return self._receive()

    def _send(self, word: str, *arguments: Plain) -> None:
        try:
            self._socket.send((word, *arguments))
        except OSError:
            raise SystemExit(GONE) from None

    def _receive(self) -> Plain:
        try:
            outcome, value = self._socket.receive()
        except (EOFError, OSError):
            raise SystemExit(GONE) from None
        if outcome == FAILED:
            raise _error(*value)
        return value


def _error(kind: str, text: str) -> Exception:
    """Reconstruct an error that was raised in the process of the world."""
    known = getattr(errors, kind, None) or getattr(builtins, kind, None) or errors.DeviceError
    error: Exception = known.__new__(known, text)
    return error


def _plain(value: Plain) -> Plain:
    """Return a value with instances of subclasses converted to plain types."""
    if value is None or isinstance(value, bool | bytes):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    raise TypeError(f"expected a number, a text, or a list of them, got {type(value).__name__}")

"""Named topics of typed messages within one process.

Each topic is one ring of messages, shared by every handle that is open on its name; a handle
is a cursor into the ring. ``send`` writes into the ring once, whoever listens, and never
waits: where the ring is full the oldest message gives way, and each handle that had not
received it counts one lost. Every handle gets every message, those it sent itself included,
in the order of sending.

A message is copied when it is sent and again when it is received, so nobody's later edits
reach anybody else. The ring lives as long as a handle is open on it.
"""

from __future__ import annotations

import copy
import ctypes
import re
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import numpy as np

from strapdown.errors import TransportError, ValueRangeError
from strapdown.transport._local import LocalPort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    from strapdown._typing import AnyArray
    from strapdown.transport.stats import TopicStats

__all__ = ["Topic"]

Message = TypeVar("Message")


class Topic(Generic[Message]):
    """A handle on a topic, to send and to receive; every method is safe among threads.

    ``Topic("imu.data", Imu)`` is short for ``Topic(Imu, name="imu.data")``.

    Parameters
    ----------
    msg_type : type
        Type of the messages.
    capacity : int, optional
        Messages that are retained, rounded up to a power of two. The first handle on a topic
        decides, by default for 1024.
    endpoint, name : str, optional
        Name of the topic: letters, digits and ``_ . / -``, at most 255; one leading slash does
        not count. By default ``msg_type.__topic_name__``. The two mean the same.
    history : int, optional
        How many of the messages that were sent before this handle joined it receives; by
        default all that are retained.

    Raises
    ------
    ValueRangeError
        The name is not allowed, ``name`` and ``endpoint`` differ, or a number is out of range.
    TransportError
        The topic carries another type, or has another capacity.
    TypeError
        ``msg_type`` is no type, or it has no default name and none is given.

    Examples
    --------
    >>> from strapdown.messages import Imu
    >>> with Topic(Imu) as sender, Topic(Imu) as receiver:
    ...     sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1))
    ...     receiver.recv().accel_z
    True
    9.81
    """

    @overload
    def __init__(
        self,
        msg_type: type[Message],
        capacity: int | None = None,
        endpoint: str | None = None,
        *,
        name: str | None = None,
        history: int | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self, msg_type: str, capacity: type[Message], *, history: int | None = None
    ) -> None: ...

    def __init__(
        self,
        msg_type: type[Message] | str,
        capacity: int | type[Message] | None = None,
        endpoint: str | None = None,
        *,
        name: str | None = None,
        history: int | None = None,
    ) -> None:
        names = [endpoint, name]
        if isinstance(msg_type, str) and isinstance(capacity, type):
            names.append(msg_type)
            msg_type, capacity = capacity, None
        if not isinstance(msg_type, type):
            raise TypeError(f"expected the type of the messages, got {msg_type!r}")
        if isinstance(capacity, type):
            raise TypeError(f"expected a capacity, got {capacity!r}")
        self._type = msg_type
        self._encode, self._decode = _codec(msg_type)
        self._port = LocalPort(_topic_name(msg_type, names), msg_type, capacity, history)

    def send(self, message: Message) -> bool:
        """Put a copy of a message on the topic, without ever waiting.

        Returns
        -------
        bool
            True.

        Raises
        ------
        TypeError
            The message is not of the topic's type.
        TransportError
            The handle is closed.
        """
        self._port.write(self._stored(message))
        return True

    def try_send(self, message: Message) -> bool:
        """Send only if no message gives way that a subscriber has yet to receive.

        As long as nobody has received from the topic, every open handle counts as one that will.

        Returns
        -------
        bool
            False where the ring is full; the message is then not sent.

        Raises
        ------
        TypeError, TransportError
            As :meth:`send`.
        """
        return self._port.try_write(self._stored(message))

    def recv(self, timeout: float | None = 0.0) -> Message | None:
        """Receive the next message.

        Parameters
        ----------
        timeout : float or None, optional
            Longest wait [s], by default none; ``None`` waits for ever. Ctrl-C ends a wait.

        Returns
        -------
        message or None
            None where nothing came in time.

        Raises
        ------
        ValueRangeError
            The timeout is negative or NaN.
        TransportError
            The handle is closed, or was closed during the wait.
        """
        if timeout is not None and not timeout >= 0.0:
            raise ValueRangeError(f"expected a timeout of 0 s or more, or None, got {timeout}")
        stored = self._port.read(timeout)
        return None if stored is None else self._decode(stored)

    def try_recv(self) -> Message | None:
        """Receive the next message if there is one: ``recv(0.0)``."""
        return self.recv(0.0)

    def recv_all(self, max: int | None = None) -> list[Message]:  # noqa: A002 (the API's name)
        """Receive the messages that wait, oldest first, at most ``max`` of them."""
        return [self._decode(stored) for stored in self._port.drain(max)]

    def recv_array(self) -> AnyArray:
        """Receive the messages that wait, as one array of the type's ``dtype``.

        Raises
        ------
        TypeError
            The type has no ``dtype``: its messages have no fixed layout.
        TransportError
            The handle is closed.
        """
        dtype = getattr(self._type, "dtype", None)
        if dtype is None or self._encode is not bytes:
            raise TypeError(f"{self._type.__qualname__} has no fixed layout: use recv_all()")
        return np.frombuffer(bytearray().join(self._port.drain(None)), dtype)

    def read_latest(self) -> Message | None:
        """Return the newest message that is retained, and leave it to be received."""
        stored = self._port.latest()
        return None if stored is None else self._decode(stored)

    def __iter__(self) -> Iterator[Message]:
        """Receive for ever; closing the handle ends the loop."""
        while True:
            try:
                stored = self._port.read(None)
            except TransportError:
                return
            yield self._decode(stored)

    def pending_count(self) -> int:
        """Messages that this handle can receive now."""
        return self._port.pending()

    def missed_count(self) -> int:
        """Messages that gave way before this handle received them."""
        return self.stats().lost_overwritten

    def dropped_count(self) -> int:
        """Messages lost between processes."""
        return self.stats().lost_transport

    def pub_count(self) -> int:
        """Open handles on the topic that have sent."""
        return self.stats().publishers

    def sub_count(self) -> int:
        """Open handles on the topic that have received."""
        return self.stats().subscribers

    def stats(self) -> TopicStats:
        """All counts, taken at one instant."""
        return self._port.stats()

    @property
    def name(self) -> str:
        """Name of the topic, without a leading slash."""
        return self._port.name

    @property
    def endpoint(self) -> str:
        """The same as ``name``."""
        return self._port.name

    @property
    def backend_type(self) -> str:
        """How messages travel: ``"local"``, within the process."""
        return "local"

    @property
    def is_network_topic(self) -> bool:
        """Whether messages leave the machine."""
        return False

    def is_generic(self) -> bool:
        """Whether the topic takes messages of any type: never."""
        return False

    def close(self) -> None:
        """Leave the topic; a second call does nothing."""
        self._port.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._port.ring is None else ""
        return f"Topic({self._type.__name__}, name={self.name!r}{closed})"

    def _stored(self, message: Message) -> object:
        if type(message) is not self._type:
            raise TypeError(
                f"topic {self.name!r} carries {self._type.__qualname__}, "
                f"got {type(message).__qualname__}"
            )
        return self._encode(message)


def _codec(
    msg_type: type[Message],
) -> tuple[Callable[[Message], object], Callable[[Any], Message]]:
    """Return how to make a private copy of a message, and a message from that copy."""
    if issubclass(msg_type, ctypes.Structure):
        return cast("Callable[[Message], object]", bytes), msg_type.from_buffer_copy
    return copy.deepcopy, copy.deepcopy


def _topic_name(msg_type: type, candidates: list[str | None]) -> str:
    """Return the one name that is given, or the default of the type."""
    names = {_checked_name(candidate) for candidate in candidates if candidate is not None}
    if len(names) > 1:
        raise ValueRangeError(f"expected one topic name, got {' and '.join(sorted(names))}")
    if names:
        return names.pop()
    default: str | None = getattr(msg_type, "__topic_name__", None)
    if default is None:
        raise TypeError(f"{msg_type.__qualname__} has no default topic name: pass name=")
    return default


def _checked_name(name: str) -> str:
    where = f"topic name {name!r}"
    if "@" in name:
        raise ValueRangeError(
            f"{where}: unexpected '@'; a topic on another host needs backend=\"zenoh\", not a name"
        )
    bad = re.search(r"[^A-Za-z0-9_./-]|//|(?<=.)/\Z", name)
    if bad:
        raise ValueRangeError(
            f"{where}: unexpected {bad.group()!r} at character {bad.start()}; use letters, digits "
            "and _ . - with single slashes between"
        )
    bare = name.removeprefix("/")
    if not 1 <= len(bare) <= 255:
        raise ValueRangeError(f"{where}: expected 1 to 255 characters, got {len(bare)}")
    return bare

"""Named topics of typed messages.

Each topic is one ring of messages, shared by every handle of this process that is open on its
name; a handle is a cursor into the ring. ``send`` writes into the ring once, regardless of the
number of receivers. Where the ring is full the newest message replaces the oldest, and each handle
that had not received it counts one lost. Every handle gets every message, including its own, in
the order of sending. A backend joins the ring to the same topic in other processes.

A message is copied when it is sent and again when it is received, so later edits stay local. The
ring exists as long as a handle is open on it.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

import numpy as np

from strapdown._closing import Closing
from strapdown.errors import TransportError, UnknownNameError, ValueRangeError
from strapdown.transport.backends import find_backend
from strapdown.transport.link import Channel
from strapdown.transport.names import topic_name
from strapdown.transport.registry import RELIABILITIES, close_handle, open_handle
from strapdown.transport.ring import WAIT_SLICE_S, Ring
from strapdown.transport.slots import Handle, closed_error
from strapdown.transport.stats import Info
from strapdown.transport.wire import MESSAGE_TYPES, wire_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from strapdown._typing import AnyArray
    from strapdown.transport.backends import AnyBackend
    from strapdown.transport.stats import TopicStats

__all__ = ["Topic"]

Message = TypeVar("Message")

DEFAULT_CAPACITY: Final = 1024
LOOK_S: Final = 0.005  # between looks for others

_log = getLogger(__name__)


class Topic(Handle, Closing, Generic[Message]):
    """A handle on a topic, to send and to receive; every method is thread-safe.

    ``Topic("imu.data", Imu)`` is short for ``Topic(Imu, name="imu.data")``.

    Parameters
    ----------
    msg_type : type
        Type of the messages. Those of ``strapdown.messages`` can leave the process.
    capacity : int, optional
        Messages that are retained, rounded up to a power of two. The first handle on a topic
        decides, by default for 1024.
    endpoint, name : str, optional
        Name of the topic: letters, digits and ``_ . / -``, at most 255; one leading slash does
        not count. By default ``msg_type.__topic_name__``. The two mean the same.
    backend : str or Backend, optional
        Transport of messages: ``"local"`` within the process, ``"ipc"`` on this host,
        ``"zenoh"``, ``"horus"``, ``"ros1"``, ``"ros2"``, or one of these with options, such
        as ``Zenoh(connect=("tcp/10.0.0.2:7447",))``. By default the one named by the
        environment variable ``STRAPDOWN_BACKEND``, or ``ipc``.
    history : int, optional
        Number of messages sent before this handle joined that it receives; by default all that
        are retained. From other processes it receives all, or over ``ipc`` none if the first
        handle of this process asks for 0.
    reliability : {"sensor", "reliable"}, optional
        Effect of a slow subscriber: the oldest messages are replaced and counted as lost, or
        the sender waits.

    Raises
    ------
    ValueRangeError
        The name is not allowed, ``name`` and ``endpoint`` differ, or a number is out of range.
    UnknownNameError
        There is no such backend or reliability.
    TransportError
        The topic carries another type, has another capacity or reliability, or the backend
        cannot carry it.
    BackendMissingError
        The backend needs a package that is not installed.
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

    __slots__ = ("_callbacks", "_copy", "_decode", "_form", "_name", "_type", "_waiter")
    _ring: Ring | None

    @overload
    def __init__(
        self,
        msg_type: type[Message],
        capacity: int | None = None,
        endpoint: str | None = None,
        *,
        name: str | None = None,
        backend: AnyBackend = "auto",
        history: int | None = None,
        reliability: str = "sensor",
    ) -> None: ...

    @overload
    def __init__(
        self,
        msg_type: str,
        capacity: type[Message],
        *,
        backend: AnyBackend = "auto",
        history: int | None = None,
        reliability: str = "sensor",
    ) -> None: ...

    def __init__(  # noqa: PLR0913 (options, by keyword)
        self,
        msg_type: type[Message] | str,
        capacity: int | type[Message] | None = None,
        endpoint: str | None = None,
        *,
        name: str | None = None,
        backend: AnyBackend = "auto",
        history: int | None = None,
        reliability: str = "sensor",
    ) -> None:
        names = [endpoint, name]
        if isinstance(msg_type, str) and isinstance(capacity, type):
            names.append(msg_type)
            msg_type, capacity = capacity, None
        if not isinstance(msg_type, type):
            raise TypeError(f"expected the type of the messages, got {msg_type!r}")
        if not (capacity is None or isinstance(capacity, int)):
            raise TypeError(f"expected a capacity, got {capacity!r}; the name goes into name=")
        if capacity is not None and capacity < 1:
            raise ValueRangeError(f"expected a capacity of 1 or more, got {capacity}")
        if history is not None and history < 0:
            raise ValueRangeError(f"expected a history of 0 or more, got {history}")
        if reliability not in RELIABILITIES:
            raise UnknownNameError("reliability", reliability, RELIABILITIES)
        self._type = msg_type
        self._name = topic_name(msg_type, names)
        self._callbacks: list[Callable[[Message], object]] = []
        self._waiter: ThreadPoolExecutor | None = None
        self._form = form = wire_form(msg_type)
        self._decode = form.decode
        # Adding a message to no bytes copies it in half the time that calling bytes() takes.
        self._copy: Any = b"" if form.encode is bytes else _Copy(form.encode)
        way = find_backend(backend)
        if not (form.can_leave or backend == "auto" or way.module is None):
            raise TransportError(
                f"topic {self._name!r}: messages of type {form.name} cannot leave the process; "
                f"use backend='local', or one of the types {', '.join(MESSAGE_TYPES)}"
            )
        slots = 1 << ((capacity or DEFAULT_CAPACITY) - 1).bit_length()
        channel = Channel(self._name, form, slots, reliability == "reliable")
        open_handle(self, way, channel, history, any_capacity=capacity is None)

    def send(self, message: Message) -> bool:
        """Send a copy of a message.

        It never waits, unless the topic is reliable: then for room, 5 s at most.

        Returns
        -------
        bool
            True.

        Raises
        ------
        TypeError
            The message is not of the topic's type.
        TransportError
            The handle is closed; or the topic is reliable, and there is no room.
        """
        if message.__class__ is not self._type:
            raise self._wrong_type(message)
        stored = self._copy + message
        if self._out is not None:
            try:
                self._out[self._next], self._next = stored, self._next + 1  # one step: see slots.py
            except IndexError:  # the segment is full
                pass
            else:
                return True
        (self._ring or self._open()).write(self, stored)
        return True

    def try_send(self, message: Message) -> bool:
        """Send only if no message is replaced that a subscriber of this process has yet to receive.

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
        return self.send_blocking(message, 0.0)

    def send_blocking(self, message: Message, timeout_s: float) -> bool:
        """Send as :meth:`try_send`, and wait at most ``timeout_s`` for room.

        Returns
        -------
        bool
            False where there was none in time; the message is then not sent.

        Raises
        ------
        ValueRangeError
            The timeout is negative or NaN.
        TypeError, TransportError
            As :meth:`send`.
        """
        _checked_timeout(timeout_s)
        if message.__class__ is not self._type:
            raise self._wrong_type(message)
        return self._open().write_if_room(self, self._copy + message, timeout_s)

    def recv(self, timeout: float | None = 0.0) -> Message | None:
        """Receive the next message.

        Parameters
        ----------
        timeout : float or None, optional
            Longest wait [s], by default 0; ``None`` waits for ever. Ctrl-C ends a wait.

        Returns
        -------
        message or None
            None if none came in time.

        Raises
        ------
        ValueRangeError
            The timeout is negative or NaN, and no message is waiting.
        TransportError
            The handle is closed, or was closed during the wait.
        """
        try:
            stored = self._segment[self._index]
        except IndexError:  # the segment is over
            stored = None
        if stored is None:
            if not (timeout is None or timeout >= 0.0):
                raise _timeout_error(timeout)
            stored = (self._ring or self._open()).read(self, timeout)
            if stored is None:
                return None
        else:
            self._index += 1  # one step since the look at _segment: see slots.py
        decode = self._decode  # CPython 3.11 calls the value of a slot faster through a local name
        return decode(stored)

    def try_recv(self) -> Message | None:
        """Receive the next message if there is one: ``recv(0.0)``."""
        return self.recv(0.0)

    def recv_with_info(self, timeout: float | None = 0.0) -> tuple[Message, Info] | None:
        """Receive the next message and its origin.

        For messages of this process the time of sending is known from the first call on.

        Parameters
        ----------
        timeout : float or None, optional
            As that of :meth:`recv`.

        Returns
        -------
        (message, Info) or None
            None if none came in time.

        Raises
        ------
        ValueRangeError, TransportError
            As :meth:`recv`.
        """
        taken = self._open().read_with_origin(self, _checked_timeout(timeout))
        if taken is None:
            return None
        stored, origin = taken
        return self._decode(stored), Info(*origin[1:])

    def recv_all(self, max: int | None = None) -> list[Message]:  # noqa: A002 (the API's name)
        """Receive the waiting messages, oldest first, at most ``max`` of them."""
        return [self._decode(stored) for stored in self._open().drain(self, max)]

    def recv_array(self) -> AnyArray:
        """Receive the waiting messages as one array of the type's ``dtype``.

        Raises
        ------
        TypeError
            The type has no ``dtype``: its messages have no fixed layout.
        TransportError
            The handle is closed.
        """
        dtype = self._form.dtype
        if dtype is None:
            raise TypeError(f"{self._type.__qualname__} has no fixed layout: use recv_all()")
        return np.frombuffer(bytearray().join(self._open().drain(self, None)), dtype)

    def read_latest(self) -> Message | None:
        """Return the newest retained message without receiving it."""
        stored = self._open().latest()
        return None if stored is None else self._decode(stored)

    def __iter__(self) -> Iterator[Message]:
        """Receive for ever; closing the handle ends the loop."""
        while True:
            try:
                message = self.recv(None)
            except TransportError:
                if self._ring is None:
                    return
                raise
            if message is not None:
                yield message

    def __aiter__(self) -> Self:
        """Receive for ever without blocking the event loop; closing the handle ends the loop."""
        return self

    async def __anext__(self) -> Message:
        """Receive the next message; cancelling it loses none."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)  # other tasks run even if messages never stop
        while True:
            try:
                message = self.recv()
                if message is not None:
                    return message
                waiter = self._waiter
                if waiter is None:
                    waiter = self._waiter = ThreadPoolExecutor(1, f"strapdown-{self._name}")
                await loop.run_in_executor(waiter, self._open().wait, self, WAIT_SLICE_S)
            except TransportError:
                if self._ring is None:
                    raise StopAsyncIteration from None
                raise

    def on_message(self, function: Callable[[Message], object]) -> None:
        """Call a function with each message from now on, until the handle is closed.

        One thread calls all functions of this handle, one after the other, with the same
        message. An error of a function is logged, and the thread continues. It takes the
        messages: do not receive from this handle otherwise.

        Raises
        ------
        TransportError
            The handle is closed.
        """
        ring = self._open()
        with ring.lock:
            self._callbacks.append(function)
            if len(self._callbacks) == 1:
                name = f"strapdown-{self._name}"
                threading.Thread(target=self._call, name=name, daemon=True).start()

    def wait_for_publisher(self, timeout: float | None = None) -> bool:
        """Wait until another handle or process has sent; False after ``timeout`` seconds."""
        return self._wait_until(Ring.is_sent_to, timeout)

    def wait_for_subscriber(self, timeout: float | None = None) -> bool:
        """Wait until another handle or process receives; False after ``timeout`` seconds."""
        return self._wait_until(Ring.is_heard, timeout)

    def pending_count(self) -> int:
        """Messages that this handle can receive now."""
        return self._open().pending(self)

    def missed_count(self) -> int:
        """Messages that were replaced before this handle received them."""
        return self.stats().lost_overwritten

    def dropped_count(self) -> int:
        """Messages lost between processes."""
        return self.stats().lost_transport

    def pub_count(self) -> int:
        """Open handles that have sent, and processes elsewhere that publish."""
        return self.stats(settled=False).publishers

    def sub_count(self) -> int:
        """Open handles that have received, and processes elsewhere that subscribe."""
        return self.stats(settled=False).subscribers

    def stats(self, *, settled: bool = True) -> TopicStats:
        """Return all counts, taken at one instant.

        Parameters
        ----------
        settled : bool
            Detect losses first that no later message has shown yet; over zenoh publishers are
            asked, which takes 0.5 s at most.

        Raises
        ------
        TransportError
            The handle is closed.
        """
        return self._open().stats(self, settled=settled)

    @property
    def msg_type(self) -> type[Message]:
        """Type of the messages."""
        return self._type

    @property
    def name(self) -> str:
        """Name of the topic, without a leading slash."""
        return self._name

    @property
    def endpoint(self) -> str:
        """The same as ``name``."""
        return self._name

    @property
    def backend_type(self) -> str:
        """Backend by which messages leave the process, such as ``"ipc"``, or ``"local"``."""
        return self._open().join().name

    @property
    def is_network_topic(self) -> bool:
        """Whether messages leave the machine."""
        return self._open().join().is_network

    def is_generic(self) -> bool:
        """Whether the topic takes messages of any type: never."""
        return False

    def close(self) -> None:
        """Leave the topic; a second call does nothing.

        The last handle on a reliable topic waits until all messages are delivered, 5 s at most.

        Raises
        ------
        TransportError
            Not all were delivered.
        """
        waiter, self._waiter = self._waiter, None
        close_handle(self)
        if waiter is not None:
            waiter.shutdown(wait=False)

    def __repr__(self) -> str:
        closed = ", closed" if self._ring is None else ""
        return f"Topic({self._type.__name__}, name={self.name!r}{closed})"

    def _open(self) -> Ring:
        ring = self._ring
        if ring is None:
            raise closed_error(self._name)
        return ring

    def _call(self) -> None:
        for message in self:
            for function in self._callbacks:
                try:
                    function(message)
                except Exception:  # noqa: BLE001 (a user's function may raise anything)
                    _log.exception("topic %r: a function on its messages failed", self._name)

    def _wait_until(self, met: Callable[[Ring, Handle], bool], timeout: float | None) -> bool:
        limit = _checked_timeout(timeout)
        end = math.inf if limit is None else time.monotonic() + limit
        while not met(self._open(), self):
            remaining = end - time.monotonic()
            if remaining <= 0.0:
                return False
            time.sleep(min(remaining, LOOK_S))
        return True

    def _wrong_type(self, message: object) -> TypeError:
        return TypeError(
            f"topic {self.name!r} carries {self._type.__qualname__}, "
            f"got {type(message).__qualname__}"
        )


class _Copy:
    """Operand that returns a copy of the message that is added to it."""

    def __init__(self, encode: Callable[[Any], object]) -> None:
        self.encode = encode

    def __add__(self, message: object) -> object:
        return self.encode(message)


def _checked_timeout(timeout: float | None) -> float | None:
    if timeout is None or timeout >= 0.0:
        return timeout
    raise _timeout_error(timeout)


def _timeout_error(timeout: float) -> ValueRangeError:
    return ValueRangeError(f"expected a timeout of 0 s or more, or None, got {timeout}")

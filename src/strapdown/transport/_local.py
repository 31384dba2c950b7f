"""The ring behind a topic within one process, and the cursors that handles have in it."""

from __future__ import annotations

import math
import os
import threading
import time
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from strapdown.errors import TransportError, ValueRangeError
from strapdown.transport.stats import TopicStats

__all__ = ["LocalPort"]

DEFAULT_CAPACITY = 1024
WAIT_SLICE_S = 0.1  # longest sleep without a look at signals


class _Ring:
    """The messages of one topic: number n stands in slot ``n & mask`` until n + capacity."""

    def __init__(self, msg_type: type, capacity: int) -> None:
        self.msg_type = msg_type
        self.capacity = capacity
        self.mask = capacity - 1
        self.ports: WeakSet[LocalPort] = WeakSet()
        self.clear()

    def clear(self) -> None:
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.slots: list[Any] = [None] * self.capacity
        self.head = 0  # number of the next message
        self.waiting = 0  # threads that wait for it

    @property
    def tail(self) -> int:
        """Number of the oldest message retained."""
        return max(0, self.head - self.capacity)


_RINGS: WeakValueDictionary[str, _Ring] = WeakValueDictionary()
_RINGS_LOCK = threading.Lock()


class LocalPort:
    """One handle's end of a topic: a cursor in the ring that all handles on a name share.

    What it carries are private copies of messages, in whatever form the handle gives them. The
    ring lives as long as a port is open on it.
    """

    def __init__(
        self, name: str, msg_type: type, capacity: int | None, history: int | None
    ) -> None:
        if capacity is not None and capacity < 1:
            raise ValueRangeError(f"expected a capacity of 1 or more, got {capacity}")
        if history is not None and history < 0:
            raise ValueRangeError(f"expected a history of 0 or more, got {history}")
        self.name = name
        self.ring: _Ring | None
        with _RINGS_LOCK:
            ring = self.ring = _shared_ring(name, msg_type, capacity)
            with ring.lock:
                retained = ring.head - ring.tail
                self.start(ring.head - (retained if history is None else min(history, retained)))
                ring.ports.add(self)

    def start(self, cursor: int) -> None:
        """Count from zero, and receive from message number ``cursor`` on."""
        self.cursor = cursor
        self.listens = False  # whether a receive method was ever called
        self.sent = self.received = self.lost = 0

    def write(self, stored: object) -> None:
        """Fill the next slot."""
        ring = self._open()
        with ring.lock:
            self._fill(ring, stored)

    def try_write(self, stored: object) -> bool:
        """Fill the next slot unless a message that a reader still needs stands in it."""
        ring = self._open()
        with ring.lock:
            readers = [port for port in ring.ports if port.listens] or list(ring.ports)
            if any(ring.head - reader.cursor >= ring.capacity for reader in readers):
                return False
            self._fill(ring, stored)
        return True

    def read(self, timeout: float | None) -> Any:  # noqa: ANN401 (whatever the handle stored)
        """Take the next message, or None after ``timeout`` seconds."""
        ring = self._open()
        with ring.lock:
            self.listens = True
            if self.cursor == ring.head and not self._wait(ring, timeout):
                return None
            self._skip_lost(ring)
            stored = ring.slots[self.cursor & ring.mask]
            self.cursor += 1
            self.received += 1
        return stored

    def drain(self, limit: int | None) -> list[Any]:
        """Take what is there, at most ``limit`` messages."""
        ring = self._open()
        with ring.lock:
            self.listens = True
            self._skip_lost(ring)
            stop = ring.head if limit is None else min(ring.head, self.cursor + limit)
            stored = [ring.slots[number & ring.mask] for number in range(self.cursor, stop)]
            self.received += len(stored)
            self.cursor += len(stored)
        return stored

    def latest(self) -> Any:  # noqa: ANN401 (as read)
        """Return the newest message and leave it, or None."""
        ring = self._open()
        with ring.lock:
            return ring.slots[(ring.head - 1) & ring.mask]

    def pending(self) -> int:
        """Count the messages that :meth:`drain` would take."""
        ring = self._open()
        with ring.lock:
            return ring.head - max(self.cursor, ring.tail)

    def stats(self) -> TopicStats:
        """Count everything at one instant."""
        ring = self._open()
        with ring.lock:
            lapped = max(0, ring.tail - self.cursor) if self.listens else 0
            return TopicStats(
                sent=self.sent,
                received=self.received,
                lost_overwritten=self.lost + lapped,
                publishers=sum(port.sent > 0 for port in ring.ports),
                subscribers=sum(port.listens for port in ring.ports),
            )

    def close(self) -> None:
        """Leave the ring and wake whoever waits on this port."""
        ring, self.ring = self.ring, None
        if ring is not None:
            with ring.lock:
                ring.ports.discard(self)
                ring.changed.notify_all()

    def _open(self) -> _Ring:
        ring = self.ring
        if ring is None:
            raise TransportError(f"this handle on topic {self.name!r} is closed: open a new one")
        return ring

    # The methods below need the ring's lock.

    def _fill(self, ring: _Ring, stored: object) -> None:
        ring.slots[ring.head & ring.mask] = stored
        ring.head += 1
        self.sent += 1
        if ring.waiting:
            ring.changed.notify_all()

    def _wait(self, ring: _Ring, timeout: float | None) -> bool:
        """Sleep until there is a message; False where none came in time."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while self.cursor == ring.head:
            remaining = deadline - time.monotonic()
            if remaining <= 0.0:
                return False
            ring.waiting += 1
            try:
                ring.changed.wait(min(remaining, WAIT_SLICE_S))
            finally:
                ring.waiting -= 1
            self._open()
        return True

    def _skip_lost(self, ring: _Ring) -> None:
        lapped = ring.head - ring.capacity - self.cursor
        if lapped > 0:
            self.lost += lapped
            self.cursor += lapped


def _shared_ring(name: str, msg_type: type, capacity: int | None) -> _Ring:
    """Return the ring of a name, or a new one; needs the lock of all rings."""
    slots = None if capacity is None else 1 << (capacity - 1).bit_length()
    ring = _RINGS.get(name)
    if ring is None:
        ring = _RINGS[name] = _Ring(msg_type, slots or DEFAULT_CAPACITY)
    if ring.msg_type is not msg_type:
        raise TransportError(
            f"topic {name!r} carries {_type_name(ring.msg_type)}, got {_type_name(msg_type)}: "
            "give this topic another name"
        )
    if slots not in (None, ring.capacity):
        raise TransportError(
            f"topic {name!r} holds {ring.capacity} messages, got capacity={capacity}: "
            "leave the capacity to the first handle"
        )
    return ring


def _type_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _start_anew_after_fork() -> None:
    """Give the child rings of its own: empty, and with locks that no lost thread holds."""
    for ring in list(_RINGS.values()):
        ring.clear()
        for port in ring.ports:
            port.start(0)
    _RINGS_LOCK.release()


os.register_at_fork(
    before=_RINGS_LOCK.acquire,
    after_in_parent=_RINGS_LOCK.release,
    after_in_child=_start_anew_after_fork,
)

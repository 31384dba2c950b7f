"""Where the messages of a topic stand, and how far each handle has read.

Messages have numbers 0, 1, 2, ... Number n stands in ``segment[n - base]``, or in the segment
before it; an empty slot holds None. When a segment is full, the next one begins.

The common cases take no lock (``Topic.send``, ``Topic.recv``). CPython changes threads and
handles signals only where a function is called or a loop goes round, so a few loads and stores
are a single step. Two rules build on that:

* One handle at a time, the sender, has the segment as its ``_out`` and fills slot ``_next``. Every
  other handle has None there, and has to come to ``Ring.write``. Who wants to hear of the next
  message takes the segment away from the sender, and only then
  looks whether there is one.
* A handle that has caught up has the segment as its ``_segment``, and reads slot ``_index``. Every
  other handle has one empty slot there, and its ``_cursor`` is the number of its next message. A
  handle that ``_trails`` reads that in the segment before: a message there has given way once the
  same slot of the segment is filled.

A CPython without its global lock has neither rule: every handle always takes the lock.
"""

# ruff: noqa: SLF001 (a ring and its handles are one thing)

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet, ref

from strapdown.errors import TransportError

if TYPE_CHECKING:
    from strapdown.transport.ring import Ring

__all__ = ["NOTHING", "Handle", "Slots", "closed_error"]

NOTHING: Final[list[Any]] = [None]
HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


class Handle:
    """How one reader and writer stands to its ring, which alone changes it."""

    __slots__ = (
        "__weakref__",
        "_cursor",
        "_first",  # number of the first message it could receive
        "_index",
        "_listens",  # whether a receive method was ever called
        "_lost",  # messages that gave way before it received them
        "_next",
        "_out",
        "_past",  # what the ring had lost before it came
        "_ring",  # None once closed
        "_segment",
        "_sent",  # messages, without those since it is the sender
        "_trails",  # whether it may read in the segment before without the lock
    )
    _ring: Ring | None
    _out: list[Any] | None
    _segment: list[Any]

    def _start(self, cursor: int, past: tuple[int, int]) -> None:
        """Count from zero, and receive from message number ``cursor`` on."""
        self._out, self._next = None, 0
        self._segment, self._index, self._cursor = NOTHING, 0, cursor
        self._first, self._past = cursor, past
        self._sent = self._lost = 0
        self._listens = self._trails = False


class Slots:
    """The retained messages of a topic; every method needs the lock.

    Parameters
    ----------
    name : str
    capacity : int
        Messages that are retained.
    keeps : bool
        Whether a message stays until every handle that listens has received it.
    """

    __slots__ = (
        "base",
        "before",
        "capacity",
        "fill",
        "handles",
        "keeps",
        "lock",
        "mark",
        "name",
        "previous",
        "segment",
        "sender",
    )

    def __init__(self, name: str, capacity: int, *, keeps: bool) -> None:
        self.name = name
        self.capacity = capacity
        self.keeps = keeps
        self.handles: WeakSet[Handle] = WeakSet()
        self.clear()

    def clear(self) -> None:
        """Begin without messages and locks."""
        self.lock = threading.RLock()
        self.previous: list[Any] = []
        self.segment: list[Any] = [None] * self.capacity
        self.before = self.base = 0  # numbers at which these begin
        self.fill = 0  # slots of the segment that are filled, where there is no sender
        self.mark = 0  # the same when it became the sender
        self.sender: ref[Handle] | None = None
        for handle in self.handles:
            handle._start(0, (0, 0))

    @property
    def head(self) -> int:
        """Number of the next message."""
        sender = None if self.sender is None else self.sender()
        if sender is None:
            self.settle()
            return self.base + self.fill
        return self.base + sender._next

    @property
    def tail(self) -> int:
        """Number of the oldest message retained."""
        return max(0, self.before if self.keeps else self.head - self.capacity)

    def at(self, number: int) -> Any:  # noqa: ANN401 (whatever was stored)
        """Return a message."""
        if number >= self.base:
            return self.segment[number - self.base]
        return self.previous[number - self.before]

    def between(self, start: int, stop: int) -> list[Any]:
        """Return the messages from one number up to another."""
        if start >= self.base:
            return self.segment[start - self.base : stop - self.base]
        old = self.previous[start - self.before : stop - self.before]
        return old + self.segment[: max(0, stop - self.base)]

    # Who sends

    def appoint(self, handle: Handle) -> None:
        """Let a handle fill slots without the lock; there must be no sender."""
        if not HAS_GIL:
            return
        self.sender = ref(handle)
        self.mark = handle._next = self.fill
        handle._out = self.segment

    def settle(self) -> None:
        """Let nobody fill slots without the lock, and count those that were filled so."""
        if self.sender is None:
            return
        handle = self.sender()
        if handle is not None:
            handle._out = None  # from here on its _next stands still
            handle._sent = self.sent_by(handle)
            self.fill = handle._next
        else:  # nobody holds it any more
            while self.fill < len(self.segment) and self.segment[self.fill] is not None:
                self.fill += 1
        self.sender = None

    def sent_by(self, handle: Handle) -> int:
        """Count the messages that a handle has sent."""
        sends = self.sender is not None and self.sender() is handle
        return handle._sent + (handle._next - self.mark if sends else 0)

    def append(self, stored: object) -> int:
        """Fill the next slot, and return its number; there must be no sender."""
        if self.fill >= self.capacity:
            self._turn()
        if self.fill < len(self.segment):
            self.segment[self.fill] = stored
        else:
            self.segment.append(stored)
        self.fill += 1
        return self.base + self.fill - 1

    def append_all(self, stored: list[Any]) -> int:
        """Fill as many slots, and return the number of the first."""
        start = self.fill
        if start + len(stored) <= self.capacity == len(self.segment):
            self.segment[start : start + len(stored)] = stored
            self.fill += len(stored)
            return self.base + start
        return min([self.append(each) for each in stored])

    def _turn(self) -> None:
        """Begin the next segment, unless a message before this one must stay."""
        if self.keeps and self.slowest(None) < self.base:
            return
        old = self.segment
        for handle in self.handles:
            if handle._segment is old:
                self._fall_behind(handle)
                handle._trails = True
        spent = self.previous  # freed last: it may hold messages of a user's own, whose code runs
        fresh, end = [None] * self.capacity, self.base + self.fill
        self.previous, self.segment, self.before, self.base = old, fresh, self.base, end
        self.fill = 0
        del spent

    # Who receives

    def position(self, handle: Handle) -> int:
        """Return the number of the next message that a handle gets, if it is still there."""
        return handle._cursor if handle._segment is NOTHING else self.base + handle._index

    def slowest(self, sending: Handle | None) -> int:
        """Return the number of the first message that some handle needs.

        Those that receive need theirs. Where messages must stay, so do those that have done
        nothing yet; where they need not, everybody does as long as nobody receives.
        """
        readers = [handle for handle in self.handles if handle._listens]
        if self.keeps:
            readers += [
                handle
                for handle in self.handles
                if not (handle._listens or handle._sent or handle is sending)
            ]
        elif not readers:
            readers = list(self.handles)
        return min(map(self.position, readers), default=self.head)

    def listen(self, handle: Handle) -> int:
        """Return the number of the message that a handle gets next, and count what it lost."""
        if handle._ring is not self:
            raise closed_error(self.name)
        if self.sender is None:
            self.settle()
        handle._listens, handle._trails = True, False
        if handle._segment is not NOTHING:
            self._fall_behind(handle)
        elif handle._cursor < self.base and handle._cursor < (tail := self.tail):
            handle._lost += tail - handle._cursor
            handle._cursor = tail
        return handle._cursor

    def _fall_behind(self, handle: Handle) -> None:
        """Let a handle read with the lock only."""
        handle._cursor, handle._segment = self.base + handle._index, NOTHING  # one step
        handle._index = 0  # of the empty slot: receiving costs no exception

    def catch_up(self, handle: Handle) -> None:
        """Let a handle read without the lock from here on."""
        if self.keeps or not HAS_GIL:
            return
        handle._trails = handle._cursor < self.base
        if not handle._trails:
            handle._index, handle._segment = handle._cursor - self.base, self.segment


def closed_error(name: str) -> TransportError:
    """Return what a closed handle raises."""
    return TransportError(f"this handle on topic {name!r} is closed: open a new one")

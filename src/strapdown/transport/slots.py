"""Retained messages of a topic, the state of each handle, and the protocol without locks.

Messages are numbered 0, 1, 2, ... Number n is stored in ``segment[n - base]`` or, where that is
negative, in ``previous[n - base]``, counted from the end as Python does. An empty slot holds None.
When a segment is full, the next one begins (``_turn``).

Sending
-------
At most one handle, the sender, stores messages without the lock::

    sender is None  --- appoint: _next = fill, _out = segment --->  sender is a handle
    fill counts     <-- settle: _out = None, fill = _next --------  its _next counts

``Topic.send`` is one step: store into ``_out[_next]`` and count ``_next``. Every other handle has
None as its ``_out``; it has to call ``Ring.write``, which settles first, and so does the sender
where the segment is full. A thread that is to be woken by the next message settles under the lock
and only then looks whether there is one: a message is either seen, or sent through ``write``.

Receiving
---------
The state of a handle is its ``_segment``::

        .------------ catch_up, cursor < base -----------.
        |                                                v
    NOTHING: lock  <----------- listen -------------  TRAILING: reads `previous`, by _cursor
        |    ^                                           ^
        |    `------- listen, settle, leave ----.        | _turn
        |                                       |        |
        `---- catch_up, cursor >= base ---->  ring's segment: reads it, by _index

``Topic.recv`` is one step for a handle that has caught up: read ``_segment[_index]``, and count
``_index`` unless the slot is empty. The two other lists have one empty slot, so that the handle
calls ``Ring.read``. There a trailing handle has a step of its own: message n of ``previous`` has
given way once message n + capacity is stored, which is the same slot of ``segment``.
In ``listen`` a handle goes back to the lock, so that what follows is not disturbed by other threads
that use the same handle; ``catch_up`` ends that. A closed handle has NOTHING for good.

Writers
-------
====================================  ===========================================================
slot                                  written
====================================  ===========================================================
``_next``, elements of ``_out``       by the sender in its step; under the lock while it is none
``_out``                              under the lock
``_index``, ``_cursor``               by its step in the state that uses it; under the lock
``_segment``                          under the lock; in one step with the cursor or the index
all others of a handle                under the lock
``segment``, ``previous``, ``base``   under the lock, by ``_turn``: no handle is the sender, none
                                      reads ``segment``, and all three change in one step
``fill``                              under the lock while there is no sender
====================================  ===========================================================

Properties of CPython
---------------------
CPython 3.11 to 3.13 changes threads and handles signals only in the instructions RESUME, CALL and
JUMP_BACKWARD, and where a thread blocks: so a row of loads, tests and stores is one step.

====================================  ==============================================================
step                                  rests on
====================================  ==============================================================
``Topic.send``                        a tuple assignment evaluates its right side, then stores
                                      from left to right; it calls nothing: the list has that index,
                                      and the element replaced is None, so no destructor runs
``Topic.recv``; caught up, ``_take``  subscription of a list by an int, a test against None and
                                      an addition of ints call nothing
trailing, ``_take``                   the same; the list is read in the return statement
``settle``                            one store to ``_out``: later sends take the lock
``_fall_behind``, ``catch_up``        a tuple assignment, as in ``send``
====================================  ==============================================================

A CPython without its global lock has none of these: every handle always takes the lock
(``HAS_GIL``). ``tests/transport/test_ring_model.py`` runs this code with changes of threads at the
points named above.
"""

# ruff: noqa: SLF001 (a ring and its handles are one thing)

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakSet, ref

from strapdown.errors import TransportError

if TYPE_CHECKING:
    from strapdown.transport.link import Channel

__all__ = ["NOTHING", "TRAILING", "Handle", "Slots", "Start", "closed_error"]

NOTHING: Final[list[Any]] = [None]
"""Segment of a handle that receives with the lock only."""
TRAILING: Final[list[Any]] = [None]
"""Segment of a handle whose next message is in the previous segment."""
HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


class Start(NamedTuple):
    """State of a ring when a handle joined it."""

    number: int
    """Number of the first message that the handle can receive."""
    overwritten: int
    """Messages from elsewhere that had been overwritten."""
    lost: int
    """Messages that had been lost between processes."""


class Handle:
    """State of one sender and receiver; only its ring and the steps of ``Topic`` change it."""

    __slots__ = (
        "__weakref__",
        "_cursor",  # number of the next message, unless it has caught up
        "_index",  # slot of the next message if it has caught up, else 0
        "_listens",  # whether a receive method was ever called
        "_lost",  # messages that were overwritten before it received them
        "_next",  # slot that it fills next as the sender, else 0
        "_out",  # segment that it fills as the sender, else None
        "_ring",  # None once closed
        "_segment",  # NOTHING, TRAILING, or the ring's segment
        "_sent",  # messages sent, less _next
        "_since",
    )
    _ring: Slots | None
    _out: list[Any] | None
    _segment: list[Any]

    def _start(self, since: Start) -> None:
        """Count from zero, and receive from the first message on."""
        self._since, self._cursor = since, since.number
        self._out, self._next, self._sent = None, 0, 0
        self._segment, self._index = NOTHING, 0
        self._listens, self._lost = False, 0


class Slots:
    """Retained messages of a topic; every method needs the lock.

    Parameters
    ----------
    channel : Channel
        If it is reliable, messages stay until every handle that listens has received them.
    """

    __slots__ = (
        "base",
        "channel",
        "fill",
        "handles",
        "lock",
        "previous",
        "segment",
        "sender",
    )

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.handles: WeakSet[Handle] = WeakSet()
        self.clear()

    def clear(self) -> None:
        """Reset to a topic without messages, with a new lock."""
        self.lock = threading.RLock()
        self.previous: list[Any] = []
        self.segment: list[Any] = [None] * self.channel.capacity
        self.base = 0  # number of the first message of the segment
        self.fill = 0  # slots of the segment that are filled, while there is no sender
        self.sender: ref[Handle] | None = None
        for handle in self.handles:
            handle._start(Start(0, 0, 0))

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
        channel = self.channel
        return max(0, self.before if channel.reliable else self.head - channel.capacity)

    @property
    def before(self) -> int:
        """Number of the first message of the previous segment."""
        return self.base - len(self.previous)

    def at(self, number: int) -> Any:  # noqa: ANN401 (whatever was stored)
        """Return a message."""
        offset = number - self.base
        return self.segment[offset] if offset >= 0 else self.previous[offset]

    def between(self, start: int, stop: int) -> list[Any]:
        """Return the messages with numbers from ``start`` to ``stop``, which is excluded."""
        if start >= self.base:
            return self.segment[start - self.base : stop - self.base]
        old = self.previous[start - self.before : stop - self.before]
        return old + self.segment[: max(0, stop - self.base)]

    # Sending

    def appoint(self, handle: Handle) -> None:
        """Make a handle the sender; there must be none."""
        if not HAS_GIL:
            return
        self.sender = ref(handle)
        handle._sent -= self.fill
        handle._next, handle._out = self.fill, self.segment

    def settle(self) -> None:
        """End sending without the lock, and count the slots that were filled."""
        if self.sender is None:
            return
        handle = self.sender()
        if handle is not None:
            handle._out = None  # from here on its _next does not change
            self.fill = handle._next
            handle._sent, handle._next = handle._sent + self.fill, 0
        else:  # it was garbage collected
            while self.fill < len(self.segment) and self.segment[self.fill] is not None:
                self.fill += 1
        self.sender = None

    def append(self, stored: object) -> int:
        """Fill the next slot, and return its number; there must be no sender."""
        if self.fill >= self.channel.capacity:
            self._turn()
        if self.fill < len(self.segment):
            self.segment[self.fill] = stored
        else:
            self.segment.append(stored)
        self.fill += 1
        return self.base + self.fill - 1

    def append_all(self, stored: list[Any]) -> int:
        """Fill the next slots, and return the number of the first."""
        start = self.fill
        if start + len(stored) <= self.channel.capacity == len(self.segment):
            self.segment[start : start + len(stored)] = stored
            self.fill += len(stored)
            return self.base + start
        return min([self.append(each) for each in stored])

    def _turn(self) -> None:
        """Begin the next segment, unless a message before this one must stay."""
        if self.channel.reliable and self.slowest(None) < self.base:
            return
        old, fresh = self.segment, [None] * self.channel.capacity
        for handle in self.handles:
            if handle._segment is old:
                self._fall_behind(handle, TRAILING)
        spent = self.previous  # freed last: destructors of a user's messages may run
        self.previous, self.segment, self.base = old, fresh, self.base + self.fill
        self.fill = 0
        del spent

    # Receiving

    def position(self, handle: Handle) -> int:
        """Return the number of the next message of a handle, which may be overwritten already."""
        has_caught_up = handle._segment is self.segment
        return self.base + handle._index if has_caught_up else handle._cursor

    def slowest(self, sending: Handle | None) -> int:
        """Return the number of the first message that some handle needs.

        Handles that receive need theirs. On a reliable topic so do handles that have neither sent
        nor received yet; on others all handles do as long as none receives.
        """
        readers = [handle for handle in self.handles if handle._listens]
        if self.channel.reliable:
            readers += [
                handle
                for handle in self.handles
                if not (handle._listens or handle._sent or handle is sending)
            ]
        elif not readers:
            readers = list(self.handles)
        return min(map(self.position, readers), default=self.head)

    def listen(self, handle: Handle) -> int:
        """Return the number of the next message of a handle, and count those that it has lost."""
        if handle._ring is not self:
            raise closed_error(self.channel.name)
        if self.sender is None:
            self.settle()
        handle._listens = True
        if handle._segment is self.segment:
            self._fall_behind(handle, NOTHING)
        handle._segment = NOTHING
        if handle._cursor < self.base and handle._cursor < (tail := self.tail):
            handle._lost += tail - handle._cursor
            handle._cursor = tail
        return handle._cursor

    def _fall_behind(self, handle: Handle, state: list[Any]) -> None:
        """Move a handle that has caught up to another state."""
        handle._cursor, handle._segment = self.base + handle._index, state  # one step
        handle._index = 0  # the only slot of NOTHING and TRAILING

    def catch_up(self, handle: Handle) -> None:
        """Allow a handle to receive without the lock again."""
        if self.channel.reliable or not HAS_GIL:
            return
        if handle._cursor < self.base:
            handle._segment = TRAILING
        else:
            handle._index, handle._segment = handle._cursor - self.base, self.segment  # one step


def closed_error(name: str) -> TransportError:
    """Return the error of a closed handle."""
    return TransportError(f"this handle on topic {name!r} is closed: open a new one")

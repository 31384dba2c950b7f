"""Publishers elsewhere: which of their messages were received and which are missing."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.transport.link import Arrival, Sink

__all__ = ["Source", "Sources"]

REMEMBERED: Final = 256
"""Publishers that are gone whose numbers are kept, in case they come back."""


class Source:
    """The ledger of one publisher, and what waits until the ledger can be opened.

    A publisher that was there before us has earlier messages, which it is asked for; what it
    sends meanwhile waits. The same holds when a connection comes back.

    Parameters
    ----------
    sink : Sink
    limit : int
        Most messages that are held back; beyond that the oldest are dropped.
    answers : bool
        Whether the publisher can be asked at all; otherwise its first message begins the ledger.
    """

    def __init__(self, sink: Sink, limit: int, *, answers: bool = True) -> None:
        self.heard_at = time.monotonic()
        self.asked_at = 0.0
        self.is_present = False
        self._lock = threading.Lock()
        self._sink = sink
        self._limit = limit
        self._next: int | None = None
        self._waiting: list[Arrival] | None = [] if answers else None

    @property
    def needs_history(self) -> bool:
        """Whether received messages wait for earlier ones."""
        return self._waiting is not None

    @property
    def holds(self) -> bool:
        """Whether messages do wait."""
        return bool(self._waiting)

    @property
    def is_busy(self) -> bool:
        """Whether a message is being delivered to the sink, which may have no room."""
        return self._lock.locked()

    def take(self, arrival: Arrival) -> None:
        """Accept a received message."""
        self.heard_at = time.monotonic()
        with self._lock:
            waiting = self._waiting
            if waiting is None:
                if arrival.seq == self._next:
                    self._next += 1
                    self._sink.deliver((arrival,))
                else:
                    self._accept((arrival,))
            elif not waiting and arrival.seq == (self._next or 0):  # nothing is missing
                self._waiting = None
                self._next = arrival.seq
                self._accept((arrival,))
            else:
                waiting.append(arrival)
                del waiting[: -self._limit]

    def learn(self, first: int, end: int, history: Sequence[Arrival] = ()) -> None:
        """Learn that a publisher has sent all numbers below ``end``, and retains some.

        Parameters
        ----------
        first : int
            The oldest it retains.
        end : int
            The number that it will give next.
        history : sequence of Arrival
            What it retains, oldest first.
        """
        with self._lock:
            self._join((*history, *(self._waiting or ())), first)
            if self._next is not None and end > self._next:
                self._sink.lose(end - self._next)
                self._next = end

    def give_up(self) -> None:
        """Continue without earlier messages: nobody answers."""
        with self._lock:
            if self._waiting:
                self._join(self._waiting, self._waiting[0].seq)

    def pause(self) -> None:
        """Hold back received messages again: the connection was lost."""
        with self._lock:
            if self._waiting is None:
                self._waiting = []

    # The methods below need the lock.

    def _join(self, arrivals: Sequence[Arrival], first: int) -> None:
        """End the waiting with these messages."""
        if self._waiting is None:
            return
        self._waiting = None
        by_number = {arrival.seq: arrival for arrival in arrivals}
        numbers = sorted(by_number)
        if self._next is None:
            self._next = min([first, *numbers[:1]])
        self._accept([by_number[seq] for seq in numbers if seq >= self._next])

    def _accept(self, arrivals: Sequence[Arrival]) -> None:
        """Deliver messages in ascending order, and count those missing between them."""
        if not arrivals:
            return
        expected = arrivals[0].seq if self._next is None else self._next
        missing = 0
        fresh = []
        for arrival in arrivals:
            if arrival.seq < expected:
                self._note_late(arrival.seq, expected)
                continue
            missing += arrival.seq - expected
            expected = arrival.seq + 1
            fresh.append(arrival)
        self._next = expected
        if missing:
            self._sink.lose(missing)
        if fresh:
            self._sink.deliver(fresh)

    def _note_late(self, seq: int, expected: int) -> None:
        """Count a message whose number was passed: it was received before, or given up."""
        if seq == expected - 1:
            self._sink.note(duplicates=1)
        else:
            self._sink.note(out_of_order=1)


class Sources(dict[str, Source]):
    """The publishers of a topic by their gid; each is made when it is first asked for.

    Parameters
    ----------
    sink, limit, answers
        As those of :class:`Source`.
    """

    def __init__(self, sink: Sink, limit: int, *, answers: bool = True) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._make = partial(Source, sink, limit, answers=answers)

    def __missing__(self, gid: str) -> Source:
        """Make a source, and forget the one that was silent longest where there are too many."""
        with self._lock:
            source = self.setdefault(gid, self._make())
            gone = [
                (each.heard_at, other)
                for other, each in list(self.items())
                if not (each.is_present or other == gid)
            ]
            forgotten = self.pop(min(gone)[1]) if len(gone) > REMEMBERED else None
        if forgotten is not None:
            forgotten.give_up()
        return source

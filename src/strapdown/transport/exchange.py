"""Retained messages of a topic with their origins: the sink of its link."""

# ruff: noqa: SLF001 (a ring and its handles are one thing)

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from strapdown.errors import FormatError
from strapdown.transport.link import Arrival, Channel, Link
from strapdown.transport.slots import NOTHING, Handle, Slots

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NO_LINK", "WAIT_SLICE_S", "Exchange"]

WAIT_SLICE_S = 0.1  # longest sleep between checks for signals


class _NoLink(Link):
    """Link of a topic that stays within the process."""

    name = "local"
    active = False

    def send(self, message: Arrival) -> None:
        pass

    def publishers(self) -> int:
        return 0

    def subscribers(self) -> int:
        return 0

    def close(self) -> None:
        pass


NO_LINK: Final = _NoLink()


class Exchange(Slots):
    """Retained messages of a topic, those from this process and those from elsewhere.

    Parameters
    ----------
    channel : Channel
    """

    __slots__ = (
        "changed",
        "counts",
        "delivered",
        "direct",
        "in_step",
        "leading",
        "link",
        "origins",
        "out",
        "owed",
        "passed",
        "publisher",
        "since_ns",
        "since_until_s",
        "stamps",
        "waiting",
    )

    def __init__(self, channel: Channel) -> None:
        self.since_ns = 0  # earlier messages of others are left out
        self.since_until_s = 0.0  # until then [s of the monotonic clock]
        super().__init__(channel)

    def clear(self) -> None:
        """Reset to a topic without messages and link, with new locks."""
        super().clear()
        self.changed = threading.Condition(self.lock)
        self.link: Link | None = None  # to be opened
        self.publisher = uuid4().hex
        self.delivered = 0  # messages from elsewhere
        self.origins: dict[int, Arrival] = {}  # of messages from elsewhere and of stamped ones
        self.stamps = False  # whether the time of sending is stored
        self.passed = 0  # messages from here that the link has sent
        self.in_step = False  # whether these are all from here
        self.out = 0  # on a reliable topic, number of the first message not sent
        self.waiting = 0  # threads that wait for a message or for room
        self.leading = False  # whether a thread waits in the link
        self.owed: list[Arrival] = []  # messages still to be appended
        self.direct: Handle | None = None  # has received the owed ones; takes from the link
        self.counts: Counter[str] = Counter()  # by the fields of TopicStats

    # Calls of the link

    def deliver(self, arrivals: Sequence[Arrival]) -> None:
        """Append messages from elsewhere; on a reliable topic, wait until there is room."""
        link, size = self.link, self.channel.form.size
        if self.since_ns and link is not None and link.replays:
            arrivals = [arrival for arrival in arrivals if arrival.sent_ns >= self.since_ns]
        with self.lock:
            self.settle()
            for arrival in arrivals:
                payload = arrival.payload
                if len(payload) != size and not self._is_decodable(payload):
                    self.counts["malformed"] += 1
                    continue
                if self.channel.reliable and not (link is not None and link.waits):
                    while self._is_full() and self.link is link:
                        self.changed.notify_all()  # a thread may wait for the messages before
                        self._sleep(WAIT_SLICE_S)
                self.origins[self.append(payload)] = arrival
                self.delivered += 1
            if self.waiting:
                self.changed.notify_all()

    def lose(self, messages: int, *, overwritten: bool = False) -> None:
        """Count messages that will not arrive."""
        with self.lock:
            self.counts["lost_overwritten" if overwritten else "lost_transport"] += messages

    def note(self, *, duplicates: int = 0, out_of_order: int = 0, malformed: int = 0) -> None:
        """Count messages that were received and not delivered, or received late."""
        with self.lock:
            self.counts.update(
                duplicates=duplicates, out_of_order=out_of_order, malformed=malformed
            )

    def retained(self) -> list[Arrival]:
        """Return the retained messages that were sent from here."""
        with self.lock:
            self.settle()  # so that the sender does not continue meanwhile
            return self._sent_since(self.tail)

    # The methods below need the lock.

    def settle(self) -> None:
        """End sending and direct receiving without the lock; append owed messages."""
        super().settle()
        handle, self.direct = self.direct, None
        if not self.owed:
            return
        if handle is not None:
            handle._segment = NOTHING  # it does not receive them again
            self.delivered += len(self.owed)
        first = self.append_all([arrival[0] for arrival in self.owed])
        self.origins.update(enumerate(self.owed, first))
        self.owed.clear()
        if handle is not None:
            handle._cursor = self.base + self.fill
            self.catch_up(handle)

    def _append(self, handle: Handle, stored: Any) -> None:  # noqa: ANN401 (as write)
        number = self.append(stored)
        handle._sent += 1
        self.in_step = False
        if self.stamps or (self.link or NO_LINK).active:
            now = time.time_ns()
            seq = number - self.delivered
            self.origins[number] = Arrival(stored, seq, self.publisher, now, now)
        if self.waiting:
            self.changed.notify_all()

    def _turn(self) -> None:
        super()._turn()
        for number in [number for number in self.origins if number < self.before]:
            del self.origins[number]

    def slowest(self, sending: Handle | None) -> int:
        """Return the number of the first message that some handle, or a reliable link, needs."""
        needed = super().slowest(sending)
        linked = self.channel.reliable and self.link not in (None, NO_LINK)
        return min(needed, self.out) if linked else needed

    def _is_full(self) -> bool:
        with self.lock:
            return self.head - self.slowest(None) >= self.channel.capacity

    def _heed(self) -> None:
        """Force the next message through :meth:`write` if it must be stamped or passed on."""
        if self.stamps or (self.link or NO_LINK).active:
            self.settle()

    def _sleep(self, seconds: float) -> None:
        self.waiting += 1
        try:
            self.settle()
            self.changed.wait(seconds)
        finally:
            self.waiting -= 1

    def _arrival(self, number: int) -> Arrival:
        """Return a message with its origin."""
        if number not in self.origins:
            self._number_from(number)
        return self.origins[number]

    def _sent_since(self, first: int) -> list[Arrival]:
        """Return the messages sent from here, from number ``first`` on."""
        self._number_from(first)
        known = [self.origins[number] for number in range(first, self.head)]
        return [origin for origin in known if origin.publisher == self.publisher]

    def _number_from(self, first: int) -> None:
        """Store the origin, without a time, of messages sent from here without the lock."""
        head = self.head
        seq = head - self.delivered
        for number in range(head - 1, first - 1, -1):
            origin = self.origins.get(number)
            if origin is None or origin.publisher == self.publisher:
                seq -= 1
            if origin is None:
                self.origins[number] = Arrival(self.at(number), seq, self.publisher, 0, 0)

    def _is_decodable(self, payload: bytes) -> bool:
        form = self.channel.form
        if form.size is not None:
            return False  # it has another size
        try:
            form.decode(payload)
        except FormatError:
            return False
        return True

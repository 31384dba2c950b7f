"""Ring of a topic: sending, receiving, waiting and counting in this process, with one link.

The protocol without locks is drawn in :mod:`strapdown.transport.slots`. A thread that waits for a
message is in one of two places::

    runs --- wait: settled, no message, nobody leads --->  leads: in Link.wait (links that `waits`)
     ^  `--- wait: settled, no message, else ----------->  waits: in changed.wait
     |                                                       |
     `--- notified, woken, or WAIT_SLICE_S is over ----------'

The leader polls the link or, for the ``direct`` handle, takes one message from it. ``_follow`` ends
leading and notifies the others, of which one leads next. A thread that appends a message notifies
those that wait, and wakes the leader. ``waiting`` and ``leading`` change under the lock.

Locks are taken in the order ``joining``, ``outgoing``, ``intake``, ``lock``; a thread that holds
``lock`` only tries ``intake``.
"""

# ruff: noqa: SLF001 (a ring and its handles are one thing)

from __future__ import annotations

import math
import threading
from contextlib import ExitStack
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, Final, TypeVar

from strapdown.errors import StrapdownError, TransportError
from strapdown.transport.exchange import NO_LINK, WAIT_SLICE_S, Exchange
from strapdown.transport.link import Arrival
from strapdown.transport.slots import NOTHING, TRAILING, Start, closed_error
from strapdown.transport.stats import TopicStats

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.transport.backends import Backend
    from strapdown.transport.link import Channel, Link
    from strapdown.transport.slots import Handle

__all__ = ["NO_LINK", "WAIT_SLICE_S", "Ring"]

Taken = TypeVar("Taken")

new: Final = tuple.__new__  # takes half the time of a call of the class

ROOM_SLICE_S: Final = 0.001  # between looks for room where readers do not notify
SEND_WAIT_S: Final = 5.0  # longest wait of a sender for room on a reliable topic
CLOSE_WAIT_S: Final = 2.0  # longest wait for threads that are still in the link
HISTORY_S: Final = 2.0  # time in which publishers elsewhere repeat what they retain
MOST_OWED: Final = 64  # messages that may be owed to the ring
LOOK_EVERY: Final = 64  # messages that a handle that is behind reads between looks at the link


class Ring(Exchange):
    """Messages of one topic in this process, and the link that joins it to other processes.

    Parameters
    ----------
    backend : Backend
    channel : Channel
    linked : callable
        Called once the link is open.
    """

    __slots__ = ("backend", "failure", "intake", "joining", "linked", "outgoing")

    def __init__(self, backend: Backend, channel: Channel, linked: Callable[[], None]) -> None:
        self.backend = backend
        self.linked = linked
        super().__init__(channel)

    def clear(self) -> None:
        """Reset to a ring without messages and link, with new locks."""
        super().clear()
        self.joining, self.outgoing, self.intake = (threading.RLock() for _ in range(3))
        self.failure: StrapdownError | None = None  # of sending on a reliable link

    # Handles and link

    def join(self) -> Link:
        """Return the link, and open it on the first call."""
        link = self.link
        if link is not None:
            return link
        with self.joining:
            if self.link is None:
                if self.channel.form.can_leave:
                    link = self.backend.open_link(self.channel, self)
                with self.lock:
                    self.link = link or NO_LINK
                    self._heed()
                if link is not None:
                    self.linked()
                    if self.channel.reliable:
                        threading.Thread(target=self._hand_on, args=[link], daemon=True).start()
            return self.link or NO_LINK

    def enter(self, handle: Handle, history: int | None) -> None:
        """Add a handle, which receives from ``history`` messages back."""
        with self.lock:
            retained = min(self.head, self.channel.capacity)
            back = retained if history is None else min(history, retained)
            if history == 0 and self.link is None and not self.handles:
                self.since_ns, self.since_until_s = time_ns(), monotonic() + HISTORY_S
            handle._ring = self
            counts = self.counts
            since = Start(self.head - back, counts["lost_overwritten"], counts["lost_transport"])
            handle._start(since)
            self.handles.add(handle)

    def leave(self, handle: Handle) -> None:
        """Remove a handle, and wake the threads that wait on it."""
        with self.lock:
            self.settle()
            handle._ring, handle._segment = None, NOTHING
            self.handles.discard(handle)
            self.changed.notify_all()
            link = self.link if self.leading else None
        if link is not None:
            link.wake()

    def shut(self) -> None:
        """Close the link; a reliable topic waits first until its messages are passed on."""
        with self.lock:
            link = self.link
            if link is None or link is NO_LINK:
                return
            end = monotonic() + SEND_WAIT_S
            while self.channel.reliable and self.out < self.head and monotonic() < end:
                if self.failure is not None:
                    break
                self._sleep(WAIT_SLICE_S)
            unsent = self.head - self.out if self.channel.reliable else 0
            self.link = NO_LINK
            end = monotonic() + CLOSE_WAIT_S
            self.changed.notify_all()
            if self.leading:
                link.wake()
            while self.leading and monotonic() < end:
                self._sleep(WAIT_SLICE_S)
        with ExitStack() as held:
            for lock in (self.joining, self.outgoing, self.intake):
                if lock.acquire(timeout=max(0.0, end - monotonic())):
                    held.callback(lock.release)
            link.close()
        if unsent:
            raise TransportError(
                f"topic {self.channel.name!r}: closed with {unsent} messages that nobody took; "
                "wait for subscribers before closing"
            ) from self.failure

    def tend(self) -> None:
        """Do the periodic work of the link, receive from it, and send it what it lacks."""
        with self.joining:
            link = self.link
            if link is None or link is NO_LINK:
                return
            link.tend()
        if self.since_ns and monotonic() > self.since_until_s:
            self.since_ns = 0  # from now on a wall clock that is set back changes nothing
        with self.lock:
            listened = not self.leading and any(handle._listens for handle in self.handles)
            self._heed()
        if listened:
            self.poll()
        if link.active and not self.channel.reliable:
            self._pass_on(link)

    # Sending

    def write(self, handle: Handle, stored: Any) -> None:  # noqa: ANN401 (in the form of the topic)
        """Append a message, and make the handle the sender if nothing has to see the next one."""
        if self.channel.reliable:
            if not self.write_if_room(handle, stored, SEND_WAIT_S):
                raise TransportError(
                    f"topic {self.channel.name!r}: no room within {SEND_WAIT_S} s among "
                    f"{self.channel.capacity} messages; some subscriber does not receive"
                )
            return
        link = self.link or self.join()
        with self.outgoing:  # one message of this process at a time
            if link.active:
                if not self.in_step:
                    self._pass_on(link)
                now = time_ns()
                message = new(Arrival, (stored, self.passed, self.publisher, now, now))
                link.send(message)  # first, for the sake of latency
                self.passed += 1
                with self.lock:
                    if self.direct is not None or len(self.owed) >= MOST_OWED:
                        self.settle()
                    self.owed.append(message)
                    handle._sent += 1
                    if self.waiting:
                        self.changed.notify_all()
            else:
                with self.lock:
                    self.settle()
                    self._append(handle, stored)
                    if not (self.waiting or self.leading or self.stamps):
                        self.appoint(handle)
        if self.leading:
            link.wake()

    def write_if_room(self, handle: Handle, stored: Any, timeout: float) -> bool:  # noqa: ANN401 (as write)
        """Append a message once no handle needs the one that it replaces."""
        link = self.join()
        end = monotonic() + timeout
        slice_s = WAIT_SLICE_S if self.channel.reliable else ROOM_SLICE_S
        while True:
            with self.outgoing:
                with self.lock:
                    self.settle()
                    if self.failure is not None:
                        raise self.failure
                    has_room = self.head - self.slowest(handle) < self.channel.capacity
                    if has_room:
                        self._append(handle, stored)
                    leading = self.leading
                if has_room and link.active and not self.channel.reliable:
                    self._pass_on(link)
            if has_room:
                break
            remaining = end - monotonic()
            if remaining <= 0.0:
                return False
            with self.lock:
                if self.head - self.slowest(handle) >= self.channel.capacity:
                    self._sleep(min(remaining, slice_s))
                if handle._ring is not self:
                    raise closed_error(self.channel.name)
        if leading:
            link.wake()
        return True

    def _pass_on(self, link: Link) -> None:
        """Send the link the messages that it lacks, in order."""
        with self.outgoing:
            with self.lock:
                if self.link is not link:
                    return
                self.settle()
                head, sent = self.head, self.head - self.delivered
                if sent == self.passed:
                    self.in_step = True
                    return
                batch = self._sent_since(max(0, head - 1))  # in most cases only one is missing
                if len(batch) != sent - self.passed:
                    batch = self._sent_since(self.tail)
                    batch = [message for message in batch if message.seq >= self.passed]
                self.passed, self.in_step = sent, True
            for message in batch:
                link.send(message)

    def _hand_on(self, link: Link) -> None:
        """Send a reliable link the messages one by one; it may block."""
        try:
            while True:
                with self.lock:
                    while self.link is link and self.out == self.head:
                        self._sleep(WAIT_SLICE_S)
                    if self.link is not link:
                        return
                    message = self._arrival(self.out)
                if message.publisher == self.publisher:
                    link.send(message)
                with self.lock:
                    self.out += 1
                    self.changed.notify_all()
        except StrapdownError as error:
            with self.lock:
                self.failure = error
                self.changed.notify_all()

    # Receiving

    def read(self, handle: Handle, timeout: float | None) -> Any:  # noqa: ANN401 (as write)
        """Take the next message, or None after ``timeout`` seconds.

        For the sake of latency little happens between the end of a wait and the return, since a
        processor that was busy elsewhere is slow at first. A handle that has caught up therefore
        becomes the ``direct`` one: messages that it takes from the link are only noted as owed to
        the ring. Every method that depends on the state of the ring and its handles first calls
        ``settle()``, which appends owed messages and ends this mode; so does ``poll()``.
        """
        end = math.inf if timeout is None else monotonic() + timeout if timeout else 0.0
        if self.direct is handle:
            stored = self._read_directly(handle, timeout)
            if stored is not None:
                return stored
        return self._read(handle, end, self._take, directly=True)

    def read_with_origin(self, handle: Handle, timeout: float | None) -> tuple[Any, Arrival] | None:
        """Take the next message and its origin, or None after ``timeout`` seconds."""
        end = math.inf if timeout is None else monotonic() + timeout if timeout else 0.0
        with self.lock:
            self.stamps = True  # from now on times of sending are stored
            self._heed()
        return self._read(handle, end, self._take_with_origin)

    def _read_directly(self, handle: Handle, timeout: float | None) -> Any:  # noqa: ANN401 (as write)
        """Take a message from the link; with a timeout, wait there if no other thread does."""
        link = self.link or self.join()
        leads = False
        try:
            with self.lock:
                if self.direct is handle and len(self.owed) < MOST_OWED:
                    arrival = link.take()
                    if arrival is not None:
                        self.owed.append(arrival)
                        return arrival[0]
                    if timeout != 0.0 and self.direct is handle and not self.leading:
                        leads = self.leading = True
            if not leads:
                return None
            slice_s = WAIT_SLICE_S
            if timeout is not None and timeout < slice_s:
                slice_s = timeout
            return self._lead(handle, link, slice_s)
        finally:
            if leads:
                self._follow()

    def _lead(self, handle: Handle, link: Link, seconds: float) -> Any:  # noqa: ANN401 (as write)
        """Wait in the link; return the message of a direct handle, or else poll the link."""
        link.wait(seconds)
        with self.lock:
            if self.direct is handle and (arrival := link.take()) is not None:
                self.owed.append(arrival)
                return arrival[0]
        self.poll()
        return None

    def _follow(self) -> None:
        """End leading, and wake the waiting threads: one of them continues in the link."""
        with self.lock:  # a thread that sees a leader is waiting before this begins
            self.leading = False
            if self.waiting:
                self.changed.notify_all()

    def _read(
        self,
        handle: Handle,
        end: float,
        take: Callable[[Handle], Taken | None],
        *,
        directly: bool = False,
    ) -> Taken | None:
        link = self.link or self.join()
        looks = handle._segment is self.segment or handle._cursor % LOOK_EVERY == 0
        if looks and link.waits:
            self.poll()
        taken = take(handle)
        if taken is None and link.waits and not looks:
            self.poll()
            taken = take(handle)
        while taken is None and end and (remaining := end - monotonic()) > 0.0:
            taken = self.wait(handle, min(remaining, WAIT_SLICE_S), directly=directly)
            if taken is None:
                taken = take(handle)
        return taken

    def _take(self, handle: Handle) -> Any:  # noqa: ANN401 (as write)
        if handle._segment is self.segment:  # caught up: no lock, as in Topic.recv
            try:
                stored = handle._segment[handle._index]
            except IndexError:  # the segment is over
                pass
            else:
                if stored is not None:
                    handle._index += 1
                    return stored
                if not self.owed:
                    return None
        elif handle._segment is TRAILING:  # no lock: see slots.py
            offset = handle._cursor - self.base
            if -self.channel.capacity <= offset < 0 and self.segment[offset] is None:
                handle._cursor += 1
                return self.previous[offset]
        with self.lock:
            number = self.listen(handle)
            stored = None
            if number < self.head:
                stored = self.at(number)
                handle._cursor += 1
                if self.channel.reliable and self.waiting:
                    self.changed.notify_all()
            self.catch_up(handle)
            return stored

    def _take_with_origin(self, handle: Handle) -> tuple[Any, Arrival] | None:
        with self.lock:
            number = self.listen(handle)
            if number < self.head:
                return self._take(handle), self._arrival(number)
            return None

    def drain(self, handle: Handle, limit: int | None) -> list[Any]:
        """Take all waiting messages, at most ``limit``."""
        self.poll()
        with self.lock:
            start = self.listen(handle)
            stop = self.head if limit is None else min(self.head, start + limit)
            handle._cursor = stop
            if self.waiting:
                self.changed.notify_all()
            stored = self.between(start, stop)
            self.catch_up(handle)
            return stored

    def wait(self, handle: Handle, seconds: float, *, directly: bool = False) -> Any:  # noqa: ANN401 (as write)
        """Sleep until there may be a message for a handle, or it is closed.

        With ``directly``, that message is returned if it came from elsewhere.
        """
        link = self.link or self.join()
        leads = False
        try:
            with self.lock:
                if handle._ring is not self:
                    raise closed_error(self.channel.name)
                self.settle()
                if self.position(handle) < self.head:
                    return None
                if self.leading or not link.waits or self.link is not link:
                    self._sleep(seconds)
                    return None
                leads = self.leading = True
                may_take = directly and link.takes and not self.since_ns
                if may_take and self.intake.acquire(blocking=False):
                    self.direct = handle  # no thread is polling messages that come first
                    self.intake.release()
            return self._lead(handle, link, seconds)
        finally:
            if leads:
                self._follow()

    def poll(self) -> None:
        """Deliver the messages that have arrived, unless a thread of the link does."""
        link = self.link or self.join()
        if not link.waits or (self.channel.reliable and self._is_full()):
            return
        with self.intake:
            if self.link is not link:
                return
            if self.direct is not None:  # set only under intake
                with self.lock:
                    self.settle()
            link.poll()

    # State

    def latest(self) -> Any:  # noqa: ANN401 (whatever was stored)
        """Return the newest message, or None."""
        self.poll()
        with self.lock:
            head = self.head
            return self.at(head - 1) if head else None

    def pending(self, handle: Handle) -> int:
        """Count the messages that a handle can receive now."""
        self.poll()
        with self.lock:
            return self.head - max(self.position(handle), self.tail)

    def stats(self, handle: Handle, *, settled: bool = True) -> TopicStats:
        """Return all counts of one instant; ``settled`` includes losses not detected before."""
        link = self.join()
        if settled:
            link.settle()
        elsewhere, problem = (link.publishers(), link.subscribers()), link.problem()
        with self.lock:
            self.settle()
            position = self.position(handle)
            lapped = max(0, self.tail - position)
            since, counts = handle._since, self.counts
            overwritten = counts["lost_overwritten"] - since.overwritten + handle._lost + lapped
            return TopicStats(
                sent=handle._sent,
                received=position - since.number - handle._lost,
                lost_overwritten=overwritten if handle._listens else 0,
                lost_transport=counts["lost_transport"] - since.lost if handle._listens else 0,
                duplicates=counts["duplicates"],
                out_of_order=counts["out_of_order"],
                malformed=counts["malformed"],
                publishers=sum(each._sent > 0 for each in self.handles) + elsewhere[0],
                subscribers=sum(each._listens for each in self.handles) + elsewhere[1],
                problem=problem,
            )

    def is_sent_to(self, handle: Handle) -> bool:
        """Whether anybody but this handle has sent."""
        with self.lock:
            here = any(each is not handle and each._sent + each._next for each in self.handles)
        return here or self.join().publishers() > 0

    def is_heard(self, handle: Handle) -> bool:
        """Whether anybody but this handle receives."""
        with self.lock:
            here = any(each is not handle and each._listens for each in self.handles)
        return here or self.join().subscribers() > 0

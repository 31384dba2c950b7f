"""Receiving end of a topic: messages of other processes, and the gaps between them."""

from __future__ import annotations

import time
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from strapdown.transport.link import Arrival
from strapdown.transport.links.ipc._service import block, layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.transport.link import Sink
    from strapdown.transport.links.ipc._service import Service

__all__ = ["Receiver"]

new: Final = tuple.__new__  # takes half the time of a call of the class


class _Peer:
    """A publisher elsewhere."""

    __slots__ = ("name", "next_seq")

    def __init__(self, name: str, next_seq: int) -> None:
        self.name = name
        self.next_seq = next_seq


class Receiver:
    """Optional port to receive; the thread that polls holds the lock ``intake`` of the sink.

    Each publisher has a separate queue in shared memory, in which new messages replace the oldest.
    The loss appears as a gap in its numbers when the next one is taken.
    """

    def __init__(self, service: Service, sink: Sink) -> None:
        self._service, self._sink = service, sink
        self._size, self._capacity = service.channel.form.size, service.channel.capacity
        self._port: Any = None
        self._receive: Callable[[], Any] = _nothing  # that of the port
        self._opened_ns = 0
        self._peers: dict[int, _Peer] = {}
        self._held: list[Arrival] = []  # taken, but not delivered
        self._lost = 0  # before those
        self._spent: Any = None  # the last sample that was taken
        if self._size is not None:
            self._at = block(self._size).from_address
            self._unpack = layout(self._size).unpack_from
        self.own: set[int] = set()
        """Identities of this process, whose messages are left out."""
        self.ports = 0
        """Subscribers of this process: 0 or 1."""
        self.is_used = False
        """Whether any handle has received."""

    def open(self) -> None:
        """Queue messages of others from now on."""
        with self._sink.intake:
            if self._port is None:
                self.ports = 1
                self._port = self._service.subscriber()
                self._receive = self._port.receive
                self._opened_ns = time.monotonic_ns()

    def take(self) -> Arrival | None:
        """Return the next message, or None; deliver it instead if one is missing before it."""
        sample = self._receive()
        if sample is None:
            self._spent = None
            return None
        seq, sent_ns, publisher, _, _, payload = self._unpack(self._at(sample.user_header_ptr))
        peer = self._peers.get(publisher)
        if peer is None or seq != peer.next_seq:
            self._hold(sample)
            self._deliver()
            return None
        peer.next_seq = seq + 1
        self._spent = sample  # releasing it takes time: before the next wait
        return new(Arrival, (payload, seq, peer.name, sent_ns, time_ns()))

    def poll(self) -> None:
        """Deliver the messages in the queues."""
        self.is_used = True
        if self._port is None:
            self.open()
        self._hold_all()
        self._deliver()

    def make_room(self) -> None:
        """Remove messages of this process from its queue, so that the sender does not wait."""
        with self._sink.intake:
            self._hold_all()

    def meet(self) -> None:
        """Join the queues of new publishers; forget the publishers when none is left."""
        with self._sink.intake:
            if self._port is None:
                return
            alone = self._service.publishers() == 0
            if not self._port.has_samples() and alone:
                self._peers.clear()

    def close(self) -> None:
        """Receive no longer."""
        with self._sink.intake:
            self._port = self._spent = None
            self._receive = _nothing
            self.ports = 0
            self._peers.clear()

    def _deliver(self) -> None:
        if self._held:
            if self._lost:
                self._sink.lose(self._lost, overwritten=True)
            self._sink.deliver(self._held)
            self._held, self._lost = [], 0

    def _hold_all(self) -> None:
        """Move messages from the queues to those held, as far as the ring takes them at once."""
        self._spent = None
        while len(self._held) < self._capacity and (sample := self._receive()) is not None:
            self._hold(sample)

    def _hold(self, sample: Any) -> None:  # noqa: ANN401 (iceoryx2 has no types)
        """Hold a message, and count how many are missing before it."""
        size = self._size
        if size is None:
            size = sample.header.number_of_elements
        data = block(size).from_address(sample.user_header_ptr)
        seq, sent_ns, publisher, first_seq, opened_ns, payload = layout(size).unpack_from(data)
        if publisher in self.own:
            return
        peer = self._peers.get(publisher)
        if peer is None:  # of a port younger than this one nothing was missed
            next_seq = first_seq if opened_ns > self._opened_ns else seq
            peer = self._peers[publisher] = _Peer(f"{publisher:016x}", next_seq)
        if seq >= peer.next_seq:  # else it was sent again, for others
            self._lost += seq - peer.next_seq
            peer.next_seq = seq + 1
            self._held.append(Arrival(payload, seq, peer.name, sent_ns, time_ns()))


def _nothing() -> None:
    """Receive without a port."""

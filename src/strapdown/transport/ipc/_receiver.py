"""The receiving end of a topic: messages of other processes, with what was lost between them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from strapdown.transport.ipc._service import HEADER, block
from strapdown.transport.link import Arrival

if TYPE_CHECKING:
    from strapdown.transport.ipc._service import Service
    from strapdown.transport.link import Sink

__all__ = ["Receiver"]


class _Peer:
    """A publisher elsewhere."""

    __slots__ = ("name", "next_seq")

    def __init__(self, name: str, next_seq: int) -> None:
        self.name = name
        self.next_seq = next_seq


class Receiver:
    """A port to receive, there or not.

    Each publisher has a queue of its own in shared memory, where its oldest messages give way.
    What gave way shows as a gap in its numbers when the next one is taken.
    """

    def __init__(self, service: Service, sink: Sink) -> None:
        self._service, self._sink = service, sink
        size, self._capacity = service.channel.form.size, service.channel.capacity
        self._block = None if size is None else block(size)
        self._lock = threading.Lock()
        self._port: Any = None
        self._opened_ns = 0
        self._peers: dict[int, _Peer] = {}
        self._held: list[Arrival] = []  # taken, but the ring had no room
        self.ports = 0
        """Subscribers of this process: 0 or 1."""
        self.is_used = False
        """Whether anybody ever received."""

    def open(self) -> None:
        """Queue from now on what others send."""
        with self._lock:
            if self._port is None:
                self.ports = 1
                self._port = self._service.subscriber()
                self._opened_ns = time.monotonic_ns()

    def poll(self, own: int) -> None:
        """Deliver what has come, except from ``own``, this process."""
        self.is_used = True
        if self._port is None:
            self.open()
        with self._lock:
            lost = self._take(own)
            if lost:
                self._sink.lose(lost, overwritten=True)
            if self._held:
                self._sink.deliver(self._held)
                self._held.clear()

    def make_room(self, own: int) -> None:
        """Take what this process sent itself off its queue, so that the sender need not wait."""
        with self._lock:
            if self._port is not None:
                self._take(own)

    def meet(self) -> None:
        """Join the queues of new publishers; forget the publishers when none is left."""
        with self._lock:
            if self._port is None:
                return
            alone = self._service.members.number_of_publishers == 0
            if not self._port.has_samples() and alone:
                self._peers.clear()

    def close(self) -> None:
        """Receive no longer."""
        with self._lock:
            self._port = None
            self.ports = 0
            self._peers.clear()

    def _take(self, own: int) -> int:
        """Move messages from the queues to those held, and return how many are missing."""
        receive = self._port.receive
        sample = receive()
        if sample is None:
            return 0
        held, lost, now_ns = self._held, 0, time.time_ns()
        while sample is not None:
            kind = self._block or block(sample.header.number_of_elements)
            data = kind.from_address(sample.user_header_ptr).raw
            seq, sent_ns, publisher, first_seq, opened_ns = HEADER.unpack_from(data)
            if publisher != own:
                peer = self._peers.get(publisher)
                if peer is None:  # of a port younger than this one nothing was missed
                    next_seq = first_seq if opened_ns > self._opened_ns else seq
                    peer = self._peers[publisher] = _Peer(f"{publisher:016x}", next_seq)
                if seq >= peer.next_seq:  # else it was sent again, for others
                    lost += seq - peer.next_seq
                    peer.next_seq = seq + 1
                    held.append(Arrival(data[HEADER.size :], seq, peer.name, sent_ns, now_ns))
            sample = receive() if len(held) < self._capacity else None
        return lost

"""Sending end of a topic, which exists only while another process listens."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

from strapdown.transport.links.ipc import _node
from strapdown.transport.links.ipc._service import block, layout

if TYPE_CHECKING:
    from strapdown.transport.link import Arrival, Sink
    from strapdown.transport.links.ipc._bell import Bell
    from strapdown.transport.links.ipc._receiver import Receiver
    from strapdown.transport.links.ipc._service import Service

__all__ = ["Sender"]

LINGER_S = 0.25  # until every subscriber has met a new publisher: each looks every 0.1 s
PAUSE_S, LONGEST_PAUSE_S = 0.0002, 0.01  # between checks for room


class Sender:
    """Optional port to send.

    The first to listen gets what the ring retains; the history of iceoryx2 serves those who come
    later. When listeners return, a new port is opened, which is a new publisher to them. A listener
    that joins between two checks gets the first messages with the next one.
    """

    def __init__(self, service: Service, sink: Sink, receiver: Receiver, bell: Bell) -> None:
        self._service, self._sink, self._receiver, self._bell = service, sink, receiver, bell
        self._size = service.channel.form.size
        self._is_reliable = service.channel.reliable
        self._lock = threading.Lock() if self._is_reliable else sink.outgoing
        self._port: Any = None
        self._at = block(self._size or 0).from_address
        self._write = layout(self._size or 0).pack_into
        self._memory: Any = None  # for the next message and its header
        self._send: Any = None  # sends it
        self._origin = (0, 0, 0)  # the same in every header
        self._next_seq = 0
        self._served = 0  # subscribers elsewhere that have had their history
        self._changed_s = 0.0  # when their number changed
        self._is_used = False  # whether anything was ever sent
        self._is_closing = False

    @property
    def ports(self) -> int:
        """Publishers of this process: 0 or 1."""
        return int(self._port is not None)

    def others(self) -> int:
        """Count the subscribers elsewhere."""
        return self._service.subscribers() - self._receiver.ports

    def send(self, message: Arrival) -> None:
        """Send to the other processes, if any listens; needs the lock."""
        payload, seq, _, sent_ns, _ = message
        if (self._port is None and not self._open(message)) or seq < self._next_seq:
            return
        size = self._size
        if size is None:
            self._loan(len(payload))
        identity, first_seq, opened_ns = self._origin
        self._write(self._memory, 0, seq, sent_ns, identity, first_seq, opened_ns, payload)
        reached = self._send()
        self._bell.ring()
        self._next_seq = seq + 1
        if self._is_reliable:
            self._insist(message, reached)
        if size is not None:  # for the next message; nobody waits for this one now
            self._loan(size)

    def send_reliably(self, message: Arrival) -> None:
        """Send, and wait until every subscriber has had room."""
        with self._lock:
            self.send(message)

    def serve(self) -> None:
        """Send retained messages to new subscribers; close the port if all have left."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            others = self.others()
            has_changed, self._served = others != self._served, others
            if has_changed:
                self._changed_s = time.monotonic()
            if others <= 0:
                self._close()
            elif self._port is not None:
                self._port.update_connections()
                if has_changed:
                    self._bell.ring()
            elif has_changed and (retained := self._sink.retained()):
                self.send(retained[-1])
        finally:
            self._lock.release()

    def close(self) -> None:
        """Send no longer; a port that is new stays until all have met it."""
        self._is_closing = True
        with self._lock:
            if self._port is not None:
                time.sleep(max(0.0, self._changed_s + LINGER_S - time.monotonic()))
            self._close()

    # The methods below need the lock.

    def _open(self, upcoming: Arrival) -> bool:
        """Open the port if anybody listens, and send the retained messages before a new one."""
        if not self._is_used:
            self._is_used = True
            if not self._receiver.is_used:  # a process that only sends
                self._receiver.close()
        self._served = self.others()
        if self._served <= 0 or self._is_closing:
            return False
        earlier = [message for message in self._sink.retained() if message.seq < upcoming.seq]
        messages = [*earlier, upcoming][-self._service.buffer :]
        identity = int.from_bytes(os.urandom(8), "little")
        self._receiver.own.add(identity)
        self._origin = (identity, messages[0].seq, time.monotonic_ns())
        self._port = self._service.publisher()
        self._changed_s = time.monotonic()  # nobody could meet the port before
        if self._size is not None:
            self._loan(self._size)
        self._next_seq = messages[0].seq
        for message in messages[:-1]:
            self.send(message)
        return True

    def _close(self) -> None:
        self._port = self._memory = self._send = None

    def _insist(self, message: Arrival, reached: int) -> None:
        """Send again until every subscriber has had room; those that have it leave it out."""
        payload, seq, _, sent_ns, _ = message
        pause_s = PAUSE_S
        while reached < self._service.subscribers() and not self._is_closing:
            self._receiver.make_room()
            time.sleep(pause_s)
            pause_s = min(2.0 * pause_s, LONGEST_PAUSE_S)
            _node.clean()  # dead subscribers make no room
            self._loan(len(payload))
            self._write(self._memory, 0, seq, sent_ns, *self._origin, payload)
            reached = self._send()
            self._bell.ring()

    def _loan(self, size: int) -> None:
        """Take memory for a message of so many bytes, which follow their header."""
        if self._size is None:
            self._at, self._write = block(size).from_address, layout(size).pack_into
            sample = self._port.loan_slice_uninit(size).assume_init()
        else:
            sample = self._port.loan_uninit().assume_init()
        self._memory = self._at(sample.user_header_ptr)
        self._send = sample.send

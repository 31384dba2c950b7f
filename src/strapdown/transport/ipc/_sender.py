"""The sending end of a topic, which is there only while somebody elsewhere listens."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

from strapdown.transport.ipc import _node
from strapdown.transport.ipc._service import HEADER, block

if TYPE_CHECKING:
    from strapdown.transport.ipc._bell import Bell
    from strapdown.transport.ipc._receiver import Receiver
    from strapdown.transport.ipc._service import Service
    from strapdown.transport.link import Arrival, Sink

__all__ = ["Sender"]

LINGER_S = 0.25  # until every subscriber has met a new publisher: each looks every 0.1 s
PAUSE_S, LONGEST_PAUSE_S = 0.0002, 0.01  # between two looks whether somebody has made room


class Sender:
    """A port to send, there or not.

    The first to listen gets what the ring retains; the history of iceoryx2 serves those who come
    later. A new port begins whenever listeners return, and is a new publisher to them. Who joins
    between two looks gets the first messages with the next one.
    """

    def __init__(self, service: Service, sink: Sink, receiver: Receiver, bell: Bell) -> None:
        self._service, self._sink, self._receiver, self._bell = service, sink, receiver, bell
        self._members = service.members
        self._size = service.channel.form.size
        self._is_reliable = service.channel.reliable
        self._lock = threading.Lock()
        self._port: Any = None
        self._sample: Any = None  # memory for the next message, if its size is known
        self._block: Any = None  # its header and payload
        self._origin = (0, 0, 0)  # what every header says of the port
        self._next_seq = 0
        self._served = 0  # subscribers elsewhere that have had their history
        self._changed_s = 0.0  # when their number changed
        self._is_used = False  # whether anything was ever sent
        self._is_closing = False
        self.identity = -1
        """Of the port, as its headers say."""

    @property
    def ports(self) -> int:
        """Publishers of this process: 0 or 1."""
        return int(self._port is not None)

    def others(self) -> int:
        """Count the subscribers elsewhere."""
        return int(self._members.number_of_subscribers) - self._receiver.ports

    def send(self, message: Arrival) -> None:
        """Send to the other processes, if any listens."""
        with self._lock:
            if (self._port is None and not self._open(message)) or message.seq < self._next_seq:
                return
            self._transmit(message)

    def serve(self) -> None:
        """Give who came since the last time what is retained; close the port if all have left."""
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
            elif has_changed and (retained := self._sink.retained()) and self._open(retained[-1]):
                self._transmit(retained[-1])
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
        """Open the port if anybody listens, and send what is retained before a message."""
        if not self._is_used:
            self._is_used = True
            if not self._receiver.is_used:  # a process that only sends
                self._receiver.close()
        self._served = self.others()
        if self._served <= 0 or self._is_closing:
            return False
        earlier = [message for message in self._sink.retained() if message.seq < upcoming.seq]
        messages = [*earlier, upcoming][-self._service.buffer :]
        self.identity = int.from_bytes(os.urandom(8), "little")
        self._origin = (self.identity, messages[0].seq, time.monotonic_ns())
        self._changed_s = time.monotonic()
        self._port = self._service.publisher()
        if self._size is not None:
            self._loan(self._size)
        for message in messages[:-1]:
            self._transmit(message)
        return True

    def _close(self) -> None:
        self._port = self._sample = self._block = None

    def _transmit(self, message: Arrival) -> None:
        payload, seq, _, sent_ns, _ = message
        self._next_seq = seq + 1
        data = HEADER.pack(seq, sent_ns, *self._origin) + payload
        if self._size is None:
            self._loan(len(payload))
        self._block.raw = data
        reached = self._sample.send()
        self._bell.ring()
        if self._is_reliable:
            self._insist(data, reached)
        if self._size is not None:  # for the next message; nobody waits for this one now
            self._loan(self._size)

    def _insist(self, data: bytes, reached: int) -> None:
        """Send again until everybody has had room; who has it already leaves it out."""
        pause_s = PAUSE_S
        while reached < self._members.number_of_subscribers and not self._is_closing:
            self._receiver.make_room(self.identity)
            time.sleep(pause_s)
            pause_s = min(2.0 * pause_s, LONGEST_PAUSE_S)
            _node.clean()  # the dead make no room
            self._loan(len(data) - HEADER.size)
            self._block.raw = data
            reached = self._sample.send()
            self._bell.ring()

    def _loan(self, size: int) -> None:
        """Take memory for a message of so many bytes, which follow their header."""
        port = self._port
        loaned = port.loan_uninit() if self._size is not None else port.loan_slice_uninit(size)
        self._sample = loaned.assume_init()
        self._block = block(size).from_address(self._sample.user_header_ptr)

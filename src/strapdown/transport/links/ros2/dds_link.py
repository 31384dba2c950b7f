"""A topic of ROS 2 over DDS.

===========  ========================================  ===========================
profile      sends                                     receives
===========  ========================================  ===========================
``default``  reliable, keep last ``capacity``          best effort
``sensor``   best effort, keep last 5                  best effort
``latched``  reliable, keep last 10, transient local   reliable, transient local
===========  ========================================  ===========================

Fast DDS may learn of a writer some 0.1 s after the writer has matched it, so ``default`` keeps what
the topic retains for readers that are yet to acknowledge it. On a reliable topic ``default`` keeps
all on both sides, and both are reliable. Readers always keep all until they are taken, which
matters to nobody else: where their room of 8192 messages is full, DDS counts what it refuses, while
a reader that keeps the last overwrites in silence.

Cyclone DDS does not report how many messages were lost in transport, and messages of ROS 2 have no
numbers. So a writer here stores the last 14 bits of a number in its source time stamp, marked by
its entity name; the stamp is wrong by 8 us at most. Other programs ignore it, and losses of their
messages are not seen here.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from threading import Event, Lock, Thread, current_thread
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from cyclonedds.core import (
    DDSException,
    GuardCondition,
    InstanceState,
    ReadCondition,
    SampleState,
    ViewState,
    WaitSet,
)
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from strapdown.errors import FormatError, TransportError
from strapdown.messages.cdr import Wire
from strapdown.transport.link import Arrival, Link
from strapdown.transport.links.ros2.dds_qos import ENTITY_NAME, Watch, profiles
from strapdown.transport.links.ros2.dds_session import dds_errors, session
from strapdown.transport.links.ros2.dds_types import sample_type

if TYPE_CHECKING:
    from cyclonedds.qos import Qos

    from strapdown.transport.backends import Ros2
    from strapdown.transport.link import Channel, Sink
    from strapdown.transport.ros_messages import RosForm

__all__ = ["DdsLink"]

_BATCH: Final = 256
_ANY: Final = SampleState.Any | ViewState.Any | InstanceState.Any
_SECOND: Final = duration(seconds=1)
_Entity: TypeAlias = Any
"""A thing of the binding, whose methods have no types."""
_Ends: TypeAlias = tuple[_Entity, _Entity, _Entity]
"""A reader, a writer, and what wakes the thread that waits for the reader."""
_Publishers: TypeAlias = "dict[int, _Publisher]"
_NUMBER: Final = 2**14 - 1
"""The bits of a source time stamp [ns] that hold the number of a message."""


class DdsLink(Link):
    """One writer and one reader on a topic; a thread delivers the samples."""

    name: ClassVar[str] = "ros2"
    is_network: ClassVar[bool] = True

    def __init__(self, backend: Ros2, channel: Channel, form: RosForm, sink: Sink) -> None:
        self._form, self._sink, self._frame_id = form, sink, backend.frame_id
        self._topic = f"rt/{channel.name}"
        self._sample = sample_type(form.ros)
        self._waits_for_room = channel.reliable
        self._counting = Lock()
        self._totals = 0, 0  # that DDS has lost, and refused
        self._reported = 0  # of them, how many have not been found missing among the numbers
        self._closing = Event()
        offered, asked = profiles(backend, channel, form)
        self._best_effort = asked[Policy.Reliability] == Policy.Reliability.BestEffort
        self._ends: _Ends | None = None
        """None once the link is closed; who still uses them then keeps them alive."""
        with ExitStack() as stack:
            self._session = stack.enter_context(session(backend))
            self._watch = Watch(self._session, self._topic, form)
            stack.callback(self._forget)
            self._session.meet()
            self._ends = self._open(offered, asked)
            self._session.look_around()
            self._watch.refuse_other_types()
            self._stack = stack.pop_all()
        self._thread = Thread(
            target=self._receive, args=self._ends[::2], name=f"ros2 {channel.name}", daemon=True
        )
        self._thread.start()

    def send(self, message: Arrival) -> None:
        """Send a message; on a reliable topic, wait for room."""
        sample = self._sample(self._form.encode(message.payload, self._frame_id, Wire.CDR))
        stamp_ns = (message.sent_ns or time.time_ns()) & ~_NUMBER | message.seq & _NUMBER
        while (ends := self._ends) and not self._closing.is_set():
            try:
                ends[1].write(sample, stamp_ns)
            except DDSException as error:
                full = error.code == DDSException.DDS_RETCODE_TIMEOUT
                if not (full and self._waits_for_room):
                    raise TransportError(f"topic {self._topic}: DDS says {error}") from error
                self._closing.wait(0.001)
            else:
                return

    def tend(self) -> None:
        """Count what was lost, and warn of endpoints that do not fit."""
        self.settle()
        if ends := self._ends:
            reader, writer, _ = ends
            self._watch.look(reader, writer)

    def settle(self) -> None:
        """Ask DDS how many messages it has lost."""
        if not (ends := self._ends):
            return
        reader, *_ = ends
        with self._counting:
            before, lost = self._totals, reader.get_sample_lost_status().total_count
            # A reliable writer sends again what was refused.
            status = reader.get_sample_rejected_status() if self._best_effort else None
            self._totals = lost, status.total_count if status else 0
            lost, refused = (now - then for now, then in zip(self._totals, before, strict=True))
            self._reported += lost + refused
        if lost:
            self._sink.lose(lost)
        if refused:
            self._sink.lose(refused, overwritten=True)

    def problem(self) -> str:
        """Report an incompatible endpoint elsewhere, and the policy that differs."""
        return self._watch.problem

    def publishers(self) -> int:
        """Count the writers elsewhere whose messages come here."""
        return len(ends[0].matched_pub) if (ends := self._ends) else 0

    def subscribers(self) -> int:
        """Count the readers elsewhere that are matched with the writer."""
        return len(ends[1].matched_sub) if (ends := self._ends) else 0

    def close(self) -> None:
        """Leave the topic once reliable readers have everything, or after 0.5 s."""
        if self._ends is None or self._session.lost:
            return
        self._closing.set()
        self._ends[2].set(triggered=True)
        if current_thread() is not self._thread:
            self._thread.join()
        with suppress(DDSException, AttributeError):  # the binding stumbles over an end of time
            self._ends[1].wait_for_acks(duration(milliseconds=500))
        self._stack.close()

    def _open(self, offered: Qos, asked: Qos) -> _Ends:
        participant = self._session.participant
        with dds_errors(f"topic {self._topic}"):
            topic = Topic(participant, self._topic, self._sample)
            reader = DataReader(participant, topic, asked)
            return reader, DataWriter(participant, topic, offered), GuardCondition(participant)

    def _forget(self) -> None:
        self._ends = None

    def _receive(self, reader: _Entity, wake: _Entity) -> None:
        """Deliver samples until the link closes."""
        waitset = WaitSet(self._session.participant)
        waitset.attach(ReadCondition(reader, _ANY))
        waitset.attach(wake)
        publishers: _Publishers = {}
        while not self._closing.is_set():
            waitset.wait(_SECOND)
            while not self._closing.is_set() and (samples := reader.take(_BATCH)):
                self._deliver(samples, reader, publishers)
            if len(publishers) > 64:  # by now some of them may have left
                here = {handle % 2**64 for handle in reader.matched_pub}
                publishers = {handle: publishers[handle] for handle in here & publishers.keys()}

    def _deliver(self, samples: list[Any], reader: _Entity, publishers: _Publishers) -> None:
        """Deliver the samples that were read to the ring."""
        now, malformed = time.time_ns(), 0
        arrivals = []
        for sample in samples:
            if type(sample) is not self._sample:  # a publisher has left
                continue
            info = sample.sample_info
            handle = info.publication_handle
            publisher = publishers.get(handle)
            if publisher is None:
                endpoint = reader.get_matched_publication_data(handle)
                publisher = publishers[handle] = _Publisher(handle, endpoint)
            seq, sent_ns, missing = publisher.count(info.source_timestamp)
            if missing:
                self._lose(missing)
            try:
                payload = self._form.decode(sample.data, Wire.CDR)
            except FormatError:
                malformed += 1
            else:
                arrivals.append(Arrival(payload, seq, publisher.name, sent_ns, now))
        if malformed:
            self._sink.note(malformed=malformed)
        if arrivals:
            self._sink.deliver(arrivals)

    def _lose(self, missing: int) -> None:
        """Count missing numbers, unless DDS has reported those messages as lost."""
        self.settle()
        with self._counting:
            known = min(missing, self._reported)
            self._reported -= known
        if missing > known:
            self._sink.lose(missing - known)


class _Publisher:
    """A writer elsewhere, and how many of its messages have come."""

    def __init__(self, handle: int, endpoint: _Entity | None) -> None:
        self.name = str(handle if endpoint is None else endpoint.key)  # None: it has left
        name = None if endpoint is None else endpoint.qos[Policy.EntityName]
        self._is_ours = name is not None and name.name == ENTITY_NAME
        self._next: int | None = None

    def count(self, stamp_ns: int) -> tuple[int, int, int]:
        """Return the number and the time of a message, and how many before it are missing."""
        if not self._is_ours:
            number, missing = self._next or 0, 0
        else:
            stated = stamp_ns & _NUMBER
            expected = stated if self._next is None else self._next
            missing = (stated - expected) & _NUMBER
            number = expected + missing
            stamp_ns = stamp_ns & ~_NUMBER | (_NUMBER + 1) // 2
        self._next = number + 1
        return number, stamp_ns, missing

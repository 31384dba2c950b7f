"""What the ring of a topic does for its link to other processes, with links made for the test."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from dataclasses import dataclass, field

import pytest

from strapdown.errors import TransportError
from strapdown.messages import Imu, RosImu
from strapdown.transport import Backend, Topic, ring
from strapdown.transport.link import Arrival, Link

SIZE = Imu.dtype.itemsize


def imu(number: int) -> Imu:
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, timestamp_ns=number)


def numbers(messages) -> list[int]:
    return [message.timestamp_ns for message in messages]


class Wire(Link):
    """A link whose other end is the test."""

    name = "wire"
    is_network = True

    def __init__(self, sink) -> None:
        self.sink = sink
        self.sent: list[Arrival] = []
        self.losses_to_learn = 0
        self.readers = self.writers = 0
        self.is_closed = False
        self.tended = 0
        self.comes = False

    def send(self, message: Arrival) -> None:
        self.sent.append(message)

    def tend(self) -> None:
        self.tended += 1
        if self.comes:
            self.active = True

    def settle(self) -> None:
        self.sink.lose(self.losses_to_learn)
        self.losses_to_learn = 0

    def publishers(self) -> int:
        return self.writers

    def subscribers(self) -> int:
        return self.readers

    def close(self) -> None:
        assert not self.is_closed
        self.is_closed = True

    def bring(self, *stamps: int, publisher: str = "other") -> None:
        """Let messages come from elsewhere."""
        self.sink.deliver(arrivals(*stamps, publisher=publisher))


def arrivals(*stamps: int, publisher: str = "other") -> list[Arrival]:
    return [Arrival(bytes(imu(stamp)), stamp, publisher, 1000 + stamp, 2000) for stamp in stamps]


class Pulled(Wire):
    """A link that delivers only when it is asked, as that to shared memory."""

    waits = True

    def __init__(self, sink) -> None:
        super().__init__(sink)
        self.queue: deque[Arrival] = deque()
        self.event = threading.Event()
        self.polls = self.waits_begun = 0

    def poll(self) -> None:
        self.polls += 1
        while self.queue:
            self.sink.deliver([self.queue.popleft()])

    def wait(self, timeout_s: float) -> None:
        self.waits_begun += 1
        self.event.wait(timeout_s)
        self.event.clear()

    def wake(self) -> None:
        self.event.set()

    def bring(self, *stamps: int, publisher: str = "other") -> None:
        self.queue.extend(arrivals(*stamps, publisher=publisher))
        self.event.set()


@dataclass(frozen=True, eq=False)
class Wired(Backend):
    """A backend of its own for each test."""

    kind: type[Wire] = Wire
    links: list[Wire] = field(default_factory=list)
    name = "wire"
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def open_link(self, channel, sink) -> Wire:
        assert channel.name
        self.links.append(self.kind(sink))
        return self.links[-1]


@pytest.fixture(params=[Wire, Pulled], ids=["pushed", "pulled"])
def wired(request) -> Wired:
    return Wired(request.param)


def eventually(condition) -> bool:
    end = time.monotonic() + 5.0
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_a_process_has_one_link_for_all_handles_of_a_topic_and_closes_it_with_the_last(wired):
    one, two = Topic(Imu, backend=wired), Topic(Imu, backend=wired)
    (link,) = wired.links
    assert (one.backend_type, one.is_network_topic) == ("wire", True)
    one.close()
    assert not link.is_closed
    two.close()
    assert link.is_closed


def test_a_topic_that_nobody_holds_any_more_gives_its_link_back(wired):
    topic = Topic(Imu, backend=wired)
    assert eventually(lambda: wired.links[0].tended > 1)
    del topic
    assert eventually(lambda: wired.links[0].is_closed)


def test_what_is_sent_here_goes_out_in_order_with_numbers_of_its_own(wired):
    with Topic(Imu, backend=wired) as one, Topic(Imu, backend=wired) as two:
        (link,) = wired.links
        before = time.time_ns()
        one.send(imu(10))
        link.bring(0)
        two.send(imu(11))
        one.send(imu(12))
        assert one.recv_all()
        assert [message.seq for message in link.sent] == [0, 1, 2]
        assert [Imu.from_bytes(message.payload).timestamp_ns for message in link.sent] == [
            10,
            11,
            12,
        ]
        assert len({message.publisher for message in link.sent}) == 1
        assert all(before <= message.sent_ns <= time.time_ns() for message in link.sent)
        assert link.sink.retained() == link.sent


def test_what_threads_send_at_once_goes_out_once_each_in_order(wired):
    with Topic(Imu, 4096, backend=wired) as topic:
        (link,) = wired.links

        def send() -> None:
            with Topic(Imu, backend=wired) as mine:
                for number in range(300):
                    mine.send(imu(number))

        threads = [threading.Thread(target=send) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [message.seq for message in link.sent] == list(range(900))
        assert [bytes(message) for message in topic.recv_all()] == [
            message.payload for message in link.sent
        ]


def test_messages_from_elsewhere_are_received_with_their_origin_beside_those_from_here(wired):
    with Topic(Imu, backend=wired) as topic:
        (link,) = wired.links
        topic.recv()
        topic.send(imu(100))
        link.bring(5, 6)
        assert topic.recv_with_info()[1].seq == 0
        message, info = topic.recv_with_info()
        assert (message.timestamp_ns, *info) == (5, 5, "other", 1005, 2000)
        topic.send(imu(101))
        assert topic.recv_with_info()[1].seq == 6
        message, info = topic.recv_with_info()
        assert (message.timestamp_ns, info.seq) == (101, 1)


def test_losses_and_oddities_that_a_link_tells_are_counted_for_handles_that_were_there(wired):
    with Topic(Imu, backend=wired) as early:
        (link,) = wired.links
        early.recv()
        link.sink.lose(3)
        link.sink.lose(4, overwritten=True)
        link.losses_to_learn = 10
        link.sink.note(duplicates=1, out_of_order=2, malformed=5)
        with Topic(Imu, backend=wired) as late:
            late.recv()
            link.sink.lose(1)
            stats = early.stats()
            assert (stats.lost_transport, stats.lost_overwritten) == (14, 4)
            assert (stats.duplicates, stats.out_of_order, stats.malformed) == (1, 2, 5)
            assert early.dropped_count() == 14
            assert late.dropped_count() == 11


@pytest.mark.parametrize("length", [0, SIZE - 1, SIZE + 1, 100_000])
def test_bytes_of_another_length_are_left_out_and_counted(wired, length):
    with Topic(Imu, backend=wired) as topic:
        (link,) = wired.links
        topic.recv()
        link.sink.deliver([Arrival(bytes(length), 0, "other", 0, 0), *arrivals(1)])
        assert numbers(topic.recv_all()) == [1]
        assert topic.stats().malformed == 1


def test_bytes_that_are_no_message_of_varying_length_are_left_out_and_counted():
    wired = Wired()
    with Topic(RosImu, name="ros", backend=wired) as topic:
        for data in (b"", b"\x00\x01\x00\x00" + bytes(20), bytes(400)):
            wired.links[0].sink.deliver([Arrival(data, 0, "other", 0, 0)])
        assert topic.recv() is None
        assert topic.stats().malformed == 3


def test_others_elsewhere_are_counted_and_waited_for(wired):
    with Topic(Imu, backend=wired) as topic:
        (link,) = wired.links
        assert (topic.pub_count(), topic.sub_count()) == (0, 0)
        timer = threading.Timer(0.05, setattr, [link, "readers", 2])
        timer.start()
        assert topic.wait_for_subscriber(5.0)
        timer.join()
        link.writers = 3
        assert topic.wait_for_publisher(0.0)
        topic.send(imu(0))
        assert (topic.pub_count(), topic.sub_count()) == (4, 2)


def take_one(handle: Topic[Imu], into: list[Imu | None]) -> None:
    into.append(handle.recv(4.0))


@pytest.mark.parametrize("count", [1, 5])
def test_several_threads_that_wait_all_hear_of_messages_from_elsewhere_and_here(
    wired, count, monkeypatch
):
    monkeypatch.setattr(ring, "WAIT_SLICE_S", 5.0)
    with Topic(Imu, backend=wired) as sender:
        (link,) = wired.links
        handles = [Topic(Imu, backend=wired) for _ in range(count)]
        for source in (sender.send, lambda message: link.bring(message.timestamp_ns)):
            got: list[Imu | None] = []
            threads = [threading.Thread(target=take_one, args=[each, got]) for each in handles]
            for thread in threads:
                thread.start()
            time.sleep(0.1)
            began = time.monotonic()
            source(imu(7))
            for thread in threads:
                thread.join()
            assert time.monotonic() - began < 2.0
            assert numbers(got) == [7] * count
        for handle in handles:
            handle.close()


def test_only_one_thread_at_a_time_waits_in_the_link():
    class Watched(Pulled):
        inside = 0
        most = 0

        def wait(self, timeout_s: float) -> None:
            self.inside += 1
            self.most = max(self.most, self.inside)
            super().wait(timeout_s)
            self.inside -= 1

    wired = Wired(Watched)
    handles = [Topic(Imu, backend=wired) for _ in range(4)]
    threads = [threading.Thread(target=handle.recv, args=[0.5]) for handle in handles]
    for thread in threads:
        thread.start()
    for _ in range(20):
        handles[0].send(imu(0))
        handles[1].try_recv()
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert wired.links[0].most == 1
    for handle in handles:
        handle.close()


def test_a_link_that_knows_of_nobody_is_not_bothered_and_later_gets_what_is_retained(wired):
    with Topic(Imu, 4, backend=wired) as topic:
        (link,) = wired.links
        link.active = False
        assert eventually(lambda: link.tended > 0)
        topic.send(imu(0))
        assert len(link.sent) <= 1  # the ring may have asked before
        for number in range(1, 10):
            topic.send(imu(number))
        assert len(link.sent) <= 1
        link.comes = True
        assert eventually(lambda: [m.seq for m in link.sent][-4:] == [6, 7, 8, 9])
        topic.send(imu(10))
        assert [message.seq for message in link.sent][-5:] == [6, 7, 8, 9, 10]


def test_messages_that_wait_in_the_link_are_fetched_before_a_look_at_them():
    wired = Wired(Pulled)
    with Topic(Imu, backend=wired) as topic:
        (link,) = wired.links
        link.bring(1)
        assert topic.pending_count() == 1
        link.bring(2)
        assert topic.read_latest().timestamp_ns == 2
        link.bring(3)
        assert numbers(topic.recv_all()) == [1, 2, 3]
        link.bring(4)
        assert topic.recv_array()["timestamp_ns"].tolist() == [4]
        link.bring(5)
        assert topic.recv().timestamp_ns == 5


def test_a_link_that_cannot_be_opened_leaves_no_topic_behind():
    class Broken(Wired):
        def open_link(self, channel, sink) -> Wire:
            raise TransportError(f"{channel.name}: nobody answers {sink.channel.name}")

    broken = Broken()
    for _ in range(2):
        with pytest.raises(TransportError, match="nobody answers imu"):
            Topic(Imu, backend=broken)


def test_an_error_while_a_link_is_tended_is_logged_and_the_others_are_tended(caplog):
    class Failing(Wire):
        def tend(self) -> None:
            super().tend()
            raise TransportError("out of order")

    failing, fine = Wired(Failing), Wired()
    with (
        caplog.at_level(logging.WARNING, "strapdown"),
        Topic(Imu, name="failing", backend=failing),
        Topic(Imu, backend=fine),
    ):
        assert eventually(lambda: failing.links[0].tended > 1 and fine.links[0].tended > 1)
    assert "'failing': out of order" in caplog.text


# Reliable topics


class Slow(Wire):
    """A link that takes messages only while the test lets it."""

    def __init__(self, sink) -> None:
        super().__init__(sink)
        self.may_take = threading.Event()

    def send(self, message: Arrival) -> None:
        while not self.may_take.wait(0.01):
            if self.is_closed:
                raise TransportError("closed")
        super().send(message)


def reliable(wired: Wired, capacity: int | None = None) -> Topic[Imu]:
    return Topic(Imu, capacity, backend=wired, reliability="reliable")


def test_a_reliable_sender_waits_for_its_link_and_loses_nothing(monkeypatch):
    monkeypatch.setattr(ring, "SEND_WAIT_S", 0.05)
    wired = Wired(Slow)
    topic = reliable(wired, 4)
    (link,) = wired.links
    for number in range(4):
        assert topic.try_send(imu(number)) is True
    assert topic.try_send(imu(4)) is False
    with pytest.raises(TransportError, match="no room"):
        topic.send(imu(4))
    link.may_take.set()
    assert topic.send_blocking(imu(4), 5.0) is True
    topic.close()
    assert [message.seq for message in link.sent] == [0, 1, 2, 3, 4]


def test_closing_a_reliable_topic_that_nobody_takes_from_says_how_much_is_left(monkeypatch):
    monkeypatch.setattr(ring, "SEND_WAIT_S", 0.05)
    topic = reliable(Wired(Slow))
    topic.send(imu(0))
    topic.send(imu(1))
    with pytest.raises(TransportError, match=r"2 messages that nobody took"):
        topic.close()


def test_a_reliable_topic_whose_link_fails_says_so_at_the_next_message():
    class Broken(Wire):
        def send(self, message: Arrival) -> None:
            raise TransportError(f"the cable is cut at {message.seq}")

    wired = Wired(Broken)
    topic = reliable(wired)
    topic.send(imu(0))
    (link,) = wired.links
    assert eventually(lambda: link.sink.failure is not None)
    with pytest.raises(TransportError, match="cable"):
        topic.send(imu(1))
    began = time.monotonic()
    with pytest.raises(TransportError, match="1 messages"):
        topic.close()
    assert time.monotonic() - began < 1.0


def test_a_reliable_topic_holds_back_the_link_until_its_readers_have_received(wired):
    with reliable(wired, 4) as topic:
        (link,) = wired.links
        topic.recv()
        thread = threading.Thread(target=link.bring, args=range(100))
        thread.start()
        received: list[int] = []
        while len(received) < 100:
            message = topic.recv(5.0)
            assert message is not None
            received.append(message.timestamp_ns)
        thread.join()
        assert received == list(range(100))
        assert topic.missed_count() == 0


# A handle that takes messages from the link itself


class Taken(Pulled):
    """A link that also hands messages out, and delivers what is not in line."""

    takes = True

    def __init__(self, sink) -> None:
        super().__init__(sink)
        self.taken = 0
        self.due: deque[int] = deque()  # arrive one by one, whenever a handle begins to wait

    def wait(self, timeout_s: float) -> None:
        if self.due:
            self.bring(self.due.popleft())
        super().wait(timeout_s)

    def take(self) -> Arrival | None:
        if not self.queue:
            return None
        arrival = self.queue.popleft()
        if arrival.publisher == "late":
            self.sink.deliver([arrival])
            return None
        self.taken += 1
        return arrival


@pytest.fixture
def taking():
    """A reader that has received messages 0 to 9 from the link itself, a second one, the link."""
    wired = Wired(Taken)
    with Topic(Imu, backend=wired) as reader, Topic(Imu, backend=wired) as other:
        (link,) = wired.links
        link.tend = lambda: None
        take_directly(reader, link, range(10))
        yield reader, other, link


def take_directly(reader: Topic[Imu], link: Taken, stamps: range) -> None:
    for stamp in stamps:
        link.due.append(stamp)
        assert numbers([reader.recv(5.0)]) == [stamp]


def test_what_one_handle_took_from_the_link_others_receive_too(taking):
    reader, other, link = taking
    assert link.taken == 10
    assert numbers(other.recv_all()) == list(range(10))
    link.bring(10)
    assert numbers([reader.recv(1.0), other.recv(1.0)]) == [10, 10]
    assert reader.recv() is None
    assert other.recv() is None


def test_what_was_taken_is_history_to_those_who_come_later(taking):
    reader, *_ = taking
    with Topic(Imu, backend=reader._ring.backend, history=3) as late:
        assert numbers(late.recv_all()) == [7, 8, 9]


def test_counts_are_right_at_once_after_messages_were_taken(taking):
    reader, other, _ = taking
    assert (reader.stats().received, reader.pending_count()) == (10, 0)
    assert (other.stats().received, other.pending_count()) == (0, 10)
    assert reader.read_latest().timestamp_ns == 9


def test_closing_a_handle_that_took_messages_leaves_them_to_others(taking):
    reader, other, _ = taking
    reader.close()
    assert numbers(other.recv_all()) == list(range(10))


def test_messages_from_here_and_elsewhere_keep_one_order_for_all(taking):
    reader, other, link = taking
    other.send(imu(100))
    link.bring(10)
    other.send(imu(101))
    rest = [reader.recv(1.0) for _ in range(3)]
    assert set(numbers(rest)) == {100, 10, 101}
    assert numbers(other.recv_all()) == [*range(10), *numbers(rest)]
    assert reader.stats().received == 13


def test_a_message_out_of_line_is_delivered_without_a_wait(taking, monkeypatch):
    reader, other, link = taking
    monkeypatch.setattr(ring, "WAIT_SLICE_S", 3.0)
    link.queue.extend(arrivals(10, publisher="late"))
    began = time.monotonic()
    assert numbers([reader.recv(5.0)]) == [10]
    assert time.monotonic() - began < 1.0
    assert numbers(other.recv_all()) == list(range(11))


def test_two_threads_on_a_handle_that_takes_messages_share_them(taking):
    reader, other, link = taking
    got: list[int] = []

    def receive() -> None:
        while (message := reader.recv(0.5)) is not None:
            got.append(message.timestamp_ns)

    threads = [threading.Thread(target=receive) for _ in range(2)]
    for thread in threads:
        thread.start()
    for stamp in range(10, 510):
        link.bring(stamp)
        if stamp % 50 == 0:
            time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(10, 510))
    assert numbers(other.recv_all()) == list(range(510))
    assert reader.stats().received == 510


def test_a_forked_child_begins_without_what_its_parent_took(taking):
    reader, other, _ = taking
    child = os.fork()
    if child == 0:
        os._exit(int(reader.pending_count() + other.pending_count() != 0))
    assert os.waitpid(child, 0)[1] == 0
    assert numbers(other.recv_all()) == list(range(10))


def test_more_messages_than_are_retained_may_be_taken_before_anybody_looks():
    wired = Wired(Taken)
    with Topic(Imu, 4, backend=wired) as reader, Topic(Imu, backend=wired) as other:
        other.recv()
        (link,) = wired.links
        take_directly(reader, link, range(12))
        stats = other.stats()
        assert (stats.received, stats.lost_overwritten) == (0, 8)
        assert numbers(other.recv_all()) == [8, 9, 10, 11]
        assert reader.stats().received == 12

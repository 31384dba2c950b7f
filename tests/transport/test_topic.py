from __future__ import annotations

import copy
import gc
import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from strapdown.errors import TransportError, ValueRangeError
from strapdown.messages import Imu, Pose3D
from strapdown.transport import Topic, TopicStats, registry, ring, slots


@pytest.fixture(autouse=True)
def no_topic_is_open(monkeypatch):
    """Start without topics, also after a test that failed and left some open."""
    monkeypatch.setattr(registry, "_RINGS", {})


def imu(number: int) -> Imu:
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, timestamp_ns=number)


def numbers(messages) -> list[int]:
    return [message.timestamp_ns for message in messages]


@dataclass
class Note:
    """A message without a fixed layout."""

    words: list[str] = field(default_factory=list)


# Who receives what


@pytest.mark.slow
def test_three_handles_each_get_everything_in_every_interleaving_of_six_steps():
    steps = [(handle, action) for handle in range(3) for action in ("send", "recv")]
    for interleaving in itertools.product(steps, repeat=6):
        acting = list(dict.fromkeys(who for who, _ in interleaving))
        if acting != sorted(acting):
            continue  # the same as another with the handles renamed
        handles = [Topic(Imu, 8) for _ in range(3)]
        sent, received = 0, [0, 0, 0]
        for who, action in interleaving:
            if action == "send":
                handles[who].send(imu(sent))
                sent += 1
            else:
                message = handles[who].recv()
                expected = received[who] if received[who] < sent else None
                assert (message and message.timestamp_ns) == expected, interleaving
                received[who] += message is not None
        rest = [numbers(handle.recv_all()) for handle in handles]
        assert rest == [list(range(done, sent)) for done in received], interleaving
        for handle in handles:
            handle.close()


def test_a_message_arrives_field_for_field():
    sent = Imu(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, timestamp_ns=2**64 - 1)
    sent.set_orientation_from_euler(0.1, 0.2, 0.3, covariance=range(9))
    with Topic(Imu) as topic:
        topic.send(sent)
        assert topic.recv() == sent


def test_the_sender_may_edit_its_message_after_sending():
    message = imu(1)
    with Topic(Imu) as topic:
        topic.send(message)
        message.timestamp_ns = 2
        assert topic.recv().timestamp_ns == 1


@pytest.mark.parametrize("first", ["recv", "read_latest"])
def test_each_receiver_may_edit_its_own_copy(first):
    with Topic(Note, name="notes") as one, Topic(Note, name="notes") as two:
        original = Note(["a"])
        one.send(original)
        original.words.append("b")
        getattr(one, first)().words.append("c")
        assert two.recv().words == ["a"]


def test_capacity_is_rounded_up_to_a_power_of_two():
    for wanted, retained in [(1, 1), (3, 4), (4, 4), (5, 8), (None, 1024)]:
        with Topic(Imu, wanted) as topic:
            for number in range(2 * retained):
                topic.send(imu(number))
            assert numbers(topic.recv_all()) == list(range(retained, 2 * retained))


@pytest.mark.parametrize("has_gil", [True, False])
def test_a_lapped_reader_goes_on_at_the_oldest_message_and_counts_the_lost_exactly(
    has_gil, monkeypatch
):
    monkeypatch.setattr(slots, "HAS_GIL", has_gil)
    with Topic(Imu) as sender, Topic(Imu) as reader, Topic(Imu) as other:
        for number in range(3000):
            assert sender.send(imu(number)) is True
        assert numbers(reader.recv_all()) == list(range(1976, 3000))
        assert reader.stats() == TopicStats(
            received=1024, lost_overwritten=1976, publishers=1, subscribers=1
        )
        assert reader.missed_count() == 1976
        assert reader.dropped_count() == 0
        assert other.recv().timestamp_ns == 1976
        assert sender.stats() == TopicStats(sent=3000, publishers=1, subscribers=2)


@pytest.mark.parametrize("has_gil", [True, False])
def test_a_reader_gets_what_is_retained_in_order_however_far_it_is_behind(has_gil, monkeypatch):
    monkeypatch.setattr(slots, "HAS_GIL", has_gil)
    steps = np.random.default_rng(1).integers(12, size=(2000, 2)).tolist()
    with Topic(Imu, 8) as sender, Topic(Imu, 8) as reader:
        assert reader.recv() is None
        sent = position = lost = 0
        for sends, receives in steps:
            for _ in range(sends):
                sender.send(imu(sent))
                sent += 1
            for _ in range(receives):
                oldest = max(position, sent - 8)
                lost, position = lost + oldest - position, oldest
                message = reader.recv()
                if position == sent:
                    assert message is None
                else:
                    assert message.timestamp_ns == position
                    position += 1
        waiting = max(0, sent - 8 - position)
        assert reader.stats().received == position - lost
        assert reader.missed_count() == lost + waiting


def test_a_reader_that_is_lapped_again_sees_its_losses_before_it_receives():
    with Topic(Imu, 4) as sender, Topic(Imu, 4) as reader:
        reader.recv()
        for number in range(7):
            sender.send(imu(number))
        assert (reader.missed_count(), reader.pending_count()) == (3, 4)
        assert reader.recv().timestamp_ns == 3
        assert (reader.missed_count(), reader.pending_count()) == (3, 3)


def test_a_handle_that_never_received_has_lost_nothing():
    with Topic(Imu, 1) as topic:
        for number in range(5):
            topic.send(imu(number))
        assert topic.read_latest().timestamp_ns == 4
        assert topic.missed_count() == 0


@pytest.mark.parametrize(
    ("history", "expected"), [(None, [2, 3, 4, 5]), (0, []), (2, [4, 5]), (9, [2, 3, 4, 5])]
)
def test_a_late_joiner_gets_the_history_it_asks_for(history, expected):
    with Topic(Imu, 4) as early:
        for number in range(6):
            early.send(imu(number))
        with Topic(Imu, history=history) as late:
            assert numbers(late.recv_all()) == expected
            assert late.missed_count() == 0


def test_history_survives_the_sender_but_not_the_last_handle():
    keeper, sender = Topic(Imu), Topic(Imu)
    sender.send(imu(7))
    sender.close()
    with Topic(Imu) as late:
        assert late.pub_count() == 0
        assert late.recv().timestamp_ns == 7
    keeper.close()
    with Topic(Imu) as fresh:
        assert fresh.recv() is None


def test_a_handle_that_is_forgotten_lets_go_of_the_topic():
    topic = Topic(Imu, name="forgotten")
    topic.send(imu(1))
    del topic
    gc.collect()
    with Topic(Pose3D, name="forgotten") as other:
        assert other.recv() is None


def test_try_send_refuses_to_overwrite_what_a_subscriber_has_yet_to_receive():
    with Topic(Imu, 2) as sender, Topic(Imu) as reader:
        assert reader.recv() is None
        sent = [sender.try_send(imu(number)) for number in range(3)]
        assert sent == [True, True, False]
        assert reader.recv().timestamp_ns == 0
        assert sender.try_send(imu(3))
        assert numbers(reader.recv_all()) == [1, 3]
        assert reader.missed_count() == 0


def test_try_send_counts_every_handle_as_long_as_nobody_receives():
    with Topic(Imu, 1) as only:
        assert [only.try_send(imu(0)), only.try_send(imu(1))] == [True, False]


def test_read_latest_gives_the_newest_and_consumes_nothing():
    with Topic(Imu, 4) as topic:
        assert topic.read_latest() is None
        for number in range(6):
            topic.send(imu(number))
        assert topic.read_latest().timestamp_ns == 5
        assert topic.pending_count() == 4
        assert numbers(topic.recv_all()) == [2, 3, 4, 5]
        assert topic.read_latest().timestamp_ns == 5


def test_recv_all_takes_at_most_so_many():
    with Topic(Imu) as topic:
        for number in range(5):
            topic.send(imu(number))
        assert numbers(topic.recv_all(max=2)) == [0, 1]
        assert numbers(topic.recv_all(3)) == [2, 3, 4]
        assert topic.recv_all() == []


def test_recv_array_is_the_messages_as_one_writable_array():
    with Topic(Imu, 4) as topic:
        for number in range(6):
            topic.send(imu(number))
        batch = topic.recv_array()
        assert batch.dtype == Imu.dtype
        assert batch["timestamp_ns"].tolist() == [2, 3, 4, 5]
        np.testing.assert_array_equal(batch["linear_acceleration"], [[0.0, 0.0, 9.81]] * 4)
        batch["timestamp_ns"][0] = 99
        assert topic.recv_array().shape == (0,)


def test_recv_array_needs_a_fixed_layout():
    with Topic(Note, name="notes") as topic, pytest.raises(TypeError, match=r"Note.*recv_all"):
        topic.recv_array()


# Waiting


def test_recv_returns_at_once_unless_told_to_wait():
    with Topic(Imu) as topic:
        began = time.monotonic()
        assert topic.recv() is None
        assert topic.try_recv() is None
        assert topic.recv(0.05) is None
        assert 0.05 <= time.monotonic() - began < 0.5


@pytest.mark.parametrize("timeout", [None, math.inf, 10.0])
def test_a_waiting_reader_wakes_when_a_message_comes(timeout, monkeypatch):
    monkeypatch.setattr(ring, "WAIT_SLICE_S", 10.0)
    with Topic(Imu) as reader, Topic(Imu) as sender:
        timer = threading.Timer(0.05, sender.send, [imu(3)])
        timer.start()
        began = time.monotonic()
        assert reader.recv(timeout).timestamp_ns == 3
        assert time.monotonic() - began < 2.0
        timer.join()


@pytest.mark.parametrize("timeout", [-0.1, math.nan])
def test_a_timeout_that_is_no_duration_is_refused(timeout):
    with Topic(Imu) as topic, pytest.raises(ValueRangeError, match="timeout"):
        topic.recv(timeout)


def test_ctrl_c_ends_a_wait():
    with Topic(Imu) as topic:
        timer = threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT])
        began = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            topic.recv(None)
        assert time.monotonic() - began < 1.0
        timer.join()
        topic.send(imu(1))
        assert topic.recv().timestamp_ns == 1


def test_iteration_receives_until_the_handle_is_closed():
    with Topic(Imu) as reader, Topic(Imu) as sender:
        for number in range(3):
            sender.send(imu(number))
        seen = []
        for message in reader:
            seen.append(message.timestamp_ns)
            if len(seen) == 3:
                threading.Timer(0.05, reader.close).start()
        assert seen == [0, 1, 2]
        assert list(reader) == []


def test_closing_a_handle_wakes_the_thread_that_waits_on_it():
    topic = Topic(Imu)
    threading.Timer(0.05, topic.close).start()
    with pytest.raises(TransportError, match="closed"):
        topic.recv(10.0)


# Threads and processes


def test_two_threads_on_one_handle_share_its_messages_and_two_handles_each_get_all():
    senders, each = 3, 400
    shared, own = Topic(Imu, 2048), Topic(Imu)
    taken: list[list[int]] = [[], [], []]

    def publish(first: int) -> None:
        with Topic(Imu) as topic:
            for number in range(first, first + each):
                topic.send(imu(number))

    def take(topic: Topic[Imu], into: list[int]) -> None:
        while (message := topic.recv(0.3)) is not None:
            into.append(message.timestamp_ns)

    threads = [threading.Thread(target=publish, args=[1000 * k]) for k in range(senders)]
    threads += [threading.Thread(target=take, args=[shared, taken[k]]) for k in range(2)]
    threads += [threading.Thread(target=take, args=[own, taken[2]])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [1000 * k + n for k in range(senders) for n in range(each)]
    assert sorted(taken[0] + taken[1]) == everything
    assert sorted(taken[2]) == everything
    for k in range(senders):
        assert [n for n in taken[2] if n // 1000 == k] == everything[k * each : (k + 1) * each]
    assert shared.stats().received == own.stats().received == senders * each
    shared.close()
    own.close()


def test_counts_equal_an_outside_ledger_while_readers_are_lapped():
    with Topic(Imu, 16) as sender, Topic(Imu) as reader:
        reader.recv()
        received: list[int] = []
        done = threading.Event()

        def take() -> None:
            while not done.is_set() or reader.pending_count():
                received.extend(numbers(reader.recv_all(5)))

        thread = threading.Thread(target=take)
        thread.start()
        for number in range(20_000):
            sender.send(imu(number))
        done.set()
        thread.join()
        stats = reader.stats()
        assert stats.received == len(received)
        assert stats.received + stats.lost_overwritten == 20_000
        assert received == sorted(set(received))
        assert received[-1] == 19_999


FORKING = """
import os
from strapdown.messages import Imu
from strapdown.transport import Topic

topic = Topic(Imu)
topic.send(Imu(0, 0, 0, 0, 0, 0, 1))
child = os.fork()
if child == 0:
    alone = topic.recv() is None and topic.stats().sent == 0
    topic.send(Imu(0, 0, 0, 0, 0, 0, 2))
    os._exit(0 if alone and Topic(Imu).recv().timestamp_ns == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
assert [m.timestamp_ns for m in topic.recv_all()] == [1]
"""


def test_a_forked_child_has_topics_of_its_own():
    subprocess.run([sys.executable, "-c", FORKING], check=True, timeout=30)


# Names, types and closed handles


@pytest.mark.parametrize(
    "order", list(itertools.permutations(["imu", "imu/data", "imu.data"])), ids="-".join
)
def test_names_that_extend_each_other_are_separate_topics_in_any_order(order):
    for _ in range(2):
        topics = {name: Topic(Imu, name=name) for name in order}
        for number, name in enumerate(order):
            topics[name].send(imu(number))
        for number, name in enumerate(order):
            assert numbers(topics[name].recv_all()) == [number]
            topics[name].close()


def test_the_ways_to_name_a_topic_agree():
    ways = [
        Topic(Imu, None, "imu.data"),
        Topic(Imu, endpoint="imu.data", name="/imu.data"),
        Topic(Imu, name="imu.data"),
        Topic("imu.data", Imu),
    ]
    ways[0].send(imu(5))
    assert [numbers(way.recv_all()) for way in ways] == [[5]] * 4
    assert {way.name for way in ways} == {way.endpoint for way in ways} == {"imu.data"}
    for way in ways:
        way.close()


def test_the_default_name_is_that_of_the_message():
    with Topic(Imu) as topic, Topic(Pose3D) as pose:
        assert (topic.name, pose.name) == ("imu", "pose3d")
        assert repr(topic) == "Topic(Imu, name='imu')"


def test_a_topic_says_what_it_is():
    with Topic(Imu) as topic:
        assert topic.backend_type == "local"
        assert not topic.is_network_topic
        assert not topic.is_generic()


def test_two_different_names_are_refused():
    with pytest.raises(ValueRangeError, match="a and b"):
        Topic(Imu, endpoint="a", name="b")
    with pytest.raises(ValueRangeError, match="a and b"):
        Topic("a", Imu, name="b")


@pytest.mark.parametrize(
    ("name", "offence"),
    [
        ("", "1 to 255"),
        ("/", "1 to 255"),
        ("a b", "' '"),
        ("imü", "'ü'"),
        ("a//b", "'//'"),
        ("//a", "'//'"),
        ("a/", "'/'"),
        ("a\n", r"'\\n'"),
        ("a:b", "':'"),
        ("a" * 256, "256"),
        ("imu@robot", "zenoh"),
    ],
)
def test_a_name_out_of_the_rules_is_refused_with_what_offends(name, offence):
    with pytest.raises(ValueError, match=offence):
        Topic(Imu, name=name)


@pytest.mark.parametrize("name", ["a", "a/b/c", "A-Z_0.9", "..", "a" * 255])
def test_a_name_within_the_rules_is_kept(name):
    with Topic(Imu, name=name) as topic:
        assert topic.name == name


def test_a_name_with_another_type_is_a_clash_that_names_both():
    with Topic(Imu, name="x"), pytest.raises(TransportError, match=r"Imu.*Pose3D"):
        Topic(Pose3D, name="x")


def test_another_capacity_than_that_of_the_first_handle_is_refused():
    with Topic(Imu, 3), Topic(Imu, 4), pytest.raises(TransportError, match=r"4 .*capacity of 8"):
        Topic(Imu, 5)


def test_a_message_of_another_type_is_refused_with_both_names():
    with Topic(Imu) as topic:
        for send in (topic.send, topic.try_send):
            with pytest.raises(TypeError, match=r"Imu.*Note"):
                send(Note())
        assert topic.pending_count() == 0


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        (("imu",), {}, TypeError, "'imu'"),
        ((Imu, Imu), {}, TypeError, "capacity"),
        ((Note,), {}, TypeError, "Note.*name="),
        ((Imu, 0), {}, ValueRangeError, "capacity"),
        ((Imu,), {"history": -1}, ValueRangeError, "history"),
    ],
)
def test_a_wrong_argument_is_refused(arguments, keywords, error, text):
    with pytest.raises(error, match=text):
        Topic(*arguments, **keywords)


@pytest.mark.parametrize(
    "operation",
    [
        lambda topic: topic.send(imu(1)),
        lambda topic: topic.try_send(imu(1)),
        lambda topic: topic.recv(),
        lambda topic: topic.try_recv(),
        lambda topic: topic.recv_all(),
        lambda topic: topic.recv_array(),
        lambda topic: topic.read_latest(),
        lambda topic: topic.pending_count(),
        lambda topic: topic.stats(),
    ],
)
def test_a_closed_handle_refuses_to_work(operation):
    with Topic(Imu) as topic:
        pass
    topic.close()
    assert "closed" in repr(topic)
    with pytest.raises(TransportError, match=r"'imu' is closed"):
        operation(topic)


def test_closing_one_handle_leaves_the_others_alone():
    with Topic(Imu) as stays:
        with Topic(Imu) as goes:
            goes.send(imu(1))
            goes.recv()
            assert (stays.pub_count(), stays.sub_count()) == (1, 1)
        assert (stays.pub_count(), stays.sub_count()) == (0, 0)
        assert numbers(stays.recv_all()) == [1]


def test_messages_without_a_layout_are_deep_copied():
    note = Note(["a"])
    with Topic(Note, name="notes") as topic:
        topic.send(note)
        received = topic.recv()
    assert received == note == copy.deepcopy(note)
    assert received.words is not note.words

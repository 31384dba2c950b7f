"""What every backend promises, alike."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest

from strapdown.errors import TransportError
from strapdown.messages import Imu, Pose3D
from strapdown.transport import Topic

pytestmark = pytest.mark.xdist_group("transport")

LONG_S = 15.0  # liveness: what takes longer never comes


def imu(number: int) -> Imu:
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, timestamp_ns=number)


def numbers(messages) -> list[int]:
    return [message.timestamp_ns for message in messages]


def received_by(reader: Topic, count: int) -> list:
    """Wait for so many messages, with their origins."""
    received = []
    for _ in range(count):
        received.append(reader.recv_with_info(LONG_S))
        assert received[-1], f"only {len(received) - 1} of {count} came"
    return received


def distinct() -> Imu:
    """A message in which no two of the 38 fields are equal."""
    record = np.zeros((), Imu.dtype)
    record.view((np.uint8, Imu.dtype.itemsize))[:296] = np.arange(1.5, 38.5).view(np.uint8)
    record["timestamp_ns"] = 1_700_000_000_123_456_789
    return Imu.from_record(record)


@pytest.fixture
def opened(ways, topic_name):
    """Open handles on one topic, here; they are closed with the test."""
    handles = []

    def open_topic(msg_type=Imu, *arguments, **keywords) -> Topic:
        keywords = {"name": topic_name, "backend": ways[0]} | keywords
        handles.append(Topic(msg_type, *arguments, **keywords))
        return handles[-1]

    yield open_topic
    for handle in handles:
        handle.close()


# Within the process


def test_every_handle_gets_every_message_field_for_field(opened):
    sender, reader = opened(), opened()
    sender.send(distinct())
    assert reader.recv(LONG_S) == sender.recv(LONG_S) == distinct()


def test_a_lapped_reader_goes_on_at_the_oldest_and_counts_exactly(opened):
    sender, reader = opened(), opened()
    for number in range(3000):
        assert sender.send(imu(number)) is True
    assert numbers(reader.recv_all()) == list(range(1976, 3000))
    stats = reader.stats()
    assert (stats.received, stats.lost_overwritten, stats.lost_transport) == (1024, 1976, 0)
    assert sender.stats().sent == 3000


def test_history_survives_the_sender_and_nobody_is_said_to_publish(opened):
    sender, keeper = opened(), opened()
    sender.send(imu(1))
    sender.close()
    assert keeper.pub_count() == 0
    assert keeper.wait_for_publisher(0.0) is False
    assert keeper.recv().timestamp_ns == 1
    assert opened(history=0).recv() is None


def test_names_that_extend_each_other_are_separate_topics_in_any_order(opened, topic_name, row):
    slash, dot = "/" if row.nests else "-", "." if row.any_name else "_"
    names = [topic_name, f"{topic_name}{slash}data", f"{topic_name}{dot}data"]
    for order in itertools.permutations(names):
        topics = [opened(name=name) for name in order]
        for number, topic in enumerate(topics):
            topic.send(imu(number))
        for number, topic in enumerate(topics):
            assert numbers(topic.recv_all()) == [number]
            topic.close()


def test_ctrl_c_ends_a_wait(opened):
    reader = opened()
    timer = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        reader.recv(None)
    assert time.monotonic() - began < 2.0
    timer.join()


def test_a_reader_that_waits_in_the_backend_hears_of_messages_from_here(opened):
    reader, sender = opened(), opened()
    timer = threading.Timer(0.3, sender.send, [imu(3)])
    timer.start()
    assert reader.recv(LONG_S).timestamp_ns == 3
    timer.join()


def test_closing_a_handle_ends_its_wait(opened):
    reader = opened()
    timer = threading.Timer(0.2, reader.close)
    timer.start()
    with pytest.raises(TransportError, match="closed"):
        reader.recv(LONG_S)
    timer.join()


# Between processes

SENDER = """
topic = Topic(Imu, name=sys.argv[1], backend=eval(sys.argv[2]))
say(topic.wait_for_subscriber(15.0))
while (count := hear()):
    first = topic.stats().sent
    for number in range(first, first + count):
        topic.send(imu(number))
    say(topic.stats().sent)
topic.close()
"""


def test_messages_from_elsewhere_arrive_in_order_and_are_numbered(
    opened, peer, elsewhere, topic_name, row
):
    reader = opened()
    reader.recv()
    other = peer(SENDER, topic_name, elsewhere)
    other.hear()
    other.say(50)
    received = received_by(reader, 50)
    assert [message.timestamp_ns for message, _ in received] == list(range(50))
    infos = [info for _, info in received]
    if row.numbers:
        assert [info.seq for info in infos] == list(range(50))
        assert len({info.publisher for info in infos}) == 1
        assert all(info.sent_ns <= info.received_ns + 1_000_000_000 for info in infos)
    assert reader.wait_for_publisher(5.0), "who is there may become known after what it sent"
    assert reader.pub_count() == 1
    other.say(0)
    assert other.end() == 0
    end = time.monotonic() + LONG_S
    while reader.pub_count() and time.monotonic() < end:
        time.sleep(0.05)
    assert reader.pub_count() == 0


ECHO = """
topic = Topic(Imu, name=sys.argv[1], backend=eval(sys.argv[2]))
back = Topic(Imu, name=sys.argv[1] + "_back", backend=eval(sys.argv[2]))
topic.recv()
say(back.wait_for_subscriber(15.0))
for message in topic:
    back.send(message)
"""


def test_messages_go_there_and_back_field_for_field(opened, peer, elsewhere, topic_name):
    sender, back = opened(), opened(name=f"{topic_name}_back")
    back.recv()
    other = peer(ECHO, topic_name, elsewhere)
    assert other.hear() == [True]
    assert sender.wait_for_subscriber(LONG_S)
    sender.send(distinct())
    assert back.recv(LONG_S) == distinct()


def test_asyncio_receives_from_elsewhere(opened, peer, elsewhere, topic_name):
    reader = opened()
    reader.recv()
    other = peer(SENDER, topic_name, elsewhere)
    other.hear()

    async def main() -> list[int]:
        waiting = asyncio.ensure_future(asyncio.wait_for(anext(reader), LONG_S))
        await asyncio.sleep(0.2)
        other.say(2)
        return numbers([await waiting, await asyncio.wait_for(anext(reader), LONG_S)])

    assert asyncio.run(main()) == [0, 1]


LATE = """
topic = Topic(Imu, name=sys.argv[1], backend=eval(sys.argv[2]))
seen = []
while len(seen) < int(sys.argv[3]) and (message := topic.recv(15.0)):
    seen.append(message.timestamp_ns)
say(seen, topic.stats().lost_overwritten + topic.stats().lost_transport)
"""


def test_a_late_joiner_elsewhere_gets_what_is_retained(opened, peer, elsewhere, topic_name, row):
    if not row.replays:
        pytest.skip("keeps nothing for late joiners")
    sender = opened(Imu, 8)
    for number in range(20):
        sender.send(imu(number))
    other = peer(LATE.replace("Imu, name", "Imu, 8, name"), topic_name, elsewhere, 9)
    assert sender.wait_for_subscriber(LONG_S)
    time.sleep(0.3)
    sender.send(imu(20))
    assert other.hear() == [list(range(12, 21)), 0]


FLOOD = """
topic = Topic(Imu, name=sys.argv[1], backend=eval(sys.argv[2]), reliability=sys.argv[4])
topic.wait_for_subscriber(15.0)
for number in range(int(sys.argv[3])):
    topic.send(imu(number))
say(topic.stats().sent)
hear()
topic.close()
"""


@pytest.fixture(params=["sensor", "reliable"])
def reliability(request, row) -> str:
    """What a slow subscriber causes, where the backend can promise it."""
    if not (row.numbers and (row.reliable or request.param == "sensor")):
        pytest.skip("cannot promise this")
    return request.param


def test_after_a_flood_received_and_lost_are_what_was_sent(
    opened, peer, elsewhere, topic_name, reliability
):
    count = 10_000
    reader = opened(reliability=reliability)
    reader.recv()
    other = peer(FLOOD, topic_name, elsewhere, count, reliability)
    received: list[int] = []
    end = time.monotonic() + 4 * LONG_S
    while time.monotonic() < end:
        received += numbers(reader.recv_all())
        if received and received[-1] == count - 1:
            break
        stats = reader.stats()
        if len(received) + stats.lost_overwritten + stats.lost_transport == count:
            break
        time.sleep(0.005)
    stats = reader.stats()
    assert other.hear() == [count]
    assert received == sorted(set(received))
    assert stats.received == len(received)
    assert stats.received + stats.lost_overwritten + stats.lost_transport == count
    if reliability == "reliable":
        assert received == list(range(count))
    other.say(0)


def test_messages_from_here_do_not_starve_those_from_elsewhere(opened, peer, elsewhere, topic_name):
    reader, sender = opened(), opened()
    reader.recv()
    other = peer(SENDER, topic_name, elsewhere)
    other.hear()
    other.say(1)
    end = time.monotonic() + LONG_S
    found = False
    sender.send(imu(7))
    while not found and time.monotonic() < end:
        sender.send(imu(7))  # there is always one more to receive
        message = reader.recv()
        assert message is not None
        found = message.timestamp_ns == 0
    assert found


def test_another_type_on_a_live_name_is_a_clash_that_names_both(
    opened, peer, elsewhere, topic_name, row
):
    if not row.checks_type:
        pytest.skip("carries one type only, or does not tell")
    sender = opened()
    sender.send(imu(0))
    script = (  # one that has just joined may not know the other yet
        "said = ['none', '']\n"
        "for _ in range(10):\n"
        "    try:\n"
        "        with Topic(Pose3D, name=sys.argv[1], backend=eval(sys.argv[2])) as topic:\n"
        "            topic.recv(1.0)\n"
        "    except Exception as error:\n"
        "        said = [type(error).__name__, str(error)]\n"
        "        break\n"
        "say(*said)\n"
    )
    kind, text = peer(script, topic_name, elsewhere).hear()
    assert kind == "TransportError"
    assert "Imu" in text
    assert "Pose3D" in text
    with pytest.raises(TransportError, match=r"Imu.*Pose3D"):
        opened(Pose3D)


def test_a_killed_publisher_that_returns_is_another_one_and_nothing_is_lost(
    opened, peer, elsewhere, topic_name, row
):
    reader = opened()
    reader.recv()
    publishers = []
    for _ in range(3):
        other = peer(SENDER, topic_name, elsewhere)
        other.hear()
        other.say(5)
        assert other.hear() == [5]
        received = received_by(reader, 5)
        assert [message.timestamp_ns for message, _ in received] == list(range(5))
        publishers.append(received[0][1].publisher)
        other.kill()
    if row.numbers:
        assert len(set(publishers)) == 3
    stats = reader.stats()
    assert (stats.received, stats.lost_overwritten, stats.lost_transport) == (15, 0, 0)


FORKING = """
way = eval(sys.argv[2])
topic = Topic(Imu, name=sys.argv[1], backend=way)
topic.wait_for_subscriber(15.0)
topic.send(imu(1))
child = os.fork()
if child == 0:
    code = 1
    try:
        alone = topic.stats().sent == 0
        topic.wait_for_subscriber(15.0)
        topic.send(imu(2))
        code = 0 if alone else 2
        time.sleep(0.5)
        topic.close()
    finally:
        os._exit(code)
say(os.waitpid(child, 0)[1])
topic.send(imu(3))
hear()
topic.close()
"""


def test_a_forked_child_joins_anew_and_leaves_the_parents_end_alone(
    opened, peer, elsewhere, topic_name, row
):
    if not row.forks:
        pytest.skip("does not survive a fork, and says so")
    reader = opened()
    reader.recv()
    other = peer(FORKING, topic_name, elsewhere)
    assert other.hear() == [0]
    seen = set()
    end = time.monotonic() + LONG_S
    while seen < {1, 2, 3} and time.monotonic() < end:
        message = reader.recv(1.0)
        if message is not None:
            seen.add(message.timestamp_ns)
    assert seen == {1, 2, 3}
    other.say(0)
    assert other.end() == 0


def test_a_process_ends_by_itself_with_topics_left_open(peer, elsewhere, topic_name):
    script = (
        "topic = Topic(Imu, name=sys.argv[1], backend=eval(sys.argv[2]))\n"
        "topic.send(imu(1))\n"
        "other = Topic(Imu, name=sys.argv[1], backend=eval(sys.argv[2]))\n"
        "other.on_message(lambda message: None)\n"
        "threading.Thread(target=topic.recv, args=[None], daemon=True).start()\n"
        "time.sleep(0.2)\n"
    )
    assert peer(script, topic_name, elsewhere).end() == 0

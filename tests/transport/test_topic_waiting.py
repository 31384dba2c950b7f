"""Callbacks, asyncio, waiting for others, back-pressure: topics within one process."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from dataclasses import dataclass

import pytest

from strapdown.errors import TransportError, UnknownNameError, ValueRangeError
from strapdown.messages import Imu, RosImu
from strapdown.transport import Ipc, Topic


def imu(number: int) -> Imu:
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, timestamp_ns=number)


@pytest.fixture
def pair(topic_name):
    """A handle to send and one to receive."""
    with Topic(Imu, name=topic_name) as sender, Topic(Imu, name=topic_name) as reader:
        yield sender, reader


def numbers(messages) -> list[int]:
    return [message.timestamp_ns for message in messages]


# asyncio


def test_asynchronous_iteration_receives_all_in_order_and_ends_with_the_handle(pair):
    sender, reader = pair

    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        for number in range(5):
            loop.call_later(0.01 * number, sender.send, imu(number))
        seen = []
        async for message in reader:
            seen.append(message.timestamp_ns)
            if len(seen) == 5:
                loop.call_later(0.02, reader.close)
        return seen

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_a_waiting_task_leaves_the_event_loop_to_others(pair):
    _, reader = pair

    async def main() -> int:
        waiting = asyncio.ensure_future(anext(reader))
        turns = 0
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            await asyncio.sleep(0)
            turns += 1
        waiting.cancel()
        return turns

    assert asyncio.run(main()) > 100


def test_messages_that_never_stop_leave_the_event_loop_to_others(pair):
    sender, reader = pair

    async def main() -> int:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        for number in range(200):
            sender.send(imu(number))
            await anext(reader)
        task.cancel()
        return turns

    assert asyncio.run(main()) > 50


def test_a_cancelled_asynchronous_receive_loses_no_message(pair):
    sender, reader = pair

    async def main() -> list[int]:
        seen = []
        for number in range(5):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(reader), 0.01)
            sender.send(imu(number))
            seen.append((await asyncio.wait_for(anext(reader), 2.0)).timestamp_ns)
        return seen

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_two_tasks_wait_on_two_topics_at_once(topic_name):
    async def main() -> list[int]:
        with Topic(Imu, name=topic_name + "a") as a, Topic(Imu, name=topic_name + "b") as b:
            waiting = asyncio.gather(anext(a), anext(b))
            await asyncio.sleep(0.02)
            b.send(imu(2))
            a.send(imu(1))
            return numbers(await waiting)

    assert asyncio.run(main()) == [1, 2]


# Functions on messages


def test_functions_get_every_message_in_order_on_one_thread_until_the_handle_is_closed(pair):
    sender, reader = pair
    seen, threads, done = [], set(), threading.Event()

    def note(message: Imu) -> None:
        threads.add(threading.current_thread())
        seen.append(message.timestamp_ns)

    reader.on_message(note)
    reader.on_message(lambda message: message.timestamp_ns == 9 and done.set())
    for number in range(10):
        sender.send(imu(number))
    assert done.wait(5.0)
    assert seen == list(range(10))
    (thread,) = threads
    reader.close()
    thread.join(5.0)
    assert not thread.is_alive()


def test_a_function_that_fails_is_logged_and_goes_on(pair, caplog):
    sender, reader = pair
    done = threading.Event()

    def fail(message: Imu) -> None:
        if message.timestamp_ns == 1:
            done.set()
        raise ZeroDivisionError("mine")

    with caplog.at_level(logging.ERROR, "strapdown"):
        reader.on_message(fail)
        sender.send(imu(0))
        sender.send(imu(1))
        assert done.wait(5.0)
        reader.close()
    assert "mine" in caplog.text
    assert reader.name in caplog.text


def test_a_function_may_close_the_topic_that_calls_it(pair):
    sender, reader = pair
    closed = threading.Event()

    def end(_: Imu) -> None:
        reader.close()
        closed.set()

    reader.on_message(end)
    sender.send(imu(0))
    assert closed.wait(5.0)


# Who is there, and where messages come from


def test_the_origin_of_a_message_has_its_number_sender_and_times(pair):
    sender, reader = pair
    sender.send(imu(0))
    message, info = reader.recv_with_info()
    assert (message.timestamp_ns, info.seq, info.sent_ns) == (0, 0, 0)  # nobody had asked
    before = time.time_ns()
    sender.send(imu(1))
    message, later = reader.recv_with_info(1.0)
    assert (message.timestamp_ns, later.seq) == (1, 1)
    assert before <= later.sent_ns <= later.received_ns <= time.time_ns()
    assert info.publisher == later.publisher
    assert reader.recv_with_info() is None


def test_numbers_of_origins_count_on_over_lost_messages(topic_name):
    with Topic(Imu, 4, name=topic_name) as sender, Topic(Imu, name=topic_name) as reader:
        reader.recv_with_info()
        for number in range(11):
            sender.send(imu(number))
        assert [reader.recv_with_info()[1].seq for _ in range(4)] == [7, 8, 9, 10]
        assert reader.missed_count() == 7


def test_waiting_for_others_ends_when_they_come_or_when_time_is_over(pair):
    sender, reader = pair
    assert sender.wait_for_subscriber(0.02) is False
    assert reader.wait_for_publisher(0.0) is False
    timer = threading.Timer(0.05, sender.send, [imu(0)])
    timer.start()
    assert reader.wait_for_publisher(5.0) is True
    assert reader.recv() is not None
    assert sender.wait_for_subscriber() is True
    timer.join()
    sender.close()
    assert reader.wait_for_publisher(0.02) is False
    with pytest.raises(ValueRangeError, match="timeout"):
        reader.wait_for_publisher(-1.0)


# Room


def test_send_blocking_waits_until_a_reader_makes_room(topic_name):
    with Topic(Imu, 2, name=topic_name) as sender, Topic(Imu, name=topic_name) as reader:
        reader.recv()
        for number in range(2):
            assert sender.send_blocking(imu(number), 0.0)
        began = time.monotonic()
        assert sender.send_blocking(imu(9), 0.05) is False
        assert time.monotonic() - began >= 0.05
        timer = threading.Timer(0.05, reader.recv)
        timer.start()
        assert sender.send_blocking(imu(2), 5.0) is True
        timer.join()
        assert numbers(reader.recv_all()) == [1, 2]
        with pytest.raises(ValueRangeError, match="timeout"):
            sender.send_blocking(imu(3), float("nan"))


def reliable(name: str, capacity: int | None = None) -> Topic[Imu]:
    return Topic(Imu, capacity, name=name, reliability="reliable")


def test_a_reliable_topic_loses_nothing_to_a_slow_reader(topic_name):
    count = 2000
    with reliable(topic_name, 8) as sender, reliable(topic_name) as reader:
        received: list[int] = []

        def take() -> None:
            while len(received) < count:
                time.sleep(0.002 * (len(received) % 100 == 0))
                received.extend(numbers(reader.recv_all(max=5)))
                message = reader.recv(1.0) if len(received) < count else None
                if message is not None:
                    received.append(message.timestamp_ns)

        thread = threading.Thread(target=take)
        thread.start()
        for number in range(count):
            assert sender.send(imu(number)) is True
        thread.join()
        assert received == list(range(count))
        stats = reader.stats()
        assert (stats.received, stats.lost_overwritten) == (count, 0)
        assert sender.stats().sent == count


def test_a_full_reliable_topic_refuses_and_then_raises(topic_name, monkeypatch):
    monkeypatch.setattr("strapdown.transport.ring.SEND_WAIT_S", 0.05)
    with reliable(topic_name, 2) as sender, reliable(topic_name) as reader:
        sender.send(imu(0))
        sender.send(imu(1))
        assert sender.try_send(imu(2)) is False
        with pytest.raises(TransportError, match="does not receive"):
            sender.send(imu(2))
        assert numbers(reader.recv_all()) == [0, 1]
        assert sender.try_send(imu(2)) is True


def test_a_reliable_topic_without_readers_keeps_the_newest(topic_name):
    with reliable(topic_name, 4) as sender:
        for number in range(11):
            sender.send(imu(number))
        with reliable(topic_name) as late:
            assert numbers(late.recv_all()) == [7, 8, 9, 10]


def test_closing_the_slow_reader_sets_the_sender_free(topic_name):
    with reliable(topic_name, 1) as sender:
        reader = reliable(topic_name)
        reader.recv()
        sender.send(imu(0))
        timer = threading.Timer(0.05, reader.close)
        timer.start()
        assert sender.send_blocking(imu(1), 5.0) is True
        timer.join()


# What is refused


def test_handles_on_one_topic_agree_on_reliability(topic_name):
    with Topic(Imu, name=topic_name), pytest.raises(TransportError, match=r"sensor.*reliable"):
        reliable(topic_name)


def test_unknown_words_are_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="zenoh"):
        Topic(Imu, backend="zeno")
    with pytest.raises(UnknownNameError, match="reliable"):
        Topic(Imu, reliability="relyable")


@dataclass
class Note:
    """A message that only this process knows."""

    text: str = ""


def test_messages_of_a_users_own_type_stay_within_the_process(topic_name, monkeypatch):
    with pytest.raises(TransportError, match=r"Note cannot leave.*Imu"):
        Topic(Note, name=topic_name, backend=Ipc())
    monkeypatch.setenv("STRAPDOWN_BACKEND", "ipc")
    with Topic(Note, name=topic_name) as topic:
        topic.send(Note("a"))
        assert topic.recv() == Note("a")
        assert topic.backend_type == "local"


def test_messages_of_varying_length_are_carried(topic_name):
    message = RosImu.from_cdr(RosImu().to_cdr())
    with Topic(RosImu, name=topic_name) as topic:
        topic.send(message)
        received = topic.recv()
        assert received.to_cdr() == message.to_cdr()
        with pytest.raises(TypeError, match="recv_all"):
            topic.recv_array()

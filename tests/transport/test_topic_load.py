"""Topics under load: slow readers, many messages, exact accounts."""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from strapdown.messages import Imu
from strapdown.transport import Ipc, Local, Topic, slots

pytestmark = pytest.mark.xdist_group("transport")

MEBIBYTE = 1 << 20


def imu(number: int) -> Imu:
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, timestamp_ns=number)


def resident_bytes() -> int:
    """Memory of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def slowest_percent(topic: Topic[Imu], count: int) -> float:
    """Time in which 99 of 100 messages are sent [s]."""
    message = imu(0)
    times = []
    for _ in range(count):
        began = time.perf_counter()
        topic.send(message)
        times.append(time.perf_counter() - began)
    return sorted(times)[count * 99 // 100]


def take_slowly(topic: Topic[Imu], done: threading.Event) -> None:
    while not done.wait(0.05):
        topic.recv()


@pytest.fixture
def hasty():
    """Let threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize("backend", [Local(), Ipc()], ids=lambda backend: backend.name)
def test_a_slow_reader_costs_the_sender_neither_time_nor_memory_and_counts_its_losses(
    backend, topic_name
):
    count = 200_000
    with (
        Topic(Imu, name=topic_name, backend=backend) as sender,
        Topic(Imu, name=topic_name, backend=backend) as reader,
    ):
        alone = slowest_percent(sender, 20_000)
        reader.recv_all()
        before, base = resident_bytes(), reader.stats().received
        lost = reader.stats().lost_overwritten
        done = threading.Event()
        thread = threading.Thread(target=take_slowly, args=[reader, done])
        thread.start()
        beside = slowest_percent(sender, count)
        done.set()
        thread.join()
        assert beside < 10.0 * alone + 1e-4
        assert resident_bytes() - before < 8 * MEBIBYTE + 8 * count  # of the list of times
        reader.recv_all()
        stats = reader.stats()
        assert stats.received - base + stats.lost_overwritten - lost == count
        assert stats.lost_overwritten > 0


@pytest.mark.slow
@pytest.mark.parametrize("backend", [Local(), Ipc()], ids=lambda backend: backend.name)
def test_a_million_messages_to_four_readers_are_all_accounted_for(backend, topic_name):
    count, readers = 1_000_000, 4
    before = resident_bytes()
    accounts: list[tuple[int, int]] = []
    ready = threading.Barrier(readers + 1)
    done = threading.Event()

    def take() -> None:
        with Topic(Imu, name=topic_name, backend=backend) as reader:
            reader.recv()
            ready.wait()
            received, last = 0, -1
            while True:
                over = done.is_set()
                stamps = reader.recv_array()["timestamp_ns"]
                if len(stamps):
                    assert last < stamps[0]
                    assert (stamps[1:] > stamps[:-1]).all()
                    last = stamps[-1]
                    received += len(stamps)
                elif over:
                    break
                else:
                    time.sleep(0.0005)
            assert received == reader.stats().received
            accounts.append((received, reader.stats().lost_overwritten))

    with Topic(Imu, name=topic_name, backend=backend) as sender:
        threads = [threading.Thread(target=take) for _ in range(readers)]
        for thread in threads:
            thread.start()
        ready.wait()
        message = imu(0)
        for number in range(count):
            message.timestamp_ns = number
            sender.send(message)
        done.set()
        for thread in threads:
            thread.join()
        assert sender.stats().sent == count
    assert [received + lost for received, lost in accounts] == [count] * readers
    assert resident_bytes() - before < 64 * MEBIBYTE


@pytest.mark.usefixtures("hasty")
def test_several_senders_and_readers_in_threads_lose_count_of_nothing(topic_name):
    senders, each = 3, 5_000
    accounts: list[tuple[int, int]] = []
    done = threading.Event()
    ready = threading.Barrier(3)

    def send(first: int) -> None:
        with Topic(Imu, name=topic_name) as topic:
            message = imu(0)
            for number in range(first, first + each):
                message.timestamp_ns = number
                topic.send(message)
            assert topic.stats().sent == each

    def take() -> None:
        with Topic(Imu, name=topic_name) as reader:
            reader.recv()
            ready.wait()
            stamps: list[int] = []
            while not done.is_set() or reader.pending_count():
                stamps += [message.timestamp_ns for message in iter(reader.recv, None)]
            for k in range(senders):
                mine = [stamp for stamp in stamps if stamp // each == k]
                assert mine == sorted(set(mine))
            stats = reader.stats()
            assert stats.received == len(stamps)
            accounts.append((stats.received, stats.lost_overwritten))

    with Topic(Imu, 64, name=topic_name):
        takers = [threading.Thread(target=take) for _ in range(2)]
        for thread in takers:
            thread.start()
        ready.wait()
        threads = [threading.Thread(target=send, args=[k * each]) for k in range(senders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        for thread in takers:
            thread.join()
    assert [received + lost for received, lost in accounts] == [senders * each] * 2


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("has_gil", [True, False])
def test_threads_that_share_one_handle_send_and_receive_each_message_once(
    topic_name, has_gil, monkeypatch
):
    monkeypatch.setattr(slots, "HAS_GIL", has_gil)
    each = 5_000
    taken: list[list[int]] = [[], [], []]
    with Topic(Imu, 1 << 15, name=topic_name) as topic:

        def send(first: int) -> None:
            message = imu(0)
            for number in range(first, first + each):
                message.timestamp_ns = number
                topic.send(message)

        def take(into: list[int]) -> None:
            while (message := topic.recv(1.0)) is not None:
                into.append(message.timestamp_ns)

        threads = [threading.Thread(target=send, args=[k * each]) for k in range(2)]
        threads += [threading.Thread(target=take, args=[into]) for into in taken]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(itertools.chain(*taken)) == list(range(2 * each))
        stats = topic.stats()
        assert (stats.sent, stats.received, stats.lost_overwritten) == (2 * each, 2 * each, 0)


@pytest.mark.usefixtures("hasty")
def test_threads_that_share_a_handle_which_is_lapped_receive_no_message_twice(topic_name):
    count = 20_000
    done = threading.Event()
    taken: list[list[int]] = [[], [], []]
    with (
        Topic(Imu, 32, name=topic_name, backend="local") as sender,
        Topic(Imu, name=topic_name, backend="local") as reader,
    ):
        reader.recv()

        def take(into: list[int], *, at_once: bool) -> None:
            while not done.is_set() or reader.pending_count():
                messages = reader.recv_all(3) if at_once else iter(reader.recv, None)
                into.extend(message.timestamp_ns for message in messages)

        threads = [
            threading.Thread(target=take, args=[into], kwargs={"at_once": number == 2})
            for number, into in enumerate(taken)
        ]
        for thread in threads:
            thread.start()
        message = imu(0)
        for number in range(count):
            message.timestamp_ns = number
            sender.send(message)
        done.set()
        for thread in threads:
            thread.join()
        stats = reader.stats()
    stamps = list(itertools.chain(*taken))
    assert len(set(stamps)) == len(stamps) == stats.received
    assert stats.received + stats.lost_overwritten == count


@pytest.mark.usefixtures("hasty")
def test_what_is_retained_can_be_asked_for_while_another_thread_sends(topic_name):
    done = threading.Event()
    with Topic(Imu, 64, name=topic_name, backend="local") as topic:

        def send() -> None:
            while not done.is_set():
                topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1))

        thread = threading.Thread(target=send)
        thread.start()
        try:
            for _ in range(500):
                seqs = [arrival.seq for arrival in topic._ring.retained()]
                assert all(later == earlier + 1 for earlier, later in pairwise(seqs))
        finally:
            done.set()
            thread.join()

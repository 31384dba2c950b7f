"""Messages between two processes of one host, beside raw iceoryx2 and horus.

Run with ``python benchmarks/transport_ipc.py``. Every peer carries the same `Imu`, which holds its
number and the sender's ``perf_counter_ns``; the receiver reads both from what it received.

* paced: one process sends at 1 kHz, the other waits for each message. The time from before sending
  to after receiving, and the receiver's share of a core.
* ping-pong: two topics, each process answers at once; the round trip.
* idle: the receiver's share of a core while nothing is sent.
* flood: as fast as one process can send. Every message is received, or counted as lost.

Raw iceoryx2 is the least that a Python program can do: publish, notify a listener; wait at it, and
read two numbers from shared memory. horus can only be polled: every 200 us, as its users do. The
peers take turns in every repeat, and each figure is the median over the repeats. Nothing is left
out and nothing subtracted.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import statistics
import sys
import time
from importlib.util import find_spec
from struct import unpack_from
from typing import TYPE_CHECKING, Protocol

from _machine import describe
from strapdown.messages import Imu
from strapdown.transport import Topic

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

REPEATS = 5
PACED, PINGPONG, FLOOD = 2000, 4000, 100_000
IDLE_S = 2.0
PERIOD_S = 0.001
LIMIT_S = 5.0


class End(Protocol):
    """One end of a topic."""

    def send(self, seq: int) -> None:
        """Send a message with a number, and the time."""

    def receive(self) -> tuple[int, int]:
        """Wait for a message and return its number and the time of its sending."""


def message(seq: int) -> Imu:
    """Return the message that carries a number, and the time now."""
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, float(seq), time.perf_counter_ns())


class Ours:
    """A topic of this package."""

    def __init__(self, name: str, *, reliability: str = "sensor") -> None:
        self.topic = Topic(Imu, name=name, backend="ipc", reliability=reliability)

    def send(self, seq: int) -> None:
        """Send a message."""
        self.topic.send(message(seq))

    def receive(self) -> tuple[int, int]:
        """Wait for a message."""
        got = self.topic.recv(LIMIT_S)
        if got is None:
            raise TimeoutError
        return int(got.gyro_z), got.timestamp_ns


class Raw:
    """iceoryx2 and its events, with nothing around them."""

    def __init__(self, name: str) -> None:
        import iceoryx2 as iox  # noqa: PLC0415 (only this peer needs it)

        class Payload(ctypes.Structure):
            _fields_ = (("items", ctypes.c_uint64 * 38),)

        quiet = iox.SignalHandlingMode.Disabled
        builder = iox.NodeBuilder.new().signal_handling_mode(quiet)
        self.node = builder.create(iox.ServiceType.Ipc)
        topic = iox.ServiceName.new(name)
        self.messages = (
            self.node.service_builder(topic)
            .publish_subscribe(Payload)
            .subscriber_max_buffer_size(1024)
            .open_or_create()
        )
        self.events = self.node.service_builder(topic).event().open_or_create()
        self.subscriber = self.messages.subscriber_builder().create()
        self.publisher = self.messages.publisher_builder().create()
        self.listener = self.events.listener_builder().create()
        self.notifier = self.events.notifier_builder().create()
        self.slice = iox.Duration.from_millis(100)

    def send(self, seq: int) -> None:
        """Copy a message into shared memory, and notify."""
        sample = self.publisher.loan_uninit()
        ctypes.memmove(sample.payload_ptr, bytes(message(seq)), 304)
        sample.assume_init().send()
        self.notifier.notify()

    def receive(self) -> tuple[int, int]:
        """Wait at the listener, and read two numbers from shared memory."""
        deadline = time.monotonic() + LIMIT_S
        while (sample := self.subscriber.receive()) is None:
            self.listener.timed_wait(self.slice)
            if time.monotonic() > deadline:
                raise TimeoutError
        data = ctypes.string_at(sample.payload_ptr, 304)
        sample.delete()
        return int(unpack_from("<d", data, 120)[0]), unpack_from("<Q", data, 296)[0]


class Horus:
    """A topic of horus, polled every 200 us."""

    def __init__(self, name: str) -> None:
        import horus  # noqa: PLC0415 (only this peer needs it)

        self.imu, self.topic = horus.Imu, horus.Topic(horus.Imu, endpoint=name)

    def send(self, seq: int) -> None:
        """Send a message."""
        self.topic.send(self.imu(0.0, 0.0, 9.81, 0.0, 0.0, float(seq), time.perf_counter_ns()))

    def receive(self) -> tuple[int, int]:
        """Look, and sleep for 200 us while nothing is there."""
        deadline = time.monotonic() + LIMIT_S
        while (got := self.topic.recv()) is None:
            time.sleep(0.0002)
            if time.monotonic() > deadline:
                raise TimeoutError
        return int(got.gyro_z), got.timestamp_ns


PEERS: dict[str, Callable[[str], End]] = {"raw iceoryx2": Raw, "strapdown": Ours, "horus": Horus}


def in_child(work: Callable[..., None], *arguments: object) -> tuple[Connection, BaseProcess]:
    """Run work in a process of its own; return the pipe to it, and the process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(there, *arguments))
    process.start()
    here.recv()  # it is ready
    return here, process


def cpu_s() -> float:
    """Return the processor time of this process so far [s]."""
    return time.process_time()


def receive_paced(pipe: Connection, peer: str, name: str) -> None:
    """Be the waiting end: report each delay [us], and the shares of a core."""
    end = PEERS[peer](name)
    pipe.send("ready")
    try:
        while end.receive()[0] >= 0:  # what only makes sure that both know each other
            pass
        before, start = cpu_s(), time.perf_counter()
        delays = []
        for _ in range(PACED):
            _, sent_ns = end.receive()
            delays.append((time.perf_counter_ns() - sent_ns) / 1e3)
        busy = (cpu_s() - before) / (time.perf_counter() - start)
        pipe.send((delays, busy))
        before, start = cpu_s(), time.perf_counter()
        end.receive()
        pipe.send((cpu_s() - before) / (time.perf_counter() - start))
    except TimeoutError:
        pipe.send("nothing came")


def paced(peer: str) -> dict[str, float]:
    """Send at 1 kHz to a waiting process, then be silent for a while."""
    name = f"bench{os.getpid()}-{time.monotonic_ns()}"
    end = PEERS[peer](name)
    pipe, process = in_child(receive_paced, peer, name)
    for _ in range(20):
        end.send(0)
        time.sleep(0.02)
    end.send(-1)
    time.sleep(0.2)
    due = time.perf_counter()
    for number in range(PACED):
        due += PERIOD_S
        time.sleep(max(0.0, due - time.perf_counter()))
        end.send(number)
    delays, busy = pipe.recv()
    time.sleep(IDLE_S)
    end.send(0)
    idle = pipe.recv()
    process.join()
    delays.sort()
    return {
        "median [us]": statistics.median(delays),
        "p99 [us]": delays[len(delays) * 99 // 100],
        "core [%]": 100.0 * busy,
        "idle [%]": 100.0 * idle,
    }


def answer(pipe: Connection, peer: str, name: str) -> None:
    """Be the other side of the table."""
    there, back = PEERS[peer](f"{name}-there"), PEERS[peer](f"{name}-back")
    pipe.send("ready")
    for _ in range(PINGPONG):
        back.send(there.receive()[0])


def pingpong(peer: str) -> dict[str, float]:
    """Send a message to and fro."""
    name = f"bench{os.getpid()}-{time.monotonic_ns()}"
    there, back = PEERS[peer](f"{name}-there"), PEERS[peer](f"{name}-back")
    _, process = in_child(answer, peer, name)
    time.sleep(0.3)
    rounds = []
    for number in range(PINGPONG):
        start = time.perf_counter_ns()
        there.send(number)
        back.receive()
        rounds.append((time.perf_counter_ns() - start) / 1e3)
    process.join()
    return {"round [us]": statistics.median(rounds)}


def receive_flood(pipe: Connection, name: str, reliability: str) -> None:
    """Receive until the last number, and report the ledger."""
    end = Ours(name, reliability=reliability)
    pipe.send("ready")
    received, number, start = 0, -1, 0.0
    while number < FLOOD - 1:
        number, _ = end.receive()
        start = start or time.perf_counter()
        received += 1
    took = time.perf_counter() - start
    stats = end.topic.stats()
    pipe.send((received, stats.lost_overwritten + stats.lost_transport, received / took))


def flood(reliability: str) -> dict[str, float]:
    """Send as fast as possible."""
    name = f"bench{os.getpid()}-{time.monotonic_ns()}"
    end = Ours(name, reliability=reliability)
    pipe, process = in_child(receive_flood, name, reliability)
    if not end.topic.wait_for_subscriber(LIMIT_S):
        raise TimeoutError
    start = time.perf_counter()
    for number in range(FLOOD):
        end.send(number)
    took = time.perf_counter() - start
    received, lost, rate = pipe.recv()
    process.join()
    if received + lost != FLOOD:
        raise RuntimeError(f"{FLOOD} sent, {received} received, {lost} lost")
    return {"sent/s": FLOOD / took, "received/s": rate, "received": received, "lost": lost}


def medians(rows: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure."""
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def main() -> None:
    """Print the tables."""
    peers = [peer for peer in PEERS if peer != "horus" or find_spec("horus")]
    packages = ["iceoryx2", *(["horus-robotics"] if "horus" in peers else [])]
    print(describe(*packages))
    runs: dict[str, list[dict[str, float]]] = {peer: [] for peer in peers}
    for repeat in range(REPEATS):
        for peer in peers:
            print(f"repeat {repeat + 1}: {peer}", file=sys.stderr)
            runs[peer].append(paced(peer) | pingpong(peer))
    table = {peer: medians(rows) for peer, rows in runs.items()}
    print(f"{'':16}" + "".join(f"{key:>13}" for key in table[peers[0]]))
    for peer, row in table.items():
        print(f"{peer:16}" + "".join(f"{value:13.2f}" for value in row.values()))
    for other in (peer for peer in peers if peer != "strapdown"):
        ratios = (table["strapdown"][key] / value for key, value in table[other].items())
        print(f"{'to ' + other:16}" + "".join(f"{ratio:13.2f}" for ratio in ratios))
    for reliability in ("sensor", "reliable"):
        row = medians([flood(reliability) for _ in range(REPEATS)])
        print(
            f"flood, {reliability}: "
            + ", ".join(f"{value:.0f} {key}" for key, value in row.items())
        )


if __name__ == "__main__":
    main()

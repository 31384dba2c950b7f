"""Messages between two processes by zenoh over the loopback, beside zenoh itself.

Run with ``python benchmarks/transport_zenoh.py [REPEATS]``. Every peer carries the same `Imu`,
which holds its number and the sender's ``perf_counter_ns``; the receiver reads both from what it
received.

* paced: one process sends at 1 kHz, the other waits for each message. The time from before
  sending to after receiving, and the receiver's share of a core.
* flood: as fast as one process can send. Messages received, counted as lost, and neither.

zenoh itself is used in three ways: with its transport of low latency, which writes to the socket
from within ``put`` and so waits for the slowest; and as it comes. Both read two numbers in the
callback of the network thread, which is the least that a Python program can do. A topic hands each
message to the thread that waits for it, and so does the third way: low latency, with a receiver
that waits in zenoh's own ``recv``. The peers take turns in every repeat, and each figure is the
median over the repeats. Nothing is left out and nothing subtracted.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import statistics
import sys
import threading
import time
from struct import unpack_from
from typing import TYPE_CHECKING, Any, Protocol

import zenoh
from zenoh.handlers import Callback, FifoChannel

from _machine import describe
from strapdown.messages import Imu
from strapdown.transport import Topic, Zenoh

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

REPEATS = 5
PACED, FLOOD = 2000, 100_000
PERIOD_S = 0.001
QUIET_S = 1.0


class End(Protocol):
    """One end of a topic."""

    def send(self, seq: int) -> None:
        """Send a message with a number, and the time."""

    def receive(self, times: list[tuple[int, int, int]], count: int) -> None:
        """Receive: number, time of sending, time now; until all came, or nothing more does."""

    def lost(self) -> int:
        """Return how many messages were counted as lost."""

    def close(self) -> None:
        """Leave."""


def message(seq: int) -> Imu:
    """Return the message that carries a number, and the time now."""
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, float(seq), time.perf_counter_ns())


class Ours:
    """A topic of this package."""

    def __init__(self, endpoint: str, *, listens: bool, reliability: str = "sensor") -> None:
        way = Zenoh(listen=(endpoint,)) if listens else Zenoh(connect=(endpoint,))
        self.topic = Topic(Imu, name="bench", backend=way, reliability=reliability)
        if listens:
            self.topic.recv()
        elif not self.topic.wait_for_subscriber(10.0):
            raise TimeoutError

    def send(self, seq: int) -> None:
        """Send a message."""
        self.topic.send(message(seq))

    def receive(self, times: list[tuple[int, int, int]], count: int) -> None:
        """Wait for messages."""
        while len(times) < count and (got := self.topic.recv(10.0 if not times else QUIET_S)):
            times.append((int(got.gyro_z), got.timestamp_ns, time.perf_counter_ns()))

    def lost(self) -> int:
        """Return what the topic has counted."""
        counts = self.topic.stats()
        return counts.lost_overwritten + counts.lost_transport

    def close(self) -> None:
        """Close the topic."""
        self.topic.close()


class Reliable(Ours):
    """A topic whose senders wait."""

    def __init__(self, endpoint: str, *, listens: bool) -> None:
        super().__init__(endpoint, listens=listens, reliability="reliable")


class Raw:
    """zenoh itself."""

    settings: tuple[tuple[str, Any], ...] = ()

    def __init__(self, endpoint: str, *, listens: bool) -> None:
        config = zenoh.Config()
        for key, value in (
            ("listen/endpoints", [endpoint] if listens else []),
            ("connect/endpoints", [] if listens else [endpoint]),
            ("scouting/multicast/enabled", False),
            *self.settings,
        ):
            config.insert_json5(key, json.dumps(value))
        self.session = zenoh.open(config)
        self.times: list[tuple[int, int, int]] = []
        self.news = threading.Event()
        if listens:
            self.listen()
        else:
            self.publisher = self.session.declare_publisher("bench")
            while not self.publisher.matching_status.matching:  # type: ignore[attr-defined] (as it is)
                time.sleep(0.001)

    def listen(self) -> None:
        """Take messages in as they come."""
        self.session.declare_subscriber("bench", Callback(self.take, indirect=False))

    def take(self, sample: zenoh.Sample) -> None:
        """Read two numbers."""
        data = sample.payload.to_bytes()
        (seq,), (sent,) = unpack_from("<d", data, 120), unpack_from("<Q", data, 296)
        self.times.append((int(seq), sent, time.perf_counter_ns()))

    def send(self, seq: int) -> None:
        """Send a message."""
        self.publisher.put(bytes(message(seq)))

    def receive(self, times: list[tuple[int, int, int]], count: int) -> None:
        """Wait until all have come, or nothing more does."""
        quiet, seen = 0.0, 0
        while seen < count and quiet < (10.0 if not seen else QUIET_S):
            time.sleep(0.05)
            quiet = 0.0 if len(self.times) > seen else quiet + 0.05
            seen = len(self.times)
        times += self.times

    def lost(self) -> int:
        """Return 0: it does not count."""
        return 0

    def close(self) -> None:
        """Close the session."""
        self.session.close()


class LowLatency(Raw):
    """zenoh itself with its transport of low latency."""

    settings = (("transport/unicast/qos/enabled", False), ("transport/unicast/lowlatency", True))


class Waiting(LowLatency):
    """The same with a thread that waits for messages."""

    def listen(self) -> None:
        """Let messages wait."""
        self.subscriber = self.session.declare_subscriber("bench", FifoChannel(2 * FLOOD))

    def receive(self, times: list[tuple[int, int, int]], count: int) -> None:
        """Wait for messages; none is lost."""
        for _ in range(count):
            self.take(self.subscriber.recv())
        times += self.times


PEERS: dict[str, Callable[..., End]] = {
    "zenoh, low latency": LowLatency,
    "the same, waiting": Waiting,
    "zenoh as it comes": Raw,
    "strapdown": Ours,
    "strapdown, reliable": Reliable,
}


def be_sender(kind: str, endpoint: str, count: int, period_s: float, pipe: Connection) -> None:
    """Send, in a process of its own, and tell how long it took."""
    end = PEERS[kind](endpoint, listens=False)
    time.sleep(0.2)
    start = due = time.perf_counter()
    for seq in range(count):
        end.send(seq)
        if period_s:
            due += period_s
            time.sleep(max(0.0, due - time.perf_counter()))
    pipe.send(time.perf_counter() - start)
    pipe.recv()
    end.close()


def measure(kind: str, count: int, period_s: float) -> dict[str, float]:
    """Let one process send to this one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"tcp/127.0.0.1:{probe.getsockname()[1]}"
    near, far = SPAWN.Pipe()
    end = PEERS[kind](endpoint, listens=True)
    sender = SPAWN.Process(target=be_sender, args=(kind, endpoint, count, period_s, far))
    sender.start()
    times: list[tuple[int, int, int]] = []
    cpu, wall = time.process_time(), time.perf_counter()
    end.receive(times, count)
    share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    took = near.recv()
    lost = end.lost()
    near.send(None)
    sender.join()
    end.close()
    delays = sorted((now - sent) / 1e3 for _, sent, now in times)
    return {
        "median": delays[len(delays) // 2],
        "p99": delays[int(len(delays) * 0.99)],
        "cpu": 100.0 * share,
        "rate": count / took / 1e3,
        "received": len(times),
        "lost": lost,
        "missing": count - len(times) - lost,
    }


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure."""
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def main() -> None:
    """Print the tables."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    print(f"{describe('eclipse-zenoh')}\nmedians of {repeats}")
    for title, count, period_s in (("paced, 1 kHz", PACED, PERIOD_S), ("flood", FLOOD, 0.0)):
        runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in PEERS}
        for _ in range(repeats):
            for kind in PEERS:
                runs[kind].append(measure(kind, count, period_s))
        print(f"\n{title}: {count} messages")
        print(
            f"{'':22}{'median us':>10}{'p99 us':>9}{'ratio':>7}{'cpu %':>7}{'k/s':>7}"
            f"{'received':>10}{'lost':>8}{'neither':>8}"
        )
        base = medians(runs["zenoh, low latency"])["median"]
        for kind, figures in ((kind, medians(each)) for kind, each in runs.items()):
            print(
                f"{kind:22}{figures['median']:10.0f}{figures['p99']:9.0f}"
                f"{figures['median'] / base:7.2f}{figures['cpu']:7.1f}{figures['rate']:7.0f}"
                f"{figures['received']:10.0f}{figures['lost']:8.0f}{figures['missing']:8.0f}"
            )


SPAWN = multiprocessing.get_context("spawn")

if __name__ == "__main__":
    main()

"""Messages within one process, beside horus.

Run with ``python benchmarks/transport_local.py``.

* in-process: one handle sends an `Imu` and receives it again. The default ``Topic(Imu)``, which
  other processes could join, the one that stays within the process, and horus take turns in
  every repeat.
* throughput: one handle sends, others receive each message: one by one, or all that wait as one
  array. Every message is received, or counted as lost.

Each figure is the median over the repeats, the best of them beside it. Nothing is left out and
nothing subtracted.
"""

from __future__ import annotations

import os
import platform
import statistics
import threading
import time
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from strapdown.messages import Imu
from strapdown.transport import Topic

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, REPEATS = 4000, 45
FLOOD = 200_000
BURST = 512  # messages that are sent before the reader has its turn
NAME = f"bench-{os.getpid()}"


def in_process(topic: Any, message: Any) -> Callable[[], float]:  # noqa: ANN401 (ours or horus's)
    """Return what measures sending and receiving one message [us]."""
    send, receive = topic.send, topic.recv

    def work() -> float:
        began = time.perf_counter_ns()
        for _ in range(ROUNDS):
            send(message)
            receive()
        return (time.perf_counter_ns() - began) / ROUNDS / 1e3

    send(message)
    check(receive().timestamp_ns == message.timestamp_ns, "another message came")
    check(receive() is None, "the message came twice")
    return work


def check(holds: bool, otherwise: str) -> None:  # noqa: FBT001 (what it is for)
    """End the program if it measures something else than it says."""
    if not holds:
        raise SystemExit(otherwise)


def flood(*, arrays: bool, readers: int) -> float:
    """Send and receive many messages; return how many a second [1/s]."""
    message = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1)
    with Topic(Imu, name=f"{NAME}-flood", backend="local") as sender:
        handles = [Topic(Imu, name=sender.name, backend="local") for _ in range(readers)]
        for handle in handles:
            handle.recv()
        began = time.perf_counter()
        for _ in range(FLOOD // BURST):
            for _ in range(BURST):
                sender.send(message)
            for handle in handles:
                if arrays:
                    handle.recv_array()
                else:
                    while handle.recv() is not None:
                        pass
        took = time.perf_counter() - began
        for handle in handles:
            stats = handle.stats()
            account = stats.received + stats.lost_overwritten
            check(account == sender.stats().sent, "messages are missing")
            handle.close()
    return FLOOD / took


def threads() -> tuple[float, int]:
    """Send as fast as possible while another thread receives arrays: messages a second, lost."""
    message = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1)
    sender, reader = (Topic(Imu, name=f"{NAME}-threads", backend="local") for _ in range(2))
    with sender, reader:
        done = threading.Event()

        def take() -> None:
            while reader.recv(0.01) is not None or not done.is_set():
                reader.recv_array()

        thread = threading.Thread(target=take)
        thread.start()
        began = time.perf_counter()
        for _ in range(FLOOD):
            sender.send(message)
        took = time.perf_counter() - began
        done.set()
        thread.join()
        reader.recv_array()
        stats = reader.stats()
        check(stats.received + stats.lost_overwritten == FLOOD, "messages are missing")
        return FLOOD / took, stats.lost_overwritten


def main() -> None:
    """Print the tables."""
    os.environ.pop("STRAPDOWN_BACKEND", None)
    print(
        f"Python {platform.python_version()}, {platform.machine()}, load {os.getloadavg()[0]:.2f}"
    )
    ours = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1)
    default = Topic(Imu, name=f"{NAME}-default")
    peers = {
        f"Topic(Imu) ({default.backend_type})": in_process(default, ours),
        'Topic(Imu, backend="local")': in_process(
            Topic(Imu, name=f"{NAME}-local", backend="local"), ours
        ),
    }
    if find_spec("horus"):
        import horus  # noqa: PLC0415 (a peer that may be missing)

        theirs = horus.Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1)
        topic = horus.Topic(horus.Imu, endpoint=f"{NAME}_horus")
        peers[f"horus {version('horus-robotics')}"] = in_process(topic, theirs)
    runs: dict[str, list[float]] = {peer: [] for peer in peers}
    for _ in range(REPEATS):
        for peer, work in peers.items():
            runs[peer].append(work())
    print(f"{'in-process send + receive':36} {'median us':>10} {'best us':>9}")
    for peer, times in runs.items():
        print(f"{peer:36} {statistics.median(times):10.3f} {min(times):9.3f}")
    default.close()

    print(f"{'throughput':36} {'messages/s':>10}")
    for readers, arrays in [(1, False), (1, True), (4, False), (4, True)]:
        speed = statistics.median(flood(arrays=arrays, readers=readers) for _ in range(5))
        how = "recv_array" if arrays else "recv"
        print(f"{f'{readers} reader(s), {how}':36} {speed:10,.0f}")
    speeds, lost = zip(*(threads() for _ in range(5)), strict=True)
    title = f"reader in a thread ({statistics.median(lost):,.0f} lost, counted)"
    print(f"{title:36} {statistics.median(speeds):10,.0f}")


if __name__ == "__main__":
    main()

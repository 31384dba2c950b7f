"""Messages within one process, beside horus.

Run with ``python benchmarks/transport_local.py``.

* in-process: programs of several kinds send an `Imu` and receive it again. The default
  ``Topic(Imu)``, which other processes could join, the one that stays within the process, and
  horus take turns in every repeat.
* throughput: one handle sends, others receive each message: one by one, or all that wait as one
  array; in the same thread, or each in a thread of its own. Every message is received, or counted
  as lost.
* slow reader: a thread receives a message and sleeps for a second, again and again. What a ``send``
  takes beside that, and without a reader, in turns; and by how much the process grows meanwhile.

Each figure is the median over the repeats, and each ratio the median of those of neighbours.
Nothing is left out and nothing subtracted.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from _machine import describe
from strapdown.messages import Imu
from strapdown.transport import Topic

if TYPE_CHECKING:
    from collections.abc import Callable

    Program = Callable[[Any, Any, type[Any]], None]

ROUNDS, REPEATS = 1024, 201  # short runs: others may take the processor between them
SAMPLE = (0.0, 0.0, 9.81, 0.0, 0.0, 0.1)
FLOOD, MILLION, HEAVY_REPEATS = 200_000, 1_000_000, 7
SLEEP_S = 1.0
BURST = 512  # messages that are sent before the reader has its turn
NAME = f"bench-{os.getpid()}"


def in_turn(sender: Any, receiver: Any, imu: type[Any]) -> None:  # noqa: ANN401 (ours or horus's)
    """Send the same message again and again, and receive it each time."""
    message = imu(*SAMPLE)
    for _ in range(ROUNDS):
        sender.send(message)
        receiver.recv()


def made_and_read(sender: Any, receiver: Any, imu: type[Any]) -> None:  # noqa: ANN401 (as in_turn)
    """Make a message each time, and read two of its fields where it is received."""
    for number in range(ROUNDS):
        sender.send(imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number))
        message = receiver.recv()
        message.accel_z, message.timestamp_ns  # noqa: B018 (it is read)


def until_none(sender: Any, receiver: Any, imu: type[Any]) -> None:  # noqa: ANN401 (as in_turn)
    """Receive after each message until there is none, which takes a second call."""
    message = imu(*SAMPLE)
    for _ in range(ROUNDS):
        sender.send(message)
        while receiver.recv() is not None:
            pass


def in_bursts(sender: Any, receiver: Any, imu: type[Any]) -> None:  # noqa: ANN401 (as in_turn)
    """Send many messages, then receive them."""
    message = imu(*SAMPLE)
    for _ in range(ROUNDS // BURST):
        for _ in range(BURST):
            sender.send(message)
        for _ in range(BURST):
            receiver.recv()


PROGRAMS: dict[str, tuple[Program, bool]] = {
    "one handle": (in_turn, False),
    "a sender and a receiver": (in_turn, True),
    "messages made each time, and read": (made_and_read, True),
    "receiving until there is none": (until_none, True),
    f"bursts of {BURST}": (in_bursts, True),
}
"""What is done, and whether one handle sends and another receives."""


def own(program: Any) -> Program:  # noqa: ANN401 (a Program; not every one has code)
    """Return a copy, since CPython fits the code to the class that it meets."""
    return FunctionType(program.__code__.replace(), globals())


def timed(
    program: Program,
    handles: list[Any],
    imu: type[Any],
) -> float:
    """Return what a program takes for one message [us]."""
    sender, receiver = handles[0], handles[-1]
    message = imu(*SAMPLE, time.time_ns())
    sender.send(message)
    check(receiver.recv().timestamp_ns == message.timestamp_ns, "another message came")
    check(receiver.recv() is None, "the message came twice")
    began = time.perf_counter_ns()
    program(sender, receiver, imu)
    took = (time.perf_counter_ns() - began) / ROUNDS / 1e3
    check(receiver.recv() is None, "messages were left")
    return took


def check(holds: bool, otherwise: str) -> None:  # noqa: FBT001 (what it is for)
    """End the program if it measures something else than it says."""
    if not holds:
        raise SystemExit(otherwise)


def flood(*, arrays: bool, readers: int, count: int) -> tuple[float, float]:
    """Send and receive many messages: messages a second, and a reader's losses."""
    message = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1)
    with Topic(Imu, name=f"{NAME}-flood", backend="local") as sender:
        handles = [Topic(Imu, name=sender.name, backend="local") for _ in range(readers)]
        for handle in handles:
            handle.recv()
        began = time.perf_counter()
        for start in range(0, count, BURST):
            for _ in range(min(BURST, count - start)):
                sender.send(message)
            for handle in handles:
                if arrays:
                    handle.recv_array()
                else:
                    while handle.recv() is not None:
                        pass
        took = time.perf_counter() - began
        lost = 0
        for handle in handles:
            lost += lost_of(handle, count)
            handle.close()
    return count / took, lost / readers


def lost_of(handle: Topic[Imu], count: int) -> int:
    """Return how many messages a handle lost; the others it has received."""
    stats = handle.stats()
    check(stats.received + stats.lost_overwritten == count, "messages are missing")
    return stats.lost_overwritten


def threads(readers: int, count: int) -> tuple[float, float]:
    """Send as fast as possible while threads receive: messages a second, and a reader's losses."""
    message = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1)
    done = threading.Event()

    def take(reader: Topic[Imu]) -> None:
        while reader.recv(0.01) is not None or not done.is_set():
            reader.recv_array()
        reader.recv_array()

    with Topic(Imu, name=f"{NAME}-threads", backend="local") as sender:
        handles = [Topic(Imu, name=sender.name, backend="local") for _ in range(readers)]
        workers = [threading.Thread(target=take, args=(handle,)) for handle in handles]
        for handle, worker in zip(handles, workers, strict=True):
            handle.recv()
            worker.start()
        began = time.perf_counter()
        for _ in range(count):
            sender.send(message)
        took = time.perf_counter() - began
        done.set()
        lost = 0
        for handle, worker in zip(handles, workers, strict=True):
            worker.join()
            lost += lost_of(handle, count)
            handle.close()
    return count / took, lost / readers


def resident() -> int:
    """Return the memory of this process [bytes]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sending(backend: str, *, slow_reader: bool) -> tuple[float, float, float]:
    """Send many messages: median and 99th percentile of a send [us], growth of memory [MiB]."""
    message = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1)
    times = np.full(MILLION, -1, np.int64)  # all of it is in memory before
    done = threading.Event()

    def take(reader: Topic[Imu]) -> None:
        while not done.is_set():
            reader.recv()
            done.wait(SLEEP_S)

    with Topic(Imu, name=f"{NAME}-slow", backend=backend) as sender:
        reader = Topic(Imu, name=sender.name, backend=backend) if slow_reader else None
        worker = threading.Thread(target=take, args=(reader,))
        if reader is not None:
            reader.recv()
            worker.start()
        for _ in range(BURST):
            sender.send(message)
        send, clock, before = sender.send, time.perf_counter_ns, resident()
        for number in range(MILLION):
            start = clock()
            send(message)
            times[number] = clock() - start
        growth = resident() - before
        if reader is not None:
            done.set()
            worker.join()
            reader.recv_array()
            lost_of(reader, BURST + MILLION)
            reader.close()
    median, late = np.percentile(times, (50, 99)) / 1e3
    return float(median), float(late), growth / 2**20


def throughput() -> None:
    """Print how many messages a second one handle sends."""
    print(f"\n{'throughput':36} {'messages/s':>10} {'lost each':>10}")
    for readers, count in [(1, FLOOD), (4, MILLION)]:
        title = f"{count} to {readers}"
        ways: dict[str, Callable[[], tuple[float, float]]] = {
            "recv": partial(flood, arrays=False, readers=readers, count=count),
            "recv_array": partial(flood, arrays=True, readers=readers, count=count),
            "threads, recv_array": partial(threads, readers, count),
        }
        for way, work in ways.items():
            runs = [work() for _ in range(HEAVY_REPEATS)]
            speed, lost = map(statistics.median, zip(*runs, strict=True))
            print(f"{f'{title}, {way}':36} {speed:10,.0f} {lost:10,.0f}")


def slow_reader() -> None:
    """Print what a reader that sleeps costs the sender."""
    print(f"\n{f'send, {MILLION} times':36} {'median us':>10} {'p99 us':>9} {'more MiB':>9}")
    for backend in ("auto", "local"):
        runs: dict[bool, list[tuple[float, float, float]]] = {False: [], True: []}
        for _ in range(HEAVY_REPEATS):
            for slow, values in runs.items():
                values.append(sending(backend, slow_reader=slow))
        for slow, values in runs.items():
            median, late, growth = map(statistics.median, zip(*values, strict=True))
            title = f"{backend}, {'with a slow reader' if slow else 'without a reader'}"
            print(f"{title:36} {median:10.3f} {late:9.3f} {growth:9.2f}")
        pairs = zip(runs[True], runs[False], strict=True)
        ratio = statistics.median(beside[1] / alone[1] for beside, alone in pairs)
        print(f"{f'{backend}, ratio (bar 1.2, 8 MiB)':36} {'':10} {ratio:9.2f}")


def beside_horus() -> None:
    """Print what sending and receiving costs within a process, for several kinds of programs."""
    peers: dict[str, tuple[Callable[[str], Any], type[Any]]] = {
        "Topic(Imu)": (lambda name: Topic(Imu, name=f"{NAME}-{name}"), Imu),
        "local": (lambda name: Topic(Imu, name=f"{NAME}-{name}", backend="local"), Imu),
    }
    if find_spec("horus"):
        import horus  # noqa: PLC0415 (a peer that may be missing)

        peers["horus"] = (lambda name: horus.Topic(horus.Imu, endpoint=f"{NAME}-{name}"), horus.Imu)
    title = "in-process send + receive, median us"
    print(f"{title:36} " + " ".join(f"{peer:>10} {'ratio':>6}" for peer in peers))
    for number, (what, (program, two)) in enumerate(PROGRAMS.items()):
        handles = {
            peer: [make(str(number)) for _ in range(1 + two)] for peer, (make, _) in peers.items()
        }
        programs = {peer: own(program) for peer in peers}
        runs: dict[str, list[float]] = {peer: [] for peer in peers}
        for _ in range(REPEATS):
            for peer, (_, imu) in peers.items():
                runs[peer].append(timed(programs[peer], handles[peer], imu))
        row = [f"{what:36}"]
        last = runs[list(peers)[-1]]
        for times in runs.values():
            ratio = statistics.median(a / b for a, b in zip(times, last, strict=True))
            row.append(f"{statistics.median(times):10.3f} {ratio:6.2f}")
        print(" ".join(row))


def main() -> None:
    """Print the tables."""
    os.environ.pop("STRAPDOWN_BACKEND", None)
    print(describe("horus-robotics", "iceoryx2"), end="\n\n")
    beside_horus()
    throughput()
    slow_reader()


if __name__ == "__main__":
    main()

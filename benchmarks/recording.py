"""Recordings: what recording costs, recovery, and a look into a large file; beside mcap itself.

Run with ``python benchmarks/recording.py``, or with the names of tables behind it: ``recording``,
``recovery``, ``info``. Files go to the folder for temporary ones (``TMPDIR``
names another): about 1 GB at a time, which is removed again.

* 1 kHz: one process sends by shared memory, another one records, for some seconds. Its share of
  a core.
* flood: the same, as fast as the recorder takes it: the topic is reliable, so that the sender
  waits and nothing is lost.
* bytes: the same messages handed over by the process that records.
* recover: what a killed recorder leaves of 1 kHz, a tenth of a second a chunk and no summary. By
  ``strapdown recover``; by the library within one process; and read by mcap's reader and written
  by its writer.
* info: a file of many samples. ``strapdown info`` looks at every stamp for gaps and rates. mcap's
  reader goes through the messages of a smaller file, from which nothing but the stamp is taken.

mcap's writer is used as it comes: it packs chunks of 1 MiB, and gives nothing to the operating
system in between. The recorder does ten times a second, and synchronises with the disk each
second. The two take turns; each figure is the median of the repeats. Times of commands are those
of whole processes, and so is memory.
"""

from __future__ import annotations

import itertools
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader, make_reader
from mcap.writer import Writer

from _machine import Cost, cost_of, describe
from strapdown.bridges.live.recorder import Recorder
from strapdown.formats import McapWriter
from strapdown.formats.mcap.live import LiveMcap
from strapdown.formats.mcap.live_file import Definition, LivePart
from strapdown.formats.recovery import recover
from strapdown.messages import Imu
from strapdown.series import ImuSeries
from strapdown.transport import Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

REPEATS, HEAVY_REPEATS = 5, 3
PACED, PERIOD_S = 5000, 0.001
FLOOD = 200_000
DAMAGED_BYTES = 100_000_000
CHUNK = 100  # messages of a tenth of a second
SAMPLES, FEWER = 10_000_000, 500_000
BLOCK = 500_000
LIMIT_S = 60.0
SCHEMA, ENCODING = "horus/Imu", "x-horus-imu"
BARS = "bars: recover of 100 MB 2 s; info of 10^7 samples 2 s and 300 MB"


class Recorded(NamedTuple):
    """What recording cost."""

    rate: float
    """Messages a second, from the first to the end of the file."""
    cpu: float
    """Share of a core [%]."""
    bytes: float
    """Of the file, a message."""
    missing: int
    """Messages that are not in the file."""


def messages(count: int) -> Iterator[Imu]:
    """Make messages of random numbers that do not pack well."""
    rng = np.random.default_rng(1)
    for start in range(0, count, BLOCK):
        rows = rng.standard_normal((min(BLOCK, count - start), 6)).tolist()
        for number, row in enumerate(rows, start):
            yield Imu(*row, 1_700_000_000_000_000_000 + number * 1_000_000)


def open_writer(path: Path) -> tuple[Writer, int]:
    """Return mcap's writer, as it comes, and its channel."""
    writer = Writer(str(path))
    writer.start()
    return writer, writer.register_channel("imu", ENCODING, writer.register_schema(SCHEMA, "", b""))


# Recording


def ours_from_topic(topic: Topic[Imu], path: Path, count: int) -> None:
    """Record as many messages."""
    with Recorder(path, [topic], count=count) as recorder:
        recorder.wait(LIMIT_S)


def theirs_from_topic(topic: Topic[Imu], path: Path, count: int) -> None:
    """Receive as many messages, and write them."""
    writer, channel = open_writer(path)
    for _ in range(count):
        if (got := topic.recv_with_info(LIMIT_S)) is None:
            break
        message, info = got
        writer.add_message(channel, info.received_ns, bytes(message), message.timestamp_ns)
    writer.finish()


def ours_of_bytes(made: list[Imu], path: Path) -> None:
    """Hand messages over to the thread that writes; wait where it has enough."""
    with LiveMcap(path) as file:
        channel = file.add_channel("imu", SCHEMA)
        for message in made:
            while file.is_busy:
                time.sleep(0.001)
            stamp = message.timestamp_ns
            file.write(channel, bytes(message), publish_ns=stamp, log_ns=stamp)


def theirs_of_bytes(made: list[Imu], path: Path) -> None:
    """Write messages."""
    writer, channel = open_writer(path)
    for message in made:
        stamp = message.timestamp_ns
        writer.add_message(channel, stamp, bytes(message), stamp)
    writer.finish()


FROM_TOPIC = {"strapdown": ours_from_topic, "mcap": theirs_from_topic}
OF_BYTES = {"strapdown": ours_of_bytes, "mcap": theirs_of_bytes}


def account(path: Path, count: int, work: Callable[[], None]) -> Recorded:
    """Do the work, and look into the file that it wrote."""
    cpu, start = time.process_time(), time.perf_counter()
    work()
    took = time.perf_counter() - start
    share = 100.0 * (time.process_time() - cpu) / took
    size = path.stat().st_size
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    written = summary.statistics.message_count if summary and summary.statistics else 0
    path.unlink()
    return Recorded(written / took, share, size / max(written, 1), count - written)


def shared(name: str, reliability: str) -> Topic[Imu]:
    """Open the topic that both processes have."""
    return Topic(Imu, name=name, backend="ipc", reliability=reliability)


def receive(pipe: Connection, peer: str, path: Path, count: int, way: tuple[str, str]) -> None:
    """Record a topic, in a process of its own, whose first file does not count."""
    OF_BYTES[peer](list(messages(10)), path)
    path.unlink()
    with shared(*way) as topic:
        topic.recv()
        pipe.send("ready")
        pipe.recv()
        pipe.send(account(path, count, lambda: FROM_TOPIC[peer](topic, path, count)))


def from_topic(peer: str, path: Path, count: int, period_s: float) -> Recorded:
    """Send to a process that records: at a rate, or as fast as a reliable topic takes it."""
    way = f"{path.stem}-{time.monotonic_ns()}", "sensor" if period_s else "reliable"
    made = list(messages(count))
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with shared(*way) as topic:
        process = context.Process(target=receive, args=(there, peer, path, count, way))
        process.start()
        there.close()  # so that its end is noticed
        here.recv()
        if not topic.wait_for_subscriber(LIMIT_S):
            raise TimeoutError
        here.send("go")
        due = time.perf_counter()
        for message in made:
            due += period_s
            if (early := due - time.perf_counter()) > 0.0:
                time.sleep(early)
            topic.send(message)
        got: Recorded = here.recv()
        process.join()
    return got


def recording(folder: Path) -> None:
    """Print what recording costs."""
    path, made = folder / "run.mcap", list(messages(FLOOD))
    works: dict[str, Callable[[str], Recorded]] = {
        "1 kHz": lambda peer: from_topic(peer, path, PACED, PERIOD_S),
        "flood": lambda peer: from_topic(peer, path, FLOOD, 0.0),
        "bytes": lambda peer: account(path, FLOOD, lambda: OF_BYTES[peer](made, path)),
    }
    rows: dict[tuple[str, str], list[Recorded]] = {
        (what, peer): [] for what in works for peer in FROM_TOPIC
    }
    for _ in range(REPEATS):
        for (what, peer), values in rows.items():
            values.append(works[what](peer))
    print(f"\n{'recording':20} {'messages/s':>10} {'core %':>7} {'bytes each':>10} {'missing':>8}")
    for (what, peer), values in rows.items():
        rate, cpu, size, missing = map(statistics.median, zip(*values, strict=True))
        print(f"{what + ', ' + peer:20} {rate:10,.0f} {cpu:7.1f} {size:10.1f} {missing:8.0f}")


# Recovery


def leave_damaged(path: Path) -> int:
    """Write what a killed recorder leaves; return its messages."""
    part = LivePart(path, {})
    part.define(Definition("imu", SCHEMA))
    endless = itertools.chain.from_iterable(messages(BLOCK) for _ in itertools.count())
    count = 0
    while part.file.size < DAMAGED_BYTES:
        for message in itertools.islice(endless, CHUNK):
            stamp = message.timestamp_ns
            part.file.add_message(1, stamp, stamp, bytes(message))
        part.file.flush()
        count += CHUNK
    part.close()
    return count


def recover_with_mcap(source: Path, target: Path) -> int:
    """Read and write every message, up to the end that is missing."""
    writer, channel = open_writer(target)
    count = 0
    with source.open("rb") as file:
        try:
            for _, _, each in NonSeekingReader(file).iter_messages(log_time_order=False):
                writer.add_message(channel, each.log_time, each.data, each.publish_time)
                count += 1
        except McapError:
            pass  # as expected
    writer.finish()
    return count


def strapdown(*arguments: str | Path) -> list[str]:
    """Return a command of this environment."""
    run = "from strapdown.cli import main; main()"
    return [sys.executable, "-c", run, *map(str, arguments)]


def recovery(folder: Path) -> None:
    """Print how long recovery takes."""
    source, target = folder / "damaged.mcap", folder / "whole.mcap"
    count = leave_damaged(source)
    ways: dict[str, Callable[[], int]] = {
        "strapdown": lambda: recover(source, target).messages,
        "mcap, read and write": lambda: recover_with_mcap(source, target),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    costs = []
    for _ in range(HEAVY_REPEATS):
        costs.append(cost_of(strapdown("recover", source, "-o", target)))
        target.unlink()
        for way, work in ways.items():
            start = time.perf_counter()
            written = work()
            times[way].append(time.perf_counter() - start)
            target.unlink()
            if written != count:
                raise SystemExit(f"{way}: {written} of {count} messages were recovered")
    size = source.stat().st_size
    title = f"recover {size / 1e6:.0f} MB, {count} messages"
    print(f"\n{title:36} {'s':>8} {'core s':>8} {'MB':>8}")
    show("strapdown recover", costs)
    for way, values in times.items():
        print(f"{f'within a process, {way}':36} {statistics.median(values):8.2f}")
    source.unlink()


def show(title: str, costs: list[Cost]) -> None:
    """Print what a command costs."""
    wall, cpu, peak = map(statistics.median, zip(*costs, strict=True))
    print(f"{title:36} {wall:8.2f} {cpu:8.2f} {peak / 1e6:8.0f}")


# A look into a large file

READ_STAMPS = """
import sys
from mcap.reader import make_reader
with open(sys.argv[1], "rb") as file:
    for _, _, message in make_reader(file).iter_messages(log_time_order=False):
        message.publish_time
"""
READ_SUMMARY = """
import sys
from mcap.reader import make_reader
with open(sys.argv[1], "rb") as file:
    make_reader(file).get_summary()
"""


def write_samples(path: Path, samples: int) -> float:
    """Write a file of as many samples; return how long the writer took [s]."""
    rng = np.random.default_rng(1)
    took = 0.0
    with McapWriter(path) as writer:
        for start in range(0, samples, BLOCK):
            count = min(BLOCK, samples - start)
            t_ns = (start + np.arange(count)) * 1_000_000
            series = ImuSeries(t_ns, *rng.standard_normal((2, count, 3)))
            begin = time.perf_counter()
            writer.write_series(imu={"imu/data": series})
            took += time.perf_counter() - begin
        begin = time.perf_counter()
        writer.close()
    return took + time.perf_counter() - begin


def info(folder: Path) -> None:
    """Print what a look into a large file costs."""
    large, small = folder / "large.mcap", folder / "small.mcap"
    took = write_samples(large, SAMPLES)
    write_samples(small, FEWER)
    commands = {
        f"strapdown info, {SAMPLES} samples": strapdown("info", large),
        f"strapdown info, {FEWER} samples": strapdown("info", small),
        f"mcap, stamps of {FEWER}": [sys.executable, "-c", READ_STAMPS, str(small)],
        f"mcap, summary only, {SAMPLES}": [sys.executable, "-c", READ_SUMMARY, str(large)],
    }
    costs: dict[str, list[Cost]] = {title: [] for title in commands}
    for _ in range(HEAVY_REPEATS):
        for title, command in commands.items():
            costs[title].append(cost_of(command))
    print(f"\n{f'info, {large.stat().st_size / 1e6:.0f} MB':36} {'s':>8} {'core s':>8} {'MB':>8}")
    for title, each in costs.items():
        show(title, each)
    print(f"{f'McapWriter.write_series, {SAMPLES}':36} {took:8.2f}")


def main() -> None:
    """Print the tables."""
    print(describe("mcap", "zstandard", "iceoryx2"))
    print(BARS)
    tables = {table.__name__: table for table in (recording, recovery, info)}
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or tables:
            tables[name](Path(folder))


if __name__ == "__main__":
    main()

"""What a ULog costs: writing, scanning, unrolling FIFO packets, and conversion to MCAP.

Run with ``python benchmarks/ulog.py``, or with ``--size 1e9`` [bytes] for a log of 1 GB, which is
converted in bounded memory. The log holds three ``vehicle_imu`` and one ``sensor_combined`` of
400 Hz and a ``vehicle_attitude`` of 50 Hz, random numbers that do not pack well. pyulog, which
keeps in memory what it loads, gets a log of a sixteenth of the size, and so does the scan beside
it.

Times are medians of three runs by the wall clock, and for the conversion also by the clock of the
processor, whose two threads share it. Memory is that of another process, from start to end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pyulog import ULog

from _machine import cost_of
from strapdown.formats import LoggedRows, UlogWriter, block_writer, open_blocks
from strapdown.formats.px4.log import scan_ulog
from strapdown.formats.rates import RateOptions, RateStream
from strapdown.messages.px4 import (
    SensorCombined,
    SensorGyroFifo,
    VehicleAttitude,
    VehicleImu,
)
from strapdown.px4.fifo import unroll

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from strapdown.messages.uorb import UorbMessage

BLOCK_S = 100
RATES_HZ: dict[type[UorbMessage], tuple[int, int]] = {
    VehicleImu: (3, 400),
    SensorCombined: (1, 400),
    VehicleAttitude: (1, 50),
}
"""Instances and rate of each topic."""
PACKETS = 200_000
SAMPLES = 10
"""Packets of a FIFO, and samples in each."""
ROUNDS = 3
RESOLUTION = 2.0**-12
"""Of random numbers, as of a sensor of 16 bits."""


def rows_of(kind: type[UorbMessage], rate_hz: int) -> NDArray[np.void]:
    """Return the rows of one block, with stamps from 0."""
    rows = BLOCK_S * rate_hz
    rng = np.random.default_rng(rate_hz)
    records = np.zeros(rows, kind.dtype)
    for field in kind.fields:
        if field.kind == "float32":
            drawn = rng.standard_normal(records[field.name].shape)
            records[field.name] = np.rint(drawn / RESOLUTION) * RESOLUTION / 100
    if kind is VehicleAttitude:
        records["q"] /= np.linalg.norm(records["q"], axis=1, keepdims=True)
    step_us = 1_000_000 // rate_hz
    for name in ("delta_angle_dt", "delta_velocity_dt", "gyro_integral_dt"):
        if name in (kind.dtype.names or ()):
            records[name] = step_us
    return at_times(records, np.arange(1, rows + 1) * step_us)


def at_times(records: NDArray[np.void], t_us: NDArray[np.integer]) -> NDArray[np.void]:
    """Stamp rows, and return them."""
    for name in {"timestamp", "timestamp_sample"} & {*(records.dtype.names or ())}:
        records[name] = t_us
    return records


def write_log(path: Path, size: float) -> tuple[int, float]:
    """Write a log of about a size [bytes]; return its rows, and the seconds it took."""
    blocks = {kind: rows_of(kind, rate_hz) for kind, (_, rate_hz) in RATES_HZ.items()}
    bytes_of_block = sum(
        RATES_HZ[kind][0] * len(rows) * (kind.logged_dtype.itemsize + 5)
        for kind, rows in blocks.items()
    )
    begin = time.perf_counter()
    with UlogWriter(path, force=True) as log:
        for _ in range(max(1, round(size / bytes_of_block))):
            log.write_many(
                LoggedRows(kind, number, rows)
                for kind, rows in blocks.items()
                for number in range(RATES_HZ[kind][0])
            )
            for rows in blocks.values():
                at_times(rows, rows["timestamp"] + BLOCK_S * 1_000_000)
    return log.rows, time.perf_counter() - begin


def packets() -> NDArray[np.void]:
    """Return FIFO packets of 8 kHz."""
    records = np.zeros(PACKETS, SensorGyroFifo.dtype)
    rng = np.random.default_rng(1)
    for axis in "xyz":
        records[axis][:, :SAMPLES] = rng.integers(-30_000, 30_000, (PACKETS, SAMPLES))
    records["timestamp_sample"] = np.arange(1, PACKETS + 1) * (125 * SAMPLES)
    records["dt"], records["scale"], records["samples"] = 125.0, 1e-3, SAMPLES
    return records


def seconds(action: Callable[[], object]) -> NDArray[np.float64]:
    """Return how long calls take, (ROUNDS, 2): by the wall clock, and of the processor."""
    taken = []
    for _ in range(ROUNDS):
        wall, processor = time.perf_counter(), time.process_time()
        action()
        taken.append((time.perf_counter() - wall, time.process_time() - processor))
    return np.array(taken)


def to_mcap(source: Path, target: Path) -> int:
    """Convert as ``strapdown convert`` does; return the samples of IMUs."""
    stream = RateStream(RateOptions())
    with (
        open_blocks(source, on_error="salvage") as blocks,
        block_writer(target, force=True) as writer,
    ):
        for block in map(stream.convert, blocks):
            writer.write(block)
        writer.write(stream.finish())
    return sum(stream.report.rows.values())


def peak_of_convert(source: Path, target: Path) -> int:
    """Run ``strapdown convert``; return the peak of its memory [bytes]."""
    run = "from strapdown.cli import main; main()"
    convert = [sys.executable, "-c", run, "convert", str(source), str(target), "--force"]
    return cost_of(convert, codes=(0, 3)).peak_bytes  # 3: MCAP has no place for something


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=1e8, help="bytes of the log")
    parser.add_argument("--folder", type=Path, help="where files go; by default a temporary one")
    options = parser.parse_args()
    fifo = packets()
    first, *later = seconds(lambda: unroll(fifo))[:, 0]
    million = PACKETS * SAMPLES / 1e6
    print(f"unroll FIFO, first call  {million / first:8.2f} M samples/s")
    print(f"unroll FIFO, later       {million / np.median(later):8.2f} M samples/s")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        log, small, mcap = (Path(folder, name) for name in ("run.ulg", "small.ulg", "run.mcap"))
        rows, taken = write_log(log, options.size)
        size = log.stat().st_size / 1e6
        print(f"write      {size:8.0f} MB   {rows / taken / 1e6:8.2f} M rows/s")
        write_log(small, options.size / 16)
        ours, _ = np.median(seconds(lambda: scan_ulog(small)), axis=0)
        theirs, _ = np.median(seconds(lambda: ULog(str(small))), axis=0)
        print(f"scan       {small.stat().st_size / 1e6:8.0f} MB   {ours:8.2f} s")
        print(f"pyulog     {small.stat().st_size / 1e6:8.0f} MB   {theirs:8.2f} s")
        print(f"scan / pyulog            {ours / theirs:8.3f}")
        samples: list[int] = []
        taken_by = seconds(lambda: samples.append(to_mcap(log, mcap)))
        wall, processor = samples[0] / 1e6 / np.median(taken_by, axis=0)
        print(f"to MCAP    {size:8.0f} MB   {wall:8.2f} M IMU samples/s")
        print(f"to MCAP                  {processor:8.2f} M IMU samples/s of processor time")
        peak = peak_of_convert(log, mcap)
        print(f"peak memory of convert   {peak / 1e6:8.0f} MB")


if __name__ == "__main__":
    main()

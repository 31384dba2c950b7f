"""What a ULog costs: writing, scanning, unrolling FIFO packets, and conversion to MCAP.

Run with ``python benchmarks/ulog.py``, or with ``--size 1e9`` [bytes] for a log of 1 GB, which is
converted in bounded memory. The log holds three ``vehicle_imu`` and one ``sensor_combined`` of
400 Hz and a ``vehicle_attitude`` of 50 Hz, random numbers that do not pack well. pyulog, which
keeps in memory what it loads, gets a log of a sixteenth of the size, and so does the scan beside
it.

Times are of the wall clock, single runs; another process is measured as a whole.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyulog import ULog

from strapdown.formats import LoggedRows, UlogWriter
from strapdown.formats.px4_log import scan_ulog
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
    """Return FIFO packets of 8 kHz, full to the last place."""
    records = np.zeros(PACKETS, SensorGyroFifo.dtype)
    rng = np.random.default_rng(1)
    for axis in "xyz":
        records[axis] = rng.integers(-30_000, 30_000, records[axis].shape)
    records["timestamp_sample"] = np.arange(1, PACKETS + 1) * 4000
    records["dt"], records["scale"], records["samples"] = 125.0, 1e-3, 32
    return records


def seconds(action: Callable[[Any], object], argument: object) -> float:
    """Return how long a call takes."""
    begin = time.perf_counter()
    action(argument)
    return time.perf_counter() - begin


def convert(source: Path, target: Path) -> tuple[float, float]:
    """Convert in a process of its own; return seconds and the peak of its memory [bytes]."""
    begin = time.perf_counter()
    run = "from strapdown.cli import main; main()"
    command = [sys.executable, "-c", run, "convert", str(source), str(target), "--force"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 (our own command)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 3):  # 3: something was lost, as MCAP has no place for it
        raise SystemExit(f"strapdown convert ended with {child.returncode}")
    return time.perf_counter() - begin, usage.ru_maxrss * 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=1e8, help="bytes of the log")
    parser.add_argument("--folder", type=Path, help="where files go; by default a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        log, small = Path(folder, "run.ulg"), Path(folder, "small.ulg")
        rows, taken = write_log(log, options.size)
        size = log.stat().st_size
        print(f"write      {size / 1e6:8.0f} MB   {rows / taken / 1e6:8.2f} M rows/s")
        write_log(small, options.size / 16)
        scan_ulog(small)  # compiles
        ours, theirs = seconds(scan_ulog, small), seconds(ULog, str(small))
        print(f"scan       {small.stat().st_size / 1e6:8.0f} MB   {ours:8.2f} s")
        print(f"pyulog     {small.stat().st_size / 1e6:8.0f} MB   {theirs:8.2f} s")
        print(f"scan / pyulog            {ours / theirs:8.3f}")
        fifo = packets()
        taken = seconds(unroll, fifo)
        print(f"unroll FIFO              {PACKETS * 32 / taken / 1e6:8.2f} M samples/s")
        taken, peak = convert(log, Path(folder, "run.mcap"))
        imu_rows = rows - rows * 50 // (4 * 400 + 50)
        print(f"to MCAP    {size / 1e6:8.0f} MB   {imu_rows / taken / 1e6:8.2f} M IMU samples/s")
        print(f"peak memory              {peak / 1e6:8.0f} MB")


if __name__ == "__main__":
    main()

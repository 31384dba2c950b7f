"""One `Imu`, beside horus's: making it, reading it, and many of them as an array.

Run with ``python benchmarks/messages.py``; it needs ``horus-robotics``. Both classes do the same
in the same run: they take turns, and each figure is the median of the repeats, with the time of
the loop in it. Nothing is left out and nothing subtracted.

An array of many messages is a view of their bytes here. horus gives no access to the bytes of a
message: its way to the same numbers is attribute by attribute. A covariance is a view here that
can be written through, and a copy there.
"""

from __future__ import annotations

import statistics
import time
import timeit
from typing import TYPE_CHECKING, Any

import horus
import numpy as np

from _machine import describe
from strapdown.messages import Imu

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 25
CALLS, UNROLLED = 20_000, 10
MESSAGES, ARRAY_REPEATS = 100_000, 5
CONSTRUCT, READ, VIEW_MS = 4.0, 1.5, 1.0
"""Bars: times of horus, and for the view of all messages [ms]."""
STATEMENTS: dict[str, tuple[str, float | None]] = {
    "construct": ("Imu(0.1, 0.2, 9.8, 0.01, 0.02, 0.03)", CONSTRUCT),
    "construct, stamped": ("Imu(0.1, 0.2, 9.8, 0.01, 0.02, 0.03, 1)", CONSTRUCT),
    "read accel_x": ("imu.accel_x", READ),
    "read qw": ("imu.qw", READ),
    "read timestamp_ns": ("imu.timestamp_ns", READ),
    "write accel_x": ("imu.accel_x = 1.0", None),
    "read a covariance": ("imu.orientation_covariance", None),
    "has_orientation()": ("imu.has_orientation()", None),
}
"""What is done, and how many times the time of horus it may take."""


def microseconds(kind: type[Any], statement: str) -> float:
    """Return how long a statement takes [us], with the garbage collector on."""
    made = kind(0.1, 0.2, 9.8, 0.01, 0.02, 0.03)
    timer = timeit.Timer(
        "\n".join([statement] * UNROLLED),
        "import gc; gc.enable()",
        globals={"Imu": kind, "imu": made},
    )
    return timer.timeit(CALLS // UNROLLED) / CALLS * 1e6


def single() -> None:
    """Print the table of single messages."""
    times: dict[tuple[str, type[Any]], list[float]] = {
        (what, kind): [] for what in STATEMENTS for kind in (Imu, horus.Imu)
    }
    for _ in range(REPEATS):
        for (what, kind), values in times.items():
            values.append(microseconds(kind, STATEMENTS[what][0]))
    print(f"\n{'median us':22} {'strapdown':>10} {'horus':>10} {'ratio':>8} {'bar':>6}")
    for what, (_, bar) in STATEMENTS.items():
        ours, theirs = (statistics.median(times[what, kind]) for kind in (Imu, horus.Imu))
        limit = "" if bar is None else f"{bar:.1f}"
        print(f"{what:22} {ours:10.4f} {theirs:10.4f} {ours / theirs:8.2f} {limit:>6}")


def by_attribute(messages: list[Any]) -> np.ndarray:
    """Return specific force and angular velocity, (N, 6), attribute by attribute."""
    return np.array(
        [(m.accel_x, m.accel_y, m.accel_z, m.gyro_x, m.gyro_y, m.gyro_z) for m in messages]
    )


def by_copy(messages: list[Imu]) -> np.ndarray:
    """Return the same from a list of messages, as an array of all fields."""
    return columns(Imu.array(messages))


def columns(array: np.ndarray) -> np.ndarray:
    """Return the same from an array of all fields."""
    return np.hstack((array["linear_acceleration"], array["angular_velocity"]))


def many() -> None:
    """Print the table of many messages."""
    numbers = np.random.default_rng(1).standard_normal((MESSAGES, 6))
    ours, theirs = ([kind(*row) for row in numbers.tolist()] for kind in (Imu, horus.Imu))
    data = b"".join(ours)
    ways: dict[str, Callable[[], np.ndarray]] = {
        "np.frombuffer": lambda: np.frombuffer(data, Imu.dtype),
        "the same, and six columns": lambda: columns(np.frombuffer(data, Imu.dtype)),
        "list, Imu.array, six columns": lambda: by_copy(ours),
        "horus, list, attribute by attribute": lambda: by_attribute(theirs),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ARRAY_REPEATS):
        for way, work in ways.items():
            start = time.perf_counter_ns()
            got = work()
            times[way].append((time.perf_counter_ns() - start) / 1e6)
            if not np.array_equal(columns(got) if got.dtype == Imu.dtype else got, numbers):
                raise SystemExit(f"{way}: other numbers came")
    print(f"\n{f'{MESSAGES} messages as an array':36} {'median ms':>10} {'bar':>6}")
    for way, values in times.items():
        limit = f"{VIEW_MS:.1f}" if way == "np.frombuffer" else ""
        print(f"{way:36} {statistics.median(values):10.4f} {limit:>6}")


def main() -> None:
    """Print the tables."""
    print(describe("horus-robotics", "numpy"))
    single()
    many()


if __name__ == "__main__":
    main()

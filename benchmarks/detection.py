"""How fast detectors go through samples: a recording at once, and one call a sample.

Run with ``python benchmarks/detection.py``. The samples are noise with impacts, so that detectors
have something to decide. Every figure is the median of five runs in CPU time of one thread; the
same work in plain Python stands beside it.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from strapdown.detection import DETECTORS, Voter
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES = 1_000_000
FEW = 30_000
STEP_NS = 5_000_000
REPEATS = 5


def make_series() -> ImuSeries:
    """Return a million samples of a restless sensor that is hit every two seconds."""
    rng = np.random.default_rng(1)
    rate, force = rng.normal(size=(2, SAMPLES, 3))
    force[:, 2] += STANDARD_GRAVITY
    force[::400] *= 6.0
    return ImuSeries(np.arange(SAMPLES) * STEP_NS, rate, force)


def samples_of(series: ImuSeries) -> list[ImuSample]:
    """Return samples as a program that reads a sensor would make them."""
    columns = (series.t_ns, series.angular_velocity, series.specific_force)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [ImuSample(t_ns, rate, force) for t_ns, rate, force in rows]


def millions_a_second(work: Callable[[], object], samples: int) -> float:
    """Return the median speed over the runs, after one that compiles."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.thread_time_ns()
        work()
        times.append(time.thread_time_ns() - start)
    return 1e3 * samples / statistics.median(times)


def calls(update: Callable[[ImuSample], object], samples: list[ImuSample]) -> Callable[[], None]:
    """Return what hands a detector one sample after the other."""

    def work() -> None:
        for sample in samples:
            update(sample)

    return work


def main() -> None:
    """Print the table."""
    series = make_series()
    samples = samples_of(series[:FEW])
    print(f"{'million samples a second':26} {'run':>8} {'update':>8} {'plain Python':>13}")
    for name, kind in DETECTORS.items():
        detector, plain = kind(), kind(compiled=False)
        batch = millions_a_second(lambda detector=detector: detector.run(series), SAMPLES)
        stream = millions_a_second(calls(kind().update, samples), FEW)
        slow = millions_a_second(calls(plain.update, samples), FEW)
        print(f"{name:26} {batch:8.2f} {stream:8.2f} {slow:13.3f}")
    cycles = [(sample, sample, sample) for sample in samples]
    batch = millions_a_second(lambda: Voter(3).run([series] * 3), 3 * SAMPLES)
    voter = Voter(3)
    stream = millions_a_second(lambda: [voter.update(cycle) for cycle in cycles], 3 * FEW)
    print(f"{'voter of three':26} {batch:8.2f} {stream:8.2f}")


if __name__ == "__main__":
    main()

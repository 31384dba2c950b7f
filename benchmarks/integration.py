"""How fast samples become increments, against GTSAM and against plain Python.

Run with ``python benchmarks/integration.py`` (extra ``bench``). Every figure is the median of
five runs over gyro and accelerometer, 4 samples a window, in CPU time of one thread. GTSAM is
called once a sample from Python, as its interface asks.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import gtsam
import numpy as np

from strapdown.inertial import IncrementIntegrator, WindowRule, integrate
from strapdown.px4.increments import px4_increments
from strapdown.series import ImuSeries

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES = 1_000_000
FEW = 50_000
STEP_NS = 1_000_000
PER_WINDOW = 4
REPEATS = 5


def make_series(jitter_ns: int) -> ImuSeries:
    """Return a million samples of noise."""
    rng = np.random.default_rng(1)
    t_ns = np.arange(SAMPLES) * STEP_NS + rng.integers(-jitter_ns, jitter_ns + 1, SAMPLES)
    rates, forces = rng.normal(size=(2, SAMPLES, 3))
    return ImuSeries(t_ns, rates, 10.0 * forces)


def nanoseconds_a_sample(work: Callable[[], object], samples: int) -> float:
    """Return the median time over the runs, after one that compiles."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.thread_time_ns()
        work()
        times.append(time.thread_time_ns() - start)
    return statistics.median(times) / samples


def with_gtsam(series: ImuSeries) -> None:
    """Preintegrate one sample a call."""
    parameters = gtsam.PreintegrationParams.MakeSharedU(9.81)
    measurements = gtsam.PreintegratedImuMeasurements(parameters)
    take, dt = measurements.integrateMeasurement, STEP_NS * 1e-9
    for force, rate in zip(series.specific_force, series.angular_velocity, strict=True):
        take(force, rate, dt)


def streaming(series: ImuSeries) -> Callable[[], object]:
    """Return what leads the samples, as plain floats, through a streaming integrator."""
    samples = list(
        zip(
            series.t_ns.tolist(),
            series.angular_velocity.tolist(),
            series.specific_force.tolist(),
            strict=True,
        )
    )

    def run() -> None:
        update = IncrementIntegrator(PER_WINDOW, max_gap_ns=10 * STEP_NS).update
        for t_ns, rate, force in samples:
            update(t_ns, rate, force)

    return run


def main() -> None:
    """Print the table."""
    even, uneven = make_series(0), make_series(STEP_NS // 20)
    few, window = even[:FEW], WindowRule(PER_WINDOW)
    runs: list[tuple[str, Callable[[], object], int]] = [
        ("savage, a series", lambda: integrate(even, window=window), SAMPLES),
        ("savage, uneven steps", lambda: integrate(uneven, window=window), SAMPLES),
        ("px4, a series", lambda: px4_increments(even, PER_WINDOW), SAMPLES),
        ("savage, a stream", streaming(few), FEW),
        ("GTSAM, a sample a call", lambda: with_gtsam(few), FEW),
    ]
    times = {name: nanoseconds_a_sample(work, samples) for name, work, samples in runs}
    stream, reference = times["savage, a stream"], times["GTSAM, a sample a call"]
    print(f"{'':24} {'ns/sample':>10} {'GTSAM = 1':>10} {'stream = 1':>10}")
    for name, each in times.items():
        print(f"{name:24} {each:10.1f} {reference / each:10.2f} {stream / each:10.2f}")


if __name__ == "__main__":
    main()

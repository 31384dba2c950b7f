"""How long Allan-type deviations of ten million samples take, beside allantools in the same run.

Run with ``python benchmarks/allan.py``. The samples are white noise with a random walk. Both are
given the same samples and cluster times; ours includes degrees of freedom and bounds. Every figure
is the shortest of a few runs by the clock, after one that compiles. The last columns give the
largest relative difference of the values, and the memory at the peak beside the samples, in
copies of them.
"""

from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING

import allantools
import numpy as np

from _machine import describe
from strapdown._kernels.compilation import compiling_first
from strapdown.calibration import AllanResult, allan

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray

SAMPLES = 10_000_000
RATE_HZ = 100.0
RUNS = 3
CASES = (("oadev", "log"), ("mdev", "octave"), ("ohdev", "octave"), ("totdev", "decade"))


def make_samples() -> FloatArray:
    """Return white noise with a random walk."""
    rng = np.random.default_rng(1)
    walk = np.cumsum(rng.standard_normal(SAMPLES))
    return np.asarray(rng.standard_normal(SAMPLES) + 1e-4 * walk)


def shortest(work: Callable[[], object], runs: int) -> float:
    """Return the time of the shortest run [s]."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(samples: FloatArray, kind: str, grid: str) -> str:
    """Return a row of the table."""

    def ours() -> AllanResult:
        return allan(samples, rate_hz=RATE_HZ, kind=kind, taus=grid)

    result = ours()
    theirs: list[FloatArray] = []

    def others() -> None:
        estimate = getattr(allantools, kind)
        theirs[:] = estimate(samples, rate=RATE_HZ, data_type="freq", taus=result.tau_s)

    mine, other = shortest(ours, RUNS), shortest(others, 1)
    difference = np.max(np.abs(result.deviation[:, 0] / theirs[1] - 1.0))
    tracemalloc.start()
    ours()
    copies = tracemalloc.get_traced_memory()[1] / samples.nbytes
    tracemalloc.stop()
    return (
        f"{kind:8}{len(result.tau_s):6}{mine:12.3f}{other:14.2f}{other / mine:8.1f}"
        f"{difference:14.1e}{copies:9.2f}"
    )


def main() -> None:
    """Print the table."""
    samples = make_samples()
    with compiling_first():
        for kind, _ in CASES:
            allan(samples[:1000], rate_hz=RATE_HZ, kind=kind)
    print(describe("numpy", "allantools"))
    print(f"{SAMPLES:,} samples")
    print(
        f"{'kind':8}{'taus':>6}{'ours [s]':>12}{'allantools [s]':>14}{'ratio':>8}"
        f"{'difference':>14}{'copies':>9}"
    )
    for kind, grid in CASES:
        print(compare(samples, kind, grid), flush=True)


if __name__ == "__main__":
    main()

"""How many instants a second motions give: attitude and position with two derivatives each.

Run with ``python benchmarks/motion.py``. Each figure is the best of the repeats, in CPU time of
one thread; the last column is what a perfect sensor feels on a lever arm on that motion.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from strapdown.motion.catalogue import MOTIONS
from strapdown.motion.mount import Mount, Mounted

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray

INSTANTS = 200_000
BLOCK = 4096
REPEATS = 7


def millions_per_second(evaluate: Callable[[FloatArray], object]) -> float:
    """Return how many million instants a second ``evaluate`` does, block by block."""
    t_s = np.linspace(0.0, 60.0, INSTANTS)
    blocks = [t_s[first : first + BLOCK] for first in range(0, INSTANTS, BLOCK)]
    times = []
    for _ in range(REPEATS):
        start = time.thread_time()
        for block in blocks:
            evaluate(block)
        times.append(time.thread_time() - start)
    return INSTANTS / min(times) / 1e6


def motions() -> None:
    """Print the table of the named motions."""
    print(f"{'M instants/s':14} {'motion':>8} {'sensor':>8}")
    for name, motion in MOTIONS.items():
        sensor = Mounted(motion, Mount([0.1, -0.2, 0.05]))
        print(
            f"{name:14} {millions_per_second(motion.at):8.2f}"
            f" {millions_per_second(sensor.inputs):8.2f}"
        )


if __name__ == "__main__":
    motions()

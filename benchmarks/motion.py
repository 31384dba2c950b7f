"""How many instants a second motions give: attitude and position with two derivatives each.

Run with ``python benchmarks/motion.py``. Each figure is the best of the repeats, in CPU time of
one thread; the last column is what a perfect sensor feels on a lever arm on that motion.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from strapdown.motion import MOTIONS, MotionCommands, Mount, Mounted, PoseSpline

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray
    from strapdown.motion import Motion

INSTANTS = 200_000
BLOCK = 4096
REPEATS = 7
INITIAL = (47.0, 8.5, 400.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
SPEEDS = (5, 9) * 5
HOLD = (1, 0, 0, 0, 0, 0, 0, 60, 1)


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


def from_files() -> dict[str, Motion]:
    """Return motions as files give them: a spline through poses, and commands."""
    t_s = np.arange(0.0, 61.0, 0.005)
    truth = MOTIONS["wander"].at(t_s)
    rows = [[2, 50 * n, 0, 0, speed, 0, 0, 6, 1] for n, speed in enumerate(SPEEDS)]
    return {
        "quintic spline": PoseSpline.from_poses(
            t_s, truth.position_world, truth.q_world_from_body, mode="interpolate"
        ),
        "commands, flat": MotionCommands.from_rows(INITIAL, [*rows, HOLD], frame="flat"),
        "commands, WGS84": MotionCommands.from_rows(INITIAL, [*rows, HOLD]),
    }


def motions() -> None:
    """Print the table of the named motions, and of those of files."""
    print(f"{'M instants/s':16} {'motion':>8} {'sensor':>8}")
    for name, motion in {**MOTIONS, **from_files()}.items():
        sensor = Mounted(motion, Mount([0.1, -0.2, 0.05]))
        print(
            f"{name:16} {millions_per_second(motion.at):8.2f}"
            f" {millions_per_second(sensor.inputs):8.2f}"
        )


if __name__ == "__main__":
    motions()

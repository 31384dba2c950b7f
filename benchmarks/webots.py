"""Webots devices in this process: steps a second, batches, and the reading of worlds.

Run with ``python benchmarks/webots.py``. A robot with InertialUnit, Accelerometer and Gyro, all
read at every step of one basic step. The original Python client against a minimal server over a
local socket makes 61 500 steps a second without reads and 38 600 with three reads (measured on
two server-class x86 cores); ratios are to these. Medians of five runs.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from strapdown.motion import MOTIONS
from strapdown.webots import Robot, World, read_world
from strapdown.webots.run.batch import measure

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 100_000
BATCH = 1_000_000
REPEATS = 5
ORIGINAL = {"no reads": 61_500.0, "three reads": 38_600.0}

WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot {
  name "rob"
  children [ InertialUnit { } Accelerometer { } Gyro { } ]
  physics Physics { mass 1 density -1 }
}
"""


def started(profile: str, motion: str | None) -> tuple[Robot, list[Callable[[], list[float]]]]:
    """Return a robot with its three sensors enabled, and their getters."""
    world = World(
        WORLD,
        profile=profile,
        dynamics="kinematic",
        motion=None if motion is None else MOTIONS[motion],
    )
    robot = Robot(world)
    unit, accelerometer, gyro = robot.devices.values()
    for device in (unit, accelerometer, gyro):
        device.enable(32)
    return robot, [unit.getRollPitchYaw, accelerometer.getValues, gyro.getValues]


def stepped(profile: str, motion: str | None, *, read: bool) -> float:
    """Return steps a second of the usual loop."""
    robot, getters = started(profile, motion)
    angles, force, rate = getters
    start = time.perf_counter()
    for _ in range(STEPS):
        robot.step(32)
        if read:
            angles()
            force()
            rate()
    return STEPS / (time.perf_counter() - start)


def batched(profile: str, motion: str | None) -> float:
    """Return steps a second of a batch."""
    world = World(
        WORLD,
        profile=profile,
        dynamics="kinematic",
        motion=None if motion is None else MOTIONS[motion],
    )
    start = time.perf_counter()
    measure(world, BATCH * 0.032)
    return BATCH / (time.perf_counter() - start)


def getter(profile: str) -> float:
    """Return nanoseconds of a getter."""
    robot, getters = started(profile, None)
    robot.step(32)
    start = time.perf_counter()
    for _ in range(STEPS):
        getters[1]()
    return (time.perf_counter() - start) / STEPS * 1e9


def parsed() -> float:
    """Return megabytes a second of a world with many solids."""
    solid = (
        'DEF A Solid { translation 1 2.5 -3e-2 rotation 0 0 1 0.5 name "a" physics Physics { } }\n'
    )
    text = "#VRML_SIM R2025a utf8\nWorldInfo { }\n" + solid * 5_000
    start = time.perf_counter()
    read_world(text)
    return len(text) / 1e6 / (time.perf_counter() - start)


def median(measured: Callable[[], float]) -> float:
    """Return the median of some runs."""
    return statistics.median(measured() for _ in range(REPEATS))


def main() -> None:
    """Print the tables."""
    print(
        f"{'steps/s':34} {'no reads':>10} {'three reads':>12} {'ratio':>6} {'batch':>11}", end=" "
    )
    print(f"{'ratio':>6}")
    batched("documented", None)  # so that compiling is not measured
    batched("R2025a", None)
    for motion in (None, "coning", "multi_sine"):
        for profile in ("documented", "R2025a"):
            silent = median(lambda: stepped(profile, motion, read=False))  # noqa: B023 (called at once)
            loud = median(lambda: stepped(profile, motion, read=True))  # noqa: B023 (as above)
            batch = median(lambda: batched(profile, motion))  # noqa: B023 (as above)
            print(
                f"{profile + ', ' + (motion or 'at rest'):34} {silent:10,.0f} {loud:12,.0f}"
                f" {loud / ORIGINAL['three reads']:6.2f} {batch:11,.0f} {batch / loud:6.1f}"
            )
    print(f"{'original Python client, a socket':34} {61_500:10,} {38_600:12,}   1.00")
    print(f"getter: {median(lambda: getter('documented')):.0f} ns (original 840 ns)")
    print(f"reading a world: {median(parsed):.1f} MB/s (bar 1)")


if __name__ == "__main__":
    main()

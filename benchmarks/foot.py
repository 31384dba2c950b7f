"""How far foot-mounted navigation lies off on recorded walks, rule by rule.

Run with ``python benchmarks/foot.py [FOLDER]``; the folder holds ``pyshoe/*.npz`` (walks with a
reference in the plane) and ``gait_tracking/short_walk.csv`` (one that ends where it began); by
default it is the environment variable STRAPDOWN_DATA. One set of parameters serves every walk.

A hard rule tells the strapdown navigator that the velocity is 0 (1 cm/s) wherever the stance
statistic is below a threshold, the soft one at every sample with a noise that grows with it.
Both know the centred window. ``FootNavigator`` is causal; smoothed it knows what comes after.
The published trajectories are those of a detector learnt from such walks.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.detection.stillness import StillnessDetector
from strapdown.estimation.foot import FootNavigator
from strapdown.estimation.navigation import Aiding, NavigatorParams, StrapdownNavigator
from strapdown.evaluation import closing_error, evaluate_position
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray

    Track = Callable[[ImuSeries], Trajectory]

PARAMS: Final = NavigatorParams(
    gyro_noise=0.005,
    accel_noise=0.05,
    gyro_walk=1e-5,
    accel_walk=1e-4,
    align_for=0.1,
    gyro_bias_sigma=0.005,
    accel_bias_sigma=0.05,
    velocity_sigma=1e-3,
    gate=1.0,  # what refuses stances never comes back
)


def hard(threshold: float) -> Track:
    """Return the navigator that is told to stand still below a threshold."""
    return with_noise(lambda statistic: np.where(statistic < threshold, 0.01, np.inf))


def soft(statistic: FloatArray) -> FloatArray:
    """Return a noise of the velocity that grows with the statistic, for ever from 1e7 on."""
    sigma = 0.01 * np.maximum(1.0, statistic / 3e4) ** 1.5
    return np.where(statistic < 1e7, sigma, np.inf)


def with_noise(rule: Callable[[FloatArray], FloatArray]) -> Track:
    """Return the navigator that is told the velocity 0 with a noise by a rule."""

    def track(series: ImuSeries) -> Trajectory:
        first = np.unique(series.t_ns, return_index=True)[1]
        series = series[first]
        sigma = rule(np.nan_to_num(StillnessDetector().analyse(series).statistic, nan=np.inf))
        told = [
            Aiding.zero_velocity(t_ns, noise)
            for t_ns, noise in zip(series.t_ns.tolist(), sigma.tolist(), strict=True)
            if noise < np.inf
        ]
        return StrapdownNavigator(PARAMS).run(series, aiding=told).trajectory()

    return track


def on_foot(*, smooth: bool) -> Track:
    """Return the foot navigator."""
    return lambda series: FootNavigator().run(series, smooth=smooth).trajectory()


RULES: Final[dict[str, Track]] = {
    "hard, T < 1e5": hard(1e5),
    "hard, T < 2e5": hard(2e5),
    "hard, T < 3e5": hard(3e5),
    "hard, T < 5e5": hard(5e5),
    "soft": with_noise(soft),
    "FootNavigator": on_foot(smooth=False),
    "FootNavigator, smoothed": on_foot(smooth=True),
}


def plane(t_ns: FloatArray, xy: FloatArray) -> Trajectory:
    """Return a track in the plane, without attitude."""
    level = np.tile([0.0, 0.0, 0.0, 1.0], (len(t_ns), 1))
    place = np.column_stack([xy, np.zeros(len(t_ns))])
    return Trajectory(t_ns, level, position_world=place, world="NED", body="FRD")


def read_walk(path: Path) -> tuple[ImuSeries, Trajectory, Trajectory]:
    """Return samples, reference and published track; sensor axes and world are NED-handed."""
    with np.load(path) as data:
        t_ns = np.round((data["t"] - data["t"][0]) * 1e9).astype(np.int64)
        series = ImuSeries(t_ns, data["gyr"], data["acc"], body="FRD", world="NED")
        return series, plane(t_ns, data["gt_xy"]), plane(t_ns, data["pyshoe_xy"])


def read_short_walk(path: Path) -> ImuSeries:
    """Return the walk that ends where it began."""
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    t_ns = np.round(rows[:, 0] * 1e9).astype(np.int64)
    return ImuSeries(t_ns, rows[:, 1:4] * RAD_PER_DEG, rows[:, 4:] * STANDARD_GRAVITY)


def ate(track: Trajectory, reference: Trajectory) -> float:
    """Return the error in the plane after the best rigid alignment [m]."""
    return evaluate_position(track, reference, align="rigid2d").ate_2d


def line(name: str, errors: list[float], rest: str) -> str:
    """Return one line of the table."""
    numbers = [np.mean(errors), np.median(errors), np.max(errors), *errors]
    return f"{name:<26}" + "".join(f"{number:7.3f}" for number in numbers) + rest


def main() -> None:
    """Print the table."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("STRAPDOWN_DATA", "data"))
    walks = [read_walk(path) for path in sorted((folder / "pyshoe").glob("*.npz"))]
    closing = read_short_walk(folder / "gait_tracking" / "short_walk.csv")
    heads = ["mean", "median", "max", *(f"walk {k + 1}" for k in range(len(walks)))]
    print("ATE in the plane [m]; closing error of the short walk [mm]; samples a second")
    print(" " * 26 + "".join(f"{head:>7}" for head in heads) + "  plane  space     rate")
    for name, track in RULES.items():
        track(walks[0][0][:100])  # compile
        start = time.process_time()
        errors = [ate(track(series), reference) for series, reference, _ in walks]
        rate = sum(len(series) for series, _, _ in walks) / (time.process_time() - start)
        space, flat = closing_error(track(closing))
        print(line(name, errors, f"{1e3 * flat:7.0f}{1e3 * space:7.0f}{rate:9.0f}"))
    errors = [ate(published, reference) for _, reference, published in walks]
    print(line("learnt, published", errors, "     82" + "      -" + "        -"))


if __name__ == "__main__":
    main()

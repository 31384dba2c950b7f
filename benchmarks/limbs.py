"""Relative orientation of two sensors on a limb that moves slowly, without a magnetometer.

Run with ``python benchmarks/limbs.py`` (extra ``bench``). Two sensors of a consumer sheet sit on
the upper arm and the forearm of a person who moves slowly for one to three minutes, recorded at
50 Hz. Each orientation is estimated alone; the error is that of the orientation of one sensor in
the axes of the other, after the mean difference of their headings is removed, in degrees RMS.
Every row is a mean over ``--repeats`` motions, each with other biases and noise.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import vqf

from strapdown.estimation import FILTERS, SMOOTHERS
from strapdown.geometry import quaternion
from strapdown.motion import Hinge, KinematicTree, Link
from strapdown.simulation import find_sensor, simulate
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries

RATE_HZ = 50.0
UPPER_ARM_M, FOREARM_M = 0.3, 0.25
PAUSES_HZ = 0.05  # of the envelope of a motion with pauses


class Swing(NamedTuple):
    """Angle of a joint: sines, with pauses or without."""

    size: FloatArray
    pace: FloatArray
    phase: FloatArray
    pauses: bool

    def __call__(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the angle and two derivatives."""
        u, du, ddu = self._clock(t_s)
        x = np.multiply.outer(u, self.pace) + self.phase
        angle = np.sin(x) @ self.size
        slope = np.cos(x) @ (self.size * self.pace)
        bend = -np.sin(x) @ (self.size * self.pace**2)
        return angle, slope * du, bend * du**2 + slope * ddu

    def _clock(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the time of the sines: it halts now and then where there are pauses."""
        if not self.pauses:
            return t_s, np.ones_like(t_s), np.zeros_like(t_s)
        w = 2.0 * np.pi * PAUSES_HZ
        return t_s - np.sin(w * t_s) / w, 1.0 - np.cos(w * t_s), w * np.sin(w * t_s)


class Limb(NamedTuple):
    """Readings of the two sensors and their true orientations."""

    series: tuple[ImuSeries, ImuSeries]
    truth: tuple[FloatArray, FloatArray]


def moved(seed: int, sheet: str, pace_hz: float, bias_dps: float, *, pauses: bool) -> Limb:
    """Return an arm of which three angles of the shoulder and two of the elbow swing."""
    rng = np.random.default_rng(seed)
    duration_s = rng.uniform(60.0, 180.0)

    def swing(size_deg: float) -> Swing:
        pace = 2.0 * np.pi * pace_hz * rng.uniform(0.5, 1.5, 3)
        size = size_deg * RAD_PER_DEG * rng.uniform(0.2, 0.6, 3)
        return Swing(size, pace, rng.uniform(0.0, 6.28, 3), pauses)

    axes = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)
    shoulder = [Hinge(axis, swing(40.0)) for axis in axes]
    elbow = [Hinge(axis, swing(50.0)) for axis in axes[1:]]
    middle = {"position": (0.5 * UPPER_ARM_M, 0.03, 0.0)}
    wrist = {"position": (0.8 * FOREARM_M, 0.0, 0.02)}
    tree = KinematicTree(
        [
            Link("upper arm", shoulder),
            Link("forearm", elbow, parent="upper arm", position=(UPPER_ARM_M, 0.0, 0.0)),
            Link("first", parent="upper arm", **middle),
            Link("second", parent="forearm", **wrist),
        ]
    )
    spec = find_sensor(sheet, rate_hz=RATE_HZ)
    series, truth = [], []
    for name in ("first", "second"):
        run = simulate(
            tree.motion(name), spec, duration_s, seed=seed, name=name, include_bias=False
        )
        readings = run.samples.series()
        bias = bias_dps * RAD_PER_DEG * rng.normal(size=3)
        readings = readings.replace(angular_velocity=readings.angular_velocity + bias)
        series.append(readings)
        truth.append(run.truth.q_world_from_body)
    return Limb(tuple(series), tuple(truth))


def peer(series: ImuSeries) -> FloatArray:
    """Return the orientations by vqf."""
    gyr, acc = series.angular_velocity.copy(), series.specific_force.copy()
    return np.roll(vqf.VQF(1.0 / RATE_HZ).updateBatch(gyr, acc)["quat6D"], -1, axis=1)


def offline_peer(series: ImuSeries) -> FloatArray:
    """Return the orientations by vqf over the whole recording."""
    gyr, acc = series.angular_velocity.copy(), series.specific_force.copy()
    return np.roll(vqf.offlineVQF(gyr, acc, None, 1.0 / RATE_HZ)["quat6D"], -1, axis=1)


ESTIMATORS: dict[str, Callable[[ImuSeries], FloatArray]] = {
    "vqf": peer,
    "vqf offline": offline_peer,
    "strapdown vqf": lambda series: FILTERS["vqf"]().run(series).q_world_from_body,
    "strapdown eskf": lambda series: FILTERS["eskf"]().run(series).q_world_from_body,
    "strapdown eskf smoothed": lambda series: SMOOTHERS["eskf"]().run(series).q_world_from_body,
}


def error_deg(found: list[FloatArray], truth: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the RMS error of the relative orientation, and of both inclinations together."""
    wrong = [
        quaternion.multiply(q, quaternion.conjugate(r)) for q, r in zip(found, truth, strict=True)
    ]  # in world axes
    both = quaternion.multiply(quaternion.conjugate(wrong[1]), wrong[0])
    offset = np.angle(np.mean(np.exp(2j * np.arctan2(both[:, 2], both[:, 3]))))
    turn = quaternion.from_rotation_vector([0.0, 0.0, offset])
    rest = quaternion.multiply(quaternion.conjugate(turn), both)
    total = np.linalg.norm(quaternion.to_rotation_vector(rest), axis=1)
    tilt = [2.0 * np.arcsin(np.minimum(np.hypot(e[:, 0], e[:, 1]), 1.0)) for e in wrong]
    drift = 2.0 * np.arctan2(rest[:, 2], rest[:, 3])
    rows = (total, np.hypot(*tilt), drift)
    return np.array([np.sqrt(np.mean(row**2)) for row in rows]) / RAD_PER_DEG


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--sheet", default="mpu9250")
    parser.add_argument("--only", nargs="*", default=list(ESTIMATORS))
    options = parser.parse_args()
    for pace_hz in (0.1, 0.3):
        for bias_dps in (0.0, 0.3, 1.0):
            for pauses in (False, True):
                limbs = [
                    moved(seed, options.sheet, pace_hz, bias_dps, pauses=pauses)
                    for seed in range(options.repeats)
                ]
                motion = f"{pace_hz} Hz, bias {bias_dps} deg/s{', pauses' * pauses}"
                print(f"\n{motion:34} total  tilts  heading   worse than vqf")
                base = None
                for name in options.only:
                    estimate = ESTIMATORS[name]
                    rows = np.array(
                        [
                            error_deg([estimate(s) for s in limb.series], limb.truth)
                            for limb in limbs
                        ]
                    )
                    base = rows[:, 0] if base is None else base
                    worse = f"{int((rows[:, 0] > base).sum())} of {len(rows)}"
                    figures = " ".join(f"{value:6.2f}" for value in rows.mean(axis=0))
                    print(f"{name:33} {figures}   {worse:>12}", flush=True)


if __name__ == "__main__":
    main()

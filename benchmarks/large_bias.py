"""Errors of orientation with a large gyro bias, and with another magnetic field at rest.

Run with ``python benchmarks/large_bias.py`` (extra ``bench``; recordings where ``STRAPDOWN_DATA``
points to). All figures are degrees RMS over the whole recording, with default parameters, and
means over seeds or recordings: total, heading and inclination; for simulated motions also the time
after which the inclination stays within 2 deg [s].

* Simulated motions of a minute with a gyro bias of constant size: a sensor in the hand, on a
  multicopter (it tilts as it accelerates, and vibrates) and in a car on a winding road; without
  any rest, and with rests of 4 s at the start and in the middle.
* Trials of BROAD and rooms of TUM-VI with a bias added to the gyro.
* A sensor that is moved by hand and put down in between where the field has another direction,
  with the rest being a third and two thirds of the time, and trials of BROAD whose field is turned
  at rest. North is that of the field in motion.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from orientation import OFFLINE, PEERS, load
from strapdown.evaluation import evaluate_orientation, orientation_error
from strapdown.fleet import Trial
from strapdown.fleet.estimators import estimate
from strapdown.geometry import euler, quaternion
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.fleet.estimators import Estimate

RATE_HZ: Final = 100
FINE: Final = 4  # instants of the true motion per sample
SECONDS: Final = 60.0
SEEDS: Final = 5
BIASES: Final = (0.0, 1.0, 3.0, 6.0)  # deg/s
REACTION: Final = np.array([0.0, 0.0, STANDARD_GRAVITY])  # m/s^2, of an accelerometer at rest
FIELD: Final = (0.0, 18e-6, -41e-6)  # T
GYRO_NOISE, ACCEL_NOISE, FIELD_NOISE = 0.003, 0.05, 5e-7  # of a sample
SCALE: Final = 0.003  # of the gyro: standard deviation of each element of the matrix
ROTOR: Final = (0.03, 1.0)  # rad/s, m/s^2: vibration of the multicopter, of a sample
RESTS: Final = ((-1.0, 4.0), (30.0, 34.0))  # s
STOPPING_S: Final = 3.0  # before a rest, and the same after it
SETTLED: Final = 2.0  # deg
SHARES: Final = (1.0 / 3.0, 2.0 / 3.0)  # of the time at rest, in another field
ANGLES: Final = (-5.0, -3.0, 0.0, 3.0, 5.0, 8.0)  # deg, of the field of recordings at rest
OTHER_FIELD: Final = 5.0  # deg, about the vertical, of the field at rest


class Motion(NamedTuple):
    """A motion on a fine grid."""

    q: FloatArray
    acceleration: FloatArray  # m/s^2, world


def waves(
    rng: np.random.Generator, s: FloatArray, size: FloatArray, band: Sequence[float]
) -> FloatArray:
    """Return three sums of five sines with standard deviations ``size`` and a band in Hz."""
    pace = 2.0 * np.pi * rng.uniform(*band, (5, 3))
    phase = rng.uniform(0.0, 2.0 * np.pi, (5, 3))
    return np.sqrt(0.4) * np.asarray(size) * np.sin(s[:, None, None] * pace + phase).sum(axis=1)


def slope(values: FloatArray) -> FloatArray:
    """Return the derivative of rows by time."""
    return np.gradient(values, 1.0 / (FINE * RATE_HZ), axis=0)


def handheld(rng: np.random.Generator, s: FloatArray, pace: FloatArray) -> Motion:
    """Turn by up to a radian about all axes, and move about a place with 0.5 m/s."""
    q = euler.to_quaternion(waves(rng, s, [1.0, 0.4, 0.7], (0.05, 0.5)), "zyx")
    return Motion(q, slope(waves(rng, s, [0.5] * 3, (0.2, 1.0)) * pace))


def flying(rng: np.random.Generator, s: FloatArray, pace: FloatArray) -> Motion:
    """Fly about with 2 m/s; the thrust, along the vertical axis of the body, accelerates it."""
    acceleration = slope(waves(rng, s, [2.0, 2.0, 0.5], (0.03, 0.3)) * pace)
    thrust = acceleration + REACTION
    yaw = waves(rng, s, [0.8] * 3, (0.01, 0.1))[:, 0]
    ahead = np.cos(yaw) * thrust[:, 0] + np.sin(yaw) * thrust[:, 1]
    left = np.cos(yaw) * thrust[:, 1] - np.sin(yaw) * thrust[:, 0]
    pitch = np.arctan2(ahead, thrust[:, 2])
    roll = -np.arctan2(left, np.hypot(ahead, thrust[:, 2]))
    return Motion(euler.to_quaternion(np.stack([yaw, pitch, roll], axis=1), "zyx"), acceleration)


def driving(rng: np.random.Generator, s: FloatArray, pace: FloatArray) -> Motion:
    """Drive along a winding road with 4 to 10 m/s."""
    angles = waves(rng, s, [0.8, 0.02, 0.02], (0.02, 0.1))
    angles[:, 1:] += waves(rng, s, [0.0, 0.01, 0.01], (0.5, 1.5))[:, 1:]
    speed = (7.0 + waves(rng, s, [1.5] * 3, (0.02, 0.1))[:, 0]) * pace[:, 0]
    yaw = angles[:, 0]
    velocity = np.stack([speed * np.cos(yaw), speed * np.sin(yaw), 0.0 * yaw], axis=1)
    return Motion(euler.to_quaternion(angles, "zyx"), slope(velocity))


MOTIONS: Final = {"handheld": handheld, "flying": flying, "driving": driving}


def simulated(
    kind: str, seed: int, rests: Iterable[tuple[float, float]] = (), turned_deg: float = 0.0
) -> Trial:
    """Return readings without bias, and the truth; at rest the field is turned by an angle."""
    rng = np.random.default_rng(seed)
    t = np.arange(1 - FINE, round(SECONDS * RATE_HZ) * FINE + 1) / (FINE * RATE_HZ)
    pace = np.ones_like(t)
    for begin, end in rests:
        x = np.clip(np.maximum(begin - t, t - end) / STOPPING_S, 0.0, 1.0)
        pace *= x * x * (3.0 - 2.0 * x)
    motion = MOTIONS[kind](rng, np.cumsum(pace) / (FINE * RATE_HZ), pace[:, None])
    q = motion.q[FINE - 1 :: FINE]
    step = quaternion.multiply(quaternion.conjugate(q[:-1]), q[1:])
    rate = quaternion.to_rotation_vector(step) * RATE_HZ  # the mean before each sample
    middle = FINE - 1 + FINE // 2
    force = quaternion.rotate(
        quaternion.conjugate(motion.q[middle::FINE]),
        motion.acceleration[middle::FINE] + REACTION,
    )
    still = pace[2 * FINE - 1 :: FINE, None] < 1e-6
    angle = np.radians(turned_deg) * still * [0.0, 0.0, 1.0]
    field = quaternion.rotate(
        quaternion.multiply(quaternion.conjugate(q[1:]), quaternion.from_rotation_vector(angle)),
        FIELD,
    )
    shake, jolt = np.array(ROTOR) * (kind == "flying")
    matrix = rng.normal(0.0, SCALE, (3, 3))
    white = [rng.normal(size=rate.shape) for _ in range(5)]
    series = ImuSeries(
        np.round(np.arange(1, len(rate) + 1) * (1e9 / RATE_HZ)).astype(np.int64),
        rate + rate @ matrix.T + GYRO_NOISE * white[0] + shake * ~still * white[3],
        force + ACCEL_NOISE * white[1] + jolt * ~still * white[4],
        magnetic_field=field + FIELD_NOISE * white[2],
    )
    return Trial("simulated", f"{kind} {seed}", series, Trajectory(series.t_ns, q[1:]))


def biased(trial: Trial, size_deg: float, seed: int) -> Trial:
    """Return a recording with a bias of some size in a random direction added to the gyro."""
    direction = np.random.default_rng(1000 + seed).normal(size=3)
    bias = np.radians(size_deg) * direction / np.linalg.norm(direction)
    rates = trial.series.angular_velocity + bias
    return trial._replace(series=trial.series.replace(angular_velocity=rates))


class Table(NamedTuple):
    """How the recordings of a table are judged."""

    title: str
    columns: Sequence[str]
    with_field: bool
    align: str
    settles: bool = True

    def show(
        self, rows: Iterable[tuple[str, list[list[Trial]]]], estimators: dict[str, Estimate]
    ) -> None:
        """Print a line for each kind of recordings and estimator, with a cell for each set."""
        print(f"\n{self.title}\n{'':36}" + "".join(f"{column:>24}" for column in self.columns))
        for name, sets in rows:
            for label, estimator in estimators.items():
                cells = "".join(f"{self.cell(estimator, trials):>24}" for trials in sets)
                print(f"{name:20}{label:16}{cells}", flush=True)

    def cell(self, estimator: Estimate, trials: Sequence[Trial]) -> str:
        """Return the means over recordings."""
        found, times = [], []
        for _, _, series, truth in trials:
            q = estimator(series, self.with_field)
            each = evaluate_orientation(Trajectory(series.t_ns, q), truth, align=self.align)
            found.append((each.total_deg, each.heading_deg, each.inclination_deg))
            if self.settles:
                times.append(settled_s(series.t_ns, q, truth.q_world_from_body))
        text = "/".join(f"{np.mean(column):.1f}" for column in zip(*found, strict=True))
        return f"{text} {np.mean(times):3.0f}" if self.settles else text


def settled_s(t_ns: IntArray, q: FloatArray, truth: FloatArray) -> float:
    """Return the time after which the inclination stays right [s]."""
    off = np.flatnonzero(np.degrees(orientation_error(q, truth).inclination) > SETTLED)
    return float(t_ns[off[-1]] - t_ns[0]) * 1e-9 if off.size else 0.0


def simulations(rests: Iterable[tuple[float, float]], seeds: int) -> dict[str, list[list[Trial]]]:
    """Return the simulated motions, for each bias."""
    trials = {kind: [simulated(kind, seed, rests) for seed in range(seeds)] for kind in MOTIONS}
    return {kind: with_biases(each) for kind, each in trials.items()}


def with_biases(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Return recordings with each bias."""
    return [[biased(trial, b, i) for i, trial in enumerate(trials)] for b in BIASES]


def put_down(share: float, seed: int) -> Trial:
    """Return a sensor that is put down five times, for a share of the time in total."""
    length = share * SECONDS / 5.0
    rests = [(12.0 * (k + 1.0) - length, 12.0 * (k + 1.0)) for k in range(5)]
    return simulated("handheld", seed, rests, OTHER_FIELD)


def turned_at_rest(trial: Trial, angle_deg: float) -> Trial:
    """Return a recording whose field is turned about the vertical where the truth is at rest."""
    series, truth = trial.series, trial.truth
    q, still = np.asarray(truth.q_world_from_body), ~np.asarray(truth.moving)
    still &= np.isfinite(q).all(axis=1)
    turn = quaternion.from_rotation_vector([0.0, 0.0, np.radians(angle_deg)])
    field = series.magnetic_field.copy()
    turned = quaternion.rotate(quaternion.multiply(turn, q[still]), field[still])
    field[still] = quaternion.rotate(quaternion.conjugate(q[still]), turned)
    return trial._replace(series=series.replace(magnetic_field=field))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = os.environ.get("STRAPDOWN_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", nargs="*", help="names of estimators; by default all")
    parser.add_argument("--skip", nargs="*", default=[], help="simulated, recorded, fields")
    options = parser.parse_args()

    estimators = {name: partial(estimate, name) for name in ("eskf", "eskf smoothed")}
    estimators |= {name: PEERS[name] for name in ("vqf", OFFLINE)}
    estimators = {name: estimators[name] for name in options.only or estimators}
    columns = [f"{bias:g} deg/s" for bias in BIASES]
    for axes, field, align in (("9D", True, "none"), ("6D", False, "heading")):
        for title, rests in (("never at rest", ()), ("rests of 4 s", RESTS)):
            if "simulated" not in options.skip:
                rows = simulations(rests, options.seeds).items()
                Table(f"{axes}, {title}", columns, field, align).show(rows, estimators)
        if "recorded" not in options.skip:
            broad = [("BROAD", with_biases(load(options.data / "broad")))]
            Table(f"{axes}, recordings", columns, field, align, settles=False).show(
                broad, estimators
            )
    if "recorded" not in options.skip:
        rooms = [("TUM-VI", with_biases(load(options.data / "tumvi")))]
        Table("6D, recordings", columns, align="world", with_field=False, settles=False).show(
            rooms, estimators
        )
    if "fields" not in options.skip:
        sets = [[put_down(share, seed) for seed in range(options.seeds)] for share in SHARES]
        parts = [f"{share:.0%} at rest" for share in SHARES]
        fields = Table("9D, another field at rest", parts, with_field=True, align="none")
        fields.show([("put down", sets)], estimators)
        broad = load(options.data / "broad")
        sets = [[turned_at_rest(trial, angle) for trial in broad] for angle in ANGLES]
        columns = [f"{angle:g} deg" for angle in ANGLES]
        fields = Table(
            "9D, field turned at rest", columns, align="none", with_field=True, settles=False
        )
        fields.show([("BROAD", sets)], estimators)


if __name__ == "__main__":
    main()

"""How far joint angles of two sensors lie off on simulated linkages, without magnetometer.

Run with ``python benchmarks/joints.py [SECONDS [SEEDS]]``; by default ten minutes and three seeds.

A pelvis walks about, with turns; a thigh swings on a ball joint; a shank follows on a hinge, on
two axes or on a ball joint. Or an upper arm is lifted slowly and a forearm follows. The sensors
are mounted at random, and have the noise, bias, scale and misalignment of their sheets. The first
four seconds are at rest: they are the neutral pose, and the mean of the gyro is subtracted, as
any firmware does for a part whose sheet allows 20 deg/s.

"start" keeps the heading between the sensors that the joint shows at the beginning, "joint" uses
it throughout. Both on the orientation of our smoother, of which `estimate_joint` chooses one, and,
for comparison, of the package vqf.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np
import vqf

from strapdown.estimation import ErrorStateSmoother
from strapdown.geometry import quaternion
from strapdown.joints import JointKind, JointResult, Side, estimate_joint
from strapdown.joints.angles import Pose, measure
from strapdown.motion import Hinge, KinematicTree, Link, Mount, Mounted, Slider
from strapdown.series import Trajectory
from strapdown.simulation import find_sensor, simulate
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray
    from strapdown.motion import InertialSource
    from strapdown.series import ImuSeries

REST_S: Final = 5.0
NEUTRAL_S: Final = 4.0
RATE_HZ: Final = 100.0
SHEETS: Final = {"BMI160": "3sigma", "MPU-9250": "3sigma", "MPU-6050": "3sigma"}
"""Consumer parts, and the meaning of plus-minus figures of their sheets."""
X, Y, Z = np.eye(3)


class Swing:
    """A law of a joint: an offset and sines, which fade in after a rest."""

    def __init__(self, *sines: tuple[float, float, float], offset: float = 0.0) -> None:
        self.sines, self.offset = sines, offset

    def __call__(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value and two derivatives at the instants (N,) [s]."""
        value = np.full_like(t_s, self.offset)
        first, second = np.zeros_like(t_s), np.zeros_like(t_s)
        for amplitude, frequency, phase in self.sines:
            w = 2.0 * np.pi * frequency
            value += amplitude * np.sin(w * t_s + phase)
            first += amplitude * w * np.cos(w * t_s + phase)
            second -= amplitude * w**2 * np.sin(w * t_s + phase)
        u = np.clip((t_s - REST_S) / 3.0, 0.0, 1.0)
        fade = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        slope = 10.0 * u**2 * (1.0 - u) ** 2
        bend = 20.0 / 3.0 * u * (1.0 - u) * (1.0 - 2.0 * u)
        return (
            fade * value,
            slope * value + fade * first,
            bend * value + 2.0 * slope * first + fade * second,
        )


@dataclass(frozen=True, eq=False)
class Linkage:
    """Two sensors on a linkage, and the truth.

    Parameters
    ----------
    first, second : InertialSource
    laws : list of Swing
        Of the joint between them [rad].
    axis_first, axis_second : (3,)
        First axis in the first sensor, last axis in the second.
    centre_first, centre_second : (3,)
        From the sensors to the joint [m, sensor].
    """

    first: InertialSource
    second: InertialSource
    laws: list[Swing]
    axis_first: FloatArray
    axis_second: FloatArray
    centre_first: FloatArray
    centre_second: FloatArray


def _degrees(
    random: np.random.Generator, *sines: tuple[float, float], offset: float = 0.0
) -> Swing:
    phased = [(a * RAD_PER_DEG, f, random.uniform(0.0, 2.0 * np.pi)) for a, f in sines]
    return Swing(*phased, offset=offset * RAD_PER_DEG)


def _walking(random: np.random.Generator) -> tuple[list[Link], Swing]:
    """Return pelvis and thigh of a walk with turns, and the flexion of the knee."""
    place = [_degrees(random, *sines) for sines in (
        ((86.0, 0.05), (1.7, 1.8)), ((86.0, 0.043), (1.7, 0.9)), ((1.7, 1.8), (0.6, 0.31)),
    )]  # fmt: skip
    turns = [_degrees(random, *sines) for sines in (
        ((170.0, 0.021), (5.0, 0.9)), ((2.0, 1.8), (2.0, 0.13)), ((3.0, 0.9),),
    )]  # fmt: skip
    hip = [
        Hinge(-Y, Swing((0.38, 0.9, 0.3), (0.09, 1.8, 1.0), (0.1, 0.17, 2.0), offset=0.14)),
        Hinge(X, _degrees(random, (6.0, 0.9), (3.0, 0.23))),
        Hinge(Z, _degrees(random, (7.0, 0.9), (5.0, 0.19))),
    ]
    sliders = [Slider(axis, law) for axis, law in zip((X, Y, Z), place, strict=True)]
    hinges = [Hinge(axis, law) for axis, law in zip((Z, Y, X), turns, strict=True)]
    knee = Swing((0.44, 0.9, 1.5), (0.24, 1.8, 0.4), (0.09, 0.11, 1.0), offset=0.56)
    pelvis, thigh = Link("trunk", [*sliders, *hinges]), Link("first", hip, "trunk", [0, -0.1, -0.1])
    return [pelvis, thigh], knee


def _lifting(random: np.random.Generator) -> tuple[list[Link], Swing]:
    """Return trunk and upper arm of slow exercises, and the flexion of the elbow."""
    shoulder = [
        Hinge(-Y, _degrees(random, (35.0, 0.21), (15.0, 0.08), offset=35.0)),
        Hinge(X, _degrees(random, (20.0, 0.13), (8.0, 0.31))),
        Hinge(Z, _degrees(random, (25.0, 0.11), (10.0, 0.27))),
    ]
    trunk = Link("trunk", [Hinge(Z, _degrees(random, (15.0, 0.05), (5.0, 0.12)))])
    elbow = _degrees(random, (45.0, 0.35), (10.0, 0.16), offset=55.0)
    return [trunk, Link("first", shoulder, "trunk", [0.0, -0.2, 0.4])], elbow


MOTIONS: Final[dict[str, Callable[[np.random.Generator], tuple[list[Link], Swing]]]] = {
    "walking": _walking,
    "lifting": _lifting,
}


def linkage(kind: JointKind | str, motion: str = "walking", seed: int = 0) -> Linkage:
    """Return a linkage whose second segment follows the first on a joint of a kind.

    Body axes are x forward, y left, z up; flexion turns about -y.
    """
    random = np.random.default_rng(seed)
    links, flexion = MOTIONS[motion](random)
    aside = _degrees(random, (8.0, 0.9), (5.0, 0.3))
    along = _degrees(random, (20.0, 0.55), (12.0, 0.27))
    axes, laws = {
        "hinge": ([(0.05, -1.0, 0.08)], [flexion]),
        "saddle": ([(0.05, -1.0, 0.08), (0.05, 0.05, 1.0)], [flexion, along]),
        "ball": ([-Y, X, Z], [flexion, aside, along]),
    }[str(kind)]
    below = np.array([0.0, 0.0, -0.4])
    joints = [Hinge(axis, law) for axis, law in zip(axes, laws, strict=True)]
    tree = KinematicTree([*links, Link("second", joints, "first", below)])
    arms = np.array([[0.05, -0.06, -0.2], [0.03, -0.05, -0.22]])
    turns = quaternion.from_rotation_vector(random.normal(size=(2, 3)))
    back = quaternion.conjugate(turns)
    unit = [np.asarray(axis) / np.linalg.norm(axis) for axis in (axes[0], axes[-1])]
    first, second = (
        Mounted(tree.motion(name), Mount(arm, q, q))
        for name, arm, q in zip(("first", "second"), arms, turns, strict=True)
    )
    return Linkage(
        first,
        second,
        laws,
        quaternion.rotate(back[0], unit[0]),
        quaternion.rotate(back[1], unit[1]),
        quaternion.rotate(back[0], below - arms[0]),
        quaternion.rotate(back[1], -arms[1]),
    )


def recordings(
    chain: Linkage, sheet: str, duration_s: float, seed: int = 0
) -> tuple[ImuSeries, ImuSeries, FloatArray]:
    """Return samples of both sensors, and the true relative orientation (N, 4) at the first's."""
    spec = find_sensor(sheet, rate_hz=RATE_HZ, sampling="mean", unstated_limits=SHEETS.get(sheet))
    found, truths = [], []
    for name, source in (("first", chain.first), ("second", chain.second)):
        run = simulate(source, spec, duration_s, name=name, seed=seed)
        series = run.samples.series(stamps="true")
        bias = series.between(stop_s=NEUTRAL_S).angular_velocity.mean(axis=0)
        found.append(series.replace(angular_velocity=series.angular_velocity - bias))
        truths.append(run.truth.q_world_from_body)
    relative = quaternion.multiply(quaternion.conjugate(truths[0]), truths[1])
    return found[0], found[1], relative


def by_smoother(series: ImuSeries) -> Trajectory:
    """Return the orientation of our smoother, without magnetometer."""
    return ErrorStateSmoother().run(series, use_magnetic_field=False).trajectory()


def by_vqf(series: ImuSeries) -> Trajectory:
    """Return the orientation of the package vqf, with knowledge of the whole recording."""
    rate, force = (
        np.ascontiguousarray(v) for v in (series.angular_velocity, series.specific_force)
    )
    found = vqf.offlineVQF(rate, force, None, 1.0 / RATE_HZ)
    return Trajectory(series.t_ns, quaternion.from_wxyz(found["quat6D"]))


def true_angles(chain: Linkage, result: JointResult, relative: FloatArray) -> FloatArray:
    """Return the true angles (N, D), relative to the neutral pose [rad].

    Of a ball joint in the segment axes of the result, because those of a body are a definition.
    """
    t_s = result.t_ns / 1e9
    neutral = t_s < NEUTRAL_S
    if result.kind is not JointKind.BALL:
        angles = np.stack([law(t_s)[0] for law in chain.laws], axis=1)
        return angles - angles[neutral].mean(axis=0)
    first = quaternion.to_matrix(result.q_first_from_segment)
    second = quaternion.to_matrix(quaternion.mean(relative[neutral])).T @ first
    R = first.T @ quaternion.to_matrix(relative) @ second
    z, y = np.arctan2(-R[:, 0, 1], R[:, 1, 1]), np.arctan2(-R[:, 2, 0], R[:, 2, 2])
    return np.stack([z, np.arcsin(R[:, 2, 1]), y], axis=1)


def rms_deg(angles: FloatArray, truth: FloatArray) -> float:
    """Return the root mean square of the worst angle [deg]; signs are those of the truth."""
    signs = np.sign(np.sum(angles * truth, axis=0))
    return float(np.sqrt(np.mean((signs * angles - truth) ** 2, axis=0)).max() / RAD_PER_DEG)


@dataclass(frozen=True, eq=False)
class Case:
    """Two recordings of a linkage, with the truth."""

    chain: Linkage
    pair: tuple[ImuSeries, ImuSeries]
    relative: FloatArray
    kind: JointKind

    def errors(self, orientations: tuple[Trajectory, Trajectory] | None) -> tuple[float, float]:
        """Return errors of the angles and of the axes, by default with our orientations [deg]."""
        result, truth = self._estimated(orientations)
        axes = [
            np.arccos(min(1.0, abs(float(true @ found)))) / RAD_PER_DEG
            for true, found in (
                (self.chain.axis_first, result.axis_first),
                (self.chain.axis_second, result.axis_second),
            )
        ]
        worst = float("nan") if self.kind is JointKind.BALL else max(axes)
        return rms_deg(result.angles, truth), worst

    def error_of_start(self, orientations: tuple[Trajectory, Trajectory]) -> float:
        """Return the error of the angles where the heading of the start is kept [deg]."""
        result, truth = self._estimated(orientations)
        rows = np.searchsorted(self.pair[0].t_ns, result.t_ns)
        drift = result.heading - result.heading[0]
        zero = np.zeros(len(drift))
        back = np.stack([zero, zero, -np.sin(0.5 * drift), np.cos(0.5 * drift)], axis=1)
        first = orientations[0].q_world_from_body[rows]
        second = quaternion.multiply(first, result.q_first_from_second)
        kept = quaternion.multiply(quaternion.conjugate(first), quaternion.multiply(back, second))
        neutral = result.t_ns / 1e9 < NEUTRAL_S
        up = quaternion.rotate(quaternion.conjugate(first[neutral]), Z).mean(axis=0)
        start = measure(
            Pose(quaternion.make_continuous(kept), neutral, up),
            self.kind,
            (result.axis_first, result.axis_second),
            joint=None,
            side=Side.RIGHT,
            reverse=False,
        )
        return rms_deg(start.values, truth)

    def _estimated(
        self, orientations: tuple[Trajectory, Trajectory] | None
    ) -> tuple[JointResult, FloatArray]:
        """Return the joint and its true angles."""
        result = estimate_joint(
            *self.pair, self.kind, neutral_s=NEUTRAL_S, orientations=orientations
        )
        rows = np.searchsorted(self.pair[0].t_ns, result.t_ns)
        return result, true_angles(self.chain, result, self.relative[rows])


def main() -> None:
    """Print the table."""
    duration_s = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print(f"RMS of the worst angle [deg], {duration_s:g} s, {seeds} seeds: root mean square")
    print(f"{'':32}{'our smoother':>24}{'vqf':>24}")
    print(f"{'joint, motion, sensor':32}" + f"{'start':>8}{'joint':>8}{'axes':>8}" * 2)
    for kind, motion, sheet in product(JointKind, MOTIONS, SHEETS):
        rows = []
        for seed in range(seeds):
            chain = linkage(kind, motion, seed)
            one, two, relative = recordings(chain, sheet, duration_s, seed)
            case = Case(chain, (one, two), relative, kind)
            ours, theirs = ((by(one), by(two)) for by in (by_smoother, by_vqf))
            rows.append([
                case.error_of_start(ours), *case.errors(None),
                case.error_of_start(theirs), *case.errors(theirs),
            ])  # fmt: skip
        numbers = np.sqrt(np.mean(np.square(rows), axis=0))
        print(
            f"{f'{kind}, {motion}, {sheet}':32}" + "".join(f"{x:8.2f}" for x in numbers), flush=True
        )


if __name__ == "__main__":
    main()

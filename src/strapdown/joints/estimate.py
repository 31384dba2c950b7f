"""Estimate of a joint from the recordings of its two segments."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from strapdown._checks import as_member, require_type
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.estimation import ErrorStateSmoother, SmootherParams
from strapdown.geometry import WorldFrame, quaternion
from strapdown.joints.anatomy import JOINTS, JointKind, Side
from strapdown.joints.angles import Pose, measure
from strapdown.joints.findings import findings
from strapdown.joints.heading import Heading
from strapdown.joints.model import Model
from strapdown.joints.result import JointResult
from strapdown.joints.segments import segments_of
from strapdown.joints.solver import solve
from strapdown.joints.start import first_states
from strapdown.samples import SampleKind
from strapdown.samples.kind import as_kind
from strapdown.series import ImuSeries, Trajectory, timebase
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.estimation import FilterReport
    from strapdown.joints.solver import Solution

__all__ = ["estimate_joint"]

ALIGNMENT: Final = 0.01
"""Standard deviation of axes and heading that cross-axis sensitivity of sensors causes [rad]."""
DELAYS: Final = 4
"""Times that the second recording is shifted by the delay of its clock."""
SMALL_DELAY_S: Final = 1e-4
ALIGNMENTS: Final = 2
"""Times that accelerometers are corrected by the joint, and the sensors smoothed again."""
ZERO_G_OFFSET: Final = 0.4
"""Standard deviation of the bias of accelerometers that are not calibrated [m/s^2]."""
UNCALIBRATED: Final = 0.02
"""Standard deviation of scale and misalignment of gyros that are not calibrated."""
FAR_BETTER: Final = 0.25
"""Ratio of the costs below which the joint shows large biases: residuals of a half."""
MUCH_BETTER: Final = 1.0 / 12.0
"""Ratio below which it shows uncalibrated sensors, which have more unknowns."""


def estimate_joint(  # noqa: PLR0913 (the joint and the choices of its user)
    first: ImuSeries,
    second: ImuSeries,
    kind: JointKind | str,
    *,
    joint: str | None = None,
    side: Side | str = Side.RIGHT,
    neutral_s: float | None = None,
    reverse: bool = False,
    sample_kind: SampleKind | str = SampleKind.MEAN,
    orientations: tuple[Trajectory, Trajectory] | None = None,
) -> JointResult:
    """Return relative orientation, axes and angles of two segments with a common joint.

    Each sensor is fixed to one segment, in any orientation. Its inclination is estimated by
    smoothing, without magnetometer; for large errors of its accelerometer where these halve the
    residuals of the joint. The heading between the sensors, the axes and the centre of
    the joint then follow from the joint itself: both segments move its centre, and a hinge
    shares its axis.

    Parameters
    ----------
    first, second : ImuSeries
        The sensor nearer to the trunk, and the other one. Their clocks may differ by a constant
        50 ms, which is estimated. Ten seconds of motion or more, rather minutes.
    kind : JointKind or {"hinge", "saddle", "ball"}
        One axis; two, one of each segment, at a constant angle; three.
    joint : str, optional
        A name of :data:`JOINTS`, for names and signs of the angles by the ISB.
    side : {"right", "left"}
        Side of the body, for a named joint.
    neutral_s : float, optional
        Begin of the overlap during which the joint is in its neutral pose, with zero angles [s];
        by default the mean pose has zero angles.
    reverse : bool
        Reverse the direction of the first axis, which motion does not determine: for a named
        joint it is guessed from the larger range of motion.
    sample_kind : {"mean", "point"}
        Meaning of a sample, as in :class:`~strapdown.estimation.SmootherParams`.
    orientations : two of Trajectory, optional
        Orientations of the sensors from another estimator, each in a world with z up.

    Returns
    -------
    JointResult

    Raises
    ------
    UnknownNameError
        There is no such kind, joint, side or kind of sample.
    ValueRangeError
        The recordings overlap for less than 10 s, or hold no neutral pose.
    ShapeError
        A sensor has too few samples, or lacks a gyro or an accelerometer.
    TypeError
        A series is of another type.

    Examples
    --------
    >>> from strapdown.motion import Hinge, KinematicTree, Link, MOTIONS, Sine
    >>> from strapdown.simulation import simulate
    >>> knee = Hinge([0.0, 1.0, 0.0], Sine(0.5, 5.0, offset=0.5), [0.0, 0.0, -0.2])
    >>> tree = KinematicTree([Link("shank", [knee])], base=MOTIONS["wander"])
    >>> thigh = simulate(MOTIONS["wander"], "BMI160", 20.0, sampling="mean").samples.series()
    >>> shank = simulate(tree.motion("shank"), "BMI160", 20.0, sampling="mean", name="shank")
    >>> result = estimate_joint(thigh, shank.samples.series(), "hinge")
    >>> (result.axis_first.round(2) + 0.0).tolist()
    [0.0, 1.0, 0.0]
    """
    for series, name in ((first, "first"), (second, "second")):
        require_type(series, (ImuSeries,), name, "strapdown.open(path) has imu_series()")
    kind = as_member(JointKind, kind, "kind of joint")
    side = as_member(Side, side, "side")
    sample_kind = as_kind(sample_kind, (SampleKind.POINT, SampleKind.MEAN))
    if joint is not None and joint not in JOINTS:
        raise UnknownNameError("joint", joint, JOINTS)
    pair = first.in_frames(world=WorldFrame.ENU), second.in_frames(world=WorldFrame.ENU)
    if orientations is None:
        orientations, reports, solved = _smoothed(pair, kind, sample_kind)
    else:
        one, two = (
            each.in_frames(world=WorldFrame.ENU, body=series.body)
            for each, series in zip(orientations, pair, strict=True)
        )
        orientations, reports = (one, two), ()
        solved = _solved(pair, orientations, kind, sample_kind)
    motion = _motion(solved, orientations, neutral_s)
    state = solved.solution.state
    angles = measure(
        motion.pose,
        kind,
        (state.axis_first, state.axis_second),
        joint=None if joint is None else JOINTS[joint],
        side=side,
        reverse=reverse,
    )
    result = JointResult(
        kind=kind,
        joint=joint,
        side=side,
        neutral_s=neutral_s,
        t_ns=motion.t_ns,
        q_first_from_second=motion.pose.relative,
        angle_names=angles.names,
        angles=angles.values,
        heading=motion.heading,
        heading_sigma=motion.heading_sigma,
        axis_first=angles.axis_first,
        axis_second=angles.axis_second,
        q_first_from_segment=quaternion.from_matrix(angles.axes_first),
        q_second_from_segment=quaternion.from_matrix(angles.axes_second),
        reports=reports,
        warnings=(),
        **_constants(solved),
    )
    return replace(result, warnings=findings(result, angles.balance))


class _Solved(NamedTuple):
    """A problem and its solution."""

    model: Model
    heading: Heading
    solution: Solution


class _Smoothed(NamedTuple):
    """Orientations by smoothing, and what the joint makes of them."""

    orientations: tuple[Trajectory, Trajectory]
    reports: tuple[FilterReport, ...]
    solved: _Solved

    @property
    def cost(self) -> float:
        """Cost of the solution."""
        return self.solved.solution.cost


def _smoothed(
    series: tuple[ImuSeries, ImuSeries], kind: JointKind, sample_kind: SampleKind
) -> _Smoothed:
    """Return the orientations for usual errors of the sensors, or for large ones.

    A large bias inclines a sensor for minutes, so that the accelerations of the joint's centre
    disagree. Scale and misalignment of an accelerometer do so at each change of inclination, and
    would pass for a bias. Each must explain most to be taken.
    """
    usual = _by_smoothing(series, series, kind, SmootherParams(sample_kind=sample_kind))
    large = SmootherParams(sample_kind=sample_kind, accel_prior=ZERO_G_OFFSET)
    biased = _by_smoothing(series, series, kind, large)
    best = biased if biased.cost < FAR_BETTER * usual.cost else usual
    large = replace(large, matrix_prior=UNCALIBRATED)
    found, misaligned = usual, []
    for _ in range(ALIGNMENTS):
        model, heading, solution = found.solved
        model = Model(model.segments, kind, with_matrices=True)
        state = solve(model, heading, solution.state).state
        aligned = _aligned(series[0], state.matrix_first), _aligned(series[1], state.matrix_second)
        found = _by_smoothing(series, aligned, kind, large, with_matrices=True)
        misaligned.append(found)
    found = min(misaligned, key=lambda each: each.cost)
    return found if found.cost < MUCH_BETTER * best.cost else best


def _by_smoothing(
    series: tuple[ImuSeries, ImuSeries],
    smoothed: tuple[ImuSeries, ImuSeries],
    kind: JointKind,
    params: SmootherParams,
    *,
    with_matrices: bool = False,
) -> _Smoothed:
    """Return the joint of series, with the orientations that a smoother finds for others."""
    smoother = ErrorStateSmoother(params)
    one, two = (smoother.run(each, use_magnetic_field=False) for each in smoothed)
    orientations = one.trajectory(), two.trajectory()
    solved = _solved(series, orientations, kind, params.sample_kind, with_matrices=with_matrices)
    return _Smoothed(orientations, (one.report, two.report), solved)


def _aligned(series: ImuSeries, matrix: FloatArray) -> ImuSeries:
    """Return a series without the errors of scale and misalignment of its accelerometer."""
    force = series.specific_force
    return series.replace(specific_force=force - force @ matrix.reshape(3, 3).T)


def _solved(
    series: tuple[ImuSeries, ImuSeries],
    orientations: tuple[Trajectory, Trajectory],
    kind: JointKind,
    sample_kind: SampleKind,
    *,
    with_matrices: bool = False,
) -> _Solved:
    """Return the solution; the second recording is shifted by the delay of its clock.

    Where there are several first states, the one that fits best is taken.
    """
    delay, choice = 0.0, -1
    for _ in range(DELAYS):
        segments = segments_of(series, orientations, sample_kind, delay)
        model = Model(segments, kind, with_matrices=with_matrices)
        heading = Heading(segments)
        states = list(first_states(model, heading))
        if choice < 0:
            costs = [solve(model, heading, state, rounds=1).cost for state in states]
            choice = int(np.argmin(costs))
        solution = solve(model, heading, states[choice])
        delay = solution.state.delay
        sigma = float(solution.sigma_of("delay")[0])
        if abs(delay - segments.delay_s) < max(SMALL_DELAY_S, 0.2 * sigma):
            break
    return _Solved(model, heading, solution)


class _Motion(NamedTuple):
    """Relative orientation and heading at the stamps of the first sensor."""

    t_ns: IntArray
    pose: Pose
    heading: FloatArray
    heading_sigma: FloatArray


def _motion(
    solved: _Solved, orientations: tuple[Trajectory, Trajectory], neutral_s: float | None
) -> _Motion:
    """Return the motion where both sensors are recorded."""
    model, heading, solution = solved
    t_ns, q_first, q_second = _common(orientations, round(solution.state.delay * NS_PER_S))
    t_s = (t_ns - model.segments.start_ns) / NS_PER_S
    turn = heading.at(solution.state.heading, t_s)
    pose = _pose(q_first, _about_up(turn, q_second), t_s, neutral_s)
    sigma = heading.at(solution.heading_sigma, t_s)
    systematic = ALIGNMENT
    if model.kind is JointKind.BALL:
        first, _ = model.accelerations(solution.state)
        systematic = math.hypot(
            ALIGNMENT, _rms(solution.residuals["centre"]) / max(_rms(first[:, :2]), 1e-12)
        )
    return _Motion(t_ns, pose, turn, np.hypot(sigma, systematic))


def _constants(solved: _Solved) -> dict[str, Any]:
    """Return the fields of a result that do not depend on time."""
    model, _, solution = solved
    centre, sigma = _centre(solution, model.kind)
    fields: dict[str, Any] = {
        "centre_first": centre[:3],
        "centre_second": centre[3:],
        "centre_first_sigma": sigma[:3],
        "centre_second_sigma": sigma[3:],
        "centre_rms": _rms(solution.residuals["centre"]),
        "delay_s": solution.state.delay,
        "delay_sigma_s": float(solution.sigma_of("delay")[0]),
        "axes_angle": solution.state.angle if model.kind is JointKind.SADDLE else None,
    }
    if model.kind is JointKind.BALL:
        return fields | dict.fromkeys(("axis_first_sigma", "axis_second_sigma", "axis_rms"))
    return fields | {
        "axis_first_sigma": _axis_sigma(solution, "axis_first"),
        "axis_second_sigma": _axis_sigma(solution, "axis_second"),
        "axis_rms": _rms(solution.residuals["axis"]),
    }


def _common(
    orientations: tuple[Trajectory, Trajectory], delay_ns: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the stamps of the first within the second, and both orientations at them."""
    first, second = (timebase.ordered(each, "drop")[0] for each in orientations)
    second = second.replace(t_ns=second.t_ns - delay_ns)
    begin, end = max(first.t_ns[0], second.t_ns[0]), min(first.t_ns[-1], second.t_ns[-1])
    first = first[(first.t_ns >= begin) & (first.t_ns <= end)]
    return first.t_ns, first.q_world_from_body, timebase.orientation_at(second, first.t_ns)


def _about_up(angle: FloatArray, q: FloatArray) -> FloatArray:
    """Return orientations (N, 4) turned about the vertical by angles (N,)."""
    zero = np.zeros(len(angle))
    turn = np.stack([zero, zero, np.sin(0.5 * angle), np.cos(0.5 * angle)], axis=1)
    return quaternion.multiply(turn, q)


def _pose(
    q_first: FloatArray, q_second: FloatArray, t_s: FloatArray, neutral_s: float | None
) -> Pose:
    """Return the relative orientation, and its neutral part."""
    relative = quaternion.multiply(quaternion.conjugate(q_first), q_second)
    relative = quaternion.make_continuous(relative)
    neutral: BoolArray = np.logical_and.reduce(np.isfinite(relative), axis=1)
    if neutral_s is not None:
        neutral[t_s >= neutral_s] = False
    if not neutral.any():
        raise ValueRangeError(
            f"expected samples of both sensors in the first {neutral_s} s for the neutral pose, "
            "got none; pass a longer neutral_s"
        )
    ups = quaternion.rotate(quaternion.conjugate(q_first[neutral]), np.array([0.0, 0.0, 1.0]))
    return Pose(relative, neutral, ups.mean(axis=0))


def _centre(solution: Solution, kind: JointKind) -> tuple[FloatArray, FloatArray]:
    """Return the centre in the first and the second sensor (6,), and standard deviations [m].

    Any point of the axis of a hinge is its centre: that nearest to the first sensor is taken.
    """
    state = solution.state
    centre = np.concatenate([state.centre_first, state.centre_second])
    slide = np.eye(6)
    if kind is JointKind.HINGE:
        slide[:, :3] -= np.outer(np.append(state.axis_first, state.axis_second), state.axis_first)
    places = [solution.places[name] for name in ("centre_first", "centre_second")]
    rows = np.concatenate([np.arange(6)[place] for place in places])
    covariance = slide @ solution.covariance[np.ix_(rows, rows)] @ slide.T
    return slide @ centre, np.sqrt(np.maximum(np.diag(covariance), 0.0))


def _rms(rows: FloatArray) -> float:
    """Return the root mean square length of rows (K, D)."""
    return float(np.sqrt(np.mean(np.sum(rows**2, axis=1))))


def _axis_sigma(solution: Solution, name: str) -> float:
    """Return the larger standard deviation of an axis [rad]."""
    return float(np.hypot(np.max(solution.sigma_of(name)), ALIGNMENT))

"""Alignment of two sensors on one body."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import require_type
from strapdown.calibration.pair.coarse import find_offset
from strapdown.calibration.pair.grid import Grid
from strapdown.calibration.pair.inputs import (
    common_rotation,
    refuse_mirrored,
    refuse_units,
    require_rows,
)
from strapdown.calibration.pair.model import Model, State
from strapdown.calibration.pair.observability import observability
from strapdown.calibration.pair.result import PairResiduals, PairResult
from strapdown.calibration.pair.signals import ImuSignals, PoseSignals, signals_of
from strapdown.calibration.pair.solver import solve
from strapdown.geometry import WorldFrame, quaternion
from strapdown.geometry.frames import convert_vector
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import NS_PER_S, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.pair.coarse import Coarse
    from strapdown.calibration.pair.solver import Solution

__all__ = ["align_pair"]

GRAVITY_TOLERANCE: Final = 0.02
"""Relative error of gravity above which something is wrong."""
FASTEST_DRIFT_PPM: Final = 300.0
POOR: Final = 0.05
"""Residual of two accelerometers as a share of gravity above which something is wrong."""
UNEXPLAINED: Final = 0.7
"""The same of a reference, as a share of its acceleration."""
WIDEST_TILT_DEG: Final = 10.0


def align_pair(
    first: ImuSeries, second: ImuSeries | Trajectory, *, scale: bool = False
) -> PairResult:
    """Return clock offset, rotation and lever arm of two sensors on one rigid body.

    The coarse offset is that with the best correlation of the angular velocities' lengths, so
    that stamps may have nothing in common. Then all parameters are estimated together by least
    squares: offset and drift, rotation, lever arm, differences of bias, the delay of the
    accelerometer against the gyro, and for a trajectory the gravity in its world. Both sensors
    pass the same low-pass of 0.2 s, and the noise is whitened by a model fitted to the residuals,
    so that the sigmas hold for sensor noise and for jitter of poses alike.

    A minute of lively rotation about all axes, by hand, is enough.

    Parameters
    ----------
    first : ImuSeries
        The IMU whose clock and axes are kept.
    second : ImuSeries or Trajectory
        Another IMU, or a reference: attitude, with position or velocity for the lever arm, in
        any world and any body axes.
    scale : bool
        Estimate scale errors of the first as well, three per sensor.

    Returns
    -------
    PairResult

    Raises
    ------
    ValueRangeError
        A sensor does not turn, the motions do not match, the recordings do not overlap, axes are
        mirrored, or units are not SI; the message states which.
    ShapeError
        A series has too few samples.
    TypeError
        A series is of another type.

    Examples
    --------
    >>> from strapdown.motion import MOTIONS, Mount, Mounted
    >>> from strapdown.simulation import simulate
    >>> body = MOTIONS["wander"]
    >>> mount = Mount(lever_arm=[0.1, 0.0, -0.02])
    >>> one = simulate(body, "ADIS16470", 20.0, name="one").samples.series()
    >>> two = simulate(Mounted(body, mount), "ADIS16470", 20.0, name="two").samples.series()
    >>> late = two.replace(t_ns=two.t_ns + 5_000_000_000)
    >>> result = align_pair(one, late)
    >>> f"{result.offset_s:.3f} s"
    '-5.000 s'
    >>> (result.lever_arm_m.round(2) + 0.0).tolist()
    [0.1, 0.0, -0.02]
    """
    require_type(first, (ImuSeries,), "first", "the first is the IMU whose clock and axes are kept")
    one, two = signals_of(first, "first"), signals_of(second, "second")
    assert isinstance(one, ImuSignals)  # noqa: S101 (of an ImuSeries)
    coarse = find_offset(one, two)
    refuse_mirrored(coarse.fit, "angular velocities")
    refuse_units(one, two, coarse.fit)
    model = _model(one, two, coarse, scale=scale)
    start = State(coarse.offset_s, coarse.drift, coarse.fit.R)
    require_rows(model, start)
    solution = solve(model, replace(start, rotation=common_rotation(model, start, coarse.fit)))
    return _result(first, second, model, solution, coarse)


def _model(one: ImuSignals, two: ImuSignals | PoseSignals, coarse: Coarse, *, scale: bool) -> Model:
    begin = max(one.span_s[0], two.span_s[0] + coarse.offset_s)
    end = min(one.span_s[1], two.span_s[1] + coarse.offset_s)
    grid = Grid.over(begin, end, one, two)
    return Model(one, two, grid, coarse.middle_s, scale)


def _result(
    first: ImuSeries,
    second: ImuSeries | Trajectory,
    model: Model,
    solution: Solution,
    coarse: Coarse,
) -> PairResult:
    state, has_force = solution.state, model.has_force
    observable, missing = observability(solution)
    covariance = solution.covariance_of

    def sigma(name: str) -> FloatArray:
        return np.sqrt(np.diag(covariance(name)))

    residuals = _residuals(model, solution)
    rms = [math.sqrt(float(np.nanmean(rows**2))) for rows in solution.residuals]
    starts_s = (model.first.start_ns - model.second.start_ns) / NS_PER_S
    is_pose = isinstance(second, Trajectory)
    return PairResult(
        offset_s=state.offset + starts_s,
        offset_sigma_s=float(sigma("offset")[0]),
        drift_ppm=1e6 * state.drift,
        drift_sigma_ppm=1e6 * float(sigma("drift")[0]),
        t_reference_ns=model.first.start_ns + round(model.middle_s * NS_PER_S),
        q_first_from_second=quaternion.from_matrix(state.rotation),
        rotation_covariance=covariance("rotation"),
        lever_arm_m=state.lever_arm if has_force else None,
        lever_arm_covariance=covariance("lever_arm") if has_force else None,
        gyro_bias=state.gyro_bias,
        gyro_bias_sigma=sigma("gyro_bias"),
        accel_bias=state.accel_bias if has_force else None,
        accel_bias_sigma=sigma("accel_bias") if has_force else None,
        accel_delay_s=state.accel_delay if has_force else None,
        accel_delay_sigma_s=float(sigma("accel_delay")[0]) if has_force else None,
        gyro_scale=state.gyro_scale if model.scale else None,
        gyro_scale_sigma=sigma("gyro_scale") if model.scale else None,
        accel_scale=state.accel_scale if model.scale and has_force else None,
        accel_scale_sigma=sigma("accel_scale") if model.scale and has_force else None,
        gravity_world=state.gravity if has_force and is_pose else None,
        gyro_rms=rms[0],
        accel_rms=rms[1] if has_force else None,
        correlation=coarse.correlation,
        duration_s=coarse.overlap_s,
        first_body=first.body,
        second_body=second.body,
        second_world=second.world if is_pose else None,
        observable=observable,
        not_observable=missing,
        warnings=_warnings(second, model, solution, coarse, missing),
        residuals=residuals,
    )


def _residuals(model: Model, solution: Solution) -> PairResiduals:
    t_ns = model.first.start_ns + np.rint(model.grid.t_s * NS_PER_S).astype(np.int64)
    forces = solution.residuals[1] if model.has_force else None
    return PairResiduals(t_ns, solution.residuals[0], forces)


def _warnings(
    second: ImuSeries | Trajectory,
    model: Model,
    solution: Solution,
    coarse: Coarse,
    missing: tuple[str, ...],
) -> tuple[str, ...]:
    """Return findings, each with the next step."""
    state, found = solution.state, []
    if coarse.rivals_s:
        apart = ", ".join(f"{rival - coarse.offset_s:+.2f}" for rival in coarse.rivals_s)
        found.append(
            f"periodic motion: offsets that differ by {apart} s fit alike; start and end with an "
            "irregular movement"
        )
    if missing:
        found.append(
            "the motion does not determine everything; turn the body lively about at least two "
            "axes for a minute"
        )
    if abs(1e6 * state.drift) > FASTEST_DRIFT_PPM:
        found.append(
            f"a drift of {1e6 * state.drift:.0f} ppm is more than crystals have; check the unit "
            "and the origin of the stamps"
        )
    if not model.has_force:
        found.append(
            "no lever arm: it needs specific force of the first, and of the second specific force, "
            "position or velocity"
        )
        return tuple(found)
    left = math.sqrt(float(np.nanmean(solution.residuals[1] ** 2)))
    if isinstance(second, Trajectory):
        acceleration = model.acceleration(state)[np.isfinite(solution.residuals[1][:, 0])]
        if left > UNEXPLAINED * float(np.sqrt(np.mean(acceleration**2))):
            found.append(
                "most of the acceleration of the second is not explained; check the unit of its "
                "positions, their noise, and that both sensors are fixed to one rigid body"
            )
        found += _doubts_of_gravity(state.gravity, second.world)
    elif left > POOR * STANDARD_GRAVITY:
        found.append(
            f"{left:.2g} m/s^2 of acceleration are not explained; check the axes of the "
            "accelerometers and that both sensors are fixed to one rigid body"
        )
    return tuple(found)


def _doubts_of_gravity(gravity: FloatArray, world: WorldFrame) -> list[str]:
    """Return warnings about gravity in the world of a trajectory."""
    found = []
    length = float(np.linalg.norm(gravity))
    if abs(length / STANDARD_GRAVITY - 1.0) > GRAVITY_TOLERANCE:
        found.append(
            f"gravity of {length:.3f} m/s^2 in the world of the second; calibrate the scale "
            "of the accelerometer first, and check the unit of positions"
        )
    (up,) = convert_vector(np.array([[0.0, 0.0, 1.0]]), WorldFrame.ENU, world)
    tilt = math.degrees(math.acos(np.clip(-gravity @ up / length, -1.0, 1.0)))
    if tilt > WIDEST_TILT_DEG:
        found.append(
            f"gravity is {tilt:.0f} deg from the down axis of the world {world}; check the world "
            "of the second and the signs of the accelerometer"
        )
    return found

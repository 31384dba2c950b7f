"""Conversion of PX4's estimates, attitude and odometry, and their use with an IMU.

PX4 quaternions are w x y z and rotate body FRD into NED. A local frame with z down and an
arbitrary fixed heading (``POSE_FRAME_FRD``) becomes a world NED whose north is that heading; in
the world NWU and the body FLU its quaternions read (w, x, -y, -z).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.geometry import quaternion
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages._by_column import (
    as_float32,
    as_records,
    sampled_ns,
    stamped,
)
from strapdown.messages.conversion import _loss as loss
from strapdown.messages.px4 import VehicleAttitude, VehicleOdometry
from strapdown.series import ImuSeries, Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import AnyArray, BoolArray, FloatArray, IntArray
    from strapdown.messages._by_column import Messages

__all__ = [
    "join_attitude",
    "orientation_covariance_from_vehicle_odometry",
    "trajectory_from_vehicle_attitude",
    "trajectory_from_vehicle_odometry",
    "vehicle_attitude_from_trajectory",
    "vehicle_odometry_from_trajectory",
]

UNIT_TOLERANCE: Final = 1e-3  # of the norm of a valid attitude


def join_attitude(
    series: ImuSeries, attitude: Trajectory, reset_counts: IntArray | None = None
) -> tuple[ImuSeries, BoolArray]:
    """Add the attitude of an estimator to IMU samples, by slerp where that is safe.

    A sample gets an attitude where both the one before it and the one after it are no farther
    away than two periods (the median step between attitudes), and no reset lies between them.
    Rows that are NaN or no unit quaternion are skipped. A sample at the stamp of an attitude
    gets that one.

    Parameters
    ----------
    series : ImuSeries
        N samples, in any frames and order.
    attitude : Trajectory
        M attitudes, in any frames and order; of equal stamps the last counts.
    reset_counts : (M,) int64, optional
        Count of the resets of each attitude; None where there are no resets.

    Returns
    -------
    series : ImuSeries
        With ``q_world_from_body`` in its own frames, NaN where none was joined; None if no
        sample has one.
    joined : (N,) bool
        Which samples have an attitude.
    """
    attitude = attitude.in_frames(world=series.world, body=series.body)
    norm = np.linalg.norm(attitude.q_world_from_body, axis=1)
    known = np.flatnonzero(np.abs(norm - 1.0) <= UNIT_TOLERANCE)
    rows = known[np.argsort(attitude.t_ns[known], kind="stable")]
    stamps, target = attitude.t_ns[rows], series.t_ns
    if not rows.size:
        return series.replace(q_world_from_body=None), np.zeros(len(series), np.bool_)
    before = np.searchsorted(stamps, target, side="right") - 1
    after = np.searchsorted(stamps, target)
    inside = (before >= 0) & (after < rows.size)
    before, after = np.maximum(before, 0), np.minimum(after, rows.size - 1)
    after = np.maximum(before, after)  # the same where the stamps are equal
    steps = np.diff(np.unique(attitude.t_ns))
    limit = 2.0 * float(np.median(steps)) if steps.size else 0.0
    near = (target - stamps[before] <= limit) & (stamps[after] - target <= limit)
    joined = inside & near
    if reset_counts is not None:
        counts = np.asarray(reset_counts)[rows]
        joined &= counts[before] == counts[after]
    q = np.full((len(series), 4), np.nan)
    before, after = before[joined], after[joined]
    fraction = (target[joined] - stamps[before]) / np.maximum(stamps[after] - stamps[before], 1)
    ends = attitude.q_world_from_body[rows]
    q[joined] = quaternion.slerp(ends[before], ends[after], fraction)
    return series.replace(q_world_from_body=q if joined.any() else None), joined


def trajectory_from_vehicle_attitude(
    messages: Messages, *, name: str = "", strict: bool = False
) -> Trajectory:
    """Convert attitudes to a trajectory.

    Parameters
    ----------
    messages : VehicleAttitude, iterable of VehicleAttitude, or array of VehicleAttitude.dtype
        N messages.
    name : str
        Name of the trajectory.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    Trajectory
        N rows, NED and FRD, stamped with ``timestamp_sample``.

    Raises
    ------
    ConversionLossError
        ``strict``, and the fields about resets are in use, or ``timestamp`` differs from
        ``timestamp_sample``.
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, VehicleAttitude)
    if strict:
        loss.refuse(loss.trajectory_from_vehicle_attitude(records), Trajectory)
    return _trajectory(records, quaternion.from_wxyz(records["q"]), name)


def vehicle_attitude_from_trajectory(
    trajectory: Trajectory, *, strict: bool = False
) -> NDArray[np.void]:
    """Convert the attitude of a trajectory to messages.

    Parameters
    ----------
    trajectory : Trajectory
        N rows, in any frames.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    (N,) array of VehicleAttitude.dtype
        ``timestamp`` equals ``timestamp_sample``; no resets.

    Raises
    ------
    ConversionLossError
        ``strict``, and there is more than attitude, or a time finer than a microsecond.
    ValueRangeError
        A stamp does not fit its field.
    """
    if strict:
        loss.refuse(loss.vehicle_attitude_from_trajectory(trajectory), VehicleAttitude)
    records = stamped(VehicleAttitude, trajectory.t_ns)
    records["q"] = quaternion.to_wxyz(_in_px4_frames(trajectory).q_world_from_body)
    records["delta_q_reset"] = quaternion.to_wxyz(quaternion.IDENTITY)
    return records


def trajectory_from_vehicle_odometry(
    messages: Messages, *, name: str = "", strict: bool = False
) -> Trajectory:
    """Convert odometry to a trajectory.

    Parameters
    ----------
    messages : VehicleOdometry, iterable of VehicleOdometry, or array of VehicleOdometry.dtype
        N messages.
    name : str
        Name of the trajectory.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    Trajectory
        N rows, NED and FRD, stamped with ``timestamp_sample``. Quantities unknown to
        PX4 are NaN, and so are rows in another pose frame than the first row with one. A
        velocity in body axes is rotated.

    Raises
    ------
    ConversionLossError
        ``strict``, and a message has more than a pose and a velocity in one frame.
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, VehicleOdometry)
    if strict:
        loss.refuse(loss.trajectory_from_vehicle_odometry(records), Trajectory)
    frames = records["pose_frame"]
    named = np.isin(frames, (VehicleOdometry.POSE_FRAME_NED, VehicleOdometry.POSE_FRAME_FRD))
    placed = named & (frames == (frames[named][0] if named.any() else 0))
    q = quaternion.from_wxyz(_known(records["q"], placed))
    position = _known(records["position"], placed)
    given = _known(records["velocity"], placed)
    of_body = records["velocity_frame"] == VehicleOdometry.VELOCITY_FRAME_BODY_FRD
    given[~of_body & (records["velocity_frame"] != frames)] = np.nan  # NED is 1 and FRD 2 in both
    velocity = np.where(of_body[:, None], quaternion.rotate(q, given), given)
    return _trajectory(records, q, name).replace(
        position_world=_or_none(position), velocity_world=_or_none(velocity)
    )


def vehicle_odometry_from_trajectory(
    trajectory: Trajectory, *, strict: bool = False
) -> NDArray[np.void]:
    """Convert a trajectory to odometry.

    Parameters
    ----------
    trajectory : Trajectory
        N rows, in any frames.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    (N,) array of VehicleOdometry.dtype
        Pose and velocity in NED; ``timestamp`` equals ``timestamp_sample``. Angular velocity
        and variances, and quantities that the trajectory lacks, are NaN: unknown.

    Raises
    ------
    ConversionLossError
        ``strict``, and the trajectory has a name or marks when it moves, or a time is finer
        than a microsecond.
    ValueRangeError
        A stamp or a coordinate does not fit its field.
    """
    if strict:
        loss.refuse(loss.vehicle_odometry_from_trajectory(trajectory), VehicleOdometry)
    records = stamped(VehicleOdometry, trajectory.t_ns)
    trajectory = _in_px4_frames(trajectory)
    for field in VehicleOdometry.fields:
        if field.times:
            records[field.name] = np.nan
    records["q"] = quaternion.to_wxyz(trajectory.q_world_from_body)
    records["pose_frame"] = VehicleOdometry.POSE_FRAME_NED
    if trajectory.position_world is not None:
        records["position"] = as_float32(trajectory.position_world, "position")
    if trajectory.velocity_world is not None:
        records["velocity"] = as_float32(trajectory.velocity_world, "velocity")
        records["velocity_frame"] = VehicleOdometry.VELOCITY_FRAME_NED
    return records


def orientation_covariance_from_vehicle_odometry(messages: Messages) -> FloatArray:
    """Return the covariance of the attitude about the axes of the world, not of the body.

    PX4 gives variances about the body axes; ``R diag(variance) R^T`` is that of the same error
    as a rotation about the fixed world axes.

    Parameters
    ----------
    messages : VehicleOdometry, iterable of VehicleOdometry, or array of VehicleOdometry.dtype
        N messages.

    Returns
    -------
    (N, 3, 3)
        [rad^2, world of the message: z down]; zeros where attitude or variances are unknown.

    Raises
    ------
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, VehicleOdometry)
    everywhere = np.ones(len(records), np.bool_)
    R = quaternion.to_matrix(quaternion.from_wxyz(_known(records["q"], everywhere)))
    variance = _known(records["orientation_variance"], everywhere)
    covariance = (R * variance[:, None, :]) @ R.transpose(0, 2, 1)
    known = np.isfinite(covariance).all(axis=(1, 2), keepdims=True)
    return np.where(known, covariance, 0.0)


def _trajectory(records: NDArray[np.void], q: FloatArray, name: str) -> Trajectory:
    return Trajectory(sampled_ns(records), q, world=WorldFrame.NED, body=BodyFrame.FRD, name=name)


def _in_px4_frames(trajectory: Trajectory) -> Trajectory:
    return trajectory.in_frames(world=WorldFrame.NED, body=BodyFrame.FRD)


def _known(vectors: AnyArray, rows: BoolArray) -> FloatArray:
    """Return vectors, NaN in other rows and where the first number marks them as unknown."""
    unknown = ~rows | np.isnan(vectors[:, 0])
    return np.where(unknown[:, None], np.nan, vectors.astype(np.float64))


def _or_none(vectors: FloatArray) -> FloatArray | None:
    return None if np.isnan(vectors).all() else vectors

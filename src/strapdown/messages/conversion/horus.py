"""Conversion of horus messages to series and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_floats
from strapdown.geometry import euler, quaternion
from strapdown.geometry.euler import EulerConvention
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages._by_column import (
    HORUS,
    as_records,
    imu_records,
    imu_series,
    stamps_from_unsigned,
    unsigned_from_stamps,
)
from strapdown.messages.conversion import _loss as loss
from strapdown.messages.imu import Imu
from strapdown.messages.pose import Odometry, Pose3D
from strapdown.series import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.messages._by_column import Messages
    from strapdown.messages.basic import Quaternion, Vector3
    from strapdown.series import ImuSeries

__all__ = [
    "floats_from_messages",
    "imu_from_series",
    "messages_from_floats",
    "odometry_from_trajectory",
    "pose_from_trajectory",
    "series_from_imu",
    "trajectory_from_odometry",
    "trajectory_from_pose",
]


def series_from_imu(messages: Messages) -> ImuSeries:
    """Convert horus messages to a series; nothing is lost.

    Parameters
    ----------
    messages : Imu, iterable of Imu, or array of Imu.dtype
        N messages.

    Returns
    -------
    ImuSeries
        N rows, FLU and ENU.

    Raises
    ------
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, Imu)
    return imu_series(records, stamps_from_unsigned(records["timestamp_ns"], "timestamp_ns"))


def imu_from_series(series: ImuSeries, *, strict: bool = False) -> NDArray[np.void]:
    """Convert a series to horus messages.

    Parameters
    ----------
    series : ImuSeries
        N rows, in any frames.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    (N,) array of Imu.dtype
        In FLU and ENU; ``Imu.from_record`` converts one element to an object.

    Raises
    ------
    ConversionLossError
        ``strict``, and the series has magnetic field, clipping, a named sensor, or other frames.
    ValueRangeError
        A stamp is negative.
    """
    if strict:
        loss.refuse(loss.imu_from_series(series), Imu)
    records = imu_records(series, HORUS)
    records["timestamp_ns"] = unsigned_from_stamps(series.t_ns, "t_ns", np.uint64)
    return records


def trajectory_from_pose(messages: Messages) -> Trajectory:
    """Convert ``Pose3D`` messages to a trajectory; nothing is lost.

    Parameters
    ----------
    messages : Pose3D, iterable of Pose3D, or array of Pose3D.dtype
        N messages.

    Returns
    -------
    Trajectory
        N rows, FLU and ENU. Without positions where all of them are NaN.

    Raises
    ------
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, Pose3D)
    return Trajectory(
        stamps_from_unsigned(records["timestamp_ns"], "timestamp_ns"),
        records["orientation"],
        position_world=_or_none(records["position"]),
    )


def pose_from_trajectory(trajectory: Trajectory, *, strict: bool = False) -> NDArray[np.void]:
    """Convert a trajectory to ``Pose3D`` messages.

    Parameters
    ----------
    trajectory : Trajectory
        N rows, in any frames.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    (N,) array of Pose3D.dtype
        In FLU and ENU; positions are NaN where the trajectory has none.

    Raises
    ------
    ConversionLossError
        ``strict``, and the trajectory has velocities, marked rows, a name, or other frames.
    ValueRangeError
        A stamp is negative.
    """
    if strict:
        loss.refuse(loss.pose_from_trajectory(trajectory), Pose3D)
    common = trajectory.in_frames(body=BodyFrame.FLU, world=WorldFrame.ENU)
    records = np.zeros(len(common), Pose3D.dtype)
    records["timestamp_ns"] = unsigned_from_stamps(common.t_ns, "t_ns", np.uint64)
    records["orientation"] = common.q_world_from_body
    records["position"] = _or_nan(common.position_world)
    return records


def trajectory_from_odometry(messages: Messages, *, strict: bool = False) -> Trajectory:
    """Convert ``Odometry`` messages to a trajectory in the plane z = 0.

    Parameters
    ----------
    messages : Odometry, iterable of Odometry, or array of Odometry.dtype
        N messages.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    Trajectory
        N rows, FLU and ENU, stamped with ``timestamp_ns``. The linear velocity is turned from
        the body into the world. Without positions or velocities where all of them are NaN.

    Raises
    ------
    ConversionLossError
        ``strict``, and a message has angular velocity, covariances, frame names, other stamps,
        or an angle of more than half a turn.
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, Odometry)
    if strict:
        loss.refuse(loss.trajectory_from_odometry(records), Trajectory)
    zero = np.zeros(len(records))
    angles = np.column_stack([zero, zero, records["theta"]])
    q_world_from_body = euler.to_quaternion(angles, EulerConvention.ZYX)
    position = np.column_stack([records["x"], records["y"], zero])
    position[np.isnan(records["x"])] = np.nan
    return Trajectory(
        stamps_from_unsigned(records["timestamp_ns"], "timestamp_ns"),
        q_world_from_body,
        position_world=_or_none(position),
        velocity_world=_or_none(quaternion.rotate(q_world_from_body, records["linear"])),
    )


def odometry_from_trajectory(trajectory: Trajectory, *, strict: bool = False) -> NDArray[np.void]:
    """Convert a trajectory to ``Odometry`` messages: its projection on the plane z = 0.

    Parameters
    ----------
    trajectory : Trajectory
        N rows, in any frames.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    (N,) array of Odometry.dtype
        In FLU and ENU, three equal stamps; the linear velocity is in the axes that ``theta``
        turns. Position and velocity are NaN where the trajectory has none; turn rates,
        covariances and frame names are left empty.

    Raises
    ------
    ConversionLossError
        ``strict``, and the trajectory leaves the plane, or has marked rows, a name, or other
        frames.
    ValueRangeError
        A stamp is negative.
    """
    if strict:
        loss.refuse(loss.odometry_from_trajectory(trajectory), Odometry)
    common = trajectory.in_frames(body=BodyFrame.FLU, world=WorldFrame.ENU)
    yaw = euler.from_quaternion(common.q_world_from_body, EulerConvention.ZYX)
    yaw[:, :2] = 0.0
    q_level_from_world = quaternion.conjugate(euler.to_quaternion(yaw, EulerConvention.ZYX))
    records = np.zeros(len(common), Odometry.dtype)
    stamps = unsigned_from_stamps(common.t_ns, "t_ns", np.uint64)
    for field in ("timestamp_ns", "pose_timestamp_ns", "twist_timestamp_ns"):
        records[field] = stamps
    position = np.broadcast_to(_or_nan(common.position_world), (len(common), 3))
    records["x"], records["y"], records["theta"] = position[:, 0], position[:, 1], yaw[:, 2]
    velocity = np.broadcast_to(_or_nan(common.velocity_world), (len(common), 3))
    records["linear"] = quaternion.rotate(q_level_from_world, velocity)
    return records


def floats_from_messages(messages: Messages, kind: type[Vector3 | Quaternion]) -> FloatArray:
    """Return ``Vector3`` or ``Quaternion`` messages as an array.

    Parameters
    ----------
    messages : message, iterable of messages, or array of kind.dtype
        N messages.
    kind : type
        ``Vector3`` or ``Quaternion``.

    Returns
    -------
    (N, 3) or (N, 4) float64

    Raises
    ------
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, kind)
    return records.view(np.float64).reshape(len(records), -1)


def messages_from_floats(values: ArrayLike, kind: type[Vector3 | Quaternion]) -> NDArray[np.void]:
    """Return an array as ``Vector3`` or ``Quaternion`` messages.

    Parameters
    ----------
    values : (N, 3) or (N, 4) array_like
        Components in the order x, y, z, w.
    kind : type
        ``Vector3`` or ``Quaternion``.

    Returns
    -------
    (N,) array of kind.dtype

    Raises
    ------
    ShapeError
        There are not 3 or 4 components.
    """
    components = as_floats(values, kind.__name__, (kind.dtype.itemsize // 8,))
    return np.ascontiguousarray(components).view(kind.dtype).reshape(-1)


def _or_none(column: FloatArray) -> FloatArray | None:
    return None if np.isnan(column).all() else column


def _or_nan(column: FloatArray | None) -> FloatArray:
    return np.full(3, np.nan) if column is None else column

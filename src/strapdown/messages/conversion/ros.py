"""Conversion of ROS messages, one at a time and by column, to series and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import ShapeError
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages._by_column import (
    HORUS,
    ROS,
    as_batch,
    block,
    imu_payloads,
    imu_series,
    normalise,
)
from strapdown.messages.cdr import Batch, behind_headers
from strapdown.messages.conversion import _loss as loss
from strapdown.messages.imu import Imu
from strapdown.messages.ros import RosImu
from strapdown.messages.ros_types import IMU, POSE_STAMPED, QUATERNION_STAMPED
from strapdown.series import ImuSeries, SensorIdentity, Trajectory

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.messages._by_column import RosMessages
    from strapdown.messages._payloads import Payloads

__all__ = [
    "imu_from_ros",
    "ros_from_imu",
    "ros_from_magnetic_field",
    "ros_from_series",
    "ros_from_trajectory",
    "ros_payloads_from_series",
    "series_from_ros",
    "trajectory_from_ros",
]


def imu_from_ros(
    message: RosImu, *, keep_covariance_bits: bool = False, strict: bool = False
) -> Imu:
    """Convert a ROS message to the horus layout.

    Parameters
    ----------
    message : RosImu
        The header stamp becomes ``timestamp_ns``; ``frame_id`` and ``seq`` have no place.
    keep_covariance_bits : bool
        Copy the covariances as they are instead of in the normal form of horus.
    strict : bool
        Raise instead of losing something.

    Raises
    ------
    ConversionLossError
        ``strict``, and the message names a frame or a sequence number.
    OverflowError
        The stamp is negative.
    """
    if strict:
        loss.refuse(loss.imu_from_ros(as_batch(message)), Imu)
    imu = Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, message.header_stamp_ns)
    records = imu.to_numpy().reshape(1)
    block(records)[0] = message.block
    if not keep_covariance_bits:
        normalise(records, HORUS)
    return imu


def ros_from_imu(
    imu: Imu, *, frame_id: str = "", seq: int = 0, keep_covariance_bits: bool = False
) -> RosImu:
    """Convert a horus message to ROS; nothing is lost.

    Parameters
    ----------
    imu : Imu
        ``timestamp_ns`` becomes the header stamp.
    frame_id : str
        Frame that the header names.
    seq : int
        ROS 1 sequence number.
    keep_covariance_bits : bool
        Copy the covariances as they are instead of in the normal form of ROS.
    """
    records = imu.to_numpy().reshape(1).copy()
    if not keep_covariance_bits:
        normalise(records, ROS)
    message = RosImu(imu.timestamp_ns, frame_id, seq)
    message.block[:] = block(records)[0]
    return message


def series_from_ros(messages: RosMessages, *, strict: bool = False) -> ImuSeries:
    """Convert ``sensor_msgs/Imu`` to a series.

    Parameters
    ----------
    messages : Batch, RosImu or iterable of RosImu
        N messages; a batch has 37 numbers each.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    ImuSeries
        N rows, FLU and ENU. The frame name becomes the name of the sensor, where all messages
        have the same.

    Raises
    ------
    ConversionLossError
        ``strict``, and frame names differ, or sequence numbers neither count from 0 nor are 0.
    ShapeError
        A batch does not have 37 numbers a message.
    """
    batch = as_batch(messages)
    if strict:
        loss.refuse(loss.series_from_ros(batch), ImuSeries)
    _check_floats(batch, IMU.floats)
    records = np.empty(len(batch), Imu.dtype)
    block(records)[:] = batch.values
    return imu_series(records, batch.stamps_ns).replace(sensor=SensorIdentity(_common(batch)))


def ros_from_series(series: ImuSeries, *, strict: bool = False) -> Batch:
    """Convert a series to ``sensor_msgs/Imu``.

    Parameters
    ----------
    series : ImuSeries
        N rows, in any frames.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    Batch
        N times 37 numbers, FLU and ENU. The sensor's name is the frame name, and the sequence
        counts from 0.

    Raises
    ------
    ConversionLossError
        ``strict``, and the series has magnetic field, clipping or device ids.
    """
    if strict:
        loss.refuse(loss.ros_from_series(series), Batch)
    values = imu_payloads(series, ROS).rows().view(np.float64)
    return _batch(series, values, series.sensor.name)


def ros_payloads_from_series(series: ImuSeries) -> Payloads:
    """Convert a series to ``sensor_msgs/Imu`` in CDR.

    Parameters
    ----------
    series : ImuSeries
        N rows, in any frames, at least one.

    Returns
    -------
    Payloads
        As :func:`~strapdown.messages.cdr.encode_rows` of :func:`ros_from_series`, without a
        table of all numbers between.

    Raises
    ------
    ValueRangeError
        A stamp or the name of the sensor does not fit its field.
    """
    return behind_headers(imu_payloads(series, ROS), series.t_ns, series.sensor.name)


def ros_from_magnetic_field(series: ImuSeries) -> Batch:
    """Convert the magnetic field of a series to ``sensor_msgs/MagneticField``.

    Parameters
    ----------
    series : ImuSeries
        N rows, in any body frame.

    Returns
    -------
    Batch
        N times 12 numbers, FLU: the field [T] and an unknown covariance; headers as in
        :func:`ros_from_series`.

    Raises
    ------
    ShapeError
        The series has no magnetic field.
    """
    field = series.in_frames(body=BodyFrame.FLU).magnetic_field
    if field is None:
        raise ShapeError("expected a series with magnetic_field, got one without")
    return _batch(series, np.pad(field, ((0, 0), (0, 9))), series.sensor.name)


def trajectory_from_ros(messages: Batch, *, strict: bool = False) -> Trajectory:
    """Convert ``PoseStamped`` or ``QuaternionStamped`` to a trajectory.

    Parameters
    ----------
    messages : Batch
        N messages of 7 numbers (position, then quaternion) or 4 (quaternion).
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    Trajectory
        N rows, FLU and ENU; with positions where there are 7 numbers.

    Raises
    ------
    ConversionLossError
        ``strict``, and a message names a frame, or sequence numbers neither count from 0 nor
        are 0.
    ShapeError
        A message has neither 7 nor 4 numbers.
    """
    if strict:
        loss.refuse(loss.trajectory_from_ros(messages), Trajectory)
    _check_floats(messages, POSE_STAMPED.floats, QUATERNION_STAMPED.floats)
    position = messages.values[:, :-4]
    return Trajectory(
        messages.stamps_ns,
        messages.values[:, -4:],
        position_world=position if position.shape[1] else None,
    )


def ros_from_trajectory(
    trajectory: Trajectory, *, frame_id: str = "", strict: bool = False
) -> Batch:
    """Convert a trajectory to ``PoseStamped``, or ``QuaternionStamped`` where it has no position.

    Parameters
    ----------
    trajectory : Trajectory
        N rows, in any frames.
    frame_id : str
        World frame that the headers name.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    Batch
        N times 7 or 4 numbers, FLU and ENU; the sequence counts from 0.

    Raises
    ------
    ConversionLossError
        ``strict``, and the trajectory has velocities, marked rows or a name.
    """
    if strict:
        loss.refuse(loss.ros_from_trajectory(trajectory), Batch)
    common = trajectory.in_frames(body=BodyFrame.FLU, world=WorldFrame.ENU)
    values = common.q_world_from_body
    if common.position_world is not None:
        values = np.hstack([common.position_world, values])
    return _batch(trajectory, values, frame_id)


def _batch(series: ImuSeries | Trajectory, values: FloatArray, frame_id: str) -> Batch:
    rows = len(series)
    return Batch(series.t_ns, values, (frame_id,) * rows, np.arange(rows))


def _common(batch: Batch) -> str:
    """Return the one frame name of a batch, or none."""
    names = set(batch.frame_ids)
    return names.pop() if len(names) == 1 else ""


def _check_floats(batch: Batch, *floats: int | None) -> None:
    got = batch.values.shape[1]
    if got not in floats:
        wanted = " or ".join(map(str, floats))
        raise ShapeError(f"expected {wanted} numbers a message, got {got}")

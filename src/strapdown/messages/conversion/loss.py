"""What a conversion loses, by name.

:func:`losses` names the fields of a source that say something which a target cannot hold: not
that a field has no place, but that it has none *and is in use*. Every conversion that can lose
something takes ``strict=True`` and then raises with the same names.

Not a loss: conversion to the frames that a dialect is defined in, rounding to the
precision of the target (float32 in PX4), and the numbers of a quantity that is marked absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import ConversionLossError
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages._by_column import as_batch, as_records
from strapdown.messages._record import Record
from strapdown.messages.cdr import Batch
from strapdown.messages.covariance import CovarianceStatus, statuses
from strapdown.messages.imu import Imu
from strapdown.messages.pose import Odometry, Pose3D
from strapdown.messages.px4 import SensorCombined, VehicleAttitude, VehicleImu, VehicleOdometry
from strapdown.messages.ros import RosImu
from strapdown.series import ImuSeries, Increments, Trajectory
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from strapdown._typing import AnyArray, IntArray

__all__ = ["losses", "refuse_losses"]


def losses(source: object, target: type) -> tuple[str, ...]:
    """Name what ``source`` says and ``target`` cannot hold.

    Parameters
    ----------
    source : series, message, list of messages, structured array, or ROS batch
        What would be converted.
    target : type
        ``ImuSeries``, ``Trajectory``, ``Increments``, ``Imu``, ``VehicleImu``,
        ``SensorCombined``, ``VehicleAttitude``, ``VehicleOdometry``, ``Pose3D``, ``Odometry``,
        ``RosImu`` or ``Batch``.

    Returns
    -------
    tuple of str
        Names of fields of the source; empty where the way back gives the source again.

    Raises
    ------
    TypeError
        There is no conversion between the two.
    """
    kind, value = _as_kind(source)
    if target is RosImu:
        target = Batch
    if (kind, target) not in _TABLE:
        raise TypeError(f"expected a conversion that exists, got {kind.__name__} to {target}")
    return tuple(name for name, lost in _TABLE[kind, target](value).items() if lost)


def refuse_losses(source: object, target: type) -> None:
    """Raise what :func:`losses` names.

    Raises
    ------
    ConversionLossError
        Something would be lost; carries the names.
    """
    lost = losses(source, target)
    if lost:
        raise ConversionLossError(
            f"expected a source that {target.__name__} can hold, got {', '.join(lost)} in use; "
            "clear these fields or convert with strict=False",
            lost=lost,
        )


def _as_kind(source: object) -> tuple[type, Any]:
    """Return the type that the table knows, and the source in the form that its rules read."""
    if isinstance(source, RosImu):
        return Batch, as_batch(source)
    if isinstance(source, Record):
        return type(source), as_records(source, type(source))
    if isinstance(source, np.ndarray):
        kinds = (kind for kind, _ in _TABLE if issubclass(kind, Record))
        return next((k for k in kinds if k.dtype == source.dtype), np.ndarray), source.reshape(-1)
    if isinstance(source, list | tuple) and source:
        if isinstance(source[0], RosImu):
            return Batch, as_batch(source)
        return type(source[0]), as_records(source, type(source[0]))
    return type(source), source


def _used(column: AnyArray | None) -> bool:
    """Whether a column is there and holds anything but zero."""
    return column is not None and bool(np.any(column))


def _finer(times_ns: IntArray) -> bool:
    """Whether a time is no whole number of microseconds."""
    return _used(times_ns % NS_PER_US)


def _frames(series: ImuSeries | Trajectory) -> dict[str, bool]:
    return {"body": series.body != BodyFrame.FLU, "world": series.world != WorldFrame.ENU}


def _imu_from_ros(batch: Batch) -> dict[str, bool]:
    return {"frame_id": any(batch.frame_ids), "seq": _used(batch.seq)}


def _trajectory_from_ros(batch: Batch) -> dict[str, bool]:
    counted = bool(np.array_equal(batch.seq, np.arange(len(batch))))  # as it is written again
    return {"frame_id": any(batch.frame_ids), "seq": _used(batch.seq) and not counted}


def _series_from_ros(batch: Batch) -> dict[str, bool]:
    return _trajectory_from_ros(batch) | {"frame_id": len(set(batch.frame_ids)) > 1}


def _ros_from_series(series: ImuSeries) -> dict[str, bool]:
    return {
        "magnetic_field": series.magnetic_field is not None,
        "orientation_covariance": series.q_world_from_body is None
        and series.orientation_covariance is not None,
        "gyro_clipping": _used(series.gyro_clipping),
        "accel_clipping": _used(series.accel_clipping),
        "sensor.accel_device_id": series.sensor.accel_device_id != 0,
        "sensor.gyro_device_id": series.sensor.gyro_device_id != 0,
    }


def _imu_from_series(series: ImuSeries) -> dict[str, bool]:
    return _ros_from_series(series) | {"sensor.name": series.sensor.name != ""} | _frames(series)


def _increments_from_series(series: ImuSeries) -> dict[str, bool]:
    columns = (
        "magnetic_field",
        "q_world_from_body",
        "orientation_covariance",
        "angular_velocity_covariance",
        "specific_force_covariance",
    )
    given = {name: getattr(series, name) is not None for name in columns}
    return given | {"world": series.world != WorldFrame.ENU}


def _series_from_increments(increments: Increments) -> dict[str, bool]:
    return {
        "delta_angle_dt_ns": _used(increments.delta_angle_dt_ns),
        "delta_velocity_dt_ns": _used(increments.delta_velocity_dt_ns),
        "gyro_calibration_count": _used(increments.gyro_calibration_count),
        "accel_calibration_count": _used(increments.accel_calibration_count),
    }


def _vehicle_imu_from_increments(increments: Increments) -> dict[str, bool]:
    return {
        "t_ns below one microsecond": _finer(increments.t_ns),
        "delta_angle_dt_ns below one microsecond": _finer(increments.delta_angle_dt_ns),
        "delta_velocity_dt_ns below one microsecond": _finer(increments.delta_velocity_dt_ns),
        "sensor.name": increments.sensor.name != "",
    }


def _published(records: NDArray[np.void]) -> dict[str, bool]:
    """Whether a PX4 message was published at another time than it was sampled."""
    return {"timestamp": bool(np.any(records["timestamp"] != records["timestamp_sample"]))}


def _sensor_combined_from_vehicle_imu(records: NDArray[np.void]) -> dict[str, bool]:
    ids = {name: _used(records[name]) for name in ("accel_device_id", "gyro_device_id")}
    return _published(records) | ids


def _vehicle_imu_from_sensor_combined(records: NDArray[np.void]) -> dict[str, bool]:
    name = "accelerometer_timestamp_relative"
    return {name: _used(records[name] % SensorCombined.RELATIVE_TIMESTAMP_INVALID)}


def _series_from_sensor_combined(records: NDArray[np.void]) -> dict[str, bool]:
    names = (
        "gyro_integral_dt",
        "accelerometer_integral_dt",
        "accel_calibration_count",
        "gyro_calibration_count",
    )
    return _vehicle_imu_from_sensor_combined(records) | {n: _used(records[n]) for n in names}


def _increments_from_vehicle_imu(records: NDArray[np.void]) -> dict[str, bool]:
    return _published(records) | {
        "accel_device_id": np.unique(records["accel_device_id"]).size > 1,
        "gyro_device_id": np.unique(records["gyro_device_id"]).size > 1,
    }


def _imu_from_vehicle_imu(records: NDArray[np.void]) -> dict[str, bool]:
    kept = ("timestamp_sample", "delta_angle", "delta_velocity")
    others = [name for name in VehicleImu.dtype.names or () if name not in kept]
    return {name: _used(records[name]) for name in others} | _published(records)


def _vehicle_imu_from_imu(records: NDArray[np.void]) -> dict[str, bool]:
    orientation = statuses(records["orientation_covariance"])
    others = ("angular_velocity_covariance", "linear_acceleration_covariance")
    return {
        "orientation": bool(np.any(orientation != CovarianceStatus.ABSENT)),
        "orientation_covariance": bool(np.any(orientation == CovarianceStatus.KNOWN)),
    } | {name: bool(np.any(statuses(records[name]) != CovarianceStatus.UNKNOWN)) for name in others}


def _ros_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    return {
        "velocity_world": trajectory.velocity_world is not None,
        "moving": trajectory.moving is not None,
        "name": trajectory.name != "",
    }


def _vehicle_odometry_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    return {
        "t_ns below one microsecond": _finer(trajectory.t_ns),
        "moving": trajectory.moving is not None,
        "name": trajectory.name != "",
    }


def _vehicle_attitude_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    return _vehicle_odometry_from_trajectory(trajectory) | {
        "position_world": trajectory.position_world is not None,
        "velocity_world": trajectory.velocity_world is not None,
    }


def _trajectory_from_vehicle_attitude(records: NDArray[np.void]) -> dict[str, bool]:
    return _published(records) | {
        "delta_q_reset": _used(records["delta_q_reset"][:, 1:]),
        "quat_reset_counter": _used(records["quat_reset_counter"]),
    }


def _trajectory_from_vehicle_odometry(records: NDArray[np.void]) -> dict[str, bool]:
    poses, velocities = records["pose_frame"], records["velocity_frame"]
    of_body = velocities == VehicleOdometry.VELOCITY_FRAME_BODY_FRD
    unplaced = ~np.isnan(records["velocity"][:, 0]) & ~of_body & (velocities != poses)
    vectors = (
        "angular_velocity",
        "position_variance",
        "orientation_variance",
        "velocity_variance",
    )
    return (
        _published(records)
        | {"pose_frame": bool(np.any(poses != VehicleOdometry.POSE_FRAME_NED))}
        | {"velocity_frame": bool(np.any(unplaced))}
        | {name: not np.isnan(records[name][:, 0]).all() for name in vectors}
        | {name: _used(records[name]) for name in ("reset_counter", "quality")}
    )


def _pose_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    return _ros_from_trajectory(trajectory) | _frames(trajectory)


def _odometry_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    common = trajectory.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
    position = common.position_world
    return _pose_from_trajectory(trajectory) | {
        "velocity_world": False,
        "position_world z": position is not None and _used(np.nan_to_num(position[:, 2])),
        "q_world_from_body beyond yaw": _used(np.nan_to_num(common.q_world_from_body[:, :2])),
    }


def _trajectory_from_odometry(records: NDArray[np.void]) -> dict[str, bool]:
    stamp = records["timestamp_ns"]
    return {
        "theta beyond half a turn": bool(np.any(np.abs(records["theta"]) > np.pi)),
        "angular": _used(records["angular"]),
        "pose_covariance": _used(records["pose_covariance"]),
        "twist_covariance": _used(records["twist_covariance"]),
        "frame_id": bool(np.any(records["frame_id"] != b"")),
        "child_frame_id": bool(np.any(records["child_frame_id"] != b"")),
        "pose_timestamp_ns": bool(np.any(records["pose_timestamp_ns"] != stamp)),
        "twist_timestamp_ns": bool(np.any(records["twist_timestamp_ns"] != stamp)),
    }


def _nothing(_source: object) -> dict[str, bool]:
    return {}


_TABLE: Final[Mapping[tuple[type, type], Callable[[Any], dict[str, bool]]]] = {
    (Batch, Imu): _imu_from_ros,
    (Batch, ImuSeries): _series_from_ros,
    (Batch, Trajectory): _trajectory_from_ros,
    (Imu, Batch): _nothing,
    (Imu, ImuSeries): _nothing,
    (Imu, VehicleImu): _vehicle_imu_from_imu,
    (ImuSeries, Batch): _ros_from_series,
    (ImuSeries, Imu): _imu_from_series,
    (ImuSeries, Increments): _increments_from_series,
    (Increments, ImuSeries): _series_from_increments,
    (Increments, VehicleImu): _vehicle_imu_from_increments,
    (VehicleImu, Increments): _increments_from_vehicle_imu,
    (VehicleImu, Imu): _imu_from_vehicle_imu,
    (VehicleImu, SensorCombined): _sensor_combined_from_vehicle_imu,
    (SensorCombined, VehicleImu): _vehicle_imu_from_sensor_combined,
    (SensorCombined, ImuSeries): _series_from_sensor_combined,
    (VehicleAttitude, Trajectory): _trajectory_from_vehicle_attitude,
    (VehicleOdometry, Trajectory): _trajectory_from_vehicle_odometry,
    (Trajectory, Batch): _ros_from_trajectory,
    (Trajectory, Pose3D): _pose_from_trajectory,
    (Trajectory, VehicleAttitude): _vehicle_attitude_from_trajectory,
    (Trajectory, VehicleOdometry): _vehicle_odometry_from_trajectory,
    (Trajectory, Odometry): _odometry_from_trajectory,
    (Pose3D, Trajectory): _nothing,
    (Odometry, Trajectory): _trajectory_from_odometry,
}

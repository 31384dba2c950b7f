"""Fields that a conversion loses, by name: one function for each rule of the table.

Each function takes the source by column and returns, for every field that the target cannot
hold, whether it is in use. A rule that can lose something takes ``strict=True`` and then raises
with these names.

Not a loss: conversion to the frames that a dialect is defined in, rounding to the
precision of the target (float32 in PX4), and the numbers of a quantity that is marked absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import ConversionLossError
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages.covariance import CovarianceStatus, statuses
from strapdown.messages.px4 import SensorCombined, VehicleImu, VehicleOdometry
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from strapdown._typing import AnyArray, IntArray
    from strapdown.messages.cdr import Batch
    from strapdown.series import ImuSeries, Increments, Trajectory

__all__ = [
    "imu_from_ros",
    "imu_from_series",
    "imu_from_vehicle_imu",
    "increments_from_series",
    "increments_from_vehicle_imu",
    "nothing",
    "odometry_from_trajectory",
    "pose_from_trajectory",
    "published",
    "refuse",
    "ros_from_series",
    "ros_from_trajectory",
    "sensor_combined_from_vehicle_imu",
    "series_from_increments",
    "series_from_ros",
    "series_from_sensor",
    "series_from_sensor_combined",
    "series_from_vehicle_angular_velocity",
    "trajectory_from_odometry",
    "trajectory_from_ros",
    "trajectory_from_vehicle_attitude",
    "trajectory_from_vehicle_odometry",
    "vehicle_attitude_from_trajectory",
    "vehicle_imu_from_imu",
    "vehicle_imu_from_increments",
    "vehicle_imu_from_sensor_combined",
    "vehicle_odometry_from_trajectory",
]


def refuse(lost: Mapping[str, bool], target: type) -> None:
    """Raise if something would be lost.

    Raises
    ------
    ConversionLossError
        Something would be lost; carries the names.
    """
    names = tuple(name for name, in_use in lost.items() if in_use)
    if names:
        raise ConversionLossError(
            f"expected a source that {target.__name__} can hold, got {', '.join(names)} in use; "
            "clear these fields or convert with strict=False",
            lost=names,
        )


def _used(column: AnyArray | None) -> bool:
    """Whether a column is there and holds anything but zero."""
    return column is not None and bool(np.any(column))


def _finer(times_ns: IntArray) -> bool:
    """Whether a time is no whole number of microseconds."""
    return _used(times_ns % NS_PER_US)


def _frames(series: ImuSeries | Trajectory) -> dict[str, bool]:
    return {"body": series.body != BodyFrame.FLU, "world": series.world != WorldFrame.ENU}


def imu_from_ros(batch: Batch) -> dict[str, bool]:
    return {"frame_id": any(batch.frame_ids), "seq": _used(batch.seq)}


def trajectory_from_ros(batch: Batch) -> dict[str, bool]:
    counted = bool(np.array_equal(batch.seq, np.arange(len(batch))))  # as it is written again
    return {"frame_id": any(batch.frame_ids), "seq": _used(batch.seq) and not counted}


def series_from_ros(batch: Batch) -> dict[str, bool]:
    return trajectory_from_ros(batch) | {"frame_id": len(set(batch.frame_ids)) > 1}


def ros_from_series(series: ImuSeries) -> dict[str, bool]:
    return {
        "magnetic_field": series.magnetic_field is not None,
        "orientation_covariance": series.q_world_from_body is None
        and series.orientation_covariance is not None,
        "gyro_clipping": _used(series.gyro_clipping),
        "accel_clipping": _used(series.accel_clipping),
        "sensor.accel_device_id": series.sensor.accel_device_id != 0,
        "sensor.gyro_device_id": series.sensor.gyro_device_id != 0,
    }


def imu_from_series(series: ImuSeries) -> dict[str, bool]:
    return ros_from_series(series) | {"sensor.name": series.sensor.name != ""} | _frames(series)


def increments_from_series(series: ImuSeries) -> dict[str, bool]:
    columns = (
        "magnetic_field",
        "q_world_from_body",
        "orientation_covariance",
        "angular_velocity_covariance",
        "specific_force_covariance",
    )
    given = {name: getattr(series, name) is not None for name in columns}
    return given | {"world": series.world != WorldFrame.ENU}


def series_from_increments(increments: Increments) -> dict[str, bool]:
    return {
        "delta_angle_dt_ns": _used(increments.delta_angle_dt_ns),
        "delta_velocity_dt_ns": _used(increments.delta_velocity_dt_ns),
        "gyro_calibration_count": _used(increments.gyro_calibration_count),
        "accel_calibration_count": _used(increments.accel_calibration_count),
    }


def vehicle_imu_from_increments(increments: Increments) -> dict[str, bool]:
    return {
        "t_ns below one microsecond": _finer(increments.t_ns),
        "delta_angle_dt_ns below one microsecond": _finer(increments.delta_angle_dt_ns),
        "delta_velocity_dt_ns below one microsecond": _finer(increments.delta_velocity_dt_ns),
        "sensor.name": increments.sensor.name != "",
    }


def published(records: NDArray[np.void]) -> dict[str, bool]:
    """Whether a PX4 message was published at another time than it was sampled."""
    return {"timestamp": bool(np.any(records["timestamp"] != records["timestamp_sample"]))}


def sensor_combined_from_vehicle_imu(records: NDArray[np.void]) -> dict[str, bool]:
    ids = {name: _used(records[name]) for name in ("accel_device_id", "gyro_device_id")}
    return published(records) | ids


def vehicle_imu_from_sensor_combined(records: NDArray[np.void]) -> dict[str, bool]:
    name = "accelerometer_timestamp_relative"
    return {name: _used(records[name] % SensorCombined.RELATIVE_TIMESTAMP_INVALID)}


def series_from_sensor_combined(records: NDArray[np.void]) -> dict[str, bool]:
    names = (
        "gyro_integral_dt",
        "accelerometer_integral_dt",
        "accel_calibration_count",
        "gyro_calibration_count",
    )
    return vehicle_imu_from_sensor_combined(records) | {n: _used(records[n]) for n in names}


def series_from_sensor(records: NDArray[np.void]) -> dict[str, bool]:
    names = ("temperature", "error_count", "samples")
    return published(records) | {name: _used(records[name]) for name in names}


def series_from_vehicle_angular_velocity(records: NDArray[np.void]) -> dict[str, bool]:
    return published(records) | {"xyz_derivative": _used(records["xyz_derivative"])}


def increments_from_vehicle_imu(records: NDArray[np.void]) -> dict[str, bool]:
    return published(records) | {
        "accel_device_id": np.unique(records["accel_device_id"]).size > 1,
        "gyro_device_id": np.unique(records["gyro_device_id"]).size > 1,
    }


def imu_from_vehicle_imu(records: NDArray[np.void]) -> dict[str, bool]:
    kept = ("timestamp_sample", "delta_angle", "delta_velocity")
    others = [name for name in VehicleImu.dtype.names or () if name not in kept]
    return {name: _used(records[name]) for name in others} | published(records)


def vehicle_imu_from_imu(records: NDArray[np.void]) -> dict[str, bool]:
    orientation = statuses(records["orientation_covariance"])
    others = ("angular_velocity_covariance", "linear_acceleration_covariance")
    return {
        "orientation": bool(np.any(orientation != CovarianceStatus.ABSENT)),
        "orientation_covariance": bool(np.any(orientation == CovarianceStatus.KNOWN)),
    } | {name: bool(np.any(statuses(records[name]) != CovarianceStatus.UNKNOWN)) for name in others}


def ros_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    return {
        "velocity_world": trajectory.velocity_world is not None,
        "moving": trajectory.moving is not None,
        "name": trajectory.name != "",
        "position_covariance": trajectory.position_covariance is not None,
        "velocity_covariance": trajectory.velocity_covariance is not None,
    }


def vehicle_odometry_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    return {
        "t_ns below one microsecond": _finer(trajectory.t_ns),
        "moving": trajectory.moving is not None,
        "name": trajectory.name != "",
        "position_covariance": trajectory.position_covariance is not None,
        "velocity_covariance": trajectory.velocity_covariance is not None,
    }


def vehicle_attitude_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    return vehicle_odometry_from_trajectory(trajectory) | {
        "position_world": trajectory.position_world is not None,
        "velocity_world": trajectory.velocity_world is not None,
    }


def trajectory_from_vehicle_attitude(records: NDArray[np.void]) -> dict[str, bool]:
    return published(records) | {
        "delta_q_reset": _used(records["delta_q_reset"][:, 1:]),
        "quat_reset_counter": _used(records["quat_reset_counter"]),
    }


def trajectory_from_vehicle_odometry(records: NDArray[np.void]) -> dict[str, bool]:
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
        published(records)
        | {"pose_frame": bool(np.any(poses != VehicleOdometry.POSE_FRAME_NED))}
        | {"velocity_frame": bool(np.any(unplaced))}
        | {name: not np.isnan(records[name][:, 0]).all() for name in vectors}
        | {name: _used(records[name]) for name in ("reset_counter", "quality")}
    )


def pose_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    return ros_from_trajectory(trajectory) | _frames(trajectory)


def odometry_from_trajectory(trajectory: Trajectory) -> dict[str, bool]:
    common = trajectory.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
    position = common.position_world
    return pose_from_trajectory(trajectory) | {
        "velocity_world": False,
        "position_world z": position is not None and _used(np.nan_to_num(position[:, 2])),
        "q_world_from_body beyond yaw": _used(np.nan_to_num(common.q_world_from_body[:, :2])),
    }


def trajectory_from_odometry(records: NDArray[np.void]) -> dict[str, bool]:
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


def nothing(_source: object) -> dict[str, bool]:
    return {}

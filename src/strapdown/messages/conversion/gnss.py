"""Conversion of ROS messages of GNSS receivers and barometers to series and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.geometry import quaternion
from strapdown.geometry.frames import WorldFrame
from strapdown.messages.cdr import Batch
from strapdown.messages.navsat import NavSatFix
from strapdown.series import (
    BarometerSeries,
    FixType,
    GnssSeries,
    SensorIdentity,
    Trajectory,
    pressure_altitude,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.messages.ros_odometry import RosOdometry

__all__ = [
    "barometer_from_fluid_pressure",
    "fluid_pressure_from_barometer",
    "gnss_from_navsat",
    "navsat_from_gnss",
    "trajectory_from_ros_odometry",
    "twist_from_gnss",
    "velocity_of_twist",
]

_TYPES: Final = {
    NavSatFix.NO_FIX: FixType.NO_FIX,
    NavSatFix.FIX: FixType.FIX_3D,
    NavSatFix.SBAS_FIX: FixType.DIFFERENTIAL,
    NavSatFix.GBAS_FIX: FixType.DIFFERENTIAL,
}
_LINEAR: Final = slice(0, 3)
"""Linear velocity in the twelve numbers, and in the axes of the covariance, of a twist."""


def gnss_from_navsat(messages: Sequence[NavSatFix]) -> GnssSeries:
    """Convert fixes to a series.

    Parameters
    ----------
    messages : sequence of NavSatFix
        N messages.

    Returns
    -------
    GnssSeries
        ENU. A covariance of unknown type is zero, of a diagonal type its diagonal; a message
        without a fix, or with an impossible latitude, has no position.
    """
    place = np.array([[m.latitude, m.longitude, m.altitude] for m in messages]).reshape(-1, 3)
    covariance = np.array([m.position_covariance for m in messages]).reshape(-1, 3, 3)
    kinds = np.array([m.position_covariance_type for m in messages], np.int64)
    covariance[kinds == NavSatFix.COVARIANCE_UNKNOWN] = 0.0
    diagonal = kinds == NavSatFix.COVARIANCE_DIAGONAL_KNOWN
    covariance[diagonal] *= np.eye(3)
    types = np.array([_TYPES.get(m.status, FixType.NO_FIX) for m in messages], np.uint8)
    place[(types == FixType.NO_FIX) | ~(np.abs(place[:, 0]) <= 90.0)] = np.nan
    names = {m.frame_id for m in messages}
    return GnssSeries(
        np.array([m.header_stamp_ns for m in messages], np.int64),
        np.radians(place[:, 0]),
        np.radians(place[:, 1]),
        place[:, 2],
        covariance,
        fix_type=types,
        sensor=SensorIdentity(names.pop() if len(names) == 1 else ""),
    )


def navsat_from_gnss(series: GnssSeries) -> list[NavSatFix]:
    """Convert a series to fixes; the inverse of :func:`gnss_from_navsat`.

    Fixes with carrier phase are marked as ground-based augmentation, as drivers of receivers do.
    """
    series = series.in_frames(world=WorldFrame.ENU)
    types = np.full(len(series), FixType.FIX_3D) if series.fix_type is None else series.fix_type
    status = np.select(
        [~series.has_fix, types >= FixType.RTK_FLOAT, types == FixType.DIFFERENTIAL],
        [NavSatFix.NO_FIX, NavSatFix.GBAS_FIX, NavSatFix.SBAS_FIX],
        NavSatFix.FIX,
    )
    known = series.position_covariance.any(axis=(1, 2))
    kinds = np.where(known, NavSatFix.COVARIANCE_KNOWN, NavSatFix.COVARIANCE_UNKNOWN)
    degrees = _degrees(np.array([series.latitude, series.longitude]))
    rows = zip(
        series.t_ns.tolist(),
        status.tolist(),
        *degrees.tolist(),
        series.altitude.tolist(),
        series.position_covariance.reshape(-1, 9).tolist(),
        kinds.tolist(),
        strict=True,
    )
    return [
        NavSatFix(
            t_ns,
            series.sensor.name,
            kind,
            latitude=latitude,
            longitude=longitude,
            altitude=altitude,
            position_covariance=tuple(covariance),
            position_covariance_type=origin,
        )
        for t_ns, kind, latitude, longitude, altitude, covariance, origin in rows
    ]


def _degrees(angle: FloatArray) -> FloatArray:
    """Return the degrees that convert to exactly these radians, where there are any."""
    degrees = np.degrees(angle)
    for near in (np.nextafter(degrees, -np.inf), np.nextafter(degrees, np.inf)):
        degrees = np.where(
            (np.radians(degrees) != angle) & (np.radians(near) == angle), near, degrees
        )
    return degrees


def trajectory_from_ros_odometry(messages: Sequence[RosOdometry], *, name: str = "") -> Trajectory:
    """Convert odometry to a trajectory.

    Parameters
    ----------
    messages : sequence of RosOdometry
        N messages.
    name : str
        Name of the trajectory.

    Returns
    -------
    Trajectory
        ENU from FLU; the twist is rotated into the world. What is zero in every message together
        with its covariance is absent: the velocity, and as a quaternion of zeros the attitude.
        Without attitude there is no velocity.
    """
    poses = np.array([m.pose for m in messages]).reshape(-1, 7)
    q = poses[:, 3:].copy()
    q[~q.any(axis=1)] = np.nan
    twists = np.array([m.twist for m in messages]).reshape(-1, 6)[:, _LINEAR]
    of_pose, of_twist = (
        np.array(blocks).reshape(-1, 6, 6)[:, _LINEAR, _LINEAR]
        for blocks in (
            [m.pose_covariance for m in messages],
            [m.twist_covariance for m in messages],
        )
    )
    moves = bool(twists.any() or of_twist.any())
    R = quaternion.to_matrix(q)
    return Trajectory(
        np.array([m.header_stamp_ns for m in messages], np.int64),
        q,
        position_world=poses[:, :3],
        velocity_world=quaternion.rotate(q, twists) if moves else None,
        position_covariance=of_pose if of_pose.any() else None,
        velocity_covariance=R @ of_twist @ R.transpose(0, 2, 1) if of_twist.any() else None,
        name=name,
    )


def velocity_of_twist(batch: Batch) -> tuple[FloatArray, FloatArray]:
    """Return the linear velocity (N, 3) and its covariance (N, 3, 3) of stamped twists.

    Parameters
    ----------
    batch : Batch
        Of ``geometry_msgs/TwistStamped`` (6 numbers) or ``TwistWithCovarianceStamped`` (42).
    """
    velocity = batch.values[:, _LINEAR]
    if batch.values.shape[1] == 6:
        return velocity, np.zeros((len(batch), 3, 3))
    return velocity, batch.values[:, 6:].reshape(-1, 6, 6)[:, _LINEAR, _LINEAR]


def twist_from_gnss(series: GnssSeries) -> Batch:
    """Return the velocities of a series as ``geometry_msgs/TwistWithCovarianceStamped``."""
    series = series.in_frames(world=WorldFrame.ENU)
    values = np.zeros((len(series), 42))
    covariance = values[:, 6:].reshape(-1, 6, 6)
    values[:, _LINEAR] = np.nan if series.velocity_world is None else series.velocity_world
    if series.velocity_covariance is not None:
        covariance[:, _LINEAR, _LINEAR] = series.velocity_covariance
    names = (series.sensor.name,) * len(series)
    return Batch(series.t_ns, values, names, np.arange(len(series)))


def barometer_from_fluid_pressure(batch: Batch) -> BarometerSeries:
    """Convert ``sensor_msgs/FluidPressure`` to a series, with the altitude of the standard air."""
    pressure = np.where(batch.values[:, 0] > 0.0, batch.values[:, 0], np.nan)
    names = {*batch.frame_ids}
    return BarometerSeries(
        batch.stamps_ns,
        pressure_altitude(pressure),
        pressure=pressure,
        sensor=SensorIdentity(names.pop() if len(names) == 1 else ""),
    )


def fluid_pressure_from_barometer(series: BarometerSeries) -> Batch:
    """Return the pressures of a series as ``sensor_msgs/FluidPressure``; NaN where unknown."""
    values = np.zeros((len(series), 2))
    values[:, 0] = np.nan if series.pressure is None else series.pressure
    names = (series.sensor.name,) * len(series)
    return Batch(series.t_ns, values, names, np.arange(len(series)))

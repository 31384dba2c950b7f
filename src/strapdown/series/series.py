"""The series of the package: frozen structs of arrays with frames and stamps in nanoseconds.

* :class:`ImuSeries`: samples of an IMU.
* :class:`Trajectory`: attitude, and position and velocity where known.
* :class:`Increments`: angular velocity and specific force integrated over intervals.
* :class:`GnssSeries` and :class:`BarometerSeries`: fixes of a receiver, readings of a barometer.

All have the same interface. ``len(series)`` is the number of samples; ``series[rows]``
takes a slice, a mask or an array of row numbers and returns the same type, as do
``series.between(start_s=10, stop_s=20)`` and ``series.between_ns(...)``; ``==`` compares every
column (NaN equals NaN), the frames and the identity. Arrays are read-only, contiguous, float64
or integer, and share memory with an input that has this form already; a single integer is
broadcast to all rows. Stamps may be in any order and values may be NaN, so that a series can
contain any recording; :mod:`strapdown.series.timebase` sorts stamps and reports the changes.

A column that is ``None`` is absent. Constructors raise ``ShapeError`` (naming the column),
``FrameError`` (unknown frame), ``TypeError`` (stamps that are no integers) and
``ValueRangeError`` (integers that do not fit their column).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import require_type
from strapdown.geometry.frames import WorldFrame
from strapdown.series.columns import (
    AXIS_BITS,
    BODY_COVARIANCE,
    BODY_DELTA,
    BODY_VECTOR,
    COUNTER,
    DURATION,
    FLAG,
    QUATERNION,
    WORLD_COVARIANCE,
    WORLD_VECTOR,
    BodyColumns,
)

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, ByteArray, FloatArray, IntArray

__all__ = ["ImuSeries", "Increments", "SensorIdentity", "Trajectory", "require_series"]


@dataclass(frozen=True)
class SensorIdentity:
    """Identity of a sensor.

    Parameters
    ----------
    name : str
        Frame id or device name; empty where the source has none.
    accel_device_id, gyro_device_id : int
        Device ids of PX4; 0 where the source has none.
    """

    name: str = ""
    accel_device_id: int = 0
    gyro_device_id: int = 0

    def __str__(self) -> str:
        if self.name or not (self.accel_device_id or self.gyro_device_id):
            return self.name
        return f"accel {self.accel_device_id} gyro {self.gyro_device_id}"


def _zero() -> ByteArray:
    """Return one zero, which the constructor broadcasts to all rows."""
    return np.zeros((), np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class ImuSeries(BodyColumns):
    """Samples of an inertial measurement unit.

    Parameters
    ----------
    t_ns : (N,) int64
        Time of each sample [ns].
    angular_velocity : (N, 3)
        [rad/s, body].
    specific_force : (N, 3)
        Reading of an accelerometer [m/s^2, body]: at rest +9.81 on the up axis.
    magnetic_field : (N, 3), optional
        [T, body].
    q_world_from_body : (N, 4), optional
        Attitude as the sensor reported it, x y z w.
    orientation_covariance : (N, 3, 3), optional
        Of the attitude, as a rotation about the fixed world axes [rad^2, world].
    angular_velocity_covariance : (N, 3, 3), optional
        [rad^2/s^2, body].
    specific_force_covariance : (N, 3, 3), optional
        [m^2/s^4, body]. In all three, a row of zeros is unknown, and a row whose first element
        is negative marks the quantity itself as absent (as in ROS ``sensor_msgs/Imu``).
    gyro_clipping, accel_clipping : (N,) uint8, optional
        Axes that were saturated: bits X=1, Y=2, Z=4.
    body : BodyFrame or name, optional
        Axes of the sensor, by default FLU.
    world : WorldFrame or name, optional
        Reference axes of the attitude, by default ENU.
    sensor : SensorIdentity, optional
        Identity of the sensor.

    Raises
    ------
    ShapeError
        A column does not have one row per stamp, or has rows of another shape; the message
        names it.
    FrameError
        There is no such frame.
    TypeError
        Stamps or bits are no integers.
    ValueRangeError
        An integer does not fit its column.

    Examples
    --------
    >>> import numpy as np
    >>> rest = np.tile([0.0, 0.0, 9.80665], (100, 1))
    >>> ImuSeries(np.arange(100) * 10_000_000, np.zeros((100, 3)), rest)
    ImuSeries(100 samples, 0.99 s, 100.0 Hz, body=FLU, world=ENU)
    """

    angular_velocity: FloatArray = field(metadata=BODY_VECTOR)
    specific_force: FloatArray = field(metadata=BODY_VECTOR)
    magnetic_field: FloatArray | None = field(default=None, kw_only=True, metadata=BODY_VECTOR)
    q_world_from_body: FloatArray | None = field(default=None, kw_only=True, metadata=QUATERNION)
    orientation_covariance: FloatArray | None = field(
        default=None, kw_only=True, metadata=WORLD_COVARIANCE
    )
    angular_velocity_covariance: FloatArray | None = field(
        default=None, kw_only=True, metadata=BODY_COVARIANCE
    )
    specific_force_covariance: FloatArray | None = field(
        default=None, kw_only=True, metadata=BODY_COVARIANCE
    )
    gyro_clipping: ByteArray | None = field(default=None, kw_only=True, metadata=AXIS_BITS)
    accel_clipping: ByteArray | None = field(default=None, kw_only=True, metadata=AXIS_BITS)
    world: WorldFrame = field(default=WorldFrame.ENU, kw_only=True)
    sensor: SensorIdentity = field(default=SensorIdentity(), kw_only=True)


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(BodyColumns):
    """Attitude over time, with position and velocity where known.

    Parameters
    ----------
    t_ns : (N,) int64
        Time of each pose [ns].
    q_world_from_body : (N, 4)
        Attitude, x y z w; a row of NaN is unknown.
    position_world : (N, 3), optional
        [m, world].
    velocity_world : (N, 3), optional
        [m/s, world].
    position_covariance, velocity_covariance : (N, 3, 3), optional
        [m^2, world], [m^2/s^2, world]; a row of zeros is unknown.
    moving : (N,) bool, optional
        Rows that count in an evaluation.
    world : WorldFrame or name, optional
        By default ENU.
    body : BodyFrame or name, optional
        By default FLU.
    name : str, optional
        Name in tables and figures.

    Raises
    ------
    ShapeError, FrameError, TypeError, ValueRangeError
        As :class:`ImuSeries`.
    """

    q_world_from_body: FloatArray = field(metadata=QUATERNION)
    position_world: FloatArray | None = field(default=None, kw_only=True, metadata=WORLD_VECTOR)
    velocity_world: FloatArray | None = field(default=None, kw_only=True, metadata=WORLD_VECTOR)
    position_covariance: FloatArray | None = field(
        default=None, kw_only=True, metadata=WORLD_COVARIANCE
    )
    velocity_covariance: FloatArray | None = field(
        default=None, kw_only=True, metadata=WORLD_COVARIANCE
    )
    moving: BoolArray | None = field(default=None, kw_only=True, metadata=FLAG)
    world: WorldFrame = field(default=WorldFrame.ENU, kw_only=True)
    name: str = field(default="", kw_only=True)


@dataclass(frozen=True, eq=False, repr=False)
class Increments(BodyColumns):
    """Angular velocity and specific force, integrated over one interval per row.

    Parameters
    ----------
    t_ns : (N,) int64
        End of each interval [ns].
    delta_angle : (N, 3)
        Rotation vector of the interval [rad, body].
    delta_velocity : (N, 3)
        Integrated specific force [m/s, body at the middle of the interval].
    delta_angle_dt_ns, delta_velocity_dt_ns : (N,) int64
        Lengths of the two intervals [ns].
    gyro_clipping, accel_clipping : (N,) uint8, optional
        Axes that were saturated within the interval: bits X=1, Y=2, Z=4; by default none.
    gyro_calibration_count, accel_calibration_count : (N,) uint8, optional
        Counters that change when the calibration of the sensor changes; by default 0.
    body : BodyFrame or name, optional
        By default FLU.
    sensor : SensorIdentity, optional
        Identity of the sensor.

    Raises
    ------
    ShapeError, FrameError, TypeError, ValueRangeError
        As :class:`ImuSeries`.
    """

    delta_angle: FloatArray = field(metadata=BODY_DELTA)
    delta_velocity: FloatArray = field(metadata=BODY_DELTA)
    delta_angle_dt_ns: IntArray = field(metadata=DURATION)
    delta_velocity_dt_ns: IntArray = field(metadata=DURATION)
    gyro_clipping: ByteArray = field(default_factory=_zero, kw_only=True, metadata=AXIS_BITS)
    accel_clipping: ByteArray = field(default_factory=_zero, kw_only=True, metadata=AXIS_BITS)
    gyro_calibration_count: ByteArray = field(default_factory=_zero, kw_only=True, metadata=COUNTER)
    accel_calibration_count: ByteArray = field(
        default_factory=_zero, kw_only=True, metadata=COUNTER
    )
    sensor: SensorIdentity = field(default=SensorIdentity(), kw_only=True)


def require_series(value: object, *others: type) -> None:
    """Raise unless a value is an :class:`ImuSeries`, or of another class that is accepted.

    Raises
    ------
    TypeError
        It is something else; the message gives the usual ways to a series.
    """
    require_type(
        value,
        (ImuSeries, *others),
        "series",
        "strapdown.open(path).imu_series() reads a file, and "
        "ImuSeries(t_ns, angular_velocity, specific_force) takes arrays",
    )

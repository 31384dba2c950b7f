"""The IMU messages of PX4, field by field.

In ULogs and in memory PX4 sorts the fields of a message by size; in CDR they are in the order
below (:mod:`strapdown.messages.uorb`). Times are microseconds since boot; a simulation in
lockstep may count from the epoch. Vectors are in FRD axes: of the *board* in sensor messages,
of the vehicle *body* in all others; earth axes are NED. Quaternions are in the order w x y z
and rotate vectors from body to earth.

References
----------
``msg/*.msg`` of PX4-Autopilot.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final

from strapdown.messages._fields import (
    F32,
    I8,
    I32,
    U8,
    U32,
    U64,
    F32x3,
    F32x4,
    I16x32,
    U8x3,
    U32x3,
)
from strapdown.messages.uorb import UorbMessage, decode_batch, encode_batch, uorb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.messages.wire import Payload

__all__ = [
    "MESSAGES",
    "SIMULATED_DEVICE_ID",
    "ULOG_FORMAT",
    "SensorAccel",
    "SensorAccelFifo",
    "SensorCombined",
    "SensorGyro",
    "SensorGyroFifo",
    "SensorSelection",
    "VehicleAcceleration",
    "VehicleAngularVelocity",
    "VehicleAttitude",
    "VehicleImu",
    "VehicleImuStatus",
    "VehicleOdometry",
    "decode_vehicle_imu_batch",
    "encode_vehicle_imu_batch",
]

SIMULATED_DEVICE_ID: Final = 0x14010C
"""Device id of PX4's first simulated accelerometer and gyroscope."""


class _Clipping(UorbMessage):
    """Bits of the fields that mark saturated axes."""

    __slots__ = ()

    CLIPPING_X: ClassVar[int] = 1
    CLIPPING_Y: ClassVar[int] = 2
    CLIPPING_Z: ClassVar[int] = 4


@uorb("vehicle_imu")
class VehicleImu(_Clipping):
    """Angular velocity and specific force, calibrated and integrated over one interval.

    ``timestamp_sample`` is the end of the interval: the stamp of its last gyroscope message.
    ``delta_angle`` [rad] and ``delta_velocity`` [m/s] are in body FRD, each over its own
    interval [us]; the counts change when the calibration does, and wrap.

    Examples
    --------
    >>> message = VehicleImu(timestamp_sample=1_005_000, delta_angle_dt=5000)
    >>> message.delta_angle[2] = 0.25
    >>> message.delta_angle.tolist()
    [0.0, 0.0, 0.25]
    """

    __slots__ = ()

    timestamp: U64
    timestamp_sample: U64
    accel_device_id: U32
    gyro_device_id: U32
    delta_angle: F32x3
    delta_velocity: F32x3
    delta_angle_dt: U32
    delta_velocity_dt: U32
    delta_angle_clipping: U8
    delta_velocity_clipping: U8
    accel_calibration_count: U8
    gyro_calibration_count: U8


@uorb("vehicle_imu_status")
class VehicleImuStatus(UorbMessage):
    """Condition of an IMU: clipping, errors, rates, vibration and raw statistics.

    ``accel_clipping`` and ``gyro_clipping`` are totals by body axis. ``accel_rate_hz`` counts
    messages, ``accel_raw_rate_hz`` samples of the chip. Vibration metrics are in m/s^2 and
    rad/s; means and variances are of uncalibrated readings in body axes; temperatures are in
    degrees Celsius, NaN where there is none.
    """

    __slots__ = ()

    timestamp: U64
    accel_device_id: U32
    gyro_device_id: U32
    accel_clipping: U32x3
    gyro_clipping: U32x3
    accel_error_count: U32
    gyro_error_count: U32
    accel_rate_hz: F32
    gyro_rate_hz: F32
    accel_raw_rate_hz: F32
    gyro_raw_rate_hz: F32
    accel_vibration_metric: F32
    gyro_vibration_metric: F32
    delta_angle_coning_metric: F32
    mean_accel: F32x3
    mean_gyro: F32x3
    var_accel: F32x3
    var_gyro: F32x3
    temperature_accel: F32
    temperature_gyro: F32


@uorb("sensor_gyro")
class SensorGyro(UorbMessage):
    """Angular velocity of one chip [rad/s, board FRD], uncalibrated.

    The mean of ``samples`` samples of the chip, or one sample; ``clip_counter`` is the number of
    saturated ones, by axis.
    """

    __slots__ = ()

    timestamp: U64
    timestamp_sample: U64
    device_id: U32
    x: F32
    y: F32
    z: F32
    temperature: F32
    error_count: U32
    clip_counter: U8x3
    samples: U8


@uorb("sensor_accel")
class SensorAccel(UorbMessage):
    """Specific force of one chip [m/s^2, board FRD], uncalibrated; else as SensorGyro."""

    __slots__ = ()

    timestamp: U64
    timestamp_sample: U64
    device_id: U32
    x: F32
    y: F32
    z: F32
    temperature: F32
    error_count: U32
    clip_counter: U8x3
    samples: U8


@uorb("sensor_gyro_fifo")
class SensorGyroFifo(UorbMessage):
    """The samples that a gyroscope had in its FIFO, as it counts them [board FRD].

    ``timestamp_sample`` is that of the last of the ``samples`` valid entries, ``dt`` [us] the
    nominal time between two, ``scale`` the angular velocity of one count [rad/s].
    """

    __slots__ = ()

    timestamp: U64
    timestamp_sample: U64
    device_id: U32
    dt: F32
    scale: F32
    samples: U8
    x: I16x32
    y: I16x32
    z: I16x32


@uorb("sensor_accel_fifo")
class SensorAccelFifo(UorbMessage):
    """The samples that an accelerometer had in its FIFO; else as SensorGyroFifo [m/s^2]."""

    __slots__ = ()

    timestamp: U64
    timestamp_sample: U64
    device_id: U32
    dt: F32
    scale: F32
    samples: U8
    x: I16x32
    y: I16x32
    z: I16x32


@uorb("sensor_combined")
class SensorCombined(_Clipping):
    """Mean rates over the last interval of the IMU in use, calibrated, body FRD.

    ``timestamp`` is the end of the gyroscope's interval; the accelerometer's ends
    ``accelerometer_timestamp_relative`` us later, or is invalid.
    """

    __slots__ = ()

    RELATIVE_TIMESTAMP_INVALID: ClassVar[int] = 0x7FFFFFFF

    timestamp: U64
    gyro_rad: F32x3
    gyro_integral_dt: U32
    accelerometer_timestamp_relative: I32
    accelerometer_m_s2: F32x3
    accelerometer_integral_dt: U32
    accelerometer_clipping: U8
    gyro_clipping: U8
    accel_calibration_count: U8
    gyro_calibration_count: U8


@uorb(
    "vehicle_attitude",
    "vehicle_attitude_groundtruth",
    "external_ins_attitude",
    "estimator_attitude",
)
class VehicleAttitude(UorbMessage):
    """Attitude of the vehicle: ``q`` (w x y z) rotates body FRD into NED."""

    __slots__ = ()

    timestamp: U64
    timestamp_sample: U64
    q: F32x4
    delta_q_reset: F32x4
    quat_reset_counter: U8


@uorb(
    "vehicle_odometry",
    "vehicle_mocap_odometry",
    "vehicle_visual_odometry",
    "estimator_odometry",
)
class VehicleOdometry(UorbMessage):
    """Pose and velocity with variances; an unknown vector has NaN as its first element.

    ``orientation_variance`` is about the body axes.
    """

    __slots__ = ()

    POSE_FRAME_UNKNOWN: ClassVar[int] = 0
    POSE_FRAME_NED: ClassVar[int] = 1
    POSE_FRAME_FRD: ClassVar[int] = 2
    VELOCITY_FRAME_UNKNOWN: ClassVar[int] = 0
    VELOCITY_FRAME_NED: ClassVar[int] = 1
    VELOCITY_FRAME_FRD: ClassVar[int] = 2
    VELOCITY_FRAME_BODY_FRD: ClassVar[int] = 3

    timestamp: U64
    timestamp_sample: U64
    pose_frame: U8
    position: F32x3
    q: F32x4
    velocity_frame: U8
    velocity: F32x3
    angular_velocity: F32x3
    position_variance: F32x3
    orientation_variance: F32x3
    velocity_variance: F32x3
    reset_counter: U8
    quality: I8


@uorb("vehicle_acceleration")
class VehicleAcceleration(UorbMessage):
    """Specific force [m/s^2, body FRD], without bias, filtered."""

    __slots__ = ()

    timestamp: U64
    timestamp_sample: U64
    xyz: F32x3


@uorb("vehicle_angular_velocity", "vehicle_angular_velocity_groundtruth")
class VehicleAngularVelocity(UorbMessage):
    """Angular velocity [rad/s, body FRD] and its derivative, without bias, filtered."""

    __slots__ = ()

    timestamp: U64
    timestamp_sample: U64
    xyz: F32x3
    xyz_derivative: F32x3


@uorb("sensor_selection")
class SensorSelection(UorbMessage):
    """Accelerometer and gyroscope that the vehicle uses."""

    __slots__ = ()

    timestamp: U64
    accel_device_id: U32
    gyro_device_id: U32


MESSAGES: Final[Mapping[str, type[UorbMessage]]] = MappingProxyType(
    {
        topic: kind
        for kind in (
            VehicleImu,
            VehicleImuStatus,
            SensorGyro,
            SensorAccel,
            SensorGyroFifo,
            SensorAccelFifo,
            SensorCombined,
            VehicleAttitude,
            VehicleOdometry,
            VehicleAcceleration,
            VehicleAngularVelocity,
            SensorSelection,
        )
        for topic in kind.topics
    }
)
"""Every message by the names of its topics."""

ULOG_FORMAT: Final = VehicleImu.ulog_format()
"""Payload of the FORMAT record of ``vehicle_imu`` in a ULog file."""


def decode_vehicle_imu_batch(
    payloads: Sequence[Payload], *, lenient: bool = False
) -> tuple[NDArray[np.void], IntArray]:
    """Read many DDS samples of VehicleImu, as :func:`~strapdown.messages.uorb.decode_batch`."""
    return decode_batch(VehicleImu, payloads, lenient=lenient)


def encode_vehicle_imu_batch(records: NDArray[np.void]) -> list[bytes]:
    """Return DDS samples of VehicleImu, as :func:`~strapdown.messages.uorb.encode_batch`."""
    return encode_batch(VehicleImu, records)

"""Conversion of PX4's ``VehicleImu`` to increments, to mean rates, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.geometry.frames import BodyFrame
from strapdown.messages._by_column import (
    as_float32,
    as_records,
    bits_from_axes,
    common_id,
    sampled_ns,
    stamped,
    stamps_from_unsigned,
    unsigned_from_stamps,
)
from strapdown.messages.conversion import _loss as loss
from strapdown.messages.conversion.horus import imu_from_series, series_from_imu
from strapdown.messages.conversion.px4_rates import white_noise_covariance
from strapdown.messages.imu import Imu
from strapdown.messages.px4 import SIMULATED_DEVICE_ID, VehicleImu
from strapdown.series import ImuSeries, Increments, SensorIdentity
from strapdown.units import NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import ByteArray, FloatArray, IntArray
    from strapdown.messages._by_column import Messages

__all__ = [
    "Stamp",
    "imu_from_vehicle_imu",
    "increments_from_mean_rates",
    "increments_from_vehicle_imu",
    "series_from_increments",
    "vehicle_imu_from_imu",
    "vehicle_imu_from_increments",
]

Stamp: TypeAlias = Literal["middle", "end"]
SATURATED: Final = 0.999  # of the full scale


def increments_from_vehicle_imu(messages: Messages, *, strict: bool = False) -> Increments:
    """Convert PX4 messages to increments.

    Parameters
    ----------
    messages : VehicleImu, iterable of VehicleImu, or array of VehicleImu.dtype
        N messages of one sensor.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    Increments
        N rows, FRD, stamped with ``timestamp_sample``. A device id that changes between
        messages is 0.

    Raises
    ------
    ConversionLossError
        ``strict``, and ``timestamp`` differs from ``timestamp_sample`` or a device id changes.
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, VehicleImu)
    if strict:
        loss.refuse(loss.increments_from_vehicle_imu(records), Increments)
    return Increments(
        sampled_ns(records),
        records["delta_angle"],
        records["delta_velocity"],
        stamps_from_unsigned(records["delta_angle_dt"], "delta_angle_dt", NS_PER_US),
        stamps_from_unsigned(records["delta_velocity_dt"], "delta_velocity_dt", NS_PER_US),
        gyro_clipping=records["delta_angle_clipping"],
        accel_clipping=records["delta_velocity_clipping"],
        gyro_calibration_count=records["gyro_calibration_count"],
        accel_calibration_count=records["accel_calibration_count"],
        body=BodyFrame.FRD,
        sensor=SensorIdentity(
            accel_device_id=common_id(records["accel_device_id"]),
            gyro_device_id=common_id(records["gyro_device_id"]),
        ),
    )


def vehicle_imu_from_increments(
    increments: Increments, *, strict: bool = False
) -> NDArray[np.void]:
    """Convert increments to PX4 messages.

    Parameters
    ----------
    increments : Increments
        N rows, in any body frame.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    (N,) array of VehicleImu.dtype
        In FRD; ``timestamp`` equals ``timestamp_sample``. Times are rounded to microseconds,
        deltas to float32.

    Raises
    ------
    ConversionLossError
        ``strict``, and a time is finer than a microsecond or the sensor has a name.
    ValueRangeError
        A time, an interval or a delta does not fit its field.
    """
    if strict:
        loss.refuse(loss.vehicle_imu_from_increments(increments), VehicleImu)
    increments = increments.in_frames(body=BodyFrame.FRD)
    records = stamped(VehicleImu, increments.t_ns)
    for field, interval in (
        ("delta_angle_dt", increments.delta_angle_dt_ns),
        ("delta_velocity_dt", increments.delta_velocity_dt_ns),
    ):
        records[field] = unsigned_from_stamps(interval, field, np.uint32, NS_PER_US)
    records["delta_angle"] = as_float32(increments.delta_angle, "delta_angle")
    records["delta_velocity"] = as_float32(increments.delta_velocity, "delta_velocity")
    records["delta_angle_clipping"] = increments.gyro_clipping
    records["delta_velocity_clipping"] = increments.accel_clipping
    records["gyro_calibration_count"] = increments.gyro_calibration_count
    records["accel_calibration_count"] = increments.accel_calibration_count
    records["gyro_device_id"] = increments.sensor.gyro_device_id
    records["accel_device_id"] = increments.sensor.accel_device_id
    return records


def series_from_increments(  # noqa: PLR0913 (one name each for what is optional)
    increments: Increments,
    *,
    stamp: Stamp = "middle",
    fifo_delay_ns: int | IntArray = 0,
    gyro_noise_density: float | None = None,
    accel_noise_density: float | None = None,
    strict: bool = False,
) -> ImuSeries:
    """Convert increments to mean rates at the middle of their intervals.

    The end of the accelerometer's interval is not recorded: its rates may belong to a time up
    to half a sample of the accelerometer earlier or later.

    Parameters
    ----------
    increments : Increments
        N rows.
    stamp : {"middle", "end"}
        Time within the gyroscope's interval that stamps a row.
    fifo_delay_ns : int or (N,) int64
        How much earlier the middle of the interval was (:func:`fifo_delays_ns`) [ns].
    gyro_noise_density, accel_noise_density : float, optional
        White noise of the sensors, for covariances (:func:`white_noise_covariance`)
        [rad/s/sqrt(Hz), m/s^2/sqrt(Hz)].
    strict : bool
        Raise instead of losing something. A series of rates holds no intervals, so this always
        raises where there are rows with one.

    Returns
    -------
    ImuSeries
        N rows in the same body frame. Rows with an interval of 0 or less are NaN.

    Raises
    ------
    ConversionLossError
        ``strict``, and something would be lost.
    UnknownNameError
        There is no such stamp.
    ValueRangeError
        A noise density is negative or not finite.
    """
    if strict:
        loss.refuse(loss.series_from_increments(increments), ImuSeries)
    if stamp not in get_args(Stamp):
        raise UnknownNameError("stamp", stamp, get_args(Stamp))
    gyro_dt_ns, accel_dt_ns = increments.delta_angle_dt_ns, increments.delta_velocity_dt_ns
    return ImuSeries(
        increments.t_ns - (gyro_dt_ns // 2 if stamp == "middle" else 0) - fifo_delay_ns,
        _per_second(increments.delta_angle, gyro_dt_ns),
        _per_second(increments.delta_velocity, accel_dt_ns),
        angular_velocity_covariance=_noise(gyro_noise_density, gyro_dt_ns),
        specific_force_covariance=_noise(accel_noise_density, accel_dt_ns),
        gyro_clipping=increments.gyro_clipping,
        accel_clipping=increments.accel_clipping,
        body=increments.body,
        sensor=increments.sensor,
    )


def increments_from_mean_rates(
    series: ImuSeries,
    dt_ns: int | IntArray,
    *,
    gyro_range: float = np.inf,
    accel_range: float = np.inf,
    strict: bool = False,
) -> Increments:
    """Convert mean rates, stamped at the middle of their intervals, to increments.

    Only for rates that are means over the interval, as :func:`series_from_increments` gives
    them. Samples at points in time are integrated instead.

    Parameters
    ----------
    series : ImuSeries
        N rows.
    dt_ns : int or (N,) int64
        Length of the intervals [ns], positive.
    gyro_range, accel_range : float, optional
        Full scale of the sensors: an axis that reaches 0.999 of it is marked as clipped
        [rad/s, m/s^2].
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    Increments
        N rows in the same body frame, stamped at the end of the intervals.

    Raises
    ------
    ConversionLossError
        ``strict``, and the series has orientation, magnetic field, covariances, or names
        another world than ENU.
    ValueRangeError
        An interval is not positive.
    """
    if strict:
        loss.refuse(loss.increments_from_series(series), Increments)
    if np.any(np.less_equal(dt_ns, 0)):
        raise ValueRangeError(f"expected dt_ns above 0, got {np.min(dt_ns)}")
    intervals = np.broadcast_to(np.asarray(dt_ns, np.int64), len(series))
    seconds = intervals[:, None] / NS_PER_S
    return Increments(
        series.t_ns + intervals // 2,
        series.angular_velocity * seconds,
        series.specific_force * seconds,
        intervals,
        intervals,
        gyro_clipping=_or_zero(series.gyro_clipping)
        | _saturated(series.angular_velocity, gyro_range),
        accel_clipping=_or_zero(series.accel_clipping)
        | _saturated(series.specific_force, accel_range),
        body=series.body,
        sensor=series.sensor,
    )


def imu_from_vehicle_imu(messages: Messages, *, strict: bool = False) -> NDArray[np.void]:
    """Convert PX4 messages to horus messages with mean rates at the middle of the intervals.

    Parameters
    ----------
    messages : VehicleImu, iterable of VehicleImu, or array of VehicleImu.dtype
        N messages.
    strict : bool
        Raise instead of losing something; a message of rates holds no intervals.

    Returns
    -------
    (N,) array of Imu.dtype
        In FLU, without orientation, covariances unknown.

    Raises
    ------
    ConversionLossError
        ``strict``, and a message has more than a stamp and increments.
    ValueRangeError
        A stamp does not fit.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, VehicleImu)
    if strict:
        loss.refuse(loss.imu_from_vehicle_imu(records), Imu)
    return imu_from_series(series_from_increments(increments_from_vehicle_imu(records)))


def vehicle_imu_from_imu(
    messages: Messages,
    dt_ns: int | IntArray,
    *,
    gyro_range: float = np.inf,
    accel_range: float = np.inf,
    strict: bool = False,
) -> NDArray[np.void]:
    """Convert horus messages with mean rates at the middle of intervals to PX4 messages.

    Parameters
    ----------
    messages : Imu, iterable of Imu, or array of Imu.dtype
        N messages.
    dt_ns : int or (N,) int64
        Length of the intervals [ns], positive.
    gyro_range, accel_range : float, optional
        Full scale of the sensors: an axis that reaches 0.999 of it is marked as clipped
        [rad/s, m/s^2].
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    (N,) array of VehicleImu.dtype
        In FRD, with the device id of a simulated sensor.

    Raises
    ------
    ConversionLossError
        ``strict``, and a message has orientation or covariances, or a time is finer than a
        microsecond.
    ValueRangeError
        An interval is not positive, or a number does not fit its field.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, Imu)
    if strict:
        loss.refuse(loss.vehicle_imu_from_imu(records), VehicleImu)
    increments = increments_from_mean_rates(
        series_from_imu(records), dt_ns, gyro_range=gyro_range, accel_range=accel_range
    )
    simulated = SensorIdentity("", SIMULATED_DEVICE_ID, SIMULATED_DEVICE_ID)
    return vehicle_imu_from_increments(increments.replace(sensor=simulated), strict=strict)


def _noise(density: float | None, dt_ns: IntArray) -> FloatArray | None:
    return None if density is None else white_noise_covariance(density, dt_ns)


def _per_second(deltas: FloatArray, dt_ns: IntArray) -> FloatArray:
    seconds = np.where(dt_ns > 0, dt_ns / NS_PER_S, np.nan)
    return deltas / seconds[:, None]


def _or_zero(bits: ByteArray | None) -> ByteArray:
    return np.zeros((), np.uint8) if bits is None else bits


def _saturated(values: FloatArray, full_scale: float) -> ByteArray:
    return bits_from_axes(np.abs(values) >= SATURATED * full_scale)

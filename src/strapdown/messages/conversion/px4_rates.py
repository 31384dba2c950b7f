"""Conversion of the PX4 messages that hold rates: ``sensor_combined`` and single sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages._by_column import (
    as_records,
    bits_from_axes,
    common_id,
    sampled_ns,
    stamps_from_unsigned,
)
from strapdown.messages.conversion import _loss as loss
from strapdown.messages.px4 import (
    SensorAccel,
    SensorCombined,
    SensorGyro,
    SensorSelection,
    VehicleAcceleration,
    VehicleAngularVelocity,
    VehicleImu,
    VehicleImuStatus,
)
from strapdown.messages.uorb import copy_fields
from strapdown.series import ImuSeries, SensorIdentity
from strapdown.units import NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import FloatArray, IntArray
    from strapdown.messages._by_column import Messages

__all__ = [
    "fifo_delays_ns",
    "sensor_combined_from_vehicle_imu",
    "series_from_sensor_accel",
    "series_from_sensor_combined",
    "series_from_sensor_gyro",
    "series_from_vehicle_acceleration",
    "series_from_vehicle_angular_velocity",
    "vehicle_imu_from_sensor_combined",
    "white_noise_covariance",
]

FIFO_RATE_RATIO: Final = 1.5  # above which a message averages several samples

_US_PER_S: Final = np.float32(1e6)
_NO_ACCEL: Final = SensorCombined.RELATIVE_TIMESTAMP_INVALID
_RATES: Final = (
    ("gyro_rad", "gyro_integral_dt", "delta_angle"),
    ("accelerometer_m_s2", "accelerometer_integral_dt", "delta_velocity"),
)
_COPIES: Final = (
    ("gyro_clipping", "delta_angle_clipping"),
    ("accelerometer_clipping", "delta_velocity_clipping"),
)


def sensor_combined_from_vehicle_imu(
    messages: Messages, *, strict: bool = False
) -> NDArray[np.void]:
    """Convert increments to mean rates with the arithmetic of the autopilot.

    Parameters
    ----------
    messages : VehicleImu, iterable of VehicleImu, or array of VehicleImu.dtype
        N messages, each with both sensors.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    (N,) array of SensorCombined.dtype
        Rates are the increment times the float32 quotient ``1e6 / dt``, and NaN where the
        interval is 0; an accelerometer without an interval is marked as invalid.

    Raises
    ------
    ConversionLossError
        ``strict``, and device ids are in use or ``timestamp`` differs from ``timestamp_sample``.
    TypeError, ShapeError
        The messages are of another type.

    References
    ----------
    PX4-Autopilot, ``src/modules/sensors/voted_sensors_update.cpp``.
    """
    imu = as_records(messages, VehicleImu)
    if strict:
        loss.refuse(loss.sensor_combined_from_vehicle_imu(imu), SensorCombined)
    records = np.zeros(len(imu), SensorCombined.dtype)
    copy_fields(imu, records)
    records["timestamp"] = imu["timestamp_sample"]
    for rate, dt, delta in _RATES:
        interval = imu[f"{delta}_dt"]
        records[dt] = interval
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            per_s = _US_PER_S / interval.astype(np.float32)
            records[rate] = np.where(interval[:, None] > 0, imu[delta] * per_s[:, None], np.nan)
    for ours, theirs in _COPIES:
        records[ours] = imu[theirs]
    records["accelerometer_timestamp_relative"][imu["delta_velocity_dt"] == 0] = _NO_ACCEL
    return records


def vehicle_imu_from_sensor_combined(
    messages: Messages, *, selection: NDArray[np.void] | None = None, strict: bool = False
) -> NDArray[np.void]:
    """Convert mean rates over known intervals back to increments.

    Parameters
    ----------
    messages : SensorCombined, iterable of SensorCombined, or array of SensorCombined.dtype
        N messages.
    selection : (M,) array of SensorSelection.dtype, optional
        Sensors in use, each from its stamp on; rows before the first, and all rows without
        it, have device ids 0.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    (N,) array of VehicleImu.dtype
        ``timestamp`` and ``timestamp_sample`` are both the end of the gyroscope's interval.
        Rows without an accelerometer have a ``delta_velocity`` of 0 over 0 us.

    Raises
    ------
    ConversionLossError
        ``strict``, and the interval of an accelerometer ends at another time than that of the
        gyroscope, for which the target has no field.
    TypeError, ShapeError
        The messages are of another type.
    """
    combined = as_records(messages, SensorCombined)
    if strict:
        loss.refuse(loss.vehicle_imu_from_sensor_combined(combined), VehicleImu)
    records = np.zeros(len(combined), VehicleImu.dtype)
    copy_fields(combined, records)
    records["timestamp_sample"] = combined["timestamp"]
    for rate, dt, delta in _RATES:
        records[f"{delta}_dt"] = combined[dt]
        seconds = combined[dt][:, None] / np.float64(_US_PER_S)
        with np.errstate(over="ignore", invalid="ignore"):
            records[delta] = combined[rate] * seconds
    for ours, theirs in _COPIES:
        records[theirs] = combined[ours]
    without = combined["accelerometer_timestamp_relative"] == _NO_ACCEL
    records["delta_velocity"][without] = 0.0
    records["delta_velocity_dt"][without] = 0
    if selection is not None and len(selection):
        chosen = as_records(selection, SensorSelection)
        chosen = chosen[np.argsort(chosen["timestamp"], kind="stable")]
        row = np.searchsorted(chosen["timestamp"], combined["timestamp"], side="right") - 1
        for name in ("accel_device_id", "gyro_device_id"):
            records[name] = np.where(row >= 0, chosen[name][row], 0)
    return records


def series_from_sensor_combined(messages: Messages, *, strict: bool = False) -> ImuSeries:
    """Convert mean rates to a series, stamped at the middle of the gyroscope's intervals.

    Parameters
    ----------
    messages : SensorCombined, iterable of SensorCombined, or array of SensorCombined.dtype
        N messages.
    strict : bool
        Raise instead of losing something; a series of rates holds no intervals.

    Returns
    -------
    ImuSeries
        N rows, FRD. A specific force that PX4 marks as invalid is NaN.

    Raises
    ------
    ConversionLossError
        ``strict``, and a message has more than a stamp, rates and clipping.
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, SensorCombined)
    if strict:
        loss.refuse(loss.series_from_sensor_combined(records), ImuSeries)
    without = records["accelerometer_timestamp_relative"] == _NO_ACCEL
    half_ns = records["gyro_integral_dt"].astype(np.int64) * (NS_PER_US // 2)
    return ImuSeries(
        stamps_from_unsigned(records["timestamp"], "timestamp", NS_PER_US) - half_ns,
        records["gyro_rad"],
        np.where(without[:, None], np.nan, records["accelerometer_m_s2"]),
        gyro_clipping=records["gyro_clipping"],
        accel_clipping=records["accelerometer_clipping"],
        body=BodyFrame.FRD,
        world=WorldFrame.NED,
    )


def series_from_sensor_gyro(messages: Messages, *, strict: bool = False) -> ImuSeries:
    """Convert readings of one gyroscope to a series; its specific force is NaN.

    Parameters
    ----------
    messages : SensorGyro, iterable of SensorGyro, or array of SensorGyro.dtype
        N messages.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    ImuSeries
        N rows, FRD axes of the board, uncalibrated, stamped with ``timestamp_sample``. An axis
        with clipped samples has its clipping bit.

    Raises
    ------
    ConversionLossError
        ``strict``, and a message has a temperature, errors or a count of samples, or
        ``timestamp`` differs from ``timestamp_sample``.
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, SensorGyro)
    if strict:
        loss.refuse(loss.series_from_sensor(records), ImuSeries)
    return _readings(
        records,
        ("x", "y", "z"),
        gyro=True,
        sensor=SensorIdentity(gyro_device_id=common_id(records["device_id"])),
        gyro_clipping=bits_from_axes(records["clip_counter"]),
    )


def series_from_sensor_accel(messages: Messages, *, strict: bool = False) -> ImuSeries:
    """Convert readings of one accelerometer to a series; its angular velocity is NaN.

    Parameters
    ----------
    messages : SensorAccel, iterable of SensorAccel, or array of SensorAccel.dtype
        N messages.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    ImuSeries
        As :func:`series_from_sensor_gyro`.

    Raises
    ------
    ConversionLossError
        ``strict``, and a message has a temperature, errors or a count of samples, or
        ``timestamp`` differs from ``timestamp_sample``.
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, SensorAccel)
    if strict:
        loss.refuse(loss.series_from_sensor(records), ImuSeries)
    return _readings(
        records,
        ("x", "y", "z"),
        gyro=False,
        sensor=SensorIdentity(accel_device_id=common_id(records["device_id"])),
        accel_clipping=bits_from_axes(records["clip_counter"]),
    )


def series_from_vehicle_angular_velocity(messages: Messages, *, strict: bool = False) -> ImuSeries:
    """Convert filtered angular velocities to a series; its specific force is NaN.

    Parameters
    ----------
    messages : VehicleAngularVelocity, iterable of it, or array of its dtype
        N messages.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    ImuSeries
        N rows, FRD, stamped with ``timestamp_sample``. They are filtered and their bias is
        removed, so they are no measurements to integrate.

    Raises
    ------
    ConversionLossError
        ``strict``, and a message has a derivative, or ``timestamp`` differs from
        ``timestamp_sample``.
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, VehicleAngularVelocity)
    if strict:
        loss.refuse(loss.series_from_vehicle_angular_velocity(records), ImuSeries)
    return _readings(records, gyro=True)


def series_from_vehicle_acceleration(messages: Messages, *, strict: bool = False) -> ImuSeries:
    """Convert filtered specific forces to a series; its angular velocity is NaN.

    Parameters
    ----------
    messages : VehicleAcceleration, iterable of it, or array of its dtype
        N messages.
    strict : bool
        Raise instead of losing something.

    Returns
    -------
    ImuSeries
        As :func:`series_from_vehicle_angular_velocity`.

    Raises
    ------
    ConversionLossError
        ``strict``, and ``timestamp`` differs from ``timestamp_sample``.
    ValueRangeError
        A stamp reaches 2^63 ns.
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, VehicleAcceleration)
    if strict:
        loss.refuse(loss.published(records), ImuSeries)
    return _readings(records, gyro=False)


def white_noise_covariance(density: float, dt_ns: IntArray) -> FloatArray:
    """Return the covariance of mean rates that white noise causes: ``density^2 / dt``.

    Parameters
    ----------
    density : float
        Of each axis [unit/sqrt(Hz)].
    dt_ns : (N,) int64
        Lengths of the intervals [ns].

    Returns
    -------
    (N, 3, 3)
        [unit^2]; zeros, which is unknown, where an interval is 0 or less.

    Raises
    ------
    ValueRangeError
        The density is negative or not finite.
    """
    if not 0.0 <= density < np.inf:
        raise ValueRangeError(f"expected a noise density of at least 0, got {density}")
    variance = np.zeros(len(dt_ns))
    np.divide(density**2 * NS_PER_S, dt_ns, out=variance, where=dt_ns > 0)
    return variance[:, None, None] * np.eye(3)


def fifo_delays_ns(messages: Messages) -> IntArray:
    """Return the delay of the stamps of a gyroscope with a FIFO after its samples.

    A message is the mean over a packet from the FIFO but has the stamp of its last sample, so
    that an integral of messages lags by half the time between two.

    Parameters
    ----------
    messages : VehicleImuStatus, iterable of VehicleImuStatus, or array of its dtype
        N messages.

    Returns
    -------
    (N,) int64
        Half of ``1 / gyro_rate_hz`` [ns] where the chip samples more than 1.5 times as often,
        otherwise 0.

    Raises
    ------
    TypeError, ShapeError
        The messages are of another type.
    """
    records = as_records(messages, VehicleImuStatus)
    rate_hz = records["gyro_rate_hz"].astype(np.float64)
    averaged = (rate_hz > 0.0) & (records["gyro_raw_rate_hz"] > FIFO_RATE_RATIO * rate_hz)
    delays = np.divide(NS_PER_S / 2, rate_hz, out=np.zeros(len(records)), where=averaged)
    return np.rint(np.minimum(delays, NS_PER_S)).astype(np.int64)


def _readings(
    records: NDArray[np.void],
    axes: tuple[str, ...] = ("xyz",),
    *,
    gyro: bool,
    **others: Any,  # noqa: ANN401 (any field)
) -> ImuSeries:
    """Return a series of which one of the two vectors is known, with some other fields."""
    values = np.column_stack([records[axis] for axis in axes])
    unknown = np.full(values.shape, np.nan)
    return ImuSeries(
        sampled_ns(records),
        values if gyro else unknown,
        unknown if gyro else values,
        body=BodyFrame.FRD,
        world=WorldFrame.NED,
        **others,
    )

"""Conversion of the IMU messages of MAVLink to and from series, increments and attitude.

Axes
    "NED body frame" in MAVLink means body FRD, and acceleration means specific force: level and
    at rest, z reads -9.81 m/s^2. Attitude rotates body FRD into NED, in the order w x y z.
Units
    HIL_SENSOR and HIGHRES_IMU: m/s^2, rad/s, gauss, hPa, degrees Celsius, as float32, with one
    bit a number that says whether it was measured. SCALED_IMU: thousandths of g, rad/s and
    gauss, truncated toward zero. RAW_IMU: units of the sender, so a scale must be given.
Time
    HIL_SENSOR holds samples at points in time. The others, from PX4, hold means over an
    interval of the autopilot: HIGHRES_IMU stamped at its end, SCALED_IMU when published [ms].

References
----------
``common.xml`` of MAVLink; ``mavlink/streams/HIGHRES_IMU.hpp`` and ``SCALED_IMU.hpp`` of
PX4-Autopilot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_floats, as_member
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.formats.mavlink.messages import (
    ATTITUDE_KINDS,
    AXES,
    DTYPES,
    FLOATS,
    Kind,
    put_stamps,
    stamps_of,
)
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages._by_column import bits_from_axes
from strapdown.series import ImuSeries, SensorIdentity
from strapdown.units import GAUSS, STANDARD_GRAVITY

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from strapdown._typing import FloatArray

__all__ = [
    "ARDUPILOT_SCALE",
    "COUNT_KINDS",
    "NO_AMBIENT",
    "SIMULATOR_RESET",
    "Ambient",
    "RawScale",
    "coarseness",
    "records_from_series",
    "series_from_records",
]

SIMULATOR_RESET: Final = 1 << 31
"""Bit of ``fields_updated`` of HIL_SENSOR: the simulator began again."""

COUNT_KINDS: Final = (Kind.SCALED_IMU, Kind.SCALED_IMU2, Kind.SCALED_IMU3, Kind.RAW_IMU)
"""Messages of whole numbers."""

_FRESH: Final = 1 << np.arange(len(FLOATS))
_LIMITS: Final = np.iinfo(np.int16)


@dataclass(frozen=True)
class RawScale:
    """Value of one count of RAW_IMU, which depends on the sender.

    Parameters
    ----------
    accel : float
        [m/s^2].
    gyro : float
        [rad/s].
    mag : float
        [T].

    Raises
    ------
    ValueRangeError
        A scale is not positive and finite.

    Examples
    --------
    ArduPilot sends thousandths of g, rad/s and gauss:

    >>> RawScale(accel=9.80665e-3, gyro=1e-3, mag=1e-7)
    RawScale(accel=0.00980665, gyro=0.001, mag=1e-07)
    """

    accel: float
    gyro: float
    mag: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0.0 < value < np.inf:
                raise ValueRangeError(f"expected a positive scale {name} of RAW_IMU, got {value}")


ARDUPILOT_SCALE: Final = RawScale(accel=1e-3 * STANDARD_GRAVITY, gyro=1e-3, mag=1e-3 * GAUSS)
"""RAW_IMU of ArduPilot: thousandths of g, rad/s and gauss (``GCS_Common.cpp``)."""


@dataclass(frozen=True)
class Ambient:
    """Other quantities of a message: numbers, or one a row; NaN is not measured.

    Parameters
    ----------
    abs_pressure, diff_pressure : float or (N,) array_like
        Of the air, and of the pitot tube [hPa].
    pressure_alt : float or (N,) array_like
        Altitude from pressure [m].
    temperature : float or (N,) array_like
        [degrees Celsius].
    """

    abs_pressure: ArrayLike = np.nan
    diff_pressure: ArrayLike = np.nan
    pressure_alt: ArrayLike = np.nan
    temperature: ArrayLike = np.nan


NO_AMBIENT: Final = Ambient()
"""Nothing else was measured."""


# -- series to records -----------------------------------------------------------------------------


def records_from_series(
    kind: Kind | str,
    series: ImuSeries,
    *,
    ambient: Ambient = NO_AMBIENT,
    scale: RawScale | None = None,
    sensor_id: int = 0,
) -> NDArray[np.void]:
    """Convert a series to messages.

    Values that do not fit 16 bits are saturated. A receiver of HIL_SENSOR may quantise id 0 as a
    sensor would (PX4: 16 g and 2000 degrees a second in 16 bits).

    Parameters
    ----------
    kind : Kind or its name
        Which message; no attitude.
    series : ImuSeries
        N rows, in any body frame. NaN is not measured, which only HIL_SENSOR and HIGHRES_IMU
        can say of angular velocity and specific force.
    ambient : Ambient, optional
        The other measurements.
    scale : RawScale, optional
        Of RAW_IMU, which needs it.
    sensor_id : int
        Of HIL_SENSOR, HIGHRES_IMU and RAW_IMU.

    Returns
    -------
    (N,) array of DTYPES[kind]

    Raises
    ------
    ValueRangeError
        A stamp does not fit, a sample is missing that the message cannot leave out, or RAW_IMU
        has no scale.
    UnknownNameError
        The message holds no IMU.
    ShapeError
        Ambient numbers are not one a row.
    """
    kind = as_member(Kind, kind, "MAVLink message")
    series = series.in_frames(body=BodyFrame.FRD)
    records = np.zeros(len(series), DTYPES[kind])
    put_stamps(records, series.t_ns)
    if kind in COUNT_KINDS:
        _put_counts(kind, records, series, scale)
        _put_temperature(records, ambient.temperature)
    else:
        _check_imu(kind)
        _put_readings(records, series, ambient)
    if "id" in (records.dtype.names or ()):
        records["id"] = sensor_id
    return records


def _put_readings(records: NDArray[np.void], series: ImuSeries, ambient: Ambient) -> None:
    """Write float32, with one bit for each that is a number."""
    mag = series.magnetic_field
    readings = np.full((len(series), len(FLOATS)), np.nan)
    readings[:, :3] = series.specific_force
    readings[:, 3:6] = series.angular_velocity
    if mag is not None:
        readings[:, 6:9] = mag / GAUSS
    for index, name in enumerate(FLOATS[9:], 9):
        readings[:, index] = _one_a_row(getattr(ambient, name), name, len(series))
    with np.errstate(over="ignore"):
        rounded = readings.astype(np.float32)
    fresh = np.isfinite(rounded)
    for name, column, is_fresh in zip(FLOATS, rounded.T, fresh.T, strict=True):
        records[name] = np.where(is_fresh, column, 0.0)
    records["fields_updated"] = fresh @ _FRESH


def _put_counts(
    kind: Kind, records: NDArray[np.void], series: ImuSeries, scale: RawScale | None
) -> None:
    """Write whole numbers, truncated toward zero and saturated."""
    imu = np.hstack([series.specific_force, series.angular_velocity])
    if not np.isfinite(imu).all():
        raise ValueRangeError(
            "expected angular velocity and specific force in every row, got some without: "
            f"{kind.name} cannot leave them out; send HIL_SENSOR or HIGHRES_IMU"
        )
    mag = np.zeros((len(series), 3)) if series.magnetic_field is None else series.magnetic_field
    times, over = _count_scale(kind, scale)
    with np.errstate(over="ignore"):
        counts = np.hstack([imu, np.nan_to_num(mag)]) * times / over
    counts = np.clip(np.trunc(counts), _LIMITS.min, _LIMITS.max)
    for name, column in zip(AXES, counts.T, strict=True):
        records[name] = column


def _put_temperature(records: NDArray[np.void], celsius: ArrayLike) -> None:
    """Write hundredths of degrees; 0 means none, so 0 itself is sent as 1."""
    hundredths = np.trunc(100.0 * _one_a_row(celsius, "temperature", len(records)))
    hundredths[hundredths == 0.0] = 1.0
    records["temperature"] = np.clip(np.nan_to_num(hundredths), _LIMITS.min, _LIMITS.max)


def _one_a_row(values: ArrayLike, name: str, rows: int) -> FloatArray:
    column = as_floats(values, name, ())
    if column.shape not in {(), (rows,)}:
        raise ShapeError(f"expected {name} as one number or {rows}, got shape {column.shape}")
    return np.broadcast_to(column, (rows,))


def _count_scale(kind: Kind, scale: RawScale | None) -> tuple[FloatArray, FloatArray]:
    """Return what a value is multiplied with, and then divided by, to become counts, by axis."""
    times, over = (1000.0, 1000.0, 1000.0), (STANDARD_GRAVITY, 1.0, GAUSS)
    if kind is Kind.RAW_IMU:
        if scale is None:
            raise ValueRangeError(
                "expected a scale of RAW_IMU, got none: the message defines none; pass "
                "scale=RawScale(accel, gyro, mag) of its sender"
            )
        times, over = (1.0, 1.0, 1.0), (scale.accel, scale.gyro, scale.mag)
    return np.repeat(times, 3), np.repeat(over, 3)


def coarseness(kind: Kind) -> str:
    """Return the resolution of a message of whole numbers, for a note."""
    return "16 bits" if kind is Kind.RAW_IMU else "16 bits, in thousandths of g and rad/s"


def _check_imu(kind: Kind) -> None:
    if kind in ATTITUDE_KINDS:
        imus = [each for each in Kind if each not in ATTITUDE_KINDS]
        raise UnknownNameError("message with samples of an IMU", kind, imus)


# -- records to series -----------------------------------------------------------------------------


def series_from_records(
    kind: Kind | str, records: NDArray[np.void], *, scale: RawScale | None = None
) -> ImuSeries:
    """Convert messages to a series with their stamps.

    Parameters
    ----------
    kind : Kind or its name
        Which message; no attitude.
    records : (N,) array of DTYPES[kind]
        Of one sender and one sensor.
    scale : RawScale, optional
        Of RAW_IMU, which needs it.

    Returns
    -------
    ImuSeries
        N rows, FRD. What a message says is not measured is NaN; there is no magnetic field
        where no message has one (SCALED_IMU, RAW_IMU: all zero). The smallest and largest
        count are marked as clipped.

    Raises
    ------
    ValueRangeError
        A stamp does not fit, or RAW_IMU has no scale.
    UnknownNameError
        The message holds no IMU.
    """
    kind = as_member(Kind, kind, "MAVLink message")
    _check_imu(kind)
    is_counted = kind in COUNT_KINDS
    columns = np.stack([records[name] for name in AXES], axis=1).astype(np.float64)
    clipped = (columns == _LIMITS.min) | (columns == _LIMITS.max)
    if is_counted:
        times, over = _count_scale(kind, scale)
        columns = columns * over / times
        has_mag = bool(columns[:, 6:].any())
    else:
        fresh = (records["fields_updated"][:, None] & _FRESH[:9]) != 0
        columns[~fresh] = np.nan
        columns[:, 6:] *= GAUSS
        has_mag = bool(fresh[:, 6:].any())
    return ImuSeries(
        stamps_of(records),
        columns[:, 3:6],
        columns[:, :3],
        magnetic_field=columns[:, 6:] if has_mag else None,
        gyro_clipping=bits_from_axes(clipped[:, 3:6]) if is_counted else None,
        accel_clipping=bits_from_axes(clipped[:, :3]) if is_counted else None,
        body=BodyFrame.FRD,
        world=WorldFrame.NED,
        sensor=SensorIdentity(kind.name),
    )

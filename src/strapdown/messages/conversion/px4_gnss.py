"""Conversion between PX4's GNSS and barometer messages and series.

Rows are taken by the names of their fields, so that every release can be read: positions are whole
1e-7 degrees and millimetres (``lat``, ``alt_ellipsoid``) up to v1.14, later degrees and metres
(``latitude_deg``, ``altitude_ellipsoid_m``). Written are the fields of v1.15 that a series knows.

References
----------
``msg/SensorGps.msg`` and ``msg/VehicleAirData.msg`` of PX4-Autopilot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.geometry.frames import WorldFrame
from strapdown.messages._by_column import unsigned_from_stamps
from strapdown.series import BarometerSeries, FixType, GnssSeries, SensorIdentity
from strapdown.units import NS_PER_US, RAD_PER_DEG

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import AnyArray, FloatArray, IntArray

__all__ = [
    "AIR_DATA",
    "SENSOR_GPS",
    "air_data_from_barometer",
    "barometer_from_air_data",
    "gnss_from_sensor_gps",
    "sensor_gps_from_gnss",
]

_POSITION: Final = (
    (("latitude_deg", 1.0), ("longitude_deg", 1.0), ("altitude_ellipsoid_m", 1.0)),
    (("lat", 1e-7), ("lon", 1e-7), ("alt_ellipsoid", 1e-3)),
)
"""Names of latitude, longitude and altitude with factors to [deg] and [m], newest first."""
_LAST_COMMON: Final = FixType.RTK_FIXED
"""Fix types have the numbers of PX4 up to this one; the one of PX4 above is extrapolated."""
_PX4_TYPES: Final = np.array([0, 8, 2, 3, 4, 5, 6, 3], np.uint8)  # PX4 knows no PPP
_UNKNOWN_SATELLITES: Final = 255  # as in MAVLink, from which PX4 copies it
_STAMPED: Final = [("timestamp", "<u8"), ("timestamp_sample", "<u8"), ("device_id", "<u4")]
SENSOR_GPS: Final = np.dtype([
    *_STAMPED,
    *((name, "<f8") for name in ("latitude_deg", "longitude_deg")),
    *((name, "<f8") for name in ("altitude_msl_m", "altitude_ellipsoid_m")),
    ("s_variance_m_s", "<f4"), ("fix_type", "u1"), ("eph", "<f4"), ("epv", "<f4"),
    *((f"vel_{axis}m_s", "<f4") for axis in ("", "n_", "e_", "d_")),
    ("cog_rad", "<f4"), ("vel_ned_valid", "?"), ("time_utc_usec", "<u8"),
    ("satellites_used", "u1"), ("heading", "<f4"), ("heading_accuracy", "<f4"),
])  # fmt: skip
"""Fields of ``sensor_gps`` and ``vehicle_gps_position`` that are written."""
AIR_DATA: Final = np.dtype([
    *_STAMPED[:2], ("baro_device_id", "<u4"), ("baro_alt_meter", "<f4"),
    ("baro_temp_celcius", "<f4"), ("baro_pressure_pa", "<f4"),
])  # fmt: skip
"""Fields of ``vehicle_air_data`` that are written."""


def gnss_from_sensor_gps(rows: NDArray[np.void], *, name: str = "") -> GnssSeries | None:
    """Convert ``sensor_gps`` or ``vehicle_gps_position`` of any release.

    Parameters
    ----------
    rows : (N,) structured array
        With the fields of the release.
    name : str
        Name of the receiver.

    Returns
    -------
    GnssSeries or None
        In ENU; ``eph``, ``epv`` and ``s_variance_m_s`` are taken as standard deviations of each
        axis. A row without a fix, or with an impossible latitude, has no position, one with a
        fix of two dimensions no altitude. None where the rows have no position.
    """
    fields = rows.dtype.names or ()
    place = next((each for each in _POSITION if all(field in fields for field, _ in each)), None)
    if place is None:
        return None
    latitude, longitude, altitude = (factor * _numbers(rows, field) for field, factor in place)
    latitude[~(np.abs(latitude) <= 90.0)] = np.nan
    types = np.zeros(len(rows), np.uint8)
    if "fix_type" in fields:
        types = rows["fix_type"].astype(np.uint8)
        types[types > _LAST_COMMON] = FixType.DEAD_RECKONING
        latitude[types < FixType.FIX_2D] = np.nan
        longitude[types < FixType.FIX_2D] = np.nan
        altitude[types < FixType.FIX_3D] = np.nan
    velocity = np.stack(
        [
            _numbers(rows, "vel_e_m_s"),
            _numbers(rows, "vel_n_m_s"),
            -_numbers(rows, "vel_d_m_s"),
        ],
        axis=-1,
    )
    if "vel_ned_valid" in fields:
        velocity[rows["vel_ned_valid"] == 0] = np.nan
    speed, plane, up = (_numbers(rows, field) for field in ("s_variance_m_s", "eph", "epv"))
    return GnssSeries(
        _stamps(rows),
        RAD_PER_DEG * latitude,
        RAD_PER_DEG * longitude,
        altitude,
        _diagonal(plane, plane, up),
        velocity_world=velocity,
        velocity_covariance=_diagonal(speed, speed, speed),
        heading=_wrapped(np.pi / 2.0 - _numbers(rows, "heading")),
        heading_sigma=_known(_numbers(rows, "heading_accuracy")),
        fix_type=types if "fix_type" in fields else None,
        satellites=rows["satellites_used"] if "satellites_used" in fields else None,
        sensor=SensorIdentity(name),
    )


def barometer_from_air_data(rows: NDArray[np.void], *, name: str = "") -> BarometerSeries | None:
    """Convert ``vehicle_air_data`` of any release.

    Parameters
    ----------
    rows : (N,) structured array
        With the fields of the release.
    name : str
        Name of the barometer.

    Returns
    -------
    BarometerSeries or None
        None where the rows have no altitude.
    """
    fields = rows.dtype.names or ()
    if "baro_alt_meter" not in fields:
        return None
    temperature = "baro_temp_celcius" if "baro_temp_celcius" in fields else "ambient_temperature"
    return BarometerSeries(
        _stamps(rows),
        _numbers(rows, "baro_alt_meter"),
        pressure=_numbers(rows, "baro_pressure_pa"),
        temperature=_numbers(rows, temperature),
        sensor=SensorIdentity(name),
    )


def sensor_gps_from_gnss(series: GnssSeries) -> NDArray[np.void]:
    """Convert fixes to rows of ``sensor_gps``.

    Parameters
    ----------
    series : GnssSeries
        N fixes.

    Returns
    -------
    (N,) array of ``SENSOR_GPS``
        A standard deviation is the mean of its axes. A type that is unknown follows from the
        position; the height above the sea is NaN, and an unknown number of satellites 255.

    Raises
    ------
    ValueRangeError
        A stamp is negative.
    """
    series = series.in_frames(world=WorldFrame.ENU)
    rows = np.zeros(len(series), SENSOR_GPS)
    _stamp(rows, series)
    rows["latitude_deg"] = series.latitude / RAD_PER_DEG
    rows["longitude_deg"] = series.longitude / RAD_PER_DEG
    rows["altitude_msl_m"], rows["altitude_ellipsoid_m"] = np.nan, series.altitude
    spread = np.sqrt(np.diagonal(series.position_covariance, axis1=1, axis2=2))
    rows["eph"], rows["epv"] = np.hypot(*spread[:, :2].T) / np.sqrt(2.0), spread[:, 2]
    place = series.has_fix.astype(np.uint8)
    usual = place * (FixType.FIX_2D + np.isfinite(series.altitude))
    rows["fix_type"] = usual if series.fix_type is None else _PX4_TYPES[series.fix_type]
    rows["satellites_used"] = _or(series.satellites, _UNKNOWN_SATELLITES)
    velocity = _or(series.velocity_world, np.full((len(series), 3), np.nan))
    rows["vel_e_m_s"], rows["vel_n_m_s"], up = velocity.T
    rows["vel_d_m_s"] = -up
    rows["vel_m_s"] = np.linalg.norm(velocity, axis=1)
    rows["cog_rad"] = np.arctan2(*velocity[:, :2].T)
    rows["vel_ned_valid"] = np.isfinite(velocity).any(axis=1)
    speed = _or(series.velocity_covariance, np.zeros((len(series), 3, 3)))
    rows["s_variance_m_s"] = np.sqrt(np.trace(speed, axis1=1, axis2=2) / 3.0)
    rows["heading"] = _wrapped(np.pi / 2.0 - _or(series.heading, np.nan))
    rows["heading_accuracy"] = _or(series.heading_sigma, np.nan)
    return rows


def air_data_from_barometer(series: BarometerSeries) -> NDArray[np.void]:
    """Convert readings of a barometer to rows of ``vehicle_air_data``.

    Parameters
    ----------
    series : BarometerSeries
        N readings.

    Returns
    -------
    (N,) array of ``AIR_DATA``
        NaN where a quantity is unknown.

    Raises
    ------
    ValueRangeError
        A stamp is negative.
    """
    rows = np.zeros(len(series), AIR_DATA)
    _stamp(rows, series)
    rows["baro_alt_meter"] = series.altitude
    rows["baro_pressure_pa"] = _or(series.pressure, np.nan)
    rows["baro_temp_celcius"] = _or(series.temperature, np.nan)
    return rows


def _stamp(rows: NDArray[np.void], series: GnssSeries | BarometerSeries) -> None:
    stamps = unsigned_from_stamps(series.t_ns, "t_ns", np.uint64, NS_PER_US)
    rows["timestamp"] = rows["timestamp_sample"] = stamps


def _or(column: AnyArray | None, unknown: Any) -> Any:  # noqa: ANN401 (an array or a number)
    return unknown if column is None else column


def _stamps(rows: NDArray[np.void]) -> IntArray:
    """Return the time of each sample [ns]; before v1.14 that of publication."""
    stamps = rows["timestamp"].astype(np.int64)
    if "timestamp_sample" in (rows.dtype.names or ()):
        sampled = rows["timestamp_sample"].astype(np.int64)
        stamps = np.where(sampled > 0, sampled, stamps)
    return stamps * NS_PER_US


def _numbers(rows: NDArray[np.void], name: str) -> FloatArray:
    """Return a field as float64; NaN where the release has no such field."""
    if name not in (rows.dtype.names or ()):
        return np.full(len(rows), np.nan)
    return rows[name].astype(np.float64)


def _known(sigma: FloatArray) -> FloatArray:
    """Return standard deviations; 0 where they are unknown."""
    return np.where(sigma > 0.0, sigma, 0.0)


def _diagonal(*sigmas: FloatArray) -> FloatArray:
    """Return covariances (N, 3, 3); zeros where a standard deviation is unknown."""
    sigma = np.stack([_known(each) for each in sigmas], axis=-1)
    sigma[(sigma == 0.0).any(axis=-1)] = 0.0
    return sigma[..., None] ** 2 * np.eye(3)


def _wrapped(angle: FloatArray) -> FloatArray:
    """Return angles in -pi ... pi."""
    return np.asarray(np.arctan2(np.sin(angle), np.cos(angle)))

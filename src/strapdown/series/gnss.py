"""Fixes of a GNSS receiver, and readings of a barometer, as series."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite, as_floats
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion, wgs84
from strapdown.geometry.frames import WorldFrame
from strapdown.series.columns import (
    ANGLE,
    COUNTER,
    SCALAR,
    WORLD_COVARIANCE,
    WORLD_VECTOR,
    Columns,
    as_stamps,
)
from strapdown.series.series import SensorIdentity
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from typing import Any, Self

    from strapdown._typing import ArrayLike, BoolArray, ByteArray, FloatArray

__all__ = ["BarometerSeries", "FixType", "GnssSeries", "pressure_altitude"]

_SEA_LEVEL_PRESSURE: Final = 101_325.0  # Pa
_SEA_LEVEL_TEMPERATURE: Final = 288.15  # K
_LAPSE_RATE: Final = 0.0065  # K/m, up to 11 km
_AIR_CONSTANT: Final = 287.05287  # J/(kg K)


class FixType(IntEnum):
    """Kind of a position solution; the numbers are those of PX4's ``sensor_gps``, up to 6."""

    NO_FIX = 0
    DEAD_RECKONING = 1
    FIX_2D = 2
    FIX_3D = 3
    DIFFERENTIAL = 4
    RTK_FLOAT = 5
    RTK_FIXED = 6
    PPP = 7


@dataclass(frozen=True, eq=False, repr=False)
class GnssSeries(Columns):
    """Fixes of a GNSS receiver: geodetic positions, with velocity and heading where known.

    Parameters
    ----------
    t_ns : (N,) int64
        Time of validity of each fix [ns].
    latitude, longitude : (N,)
        Of the antenna, geodetic on WGS 84 [rad]; NaN in a row without a fix.
    altitude : (N,)
        Above the WGS 84 ellipsoid, not above sea level [m]; NaN where it is unknown, as in a fix
        of two dimensions.
    position_covariance : (N, 3, 3)
        Of the position, along local east, north and up [m^2, world]; a row of zeros is unknown.
    velocity_world : (N, 3), optional
        Of the antenna, along local east, north and up [m/s, world].
    velocity_covariance : (N, 3, 3), optional
        [m^2/s^2, world]; a row of zeros is unknown.
    heading : (N,), optional
        Of the vehicle, as from two antennas: angle of its forward axis from east towards north,
        in every world frame [rad]; NaN where it is unknown. The course over ground is the
        direction of ``velocity_world`` and no heading.
    heading_sigma : (N,), optional
        Standard deviation of the heading [rad]; 0 is unknown.
    fix_type : (N,) uint8, optional
        :class:`FixType` of each row.
    satellites : (N,) uint8, optional
        Number of satellites used.
    world : WorldFrame or name, optional
        Order and signs of the local axes, by default ENU.
    sensor : SensorIdentity, optional
        Identity of the receiver.

    Raises
    ------
    ShapeError, FrameError, TypeError
        As :class:`ImuSeries`.
    ValueRangeError
        A latitude is outside -pi/2 ... pi/2, or an integer does not fit its column.

    Examples
    --------
    >>> import numpy as np
    >>> GnssSeries([0, 200_000_000], [0.7, 0.7], [0.1, 0.1], [300.0, 300.5], np.zeros((2, 3, 3)))
    GnssSeries(2 samples, 0.2 s, 5.0 Hz, world=ENU)
    """

    latitude: FloatArray = field(metadata=ANGLE)
    longitude: FloatArray = field(metadata=ANGLE)
    altitude: FloatArray = field(metadata=SCALAR)
    position_covariance: FloatArray = field(metadata=WORLD_COVARIANCE)
    velocity_world: FloatArray | None = field(default=None, kw_only=True, metadata=WORLD_VECTOR)
    velocity_covariance: FloatArray | None = field(
        default=None, kw_only=True, metadata=WORLD_COVARIANCE
    )
    heading: FloatArray | None = field(default=None, kw_only=True, metadata=ANGLE)
    heading_sigma: FloatArray | None = field(default=None, kw_only=True, metadata=SCALAR)
    fix_type: ByteArray | None = field(default=None, kw_only=True, metadata=COUNTER)
    satellites: ByteArray | None = field(default=None, kw_only=True, metadata=COUNTER)
    world: WorldFrame = field(default=WorldFrame.ENU, kw_only=True)
    sensor: SensorIdentity = field(default=SensorIdentity(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        wgs84.as_latitude(self.latitude)

    @property
    def has_fix(self) -> BoolArray:
        """Rows with a latitude, a longitude and, where the type is known, a measured position."""
        known = np.isfinite(self.latitude) & np.isfinite(self.longitude)
        return known if self.fix_type is None else known & (self.fix_type >= FixType.FIX_2D)

    @property
    def origin(self) -> tuple[float, float, float]:
        """Latitude, longitude [rad] and altitude [m] of the first fix that has all three.

        Raises
        ------
        ValueRangeError
            There is none.
        """
        rows = np.flatnonzero(self.has_fix & np.isfinite(self.altitude))
        if not rows.size:
            raise ValueRangeError(
                f"expected a fix with latitude, longitude and altitude, got none in {self!r}"
            )
        columns = (self.latitude, self.longitude, self.altitude)
        latitude, longitude, altitude = (float(column[rows[0]]) for column in columns)
        return latitude, longitude, altitude

    def local_enu(self, origin: ArrayLike | None = None) -> FloatArray:
        """Return the positions along east, north and up of an origin.

        The axes are those of the origin at every distance: a point on the ellipsoid 1 km away is
        8 cm below the plane.

        Parameters
        ----------
        origin : array_like, shape (3,), optional
            Latitude, longitude [rad] and altitude [m]; by default :attr:`origin`.

        Returns
        -------
        ndarray, shape (N, 3)
            [m], in every world frame along east, north and up; NaN without a fix.

        Raises
        ------
        ShapeError, ValueRangeError
            The origin has another shape, is not finite, or is beyond a pole; or no fix has an
            altitude.

        Examples
        --------
        >>> import numpy as np
        >>> fixes = GnssSeries([0, 1], [0.0, 0.0], [0.0, 1e-6], [0.0, 0.0], np.zeros((2, 3, 3)))
        >>> fixes.local_enu().round(3).tolist()
        [[0.0, 0.0, 0.0], [6.378, 0.0, -0.0]]
        """
        at, q_ecef_from_enu = _origin(self.origin if origin is None else origin)
        ecef = wgs84.ecef_from_geodetic(self.latitude, self.longitude, self.altitude)
        return quaternion.rotate(quaternion.conjugate(q_ecef_from_enu), ecef - at)

    @classmethod
    def from_local_enu(
        cls,
        t_ns: ArrayLike,
        position: ArrayLike,
        origin: ArrayLike,
        position_covariance: ArrayLike | None = None,
        **columns: Any,  # noqa: ANN401 (fields of several types, checked by the constructor)
    ) -> Self:
        """Return fixes at positions along east, north and up of an origin.

        Parameters
        ----------
        t_ns : (N,) int64
            [ns].
        position : array_like, shape (N, 3)
            [m].
        origin : array_like, shape (3,)
            Latitude, longitude [rad] and altitude [m].
        position_covariance : array_like, shape (N, 3, 3), optional
            [m^2]; by default unknown.
        **columns
            Other fields, by name.

        Returns
        -------
        GnssSeries

        Raises
        ------
        ShapeError, TypeError, FrameError, ValueRangeError
            As from the constructor; or the origin is not a point on the Earth.
        """
        stamps = as_stamps(t_ns)
        at, q_ecef_from_enu = _origin(origin)
        ecef = at + quaternion.rotate(q_ecef_from_enu, as_floats(position, "position", (3,)))
        latitude, longitude, altitude = wgs84.geodetic_from_ecef(ecef)
        if position_covariance is None:
            position_covariance = np.zeros((stamps.size, 3, 3))
        covariance = as_floats(position_covariance, "position_covariance", (3, 3))
        return cls(stamps, latitude, longitude, altitude, covariance, **columns)


@dataclass(frozen=True, eq=False, repr=False)
class BarometerSeries(Columns):
    """Readings of a barometer.

    Parameters
    ----------
    t_ns : (N,) int64
        Time of each reading [ns].
    altitude : (N,)
        Pressure altitude [m]. Its offset from the height above the ellipsoid depends on the
        weather and changes slowly.
    pressure : (N,), optional
        Static pressure [Pa].
    temperature : (N,), optional
        Of the sensor [degC].
    sensor : SensorIdentity, optional
        Identity of the sensor.

    Raises
    ------
    ShapeError, TypeError
        As :class:`ImuSeries`.
    """

    altitude: FloatArray = field(metadata=SCALAR)
    pressure: FloatArray | None = field(default=None, kw_only=True, metadata=SCALAR)
    temperature: FloatArray | None = field(default=None, kw_only=True, metadata=SCALAR)
    sensor: SensorIdentity = field(default=SensorIdentity(), kw_only=True)


def pressure_altitude(pressure: ArrayLike) -> FloatArray:
    """Return the altitude of a pressure in the standard atmosphere.

    Parameters
    ----------
    pressure : array_like, shape (...)
        Static pressure [Pa].

    Returns
    -------
    ndarray, shape (...)
        Geopotential altitude above the level of 101325 Pa [m]; up to 11 km.

    Raises
    ------
    ValueRangeError
        A pressure is 0 or negative.

    References
    ----------
    ISO 2533:1975, "Standard Atmosphere".

    Examples
    --------
    >>> float(pressure_altitude(89_874.6).round(1))
    1000.0
    """
    pressure = as_floats(pressure, "pressure", ())
    wrong = pressure[pressure <= 0.0]
    if wrong.size:
        raise ValueRangeError(f"expected pressures above 0 Pa, got {wrong[0]}")
    power = _AIR_CONSTANT * _LAPSE_RATE / STANDARD_GRAVITY
    ratio = (pressure / _SEA_LEVEL_PRESSURE) ** power
    return np.asarray(_SEA_LEVEL_TEMPERATURE / _LAPSE_RATE * (1.0 - ratio))


def _origin(origin: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the position of an origin in ECEF, and the attitude of its axes there."""
    place = as_finite(origin, "origin", (3,))
    if place.ndim != 1:
        raise ShapeError(f"expected origin of shape (3,), got {place.shape}")
    latitude, longitude, altitude = place
    return (
        wgs84.ecef_from_geodetic(latitude, longitude, altitude),
        wgs84.q_ecef_from_enu(latitude, longitude),
    )

"""Geodetic positions of a GPS: latitude and longitude [deg] and altitude [m] of points of a world.

The origin of the world is at ``gpsReference`` of its WorldInfo. The releases add positions to the
coordinates of the reference in its UTM zone; lengths on that grid differ from true ones by up to
0.1 %, and its north from true north by up to 3 deg. The profile ``documented`` uses the plane that
touches the ellipsoid at the reference.

References
----------
J. P. Snyder, "Map Projections: A Working Manual", USGS Professional Paper 1395, 1987, equations
8-9 to 8-25.
"""

from __future__ import annotations

from math import cos, degrees, floor, radians, sin, sqrt, tan
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.geometry import quaternion, wgs84

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["EAST_NORTH_UP", "UtmZone", "east_north_up", "geodetic_converter"]

_SCALE: Final = 0.9996
_FALSE_EAST: Final = 500_000.0
_FALSE_NORTH: Final = 10_000_000.0
_A: Final = wgs84.SEMI_MAJOR_AXIS
_E2: Final = wgs84.ECCENTRICITY_SQUARED
_EP2: Final = _E2 / (1.0 - _E2)

EAST_NORTH_UP: Final = {"ENU": (0, 1, 2), "NUE": (2, 0, 1), "EUN": (0, 2, 1)}
"""Axes of a world that point east, north and up, by its coordinate system."""


def east_north_up(position: Sequence[float], coordinate_system: str) -> tuple[float, float, float]:
    """Return the coordinates of a world in the order east, north, up.

    Examples
    --------
    >>> east_north_up((1.0, 2.0, 3.0), "NUE")
    (3.0, 1.0, 2.0)
    """
    east, north, up = EAST_NORTH_UP[coordinate_system]
    return position[east], position[north], position[up]


class UtmZone(NamedTuple):
    """A zone of the Universal Transverse Mercator grid."""

    meridian: float
    """Longitude of its middle [rad]."""
    false_north: float
    """Northing of the equator [m]."""

    @classmethod
    def of(cls, latitude: float, longitude: float) -> UtmZone:
        """Return the zone of a point [deg], without the exceptions of Norway and Svalbard."""
        zone = floor((longitude + 180.0) / 6.0)
        return cls(radians(6.0 * zone - 177.0), _FALSE_NORTH if latitude < 0.0 else 0.0)

    def grid(self, latitude: float, longitude: float) -> tuple[float, float]:
        """Return easting and northing [m] of a point [deg].

        Examples
        --------
        >>> zone = UtmZone.of(43.642567, -79.387139)
        >>> [round(metres) for metres in zone.grid(43.642567, -79.387139)]
        [630084, 4833439]
        """
        phi = radians(latitude)
        N = _A / sqrt(1.0 - _E2 * sin(phi) ** 2)
        T, C = tan(phi) ** 2, _EP2 * cos(phi) ** 2
        A = (radians(longitude) - self.meridian) * cos(phi)
        east = A + (1.0 - T + C) * A**3 / 6.0
        east += (5.0 - 18.0 * T + T**2 + 72.0 * C - 58.0 * _EP2) * A**5 / 120.0
        north = A**2 / 2.0 + (5.0 - T + 9.0 * C + 4.0 * C**2) * A**4 / 24.0
        north += (61.0 - 58.0 * T + T**2 + 600.0 * C - 330.0 * _EP2) * A**6 / 720.0
        north = _meridian_arc(phi) + N * tan(phi) * north
        return _FALSE_EAST + _SCALE * N * east, self.false_north + _SCALE * north

    def geodetic(self, east: float, north: float) -> tuple[float, float]:
        """Return latitude and longitude [deg] of a point of the grid [m]."""
        mu = (north - self.false_north) / _SCALE / (_A * _ARC[0])
        e1 = (1.0 - sqrt(1.0 - _E2)) / (1.0 + sqrt(1.0 - _E2))
        phi = mu + (1.5 * e1 - 27.0 / 32.0 * e1**3) * sin(2.0 * mu)
        phi += (21.0 / 16.0 * e1**2 - 55.0 / 32.0 * e1**4) * sin(4.0 * mu)
        phi += 151.0 / 96.0 * e1**3 * sin(6.0 * mu) + 1097.0 / 512.0 * e1**4 * sin(8.0 * mu)
        C, T = _EP2 * cos(phi) ** 2, tan(phi) ** 2
        N = _A / sqrt(1.0 - _E2 * sin(phi) ** 2)
        R = N * (1.0 - _E2) / (1.0 - _E2 * sin(phi) ** 2)
        D = (east - _FALSE_EAST) / (N * _SCALE)
        fall = (5.0 + 3.0 * T + 10.0 * C - 4.0 * C**2 - 9.0 * _EP2) * D**4 / 24.0
        rise = (
            (61.0 + 90.0 * T + 298.0 * C + 45.0 * T**2 - 252.0 * _EP2 - 3.0 * C**2) * D**6 / 720.0
        )
        latitude = phi - N * tan(phi) / R * (D**2 / 2.0 - fall + rise)
        turn = D - (1.0 + 2.0 * T + C) * D**3 / 6.0
        turn += (5.0 - 2.0 * C + 28.0 * T - 3.0 * C**2 + 8.0 * _EP2 + 24.0 * T**2) * D**5 / 120.0
        return degrees(latitude), degrees(self.meridian + turn / cos(phi))


_ARC: Final = (
    1.0 - _E2 / 4.0 - 3.0 * _E2**2 / 64.0 - 5.0 * _E2**3 / 256.0,
    3.0 * _E2 / 8.0 + 3.0 * _E2**2 / 32.0 + 45.0 * _E2**3 / 1024.0,
    15.0 * _E2**2 / 256.0 + 45.0 * _E2**3 / 1024.0,
    35.0 * _E2**3 / 3072.0,
)


def _meridian_arc(phi: float) -> float:
    """Return the length of the meridian from the equator to a latitude [rad] in metres."""
    a, b, c, d = _ARC
    return _A * (a * phi - b * sin(2.0 * phi) + c * sin(4.0 * phi) - d * sin(6.0 * phi))


def geodetic_converter(
    reference: Sequence[float], round_metres: Callable[[float], float], *, tangent: bool
) -> Callable[[Sequence[float]], tuple[float, float, float]]:
    """Return the function from east, north and up [m] to latitude, longitude [deg] and altitude.

    Parameters
    ----------
    reference : (3,)
        Latitude, longitude [deg] and altitude [m] of the origin of the world.
    round_metres : callable
        Applied to each coordinate in metres: to grid coordinates, or to those of the plane.
    tangent : bool
        The plane that touches the ellipsoid, instead of the UTM grid.
    """
    latitude, longitude, altitude = reference
    if tangent:
        at = np.radians((latitude, longitude))
        center = wgs84.ecef_from_geodetic(at[0], at[1], altitude)
        axes = quaternion.to_matrix(wgs84.q_ecef_from_enu(at[0], at[1]))

        def from_plane(local: Sequence[float]) -> tuple[float, float, float]:
            offset = np.array([round_metres(value) for value in local])
            phi, lam, height = map(float, wgs84.geodetic_from_ecef(center + axes @ offset))
            return degrees(phi), degrees(lam), height

        return from_plane
    zone = UtmZone.of(latitude, longitude)
    origin = *zone.grid(latitude, longitude), altitude

    def from_grid(local: Sequence[float]) -> tuple[float, float, float]:
        east, north, up = (round_metres(a + b) for a, b in zip(origin, local, strict=True))
        return *zone.geodetic(east, north), up

    return from_grid

"""WGS 84: the ellipsoid, its rotation, and positions on it.

Geodetic positions are latitude and longitude [rad] and height above the ellipsoid [m]. ECEF is
the frame fixed to the Earth with its origin at the centre, z to the north pole and x through
longitude 0. ENU axes at a point follow the ellipsoid's normal there.

References
----------
NGA.STND.0036, "World Geodetic System 1984", chapters 3 and 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_floats
from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = [
    "CENTRIFUGAL_RATIO",
    "EARTH_RATE",
    "ECCENTRICITY_SQUARED",
    "EQUATORIAL_GRAVITY",
    "FLATTENING",
    "SEMI_MAJOR_AXIS",
    "SEMI_MINOR_AXIS",
    "SOMIGLIANA",
    "as_latitude",
    "ecef_from_geodetic",
    "geodetic_from_ecef",
    "q_ecef_from_enu",
    "radii",
]

SEMI_MAJOR_AXIS: Final = 6378137.0
"""[m]."""
FLATTENING: Final = 1.0 / 298.257223563
SEMI_MINOR_AXIS: Final = SEMI_MAJOR_AXIS * (1.0 - FLATTENING)
"""[m]."""
ECCENTRICITY_SQUARED: Final = FLATTENING * (2.0 - FLATTENING)
EARTH_RATE: Final = 7.292115e-5
"""Angular velocity about the axis through the poles [rad/s]."""
EQUATORIAL_GRAVITY: Final = 9.7803253359
"""Normal gravity on the equator [m/s^2]."""
SOMIGLIANA: Final = 0.00193185265241
"""Constant k of Somigliana's formula."""
CENTRIFUGAL_RATIO: Final = 0.00344978650684
"""omega^2 a^2 b / GM."""

_NEAREST: Final = 1e6  # m from the centre; inside some 43 km a point has several normals
_ITERATIONS: Final = 3


def as_latitude(latitude: ArrayLike) -> FloatArray:
    """Return latitudes as float64, and require them to be within -pi/2 ... pi/2 or NaN.

    Raises
    ------
    ValueRangeError
        A latitude is outside -pi/2 ... pi/2.
    """
    latitude = as_floats(latitude, "latitude", ())
    outside = latitude[np.abs(latitude) > np.pi / 2.0]
    if outside.size:
        raise ValueRangeError(
            f"expected a latitude in -pi/2 ... pi/2 rad, got {outside[0]}; convert degrees"
        )
    return latitude


def radii(latitude: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the radii of curvature of the ellipsoid.

    Parameters
    ----------
    latitude : array_like, shape (...)
        [rad].

    Returns
    -------
    meridian, prime_vertical : ndarray, shape (...)
        Along north, and along east [m].

    Raises
    ------
    ValueRangeError
        A latitude is outside -pi/2 ... pi/2.
    """
    square = 1.0 - ECCENTRICITY_SQUARED * np.sin(as_latitude(latitude)) ** 2
    prime_vertical = np.asarray(SEMI_MAJOR_AXIS / np.sqrt(square))
    return prime_vertical * (1.0 - ECCENTRICITY_SQUARED) / square, prime_vertical


def ecef_from_geodetic(latitude: ArrayLike, longitude: ArrayLike, height: ArrayLike) -> FloatArray:
    """Return positions in ECEF.

    Parameters
    ----------
    latitude, longitude : array_like, shape (...)
        [rad].
    height : array_like, shape (...)
        Above the ellipsoid [m].

    Returns
    -------
    ndarray, shape (..., 3)
        [m].

    Raises
    ------
    ValueRangeError
        A latitude is outside -pi/2 ... pi/2.
    """
    latitude = as_latitude(latitude)
    longitude = as_floats(longitude, "longitude", ())
    height = as_floats(height, "height", ())
    _, prime_vertical = radii(latitude)
    from_axis = (prime_vertical + height) * np.cos(latitude)
    z = (prime_vertical * (1.0 - ECCENTRICITY_SQUARED) + height) * np.sin(latitude)
    x, y = from_axis * np.cos(longitude), from_axis * np.sin(longitude)
    return np.stack(np.broadcast_arrays(x, y, z), axis=-1)


def geodetic_from_ecef(position: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return latitude, longitude and height of positions in ECEF.

    Bowring's iteration, accurate to rounding (1e-9 m near the ground) at all allowed positions.

    Parameters
    ----------
    position : array_like, shape (..., 3)
        At least 1000 km from the centre [m]; NaN gives NaN.

    Returns
    -------
    latitude, longitude, height : ndarray, shape (...)
        [rad], [rad] in -pi ... pi, [m above the ellipsoid]. On the axis the longitude is 0.

    Raises
    ------
    ValueRangeError
        A position is nearer to the centre.

    References
    ----------
    B. R. Bowring, "Transformation from spatial to geographical coordinates", Survey Review
    23(181), 1976; the height: "The accuracy of geodetic latitude and height equations", Survey
    Review 28(218), 1985.
    """
    position = as_floats(position, "position", (3,))
    x, y, z = np.moveaxis(position, -1, 0)
    from_axis = np.hypot(x, y)
    inside = position[np.hypot(from_axis, z) < _NEAREST]
    if inside.size:
        raise ValueRangeError(
            f"expected positions 1e6 m or more from the Earth's centre, got {inside[0].tolist()};"
            " convert kilometres, or pass ECEF"
        )
    # u is the parametric latitude of the point of the ellipsoid below, phi the geodetic one
    sine, cosine = _direction(SEMI_MAJOR_AXIS * z, SEMI_MINOR_AXIS * from_axis)
    for _ in range(_ITERATIONS):
        north = z + ECCENTRICITY_SQUARED / (1.0 - FLATTENING) * SEMI_MAJOR_AXIS * sine**3
        outward = from_axis - ECCENTRICITY_SQUARED * SEMI_MAJOR_AXIS * cosine**3
        sine, cosine = _direction((1.0 - FLATTENING) * north, outward)
    sine, cosine = _direction(north, outward)
    height = (
        from_axis * cosine
        + z * sine
        - SEMI_MAJOR_AXIS * np.sqrt(1.0 - ECCENTRICITY_SQUARED * sine**2)
    )
    return np.arctan2(sine, cosine), np.arctan2(y, x), height


def q_ecef_from_enu(latitude: ArrayLike, longitude: ArrayLike) -> FloatArray:
    """Return the attitude of east-north-up axes in ECEF.

    Parameters
    ----------
    latitude, longitude : array_like, shape (...)
        [rad].

    Returns
    -------
    ndarray, shape (..., 4)
        Of Rz(pi/2 + longitude) Rx(pi/2 - latitude).

    Raises
    ------
    ValueRangeError
        A latitude is outside -pi/2 ... pi/2.
    """
    tilt = np.pi / 4.0 - 0.5 * as_latitude(latitude)
    turn = np.pi / 4.0 + 0.5 * as_floats(longitude, "longitude", ())
    zero = np.zeros(np.broadcast_shapes(tilt.shape, turn.shape))
    about_z = np.stack([zero, zero, np.sin(turn) + zero, np.cos(turn) + zero], axis=-1)
    about_x = np.stack([np.sin(tilt) + zero, zero, zero, np.cos(tilt) + zero], axis=-1)
    return quaternion.multiply(about_z, about_x)


def _direction(y: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sine and cosine of the angle whose tangent is y / x."""
    length = np.hypot(x, y)
    return y / length, x / length

"""Gravity: the constant vector of a local frame, and the WGS 84 normal gravity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_floats
from strapdown.geometry.frames import WorldFrame, convert_vector
from strapdown.geometry.wgs84 import (
    CENTRIFUGAL_RATIO,
    ECCENTRICITY_SQUARED,
    EQUATORIAL_GRAVITY,
    FLATTENING,
    SEMI_MAJOR_AXIS,
    SOMIGLIANA,
    as_latitude,
)
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["gravity_world", "normal_gravity"]


def normal_gravity(latitude: ArrayLike, height: ArrayLike) -> FloatArray:
    """Return the magnitude of WGS 84 normal gravity.

    Somigliana's closed form on the ellipsoid, with a second-order series in the height above it
    that stays within 2e-6 m/s^2 of the exact field up to 20 km.

    Parameters
    ----------
    latitude : array_like, shape (...)
        Geodetic latitude [rad].
    height : array_like, shape (...)
        Height above the ellipsoid [m].

    Returns
    -------
    ndarray, shape (...)
        Gravity, centrifugal part included [m/s^2].

    Raises
    ------
    ValueRangeError
        A latitude is outside -pi/2 ... pi/2.

    References
    ----------
    NGA.STND.0036, "World Geodetic System 1984", eqs. 4-1 and 4-3.
    """
    height = as_floats(height, "height", ())
    sine_squared = np.sin(as_latitude(latitude)) ** 2
    ellipsoid = (
        EQUATORIAL_GRAVITY
        * (1.0 + SOMIGLIANA * sine_squared)
        / np.sqrt(1.0 - ECCENTRICITY_SQUARED * sine_squared)
    )
    h = height / SEMI_MAJOR_AXIS
    slope = 2.0 * (1.0 + FLATTENING + CENTRIFUGAL_RATIO - 2.0 * FLATTENING * sine_squared)
    return np.asarray(ellipsoid * (1.0 - slope * h + 3.0 * h**2))


def gravity_world(world: WorldFrame | str, g: float = STANDARD_GRAVITY) -> FloatArray:
    """Return the gravity vector, which points down.

    Parameters
    ----------
    world : WorldFrame, or its name
        The frame of the result.
    g : float
        Magnitude [m/s^2].

    Returns
    -------
    ndarray, shape (3,)
        In components of ``world`` [m/s^2].
    """
    return convert_vector([0.0, 0.0, -g], WorldFrame.ENU, world) + 0.0  # no -0.0

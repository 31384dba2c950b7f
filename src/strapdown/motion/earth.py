"""The world around a motion: gravity, and the rotation of the Earth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ValueRangeError
from strapdown.geometry import WorldFrame, quaternion, wgs84
from strapdown.geometry.gravity import gravity_world, normal_gravity
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

__all__ = ["FlatEarth", "Wgs84"]


@dataclass(frozen=True)
class FlatEarth:
    """A world ENU that does not rotate, with the same gravity everywhere.

    Parameters
    ----------
    gravity : float
        Magnitude, downwards [m/s^2].

    Raises
    ------
    ValueRangeError
        Gravity is negative or not finite.
    """

    gravity: float = STANDARD_GRAVITY

    def __post_init__(self) -> None:
        if not 0.0 <= self.gravity < np.inf:
            raise ValueRangeError(f"expected gravity of 0 or more, got {self.gravity}")

    @property
    def rate_world(self) -> FloatArray:
        """Angular velocity of the world (3,): zero [rad/s]."""
        return np.zeros(3)

    def gravity_world(self, position_world: FloatArray) -> FloatArray:
        """Return gravity at positions (N, 3) as (N, 3), pointing down [m/s^2, world]."""
        return np.broadcast_to(gravity_world(WorldFrame.ENU, self.gravity), position_world.shape)


@dataclass(frozen=True)
class Wgs84:
    """A world of east-north-up axes fixed to the rotating Earth, with normal gravity.

    The axes stay those of the origin, regardless of the position of the body. Gravity is normal
    gravity at the geodetic position of the point, along the ellipsoid's normal there, including
    the centrifugal part.

    Parameters
    ----------
    latitude, longitude : float
        Of the world's origin, geodetic [rad].
    height : float
        Of the origin above the ellipsoid [m].

    Raises
    ------
    ValueRangeError
        The latitude is outside -pi/2 ... pi/2, or something is not finite.
    """

    latitude: float
    longitude: float
    height: float = 0.0

    def __post_init__(self) -> None:
        as_finite([self.latitude, self.longitude, self.height], "latitude, longitude, height", (3,))
        wgs84.as_latitude(self.latitude)

    @cached_property
    def rate_world(self) -> FloatArray:
        """Angular velocity of the world (3,), the Earth's [rad/s, world]."""
        along_north, along_up = np.cos(self.latitude), np.sin(self.latitude)
        return wgs84.EARTH_RATE * np.array([0.0, along_north, along_up])

    def gravity_world(self, position_world: FloatArray) -> FloatArray:
        """Return gravity at positions (N, 3) as (N, 3) [m/s^2, world].

        Raises
        ------
        ValueRangeError
            A position is deep within the Earth.
        """
        q_ecef_from_world, origin = self._origin
        ecef = origin + quaternion.rotate(q_ecef_from_world, position_world)
        latitude, longitude, height = wgs84.geodetic_from_ecef(ecef)
        from_axis = np.cos(latitude)
        up = [from_axis * np.cos(longitude), from_axis * np.sin(longitude), np.sin(latitude)]
        gravity = -normal_gravity(latitude, height)[..., None] * np.stack(up, axis=-1)
        return quaternion.rotate(quaternion.conjugate(q_ecef_from_world), gravity)

    @cached_property
    def _origin(self) -> tuple[FloatArray, FloatArray]:
        """Attitude of the world's axes and position of its origin in ECEF."""
        return (
            wgs84.q_ecef_from_enu(self.latitude, self.longitude),
            wgs84.ecef_from_geodetic(self.latitude, self.longitude, self.height),
        )

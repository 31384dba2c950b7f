"""Path over the ellipsoid of a body whose velocity is known at any time.

Vectors are planar here: (3, N), one row a component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.geometry import WorldFrame, frames, quaternion, wgs84
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.motion._pieces import Panels, Pieces

__all__ = ["geographic", "q_world_from_enu", "transport_rate"]

_POLAR: Final = 89.9 * RAD_PER_DEG  # beyond, north-east-down axes spin about the vertical
_DEEPEST: Final = -1e6  # m; towards the centre of the Earth, latitude loses its meaning


def geographic(
    panels: Panels, velocity_ned: FloatArray, origin: tuple[float, float, float]
) -> Pieces:
    """Return the path over the WGS 84 ellipsoid.

    Parameters
    ----------
    panels : Panels
        Intervals of the integration.
    velocity_ned : (3, nodes)
        Velocity over ground in the axes of the moving point [m/s].
    origin : (latitude, longitude, height)
        Start of the path [rad], [rad], [m].

    Returns
    -------
    Pieces
        Six channels: x, y, z in the east-north-up axes of the origin [m], and the changes of
        latitude, longitude [rad] and height [m].

    Raises
    ------
    ValueRangeError
        The path comes near a pole, or leads deep into the Earth.
    """
    north, east, down = velocity_ned
    latitude_0, longitude_0, height_0 = origin
    zero = np.zeros(1)
    t_s = panels.nodes_s
    height = height_0 + panels.integral(-down[None], zero).at(t_s)[0]
    if not height.min() > _DEEPEST:
        raise ValueRangeError(
            f"expected a path above a height of {_DEEPEST:g} m, got {height.min():.6g} m; check the"
            ' initial height, vz (down is positive) and durations, or pass frame="flat"'
        )
    latitude, change = np.full_like(t_s, latitude_0), np.inf
    while change > 1e-15:  # Picard's iteration: each round gains two digits, over any distance
        _check_clear_of_poles(latitude)
        meridian, prime_vertical = wgs84.radii(latitude)
        latitude_rate = north / (meridian + height)
        before = latitude
        latitude = latitude_0 + panels.integral(latitude_rate[None], zero).at(t_s)[0]
        change = np.max(np.abs(latitude - before))
    longitude_rate = east / ((prime_vertical + height) * np.cos(latitude))
    longitude = longitude_0 + panels.integral(longitude_rate[None], zero).at(t_s)[0]
    q = q_world_from_enu(latitude, longitude, origin)
    velocity_enu = frames.convert_vector(velocity_ned.T, WorldFrame.NED, WorldFrame.ENU)
    velocity_world = quaternion.rotate(q, velocity_enu)
    rates = np.vstack([velocity_world.T, latitude_rate, longitude_rate, -down])
    return panels.integral(rates, np.zeros(6))


def _check_clear_of_poles(latitude: FloatArray) -> None:
    """Require a path along which the axes north and east are defined."""
    furthest = latitude[np.argmax(np.abs(latitude))]
    if not abs(furthest) < _POLAR:
        raise ValueRangeError(
            f"expected a path within 89.9 deg of latitude, got {furthest / RAD_PER_DEG:.6g} deg;"
            ' start further from the pole, or pass frame="flat"'
        )


def q_world_from_enu(
    latitude: FloatArray, longitude: FloatArray, origin: tuple[float, float, float]
) -> FloatArray:
    """Return the attitude (N, 4) of east-north-up axes as seen from those of the origin."""
    q_world_from_ecef = quaternion.conjugate(wgs84.q_ecef_from_enu(*origin[:2]))
    return quaternion.multiply(q_world_from_ecef, wgs84.q_ecef_from_enu(latitude, longitude))


def transport_rate(
    latitude: FloatArray,
    height: FloatArray,
    velocity_ned: FloatArray,
    velocity_rate_ned: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the angular velocity of north-east-down axes that move over the ellipsoid.

    Parameters
    ----------
    latitude, height : (N,)
        [rad], [m].
    velocity_ned, velocity_rate_ned : (3, N)
        Velocity over ground and the time derivatives of its components [m/s], [m/s^2].

    Returns
    -------
    rate, derivative : (3, N)
        Angular velocity with respect to the Earth, in these axes, and the time derivatives of
        its components [rad/s], [rad/s^2].

    References
    ----------
    P. D. Groves, "Principles of GNSS, Inertial, and Multisensor Integrated Navigation
    Systems", 2nd ed., eq. 5.44.
    """
    meridian, prime_vertical = wgs84.radii(latitude)
    north, east, down = velocity_ned
    north_1, east_1, _ = velocity_rate_ned
    along, across = meridian + height, prime_vertical + height
    tangent = np.tan(latitude)
    latitude_1, height_1 = north / along, -down
    # d(N cos latitude) = -M sin latitude, and M is proportional to N^3
    across_1 = (prime_vertical - meridian) * tangent * latitude_1
    along_1 = 3.0 * meridian / prime_vertical * across_1
    x, y = east / across, -latitude_1
    x_1 = (east_1 - x * (across_1 + height_1)) / across
    y_1 = -(north_1 + y * (along_1 + height_1)) / along
    z_1 = -x_1 * tangent - x * (1.0 + tangent**2) * latitude_1
    return np.stack([x, y, -x * tangent]), np.stack([x_1, y_1, z_1])

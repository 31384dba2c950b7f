"""Strapdown mechanisation: attitude, velocity and position from an IMU alone.

With the IMU of a phone, a drone or a watch the position is useful for seconds only: its error
grows with the square of time for an accelerometer bias or a tilt error, and with the third
power for a gyro bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from strapdown._checks import as_finite
from strapdown._kernels.compilation import compiled
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry import quaternion, wgs84
from strapdown.geometry.rotations import inverse_right_jacobian
from strapdown.inertial.increments import (
    IntegrationReport,
    WindowRule,
    integrate,
    require_ascending,
)
from strapdown.inertial.navigation import mechanisation as kernels
from strapdown.series import ImuSeries, Increments, Trajectory
from strapdown.units import NS_PER_S, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["EarthName", "Mechanisation", "NavigationStart", "Place", "mechanise"]

EarthName = Literal["flat", "wgs84"]
"""``flat``: no rotation and constant gravity; ``wgs84``: the rotating ellipsoid."""


@dataclass(frozen=True)
class Place:
    """World frame of the navigation, with axes east, north and up of its origin.

    Parameters
    ----------
    earth : {"flat", "wgs84"}, optional
        With ``"wgs84"`` the world rotates with the Earth, and gravity is normal gravity
        (Somigliana) along the normal of the ellipsoid at the position of the body. As the axes
        do not move with the body, there is no transport rate.
    gravity : float, optional
        Gravity of a flat Earth [m/s^2].
    latitude, height : float, optional
        Of the origin, geodetic [rad], [m above the ellipsoid]; for ``"wgs84"`` only. The
        longitude does not matter.

    Raises
    ------
    UnknownNameError
        The name of the Earth is unknown.
    ValueRangeError
        Gravity is not positive, the latitude is beyond a pole, or a value is not finite.
    """

    earth: EarthName = "flat"
    gravity: float = STANDARD_GRAVITY
    latitude: float = 0.0
    height: float = 0.0

    def __post_init__(self) -> None:
        if self.earth not in {"flat", "wgs84"}:
            raise UnknownNameError("Earth", self.earth, ["flat", "wgs84"])
        as_finite([self.gravity, self.latitude, self.height], "gravity, latitude, height", (3,))
        if not self.gravity > 0.0:
            raise ValueRangeError(f"expected gravity above 0 m/s^2, got {self.gravity}")
        wgs84.as_latitude(self.latitude)

    def for_kernels(self) -> kernels.Earth:
        """Return the record of the world for the kernels."""
        if self.earth == "flat":
            return kernels.Earth(gravity=float(self.gravity))
        sine, cosine = math.sin(self.latitude), math.cos(self.latitude)
        out, _, above = wgs84.ecef_from_geodetic(self.latitude, 0.0, self.height).tolist()
        rate = wgs84.EARTH_RATE
        return kernels.Earth(
            rate_north=rate * cosine,
            rate_up=rate * sine,
            sine=sine,
            cosine=cosine,
            from_axis=out,
            above=above,
        )


@dataclass(frozen=True, eq=False)
class NavigationStart:
    """State of a body at the start of the navigation.

    Parameters
    ----------
    q_world_from_body : (4,), optional
        x y z w, world ENU; scaled to unit length.
    velocity_world, position_world : (3,), optional
        [m/s], [m].

    Raises
    ------
    ShapeError, ValueRangeError
        A vector has another shape, is not finite, or the quaternion is zero.
    """

    q_world_from_body: ArrayLike = (0.0, 0.0, 0.0, 1.0)
    velocity_world: ArrayLike = (0.0, 0.0, 0.0)
    position_world: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name, size in (("q_world_from_body", 4), ("velocity_world", 3), ("position_world", 3)):
            vector = as_finite(getattr(self, name), name, (size,))
            if vector.ndim != 1:
                raise ShapeError(f"expected {name} of shape ({size},), got {vector.shape}")
            vector = quaternion.normalize(vector) if size == 4 else vector
            object.__setattr__(self, name, vector)

    def for_kernels(self) -> kernels.Motion:
        """Return the state for the kernels."""
        q, v, p = (
            tuple(np.asarray(vector).tolist())
            for vector in (self.q_world_from_body, self.velocity_world, self.position_world)
        )
        return kernels.Motion(q, v, p)


@dataclass(frozen=True, eq=False)
class Mechanisation:
    """Result of the strapdown mechanisation.

    Parameters
    ----------
    trajectory : Trajectory
        Attitude, position and velocity at the start and at the end of every increment; world
        ENU, body that of the data. An increment that is not finite repeats the state before
        it.
    holes, bridged_ns : int
        Number of gaps between increments, and their total duration [ns]; they are bridged by
        the mean of the rates and specific forces on both sides.
    not_finite : int
        Increments left out because they were NaN, infinite, or of no duration.
    integration : IntegrationReport, optional
        Counts of the samples, if the data were samples.
    """

    trajectory: Trajectory
    holes: int
    bridged_ns: int
    not_finite: int
    integration: IntegrationReport | None = None


def mechanise(
    data: Increments | ImuSeries,
    start: NavigationStart | None = None,
    *,
    place: Place | None = None,
    gyro_bias: ArrayLike = (0.0, 0.0, 0.0),
    accel_bias: ArrayLike = (0.0, 0.0, 0.0),
    velocity_axes: Literal["middle", "start"] = "middle",
) -> Mechanisation:
    """Integrate increments, or samples, to attitude, velocity and position.

    Point samples are first integrated with coning and sculling by
    :func:`~strapdown.inertial.integrate`, with one increment for each sample.

    Parameters
    ----------
    data : Increments or ImuSeries
        In ascending order.
    start : NavigationStart, optional
        The state at the first sample, or at the start of the first increment; by default at
        rest in the origin, level, and heading east.
    place : Place, optional
        By default a flat Earth of standard gravity.
    gyro_bias, accel_bias : (3,), optional
        Biases, subtracted from rates and specific forces [rad/s], [m/s^2, body].
    velocity_axes : {"middle", "start"}, optional
        Axes of the velocity increments: those of the body at the middle of the interval, as in
        :class:`~strapdown.series.Increments`, or at its start, as in preintegration and exact
        simulated increments.

    Returns
    -------
    Mechanisation

    Raises
    ------
    TimeOrderError
        Stamps are not in ascending order.
    ShapeError
        There are less than two samples, or no increment.
    UnknownNameError
        The name of the axes is unknown.

    References
    ----------
    P. G. Savage, "Strapdown inertial navigation integration algorithm design", parts 1 and 2,
    Journal of Guidance, Control, and Dynamics 21(1) and 21(2), 1998.
    """
    if velocity_axes not in {"middle", "start"}:
        raise UnknownNameError("axes of velocity increments", velocity_axes, ["middle", "start"])
    report = None
    if isinstance(data, ImuSeries):
        integration = integrate(data, window=WindowRule(1))
        data, report = integration.increments, integration.report
    if not len(data):
        raise ShapeError("expected an increment, or two samples, got none")
    require_ascending(data.t_ns, "increments")
    rows = len(data)
    turn = data.delta_angle - _spread(gyro_bias, "gyro_bias", data.delta_angle_dt_ns)
    push = data.delta_velocity
    if velocity_axes == "start":
        push = (2.0 * inverse_right_jacobian(-0.5 * data.delta_angle) @ push[..., None])[..., 0]
    push = push - _spread(accel_bias, "accel_bias", data.delta_velocity_dt_ns)
    first = (start or NavigationStart()).for_kernels()
    q, v, p = np.empty((rows, 4)), np.empty((rows, 3)), np.empty((rows, 3))
    holes_ns = np.zeros(rows, np.int64)
    compiled(kernels.run)(
        first,
        (place or Place()).for_kernels().packed(),
        data.t_ns,
        turn,
        push,
        data.delta_angle_dt_ns,
        data.delta_velocity_dt_ns,
        q,
        v,
        p,
        holes_ns,
    )
    trajectory = Trajectory(
        np.append(data.t_ns[0] - data.delta_velocity_dt_ns[0], data.t_ns),
        quaternion.make_continuous(np.vstack([first.q, q])),
        position_world=np.vstack([first.p, p]),
        velocity_world=np.vstack([first.v, v]),
        body=data.body,
    )
    used = np.isfinite(turn).all(axis=1) & np.isfinite(push).all(axis=1)
    used &= (data.delta_angle_dt_ns > 0) & (data.delta_velocity_dt_ns > 0)
    return Mechanisation(
        trajectory, int((holes_ns > 0).sum()), int(holes_ns.sum()), rows - int(used.sum()), report
    )


def _spread(bias: ArrayLike, name: str, dt_ns: ArrayLike) -> FloatArray:
    """Return the contribution of a bias to each increment."""
    return as_finite(bias, name, (3,)) * (np.asarray(dt_ns)[:, None] / NS_PER_S)

"""Motions that a textbook writes down: rest, fall, spin and circle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion
from strapdown.geometry._kernels import quaternion_multiply
from strapdown.motion.kinematics import (
    Endless,
    Kinematics,
    as_vector,
    columns,
    instants,
    sine_cosine,
)
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.motion.analytic import Derivatives

__all__ = [
    "Circle",
    "FreeFall",
    "Spin",
    "Static",
    "as_unit_vector",
    "turned",
]

_ORIGIN: Final = (0.0, 0.0, 0.0)
_LEVEL: Final = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Static(Endless):
    """A body at rest at the origin.

    Parameters
    ----------
    q_world_from_body : (4,)
        Attitude, x y z w.

    Raises
    ------
    ShapeError, ValueRangeError
        The attitude is not four finite numbers, or zero.
    """

    q_world_from_body: ArrayLike = _LEVEL

    def __post_init__(self) -> None:
        q = as_vector(self.q_world_from_body, "q_world_from_body", 4)
        object.__setattr__(self, "q_world_from_body", quaternion.normalize(q))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        t_s = instants(t_s, self)
        rows = len(t_s)
        q = columns(rows, *np.asarray(self.q_world_from_body))
        return Kinematics(t_s, q, *np.zeros((5, rows, 3)))


@dataclass(frozen=True, eq=False)
class FreeFall(Endless):
    """A level body that nothing carries: at the origin at time 0.

    Parameters
    ----------
    velocity_world : (3,)
        At time 0 [m/s].
    gravity_world : (3,)
        [m/s^2]; by default standard gravity.

    Raises
    ------
    ShapeError, ValueRangeError
        A vector is not three finite numbers.
    """

    velocity_world: ArrayLike = _ORIGIN
    gravity_world: ArrayLike = (0.0, 0.0, -STANDARD_GRAVITY)

    def __post_init__(self) -> None:
        for name in ("velocity_world", "gravity_world"):
            object.__setattr__(self, name, as_vector(getattr(self, name), name, 3))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        t_s = instants(t_s, self)
        rows = len(t_s)
        start = np.asarray(self.velocity_world)[:, None]
        gravity = np.asarray(self.gravity_world)[:, None]
        zero = np.zeros((rows, 3))
        return Kinematics(
            t_s,
            columns(rows, *quaternion.IDENTITY),
            zero,
            zero,
            ((start + 0.5 * gravity * t_s) * t_s).T,
            (start + gravity * t_s).T,
            columns(rows, *gravity),
        )


@dataclass(frozen=True, eq=False)
class Spin(Endless):
    """A body at the origin that turns steadily about an axis of its own.

    Parameters
    ----------
    rate : float
        [rad/s].
    axis : (3,)
        Of any length [body].
    q_world_from_body : (4,)
        Attitude at time 0, x y z w.

    Raises
    ------
    ShapeError, ValueRangeError
        The axis is no direction, the attitude no rotation, or something is not finite.
    """

    rate: float
    axis: ArrayLike = (0.0, 0.0, 1.0)
    q_world_from_body: ArrayLike = _LEVEL

    def __post_init__(self) -> None:
        as_finite(self.rate, "rate", ())
        q = as_vector(self.q_world_from_body, "q_world_from_body", 4)
        object.__setattr__(self, "q_world_from_body", quaternion.normalize(q))
        object.__setattr__(self, "axis", as_unit_vector(self.axis, "axis"))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        t_s = instants(t_s, self)
        zero = np.zeros_like(t_s)
        turn = (self.rate * t_s, zero + self.rate, zero)
        angular = turned(np.asarray(self.q_world_from_body), np.asarray(self.axis), turn)
        return Kinematics(t_s, *angular, *np.zeros((3, len(t_s), 3)))


@dataclass(frozen=True)
class Circle(Endless):
    """A body that drives a horizontal circle to the left, nose ahead; with climb, a helix.

    Parameters
    ----------
    radius : float
        About the origin [m].
    speed : float
        Along the circle [m/s].
    climb : float
        Upward speed [m/s].

    Raises
    ------
    ValueRangeError
        The radius is not positive, or something is not finite.
    """

    radius: float
    speed: float
    climb: float = 0.0

    def __post_init__(self) -> None:
        as_finite([self.radius, self.speed, self.climb], "radius, speed, climb", (3,))
        if self.radius <= 0.0:
            raise ValueRangeError(f"expected radius above 0, got {self.radius}")

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        t_s = instants(t_s, self)
        rate, rows = self.speed / self.radius, len(t_s)
        sine, cosine = sine_cosine(rate * t_s)
        half_sine, half_cosine = sine_cosine(0.5 * (rate * t_s) + math.pi / 4.0)
        inward = -self.speed * rate
        return Kinematics(
            t_s,
            columns(rows, 0.0, 0.0, half_sine, half_cosine),
            columns(rows, 0.0, 0.0, rate),
            np.zeros((rows, 3)),
            columns(rows, self.radius * cosine, self.radius * sine, self.climb * t_s),
            columns(rows, -self.speed * sine, self.speed * cosine, self.climb),
            columns(rows, inward * cosine, inward * sine, 0.0),
        )


def turned(
    q_start: FloatArray, axis: FloatArray, turn: Derivatives
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return attitude, angular velocity and angular acceleration of turns about fixed axes.

    Parameters
    ----------
    q_start : (4,) or (4, N)
        Attitude where the angle is zero, x y z w.
    axis : (3,) or (3, N)
        Unit vectors [body].
    turn : three of (N,)
        The angle and its two derivatives [rad].

    Returns
    -------
    (N, 4), (N, 3), (N, 3)
        As :class:`Kinematics` has them.
    """
    angle, rate, acceleration = turn
    sine, cosine = sine_cosine(0.5 * angle)
    x, y, z = axis
    q_start_x, q_start_y, q_start_z, q_start_w = q_start
    q = quaternion_multiply(
        q_start_x, q_start_y, q_start_z, q_start_w, x * sine, y * sine, z * sine, cosine
    )
    rows = len(angle)
    return (
        columns(rows, *q),
        columns(rows, x * rate, y * rate, z * rate),
        columns(rows, x * acceleration, y * acceleration, z * acceleration),
    )


def as_unit_vector(value: ArrayLike, name: str) -> FloatArray:
    """Return a vector scaled to unit length.

    Raises
    ------
    ShapeError
        It has not three components.
    ValueRangeError
        It is zero or not finite.
    """
    vector = as_vector(value, name, 3)
    length = np.linalg.norm(vector)
    if length == 0.0:
        raise ValueRangeError(f"expected {name} of some length, got zeros; (0, 0, 1) is z")
    return np.asarray(vector / length)

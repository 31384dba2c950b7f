"""Textbook motions: rest, fall, spin and circle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion
from strapdown.motion import formulas
from strapdown.motion._laws import Law
from strapdown.motion.kinematics import Endless, Kinematics, as_vector, instants
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = [
    "Circle",
    "FreeFall",
    "Spin",
    "Static",
    "as_unit_vector",
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

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        return Law(formulas.static, (np.asarray(self.q_world_from_body),))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        return self.law.at(instants(t_s, self))


@dataclass(frozen=True, eq=False)
class FreeFall(Endless):
    """A level body in free fall, at the origin at time 0.

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

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        return Law(
            formulas.free_fall, (np.asarray(self.velocity_world), np.asarray(self.gravity_world))
        )

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        return self.law.at(instants(t_s, self))


@dataclass(frozen=True, eq=False)
class Spin(Endless):
    """A body at the origin that rotates steadily about an axis fixed to it.

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

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        return Law(
            formulas.spin,
            (np.asarray(self.q_world_from_body), np.asarray(self.axis), float(self.rate)),
        )

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        return self.law.at(instants(t_s, self))


@dataclass(frozen=True)
class Circle(Endless):
    """A body that moves on a horizontal circle to the left, facing forward; with climb, on a helix.

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

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        return Law(
            formulas.circle,
            (float(self.radius), float(self.speed), float(self.climb), self.speed / self.radius),
        )

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        return self.law.at(instants(t_s, self))


def as_unit_vector(value: ArrayLike, name: str) -> FloatArray:
    """Return a vector scaled to unit length.

    Raises
    ------
    ShapeError
        It does not have three components.
    ValueRangeError
        It is zero or not finite.
    """
    vector = as_vector(value, name, 3)
    length = np.linalg.norm(vector)
    if length == 0.0:
        raise ValueRangeError(f"expected {name} of some length, got zeros; (0, 0, 1) is z")
    return np.asarray(vector / length)

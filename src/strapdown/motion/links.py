"""From link to link: motion of a frame that a joint connects to another frame.

Arrays are planar: vectors (3, ...) in world axes, for any number of frames and instants at once.
Attitudes are not included, because trees use quaternions, whose sign is continuous over whole
turns, and worlds of Webots use matrices.

References
----------
J. J. Craig, "Introduction to Robotics", chapters 5 and 6: velocities and accelerations from
link to link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

__all__ = ["PointStates", "cross"]

_YZXY = np.array([1, 2, 0, 1])


class PointStates(NamedTuple):
    """A point of a rigid body, and the motion of point and body; (3, ...) each, world axes."""

    position: FloatArray
    """[m]."""
    velocity: FloatArray
    """[m/s]."""
    angular_velocity: FloatArray
    """[rad/s]."""
    acceleration: FloatArray
    """[m/s^2]."""
    angular_acceleration: FloatArray
    """[rad/s^2]."""

    def shifted(self, lever: FloatArray) -> PointStates:
        """Return the states of another point of the body, ``lever`` away."""
        position, velocity, rate, acceleration, spin_up = self
        swing = cross(rate, lever)
        acceleration = acceleration + cross(spin_up, lever) + cross(rate, swing)
        return PointStates(position + lever, velocity + swing, rate, acceleration, spin_up)

    def velocity_at(self, lever: FloatArray) -> FloatArray:
        """Return the velocity of another point of the body, ``lever`` away."""
        velocity: FloatArray = self.velocity + cross(self.angular_velocity, lever)
        return velocity

    def turning(self, spin: FloatArray, spin_up: FloatArray) -> PointStates:
        """Return the states of a frame that turns about an axis of this one through the point.

        ``spin`` and ``spin_up`` are the axis times the first and second derivative of the angle.
        """
        position, velocity, rate, acceleration, before = self
        spin_up = before + spin_up + cross(rate, spin)
        return PointStates(position, velocity, rate + spin, acceleration, spin_up)

    def sliding(self, glide: FloatArray, glide_up: FloatArray) -> PointStates:
        """Return the states of a frame that slides along an axis of this one, from this point on.

        ``glide`` and ``glide_up`` are the axis times the derivatives of the displacement.
        """
        position, velocity, rate, acceleration, spin_up = self
        acceleration = acceleration + glide_up + 2.0 * cross(rate, glide)  # Coriolis
        return PointStates(position, velocity + glide, rate, acceleration, spin_up)


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the vector products of planar vectors (3, ...)."""
    a, b = a.take(_YZXY, 0), b.take(_YZXY, 0)
    product: FloatArray = a[:3] * b[1:] - a[1:] * b[:3]
    return product

"""Motions of sums of sines, and the formulas common to all motions by Euler angles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError
from strapdown.motion import formulas
from strapdown.motion._laws import Law
from strapdown.motion.kinematics import Endless, Kinematics, columns, instants

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["Coning", "Derivatives", "MultiSine", "Sines", "from_euler"]

Derivatives: TypeAlias = "tuple[FloatArray, FloatArray, FloatArray]"
"""A quantity, its first and its second derivative in time, each (N, 3) or (N,)."""


@dataclass(frozen=True, eq=False)
class Sines:
    """Three channels, each a sum of M sines ``amplitude sin(angular_frequency t + phase)``.

    Parameters
    ----------
    amplitude : (3, M)
        In the unit of the channel.
    angular_frequency : (3, M)
        [rad/s].
    phase : (3, M)
        [rad].

    Raises
    ------
    ShapeError
        The three are not of one shape (3, M).
    ValueRangeError
        A value is not finite.
    """

    amplitude: FloatArray
    angular_frequency: FloatArray
    phase: FloatArray

    def __post_init__(self) -> None:
        shape = np.shape(self.amplitude)
        for name in ("amplitude", "angular_frequency", "phase"):
            array = as_finite(getattr(self, name), name, ()).copy()
            if array.ndim != 2 or len(array) != 3 or array.shape != shape:
                raise ShapeError(
                    f"expected {name} of shape (3, M) like amplitude {shape}, got {array.shape}"
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def derivatives(self, t_s: FloatArray) -> Derivatives:
        """Return the channels and their first two derivatives at ``t_s`` (N,), each (N, 3)."""
        rows = [[0.0] for _ in range(9)]
        formulas.sum_sines([t_s], self.table, rows, 0, 3, 6)
        value, first, second = np.split(columns(len(t_s), *(row[0] for row in rows)), 3, axis=1)
        return value, first, second

    @cached_property
    def table(self) -> FloatArray:
        """Amplitudes, angular frequencies and phases as one array (3, 3, M)."""
        return np.stack([self.amplitude, self.angular_frequency, self.phase])


@dataclass(frozen=True, eq=False)
class MultiSine(Endless):
    """Position and Euler angles, each channel a sum of sines.

    Parameters
    ----------
    position : Sines
        x, y, z [m, world].
    roll_pitch_yaw : Sines
        Angles of the ZYX convention [rad]; keep pitch within a quarter turn.
    """

    position: Sines
    roll_pitch_yaw: Sines

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        return Law(formulas.multi_sine, (self.position.table, self.roll_pitch_yaw.table))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s].

        Raises
        ------
        ShapeError, ValueRangeError
            The instants are no finite one-dimensional array.
        """
        return self.law.at(instants(t_s, self))


@dataclass(frozen=True)
class Coning(Endless):
    """Tilt by a constant angle about a horizontal axis that turns: the classic coning motion.

    The body stays at the origin. Its z axis draws a cone about the vertical, and the body does
    not turn about its z axis by more than the cone requires.

    Parameters
    ----------
    half_cone : float
        Tilt of the body's z axis [rad].
    rate : float
        Angular velocity of the tilt axis [rad/s].

    Raises
    ------
    ValueRangeError
        A parameter is not finite.

    References
    ----------
    P. G. Savage, Journal of Guidance, Control, and Dynamics 21(1), 1998, on pure coning.
    """

    half_cone: float
    rate: float

    def __post_init__(self) -> None:
        as_finite([self.half_cone, self.rate], "half_cone, rate", (2,))

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        half_sine, half_cosine = math.sin(self.half_cone / 2.0), math.cos(self.half_cone / 2.0)
        tilt_rate = self.rate * math.sin(self.half_cone)
        spin = -2.0 * self.rate * half_sine**2
        return Law(formulas.coning, (half_sine, half_cosine, float(self.rate), tilt_rate, spin))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s].

        Raises
        ------
        ShapeError, ValueRangeError
            The instants are no finite one-dimensional array.
        """
        return self.law.at(instants(t_s, self))


def from_euler(t_s: FloatArray, position: Derivatives, roll_pitch_yaw: Derivatives) -> Kinematics:
    """Return the state of a body whose position and ZYX Euler angles are known.

    Parameters
    ----------
    t_s : (N,)
        Instants, already checked [s].
    position : three of (N, 3)
        Position, velocity and acceleration in world axes [m].
    roll_pitch_yaw : three of (N, 3)
        Angles of the ZYX convention and their two derivatives [rad]; any angles, also beyond
        a quarter turn of pitch.
    """
    work: list[list[Any]] = [[row] for part in roll_pitch_yaw for row in part.T]
    work += [[0.0] for _ in range(formulas.WORK - len(work))]
    state: list[list[Any]] = [[0.0] for _ in range(formulas.POSITION)]
    formulas.turn_by_angles([t_s], work, state)
    turned = columns(len(t_s), *(row[0] for row in state))
    q, rate, acceleration = np.split(turned, [formulas.RATE, formulas.TURN], axis=1)
    return Kinematics(t_s, q, rate, acceleration, *position)

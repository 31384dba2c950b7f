"""Motions of sums of sines, and the formulas that every motion by Euler angles shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError
from strapdown.geometry._kernels import quaternion_from_half_angles_zyx
from strapdown.motion.kinematics import (
    Endless,
    Kinematics,
    columns,
    instants,
    sine_cosine,
)

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
        value, first, second = np.zeros((3, 3, len(t_s)))
        for amplitude, rate, phase in zip(
            *(array.T[..., None] for array in (self.amplitude, self.angular_frequency, self.phase)),
            strict=True,
        ):
            # as in sine_cosine, with the amplitude in the numerator; each pass over memory counts
            tangent = (0.5 * rate) * t_s
            tangent += 0.5 * phase
            np.tan(tangent, out=tangent)
            raised = tangent * tangent
            raised += 1.0
            np.divide(2.0 * amplitude, raised, out=raised)  # amplitude (1 + cosine)
            tangent *= raised  # amplitude sine
            value += tangent
            raised -= amplitude
            raised *= rate
            first += raised
            tangent *= rate**2
            second -= tangent
        return value.T, first.T, second.T


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

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s].

        Raises
        ------
        ShapeError, ValueRangeError
            The instants are no finite one-dimensional array.
        """
        t_s = instants(t_s, self)
        return from_euler(t_s, self.position.derivatives(t_s), self.roll_pitch_yaw.derivatives(t_s))


@dataclass(frozen=True)
class Coning(Endless):
    """Tilt by a constant angle about a horizontal axis that turns: the classic coning motion.

    The body stays at the origin. Its z axis draws a cone about the vertical, and the body does
    not turn about its own z axis by more than the cone forces it to.

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

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s].

        Raises
        ------
        ShapeError, ValueRangeError
            The instants are no finite one-dimensional array.
        """
        t_s = instants(t_s, self)
        sine, cosine = sine_cosine(self.rate * t_s)
        half_sine, half_cosine = math.sin(self.half_cone / 2.0), math.cos(self.half_cone / 2.0)
        tilt_rate = self.rate * math.sin(self.half_cone)
        spin = -2.0 * self.rate * half_sine**2
        turn, rows = -self.rate * tilt_rate, len(t_s)
        return Kinematics(
            t_s,
            columns(rows, half_sine * cosine, half_sine * sine, 0.0, half_cosine),
            columns(rows, -tilt_rate * sine, tilt_rate * cosine, spin),
            columns(rows, turn * cosine, turn * sine, 0.0),
            *np.zeros((3, rows, 3)),
        )


def from_euler(t_s: FloatArray, position: Derivatives, roll_pitch_yaw: Derivatives) -> Kinematics:
    """Return the state of a body whose position and ZYX Euler angles are known.

    The angular velocity is the standard kinematic equation of the sequence yaw, pitch, roll;
    the angular acceleration is its time derivative term by term.

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
    half_sine, half_cosine = sine_cosine(0.5 * roll_pitch_yaw[0].T)
    half_roll, half_pitch, half_yaw = zip(half_sine, half_cosine, strict=True)
    sin_roll, sin_pitch, _ = 2.0 * half_sine * half_cosine
    cos_roll, cos_pitch, _ = 2.0 * half_cosine**2 - 1.0
    roll_1, pitch_1, yaw_1 = roll_pitch_yaw[1].T
    roll_2, pitch_2, yaw_2 = roll_pitch_yaw[2].T
    # the rate and acceleration of yaw about the axes that pitch has turned: -sine ahead, cosine up
    ahead, up = -yaw_1 * sin_pitch, yaw_1 * cos_pitch
    ahead_1 = -yaw_2 * sin_pitch - up * pitch_1
    up_1 = yaw_2 * cos_pitch + ahead * pitch_1
    left = pitch_1 * cos_roll + up * sin_roll
    top = up * cos_roll - pitch_1 * sin_roll
    rows = len(t_s)
    return Kinematics(
        t_s,
        columns(rows, *quaternion_from_half_angles_zyx(*half_roll, *half_pitch, *half_yaw)),
        columns(rows, roll_1 + ahead, left, top),
        columns(
            rows,
            roll_2 + ahead_1,
            pitch_2 * cos_roll + up_1 * sin_roll + top * roll_1,
            up_1 * cos_roll - pitch_2 * sin_roll - left * roll_1,
        ),
        *position,
    )

"""Motions in closed form, with exact derivatives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError
from strapdown.geometry import EulerConvention, euler
from strapdown.motion.kinematics import Kinematics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.motion.kinematics import Motion

__all__ = ["MOTIONS", "Coning", "MultiSine", "Sines"]


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

    def derivative(self, t_s: FloatArray, order: int) -> FloatArray:
        """Return the derivative of an order at the instants ``t_s`` (N,), as (N, 3).

        Each derivative multiplies a sine by its angular frequency and leads its phase by a
        quarter turn.
        """
        amplitude = self.amplitude * self.angular_frequency**order
        phase = self.phase + order * (math.pi / 2.0)
        angle = t_s[:, None, None] * self.angular_frequency + phase
        summed: FloatArray = np.sum(amplitude * np.sin(angle), axis=-1)
        return summed


@dataclass(frozen=True, eq=False)
class MultiSine:
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
        t_s = _instants(t_s)
        angles, rates, accelerations = (self.roll_pitch_yaw.derivative(t_s, n) for n in range(3))
        return Kinematics(
            t_s,
            euler.to_quaternion(angles, EulerConvention.ZYX),
            *_body_rates(angles, rates, accelerations),
            *(self.position.derivative(t_s, n) for n in range(3)),
        )


@dataclass(frozen=True)
class Coning:
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
        t_s = _instants(t_s)
        cosine, sine = np.cos(self.rate * t_s), np.sin(self.rate * t_s)
        zero, one = np.zeros_like(t_s), np.ones_like(t_s)
        half_sine, half_cosine = math.sin(self.half_cone / 2.0), math.cos(self.half_cone / 2.0)
        tilt_rate = self.rate * math.sin(self.half_cone)
        spin = -2.0 * self.rate * half_sine**2
        at_origin = np.zeros((3, len(t_s), 3))
        return Kinematics(
            t_s,
            np.stack([half_sine * cosine, half_sine * sine, zero, half_cosine * one], axis=-1),
            np.stack([-tilt_rate * sine, tilt_rate * cosine, spin * one], axis=-1),
            -self.rate * tilt_rate * np.stack([cosine, sine, zero], axis=-1),
            *at_origin,
        )


def _instants(t_s: ArrayLike) -> FloatArray:
    array = as_finite(t_s, "t_s", ())
    if array.ndim != 1:
        raise ShapeError(f"expected t_s of shape (N,), got {array.shape}")
    return array


def _body_rates(
    angles: FloatArray, rates: FloatArray, accelerations: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return angular velocity and acceleration in body axes from ZYX angles (N, 3).

    The first is the standard kinematic equation of the sequence yaw, pitch, roll; the second is
    its time derivative term by term.
    """
    roll, pitch, _ = angles.T
    roll_1, pitch_1, yaw_1 = rates.T
    roll_2, pitch_2, yaw_2 = accelerations.T
    sin_roll, cos_roll = np.sin(roll), np.cos(roll)
    sin_pitch, cos_pitch = np.sin(pitch), np.cos(pitch)
    velocity = [
        roll_1 - yaw_1 * sin_pitch,
        pitch_1 * cos_roll + yaw_1 * cos_pitch * sin_roll,
        -pitch_1 * sin_roll + yaw_1 * cos_pitch * cos_roll,
    ]
    acceleration = [
        roll_2 - yaw_2 * sin_pitch - yaw_1 * pitch_1 * cos_pitch,
        pitch_2 * cos_roll
        - pitch_1 * roll_1 * sin_roll
        + yaw_2 * cos_pitch * sin_roll
        - yaw_1 * pitch_1 * sin_pitch * sin_roll
        + yaw_1 * roll_1 * cos_pitch * cos_roll,
        -pitch_2 * sin_roll
        - pitch_1 * roll_1 * cos_roll
        + yaw_2 * cos_pitch * cos_roll
        - yaw_1 * pitch_1 * sin_pitch * cos_roll
        - yaw_1 * roll_1 * cos_pitch * sin_roll,
    ]
    return np.stack(velocity, axis=-1), np.stack(acceleration, axis=-1)


def _from_rest(reach: ArrayLike, frequency_hz: ArrayLike) -> Sines:
    """Return three cosines a channel whose value and first three derivatives are 0 at t = 0.

    ``reach`` (3,) bounds each channel. Of frequencies (3, 3), ascending, the slow ones move far
    and the fast one quickly: the amplitudes solve sum(A) = 0 and sum(A f^2) = 0.
    """
    f = np.asarray(frequency_hz, dtype=np.float64)
    amplitude = np.cross(np.ones_like(f), f**2)
    amplitude *= (np.asarray(reach) / np.abs(amplitude).sum(axis=-1))[:, None]
    return Sines(amplitude, 2.0 * math.pi * f, np.full_like(f, math.pi / 2.0))


MOTIONS: Mapping[str, Motion] = MappingProxyType(
    {
        "wander": MultiSine(
            position=_from_rest(
                [0.5, 0.4, 0.25], [[0.13, 0.47, 1.1], [0.11, 0.53, 1.0], [0.17, 0.61, 1.3]]
            ),
            roll_pitch_yaw=_from_rest(
                np.radians([60.0, 45.0, 150.0]),
                [[0.12, 0.43, 1.3], [0.15, 0.37, 1.1], [0.05, 0.19, 0.7]],
            ),
        ),
        "coning": Coning(half_cone=math.radians(20.0), rate=2.0 * math.pi),
    }
)
"""Motions by name: a lively hand-held one that begins at rest, and a cone a second."""

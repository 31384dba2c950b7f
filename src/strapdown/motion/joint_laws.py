"""Motion of a joint in time: the value of a hinge or slider with two derivatives."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ValueRangeError
from strapdown.motion._steps import as_steps, split

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["REACHED", "JointLaw", "Motor", "Sine", "SplineLaw", "approach", "ramp"]

REACHED: Final = 1e-9
"""Distance to the target within which a position loop rests [rad or m]."""

JointLaw: TypeAlias = "Callable[[FloatArray], tuple[ArrayLike, ArrayLike, ArrayLike]]"
"""Any function from instants (N,) [s] to a value [rad or m] and its first and second derivative
in time, each (N,) or one number.

A law that is not for all times, or not smooth, has attributes ``start_s``, ``end_s``,
``breaks_s`` and ``has_acceleration`` with the same meaning as in a motion."""


@dataclass(frozen=True)
class Sine:
    """The law ``offset + amplitude sin(angular_frequency t + phase)``.

    Parameters
    ----------
    amplitude : float
        [rad or m].
    angular_frequency : float
        [rad/s].
    phase : float, optional
        [rad].
    offset : float, optional
        [rad or m].

    Raises
    ------
    ValueRangeError
        A parameter is not finite.
    """

    amplitude: float
    angular_frequency: float
    phase: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        numbers = (self.amplitude, self.angular_frequency, self.phase, self.offset)
        as_finite(numbers, "amplitude, angular_frequency, phase, offset", (4,))

    def __call__(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value and two derivatives at the instants (N,) [s]."""
        angle = self.angular_frequency * t_s + self.phase
        swing = self.amplitude * np.sin(angle)
        rate = self.amplitude * self.angular_frequency * np.cos(angle)
        return self.offset + swing, rate, -(self.angular_frequency**2) * swing


class Curve(Protocol):
    """A piecewise polynomial, such as SciPy's ``PPoly`` and ``CubicSpline``."""

    x: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values at ``x``."""
        ...

    def derivative(self, nu: int = 1) -> Curve:
        """Return the derivative of an order."""
        ...


class SplineLaw:
    """A law in polynomial pieces.

    Parameters
    ----------
    curve : scipy.interpolate.PPoly, CubicSpline, ...
        The value over time, with a continuous first derivative; its ends are those of the law.
        (``PPoly.from_spline`` converts a ``BSpline``.)
    """

    def __init__(self, curve: Curve) -> None:
        self._derivatives = (curve, curve.derivative(), curve.derivative(2))
        self.breaks_s = np.array(curve.x, np.float64)
        self.start_s, self.end_s = float(curve.x[0]), float(curve.x[-1])

    def __call__(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value and two derivatives at the instants (N,) [s]."""
        value, first, second = (curve(t_s) for curve in self._derivatives)
        return value, first, second


def approach(  # noqa: PLR0913 (where the joint is, and what its motor can do)
    error: float,
    velocity: float,
    step_s: float,
    *,
    gain: float,
    max_velocity: float,
    max_acceleration: float = math.inf,
) -> float:
    """Return the velocity that a position loop demands at the end of a step.

    It is ``gain error``, limited so that the joint does not pass its target: at most the velocity
    that closes the error in this step, and that a limited acceleration can still brake. A speed v
    at the end of the step is safe where the sum of ``(velocity + v) step / 2``, the travel of this
    step, ``v**2 / (2 a)``, the braking distance, and ``v step / 2``, the addition from braking in
    whole steps, is within the error.

    Parameters
    ----------
    error : float
        Target minus position [rad or m].
    velocity : float
        At the begin of the step [rad/s or m/s].
    step_s : float
        [s].
    gain : float
        [1/s].
    max_velocity, max_acceleration : float
        [rad/s or m/s], [rad/s^2 or m/s^2].
    """
    distance = abs(error)
    if distance <= REACHED:
        return 0.0
    speed = min(distance * min(gain, 1.0 / step_s), max_velocity)
    if max_acceleration < math.inf:
        change = max_acceleration * step_s
        room = distance - math.copysign(0.5, error) * velocity * step_s
        brake = math.sqrt(max(change * change + 2.0 * max_acceleration * room, 0.0)) - change
        speed = min(speed, max(brake, 0.0))
    return math.copysign(speed, error)


def ramp(velocity: float, wanted: float, max_change: float) -> tuple[float, float]:
    """Return the velocity at both ends of a step, between which it changes linearly.

    Parameters
    ----------
    velocity, wanted : float
        At the end of the last step, and the demand for this one [rad/s or m/s].
    max_change : float
        Largest change that the acceleration allows within the step; where infinite, the velocity
        jumps and has the demanded value throughout the step.
    """
    if max_change == math.inf:
        return wanted, wanted
    return velocity, min(max(wanted, velocity - max_change), velocity + max_change)


class Motor:
    """A motor that drives a joint towards commanded positions, in control steps.

    Each step demands the velocity ``gain (target - position)``, within
    ``max_velocity`` and without passing the target.
    Without an acceleration limit the joint has this velocity throughout the step: it jumps
    between steps, no finite acceleration exists, and the second derivative is NaN. With one,
    the velocity changes linearly within the step to the demand, or as far as the limit allows.
    The law covers the steps that were commanded so far.

    Parameters
    ----------
    step_s : float
        Length of a control step [s].
    max_velocity : float
        [rad/s or m/s].
    gain : float, optional
        Of the position loop [1/s].
    max_acceleration : float, optional
        [rad/s^2 or m/s^2].
    start : float, optional
        Position at time 0, at rest [rad or m].

    Raises
    ------
    ValueRangeError
        A parameter is not finite, or one but ``start`` is not positive.
    """

    start_s = 0.0

    def __init__(
        self,
        *,
        step_s: float,
        max_velocity: float,
        gain: float = 10.0,
        max_acceleration: float | None = None,
        start: float = 0.0,
    ) -> None:
        limits = {"step_s": step_s, "max_velocity": max_velocity, "gain": gain}
        if max_acceleration is not None:
            limits["max_acceleration"] = max_acceleration
        for name, value in limits.items():
            if not 0.0 < value < np.inf:
                raise ValueRangeError(f"expected a positive {name}, got {value}")
        as_finite(start, "start", ())
        self.step_s, self.max_velocity, self.gain = step_s, max_velocity, gain
        self.max_acceleration = max_acceleration
        self._position, self._velocity = float(start), 0.0
        self._pieces = array("d")  # position, velocity and acceleration at each step's begin

    @property
    def has_acceleration(self) -> bool:
        """Whether the acceleration is finite."""
        return self.max_acceleration is not None

    @property
    def end_s(self) -> float:
        """End of the last step that was commanded [s]."""
        return self._steps * self.step_s

    @property
    def breaks_s(self) -> FloatArray:
        """Begins of the steps, where the velocity or the acceleration jumps [s]."""
        begins: FloatArray = np.arange(self._steps + 1.0) * self.step_s
        return begins

    def step(self, target: float) -> None:
        """Command one more step towards a target [rad or m]; an infinite one sets full speed.

        Raises
        ------
        ValueRangeError
            The target is NaN.
        """
        if np.isnan(target):
            raise ValueRangeError("expected a target position, got NaN; hold the present one")
        limit = math.inf if self.max_acceleration is None else self.max_acceleration
        wanted = approach(
            target - self._position,
            self._velocity,
            self.step_s,
            gain=self.gain,
            max_velocity=self.max_velocity,
            max_acceleration=limit,
        )
        begin, end = ramp(self._velocity, wanted, limit * self.step_s)
        self._pieces.extend((self._position, begin, (end - begin) / self.step_s))
        self._position += 0.5 * (begin + end) * self.step_s
        self._velocity = end

    def __call__(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value and two derivatives at the instants (N,) [s].

        An instant at which a step begins has the velocity of that step.

        Raises
        ------
        ValueRangeError
            An instant is before 0, or after the last step that was commanded.
        """
        if self._steps == 0:
            raise ValueRangeError("expected a motor that was commanded, got none; call step()")
        step, fraction = split(as_steps(t_s, self.step_s, 0, self._steps), self._steps)
        pieces = np.frombuffer(self._pieces).reshape(-1, 3)
        position, velocity, acceleration = pieces[step].T
        since = fraction * self.step_s
        return (
            position + (velocity + 0.5 * acceleration * since) * since,
            velocity + acceleration * since,
            acceleration if self.has_acceleration else np.full(len(step), np.nan),
        )

    @property
    def _steps(self) -> int:
        return len(self._pieces) // 3

"""How a joint moves in time: the value of a hinge or slider with two derivatives."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ValueRangeError
from strapdown.motion._steps import as_steps, split

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["JointLaw", "Motor", "Sine", "SplineLaw"]

JointLaw: TypeAlias = "Callable[[FloatArray], tuple[ArrayLike, ArrayLike, ArrayLike]]"
"""Any function from instants (N,) [s] to a value [rad or m] and its first and second derivative
in time, each (N,) or one number.

A law that is not for all times, or not smooth, has attributes ``start_s``, ``end_s``,
``breaks_s`` and ``has_acceleration`` with the meaning that they have in a motion."""


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
        (``PPoly.from_spline`` makes one of a ``BSpline``.)
    """

    def __init__(self, curve: Curve) -> None:
        self._derivatives = (curve, curve.derivative(), curve.derivative(2))
        self.breaks_s = np.array(curve.x, np.float64)
        self.start_s, self.end_s = float(curve.x[0]), float(curve.x[-1])

    def __call__(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value and two derivatives at the instants (N,) [s]."""
        value, first, second = (curve(t_s) for curve in self._derivatives)
        return value, first, second


class Motor:
    """A motor that drives a joint towards commanded positions, in control steps.

    Each step commands the velocity ``gain (target - position)``, within ``max_velocity``.
    Without an acceleration limit the joint moves so throughout the step: its velocity jumps
    between steps, no finite acceleration exists, and the second derivative is NaN. With one,
    the velocity goes straight to the commanded one, or as far as the limit lets it, within the
    step. The law covers the steps that were commanded so far.

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
        wanted = self.gain * (target - self._position)
        wanted = min(max(wanted, -self.max_velocity), self.max_velocity)
        acceleration = 0.0
        if self.max_acceleration is None:
            self._velocity = wanted
        else:
            acceleration = (wanted - self._velocity) / self.step_s
            acceleration = min(max(acceleration, -self.max_acceleration), self.max_acceleration)
        self._pieces.extend((self._position, self._velocity, acceleration))
        change = acceleration * self.step_s
        self._position += (self._velocity + 0.5 * change) * self.step_s
        self._velocity += change

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

"""Shakers: motions that oscillate along and about the axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ValueRangeError
from strapdown.motion import formulas
from strapdown.motion._laws import Law
from strapdown.motion.analytic import MultiSine, Sines
from strapdown.motion.kinematics import NO_BREAKS, Endless, Kinematics, as_vector, instants

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["Chirp", "Sculling", "lissajous"]

_ORIGIN: Final = (0.0, 0.0, 0.0)
_SAMPLES: Final = 64  # samples of one turn, for the harmonics of sculling
_ROUNDING: Final = 1e-15


def lissajous(
    amplitude: ArrayLike, frequency_hz: ArrayLike, phase: ArrayLike = _ORIGIN
) -> MultiSine:
    """Return the motion of a level body along a Lissajous figure.

    Parameters
    ----------
    amplitude : (3,)
        Along x, y and z [m].
    frequency_hz : (3,)
        [Hz].
    phase : (3,), optional
        At time 0 [rad].

    Raises
    ------
    ShapeError, ValueRangeError
        A parameter is not three finite numbers.
    """
    path = Sines(
        as_vector(amplitude, "amplitude", 3)[:, None],
        2.0 * math.pi * as_vector(frequency_hz, "frequency_hz", 3)[:, None],
        as_vector(phase, "phase", 3)[:, None],
    )
    return MultiSine(path, Sines(*np.zeros((3, 3, 0))))


@dataclass(frozen=True, eq=False)
class Chirp:
    """A body that oscillates along and about its axes with a linearly rising frequency.

    Parameters
    ----------
    displacement : (3,)
        Amplitudes of the position [m, world].
    tilt : (3,)
        Amplitudes of roll, pitch and yaw, ZYX [rad].
    start_hz, end_hz : float
        Frequency at the beginning and at the end [Hz].
    duration_s : float
        Length of the motion [s].

    Raises
    ------
    ShapeError, ValueRangeError
        An amplitude is not three numbers, the duration is not positive, or something is not
        finite.
    """

    displacement: ArrayLike
    tilt: ArrayLike
    start_hz: float
    end_hz: float
    duration_s: float

    start_s: ClassVar[float] = 0.0
    breaks_s: ClassVar[FloatArray] = NO_BREAKS

    def __post_init__(self) -> None:
        for name in ("displacement", "tilt"):
            object.__setattr__(self, name, as_vector(getattr(self, name), name, 3))
        as_finite([self.start_hz, self.end_hz], "start_hz, end_hz", (2,))
        if not 0.0 < self.duration_s < math.inf:
            raise ValueRangeError(f"expected duration_s above 0, got {self.duration_s}")

    @property
    def end_s(self) -> float:
        """Last instant [s]."""
        return self.duration_s

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        growth = 2.0 * math.pi * (self.end_hz - self.start_hz) / self.duration_s
        amplitudes = np.asarray(self.displacement), np.asarray(self.tilt)
        return Law(formulas.chirp, (*amplitudes, 2.0 * math.pi * self.start_hz, growth))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        return self.law.at(instants(t_s, self))


@dataclass(frozen=True)
class Sculling(Endless):
    """Rolling in step with a sideways push: the classic sculling motion.

    The body rolls by ``swing sin(rate t)``, and besides the support of its weight an acceleration
    ``push sin(rate t)`` acts along its y axis. It is not at rest on average: its mean
    acceleration is ``push J1(swing)`` along z, which an integrator without sculling correction
    misses. The position is the exact Fourier series of the double integral; at time 0 height
    and climb are those of the series.

    Parameters
    ----------
    swing : float
        Amplitude of the roll, half a turn at most [rad].
    push : float
        Amplitude of the acceleration [m/s^2].
    rate : float
        Angular frequency of both [rad/s].

    Raises
    ------
    ValueRangeError
        The swing is more than half a turn, the rate is zero, or something is not finite.

    References
    ----------
    P. G. Savage, Journal of Guidance, Control, and Dynamics 21(2), 1998; the harmonics are those
    of the Jacobi-Anger expansion.
    """

    swing: float
    push: float
    rate: float

    def __post_init__(self) -> None:
        as_finite([self.swing, self.push, self.rate], "swing, push, rate", (3,))
        if abs(self.swing) > math.pi or self.rate == 0.0:
            raise ValueRangeError(
                f"expected a swing within half a turn and a rate other than 0, got {self.swing}"
                f" rad and {self.rate} rad/s"
            )

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        about_x = np.array([1.0, 0.0, 0.0])
        numbers = float(self.swing), float(self.rate), self._mean
        return Law(formulas.sculling, (self._shake.table, about_x, *numbers))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        return self.law.at(instants(t_s, self))

    @cached_property
    def _mean(self) -> float:
        """Mean acceleration along z."""
        return float(np.real(self._spectrum[1, 0]))

    @cached_property
    def _spectrum(self) -> NDArray[np.complex128]:
        """Fourier coefficients of the acceleration along y and z, over one turn."""
        phase = 2.0 * math.pi / _SAMPLES * np.arange(_SAMPLES)
        roll = self.swing * np.sin(phase)
        push = self.push * np.sin(phase)
        return np.fft.rfft([push * np.cos(roll), push * np.sin(roll)], norm="forward")

    @cached_property
    def _shake(self) -> Sines:
        """Position less the drift: odd harmonics, sines, along y; even ones, cosines, along z.

        The harmonics fall off as J_k(swing) does, so those that alias in the samples
        are below 1e-27.
        """
        odd = np.arange(1, _SAMPLES // 2, 2)
        along_y, along_z = -2.0 * self._spectrum[0, odd].imag, 2.0 * self._spectrum[1, odd + 1].real
        heard = np.abs(along_y) + np.abs(along_z) > _ROUNDING * abs(self.push)
        terms = 1 + int(np.flatnonzero(heard).max(initial=0))
        rate = self.rate * np.array([odd, odd, odd + 1])[:, :terms]
        zero = np.zeros(terms)
        return Sines(
            np.array([zero, -along_y[:terms], -along_z[:terms]]) / rate**2,
            rate,
            np.array([zero, zero, zero + math.pi / 2.0]),
        )

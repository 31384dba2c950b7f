"""Vibration at the mounting of a sensor: tones, and noise with a given spectrum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.sensors._blocks import check_rows
from strapdown.sensors._tables import freeze, increasing, integral, like
from strapdown.sensors.noise import ACCEL, DEVICE, GYRO, Process, normals, uniforms

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from strapdown._typing import FloatArray
    from strapdown.sensors.noise import NoiseKey

__all__ = ["Line", "RotorSpeed", "Spectrum", "Vibration", "VibrationSignal"]

Cycles: TypeAlias = "Callable[[FloatArray], FloatArray]"
Drawn: TypeAlias = "list[tuple[Line, FloatArray]]"

_TURN = 2.0 * math.pi
_KEPT = 3


@dataclass(frozen=True, eq=False)
class RotorSpeed:
    """A speed that changes in time: its cycles since the first instant of the table.

    Parameters
    ----------
    t_s : (N,)
        Strictly increasing [s].
    frequency_hz : (N,)
        Linear in between, constant outside [Hz].

    Raises
    ------
    ShapeError
        The two are not of one shape (N,).
    ValueRangeError
        A value is not finite, or the instants do not increase.
    """

    t_s: FloatArray
    frequency_hz: FloatArray

    def __post_init__(self) -> None:
        freeze(self, "t_s", increasing(self.t_s, "t_s"))
        freeze(self, "frequency_hz", like(self.frequency_hz, "frequency_hz", self.t_s.shape))

    def __call__(self, t_s: FloatArray) -> FloatArray:
        """Return the cycles until the instants ``t_s`` (N,) [s], in closed form."""
        return integral(self.t_s, self.frequency_hz, t_s)


@dataclass(frozen=True, eq=False)
class Line:
    """A tone, ``amplitude sin(2 pi cycles(t) + phase)`` on each axis.

    A tone above half of the sampling rate aliases, as on a real part.

    Parameters
    ----------
    amplitude : (3,)
        [m/s^2], or [rad/s] of an angular line.
    frequency : float or callable
        Constant [Hz]; or cycles as a function of the instants (N,) [s], such as a
        :class:`RotorSpeed`.
    phase_rad : float or (3,), optional
        By default drawn for each axis.

    Raises
    ------
    ShapeError
        Amplitude or phase have other shapes.
    ValueRangeError
        A value is not finite, or the frequency is negative.
    """

    amplitude: FloatArray
    frequency: float | Cycles
    phase_rad: FloatArray | float | None = None

    def __post_init__(self) -> None:
        freeze(self, "amplitude", like(self.amplitude, "amplitude", (3,)))
        if self.phase_rad is not None:
            phase = np.asarray(self.phase_rad)
            phase = np.broadcast_to(phase, (3,)) if phase.ndim == 0 else phase
            freeze(self, "phase_rad", like(phase, "phase_rad", (3,)))
        if not callable(self.frequency) and not 0.0 <= self.frequency < math.inf:
            raise ValueRangeError(f"expected a frequency of 0 or more, got {self.frequency}")

    def at(self, t_s: FloatArray, phase_rad: FloatArray) -> FloatArray:
        """Return the tone (N, 3) at the instants ``t_s`` (N,) [s] with the phase (3,) [rad]."""
        cycles = self.frequency(t_s) if callable(self.frequency) else self.frequency * t_s
        angle = _TURN * (cycles - np.floor(cycles))
        tone: FloatArray = self.amplitude * np.sin(angle[:, None] + phase_rad)
        return tone


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A one-sided power spectral density.

    Parameters
    ----------
    frequency_hz : (N,)
        Strictly increasing from 0 or more [Hz].
    density : (N,) or (N, 3)
        Of each axis alike, or one column an axis; linear in between, zero outside
        [(m/s^2)^2/Hz], or [(rad/s)^2/Hz] of an angular spectrum.

    Raises
    ------
    ShapeError
        The two do not fit together.
    ValueRangeError
        A value is negative or not finite, or the frequencies do not increase.
    """

    frequency_hz: FloatArray
    density: FloatArray

    def __post_init__(self) -> None:
        freeze(self, "frequency_hz", increasing(self.frequency_hz, "frequency_hz"))
        density = as_finite(self.density, "density", ())
        density = density[:, None] if density.ndim == 1 else density
        if density.ndim != 2 or density.shape not in {(len(self.frequency_hz), n) for n in (1, 3)}:
            n = len(self.frequency_hz)
            raise ShapeError(f"expected density of shape ({n},) or ({n}, 3), got {density.shape}")
        freeze(self, "density", np.broadcast_to(density, (len(density), 3)))
        for name in ("frequency_hz", "density"):
            lowest = getattr(self, name).min()
            if lowest < 0.0:
                raise ValueRangeError(f"expected {name} of 0 or more, got {lowest}")

    def power(self, edges_hz: FloatArray) -> FloatArray:
        """Return the power (N, 3) between neighbouring frequencies ``edges_hz`` (N + 1,) [Hz]."""
        inside = np.clip(edges_hz, self.frequency_hz[0], self.frequency_hz[-1])
        axes = [integral(self.frequency_hz, axis, inside) for axis in self.density.T]
        power: FloatArray = np.diff(np.stack(axes, axis=-1), axis=0)
        return np.maximum(power, 0.0)  # the integral rounds


@dataclass(frozen=True)
class Vibration:
    """Vibration of a sensor, in its axes.

    Parameters
    ----------
    lines : tuple of Line
        Tones of specific force.
    spectrum : Spectrum, optional
        Noise of specific force.
    angular_lines, angular_spectrum
        The same of angular velocity.
    block : int
        Samples that the noise is synthesised from at once, L, even; it resolves the spectrum
        in steps of the internal rate over L.
    """

    lines: tuple[Line, ...] = ()
    spectrum: Spectrum | None = None
    angular_lines: tuple[Line, ...] = ()
    angular_spectrum: Spectrum | None = None
    block: int = 2048


class VibrationSignal:
    """A vibration at the samples of one sensor: random access, and never periodic.

    Parameters
    ----------
    vibration : Vibration
        The lines and spectra.
    rate_hz : float or Fraction
        Of the internal samples; the noise has this nominal rate.
    key : NoiseKey
        Of noise and drawn phases.
    compiled : bool, optional
        Compile the noise; the bits are the same.

    Raises
    ------
    ValueRangeError
        The rate is less than twice the highest frequency of a spectrum, or the block is odd.
    """

    def __init__(
        self,
        vibration: Vibration,
        rate_hz: float | Fraction,
        key: NoiseKey,
        *,
        compiled: bool = False,
    ) -> None:
        if vibration.block < 2 or vibration.block % 2:
            raise ValueRangeError(f"expected an even block of 2 or more, got {vibration.block}")

        def noise(spectrum: Spectrum | None, channel: int) -> _Noise | None:
            if spectrum is None:
                return None
            sigma = _bin_sigma(spectrum, float(rate_hz), vibration.block)
            return _Noise(sigma, key, channel, compiled=compiled)

        self._angular = _drawn(vibration.angular_lines, key, GYRO)
        self._angular_noise = noise(vibration.angular_spectrum, GYRO)
        self._linear = _drawn(vibration.lines, key, ACCEL)
        self._linear_noise = noise(vibration.spectrum, ACCEL)

    def at(self, start: int, t_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the vibration at internal samples.

        Parameters
        ----------
        start : int
            Number of the first internal sample, from 0 on; picks the noise.
        t_s : (N,)
            Their instants [s]; pick the phases of the lines.

        Returns
        -------
        angular_velocity, specific_force : (N, 3)
            Vibration to add to the ideal inputs [rad/s], [m/s^2].
        """
        check_rows(start, len(t_s))
        return (
            _sum(self._angular, self._angular_noise, start, t_s),
            _sum(self._linear, self._linear_noise, start, t_s),
        )


class _Noise:
    """Noise of three axes by overlapping blocks.

    Block j covers the L samples from (j - 1) L/2 on. Its bins are independent complex normal
    numbers with the variance S fs L / 2 (S the density over the bin, fs the rate); half a sine
    fades it in and out, and the squares of two overlapping windows add up to 1.
    """

    def __init__(self, sigma: FloatArray, key: NoiseKey, channel: int, *, compiled: bool) -> None:
        self._sigma = sigma
        self._half = len(sigma) - 1
        phase = (np.arange(2 * self._half) + 0.5) / (2 * self._half)
        self._window = np.sin(math.pi * phase)[:, None]
        self._key = key
        self._channel = channel
        self._compiled = compiled
        self._blocks: dict[int, FloatArray] = {}

    def rows(self, start: int, count: int) -> FloatArray:
        """Return samples ``start`` to ``start + count - 1``, (count, 3)."""
        half = self._half
        out = np.empty((count, 3))
        row = 0
        while row < count:
            block, first = divmod(start + row, half)
            last = min(first + count - row, half)
            fading, rising = self._block(block), self._block(block + 1)
            end = row + last - first
            np.add(fading[half + first : half + last], rising[first:last], out=out[row:end])
            row = end
        return out

    def _block(self, block: int) -> FloatArray:
        """Return a block (L, 3), windowed; the last few are kept."""
        if block not in self._blocks:
            if len(self._blocks) == _KEPT:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[block] = self._synthesised(block)
        return self._blocks[block]

    def _synthesised(self, block: int) -> FloatArray:
        half, size = self._half, 2 * self._half
        bins = np.zeros((half + 1, 3), np.complex128)
        for axis in range(3):
            where = self._key, self._channel + axis, Process.VIBRATION, block * size, size
            drawn = normals(*where, compiled=self._compiled)
            bins.real[:, axis] = drawn[: half + 1]
            bins.imag[1:half, axis] = drawn[half + 1 :]
        noise: FloatArray = np.fft.irfft(bins * self._sigma, size, axis=0)
        return self._window * noise


def _sum(lines: Drawn, noise: _Noise | None, start: int, t_s: FloatArray) -> FloatArray:
    total = np.zeros((len(t_s), 3)) if noise is None else noise.rows(start, len(t_s))
    for line, phase in lines:
        total += line.at(t_s, phase)
    return total


def _drawn(lines: tuple[Line, ...], key: NoiseKey, channel: int) -> Drawn:
    """Return lines with their phases (3,), drawn where none is given."""
    phases = (
        _TURN * uniforms(key, DEVICE, Process.VIBRATION, channel + 6 * number, 3)
        if line.phase_rad is None
        else np.asarray(line.phase_rad)
        for number, line in enumerate(lines)
    )
    return list(zip(lines, phases, strict=True))


def _bin_sigma(spectrum: Spectrum, rate_hz: float, size: int) -> FloatArray:
    """Return the standard deviation (L/2 + 1, 3) of the parts of the bins of ``irfft``."""
    highest = float(spectrum.frequency_hz[-1])
    if rate_hz < 2.0 * highest:
        raise ValueRangeError(
            f"expected a rate of at least twice the spectrum's highest frequency, {highest} Hz, "
            f"got {rate_hz} Hz; oversample, or end the spectrum at {rate_hz / 2.0} Hz"
        )
    edges = (np.arange(size // 2 + 2) - 0.5) * (rate_hz / size)
    sigma = (size / 2.0) * np.sqrt(spectrum.power(np.clip(edges, 0.0, rate_hz / 2.0)))
    sigma[[0, -1]] *= 2.0  # real and single: the other bins represent both signs of the frequency
    return sigma

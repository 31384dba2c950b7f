"""Specification of three sensors of one kind: the parameters of their errors, in SI units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.sensors import _spec_checks as must
from strapdown.sensors.noise.flicker import flicker_avar, flicker_terms, gauss_markov_avar

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = [
    "Bandwidth",
    "BandwidthKind",
    "Distribution",
    "GaussMarkov",
    "Matrix",
    "NoiseAt",
    "PerAxis",
    "Temperature",
    "TriadSpec",
    "TurnOn",
    "Vector",
]

Vector: TypeAlias = tuple[float, float, float]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]
PerAxis: TypeAlias = float | Vector


class NoiseAt(StrEnum):
    """Point at which white noise enters."""

    OUTPUT = "output"
    """N / sqrt(dt) on each sample: the Allan curve is right at every cluster time."""
    ELEMENT = "element"
    """Before the filter: the filter shapes it, as on the part."""


class BandwidthKind(StrEnum):
    """Filters between the element and the samples."""

    BOXCAR = "boxcar"
    """Integrate and dump over the output interval."""
    LOWPASS = "lowpass"
    """Butterworth of order 1 to 4, bilinear transform prewarped at the -3 dB frequency."""
    SECTIONS = "sections"
    """Second-order sections of the user, at the internal rate."""


@dataclass(frozen=True)
class Bandwidth:
    """The filter of a triad.

    Parameters
    ----------
    kind : BandwidthKind
    frequency_hz : float, optional
        The -3 dB frequency of a low-pass [Hz].
    order : int
        Of a low-pass, 1 to 4.
    sections : tuple of 6-tuples
        b0 b1 b2 1 a1 a2 of each section, for ``"sections"``.
    """

    kind: BandwidthKind
    frequency_hz: float | None = None
    order: int = 2
    sections: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        must.settle(
            self,
            {
                "kind": must.member(BandwidthKind, "kind of bandwidth"),
                "frequency_hz": must.optional(must.number(above=0.0)),
                "order": must.whole(1, 4),
                "sections": must.many(must.array(6)),
            },
        )
        _belongs("frequency_hz", self.frequency_hz, self.kind, BandwidthKind.LOWPASS)
        _belongs("sections", self.sections, self.kind, BandwidthKind.SECTIONS)
        for section in self.sections:
            *_, a0, a1, a2 = section
            if a0 != 1.0 or not abs(a2) < 1.0 or not abs(a1) < 1.0 + a2:
                raise ValueRangeError(f"expected stable sections with a0 = 1, got {section}")


def _belongs(name: str, value: object, kind: BandwidthKind, owner: BandwidthKind) -> None:
    if bool(value) != (kind == owner):
        raise ValueRangeError(f"expected {name} with the bandwidth {owner}, and only there")


@dataclass(frozen=True)
class GaussMarkov:
    """A first-order Gauss-Markov process.

    Parameters
    ----------
    sigma : float
        Steady standard deviation [unit of the triad].
    correlation_time_s : float
        [s].
    """

    sigma: float
    correlation_time_s: float

    def __post_init__(self) -> None:
        must.settle(self, {"sigma": must.number(0.0), "correlation_time_s": must.number(above=0.0)})

    @property
    def allan_peak(self) -> float:
        """The largest Allan deviation, at 1.8926 correlation times [unit of the triad]."""
        return self.sigma * math.sqrt(gauss_markov_avar(1.8926, 1.0))


class Distribution(StrEnum):
    """Of a value that is drawn once."""

    NORMAL = "normal"
    UNIFORM = "uniform"


@dataclass(frozen=True)
class TurnOn:
    """A value that is drawn once a power cycle, for each axis.

    Parameters
    ----------
    distribution : {"normal", "uniform"}
    size : float or 3 floats
        Standard deviation of the normal, or half width of the uniform distribution.
    """

    distribution: str
    size: PerAxis

    def __post_init__(self) -> None:
        must.settle(
            self,
            {
                "distribution": must.member(Distribution, "turn-on distribution"),
                "size": must.per_axis(),
            },
        )

    def per_axis(self) -> Vector:
        """Return the size for each axis."""
        return _three(self.size)


@dataclass(frozen=True)
class Temperature:
    """Dependence of a triad on its temperature.

    Parameters
    ----------
    reference_degC : float
        Where all polynomials are zero.
    bias : 3 tuples of float
        For each axis the coefficients of (T - reference)^1, ^2, ... [unit of the triad / K^i].
    scale : 3 tuples of float
        The same for the relative scale error [1 / K^i].
    noise : 3 tuples of float
        The same for the relative change of the noise density [1 / K^i].
    """

    reference_degC: float = 25.0  # noqa: N815 (the unit)
    bias: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]] = ((), (), ())
    scale: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]] = ((), (), ())
    noise: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]] = ((), (), ())

    def __post_init__(self) -> None:
        polynomials = dict.fromkeys(("bias", "scale", "noise"), must.axes(must.many(must.number())))
        must.settle(self, {"reference_degC": must.number(), **polynomials})


MAX_GAUSS_MARKOV = 16
"""Largest number, given by the noise streams."""

_PER_AXIS: dict[str, must.Rule] = {
    "noise_density": must.per_axis(),
    "bias_random_walk": must.per_axis(),
    "bias_instability": must.per_axis(),
    "rate_ramp": must.per_axis(-np.inf),
    "quadratic": must.per_axis(-np.inf),
    "cubic": must.per_axis(-np.inf),
}
_POSITIVE = must.optional(must.number(above=0.0))
_MATRIX = must.array(3, 3)
_TURN_ON = must.optional(must.instance(TurnOn))

_TRIAD_RULES: dict[str, must.Rule] = {
    **{name: must.optional(rule) for name, rule in _PER_AXIS.items()},
    "flicker_band_s": must.array(2),
    "gauss_markov": must.many(must.instance(GaussMarkov)),
    "turn_on_bias": _TURN_ON,
    "turn_on_scale": _TURN_ON,
    "turn_on_misalignment": _TURN_ON,
    "bias": must.array(3),
    "scale_misalignment": _MATRIX,
    "g_sensitivity": must.optional(_MATRIX),
    "g_squared_sensitivity": must.optional(_MATRIX),
    "temperature": must.optional(must.instance(Temperature)),
    "measurement_range": _POSITIVE,
    "element_range": _POSITIVE,
    "resolution": _POSITIVE,
    "bits": must.optional(must.whole(2, 48)),
    "carry_residue": must.instance(bool),
    "bandwidth": must.optional(must.instance(Bandwidth)),
    "noise_at": must.member(NoiseAt, "place of noise"),
    "enabled": must.flags,
}


@dataclass(frozen=True)
class TriadSpec:
    """Three axes of one kind.

    The unit u is rad/s for gyros, m/s^2 for accelerometers, T for magnetometers.

    Parameters
    ----------
    noise_density : float or 3 floats, optional
        White noise N [u/sqrt(Hz)]: the Allan deviation at 1 s, which is the square root of the
        two-sided power spectral density.
    bias_random_walk : float or 3 floats, optional
        K [u/sqrt(s)]; Allan deviation K sqrt(tau / 3).
    bias_instability : float or 3 floats, optional
        B of flicker noise with the two-sided density B^2 / (2 pi f); the Allan floor is
        0.66428 B [u].
    flicker_band_s : (float, float)
        Cluster times between which the floor is flat [s].
    gauss_markov : tuple of GaussMarkov
        More bias processes.
    rate_ramp : float or 3 floats, optional
        [u/s] since power-on; Allan deviation R tau / sqrt(2).
    turn_on_bias, turn_on_scale, turn_on_misalignment : TurnOn, optional
        Drawn once a power cycle [u], [1], [rad]: a bias for each axis, the three diagonal and
        the six other entries of E.
    bias : 3 floats
        Constant [u].
    scale_misalignment : 3x3
        E in y = (I + E) x.
    g_sensitivity : 3x3, optional
        Of gyros: a row a gyro axis, a column an axis of specific force [rad/s per m/s^2].
    g_squared_sensitivity : 3x3, optional
        Of gyros, on the squares of specific force [rad/s per (m/s^2)^2].
    quadratic, cubic : float or 3 floats, optional
        Nonlinearity of the element, f + K2 f^2 + K3 f^3 [1/u], [1/u^2].
    temperature : Temperature, optional
        Dependence of bias, scale and white noise on temperature.
    measurement_range : float, optional
        Largest magnitude of an output [u].
    element_range : float, optional
        Largest magnitude before the filter [u].
    resolution : float, optional
        One least significant bit [u].
    bits : int, optional
        Width of the output code; only with a resolution.
    carry_residue : bool
        Increments quantise the running sum, and carry the residue.
    bandwidth : Bandwidth, optional
        Filter between element and samples.
    noise_at : NoiseAt
        Point at which white noise enters.
    enabled : 3 bools
        Axes with values; the others are NaN.
    """

    noise_density: PerAxis | None = None
    bias_random_walk: PerAxis | None = None
    bias_instability: PerAxis | None = None
    flicker_band_s: tuple[float, float] = (1.0, 1000.0)
    gauss_markov: tuple[GaussMarkov, ...] = ()
    rate_ramp: PerAxis | None = None
    turn_on_bias: TurnOn | None = None
    turn_on_scale: TurnOn | None = None
    turn_on_misalignment: TurnOn | None = None
    bias: Vector = (0.0, 0.0, 0.0)
    scale_misalignment: Matrix = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    g_sensitivity: Matrix | None = None
    g_squared_sensitivity: Matrix | None = None
    quadratic: PerAxis | None = None
    cubic: PerAxis | None = None
    temperature: Temperature | None = None
    measurement_range: float | None = None
    element_range: float | None = None
    resolution: float | None = None
    bits: int | None = None
    carry_residue: bool = False
    bandwidth: Bandwidth | None = None
    noise_at: NoiseAt = NoiseAt.OUTPUT
    enabled: tuple[bool, bool, bool] = (True, True, True)

    def __post_init__(self) -> None:
        must.settle(self, _TRIAD_RULES)
        flicker_terms(self.flicker_band_s)  # refuses a band that has none
        if len(self.gauss_markov) > MAX_GAUSS_MARKOV:
            raise ValueRangeError(
                f"expected at most {MAX_GAUSS_MARKOV} gauss_markov terms, "
                f"got {len(self.gauss_markov)}"
            )
        if self.bits is not None and self.resolution is None:
            raise ValueRangeError("expected a resolution with bits, got none")

    def per_axis(self, name: str) -> Vector | None:
        """Return a parameter for each axis: ``noise_density``, ``bias_instability``, ...

        None where it is unknown.

        Raises
        ------
        UnknownNameError
            No parameter of that name is one number or three.
        """
        if name not in _PER_AXIS:
            raise UnknownNameError("parameter of each axis", name, _PER_AXIS)
        value = getattr(self, name)
        return None if value is None else _three(value)

    def on_axis(self, name: str, axis: int) -> float:
        """Return a parameter of :meth:`per_axis` for one axis, 0 where it is unknown."""
        values = self.per_axis(name)
        return 0.0 if values is None else values[axis]

    def allan(self, tau_s: ArrayLike) -> FloatArray:
        """Return the Allan deviation of each axis of the model.

        The root of the sum of squares of white noise, random walk, flicker (the sum of
        Gauss-Markov terms that is simulated, so with its roll-off outside the band), Gauss-Markov
        processes, and ramp (IEEE Std 952-1997, annex C), at the reference temperature. Not in it:
        the rounding of samples, the filter (short cluster times), and changes of temperature.

        Parameters
        ----------
        tau_s : (...)
            Cluster times [s].

        Returns
        -------
        (..., 3)
            [u]; NaN for an axis that is off.

        Raises
        ------
        ValueRangeError
            A cluster time is not positive.
        """
        tau = as_finite(tau_s, "tau_s", ())[..., np.newaxis]
        if np.any(tau <= 0.0):
            raise ValueRangeError(f"expected positive tau_s, got {np.min(tau)}")
        return np.where(self.enabled, np.sqrt(self._allan_variance(tau)), np.nan)

    def _allan_variance(self, tau: FloatArray) -> FloatArray:
        noise, walk, ramp, floor = (
            np.array(self.per_axis(name) or (0.0, 0.0, 0.0))
            for name in ("noise_density", "bias_random_walk", "rate_ramp", "bias_instability")
        )
        variance: FloatArray = noise**2 / tau + walk**2 * tau / 3.0 + ramp**2 * tau**2 / 2.0
        if np.any(floor):
            variance += floor**2 * flicker_avar(tau, self.flicker_band_s)
        for process in self.gauss_markov:
            variance += process.sigma**2 * gauss_markov_avar(tau, process.correlation_time_s)
        return variance


def _three(value: PerAxis) -> Vector:
    return value if isinstance(value, tuple) else (value, value, value)

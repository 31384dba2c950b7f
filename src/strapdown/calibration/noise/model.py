"""Noise of one channel as a sum of terms, each with its Allan variance and its spectrum."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.sensors.noise.flicker import ALLAN_FLOOR, gauss_markov_avar

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.sensors.triad import GaussMarkov

__all__ = ["LETTERS", "NAMES", "NoiseModel", "unit_variance"]

NAMES: Final = {
    "Q": "quantisation",
    "N": "white noise",
    "B": "flicker noise",
    "K": "random walk",
    "R": "ramp",
}
"""Terms with one coefficient, in the order of their slopes."""

LETTERS: Final = tuple(NAMES)

_UNIT_VARIANCES: Final[dict[str, Callable[[FloatArray], FloatArray]]] = {
    "Q": lambda tau: 3.0 / tau**2,
    "N": lambda tau: 1.0 / tau,
    "B": lambda tau: np.full_like(tau, ALLAN_FLOOR**2),
    "K": lambda tau: tau / 3.0,
    "R": lambda tau: tau**2 / 2.0,
}
_UNIT_DENSITIES: Final[dict[str, Callable[[FloatArray], FloatArray]]] = {
    "Q": lambda omega: omega**2,
    "N": np.ones_like,
    "B": lambda omega: 1.0 / omega,
    "K": lambda omega: 1.0 / omega**2,
    "R": lambda omega: 1.0 / omega**3,
}


def unit_variance(letter: str, tau_s: ArrayLike) -> FloatArray:
    """Return the Allan variance (...) of a term with the coefficient 1.

    Parameters
    ----------
    letter : {"Q", "N", "B", "K", "R"}
    tau_s : (...)
        Cluster times [s].

    Examples
    --------
    >>> [round(float(unit_variance(letter, 3.0)), 3) for letter in "QNBKR"]
    [0.333, 0.333, 0.441, 1.0, 4.5]
    """
    return _UNIT_VARIANCES[letter](np.asarray(tau_s, np.float64))


@dataclass(frozen=True)
class NoiseModel:
    """Noise terms of one channel of unit u; None where a term is absent.

    ::

        sigma^2(tau) = 3 Q^2 / tau^2 + N^2 / tau + (2 ln 2 / pi) B^2 + K^2 tau / 3
                       + R^2 tau^2 / 2 + Gauss-Markov processes

    Parameters
    ----------
    Q : float, optional
        Quantisation [u s].
    N : float, optional
        White noise [u/sqrt(Hz)]: the Allan deviation at 1 s, which is the square root of the
        two-sided power spectral density.
    B : float, optional
        Flicker noise of the two-sided density B^2 / (2 pi f) [u]; the Allan floor is 0.66428 B.
    K : float, optional
        Random walk [u/sqrt(s)].
    R : float, optional
        Ramp [u/s].
    gauss_markov : tuple of GaussMarkov
        Sigma [u] and correlation time [s].

    Raises
    ------
    ValueRangeError
        A coefficient is not positive and finite.

    References
    ----------
    IEEE Std 952-2020, annex C.

    Examples
    --------
    >>> NoiseModel(N=3.0, K=0.4).deviation([1.0, 100.0]).round(3).tolist()
    [3.009, 2.329]
    """

    Q: float | None = None
    N: float | None = None
    B: float | None = None
    K: float | None = None
    R: float | None = None
    gauss_markov: tuple[GaussMarkov, ...] = ()

    def __post_init__(self) -> None:
        for letter, value in self.coefficients().items():
            if not 0.0 < value < math.inf:
                raise ValueRangeError(f"expected {letter} above 0, or None; got {value}")

    def coefficients(self) -> dict[str, float]:
        """Return the coefficients of the terms that are present, by letter."""
        values = {field.name: getattr(self, field.name) for field in fields(self)[:-1]}
        return {letter: value for letter, value in values.items() if value is not None}

    def terms(self, tau_s: ArrayLike) -> dict[str, FloatArray]:
        """Return the Allan deviation (...) of each term at the cluster times [s].

        The keys are the letters, and ``GM1``, ``GM2``, ... of the Gauss-Markov processes.
        """
        tau = np.asarray(tau_s, np.float64)
        found = {
            letter: value * np.sqrt(unit_variance(letter, tau))
            for letter, value in self.coefficients().items()
        }
        for number, process in enumerate(self.gauss_markov, start=1):
            share = gauss_markov_avar(tau, process.correlation_time_s)
            found[f"GM{number}"] = process.sigma * np.sqrt(share)
        return found

    def deviation(self, tau_s: ArrayLike) -> FloatArray:
        """Return the Allan deviation (...) at the cluster times [s]."""
        tau = np.asarray(tau_s, np.float64)
        return np.sqrt(sum((term**2 for term in self.terms(tau).values()), np.zeros_like(tau)))

    def slope(self, tau_s: ArrayLike) -> FloatArray:
        """Return the slope (...) of the Allan deviation over logarithmic axes at times [s]."""
        tau = np.asarray(tau_s, np.float64)
        step = 1e-4
        up, down = self.deviation(tau * np.exp(step)), self.deviation(tau * np.exp(-step))
        return np.asarray(np.log(up / down) / (2.0 * step))

    def density(self, frequency_hz: ArrayLike) -> FloatArray:
        """Return the two-sided power spectral density (...) at frequencies above 0 [u^2/Hz]."""
        omega = 2.0 * np.pi * np.asarray(frequency_hz, np.float64)
        total = np.zeros_like(omega)
        for letter, value in self.coefficients().items():
            total += value**2 * _UNIT_DENSITIES[letter](omega)
        for process in self.gauss_markov:
            time_s = process.correlation_time_s
            total += 2.0 * process.sigma**2 * time_s / (1.0 + (omega * time_s) ** 2)
        return total

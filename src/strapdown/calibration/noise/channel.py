"""Noise parameters of one channel, with intervals and a statement of the misfit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.calibration.noise.curve import FEWEST
from strapdown.calibration.noise.fit import choose
from strapdown.calibration.noise.model import LETTERS, NAMES, NoiseModel
from strapdown.calibration.noise.readings import minimum_of, read_curve, tangent_bound
from strapdown.calibration.noise.uncertainty import (
    bootstrap,
    covariance,
    covariance_of_points,
    discrepancy_of,
    half_widths,
)
from strapdown.calibration.noise.units import shown, stored_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray
    from strapdown.calibration.noise.curve import Curve
    from strapdown.calibration.noise.fit import Solution
    from strapdown.calibration.noise.readings import Minimum, Reading

__all__ = ["ChannelNoise", "Estimate", "Process", "channel_noise", "roughly"]

_CONFIDENCE: Final = 0.95
_BEYOND: Final = 0.999  # probability of the bounds beyond which a point contradicts the model
_NOTABLE: Final = 1.1  # smallest factor in variance that is reported


@dataclass(frozen=True)
class Estimate:
    """A coefficient with its 95 % interval, in SI units.

    Parameters
    ----------
    value : float, optional
        None where the term is not identified.
    lower, upper : float
        Bounds of the interval; without a value 0 and the largest value that the curve allows.
    reason : str
        Reason for a missing value.
    """

    value: float | None
    lower: float
    upper: float
    reason: str = ""


@dataclass(frozen=True)
class Process:
    """A Gauss-Markov process with 95 % intervals.

    Parameters
    ----------
    sigma : Estimate
        Steady standard deviation [u].
    correlation_time_s : Estimate
        [s].
    """

    sigma: Estimate
    correlation_time_s: Estimate


@dataclass(frozen=True)
class ChannelNoise:
    """Noise of one channel of unit u.

    Parameters
    ----------
    channel, unit : str
        Such as ``angular_velocity.x`` and ``rad/s``.
    model : NoiseModel
        The identified terms.
    coefficients : mapping of Estimate
        By letter: Q, N, B, K, R.
    processes : tuple of Process
        Gauss-Markov processes.
    readings : mapping of Reading
        By letter, read off the curve.
    minimum : Minimum, optional
        Lowest point of the curve, which data sheets call bias instability.
    without_processes : NoiseModel
        Fit of the terms with one coefficient alone, for targets without Gauss-Markov processes.
    reduced_chi_square : float
        Mean squared misfit in standard deviations; 1 is expected.
    worst : float
        Largest ratio between measured variance and model, or its reciprocal, of a point.
    worst_at_s : float
        Cluster time of that point [s].
    warning : str
        Statement where the model does not fit; empty where it does.
    """

    channel: str
    unit: str
    model: NoiseModel
    coefficients: Mapping[str, Estimate]
    processes: tuple[Process, ...]
    readings: Mapping[str, Reading]
    minimum: Minimum | None
    without_processes: NoiseModel
    reduced_chi_square: float
    worst: float
    worst_at_s: float
    warning: str

    @property
    def fits(self) -> bool:
        """Whether all points agree with the model within their scatter."""
        return not self.warning

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and texts, in SI units and those of data sheets."""
        return {
            "unit": self.unit,
            "coefficients": {
                letter: {
                    "name": NAMES[letter],
                    "unit": stored_unit(letter, self.unit),
                    **_estimate(estimate),
                    "shown": shown(letter, estimate.value, self.unit) if estimate.value else {},
                    "read": _reading(self.readings[letter]),
                }
                for letter, estimate in self.coefficients.items()
            },
            "gauss_markov": [
                {
                    "sigma": _estimate(process.sigma),
                    "correlation_time_s": _estimate(process.correlation_time_s),
                }
                for process in self.processes
            ],
            "minimum": None
            if self.minimum is None
            else {
                "deviation": self.minimum.deviation,
                "tau_s": self.minimum.tau_s,
                "at_end": self.minimum.at_end,
                "shown": shown("B", self.minimum.deviation, self.unit),
            },
            "fit": {
                "reduced_chi_square": self.reduced_chi_square,
                "worst_variance_ratio": self.worst,
                "worst_at_s": self.worst_at_s,
                "warning": self.warning,
            },
        }


def roughly(curve: Curve) -> NoiseModel | None:
    """Return a model without Gauss-Markov processes; None of a curve that is too short."""
    return choose(curve, gauss_markov=0).model() if len(curve) >= FEWEST else None


def channel_noise(  # noqa: PLR0913, PLR0917 (all that a fit needs)
    name: str,
    unit: str,
    curve: Curve,
    gauss_markov: int,
    interval_s: float,
    drawn: tuple[int, int] | None,
) -> ChannelNoise:
    """Return the noise of one channel.

    Parameters
    ----------
    name, unit : str
        Of the channel.
    curve : Curve
    gauss_markov : int
        Largest number of Gauss-Markov processes.
    interval_s : float
        Sampling interval [s].
    drawn : (int, int), optional
        Number and seed of drawn curves for intervals by bootstrap.
    """
    readings, minimum = read_curve(curve), minimum_of(curve)
    if len(curve) < FEWEST:
        reason = readings["N"].reason
        absent = {k: Estimate(None, 0.0, readings[k].upper, reason) for k in LETTERS}
        empty = NoiseModel()
        warning = f"{name}: {reason}; the samples are constant, or the log is too short"
        return ChannelNoise(
            name, unit, empty, absent, (), readings, minimum, empty, math.nan, math.nan, math.nan,
            warning,
        )  # fmt: skip
    solution = choose(curve, gauss_markov=gauss_markov)
    plain = choose(curve, gauss_markov=0) if solution.processes else solution
    misfit = _Misfit.of(curve, solution)
    warning = misfit.warning(name)
    discrepancy = discrepancy_of(curve, solution) if warning else 0.0
    of_points = covariance_of_points(curve, solution, interval_s, discrepancy)
    lower, upper = _bounds(curve, solution, of_points, drawn)
    return ChannelNoise(
        name,
        unit,
        solution.model(),
        _coefficients(curve, solution, lower, upper),
        _processes(solution, lower, upper),
        readings,
        minimum,
        plain.model(),
        misfit.reduced,
        misfit.worst,
        misfit.at_s,
        warning,
    )


@dataclass(frozen=True)
class _Misfit:
    """Comparison of the points with a model."""

    reduced: float
    worst: float
    at_s: float
    contradicted: bool

    @classmethod
    def of(cls, curve: Curve, solution: Solution) -> _Misfit:
        logs = np.log(solution.shares(curve.tau_s).sum(axis=1))
        freedom = max(1, len(curve) - len(solution.logs))
        reduced = float(np.sum(curve.weights * (curve.log_variance - logs) ** 2) / freedom)
        ratios = curve.variance / np.exp(logs)
        tail = 0.5 * (1.0 - _BEYOND) / len(curve)
        low, high = curve.scatter(tail), curve.scatter(1.0 - tail)
        beyond = np.maximum(
            ratios / np.maximum(high, _NOTABLE), np.minimum(low, 1 / _NOTABLE) / ratios
        )
        row = int(np.argmax(beyond))
        return cls(reduced, float(ratios[row]), float(curve.tau_s[row]), bool(beyond[row] > 1.0))

    def warning(self, name: str) -> str:
        """Return the statement where the model is contradicted."""
        if not self.contradicted:
            return ""
        factor, word = (self.worst, "more") if self.worst > 1.0 else (1.0 / self.worst, "less")
        return (
            f"{name}: the model does not fit: at {self.at_s:.3g} s the measured variance is "
            f"{factor:.2f} times {word} than the model's; use the curve itself there"
        )


def _bounds(
    curve: Curve, solution: Solution, of_points: FloatArray, drawn: tuple[int, int] | None
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of the logarithms of the solution."""
    if drawn is None:
        half = half_widths(covariance(curve, solution, of_points))
        return solution.logs - half, solution.logs + half
    logs = bootstrap(curve, solution, of_points, count=drawn[0], seed=drawn[1])
    tail = 0.5 * (1.0 - _CONFIDENCE)
    low, high = np.quantile(logs, [tail, 1.0 - tail], axis=0)
    return 2.0 * solution.logs - high, 2.0 * solution.logs - low


def _coefficients(
    curve: Curve, solution: Solution, lower: FloatArray, upper: FloatArray
) -> dict[str, Estimate]:
    """Return the estimate of each letter."""
    limit = tangent_bound(curve, curve.upper(_CONFIDENCE))
    found = {}
    for letter in LETTERS:
        if letter in solution.letters:
            row = solution.letters.index(letter)
            found[letter] = _from_logs(solution.logs[row], lower[row], upper[row], 0.5)
        else:
            found[letter] = Estimate(None, 0.0, limit[letter], _absence(curve, letter))
    return found


def _absence(curve: Curve, letter: str) -> str:
    """Return the reason why a term is not identified."""
    if letter == "Q":
        return (
            f"not identifiable: the curve does not fall with slope -1 at its shortest cluster "
            f"time, {curve.tau_s[0]:.3g} s; rounding of samples is part of the white noise"
        )
    return f"not identifiable: {NAMES[letter]} does not improve the fit of this log"


def _processes(solution: Solution, lower: FloatArray, upper: FloatArray) -> tuple[Process, ...]:
    """Return the Gauss-Markov processes."""
    first, count = len(solution.letters), solution.processes
    return tuple(
        Process(
            _from_logs(solution.logs[row], lower[row], upper[row], 0.5),
            _from_logs(solution.logs[row + count], lower[row + count], upper[row + count], 1.0),
        )
        for row in range(first, first + count)
    )


def _from_logs(log: float, lower: float, upper: float, power: float) -> Estimate:
    value, low, high = (math.exp(power * min(each, 600.0)) for each in (log, lower, upper))
    return Estimate(value, low, high)


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": estimate.value,
        "lower": estimate.lower,
        "upper": estimate.upper,
        **({"reason": estimate.reason} if estimate.reason else {}),
    }


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "value": reading.value,
        "at_s": reading.at_s,
        "upper": reading.upper,
        **({"reason": reading.reason} if reading.reason else {}),
    }

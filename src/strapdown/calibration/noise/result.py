"""Noise parameters of the channels of a sensor."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from strapdown.calibration.noise.curve import FEWEST, curves_of
from strapdown.calibration.noise.fit import choose
from strapdown.calibration.noise.model import LETTERS, NAMES, NoiseModel
from strapdown.calibration.noise.readings import minimum_of, read_curve, tangent_bound
from strapdown.calibration.noise.uncertainty import bootstrap, covariance, half_widths
from strapdown.calibration.noise.units import shown, stored_unit
from strapdown.errors import UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray
    from strapdown.calibration.noise.curve import AllanCurves, Curve
    from strapdown.calibration.noise.fit import Solution
    from strapdown.calibration.noise.readings import Minimum, Reading

__all__ = ["ChannelNoise", "Estimate", "Intervals", "NoiseFit", "Process", "fit_noise"]

Intervals = Literal["fast", "bootstrap"]
_CONFIDENCE: Final = 0.95
_BEYOND: Final = 0.999  # probability of the bounds beyond which a point contradicts the model
_NOTABLE: Final = 1.1  # smallest factor in variance that is reported
_COUNT: Final = 200
_MOST_PROCESSES: Final = 3


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


@dataclass(frozen=True)
class NoiseFit:
    """Noise parameters of every channel of a log at rest.

    Parameters
    ----------
    channels : tuple of ChannelNoise
    rate_hz : float
        Sampling rate [Hz].
    samples : int
    duration_s : float
        [s].
    """

    channels: tuple[ChannelNoise, ...]
    rate_hz: float
    samples: int
    duration_s: float

    def __getitem__(self, channel: str) -> ChannelNoise:
        """Return the noise of a channel by name.

        Raises
        ------
        UnknownNameError
            There is no such channel.
        """
        by_name = {each.channel: each for each in self.channels}
        if channel not in by_name:
            raise UnknownNameError("channel", channel, by_name)
        return by_name[channel]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Statements about channels whose model does not fit."""
        return tuple(each.warning for each in self.channels if each.warning)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and texts."""
        return {
            "rate_hz": self.rate_hz,
            "samples": self.samples,
            "duration_s": self.duration_s,
            "channels": {each.channel: each.to_dict() for each in self.channels},
        }


def fit_noise(
    result: AllanCurves,
    *,
    gauss_markov: int = _MOST_PROCESSES,
    bandwidth_hz: float | None = None,
    intervals: Intervals = "fast",
    seed: int = 0,
) -> NoiseFit:
    """Identify the noise terms of each channel and their coefficients.

    A non-negative least squares fit of the relative variance is the start. The squares of the
    logarithms of measured over modelled variance, weighted by their degrees of freedom with a cap
    of five medians, are minimised. Terms are added and removed while the Bayesian information
    criterion falls. The 95 % intervals include the correlation of neighbouring cluster times.
    Where the model does not fit, :attr:`ChannelNoise.warning` reports it, and the intervals are
    widened by the root of the reduced chi-square.

    Parameters
    ----------
    result : AllanResult
        Of kind ``oadev``, ``adev`` or ``totdev``.
    gauss_markov : int
        Largest number of Gauss-Markov processes, 0 to 3.
    bandwidth_hz : float, optional
        Bandwidth of the sensor: cluster times below its reciprocal are bent by the filter and
        left out [Hz].
    intervals : {"fast", "bootstrap"}
        Linear propagation, or 200 fits to curves drawn from the model.
    seed : int
        Of the drawn curves.

    Raises
    ------
    UnknownNameError
        The deviation is not an Allan deviation, or there are no such intervals.
    ValueRangeError
        A number is outside its range.

    References
    ----------
    IEEE Std 952-2020, annex C; IEEE Std 1293-2018, annex B.
    """
    if intervals not in get_args(Intervals):
        raise UnknownNameError("intervals", intervals, get_args(Intervals))
    if not 0 <= gauss_markov <= _MOST_PROCESSES:
        raise ValueRangeError(f"expected gauss_markov from 0 to 3, got {gauss_markov}")
    if bandwidth_hz is not None and not bandwidth_hz > 0.0:
        raise ValueRangeError(f"expected bandwidth_hz above 0, got {bandwidth_hz}")
    curves = curves_of(result)
    if bandwidth_hz is not None:
        curves = [curve.from_time(1.0 / bandwidth_hz) for curve in curves]
    drawn = (_COUNT, seed) if intervals == "bootstrap" else None
    named = zip(result.channels, result.units, curves, strict=True)
    return NoiseFit(
        tuple(
            _channel(name, unit, curve, gauss_markov, 1.0 / result.rate_hz, drawn)
            for name, unit, curve in named
        ),
        result.rate_hz,
        result.samples,
        result.duration_s,
    )


def _channel(  # noqa: PLR0913, PLR0917 (all that a fit needs)
    name: str,
    unit: str,
    curve: Curve,
    gauss_markov: int,
    interval_s: float,
    drawn: tuple[int, int] | None,
) -> ChannelNoise:
    """Return the noise of one channel."""
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
    scale = math.sqrt(max(1.0, misfit.reduced)) if warning else 1.0
    lower, upper = _bounds(curve, solution, interval_s, drawn, scale)
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
        from scipy.stats import chi2  # noqa: PLC0415 (slow to import)

        logs = np.log(solution.shares(curve.tau_s).sum(axis=1))
        freedom = max(1, len(curve) - len(solution.logs))
        reduced = float(np.sum(curve.weights * (curve.log_variance - logs) ** 2) / freedom)
        ratios = curve.variance / np.exp(logs)
        tail = 0.5 * (1.0 - _BEYOND) / len(curve)
        low, high = (chi2.ppf(p, curve.edf) / curve.edf for p in (tail, 1.0 - tail))
        beyond = np.maximum(ratios / np.maximum(high, _NOTABLE), np.minimum(low, 1 / _NOTABLE) / ratios)
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
    curve: Curve,
    solution: Solution,
    interval_s: float,
    drawn: tuple[int, int] | None,
    scale: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of the logarithms of the solution."""
    if drawn is None:
        half = scale * half_widths(covariance(curve, solution, interval_s))
        return solution.logs - half, solution.logs + half
    logs = bootstrap(curve, solution, interval_s, count=drawn[0], seed=drawn[1])
    tail = 0.5 * (1.0 - _CONFIDENCE)
    low, high = np.quantile(logs, [tail, 1.0 - tail], axis=0)
    return solution.logs - scale * (high - solution.logs), solution.logs + scale * (
        solution.logs - low
    )


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


def _processes(
    solution: Solution, lower: FloatArray, upper: FloatArray
) -> tuple[Process, ...]:
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

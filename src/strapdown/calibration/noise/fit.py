"""Fit of noise terms to an Allan curve, and choice of the terms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.noise.model import LETTERS, NoiseModel, unit_variance
from strapdown.sensors.noise.flicker import gauss_markov_avar
from strapdown.sensors.triad import GaussMarkov

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown._typing import FloatArray
    from strapdown.calibration.noise.curve import Curve

__all__ = ["Solution", "choose", "refit"]

_PEAK: Final = 1.8926  # cluster time of the peak of a Gauss-Markov process, in correlation times
_TRIED: Final = 24  # correlation times from which a fit begins
_STEP: Final = 1e-4  # of the logarithm of a correlation time, for its derivative
_QUANTISATION_SHARE: Final = 0.5  # least part of the variance at the shortest cluster time
_LARGEST_LOG: Final = 100.0


@dataclass(frozen=True)
class Solution:
    """Terms with the logarithms of their coefficients.

    Parameters
    ----------
    letters : tuple of str
        Terms with one coefficient.
    logs : (P,)
        Logarithms of the squared coefficients; then, of each Gauss-Markov process, of the
        variance, and after all of these of the correlation times.
    misfit : float
        Weighted sum of squares.
    """

    letters: tuple[str, ...]
    logs: FloatArray
    misfit: float = math.inf

    @property
    def processes(self) -> int:
        """Number of Gauss-Markov processes."""
        return (len(self.logs) - len(self.letters)) // 2

    @property
    def times_s(self) -> FloatArray:
        """Correlation times [s]."""
        return _exp(self.logs[len(self.logs) - self.processes :])

    def shares(self, tau_s: FloatArray) -> FloatArray:
        """Return the variance (T, terms) of each term."""
        columns = [unit_variance(letter, tau_s) for letter in self.letters]
        columns += [gauss_markov_avar(tau_s, time_s) for time_s in self.times_s]
        return np.stack(columns, axis=1) * _exp(self.logs[: len(columns)])

    def jacobian(self, tau_s: FloatArray) -> FloatArray:
        """Return the derivatives (T, P) of the logarithm of the variance."""
        shares = self.shares(tau_s)
        total = shares.sum(axis=1, keepdims=True)
        columns = [shares / total]
        for number, time_s in enumerate(self.times_s):
            share = shares[:, len(self.letters) + number]
            up, down = (gauss_markov_avar(tau_s, time_s * math.exp(d)) for d in (_STEP, -_STEP))
            slope = np.log(up / down) / (2.0 * _STEP)
            columns.append((share * slope)[:, None] / total)
        return np.concatenate(columns, axis=1)

    def model(self) -> NoiseModel:
        """Return the model."""
        values = _exp(self.logs / 2.0)
        sigmas = values[len(self.letters) :][: self.processes]
        processes = [
            GaussMarkov(float(sigma), float(time_s))
            for sigma, time_s in zip(sigmas, self.times_s, strict=True)
        ]
        coefficients = dict(zip(self.letters, values.tolist(), strict=False))
        return NoiseModel(**coefficients, gauss_markov=tuple(processes))


def choose(curve: Curve, *, gauss_markov: int) -> Solution:
    """Return the terms with the lowest Bayesian information criterion.

    Starts with the terms of a non-negative least squares fit, then adds or removes one term at a
    time while the criterion falls. Neighbouring points share data, so the misfit counts by
    octaves, and a Gauss-Markov process counts as three parameters, because its correlation time is
    the best of many. Quantisation needs a curve that it dominates at the shortest cluster time.

    Parameters
    ----------
    curve : Curve
    gauss_markov : int
        Largest number of Gauss-Markov processes.
    """
    best = _solved(curve, Solution(LETTERS, np.zeros(len(LETTERS))))
    score = _criterion(curve, best)
    while True:
        tried = [_solved(curve, each) for each in _neighbours(curve, best, gauss_markov)]
        scores = [_criterion(curve, each) for each in tried]
        if not scores or min(scores) >= score - 1e-6:
            return best
        score = min(scores)
        best = tried[scores.index(score)]


def refit(curve: Curve, solution: Solution) -> Solution:
    """Return the coefficients of the same terms for another curve."""
    return _refined(curve, solution)


def _neighbours(curve: Curve, best: Solution, gauss_markov: int) -> Iterator[Solution]:
    """Yield the solutions with one term more or fewer."""
    ordered, processes = len(best.letters), best.processes
    if ordered + processes > 1:
        for number in range(ordered):
            letters = best.letters[:number] + best.letters[number + 1 :]
            yield replace(best, letters=letters, logs=np.delete(best.logs, number))
        for number in range(processes):
            at = ordered + number
            yield replace(best, logs=np.delete(best.logs, (at, at + processes)))
    for letter in LETTERS:
        if letter not in best.letters:
            letters = tuple(sorted((*best.letters, letter), key=LETTERS.index))
            yield replace(
                best, letters=letters, logs=np.insert(best.logs, letters.index(letter), 0.0)
            )
    if processes < gauss_markov:
        for time_s in _promising_times(curve, best):
            logs = np.insert(best.logs, ordered + processes, 0.0)
            yield replace(best, logs=np.append(logs, math.log(time_s)))


def _promising_times(curve: Curve, best: Solution) -> list[float]:
    """Return the correlation times of another process that reduce the misfit most."""
    times = np.geomspace(*_range_of_times(curve), _TRIED)
    misfits = []
    for time_s in times:
        logs = np.insert(best.logs, len(best.letters) + best.processes, 0.0)
        start = _started(curve, replace(best, logs=np.append(logs, math.log(time_s))))
        misfits.append(math.inf if start is None else _misfit(curve, start))
    padded = np.pad(misfits, 1, constant_values=math.inf)
    lowest = (padded[1:-1] < padded[:-2]) & (padded[1:-1] <= padded[2:])
    return [float(time_s) for time_s in times[lowest]]


def _range_of_times(curve: Curve) -> tuple[float, float]:
    """Return the correlation times whose peak lies within the curve."""
    return float(curve.tau_s[0]) / _PEAK, float(curve.tau_s[-1]) / _PEAK


def _solved(curve: Curve, solution: Solution) -> Solution:
    """Return the best coefficients of the terms; terms of coefficient 0 are dropped."""
    start = _started(curve, solution)
    return solution if start is None else _refined(curve, start)


def _started(curve: Curve, solution: Solution) -> Solution | None:
    """Return the coefficients of a non-negative least squares fit of the relative variance."""
    from scipy.optimize import nnls  # noqa: PLC0415 (slow to import)

    times, processes = solution.times_s, solution.processes
    ordered = len(solution.letters)
    logs = np.concatenate([np.zeros(ordered + processes), np.log(times)])
    shapes = replace(solution, logs=logs).shares(curve.tau_s)
    rows = np.sqrt(curve.weights)
    relative = shapes * (rows / np.exp(curve.log_variance))[:, None]
    size = np.linalg.norm(relative, axis=0)
    found, _ = nnls(relative / size, rows)
    kept = found > 0.0
    if not kept.any():
        return None
    letters = tuple(letter for letter, keep in zip(solution.letters, kept, strict=False) if keep)
    of_processes = kept[ordered:]
    logs = np.concatenate([np.log(found[kept] / size[kept]), np.log(times)[of_processes]])
    return Solution(letters, logs)


def _refined(curve: Curve, start: Solution) -> Solution:
    """Return the solution with the least misfit of the logarithm of the variance."""
    from scipy.optimize import least_squares  # noqa: PLC0415 (slow to import)

    root = np.sqrt(curve.weights)
    if len(start.logs) > len(curve):
        return start
    done = least_squares(
        lambda logs: _residuals(curve, replace(start, logs=logs)),
        start.logs,
        lambda logs: replace(start, logs=logs).jacobian(curve.tau_s) * root[:, None],
        method="lm",
        max_nfev=200,
    )
    return Solution(start.letters, done.x, 2.0 * float(done.cost))


def _residuals(curve: Curve, solution: Solution) -> FloatArray:
    logs = np.log(solution.shares(curve.tau_s).sum(axis=1))
    return np.asarray(np.sqrt(curve.weights) * (logs - curve.log_variance))


def _misfit(curve: Curve, solution: Solution) -> float:
    return float(np.sum(_residuals(curve, solution) ** 2))


def _exp(logs: FloatArray) -> FloatArray:
    """Return the exponentials of the logs of coefficients, within the range of floats."""
    return np.asarray(np.exp(np.clip(logs, -_LARGEST_LOG, _LARGEST_LOG)))


def _criterion(curve: Curve, solution: Solution) -> float:
    """Return the Bayesian information criterion; infinite where a term cannot be identified."""
    shortest, longest = _range_of_times(curve)
    times = solution.times_s
    if not math.isfinite(solution.misfit) or np.any((times < shortest) | (times > longest)):
        return math.inf
    penalty = (len(solution.logs) + solution.processes) * math.log(len(curve))
    if "Q" in solution.letters:
        share = solution.shares(curve.tau_s[:1])[0]
        if share[0] < _QUANTISATION_SHARE * share.sum():
            penalty = math.inf
    return solution.misfit / curve.per_octave + penalty

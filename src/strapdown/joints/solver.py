"""Least squares of a joint's constraints: Gauss-Newton with a slow heading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray
    from strapdown.joints.heading import Heading
    from strapdown.joints.model import Constraint, Model, State

__all__ = ["Solution", "solve"]

NOISE: Final = {"centre": 0.5, "axis": 0.05}
"""Standard deviations of the constraints at first [m/s^2], [rad]."""
LEAST: Final = {"centre": 0.05, "axis": 0.002}
"""Least standard deviations: errors of inclination last too long to be seen in residuals."""
ROUNDS: Final = 3
"""Times that the noise is estimated from the residuals."""
STEPS: Final = 10
SMALL: Final = 1e-2
"""Step over standard deviation at which a round ends."""
OUTLIER: Final = 3.0
"""Length of a row, in standard deviations, from which its weight falls (P. J. Huber)."""
LONGEST: Final = 200
"""Lags over which residuals are correlated: 10 s."""
UNCORRELATED: Final = 0.05
"""Autocorrelation that ends the sum."""
FIRST_LASTING: Final = 10.0
"""Instants over which residuals are correlated, at first."""
FAINT: Final = 1e-9
"""Information on the heading without any constraint, for the equations to have a solution."""


@dataclass(frozen=True, eq=False)
class Solution:
    """State with its uncertainty.

    Parameters
    ----------
    state : State
    covariance : (n, n)
        Of the constants.
    places : dict of slice
        Rows of each constant; two of an axis, along its tangents.
    heading_sigma : (M,)
        Standard deviations of the heading at the knots [rad].
    residuals : dict of (K, D)
        Of each constraint.
    cost : float
        Half the sum of squares with the weights at first, to compare solutions.
    """

    state: State
    covariance: FloatArray
    places: dict[str, slice]
    heading_sigma: FloatArray
    residuals: dict[str, FloatArray]
    cost: float

    def sigma_of(self, name: str) -> FloatArray:
        """Return the standard deviations of a constant."""
        place = self.places[name]
        variances: FloatArray = np.diag(self.covariance)[place]
        return np.sqrt(variances)


@dataclass(frozen=True)
class _Noise:
    """Standard deviation of a constraint, and the number of instants over which it lasts."""

    sigma: float
    lasting: float

    @classmethod
    def of(cls, rows: FloatArray, least: float) -> _Noise:
        """Return the noise of residuals (K, D): robust size, and the sum of autocorrelations."""
        length = np.linalg.norm(rows, axis=1)
        usual = OUTLIER * np.sqrt(np.mean(np.minimum(length, 3.0 * np.median(length)) ** 2))
        cut = rows * np.minimum(1.0, usual / np.maximum(length, 1e-12))[:, None]
        square = float(np.mean(cut**2))
        lasting = 1.0
        for lag in range(1, min(LONGEST, len(cut) // 4)):
            alike = float(np.mean(cut[lag:] * cut[:-lag])) / max(square, 1e-300)
            if alike < UNCORRELATED:
                break
            lasting += 2.0 * alike
        return cls(max(np.sqrt(square), least), lasting)

    def weights(self, rows: FloatArray) -> FloatArray:
        """Return the weights (K,) of rows (K, D)."""
        length = np.linalg.norm(rows, axis=1) / (self.sigma * np.sqrt(rows.shape[1]))
        robust: FloatArray = np.minimum(1.0, OUTLIER / np.maximum(length, OUTLIER))
        return robust / (self.sigma**2 * self.lasting)


def solve(model: Model, heading: Heading, state: State, *, rounds: int = ROUNDS) -> Solution:
    """Return the state that fits all constraints best, from a first one."""
    places, size = {}, 0
    for name, (width, _) in model.priors.items():
        places[name] = slice(size, size + width)
        size += width
    noises = {name: _Noise(sigma, FIRST_LASTING) for name, sigma in NOISE.items()}
    for number in range(rounds):
        for _ in range(STEPS):
            equations = _Equations.of_priors(model, heading, state, places)
            for name, each in _at(model, heading, state).items():
                equations.add(each, noises[name], heading, places)
            covariance, step, change, variance = equations.solved()
            state = state.moved({name: step[place] for name, place in places.items()}, change)
            if np.all(np.abs(step) < SMALL * np.sqrt(np.diag(covariance))):
                break
        constraints = _at(model, heading, state)
        if number < rounds - 1:
            noises = {name: _Noise.of(c.rows, LEAST[name]) for name, c in constraints.items()}
    residuals = {name: constraint.rows for name, constraint in constraints.items()}
    first = sum(
        float(np.mean(np.minimum((rows / NOISE[name]) ** 2, OUTLIER**2).sum(axis=1)))
        for name, rows in residuals.items()
    )
    return Solution(state, covariance, places, np.sqrt(variance), residuals, 0.5 * first)


def _at(model: Model, heading: Heading, state: State) -> dict[str, Constraint]:
    return model.constraints(state, heading.weights @ state.heading)


@dataclass
class _Equations:
    """Normal equations of constants (n,) and heading (M,), whose block is tridiagonal.

    Parameters
    ----------
    information : (n, n)
    gradient : (n,)
    diagonal, beside : (M,), (M - 1,)
        Of the block of the heading.
    pull : (M,)
        Gradient of the heading.
    across : (M, n)
    """

    information: FloatArray
    gradient: FloatArray
    diagonal: FloatArray
    beside: FloatArray
    pull: FloatArray
    across: FloatArray

    @classmethod
    def of_priors(
        cls, model: Model, heading: Heading, state: State, places: Mapping[str, slice]
    ) -> _Equations:
        """Return the equations without any constraint."""
        size = max(place.stop for place in places.values())
        information, gradient = np.zeros(size), np.zeros(size)
        for name, (_, sigma) in model.priors.items():
            information[places[name]] = sigma**-2.0
            if not name.startswith(("axis", "angle")):
                gradient[places[name]] = getattr(state, name) / sigma**2
        stiffness = heading.stiffness
        force = stiffness * np.diff(state.heading)
        return cls(
            np.diag(information),
            gradient,
            np.append(stiffness, 0.0) + np.append(0.0, stiffness) + FAINT,
            -stiffness,
            np.append(0.0, force) - np.append(force, 0.0),
            np.zeros((heading.count, size)),
        )

    def add(
        self, each: Constraint, noise: _Noise, heading: Heading, places: Mapping[str, slice]
    ) -> None:
        """Add a constraint."""
        W, weights = heading.weights, noise.weights(each.rows)
        jacobian = np.zeros((*each.rows.shape, len(self.gradient)))
        for constant, derivative in each.by.items():
            jacobian[:, :, places[constant]] = derivative
        weighted = weights[:, None, None] * jacobian
        self.information += np.tensordot(jacobian, weighted, axes=((0, 1), (0, 1)))
        self.gradient += np.einsum("kdn,kd->n", weighted, each.rows)
        block = W.T @ W.multiply((weights * np.sum(each.by_heading**2, axis=1))[:, None])
        self.diagonal += block.diagonal()
        self.beside += block.diagonal(1)
        self.pull += W.T @ (weights * np.sum(each.by_heading * each.rows, axis=1))
        self.across += W.T @ np.einsum("kdn,kd->kn", weighted, each.by_heading)

    def solved(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return covariance and step of the constants, and step and variance of the heading."""
        from scipy.linalg import solveh_banded  # noqa: PLC0415 (slow to import)

        banded = np.stack([np.append(0.0, self.beside), self.diagonal])
        found = solveh_banded(banded, np.column_stack([self.pull, self.across]))
        pull, across = found[:, 0], found[:, 1:]
        covariance = np.linalg.inv(self.information - self.across.T @ across)
        step = -covariance @ (self.gradient - self.across.T @ pull)
        spread = np.einsum("mi,ij,mj->m", across, covariance, across)
        variance = _inverse_diagonal(self.diagonal, self.beside) + spread
        return covariance, step, -(pull + across @ step), variance


def _inverse_diagonal(diagonal: FloatArray, beside: FloatArray) -> FloatArray:
    """Return the diagonal of the inverse of a symmetric tridiagonal matrix."""
    down, up = diagonal.tolist(), diagonal.tolist()
    square = (beside**2).tolist()
    for i in range(1, len(down)):
        down[i] -= square[i - 1] / down[i - 1]
    for i in range(len(up) - 2, -1, -1):
        up[i] -= square[i] / up[i + 1]
    found: FloatArray = 1.0 / (np.array(down) + np.array(up) - diagonal)
    return found

"""Least squares of the differences of a pair: Gauss-Newton, whitened and robust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.pair.model import PRIOR
from strapdown.calibration.pair.whitening import ORDER, Whitening

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.calibration.pair.model import Difference, Model, State

__all__ = ["Solution", "solve"]

ROUNDS: Final = (0, ORDER, ORDER)
"""Order of the noise model in each round."""
STEPS: Final = 8
SMALL: Final = 1e-2
"""Step over standard deviation at which a round ends."""
OUTLIER: Final = 4.0
"""Length of a whitened row, with three components, from which its weight falls (P. J. Huber)."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters with their covariance.

    Parameters
    ----------
    state : State
        The parameters.
    covariance : (n, n)
        In the order of :attr:`places`; of the rotation as a rotation vector in the first's axes.
    places : dict of slice
        Rows of each parameter.
    residuals : list of (K, 3)
        Of angular velocity and acceleration, NaN where a sensor is not known.
    """

    state: State
    covariance: FloatArray
    places: dict[str, slice]
    residuals: list[FloatArray]

    def covariance_of(self, name: str) -> FloatArray:
        """Return the covariance of one parameter."""
        place = self.places[name]
        return self.covariance[place, place]


def solve(model: Model, state: State) -> Solution:
    """Return the parameters that minimise the differences."""
    places, size = {}, 0
    for name in model.names:
        width = np.size(getattr(state, name)) if name != "rotation" else 3
        places[name] = slice(size, size + width)
        size += width
    prior = np.concatenate([np.full(p.stop - p.start, PRIOR[n]) for n, p in places.items()])
    start = state
    for order in ROUNDS:
        differences = model.differences(state)
        filters = [Whitening.fitted(each.rows, each.known, order=order) for each in differences]
        for _ in range(STEPS):
            information, gradient = np.diag(prior**-2.0), _from_prior(start, state, places, prior)
            for each, whitening in zip(differences, filters, strict=True):
                H, g = _normal_equations(each, whitening, places, size)
                information, gradient = information + H, gradient + g
            scale = 1.0 / np.sqrt(np.diag(information))
            scaled = information * np.outer(scale, scale)
            covariance = np.linalg.inv(scaled) * np.outer(scale, scale)
            step = -covariance @ gradient
            state = state.moved({name: step[place] for name, place in places.items()})
            differences = model.differences(state)
            if np.all(np.abs(step) < SMALL * np.sqrt(np.diag(covariance))):
                break
    residuals = [np.where(each.known[:, None], each.rows, np.nan) for each in differences]
    return Solution(state, covariance, places, residuals)


def _from_prior(
    start: State, state: State, places: dict[str, slice], prior: FloatArray
) -> FloatArray:
    """Return the gradient of the prior, which holds every parameter but the rotation."""
    gradient = np.zeros(len(prior))
    for name, place in places.items():
        if name != "rotation":
            gradient[place] = (getattr(state, name) - getattr(start, name)) / prior[place] ** 2
    return gradient


def _normal_equations(
    difference: Difference, whitening: Whitening, places: dict[str, slice], size: int
) -> tuple[FloatArray, FloatArray]:
    """Return the information matrix and the gradient of one difference."""
    covered: BoolArray = whitening.covered(difference.known)
    jacobian = np.zeros((*difference.rows.shape, size))
    for name, place in places.items():
        if name in difference.by:
            jacobian[:, :, place] = difference.by[name]
    rows = whitening.apply(difference.rows)[covered]
    jacobian = whitening.apply(jacobian)[covered]
    length = np.linalg.norm(rows, axis=1)
    weight = np.minimum(1.0, OUTLIER / np.maximum(length, OUTLIER))
    weighted = (weight[:, None, None] * jacobian).reshape(-1, size)
    return jacobian.reshape(-1, size).T @ weighted, weighted.T @ rows.ravel()

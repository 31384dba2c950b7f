"""Quantities of a pair that the motion determines, and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown.calibration.pair.solver import Solution

__all__ = ["LIMITS", "observability"]

LIMITS: Final = {
    "clock offset": ("offset", 2e-3, ""),
    "clock drift": ("drift", 100e-6, ""),
    "rotation": ("rotation", 0.5 * RAD_PER_DEG, "about"),
    "lever arm": ("lever_arm", 0.02, "along"),
}
"""By quantity: parameter, largest sigma of an observable one in SI units, word for directions."""


def observability(solution: Solution) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the observable quantities, and the others with their directions.

    A direction is not observable where its standard deviation exceeds the limit.
    """
    observable, missing = [], []
    for quantity, (name, limit, preposition) in LIMITS.items():
        if name not in solution.places:
            missing.append(quantity)
            continue
        variances, directions = np.linalg.eigh(solution.covariance_of(name))
        weak = directions.T[variances > limit**2]
        if not len(weak):
            observable.append(quantity)
        elif len(weak) == len(variances):
            missing.append(quantity)
        else:
            missing += [f"{quantity} {preposition} {_words(each)}" for each in weak]
    return tuple(observable), tuple(missing)


def _words(direction: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """Return a direction whose largest component is positive."""
    sign = np.sign(direction[np.argmax(np.abs(direction))])
    return f"[{' '.join(f'{x + 0.0:.2f}' for x in np.round(sign * direction, 2))}]"

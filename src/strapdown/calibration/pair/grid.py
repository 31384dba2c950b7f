"""Common grid of a pair, and the weighted means by which both sensors are compared.

Every quantity is averaged with a cubic B-spline over four steps of the grid, from values on a
finer grid. The same linear filter acts on both sensors, so that it does not bias the comparison.
Of a position, the second difference of averages with a triangle is the same average of its
acceleration, without any derivative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.calibration.pair.signals import Signals

__all__ = ["Grid"]

STEP_S: Final = 0.05
"""Step of the grid, a quarter of the width of the average; motion up to 8 Hz passes."""
REACH: Final = 2
"""Steps on each side over which values are averaged."""


@dataclass(frozen=True)
class Grid:
    """Times ``start_s + (k + 2) step_s`` for k = 0 ... count - 1, and finer ones between.

    Parameters
    ----------
    start_s : float
        Two steps before the first time [s].
    step_s : float
        Step [s].
    count : int
        Number of times.
    parts : int
        Finer steps in a step.
    """

    start_s: float
    step_s: float
    count: int
    parts: int

    @classmethod
    def over(cls, start_s: float, end_s: float, first: Signals, second: Signals) -> Grid:
        """Return the grid for two sensors over a time span of the first's clock."""
        slower = max(first.interval_s, second.interval_s)
        faster = min(first.interval_s, second.interval_s)
        step_s = max(STEP_S, 2.0 * slower)
        parts = math.ceil(step_s / faster - 1e-6)
        count = int((end_s - start_s) / step_s) - 2 * REACH
        return cls(start_s, step_s, max(count, 0), parts)

    @cached_property
    def t_s(self) -> FloatArray:
        """Times of the grid (count,) [s]."""
        numbers = np.arange(self.count, dtype=np.float64)
        return self.start_s + self.step_s * (REACH + numbers)

    @cached_property
    def fine_s(self) -> FloatArray:
        """Times of the finer grid (M,) [s]."""
        fine = np.arange((self.count + 2 * REACH - 1) * self.parts, dtype=np.float64)
        return self.start_s + self.step_s / self.parts * fine

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the averages (count, ...) of values (M, ...) on the finer grid."""
        triangle = self._triangle
        return self._weighted(values, np.convolve(triangle, triangle))

    def mean_curvature(self, values: FloatArray) -> FloatArray:
        """Return the averages (count, ...) of the second derivative of values (M, ...)."""
        difference = np.zeros(2 * self.parts + 1)
        difference[[0, self.parts, -1]] = np.array([1.0, -2.0, 1.0]) / self.step_s**2
        return self._weighted(values, np.convolve(self._triangle, difference))

    def covered(self, known: BoolArray) -> BoolArray:
        """Return a mask (count,) of the averages all of whose values are known."""
        blocks = np.lib.stride_tricks.sliding_window_view(known, 2 * REACH * self.parts)
        return np.asarray(blocks[:: self.parts].all(axis=1))

    @property
    def _triangle(self) -> FloatArray:
        """Weights of a triangle of half width one step."""
        rising = np.arange(1, self.parts + 1)
        return np.append(rising, rising[-2::-1]) / self.parts**2

    def _weighted(self, values: FloatArray, kernel: FloatArray) -> FloatArray:
        """Return sums (count, ...) with the weights of a symmetric kernel around each time."""
        weights = np.zeros(2 * REACH * self.parts)
        first = REACH * self.parts - len(kernel) // 2
        weights[first : first + len(kernel)] = kernel
        blocks = values.reshape(-1, self.parts, *values.shape[1:])
        total = np.zeros((self.count, *values.shape[1:]))
        for number, part in enumerate(weights.reshape(-1, self.parts)):
            summed = np.tensordot(blocks, part, axes=(1, 0))
            total += summed[number : number + self.count]
        return total

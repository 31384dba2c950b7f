"""Autoregressive model of residuals, which turns their colour into white noise.

Differences of two sensors are not white: a differentiated position has little noise at low
frequencies and much at high ones, and bias instability the opposite. Residuals and Jacobian are
filtered by the inverse of an autoregressive model that is fitted to the residuals; least squares
of the result is efficient, and its covariance is that of the parameters (D. Cochrane, G. Orcutt:
Application of least squares regression to relationships containing auto-correlated error terms,
J. American Statistical Association 44, 1949).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray

__all__ = ["Whitening"]

ORDER: Final = 16
ROWS_PER_ORDER: Final = 20
NORMAL_MAD: Final = 0.6744897501960817
"""Median absolute value of a standard normal variable."""


@dataclass(frozen=True)
class Whitening:
    """A filter that makes residuals white and of unit variance.

    Parameters
    ----------
    taps : (P + 1,)
        Weights of the present and of earlier rows; the first is 1.
    sigma : (3,)
        Standard deviation of each filtered axis.
    """

    taps: FloatArray
    sigma: FloatArray

    @classmethod
    def fitted(cls, residuals: FloatArray, known: BoolArray, *, order: int = ORDER) -> Whitening:
        """Return the filter for residuals (K, 3); order 0 scales only."""
        order = min(order, int(known.sum()) // ROWS_PER_ORDER)
        complete = _complete(known, order)
        while complete.sum() < known.sum() / 2:  # gaps are closer together than the filter is long
            order //= 2
            complete = _complete(known, order)
        taps = np.ones(1)
        if order:
            lagged = np.lib.stride_tricks.sliding_window_view(residuals, order + 1, axis=0)
            rows = lagged[complete[order:]].reshape(-1, order + 1)  # the present row is the last
            earlier, present = rows[:, :-1], rows[:, -1]
            taps = np.append(1.0, -np.linalg.lstsq(earlier, present, rcond=None)[0][::-1])
        whitening = cls(taps, np.ones(3))
        filtered = whitening.apply(residuals)[whitening.covered(known)]
        sigma = np.median(np.abs(filtered), axis=0) / NORMAL_MAD
        return cls(taps, np.maximum(sigma, np.finfo(float).tiny))

    def apply(self, rows: FloatArray) -> FloatArray:
        """Return filtered rows (K, 3, ...); the first P are not filtered completely."""
        filtered = self.taps[0] * rows
        for lag, tap in enumerate(self.taps[1:], 1):
            filtered[lag:] += tap * rows[:-lag]
        shape = (3,) + (1,) * (rows.ndim - 2)
        scaled: FloatArray = filtered / self.sigma.reshape(shape)
        return scaled

    def covered(self, known: BoolArray) -> BoolArray:
        """Return a mask of the rows for which all rows of the filter are known."""
        return _complete(known, len(self.taps) - 1)


def _complete(known: BoolArray, order: int) -> BoolArray:
    """Return a mask of the rows that are known together with so many before them."""
    counts = np.cumsum(np.append(0, known))
    complete = np.zeros(len(known), bool)
    complete[order:] = counts[order + 1 :] - counts[: -order - 1] == order + 1
    return complete

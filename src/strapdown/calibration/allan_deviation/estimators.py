"""Estimators of the variance of clusters, from the integral of the rate.

All work on x, the sum of the rates up to each of K points in units of rate times sampling
interval, and on clusters of m samples.

References
----------
W. J. Riley, "Handbook of Frequency Stability Analysis", NIST Special Publication 1065, 2008;
D. A. Howe, "The total deviation approach to long-term characterization of frequency stability",
IEEE Transactions UFFC 47(5), 2000 (``totdev``).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from strapdown.calibration.allan_deviation.differences import square_sum

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

__all__ = ["DeviationKind", "sum_of_squares", "term_count", "variance_of"]


class DeviationKind(StrEnum):
    """Kind of deviation; see :func:`allan`."""

    OADEV = "oadev"
    ADEV = "adev"
    MDEV = "mdev"
    TDEV = "tdev"
    HDEV = "hdev"
    OHDEV = "ohdev"
    TOTDEV = "totdev"

    @property
    def order(self) -> int:
        """Order of the differences of the integral."""
        return 3 if self in {DeviationKind.HDEV, DeviationKind.OHDEV} else 2

    @property
    def overlaps(self) -> bool:
        """Whether clusters begin at every sample."""
        return self not in {DeviationKind.ADEV, DeviationKind.HDEV}


_MODIFIED = {DeviationKind.MDEV, DeviationKind.TDEV}


def term_count(kind: DeviationKind, points: int, m: int) -> int:
    """Return the number of terms for an integral of K points; 0 where there is none."""
    if kind in _MODIFIED:
        return max(0, points - 3 * m + 1)
    if kind is DeviationKind.TOTDEV:
        return points - 2 if points > 2 * m else 0
    if not kind.overlaps:
        return max(0, (points - 1) // m - kind.order + 1)
    return max(0, points - kind.order * m)


def sum_of_squares(kind: DeviationKind, x: FloatArray, m: int) -> float:
    """Return the sum of the squared terms of an integral."""
    if kind in _MODIFIED:
        windows = np.cumsum(np.concatenate([[0.0], x]))
        return square_sum(windows, m, 3)
    if kind is DeviationKind.TOTDEV:
        before, after = 2.0 * x[0] - x[m - 1 : 0 : -1], 2.0 * x[-1] - x[-2 : -m - 1 : -1]
        return square_sum(np.concatenate([before, x, after]), m, 2)
    if not kind.overlaps:
        return square_sum(np.ascontiguousarray(x[::m]), 1, kind.order)
    return square_sum(x, m, kind.order)


def variance_of(
    kind: DeviationKind, squares: FloatArray, terms: IntArray, m: IntArray, rate_hz: float
) -> FloatArray:
    """Return the variance [unit of the rate squared, of ``tdev`` times s^2] of sums of squares."""
    size = m.astype(np.float64)
    windows = size**2 if kind in _MODIFIED else 1.0
    scale = 6.0 if kind.order == 3 else 2.0
    variance: FloatArray = squares / (scale * size**2 * windows * terms)
    return variance * (size / rate_hz) ** 2 / 3.0 if kind is DeviationKind.TDEV else variance

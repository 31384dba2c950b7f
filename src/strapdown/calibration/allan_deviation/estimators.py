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
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._scratch import scratch, strided
from strapdown.calibration.allan_deviation.differences import Spans, square_sums, window_square_sums

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

__all__ = ["DeviationKind", "sums_of_squares", "term_counts", "unit_of", "variance_of"]


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

    @property
    def is_modified(self) -> bool:
        """Whether the integral is averaged over each cluster."""
        return self in {DeviationKind.MDEV, DeviationKind.TDEV}


_INTEGRATED: Final = {"rad/s": "rad", "m/s^2": "m/s", "": ""}


def term_counts(kind: DeviationKind, points: int, m: IntArray) -> IntArray:
    """Return the number of terms for an integral of K points; 0 where there is none."""
    if kind.is_modified:
        counts = points - 3 * m + 1
    elif kind is DeviationKind.TOTDEV:
        counts = np.where(points > 2 * m, points - 2, 0)
    elif kind.overlaps:
        counts = points - kind.order * m
    else:
        counts = (points - 1) // m - kind.order + 1
    return np.maximum(counts, 0)


def sums_of_squares(kind: DeviationKind, x: FloatArray, m: IntArray, *, work: int) -> FloatArray:
    """Return the sum (T,) of the squared terms of an integral (K,) at each cluster size.

    ``work`` is the number of units of the whole calculation.
    """
    counts, sums = term_counts(kind, len(x), m), np.zeros(len(m))
    used = counts > 0
    m, counts = m[used], counts[used]
    if kind.is_modified:
        sums[used] = window_square_sums(x, m, counts, work=work)
    elif not kind.overlaps:
        for t, stride, count in zip(np.flatnonzero(used), m.tolist(), counts, strict=True):
            span = Spans(*np.array([[0], [1], [count]]))
            sums[t] = square_sums(strided(x, stride), span, kind.order, work=work)[0]
    elif kind is DeviationKind.TOTDEV and m.size:
        longest = int(m.max())
        spans = Spans(longest - m + 1, m, counts)
        sums[used] = square_sums(_reflected(x, longest), spans, 2, work=work)
    else:
        sums[used] = square_sums(x, Spans(np.zeros_like(m), m, counts), kind.order, work=work)
    return sums


def _reflected(x: FloatArray, count: int) -> FloatArray:
    """Return an integral, continued at both ends by as many points that are reflected there."""
    reflected = scratch(x, len(x) + 2 * count)
    before, within, after = np.split(reflected, [count, count + len(x)])
    np.subtract(2.0 * x[0], x[count:0:-1], out=before)
    within[:] = x
    np.subtract(2.0 * x[-1], x[-2 : -count - 2 : -1], out=after)
    return reflected


def variance_of(
    kind: DeviationKind, squares: FloatArray, terms: IntArray, m: IntArray, rate_hz: float
) -> FloatArray:
    """Return the variance [unit of the rate squared, of ``tdev`` times s^2] of sums of squares."""
    size = m.astype(np.float64)
    windows = size**2 if kind.is_modified else 1.0
    scale = 6.0 if kind.order == 3 else 2.0
    variance: FloatArray = squares / (scale * size**2 * windows * terms)
    return variance * (size / rate_hz) ** 2 / 3.0 if kind is DeviationKind.TDEV else variance


def unit_of(kind: DeviationKind, unit: str) -> str:
    """Return the unit of a deviation of a rate."""
    return _INTEGRATED[unit] if kind is DeviationKind.TDEV else unit

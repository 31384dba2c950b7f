"""Type of noise at a cluster time, from the lag-1 autocorrelation of averaged data.

References
----------
W. J. Riley, C. A. Greenhall, "Power law noise identification using the lag 1 autocorrelation",
18th European Frequency and Time Forum, 2004.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.allan_deviation.confidence import NoiseType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray

__all__ = ["identified"]

_FEWEST: Final = 30  # averages; with fewer the autocorrelation is too uncertain
_MOST: Final = 2**15  # averages; with more the type does not change
_MOST_PIECES: Final = 50
_SIGNIFICANT: Final = 3.0  # standard deviations from white noise
_STATIONARY: Final = 0.25
_MOST_DIFFERENCES: Final = 2
_BY_EXPONENT: Final = {noise.exponent: noise for noise in NoiseType}


def identified(integrals: Sequence[FloatArray], m: int) -> NoiseType | None:
    """Return the type of noise at a cluster size; None where the log is too short to know.

    Parameters
    ----------
    integrals : sequence of (K,)
        Integral of each piece.
    m : int
        Cluster size.
    """
    means, room = [], _MOST
    for x in sorted(integrals, key=len, reverse=True)[:_MOST_PIECES]:
        if len(x) > 2 * m and room > 1:
            means.append(np.diff(x[: room * m : m]))
            room -= len(means[-1])
    for differences in range(_MOST_DIFFERENCES + 1):
        count = sum(map(len, means))
        if count < _FEWEST:
            return None
        r = _autocorrelation(means)
        if r > -_SIGNIFICANT / math.sqrt(count):
            r = max(r, 0.0) if differences == 0 else r
        delta = r / (1.0 + r)
        if delta < _STATIONARY or differences == _MOST_DIFFERENCES:
            exponent = -round(2.0 * (delta + differences))
            return _BY_EXPONENT[max(-2, min(2, exponent))]
        means = [np.diff(part) for part in means if len(part) > 1]
    return None


def _autocorrelation(parts: Sequence[FloatArray]) -> float:
    """Return the lag-1 autocorrelation, at least -0.5: that of differenced white noise."""
    mean = sum(float(part.sum()) for part in parts) / sum(map(len, parts))
    centred = [part - mean for part in parts]
    square = sum(float(np.sum(part * part)) for part in centred)
    if square == 0.0:
        return 0.0
    return max(-0.5, sum(float(np.sum(part[:-1] * part[1:])) for part in centred) / square)

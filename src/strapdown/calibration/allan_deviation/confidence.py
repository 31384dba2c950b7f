"""Confidence of a deviation: degrees of freedom by type of noise.

A variance from data that share samples is distributed as chi-square with an equivalent number of
degrees of freedom.

References
----------
D. A. Howe, D. W. Allan, J. A. Barnes, "Properties of signal sources and measurement methods",
35th Annual Symposium on Frequency Control, 1981 (``oadev``); W. J. Riley, NIST Special
Publication 1065, 2008 (``totdev``).
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_member
from strapdown.calibration.allan_deviation.estimators import term_counts
from strapdown.calibration.allan_deviation.greenhall import combined_edf
from strapdown.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration.allan_deviation.estimators import DeviationKind

__all__ = [
    "NoiseType",
    "as_noise_types",
    "bounds",
    "degrees_of_freedom",
    "edf_of",
    "expected_error",
    "overlapping_edf",
]


class NoiseType(StrEnum):
    """Type of noise, by the slope of the Allan deviation of the rate."""

    QUANTISATION = "quantisation"  # -1
    FLICKER_PHASE = "flicker_phase"  # -1
    WHITE = "white"  # -1/2
    FLICKER = "flicker"  # 0
    RANDOM_WALK = "random_walk"  # +1/2

    @property
    def exponent(self) -> int:
        """Exponent of the density of the rate, which goes with the frequency to this power."""
        return 2 - list(NoiseType).index(self)


def overlapping_edf(noise: NoiseType, points: int, m: int) -> float:
    """Return the equivalent degrees of freedom of the overlapping Allan variance.

    Parameters
    ----------
    noise : NoiseType
    points : int
        Points K of the integral, more than 2 m and at least 4.
    m : int
        Cluster size.
    """
    return _OVERLAPPING[noise](points, m)


def total_edf(noise: NoiseType, points: int, m: int) -> float:
    """Return the equivalent degrees of freedom of the total variance.

    Parameters as in :func:`overlapping_edf`, which it equals for short clusters.
    """
    edf = overlapping_edf(noise, points, m)
    if noise not in _TOTAL or 10 * m < points - 1:
        return edf
    factor, less = _TOTAL[noise]
    return max(edf, factor * (points - 1) / m - less)


def edf_of(kind: DeviationKind, noise: NoiseType, points: int, m: int) -> float:
    """Return the equivalent degrees of freedom of a variance without gaps."""
    if kind == "oadev":
        return overlapping_edf(noise, points, m)
    if kind == "totdev":
        return total_edf(noise, points, m)
    return combined_edf(kind, noise.exponent, points, m)


def _quantisation(k: int, m: int) -> float:
    return (k + 1) * (k - 2 * m) / (2 * (k - m))


def _flicker_phase(k: int, m: int) -> float:
    logs = math.log((k - 1) / (2 * m)) * math.log((2 * m + 1) * (k - 1) / 4)
    return math.exp(math.sqrt(max(logs, 0.0)))


def _white(k: int, m: int) -> float:
    return (3 * (k - 1) / (2 * m) - 2 * (k - 2) / k) * 4 * m**2 / (4 * m**2 + 5)


def _flicker(k: int, m: int) -> float:
    if m == 1:
        return 2 * (k - 2) ** 2 / (2.3 * k - 4.9)
    return 5 * k**2 / (4 * m * (k + 3 * m))


def _random_walk(k: int, m: int) -> float:
    return (k - 2) / m * ((k - 1) ** 2 - 3 * m * (k - 1) + 4 * m**2) / (k - 3) ** 2


_TOTAL: Final = {
    NoiseType.WHITE: (1.50, 0.0),
    NoiseType.FLICKER: (1.17, 0.22),
    NoiseType.RANDOM_WALK: (0.93, 0.36),
}
_OVERLAPPING: Final[Mapping[NoiseType, Callable[[int, int], float]]] = {
    NoiseType.QUANTISATION: _quantisation,
    NoiseType.FLICKER_PHASE: _flicker_phase,
    NoiseType.WHITE: _white,
    NoiseType.FLICKER: _flicker,
    NoiseType.RANDOM_WALK: _random_walk,
}


def degrees_of_freedom(
    kind: DeviationKind,
    sizes: IntArray,
    lengths: IntArray,
    types: Sequence[Sequence[NoiseType]],
) -> FloatArray:
    """Return the degrees of freedom (T, C) of deviations that are pooled over pieces.

    Parameters
    ----------
    kind : DeviationKind
    sizes : (T,)
        Cluster sizes.
    lengths : (P,)
        Samples in each piece.
    types : (T, C) sequence of NoiseType
    """
    unique, repeats = np.unique(lengths, return_counts=True)
    terms = np.array([term_counts(kind, length + 1, sizes) for length in unique.tolist()])
    edf = np.empty((len(sizes), len(types[0]) if types else 0))
    for t, m in enumerate(sizes.tolist()):
        used = np.flatnonzero(terms[:, t])
        for noise in set(types[t]):
            shares = [
                repeats[p] * terms[p, t] ** 2 / edf_of(kind, noise, int(unique[p]) + 1, m)
                for p in used
            ]
            value = float(repeats @ terms[:, t]) ** 2 / float(sum(shares))
            edf[t, [each is noise for each in types[t]]] = value
    return edf


def as_noise_types(
    noise_types: Sequence[Sequence[NoiseType | str]], shape: tuple[int, ...]
) -> tuple[tuple[NoiseType, ...], ...]:
    """Return types of noise as a (T, C) tuple.

    Raises
    ------
    ShapeError
        There is not one type for each value.
    UnknownNameError
        There is no such type.
    """
    rows = tuple(
        tuple(as_member(NoiseType, each, "type of noise") for each in row) for row in noise_types
    )
    if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
        got = sorted({len(row) for row in rows})
        raise ShapeError(
            f"expected noise_types as {shape[0]} rows (cluster times) of {shape[1]} (channels), "
            f"got {len(rows)} rows of {', '.join(map(str, got)) or 'nothing'}"
        )
    return rows


def bounds(
    deviation: FloatArray, edf: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper confidence bound of each deviation."""
    from scipy.special import gammaincinv  # noqa: PLC0415 (SciPy takes long to import)

    def scaled(probability: float) -> FloatArray:
        chi_square = 2.0 * gammaincinv(0.5 * edf, probability)
        return np.asarray(deviation * np.sqrt(edf / chi_square))

    return scaled(0.5 * (1.0 + confidence)), scaled(0.5 * (1.0 - confidence))


def expected_error(samples: int, m: IntArray) -> FloatArray:
    """Return the relative standard error of a deviation of white noise (IEEE Std 952-1997)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1.0 / np.sqrt(2.0 * (samples / m - 1.0)))

"""Cluster sizes: the numbers of samples that are averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, IntArray

__all__ = ["Grid", "cluster_sizes"]

Grid: TypeAlias = Literal["log", "octave", "decade", "all"]
_GRIDS: Final = ("log", "octave", "decade", "all")
_PER_DECADE: Final = 20
_FEWEST_CLUSTERS: Final = 9


def cluster_sizes(taus: Grid | ArrayLike, samples: int, rate_hz: float) -> IntArray:
    """Return cluster sizes in ascending order, each once.

    Parameters
    ----------
    taus : {"log", "octave", "decade", "all"} or array_like
        20 cluster times a decade, powers of 2, powers of 10, or all, from one sample to a ninth
        of the samples; or cluster times up to half of them [s], which are rounded to whole
        samples.
    samples : int
        Number of samples, at least 3.
    rate_hz : float
        Sampling rate [Hz].

    Raises
    ------
    UnknownNameError
        There is no such grid.
    ShapeError
        The times are not a list of numbers.
    ValueRangeError
        A time is outside its range.
    """
    longest = max(samples // _FEWEST_CLUSTERS, 1)
    if not isinstance(taus, str):
        return _rounded(taus, samples, rate_hz)
    if taus not in _GRIDS:
        raise UnknownNameError("grid of cluster times", taus, _GRIDS)
    if taus == "all":
        return np.arange(1, longest + 1)
    base, parts = {"log": (10.0, _PER_DECADE), "octave": (2.0, 1), "decade": (10.0, 1)}[taus]
    count = int(parts * np.log(longest) / np.log(base)) + 2
    sizes = np.rint(base ** (np.arange(count) / parts)).astype(np.int64)
    return np.unique(sizes[sizes <= longest])


def _rounded(taus: ArrayLike, samples: int, rate_hz: float) -> IntArray:
    """Return given cluster times in samples."""
    times = np.atleast_1d(as_finite(taus, "taus", ()))
    if times.ndim != 1 or not times.size:
        raise ShapeError(f"expected taus as a list of cluster times in s, got {times.shape}")
    sizes = np.rint(times * rate_hz)
    outside = (sizes < 1) | (sizes > samples // 2)
    if outside.any():
        raise ValueRangeError(
            f"expected cluster times from one sample ({1.0 / rate_hz:g} s) to half of the log "
            f"({samples // 2 / rate_hz:g} s), got {times[outside][0]:g} s"
        )
    return np.unique(sizes.astype(np.int64))

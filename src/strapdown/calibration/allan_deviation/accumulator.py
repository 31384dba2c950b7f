"""Allan deviation of a stream in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_floats
from strapdown.errors import ShapeError, ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray, IntArray

__all__ = ["AllanAccumulator"]


class AllanAccumulator:
    """Allan deviation at cluster sizes of 1, 2, 4, ... samples, block by block.

    Clusters do not overlap. The state is one unfinished pair for each power of two.

    Parameters
    ----------
    rate_hz : float
        Sampling rate [Hz].

    Raises
    ------
    ValueRangeError
        The rate is not positive and finite.

    References
    ----------
    IEEE Std 952-2020, annex C; D. W. Allan, Proceedings of the IEEE 54(2), 1966.

    Examples
    --------
    >>> allan = AllanAccumulator(rate_hz=100.0)
    >>> allan.add([[0.0], [1.0], [0.0], [1.0]])
    >>> allan.deviation()[:, 0].round(6).tolist()
    [0.707107, 0.0]
    """

    def __init__(self, rate_hz: float) -> None:
        if not 0.0 < rate_hz < np.inf:
            raise ValueRangeError(f"expected rate_hz above 0, got {rate_hz}")
        self._rate_hz = rate_hz
        self._levels: list[_Level] = []
        self._channels = 0

    def add(self, values: ArrayLike) -> None:
        """Add samples.

        Parameters
        ----------
        values : (N, C)
            C channels of one unit, the same in every call.

        Raises
        ------
        ShapeError
            The values are not (N, C), or C changed.
        """
        means = as_floats(values, "values", ())
        if means.ndim != 2 or means.shape[1] != (self._channels or means.shape[1]):
            raise ShapeError(f"expected values (N, {self._channels or 'C'}), got {means.shape}")
        self._channels = means.shape[1]
        depth = 0
        while len(means):
            if depth == len(self._levels):
                self._levels.append(_Level(self._channels))
            means = self._levels[depth].add(means)
            depth += 1

    @property
    def cluster_times_s(self) -> FloatArray:
        """Cluster times (T,) with at least one difference [s]."""
        return np.ldexp(1.0, np.arange(len(self._known))) / self._rate_hz

    @property
    def differences(self) -> IntArray:
        """Number of differences (T,) in each value."""
        return np.array([level.count for level in self._known], np.int64)

    def deviation(self) -> FloatArray:
        """Return the Allan deviation (T, C) [unit of the values]."""
        variances = [level.squares / (2.0 * level.count) for level in self._known]
        return np.array(np.sqrt(variances), np.float64).reshape(-1, self._channels)

    @property
    def _known(self) -> list[_Level]:
        return [level for level in self._levels if level.count]


class _Level:
    """Differences between neighbouring clusters of one size."""

    def __init__(self, channels: int) -> None:
        self.squares = np.zeros(channels)
        self.count = 0
        self._last: FloatArray = np.empty((0, channels))
        self._odd: FloatArray = np.empty((0, channels))

    def add(self, means: FloatArray) -> FloatArray:
        """Add cluster means; return the means of the pairs that they complete."""
        chain = np.concatenate([self._last, means])
        self.squares += np.sum(np.diff(chain, axis=0) ** 2, axis=0)
        self.count += len(chain) - 1
        self._last = chain[-1:]
        waiting = np.concatenate([self._odd, means])
        whole = len(waiting) // 2 * 2
        self._odd = waiting[whole:]
        pairs: FloatArray = waiting[0:whole:2] + waiting[1:whole:2]
        return 0.5 * pairs

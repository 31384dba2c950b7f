"""Allan deviation of a stream in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_floats, require_type
from strapdown.calibration.allan_deviation.pieces import read_log, samples_of
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.series import ImuSeries, Increments

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray, IntArray

__all__ = ["AllanAccumulator"]

_LARGEST_RATE_ERROR: Final = 0.05


class AllanAccumulator:
    """Allan deviation at cluster sizes of 1, 2, 4, ... samples, sample by sample or in blocks.

    Clusters do not overlap: the values are those of :func:`allan` of kind ``adev`` at the same
    cluster sizes. The state is one unfinished pair for each power of two. A sample with a value
    that is not finite separates pieces, as :meth:`cut` does; no difference spans two pieces. The
    division of the samples into calls does not change the bits.

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

    def update(self, values: ArrayLike) -> None:
        """Add one sample.

        Parameters
        ----------
        values : (C,)
            C channels, the same in every call.

        Raises
        ------
        ShapeError
            The values are not (C,), or C changed.
        """
        sample = as_floats(values, "values", ())
        if sample.ndim != 1 or len(sample) != (self._channels or len(sample)):
            raise ShapeError(f"expected values ({self._channels or 'C'},), got {sample.shape}")
        self.add(sample[None])

    def add(self, values: ArrayLike) -> None:
        """Add samples.

        Parameters
        ----------
        values : (N, C)
            C channels, the same in every call.

        Raises
        ------
        ShapeError
            The values are not (N, C), or C changed.
        """
        samples = as_floats(values, "values", ())
        if samples.ndim != 2 or samples.shape[1] != (self._channels or samples.shape[1]):
            raise ShapeError(f"expected values (N, {self._channels or 'C'}), got {samples.shape}")
        self._channels = samples.shape[1]
        start = 0
        for row in np.flatnonzero(~np.isfinite(samples).all(axis=1)).tolist():
            self._add_piece(samples[start:row])
            self.cut()
            start = row + 1
        self._add_piece(samples[start:])

    def run(self, series: ImuSeries | Increments | ArrayLike) -> None:
        """Add a log, which begins and ends a piece.

        Parameters
        ----------
        series : ImuSeries, Increments or array_like (N, C)
            The six channels of a series, cut at gaps as by :func:`allan`.

        Raises
        ------
        ValueRangeError
            The rate of the series differs from ``rate_hz`` by more than 5 %.
        ShapeError, TimeOrderError
            As :meth:`add` and :func:`allan`.
        """
        self.cut()
        if isinstance(series, Increments):
            series = samples_of(series)
        if isinstance(series, ImuSeries):
            log = read_log(series, None, "cut")
            if abs(log.rate_hz / self._rate_hz - 1.0) > _LARGEST_RATE_ERROR:
                raise ValueRangeError(
                    f"expected samples at {self._rate_hz:g} Hz, got {log.rate_hz:g} Hz; "
                    "use one accumulator for each rate"
                )
            for piece in log.pieces:
                self.add(np.stack([column[piece] for column in log.columns], axis=1))
                self.cut()
        else:
            self.add(series)
            self.cut()

    def cut(self) -> None:
        """End the piece: no difference spans the samples before and after."""
        for level in self._levels:
            level.cut()

    def merge(self, other: AllanAccumulator) -> None:
        """Add the differences of another accumulator, such as of another log of the sensor.

        Its unfinished clusters are not taken over.

        Raises
        ------
        TypeError
            The other is no accumulator.
        ValueRangeError
            It has another rate.
        ShapeError
            It has another number of channels.
        """
        require_type(other, (AllanAccumulator,), "other", "merge one that was filled by run()")
        if other._rate_hz != self._rate_hz:
            raise ValueRangeError(f"expected rate_hz {self._rate_hz:g}, got {other._rate_hz:g}")
        if other._channels and other._channels != (self._channels or other._channels):
            raise ShapeError(f"expected {self._channels} channels, got {other._channels}")
        self._channels = self._channels or other._channels
        for depth, level in enumerate(other._levels):
            mine = self._level(depth)
            mine.squares += level.squares
            mine.count += level.count

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

    def _add_piece(self, means: FloatArray) -> None:
        depth = 0
        while len(means):
            means = self._level(depth).add(means)
            depth += 1

    def _level(self, depth: int) -> _Level:
        if depth == len(self._levels):
            self._levels.append(_Level(self._channels))
        return self._levels[depth]


class _Level:
    """Differences between neighbouring clusters of one size."""

    def __init__(self, channels: int) -> None:
        self.squares = np.zeros(channels)
        self.count = 0
        self._none: FloatArray = np.empty((0, channels))
        self.cut()

    def cut(self) -> None:
        """Drop the last cluster, and the one that waits for its neighbour."""
        self._last = self._odd = self._none

    def add(self, means: FloatArray) -> FloatArray:
        """Add cluster means; return the means of the pairs that they complete."""
        chain = np.concatenate([self._last, means])
        squares = np.diff(chain, axis=0) ** 2
        # one after the other, so that the bits do not depend on the blocks
        self.squares = np.cumsum(np.concatenate([self.squares[None], squares]), axis=0)[-1]
        self.count += len(chain) - 1
        self._last = chain[-1:]
        waiting = np.concatenate([self._odd, means])
        whole = len(waiting) // 2 * 2
        self._odd = waiting[whole:]
        pairs: FloatArray = waiting[0:whole:2] + waiting[1:whole:2]
        return 0.5 * pairs

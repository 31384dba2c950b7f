"""Detector of stillness, for streams and recordings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_member, as_params
from strapdown._scratch import parts, scratch
from strapdown.detection.detector import Detector, rows_of
from strapdown.detection.events import Events
from strapdown.detection.stillness.noise import quiet_noise
from strapdown.detection.stillness.params import StillnessKind, StillnessParams
from strapdown.detection.stillness.statistic import (
    MOVING,
    STILL,
    StillnessEvent,
    StillnessMemory,
    StillnessNow,
    close,
    step,
)
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._kernels.records import Record
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.detection.events import Event
    from strapdown.samples.sample import Numbers
    from strapdown.series import ImuSeries

__all__ = ["Stillness", "StillnessDetector"]


@dataclass(frozen=True, eq=False)
class Stillness:
    """Stillness of a recording.

    Parameters
    ----------
    t_ns : (N,) int64
        Stamps of the series [ns].
    statistic : (N,)
        NaN where a window has too few samples.
    threshold : (N,)
        Threshold of the statistic; below it the sensor is quiet.
    still : (N,) bool
        Whether the sample is in a still interval.
    intervals : Events
        Of kind ``still``.
    """

    t_ns: IntArray
    statistic: FloatArray
    threshold: FloatArray
    still: BoolArray
    intervals: Events

    def __repr__(self) -> str:
        return f"Stillness({len(self.t_ns)} samples, {self.still.mean():.0%} still)"


class StillnessDetector(Detector[StillnessParams]):
    """Detect that a sensor does not move, from a window of W samples (w, f; mean of f: m).

    ============  ===============================================================================
    kind          statistic
    ============  ===============================================================================
    ``shoe``      mean of ``|f - g m/|m||^2 / s_a^2 + |w|^2 / s_w^2``: both sensors
    ``are``       mean of ``|w|^2 / s_w^2``: the gyro
    ``mv``        mean of ``|f - m|^2 / s_a^2``: variance of the accelerometer
    ``mag``       ``(|m| - g)^2 / s_a^2``: its magnitude
    ``lowpass``   largest of ``|w - LP w|, |f - LP f|, |LP w|`` in units of their limits, squared
    ``variance``  root mean square of the variances of the three axes of f, ``/ s_a^2``
    ============  ===============================================================================

    A sensor is still after the statistic has been below the threshold for ``min_duration_s``, and
    until it exceeds ``leave_ratio`` thresholds. Latency: the window ends at the sample, so a
    stream detects a change half a window late, and stillness ``min_duration_s`` after its start.
    :meth:`analyse` centres the windows of a recording. For navigation a noise that grows with the
    statistic is better than a flag: see :class:`~strapdown.estimation.FootNavigator`.

    Events ``still`` have ``duration_s`` and the mean ``statistic``; flags: ``gap`` (a gap in the
    data ended it), ``open`` (the data end during it).

    Parameters
    ----------
    kind : StillnessKind or name
    params : StillnessParams, optional
        By default the parameters of the kind, for a sensor on a foot (``shoe``, ``are``, ``mv``,
        ``mag``), on a body (``lowpass``), on a table (``variance``).
    thresholds : "auto", optional
        The threshold follows from the noise by the chi-square law: from that of ``params``,
        or, without any, from that of the first recording (:func:`quiet_noise`).
    compiled : bool, optional
        As in :class:`~strapdown.detection.Detector`.

    Raises
    ------
    UnknownNameError
        There is no such kind, or thresholds are not "auto".
    ValueRangeError
        The threshold of ``lowpass``, which has no law, is "auto" or None.

    References
    ----------
    I. Skog, P. Handel, J.-O. Nilsson, J. Rantakokko, "Zero-velocity detection: an algorithm
    evaluation", IEEE Transactions on Biomedical Engineering 57(11), 2010. D. Laidig, T. Seel,
    "VQF", Information Fusion 91, 2023 (low-pass). D. Tedaldi, A. Pretto, E. Menegatti, "A robust
    and easy to implement method for IMU calibration without external equipments", ICRA 2014
    (variance).

    Examples
    --------
    >>> from strapdown.samples import ImuSample
    >>> detector = StillnessDetector("mv")
    >>> for k in range(10):
    ...     event = detector.update(ImuSample(k * 5_000_000, None, (0.0, 0.0, 9.81)))
    >>> detector.still
    True
    """

    NAME = "stillness"
    PARAMS = StillnessParams
    KINDS = ("still",)
    FLAGS = ("gap", "open")
    MEMORY = StillnessMemory
    EVENT = StillnessEvent
    STEP = step
    CLOSE = close

    def __init__(
        self,
        kind: StillnessKind | str = StillnessKind.SHOE,
        params: StillnessParams | None = None,
        *,
        thresholds: str | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.kind = as_member(StillnessKind, kind, "kind of stillness")
        if thresholds not in (None, "auto"):
            raise UnknownNameError("thresholds", str(thresholds), ["auto"])
        self._noise_is_missing = bool(thresholds) and params is None
        defaults = StillnessParams.of(self.kind)
        params = defaults if params is None else as_params(params, StillnessParams)
        if thresholds:
            params = replace(params, threshold=None)
        if params.threshold is None and self.kind is StillnessKind.LOWPASS:
            raise ValueRangeError(
                "expected a number as threshold of lowpass, whose limits follow from no law, got "
                f"None: leave it at {defaults.threshold:g} and change the limits in StillnessParams"
            )
        super().__init__(params, compiled=compiled)

    def _settings(self) -> Record:
        return self.params.settings(kind=list(StillnessKind).index(self.kind))

    @property
    def statistic(self) -> float:
        """Statistic of the window that ends with the last sample; NaN if it has too few samples."""
        value: float = self._number("statistic")
        return value if value >= 0.0 else math.nan

    @property
    def still(self) -> bool:
        """Whether it is certain that the sensor is still now."""
        return bool(self._number("phase") == STILL)

    def _take(self, numbers: Numbers) -> Event | None:
        if self._noise_is_missing:
            raise ValueRangeError(
                'expected the noise for thresholds="auto" before a stream, got none: '
                "pass params, for instance quiet_noise(series, kind)"
            )
        return super()._take(numbers)

    def run(self, series: ImuSeries) -> Events:
        """Process a series, as :meth:`Detector.run`; learn the noise from it if that is missing."""
        self._learn(series)
        return super().run(series)

    def analyse(self, series: ImuSeries, *, centred: bool = True) -> Stillness:
        """Return statistic, flag and intervals of a whole recording.

        The state of the stream does not change.

        Parameters
        ----------
        series : ImuSeries
            In any body frame.
        centred : bool
            Whether a window has its sample in the middle, or at its end as in a stream.
        """
        self._learn(series)
        blocks = [rows["now"] for rows in rows_of(self._fresh_execution(), series)]
        now = np.concatenate([np.zeros(0, StillnessNow.dtype()), *blocks])
        still, known = _still_rows(now["phase"]), now["statistic"] >= 0.0
        statistic = np.where(known, now["statistic"], math.nan)
        threshold = np.where(known, now["limit"], math.nan)
        if centred and len(series):
            ahead = _ahead(now["count"].copy())
            rows = np.minimum(np.arange(len(series)) + ahead, len(series) - 1)
            statistic, threshold, still = statistic[rows], threshold[rows], still[rows]
        intervals = _intervals(series.t_ns, statistic, still)
        return Stillness(series.t_ns, statistic, threshold, still, intervals)

    def moving_share(self, series: ImuSeries) -> float:
        """Return the share of samples whose statistic, as of :meth:`analyse`, ends stillness.

        The state of the stream does not change. A series that is part of a file stays there.

        Parameters
        ----------
        series : ImuSeries
            At least one sample, in any body frame.
        """
        self._learn(series)
        above = scratch(series.t_ns, len(series), np.bool_)
        counts = scratch(series.t_ns, len(series), np.int64)
        execution, done = self._fresh_execution(), 0
        for part in parts(len(series)):
            for rows in rows_of(execution, series[part]):
                block, now = slice(done, done + len(rows)), rows["now"]
                limit = self.params.leave_ratio * now["limit"]
                above[block] = (now["statistic"] >= 0.0) & (now["statistic"] > limit)
                counts[block] = now["count"]
                done = block.stop
        ahead = min(_ahead(counts), len(series))
        return (np.count_nonzero(above[ahead:]) + ahead * int(above[-1])) / len(series)

    def _learn(self, series: ImuSeries) -> None:
        """Learn the noise from the first recording, if automatic thresholds have none."""
        require_series(series)
        if self._noise_is_missing:
            self.params = quiet_noise(series, self.kind)
            self._execution = self._fresh_execution()
            self._noise_is_missing = False


def _ahead(counts: IntArray) -> int:
    """Return the rows from the middle of a window to its end; orders the numbers in it."""
    return int(np.median(counts, overwrite_input=True) - 1) // 2


def _still_rows(phase: IntArray) -> BoolArray:
    """Return a mask of the rows in still intervals, from their first quiet row on."""
    before = np.concatenate([[MOVING], phase[:-1]])
    first = np.maximum.accumulate(np.where(before == MOVING, np.arange(len(phase)), 0))
    still: BoolArray = phase == STILL
    for row in np.flatnonzero(still & (before != STILL)):
        still[first[row] : row] = True
    return still


def _intervals(t_ns: IntArray, statistic: FloatArray, still: BoolArray) -> Events:
    """Return the runs of still rows as events."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]])))
    first, after = edges[::2], edges[1::2]
    last = after - 1
    sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(statistic))])
    nxt = np.minimum(after, len(t_ns) - 1)
    is_open = after == len(t_ns)
    return Events(
        np.full(len(first), "still"),
        t_ns[first],
        t_ns[last],
        t_ns[first],
        {
            "duration_s": (t_ns[last] - t_ns[first]) / NS_PER_S,
            "statistic": (sums[after] - sums[first]) / np.maximum(after - first, 1),
        },
        {"gap": ~is_open & np.isnan(statistic[nxt]), "open": is_open},
    )

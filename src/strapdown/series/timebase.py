"""Time base: order, duplicates, gaps, rate and resampling, each with a report.

Stamps are integer nanoseconds. A *gap* is an interval longer than five times the median
interval and longer than 20 ms, unless the caller passes a limit. Every function returns a
report; nothing is dropped, moved or interpolated without being counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from strapdown._html import FieldsAsHtml
from strapdown._scratch import parts, scratch
from strapdown._words import counted
from strapdown.errors import TimeOrderError, UnknownNameError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.samples.clock import GAP_FLOOR_S, GAP_INTERVALS
from strapdown.series.columns import Columns, as_stamps, present
from strapdown.series.steps import Steps
from strapdown.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
    from strapdown.series import Trajectory
    from strapdown.series.columns import Between, Column

__all__ = [
    "OrderPolicy",
    "OrderReport",
    "ResampleReport",
    "TimeReport",
    "TimeTally",
    "ordered",
    "orientation_at",
    "report",
    "resample",
]

OrderPolicy: TypeAlias = Literal["strict", "drop", "sort"]
"""Raise where stamps do not increase, drop such rows, or sort them first."""

Series = TypeVar("Series", bound=Columns)

_SHORTEST_GAP_NS: Final = round(GAP_FLOOR_S * NS_PER_S)
_PIECE: Final = 2**16
"""Stamps that are treated at once."""


@dataclass(frozen=True)
class TimeReport(FieldsAsHtml):
    """Statistics of the stamps of a recording.

    Parameters
    ----------
    samples, duration_ns : int
        Number, and time from the earliest to the latest stamp [ns].
    rate_hz, rate_min_hz, rate_max_hz : float
        One over the median interval, and over the longest and the shortest that is no gap
        [Hz]. Intervals count between samples that are neither duplicate nor backward; NaN
        where there is none.
    jitter_ns : float
        Root mean square deviation of the intervals that are no gaps from the median [ns].
    duplicates, backward : int
        Samples whose stamp equals, or is before, the latest stamp so far: those that
        ``ordered(series, "drop")`` drops.
    gaps, longest_gap_ns, lost_ns : int
        Intervals longer than ``gap_after_ns``: their number, the longest [ns], and the sum of
        their excess over the median interval [ns].
    gap_after_ns : int
        Limit above which an interval is a gap [ns].
    """

    samples: int
    duration_ns: int
    rate_hz: float
    rate_min_hz: float
    rate_max_hz: float
    jitter_ns: float
    duplicates: int
    backward: int
    gaps: int
    longest_gap_ns: int
    lost_ns: int
    gap_after_ns: int

    def __str__(self) -> str:
        return (
            f"{self.samples} samples in {_seconds(self.duration_ns)} s, {self.rate_hz:.1f} Hz "
            f"({self.rate_min_hz:.1f}..{self.rate_max_hz:.1f}), "
            f"jitter {self.jitter_ns / NS_PER_MS:.3g} ms, "
            f"{self.duplicates} duplicates, {self.backward} backward, {counted(self.gaps, 'gap')} "
            f"(longest {_seconds(self.longest_gap_ns)} s, lost {_seconds(self.lost_ns)} s)"
        )


@dataclass(frozen=True)
class OrderReport(FieldsAsHtml):
    """Counts of :func:`ordered`; kept and dropped add up to the number of input samples.

    Parameters
    ----------
    kept : int
        Samples in the result.
    dropped_duplicates, dropped_backward : int
        Samples left out because their stamp repeated, or went back.
    moved : int
        Kept samples that were after a later one and were sorted.
    """

    kept: int
    dropped_duplicates: int
    dropped_backward: int
    moved: int

    def __str__(self) -> str:
        return (
            f"kept {self.kept} samples, dropped {self.dropped_duplicates} duplicates and "
            f"{self.dropped_backward} backward, moved {self.moved}"
        )


@dataclass(frozen=True)
class ResampleReport(FieldsAsHtml):
    """Origin of the rows of a resampled series; the four counts add up to its length.

    Parameters
    ----------
    method : dict of str to str
        Interpolation of each column between two samples: ``"linear"``, ``"angle"`` (on the
        shorter arc), ``"slerp"``, ``"union"`` (the bits of both) or ``"previous"``.
    exact, interpolated : int
        Rows at a stamp of the source, with its values unchanged, and rows between two samples.
    in_gaps, outside : int
        Rows without a value: within a gap, or before the first and after the last sample.
    """

    method: dict[str, Between]
    exact: int
    interpolated: int
    in_gaps: int
    outside: int

    def __str__(self) -> str:
        methods = ", ".join(sorted(set(self.method.values())))
        return (
            f"{self.exact} rows exact, {self.interpolated} interpolated ({methods}), "
            f"{self.in_gaps} empty in gaps, {self.outside} empty outside"
        )


def report(t_ns: ArrayLike, *, gap_after_ns: int | None = None) -> TimeReport:
    """Measure rate, jitter, order and gaps of time stamps, which may be in any order.

    Parameters
    ----------
    t_ns : array_like of int, shape (N,)
        [ns].
    gap_after_ns : int, optional
        An interval longer than this is a gap [ns]; by default five times the median interval
        and at least 20 ms.

    Returns
    -------
    TimeReport

    Raises
    ------
    TypeError
        The stamps are not integers.
    ShapeError
        They have more than one dimension.
    """
    tally = TimeTally()
    tally.add(as_stamps(t_ns))
    return tally.report(gap_after_ns=gap_after_ns)


class TimeTally:
    """Statistics of time stamps that arrive piece by piece, in bounded memory.

    Examples
    --------
    >>> tally = TimeTally()
    >>> for piece in ([0, 10_000_000], [20_000_000, 20_000_000]):
    ...     tally.add(np.array(piece))
    >>> tally.report() == report([0, 10_000_000, 20_000_000, 20_000_000])
    True
    """

    def __init__(self) -> None:
        self.samples = 0
        self._waiting: list[IntArray] = []
        self._taken = 0
        self._earliest = self._latest = 0
        self._duplicates = self._backward = 0
        self._steps = Steps()

    def add(self, t_ns: IntArray) -> None:
        """Add the stamps after those so far, (N,) int64 [ns]."""
        self._waiting.append(t_ns)
        self.samples += t_ns.size
        if self.samples - self._taken >= _PIECE:
            self._take()

    def _take(self) -> None:
        """Reduce the stamps added since the last call to their steps."""
        waiting = np.concatenate([np.empty(0, np.int64), *self._waiting])
        self._waiting.clear()
        if not waiting.size:
            return
        earliest, latest = int(waiting.min()), int(waiting.max())
        stamps = np.append(self._latest, waiting) if self._taken else waiting
        steps = np.diff(stamps)
        if (stamps[1:] <= stamps[:-1]).any():
            duplicate, backward = _late(stamps)
            self._duplicates += int(duplicate.sum())
            self._backward += int(backward.sum())
            steps = np.diff(stamps[~(duplicate | backward)])
        self._steps.append(steps)
        self._earliest = min(self._earliest, earliest) if self._taken else earliest
        self._latest = max(self._latest, latest) if self._taken else latest
        self._taken = self.samples

    def report(self, *, gap_after_ns: int | None = None) -> TimeReport:
        """Return the statistics of all stamps so far; ``gap_after_ns`` as of :func:`report`."""
        self._take()
        steps = self._steps.array()
        median = _median(steps)
        limit = _gap_limit(median) if gap_after_ns is None else gap_after_ns
        gaps, regular = _split(steps, limit)
        slowest, fastest = (regular.max(), regular.min()) if regular.size else (np.nan, np.nan)
        return TimeReport(
            samples=self.samples,
            duration_ns=self._latest - self._earliest,
            rate_hz=NS_PER_S / median,
            rate_min_hz=float(NS_PER_S / slowest),
            rate_max_hz=float(NS_PER_S / fastest),
            jitter_ns=_spread(regular, median),
            duplicates=self._duplicates,
            backward=self._backward,
            gaps=gaps.size,
            longest_gap_ns=int(gaps.max(initial=0)),
            lost_ns=round(float((gaps - median).sum())) if gaps.size else 0,
            gap_after_ns=limit,
        )


def ordered(series: Series, policy: OrderPolicy = "strict") -> tuple[Series, OrderReport]:
    """Return the series with strictly increasing stamps.

    Parameters
    ----------
    series : ImuSeries, Trajectory or Increments
        In any order.
    policy : {"strict", "drop", "sort"}
        ``strict`` refuses a stamp that repeats or goes back; ``drop`` keeps each sample whose
        stamp exceeds every one before it; ``sort`` sorts the samples and keeps the first of
        equal stamps.

    Returns
    -------
    series : same type
    report : OrderReport

    Raises
    ------
    TimeOrderError
        With policy ``strict``, a stamp repeats or goes back; the error has row and both stamps.
    UnknownNameError
        There is no such policy.
    """
    if policy not in get_args(OrderPolicy):
        raise UnknownNameError("order policy", str(policy), get_args(OrderPolicy))
    stamps = series.t_ns
    if _increases(stamps):
        return series, OrderReport(len(series), 0, 0, 0)
    duplicate, backward = _late(stamps)
    late = duplicate | backward
    if policy == "strict":
        raise _order_error(stamps, int(np.argmax(late)))
    if policy == "drop":
        counts = int(duplicate.sum()), int(backward.sum())
        return series[~late], OrderReport(len(series) - sum(counts), *counts, 0)
    rows = np.argsort(stamps, kind="stable")
    first = np.append(True, np.diff(stamps[rows]) != 0)
    rows = rows[first]
    return series[rows], OrderReport(
        rows.size, len(series) - rows.size, 0, int(backward[rows].sum())
    )


def resample(
    series: Series,
    *,
    rate_hz: float | None = None,
    t_ns: ArrayLike | None = None,
    max_gap_ns: int | None = None,
) -> tuple[Series, ResampleReport]:
    """Interpolate samples onto a regular grid or onto given stamps.

    Vectors and covariances are interpolated linearly, angles on the shorter arc, attitude on the
    shortest arc at constant rate (slerp); a row between two samples carries the clipping bits of
    both and the flags of the earlier one. A covariance is not interpolated with one that is
    marked as unknown or absent: the result has that mark. Nothing is extrapolated: rows in gaps
    and outside are NaN, with bits and flags 0. A NaN in a neighbour gives NaN.

    Parameters
    ----------
    series : ImuSeries or Trajectory
        Strictly increasing stamps (:func:`ordered`).
    rate_hz : float, optional
        Grid ``t_0 + round(k 1e9 / rate_hz)`` up to the last stamp, in (0, 1e9] [Hz].
    t_ns : array_like of int, shape (M,), optional
        The stamps instead of a grid, in any order [ns].
    max_gap_ns : int, optional
        Samples farther apart than this are not interpolated [ns]; by default five times the
        median interval and at least 20 ms.

    Returns
    -------
    series : same type
    report : ResampleReport

    Raises
    ------
    TimeOrderError
        The stamps of the series repeat or go back.
    TypeError
        The series are increments, which cannot be interpolated. Or not exactly one of
        ``rate_hz`` and ``t_ns`` was given, or ``t_ns`` are not integers.
    ValueRangeError
        ``rate_hz`` is outside its range.
    """
    for name, column, _ in present(series):
        if column.between == "undefined":
            raise TypeError(
                f"expected samples, got {type(series).__name__}: {name} belongs to a whole "
                "interval; resample the ImuSeries and integrate it again"
            )
    series, _ = ordered(series)
    if rate_hz is not None and t_ns is None:
        target = _grid(series.t_ns, rate_hz)
    elif t_ns is not None and rate_hz is None:
        target = as_stamps(t_ns)
    else:
        raise TypeError("expected one of rate_hz and t_ns, got both or none")
    at = _locate(target, series.t_ns, max_gap_ns)
    method = {name: column.between for name, column, _ in present(series) if name != "t_ns"}
    columns = {name: _values(column, array, at) for name, column, array in present(series)}
    exact, filled, in_gaps = (int(mask.sum()) for mask in (at.exact, at.filled, at.in_gaps))
    outside = target.size - exact - filled - in_gaps
    done = ResampleReport(method, exact, filled, in_gaps, outside)
    return series.replace(**columns | {"t_ns": target}), done


def orientation_at(
    trajectory: Trajectory, t_ns: ArrayLike, *, max_gap_ns: int | None = None
) -> FloatArray:
    """Return the attitude of a trajectory at given times.

    Parameters
    ----------
    trajectory : Trajectory
        Strictly increasing stamps.
    t_ns : array_like of int, shape (M,)
        In any order [ns].
    max_gap_ns : int, optional
        As :func:`resample`.

    Returns
    -------
    ndarray, shape (M, 4)
        ``q_world_from_body``, by slerp; NaN in gaps and outside the trajectory.

    Raises
    ------
    TimeOrderError, TypeError
        As :func:`resample`.
    """
    attitude = trajectory.replace(position_world=None, velocity_world=None, moving=None)
    return resample(attitude, t_ns=t_ns, max_gap_ns=max_gap_ns)[0].q_world_from_body


def _increases(stamps: IntArray) -> bool:
    """Whether every stamp is after the one before, without a long copy."""
    before, after = stamps[:-1], stamps[1:]
    return all(bool((before[part] < after[part]).all()) for part in parts(len(after)))


def _late(stamps: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return masks of the stamps that equal, and that are before, the latest stamp so far."""
    latest = np.maximum.accumulate(stamps)[:-1]
    later = stamps[1:]
    none = np.zeros(min(stamps.size, 1), np.bool_)
    return np.append(none, later == latest), np.append(none, later < latest)


def _spread(steps: AnyArray, median: float) -> float:
    """Return the root mean square deviation of steps from their median, without a long copy."""
    if not steps.size:
        return float("nan")
    squares = (((steps[k : k + _PIECE] - median) ** 2).sum() for k in range(0, steps.size, _PIECE))
    return float(np.sqrt(sum(squares) / steps.size))


def _split(steps: AnyArray, limit: float) -> tuple[IntArray, AnyArray]:
    """Return the steps above a limit, and the others."""
    above = np.concatenate([steps[part][steps[part] > limit] for part in parts(steps.size)])
    if not above.size:
        return above.astype(np.int64), steps
    others, filled = scratch(steps, steps.size - above.size, steps.dtype), 0
    for part in parts(steps.size):
        some = steps[part][steps[part] <= limit]
        others[filled : filled + some.size] = some
        filled += some.size
    return above.astype(np.int64), others


def _median(steps: AnyArray) -> float:
    """Return the median of steps; NaN where there is none."""
    if not steps.size:
        return math.nan
    sorted_in_part = scratch(steps, steps.size, steps.dtype)
    sorted_in_part[:] = steps
    return float(np.median(sorted_in_part, overwrite_input=True))


def _gap_limit(median: float) -> int:
    """Return the interval above which a step is a gap, from the median of the steps [ns]."""
    return (
        _SHORTEST_GAP_NS
        if math.isnan(median)
        else max(_SHORTEST_GAP_NS, round(GAP_INTERVALS * median))
    )


def _grid(stamps: IntArray, rate_hz: float) -> IntArray:
    """Return a regular grid over the stamps, each point rounded separately."""
    if not 0.0 < rate_hz <= NS_PER_S:
        raise ValueRangeError(f"expected rate_hz above 0 and at most 1e9, got {rate_hz}")
    if not stamps.size:
        return stamps
    duration = int(stamps[-1]) - int(stamps[0])
    k = np.arange(int(duration * rate_hz / NS_PER_S) + 2)
    offsets = np.rint(k * float(NS_PER_S) / rate_hz).astype(np.int64)
    return np.asarray(stamps[0] + offsets[offsets <= duration])


@dataclass(frozen=True)
class _Place:
    """Positions of target stamps: three masks, and the source row at or after each."""

    exact: BoolArray
    filled: BoolArray
    in_gaps: BoolArray
    right: IntArray
    fraction: FloatArray


def _locate(target: IntArray, stamps: IntArray, max_gap_ns: int | None) -> _Place:
    """Locate target stamps among increasing ones; ``fraction`` is for the filled rows only."""
    steps = np.diff(stamps)
    limit = _gap_limit(_median(steps)) if max_gap_ns is None else max_gap_ns
    right = np.searchsorted(stamps, target)
    exact = np.searchsorted(stamps, target, side="right") > right
    filled = ~exact & (right > 0) & (right < stamps.size)
    in_gaps = filled.copy()
    in_gaps[filled] = steps[right[filled] - 1] > limit
    filled &= ~in_gaps
    before = right[filled] - 1
    fraction = (target[filled] - stamps[before]) / steps[before]
    return _Place(exact, filled, in_gaps, right, fraction)


def _values(column: Column, array: AnyArray, at: _Place) -> AnyArray:
    """Return a column at the target stamps; NaN or 0 where there is no value."""
    empty = np.nan if array.dtype == np.float64 else 0
    values = np.full((at.right.size, *column.tail), empty, array.dtype)
    values[at.exact] = array[at.right[at.exact]]
    after = at.right[at.filled]
    values[at.filled] = _blend(column, array[after - 1], array[after], at.fraction)
    return values


def _blend(column: Column, a: AnyArray, b: AnyArray, fraction: FloatArray) -> AnyArray:
    """Interpolate between the rows ``a`` and ``b``."""
    if column.between == "previous":
        return a
    if column.between == "union":
        return np.bitwise_or(a, b)
    with np.errstate(invalid="ignore", over="ignore"):
        if column.between == "slerp":
            return quaternion.slerp(a, b, fraction)
        part = fraction.reshape(-1, *[1] * len(column.tail))
        step = b - a
        if column.between == "angle":
            return _wrapped(a + fraction * _wrapped(step))
        mixed: AnyArray = a + part * step
    if column.tail == (3, 3):
        for marked in (a, b):
            mixed = np.where(marked[:, :1, :1] <= 0.0, marked, mixed)
    return mixed


def _wrapped(angle: AnyArray) -> AnyArray:
    """Return angles in -pi ... pi [rad]."""
    turns: AnyArray = np.rint(angle / math.tau)
    return angle - math.tau * turns


def _order_error(stamps: IntArray, row: int) -> TimeOrderError:
    now, before = int(stamps[row]), int(stamps[row - 1])
    what = f"the stamp {_seconds(now)} s repeats"
    if now < before:
        step = _seconds(before - now)
        what = f"time goes back by {step} s ({_seconds(now)} after {_seconds(before)})"
    line = f'row {row}: {what}; use timebase.ordered with policy="sort" or policy="drop"'
    return TimeOrderError(line, row=row, t_ns=now, previous_ns=before)


def _seconds(ns: int) -> str:
    """Return nanoseconds as exact decimal seconds."""
    return f"{(Decimal(ns) / NS_PER_S).normalize():f}"

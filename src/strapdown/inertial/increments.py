"""Delta angle and delta velocity from samples, with coning and sculling corrections.

A window of samples becomes one increment. ``delta_angle`` is the rotation vector from the
start of the window to its end, that of the product of the rotations of its samples; if it
rotates by more than 270 degrees, it is the sum with coning terms of second order.
``delta_velocity`` is the integral of specific force resolved in the body axes at the middle of
the window, so that both divided by their duration are rates at that middle. :func:`integrate`
processes a whole series, and :class:`~strapdown.inertial.stream.IncrementIntegrator` one sample
at a time, with the same kernel and the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._html import FieldsAsHtml
from strapdown._kernels.compilation import quickest
from strapdown.errors import ShapeError, TimeOrderError, ValueRangeError
from strapdown.geometry.triples import ZERO
from strapdown.inertial import coning_sculling as kernels
from strapdown.samples import SampleKind, as_kind
from strapdown.series import Increments
from strapdown.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from strapdown._typing import AnyArray, BoolArray, FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["Integration", "IntegrationReport", "WindowRule", "increments_from_rates", "integrate"]

FRESH: Final = kernels.begin(kernels.NEVER, ZERO, ZERO, 0, 0)


def require_positive(name: str, value: float) -> None:
    """Raise ValueRangeError unless the value is 1 or more, and finite."""
    if not 1 <= value < np.inf:
        raise ValueRangeError(f"expected {name} of 1 or more, got {value}")


def require_ascending(t_ns: IntArray, what: str) -> None:
    """Raise TimeOrderError unless each stamp is later than the one before."""
    back = np.flatnonzero(np.diff(t_ns) <= 0)
    if len(back):
        row = int(back[0]) + 1
        before, now = int(t_ns[row - 1]), int(t_ns[row])
        raise TimeOrderError(
            f"expected {what} in ascending order, got {now} ns after {before} ns;"
            " sort them, or cut where the clock jumps",
            row=row,
            t_ns=now,
            previous_ns=before,
        )


@dataclass(frozen=True)
class WindowRule:
    """End of a window: after a number of samples, or after a time.

    Parameters
    ----------
    samples_min : int
        Number of samples in a window, 1 or more.
    interval_min_ns : int, optional
        The window ends earlier with a sample that is this long after its start [ns], 1 or
        more; by default never.

    Raises
    ------
    ValueRangeError
        A parameter is less than 1.
    """

    samples_min: int
    interval_min_ns: int = kernels.UNBOUNDED

    def __post_init__(self) -> None:
        require_positive("samples_min", self.samples_min)
        require_positive("interval_min_ns", self.interval_min_ns)


# in the order of their codes in kernels
_KINDS: Final = (SampleKind.POINT, SampleKind.MEAN, SampleKind.INTEGRAL, None)
_UNENDING: Final = WindowRule(kernels.UNBOUNDED)


@dataclass(frozen=True)
class IntegrationReport(FieldsAsHtml):
    """Counts of the samples, and of lost time.

    Parameters
    ----------
    samples : int
        Samples processed.
    increments : int
        Increments returned.
    not_finite, repeated : int
        Samples left out because a value was NaN or infinite, or because the stamp was that of
        the sample before.
    gaps, backward : int
        Restarts of the integration, because the next sample was later than the longest gap
        allowed or followed a lost increment, or was earlier than the one before it.
    uneven : int
        Steps by the trapezoid rule, because one of the last spacings was more than twice another.
    discarded : int
        Windows discarded at a restart.
    lost_ns : int
        Time in gaps and in discarded windows, which no increment covers [ns].
    unfinished : int
        Samples of the last window, if it is incomplete.
    """

    samples: int
    increments: int
    not_finite: int
    repeated: int
    gaps: int
    backward: int
    uneven: int
    discarded: int
    lost_ns: int
    unfinished: int


@dataclass(frozen=True, eq=False)
class Integration:
    """Result of the integration.

    Parameters
    ----------
    increments : Increments
        One row for each complete window. ``delta_angle - coning`` and
        ``delta_velocity - sculling`` are the plain integrals.
    coning, sculling : (N, 3)
        The corrections that the increments contain [rad], [m/s].
    report : IntegrationReport
        Counts of samples left out and of restarts.
    """

    increments: Increments
    coning: FloatArray
    sculling: FloatArray
    report: IntegrationReport


def integrate(
    series: ImuSeries,
    *,
    gyro_kind: SampleKind | None = SampleKind.POINT,
    accel_kind: SampleKind | None = SampleKind.POINT,
    window: WindowRule | IntArray,
    max_gap_ns: int | None = None,
) -> Integration:
    """Integrate samples into increments with coning and sculling corrections.

    Point samples are integrated by a four-point Adams-Moulton quadrature for any spacing. It
    uses past samples only, so a window ends with its last sample. A missing sample makes a
    step longer; a gap restarts the integration, and so does a sample of increments that is not
    finite.

    Parameters
    ----------
    series : ImuSeries
        ``angular_velocity`` and ``specific_force`` [body], of the kinds given. A column that is
        NaN throughout is of kind None.
    gyro_kind, accel_kind : SampleKind or None, optional
        Kinds of the samples; by default values at their stamps. None: there is no such
        sensor, and its increments are NaN with a duration of 0 ns.
    window : WindowRule or (K,) int64
        Rule for the end of a window, or the stamps between which to integrate, ascending [ns].
        Window k of K - 1 has the samples after stamp k up to stamp k + 1 (included); one
        without samples is left out. The stamp of an increment is that of its last sample.
    max_gap_ns : int, optional
        Longest step that is integrated [ns]; by default 20 ms or ten times the median step,
        whichever is longer.

    Returns
    -------
    Integration

    Raises
    ------
    ValueRangeError
        ``max_gap_ns`` is less than 1.
    ShapeError, TimeOrderError
        There are no stamps of windows, or they are not in ascending order.
    UnknownNameError
        A kind is unknown.

    References
    ----------
    P. G. Savage, Journal of Guidance, Control, and Dynamics 21(1) (attitude) and 21(2)
    (velocity), 1998; J. E. Bortz, IEEE Transactions AES-7(1), 1971.
    """
    gyro, angular_velocity = _sensor(gyro_kind, series.angular_velocity)
    accel, specific_force = _sensor(accel_kind, series.specific_force)
    if max_gap_ns is None:
        max_gap_ns = longest_step_ns(series.t_ns, 10)
    if isinstance(window, WindowRule):
        rule = rule_of(gyro, accel, window, max_gap_ns)
        is_last = np.zeros(len(series), np.bool_)
        by_time = window.interval_min_ns < kernels.UNBOUNDED
        most = len(series) // (1 if by_time else window.samples_min)
    else:
        rule = rule_of(gyro, accel, _UNENDING, max_gap_ns)
        is_last = _last_members(series.t_ns, window)
        most = int(is_last.sum())
    unclipped = _zeros(len(series), np.uint8)
    tally = np.zeros(kernels.EVENTS, np.int64)
    out = _room_for(most)
    state, rows = quickest(kernels.integrate, len(series))(
        FRESH,
        series.t_ns,
        angular_velocity,
        specific_force,
        unclipped if series.gyro_clipping is None else series.gyro_clipping,
        unclipped if series.accel_clipping is None else series.accel_clipping,
        is_last,
        rule,
        tally,
        out,
    )
    out = _taken(out, slice(rows))
    if not isinstance(window, WindowRule):
        out = _taken(out, out.t_ns > window[0])
    increments = Increments(
        out.t_ns,
        out.delta_angle if gyro else np.full_like(out.delta_angle, np.nan),
        out.delta_velocity if accel else np.full_like(out.delta_velocity, np.nan),
        out.dt_ns if gyro else np.zeros_like(out.dt_ns),
        out.dt_ns if accel else np.zeros_like(out.dt_ns),
        gyro_clipping=out.gyro_clipping,
        accel_clipping=out.accel_clipping,
        body=series.body,
        sensor=series.sensor,
    )
    report = report_of(state, tally.tolist(), len(increments))
    return Integration(increments, out.coning, out.sculling, report)


def increments_from_rates(
    series: ImuSeries, *, samples_per_increment: int = 1, max_gap_ns: int | None = None
) -> tuple[Increments, IntegrationReport]:
    """Integrate point samples into increments, a fixed number of samples each.

    Parameters
    ----------
    series : ImuSeries
        Samples at instants, not means over intervals: ``angular_velocity`` [rad/s, body],
        ``specific_force`` [m/s^2, body].
    samples_per_increment : int, optional
        Samples in each window, 1 or more.
    max_gap_ns : int, optional
        As in :func:`integrate`.

    Returns
    -------
    Increments
        One row for each complete window.
    IntegrationReport
        Counts of samples left out and of restarts.

    Raises
    ------
    ValueRangeError
        ``samples_per_increment`` or ``max_gap_ns`` is less than 1.
    """
    require_positive("samples_per_increment", samples_per_increment)
    result = integrate(series, window=WindowRule(samples_per_increment), max_gap_ns=max_gap_ns)
    return result.increments, result.report


def rule_of(
    gyro_kind: SampleKind | None, accel_kind: SampleKind | None, window: WindowRule, max_gap_ns: int
) -> kernels.Rule:
    """Return the rule of the kernel."""
    require_positive("max_gap_ns", max_gap_ns)
    return kernels.Rule(
        _KINDS.index(gyro_kind),
        _KINDS.index(accel_kind),
        window.samples_min,
        window.interval_min_ns,
        max_gap_ns,
    )


def report_of(
    state: kernels.IntegratorState, tally: Sequence[int], increments: int
) -> IntegrationReport:
    """Return the counts of the kernel as a report."""
    return IntegrationReport(
        samples=sum(tally),
        increments=increments,
        not_finite=tally[kernels.NOT_FINITE],
        repeated=tally[kernels.REPEATED],
        gaps=tally[kernels.GAP],
        backward=tally[kernels.BACKWARD],
        uneven=tally[kernels.UNEVEN],
        discarded=state.discarded,
        lost_ns=int(state.lost_ns),
        unfinished=state.samples,
    )


def as_integrable(kind: SampleKind | None) -> SampleKind | None:
    """Return a kind of sample by value or name, of those that can be integrated."""
    return None if kind is None else as_kind(kind, filter(None, _KINDS))


def _sensor(kind: SampleKind | None, values: FloatArray) -> tuple[SampleKind | None, FloatArray]:
    """Return the kind (None if all values are NaN) and finite input for the kernel."""
    kind = as_integrable(kind)
    if kind is not None and len(values) and np.isnan(values[0]).all() and np.isnan(values).all():
        kind = None
    return kind, values if kind else _zeros(values.shape, np.float64)


def _zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> AnyArray:
    """Return zeros that are read-only like the columns of a series: one machine code for both."""
    zeros = np.zeros(shape, dtype)
    zeros.setflags(write=False)
    return zeros


def _last_members(t_ns: IntArray, stamps: IntArray) -> BoolArray:
    """Return flags of the last sample of each window, and of the last one before the first."""
    if len(stamps) == 0:
        raise ShapeError("expected stamps of windows, got none; give at least start and end")
    require_ascending(stamps, "windows")
    window = np.searchsorted(stamps, t_ns, "left")
    is_last = window < np.searchsorted(stamps, t_ns, "right")  # on a stamp
    is_last[:-1] |= window[:-1] < window[1:]
    return is_last


def _room_for(rows: int) -> kernels.Columns:
    stamps, vectors, bits = (rows, np.int64), ((rows, 3), np.float64), (rows, np.uint8)
    return kernels.Columns._make(
        np.empty(*like) for like in (stamps, stamps, *[vectors] * 4, bits, bits)
    )


def _taken(columns: kernels.Columns, rows: slice | BoolArray) -> kernels.Columns:
    return kernels.Columns._make(column[rows] for column in columns)


def longest_step_ns(t_ns: IntArray, intervals: int) -> int:
    """Return the longest step that is no gap: 20 ms or ``intervals`` median steps, if longer."""
    steps = np.diff(t_ns)
    steps = steps[steps > 0]
    return max(20 * NS_PER_MS, intervals * int(np.median(steps)) if len(steps) else 0)

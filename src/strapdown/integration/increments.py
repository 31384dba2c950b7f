"""Delta angle and delta velocity from point samples, with coning and sculling.

A window of samples becomes one increment. ``delta_angle`` is the rotation vector from the
start of the window to its end; ``delta_velocity`` is the integral of specific force resolved
in the body axes at the middle of the window, so that both divided by their duration are rates
at that middle. :func:`increments_from_rates` does a whole series, :class:`IncrementIntegrator`
one sample at a time, with the same kernel and the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown._compile import compiled
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.integration import _kernels as kernels
from strapdown.series import Increments
from strapdown.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import IntArray
    from strapdown.series import ImuSeries

__all__ = ["Increment", "IncrementIntegrator", "IntegrationReport", "increments_from_rates"]

_FRESH = kernels.begin(kernels.NEVER, kernels.ZERO, kernels.ZERO, 0, 0)


@dataclass(frozen=True)
class IntegrationReport:
    """What became of every sample, and of the time.

    Parameters
    ----------
    samples : int
        Samples that came in.
    increments : int
        Increments that went out.
    not_finite, repeated : int
        Samples left out because a value was NaN or infinite, or because the stamp was that of
        the sample before.
    gaps, backward : int
        Times that the integration started again, because the next sample came later than the
        longest gap allowed, or earlier than the one before it.
    uneven : int
        Steps by the trapezoid rule, because one of the last spacings was more than twice another.
    discarded : int
        Windows that a restart broke off.
    lost_ns : int
        Time in gaps and in windows broken off, which no increment covers [ns].
    unfinished : int
        Samples of the last window, which is still open.
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


class Increment(NamedTuple):
    """One increment of a stream.

    Parameters
    ----------
    t_ns : int
        End of the window [ns].
    dt_ns : int
        Its length [ns].
    delta_angle, delta_velocity : tuple of 3 float
        As in :class:`~strapdown.series.Increments` [rad], [m/s].
    coning, sculling : tuple of 3 float
        The corrections that the two contain [rad], [m/s].
    gyro_clipping, accel_clipping : int
        Axes that were saturated within the window: bits X=1, Y=2, Z=4.
    """

    t_ns: int
    dt_ns: int
    delta_angle: kernels.Vector
    delta_velocity: kernels.Vector
    coning: kernels.Vector
    sculling: kernels.Vector
    gyro_clipping: int
    accel_clipping: int


def increments_from_rates(
    series: ImuSeries, *, samples_per_increment: int = 1, max_gap_ns: int | None = None
) -> tuple[Increments, IntegrationReport]:
    """Integrate point samples into increments with coning and sculling corrections.

    The rule between samples is a four-point Adams-Moulton quadrature for any spacing; it looks
    at the past only, so a window ends with its last sample. A missing sample makes a step
    longer; a gap starts the integration again.

    Parameters
    ----------
    series : ImuSeries
        Samples at instants, not means over intervals: ``angular_velocity`` [rad/s, body],
        ``specific_force`` [m/s^2, body].
    samples_per_increment : int, optional
        Samples that end in each window, 1 or more.
    max_gap_ns : int, optional
        Longest step that is integrated [ns]; by default 20 ms or ten times the median step,
        whichever is longer.

    Returns
    -------
    Increments
        One row a whole window.
    IntegrationReport
        What was left out, and where the integration started again.

    Raises
    ------
    ValueRangeError
        ``samples_per_increment`` or ``max_gap_ns`` is less than 1.

    References
    ----------
    P. G. Savage, Journal of Guidance, Control, and Dynamics 21(1) (attitude) and 21(2)
    (velocity), 1998; J. E. Bortz, IEEE Transactions AES-7(1), 1971.
    """
    _require_positive("samples_per_increment", samples_per_increment)
    if max_gap_ns is None:
        max_gap_ns = _default_max_gap_ns(series.t_ns)
    _require_positive("max_gap_ns", max_gap_ns)
    unclipped = np.zeros(len(series), np.uint8)
    gyro_clipping = unclipped if series.gyro_clipping is None else series.gyro_clipping
    accel_clipping = unclipped if series.accel_clipping is None else series.accel_clipping

    most = len(series) // samples_per_increment
    tally = np.zeros(kernels.EVENTS, np.int64)
    stamps = np.empty((most, 2), np.int64)
    deltas = np.empty((most, 6))
    clipping = np.empty((most, 2), np.uint8)
    state, rows = compiled(kernels.integrate)(
        _FRESH, series.t_ns, series.angular_velocity, series.specific_force,
        gyro_clipping, accel_clipping, samples_per_increment, max_gap_ns,
        tally, stamps, deltas, clipping,
    )  # fmt: skip
    increments = Increments(
        stamps[:rows, 0],
        deltas[:rows, :3],
        deltas[:rows, 3:],
        stamps[:rows, 1],
        stamps[:rows, 1],
        gyro_clipping=clipping[:rows, 0],
        accel_clipping=clipping[:rows, 1],
        body=series.body,
        sensor=series.sensor,
    )
    return increments, _report(state, tally.tolist(), rows)


class IncrementIntegrator:
    """Integrate a stream of point samples, as :func:`increments_from_rates` does a series.

    Parameters
    ----------
    samples_per_increment : int
        Samples that end in each window, 1 or more.
    max_gap_ns : int
        Longest step that is integrated [ns]; ten sampling intervals is a good choice.

    Attributes
    ----------
    state : IntegratorState
        All that the next increments depend on: a value that can be kept, compared and set.

    Raises
    ------
    ValueRangeError
        A parameter is less than 1.

    Examples
    --------
    >>> integrator = IncrementIntegrator(2, max_gap_ns=100_000_000)
    >>> for t_ns in (0, 10_000_000, 20_000_000):
    ...     increment = integrator.update(t_ns, (0.0, 0.0, 0.5), (0.0, 0.0, 9.80665))
    >>> [round(x, 9) for x in increment.delta_angle], increment.dt_ns
    ([0.0, 0.0, 0.01], 20000000)
    """

    def __init__(self, samples_per_increment: int = 1, *, max_gap_ns: int) -> None:
        _require_positive("samples_per_increment", samples_per_increment)
        _require_positive("max_gap_ns", max_gap_ns)
        self._samples_per_increment = samples_per_increment
        self._max_gap_ns = max_gap_ns
        self.reset()

    def reset(self) -> None:
        """Forget every sample and every count."""
        self.state = _FRESH
        self._tally = [0] * kernels.EVENTS
        self._increments = 0

    def update(
        self,
        t_ns: int,
        angular_velocity: Sequence[float],
        specific_force: Sequence[float],
        *,
        gyro_clipping: int = 0,
        accel_clipping: int = 0,
    ) -> Increment | None:
        """Take one sample; return an increment where it ends a window.

        Parameters
        ----------
        t_ns : int
            Time of the sample [ns].
        angular_velocity, specific_force : sequence of 3 float
            [rad/s, body], [m/s^2, body].
        gyro_clipping, accel_clipping : int, optional
            Axes that are saturated: bits X=1, Y=2, Z=4.

        Returns
        -------
        Increment or None
            None while the window is open, and where the sample is left out.

        Raises
        ------
        ShapeError
            A vector has not three components.
        """
        state, event = kernels.advance(
            self.state,
            int(t_ns),
            _three(angular_velocity, "angular_velocity"),
            _three(specific_force, "specific_force"),
            gyro_clipping,
            accel_clipping,
            self._max_gap_ns,
        )
        self._tally[event] += 1
        if state.samples < self._samples_per_increment:
            self.state = state
            return None
        self.state = kernels.close(state)
        self._increments += 1
        return Increment(
            state.t_ns,
            state.t_ns - state.start_ns,
            kernels.add(state.alpha, state.coning),
            kernels.add(state.nu, state.sculling),
            state.coning,
            state.sculling,
            state.gyro_clipping,
            state.accel_clipping,
        )

    @property
    def report(self) -> IntegrationReport:
        """What became of the samples so far."""
        return _report(self.state, self._tally, self._increments)


def _report(
    state: kernels.IntegratorState, tally: Sequence[int], increments: int
) -> IntegrationReport:
    return IntegrationReport(
        samples=sum(tally),
        increments=increments,
        not_finite=tally[kernels.NOT_FINITE],
        repeated=tally[kernels.REPEATED],
        gaps=tally[kernels.GAP],
        backward=tally[kernels.BACKWARD],
        uneven=tally[kernels.UNEVEN],
        discarded=state.discarded,
        lost_ns=state.lost_ns,
        unfinished=state.samples,
    )


def _default_max_gap_ns(t_ns: IntArray) -> int:
    steps = np.diff(t_ns)
    steps = steps[steps > 0]
    return max(20 * NS_PER_MS, 10 * int(np.median(steps)) if len(steps) else 0)


def _three(vector: Sequence[float], name: str) -> kernels.Vector:
    try:
        x, y, z = vector
    except ValueError:
        raise ShapeError(f"expected {name} of 3 components, got {len(vector)}") from None
    return float(x), float(y), float(z)


def _require_positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueRangeError(f"expected {name} of 1 or more, got {value}")

"""Strapdown navigator: inertial navigation with delayed aiding, filtered and smoothed."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import deque
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strapdown._checks import as_params
from strapdown.errors import ValueRangeError
from strapdown.estimation.execution import COUNTS, MEMORY, restored
from strapdown.estimation.intake import FilterCounts
from strapdown.estimation.navigation.aiding import Aiding, AidingResult, Frame
from strapdown.estimation.navigation.execution import (
    BackwardPass,
    IncrementRows,
    NavigatorExecution,
    Rows,
    SampleRows,
)
from strapdown.estimation.navigation.params import NavigatorParams
from strapdown.estimation.navigation.result import NavigationEstimate, NavigationResult, columns_of
from strapdown.estimation.navigation.state import NavigatorMemory
from strapdown.inertial.navigation import Place
from strapdown.samples.sample import numbers_of
from strapdown.series import ImuSeries, Increments
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from strapdown._kernels.records import RecordArray
    from strapdown._typing import ArrayLike, IntArray
    from strapdown.estimation.navigation.prior import NavigationPrior
    from strapdown.estimation.result import FilterReport, FilterState
    from strapdown.samples import ImuSample
    from strapdown.samples.sample import Numbers

__all__ = ["StrapdownNavigator"]

_NAME = "strapdown-navigator"
_BLOCK = 512  # samples of a block of the backward pass


@dataclass(slots=True)
class _Past:
    """The numbers of a sample, and the state after it."""

    sample: Numbers
    memory: RecordArray

    @property
    def t_ns(self) -> int:
        return self.sample[0]


class StrapdownNavigator:
    """Inertial navigation: attitude, velocity and position from an IMU, with aiding.

    Attitude, velocity and position are integrated with coning and sculling. An error-state
    Kalman filter propagates the covariance of their errors, of the biases of both sensors and of
    that of a barometer, and corrects them by aiding: rest, positions and velocities of an
    antenna, heading, altitude, speed of a wheel, no side slip, pose. An aiding is valid at its
    own time: for a late one the navigator goes back to that time, and processes the later
    samples again. An aiding that does not fit is rejected. ``run(..., smooth=True)`` is a
    fixed-interval smoother over the same model.

    The start is at rest: for ``align_for`` seconds tilt and gyro bias are estimated, and the
    sensor is in the origin. Any other start is passed as ``start``, as that of
    :func:`align_in_motion`.

    Without aiding, the position of consumer sensors is useful for seconds only.

    Samples with readings of both sensors (or two of one stamp that complement each other) are
    integrated; others are bridged by the trapezoid. Gaps increase the covariance, as the motion
    in them is unknown.

    Parameters
    ----------
    params : NavigatorParams, optional
    start : NavigationPrior, optional
        Prior of the state; by default the navigator aligns at rest.
    place : Place, optional
        Model of the Earth; by default a flat Earth with standard gravity.
    compiled : bool, optional
        True waits for the compiler and runs machine code from the first sample; False runs
        plain Python. By default a navigator starts in plain Python at once, and switches to
        machine code when it is available. The numbers are the same.

    References
    ----------
    J. Sola, "Quaternion kinematics for the error-state Kalman filter", arXiv:1711.02508, 2017.
    G. Bierman, "Factorization Methods for Discrete Sequential Estimation", 1977, chapter X.
    P. D. Groves, "Principles of GNSS, Inertial, and Multisensor Integrated Navigation
    Systems", 2nd ed., 2013, chapters 5 and 14.

    Examples
    --------
    >>> from strapdown.samples import ImuSample
    >>> navigator = StrapdownNavigator()
    >>> for k in range(400):
    ...     estimate = navigator.update(ImuSample(k * 5_000_000, (0, 0, 0), (0, 0, 9.80665)))
    >>> navigator.aid_zero_velocity().accepted
    True
    >>> bool(abs(estimate.position_world).max() < 1e-9)
    True
    """

    def __init__(
        self,
        params: NavigatorParams | None = None,
        *,
        start: NavigationPrior | None = None,
        place: Place | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.params = as_params(params, NavigatorParams)
        self._compiled = compiled
        self._fresh = start.memory(self.params) if start else NavigatorMemory()
        self._buffer_ns = round(self.params.buffer * NS_PER_S)
        self._execution = NavigatorExecution(self.params, place or Place(), compiled=compiled)
        self.reset()

    def reset(self, state: FilterState | None = None) -> None:
        """Restore a saved state, or the state before the first sample; clear report and buffer.

        Raises
        ------
        UnknownNameError
            The state belongs to another filter.
        ShapeError
            The state has another length than that of this navigator.
        """
        memory, t_ns = restored(state, _NAME, self._fresh)
        with self._execution.lock:
            self._execution.replace(MEMORY, memory.packed(), FilterCounts(last_ns=t_ns))
            self._past: list[_Past] = []
            self._aiding: list[Aiding] = []
            if self._has_begun:
                self._remember((self._execution.last_ns,))

    @property
    def _has_begun(self) -> bool:
        """Whether a sample has been processed."""
        return self._execution.known.clock.steps >= 0.0

    @property
    def state(self) -> FilterState:
        """State on which later outputs depend, except ``params``, ``place`` and late aiding."""
        return self._execution.saved(_NAME)

    @property
    def estimate(self) -> NavigationEstimate:
        """Estimates at the stamp of the last sample."""
        with self._execution.lock:
            return NavigationEstimate(self._execution.last_ns, self._execution.array(MEMORY))

    @property
    def report(self) -> FilterReport:
        """Counts of the samples since the last reset."""
        return self._execution.report

    def update(self, sample: ImuSample) -> NavigationEstimate:
        """Process one sample and return the estimates at its stamp.

        Parameters
        ----------
        sample : ImuSample
            In FLU body axes.

        Raises
        ------
        ValueRangeError
            The stamp does not fit in 64 bits.
        """
        numbers = numbers_of(sample, use_magnetic_field=False)
        with self._execution.lock:
            self._execution.update(numbers)
            if numbers[0] != self._execution.last_ns:
                return self.estimate
            return NavigationEstimate(numbers[0], self._remember(numbers))

    def run(
        self,
        data: ImuSeries | Increments,
        *,
        aiding: Iterable[Aiding] = (),
        smooth: bool = False,
    ) -> NavigationResult:
        """Process a whole recording; the same as a loop of :meth:`update` and :meth:`aid`.

        The navigator continues from its state, so that a recording may be passed in parts, one
        after the other. The convention of increments is that of
        :class:`~strapdown.series.Increments`.

        Parameters
        ----------
        data : ImuSeries or Increments
            In any body frame.
        aiding : iterable of Aiding, optional
            In any order, with stamps within the data.
        smooth : bool
            Whether rows also depend on later samples and aiding, up to the end of the data
            (fixed-interval smoothing). The state and the results of the aiding are the same.

        Returns
        -------
        NavigationResult
            N rows, in the frames of the data.

        Raises
        ------
        ValueRangeError
            An aiding is older than the data, or newer.
        """
        require_series(data, Increments)
        rows = SampleRows(data) if isinstance(data, ImuSeries) else IncrementRows(data)
        ordered = sorted(aiding, key=lambda each: each.t_ns)
        with self._execution.lock:
            self._check_times(ordered, rows.t_ns)
            self._execution.prepare(rows, len(ordered))
            with self._execution.own_account():
                go = self._there_and_back if smooth else self._through
                results = tuple(go(rows, ordered))
                report = self.report
            self._past.clear()
            self._aiding.clear()
            if len(data):
                self._remember((self._execution.last_ns,))
        variance = self.params.gyro_noise**2 * (data.rate_hz if len(data) > 1 else 0.0)
        found = NavigationResult(
            data.t_ns, **columns_of(rows.out), rate_variance=variance, aiding=results, report=report
        )
        world = data.world if isinstance(data, ImuSeries) else None
        return found.in_frames(world=world, body=data.body)

    def aid(self, aiding: Aiding) -> AidingResult:
        """Update with an aiding at its own time, which may be in the past.

        The samples in the buffer and the aiding after it are processed again; that aiding may
        then be accepted or rejected differently.

        Raises
        ------
        ValueRangeError
            The aiding is newer than the last sample, or older than the buffer.
        """
        with self._execution.lock:
            at = bisect_right(self._past, aiding.t_ns, key=lambda past: past.t_ns) - 1
            if at < 0 or aiding.t_ns > self._execution.last_ns:
                raise _untimely(aiding, self._execution.last_ns)
            new = copy(aiding)  # one that is given twice is two measurements
            insort(self._aiding, new, key=lambda each: each.t_ns)
            if at + 1 < len(self._past):
                return self._again(at, new)
            (result,) = self._execution.update_with(None, [new])
            self._past[at].memory = self._execution.array(MEMORY)
            return result

    def aid_position(
        self, position: ArrayLike, covariance: ArrayLike, *, t_ns: int | None = None
    ) -> AidingResult:
        """Aid with a position, by default at the last sample; see :meth:`Aiding.position`."""
        return self.aid(Aiding.position(self._now(t_ns), position, covariance))

    def aid_velocity(
        self,
        velocity: ArrayLike,
        covariance: ArrayLike,
        frame: Frame = "world",
        *,
        t_ns: int | None = None,
    ) -> AidingResult:
        """Aid with a velocity, by default at the last sample; see :meth:`Aiding.velocity`."""
        return self.aid(Aiding.velocity(self._now(t_ns), velocity, covariance, frame))

    def aid_zero_velocity(self, sigma: float = 0.01, *, t_ns: int | None = None) -> AidingResult:
        """Aid with zero velocity; see :meth:`Aiding.zero_velocity`."""
        return self.aid(Aiding.zero_velocity(self._now(t_ns), sigma))

    def aid_zero_rate(self, sigma: float = 0.005, *, t_ns: int | None = None) -> AidingResult:
        """Aid with zero angular velocity; see :meth:`Aiding.zero_rate`."""
        return self.aid(Aiding.zero_rate(self._now(t_ns), sigma))

    def aid_heading(self, heading: float, sigma: float, *, t_ns: int | None = None) -> AidingResult:
        """Aid with the heading of the forward axis; see :meth:`Aiding.heading`."""
        return self.aid(Aiding.heading(self._now(t_ns), heading, sigma))

    def aid_gravity(self, sigma: float = 0.05, *, t_ns: int | None = None) -> AidingResult:
        """Aid with gravity as the only specific force; see :meth:`Aiding.gravity`."""
        return self.aid(Aiding.gravity(self._now(t_ns), sigma))

    def _check_times(self, aiding: list[Aiding], t_ns: IntArray) -> None:
        """Require sorted aiding that begins no earlier than the state, and ends within the rows."""
        started = self._has_begun
        first_ns = self._execution.last_ns if started else min(t_ns, default=0)
        last_ns = max(t_ns, default=first_ns)
        for each in aiding[:1] + aiding[-1:]:
            if not (first_ns <= each.t_ns <= last_ns and (started or len(t_ns))):
                raise _untimely(each, last_ns)

    def _now(self, t_ns: int | None) -> int:
        with self._execution.lock:
            return self._execution.last_ns if t_ns is None else t_ns

    def _remember(self, sample: Numbers) -> RecordArray:
        """Buffer a copy of the state for late aiding, and drop entries that are too old."""
        past, t_ns = self._past, sample[0]
        if past and past[-1].t_ns > t_ns:
            past.clear()  # the clock has jumped
            self._aiding.clear()
        memory = self._execution.array(MEMORY)
        memory.setflags(write=False)
        past.append(_Past(sample, memory))
        oldest = t_ns - self._buffer_ns
        while past[0].t_ns < oldest and len(past) > 1:
            del past[0]
        while self._aiding and self._aiding[0].t_ns < past[0].t_ns:
            del self._aiding[0]
        return memory

    def _again(self, first: int, new: Aiding) -> AidingResult:
        """Process again the samples and aiding after a state in the buffer, with a new aiding."""
        execution, past = self._execution, self._past
        counts = execution.array(COUNTS)  # the samples are already counted
        execution.replace(MEMORY, past[first].memory, FilterCounts(last_ns=past[first].t_ns))
        after = deque(a for a in self._aiding if a is new or a.t_ns > past[first].t_ns)
        found: dict[int, AidingResult] = {}
        for j, each in enumerate(past[first:], first):
            then = past[j + 1].t_ns if j + 1 < len(past) else math.inf
            now = []
            while after and after[0].t_ns <= each.t_ns and after[0].t_ns < then:
                now.append(after.popleft())
            sample = each.sample if j > first else None
            if now:
                results = execution.update_with(sample, now)
                found.update(zip(map(id, now), results, strict=True))
            elif sample is not None:
                execution.update(sample)
            each.memory = execution.array(MEMORY)
        execution.replace(COUNTS, counts)
        return found[id(new)]

    def _through(self, rows: Rows, aiding: Sequence[Aiding]) -> Iterator[AidingResult]:
        """Process blocks of rows, each aiding at its time."""
        for block in rows.blocks(aiding):
            yield from self._execution.go_through(rows, block)

    def _there_and_back(self, rows: Rows, aiding: Sequence[Aiding]) -> Iterator[AidingResult]:
        """Process blocks of rows; record and smooth each again, from the last to the first."""
        execution, blocks = self._execution, []
        for block in rows.blocks(aiding, _BLOCK):
            blocks.append((block, execution.array(MEMORY), execution.array(COUNTS)))
            yield from execution.go_through(rows, block)
        after = execution.array(MEMORY), execution.array(COUNTS)
        way_back = BackwardPass(len(rows.t_ns), len(aiding), compiled=self._compiled)
        for block, *before in reversed(blocks):
            execution.replace(MEMORY, *before)
            passages, updates = execution.record(rows, block)
            way_back.over(passages, rows.out[block.first : block.last], updates)
        execution.replace(MEMORY, *after)


def _untimely(aiding: Aiding, last_ns: int) -> ValueRangeError:
    return ValueRangeError(
        f"expected aiding at a time that the samples have reached, and that the buffer still"
        f" holds; got {aiding.kind} at {aiding.t_ns} ns where the last sample is at {last_ns} ns;"
        " give it after the sample that follows it, or make the buffer longer"
    )

"""Foot-mounted navigator: streaming, whole recordings, and smoothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_params
from strapdown._kernels.records import values_of
from strapdown.detection.detector import DetectorState
from strapdown.detection.stillness import StillnessDetector, StillnessParams
from strapdown.detection.stillness.statistic import SHOE
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.estimation.execution import COUNTS, MEMORY, FilterExecution, rebuilt, restored
from strapdown.estimation.filter import as_columns
from strapdown.estimation.foot.filter import (
    FootMemory,
    FootRow,
    Passage,
    Tape,
    Watch,
    run,
    run_and_record,
)
from strapdown.estimation.foot.params import FootParams
from strapdown.estimation.foot.result import FootEstimate, FootResult
from strapdown.estimation.foot.smoothing import back
from strapdown.estimation.intake import FilterCounts
from strapdown.estimation.navigation.errors import Correction
from strapdown.estimation.navigation.result import columns_of
from strapdown.estimation.navigation.smoothing import Adjoint
from strapdown.estimation.result import FilterReport, FilterState
from strapdown.inertial.navigation import Place
from strapdown.inertial.navigation.mechanisation import Earth
from strapdown.samples.execution import Execution, Program
from strapdown.samples.sample import SampleColumns, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from strapdown._kernels.records import RecordArray
    from strapdown.samples import ImuSample
    from strapdown.series import ImuSeries

__all__ = ["FootNavigator", "FootState"]

_NAME: Final = "foot-navigator"
_BLOCK: Final = 512  # samples of a block of the backward pass

WATCH: Final = 2  # index of its record
_PARTS: Final = (FootMemory, FilterCounts, Watch, FootParams.record(), Earth, Correction, Tape)
_RUN: Final = Program("foot navigator", run, _PARTS, FootRow, weight=5.0)
_RECORD: Final = Program("foot navigator, to go back", run_and_record, _PARTS, Passage, weight=5.0)
_BACK: Final = Program(
    "foot navigator, back", back, (Adjoint, Correction), FootRow, sample=Passage, weight=5.0
)


@dataclass(frozen=True)
class FootState:
    """Saved state of a foot navigator, from which it continues with the same bits.

    Parameters
    ----------
    filter : FilterState
        The filter.
    window : DetectorState
        The window of its statistic.
    """

    filter: FilterState
    window: DetectorState

    def to_dict(self) -> dict[str, object]:
        """Return the state as values for JSON, without loss."""
        return {"filter": self.filter.to_dict(), "window": self.window.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> FootState:
        """Return the state of the values of :meth:`to_dict`.

        Raises
        ------
        ValueRangeError
            The data are not a foot state.
        """
        match data:
            case {"filter": dict(saved), "window": dict(window)}:
                return cls(FilterState.from_dict(saved), DetectorState.from_dict(window))
        raise ValueRangeError(f"expected a foot state with filter and window, got {data!r:.200}")


class FootNavigator:
    """Inertial navigation of a foot, corrected by its stances.

    An error-state Kalman filter over fifteen errors (that of
    :class:`~strapdown.estimation.StrapdownNavigator`) is updated with zero velocity at every
    sample. The statistic of the stance hypothesis optimal detector (SHOE) is not compared with
    a threshold: the noise of the update grows with it, from ``still_sigma`` near its lower
    envelope to no update in a swing. The envelope follows the gait, so that running, with
    stances less still than those of walking, is corrected too. The zero velocity is that of the
    sole, not that of the sensor above it. A still foot also determines the gyro bias, and
    stances of about the same height are on the same floor.

    The foot rests flat at the start, which is the origin; the forward axis of the body points
    to x (heading is relative to the start, and drifts). Without stances for a long time, as on
    a bicycle, position errors grow, and so does the covariance.

    ``update`` and ``run`` are causal, without delay; the window of the statistic ends at the
    sample. Output is ENU from FLU, from ``run`` the frames of the series.

    Parameters
    ----------
    params : FootParams, optional
    compiled : bool, optional
        As in :class:`~strapdown.estimation.StrapdownNavigator`.

    References
    ----------
    E. Foxlin, "Pedestrian tracking with shoe-mounted inertial sensors", IEEE Computer Graphics
    and Applications 25(6), 2005. I. Skog et al., "Zero-velocity detection: an algorithm
    evaluation", IEEE Transactions on Biomedical Engineering 57(11), 2010. B. Wagstaff,
    V. Peretroukhin, J. Kelly, "Robust data-driven zero-velocity detection for foot-mounted
    inertial navigation", IEEE Sensors Journal 20(2), 2020.

    Examples
    --------
    >>> from strapdown.samples import ImuSample
    >>> navigator = FootNavigator()
    >>> for k in range(100):
    ...     estimate = navigator.update(ImuSample(k * 5_000_000, (0, 0, 0), (0, 0, 9.80665)))
    >>> estimate.stance
    True
    """

    def __init__(self, params: FootParams | None = None, *, compiled: bool | None = None) -> None:
        self.params = as_params(params, FootParams)
        self._compiled = compiled
        self._watch_params = StillnessParams(gravity_m_s2=self.params.gravity).settings(kind=SHOE)
        self._execution = FilterExecution(
            _RUN,
            FootMemory(),
            FilterCounts(),
            Watch(params=self._watch_params),
            self.params.settings(),
            Place(gravity=self.params.gravity).for_kernels(),
            Correction(),
            Tape(),
            compiled=compiled,
        )

    def reset(self, state: FootState | None = None) -> None:
        """Restore a saved state, or the state before the first sample; clear the report.

        Raises
        ------
        UnknownNameError
            The state belongs to another filter.
        ShapeError
            The state has another length than that of this navigator.
        """
        memory, t_ns, watch = FootMemory(), 0, Watch(params=self._watch_params)
        if state is not None:
            names = state.filter.filter, state.window.detector
            if names != (_NAME, StillnessDetector.NAME):
                raise UnknownNameError("state of this filter", names[0], [_NAME])
            memory, t_ns = restored(state.filter, _NAME, memory)
            watch.memory = rebuilt(watch.memory, state.window.values)
            watch.counts = rebuilt(watch.counts, state.window.account)
        with self._execution.lock:
            self._execution.replace(MEMORY, memory, FilterCounts(last_ns=t_ns), watch)

    @property
    def state(self) -> FootState:
        """State on which all later outputs depend, except ``params``."""
        with self._execution.lock:
            watch = self._execution.memory(WATCH)
            window = [values_of(part) for part in (watch.memory, watch.counts)]
            return FootState(
                self._execution.saved(_NAME),
                DetectorState(StillnessDetector.NAME, tuple(window[0]), tuple(map(int, window[1]))),
            )

    @property
    def report(self) -> FilterReport:
        """Counts of the samples since the last reset."""
        return self._execution.report

    @property
    def estimate(self) -> FootEstimate:
        """Estimates at the stamp of the last sample."""
        with self._execution.lock:
            return FootEstimate(self._execution.last_ns, self._execution.array(MEMORY))

    def update(self, sample: ImuSample) -> FootEstimate:
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
            return self.estimate

    def run(
        self,
        series: ImuSeries,
        *,
        smooth: bool = False,
        progress: Callable[[float], object] | None = None,
    ) -> FootResult:
        """Process a whole recording; the same as a loop of :meth:`update`.

        The navigator continues from its state, so that a recording may be passed in parts, one
        after the other.

        Parameters
        ----------
        series : ImuSeries
            In any frames: with ``body="FRD", world="NED"`` the result is NED.
        smooth : bool
            Whether rows also depend on later samples, up to the end of the series: the path
            does not jump at the end of a stride, and errors and covariances are smaller. The
            state is the same.
        progress : callable, optional
            Called with the fraction done, 0 to 1.

        Returns
        -------
        FootResult
            N rows, in the frames of the series.
        """
        columns = as_columns(series, use_magnetic_field=False)
        out = np.zeros(len(series), FootRow.dtype())
        steps = (1 + smooth) * -(-len(series) // _BLOCK)
        with self._execution.lock, self._execution.own_account():
            for done, _ in enumerate(self._go_through(columns, out, smooth=smooth), 1):
                if progress:
                    progress(done / steps)
            report = self.report
        variance = self.params.gyro_noise**2 * (series.rate_hz if len(series) > 1 else 0.0)
        found = FootResult(
            series.t_ns,
            **columns_of(out),
            stance=out["stance"],
            statistic=np.where(out["statistic"] < 0.0, np.nan, out["statistic"]),
            rate_variance=variance,
            report=report,
        )
        return found.in_frames(world=series.world, body=series.body)

    def _go_through(
        self, columns: SampleColumns, out: RecordArray, *, smooth: bool
    ) -> Iterator[None]:
        """Write the rows of a recording; yield after each block."""
        execution = self._execution
        for program in (_RUN, _RECORD) if smooth else (_RUN,):
            execution.prepare_for(program, len(columns))
        before: list[list[RecordArray]] = []  # of each block
        for first in range(0, len(columns), _BLOCK):
            if smooth:
                before.append(self._parts())
            samples = columns.block(first, first + _BLOCK)
            execution.run(_RUN, samples, out[first : first + _BLOCK])
            yield
        if smooth:
            yield from self._smooth(columns, before, out)

    def _parts(self) -> list[RecordArray]:
        """Return copies of the records that samples change."""
        return [self._execution.array(which) for which in (MEMORY, COUNTS, WATCH)]

    def _smooth(
        self, columns: SampleColumns, before: list[list[RecordArray]], out: RecordArray
    ) -> Iterator[None]:
        """Record and smooth each block again, from the last to the first; correct the floors."""
        after = self._parts()
        way_back = Execution(_BACK, Adjoint(), Correction(), compiled=self._compiled)
        way_back.prepare_for(_BACK, len(out))
        for number in range(len(before) - 1, -1, -1):
            self._execution.replace(MEMORY, *before[number])
            samples = columns.block(number * _BLOCK, (number + 1) * _BLOCK)
            passages = np.zeros(len(samples), Passage.dtype())
            self._execution.run(_RECORD, samples, passages)
            way_back.run(_BACK, passages, out[number * _BLOCK : (number + 1) * _BLOCK])
            yield
        self._execution.replace(MEMORY, *after)
        out["position"][:, 2] += np.cumsum(np.append(0.0, out["lift"]))[:-1]

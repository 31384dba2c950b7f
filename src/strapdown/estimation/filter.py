"""Base class of recursive filters: a state record, a step function, and a loop over it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

import numpy as np

from strapdown._checks import as_params
from strapdown._kernels.kernel import bind, kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.estimation.attitude import UNKNOWN
from strapdown.estimation.execution import FilterExecution, restored
from strapdown.estimation.intake import FilterCounts, FilterMemory
from strapdown.estimation.params import FilterParams
from strapdown.estimation.result import OrientationEstimate, OrientationResult
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.geometry.vectors import copy, copy_rows
from strapdown.samples.execution import Program
from strapdown.samples.sample import ImuSample, Sample, SampleColumns, numbers_of
from strapdown.series.series import require_series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.estimation.result import FilterReport, FilterState
    from strapdown.series import ImuSeries

    step: Callable[..., None]  # defined by each filter

__all__ = [
    "FilterRow",
    "RecursiveFilter",
    "as_columns",
    "as_result",
    "empty_columns",
    "step_through",
]


Params = TypeVar("Params", bound=FilterParams)


class FilterRow(Record):
    """Estimates after a sample: one row of a result."""

    orientation: Vector = filled(4)
    covariance: Matrix = zeros(3, 3)
    gyro_bias: Vector = filled(3)
    gyro_bias_sigma: Vector = filled(3)
    at_rest: bool = False
    disturbed: bool = False
    has_heading: bool = False
    heading_offset: float = 0.0


@kernel
def step_through(
    state: Sequence[FilterMemory],
    counts: Sequence[FilterCounts],
    params: Sequence[FilterParams],
    samples: Sequence[Sample],
    rows: Sequence[FilterRow],
) -> None:
    """Step through samples, and write the estimates after each."""
    for i in range(len(samples)):
        step(state[0], counts[0], params[0], samples[i])  # noqa: F821 (bound by each filter)
        write(rows[i], state[0])


@kernel
def write(row: FilterRow, s: FilterMemory) -> None:
    """Write the estimates of a filter to a row."""
    copy(row.orientation, s.orientation)
    copy_rows(row.covariance, s.covariance)
    copy(row.gyro_bias, s.gyro_bias)
    copy(row.gyro_bias_sigma, s.gyro_bias_sigma)
    row.at_rest = s.at_rest
    row.disturbed = s.disturbed
    row.has_heading = s.has_heading
    row.heading_offset = s.heading_offset


class RecursiveFilter(Generic[Params]):
    """Base class of the filters: everything but the parameters and the step.

    A filter defines its ``NAME``, its ``DEFAULTS``, the type ``MEMORY`` of its state, and its
    ``STEP(memory, counts, params, sample)``. A filter with further estimates also defines the
    type ``ROW`` of a row of its result, and ``WRITE(row, memory)``.

    Parameters
    ----------
    params : FilterParams, optional
    compiled : bool, optional
        True waits for the compiler and runs machine code from the first sample; False runs
        plain Python. By default a filter starts in plain Python at once, and switches to
        machine code when it is available. The numbers are the same.
    """

    NAME: ClassVar[str]
    DEFAULTS: ClassVar[FilterParams]
    MEMORY: ClassVar[type[FilterMemory]]
    STEP: ClassVar[Callable[..., object]]
    ROW: ClassVar[type[FilterRow]] = FilterRow
    WRITE: ClassVar[Callable[..., object]] = write
    HAS_HEADING_OFFSET: ClassVar[bool] = False

    def __init__(self, params: Params | None = None, *, compiled: bool | None = None) -> None:
        self.params = as_params(params, type(self.DEFAULTS))
        memory = self.MEMORY(), FilterCounts(), self.params.settings()
        self._execution = FilterExecution(self.program(), *memory, compiled=compiled)

    @classmethod
    @cache
    def program(cls) -> Program:
        """Return the program that the filter runs."""
        memory = cls.MEMORY, FilterCounts, cls.DEFAULTS.record()
        loop = bind(step_through, step=cls.STEP, write=cls.WRITE)
        return Program(cls.NAME, loop, memory, cls.ROW)

    def reset(self, state: FilterState | None = None) -> None:
        """Restore a saved state, or the state before the first sample; clear the report.

        Raises
        ------
        UnknownNameError
            The state belongs to another filter.
        ShapeError
            The state has another length than that of this filter.
        """
        memory, t_ns = restored(state, self.NAME, self.MEMORY())
        with self._execution.lock:
            self._execution.replace(0, memory, FilterCounts(last_ns=t_ns), self.params.settings())

    @property
    def state(self) -> FilterState:
        """State on which all later outputs depend, except ``params``."""
        return self._execution.saved(self.NAME)

    @property
    def report(self) -> FilterReport:
        """Counts of the samples since the last reset."""
        return self._execution.report

    @property
    def estimate(self) -> OrientationEstimate:
        """Estimates at the stamp of the last sample."""
        with self._execution.lock:
            s: FilterMemory = self._execution.memory(0)
            sigma = np.array(s.gyro_bias_sigma)
            return OrientationEstimate(
                self._execution.last_ns,
                q_world_from_body=np.array(s.orientation),
                orientation_covariance=np.array(s.covariance),
                gyro_bias=np.array(s.gyro_bias),
                gyro_bias_sigma=None if sigma[0] < 0.0 else sigma,
                rest=s.at_rest,
                magnetic_disturbance=s.disturbed,
                heading_offset=s.heading_offset,
                uses_magnetic_field=s.has_heading,
            )

    @overload
    def update(self, sample: ImuSample, /) -> FloatArray: ...

    @overload
    def update(
        self,
        t_ns: int,
        angular_velocity: Iterable[float] | None,
        specific_force: Iterable[float] | None,
        magnetic_field: Iterable[float] | None = None,
        /,
    ) -> FloatArray: ...

    def update(
        self,
        sample: ImuSample | int,
        angular_velocity: Iterable[float] | None = None,
        specific_force: Iterable[float] | None = None,
        magnetic_field: Iterable[float] | None = None,
        /,
    ) -> FloatArray:
        """Process one sample and return the orientation at its stamp.

        Parameters
        ----------
        sample : ImuSample
            In FLU body axes. Or its stamp [ns], followed by its vectors (None: not measured).

        Returns
        -------
        ndarray, shape (4,)
            q_world_from_body, ENU from FLU. A sample whose stamp repeats or goes back is
            counted and otherwise ignored.

        Raises
        ------
        ValueRangeError
            The stamp does not fit in 64 bits.
        ShapeError
            A vector is not three numbers.
        """
        numbers = numbers_of(sample, angular_velocity, specific_force, magnetic_field)
        execution = self._execution
        with execution.lock:
            return np.array(execution.update(numbers)["orientation"])

    def run(self, series: ImuSeries, *, use_magnetic_field: bool = True) -> OrientationResult:
        """Process a whole series; the same as a loop of :meth:`update`.

        The filter continues from its state, so that a recording may be passed in parts, one
        after the other. Before another recording call :meth:`reset`, or use a new filter.

        Parameters
        ----------
        series : ImuSeries
            In any frames; stamps may repeat or go back.
        use_magnetic_field : bool
            False ignores the magnetometer.

        Returns
        -------
        OrientationResult
            N rows in the frames of the series.
        """
        samples = as_columns(series, use_magnetic_field=use_magnetic_field)
        out = empty_columns(self.ROW, len(series))
        execution = self._execution
        with execution.lock, execution.own_account():
            execution.replace(2, self.params.settings())
            for part, rows in execution.through(samples):
                for name, column in out.items():
                    column[part] = rows[name]
            report = execution.report
        return as_result(series, out, report, has_heading_offset=self.HAS_HEADING_OFFSET)


def as_columns(series: ImuSeries, *, use_magnetic_field: bool) -> SampleColumns:
    """Return the columns of a series as input samples of a filter."""
    require_series(series)
    inside = series.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
    return SampleColumns(inside, use_magnetic_field=use_magnetic_field)


def empty_columns(kind: type[FilterRow], count: int) -> dict[str, Any]:
    """Return uninitialised columns of ``count`` rows, by the names of their fields."""
    row = np.empty(0, kind.dtype())
    names = row.dtype.names or ()
    return {name: np.empty((count, *row[name].shape[1:]), row[name].dtype) for name in names}


def as_result(
    series: ImuSeries,
    columns: dict[str, Any],
    report: FilterReport,
    *,
    has_heading_offset: bool = False,
) -> OrientationResult:
    """Return columns (ENU from FLU) as a result in the frames of the series.

    Where some rows refer to magnetic north, the heading of the others is unknown.
    """
    accel_sigma = _known(columns.get("accel_bias_sigma"))
    covariance, has_heading = columns["covariance"], columns["has_heading"]
    uses_magnetic_field = bool(has_heading.any())
    if uses_magnetic_field:
        covariance[~has_heading, 2, :] = covariance[~has_heading, :, 2] = 0.0
        covariance[~has_heading, 2, 2] = UNKNOWN
    return OrientationResult(
        series.t_ns,
        columns["orientation"],
        orientation_covariance=covariance,
        gyro_bias=columns["gyro_bias"],
        rest=columns["at_rest"],
        magnetic_disturbance=columns["disturbed"],
        gyro_bias_sigma=_known(columns["gyro_bias_sigma"]),
        accel_bias=None if accel_sigma is None else columns["accel_bias"],
        accel_bias_sigma=accel_sigma,
        heading_offset=columns["heading_offset"] if has_heading_offset else None,
        report=report,
        uses_magnetic_field=uses_magnetic_field,
        heading_known=has_heading if uses_magnetic_field else None,
    ).in_frames(world=series.world, body=series.body)


def _known(sigma: FloatArray | None) -> FloatArray | None:
    """Return standard deviations, or None if the filter does not estimate the quantity."""
    return None if sigma is None or bool((sigma[-1:, 0] < 0.0).any()) else sigma

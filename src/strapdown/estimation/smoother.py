"""Base class of smoothers, which process a whole recording."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn

import numpy as np

from strapdown._checks import as_params
from strapdown.errors import StrapdownError
from strapdown.estimation.filter import FilterRow, Params, as_result
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series.series import require_series

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._kernels.records import RecordArray
    from strapdown._typing import BoolArray, IntArray
    from strapdown.estimation.result import FilterReport, OrientationResult
    from strapdown.estimation.self_calibration import SelfCalibration
    from strapdown.samples import ImuSample
    from strapdown.series import ImuSeries

__all__ = ["OrientationSmoother", "Smoothed", "headings"]


def headings(starts: BoolArray, has_field: BoolArray) -> BoolArray:
    """Return the rows with a magnetic heading: those of all parts of the clock with a field.

    Parameters
    ----------
    starts : (M,) bool
        Rows in which the clock starts again.
    has_field : (M,) bool
        Rows with a magnetic field.
    """
    edges = np.unique(np.concatenate([[0], np.flatnonzero(starts), [len(starts)]]))
    return np.repeat(np.logical_or.reduceat(has_field, edges[:-1]), np.diff(edges))


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Output of a smoother, in ENU and FLU.

    Parameters
    ----------
    rows : (M,) of FilterRow
    at : (M,) int
        Indices of their samples in the series, ascending; the other samples were left out.
    report : FilterReport
    self_calibration : SelfCalibration, optional
    """

    rows: RecordArray
    at: IntArray
    report: FilterReport
    self_calibration: SelfCalibration | None = None

    def rows_of_all(self, count: int) -> RecordArray:
        """Return the rows of all samples; one that was left out gets the row before it."""
        if len(self.rows) == count:
            return self.rows
        return self.rows[np.searchsorted(self.at, np.arange(count), "right") - 1]


class OrientationSmoother(ABC, Generic[Params]):
    """Base class of the smoothers: everything but the parameters and the smoothing itself.

    A smoother defines its ``DEFAULTS``, the name of the ``FILTER`` that processes samples one
    by one, and the method ``_smoothed``.

    Parameters
    ----------
    params : FilterParams, optional
    """

    DEFAULTS: ClassVar[Any]
    FILTER: ClassVar[str]
    HAS_HEADING_OFFSET: ClassVar[bool] = False

    def __init__(self, params: Params | None = None) -> None:
        self.params: Params = as_params(params, type(self.DEFAULTS))

    def update(self, sample: ImuSample) -> NoReturn:
        """Raise an error: a smoother needs the samples after this one.

        Raises
        ------
        StrapdownError
            Always.
        """
        name = type(self).__name__
        raise StrapdownError(
            f"expected a whole series, got a sample at {sample.t_ns} ns in {name}.update: "
            f"use {name}.run(series), or {self.FILTER} for sample by sample"
        )

    def run(
        self,
        series: ImuSeries,
        *,
        use_magnetic_field: bool = True,
        progress: Callable[[float], object] | None = None,
    ) -> OrientationResult:
        """Return the orientation at every stamp, from the samples before and after it.

        Parameters
        ----------
        series : ImuSeries
            In any frames; stamps may repeat or go back.
        use_magnetic_field : bool
            False ignores the magnetometer.
        progress : callable, optional
            Called now and then with the fraction done, 0 to 1.

        Returns
        -------
        OrientationResult
            N rows in the frames of the series; its report counts the samples once. Without a
            magnetometer, heading and its variance are relative to the start.
        """
        require_series(series)
        inside = series.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
        found = self._smoothed(
            inside, progress or (lambda _done: None), use_magnetic_field=use_magnetic_field
        )
        rows = found.rows_of_all(len(series))
        result = as_result(
            series,
            {name: rows[name].copy() for name in FilterRow.fresh()},
            found.report,
            has_heading_offset=self.HAS_HEADING_OFFSET,
        )
        if found.self_calibration is None:
            return result
        return replace(result, self_calibration=found.self_calibration.in_frame(series.body))

    @abstractmethod
    def _smoothed(
        self, series: ImuSeries, progress: Callable[[float], object], *, use_magnetic_field: bool
    ) -> Smoothed:
        """Smooth a series in ENU and FLU."""

"""The one shape of recursive filters: a state, a compiled step, and a loop of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

import numpy as np

from strapdown._checks import as_member
from strapdown._compile import compiled as compile_kernel
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.estimation import _kernels as kernels
from strapdown.estimation.result import (
    FilterReport,
    FilterState,
    OrientationEstimate,
    OrientationResult,
)
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.intake import clipping_codes, sample_values
from strapdown.integration import SampleKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from strapdown._typing import FloatArray, IntArray
    from strapdown.samples import ImuSample
    from strapdown.series import ImuSeries

__all__ = [
    "FilterParams",
    "RecursiveFilter",
    "as_inputs",
    "as_result",
    "as_rows",
    "report_of",
    "sample_values",
    "total_account",
]

_Q: Final = slice(kernels.ORIENTATION, kernels.ORIENTATION + 4)
_BIAS: Final = slice(kernels.BIAS, kernels.BIAS + 3)
_SIGMA: Final = slice(kernels.BIAS_SIGMA, kernels.BIAS_SIGMA + 3)
_COVARIANCE: Final = kernels.COVARIANCE + np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])


@dataclass(frozen=True)
class FilterParams:
    """What every filter can be told about its samples.

    Parameters
    ----------
    reset_after : float
        A longer gap restarts tilt and heading from the sensors [s]; a shorter one is bridged.
    sample_kind : SampleKind or {"rate", "mean"}
        What an angular velocity says: the value at its stamp, between which the trapezoid is
        integrated, or the mean since the stamp before.
    gyro_range, accel_range : float
        Range of the sensor on each axis [rad/s], [m/s^2]: a reading there is taken for
        clipped, even where the samples do not say so. Infinite: not known.

    Raises
    ------
    ValueRangeError
        A value is not positive, or not finite where it must be.
    UnknownNameError
        The kind of sample is neither of the two.
    """

    reset_after: float = 10.0
    sample_kind: SampleKind = SampleKind.RATE
    gyro_range: float = math.inf
    accel_range: float = math.inf

    MAY_BE_ZERO: ClassVar[frozenset[str]] = frozenset()
    MAY_BE_INFINITE: ClassVar[frozenset[str]] = frozenset({"gyro_range", "accel_range"})

    def __post_init__(self) -> None:
        kind = as_member(SampleKind, self.sample_kind, "kind of sample")
        if kind is SampleKind.INCREMENT:
            raise UnknownNameError("kind of sample for a filter", kind, ("rate", "mean"))
        object.__setattr__(self, "sample_kind", kind)
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not isinstance(value, SampleKind):
                self._check(entry.name, value)

    def _check(self, name: str, value: float) -> None:
        least = 0.0 if name in self.MAY_BE_ZERO else math.ulp(0.0)
        most = math.inf if name in self.MAY_BE_INFINITE else math.nextafter(math.inf, 0.0)
        if not least <= value <= most:
            finite = "" if name in self.MAY_BE_INFINITE else "finite and "
            sign = "not negative" if name in self.MAY_BE_ZERO else "positive"
            raise ValueRangeError(f"expected {name} {finite}{sign}, got {value}")

    def settings(self) -> FloatArray:
        """Return the parameters as the kernels take them, in the order of the fields."""
        values = (getattr(self, entry.name) for entry in fields(self))
        return np.array(
            [v is SampleKind.MEAN if isinstance(v, SampleKind) else v for v in values], np.float64
        )


Params = TypeVar("Params", bound=FilterParams)


class RecursiveFilter(Generic[Params]):
    """Base of the filters: all but the parameters and the kernel of one step.

    A filter gives its ``NAME``, its ``Params`` and its module of kernels, in which ``step``
    takes a sample and ``FRESH`` is the state before any.
    """

    NAME: ClassVar[str]
    KERNELS: ClassVar[ModuleType]
    DEFAULTS: ClassVar[FilterParams]
    HAS_HEADING_OFFSET: ClassVar[bool] = False

    def __init__(self, params: Params | None = None, *, compiled: bool = True) -> None:
        self.params = self.DEFAULTS if params is None else params
        self._settings = self.params.settings()
        step: Callable[..., None] = self.KERNELS.step
        self._step = compile_kernel(step) if compiled else step
        self.reset()

    def reset(self, state: FilterState | None = None) -> None:
        """Go back to a saved state, or to the beginning; the report starts anew.

        Raises
        ------
        UnknownNameError
            The state belongs to another filter.
        ShapeError
            The state has not the length of this filter's.
        """
        fresh = self.KERNELS.FRESH
        state = state or FilterState(self.NAME, 0, fresh)
        if state.filter != self.NAME:
            raise UnknownNameError("state of this filter", state.filter, [self.NAME])
        if len(state.values) != len(fresh):
            raise ShapeError(f"expected a state of {len(fresh)} values, got {len(state.values)}")
        self._state = np.array(state.values, np.float64)
        self._account = np.zeros(kernels.ACCOUNT_SIZE, np.int64)
        self._account[kernels.LAST_NS] = state.t_ns

    @property
    def state(self) -> FilterState:
        """All that the future depends on, except ``params``."""
        t_ns = int(self._account[kernels.LAST_NS])
        return FilterState(self.NAME, t_ns, tuple(self._state.tolist()))

    @property
    def report(self) -> FilterReport:
        """An account of the samples since the last reset."""
        return report_of(self._account)

    @property
    def estimate(self) -> OrientationEstimate:
        """What is known at the stamp of the last sample."""
        s = self._state.copy()
        sigma = s[_SIGMA]
        return OrientationEstimate(
            int(self._account[kernels.LAST_NS]),
            q_world_from_body=s[_Q],
            orientation_covariance=s[_COVARIANCE],
            gyro_bias=s[_BIAS],
            gyro_bias_sigma=None if sigma[0] < 0.0 else sigma,
            rest=bool(s[kernels.AT_REST]),
            magnetic_disturbance=bool(s[kernels.DISTURBED]),
            heading_offset=float(s[kernels.HEADING_OFFSET]),
        )

    def update(self, sample: ImuSample) -> FloatArray:
        """Take one sample and return the orientation at its stamp.

        Parameters
        ----------
        sample : ImuSample
            In FLU body axes.

        Returns
        -------
        ndarray, shape (4,)
            q_world_from_body, ENU from FLU. A sample whose stamp repeats or goes back is
            counted and changes nothing.

        Raises
        ------
        ValueRangeError
            The stamp does not fit in 64 bits.
        """
        t_ns, (wx, wy, wz), (ax, ay, az), (mx, my, mz), clipped = sample_values(sample)
        state = self._state
        self._step(
            state, self._account, self._settings,
            t_ns, wx, wy, wz, ax, ay, az, mx, my, mz, clipped,
        )  # fmt: skip
        return state[:4].copy()

    def run(self, series: ImuSeries, *, use_magnetic_field: bool = True) -> OrientationResult:
        """Go on through a whole series; the same as a loop of :meth:`update`.

        The filter continues from its state: parts of a recording may be given one after the
        other. For another recording call :meth:`reset` first, or take a new filter.

        Parameters
        ----------
        series : ImuSeries
            In any frames; stamps are taken as they come.
        use_magnetic_field : bool
            False leaves the magnetometer out.

        Returns
        -------
        OrientationResult
            N rows in the frames of the series.
        """
        inputs = as_inputs(series, use_magnetic_field=use_magnetic_field)
        account = np.zeros(kernels.ACCOUNT_SIZE, np.int64)
        account[kernels.LAST_NS] = self._account[kernels.LAST_NS]
        out = _room_for(len(series))
        loop = compile_kernel(kernels.run, step=self.KERNELS.step)
        loop(self._state, account, self._settings, *inputs, out)
        self._account = total_account(self._account, account)
        return as_result(
            series,
            out,
            report_of(account),
            uses_magnetic_field=bool(self._state[kernels.FIELD_WAIT] >= 0.0),
            has_heading_offset=self.HAS_HEADING_OFFSET,
        )


Inputs = tuple["IntArray", "FloatArray", "FloatArray", "FloatArray", "IntArray"]


def as_inputs(series: ImuSeries, *, use_magnetic_field: bool) -> Inputs:
    """Return stamps, rates, forces, fields and clipping bits as the kernels take them."""
    inside = series.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
    magnetic_field = inside.magnetic_field if use_magnetic_field else None
    if magnetic_field is None:
        magnetic_field = np.full((len(inside), 3), np.nan)
        magnetic_field.flags.writeable = False  # like the columns: one compiled version serves
    return (
        inside.t_ns,
        inside.angular_velocity,
        inside.specific_force,
        magnetic_field,
        clipping_codes(inside.gyro_clipping, inside.accel_clipping, len(inside)),
    )


def _room_for(count: int) -> kernels.Rows:
    return kernels.Rows(
        np.empty((count, 4)),
        np.empty((count, 3, 3)),
        np.empty((count, 3)),
        np.empty(count, np.bool_),
        np.empty(count, np.bool_),
        np.empty((count, 3)),
        np.empty(count),
    )


def as_rows(out: FloatArray) -> kernels.Rows:
    """Return the columns of a result that heads of states hold, one a row of ``out``."""
    return kernels.Rows(
        out[:, _Q],
        out[:, _COVARIANCE],
        out[:, _BIAS],
        out[:, kernels.AT_REST] > 0.0,
        out[:, kernels.DISTURBED] > 0.0,
        out[:, _SIGMA],
        out[:, kernels.HEADING_OFFSET],
    )


def as_result(
    series: ImuSeries,
    rows: kernels.Rows,
    report: FilterReport,
    *,
    uses_magnetic_field: bool,
    has_heading_offset: bool = False,
) -> OrientationResult:
    """Return columns (ENU from FLU) as a result in the frames of the series."""
    knows_sigma = bool((rows.bias_sigma[-1:, 0] >= 0.0).all())
    return OrientationResult(
        series.t_ns,
        rows.orientation,
        orientation_covariance=rows.covariance,
        gyro_bias=rows.bias,
        rest=rows.at_rest,
        magnetic_disturbance=rows.disturbed,
        gyro_bias_sigma=rows.bias_sigma if knows_sigma else None,
        heading_offset=rows.heading_offset if has_heading_offset else None,
        report=report,
        uses_magnetic_field=uses_magnetic_field,
    ).in_frames(world=series.world, body=series.body)


def report_of(account: IntArray) -> FilterReport:
    """Return what an account has counted."""
    return FilterReport(*account[kernels.SAMPLES :].tolist())


def total_account(before: IntArray, run: IntArray) -> IntArray:
    """Return the account since the last reset after a run with its own account."""
    total = before + run
    total[kernels.LAST_NS] = run[kernels.LAST_NS]
    for at in kernels.LONGEST:
        total[at] = max(before[at], run[at])
    return total

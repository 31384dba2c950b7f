"""A VQF-class filter: orientation with and without the magnetic field at once, gyro bias, rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np

from strapdown._compile import compiled as compile_kernel
from strapdown.errors import StrapdownError
from strapdown.estimation._kernels import ACCOUNT_SIZE, DROPPED, MAX_RATE, OUTPUTS, SAMPLES
from strapdown.estimation.filtering import (
    FilterParams,
    RecursiveFilter,
    as_inputs,
    as_result,
    as_rows,
)
from strapdown.estimation.result import FilterReport
from strapdown.estimation.vqf import _kernels as kernels
from strapdown.estimation.vqf.layout import FORCE_PACE, FRESH
from strapdown.estimation.vqf.offline import _kernels as offline
from strapdown.integration import SampleKind
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray, IntArray
    from strapdown.estimation.result import OrientationResult
    from strapdown.samples import ImuSample
    from strapdown.series import ImuSeries

__all__ = ["OfflineVqf", "VqfFilter", "VqfParams"]


@dataclass(frozen=True)
class VqfParams(FilterParams):
    """The parameters that the authors publish, and what the covariance of the result assumes.

    Parameters
    ----------
    tau_acc : float
        Time constant of the low-pass of the specific force [s]. Longer: tilt is less disturbed
        by acceleration, more by gyro errors.
    tau_mag : float
        Time constant of the heading correction [s]. Longer: less disturbed by changing
        magnetic fields, more by gyro errors.
    learn_bias_in_motion, learn_bias_at_rest : bool
        Whether the gyro's bias is learnt from the tilt corrections, and from rest.
    reject_disturbed_field : bool
        Whether a magnetic field of unusual strength or dip is kept from correcting heading.
    bias_sigma_start : float
        Standard deviation of the bias at first [rad/s]. Larger: quicker, noisier at first.
    bias_forgetting_time : float
        In this time the bias may drift by 0.1 deg/s [s]. Shorter: follows changes quicker.
    bias_clip : float
        Largest bias on an axis [rad/s], and largest disagreement that one sample may show; a
        steady turn that is slower passes for a bias at rest. Raise it for a gyro with a
        larger bias.
    bias_sigma_motion, bias_sigma_rest : float
        Steady uncertainty of the bias in motion and at rest [rad/s]. Smaller: trusts each
        sample more.
    bias_vertical_forgetting : float
        Trust in a vertical bias of 0 in motion, relative to what tilt tells. It is not
        measured there; larger pulls it to 0 quicker.
    rest_time : float
        So long nothing may move until it counts as rest [s].
    rest_tau : float
        Time constant of the low-passes that readings are compared with [s].
    rest_rate, rest_force : float
        Largest distance from the low-pass at rest [rad/s], [m/s^2]. Raise them where a
        noisy or vibrating sensor is never found at rest.
    field_tau : float
        Time constant of the low-pass of strength and dip [s].
    field_memory : float
        Time constant with which the usual field is followed [s].
    strength_tolerance, dip_tolerance : float
        A field within this part of the usual strength, and this angle of its dip [rad],
        is undisturbed. Smaller: rejects more.
    new_field_time, first_field_time : float
        A steady field is the new usual one after so long in rotation; the first field after
        the second time [s].
    new_field_rate : float
        Rotation as fast as this counts for that [rad/s].
    undisturbed_time : float
        So long a field must be the usual one before it counts as undisturbed [s].
    rejection_time : float
        Longest complete rejection of disturbed fields [s]; after it they correct weakly.
    rejection_factor : float
        How much more weakly, and how much quicker the time above is regained.
    rate_noise : float
        Noise of the gyro that the covariance assumes [rad/sqrt(s)].
    tilt_sigma, heading_sigma : float
        Errors of tilt and of magnetic heading that stay, in the covariance [rad].

    References
    ----------
    D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation
    and magnetic disturbance rejection", Information Fusion 91, 2023, table 2.
    """

    sample_kind: SampleKind = SampleKind.MEAN
    tau_acc: float = 3.0
    tau_mag: float = 9.0
    learn_bias_in_motion: bool = True
    learn_bias_at_rest: bool = True
    reject_disturbed_field: bool = True
    bias_sigma_start: float = 0.5 * RAD_PER_DEG
    bias_forgetting_time: float = 100.0
    bias_clip: float = 2.0 * RAD_PER_DEG
    bias_sigma_motion: float = 0.1 * RAD_PER_DEG
    bias_vertical_forgetting: float = 1e-4
    bias_sigma_rest: float = 0.03 * RAD_PER_DEG
    rest_time: float = 1.5
    rest_tau: float = 0.5
    rest_rate: float = 2.0 * RAD_PER_DEG
    rest_force: float = 0.5
    field_tau: float = 0.05
    field_memory: float = 20.0
    strength_tolerance: float = 0.1
    dip_tolerance: float = 10.0 * RAD_PER_DEG
    new_field_time: float = 20.0
    first_field_time: float = 5.0
    new_field_rate: float = 20.0 * RAD_PER_DEG
    undisturbed_time: float = 0.5
    rejection_time: float = 60.0
    rejection_factor: float = 2.0
    rate_noise: float = 1e-3
    tilt_sigma: float = 0.01
    heading_sigma: float = 0.035

    MAY_BE_ZERO: ClassVar[frozenset[str]] = frozenset(
        {"learn_bias_in_motion", "learn_bias_at_rest", "reject_disturbed_field"}
    )


class VqfFilter(RecursiveFilter[VqfParams]):
    """VQF of Laidig and Seel for samples with stamps, gaps and errors.

    The orientation is heading * tilt correction * gyro. What the gyro says alone turns the
    specific force into a frame that hardly turns, where a low-pass leaves gravity and the
    accelerations of a motion average out; the smallest rotation that brings the result up
    corrects tilt. A Kalman filter learns the gyro's bias: at rest from the readings, in motion
    from those corrections. The magnetic field turns heading, unless it is disturbed. All of it
    goes on without a magnetic field: ``heading_offset`` is the angle between both headings, so
    the orientation without the field is that with it, turned back by the offset about up.

    With the parameters as published and regular samples the results are those of the authors'
    implementation, whose gyro sample is a mean over the interval before its stamp: hence the
    default ``sample_kind``. See ``docs/filters/vqf.md`` for where they differ.

    Parameters
    ----------
    params : VqfParams, optional
    compiled : bool
        False runs the same source as ordinary Python.

    Examples
    --------
    >>> from strapdown.estimation.vqf import VqfFilter
    >>> from strapdown.samples import ImuSample
    >>> vqf = VqfFilter(compiled=False)
    >>> vqf.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    NAME: ClassVar = "vqf"
    KERNELS: ClassVar = kernels
    DEFAULTS: ClassVar = VqfParams()
    HAS_HEADING_OFFSET: ClassVar = True


class OfflineVqf:
    """VQF over a whole recording: from the samples before and after each.

    The recursive filter runs forwards and backwards; their biases are joined by their
    covariances. With that bias the gyro is integrated once more, and the specific force and
    the heading are low-passed in both directions, so that nothing is delayed.

    Parameters
    ----------
    params : VqfParams, optional

    References
    ----------
    D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation
    and magnetic disturbance rejection", Information Fusion 91, 2023.
    """

    NAME = "vqf"

    def __init__(self, params: VqfParams | None = None) -> None:
        self.params = VqfParams() if params is None else params

    def update(self, sample: ImuSample) -> NoReturn:
        """Refuse: a smoother needs the samples after this one.

        Raises
        ------
        StrapdownError
            Always.
        """
        raise StrapdownError(
            f"expected a whole series, got a sample at {sample.t_ns} ns in OfflineVqf.update: "
            "use OfflineVqf.run(series), or VqfFilter for sample by sample"
        )

    def run(
        self,
        series: ImuSeries,
        *,
        use_magnetic_field: bool = True,
        progress: Callable[[float], object] | None = None,
    ) -> OrientationResult:
        """Return the orientation at every stamp of a recording.

        Parameters
        ----------
        series : ImuSeries
            In any frames; stamps are taken as they come.
        use_magnetic_field : bool
            False leaves the magnetometer out.
        progress : callable, optional
            Told the share that is done, 0 to 1.

        Returns
        -------
        OrientationResult
            N rows in the frames of the series; its report counts the samples once.
        """
        inputs = as_inputs(series, use_magnetic_field=use_magnetic_field)
        settings = self.params.settings()
        interval = _interval(series.t_ns)
        passed, account = _pass(settings, interval, inputs)
        kept = passed[:, offline.EVENT] != DROPPED
        if not kept.all():
            passed, inputs = passed[kept], _rows(inputs, np.flatnonzero(kept))
        if progress is not None:
            progress(0.4)
        out, uses_magnetic_field = self._smoothed(settings, interval, passed, inputs)
        if progress is not None:
            progress(1.0)
        before = np.cumsum(kept) - 1  # a sample that is left out has the row before it
        return as_result(
            series,
            as_rows(out if kept.all() else out[before]),
            FilterReport(*account[SAMPLES:].tolist()),
            uses_magnetic_field=uses_magnetic_field,
            has_heading_offset=True,
        )

    def _smoothed(
        self, settings: FloatArray, interval: float, passed: FloatArray, inputs: Inputs
    ) -> tuple[FloatArray, bool]:
        """Return rows of outputs, and whether a magnetic field had its part in them."""
        t_ns, rate, force, field, clipped = inputs
        count = len(t_ns)
        backwards = (t_ns[-1:] - t_ns, -rate, force, field, clipped)
        back, _ = _pass(settings, interval, _rows(backwards, slice(None, None, -1)))
        if (
            self.params.sample_kind is SampleKind.MEAN
            and count > 1
            and bool((np.abs(rate[:1]) < MAX_RATE).all())
        ):
            # the interval of the first mean began before the recording
            passed[0, offline.DT] = passed[1, offline.DT]
            passed[0, offline.TURN : offline.TURN + 3] = rate[0] * passed[1, offline.DT]
        force_interval, field_interval = (
            interval if has.all() and count > 1 else _interval(t_ns[has])
            for has in (passed[:, [offline.HAS_FORCE, offline.HAS_FIELD]] > 0.0).T
        )
        out = np.zeros((count, OUTPUTS))
        compile_kernel(offline.smooth)(
            settings,
            force_interval or interval,  # no specific force at all: any pace will do
            field_interval,
            force,
            field,
            passed,
            back,
            np.empty((count, 4)),
            np.zeros((count, 3)),
            np.zeros(13),
            out,
        )
        return out, field_interval > 0.0


Inputs = tuple["IntArray", "FloatArray", "FloatArray", "FloatArray", "IntArray"]


def _pass(settings: FloatArray, interval: float, inputs: Inputs) -> tuple[FloatArray, IntArray]:
    """Return what the recursive filter knows of each sample in one direction, and its account."""
    state = np.array(FRESH, np.float64)
    state[FORCE_PACE] = interval  # what to expect
    account = np.zeros(ACCOUNT_SIZE, np.int64)
    passed = np.empty((len(inputs[0]), offline.PASSED))
    compile_kernel(offline.go_through)(state, account, settings, *inputs, passed)
    return passed, account


def _rows(inputs: Inputs, rows: IntArray | slice) -> Inputs:
    """Return some rows, unwritable like the columns of a series: one compiled version serves."""
    t_ns, rate, force, field, clipped = inputs
    taken = (
        np.array(t_ns[rows]),
        np.array(rate[rows]),
        np.array(force[rows]),
        np.array(field[rows]),
        np.array(clipped[rows]),
    )
    for column in taken[:4]:
        column.flags.writeable = False
    return taken


def _interval(t_ns: IntArray) -> float:
    """Return the median interval [s] of a sensor; 0 where it never measured."""
    intervals = np.diff(t_ns)
    intervals = intervals[intervals > 0]
    if intervals.size:
        return float(np.median(intervals)) * 1e-9
    return kernels.GUESS_S if t_ns.size else 0.0

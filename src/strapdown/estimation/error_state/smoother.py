"""Fixed-interval smoother: orientation and sensor calibration from a whole recording."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown._kernels.compilation import MachineCode
from strapdown.estimation.error_state.backward import fill
from strapdown.estimation.error_state.hard_iron import hard_iron
from strapdown.estimation.error_state.knots import (
    DELAY,
    ERRORS,
    FIELD,
    Constants,
    Knot,
    Nominal,
    SmoothedCovariance,
    Step,
)
from strapdown.estimation.error_state.model import (
    ACCEL_ERROR,
    BIAS_ERROR,
    MATRIX_ERROR,
    OWN_ERRORS,
)
from strapdown.estimation.error_state.recording import (
    Recording,
    knots_of,
    read,
    without_dropouts,
)
from strapdown.estimation.error_state.rest import bias_at_rest
from strapdown.estimation.error_state.smoother_params import SmootherParams
from strapdown.estimation.error_state.solver import KnotPrior, Piece, Solution
from strapdown.estimation.filter import FilterRow
from strapdown.estimation.self_calibration import SelfCalibration
from strapdown.estimation.smoother import OrientationSmoother, Smoothed, headings
from strapdown.estimation.vqf import OfflineVqf, VqfParams
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown._kernels.records import RecordArray
    from strapdown._typing import IntArray
    from strapdown.series import ImuSeries

__all__ = ["ErrorStateSmoother", "SmootherParams"]

PIECE_S: Final = 1800.0  # longer parts are smoothed in pieces of this length,
OVERLAP_S: Final = 60.0  # each with the measurements of this time after it
PLACE_SIGMA: Final = 3.0  # m, about the place of the first knot
LASTING: Final = np.r_[
    BIAS_ERROR:OWN_ERRORS, FIELD : DELAY + 1
]  # errors that a restart of the clock does not reset
SURPRISE: Final = 2.5  # standard deviations; beyond this bias the prior is widened
MOST_ATTEMPTS: Final = 8
MOST_WIDENED: Final = 16.0  # in an attempt
LEAST_KNOWN: Final = 0.01  # part of the prior variance of a bias that counts as determined
FAR: Final = 12.0  # standard deviations from 0; a solution beyond is rejected
FIELD_SIGMA: Final = 0.5  # of the field's strength, about its median along the nominal path

_fill_rows: Final = MachineCode(
    fill, Step, Knot, Nominal, Constants, SmoothedCovariance, FilterRow, name="smoother: rows"
)


class Attempt(NamedTuple):
    """Result of smoothing with one prior of the gyro bias, and the prior that it suggests."""

    rows: RecordArray
    calibration: SelfCalibration | None
    largest_bias: float  # [rad/s]
    fitting_prior: float  # standard deviation [rad/s]


class ErrorStateSmoother(OrientationSmoother[SmootherParams]):
    """Fixed-interval smoothing of the error-state model over a whole recording.

    The integrals of gyro and accelerometer between knots, the assumption that the sensor stays
    near one place, its rest, and the magnetic field are combined by Gauss-Newton: a Kalman
    filter forward and a pass backward around a nominal path, repeated until the path converges.
    The result also contains biases and the scale and misalignment of the gyro, as
    ``self_calibration``.

    Parameters
    ----------
    params : SmootherParams, optional

    References
    ----------
    H. Rauch, F. Tung, C. Striebel, "Maximum likelihood estimates of linear dynamic systems",
    AIAA Journal 3, 1965; G. Bierman, "Fixed interval smoothing with discrete measurements",
    Int. J. Control 18, 1973.
    """

    DEFAULTS = SmootherParams()
    FILTER = "ErrorStateFilter"

    def _smoothed(
        self, series: ImuSeries, progress: Callable[[float], object], *, use_magnetic_field: bool
    ) -> Smoothed:
        """Smooth a series in ENU and FLU."""
        inside = without_dropouts(series)
        iron = hard_iron(inside) if use_magnetic_field else None
        if iron is not None and inside.magnetic_field is not None:
            inside = inside.replace(magnetic_field=inside.magnetic_field - iron.offset)
        recording = read(
            inside,
            self.params,
            self._nominal(inside, use_magnetic_field=use_magnetic_field),
            use_magnetic_field=use_magnetic_field,
        )
        out, calibration = self._with_fitting_prior(recording, progress)
        if calibration is not None and iron is not None:
            calibration = replace(calibration, hard_iron=iron.offset, hard_iron_sigma=iron.sigma)
        starts = np.zeros(len(out), bool)
        starts[recording.starts] = True
        out["has_heading"] = headings(starts, np.isfinite(recording.field[:, 0]))
        return Smoothed(out, recording.rows, recording.report, calibration)

    def _nominal(self, series: ImuSeries, *, use_magnetic_field: bool) -> RecordArray:
        """Return the initial path, as rows of results."""
        p = self.params
        vqf = OfflineVqf(
            VqfParams(
                reset_after=p.reset_after,
                sample_kind=p.sample_kind,
                gyro_range=p.gyro_range,
                accel_range=p.accel_range,
            )
        )
        bias = bias_at_rest(series if use_magnetic_field else series.replace(magnetic_field=None))
        centered = series.replace(angular_velocity=series.angular_velocity - bias)
        found = vqf._smoothed(  # noqa: SLF001 (a result would copy all columns)
            centered, lambda _done: None, use_magnetic_field=use_magnetic_field
        )
        nominal = found.rows_of_all(len(series))
        nominal["gyro_bias"] += bias
        return nominal

    def _with_fitting_prior(
        self, recording: Recording, progress: Callable[[float], object]
    ) -> tuple[RecordArray, SelfCalibration | None]:
        """Return the rows and the calibration; widen the prior of a gyro with a larger bias.

        A tight prior prevents a scale error from being assigned to the bias about the vertical,
        which gravity does not determine. A gyro with a large bias shows it on all axes. The
        prior then becomes as wide as the biases suggest.
        """
        smoother, told = self, 0.0

        def tell(done: float) -> None:
            nonlocal told
            if done > told:  # a second attempt starts again from 0
                told = done
                progress(done)

        for _ in range(MOST_ATTEMPTS):
            found = smoother._smooth(recording, tell)
            prior = smoother.params.bias_prior
            fits = found.largest_bias <= SURPRISE * prior
            if fits and (smoother is self or found.fitting_prior <= prior):
                break
            factor = min(max(found.fitting_prior / prior, 2.0), MOST_WIDENED)
            widened = prior * 2.0 ** math.ceil(math.log2(factor))
            smoother = ErrorStateSmoother(replace(smoother.params, bias_prior=widened))
        return found.rows, found.calibration

    def _smooth(self, recording: Recording, progress: Callable[[float], object]) -> Attempt:
        """Smooth with the prior of the parameters."""
        out = np.zeros(len(recording.t), FilterRow.dtype())
        left = np.ones(len(out), bool)
        end: KnotPrior | None = None
        largest = fitting = 0.0
        knots_at: list[IntArray] = []
        starts = recording.starts.tolist()
        for first, last in pairwise([*starts, len(recording.t)]):
            if recording.t[last - 1] - recording.t[first] < 2.0 * self.params.window:
                continue
            knots = knots_of(recording, first, last - 1, self.params.window)
            for part, solution in self._pieces(recording, knots, end, progress):
                biases = np.abs(solution.path["gyro_bias"])
                largest = max(largest, float(np.nanmax(biases, initial=0.0)))
                fitting = max(fitting, self._fitting_prior(solution))
                if self._is_plausible(solution) and _fill(recording, part, solution, out):
                    knots_at.append(part["at"])
                    left[part["at"][0] : part["at"][-1] + 1] = False
                    end = solution.end
        progress(1.0)
        out["at_rest"] = recording.nominal["at_rest"]
        _leave(out, np.flatnonzero(left), recording.nominal, self.params.bias_prior)
        if end is None:
            return Attempt(out, None, largest, fitting)
        at = np.concatenate(knots_at)
        calibration = _calibration(recording, at, out, end, self.params.matrix_prior)
        return Attempt(out, calibration, largest, fitting)

    def _fitting_prior(self, solution: Solution) -> float:
        """Return the standard deviation of the prior that the biases of a solution suggest.

        With a prior of variance s and a posterior of variance p an estimate scatters by s - p,
        so a bias of one standard deviation is estimated as sqrt(1 - p / s) of it.
        """
        bias = np.abs(solution.path["gyro_bias"][0])
        known = 1.0 - solution.spreads["bias"][0] / self.params.bias_prior**2
        return float(np.nanmax(bias / np.sqrt(np.maximum(known, LEAST_KNOWN)), initial=0.0))

    def _pieces(
        self,
        recording: Recording,
        knots: RecordArray,
        before: KnotPrior | None,
        progress: Callable[[float], object],
    ) -> Iterator[tuple[RecordArray, Solution]]:
        """Yield the knots of each piece and its solution."""
        t = recording.t[knots["at"]]
        start = self._prior_at(recording, knots, before)
        total = max(recording.t[-1], 1e-9)
        first = 0
        while True:
            stop = int(np.searchsorted(t, t[first] + PIECE_S))
            if t[-1] < t[first] + PIECE_S + 2.0 * OVERLAP_S:
                stop = len(t) - 1
            ahead = min(int(np.searchsorted(t, t[stop] + OVERLAP_S)), len(t) - 1)
            part = knots[first : ahead + 1]
            begin, end = t[first] / total, t[stop] / total

            def tell(done: float, begin: float = begin, end: float = end) -> None:
                progress(begin + (end - begin) * done)

            solution = Piece(recording, part, self.params, start).solve(
                stop - first,
                tell,
            )
            yield solution.knots[: stop - first + 1], solution
            if stop == len(t) - 1:
                return
            first = stop
            if self._is_plausible(solution):
                start = solution.at_join
            else:
                start = self._prior_at(recording, knots[first:], before)

    def _is_plausible(self, solution: Solution) -> bool:
        """Whether the biases and matrix of a solution are plausible for a sensor."""
        return bool(
            (np.abs(solution.constants["gyro_matrix"]) <= FAR * self.params.matrix_prior).all()
            and (np.abs(solution.path["gyro_bias"]) < FAR * self.params.bias_prior).all()
        )

    def _prior_at(
        self, recording: Recording, knots: RecordArray, before: KnotPrior | None
    ) -> KnotPrior:
        """Return the prior at the first knot after a start of the clock."""
        p = self.params
        nominal, constants = Nominal().packed(), Constants().packed()
        q = recording.nominal["orientation"][knots["at"]]
        nominal["orientation"] = q[0]
        magnetic = recording.has_field
        sigmas = [p.tilt_prior] * 2 + [p.heading_prior if magnetic else 0.0]
        sigmas += [p.speed_prior] * 3 + [p.bias_prior] * 3 + [p.accel_prior] * 3
        sigmas += [p.matrix_prior] * 9 + [PLACE_SIGMA] * 3
        sigmas += [FIELD_SIGMA] * 2 + [p.delay_prior] if magnetic else []
        sigmas += [0.0] * (ERRORS - len(sigmas))
        seen = knots["has_field"]
        if seen.any():
            field = quaternion.rotate(q[seen], knots["field"][seen])
            constants["field"][0] = (
                np.median(np.hypot(field[:, 0], field[:, 1])),
                np.median(field[:, 2]),
            )
        covariance = np.diag(np.square(sigmas))
        if before is not None:
            nominal["gyro_bias"] = before.nominal["gyro_bias"]
            same = np.ix_(LASTING, LASTING)
            covariance[same] = before.covariance[same]
            constants = before.constants
        return KnotPrior(nominal, constants, covariance)


def _leave(out: RecordArray, rows: IntArray, nominal: RecordArray, bias_sigma: float) -> None:
    """Write rows of the nominal path where there is no solution."""
    for name in ("orientation", "covariance", "gyro_bias"):
        out[name][rows] = nominal[name][rows]
    out["gyro_bias_sigma"][rows] = bias_sigma
    out["disturbed"][rows] = False


def _fill(recording: Recording, part: RecordArray, solution: Solution, out: RecordArray) -> bool:
    """Write the solution to the rows; return whether it is finite."""
    count = len(part)
    path, constants, spreads = solution.path[:count], solution.constants, solution.spreads[:count]
    between = path["orientation"], spreads["orientation"], spreads["bias"]
    if not all(np.isfinite(values).all() for values in between):
        return False
    rows = out[part["at"][0] : part["at"][-1] + 1]
    _fill_rows.compile()(recording.steps, part, path, constants, spreads, rows)
    return True


def _calibration(
    recording: Recording, at: IntArray, out: RecordArray, end: KnotPrior, matrix_prior: float
) -> SelfCalibration:
    """Return the calibration of the sensor, in FLU axes."""
    sigma = np.sqrt(np.maximum(np.diag(end.covariance), 0.0))
    known = end.constants[0]
    inertial = SelfCalibration(
        t_ns=recording.t_ns[at],
        gyro_bias=out["gyro_bias"][at],
        gyro_bias_sigma=out["gyro_bias_sigma"][at],
        accel_bias=known["accel_bias"],
        accel_bias_sigma=sigma[ACCEL_ERROR:MATRIX_ERROR],
        gyro_matrix=known["gyro_matrix"],
        gyro_matrix_sigma=sigma[MATRIX_ERROR:OWN_ERRORS].reshape(3, 3),
        gyro_matrix_prior=matrix_prior,
    )
    if not recording.has_field:
        return inertial
    unit = recording.strength
    return replace(
        inertial,
        magnetic_field=unit * known["field"],
        magnetic_field_sigma=unit * sigma[FIELD:DELAY],
        magnetometer_delay=float(known["delay"]),
        magnetometer_delay_sigma=float(sigma[DELAY]),
    )

"""Orientation, biases and a calibration of the sensor from a whole recording."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

import numpy as np

from strapdown._compile import compiled as compile_kernel
from strapdown.errors import StrapdownError
from strapdown.estimation import _kernels as shared
from strapdown.estimation.filtering import FilterParams, as_result, as_rows
from strapdown.estimation.self_calibration import SelfCalibration
from strapdown.estimation.smoother import _kernels as kernels
from strapdown.estimation.smoother.hard_iron import hard_iron
from strapdown.estimation.smoother.recording import Recording, knots_of, read, without_dropouts
from strapdown.estimation.smoother.solver import Belief, Piece, Solution
from strapdown.estimation.vqf import OfflineVqf, VqfParams
from strapdown.geometry import quaternion
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.integration import SampleKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown._typing import FloatArray, IntArray
    from strapdown.estimation.result import OrientationResult
    from strapdown.estimation.smoother.recording import Knots
    from strapdown.samples import ImuSample
    from strapdown.series import ImuSeries

__all__ = ["ErrorStateSmoother", "SmootherParams"]

PIECE_S: Final = 1800.0  # longer stretches are smoothed in pieces of this length ...
OVERLAP_S: Final = 60.0  # ... each of which knows what comes so long after it
PLACE_SIGMA: Final = 3.0  # m, about the place of the first knot
LASTING: Final = np.r_[6:21, 24:27]  # errors that a restart of the clock leaves as they are
SURPRISE: Final = 2.5  # standard deviations from 0 at which biases are believed to be larger
MOST_DOUBLINGS: Final = 8
FAR: Final = 12.0  # standard deviations from 0 at which a solution is none
FIELD_SIGMA: Final = 0.5  # of the field's strength, about its median along the nominal path


@dataclass(frozen=True)
class SmootherParams(FilterParams):
    """The error model of the sensor and of its motion; the defaults are a consumer MEMS part.

    Noises are spectral densities: a standard deviation over an interval T is that times sqrt(T)
    for what is integrated, and divided by sqrt(T) for what is measured.

    Parameters
    ----------
    gyro_noise : float
        White noise of the gyro, and all that acts like it [rad/sqrt(s)]. Larger: trusts
        accelerometer and magnetometer more.
    gyro_scale_noise : float
        Noise of the gyro in proportion to the rate [sqrt(s)]. Larger: less is learnt from fast
        rotation.
    bias_walk : float
        Random walk of the gyro bias [rad/s/sqrt(s)]. Larger: the bias follows changes.
    speed_noise, speed_turn_noise : float
        Noise of the velocity that is integrated from the accelerometer [m/s/sqrt(s)], and in
        proportion to the rate [m/sqrt(s)/rad]: gyro and accelerometer do not measure at quite
        the same time and place. Larger: trusts the accelerometer less.
    place_noise : float
        How far the sensor strays from one place, as noise of "it is there" [m sqrt(s)]. Smaller:
        tilt follows the accelerometer more closely, and more is learnt of the gyro. Raise it
        for vehicles, lower it for a turntable.
    rest_speed, rest_rate : float
        Noise of "it stands still" [m/s sqrt(s)] and of "what the gyro reads is bias"
        [rad/s sqrt(s)] while at rest.
    field_noise : float
        Noise of the magnetic field, relative to its strength [sqrt(s)]. Larger: heading
        follows the gyro more.
    window : float
        Time between knots [s]; 0.05 to 0.2 give the same accuracy.
    field_tolerance : float
        A field that is off by this part of its strength counts a quarter. Larger: fewer
        disturbances are rejected.
    tilt_prior, heading_prior : float
        Standard deviations of the start [rad]; heading only with a magnetometer.
    speed_prior, bias_prior, accel_prior : float
        Of velocity [m/s], gyro bias [rad/s] and accelerometer bias [m/s^2] at the start. A
        ``bias_prior`` that turns out to be too small is doubled.
    matrix_prior : float
        Of each element of the gyro's scale and misalignment; 0: a calibrated gyro.
    delay_prior : float
        Of the delay of the magnetometer against the gyro [s].

    Notes
    -----
    ``docs/filters/smoother.md`` has the model.
    """

    reset_after: float = 30.0
    sample_kind: SampleKind = SampleKind.MEAN
    gyro_noise: float = 0.001
    gyro_scale_noise: float = 0.0003
    bias_walk: float = 3e-5
    speed_noise: float = 0.03
    speed_turn_noise: float = 0.007
    place_noise: float = 10.0
    rest_speed: float = 0.003
    rest_rate: float = 0.001
    field_noise: float = 0.045
    window: float = 0.1
    field_tolerance: float = 0.05
    tilt_prior: float = 0.2
    heading_prior: float = 0.5
    speed_prior: float = 1.0
    bias_prior: float = 0.004
    accel_prior: float = 0.05
    matrix_prior: float = 0.006
    delay_prior: float = 0.02

    MAY_BE_ZERO: ClassVar[frozenset[str]] = frozenset(
        {
            "gyro_scale_noise",
            "speed_turn_noise",
            "bias_walk",
            "accel_prior",
            "matrix_prior",
            "delay_prior",
        }
    )


class ErrorStateSmoother:
    """Fixed-interval smoothing of the error-state model over a whole recording.

    What the gyro and accelerometer integrate to between knots, that the sensor stays about one
    place, its rest, and the magnetic field are put together by Gauss-Newton: a Kalman filter
    forward and a pass backward around a nominal path, repeated until the path stays. Biases and
    the scale and misalignment of the gyro come out of it too.

    Parameters
    ----------
    params : SmootherParams, optional

    References
    ----------
    H. Rauch, F. Tung, C. Striebel, "Maximum likelihood estimates of linear dynamic systems",
    AIAA Journal 3, 1965; G. Bierman, "Fixed interval smoothing with discrete measurements",
    Int. J. Control 18, 1973.
    """

    NAME = "eskf"

    def __init__(self, params: SmootherParams | None = None) -> None:
        self.params = SmootherParams() if params is None else params

    def update(self, sample: ImuSample) -> NoReturn:
        """Refuse: a smoother needs the samples after this one.

        Raises
        ------
        StrapdownError
            Always.
        """
        raise StrapdownError(
            f"expected a whole series, got a sample at {sample.t_ns} ns in ErrorStateSmoother."
            "update: use ErrorStateSmoother.run(series), or ErrorStateFilter for sample by sample"
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
            Is told the fraction that is done, from 0 to 1, now and then.

        Returns
        -------
        OrientationResult
            N rows in the frames of the series, with ``self_calibration``. Without a
            magnetometer, heading and its variance are relative to the start.
        """
        inside = without_dropouts(series.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU))
        iron = hard_iron(inside) if use_magnetic_field else None
        if iron is not None and inside.magnetic_field is not None:
            inside = inside.replace(magnetic_field=inside.magnetic_field - iron.offset)
        recording = read(
            inside,
            self.params.settings(),
            self._nominal(inside, use_magnetic_field=use_magnetic_field),
            use_magnetic_field=use_magnetic_field,
            mean_samples=self.params.sample_kind is SampleKind.MEAN,
        )
        out, calibration = self._with_fitting_prior(recording, progress or _ignore)
        if calibration is not None and iron is not None:
            calibration = replace(calibration, hard_iron=iron.offset, hard_iron_sigma=iron.sigma)
        kept = np.zeros(len(series), bool)
        kept[recording.rows] = True
        result = as_result(
            series,
            as_rows(out[np.cumsum(kept) - 1]),
            recording.report,
            uses_magnetic_field=recording.has_field,
        )
        if calibration is None:
            return result
        return replace(result, self_calibration=calibration.in_frame(series.body))

    def _nominal(self, series: ImuSeries, *, use_magnetic_field: bool) -> OrientationResult:
        """Return the path to begin with."""
        p = self.params
        vqf = OfflineVqf(
            VqfParams(
                reset_after=p.reset_after,
                sample_kind=p.sample_kind,
                gyro_range=p.gyro_range,
                accel_range=p.accel_range,
            )
        )
        return vqf.run(series, use_magnetic_field=use_magnetic_field)

    def _with_fitting_prior(
        self, recording: Recording, progress: Callable[[float], object]
    ) -> tuple[FloatArray, SelfCalibration | None]:
        """Return the rows, and what was found out; a bias that was thought too small is doubled.

        A tight belief keeps the bias about the vertical, of which gravity says nothing, from
        explaining what the gyro's scale did. A gyro with a large bias shows it on all axes.
        """
        smoother, told = self, 0.0

        def tell(done: float) -> None:
            nonlocal told
            if done > told:  # a second attempt says nothing new at first
                told = done
                progress(done)

        for _ in range(MOST_DOUBLINGS):
            out = _unsmoothed(recording, smoother.params.bias_prior)
            calibration, largest = smoother._smooth(recording, out, tell)
            prior = smoother.params.bias_prior
            if largest <= SURPRISE * prior:
                break
            smoother = ErrorStateSmoother(replace(smoother.params, bias_prior=2.0 * prior))
        return out, calibration

    def _smooth(
        self, recording: Recording, out: FloatArray, progress: Callable[[float], object]
    ) -> tuple[SelfCalibration | None, float]:
        """Overwrite the rows that can be smoothed; return what was found, and the largest bias."""
        end: Belief | None = None
        largest = 0.0
        knots_at: list[IntArray] = []
        starts = recording.starts.tolist()
        for first, last in pairwise([*starts, len(recording.t)]):
            if recording.t[last - 1] - recording.t[first] < 2.0 * self.params.window:
                continue
            knots = knots_of(recording, first, last - 1, self.params.window)
            for part, solution in self._pieces(recording, knots, end, progress):
                bias = solution.path[:, kernels.BIAS : kernels.PLACE]
                largest = max(largest, float(np.nanmax(np.abs(bias), initial=0.0)))
                if self._believes(solution) and _fill(recording, part, solution, out):
                    knots_at.append(part.at)
                    end = solution.end
        progress(1.0)
        if end is None:
            return None, largest
        at = np.concatenate(knots_at)
        return _calibration(recording, at, out, end, self.params.matrix_prior), largest

    def _pieces(
        self,
        recording: Recording,
        knots: Knots,
        before: Belief | None,
        progress: Callable[[float], object],
    ) -> Iterator[tuple[Knots, Solution]]:
        """Give the parts of a stretch and their solutions."""
        t = recording.t[knots.at]
        start = self._first_belief(recording, knots, before)
        total = max(recording.t[-1], 1e-9)
        first = 0
        while True:
            stop = int(np.searchsorted(t, t[first] + PIECE_S))
            if t[-1] < t[first] + PIECE_S + 2.0 * OVERLAP_S:
                stop = len(t) - 1
            ahead = min(int(np.searchsorted(t, t[stop] + OVERLAP_S)), len(t) - 1)
            part = knots.part(slice(first, ahead + 1))
            begin, end = t[first] / total, t[stop] / total

            def tell(done: float, begin: float = begin, end: float = end) -> None:
                progress(begin + (end - begin) * done)

            solution = Piece(recording, part, self.params.settings(), start).solve(
                stop - first,
                self.params.field_tolerance,
                tell,
            )
            yield knots.part(slice(first, stop + 1)), solution
            if stop == len(t) - 1:
                return
            first = stop
            if self._believes(solution):
                start = solution.at_join
            else:
                start = self._first_belief(recording, knots.part(slice(first, None)), before)

    def _believes(self, solution: Solution) -> bool:
        """Whether a solution is one: what is found is not far beyond what sensors are like."""
        matrix = solution.constants[kernels.GYRO_MATRIX : kernels.USUAL_FIELD]
        bias = solution.path[:, kernels.BIAS : kernels.PLACE]
        return bool(
            (np.abs(matrix) <= FAR * self.params.matrix_prior).all()
            and (np.abs(bias) < FAR * self.params.bias_prior).all()
        )

    def _first_belief(self, recording: Recording, knots: Knots, before: Belief | None) -> Belief:
        """Return what is believed at the start of a stretch."""
        p = self.params
        row = np.zeros(kernels.PATH)
        q = recording.nominal.q_world_from_body[knots.at]
        row[:4] = q[0]
        sigmas = [p.tilt_prior] * 2 + [p.heading_prior if recording.has_field else 0.0]
        sigmas += [p.speed_prior] * 3 + [p.bias_prior] * 3 + [p.accel_prior] * 3
        sigmas += [p.matrix_prior] * 9 + [PLACE_SIGMA] * 3
        constants = np.zeros(kernels.CONSTANTS)
        if recording.has_field:
            sigmas += [FIELD_SIGMA] * 2 + [p.delay_prior]
            field = quaternion.rotate(q, np.nan_to_num(knots.fields[:, :3]))
            field = field[np.isfinite(knots.fields[:, 0])]
            if field.size:
                constants[kernels.USUAL_FIELD] = np.median(np.hypot(field[:, 0], field[:, 1]))
                constants[kernels.USUAL_FIELD + 1] = np.median(field[:, 2])
        covariance = np.diag(np.square(sigmas))
        if before is not None:
            row[kernels.BIAS : kernels.PLACE] = before.row[kernels.BIAS : kernels.PLACE]
            same = LASTING[len(sigmas) > LASTING]
            covariance[np.ix_(same, same)] = before.covariance[np.ix_(same, same)]
            constants = before.constants
        return Belief(row, constants, covariance)


def _ignore(done: float) -> None:
    """Take no notice of progress."""


def _unsmoothed(recording: Recording, bias_sigma: float) -> FloatArray:
    """Return rows of outputs of the nominal path, for what is too short to be smoothed."""
    nominal = recording.nominal
    out = np.zeros((len(recording.t), shared.OUTPUTS))
    out[:, :4] = nominal.q_world_from_body
    out[:, shared.BIAS : shared.BIAS + 3] = nominal.gyro_bias
    out[:, shared.BIAS_SIGMA : shared.BIAS_SIGMA + 3] = bias_sigma
    upper = np.triu_indices(3)
    out[:, shared.COVARIANCE : shared.COVARIANCE + 6] = nominal.orientation_covariance[
        :, upper[0], upper[1]
    ]
    out[:, shared.AT_REST] = nominal.rest
    return out


def _fill(recording: Recording, part: Knots, solution: Solution, out: FloatArray) -> bool:
    """Write what was found to the rows of outputs; return whether it is finite."""
    count = len(part.at)
    rows = slice(part.at[0], part.at[-1] + 1)
    t, at = recording.t[rows], recording.t[part.at]
    path, spreads = solution.path[:count], solution.spreads[:count]
    q = np.empty((len(t), 4))
    compile_kernel(kernels.fill)(
        np.zeros(kernels.WORK),
        recording.steps[rows],
        part.at - part.at[0],
        path,
        solution.constants,
        q,
    )
    if not (np.isfinite(q).all() and np.isfinite(spreads).all()):
        return False
    out[rows, :4] = quaternion.make_continuous(quaternion.normalize(q))
    for k in range(3):
        out[rows, shared.BIAS + k] = np.interp(t, at, path[:, kernels.BIAS + k])
        variance = np.interp(t, at, np.maximum(spreads[:, 6 + k], 0.0))
        out[rows, shared.BIAS_SIGMA + k] = np.sqrt(variance)
    for k in range(6):
        out[rows, shared.COVARIANCE + k] = np.interp(t, at, spreads[:, k])
    nearest = np.clip(np.searchsorted(at, t), 0, count - 1)
    out[rows, shared.DISTURBED] = solution.disturbed[nearest]
    return True


def _calibration(
    recording: Recording, at: IntArray, out: FloatArray, end: Belief, matrix_prior: float
) -> SelfCalibration:
    """Return what was found out about the sensor, in FLU axes."""
    sigma = np.sqrt(np.maximum(np.diag(end.covariance), 0.0))
    matrix, field = kernels.GYRO_MATRIX, kernels.USUAL_FIELD
    inertial = SelfCalibration(
        t_ns=recording.t_ns[at],
        gyro_bias=out[at, shared.BIAS : shared.BIAS + 3],
        gyro_bias_sigma=out[at, shared.BIAS_SIGMA : shared.BIAS_SIGMA + 3],
        accel_bias=end.constants[:matrix],
        accel_bias_sigma=sigma[9:12],
        gyro_matrix=end.constants[matrix:field].reshape(3, 3),
        gyro_matrix_sigma=sigma[12:21].reshape(3, 3),
        gyro_matrix_prior=matrix_prior,
    )
    if not recording.has_field:
        return inertial
    unit = recording.strength
    delay = kernels.FIELD_DELAY
    return replace(
        inertial,
        magnetic_field=unit * end.constants[field:delay],
        magnetic_field_sigma=unit * sigma[kernels.FIELD : kernels.DELAY],
        magnetometer_delay=float(end.constants[delay]),
        magnetometer_delay_sigma=float(sigma[kernels.DELAY]),
    )

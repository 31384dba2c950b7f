"""Error-state Kalman filter for orientation and gyro errors, with covariance."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import filled
from strapdown.estimation.attitude import UNKNOWN, normalise, turn_world
from strapdown.estimation.error_state.bias_prior import double_bias_prior, is_bias_odd
from strapdown.estimation.error_state.field import (
    forget_field,
    gather_field,
    let_field_age,
    measure_field,
)
from strapdown.estimation.error_state.model import (
    ACCEL_ERROR,
    BIAS_ERROR,
    MATRIX_ERROR,
    PHI,
    XI,
    clear_window,
    corrected_turn,
    extend_window,
    finish_window,
    predict_covariance,
)
from strapdown.estimation.error_state.motion import (
    clear_lost,
    clipped_axes,
    lose_clipped,
    mean_force,
    measured_turn,
    refuse_dropout,
    watch,
)
from strapdown.estimation.error_state.params import ErrorStateParams
from strapdown.estimation.error_state.state import AGE, HEADING, NORTH, ErrorStateMemory
from strapdown.estimation.error_state.update import set_variance, sigma, symmetrise, take_error
from strapdown.estimation.filter import FilterRow, RecursiveFilter, write
from strapdown.estimation.intake import FilterCounts, intake
from strapdown.geometry.formulas import quaternion_exp, quaternion_rotate
from strapdown.geometry.triples import plus
from strapdown.geometry.vectors import add_to, clear, copy, four, put, square, three
from strapdown.samples.clock import DROPPED, START
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._kernels.records import Vector
    from strapdown._typing import Three
    from strapdown.estimation.result import OrientationEstimate
    from strapdown.samples.sample import Sample

__all__ = ["ErrorStateFilter"]

WINDOW_S: Final = 0.1
MATRIX_LIMIT: Final = 0.05  # larger scale and misalignment errors are not plausible

MIN_FORCE: Final = 1.0  # m/s^2; a specific force this small (free fall) has no direction
ODD_FORCE: Final = 0.2  # of gravity: a larger difference makes the first tilt uncertain
ODD_TILT_SIGMA: Final = 0.5  # rad

ODD_SPEED: Final = 16.0  # squared standard deviations: at a larger velocity it is reset


@kernel
def error_state_step(
    s: ErrorStateMemory, counts: FilterCounts, p: ErrorStateParams, sample: Sample
) -> None:
    """Preintegrate a sample; at the end of a window predict and correct."""
    refuse_dropout(sample.angular_velocity, s.last_rate, s.rate_held)
    refuse_dropout(sample.specific_force, s.motion.force, s.motion.force_lost)
    last_rate, held = three(s.last_rate), s.rate_held
    taken = intake(s, counts, p, sample)
    if taken.event == DROPPED:
        return
    if taken.event == START:
        begin(s, p)
    before, dt = four(s.orientation), taken.dt
    reading = measured_turn(s, taken, last_rate, held, sample.angular_velocity)
    clipping = clipped_axes(s.motion, taken, last_rate, sample.angular_velocity)
    if taken.has_rate:
        lose_clipped(s, clipping, dt, sample.angular_velocity)
    force = mean_force(s, p, taken, clipping, sample.specific_force)
    integrate(s, reading, force, dt)
    if taken.has_force and not s.has_tilt:
        align_tilt(s, p, sample.specific_force)
    if taken.has_field and s.has_tilt:
        gather_field(s, p, sample, taken.has_rate)
    if taken.has_rate and taken.has_force:
        watch(s, dt, sample)
    for i in range(3):  # until the window ends
        s.covariance[i][i] += p.gyro_noise * p.gyro_noise * dt
    if s.window.span + 0.5 * dt >= WINDOW_S:
        end_window(s, p)
    normalise(s.orientation, before)


@kernel
def begin(s: ErrorStateMemory, p: ErrorStateParams) -> None:
    """Restart tilt, heading and velocity; keep the calibration of the gyro."""
    clear(s.velocity)
    covariance = s.error_covariance
    is_first = s.bias_scale == 0.0
    for i in range(3):
        set_variance(covariance, PHI + i, math.pi)
        set_variance(covariance, XI + i, p.speed_sigma)
    set_variance(covariance, HEADING, 0.0 if is_first else math.sqrt(UNKNOWN))
    if is_first:
        s.bias_scale = p.gyro_bias_sigma
        for i in range(3):
            set_variance(covariance, BIAS_ERROR + i, p.gyro_bias_sigma)
            set_variance(covariance, ACCEL_ERROR + i, p.accel_bias_sigma)
        forget_matrix(s, p)
    forget_field(s, p)
    s.has_tilt = s.has_heading = s.at_rest = False
    s.motion.rest = 0.0
    begin_window(s)
    publish(s)


@kernel
def begin_window(s: ErrorStateMemory) -> None:
    """Begin a window, except for the sums of the magnetic field."""
    clear_window(s.window)
    clear(s.reading)
    clear_lost(s.lost)


@kernel
def integrate(s: ErrorStateMemory, reading: Three, force: Three, dt: float) -> None:
    """Rotate by the measured rotation, and extend the window."""
    add_to(s.reading, reading)
    turn = corrected_turn(s.gyro_bias, s.gyro_matrix, reading, dt)
    own_force = plus(force, three(s.accel_bias), -1.0)
    extend_window(s.window, s.orientation, turn, reading, own_force, dt)


@kernel
def align_tilt(s: ErrorStateMemory, p: ErrorStateParams, force: Vector) -> None:
    """Turn the world by the smallest rotation that points the specific force up."""
    x, y, z = up = quaternion_rotate(*four(s.orientation), *three(force))
    norm = math.sqrt(square(up))
    if norm < MIN_FORCE:
        return
    w = norm + z
    scale = math.sqrt(x * x + y * y + w * w)
    if scale > 1e-6 * norm:
        turn_world(s.orientation, (y / scale, -x / scale, 0.0, w / scale))
    else:
        turn_world(s.orientation, (1.0, 0.0, 0.0, 0.0))
    odd = abs(norm - STANDARD_GRAVITY) > ODD_FORCE * STANDARD_GRAVITY
    sigma = max(p.tilt_sigma, ODD_TILT_SIGMA) if odd else p.tilt_sigma
    set_variance(s.error_covariance, PHI, sigma)
    set_variance(s.error_covariance, PHI + 1, sigma)
    s.has_tilt = True
    begin_window(s)
    publish(s)


@kernel
def end_window(s: ErrorStateMemory, p: ErrorStateParams) -> None:
    """Predict over the window, update with its measurements, and begin the next."""
    span = s.window.span
    if s.has_tilt and span > 0.0:
        predict(s, p, span)
        clear(s.correction.error)
        measure_velocity(s, p, span)
        if s.at_rest:
            measure_rest(s, p, span)
        if s.field.count > 0:
            measure_field(s, p, span)
        correct(s)
        if is_bias_odd(s):
            double_bias_prior(s)
            correct(s)
        refuse_matrix(s, p)
        publish(s)
    begin_window(s)


@kernel
def predict(s: ErrorStateMemory, p: ErrorStateParams, span: float) -> None:
    """Predict velocity and covariance over the window, with the noise of its motion."""
    finish_window(s.window, s.velocity)
    covariance, lost = s.error_covariance, s.lost
    predict_covariance(covariance, s.window)
    turn = p.gyro_noise * p.gyro_noise * span
    turn += p.gyro_scale_noise * p.gyro_scale_noise * s.window.turned
    speed = p.accel_noise * p.accel_noise * span + lost.speed
    bias = p.gyro_bias_walk * p.gyro_bias_walk * span
    for i in range(3):
        covariance[PHI + i][PHI + i] += turn + lost.turn[i]
        covariance[XI + i][XI + i] += speed
        covariance[BIAS_ERROR + i][BIAS_ERROR + i] += bias
    s.bias_scale = math.sqrt(s.bias_scale * s.bias_scale + bias)
    let_field_age(s, p, span)


@kernel
def measure_velocity(s: ErrorStateMemory, p: ErrorStateParams, span: float) -> None:
    """Update with zero velocity: a sensor that is held or worn hardly travels."""
    covariance, v = s.error_covariance, s.velocity
    usual = p.speed_sigma * p.speed_sigma
    odd = 0.0
    for i in range(3):
        odd += v[i] * v[i] / (covariance[XI + i][XI + i] + usual)
    if odd > ODD_SPEED:  # after a throw, a fall or a blow, reset the velocity instead of the tilt
        for i in range(3):
            covariance[XI + i][XI + i] += v[i] * v[i]
    if s.at_rest:
        noise = p.rest_speed_sigma * p.rest_speed_sigma
    else:
        noise = usual * max(1.0, 2.0 * p.speed_time / span)
    for i in range(3):
        take_error(s, XI + i, -v[i], noise, s.lost.clipped)


@kernel
def measure_rest(s: ErrorStateMemory, p: ErrorStateParams, span: float) -> None:
    """Update with zero rate at rest: the corrected gyro reading is an error of the bias.

    M is not corrected, as the noise of the readings would drive it towards -1.
    """
    noise = p.rest_rate_sigma * p.rest_rate_sigma
    turn = corrected_turn(s.gyro_bias, s.gyro_matrix, three(s.reading), span)
    for i in range(3):
        take_error(s, BIAS_ERROR + i, turn[i] / span, noise, True)


@kernel
def correct(s: ErrorStateMemory) -> None:
    """Correct the nominal state by the estimated error."""
    e = s.correction.error
    turn = quaternion_exp(0.5 * e[PHI], 0.5 * e[PHI + 1], 0.5 * e[PHI + 2])
    turn_world(s.orientation, turn)
    put(s.velocity, quaternion_rotate(*turn, *three(s.velocity)))
    for i in range(3):
        s.velocity[i] += e[XI + i]
        s.gyro_bias[i] += e[BIAS_ERROR + i]
        s.accel_bias[i] += e[ACCEL_ERROR + i]
        for j in range(3):
            s.gyro_matrix[i][j] += e[MATRIX_ERROR + 3 * i + j]
    s.field.deviation += e[NORTH]
    s.field.delay += e[AGE]
    symmetrise(s.error_covariance)


@kernel
def refuse_matrix(s: ErrorStateMemory, p: ErrorStateParams) -> None:
    """Reset M if an element is implausibly large, as it then has another cause."""
    largest = 0.0
    for i in range(3):
        x, y, z = three(s.gyro_matrix[i])
        largest = max(largest, abs(x), abs(y), abs(z))
    if largest > MATRIX_LIMIT:
        for i in range(3):
            clear(s.gyro_matrix[i])
        forget_matrix(s, p)


@kernel
def forget_matrix(s: ErrorStateMemory, p: ErrorStateParams) -> None:
    """Reset the variances of M to the prior."""
    for i in range(9):
        set_variance(s.error_covariance, MATRIX_ERROR + i, p.gyro_matrix_sigma)


@kernel
def publish(s: ErrorStateMemory) -> None:
    """Write the estimates to the fields common to all filters."""
    for i in range(3):
        s.gyro_bias_sigma[i] = sigma(s.error_covariance, BIAS_ERROR + i)
        for j in range(i, 3):
            s.covariance[i][j] = s.covariance[j][i] = s.error_covariance[PHI + i][PHI + j]


class ErrorStateRow(FilterRow):
    """Estimates after a sample, with the bias of the accelerometer."""

    accel_bias: Vector = filled(3)
    accel_bias_sigma: Vector = filled(3)


@kernel
def write_row(row: ErrorStateRow, s: ErrorStateMemory) -> None:
    """Write the estimates of the filter to a row."""
    write(row, s)
    copy(row.accel_bias, s.accel_bias)
    for i in range(3):
        row.accel_bias_sigma[i] = accel_bias_sigma(s, i)


@kernel
def accel_bias_sigma(s: ErrorStateMemory, i: int) -> float:
    """Return the standard deviation of an accelerometer bias; -1 before the first sample."""
    return -1.0 if s.bias_scale == 0.0 else sigma(s.error_covariance, ACCEL_ERROR + i)


class ErrorStateFilter(RecursiveFilter[ErrorStateParams]):
    """Orientation and errors of the gyro (bias, scale, misalignment), with covariance.

    An error-state Kalman filter over windows of 0.1 s in which the samples are preintegrated.
    Specific force is integrated to a velocity. The assumption that the sensor does not travel
    corrects tilt, and makes the gyro errors that cause tilt errors observable. At rest the
    angular velocity is 0. The horizontal magnetic field corrects heading, with less weight if
    its strength and dip are unusual; the delay of the magnetometer is estimated. Without a
    magnetometer heading starts at 0 (in ENU: forward is east), and its covariance grows from
    there.

    Parameters
    ----------
    params : ErrorStateParams, optional

    References
    ----------
    J. Sola, "Quaternion kinematics for the error-state Kalman filter", arXiv 1711.02508.
    A. Barrau, S. Bonnabel, "The invariant extended Kalman filter as a stable observer", IEEE
    TAC 62(4), 2017: the form of the error. C. Forster et al., "On-manifold preintegration for
    real-time visual-inertial odometry", IEEE T-RO 33, 2017: the windows. D. Laidig, T. Seel,
    "VQF", Information Fusion 91, 2023: rest, and acceptance of a new magnetic field.

    Examples
    --------
    >>> from strapdown.estimation import ErrorStateFilter
    >>> from strapdown.samples import ImuSample
    >>> orientation = ErrorStateFilter()
    >>> orientation.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    NAME = "eskf"
    DEFAULTS = ErrorStateParams()
    MEMORY = ErrorStateMemory
    STEP = error_state_step
    ROW = ErrorStateRow
    WRITE = write_row

    @property
    def estimate(self) -> OrientationEstimate:
        """Estimates at the stamp of the last sample."""
        with self._execution.lock:
            s: ErrorStateMemory = self._execution.memory(0)
            common = super().estimate
            sigma = np.array([accel_bias_sigma(s, i) for i in range(3)])
            if sigma[0] < 0.0:
                return common
            return replace(common, accel_bias=np.array(s.accel_bias), accel_bias_sigma=sigma)

"""Forward pass of the smoother: the filter over windows and the measurements at knots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.estimation.error_state.knots import (
    CARRIED,
    DELAY,
    ERRORS,
    FIELD,
    MOST_MEASURED,
    POSITION,
    Constants,
    Knot,
    KnotEstimate,
    Nominal,
    ScalarUpdate,
    WindowResidual,
)
from strapdown.estimation.error_state.model import (
    BIAS_ERROR,
    PHI,
    XI,
    Window,
    carry,
    corrected_turn,
    multiply_rows,
)
from strapdown.estimation.error_state.update import project, shrink
from strapdown.geometry.formulas import quaternion_rotate
from strapdown.geometry.vectors import clear, four, put, three

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.records import Matrix, Vector
    from strapdown.estimation.error_state.smoother_params import SmootherParams

DISTURBED: Final = 0.25  # a field with less weight counts as disturbed


@kernel
def forward(
    params: Sequence[SmootherParams],
    windows: Sequence[Window],
    residuals: Sequence[WindowResidual],
    knots: Sequence[Knot],
    path: Sequence[Nominal],
    constants: Sequence[Constants],
    estimates: Sequence[KnotEstimate],
    scalars: Sequence[ScalarUpdate],
) -> None:
    """Filter forward over all knots; the first estimate is the prior."""
    p = params[0]
    for k in range(len(knots)):
        if k > 0:
            follow(estimates[k], estimates[k - 1])
            predict(estimates[k], windows[k - 1], residuals[k - 1], p)
        before, after = windows[max(k - 1, 0)].span, windows[min(k, len(windows) - 1)].span
        span = min(0.5 * (before + after), 1.5 * p.window)
        room = scalars[MOST_MEASURED * k : MOST_MEASURED * (k + 1)]
        estimates[k].measured = 0
        observe_place(estimates[k], room, path[k], p.place_noise * p.place_noise / span)
        if knots[k].rest:
            observe_rest(estimates[k], room, knots[k], path[k], constants[0], p, span)
        if knots[k].has_field:
            variance = p.field_noise * p.field_noise / (span * knots[k].weight)
            observe_field(estimates[k], room, knots[k], path[k], constants[0], variance)


@kernel
def follow(estimate: KnotEstimate, before: KnotEstimate) -> None:
    """Copy the estimate at the knot before."""
    for i in range(ERRORS):
        estimate.mean[i] = before.mean[i]
        row, known = estimate.covariance[i], before.covariance[i]
        for j in range(ERRORS):
            row[j] = known[j]


@kernel
def predict(
    estimate: KnotEstimate, window: Window, residual: WindowResidual, p: SmootherParams
) -> None:
    """Predict error and covariance over a window."""
    half = 0.5 * window.span
    mean, covariance = estimate.mean, estimate.covariance
    carry_place(mean, half)
    carry(mean, window)
    carry_place(mean, half)
    for i in range(3):
        mean[PHI + i] += residual.turn[i]
        mean[XI + i] += residual.speed[i]
        mean[BIAS_ERROR + i] += residual.bias[i]
        mean[POSITION + i] += residual.place[i]
    carry_places(covariance, half)
    multiply_rows(covariance, window)
    carry_places(covariance, half)
    for i in CARRIED:
        carry_place(covariance[i], half)
        carry(covariance[i], window)
        carry_place(covariance[i], half)
    for i in CARRIED:
        row = covariance[i]
        for k in range(ERRORS):
            covariance[k][i] = row[k]
    turn = p.gyro_noise * p.gyro_noise * window.span
    turn += p.gyro_scale_noise * p.gyro_scale_noise * window.turned
    speed = p.speed_noise * p.speed_noise * window.span + residual.lost_speed
    speed += p.speed_turn_noise * p.speed_turn_noise * window.turned
    for i in range(3):
        covariance[i][i] += turn
        covariance[XI + i][XI + i] += speed
        covariance[BIAS_ERROR + i][BIAS_ERROR + i] += p.bias_walk * p.bias_walk * window.span
        covariance[POSITION + i][POSITION + i] += residual.lost_speed * window.span * window.span
        for j in range(3):
            covariance[i][j] += residual.lost_turn[i][j]


@kernel
def carry_place(error: Vector, span: float) -> None:
    """Propagate the position in a vector of errors."""
    for i in range(3):
        error[POSITION + i] += span * error[XI + i]


@kernel
def carry_places(matrix: Matrix, span: float) -> None:
    """Propagate the position in every column of a matrix."""
    for i in range(3):
        place, speed = matrix[POSITION + i], matrix[XI + i]
        for k in range(len(place)):
            place[k] += span * speed[k]


@kernel
def observe_place(
    estimate: KnotEstimate, room: Sequence[ScalarUpdate], at: Nominal, variance: float
) -> None:
    """Update with the prior that the sensor stays near one place."""
    for i in range(3):
        see(room[estimate.measured], POSITION + i)
        take(estimate, room, -at.position[i], variance)


@kernel
def observe_rest(
    estimate: KnotEstimate,
    room: Sequence[ScalarUpdate],
    knot: Knot,
    at: Nominal,
    constants: Constants,
    p: SmootherParams,
    span: float,
) -> None:
    """Update with zero velocity and zero rate.

    The row has no entry for the gyro matrix: with the noise of the readings, a matrix of -I
    would be the best fit to zero rotation.
    """
    turning = corrected_turn(at.gyro_bias, constants.gyro_matrix, knot.rate, 1.0)
    for i in range(3):
        see(room[estimate.measured], XI + i)
        take(estimate, room, -at.velocity[i], p.rest_speed * p.rest_speed / span)
        see(room[estimate.measured], BIAS_ERROR + i)
        take(estimate, room, turning[i], p.rest_rate * p.rest_rate / span)


@kernel
def observe_field(
    estimate: KnotEstimate,
    room: Sequence[ScalarUpdate],
    knot: Knot,
    at: Nominal,
    constants: Constants,
    variance: float,
) -> None:
    """Update with a magnetic field that points north with constant strength and dip."""
    q, late, usual = four(at.orientation), constants.delay, constants.field
    swing = quaternion_rotate(*q, *three(knot.swing))
    x, y, z = quaternion_rotate(*q, *three(knot.field))
    east, north, up = x - late * swing[0], y - late * swing[1], z - late * swing[2]
    residual = (-east, usual[0] - north, usual[1] - up)
    turned = ((0.0, up, -north), (-up, 0.0, east), (north, -east, 0.0))
    for i in range(3):
        scalar = room[estimate.measured]
        row, scalar.first, scalar.last = scalar.row, PHI, DELAY + 1
        clear(row)
        put(row, turned[i])
        if i > 0:
            row[FIELD + i - 1] = -1.0
        row[DELAY] = -swing[i]
        take(estimate, room, residual[i], variance)


@kernel
def see(scalar: ScalarUpdate, i: int) -> None:
    """Write the row H of a measurement of one error."""
    clear(scalar.row)
    scalar.row[i] = 1.0
    scalar.first, scalar.last = i, i + 1


@kernel
def take(
    estimate: KnotEstimate, room: Sequence[ScalarUpdate], residual: float, variance: float
) -> None:
    """Update with the next scalar, whose row H is written, and keep it for the backward pass."""
    scalar = room[estimate.measured]
    estimate.measured += 1
    row, gain, mean = scalar.row, scalar.gain, estimate.mean
    clear(gain)
    innovation, s = residual, variance
    for i in range(scalar.first, scalar.last):
        if row[i] != 0.0:
            project(estimate.covariance, gain, i, row[i])
            innovation -= row[i] * mean[i]
    for i in range(scalar.first, scalar.last):
        if row[i] != 0.0:
            s += row[i] * gain[i]
    scale = 1.0 / math.sqrt(s)
    innovation *= scale
    scalar.innovation = innovation
    for i in range(ERRORS):
        row[i] *= scale
        gain[i] *= scale
        mean[i] += gain[i] * innovation
    shrink(estimate.covariance, gain)

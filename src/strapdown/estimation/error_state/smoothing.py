"""Fixed-interval smoothing of the error-state model: forward filter, backward pass, output.

The errors of the model are followed by that of the position, ``p_true = Exp(phi) p + pi`` in
world axes, and those of the magnetic field and the delay of the magnetometer, which are zero
without one.

Knots are the instants between windows. A *path* has a nominal state for each knot; states that
do not change with time are in the constants.

The backward pass is that of Bierman ("Fixed interval smoothing with discrete measurements",
Int. J. Control 18, 1973): it propagates gradient and Hessian of the likelihood of later
measurements, needs no inverse of a covariance, and does not change states of zero variance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, vector, zeros
from strapdown.estimation.attitude import normalise, turn_body, turn_world
from strapdown.estimation.error_state.model import (
    ACCEL_ERROR,
    BIAS_ERROR,
    MATRIX_ERROR,
    OWN_ERRORS,
    PHI,
    XI,
    Window,
    carry,
    clear_window,
    corrected_turn,
    extend_by,
    finish_window,
    half_of,
    multiply_rows,
)
from strapdown.estimation.error_state.update import project, shrink
from strapdown.estimation.intake import FilterCounts, FilterMemory, intake
from strapdown.geometry.formulas import quaternion_exp, quaternion_multiply, quaternion_rotate
from strapdown.geometry.vectors import clear, four, put, put_four, three
from strapdown.samples.clock import START
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import Four, Three
    from strapdown.estimation.error_state.smoother_params import SmootherParams
    from strapdown.estimation.filter import FilterRow
    from strapdown.samples.sample import Sample

POSITION: Final = OWN_ERRORS  # [m, world]
FIELD: Final = OWN_ERRORS + 3  # north and up [of its strength]
DELAY: Final = OWN_ERRORS + 5  # delay of the magnetometer relative to the gyro [s]
ERRORS: Final = OWN_ERRORS + 7  # with one unused, so that rows fill the vector registers

CARRIED: Final = (0, 1, 2, 3, 4, 5, 21, 22, 23)  # errors that a window changes: PHI, XI, POSITION

MOST_MEASURED: Final = 12  # most scalar measurements at a knot
DISTURBED: Final = 0.25  # a field with less weight counts as disturbed


class Step(Record):
    """Motion from a sample to the next."""

    event: int = 0  # classification of the stamp: START, STEP, MERGED or DROPPED
    clipping: int = 0  # bits: gyro X=1 Y=2 Z=4, accelerometer X=8 Y=16 Z=32
    hole: float = 0.0  # length of a gap in the rates that ends here [s]
    dt: float = 0.0  # [s]
    turn: Vector = filled(3)  # rotation measured by the gyro [rad, body]
    force: Vector = filled(3)  # mean specific force [m/s^2, body]
    clipped: Vector = filled(3)  # sigma of the rotation beyond the range [rad]
    lost_turn: Matrix = zeros(3, 3)  # sigmas of the unmeasured rotation: vectors [rad, body]
    lost_speed: float = 0.0  # sigma of the unmeasured change of velocity [m/s]


class Nominal(Record):
    """The state at a knot."""

    orientation: Vector = vector(0.0, 0.0, 0.0, 1.0)  # q_world_from_body, x y z w
    velocity: Vector = filled(3)  # [m/s, world]
    gyro_bias: Vector = filled(3)  # [rad/s, body]
    position: Vector = filled(3)  # [m, world]


class Constants(Record):
    """States that are constant over a recording."""

    accel_bias: Vector = filled(3)  # [m/s^2, body]
    gyro_matrix: Matrix = zeros(3, 3)  # scale and misalignment
    field: Vector = filled(2)  # to the north and up [of its strength]
    delay: float = 0.0  # of the magnetometer [s]


class Knot(Record):
    """Readings at an instant between windows."""

    at: int = 0  # row of the recording
    rate: Vector = filled(3)  # mean reading of the gyro about it [rad/s, body]
    rest: bool = False
    has_field: bool = False
    field: Vector = filled(3)  # mean field [of its strength, body]
    swing: Vector = filled(3)  # its derivative by the delay [1/s, body]
    weight: float = 1.0  # of the field in the update


class CorrectedTurn(Record):
    """Corrected rotation of a step."""

    turn: Vector = filled(3)  # [rad, body]
    half: Vector = filled(4)  # quaternion of half of it


class WindowResidual(Record):
    """Residual of a path over a window, and variances of the unmeasured motion in it."""

    turn: Vector = filled(3)  # [rad, world]
    speed: Vector = filled(3)  # [m/s, world]
    bias: Vector = filled(3)  # [rad/s, body]
    place: Vector = filled(3)  # [m, world]
    lost_turn: Matrix = zeros(3, 3)  # covariance [rad^2, world]
    lost_speed: float = 0.0  # variance [m^2/s^2]
    is_clipped: bool = False


class KnotEstimate(Record):
    """Estimated error of a path at a knot, and its covariance."""

    mean: Vector = filled(ERRORS)
    covariance: Matrix = zeros(ERRORS, ERRORS)
    measured: int = 0  # number of scalar measurements at the knot


class ScalarUpdate(Record):
    """A scalar measurement, scaled by the standard deviation of its innovation."""

    innovation: float = 0.0
    first: int = 0  # first entry of H that is not zero,
    last: int = 0  # and the index after the last one
    row: Vector = filled(ERRORS)  # H
    gain: Vector = filled(ERRORS)  # K


class LaterInformation(Record):
    """Derivatives of the negative log likelihood of later measurements."""

    gradient: Vector = filled(ERRORS)
    hessian: Matrix = zeros(ERRORS, ERRORS)
    product: Vector = filled(ERRORS)  # of the Hessian and a vector


class SmoothedCovariance(Record):
    """Smoothed covariance of the orientation, and variances of the gyro bias."""

    orientation: Matrix = zeros(3, 3)  # [rad^2, world]
    bias: Vector = filled(3)  # [rad^2/s^2]


@kernel
def cut(
    state: Sequence[FilterMemory],
    counts: Sequence[FilterCounts],
    params: Sequence[SmootherParams],
    samples: Sequence[Sample],
    steps: Sequence[Step],
) -> None:
    """Check every sample and write the steps between them (all but the force)."""
    for i in range(len(samples)):
        taken = intake(state[0], counts[0], params[0], samples[i])
        step = steps[i]
        step.event, step.clipping, step.hole = taken.event, taken.clipping, taken.hole
        step.dt = 0.0 if taken.event == START else taken.dt
        put(step.turn, taken.turn)


@kernel
def preintegrate(
    steps: Sequence[Step],
    knots: Sequence[Knot],
    path: Sequence[Nominal],
    constants: Sequence[Constants],
    moving: Sequence[Nominal],
    turns: Sequence[CorrectedTurn],
    windows: Sequence[Window],
    residuals: Sequence[WindowResidual],
) -> None:
    """Integrate every window along the path, and write the residuals at its end."""
    x = moving[0]
    for j in range(len(windows)):
        window, residual = windows[j], residuals[j]
        begin(x, path[j])
        clear_window(window)
        clear_losses(residual)
        first, last = knots[j].at + 1, knots[j + 1].at
        for i in range(first, last + 1):
            prepare(turns[i - first], steps[i], x.gyro_bias, constants[0])
        for i in range(first, last + 1):
            step = steps[i]
            if step.dt > 0.0:
                integrate(x, window, step, turns[i - first], constants[0].accel_bias)
                lose(residual, x.orientation, step)
        if residual.is_clipped:  # a clipped reading does not determine the scale
            for i in range(3):
                clear(window.j_matrix[i])
                clear(window.v_matrix[i])
        half = 0.5 * window.span
        move(x.position, half, x.velocity)
        finish_window(window, x.velocity)
        move(x.position, half, x.velocity)
        miss(residual, x, path[j + 1])


@kernel
def begin(x: Nominal, at: Nominal) -> None:
    """Copy a state."""
    put_four(x.orientation, four(at.orientation))
    put(x.velocity, three(at.velocity))
    put(x.gyro_bias, three(at.gyro_bias))
    put(x.position, three(at.position))


@kernel
def clear_losses(residual: WindowResidual) -> None:
    """Clear the variances of unmeasured motion."""
    for i in range(3):
        clear(residual.lost_turn[i])
    residual.lost_speed = 0.0
    residual.is_clipped = False


@kernel
def move(v: Vector, span: float, pace: Vector) -> None:
    """Add ``span`` times ``pace`` to a vector."""
    for i in range(3):
        v[i] += span * pace[i]


@kernel
def prepare(turn: CorrectedTurn, step: Step, bias: Vector, constants: Constants) -> None:
    """Write the corrected rotation of a step; steps are independent in this loop."""
    corrected = corrected_turn(bias, constants.gyro_matrix, step.turn, step.dt)
    put(turn.turn, corrected)
    put_four(turn.half, half_of(corrected))


@kernel
def integrate(x: Nominal, window: Window, step: Step, turn: CorrectedTurn, bias: Vector) -> None:
    """Integrate one step into a window."""
    force, dt = step.force, step.dt
    own = (force[0] - bias[0], force[1] - bias[1], force[2] - bias[2])
    half, reading = four(turn.half), three(step.turn)
    extend_by(window, x.orientation, three(turn.turn), half, reading, own, dt)


@kernel
def lose(residual: WindowResidual, orientation: Vector, step: Step) -> None:
    """Add the unmeasured motion of clipped and lost samples to the noise of a window."""
    for axis in range(3):
        c = step.clipped[axis]
        if c > 0.0:
            residual.is_clipped = True
            along = (c * (axis == 0), c * (axis == 1), c * (axis == 2))
            lose_along(residual.lost_turn, orientation, along)
    if step.hole > 0.0:
        for i in range(3):
            lose_along(residual.lost_turn, orientation, three(step.lost_turn[i]))
    residual.lost_speed += step.lost_speed * step.lost_speed


@kernel
def lose_along(covariance: Matrix, orientation: Vector, sigma: Three) -> None:
    """Add the covariance of a standard deviation along one axis of the body."""
    r = quaternion_rotate(*four(orientation), *sigma)
    for i in range(3):
        for j in range(3):
            covariance[i][j] += r[i] * r[j]


@kernel
def miss(residual: WindowResidual, x: Nominal, after: Nominal) -> None:
    """Write the difference between the end of a window and the next knot of the path."""
    turn = turn_between(four(after.orientation), four(x.orientation))
    put(residual.turn, turn)
    put(residual.speed, apart(turn, after.velocity, x.velocity))
    put(residual.place, apart(turn, after.position, x.position))
    for k in range(3):
        residual.bias[k] = x.gyro_bias[k] - after.gyro_bias[k]


@kernel
def apart(turn: Three, a: Vector, b: Vector) -> Three:
    """Return the error from a vector a to b after the rotation of the world."""
    px, py, pz = turn
    return (
        b[0] - a[0] - (py * a[2] - pz * a[1]),
        b[1] - a[1] - (pz * a[0] - px * a[2]),
        b[2] - a[2] - (px * a[1] - py * a[0]),
    )


@kernel
def turn_between(a: Four, b: Four) -> Three:
    """Return the rotation vector, in world axes, from quaternion a to b."""
    x, y, z, w = quaternion_multiply(*b, -a[0], -a[1], -a[2], a[3])
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    s = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(s, w) / s if s > 1e-12 else 2.0
    return scale * x, scale * y, scale * z


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
def retreat(error: Vector, window: Window) -> None:
    """Multiply a gradient by the transposed transition over a window."""
    tilt, half = STANDARD_GRAVITY * window.span, 0.5 * window.span
    for i in range(3):
        error[XI + i] += half * error[POSITION + i]
    for i in range(3):
        phi, xi = error[PHI + i], error[XI + i]
        j_bias, v_bias = window.j_bias[i], window.v_bias[i]
        for j in range(3):
            error[BIAS_ERROR + j] += j_bias[j] * phi + v_bias[j] * xi
            error[ACCEL_ERROR + j] += j_bias[j] * xi
        j_matrix, v_matrix = window.j_matrix[i], window.v_matrix[i]
        for j in range(9):
            error[MATRIX_ERROR + j] += j_matrix[j] * phi + v_matrix[j] * xi
    error[PHI + 1] += tilt * error[XI]
    error[PHI] -= tilt * error[XI + 1]
    for i in range(3):
        error[XI + i] += half * error[POSITION + i]


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


@kernel
def backward(
    windows: Sequence[Window],
    estimates: Sequence[KnotEstimate],
    scalars: Sequence[ScalarUpdate],
    work: Sequence[LaterInformation],
) -> None:
    """Replace filtered means by smoothed ones."""
    gradient = work[0].gradient
    clear(gradient)
    for k in range(len(estimates) - 1, -1, -1):
        mean, covariance = estimates[k].mean, estimates[k].covariance
        for j in range(ERRORS):
            project(covariance, mean, j, -gradient[j])
        for m in range(estimates[k].measured - 1, -1, -1):
            scalar = scalars[MOST_MEASURED * k + m]
            slope = scalar.innovation
            for i in range(ERRORS):
                slope += scalar.gain[i] * gradient[i]
            for i in range(scalar.first, scalar.last):
                gradient[i] -= scalar.row[i] * slope
        if k > 0:
            retreat(gradient, windows[k - 1])


@kernel
def uncertainty(
    windows: Sequence[Window],
    estimates: Sequence[KnotEstimate],
    scalars: Sequence[ScalarUpdate],
    work: Sequence[LaterInformation],
    spreads: Sequence[SmoothedCovariance],
) -> None:
    """Write smoothed covariances."""
    later = work[0]
    for i in range(ERRORS):
        clear(later.hessian[i])
    for k in range(len(spreads) - 1, -1, -1):
        spread(later, estimates[k].covariance, spreads[k])
        for m in range(estimates[k].measured - 1, -1, -1):
            forget(later, scalars[MOST_MEASURED * k + m])
        if k > 0:
            for i in range(ERRORS):
                retreat(later.hessian[i], windows[k - 1])
            transpose(later.hessian)
            for i in range(ERRORS):
                retreat(later.hessian[i], windows[k - 1])


@kernel
def transpose(matrix: Matrix) -> None:
    """Exchange rows and columns."""
    for i in range(ERRORS):
        row = matrix[i]
        for j in range(i):
            a = row[j]
            row[j] = matrix[j][i]
            matrix[j][i] = a


@kernel
def forget(later: LaterInformation, scalar: ScalarUpdate) -> None:
    """Propagate the Hessian backward over a scalar measurement."""
    product, row, gain = later.product, scalar.row, scalar.gain
    multiply(later.hessian, gain, product)
    bend = 1.0
    for i in range(ERRORS):
        bend += product[i] * gain[i]
    for i in range(ERRORS):
        product[i] -= 0.5 * bend * row[i]
    for i in range(scalar.first, scalar.last):
        h, u, line = row[i], product[i], later.hessian[i]
        if h != 0.0:
            for j in range(ERRORS):
                line[j] -= h * product[j] + u * row[j]
            for j in range(ERRORS):
                if row[j] == 0.0:
                    later.hessian[j][i] -= product[j] * h


@kernel
def multiply(symmetric: Matrix, v: Vector, product: Vector) -> None:
    """Write the product of a symmetric matrix and a vector."""
    clear(product)
    for i in range(ERRORS):
        if v[i] != 0.0:
            project(symmetric, product, i, v[i])


@kernel
def spread(later: LaterInformation, covariance: Matrix, out: SmoothedCovariance) -> None:
    """Write P - P Hessian P for the orientation, and on the diagonal for the bias."""
    for a in range(3):
        multiply(later.hessian, covariance[a], later.product)
        for b in range(3):
            out.orientation[a][b] = left_of(covariance, a, b, later.product)
        multiply(later.hessian, covariance[BIAS_ERROR + a], later.product)
        out.bias[a] = left_of(covariance, BIAS_ERROR + a, BIAS_ERROR + a, later.product)


@kernel
def left_of(covariance: Matrix, a: int, b: int, product: Vector) -> float:
    """Return an element of P less its reduction by later measurements."""
    row = covariance[b]
    left = row[a]
    for j in range(ERRORS):
        left -= product[j] * row[j]
    return left


@kernel
def fill(
    steps: Sequence[Step],
    knots: Sequence[Knot],
    path: Sequence[Nominal],
    constants: Sequence[Constants],
    spreads: Sequence[SmoothedCovariance],
    rows: Sequence[FilterRow],
) -> None:
    """Write rows from the first knot to the last, with the corrected gyro between knots."""
    first = knots[0].at
    put_four(rows[0].orientation, four(path[0].orientation))
    for j in range(len(knots) - 1):
        at, end = knots[j].at, knots[j + 1].at
        bias, matrix = path[j].gyro_bias, constants[0].gyro_matrix
        q = rows[at - first].orientation
        before = four(q)
        put_four(q, four(path[j].orientation))
        elapsed = 0.0
        for i in range(at + 1, end + 1):
            step, row = steps[i], rows[i - first]
            elapsed += step.dt
            put_four(row.orientation, four(rows[i - 1 - first].orientation))
            turn_body(row.orientation, corrected_turn(bias, matrix, step.turn, step.dt))
        left = turn_between(four(rows[end - first].orientation), four(path[j + 1].orientation))
        done = 0.0
        for i in range(at, end + 1):
            row = rows[i - first]
            if i > at:
                done += steps[i].dt
            part = done / elapsed if elapsed > 0.0 else 0.0
            half = 0.5 * part
            turn = quaternion_exp(half * left[0], half * left[1], half * left[2])
            turn_world(row.orientation, turn)
            normalise(row.orientation, before)
            before = four(row.orientation)
            between(row, part, path[j].gyro_bias, path[j + 1].gyro_bias, spreads[j], spreads[j + 1])
            row.disturbed = knots[j + 1 if done > 0.0 else j].weight < DISTURBED


@kernel
def between(
    row: FilterRow,
    part: float,
    bias: Vector,
    bias_after: Vector,
    here: SmoothedCovariance,
    after: SmoothedCovariance,
) -> None:
    """Interpolate bias and covariance linearly between two knots."""
    for i in range(3):
        row.gyro_bias[i] = bias[i] + part * (bias_after[i] - bias[i])
        low, high = max(here.bias[i], 0.0), max(after.bias[i], 0.0)
        row.gyro_bias_sigma[i] = math.sqrt(low + part * (high - low))
        for j in range(3):
            a, b = here.orientation[i][j], after.orientation[i][j]
            row.covariance[i][j] = a + part * (b - a)

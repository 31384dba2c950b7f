"""Backward pass of the smoother, and the rows of its result.

The backward pass is that of Bierman ("Fixed interval smoothing with discrete measurements",
Int. J. Control 18, 1973): it propagates gradient and Hessian of the likelihood of later
measurements, needs no inverse of a covariance, and does not change states of zero variance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from strapdown._kernels.kernel import kernel
from strapdown.estimation.attitude import normalise, turn_body, turn_world
from strapdown.estimation.error_state.forward import DISTURBED
from strapdown.estimation.error_state.knots import (
    ERRORS,
    MOST_MEASURED,
    POSITION,
    Constants,
    Knot,
    KnotEstimate,
    LaterInformation,
    Nominal,
    ScalarUpdate,
    SmoothedCovariance,
    Step,
)
from strapdown.estimation.error_state.model import (
    ACCEL_ERROR,
    BIAS_ERROR,
    MATRIX_ERROR,
    PHI,
    XI,
    Window,
    corrected_turn,
)
from strapdown.estimation.error_state.windows import turn_between
from strapdown.geometry.formulas import quaternion_exp
from strapdown.geometry.vectors import clear, four, put_four
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.records import Matrix, Vector
    from strapdown.estimation.filter import FilterRow


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
        subtract_product(mean, covariance, gradient)
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
    clear(product)
    subtract_product(product, later.hessian, gain)
    bend = 1.0
    for i in range(ERRORS):
        bend -= product[i] * gain[i]
    for i in range(ERRORS):
        product[i] += 0.5 * bend * row[i]
    for i in range(scalar.first, scalar.last):
        h, u, line = row[i], product[i], later.hessian[i]
        if h != 0.0:
            for j in range(ERRORS):
                line[j] += h * product[j] + u * row[j]
            for j in range(ERRORS):
                if row[j] == 0.0:
                    later.hessian[j][i] += product[j] * h


@kernel
def subtract_product(out: Vector, symmetric: Matrix, v: Vector) -> None:
    """Subtract the product of a symmetric matrix and a vector, four rows at a time as in shrink."""
    for i in range(0, ERRORS, 4):
        a, b, c, d = symmetric[i], symmetric[i + 1], symmetric[i + 2], symmetric[i + 3]
        p, q, r, s = v[i], v[i + 1], v[i + 2], v[i + 3]
        for k in range(ERRORS):
            out[k] = out[k] - p * a[k] - q * b[k] - r * c[k] - s * d[k]


@kernel
def spread(later: LaterInformation, covariance: Matrix, out: SmoothedCovariance) -> None:
    """Write P - P Hessian P for the orientation, and on the diagonal for the bias."""
    for a in range(3):
        clear(later.product)
        subtract_product(later.product, later.hessian, covariance[a])
        for b in range(3):
            out.orientation[a][b] = left_of(covariance, a, b, later.product)
        clear(later.product)
        subtract_product(later.product, later.hessian, covariance[BIAS_ERROR + a])
        out.bias[a] = left_of(covariance, BIAS_ERROR + a, BIAS_ERROR + a, later.product)


@kernel
def left_of(covariance: Matrix, a: int, b: int, product: Vector) -> float:
    """Return an element of P less its reduction by later measurements."""
    row = covariance[b]
    left = row[a]
    for j in range(ERRORS):
        left += product[j] * row[j]
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

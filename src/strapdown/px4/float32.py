"""PX4's arithmetic in float32: integrator, running mean and variance, calibration.

Every operation is rounded separately, in the order of the autopilot, so all constants are float32
and no two operations may be fused. Its flaws are reproduced: the coning term of a sample uses the
sum of delta angles without the previous sample (``Integrator.hpp`` of PX4-Autopilot), where
Savage's algorithm includes it, so about a third of the coning error remains. Mode ``savage`` is
more accurate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy import float32 as F32  # noqa: N812 (the type of every number here)

from strapdown._kernels.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray

Vector: TypeAlias = tuple[np.float32, np.float32, np.float32]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]
Six: TypeAlias = tuple[np.float32, np.float32, np.float32, np.float32, np.float32, np.float32]

ZERO_F = F32(0.0)
ONE_F = F32(1.0)
HALF_F = F32(0.5)
SIXTH_F = F32(1.0) / F32(6.0)
MICRO_F = F32(1e-6)
MEGA_F = F32(1e6)
KEEP_F = F32(0.99)
ADD_F = F32(0.01)
ZERO = (ZERO_F, ZERO_F, ZERO_F)
SIX = (ZERO_F, ZERO_F, ZERO_F, ZERO_F, ZERO_F, ZERO_F)

COUNT_MAX = 65535  # largest value of the 16-bit counter of the running mean


class Integral(NamedTuple):
    """State of an integrator; the last two fields persist over the end of a window."""

    alpha: Vector
    beta: Vector
    last_alpha: Vector
    seconds: np.float32
    samples: int
    last_value: Vector
    last_delta: Vector


class Mean(NamedTuple):
    """Mean and sum of squared deviations (Welford), each with its compensation (Kahan)."""

    number: int
    mean: np.float32
    mean_carry: np.float32
    m2: np.float32
    m2_carry: np.float32


class Spread(NamedTuple):
    """The same for vectors; squares and products are the upper triangle by rows."""

    number: int
    mean: Vector
    mean_carry: Vector
    m2: Six
    m2_carry: Six


class Correction(NamedTuple):
    """A calibration in the form of the kernels; a gyroscope has scale 1."""

    thermal: Vector
    offset: Vector
    scale: Vector
    rotation: Matrix


FRESH = Integral(ZERO, ZERO, ZERO, ZERO_F, 0, ZERO, ZERO)
EMPTY = Mean(0, ZERO_F, ZERO_F, ZERO_F, ZERO_F)
EMPTY_SPREAD = Spread(0, ZERO, ZERO, SIX, SIX)


@kernel
def seconds_between(t_us: int, previous_us: int) -> np.float32:
    """Return a time difference as PX4 computes it, rounded twice."""
    return F32(t_us - previous_us) * MICRO_F


@kernel
def reset(s: Integral) -> Integral:
    return Integral(ZERO, ZERO, ZERO, ZERO_F, 0, s.last_value, s.last_delta)


@kernel
def put(
    s: Integral,
    value: Vector,
    dt: np.float32,
    dt_max: np.float32,
    coning: bool,
) -> Integral:
    """Integrate a sample by the trapezoid rule.

    A sample restarts the window if its time step is 1 us or less, or if the window would reach
    ``dt_max``.
    """
    if not (dt > MICRO_F and s.seconds + dt < dt_max):
        return Integral(ZERO, ZERO, ZERO, ZERO_F, 0, value, s.last_delta)
    x, y, z = value
    a, b, c = s.last_value
    delta = (((x + a) * dt) * HALF_F, ((y + b) * dt) * HALF_F, ((z + c) * dt) * HALF_F)
    beta = s.beta
    if coning:
        turned = cross(add(s.last_alpha, scaled(s.last_delta, SIXTH_F)), delta)
        beta = add(beta, scaled(turned, HALF_F))
    return Integral(add(s.alpha, delta), beta, s.alpha, s.seconds + dt, s.samples + 1, value, delta)


@kernel
def is_ready(s: Integral, samples_min: int, seconds_min: np.float32) -> bool:
    return s.samples >= samples_min or bool(s.seconds >= seconds_min)


@kernel
def total(s: Integral) -> Vector:
    """Return the integral over the window, coning included."""
    return add(s.alpha, s.beta)


@kernel
def length_us(s: Integral) -> int:
    return rounded(s.seconds * MEGA_F)


@kernel
def rounded(x: np.float32) -> int:
    """Round to the nearest whole number, halves away from zero; x is not negative."""
    return math.floor(np.float64(x) + 0.5)


@kernel
def integrate(
    state: Integral,
    previous_us: int,
    t_us: IntArray,
    values: NDArray[np.float32],
    is_last: BoolArray,
    samples_min: int,
    dt_max: np.float32,
    coning: bool,
    ends: IntArray,
    lengths_us: IntArray,
    deltas: NDArray[np.float32],
) -> tuple[Integral, int]:
    """Integrate all samples; at the end of each window write its row, length and delta.

    A window ends with enough samples, and with each sample marked in ``is_last``.
    """
    windows = 0
    for i in range(len(t_us)):
        dt = seconds_between(t_us[i], previous_us)
        previous_us = t_us[i]
        value = (values[i, 0], values[i, 1], values[i, 2])
        state = put(state, value, dt, dt_max, coning)
        if is_last[i] or state.samples >= samples_min:
            delta = total(state)
            for axis in range(3):
                deltas[windows, axis] = delta[axis]
            ends[windows] = i
            lengths_us[windows] = length_us(state)
            state = reset(state)
            windows += 1
    return state, windows


@kernel
def update(s: Mean, x: np.float32) -> Mean:
    """Add a number to a running mean; a number that is not finite restarts it.

    The counter has 16 bits: after 65535 numbers the mean restarts and the variance continues.
    """
    if s.number == 0:
        s = Mean(1, x, ZERO_F, ZERO_F, ZERO_F)
    else:
        count, m2, m2_carry = s.number + 1, s.m2, s.m2_carry
        if s.number == COUNT_MAX:
            count, m2, m2_carry = 1, m2 / F32(COUNT_MAX), ZERO_F
        d = x - s.mean
        mean, mean_carry = compensated(s.mean, d / F32(count), s.mean_carry)
        m2, m2_carry = compensated(m2, d * (x - mean), m2_carry)
        s = Mean(count, mean, mean_carry, max(m2, ZERO_F), m2_carry)
    if not (math.isfinite(s.mean) and math.isfinite(s.m2)):
        return EMPTY
    return s


@kernel
def update_spread(s: Spread, v: Vector) -> Spread:
    """Add a vector to a running mean and covariance, as :func:`update` does a number."""
    if s.number == 0:
        s = Spread(1, v, ZERO, SIX, SIX)
    else:
        count, m2, c = s.number + 1, s.m2, s.m2_carry
        if s.number == COUNT_MAX:
            count, k = 1, F32(COUNT_MAX)
            m2 = (m2[0] / k, m2[1] / k, m2[2] / k, m2[3] / k, m2[4] / k, m2[5] / k)
            c = SIX
        k = F32(count)
        d0, d1, d2 = v[0] - s.mean[0], v[1] - s.mean[1], v[2] - s.mean[2]
        x, x_carry = compensated(s.mean[0], d0 / k, s.mean_carry[0])
        y, y_carry = compensated(s.mean[1], d1 / k, s.mean_carry[1])
        z, z_carry = compensated(s.mean[2], d2 / k, s.mean_carry[2])
        e0, e1, e2 = v[0] - x, v[1] - y, v[2] - z
        xx, xx_carry = compensated(m2[0], d0 * e0, c[0])
        xy, xy_carry = compensated(m2[1], d0 * e1, c[1])
        xz, xz_carry = compensated(m2[2], d0 * e2, c[2])
        yy, yy_carry = compensated(m2[3], d1 * e1, c[3])
        yz, yz_carry = compensated(m2[4], d1 * e2, c[4])
        zz, zz_carry = compensated(m2[5], d2 * e2, c[5])
        s = Spread(
            count,
            (x, y, z),
            (x_carry, y_carry, z_carry),
            (max(xx, ZERO_F), xy, xz, max(yy, ZERO_F), yz, max(zz, ZERO_F)),
            (xx_carry, xy_carry, xz_carry, yy_carry, yz_carry, zz_carry),
        )
    sizes = abs(s.mean[0]) + abs(s.mean[1]) + abs(s.mean[2]) + s.m2[0] + s.m2[3] + s.m2[5]
    return s if math.isfinite(sizes) else EMPTY_SPREAD


@kernel
def turned_variance(s: Spread, r: Matrix) -> Vector:
    """Return the diagonal of R C R', the variances about turned axes."""
    k = F32(s.number - 1)
    xx, xy, xz, yy, yz, zz = s.m2
    rows = (
        (xx / k, xy / k, xz / k),
        (xy / k, yy / k, yz / k),
        (xz / k, yz / k, zz / k),
    )
    return (
        dot(r[0], turned(rows, r[0])),
        dot(r[1], turned(rows, r[1])),
        dot(r[2], turned(rows, r[2])),
    )


@kernel
def compensated(
    total: np.float32, x: np.float32, carry: np.float32
) -> tuple[np.float32, np.float32]:
    """Return a sum and its rounding error (Kahan)."""
    y = x - carry
    t = total + y
    return t, (t - total) - y


@kernel
def is_valid(s: Mean) -> bool:
    return s.number > 2


@kernel
def variance(s: Mean) -> np.float32:
    return s.m2 / F32(s.number - 1)


@kernel
def mean_rate(delta: Vector, seconds: np.float32) -> Vector:
    """Return a delta divided by its time, as a product with the reciprocal like in PX4."""
    return scaled(delta, ONE_F / seconds)


@kernel
def corrected(value: Vector, c: Correction) -> Vector:
    """Return a calibrated reading: thermal offset, offset and scale, then rotation to body axes."""
    x, y, z = value
    return turned(
        c.rotation,
        (
            ((x - c.thermal[0]) - c.offset[0]) * c.scale[0],
            ((y - c.thermal[1]) - c.offset[1]) * c.scale[1],
            ((z - c.thermal[2]) - c.offset[2]) * c.scale[2],
        ),
    )


@kernel
def vibration(metric: np.float32, value: Vector, last: Vector) -> np.float32:
    """Return the slow mean of the steps between the mean rates of windows."""
    step = (value[0] - last[0], value[1] - last[1], value[2] - last[2])
    return KEEP_F * metric + ADD_F * norm(step)


@kernel
def vibrations(
    metric: np.float32, values: NDArray[np.float32], metrics: NDArray[np.float32]
) -> None:
    """Compute the metric after each window; the first has no step."""
    last = (ZERO_F, ZERO_F, ZERO_F)
    for i in range(len(values)):
        value = (values[i, 0], values[i, 1], values[i, 2])
        if i > 0:
            metric = vibration(metric, value, last)
        last = value
        metrics[i] = metric


@kernel
def norm(v: Vector) -> np.float32:
    return F32(math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]))


@kernel
def turned(m: Matrix, v: Vector) -> Vector:
    return dot(m[0], v), dot(m[1], v), dot(m[2], v)


@kernel
def dot(a: Vector, b: Vector) -> np.float32:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vector, b: Vector) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@kernel
def add(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def scaled(v: Vector, factor: np.float32) -> Vector:
    return v[0] * factor, v[1] * factor, v[2] * factor

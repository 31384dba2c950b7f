"""Tilt and gyro bias of VQF, from gravity and rest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.estimation.attitude import UNKNOWN
from strapdown.estimation.vqf.low_pass import design, low_pass, paced
from strapdown.estimation.vqf.small_angles import quick_gain, unit, upright
from strapdown.estimation.vqf.symmetric import (
    DIAGONAL,
    Nine,
    inverse,
    quadratic,
    rows,
    shrink,
    six,
    times,
)
from strapdown.geometry.formulas import quaternion_multiply, quaternion_rotate
from strapdown.geometry.vectors import (
    clamped,
    copy,
    distance2,
    dot,
    four,
    put,
    put_four,
    square,
    three,
)

if TYPE_CHECKING:
    from strapdown._kernels.records import Vector
    from strapdown._typing import Four, Three
    from strapdown.estimation.vqf.params import VqfParams
    from strapdown.estimation.vqf.state import VqfMemory

FORGOTTEN: Final = 0.1 * math.pi / 180.0  # rad/s, drift of the bias in bias_forgetting_time
MIN_UP: Final = 1.0  # m/s^2; a mean specific force this small (free fall) has no direction
CORRELATED_S: Final = 0.3  # correlation time of the accelerations of a motion, ...
FORCE_WORTH: Final = 0.2**2 * CORRELATED_S  # rad^2 s, ... of 0.2 of gravity: error of a mean
IDENTITY: Final = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@kernel
def design_for_rate(s: VqfMemory, p: VqfParams) -> None:
    """Fit the low-pass of the gyro to its sampling interval."""
    interval = s.rate_pace.designed = s.rate_pace.interval
    design(s.slow_rate, p.rest_tau, interval)


@kernel
def design_for_force(s: VqfMemory, p: VqfParams) -> None:
    """Fit low-passes and noise of the bias to the sampling interval of the accelerometer."""
    interval = s.force_pace.designed = s.force_pace.interval
    design(s.level, p.tau_acc, interval)
    design(s.attitude, p.tau_acc, interval)
    design(s.level_bias, p.tau_acc, interval)
    design(s.slow_force, p.rest_tau, interval)
    s.drift = FORGOTTEN * FORGOTTEN / p.bias_forgetting_time
    s.noise_level = steady_noise(p.bias_sigma_motion, s.drift * interval)
    s.noise_vertical = s.noise_level / p.bias_vertical_forgetting
    s.noise_at_rest = steady_noise(p.bias_sigma_rest, s.drift * interval)


@kernel
def steady_noise(sigma: float, drift: float) -> float:
    """Return the measurement variance for a steady-state uncertainty sigma of a drifting state."""
    variance = sigma * sigma
    return variance * variance / drift + variance


@kernel
def watch_rate(s: VqfMemory, p: VqfParams, wait: float, rate: Vector) -> None:
    """End the rest if the rate differs from its low-pass, or the low-pass exceeds a bias."""
    if paced(s.rate_pace, wait):
        design_for_rate(s, p)
    slow = s.slow_rate.output
    put(slow, three(rate))
    low_pass(s.slow_rate, p.rest_tau, s.rate_pace.interval)
    most = max(abs(slow[0]), abs(slow[1]), abs(slow[2]))
    if distance2(rate, slow) >= p.rest_rate * p.rest_rate or most > p.bias_clip:
        s.rest_s = 0.0
        s.at_rest = False


@kernel
def watch_force(s: VqfMemory, p: VqfParams, wait: float, force: Vector) -> None:
    """End the rest if the specific force differs from its low-pass; otherwise continue it."""
    if paced(s.force_pace, wait):
        design_for_force(s, p)
    put(s.slow_force.output, three(force))
    low_pass(s.slow_force, p.rest_tau, s.force_pace.interval)
    if distance2(force, s.slow_force.output) >= p.rest_force * p.rest_force:
        s.rest_s = 0.0
        s.at_rest = False
        return
    s.rest_s += wait
    if s.rest_s >= p.rest_time:
        s.at_rest = True


@kernel
def correct_tilt(s: VqfMemory, p: VqfParams, force: Vector) -> tuple[float, float]:
    """Correct tilt by the smallest rotation that points the low-passed specific force up.

    Return east and north of its direction before the correction, from which the bias is learnt;
    0 for the first sample, which only initialises tilt.
    """
    put(s.level.output, quaternion_rotate(*four(s.gyro), *three(force)))
    from_base = s.has_base and s.level.count >= 0.0
    first = s.level.count == 0.0
    low_pass(s.level, p.tau_acc, s.force_pace.interval)
    qx, qy, qz, qw = unit(*four(s.base)) if from_base else unit(*four(s.tilt))
    up = quaternion_rotate(qx, qy, qz, qw, *three(s.level.output))
    size2 = square(up)
    if size2 < MIN_UP * MIN_UP:
        return 0.0, 0.0
    scale = math.sqrt(size2) * (1.0 / size2)  # its rounding differs from that of 1 / sqrt
    east, north = scale * up[0], scale * up[1]
    px, py, pw = upright(east, north, scale * up[2])
    put_four(s.tilt, quaternion_multiply(px, py, 0.0, pw, qx, qy, qz, qw))
    return (0.0, 0.0) if first else (east, north)


@kernel
def learn_bias(s: VqfMemory, p: VqfParams, wait: float, up_x: float, up_y: float, r: Nine) -> None:
    """Learn the gyro bias: at rest from the readings, in motion from the tilt corrections.

    A Kalman filter with the measurement e = H (bias - estimate), H the identity or the low-passed
    matrix of the attitude.
    """
    bias, turned = s.gyro_bias, s.level_bias.output
    copy(s.attitude.output, r)
    east, north, _ = rows(r)
    turned[0], turned[1] = dot(east, bias), dot(north, bias)
    low_pass(s.attitude, p.tau_acc, s.force_pace.interval)
    low_pass(s.level_bias, p.tau_acc, s.force_pace.interval)
    for i in DIAGONAL:
        if s.bias_covariance[i] < p.bias_sigma_start * p.bias_sigma_start:
            s.bias_covariance[i] += s.drift * wait
    s.pause_s = max(s.pause_s - s.force_pace.interval, 0.0)
    if s.at_rest and p.learn_bias_at_rest:
        h, slow = IDENTITY, s.slow_rate.output
        level = vertical = s.noise_at_rest
        error = (slow[0] - bias[0], slow[1] - bias[1], slow[2] - bias[2])
    elif s.pause_s == 0.0 and p.learn_bias_in_motion:
        h, pace = rows(s.attitude.output), 1.0 / s.force_pace.designed
        level, vertical = s.noise_level, s.noise_vertical
        error = (
            turned[0] - up_y * pace - dot(h[0], bias),
            turned[1] + up_x * pace - dot(h[1], bias),
            -dot(h[2], bias),
        )
    else:
        return
    update_bias(s, p.bias_clip, h, level, vertical, error)


@kernel
def update_bias(
    s: VqfMemory,
    clip: float,
    h: tuple[Three, Three, Three],
    level: float,
    vertical: float,
    error: Three,
) -> None:
    """Update bias and covariance by three measurements with independent noises."""
    known = six(s.bias_covariance)
    a, b, c = times(known, h[0]), times(known, h[1]), times(known, h[2])  # columns of P H^T
    measured = inverse(
        dot(h[0], a) + level,
        dot(h[0], b),
        dot(h[0], c),
        dot(h[1], b) + level,
        dot(h[1], c),
        dot(h[2], c) + vertical,
    )
    across = (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])
    gain = rows(shrink(s.bias_covariance, across, measured))
    told = (clamped(error[0], clip), clamped(error[1], clip), clamped(error[2], clip))
    for i in range(3):
        s.gyro_bias[i] = clamped(s.gyro_bias[i] + dot(gain[i], told), clip)


@kernel
def let_errors_grow(s: VqfMemory, p: VqfParams, dt: float) -> None:
    """Increase the variances of tilt and heading by the noise and the bias of the gyro."""
    spread = s.bias_covariance
    about_up = variance_about_up(spread, four(s.orientation))
    level = 0.5 * max(spread[0] + spread[3] + spread[5] - about_up, 0.0)
    noise = p.rate_noise * p.rate_noise
    tilt, heading = s.covariance[0][0], s.covariance[2][2]
    tilt += dt * (noise + 2.0 * math.sqrt(tilt * level))
    heading += dt * (noise + 2.0 * math.sqrt(heading * about_up))
    set_tilt_variance(s, min(tilt, UNKNOWN))
    s.covariance[2][2] = min(heading, UNKNOWN)


@kernel
def variance_about_up(bias_covariance: Vector, orientation: Four) -> float:
    """Return the variance of the gyro bias about the vertical."""
    x, y, z, w = orientation
    return quadratic(
        bias_covariance, 2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)
    )


@kernel
def narrow_tilt(s: VqfMemory, p: VqfParams, wait: float) -> None:
    """Reduce the variance of tilt towards that of the averaged specific force."""
    floor, tilt, count = p.tilt_sigma * p.tilt_sigma, s.covariance[0][0], s.level.count
    if count >= 0.0:
        floor = max(floor, FORCE_WORTH / (count * s.force_pace.interval + CORRELATED_S))
        tilt = min(tilt, floor)
    kept = 1.0 - quick_gain(wait, p.tau_acc)
    set_tilt_variance(s, floor + kept * kept * (tilt - floor))


@kernel
def set_tilt_variance(s: VqfMemory, tilt: float) -> None:
    """Write the variance about the level axes."""
    s.covariance[0][0] = s.covariance[1][1] = tilt

"""Alignment at rest: tilt, gyro bias and their covariance from mean readings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.estimation.navigation.errors import (
    Correction,
    correct,
    heading_slopes,
    inject,
    put_slopes,
    widen,
)
from strapdown.estimation.navigation.state import (
    ACCEL_BIAS,
    ALTITUDE_BIAS,
    GYRO_BIAS,
    ORIENTATION,
    VELOCITY,
)
from strapdown.geometry.formulas import (
    quaternion_from_half_angles_zyx,
    quaternion_rotate,
    quaternion_to_matrix,
)
from strapdown.geometry.triples import ZERO, scaled
from strapdown.geometry.vectors import add_to, clear, four, length, put_four, square, three
from strapdown.inertial.navigation.mechanisation import Earth, gravity_at

if TYPE_CHECKING:
    from strapdown._typing import Three
    from strapdown.estimation.navigation.params import NavigatorParams
    from strapdown.estimation.navigation.state import NavigatorMemory

SURPRISE: Final = 9.0  # squared sigmas; with a larger value the sensor was not at rest
UNSTEADY: Final = 4.0  # times the variance of white noise: likewise
SHORTEST_S: Final = 0.005  # least duration of a mean
UNKNOWN_TURN: Final = 1.0  # rad^2, variance of an unknown angle


@kernel
def align(
    s: NavigatorMemory,
    p: NavigatorParams,
    earth: Earth,
    c: Correction,
    h: float,
    rate: Three,
    force: Three,
) -> None:
    """Add readings at rest, h seconds after the last, and set the state from the means."""
    sums = s.alignment
    sums.seconds += h
    sums.count += 1.0
    add_to(sums.rate, rate)
    add_to(sums.force, force)
    sums.rate_square += square(rate)
    sums.force_square += square(force)
    settle(s, p, earth, c)
    s.aligned = sums.seconds >= p.align_for


@kernel
def align_anew(s: NavigatorMemory) -> None:
    """Clear the sums of the readings."""
    sums = s.alignment
    sums.seconds = sums.count = sums.rate_square = sums.force_square = 0.0
    clear(sums.rate)
    clear(sums.force)


@kernel
def settle(s: NavigatorMemory, p: NavigatorParams, earth: Earth, c: Correction) -> None:
    """Set the state to that of a sensor at rest in the origin.

    Tilt is estimated from the mean specific force, the gyro bias from the mean rate, each with
    its prior; evidence of motion increases their variances.
    """
    sums = s.alignment
    count, span = sums.count, max(sums.seconds, SHORTEST_S)
    f = scaled(three(sums.force), 1.0 / count)
    w = scaled(three(sums.rate), 1.0 / count)
    gravity = -gravity_at(earth, ZERO)[2]
    begin_level(s, p, c, f)
    noise = of_mean(p.accel_noise, span, count, sums.force_square / count - square(f))
    excess = math.sqrt(square(f)) - gravity
    noise += surprise(excess * excess, p.accel_bias_sigma)
    measure_gravity(s, c, f, gravity, noise)
    noise = of_mean(p.gyro_noise, span, count, sums.rate_square / count - square(w))
    noise += surprise(square(w), p.gyro_bias_sigma)
    forward = quaternion_rotate(*four(s.orientation), 1.0, 0.0, 0.0)
    clear(c.slopes)
    put_slopes(c.slopes, ORIENTATION, heading_slopes(*forward))
    correct(s, c, 0.0, p.heading_sigma * p.heading_sigma)
    x, y, z, scalar = four(s.orientation)
    spin = quaternion_rotate(-x, -y, -z, scalar, 0.0, earth.rate_north, earth.rate_up)
    for k in range(3):
        clear(c.slopes)
        c.slopes[GYRO_BIAS + k] = 1.0
        correct(s, c, w[k] - spin[k], noise)
    inject(s, c)


@kernel
def begin_level(s: NavigatorMemory, p: NavigatorParams, c: Correction, f: Three) -> None:
    """Set tilt from a specific force, the other states and the covariance from the parameters."""
    roll, pitch = math.atan2(f[1], f[2]), math.atan2(-f[0], length(f[1], f[2]))
    yaw = p.heading
    put_four(
        s.orientation,
        quaternion_from_half_angles_zyx(
            math.sin(0.5 * roll), math.cos(0.5 * roll), math.sin(0.5 * pitch),
            math.cos(0.5 * pitch), math.sin(0.5 * yaw), math.cos(0.5 * yaw),
        ),
    )  # fmt: skip
    clear(s.velocity)
    clear(s.position)
    clear(s.gyro_bias)
    clear(s.accel_bias)
    s.altitude_bias = 0.0
    clear(c.error)
    covariance = s.error_covariance
    for k in range(len(covariance)):
        clear(covariance[k])
    widen(covariance, VELOCITY, p.velocity_sigma * p.velocity_sigma)
    widen(covariance, ORIENTATION, UNKNOWN_TURN)
    widen(covariance, ACCEL_BIAS, p.accel_bias_sigma * p.accel_bias_sigma)
    widen(covariance, GYRO_BIAS, p.gyro_bias_sigma * p.gyro_bias_sigma)
    covariance[ALTITUDE_BIAS][ALTITUDE_BIAS] = p.altitude_bias_sigma * p.altitude_bias_sigma


@kernel
def measure_gravity(
    s: NavigatorMemory, c: Correction, f: Three, gravity: float, variance: float
) -> None:
    """Update with a specific force that is the sum of gravity and a bias."""
    rxx, rxy, rxz, ryx, ryy, ryz, rzx, rzy, rzz = quaternion_to_matrix(*four(s.orientation))
    axes = ((rxx, ryx, rzx), (rxy, ryy, rzy), (rxz, ryz, rzz))  # of the body, in the world
    for k in range(3):
        # along an axis u: u . (0, 0, gravity), where a tilt phi of the body turns u with it
        u = axes[k]
        clear(c.slopes)
        put_slopes(c.slopes, ORIENTATION, (gravity * u[1], -gravity * u[0], 0.0))
        c.slopes[ACCEL_BIAS + k] = 1.0
        correct(s, c, f[k] - gravity * u[2], variance)


@kernel
def of_mean(density: float, span: float, count: float, square: float) -> float:
    """Return the variance of a mean; in motion it includes the variance of the samples."""
    white = density * density / span
    return white + (square if square > UNSTEADY * 3.0 * count * white else 0.0)


@kernel
def surprise(square: float, sigma: float) -> float:
    """Return a squared mean if it is too large for a bias; else 0."""
    return square if square > SURPRISE * sigma * sigma else 0.0

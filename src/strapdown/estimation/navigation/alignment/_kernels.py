"""The start at rest: tilt from the accelerometer, bias of the gyro, and how sure they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import BIAS, orientation, store_orientation
from strapdown.estimation.navigation._kernels import (
    ACCEL_BIAS,
    D_ACCEL_BIAS,
    D_GYRO_BIAS,
    D_ORIENTATION,
    D_VELOCITY,
    ERROR,
    NAVIGATOR,
    POSITION,
    ROW,
    VELOCITY,
    begin_row,
    correct,
    heading_row,
    inject,
    widen,
)
from strapdown.estimation.navigation.memory._kernels import (
    ACCEL_BIAS_SIGMA,
    ACCEL_NOISE,
    ALIGN_FOR,
    ALIGN_TIME,
    ALIGNED,
    COUNT,
    GYRO_BIAS_SIGMA,
    GYRO_NOISE,
    HEADING,
    HEADING_SIGMA,
    SUM_FORCE,
    SUM_FORCE_SQUARE,
    SUM_RATE,
    SUM_RATE_SQUARE,
    VELOCITY_SIGMA,
    dot,
    earth_of,
    store,
    three,
)
from strapdown.geometry._kernels import (
    quaternion_from_half_angles_zyx,
    quaternion_rotate,
    quaternion_to_matrix,
)
from strapdown.integration.navigation._kernels import ZERO, gravity_at, scaled

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.integration._kernels import Vector

BORROWS = True

SURPRISE: Final = 9.0  # squared sigmas, beyond which the sensor was not at rest at the start
UNSTEADY: Final = 4.0  # times the variance that white noise gives: likewise
SHORTEST_S: Final = 0.005  # of a mean over samples
UNKNOWN_TURN: Final = 1.0  # rad^2


def align(state: FloatArray, settings: FloatArray, h: float, w: Vector, f: Vector) -> None:
    """Take readings at rest, h seconds after the last, and set everything from their means."""
    state[ALIGN_TIME] += h
    state[COUNT] += 1.0
    for k in range(3):
        state[SUM_RATE + k] += w[k]
        state[SUM_FORCE + k] += f[k]
    state[SUM_RATE_SQUARE] += dot(w, w)
    state[SUM_FORCE_SQUARE] += dot(f, f)
    settle(state, settings)
    if state[ALIGN_TIME] >= settings[ALIGN_FOR]:
        state[ALIGNED] = 1.0


def settle(state: FloatArray, settings: FloatArray) -> None:
    """Set everything as of a sensor at rest in the origin.

    Tilt is that of the mean specific force, and the gyro bias the mean rate, each within its
    prior; what speaks against rest makes them uncertain.
    """
    count = state[COUNT]
    span = max(state[ALIGN_TIME], SHORTEST_S)
    f = scaled(three(state, SUM_FORCE), 1.0 / count)
    w = scaled(three(state, SUM_RATE), 1.0 / count)
    earth = earth_of(settings)
    gravity = -gravity_at(earth, ZERO)[2]
    begin_level(state, settings, f)
    noise = of_mean(settings[ACCEL_NOISE], span, count, state[SUM_FORCE_SQUARE] / count - dot(f, f))
    excess = math.sqrt(dot(f, f)) - gravity
    measure_gravity(
        state, f, gravity, noise + surprise(excess * excess, settings[ACCEL_BIAS_SIGMA])
    )
    noise = of_mean(settings[GYRO_NOISE], span, count, state[SUM_RATE_SQUARE] / count - dot(w, w))
    noise += surprise(dot(w, w), settings[GYRO_BIAS_SIGMA])
    forward = quaternion_rotate(*orientation(state), 1.0, 0.0, 0.0)
    begin_row(state)
    store(state, ROW + D_ORIENTATION, heading_row(*forward))
    correct(state, 0.0, settings[HEADING_SIGMA] ** 2)
    qx, qy, qz, qw = orientation(state)
    spin = quaternion_rotate(-qx, -qy, -qz, qw, 0.0, earth.rate_north, earth.rate_up)
    for k in range(3):
        begin_row(state)
        state[ROW + D_GYRO_BIAS + k] = 1.0
        correct(state, w[k] - spin[k], noise)
    inject(state)


def begin_level(state: FloatArray, settings: FloatArray, f: Vector) -> None:
    """Set the tilt of a specific force, everything else as it was told, and how sure it is."""
    roll, pitch = math.atan2(f[1], f[2]), math.atan2(-f[0], math.hypot(f[1], f[2]))
    yaw = settings[HEADING]
    store_orientation(
        state,
        *quaternion_from_half_angles_zyx(
            math.sin(0.5 * roll), math.cos(0.5 * roll), math.sin(0.5 * pitch),
            math.cos(0.5 * pitch), math.sin(0.5 * yaw), math.cos(0.5 * yaw),
        ),
    )  # fmt: skip
    for at in (VELOCITY, POSITION, BIAS, ACCEL_BIAS):
        store(state, at, ZERO)
    for k in range(ERROR, NAVIGATOR):
        state[k] = 0.0
    widen(state, D_VELOCITY, settings[VELOCITY_SIGMA] ** 2)
    widen(state, D_ORIENTATION, UNKNOWN_TURN)
    widen(state, D_ACCEL_BIAS, settings[ACCEL_BIAS_SIGMA] ** 2)
    widen(state, D_GYRO_BIAS, settings[GYRO_BIAS_SIGMA] ** 2)


def measure_gravity(state: FloatArray, f: Vector, gravity: float, variance: float) -> None:
    """Tell that a specific force is that of gravity and a bias."""
    a, b, c, d, e, g, x, y, z = quaternion_to_matrix(*orientation(state))
    columns = ((a, d, x), (b, e, y), (c, g, z))  # the axes of the body in the world
    for k in range(3):
        # along an axis u: u . (0, 0, gravity), where a tilt phi of the body turns u with it
        u = columns[k]
        begin_row(state)
        store(state, ROW + D_ORIENTATION, (gravity * u[1], -gravity * u[0], 0.0))
        state[ROW + D_ACCEL_BIAS + k] = 1.0
        correct(state, f[k] - gravity * u[2], variance)


def of_mean(density: float, span: float, count: float, square: float) -> float:
    """Return the variance of a mean; of what is not as steady as its noise, that of a sample."""
    white = density * density / span
    return white + (square if square > UNSTEADY * 3.0 * count * white else 0.0)


def surprise(square: float, sigma: float) -> float:
    """Return the square of what is too large for a bias."""
    return square if square > SURPRISE * sigma * sigma else 0.0

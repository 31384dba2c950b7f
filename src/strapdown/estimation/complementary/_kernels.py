"""One sample into the complementary filter.

The state goes on from that of the classical filters:

=====  ===============  ==================================================================
state  name             holds
=====  ===============  ==================================================================
34-36  SLOW_RATE        low-passed angular velocity [rad/s, body]
37-39  SLOW_FORCE       low-passed specific force [m/s^2, body]
40     REST             how long the sensor has been at rest [s]
41-43  FORCE            mean specific force, first pole [m/s^2, world]
44-46  UP               the same, second pole: the direction that is up
47     FIELD_NORTH      horizontal part of the usual magnetic field [as measured]
48     FIELD_UP         vertical part of it
=====  ===============  ==================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import (
    AT_REST,
    BIAS,
    BIAS_SIGMA,
    DISTURBED,
    DROPPED,
    START,
    approach,
    gain,
    intake,
    normalise,
    opening_gain,
    orientation,
    turn_world,
)
from strapdown.estimation.classical._kernels import (
    ACCEL_NOISE,
    BIAS_SPREAD,
    CLASSICAL,
    CLASSICAL_SETTINGS,
    FIELD_NOISE,
    FRESH_CLASSICAL,
    GYRO_NOISE,
    HEADING_CROSS,
    MIN_UP,
    NORTH_AGE,
    TILT_CROSS,
    UP_AGE,
    aged,
    predict,
    stands_for,
    steepness,
    tighten_heading,
    tighten_tilt,
    turn_body,
    upward,
)
from strapdown.geometry._kernels import quaternion_exp, quaternion_rotate
from strapdown.intake._kernels import usable
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

BORROWS = True

SLOW_RATE: Final = CLASSICAL
SLOW_FORCE: Final = CLASSICAL + 3
REST: Final = CLASSICAL + 6
FORCE: Final = CLASSICAL + 7
UP: Final = CLASSICAL + 10
FIELD_NORTH: Final = CLASSICAL + 13
FIELD_UP: Final = CLASSICAL + 14
FRESH: Final = FRESH_CLASSICAL + 15 * (0.0,)

TAU_ACC: Final = CLASSICAL_SETTINGS  # places in the settings
TAU_MAG: Final = CLASSICAL_SETTINGS + 1
BIAS_LIMIT: Final = CLASSICAL_SETTINGS + 2

MOST_FORCE: Final = 16.0 * STANDARD_GRAVITY  # m/s^2, a usual range

REST_RATE: Final = 2.0 * math.pi / 180.0  # rad/s, about the low-passed value; as in VQF
REST_FORCE: Final = 0.5  # m/s^2, likewise
REST_SMOOTHING_S: Final = 0.5
REST_AFTER_S: Final = 1.5
BIAS_S: Final = 1.0

FIELD_TOLERANCE: Final = 0.1  # of the usual field: that far away a sample counts half
FIELD_MEMORY_S: Final = 20.0


def step(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    mx: float,
    my: float,
    mz: float,
    clipped: int,
) -> None:
    """Predict by the gyro, then correct tilt by the accelerometer and heading by the field."""
    s = intake(state, account, settings, t_ns, wx, wy, wz, ax, ay, az, mx, my, mz, clipped)
    if s.event == DROPPED:
        return
    before = orientation(state)
    part = predict(state, settings, s)
    if s.event == START or s.hole > 0.0:
        state[REST] = 0.0
    if s.has_force and not s.clipped & 56:
        correct_tilt(state, settings, stands_for(state, s, s.force_wait), ax, ay, az)
    if s.has_field:
        correct_heading(state, settings, stands_for(state, s, s.field_wait), mx, my, mz)
    if s.has_rate and s.has_force:
        learn_bias(state, settings, s.dt, wx, wy, wz, ax, ay, az)
    turn_body(state, s, 1.0 - part)
    normalise(state, *before)


def correct_tilt(
    state: FloatArray, settings: FloatArray, wait: float, ax: float, ay: float, az: float
) -> None:
    """Turn the world by the smallest rotation that brings the mean specific force up.

    The mean is a vector mean in world axes: the accelerations of a motion that stays in
    place average out, as they would not in directions (D. Laidig, T. Seel, "VQF",
    Information Fusion 91, 2023). Two equal poles delay it by ``tau`` together. What
    exceeds the usual range of accelerometers is an impact, and counts as that range.
    """
    age, tau = state[UP_AGE], settings[TAU_ACC]
    pole = 0.5 * tau
    part = opening_gain(age, wait, pole)
    bound = MOST_FORCE / max(math.sqrt(ax * ax + ay * ay + az * az), MOST_FORCE)
    x, y, z = quaternion_rotate(*orientation(state), ax, ay, az)
    approach(state, FORCE, part, bound * x, bound * y, bound * z)
    second = gain(wait, pole) if age >= tau else 1.0
    approach(state, UP, second, state[FORCE], state[FORCE + 1], state[FORCE + 2])
    state[UP_AGE] = aged(age, wait)
    noise = settings[ACCEL_NOISE] / STANDARD_GRAVITY
    tighten_tilt(state, opening_gain(age, wait, tau), noise, wait)
    x, y, z = state[UP], state[UP + 1], state[UP + 2]
    if x * x + y * y + z * z > MIN_UP**2:
        turn_with_world(state, *upward(1.0, x, y, z))


def correct_heading(
    state: FloatArray, settings: FloatArray, wait: float, mx: float, my: float, mz: float
) -> None:
    """Turn the world about the vertical so that the horizontal field comes to point north.

    A field that differs from the usual one in strength or dip is disturbed and counts less.
    """
    age = state[NORTH_AGE]
    east, north, up = quaternion_rotate(*orientation(state), mx, my, mz)
    level = math.hypot(east, north)
    memory = opening_gain(age, wait, FIELD_MEMORY_S)
    state[FIELD_NORTH] += memory * (level - state[FIELD_NORTH])
    state[FIELD_UP] += memory * (up - state[FIELD_UP])
    usual = state[FIELD_NORTH] ** 2 + state[FIELD_UP] ** 2
    strange = (level - state[FIELD_NORTH]) ** 2 + (up - state[FIELD_UP]) ** 2
    trust = FIELD_TOLERANCE**2 * usual / (FIELD_TOLERANCE**2 * usual + strange)
    part = trust * opening_gain(age, wait, settings[TAU_MAG])
    state[DISTURBED] = trust < 0.5
    state[NORTH_AGE] = aged(age, wait)
    turn_with_world(state, *quaternion_exp(0.0, 0.0, 0.5 * part * math.atan2(east, north)))
    tighten_heading(state, part, settings[FIELD_NOISE], wait, steepness(level, up))


def learn_bias(
    state: FloatArray,
    settings: FloatArray,
    dt: float,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
) -> None:
    """At rest, found as VQF finds it, what the gyro still reads is its bias."""
    smooth = gain(dt, REST_SMOOTHING_S) if state[UP_AGE] > 0.0 else 1.0
    approach(state, SLOW_RATE, smooth, wx, wy, wz)
    approach(state, SLOW_FORCE, smooth, ax, ay, az)
    bx, by, bz = state[SLOW_RATE], state[SLOW_RATE + 1], state[SLOW_RATE + 2]
    shake = (wx - bx) ** 2 + (wy - by) ** 2 + (wz - bz) ** 2
    jolt = (
        (ax - state[SLOW_FORCE]) ** 2
        + (ay - state[SLOW_FORCE + 1]) ** 2
        + (az - state[SLOW_FORCE + 2]) ** 2
    )
    still = (
        shake < REST_RATE**2 and jolt < REST_FORCE**2 and usable(bx, by, bz, settings[BIAS_LIMIT])
    )
    state[REST] = min(state[REST] + dt, REST_AFTER_S) if still else 0.0
    state[AT_REST] = state[REST] >= REST_AFTER_S
    if state[REST] >= REST_AFTER_S:
        part = gain(dt, BIAS_S)
        approach(state, BIAS, part, bx, by, bz)
        state[BIAS_SPREAD] *= (1.0 - part) ** 2
        state[BIAS_SPREAD] += part * settings[GYRO_NOISE] ** 2 / BIAS_S
        state[TILT_CROSS] *= 1.0 - part
        state[HEADING_CROSS] *= 1.0 - part
    for k in range(3):
        state[BIAS_SIGMA + k] = math.sqrt(state[BIAS_SPREAD])


def turn_with_world(state: FloatArray, x: float, y: float, z: float, w: float) -> None:
    """Turn everything that stands in world axes."""
    turn_world(state, x, y, z, w)
    for at in (FORCE, UP):
        state[at], state[at + 1], state[at + 2] = quaternion_rotate(
            x, y, z, w, state[at], state[at + 1], state[at + 2]
        )

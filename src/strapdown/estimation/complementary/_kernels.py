"""One sample into the complementary filter.

The state goes on from the head that all filters share:

=====  ===============  ==================================================================
state  name             holds
=====  ===============  ==================================================================
29-31  SLOW_RATE        low-passed angular velocity [rad/s, body]
32-34  SLOW_FORCE       low-passed specific force [m/s^2, body]
35     REST             how long the sensor has been at rest [s]
36-38  FORCE            mean specific force, first pole [m/s^2, world]
39-41  UP               the same, second pole: the direction that is up
42     UP_AGE           how long UP has been averaged [s]; -1 never
43     FIELD_NORTH      horizontal part of the usual magnetic field [as measured]
44     FIELD_UP         vertical part of it
45     FIELD_AGE        how long heading has been averaged [s]; -1 never
=====  ===============  ==================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import (
    AT_REST,
    BIAS,
    BRIDGE_S,
    DROPPED,
    FRESH_HEAD,
    OWN,
    OWN_SETTINGS,
    START,
    approach,
    gain,
    intake,
    normalise,
    opening_gain,
    orientation,
    rotate_body,
    turn_world,
    usable,
)
from strapdown.geometry._kernels import quaternion_exp, quaternion_rotate

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

SLOW_RATE: Final = OWN
SLOW_FORCE: Final = OWN + 3
REST: Final = OWN + 6
FORCE: Final = OWN + 7
UP: Final = OWN + 10
UP_AGE: Final = OWN + 13
FIELD_NORTH: Final = OWN + 14
FIELD_UP: Final = OWN + 15
FIELD_AGE: Final = OWN + 16
FRESH: Final = FRESH_HEAD + tuple(
    -1.0 if i in (UP_AGE, FIELD_AGE) else 0.0 for i in range(OWN, FIELD_AGE + 1)
)

TAU_ACC: Final = OWN_SETTINGS  # places in the settings
TAU_MAG: Final = OWN_SETTINGS + 1
BIAS_LIMIT: Final = OWN_SETTINGS + 2

LOOSE_S: Final = 0.5  # averaging time that is left after a hole
MIN_UP: Final = 1.0  # m/s^2; a mean specific force this small (free fall) has no direction

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
    if s.event == START:
        forget(state)
    if s.hole > 0.0:
        loosen(state)
    x, y, z, w = orientation(state)
    rotate_body(
        state,
        s.turn_x - s.dt * state[BIAS],
        s.turn_y - s.dt * state[BIAS + 1],
        s.turn_z - s.dt * state[BIAS + 2],
    )
    if s.has_force:
        correct_tilt(state, min(s.force_wait, BRIDGE_S), ax, ay, az, settings[TAU_ACC])
    if s.has_field:
        correct_heading(state, min(s.field_wait, BRIDGE_S), mx, my, mz, settings[TAU_MAG])
    if s.has_rate and s.has_force:
        learn_bias(state, s.dt, wx, wy, wz, ax, ay, az, settings[BIAS_LIMIT])
    normalise(state, x, y, z, w)


def forget(state: FloatArray) -> None:
    """Let the next usable samples set tilt and heading anew; what was calibrated stays."""
    state[REST] = 0.0
    state[UP_AGE] = -1.0
    state[FIELD_AGE] = -1.0


def loosen(state: FloatArray) -> None:
    """After a hole in the rates: what happened in it is lost, so average anew."""
    state[REST] = 0.0
    state[UP_AGE] = min(state[UP_AGE], LOOSE_S)
    state[FIELD_AGE] = min(state[FIELD_AGE], LOOSE_S)


def correct_tilt(
    state: FloatArray, wait: float, ax: float, ay: float, az: float, tau: float
) -> None:
    """Turn the world by the smallest rotation that brings the mean specific force up.

    The mean is a vector mean in world axes: the accelerations of a motion that stays in
    place average out, as they would not in directions (D. Laidig, T. Seel, "VQF",
    Information Fusion 91, 2023). Two equal poles delay it by ``tau`` together.
    """
    age, pole = state[UP_AGE], 0.5 * tau
    approach(
        state,
        FORCE,
        opening_gain(age, wait, pole),
        *quaternion_rotate(*orientation(state), ax, ay, az),
    )
    second = gain(wait, pole) if age >= tau else 1.0
    approach(state, UP, second, state[FORCE], state[FORCE + 1], state[FORCE + 2])
    state[UP_AGE] = aged(age, wait)
    x, y, z = state[UP], state[UP + 1], state[UP + 2]
    norm = math.sqrt(x * x + y * y + z * z)
    if norm < MIN_UP:
        return
    w = norm + z
    scale = math.sqrt(x * x + y * y + w * w)
    if scale > 1e-12 * norm:
        turn_with_world(state, y / scale, -x / scale, 0.0, w / scale)
    else:
        turn_with_world(state, 1.0, 0.0, 0.0, 0.0)


def correct_heading(
    state: FloatArray, wait: float, mx: float, my: float, mz: float, tau: float
) -> None:
    """Turn the world about the vertical so that the horizontal field comes to point north.

    A field that differs from the usual one in strength or dip is disturbed and counts less.
    """
    age = state[FIELD_AGE]
    east, north, up = quaternion_rotate(*orientation(state), mx, my, mz)
    level = math.hypot(east, north)
    memory = opening_gain(age, wait, FIELD_MEMORY_S)
    state[FIELD_NORTH] += memory * (level - state[FIELD_NORTH])
    state[FIELD_UP] += memory * (up - state[FIELD_UP])
    usual = state[FIELD_NORTH] ** 2 + state[FIELD_UP] ** 2
    strange = (level - state[FIELD_NORTH]) ** 2 + (up - state[FIELD_UP]) ** 2
    trust = FIELD_TOLERANCE**2 * usual / (FIELD_TOLERANCE**2 * usual + strange)
    angle = trust * opening_gain(age, wait, tau) * math.atan2(east, north)
    state[FIELD_AGE] = aged(age, wait)
    turn_with_world(state, *quaternion_exp(0.0, 0.0, 0.5 * angle))


def learn_bias(
    state: FloatArray,
    dt: float,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    limit: float,
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
    still = shake < REST_RATE**2 and jolt < REST_FORCE**2 and usable(bx, by, bz, limit)
    state[REST] = min(state[REST] + dt, REST_AFTER_S) if still else 0.0
    state[AT_REST] = state[REST] >= REST_AFTER_S
    if state[REST] >= REST_AFTER_S:
        approach(state, BIAS, gain(dt, BIAS_S), bx, by, bz)


def turn_with_world(state: FloatArray, x: float, y: float, z: float, w: float) -> None:
    """Turn everything that stands in world axes."""
    turn_world(state, x, y, z, w)
    for at in (FORCE, UP):
        state[at], state[at + 1], state[at + 2] = quaternion_rotate(
            x, y, z, w, state[at], state[at + 1], state[at + 2]
        )


def aged(age: float, wait: float) -> float:
    return age + wait if age >= 0.0 else 0.0

"""What the classical filters share: their opening, the errors that they descend, their spread.

=====  ===============  ==================================================================
state  name             holds
=====  ===============  ==================================================================
29     UP_AGE           how long tilt has been averaged [s]; -1 never
30     NORTH_AGE        how long heading has been averaged [s]; -1 never
31     TILT_CROSS       covariance of tilt error and gyro bias [rad^2/s]
32     HEADING_CROSS    covariance of heading error and gyro bias [rad^2/s]
33     BIAS_SPREAD      variance of the gyro bias that is left [rad^2/s^2]
34...  CLASSICAL        what else the filter remembers
=====  ===============  ==================================================================

A vector measured in the body and turned to the world points up, or to magnetic north, if the
attitude is right. The errors here are rotation vectors in world axes: turning the world by
(a part of) one brings the vector there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.estimation._kernels import (
    BIAS,
    BRIDGE_S,
    COVARIANCE,
    FRESH_HEAD,
    INTERVAL,
    MEAN_SAMPLES,
    OWN,
    OWN_SETTINGS,
    RATE_WAIT,
    START,
    Step,
    orientation,
    rotate_body,
    turn_world,
)
from strapdown.geometry._kernels import quaternion_exp, quaternion_rotate
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

BORROWS = True

UP_AGE: Final = OWN
NORTH_AGE: Final = OWN + 1
TILT_CROSS: Final = OWN + 2
HEADING_CROSS: Final = OWN + 3
BIAS_SPREAD: Final = OWN + 4
CLASSICAL: Final = OWN + 5
FRESH_CLASSICAL: Final = (*FRESH_HEAD, -1.0, -1.0, 0.0, 0.0, -1.0)

GYRO_NOISE: Final = OWN_SETTINGS  # places in the settings: the noise that is assumed
GYRO_BIAS: Final = OWN_SETTINGS + 1
ACCEL_NOISE: Final = OWN_SETTINGS + 2
FIELD_NOISE: Final = OWN_SETTINGS + 3
CLASSICAL_SETTINGS: Final = OWN_SETTINGS + 4

OPENING_S: Final = 1.0  # so long the mean direction stands for the law of the filter
LOOSE_S: Final = 0.2  # averaging time that is left after a hole
MIN_UP: Final = 1.0  # m/s^2; a specific force this small (free fall) has no direction

TILT_VARIANCE: Final = COVARIANCE
HEADING_VARIANCE: Final = COVARIANCE + 5
UNKNOWN: Final = math.pi**2 / 3.0  # rad^2, variance of an angle of which nothing is known
FIRST_SIGHT: Final = 0.2**2  # rad^2, of a direction that a single sample shows
LEAST_LEVEL: Final = 0.01  # of the vertical field: a horizontal part that still shows north
LOST_RATE: Final = 0.5  # rad/s, of a turn that was not measured
CLIPPED_NOISE: Final = 0.3  # rad/sqrt(s), of a gyro at its range


def predict(state: FloatArray, settings: FloatArray, s: Step) -> float:
    """Rotate the body up to where errors are taken, let them grow; return the part turned.

    Values at their stamps belong to its end. Means belong to the orientation before them, as
    in the filters as published, but not farther back than the usual interval.
    """
    if s.event == START:
        begin(state, settings)
    elif s.hole > 0.0 or s.clipped & 7:
        loosen(state)
    part = 1.0
    if settings[MEAN_SAMPLES] > 0.0 and s.dt > 0.0:
        part = max(1.0 - state[INTERVAL] / s.dt, 0.0)
    turn_body(state, s, part)
    noise = CLIPPED_NOISE if s.clipped & 7 else settings[GYRO_NOISE]
    lost = s.hole if s.has_rate else max(state[RATE_WAIT], s.dt)
    unseen = LOST_RATE**2 * s.dt * (2.0 * lost - s.dt) if lost > 0.0 else 0.0
    spread(state, TILT_VARIANCE, TILT_CROSS, s.dt, noise**2 * s.dt + unseen)
    spread(state, HEADING_VARIANCE, HEADING_CROSS, s.dt, noise**2 * s.dt + unseen)
    state[COVARIANCE + 3] = state[TILT_VARIANCE]
    return part


def turn_body(state: FloatArray, s: Step, part: float) -> None:
    """Rotate the body by a part of what the gyro says, less its bias."""
    span = part * s.dt
    rotate_body(
        state,
        part * s.turn_x - span * state[BIAS],
        part * s.turn_y - span * state[BIAS + 1],
        part * s.turn_z - span * state[BIAS + 2],
    )


def begin(state: FloatArray, settings: FloatArray) -> None:
    """Let the next usable samples set tilt and heading anew; what was calibrated stays."""
    if state[BIAS_SPREAD] < 0.0:
        state[BIAS_SPREAD] = settings[GYRO_BIAS] ** 2  # heading counts from here, it is exact
    else:
        state[HEADING_VARIANCE] = UNKNOWN
    state[TILT_VARIANCE] = UNKNOWN
    state[UP_AGE] = state[NORTH_AGE] = -1.0


def loosen(state: FloatArray) -> None:
    """Average tilt anew: a turn was not seen. Heading, which magnets disturb, waits."""
    state[UP_AGE] = min(state[UP_AGE], LOOSE_S)


def spread(state: FloatArray, variance: int, cross: int, dt: float, noise: float) -> None:
    """Let an angle's error grow by noise [rad^2], and by a bias that stays what it is."""
    bias = state[BIAS_SPREAD]
    grown = state[variance] + noise + dt * (2.0 * state[cross] + dt * bias)
    state[variance] = min(grown, UNKNOWN)
    state[cross] = min(state[cross] + dt * bias, math.sqrt(UNKNOWN * bias))


def tighten(
    state: FloatArray, variance: int, cross: int, gain: float, noise: float, floor: float
) -> None:
    """Let a correction by ``gain`` shrink an angle's error towards a floor, and add noise."""
    kept = 1.0 - gain
    shrunk = floor + kept**2 * (state[variance] - floor) + gain**2 * noise
    state[variance] = min(shrunk, UNKNOWN)
    state[cross] *= kept


def tighten_tilt(state: FloatArray, gain: float, density: float, wait: float) -> None:
    """Count a correction of tilt; the density is that of the measured angle [rad sqrt(s)]."""
    tighten(state, TILT_VARIANCE, TILT_CROSS, gain, noise_of(density, wait), 0.0)
    state[COVARIANCE + 3] = state[TILT_VARIANCE]


def tighten_heading(
    state: FloatArray, gain: float, density: float, wait: float, steep: float
) -> None:
    """Count a correction of heading; a field that is ``steep`` shows an error of tilt there."""
    floor = min(steep**2 * state[TILT_VARIANCE], UNKNOWN)
    tighten(state, HEADING_VARIANCE, HEADING_CROSS, gain, noise_of(density, wait), floor)


def noise_of(density: float, wait: float) -> float:
    """Return the variance of an angle that a vector shows which stands for ``wait`` seconds."""
    return density**2 / wait if wait > 0.0 else FIRST_SIGHT


def stands_for(state: FloatArray, s: Step, wait: float) -> float:
    """Return the time whose mean a vector stands for [s]; after a hole it is but one sample."""
    return min(wait, state[INTERVAL] if s.hole > 0.0 else BRIDGE_S)


def aged(age: float, wait: float) -> float:
    """Return the age of a mean after another sample."""
    return age + wait if age >= 0.0 else 0.0


def opening(age: float, wait: float) -> float:
    """Weight of a new direction in the mean that an orientation begins with; then 0."""
    if age < 0.0:
        return 1.0
    return wait / (age + wait) if age < OPENING_S else 0.0


def open_tilt(
    state: FloatArray,
    settings: FloatArray,
    weight: float,
    wait: float,
    x: float,
    y: float,
    z: float,
) -> None:
    """Turn a part of the smallest rotation that brings a direction (world) up."""
    turn_world(state, *upward(weight, x, y, z))
    state[UP_AGE] = aged(state[UP_AGE], wait)
    tighten_tilt(state, weight, settings[ACCEL_NOISE] / STANDARD_GRAVITY, wait)


def upward(part: float, x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """Return a part of the smallest rotation that brings a vector up; of a half turn, about x."""
    level = math.hypot(x, y)
    half = 0.5 * part * math.atan2(level, z)
    if level > 0.0:
        return quaternion_exp(half * y / level, -half * x / level, 0.0)
    return quaternion_exp(half, 0.0, 0.0)


def open_heading(
    state: FloatArray,
    settings: FloatArray,
    weight: float,
    wait: float,
    x: float,
    y: float,
    z: float,
) -> None:
    """Turn a part of the angle about the vertical that brings a field (world) north."""
    turn_world(state, *quaternion_exp(0.0, 0.0, 0.5 * weight * math.atan2(x, y)))
    state[NORTH_AGE] = aged(state[NORTH_AGE], wait)
    tighten_heading(state, weight, settings[FIELD_NOISE], wait, steepness(math.hypot(x, y), z))


def steepness(level: float, up: float) -> float:
    """Return vertical over horizontal part of a field."""
    return up / max(level, LEAST_LEVEL * abs(up))


class Sight(NamedTuple):
    """What a sample shows of both directions once the opening is over."""

    up_x: float  # error of the specific force [world]: east and north
    up_y: float
    up_wait: float  # what it stands for [s]; 0 if there is none
    north_x: float  # error of the magnetic field [world]
    north_y: float
    north_z: float
    north_wait: float
    level: float  # horizontal part of the direction of the field


def look(
    state: FloatArray,
    settings: FloatArray,
    s: Step,
    ax: float,
    ay: float,
    az: float,
    mx: float,
    my: float,
    mz: float,
) -> Sight:
    """Return the errors of both directions; in the opening, set the orientation by them."""
    up_x = up_y = up_wait = north_x = north_y = north_z = north_wait = level = 0.0
    if s.has_force and ax * ax + ay * ay + az * az > MIN_UP**2 and not s.clipped & 56:
        x, y, z = quaternion_rotate(*orientation(state), ax, ay, az)
        wait = stands_for(state, s, s.force_wait)
        weight = opening(state[UP_AGE], wait)
        if weight > 0.0:
            open_tilt(state, settings, weight, wait, x, y, z)
        else:
            up_x, up_y = tilt_error(x, y, z)
            up_wait = wait
    if s.has_field:
        x, y, z = quaternion_rotate(*orientation(state), mx, my, mz)
        wait = stands_for(state, s, s.field_wait)
        weight = opening(state[NORTH_AGE], wait)
        if weight > 0.0:
            open_heading(state, settings, weight, wait, x, y, z)
        else:
            north_x, north_y, north_z, level = field_error(x, y, z)
            north_wait = wait
    return Sight(up_x, up_y, up_wait, north_x, north_y, north_z, north_wait, level)


def tilt_error(x: float, y: float, z: float) -> tuple[float, float]:
    """Return east and north of a x up, for the direction a of a specific force (world)."""
    scale = 1.0 / math.sqrt(x * x + y * y + z * z)
    return scale * y, -scale * x


def field_error(x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """Return h x (0, |h_xy|, h_z) for the direction h of a field (world), and |h_xy|."""
    scale = 1.0 / math.sqrt(x * x + y * y + z * z)
    x, y, z = scale * x, scale * y, scale * z
    level = math.hypot(x, y)
    return (y - level) * z, -x * z, x * level, level


def descend(
    state: FloatArray,
    sight: Sight,
    up: float,
    north: float,
    learning: float,
    bias_clip: float,
) -> None:
    """Turn by parts of both errors; the bias takes ``learning`` [1/s] of that turn."""
    x = up * sight.up_x + north * sight.north_x
    y = up * sight.up_y + north * sight.north_y
    z = north * sight.north_z
    if learning > 0.0:
        qx, qy, qz, qw = orientation(state)
        bx, by, bz = quaternion_rotate(-qx, -qy, -qz, qw, x, y, z)
        state[BIAS] = clamp(state[BIAS] - learning * bx, bias_clip)
        state[BIAS + 1] = clamp(state[BIAS + 1] - learning * by, bias_clip)
        state[BIAS + 2] = clamp(state[BIAS + 2] - learning * bz, bias_clip)
    turn_world(state, *quaternion_exp(0.5 * x, 0.5 * y, 0.5 * z))


def clamp(value: float, limit: float) -> float:
    return max(-limit, min(value, limit))


def tighten_both(
    state: FloatArray, settings: FloatArray, sight: Sight, up: float, north: float
) -> None:
    """Count a correction by parts of both errors."""
    if sight.up_wait > 0.0:
        tighten_tilt(state, up, settings[ACCEL_NOISE] / STANDARD_GRAVITY, sight.up_wait)
    if sight.north_wait > 0.0:
        # About the east axis the field shows all of an error, about the others a part.
        level, noise, wait = sight.level, settings[FIELD_NOISE], sight.north_wait
        tighten_tilt(state, (1.0 - 0.5 * level**2) * north, level * noise, wait)
        steep = steepness(level, math.sqrt(max(1.0 - level**2, 0.0)))
        tighten_heading(state, level**2 * north, noise, wait, steep)

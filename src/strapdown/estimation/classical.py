"""Common parts of the complementary, Mahony and Madgwick filters: start, step, errors, variances.

A vector measured in the body and turned to the world points up, or to magnetic north, if the
attitude is right. The errors here are rotation vectors in world axes: turning the world by
an error moves the vector to that direction, turning by a part of it moves it closer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown._kernels.kernel import inlined_kernel, kernel
from strapdown.estimation.attitude import UNKNOWN, normalise, turn_body, turn_world
from strapdown.estimation.intake import BRIDGE_S, FilterCounts, FilterMemory, Intake, intake
from strapdown.estimation.params import FilterParams
from strapdown.geometry.formulas import quaternion_exp, quaternion_rotate
from strapdown.geometry.triples import plus, scaled
from strapdown.geometry.vectors import clamped, four, length, square, three
from strapdown.samples import SampleKind
from strapdown.samples.clock import DROPPED, START
from strapdown.samples.params import MAY_BE_ZERO
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import Four, Three
    from strapdown.samples.sample import Sample

    correct: Callable[..., None]  # defined by each filter

OPENING_S: Final = 1.0  # duration of the start, in which plain means set the orientation
LOOSE_S: Final = 0.2  # averaging time that is kept after a gap
MIN_UP: Final = 1.0  # m/s^2; a specific force this small (free fall) has no direction

FIRST_SIGHT: Final = 0.2**2  # rad^2, variance of a direction from a single sample
LEAST_LEVEL: Final = 0.01  # of the vertical field: smallest horizontal part in the steepness
LOST_RATE: Final = 0.5  # rad/s, assumed rate while the gyro gives no reading
CLIPPED_NOISE: Final = 0.3  # rad/sqrt(s), of a gyro at its range


@dataclass(frozen=True)
class ClassicalParams(FilterParams):
    """Sensor model of a classical filter.

    The noises determine the covariance of the result; they change no orientation.

    Parameters
    ----------
    sample_kind : SampleKind or {"mean", "point"}
        Sensors with a low-pass give means, and the published filters integrate means;
        directions are then compared at the orientation one sample before. Point samples are
        integrated by the trapezoid rule, and directions are compared at the stamp.
    gyro_noise : float
        Angle random walk of the gyro [rad/sqrt(s)].
    gyro_bias : float
        Standard deviation of the residual gyro bias on an axis [rad/s].
    accel_noise : float
        Density of noise and of acceleration that does not average out [m/s/sqrt(s)].
    field_noise : float
        Noise density of the heading from the magnetic field [rad sqrt(s)].
    """

    sample_kind: SampleKind = SampleKind.MEAN
    gyro_noise: float = field(default=1e-3, metadata=MAY_BE_ZERO)
    gyro_bias: float = field(default=0.1 * RAD_PER_DEG, metadata=MAY_BE_ZERO)
    accel_noise: float = 0.1
    field_noise: float = 0.02


class ClassicalMemory(FilterMemory):
    """State of a classical filter."""

    up_age: float = -1.0  # how long tilt has been averaged [s]; -1 never
    north_age: float = -1.0  # how long heading has been averaged [s]; -1 never
    tilt_cross: float = 0.0  # covariance of tilt error and gyro bias [rad^2/s]
    heading_cross: float = 0.0  # covariance of heading error and gyro bias [rad^2/s]
    bias_variance: float = -1.0  # of the residual gyro bias [rad^2/s^2]


@kernel
def classical_step(
    s: ClassicalMemory, counts: FilterCounts, p: ClassicalParams, sample: Sample
) -> None:
    """Predict by the gyro, then correct by gravity and the magnetic field."""
    taken = intake(s, counts, p, sample)
    if taken.event == DROPPED:
        return
    before = four(s.orientation)
    part = predict(s, p, taken)
    correct(s, p, sample, taken)  # noqa: F821 (bound by each filter)
    turn_by_gyro(s, taken, 1.0 - part)
    normalise(s.orientation, before)


@kernel
def predict(s: ClassicalMemory, p: ClassicalParams, taken: Intake) -> float:
    """Rotate the body to the time at which errors are measured; return that part of the step.

    The variances grow over the whole step. The errors of point samples are measured at the end
    of the step. Those of means are measured at its start, as in the published filters, but no
    earlier than one mean interval before its end.
    """
    if taken.event == START:
        begin(s, p)
    elif taken.hole > 0.0 or taken.clipping & 7:
        # A rotation was not measured: average tilt again, but not heading (magnets disturb it).
        s.up_age = min(s.up_age, LOOSE_S)
    part = 1.0
    dt = taken.dt
    if p.mean_samples and dt > 0.0:
        part = max(1.0 - s.clock.interval / dt, 0.0)
    turn_by_gyro(s, taken, part)
    noise = CLIPPED_NOISE if taken.clipping & 7 else p.gyro_noise
    lost = taken.hole if taken.has_rate else max(s.rate_wait, dt)
    unseen = LOST_RATE * LOST_RATE * dt * (2.0 * lost - dt) if lost > 0.0 else 0.0
    grown = noise * noise * dt + unseen
    bias = s.bias_variance
    tilt, heading = s.covariance[0][0], s.covariance[2][2]
    tilt, s.tilt_cross = spread(tilt, s.tilt_cross, bias, dt, grown)
    heading, s.heading_cross = spread(heading, s.heading_cross, bias, dt, grown)
    set_variances(s, tilt, heading)
    return part


@kernel
def turn_by_gyro(s: ClassicalMemory, taken: Intake, part: float) -> None:
    """Rotate the body by a part of the measured rotation, less the bias."""
    turn = scaled(taken.turn, part)
    turn_body(s.orientation, plus(turn, three(s.gyro_bias), -part * taken.dt))


@kernel
def begin(s: ClassicalMemory, p: ClassicalParams) -> None:
    """Restart tilt and heading from the next usable samples; keep the gyro bias."""
    heading = s.covariance[2][2]
    if s.bias_variance < 0.0:
        s.bias_variance = p.gyro_bias * p.gyro_bias  # heading is exact at the start
    else:
        heading = UNKNOWN
    set_variances(s, UNKNOWN, heading)
    s.up_age = s.north_age = -1.0
    s.has_heading = False


@kernel
def set_variances(s: ClassicalMemory, tilt: float, heading: float) -> None:
    """Write the variances about level axes and about the vertical."""
    s.covariance[0][0] = s.covariance[1][1] = tilt
    s.covariance[2][2] = heading


@kernel
def spread(
    variance: float, cross: float, bias: float, dt: float, noise: float
) -> tuple[float, float]:
    """Return variance and bias covariance of an angle after noise [rad^2] and a constant bias."""
    grown = variance + noise + dt * (2.0 * cross + dt * bias)
    return min(grown, UNKNOWN), min(cross + dt * bias, math.sqrt(UNKNOWN * bias))


@kernel
def tighten(variance: float, part: float, noise: float, floor: float) -> float:
    """Return an angle's variance after a correction by ``part``, with noise and a lower bound."""
    kept = 1.0 - part
    return min(floor + kept * kept * (variance - floor) + part * part * noise, UNKNOWN)


@kernel
def tighten_tilt(s: ClassicalMemory, part: float, density: float, wait: float) -> None:
    """Update the variance of tilt; the density is that of the measured angle [rad sqrt(s)]."""
    tilt = tighten(s.covariance[0][0], part, noise_of(density, wait), 0.0)
    s.covariance[0][0] = s.covariance[1][1] = tilt
    s.tilt_cross *= 1.0 - part


@kernel
def tighten_heading(
    s: ClassicalMemory, part: float, density: float, wait: float, steep: float
) -> None:
    """Update the variance of heading; in a ``steep`` field an error of tilt adds to it."""
    floor = min(steep * steep * s.covariance[0][0], UNKNOWN)
    s.covariance[2][2] = tighten(s.covariance[2][2], part, noise_of(density, wait), floor)
    s.heading_cross *= 1.0 - part


@kernel
def noise_of(density: float, wait: float) -> float:
    """Return the variance of an angle from a vector that represents ``wait`` seconds."""
    return density * density / wait if wait > 0.0 else FIRST_SIGHT


@kernel
def stands_for(s: ClassicalMemory, taken: Intake, wait: float) -> float:
    """Return the time that a vector represents [s]; after a gap it is one sampling interval."""
    return min(wait, s.clock.interval if taken.hole > 0.0 else BRIDGE_S)


@kernel
def aged(age: float, wait: float) -> float:
    """Return the age of a mean after another sample."""
    return age + wait if age >= 0.0 else 0.0


@kernel
def opening(age: float, wait: float) -> float:
    """Return the weight of a new direction in the mean of the start; afterwards 0."""
    if age < 0.0:
        return 1.0
    return wait / (age + wait) if age < OPENING_S else 0.0


@kernel
def upward(part: float, v: Three) -> Four:
    """Return a part of the smallest rotation of a vector to up; a half turn is about x."""
    x, y, z = v
    level = length(x, y)
    half = 0.5 * part * math.atan2(level, z)
    if level > 0.0:
        return quaternion_exp(half * y / level, -half * x / level, 0.0)
    return quaternion_exp(half, 0.0, 0.0)


@kernel
def steepness(level: float, up: float) -> float:
    """Return the ratio of the vertical to the horizontal part of a field."""
    return up / max(level, LEAST_LEVEL * abs(up))


class Sight(NamedTuple):
    """Errors of both directions in a sample after the start."""

    up: Three  # error of the specific force [world]; 0 about the vertical
    up_wait: float  # the time that it represents [s]; 0 if there is none
    north: Three  # error of the magnetic field [world]
    north_wait: float
    level: float  # horizontal part of the direction of the field


@kernel
def look(s: ClassicalMemory, p: ClassicalParams, sample: Sample, taken: Intake) -> Sight:
    """Return the errors of both directions; at the start, set the orientation from them."""
    up = north = (0.0, 0.0, 0.0)
    up_wait = north_wait = level = 0.0
    force, field = sample.specific_force, sample.magnetic_field
    if taken.has_force and square(force) > MIN_UP * MIN_UP and not taken.clipping & 56:
        seen = quaternion_rotate(*four(s.orientation), *three(force))
        wait = stands_for(s, taken, taken.force_wait)
        weight = opening(s.up_age, wait)
        if weight > 0.0:
            turn_world(s.orientation, upward(weight, seen))
            s.up_age = aged(s.up_age, wait)
            tighten_tilt(s, weight, p.accel_noise / STANDARD_GRAVITY, wait)
        else:
            up, up_wait = (*tilt_error(seen), 0.0), wait
    if taken.has_field:
        x, y, z = seen = quaternion_rotate(*four(s.orientation), *three(field))
        wait = stands_for(s, taken, taken.field_wait)
        weight = opening(s.north_age, wait)
        if weight > 0.0:
            turn_world(s.orientation, quaternion_exp(0.0, 0.0, 0.5 * weight * math.atan2(x, y)))
            s.north_age = aged(s.north_age, wait)
            s.has_heading = True
            tighten_heading(s, weight, p.field_noise, wait, steepness(length(x, y), z))
        else:
            x, y, z, level = field_error(seen)
            north, north_wait = (x, y, z), wait
    return Sight(up, up_wait, north, north_wait, level)


@kernel
def tilt_error(v: Three) -> tuple[float, float]:
    """Return east and north of a x up, for the direction a of a specific force (world)."""
    scale = 1.0 / math.sqrt(square(v))
    return scale * v[1], -scale * v[0]


@kernel
def field_error(v: Three) -> tuple[float, float, float, float]:
    """Return h x (0, |h_xy|, h_z) for the direction h of a field (world), and |h_xy|."""
    scale = 1.0 / math.sqrt(square(v))
    x, y, z = scale * v[0], scale * v[1], scale * v[2]
    level = length(x, y)
    return (y - level) * z, -x * z, x * level, level


@inlined_kernel
def weighted(sight: Sight, up: float, north: float) -> Three:
    """Return the sum of parts of both errors."""
    return (
        up * sight.up[0] + north * sight.north[0],
        up * sight.up[1] + north * sight.north[1],
        north * sight.north[2],
    )


@kernel
def descend(
    s: ClassicalMemory, sight: Sight, up: float, north: float, learning: float, bias_clip: float
) -> None:
    """Turn by parts of both errors; change the bias by ``learning`` [1/s] times that rotation."""
    x, y, z = weighted(sight, up, north)
    if learning > 0.0:
        qx, qy, qz, qw = four(s.orientation)
        turn = quaternion_rotate(-qx, -qy, -qz, qw, x, y, z)
        for k in range(3):
            s.gyro_bias[k] = clamped(s.gyro_bias[k] - learning * turn[k], bias_clip)
    turn_world(s.orientation, quaternion_exp(0.5 * x, 0.5 * y, 0.5 * z))


@kernel
def tighten_both(
    s: ClassicalMemory, p: ClassicalParams, sight: Sight, up: float, north: float
) -> None:
    """Update the variances for a correction by parts of both errors."""
    if sight.up_wait > 0.0:
        tighten_tilt(s, up, p.accel_noise / STANDARD_GRAVITY, sight.up_wait)
    if sight.north_wait > 0.0:
        # About the east axis the field shows the full error, about the others only a part.
        level, noise, wait = sight.level, p.field_noise, sight.north_wait
        tighten_tilt(s, (1.0 - 0.5 * level * level) * north, level * noise, wait)
        steep = steepness(level, math.sqrt(max(1.0 - level * level, 0.0)))
        tighten_heading(s, level * level * north, noise, wait, steep)

"""Filter of a foot-mounted sensor: the strapdown navigator with zero velocity updates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.detection.intake import DetectorCounts
from strapdown.detection.stillness import StillnessParams
from strapdown.detection.stillness.statistic import StillnessEvent, StillnessMemory
from strapdown.detection.stillness.statistic import step as watch_for_stillness
from strapdown.estimation.navigation.errors import (
    Correction,
    Transition,
    correct,
    inject,
    keep,
    publish,
    put_slopes,
    refuse,
)
from strapdown.estimation.navigation.smoothing import copy_estimates
from strapdown.estimation.navigation.state import (
    GYRO_BIAS,
    ORIENTATION,
    POSITION,
    SIZE,
    VELOCITY,
    NavigatorMemory,
    NavigatorRow,
    describe,
)
from strapdown.estimation.navigation.step import step as navigate
from strapdown.geometry.formulas import quaternion_rotate, quaternion_to_matrix
from strapdown.geometry.triples import cross, unit
from strapdown.geometry.vectors import clear, copy, four, put, three
from strapdown.inertial.navigation.mechanisation import Earth
from strapdown.samples.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import Four, Three
    from strapdown.estimation.foot.params import FootParams
    from strapdown.estimation.intake import FilterCounts
    from strapdown.inertial.navigation.mechanisation import Earth

    Parameters = Any  # a FootParams, passed to the kernels of the navigator

NOISE_INTERVAL_S: Final = 0.005  # interval to which the noises of zero velocity and rate refer
SHORTEST_S: Final = 1e-4
STEEPNESS: Final = 1.5  # exponent of the noise as a function of the statistic
MOVING: Final = 300.0  # times the envelope: above it the velocity is unknown
GATE: Final = 30.7  # NIS of three numbers, exceeded once in a million
REOPEN: Final = 3  # rejections in a row, after which the next update is accepted
STANDS: Final = 2.0  # times the envelope: a lower statistic is a stance, ...
STANDS_S: Final = 0.05  # ... if it lasts
LIFTED: Final = 20.0  # times the envelope: a higher statistic ends the stance

# Indices of the measured numbers: three of the velocity, three of the rate, a height.
RATES: Final = 3
HEIGHT: Final = 6
MOST: Final = 7


class FootMemory(NavigatorMemory):
    """State of a foot navigator, without the window of its statistic."""

    statistic: float = -1.0  # SHOE statistic of the motion of the foot; -1 not known
    quiet: float = 0.0  # its lower envelope, which follows the stances of the gait
    rejected: int = 0  # zero velocities in a row that were rejected
    calm: float = 0.0  # for how long the statistic has been near its envelope [s]
    stance: bool = False  # whether the foot is in a stance
    floor: float = 0.0  # height of the floor under it [m, world], if has_floor
    has_floor: bool = False
    floor_variance: float = 0.0  # of this height [m^2]
    contact: Vector = filled(3)  # from the sensor to the contact point with the floor [m, body]


class Watch(Record):
    """Detector of stillness, whose statistic measures the motion of the foot."""

    memory: StillnessMemory = StillnessMemory()
    counts: DetectorCounts = DetectorCounts()
    params: Record = StillnessParams().settings()
    event: StillnessEvent = StillnessEvent()
    sample: Sample = Sample()


class Tape(Transition):
    """Updates and step of a sample, recorded for the backward pass; without a step h is 0."""

    slopes: Matrix = zeros(MOST, SIZE)  # of each accepted number
    columns: Matrix = zeros(MOST, SIZE)  # covariance of the errors with each number
    innovations: Vector = filled(MOST)
    variances: Vector = filled(MOST)  # of the innovations; 0: no number
    new_floor: bool = False
    with_floor: Vector = filled(SIZE)  # covariance of the errors with its height


class FootRow(NavigatorRow):
    """Estimates after a sample: one row of a result."""

    stance: bool = False
    statistic: float = -1.0
    lift: float = 0.0  # smoothed correction of the height of a floor that begins here [m]


class Passage(Record):
    """Input of the backward pass for a sample."""

    known: FootMemory = FootMemory()  # estimates after it
    tape: Tape = Tape()


@kernel
def step(
    s: FootMemory,
    counts: FilterCounts,
    p: Parameters,
    earth: Earth,
    c: Correction,
    watch: Watch,
    tape: Tape,
    sample: Sample,
) -> None:
    """Process a sample: navigate, then update with zero velocity by the statistic."""
    clear(tape.variances)
    tape.h = 0.0
    tape.new_floor = False
    was_aligned = s.aligned
    dropped = counts.duplicates + counts.backward
    q, v = four(s.orientation), three(s.velocity)
    navigate(s, counts, p, earth, c, sample)
    if counts.duplicates + counts.backward > dropped or s.behind > 0.0:
        return
    watch.sample.t_ns = sample.t_ns
    put(watch.sample.angular_velocity, three(s.last_rate))
    put(watch.sample.specific_force, three(s.last_force))
    watch_for_stillness(watch.memory, watch.counts, watch.params, watch.sample, watch.event)
    if not s.aligned:
        return
    h = s.past.spacing[0]
    if not was_aligned:
        stand(s, p)
    elif h > 0.0:
        record_step(s, earth, tape, h, q, v)
    s.statistic = watch.memory.statistic
    if s.statistic < 0.0:
        return
    follow(s, p, h)
    measure(s, p, c, tape, three(s.last_rate))
    inject(s, c)
    publish(s)


@kernel
def stand(s: FootMemory, p: FootParams) -> None:
    """Start with a flat foot: down at this time is the direction to the sole in the body."""
    x, y, z, w = four(s.orientation)
    put(s.contact, quaternion_rotate(-x, -y, -z, w, 0.0, 0.0, -p.contact_height))
    s.rejected = 0
    s.calm = s.floor = s.floor_variance = 0.0
    s.stance = s.has_floor = False
    s.quiet = p.still_statistic


@kernel
def follow(s: FootMemory, p: FootParams, h: float) -> None:
    """Update the lower envelope of the statistic, and detect the end of a stance."""
    rising = s.quiet * math.exp(min(p.envelope_growth * h, 100.0))
    s.quiet = max(p.still_statistic, min(s.statistic, rising))
    ratio = s.statistic / s.quiet
    s.calm = s.calm + h if ratio < STANDS else 0.0
    if ratio > LIFTED:
        s.stance = False
    s.at_rest = s.stance


@kernel
def measure(s: FootMemory, p: FootParams, c: Correction, tape: Tape, rate: Three) -> None:
    """Update with zero velocity of the sole, zero rate, and the height of the floor."""
    ratio = s.statistic / s.quiet
    if ratio > MOVING:
        return
    gait = math.sqrt(s.quiet / p.still_statistic)
    spread = NOISE_INTERVAL_S / max(s.clock.interval, SHORTEST_S)
    growth = max(1.0, ratio) ** STEEPNESS
    keep(s, c)
    sigma = p.still_sigma * gait * growth
    nis = tell_velocity(s, c, tape, rate, sigma * sigma * spread)
    if nis <= GATE or s.rejected >= REOPEN:
        s.rejected = 0
    else:
        s.rejected += 1
        refuse(s, c)
        clear(tape.variances)
    if s.quiet <= p.still_statistic:
        keep(s, c)
        sigma = p.rate_sigma * growth
        if tell_rate(s, c, tape, rate, sigma * sigma * spread) > GATE:
            refuse(s, c)
            for k in range(RATES, HEIGHT):
                tape.variances[k] = 0.0
    if not s.stance and s.calm >= STANDS_S:
        s.stance = s.at_rest = True
        if p.stair_height > 0.0:
            land(s, p, c, tape)


@kernel
def tell_velocity(s: FootMemory, c: Correction, tape: Tape, rate: Three, variance: float) -> float:
    """Update with zero velocity of the contact point, v + R (w x c) = 0; return the NIS."""
    q, contact, bias = four(s.orientation), three(s.contact), s.gyro_bias
    turning = (rate[0] - bias[0], rate[1] - bias[1], rate[2] - bias[2])
    u = quaternion_rotate(*q, *cross(turning, contact))
    m = quaternion_to_matrix(*q)
    nis = 0.0
    for k in range(3):
        clear(c.slopes)
        c.slopes[VELOCITY + k] = 1.0
        # u depends on the attitude and on the bias of the rate
        put_slopes(c.slopes, ORIENTATION, cross(u, unit(k)))
        put_slopes(c.slopes, GYRO_BIAS, cross((m[3 * k], m[3 * k + 1], m[3 * k + 2]), contact))
        nis += take(s, c, tape, k, -(s.velocity[k] + u[k]), variance)
    return nis


@kernel
def tell_rate(s: FootMemory, c: Correction, tape: Tape, rate: Three, variance: float) -> float:
    """Update with zero rate; return the NIS."""
    nis = 0.0
    for k in range(3):
        clear(c.slopes)
        c.slopes[GYRO_BIAS + k] = 1.0
        nis += take(s, c, tape, RATES + k, rate[k] - s.gyro_bias[k], variance)
    return nis


@kernel
def land(s: FootMemory, p: FootParams, c: Correction, tape: Tape) -> None:
    """Update with the height of the last floor, or begin a new one if it is too far off."""
    up = POSITION + 2
    height = s.position[2] + c.error[up]
    if s.has_floor and abs(s.floor - height) < p.stair_height:
        clear(c.slopes)
        c.slopes[up] = 1.0
        take(s, c, tape, HEIGHT, s.floor - s.position[2], p.floor_sigma * p.floor_sigma)
        return
    s.floor = height
    s.has_floor = True
    # Heights are now relative to the new floor, whose own variance is stored separately.
    s.floor_variance += s.error_covariance[up][up]
    tape.new_floor = True
    copy(tape.with_floor, s.error_covariance[up])
    for k in range(SIZE):
        s.error_covariance[up][k] = s.error_covariance[k][up] = 0.0


@kernel
def take(
    s: FootMemory, c: Correction, tape: Tape, number: int, residual: float, variance: float
) -> float:
    """Update with a number, and record it; return its normalised innovation squared."""
    nis = correct(s, c, residual, variance)
    copy(tape.slopes[number], c.slopes)
    copy(tape.columns[number], c.column)
    tape.variances[number], tape.innovations[number] = c.variance, c.innovation
    return nis


@kernel
def record_step(s: FootMemory, earth: Earth, tape: Tape, h: float, q: Four, v: Three) -> None:
    """Record a step: rotation and specific force [world] at its middle."""
    x, y, z, w = four(s.orientation)
    x, y, z, w = q[0] + x, q[1] + y, q[2] + z, q[3] + w
    size = math.sqrt(x * x + y * y + z * z + w * w)
    copy(tape.rotation, quaternion_to_matrix(x / size, y / size, z / size, w / size))
    tape.h = h
    for k in range(3):
        tape.force[k] = (s.velocity[k] - v[k]) / h
    tape.force[2] += earth.gravity


@kernel
def write(row: FootRow, s: FootMemory) -> None:
    """Write the estimates of the navigator and the stance to a row."""
    describe(row, s)
    row.covariance[2][2] += s.floor_variance
    row.stance = s.stance
    row.statistic = s.statistic


@kernel
def write_known(known: FootMemory, s: FootMemory) -> None:
    """Copy the estimates that the backward pass corrects or outputs."""
    copy_estimates(known, s)
    known.floor_variance = s.floor_variance
    known.stance = s.stance
    known.statistic = s.statistic


@kernel
def run(
    memory: Sequence[FootMemory],
    counts: Sequence[FilterCounts],
    watch: Sequence[Watch],
    params: Sequence[Parameters],
    earth: Sequence[Earth],
    correction: Sequence[Correction],
    tape: Sequence[Tape],
    samples: Sequence[Sample],
    rows: Sequence[FootRow],
) -> None:
    """Step through samples, and write the estimates after each."""
    s = memory[0]
    for i in range(len(samples)):
        step(s, counts[0], params[0], earth[0], correction[0], watch[0], tape[0], samples[i])
        write(rows[i], s)


@kernel
def run_and_record(
    memory: Sequence[FootMemory],
    counts: Sequence[FilterCounts],
    watch: Sequence[Watch],
    params: Sequence[Parameters],
    earth: Sequence[Earth],
    correction: Sequence[Correction],
    _tape: Sequence[Tape],
    samples: Sequence[Sample],
    passages: Sequence[Passage],
) -> None:
    """Step through samples, and record the input of the backward pass."""
    s = memory[0]
    for i in range(len(samples)):
        tape = passages[i].tape
        step(s, counts[0], params[0], earth[0], correction[0], watch[0], tape, samples[i])
        write_known(passages[i].known, s)

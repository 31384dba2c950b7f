"""Voting among redundant sensors, cycle by cycle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.detection.voting.alignment import align, differentiate, into_body, to_origin
from strapdown.detection.voting.judgement import count_voters, follow, judge, median
from strapdown.detection.voting.memory import (
    FAILED,
    MEASURES,
    OK,
    STUCK_REPEATS,
    SUSPECT,
    VOTES,
    Step,
)
from strapdown.detection.voting.pairs import EQUAL, UNKNOWN, carry_all, settle
from strapdown.geometry.vectors import put, three
from strapdown.samples.sample import MAX_FORCE, MAX_RATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.detection.intake import Settings
    from strapdown.detection.voting.memory import (
        BodyMemory,
        Changes,
        CycleRow,
        Imu,
        ImuRow,
        Sensor,
        SensorMemory,
        Voted,
    )
    from strapdown.samples.clock import Counts
    from strapdown.samples.sample import Sample

CHANGES: Final = "suspect", "failed", "cleared", "recovered", "selected", "disagree", "agree"
SUSPECTED, HAS_FAILED, CLEARED, RECOVERED, IS_SELECTED, DISAGREE, AGREE = range(1, 8)  # 0: none
GUARD: Final = 3.0  # largest distance of an output from the median [sigma]


@kernel
def run(
    imus: Sequence[Imu],
    gyros: Sequence[Sensor],
    accels: Sequence[Sensor],
    body: Sequence[BodyMemory],
    counts: Sequence[Counts],
    params: Sequence[Settings],
    samples: Sequence[Sample],
    rows: Sequence[CycleRow],
    imu_rows: Sequence[ImuRow],
) -> None:
    """Vote on a sample of each IMU in every cycle; samples are in sensor axes."""
    n = len(imus)
    for c in range(len(rows)):
        cycle(imus, gyros, accels, body[0], counts[0], params[0], samples, c * n, rows[c])
        rows[c].t_ns = counts[0].last_ns
        write(gyros, accels, body[0], rows[c], imu_rows, c * n)


@kernel
def cycle(
    imus: Sequence[Imu],
    gyros: Sequence[Sensor],
    accels: Sequence[Sensor],
    body: BodyMemory,
    counts: Counts,
    p: Settings,
    samples: Sequence[Sample],
    first: int,
    row: CycleRow,
) -> None:
    """Vote on the samples from ``first`` on; without a new common stamp nothing changes."""
    n = len(imus)
    for i in range(n):
        gyros[i].change = accels[i].change = 0
    row.gyro.dispute = row.gyro.selection = row.accel.dispute = row.accel.selection = 0
    dt = align(imus, gyros, accels, body.clock, counts, samples, first)
    if dt < 0.0:
        return
    fast, slow = -math.expm1(-dt / p.fast_s), -math.expm1(-dt / p.slow_s)
    step = Step(dt, fast, slow, MAX_RATE, p.gyro_bias_rad_s, 0.0)
    for i in range(n):
        into_body(imus[i], gyros[i].value)
        into_body(imus[i], accels[i].value)
    vote(gyros, accels, body.gyro, body.accel, p, step, row.gyro)
    differentiate(body, dt)
    for i in range(n):
        to_origin(imus[i], body, accels[i].value)
    step = Step(dt, fast, slow, MAX_FORCE, p.accel_bias_m_s2, p.gravity_m_s2)
    vote(accels, accels, body.accel, body.gyro, p, step, row.accel)
    carry_all(gyros, accels, body, step)


@kernel
def write(
    gyros: Sequence[Sensor],
    accels: Sequence[Sensor],
    body: BodyMemory,
    row: CycleRow,
    imu_rows: Sequence[ImuRow],
    first: int,
) -> None:
    """Write the row of a cycle, except for its stamp."""
    put(row.angular_velocity, three(body.gyro.value))
    put(row.specific_force, three(body.accel.value))
    row.selected[0], row.selected[1] = body.gyro.selected, body.accel.selected
    gyro, accel = row.gyro, row.accel
    row.changes = (gyro.dispute > 0) + (gyro.selection > 0)
    row.changes += (accel.dispute > 0) + (accel.selection > 0)
    for i in range(len(gyros)):
        states, changes = imu_rows[first + i].states, imu_rows[first + i].changes
        states[0], states[1] = gyros[i].memory.state, accels[i].memory.state
        changes[0], changes[1] = gyros[i].change, accels[i].change
        row.changes += (gyros[i].change > 0) + (accels[i].change > 0)


@kernel
def vote(
    sensors: Sequence[Sensor],
    accels: Sequence[Sensor],
    voted: Voted,
    other: Voted,
    p: Settings,
    step: Step,
    changes: Changes,
) -> None:
    """Vote on a quantity: judge each sensor, then write the output."""
    n = len(sensors)
    voters, total = count_voters(sensors, step.largest)
    for k in range(3):
        voted.value[k] = median(sensors, k, VOTES if voters > 0 else MEASURES)
    if voters > 0:
        follow(voted, step)
    for i in range(n):
        judge(sensors[i], voted, p, step, voters, total)
    blamed = settle(sensors, accels, p, step, other.apart == 0.0) if voters == 2 else EQUAL
    changes.dispute = note_dispute(voted, p, blamed == UNKNOWN, step.dt)
    for i in range(n):
        s = sensors[i].memory
        accused = blamed != EQUAL and sensors[i].rank == VOTES
        over = i == blamed if accused else s.excess > 1.0
        over = over or (s.repeats >= STUCK_REPEATS and not p.noise_free)
        sensors[i].change = advance(s, p, over, step.dt)
    changes.selection = select(sensors, voted, p, step.dt)
    put_out(sensors, voted, p.blend, voters)


@kernel
def note_dispute(voted: Voted, p: Settings, disagrees: bool, dt: float) -> int:
    """Measure the time for which two have disagreed; return the start and end of a dispute."""
    before = voted.apart
    now = before + dt if disagrees else max(min(before, p.failed_s) - dt, 0.0)
    voted.apart = now
    if before < p.suspect_s <= now:
        return DISAGREE
    if before >= p.suspect_s > now:
        return AGREE
    return 0


@kernel
def advance(s: SensorMemory, p: Settings, over: bool, dt: float) -> int:
    """Update the state of a sensor from its time over the limit."""
    nearly = 0.5 * dt  # times are sums of steps: tolerance against rounding
    if s.state == FAILED:
        s.inside = s.inside + dt if not over and s.excess < 0.5 else 0.0
        if s.inside + nearly < p.recover_s:
            return 0
        s.state = OK
        s.over = s.inside = 0.0
        return RECOVERED
    s.over = s.over + dt if over else max(s.over - dt, 0.0)
    if s.over + nearly >= p.failed_s:
        s.state = FAILED
        s.inside = 0.0
        return HAS_FAILED
    if s.state == OK and s.over + nearly >= p.suspect_s:
        s.state = SUSPECT
        return SUSPECTED
    if s.state == SUSPECT and s.over == 0.0:
        s.state = OK
        return CLEARED
    return 0


@kernel
def select(sensors: Sequence[Sensor], voted: Voted, p: Settings, dt: float) -> int:
    """Select another sensor if the present one is not ok."""
    voted.held += dt
    state = sensors[voted.selected].memory.state
    if state == OK or (state == SUSPECT and voted.held < p.hold_s):
        return 0
    best = -1
    for i in range(len(sensors)):
        well = sensors[i].memory.state == OK and sensors[i].rank == VOTES
        if well and (best < 0 or sensors[i].priority < sensors[best].priority):
            best = i
    if best < 0:
        return 0
    voted.selected = best
    voted.held = 0.0
    return IS_SELECTED


@kernel
def put_out(sensors: Sequence[Sensor], voted: Voted, blend: bool, voters: int) -> None:
    """Output the selected sensor or the mean of all, clamped to the median of three or more.

    Without a value of the selected sensor the output is the median.
    """
    for k in range(3):
        middle = voted.value[k]
        total = weights = 0.0
        for i in range(len(sensors)):
            sensor = sensors[i]
            mixes = sensor.memory.state == OK if blend else i == voted.selected
            if sensor.rank < MEASURES or not mixes:
                continue
            sigma, value = sensor.sigma, sensor.value[k]
            if voters >= 3:
                guard = GUARD * sigma
                value = min(max(value, middle - guard), middle + guard)
            total += value / (sigma * sigma)
            weights += 1.0 / (sigma * sigma)
        if weights > 0.0:
            voted.value[k] = total / weights

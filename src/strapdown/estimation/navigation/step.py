"""Steps of a navigator by samples, increments and aiding; ENU from FLU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record, Vector, filled
from strapdown.estimation.intake import FORCE_BIT, RATE_BIT, FilterCounts, intake
from strapdown.estimation.navigation.alignment import align, align_anew
from strapdown.estimation.navigation.errors import (
    Correction,
    copy_steps,
    correct,
    inject,
    keep,
    propagate,
    publish,
    refuse,
)
from strapdown.estimation.navigation.gaps import loosen, remember_motion, widen_clipped
from strapdown.estimation.navigation.prediction import AidingUpdate, Prediction, linearise
from strapdown.estimation.navigation.smoothing import Passage, record
from strapdown.estimation.navigation.state import (
    SIZE,
    NavigatorMemory,
    NavigatorRow,
    describe,
    shift,
)
from strapdown.geometry.formulas import (
    quaternion_exp,
    quaternion_multiply,
    quaternion_rotate,
    quaternion_to_matrix,
)
from strapdown.geometry.triples import ZERO, add, plus, scaled
from strapdown.geometry.vectors import clear, copy, four, put, put_four, three
from strapdown.inertial.coning_sculling import (
    MEAN,
    POINT,
    corrections,
    integral,
    is_finite,
    is_uneven,
    quadrature_weights,
)
from strapdown.inertial.navigation.mechanisation import (
    HOLE,
    Before,
    Earth,
    Motion,
    advance,
    change_of_integrals,
)
from strapdown.samples.clock import DROPPED, START, gap_after
from strapdown.samples.sample import Sample
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import Three
    from strapdown.estimation.navigation.params import NavigatorParams

    take: Callable[..., None]  # of a sample, or of an increment
    reach_next: Callable[..., bool]  # for one of them


class Increment(Sample):
    """A sample of mean rates, with the increments of which they are the means."""

    delta_angle: Vector = filled(3)  # integral of the angular velocity [rad, body]
    delta_angle_dt: float = 0.0  # its duration before the stamp [s]
    delta_velocity: Vector = filled(3)  # integral of specific force [m/s, body axes at the middle]
    delta_velocity_dt: float = 0.0


class AidingWork(Record):
    """Work space of aiding."""

    prediction: Prediction = Prediction()
    uncounted: FilterCounts = FilterCounts()  # counts of what is between samples


class Step(NamedTuple):
    """Motion from the last sample to this one, in body axes and less biases, and the readings."""

    h: float  # [s]; 0 at the first sample
    turn: Three  # rotation vector, coning included [rad]
    push: Three  # integral of the specific force, sculling included [m/s]
    change: Three  # of the specific force, times h [m/s]
    rate: Three  # [rad/s], biases included
    force: Three  # [m/s^2], biases included


@kernel
def step(
    s: NavigatorMemory,
    counts: FilterCounts,
    p: NavigatorParams,
    earth: Earth,
    c: Correction,
    sample: Sample,
) -> None:
    """Process a sample; it is integrated once both sensors have a reading at its stamp."""
    c.steps.count = 0
    taken = intake(s, counts, p, sample)
    if taken.event == DROPPED:
        return
    if taken.event == START:
        begin(s, p)
    s.behind += taken.dt
    if taken.has_force:
        put(s.last_force, three(sample.specific_force))
    both = RATE_BIT | FORCE_BIT
    if s.seen & both == both and (taken.has_rate or taken.has_force):
        go_on(s, p, earth, c, to_sample(s, p), taken.clipping)
    publish(s)


@kernel
def step_increment(
    s: NavigatorMemory,
    counts: FilterCounts,
    p: NavigatorParams,
    earth: Earth,
    c: Correction,
    increment: Increment,
) -> None:
    """Process an increment; bridge a gap between it and the one before."""
    c.steps.count = 0
    put_mean(increment.angular_velocity, increment.delta_angle, increment.delta_angle_dt)
    put_mean(increment.specific_force, increment.delta_velocity, increment.delta_velocity_dt)
    taken = intake(s, counts, p, increment)
    if taken.event == DROPPED:
        return
    if taken.event == START:
        begin(s, p)
    s.behind += taken.dt
    if not (taken.has_rate and taken.has_force):
        return
    put(s.last_force, three(increment.specific_force))
    h = increment.delta_velocity_dt
    hole = s.behind - h if s.started else 0.0
    s.behind = 0.0
    if hole > HOLE * h:
        if hole > gap_after(s.clock.interval):
            loosen(s, hole)
        go_on(s, p, earth, c, across(s, hole), 0)
        s.past.spacing[0] = 0.0
    go_on(s, p, earth, c, over_increment(s, increment), taken.clipping)
    publish(s)


@kernel
def put_mean(mean: Vector, total: Vector, seconds: float) -> None:
    """Write the mean rate of an increment; NaN without a duration."""
    put(mean, scaled(three(total), 1.0 / seconds if seconds > 0.0 else math.nan))


@kernel
def begin(s: NavigatorMemory, p: NavigatorParams) -> None:
    """Start the clock, or restart it after a jump with a larger covariance."""
    if not s.aligned:
        align_anew(s)
    elif s.started:
        loosen(s, p.reset_after)
    s.behind = 0.0
    s.started = False
    clear(s.past.spacing)


@kernel
def to_sample(s: NavigatorMemory, p: NavigatorParams) -> Step:
    """Return the step to the last complete sample, by a quadrature of those before."""
    past, h = s.past, s.behind
    rate, force = three(s.last_rate), three(s.last_force)
    angle = velocity = turn = push = change = ZERO
    s.behind = 0.0
    if s.started:
        h1, h2 = past.spacing[0], past.spacing[1]
        if h > gap_after(s.clock.interval):
            loosen(s, h)
            h1 = h2 = 0.0
        if is_uneven(round(h * 1e9), round(h1 * 1e9), round(h2 * 1e9)):
            h1 = h2 = 0.0
        kind = MEAN if p.mean_samples and h1 > 0.0 else POINT
        weights = quadrature_weights(h, h1, h2)
        rates, forces = past.rates, past.forces
        angle = integral(kind, h, weights, rate, three(rates[0]), three(rates[1]), three(rates[2]))
        velocity = integral(
            kind, h, weights, force, three(forces[0]), three(forces[1]), three(forces[2])
        )
        last_turn, last_push = three(past.turn), three(past.pushes[0])
        if kind == MEAN:
            before = Before(last_push, h1, three(past.pushes[1]), h2, last_turn)
            change = change_of_integrals(velocity, h, before)
        else:
            change = scaled(plus(force, three(forces[0]), -1.0), h)
        turn, push = less(angle, s.gyro_bias, h), less(velocity, s.accel_bias, h)
        if h1 > 0.0:
            last_turn = scaled(less(last_turn, s.gyro_bias, h1), h / h1)
            last_push = scaled(less(last_push, s.accel_bias, h1), h / h1)
            coning, sculling = corrections(ZERO, last_turn, turn, ZERO, last_push, push)
            turn, push = add(turn, coning), add(push, sculling)
        past.spacing[0], past.spacing[1] = h, h1
    shift(past.rates, rate)
    shift(past.forces, force)
    put(past.turn, angle)
    shift(past.pushes, velocity)
    return Step(h, turn, push, change, rate, force)


@kernel
def over_increment(s: NavigatorMemory, increment: Increment) -> Step:
    """Return the step over an increment."""
    past, h = s.past, increment.delta_velocity_dt
    rate, force = three(s.last_rate), three(s.last_force)
    turn, push = three(increment.delta_angle), three(increment.delta_velocity)
    h1, h2 = past.spacing[0], past.spacing[1]
    before = Before(three(past.pushes[0]), h1, three(past.pushes[1]), h2, ZERO)
    change = change_of_integrals(push, h, before)
    past.spacing[0], past.spacing[1] = h, h1
    shift(past.rates, rate)
    shift(past.forces, force)
    shift(past.pushes, push)
    turn = less(turn, s.gyro_bias, increment.delta_angle_dt)
    return Step(h, turn, less(push, s.accel_bias, h), change, rate, force)


@kernel
def across(s: NavigatorMemory, hole: float) -> Step:
    """Return the step over a gap between increments, by the mean of the rates on both sides."""
    rate = scaled(add(three(s.last_rate), three(s.past.rates[0])), 0.5)
    force = scaled(add(three(s.last_force), three(s.past.forces[0])), 0.5)
    turn = scaled(less(rate, s.gyro_bias, 1.0), hole)
    return Step(hole, turn, scaled(less(force, s.accel_bias, 1.0), hole), ZERO, rate, force)


@kernel
def less(total: Three, bias: Vector, h: float) -> Three:
    """Return an integral over h seconds less a bias."""
    return plus(total, three(bias), -h)


@kernel
def go_on(
    s: NavigatorMemory, p: NavigatorParams, earth: Earth, c: Correction, there: Step, clipping: int
) -> None:
    """Align at rest until the alignment is complete, then navigate."""
    remember_motion(s, there.h, there.rate, there.force)
    s.started = True
    if not s.aligned:
        align(s, p, earth, c, there.h, there.rate, there.force)
    elif there.h > 0.0:
        widen_clipped(s, clipping, there.h, there.rate, there.force)
        move(s, p, earth, c, there)


@kernel
def move(s: NavigatorMemory, p: NavigatorParams, earth: Earth, c: Correction, there: Step) -> None:
    """Propagate the estimates and their covariance over a step, and record it."""
    h, q = there.h, four(s.orientation)
    here = Motion(q, three(s.velocity), three(s.position))
    after = advance(here, there.turn, there.push, there.change, h, earth)
    middle = quaternion_multiply(*q, *quaternion_exp(*scaled(there.turn, 0.25)))
    force = scaled(quaternion_rotate(*middle, *there.push), 1.0 / h)
    rotation = quaternion_to_matrix(*middle)
    propagate(s.error_covariance, h, rotation, force, p)
    c.steps.count += 1
    taken = c.steps.first if c.steps.count == 1 else c.steps.second
    taken.h = h
    copy(taken.rotation, rotation)
    put(taken.force, force)
    put_four(s.orientation, after.q)
    put(s.velocity, after.v)
    put(s.position, after.p)


@kernel
def reach(
    s: NavigatorMemory,
    counts: FilterCounts,
    p: NavigatorParams,
    earth: Earth,
    c: Correction,
    following: Sample,
    t_ns: int,
) -> bool:
    """Advance to a time before a sample, by readings between it and the last, if both exist."""
    stamp = following.t_ns
    rate, force = three(following.angular_velocity), three(following.specific_force)
    if not (s.started and is_finite(rate) and is_finite(force)):
        return False
    if not p.mean_samples:
        start_ns = counts.last_ns - round(s.behind * NS_PER_S)
        weight = (t_ns - start_ns) / (stamp - start_ns)
        last_rate, last_force = three(s.past.rates[0]), three(s.past.forces[0])
        put(following.angular_velocity, plus(scaled(rate, weight), last_rate, 1.0 - weight))
        put(following.specific_force, plus(scaled(force, weight), last_force, 1.0 - weight))
    following.t_ns = t_ns
    step(s, counts, p, earth, c, following)
    following.t_ns = stamp
    put(following.angular_velocity, rate)
    put(following.specific_force, force)
    return True


@kernel
def reach_within(
    s: NavigatorMemory,
    counts: FilterCounts,
    p: NavigatorParams,
    earth: Earth,
    c: Correction,
    whole: Increment,
    t_ns: int,
) -> bool:
    """Advance to a time within an increment, which keeps the rest."""
    stamp, span_ns = whole.t_ns, whole.delta_velocity_dt * NS_PER_S
    if not stamp - t_ns < span_ns:
        return False
    part = 1.0 - (stamp - t_ns) / span_ns
    angle, angle_dt = three(whole.delta_angle), whole.delta_angle_dt
    velocity, velocity_dt = three(whole.delta_velocity), whole.delta_velocity_dt
    whole.t_ns = t_ns
    put_increment(whole, part, angle, angle_dt, velocity, velocity_dt)
    step_increment(s, counts, p, earth, c, whole)
    whole.t_ns = stamp
    put_increment(whole, 1.0 - part, angle, angle_dt, velocity, velocity_dt)
    return True


@kernel
def put_increment(
    increment: Increment,
    part: float,
    angle: Three,
    angle_dt: float,
    velocity: Three,
    velocity_dt: float,
) -> None:
    """Write a part of an increment."""
    put(increment.delta_angle, scaled(angle, part))
    put(increment.delta_velocity, scaled(velocity, part))
    increment.delta_angle_dt = part * angle_dt
    increment.delta_velocity_dt = part * velocity_dt


@kernel
def aid(
    s: NavigatorMemory,
    p: NavigatorParams,
    earth: Earth,
    c: Correction,
    w: Prediction,
    update: AidingUpdate,
) -> None:
    """Update with an aiding if it passes its gate.

    Beyond the gate it is rejected and changes nothing. After ``patience`` consecutive
    rejections of its kind the state is considered wrong: its covariance is scaled so that the
    numbers fit, and they are accepted.
    """
    keep(s, c)
    linearise(s, earth, w, update)
    # none is accepted during the alignment, in which every sample sets the state again
    gate = update.gate if s.aligned else -math.inf
    update.nis = correct_all(s, c, update)
    update.accepted = update.nis <= gate
    if not update.accepted:
        refuse(s, c)
        s.refused[update.kind] += gate > 0.0
        if s.refused[update.kind] > p.patience:
            for j in range(SIZE):
                for k in range(SIZE):
                    s.error_covariance[j][k] *= update.nis / update.count
            correct_all(s, c, update)
            update.accepted = True
    if update.accepted:
        s.refused[update.kind] = 0.0
        inject(s, c)
        publish(s)


@kernel
def correct_all(s: NavigatorMemory, c: Correction, update: AidingUpdate) -> float:
    """Update with the numbers one after the other; return the sum of their NIS."""
    nis = 0.0
    for k in range(update.count):
        copy(c.slopes, update.slopes[k])
        nis += correct(s, c, update.residuals[k], update.eigenvalues[k])
        copy(update.columns[k], c.column)
        update.innovations[k], update.variances[k] = c.innovation, c.variance
    return nis


@kernel
def run_steps(
    memory: Sequence[NavigatorMemory],
    counts: Sequence[FilterCounts],
    params: Sequence[NavigatorParams],
    earth: Sequence[Earth],
    correction: Sequence[Correction],
    work: Sequence[AidingWork],
    given: Sequence[Sample],
    rows: Sequence[NavigatorRow],
    updates: Sequence[AidingUpdate],
    passages: Sequence[Passage],
) -> None:
    """Process samples, or increments, with the aiding between them.

    The estimates after each sample are written to a row and, if there are passages, recorded for
    the backward pass.
    """
    s, p, c, w = memory[0], params[0], correction[0], work[0]
    at = 0
    for i in range(len(given) + 1):
        while at < len(updates) and updates[at].reached == i:
            update = updates[at]
            c.steps.count = 0
            if update.t_ns > counts[0].last_ns and i < len(given):
                w.uncounted.last_ns = counts[0].last_ns
                if reach_next(s, w.uncounted, p, earth[0], c, given[i], update.t_ns):  # noqa: F821 (bound by the navigator)
                    counts[0].last_ns = update.t_ns
            aid(s, p, earth[0], c, w.prediction, update)
            copy_steps(update.steps, c.steps)
            if i > 0 and given[i - 1].t_ns == update.t_ns:
                describe(rows[i - 1], s)
            at += 1
        if i < len(given):
            take(s, counts[0], p, earth[0], c, given[i])  # noqa: F821 (likewise)
            describe(rows[i], s)
            if len(passages) > 0:
                record(passages[i], s, c)

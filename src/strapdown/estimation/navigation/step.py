"""Steps of a navigator by samples, increments and aiding; ENU from FLU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.estimation.intake import FORCE_BIT, RATE_BIT, FilterCounts, intake
from strapdown.estimation.navigation.alignment import align, align_anew
from strapdown.estimation.navigation.errors import (
    Correction,
    correct,
    inject,
    keep,
    propagate,
    publish,
    refuse,
)
from strapdown.estimation.navigation.gaps import loosen, remember_motion, widen_clipped
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

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import Three
    from strapdown.estimation.navigation.params import NavigatorParams

    take: Callable[..., None]  # of a sample, or of an increment
    write: Callable[..., None]  # to a row, or for the backward pass


class Increment(Sample):
    """A sample of mean rates, with the increments of which they are the means."""

    delta_angle: Vector = filled(3)  # integral of the angular velocity [rad, body]
    delta_angle_dt: float = 0.0  # its duration before the stamp [s]
    delta_velocity: Vector = filled(3)  # integral of specific force [m/s, body axes at the middle]
    delta_velocity_dt: float = 0.0


MOST: Final = 6  # numbers of an aiding


class AidingUpdate(Record):
    """An aiding: up to six numbers measured together, with independent errors."""

    kind: int = 0
    count: int = 0
    slopes: Matrix = zeros(MOST, SIZE)  # derivatives of each number by the errors
    residuals: Vector = filled(MOST)  # measured less predicted
    variances: Vector = filled(MOST)
    gate: float = 0.0  # largest sum of squared innovations that is accepted


class AidingVerdict(Record):
    """Result of an aiding, and what the backward pass needs of it."""

    nis: float = 0.0  # sum of the normalised innovations squared
    accepted: bool = False
    columns: Matrix = zeros(MOST, SIZE)  # covariance of the errors with each number
    innovations: Vector = filled(MOST)
    variances: Vector = filled(MOST)  # of the innovations


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
def aid(
    s: NavigatorMemory,
    p: NavigatorParams,
    c: Correction,
    update: AidingUpdate,
    answer: AidingVerdict,
) -> None:
    """Update with an aiding if it passes its gate.

    Beyond the gate it is rejected and changes nothing. After ``patience`` consecutive
    rejections of its kind the state is considered wrong: its covariance is scaled so that the
    numbers fit, and they are accepted.
    """
    keep(s, c)
    answer.nis = correct_all(s, c, update, answer)
    answer.accepted = answer.nis <= update.gate
    if not answer.accepted:
        refuse(s, c)
        s.refused[update.kind] += update.gate > 0.0
        if s.refused[update.kind] > p.patience:
            for j in range(SIZE):
                for k in range(SIZE):
                    s.error_covariance[j][k] *= answer.nis / update.count
            correct_all(s, c, update, answer)
            answer.accepted = True
    if answer.accepted:
        s.refused[update.kind] = 0.0
        inject(s, c)
        publish(s)


@kernel
def correct_all(
    s: NavigatorMemory, c: Correction, update: AidingUpdate, answer: AidingVerdict
) -> float:
    """Update with the numbers one after the other; return the sum of their NIS."""
    nis = 0.0
    for k in range(update.count):
        for j in range(SIZE):
            c.slopes[j] = update.slopes[k][j]
        nis += correct(s, c, update.residuals[k], update.variances[k])
        copy(answer.columns[k], c.column)
        answer.innovations[k], answer.variances[k] = c.innovation, c.variance
    return nis


@kernel
def run_steps(
    memory: Sequence[NavigatorMemory],
    counts: Sequence[FilterCounts],
    params: Sequence[NavigatorParams],
    earth: Sequence[Earth],
    correction: Sequence[Correction],
    given: Sequence[Sample],
    rows: Sequence[NavigatorRow],
) -> None:
    """Process samples, or increments, and write or record the estimates after each."""
    for i in range(len(given)):
        take(memory[0], counts[0], params[0], earth[0], correction[0], given[i])  # noqa: F821 (bound by the navigator)
        write(rows[i], memory[0], correction[0])  # noqa: F821 (likewise)


@kernel
def write_row(row: NavigatorRow, s: NavigatorMemory, _c: Correction) -> None:
    """Write the estimates to a row of the result."""
    describe(row, s)


@kernel
def run_aidings(
    memory: Sequence[NavigatorMemory],
    _counts: Sequence[FilterCounts],
    params: Sequence[NavigatorParams],
    _earth: Sequence[Earth],
    correction: Sequence[Correction],
    updates: Sequence[AidingUpdate],
    answers: Sequence[AidingVerdict],
) -> None:
    """Process aidings, and write the result of each."""
    for i in range(len(updates)):
        aid(memory[0], params[0], correction[0], updates[i], answers[i])

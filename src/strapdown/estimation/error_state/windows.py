"""Preintegration of the smoother: samples to steps, steps to windows between knots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from strapdown._kernels.kernel import kernel
from strapdown.estimation.error_state.model import (
    Window,
    clear_window,
    corrected_turn,
    extend_by,
    finish_window,
    half_of,
)
from strapdown.estimation.intake import FilterCounts, FilterMemory, intake
from strapdown.geometry.formulas import quaternion_multiply, quaternion_rotate
from strapdown.geometry.vectors import clear, four, put, put_four, three
from strapdown.samples.clock import START

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.records import Matrix, Vector
    from strapdown._typing import Four, Three
    from strapdown.estimation.error_state.knots import (
        Constants,
        CorrectedTurn,
        Knot,
        Nominal,
        Step,
        WindowResidual,
    )
    from strapdown.estimation.error_state.smoother_params import SmootherParams
    from strapdown.samples.sample import Sample


@kernel
def cut(
    state: Sequence[FilterMemory],
    counts: Sequence[FilterCounts],
    params: Sequence[SmootherParams],
    samples: Sequence[Sample],
    steps: Sequence[Step],
) -> None:
    """Check every sample and write the steps between them (all but the force)."""
    for i in range(len(samples)):
        taken = intake(state[0], counts[0], params[0], samples[i])
        step = steps[i]
        step.event, step.clipping, step.hole = taken.event, taken.clipping, taken.hole
        step.dt = 0.0 if taken.event == START else taken.dt
        put(step.turn, taken.turn)


@kernel
def preintegrate(
    steps: Sequence[Step],
    knots: Sequence[Knot],
    path: Sequence[Nominal],
    constants: Sequence[Constants],
    moving: Sequence[Nominal],
    turns: Sequence[CorrectedTurn],
    windows: Sequence[Window],
    residuals: Sequence[WindowResidual],
) -> None:
    """Integrate every window along the path, and write the residuals at its end."""
    x = moving[0]
    for j in range(len(windows)):
        window, residual = windows[j], residuals[j]
        begin(x, path[j])
        clear_window(window)
        clear_losses(residual)
        first, last = knots[j].at + 1, knots[j + 1].at
        for i in range(first, last + 1):
            prepare(turns[i - first], steps[i], x.gyro_bias, constants[0])
        for i in range(first, last + 1):
            step = steps[i]
            if step.dt > 0.0:
                integrate(x, window, step, turns[i - first], constants[0].accel_bias)
                lose(residual, x.orientation, step)
        if residual.is_clipped:  # a clipped reading does not determine the scale
            for i in range(3):
                clear(window.j_matrix[i])
                clear(window.v_matrix[i])
        half = 0.5 * window.span
        move(x.position, half, x.velocity)
        finish_window(window, x.velocity)
        move(x.position, half, x.velocity)
        miss(residual, x, path[j + 1])


@kernel
def begin(x: Nominal, at: Nominal) -> None:
    """Copy a state."""
    put_four(x.orientation, four(at.orientation))
    put(x.velocity, three(at.velocity))
    put(x.gyro_bias, three(at.gyro_bias))
    put(x.position, three(at.position))


@kernel
def clear_losses(residual: WindowResidual) -> None:
    """Clear the variances of unmeasured motion."""
    for i in range(3):
        clear(residual.lost_turn[i])
    residual.lost_speed = 0.0
    residual.is_clipped = False


@kernel
def move(v: Vector, span: float, pace: Vector) -> None:
    """Add ``span`` times ``pace`` to a vector."""
    for i in range(3):
        v[i] += span * pace[i]


@kernel
def prepare(turn: CorrectedTurn, step: Step, bias: Vector, constants: Constants) -> None:
    """Write the corrected rotation of a step; steps are independent in this loop."""
    corrected = corrected_turn(bias, constants.gyro_matrix, step.turn, step.dt)
    put(turn.turn, corrected)
    put_four(turn.half, half_of(corrected))


@kernel
def integrate(x: Nominal, window: Window, step: Step, turn: CorrectedTurn, bias: Vector) -> None:
    """Integrate one step into a window."""
    force, dt = step.force, step.dt
    own = (force[0] - bias[0], force[1] - bias[1], force[2] - bias[2])
    half, reading = four(turn.half), three(step.turn)
    extend_by(window, x.orientation, three(turn.turn), half, reading, own, dt)


@kernel
def lose(residual: WindowResidual, orientation: Vector, step: Step) -> None:
    """Add the unmeasured motion of clipped and lost samples to the noise of a window."""
    for axis in range(3):
        c = step.clipped[axis]
        if c > 0.0:
            residual.is_clipped = True
            along = (c * (axis == 0), c * (axis == 1), c * (axis == 2))
            lose_along(residual.lost_turn, orientation, along)
    if step.hole > 0.0:
        for i in range(3):
            lose_along(residual.lost_turn, orientation, three(step.lost_turn[i]))
    residual.lost_speed += step.lost_speed * step.lost_speed


@kernel
def lose_along(covariance: Matrix, orientation: Vector, sigma: Three) -> None:
    """Add the covariance of a standard deviation along one axis of the body."""
    r = quaternion_rotate(*four(orientation), *sigma)
    for i in range(3):
        for j in range(3):
            covariance[i][j] += r[i] * r[j]


@kernel
def miss(residual: WindowResidual, x: Nominal, after: Nominal) -> None:
    """Write the difference between the end of a window and the next knot of the path."""
    turn = turn_between(four(after.orientation), four(x.orientation))
    put(residual.turn, turn)
    put(residual.speed, apart(turn, after.velocity, x.velocity))
    put(residual.place, apart(turn, after.position, x.position))
    for k in range(3):
        residual.bias[k] = x.gyro_bias[k] - after.gyro_bias[k]


@kernel
def apart(turn: Three, a: Vector, b: Vector) -> Three:
    """Return the error from a vector a to b after the rotation of the world."""
    px, py, pz = turn
    return (
        b[0] - a[0] - (py * a[2] - pz * a[1]),
        b[1] - a[1] - (pz * a[0] - px * a[2]),
        b[2] - a[2] - (px * a[1] - py * a[0]),
    )


@kernel
def turn_between(a: Four, b: Four) -> Three:
    """Return the rotation vector, in world axes, from quaternion a to b."""
    x, y, z, w = quaternion_multiply(*b, -a[0], -a[1], -a[2], a[3])
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    s = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(s, w) / s if s > 1e-12 else 2.0
    return scale * x, scale * y, scale * z

"""One step of preintegration: its increments, and their derivatives.

The derivative of an increment by a turn or a push is a matrix of three rows; its columns are the
axes of the body before the step, its rows those of the start.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from strapdown._kernels.kernel import kernel
from strapdown._typing import Four, Three
from strapdown.geometry.formulas import quaternion_exp, quaternion_rotate, quaternion_to_matrix
from strapdown.geometry.triples import ZERO, add, cross, plus, scaled
from strapdown.geometry.vectors import dot, square
from strapdown.inertial.navigation.mechanisation import coefficients, increments

Rows: TypeAlias = tuple[Three, Three, Three]


class Step(NamedTuple):
    """Increments of a step in the axes of the start, and their derivatives by turn and push."""

    turn: Four  # of the body, in its axes
    velocity: Three
    path: Three
    h: float
    rotation_by_turn: Rows  # columns: the axes of the body before the step
    velocity_by_turn: Rows
    path_by_turn: Rows
    velocity_by_push: Rows
    path_by_push: Rows


class InputJacobian(NamedTuple):
    """Derivatives of the increments of a step by three numbers."""

    rotation: Rows
    velocity: Rows
    path: Rows


@kernel
def step_of(q: Four, turn: Three, push: Three, change: Three, h: float, is_simple: bool) -> Step:
    """Return a step; a simple one has its push in the axes before the step."""
    a, b, c, d, e, f, g, i, j = quaternion_to_matrix(*q)
    rotation = ((a, b, c), (d, e, f), (g, i, j))
    first, second, third = coefficients(square(turn))
    by_turn = product(rotation, series(1.0, first, second, turn))  # left Jacobian of SO(3)
    velocity, path = push, scaled(push, 0.5 * h)
    bent = shifted = (ZERO, ZERO, ZERO)
    pushed, carried = rotation, (
        scaled(rotation[0], 0.5 * h), scaled(rotation[1], 0.5 * h), scaled(rotation[2], 0.5 * h)
    )  # fmt: skip
    if not is_simple:
        velocity, path = increments(turn, push, change, h)
        bent = product(rotation, by_turns(1 / 2, 1 / 6, turn, push))
        shifted = product(rotation, by_turns(h / 6, h / 24, turn, push))
        pushed = by_turn
        carried = product(rotation, series(0.5 * h, second * h, third * h, turn))
    return Step(
        quaternion_exp(*scaled(turn, 0.5)),
        quaternion_rotate(*q, *velocity), quaternion_rotate(*q, *path), h,
        by_turn, bent, shifted, pushed, carried,
    )  # fmt: skip


@kernel
def series(first: float, second: float, third: float, v: Three) -> Rows:
    """Return first I + second [v]x + third [v]x [v]x."""
    x, y, z = v
    even = first - third * square(v)
    xy, yz, zx = third * x * y, third * y * z, third * z * x
    x2, y2, z2 = second * x, second * y, second * z
    return (
        (even + third * x * x, xy - z2, zx + y2),
        (xy + z2, even + third * y * y, yz - x2),
        (zx - y2, yz + x2, even + third * z * z),
    )


@kernel
def by_turns(first: float, second: float, turn: Three, push: Three) -> Rows:
    """Return the derivative of first t x p + second t x (t x p) by t, a turn; p is a push."""
    x, y, z = push
    even = second * dot(turn, push)
    p, t = scaled(push, second), turn
    return (
        (
            even - p[0] * t[0],
            t[0] * p[1] - 2.0 * p[0] * t[1] + first * z,
            t[0] * p[2] - 2.0 * p[0] * t[2] - first * y,
        ),
        (
            t[1] * p[0] - 2.0 * p[1] * t[0] - first * z,
            even - p[1] * t[1],
            t[1] * p[2] - 2.0 * p[1] * t[2] + first * x,
        ),
        (
            t[2] * p[0] - 2.0 * p[2] * t[0] + first * y,
            t[2] * p[1] - 2.0 * p[2] * t[1] - first * x,
            even - p[2] * t[2],
        ),
    )


@kernel
def by_input(s: Step, scale: float, turn: Three, push: Three) -> InputJacobian:
    """Return the derivatives by numbers that change turn by scale I + [turn]x, push by [push]x."""
    return InputJacobian(
        times(s.rotation_by_turn, scale, turn),
        sum_of(times(s.velocity_by_turn, scale, turn), times(s.velocity_by_push, 0.0, push)),
        sum_of(times(s.path_by_turn, scale, turn), times(s.path_by_push, 0.0, push)),
    )


@kernel
def times(matrix: Rows, scale: float, v: Three) -> Rows:
    """Return matrix (scale I + [v]x)."""
    a, b, c = matrix
    return (
        plus(cross(a, v), a, scale), plus(cross(b, v), b, scale), plus(cross(c, v), c, scale)
    )  # fmt: skip


@kernel
def product(a: Rows, b: Rows) -> Rows:
    """Return the product of two matrices."""
    (bxx, bxy, bxz), (byx, byy, byz), (bzx, bzy, bzz) = b
    x, y, z = (bxx, byx, bzx), (bxy, byy, bzy), (bxz, byz, bzz)
    return (
        (dot(a[0], x), dot(a[0], y), dot(a[0], z)),
        (dot(a[1], x), dot(a[1], y), dot(a[1], z)),
        (dot(a[2], x), dot(a[2], y), dot(a[2], z)),
    )


@kernel
def sum_of(a: Rows, b: Rows) -> Rows:
    """Return the sum of two matrices."""
    return add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2])

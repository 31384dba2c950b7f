"""Back through the samples of a foot: what later ones say about earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.estimation.foot._kernels import (
    ENTRY,
    MOST,
    NEW_FLOOR,
    PASSED,
    PUSH,
    ROTATION,
    STEP_S,
    WITH_FLOOR,
    write,
)
from strapdown.estimation.navigation._kernels import (
    D_POSITION,
    ERROR,
    NAVIGATOR,
    SIZE,
    SPREAD,
    inject,
    mirror,
)
from strapdown.estimation.navigation.memory._kernels import ALIGNED

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.estimation.navigation._kernels import Matrix
    from strapdown.integration._kernels import Vector

BORROWS = True

# After what every navigator has, the vector and the matrix keep
LATER: Final = NAVIGATOR  # Lambda K of a number, or a row of P Lambda
SMOOTHED: Final = LATER + SIZE  # a smoothed covariance
ADJOINT: Final = SMOOTHED + SIZE * SIZE


def back(
    adjoint: FloatArray, states: FloatArray, tapes: FloatArray, out: FloatArray, lifts: FloatArray
) -> None:
    """Go back through samples, and write what all of them, also the later ones, say.

    The smoother of modified Bryson and Frazier: a vector lambda (at ERROR of ``adjoint``) and a
    matrix Lambda (at SPREAD) carry what later measurements say; the smoothed error is
    -P lambda, its covariance P - P Lambda P. Nothing is inverted. ``lifts`` are corrections of
    the heights of floors where these begin. G. Bierman, "Factorization Methods for Discrete
    Sequential Estimation", 1977, chapter X.
    """
    for i in range(len(states) - 1, -1, -1):
        state, tape = states[i], tapes[i]
        if state[ALIGNED] == 0.0:
            continue
        smooth(adjoint, state, out[i])
        if tape[NEW_FLOOR] > 0.0:
            cut_floor(adjoint)
            for k in range(SIZE):
                lifts[i] -= tape[WITH_FLOOR + k] * adjoint[ERROR + k]
        for number in range(MOST - 1, -1, -1):
            if tape[ENTRY * number + 2 * SIZE] > 0.0:
                untake(adjoint, tape, ENTRY * number)
        if tape[PASSED] > 0.0 and tape[STEP_S] > 0.0:
            step_back(adjoint, tape)


def smooth(adjoint: FloatArray, state: FloatArray, row: FloatArray) -> None:
    """Correct a state by what later samples say, and write it."""
    for j in range(SIZE):
        at = SPREAD + SIZE * j
        total = 0.0
        for k in range(SIZE):
            total -= state[at + k] * adjoint[ERROR + k]
            adjoint[LATER + k] = 0.0
        state[ERROR + j] = total
        for i in range(SIZE):
            for k in range(SIZE):
                adjoint[LATER + k] += state[at + i] * adjoint[SPREAD + SIZE * i + k]
        for k in range(SIZE):
            adjoint[SMOOTHED + SIZE * j + k] = state[at + k]
        for i in range(SIZE):
            for k in range(SIZE):
                less = adjoint[LATER + i] * state[SPREAD + SIZE * i + k]
                adjoint[SMOOTHED + SIZE * j + k] -= less
    for k in range(SIZE * SIZE):
        state[SPREAD + k] = adjoint[SMOOTHED + k]
    for k in range(SPREAD, NAVIGATOR, SIZE + 1):
        state[k] = max(state[k], 0.0)
    inject(state)
    write(state, row)


def cut_floor(adjoint: FloatArray) -> None:
    """Let later samples say nothing of the height before a new floor."""
    at = D_POSITION + 2
    adjoint[ERROR + at] = 0.0
    for k in range(SIZE):
        adjoint[SPREAD + SIZE * at + k] = adjoint[SPREAD + SIZE * k + at] = 0.0


def untake(adjoint: FloatArray, tape: FloatArray, at: int) -> None:
    """Go back over a number that was taken."""
    crossed, spread = at + SIZE, tape[at + 2 * SIZE]
    told, square = tape[at + 2 * SIZE + 1], 1.0 / spread
    for j in range(SIZE):
        adjoint[LATER + j] = 0.0
    for j in range(SIZE):
        told += tape[crossed + j] * adjoint[ERROR + j]
        for k in range(SIZE):
            adjoint[LATER + k] += adjoint[SPREAD + SIZE * j + k] * tape[crossed + j] / spread
    for j in range(SIZE):
        square += tape[crossed + j] / spread * adjoint[LATER + j]
    for j in range(SIZE):
        adjoint[ERROR + j] -= tape[at + j] * told / spread
        for k in range(SIZE):
            adjoint[SPREAD + SIZE * j + k] += (
                square * tape[at + j] * tape[at + k]
                - tape[at + j] * adjoint[LATER + k]
                - adjoint[LATER + j] * tape[at + k]
            )


def step_back(adjoint: FloatArray, tape: FloatArray) -> None:
    """Go back over a step: the transpose of its propagation, on vector and matrix."""
    h = tape[STEP_S]
    at = ROTATION
    tilt = (
        -0.5 * h * tape[at], -0.5 * h * tape[at + 1], -0.5 * h * tape[at + 2],
        -0.5 * h * tape[at + 3], -0.5 * h * tape[at + 4], -0.5 * h * tape[at + 5],
        -0.5 * h * tape[at + 6], -0.5 * h * tape[at + 7], -0.5 * h * tape[at + 8],
    )  # fmt: skip
    push = (h * tape[PUSH], h * tape[PUSH + 1], h * tape[PUSH + 2])
    lead_back(adjoint, ERROR, 1, 0.5 * h, push, tilt)
    for k in range(SIZE):
        lead_back(adjoint, SPREAD + k, SIZE, 0.5 * h, push, tilt)
    for k in range(SIZE):
        lead_back(adjoint, SPREAD + SIZE * k, 1, 0.5 * h, push, tilt)
    mirror(adjoint)


def lead_back(
    adjoint: FloatArray, at: int, apart: int, half: float, push: Vector, tilt: Matrix
) -> None:
    """Take fifteen numbers back over a step: the transpose of ``lead``."""
    rx, ry, rz = adjoint[at + 6 * apart], adjoint[at + 7 * apart], adjoint[at + 8 * apart]
    a, b, c, d, e, f, g, h, i = tilt
    x = adjoint[at + 3 * apart] + half * adjoint[at]
    y = adjoint[at + 4 * apart] + half * adjoint[at + apart]
    z = adjoint[at + 5 * apart] + half * adjoint[at + 2 * apart]
    sx = rx + push[1] * z - push[2] * y
    sy = ry + push[2] * x - push[0] * z
    sz = rz + push[0] * y - push[1] * x
    adjoint[at + 3 * apart] = x + half * adjoint[at]
    adjoint[at + 4 * apart] = y + half * adjoint[at + apart]
    adjoint[at + 5 * apart] = z + half * adjoint[at + 2 * apart]
    adjoint[at + 6 * apart], adjoint[at + 7 * apart], adjoint[at + 8 * apart] = sx, sy, sz
    adjoint[at + 9 * apart] += 2.0 * (a * x + d * y + g * z)
    adjoint[at + 10 * apart] += 2.0 * (b * x + e * y + h * z)
    adjoint[at + 11 * apart] += 2.0 * (c * x + f * y + i * z)
    rx, ry, rz = rx + sx, ry + sy, rz + sz
    adjoint[at + 12 * apart] += a * rx + d * ry + g * rz
    adjoint[at + 13 * apart] += b * rx + e * ry + h * rz
    adjoint[at + 14 * apart] += c * rx + f * ry + i * rz

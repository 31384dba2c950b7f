"""Back through the samples of a foot: what later ones say about earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    D_ACCEL_BIAS,
    D_GYRO_BIAS,
    D_ORIENTATION,
    D_POSITION,
    D_VELOCITY,
    ERROR,
    NAVIGATOR,
    SIZE,
    SPREAD,
    add_multiple,
    inject,
)
from strapdown.estimation.navigation.memory._kernels import ALIGNED, dot, three

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.estimation.navigation._kernels import Matrix


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
                untake(adjoint, tape[ENTRY * number : ENTRY * (number + 1)])
        if tape[PASSED] > 0.0 and tape[STEP_S] > 0.0:
            step_back(adjoint, tape)


def smooth(adjoint: FloatArray, state: FloatArray, row: FloatArray) -> None:
    """Correct a state by what later samples say, and write it."""
    spread = state[SPREAD:NAVIGATOR].copy()
    half = np.zeros(SIZE * SIZE)  # P Lambda
    for j in range(SIZE):
        total = 0.0
        for k in range(SIZE):
            total -= spread[SIZE * j + k] * adjoint[ERROR + k]
        state[ERROR + j] = total
        for i in range(SIZE):
            p = spread[SIZE * j + i]
            for k in range(SIZE):
                half[SIZE * j + k] += p * adjoint[SPREAD + SIZE * i + k]
    for j in range(SIZE):
        for k in range(j + 1):
            value = spread[SIZE * j + k]
            for i in range(SIZE):
                value -= half[SIZE * j + i] * spread[SIZE * i + k]
            if j == k:
                value = max(value, 0.0)
            state[SPREAD + SIZE * j + k] = state[SPREAD + SIZE * k + j] = value
    inject(state)
    write(state, row)
    state[SPREAD:NAVIGATOR] = spread


def cut_floor(adjoint: FloatArray) -> None:
    """Let later samples say nothing of the height before a new floor."""
    at = D_POSITION + 2
    adjoint[ERROR + at] = 0.0
    for k in range(SIZE):
        adjoint[SPREAD + SIZE * at + k] = adjoint[SPREAD + SIZE * k + at] = 0.0


def untake(adjoint: FloatArray, entry: FloatArray) -> None:
    """Go back over a number that was taken."""
    row, crossed = entry[:SIZE], entry[SIZE : 2 * SIZE]
    spread, innovation = entry[2 * SIZE], entry[2 * SIZE + 1]
    later = np.zeros(SIZE)  # Lambda K
    told, square = innovation, 1.0 / spread
    for j in range(SIZE):
        told += crossed[j] * adjoint[ERROR + j]
        for k in range(SIZE):
            later[j] += adjoint[SPREAD + SIZE * j + k] * crossed[k] / spread
    for j in range(SIZE):
        square += crossed[j] / spread * later[j]
    for j in range(SIZE):
        adjoint[ERROR + j] -= row[j] * told / spread
        for k in range(SIZE):
            adjoint[SPREAD + SIZE * j + k] += (
                square * row[j] * row[k] - row[j] * later[k] - later[j] * row[k]
            )


def step_back(adjoint: FloatArray, tape: FloatArray) -> None:
    """Go back over a step: the transposed parts of its propagation, the last one first."""
    h = tape[STEP_S]
    half = 0.5 * h
    a, b, c, d, e, f, g, k, i = (
        tape[ROTATION], tape[ROTATION + 1], tape[ROTATION + 2],
        tape[ROTATION + 3], tape[ROTATION + 4], tape[ROTATION + 5],
        tape[ROTATION + 6], tape[ROTATION + 7], tape[ROTATION + 8],
    )  # fmt: skip
    unit = (half, 0.0, 0.0, 0.0, half, 0.0, 0.0, 0.0, half)
    tilt = (
        -half * a, -half * d, -half * g,
        -half * b, -half * e, -half * k,
        -half * c, -half * f, -half * i,
    )  # fmt: skip
    x, y, z = h * tape[PUSH], h * tape[PUSH + 1], h * tape[PUSH + 2]
    lean = (0.0, -z, y, z, 0.0, -x, -y, x, 0.0)
    carry(adjoint, D_VELOCITY, D_POSITION, unit)
    carry(adjoint, D_GYRO_BIAS, D_ORIENTATION, tilt)
    carry(adjoint, D_ACCEL_BIAS, D_VELOCITY, tilt)
    carry(adjoint, D_ACCEL_BIAS, D_VELOCITY, tilt)
    carry(adjoint, D_ORIENTATION, D_VELOCITY, lean)
    carry(adjoint, D_GYRO_BIAS, D_ORIENTATION, tilt)
    carry(adjoint, D_VELOCITY, D_POSITION, unit)


def carry(adjoint: FloatArray, to: int, of: int, matrix: Matrix) -> None:
    """Add ``matrix`` times three of the numbers to three others, in vector and matrix."""
    x, y, z = three(adjoint, ERROR + of)
    for j in range(3):
        adjoint[ERROR + to + j] += dot(
            (matrix[3 * j], matrix[3 * j + 1], matrix[3 * j + 2]), (x, y, z)
        )
    add_multiple(adjoint, to, of, matrix)

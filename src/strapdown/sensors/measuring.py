"""The error model of one sample, and loops of it over blocks.

The formulas (:func:`between`, :func:`disturbed`, :func:`code_of`, :func:`limited`,
:func:`carried`) run as plain Python on floats and on whole arrays, and compiled; :func:`condition`
runs on lists of floats and, compiled, on arrays. All give the same bits: IEEE double, nothing
but ``+ - * /`` and comparisons, in the written order. :func:`measure` and its passes are only
meant to be compiled: each pass is one loop over a block that stays in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown._kernels.kernel import kernel
from strapdown.sensors.noise.generator import fill_normals, scratch

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence
    from typing import Any, TypeAlias, TypeVar

    from numpy.typing import NDArray

    from strapdown._typing import ByteArray, FloatArray, IntArray

    Real = TypeVar("Real", float, FloatArray)
    Row: TypeAlias = Sequence[float] | NDArray[Any]
    Rows: TypeAlias = Sequence[Sequence[float]] | FloatArray
    Cells: TypeAlias = MutableSequence[float] | FloatArray

# Added and taken away again, this rounds half to even below 2^51.
HALF_EVEN = 6755399441055744.0
BLOCK = 2048

# The state of an axis before that of its filter: the zero of the filter (NaN before
# the first value), the first value of the open window, the sum of the differences of the others
# from it, how many values it has, and whether one was at the range of the element.
ORIGIN, FIRST, SUM, COUNT, HIT, MEMORY = 0, 1, 2, 3, 4, 5


@kernel
def between(left: Real, right: Real, per_step: float, offset: Real) -> Real:
    """Interpolate between two nodes, ``offset`` samples after the left one."""
    return left + offset * ((right - left) * per_step)


@kernel
def disturbed(slow: Real, sigma: float, normal: Real) -> Real:
    return slow + sigma * normal


@kernel
def code_of(total: Real, error: Real, per_lsb: float, rounding: float) -> Real:
    """Return the output in least significant bits: whole, or unchanged where rounding is 0."""
    return ((total + error) * per_lsb + rounding) - rounding


@kernel
def limited(code: float, low: float, high: float) -> float:
    if code < low:
        return low
    return high if code > high else code  # noqa: FURB136 (NaN stays NaN, compiled as well)


@kernel
def carried(code: float, residue: float) -> tuple[float, float]:
    """Round a code with the residue of the code before it; return it and the new residue."""
    if code != code:  # noqa: PLR0124 (NaN leaves the rest as it was)
        return code, residue
    wanted = code + residue
    whole = (wanted + HALF_EVEN) - HALF_EVEN
    return whole, wanted - whole


@kernel
def element(x: float, quadratic: float, cubic: float) -> float:
    return x + (x * x) * (quadratic + cubic * x)


@kernel
def leaked(leaks: Row, x: float, y: float, z: float) -> float:
    """Return the contribution of specific force and its squares to a rate."""
    return ((leaks[0] * x + leaks[1] * y) + leaks[2] * z) + (
        (leaks[3] * (x * x) + leaks[4] * (y * y)) + leaks[5] * (z * z)
    )


@kernel
def filtered(x: float, sections: Row, state: Cells) -> float:
    """Pass a value through second-order sections b0 b1 b2 a1 a2, direct form II transposed."""
    s = MEMORY
    for c in range(0, len(sections), 5):
        y = sections[c] * x + state[s]
        state[s] = (sections[c + 1] * x - sections[c + 3] * y) + state[s + 1]
        state[s + 1] = sections[c + 2] * x - sections[c + 4] * y
        x = y
        s += 2
    return x


@kernel
def condition(
    axis: int, inputs: Rows, normals: Row, nonlinear: Row, leaks: Row, limit: float, sigma: float,
    sections: Row, gain: float, window: int, mean: bool,
    state: Cells, out: Cells, hits: Cells,
) -> int:  # fmt: skip
    """Pass the inputs of one axis through element, filter and window.

    The filter works on the difference from the first value, so it starts in the steady state
    of that value; a mean works on the difference from the first value of its window, so the
    mean of equal values is that value. ``inputs`` has one row an axis, gyros first; ``leaks``
    is empty or the coefficients of :func:`leaked`. Returns the number of windows closed.
    """
    closed = 0
    for i in range(len(normals)):
        value = element(inputs[axis][i], nonlinear[0], nonlinear[1])
        if len(leaks) > 0:
            value = value + leaked(leaks, inputs[3][i], inputs[4][i], inputs[5][i])
        if state[ORIGIN] != state[ORIGIN]:  # NaN: no input before
            state[ORIGIN] = limited(value, -limit, limit)
        value = value + sigma * normals[i]
        if value >= limit or value <= -limit:
            state[HIT] = 1.0
            value = limited(value, -limit, limit)
        if len(sections) > 0 and value == value:  # noqa: PLR0124 (NaN passes the filter by)
            origin = state[ORIGIN]
            value = gain * origin + filtered(value - origin, sections, state)
        if mean:
            if state[COUNT] == 0.0:
                state[FIRST], state[SUM] = value, 0.0
            state[SUM] = state[SUM] + (value - state[FIRST])
        state[COUNT] = state[COUNT] + 1.0
        if state[COUNT] == window:
            out[closed] = state[FIRST] + state[SUM] / window if mean else value
            hits[closed] = state[HIT]
            state[COUNT] = state[HIT] = 0.0
            closed += 1
    return closed


@kernel
def interpolate(
    nodes: FloatArray, first_node: int, decimation: int, start: int, out: FloatArray
) -> None:
    """Fill ``out`` with the values at samples ``start``, ``start + 1``, ..."""
    node, offset = start // decimation - first_node, start % decimation
    if decimation == 1:
        for i in range(out.size):
            out[i] = nodes[node + i]
        return
    done = 0
    while done < out.size:
        piece = out[done : done + decimation - offset]
        fill_between(nodes[node], nodes[node + 1], 1.0 / decimation, float(offset), piece)
        done += piece.size
        node, offset = node + 1, 0


@kernel
def fill_between(
    left: float, right: float, per_step: float, offset: float, out: FloatArray
) -> None:
    for i in range(out.size):
        out[i] = between(left, right, per_step, offset + i)


@kernel
def add_weighted(total: FloatArray, weight: float, x: FloatArray) -> None:
    for i in range(total.size):
        total[i] = total[i] + weight * x[i]


@kernel
def add_product(total: FloatArray, factor: FloatArray, x: FloatArray) -> None:
    for i in range(total.size):
        total[i] = total[i] + factor[i] * x[i]


@kernel
def disturb(
    slow: FloatArray, sigma: float, loudness: FloatArray, normals: NDArray[np.float32]
) -> None:
    """Add white noise whose density changes."""
    for i in range(slow.size):
        slow[i] = disturbed(slow[i], sigma, loudness[i] * normals[i])


@kernel
def encode(
    total: FloatArray, slow: FloatArray, sigma: float, normals: NDArray[np.float32],
    per_lsb: float, rounding: float,
) -> None:  # fmt: skip
    """Convert the readings of an axis to codes."""
    for i in range(total.size):
        total[i] = code_of(total[i], disturbed(slow[i], sigma, normals[i]), per_lsb, rounding)


@kernel
def carry(codes: FloatArray, residue: float) -> float:
    for i in range(codes.size):
        codes[i], residue = carried(codes[i], residue)
    return residue


@kernel
def decode(codes: FloatArray, low: float, high: float, lsb: float, out: FloatArray) -> None:
    """Convert codes to values within the limits."""
    for i in range(codes.size):
        out[i] = limited(codes[i], low, high) * lsb


@kernel
def flag(codes: FloatArray, low: float, high: float, bit: np.uint8, clipping: ByteArray) -> None:
    """Set a bit where a code is at a limit or beyond; a device cannot distinguish the two."""
    for i in range(codes.size):
        clipping[i] |= bit * ((codes[i] <= low) | (codes[i] >= high))


@kernel
def fill(out: NDArray[np.floating], value: float) -> None:
    for i in range(len(out)):
        out[i] = value


class Room(NamedTuple):
    """Buffers of :func:`measure` for a block."""

    codes: FloatArray
    errors: FloatArray
    factors: FloatArray
    white: NDArray[np.float32]
    words: NDArray[np.uint32]
    planes: NDArray[np.float32]


def room() -> Room:
    """Return the buffers for a block."""
    return Room(
        np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.float32), *scratch()
    )


@kernel
def measure(
    key: tuple[int, int, int], channel: int, start: int, first: int, last: int,
    inputs: FloatArray, nodes: FloatArray, scales: FloatArray, loudness: FloatArray,
    grid: IntArray, weights: FloatArray, output: FloatArray, residues: FloatArray,
    out: FloatArray, clipping: ByteArray, room: Room,
) -> None:  # fmt: skip
    """Convert columns ``first`` to ``last`` of the inputs (axis, time) to outputs.

    The first of them is sample ``start``. ``key`` is the two halves of the seed and the sensor;
    ``scales`` and ``loudness`` are empty, or nodes like those of the slow errors; ``grid`` has a
    row an axis: first node and decimation; ``output`` too: sigma, 1 / LSB, LSB, rounding, lowest
    and highest code, and whether rounding carries its residue.
    """
    axes = len(inputs)
    while first < last:
        n = min(last - first, BLOCK - start % BLOCK)
        codes, error, white = room.codes[:n], room.errors[:n], room.white[:n]
        factors = room.factors[:n]
        for a in range(axes):
            sigma, per_lsb, lsb, rounding, low, high, carries = output[a]
            fill(codes, 0.0)
            for j in range(axes):
                if weights[a, j] != 0.0:
                    add_weighted(codes, weights[a, j], inputs[j, first : first + n])
            if scales.size > 0:
                interpolate(scales[a], grid[a, 0], grid[a, 1], start, error)
                add_product(codes, error, inputs[a, first : first + n])
            interpolate(nodes[a], grid[a, 0], grid[a, 1], start, error)
            if sigma > 0.0:
                word = (channel + a) << 16
                fill_normals(key[0], key[1], key[2], word, start, white, room.words, room.planes)
            else:
                fill(white, 0.0)
            if loudness.size > 0:
                interpolate(loudness[a], grid[a, 0], grid[a, 1], start, factors)
                disturb(error, sigma, factors, white)
                fill(white, 0.0)
            encode(codes, error, sigma, white, per_lsb, rounding)
            if carries > 0.0:
                residues[a] = carry(codes, residues[a])
            decode(codes, low, high, lsb, out[a, first : first + n])
            flag(codes, low, high, np.uint8(1 << a % 3), clipping[a // 3, first : first + n])
        first += n
        start += n

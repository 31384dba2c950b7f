"""Philox, normal numbers and recursions.

The formulas of the generator run on whole arrays as plain Python and on one lane when compiled,
with the same bits: integers, and float32 ``+ - *`` and square roots in the written order. The
loops over lanes are meant to be compiled: each is one pass over slices that stay in the first
cache, short enough for the processor to overlap its rows. :func:`advance` runs on lists as
plain Python and on arrays when compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from strapdown._kernels.kernel import kernel

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from numpy.typing import NDArray

    from strapdown._typing import FloatArray, IntArray

    Float32Array: TypeAlias = NDArray[np.float32]
    Words: TypeAlias = NDArray[np.uint32]
    Lanes: TypeAlias = Any  # a uint32 or a float32, or an array of them
    Table: TypeAlias = Sequence[Sequence[float]] | NDArray[np.floating]
    Row: TypeAlias = MutableSequence[float] | FloatArray

# A block of 2048 normals comes from 512 counters, in four slots: cosine and sine of two pairs.
LANES, BLOCK = 512, 2048

MULTIPLIER_0, MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL_0, WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
LOW_32, SHIFT_32 = np.uint64(0xFFFFFFFF), np.uint64(32)

U0, U1, U2, U8, U30 = np.uint32(0), np.uint32(1), np.uint32(2), np.uint32(8), np.uint32(30)
I23 = np.int32(23)
HALF, ONE, MINUS_2 = np.float32(0.5), np.float32(1.0), np.float32(-2.0)

TO_UNIT = np.float32(2.0**-24)
ROOT_HALF, MANTISSA = np.uint32(0x3F3504F3), np.uint32(0x7FFFFF)
LOG_0, LOG_1, LOG_2 = (
    np.float32(7.0376836292e-2),
    np.float32(-1.1514610310e-1),
    np.float32(1.1676998740e-1),
)
LOG_3, LOG_4, LOG_5 = (
    np.float32(-1.2420140846e-1),
    np.float32(1.4249322787e-1),
    np.float32(-1.6668057665e-1),
)
LOG_6, LOG_7, LOG_8 = (
    np.float32(2.0000714765e-1),
    np.float32(-2.4999993993e-1),
    np.float32(3.3333331174e-1),
)
LN_2 = np.float32(0.693147180559945)

TO_ANGLE, EIGHTH = np.float32(np.pi / 2.0**31), np.uint32(0x20000000)
SIN_0, SIN_1, SIN_2 = (
    np.float32(-1.6666654611e-1),
    np.float32(8.3321608736e-3),
    np.float32(1.9515295891e-4),
)
COS_0, COS_1, COS_2 = (
    np.float32(4.166664568298827e-2),
    np.float32(-1.388731625493765e-3),
    np.float32(2.443315711809948e-5),
)


@kernel
def philox_round(
    c0: Lanes, c1: Lanes, c2: Lanes, c3: Lanes, k0: Lanes, k1: Lanes
) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """Compute one of the ten rounds of Philox4x32-10; all are 32-bit words in uint64."""
    p0, p1 = MULTIPLIER_0 * c0, MULTIPLIER_1 * c2
    return (p1 >> SHIFT_32) ^ (c1 ^ k0), p1 & LOW_32, (p0 >> SHIFT_32) ^ (c3 ^ k1), p0 & LOW_32


@kernel
def split(word: Lanes) -> tuple[Lanes, Lanes]:
    """Convert a word to a uniform number (1 + x) 2^e, with 1 + x between sqrt(1/2) and sqrt(2)."""
    uniform = np.float32((np.float32(np.int32(word >> U8)) + HALF) * TO_UNIT)
    bits = np.uint32(uniform.view(np.uint32) - ROOT_HALF)
    mantissa = np.uint32(np.uint32(bits & MANTISSA) + ROOT_HALF)
    return mantissa.view(np.float32) - ONE, np.float32(np.int32(np.int32(bits) >> I23))


@kernel
def log_series(x: Lanes) -> Lanes:
    """Return (log(1 + x) - x + x^2/2) / x^3; coefficients of ``logf`` in Cephes (S. Moshier)."""
    q = LOG_0 * x + LOG_1
    q = q * x + LOG_2
    q = q * x + LOG_3
    q = q * x + LOG_4
    q = q * x + LOG_5
    q = q * x + LOG_6
    q = q * x + LOG_7
    return q * x + LOG_8


@kernel
def radius(x: Lanes, e: Lanes, q: Lanes) -> Lanes:
    """Return sqrt(-2 log u) of the uniform number (1 + x) 2^e."""
    z = x * x
    log = ((x - HALF * z) + ((q * z) * x)) + e * LN_2
    return np.sqrt(MINUS_2 * log)


@kernel
def direction(word: Lanes) -> tuple[Lanes, Lanes]:
    """Return cosine and sine of a uniform angle; coefficients of ``sinf`` in Cephes."""
    quadrant = np.uint32(np.uint32(word + EIGHTH) >> U30)
    t = np.float32(np.int32(np.uint32(word - np.uint32(quadrant << U30)))) * TO_ANGLE
    t2 = t * t
    sine = np.float32(t + (t * t2) * (SIN_0 + t2 * (SIN_1 - SIN_2 * t2)))
    cosine = np.float32((ONE - HALF * t2) + (t2 * t2) * (COS_0 + t2 * (COS_1 + t2 * COS_2)))
    s, c = sine.view(np.uint32), cosine.view(np.uint32)
    swap = (s ^ c) & np.uint32(U0 - (quadrant & U1))
    s_turned = np.uint32((s ^ swap) ^ np.uint32((quadrant & U2) << U30))
    c_turned = np.uint32((c ^ swap) ^ np.uint32((np.uint32(quadrant + U1) & U2) << U30))
    return c_turned.view(np.float32), s_turned.view(np.float32)


@kernel
def piece_end(start: int, stop: int) -> int:
    """Return the end of the first piece of a range, which is generated at once.

    A piece lies in one block; one shorter than 512 lies in one slot too, and needs only as many
    lanes as it has numbers.
    """
    end = min(stop, start - start % BLOCK + BLOCK)
    return end if end - start >= LANES else min(end, start - start % LANES + LANES)


@kernel
def philox_lanes(
    k0: int, k1: int, sensor: int, word: int, first: int,
    w0: Words, w1: Words, w2: Words, w3: Words,
) -> None:  # fmt: skip
    """Fill four planes with the words of consecutive counters, which share their high half."""
    low, high = np.uint64(first) & LOW_32, np.uint64(first) >> SHIFT_32
    for i in range(w0.size):
        c0, c1, c2, c3 = low + np.uint64(i), high, np.uint64(sensor), np.uint64(word)
        key0, key1 = np.uint64(k0), np.uint64(k1)
        for _ in range(10):
            c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, key0, key1)
            key0, key1 = (key0 + WEYL_0) & LOW_32, (key1 + WEYL_1) & LOW_32
        w0[i], w1[i], w2[i], w3[i] = np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)


@kernel
def split_lanes(words: Words, x: Float32Array, e: Float32Array) -> None:
    for i in range(words.size):
        x[i], e[i] = split(words[i])


@kernel
def series_lanes(x: Float32Array, q: Float32Array) -> None:
    for i in range(x.size):
        q[i] = log_series(x[i])


@kernel
def normal_lanes(
    x: Float32Array, e: Float32Array, q: Float32Array, words: Words,
    cosines: Float32Array, sines: Float32Array,
) -> None:  # fmt: skip
    for i in range(words.size):
        r = radius(x[i], e[i], q[i])
        c, s = direction(words[i])
        cosines[i] = r * c
        sines[i] = r * s


def scratch() -> tuple[Words, Float32Array]:
    """Return the buffers of :func:`fill_normals`."""
    return np.empty((4, LANES), np.uint32), np.empty((5, LANES), np.float32)


@kernel
def fill_normals(
    k0: int, k1: int, sensor: int, word: int, start: int, out: Float32Array,
    words: Words, planes: Float32Array,
) -> None:  # fmt: skip
    """Fill ``out`` with the normals ``start``, ``start + 1``, ... of a stream.

    ``k0`` and ``k1`` are the low and the high half of the seed; ``word`` is
    ``channel << 16 | process``; ``words`` and ``planes`` are scratch.
    """
    done, stop = start, start + out.size
    while done < stop:
        end = piece_end(done, stop)
        lane = 0 if end - done >= LANES else done % LANES
        n = min(end - done, LANES)
        block = done - done % BLOCK
        w0, w1, w2, w3 = words[0][:n], words[1][:n], words[2][:n], words[3][:n]
        philox_lanes(k0, k1, sensor, word, block // 4 + lane, w0, w1, w2, w3)
        first = block + lane
        pair_normals(w0, w1, planes, first, out, start, done, end)
        pair_normals(w2, w3, planes, first + 2 * LANES, out, start, done, end)
        done = end


@kernel
def pair_normals(
    u: Words, v: Words, planes: Float32Array, first: int,
    out: Float32Array, start: int, done: int, end: int,
) -> None:  # fmt: skip
    """Fill the range from ``done`` to ``end`` of two slots, the first from ``first`` on."""
    n = u.size
    if first >= end or first + LANES + n <= done:
        return
    x, e, q = planes[0][:n], planes[1][:n], planes[2][:n]
    split_lanes(u, x, e)
    series_lanes(x, q)
    if done <= first and first + 2 * LANES <= end:
        at = first - start
        normal_lanes(x, e, q, v, out[at : at + LANES], out[at + LANES : at + 2 * LANES])
        return
    cosines, sines = planes[3][:n], planes[4][:n]
    normal_lanes(x, e, q, v, cosines, sines)
    copy_shared(cosines, first, out, start, done, end)
    copy_shared(sines, first + LANES, out, start, done, end)


@kernel
def copy_shared(
    slot: Float32Array, slot_start: int, out: Float32Array, out_start: int, first: int, last: int
) -> None:
    """Copy the numbers of a slot that lie in the range from ``first`` to ``last``."""
    first, last = max(first, slot_start), min(last, slot_start + len(slot))
    for i in range(first, last):
        out[i - out_start] = slot[i - slot_start]


@kernel
def advance(node: int, terms: Table, states: Row, normals: Table, out: Row) -> None:
    """Add recursions (rows of phi, q, start) from ``node`` on to ``out``, one after another."""
    for i in range(len(terms)):
        phi, q, start = terms[i][0], terms[i][1], terms[i][2]
        x, row, first = states[i], normals[i], 0
        if node == 0:
            x, first = start * row[0], 1
            out[0] = out[0] + x
        for j in range(first, len(row)):
            x = phi * x + q * row[j]
            out[j] = out[j] + x
        states[i] = x


@kernel
def advance_streams(
    k0: int, k1: int, sensor: int, words: IntArray,
    node: int, terms: FloatArray, states: FloatArray, out: FloatArray,
    normals: Float32Array, room: tuple[Words, Float32Array],
) -> None:  # fmt: skip
    """Run :func:`advance` with the normals of the streams ``words``, a row each."""
    for i in range(len(words)):
        fill_normals(k0, k1, sensor, words[i], node, normals[i], room[0], room[1])
    advance(node, terms, states, normals, out)

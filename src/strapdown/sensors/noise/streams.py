"""Streams of random numbers, each with an address.

A stream belongs to a seed, a sensor, a channel of it, and a process on that channel; these four
fill the Philox key and half of its counter, so no two streams share a number. The other half
of the counter comes from the index in the stream, so every number can be computed
alone, with the same bits in one block or in many, on one thread or on many.

The numbers are stable: layout and process numbers never change.
"""

from __future__ import annotations

import secrets
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from strapdown._kernels.compilation import compiled as compile_kernel
from strapdown.errors import ValueRangeError
from strapdown.sensors.noise import generator as kernels
from strapdown.sensors.noise.philox import philox4x32, philox_words

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.sensors.noise.philox import Words

__all__ = [
    "ACCEL",
    "DEVICE",
    "GYRO",
    "MAG",
    "PRESSURE",
    "TEMPERATURE",
    "NoiseKey",
    "Process",
    "monte_carlo_seed",
    "normals",
    "seed_or_drawn",
    "sensor_number",
    "uniforms",
]

Float32Array: TypeAlias = NDArray[np.float32]
Numbers = TypeVar("Numbers", int, "IntArray")

GYRO, ACCEL, MAG = 0, 3, 6
"""First channel of each triad; the axes follow."""
PRESSURE, TEMPERATURE, DEVICE = 9, 10, 15
"""Separate channels."""


class Process(IntEnum):
    """Purpose of a stream."""

    WHITE = 0
    """Index: sample."""
    RANDOM_WALK = 1
    """Index: node, as for all recursions."""
    TURN_ON_BIAS = 2
    """Index: power cycle, as for all draws."""
    SCALE = 3
    MISALIGNMENT = 4
    DITHER = 5
    VIBRATION = 6
    JITTER = 7
    CLOCK_WALK = 8
    LATENCY = 9
    DROPS = 10
    GAUSS_MARKOV = 16
    """The first of 16."""
    FLICKER = 32
    """The first of 32."""


class NoiseKey(NamedTuple):
    """Key of the noise of one sensor.

    Parameters
    ----------
    seed : int
        Of the run, 0 to 2**64 - 1.
    sensor : int
        Number of the sensor in the run, 0 to 2**32 - 1.
    """

    seed: int
    sensor: int


def sensor_number(name: str) -> int:
    """Return the 32-bit FNV-1a hash of a sensor's name (Fowler, Noll, Vo; RFC 9923)."""
    value = 2166136261
    for byte in name.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


def seed_or_drawn(seed: int | None) -> int:
    """Return ``seed``, or one from the operating system for None.

    Raises
    ------
    TypeError
        The seed is no whole number.
    ValueRangeError
        The seed does not fit into 64 bits.
    """
    if seed is None:
        return secrets.randbits(64)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"expected a seed as a whole number, got {seed!r}")
    if not 0 <= seed < 2**64:
        raise ValueRangeError(f"expected a seed from 0 to 2**64 - 1, got {seed}")
    return int(seed)


def monte_carlo_seed(seed: int, run: int) -> int:
    """Return the seed of run number ``run`` of a Monte Carlo series."""
    words = philox4x32([*halves(run), 0, 0xFFFFFFFF], halves(seed)).tolist()
    return int(words[0] | words[1] << 32)


def normals(  # noqa: PLR0913 (five positional arguments, and one option)
    key: NoiseKey,
    channel: int | IntArray,
    process: int | IntArray,
    start: int,
    count: int,
    *,
    compiled: bool = False,
) -> Float32Array:
    """Return standard normal numbers of a stream, or of several.

    Box and Muller's transform in float32, from nothing but ``+ - *``, square roots and integers:
    every IEEE 754 machine gives the same bits, and so do both executions. The largest magnitude
    is 5.887; the tail beyond it, of probability 4e-9, is absent.

    Parameters
    ----------
    key : NoiseKey
    channel : int, or array of int
        0 to 2**16 - 1; see :data:`GYRO` and its neighbours.
    process : int, or array of int
        0 to 2**16 - 1; see :class:`Process`. Arrays of channels and processes broadcast
        together, and are much faster than one call for each.
    start, count : int
        The first index, and the number of values. Only these are computed.
    compiled : bool
        Whether to run machine code: 50 times as fast, and loads Numba.

    Returns
    -------
    (..., count) float32
        One row for each channel and process.
    """
    words = np.asarray(channel) << 16 | np.asarray(process)
    out = np.empty((words.size, count), np.float32)
    if compiled:
        fill, scratch = compile_kernel(kernels.fill_normals), kernels.scratch()
        for word, row in zip(words.ravel().tolist(), out, strict=True):
            fill(*halves(key.seed), key.sensor, word, start, row, *scratch)
    else:
        _fill_rows(key, words.reshape(-1, 1), start, out)
    return out.reshape((*words.shape, count))


def uniforms(key: NoiseKey, channel: int, process: int, start: int, count: int) -> FloatArray:
    """Return uniform numbers of a stream: odd multiples of 2**-25 between 0 and 1.

    Parameters
    ----------
    key, channel, process, start, count
        As for :func:`normals`. A stream is for either kind, never for both.

    Returns
    -------
    (count,) float64
    """
    counters = np.arange(start // 4, (start + count + 3) // 4)
    words = _philox(key, counters, channel << 16 | process)
    flat = np.stack(words, axis=-1).reshape(-1)[start % 4 : start % 4 + count]
    return ((flat >> np.uint32(8)).astype(np.float64) + 0.5) * 2.0**-24


def halves(number: Numbers) -> tuple[Numbers, Numbers]:
    """Return the low and the high 32 bits of numbers."""
    return number & 0xFFFFFFFF, number >> 32


def _philox(key: NoiseKey, counters: IntArray, words: int | IntArray) -> tuple[Words, ...]:
    """Encrypt the counters of streams; ``counters`` and ``words`` broadcast."""
    low, high = halves(counters)
    return philox_words(low, high, key.sensor, words, key=halves(key.seed))


def _fill_rows(key: NoiseKey, words: IntArray, start: int, out: Float32Array) -> None:
    """Fill the rows of ``out`` with the streams of ``words`` (P, 1), as ``fill_normals`` does."""
    done, stop = start, start + out.shape[1]
    while done < stop:
        end = kernels.piece_end(done, stop)
        whole = end - done >= kernels.LANES
        lane, n = (0, kernels.LANES) if whole else (done % kernels.LANES, end - done)
        block = done - done % kernels.BLOCK
        planes = _philox(key, block // 4 + lane + np.arange(n), words)
        for pair in (0, 2):
            slot = block + pair * kernels.LANES + lane
            if slot < end and done < slot + kernels.LANES + n:
                x, e = kernels.split(planes[pair])
                r = kernels.radius(x, e, kernels.log_series(x))
                for half, turned in enumerate(kernels.direction(planes[pair + 1])):
                    first = slot + half * kernels.LANES
                    kernels.copy_shared((r * turned).T, first, out.T, start, done, end)
        done = end

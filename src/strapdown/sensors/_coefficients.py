"""Coefficients of the kernels, from the parameters of a triad."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown.sensors.filters import dc_gain, power_gain, sections_of
from strapdown.sensors.measuring import HALF_EVEN, code_of
from strapdown.sensors.noise import Process, normals, uniforms
from strapdown.sensors.triad import BandwidthKind, Distribution, NoiseAt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.sensors.noise import NoiseKey
    from strapdown.sensors.triad import TriadSpec, TurnOn

__all__ = [
    "Front",
    "Output",
    "drawn_bias",
    "element_variance",
    "front",
    "fronts",
    "output",
    "output_variance",
    "turn_on_variance",
    "weights",
]

_THREE_ZEROS = (0.0, 0.0, 0.0)


class Front(NamedTuple):
    """An axis up to its window, in the order of the arguments of ``condition``."""

    nonlinear: tuple[float, float]
    leaks: tuple[float, ...]
    limit: float
    sigma: float
    sections: tuple[float, ...]
    gain: float
    window: int
    mean: bool


class Output(NamedTuple):
    """An axis after its map, in the order of a row of ``measure``'s ``output``."""

    sigma: float
    per_lsb: float
    lsb: float
    rounding: float
    low: float
    high: float
    carries: float


def fronts(triads: Sequence[TriadSpec], rate_hz: float, window: int, *, mean: bool) -> list[Front]:
    """Return the front of every axis; none where all would pass every value unchanged."""
    made = [front(triad, axis, rate_hz, window, mean=mean) for triad in triads for axis in range(3)]
    plain = Front((0.0, 0.0), (), math.inf, 0.0, (), 1.0, 1, mean=False)
    linear = all(own._replace(leaks=(), mean=False) == plain for own in made)
    squares = any(triad.g_squared_sensitivity for triad in triads)
    return [] if linear and not squares else made


def front(triad: TriadSpec, axis: int, rate_hz: float, window: int, *, mean: bool) -> Front:
    """Return the front of one axis."""
    internal_hz = window * rate_hz
    kind = None if triad.bandwidth is None else triad.bandwidth.kind
    mean = mean or kind is BandwidthKind.BOXCAR
    user = kind is BandwidthKind.SECTIONS
    sections = sections_of(triad.bandwidth, internal_hz)
    limits = [triad.element_range, triad.measurement_range if mean and window > 1 else None]
    if not triad.enabled[axis]:
        limits = []  # its saturation has no effect
    leaks: tuple[float, ...] = ()
    if triad.g_sensitivity or triad.g_squared_sensitivity:
        leaks = tuple(
            value
            for matrix in (triad.g_sensitivity, triad.g_squared_sensitivity)
            for value in (matrix[axis] if matrix else _THREE_ZEROS)
        )
    at_element = triad.noise_at is NoiseAt.ELEMENT
    return Front(
        nonlinear=(triad.on_axis("quadratic", axis), triad.on_axis("cubic", axis)),
        leaks=leaks,
        limit=min((limit for limit in limits if limit is not None), default=math.inf),
        sigma=triad.on_axis("noise_density", axis) * math.sqrt(internal_hz) * at_element,
        sections=tuple(coefficient for section in sections for coefficient in section),
        gain=dc_gain(sections) if user else 1.0,
        window=window,
        mean=mean,
    )


def weights(
    triads: Sequence[TriadSpec], key: NoiseKey, channel: int, cycle: int, *, fold: bool
) -> FloatArray:
    """Return I + E over all axes, with the g-sensitivity in it if ``fold``."""
    size = 3 * len(triads)
    matrix = np.zeros((size, size))
    for number, triad in enumerate(triads):
        own = slice(3 * number, 3 * number + 3)
        matrix[own, own] = np.eye(3) + triad.scale_misalignment
        matrix[own, own] += _drawn_matrix(triad, key, channel + 3 * number, cycle)
        if fold and triad.g_sensitivity:
            matrix[own, 3:6] = matrix[own, own] @ np.array(triad.g_sensitivity)
    return matrix


def _drawn_matrix(triad: TriadSpec, key: NoiseKey, channel: int, cycle: int) -> FloatArray:
    """Return the scale errors and misalignments drawn at power-on (two numbers a row)."""
    matrix = np.zeros((3, 3))
    for axis in range(3):
        scale = key, channel + axis, Process.SCALE
        misalignment = key, channel + axis, Process.MISALIGNMENT
        matrix[axis, axis] = _drawn(triad.turn_on_scale, axis, scale, cycle)
        for nth, other in enumerate(other for other in range(3) if other != axis):
            matrix[axis, other] = _drawn(
                triad.turn_on_misalignment, axis, misalignment, 2 * cycle + nth
            )
    return matrix


def drawn_bias(triad: TriadSpec, axis: int, key: NoiseKey, channel: int, cycle: int) -> float:
    """Return the constant bias of an axis, including its turn-on bias."""
    stream = key, channel, Process.TURN_ON_BIAS
    return triad.bias[axis] + _drawn(triad.turn_on_bias, axis, stream, cycle)


def turn_on_variance(turn_on: TurnOn | None, axis: int) -> float:
    """Return the variance of the values drawn at power-on."""
    if turn_on is None:
        return 0.0
    return turn_on.per_axis()[axis] ** 2 / (
        1.0 if turn_on.distribution == Distribution.NORMAL else 3.0
    )


def _drawn(
    turn_on: TurnOn | None, axis: int, stream: tuple[NoiseKey, int, Process], index: int
) -> float:
    if turn_on is None:
        return 0.0
    where = *stream, index, 1
    if turn_on.distribution == Distribution.NORMAL:
        unit = float(normals(*where)[0])
    else:
        unit = 2.0 * float(uniforms(*where)[0]) - 1.0
    return turn_on.per_axis()[axis] * unit


def output(triad: TriadSpec, axis: int, rate_hz: float) -> Output:
    """Return the output stage of an axis: noise, range and rounding."""
    sigma = 0.0
    if triad.noise_at is NoiseAt.OUTPUT:
        sigma = triad.on_axis("noise_density", axis) * math.sqrt(rate_hz)
    if not triad.enabled[axis]:
        return Output(sigma, 1.0, math.nan, 0.0, -math.inf, math.inf, 0.0)
    limit = math.inf if triad.measurement_range is None else triad.measurement_range
    if triad.resolution is None:
        return Output(sigma, 1.0, 1.0, 0.0, -limit, limit, 0.0)
    per_lsb = 1.0 / triad.resolution
    codes = code_of(limit, 0.0, per_lsb, HALF_EVEN)
    half = math.inf if triad.bits is None else 2.0 ** (triad.bits - 1)
    return Output(
        sigma,
        per_lsb,
        triad.resolution,
        0.0 if triad.carry_residue else HALF_EVEN,
        -min(codes, half),
        min(codes, half - 1.0),
        float(triad.carry_residue),
    )


def element_variance(
    triads: Sequence[TriadSpec], fronts: Sequence[Front], internal_hz: float
) -> FloatArray:
    """Return the variance of white noise of the element behind filter and window, (A,)."""
    variance = np.zeros(3 * len(triads))
    for a, own in enumerate(fronts):
        if own.sigma > 0.0:
            sections = sections_of(triads[a // 3].bandwidth, internal_hz)
            variance[a] = own.sigma**2 * power_gain(sections, own.window if own.mean else 1)
    return variance


def output_variance(own: Output) -> float:
    """Return the variance of white noise at the output and of rounding.

    Rounding to steps b has the variance b^2/12; where the residue is carried, a sample has the
    difference of two such errors.
    """
    steps = own.lsb**2 if own.rounding or own.carries else 0.0
    return own.sigma**2 + steps / (6.0 if own.carries else 12.0)

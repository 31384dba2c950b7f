"""Coefficients and figures of the filters between the element of a sensor and its samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.sensors.triad import BandwidthKind

if TYPE_CHECKING:
    from strapdown.sensors.spec import ImuSpec
    from strapdown.sensors.triad import Bandwidth

__all__ = [
    "Sections",
    "dc_gain",
    "group_delay_s",
    "lowpass",
    "noise_bandwidth_hz",
    "oversampling",
    "power_gain",
    "sections_of",
]

Sections = tuple[tuple[float, float, float, float, float], ...]
"""Second-order sections b0 b1 b2 a1 a2, with a0 = 1."""

_INTERNAL_RATE = 8  # times the -3 dB frequency, at least
_FORGOTTEN = 1e-18
_LONGEST = 2**21


def lowpass(frequency_hz: float, order: int, rate_hz: float) -> Sections:
    """Return a Butterworth low-pass, -3 dB exactly at ``frequency_hz``.

    The bilinear transform of the analog prototype, prewarped (A. V. Oppenheim and R. W. Schafer,
    Discrete-Time Signal Processing, 7.1.2).

    Parameters
    ----------
    frequency_hz : float
        Between 0 and half of ``rate_hz`` [Hz].
    order : int
        1 or more.
    rate_hz : float
        Of the samples that it filters [Hz].

    Raises
    ------
    ValueRangeError
        The frequency is not below half of the rate.
    """
    if not 0.0 < frequency_hz < 0.5 * rate_hz:
        raise ValueRangeError(
            f"expected a bandwidth below half the internal rate of {rate_hz:g} Hz, "
            f"got {frequency_hz:g} Hz; raise the oversampling"
        )
    k = math.tan(math.pi * frequency_hz / rate_hz)
    sections: list[tuple[float, float, float, float, float]] = []
    for pair in range(order // 2):
        damping = 2.0 * math.sin((2 * pair + 1) * math.pi / (2 * order)) * k
        norm = 1.0 / (1.0 + damping + k * k)
        b = k * k * norm
        sections.append((b, 2.0 * b, b, 2.0 * (k * k - 1.0) * norm, (1.0 - damping + k * k) * norm))
    if order % 2:
        b = k / (1.0 + k)
        sections.append((b, b, 0.0, (k - 1.0) / (1.0 + k), 0.0))
    return tuple(sections)


def sections_of(bandwidth: Bandwidth | None, rate_hz: float) -> Sections:
    """Return the sections of a triad at the internal rate; a boxcar has none."""
    if bandwidth is None or bandwidth.kind is BandwidthKind.BOXCAR:
        return ()
    if bandwidth.frequency_hz is not None:
        return lowpass(bandwidth.frequency_hz, bandwidth.order, rate_hz)
    return tuple((s[0], s[1], s[2], s[4], s[5]) for s in bandwidth.sections)


def oversampling(spec: ImuSpec) -> int:
    """Return the internal samples of an output sample, M.

    The number in the spec; else the smallest power of two whose internal rate is at least 8 times
    the frequency of every low-pass.
    """
    if spec.oversampling is not None:
        return spec.oversampling
    widths = [triad.bandwidth.frequency_hz for triad in spec.triads().values() if triad.bandwidth]
    needed = _INTERNAL_RATE * max((width for width in widths if width), default=0.0)
    return 2 ** max(0, math.ceil(math.log2(needed / float(spec.rate_hz)))) if needed else 1


def dc_gain(sections: Sections) -> float:
    """Return the gain for a constant."""
    return math.prod((b0 + b1 + b2) / (1.0 + a1 + a2) for b0, b1, b2, a1, a2 in sections)


def group_delay_s(sections: Sections, rate_hz: float) -> float:
    """Return the group delay at low frequency [s]; NaN where constants are blocked."""
    if not dc_gain(sections):
        return math.nan
    return (
        sum(
            (b1 + 2.0 * b2) / (b0 + b1 + b2) - (a1 + 2.0 * a2) / (1.0 + a1 + a2)
            for b0, b1, b2, a1, a2 in sections
        )
        / rate_hz
    )


def power_gain(sections: Sections, window: int = 1) -> float:
    """Return the variance after the filter of white noise of variance 1.

    The sum of the squares of the impulse response, from its spectrum (Parseval).

    Parameters
    ----------
    sections : Sections
    window : int, optional
        Samples whose mean is taken after the filter.
    """
    radius = max((_radius(a1, a2) for *_, a1, a2 in sections), default=0.0)
    length = window + 3 + (math.log(_FORGOTTEN) / math.log(radius) if radius > 0.0 else 0.0)
    n = min(_LONGEST, 2 ** math.ceil(math.log2(2.0 * length)))
    response = np.fft.rfft(np.full(window, 1.0 / window), n)
    for b0, b1, b2, a1, a2 in sections:
        response *= np.fft.rfft([b0, b1, b2], n) / np.fft.rfft([1.0, a1, a2], n)
    power = np.abs(response) ** 2
    return float((2.0 * power.sum() - power[0] - power[-1]) / n)


def noise_bandwidth_hz(sections: Sections, rate_hz: float) -> float:
    """Return the equivalent noise bandwidth [Hz], one-sided."""
    return 0.5 * rate_hz * power_gain(sections) / dc_gain(sections) ** 2


def _radius(a1: float, a2: float) -> float:
    """Return the magnitude of the larger pole."""
    below = a1 * a1 - 4.0 * a2
    return math.sqrt(a2) if below < 0.0 else 0.5 * (abs(a1) + math.sqrt(below))

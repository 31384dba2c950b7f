"""Low-pass filter of VQF, and the sampling interval that it is designed for."""

from __future__ import annotations

import math
from typing import Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record, Vector, filled
from strapdown.geometry.vectors import clear
from strapdown.samples.clock import GAP_INTERVALS

PACE_MEMORY: Final = 200.0  # intervals in the running mean
PACE_WEIGHT: Final = 1.0 / PACE_MEMORY
PACE_TOLERANCE: Final = 0.05  # of the interval that the low-passes are designed for
MOST_CUT_OFF: Final = 0.45  # of a low-pass, as a part of the sampling rate


class LowPass(Record):
    """Second-order Butterworth low-pass that starts as a plain mean."""

    output: Vector = filled(3)
    first: Vector = filled(3)  # filter state; ``first`` holds the mean at the start
    second: Vector = filled(3)
    count: float = 0.0  # samples in the mean; -1: the low-pass runs
    b0: float = 0.0  # its coefficients
    a1: float = 0.0
    a2: float = 0.0


class LowPassOfTwo(LowPass):
    """Low-pass of two numbers."""

    output: Vector = filled(2)
    first: Vector = filled(2)
    second: Vector = filled(2)


class LowPassOfNine(LowPass):
    """Low-pass of nine numbers."""

    output: Vector = filled(9)
    first: Vector = filled(9)
    second: Vector = filled(9)


class Pace(Record):
    """The sampling interval of one sensor [s]."""

    interval: float = 0.0  # the mean
    count: float = 0.0  # intervals in the mean
    designed: float = 0.0  # the one that the low-passes are designed for


@kernel
def design(f: LowPass, tau: float, interval: float) -> None:
    """Set the coefficients: Butterworth, second order, bilinear transform."""
    c = math.tan(math.pi * min(interval / (math.sqrt(2.0) * math.pi * tau), MOST_CUT_OFF))
    scale = 1.0 / (c * c + math.sqrt(2.0) * c + 1.0)
    b0 = c * c * scale
    a1 = 2.0 * (c * c - 1.0) * scale
    a2 = (1.0 - math.sqrt(2.0) * c + c * c) * scale
    if f.count < 0.0:  # adapt the state so that a constant input causes no jump
        for i in range(len(f.output)):
            f.first[i] += (f.b0 - b0) * f.output[i]
            f.second[i] += (b0 - a2 - f.b0 + f.a2) * f.output[i]
    f.b0, f.a1, f.a2 = b0, a1, a2


@kernel
def low_pass(f: LowPass, tau: float, interval: float) -> None:
    """Filter in place: ``f.output`` holds the inputs before, the outputs after."""
    out, first, second = f.output, f.first, f.second
    if f.count >= 0.0:
        f.count += 1.0
        for i in range(len(out)):
            first[i] += (out[i] - first[i]) / f.count
            out[i] = first[i]
        if f.count * interval >= tau:
            settle(f)
        return
    b0, a1, a2 = f.b0, f.a1, f.a2
    for i in range(len(out)):
        x = b0 * out[i]
        y = x + first[i]
        first[i] = 2.0 * x - a1 * y + second[i]
        second[i] = x - a2 * y
        out[i] = y


@kernel
def settle(f: LowPass) -> None:
    """Switch from the mean to the low-pass, in its steady state for an input of the mean."""
    f.count = -1.0
    for i in range(len(f.output)):
        f.first[i] = (1.0 - f.b0) * f.output[i]
        f.second[i] = (f.b0 - f.a2) * f.output[i]


@kernel
def average_anew(f: LowPass, worth: float) -> None:
    """Switch back to a mean, in which the current output counts as ``worth`` samples."""
    if f.count < 0.0:
        for i in range(len(f.output)):
            f.first[i] = f.output[i]
        f.count = worth
    f.count = min(f.count, worth)


@kernel
def forget(f: LowPass) -> None:
    """Reset to the state before the first input."""
    clear(f.output)
    clear(f.first)
    clear(f.second)
    f.count = 0.0


@kernel
def paced(pace: Pace, wait: float) -> bool:
    """Update the mean sampling interval; return whether the low-passes need a new design."""
    if wait <= 0.0:
        return False
    mean, count = pace.interval, min(pace.count + 1.0, PACE_MEMORY)
    weight = PACE_WEIGHT if count == PACE_MEMORY else 1.0 / count
    if count <= 2.0 or (count == 3.0 and mean > GAP_INTERVALS * wait):
        mean = wait  # the mean so far was only a guess, or a gap
    mean += (min(wait, 2.0 * mean) - mean) * weight
    pace.interval, pace.count = mean, count
    return abs(mean - pace.designed) > PACE_TOLERANCE * pace.designed


@kernel
def set_pace(pace: Pace, interval: float) -> None:
    """Restart the mean from an interval."""
    pace.interval, pace.count = interval, 0.0

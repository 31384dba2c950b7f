"""ArduPilot's measure of vibration, sample by sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

FLOOR_HZ: Final = 5.0  # of the low-pass whose output is no vibration
SMOOTH_HZ: Final = 2.0  # of the low-pass of the squares


def shares(dt: FloatArray, values: FloatArray, levels: FloatArray) -> None:
    """Fill the root of the smoothed squares of what is above 5 Hz, for each axis."""
    for k in range(3):
        floor, square, primed = 0.0, 0.0, False
        for i in range(len(values)):
            value = values[i, k]
            if not math.isfinite(value):
                levels[i, k] = math.nan
                continue
            if not primed:
                floor, primed = value, True
            slow, smooth = gain(dt[i], FLOOR_HZ), gain(dt[i], SMOOTH_HZ)
            floor += slow * (value - floor)
            off = value - floor
            square += smooth * (off * off - square)
            levels[i, k] = math.sqrt(square)


def gain(dt: float, cutoff_hz: float) -> float:
    """Return the gain of a low-pass of first order, as ArduPilot computes it."""
    return dt / (dt + 1.0 / (2.0 * math.pi * cutoff_hz))

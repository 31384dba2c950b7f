"""Rounding as C does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["round_half_away"]


def round_half_away(values: ArrayLike) -> FloatArray:
    """Round to whole numbers, halves away from zero, as ``roundf`` does with float32."""
    wide = np.asarray(values, np.float64)  # where adding a half to a float32 is exact
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide)

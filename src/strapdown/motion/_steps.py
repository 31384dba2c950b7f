"""Time counted in steps of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray, IntArray

__all__ = ["as_steps", "split"]

_ROUNDING: Final = 16.0 * np.finfo(np.float64).eps
"""Relative tolerance within which a phase is a whole step: instants are rounded too."""


def as_steps(t_s: ArrayLike, step_s: float, first: int, count: int) -> FloatArray:
    """Return instants (N,) as steps since step ``first``, from 0 to ``count``.

    Instants that are a whole step except for rounding become whole numbers.

    Raises
    ------
    ShapeError, ValueRangeError
        The instants are no finite one-dimensional array within the steps.
    """
    t_s = as_finite(t_s, "t_s", ())
    if t_s.ndim != 1:
        raise ShapeError(f"expected t_s of shape (N,), got {t_s.shape}")
    phase = t_s / step_s
    whole = np.rint(phase)
    phase = np.where(np.abs(phase - whole) <= _ROUNDING * np.abs(whole), whole, phase) - first
    outside = np.flatnonzero((phase < 0.0) | (phase > count))
    if outside.size:
        raise ValueRangeError(
            f"expected instants in {first * step_s} ... {(first + count) * step_s} s,"
            f" got t_s[{outside[0]}] = {t_s[outside[0]]}"
        )
    return phase


def split(phase: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """Return the step of each phase and the fraction of it that has passed, 0 ... 1.

    Only the end of the last step has the fraction 1.
    """
    step = np.clip(np.floor(phase).astype(np.int64), 0, count - 1)
    return step, phase - step

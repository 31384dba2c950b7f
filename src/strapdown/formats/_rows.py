"""Rows of a structured array at given places of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import mmap

    from numpy.typing import NDArray

    from strapdown._typing import IntArray

__all__ = ["rows_at"]


def rows_at(data: bytes | mmap.mmap, offsets: IntArray, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the rows at the offsets of a file."""
    if not len(offsets):
        return np.empty(0, dtype)
    size = dtype.itemsize
    everywhere = np.ndarray((len(data) - size + 1,), f"V{size}", data, strides=(1,))
    return everywhere[offsets].view(dtype)

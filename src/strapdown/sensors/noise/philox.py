"""Philox4x32-10, the counter-based generator behind every stream.

J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC11, 2011. (``numpy.random.Philox`` is the 4x64 variant: other numbers.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from strapdown.errors import ShapeError
from strapdown.sensors.noise import generator as kernels

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike

__all__ = ["philox4x32"]

Words: TypeAlias = NDArray[np.uint32]


def philox4x32(counter: ArrayLike, key: ArrayLike) -> Words:
    """Encrypt counters.

    Parameters
    ----------
    counter : (..., 4) uint32
    key : (2,) uint32

    Returns
    -------
    (..., 4) uint32

    Raises
    ------
    ShapeError
        A counter does not have four words, or the key not two.
    """
    counter, key = np.asarray(counter, np.uint32), np.asarray(key, np.uint32)
    if counter.shape[-1:] != (4,) or key.shape != (2,):
        raise ShapeError(
            "expected a counter of shape (..., 4) and a key of shape (2,), "
            f"got {counter.shape} and {key.shape}"
        )
    words = philox_words(*np.moveaxis(counter, -1, 0), key=(int(key[0]), int(key[1])))
    return np.stack(words, axis=-1)


def philox_words(
    c0: ArrayLike, c1: ArrayLike, c2: ArrayLike, c3: ArrayLike, *, key: tuple[int, int]
) -> tuple[Words, ...]:
    """Encrypt counters given as four separate words, which broadcast together."""
    words = tuple(np.asarray(word, np.uint64) for word in (c0, c1, c2, c3))
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    for _ in range(10):
        words = kernels.philox_round(words[0], words[1], words[2], words[3], k0, k1)
        k0, k1 = (k0 + kernels.WEYL_0) & kernels.LOW_32, (k1 + kernels.WEYL_1) & kernels.LOW_32
    return tuple(np.broadcast_arrays(*(word.astype(np.uint32) for word in words)))

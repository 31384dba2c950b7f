"""Axes and unit of a gyro against a vector that is constant in the world.

Over some seconds the specific force of a bounded motion averages to gravity, and the field of a
small volume is constant. Turned by the gyro to the axes at the begin of a window, the means over
the blocks of the window therefore agree, if the gyro measures in the axes and the unit of the
other sensor. A wrong convention spreads them. Two conventions are compared window by window, and
only windows that distinguish them count, so that rest, noise and violent motion carry no weight.

Angular velocity is a pseudovector. Where the axes of an accelerometer are permuted by P, its
directions agree with the rates of the gyro permuted by ``det(P) P``, a rotation. A swapped or
mirrored gyro differs by a matrix with determinant -1; hence the two are distinguished.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations, product
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.checking.windows import BLOCKS, block_tensors
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray

__all__ = ["SIGNED", "SINGLE", "Agreement", "agreement", "columns_of", "in_words"]


def _signed_permutations() -> FloatArray:
    """Return the 48 matrices: the 24 rotations, the identity first, then their negatives."""
    matrices = [
        np.eye(3)[list(order)] * np.array(signs)[:, None]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    proper = np.array([matrix for matrix in matrices if np.linalg.det(matrix) > 0.0])
    return np.concatenate([proper, -proper])


SIGNED: Final = _signed_permutations()
"""All signed permutations of three axes, (48, 3, 3)."""


def _changes(matrix: FloatArray) -> int:
    """Return the number of negated axes and swapped pairs of an error of one sensor."""
    if np.array_equal(matrix, -np.eye(3)):
        return 1
    if np.linalg.det(matrix) > 0.0 and not np.array_equal(matrix, np.eye(3)):
        matrix = -matrix  # an error of the other sensor
    return int(np.count_nonzero(np.diag(matrix) == 0.0) // 2 + np.count_nonzero(matrix < 0.0))


_CHANGES: Final = np.array([_changes(matrix) for matrix in SIGNED])
SINGLE: Final = tuple(int(k) for k in np.flatnonzero(_CHANGES == 1))
"""Numbers of the errors of one axis or one pair: of the gyro, or (negated) of the other sensor."""
_SCALES: Final = (1.0, RAD_PER_DEG, 1.0 / RAD_PER_DEG)

_FLOOR: Final = 0.02
"""Spread of the means that noise explains [fraction of the vector]."""
_DISTINCT: Final = math.log(1.5)
"""Windows in which the spreads of two conventions differ less do not count."""
_DISAGREES: Final = 0.2
"""Spread above which a window contradicts a convention: 12 deg, beyond the bias of a gyro.

Half of it suffices where the bias is known, and where the vector itself turned by as much.
"""
_LEAST_WINDOWS: Final = 3
_MAJORITY: Final = 0.8
_AS_GOOD: Final = math.log(1.15)
"""Conventions whose mean spreads differ less explain a recording equally well."""


@dataclass(frozen=True)
class Agreement:
    """The convention of a gyro that agrees with another sensor.

    Parameters
    ----------
    matrix : (3, 3)
        Signed permutation: rates in the axes of the other sensor, from those of the gyro.
    scale : float
        Factor on the readings of the gyro.
    windows, against : int
        Windows that distinguish it from the convention as recorded, and those that favour it.
    excluded : int
        Number of single errors (:data:`SINGLE`) that the recording excludes.
    """

    matrix: FloatArray
    scale: float
    windows: int
    against: int
    excluded: int

    @property
    def is_identity(self) -> bool:
        """Whether the axes agree as recorded."""
        return np.array_equal(self.matrix, np.eye(3))


def agreement(turn: FloatArray, vectors: FloatArray, *, scaled: bool, unbiased: bool) -> Agreement:
    """Return the simplest convention of a gyro that agrees with a vector.

    Parameters
    ----------
    turn : (W, K, 3)
        Rotation vectors of the steps by the gyro [rad].
    vectors : (W, K, 3)
        Mean readings of the other sensor over the steps [any unit].
    scaled : bool
        Whether the unit of the gyro may be wrong, too.
    unbiased : bool
        Whether the bias of the gyro is removed.
    """
    scales = _SCALES if scaled else _SCALES[:1]
    spread = np.array([_spreads(scale * turn, vectors) for scale in scales])
    logs = np.log(spread + _FLOOR)
    better = logs[0, 0] - logs  # than as recorded
    limit = 0.5 * _DISAGREES if unbiased else _DISAGREES
    unturned = np.sqrt(_variance(vectors))
    turned = unturned > 0.5 * limit
    contradicted = spread[0, 0] > np.where(turned, 0.5 * limit, limit)
    against = ((better > _DISTINCT) & contradicted).sum(axis=-1)
    distinct = against + (better < -_DISTINCT).sum(axis=-1)
    convicted = (against >= _LEAST_WINDOWS) & (against >= _MAJORITY * distinct)
    # A vehicle in a steady turn feels a force that is constant in its axes, as if it did not
    # turn: a smaller unit has to explain turns better than no rotation does.
    gain = np.log(unturned + _FLOOR) - logs[1:]
    explained = ((gain > _DISTINCT) & turned).sum(axis=-1)
    unexplained = (gain < -_DISTINCT).sum(axis=-1)
    convicted[1:] &= (explained >= _LEAST_WINDOWS) & (explained > unexplained)
    s, k = _simplest(convicted, logs.mean(axis=-1)) if convicted.any() else (0, 0)
    return Agreement(
        SIGNED[k], scales[s], int(distinct[s, k]), int(against[s, k]), _excluded(logs[s], k)
    )


def in_words(matrix: FloatArray) -> str:
    """Return the error of a signed permutation in words."""
    columns = columns_of(matrix)
    if np.array_equal(matrix, -np.eye(3)):
        return "all axes negated"
    moved = [axis for axis, column in zip("xyz", columns, strict=True) if column[-1] != axis]
    negated = [axis for axis, column in zip("xyz", columns, strict=True) if column == f"-{axis}"]
    if not moved:
        return f"{' and '.join(negated)} negated"
    if len(moved) == 2 and not any("-" in column for column in columns):
        return f"{' and '.join(moved)} swapped"
    return f"axes permuted, x y z are {' '.join(columns)}"


def columns_of(matrix: FloatArray) -> tuple[str, ...]:
    """Return the recorded axis, with a minus where it is negated, of each true axis."""
    return tuple(
        f"{'-' if row.min() < 0.0 else ''}{'xyz'[int(np.argmax(np.abs(row)))]}" for row in matrix
    )


def _spreads(turn: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the relative spread of the block means by convention and window, (48, W).

    With rates ``N w`` of a rotation N, the rotation from the body is ``N R N^T``, which spreads
    a vector v as R spreads ``N^T v``. With rates ``-N w``, R is integrated from ``-w``.
    """
    rotations = np.swapaxes(SIGNED[:24], 1, 2)
    halves = []
    for sign in (1.0, -1.0):
        tensors = block_tensors(sign * turn, vectors)
        means = np.einsum("wbaic,nic->nwba", tensors, rotations, optimize=True)
        halves.append(np.var(means, axis=2).sum(axis=-1))
    size = np.mean(np.sum(vectors**2, axis=-1), axis=1)
    return np.sqrt(np.concatenate(halves) / np.where(size > 0.0, size, np.inf))


def _simplest(convicted: BoolArray, means: FloatArray) -> tuple[int, int]:
    """Return scale and number of the simplest convention among those that explain most."""
    means = np.where(convicted, means, np.inf)
    changes = _CHANGES + 2 * (np.arange(len(means)) > 0)[:, None]
    rank = np.where(means < means.min() + _AS_GOOD, changes + 1e-3 * means, np.inf)
    s, k = np.unravel_index(np.argmin(rank), rank.shape)
    return int(s), int(k)


def _variance(vectors: FloatArray) -> FloatArray:
    """Return the variance of the block means of each window, relative to the mean square."""
    count, steps = vectors.shape[:2]
    means = vectors.reshape(count, BLOCKS, steps // BLOCKS, 3).mean(axis=2)
    size = np.mean(np.sum(vectors**2, axis=-1), axis=1)
    return np.asarray(np.var(means, axis=1).sum(axis=-1) / np.where(size > 0.0, size, np.inf))


def _excluded(logs: FloatArray, chosen: int) -> int:
    """Return how many single errors, on top of a convention, the windows exclude."""
    products = SIGNED[list(SINGLE)] @ SIGNED[chosen]
    numbers = [int(np.flatnonzero((each == SIGNED).all(axis=(1, 2)))[0]) for each in products]
    worse = (logs[numbers] - logs[chosen] > _DISTINCT).sum(axis=-1)
    better = (logs[chosen] - logs[numbers] > _DISTINCT).sum(axis=-1)
    return int(((worse >= _LEAST_WINDOWS) & (worse >= _MAJORITY * (worse + better))).sum())

"""Mounting of a sensor on its board: PX4's numbered rotations.

Each is roll, pitch and yaw in the sequence 3-2-1, from the axes of the chip to those of the board.
Most are products of quarter turns; PX4 applies these to samples as exact signed permutations, and
all others as a float32 matrix.

References
----------
PX4-Autopilot, ``src/lib/conversion/rotation.h``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_floats
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.px4._rounding import INT16, as_int16, round_half_away

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from strapdown._typing import ArrayLike, FloatArray, IntArray

__all__ = [
    "ROTATIONS",
    "matrix_float32",
    "matrix_product",
    "rotate",
    "rotate_counts",
    "rotation_matrix",
]

# fmt: off
ROTATIONS: Final[tuple[tuple[int, int, int], ...]] = (
    (0, 0, 0), (0, 0, 45), (0, 0, 90), (0, 0, 135), (0, 0, 180), (0, 0, 225), (0, 0, 270),
    (0, 0, 315), (180, 0, 0), (180, 0, 45), (180, 0, 90), (180, 0, 135), (0, 180, 0),
    (180, 0, 225), (180, 0, 270), (180, 0, 315), (90, 0, 0), (90, 0, 45), (90, 0, 90),
    (90, 0, 135), (270, 0, 0), (270, 0, 45), (270, 0, 90), (270, 0, 135), (0, 90, 0),
    (0, 270, 0), (0, 180, 90), (0, 180, 270), (90, 90, 0), (180, 90, 0), (270, 90, 0),
    (90, 180, 0), (270, 180, 0), (90, 270, 0), (180, 270, 0), (270, 270, 0), (90, 180, 90),
    (90, 0, 270), (90, 68, 293), (0, 315, 0), (90, 315, 0),
)
"""Roll, pitch and yaw [degrees] of rotation 0, 1, ..., 40."""
# fmt: on

_NOISE: Final = 1e-15  # rounding error of the cosine of a right angle


def rotation_matrix(rotation: int) -> FloatArray:
    """Return ``R_board_from_chip`` of a rotation, exact for products of quarter turns.

    Parameters
    ----------
    rotation : int
        Its number in PX4, 0 to 40.

    Returns
    -------
    ndarray, shape (3, 3)

    Raises
    ------
    ValueRangeError
        There is no such rotation.
    """
    matrix = _matrix(_degrees(rotation), np.float64).astype(np.float64)
    return np.where(np.abs(matrix) < _NOISE, 0.0, matrix)


def matrix_float32(roll_pitch_yaw_deg: Sequence[float]) -> NDArray[np.float32]:
    """Return the matrix of roll, pitch and yaw, computed in float32 like in the autopilot.

    Its rounding affects logged values: a right angle has a cosine of -4.4e-8.

    Parameters
    ----------
    roll_pitch_yaw_deg : sequence of 3 floats
        In the sequence 3-2-1 [degrees].

    Returns
    -------
    ndarray of float32, shape (3, 3)
    """
    return _matrix(roll_pitch_yaw_deg, np.float32).astype(np.float32)


def matrix_product(matrix: ArrayLike, vectors: ArrayLike) -> NDArray[np.floating]:
    """Multiply vectors by a matrix from the left, every product and sum rounded separately.

    Parameters
    ----------
    matrix : array_like, shape (3, 3)
        Float32 or float64; the result has the wider type of both.
    vectors : array_like, shape (..., 3)
        Vectors to multiply.

    Returns
    -------
    ndarray, shape (..., 3)
    """
    x, y, z = np.asarray(matrix).T
    v = np.asarray(vectors)
    product: NDArray[np.floating] = (x * v[..., :1] + y * v[..., 1:2]) + z * v[..., 2:]
    return product


def rotate(rotation: int, values: ArrayLike) -> NDArray[np.floating]:
    """Rotate samples from the axes of the chip to those of the board.

    Parameters
    ----------
    rotation : int
        Its number in PX4, 0 to 40.
    values : array_like, shape (..., 3)
        In any unit. Float32 values are computed and rounded like in the autopilot.

    Returns
    -------
    ndarray, shape (..., 3)
        Float32 if ``values`` is, else float64.

    Raises
    ------
    ValueRangeError
        There is no such rotation.
    """
    exact = permutation(rotation)
    single = isinstance(values, np.ndarray) and values.dtype == np.float32
    v: NDArray[np.floating] = as_floats(values, "values", (3,))
    if single:
        v = v.astype(np.float32)
    if exact is not None:
        index, sign = exact
        return v[..., index] * sign.astype(v.dtype)
    turned = matrix_float32(_degrees(rotation)) if single else rotation_matrix(rotation)
    return matrix_product(turned, v)


def rotate_counts(rotation: int, counts: NDArray[np.int16]) -> NDArray[np.int16]:
    """Rotate raw samples from the axes of the chip to those of the board.

    A saturated sample stays saturated: the negative of 32767 is -32768, and the reverse.
    Rotations other than permutations round half away from zero and saturate.

    Parameters
    ----------
    rotation : int
        Its number in PX4, 0 to 40.
    counts : ndarray of int16, shape (..., 3)
        Raw counts of the chip.

    Returns
    -------
    ndarray of int16, shape (..., 3)

    Raises
    ------
    ValueRangeError
        There is no such rotation.
    ShapeError
        The last dimension is not 3.
    TypeError
        The counts are not int16.
    """
    if counts.dtype != np.int16:
        raise TypeError(f"expected counts as int16, got {counts.dtype}")
    if counts.shape[-1:] != (3,):
        raise ShapeError(f"expected counts of shape (..., 3), got {counts.shape}")
    exact = permutation(rotation)
    if exact is None:
        turned = matrix_product(matrix_float32(_degrees(rotation)), counts.astype(np.float32))
        return as_int16(round_half_away(turned))
    index, sign = exact
    picked = counts[..., index]
    saturated = (picked == INT16.max) | (picked == INT16.min)
    return np.where(sign > 0, picked, np.where(saturated, ~picked, -picked))


@cache
def permutation(rotation: int) -> tuple[IntArray, IntArray] | None:
    """Return the chip axis and the sign of each board axis; None if not a permutation."""
    matrix = rotation_matrix(rotation)
    if np.any(matrix != np.trunc(matrix)):
        return None
    return np.argmax(np.abs(matrix), axis=1), matrix.sum(axis=1).astype(np.int64)


def _degrees(rotation: int) -> tuple[int, int, int]:
    if not 0 <= rotation < len(ROTATIONS):
        raise ValueRangeError(
            f"expected a rotation of 0 to {len(ROTATIONS) - 1}, got {rotation}; "
            "custom angles go through matrix_float32"
        )
    return ROTATIONS[rotation]


def _matrix(degrees: Sequence[float], dtype: DTypeLike) -> NDArray[np.floating]:
    """Return Rz(yaw) Ry(pitch) Rx(roll), every operation rounded to ``dtype``."""
    half_turn = np.array([np.pi, 180.0], dtype)
    turns: NDArray[np.floating] = np.asarray(degrees, dtype) * (half_turn[0] / half_turn[1])
    cr, cp, cy = np.cos(turns, dtype=np.float64).astype(dtype)
    sr, sp, sy = np.sin(turns, dtype=np.float64).astype(dtype)
    return np.array(
        [
            [cp * cy, -cr * sy + sr * sp * cy, sr * sy + cr * sp * cy],
            [cp * sy, cr * cy + sr * sp * sy, -sr * cy + cr * sp * sy],
            [-sp, sr * cp, cr * cp],
        ]
    )

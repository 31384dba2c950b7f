"""Unit quaternions as rotations, on whole arrays.

A quaternion is ``(..., 4)`` in the order x, y, z, w; Hamilton product; ``q_a_from_b`` turns
components in frame b into components in frame a, and products chain like the names:
``q_a_from_c = multiply(q_a_from_b, q_b_from_c)``. Both q and -q are the same rotation.

Arguments broadcast over their leading dimensions. Quaternions have to be
of unit length (:func:`normalize`); that is neither checked nor restored here. NaN gives NaN,
without a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite, as_floats
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry.formulas import (
    quaternion_multiply,
    quaternion_rotate,
    quaternion_to_matrix,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from strapdown._typing import ArrayLike, BoolArray, FloatArray

__all__ = [
    "IDENTITY",
    "angle_between",
    "canonical",
    "conjugate",
    "exp",
    "from_matrix",
    "from_rotation_vector",
    "from_wxyz",
    "log",
    "make_continuous",
    "mean",
    "multiply",
    "normalize",
    "rotate",
    "slerp",
    "to_matrix",
    "to_rotation_vector",
    "to_wxyz",
]

IDENTITY: Final[FloatArray] = np.array([0.0, 0.0, 0.0, 1.0])
"""Identity rotation (read-only)."""
IDENTITY.flags.writeable = False

_CONJUGATE: Final[FloatArray] = np.array([-1.0, -1.0, -1.0, 1.0])
_ROTATION_TOLERANCE: Final = 1e-3  # largest deviation of an entry from a rotation matrix


def multiply(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Return the Hamilton product p q: first the rotation q, then p.

    Parameters
    ----------
    p, q : array_like, shape (..., 4)

    Returns
    -------
    ndarray, shape (..., 4)
    """
    return _joined(quaternion_multiply(*_components(p, "p", 4), *_components(q, "q", 4)))


def conjugate(q: ArrayLike) -> FloatArray:
    """Return the conjugate, which is the inverse rotation of a unit quaternion.

    Parameters
    ----------
    q : array_like, shape (..., 4)

    Returns
    -------
    ndarray, shape (..., 4)
    """
    return as_floats(q, "q", (4,)) * _CONJUGATE


def normalize(q: ArrayLike) -> FloatArray:
    """Return quaternions scaled to unit length.

    Parameters
    ----------
    q : array_like, shape (..., 4)

    Returns
    -------
    ndarray, shape (..., 4)
        Of the same sign; rows with NaN are NaN.

    Raises
    ------
    ValueRangeError
        A quaternion is zero or infinite.
    """
    q = as_floats(q, "q", (4,))
    length = np.hypot(_length(q[..., :3]), q[..., 3])
    bad = (length == 0.0) | np.isinf(length)
    if np.any(bad):
        raise ValueRangeError(
            "expected quaternions of finite, non-zero length,"
            f" got q{_first(bad)} = {q[bad][0].tolist()}"
        )
    return q / length[..., np.newaxis]


def canonical(q: ArrayLike) -> FloatArray:
    """Return q or -q, whichever has a positive first non-zero component of w, x, y, z.

    Parameters
    ----------
    q : array_like, shape (..., 4)

    Returns
    -------
    ndarray, shape (..., 4)
    """
    q = as_floats(q, "q", (4,))
    x, y, z, w = np.moveaxis(q, -1, 0)
    leading = np.where(w != 0.0, w, np.where(x != 0.0, x, np.where(y != 0.0, y, z)))
    return np.where(leading[..., np.newaxis] < 0.0, -q, q)


def rotate(q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Rotate vectors: ``v_a = rotate(q_a_from_b, v_b)``.

    Parameters
    ----------
    q : array_like, shape (..., 4)
    v : array_like, shape (..., 3)

    Returns
    -------
    ndarray, shape (..., 3)
    """
    return _joined(quaternion_rotate(*_components(q, "q", 4), *_components(v, "v", 3)))


def exp(half_rotation_vector: ArrayLike) -> FloatArray:
    """Return the exponential of pure quaternions: ``(sin|u| u/|u|, cos|u|)``.

    Parameters
    ----------
    half_rotation_vector : array_like, shape (..., 3)
        Axis times half the angle [rad].

    Returns
    -------
    ndarray, shape (..., 4)
    """
    u = as_floats(half_rotation_vector, "half_rotation_vector", (3,))
    angle = _length(u)
    with np.errstate(invalid="ignore"):  # an infinite angle is no rotation: NaN
        vector = np.sin(angle)[..., np.newaxis] * _direction(u, angle)
        return np.concatenate([vector, np.cos(angle)[..., np.newaxis]], axis=-1)


def log(q: ArrayLike) -> FloatArray:
    """Return the logarithm of unit quaternions, the inverse of :func:`exp`.

    Parameters
    ----------
    q : array_like, shape (..., 4)

    Returns
    -------
    ndarray, shape (..., 3)
        Axis times half the angle [rad], of length in [0, pi], accurate over the whole range;
        the logarithm of -1, whose axis is arbitrary, is (pi, 0, 0).
    """
    q = as_floats(q, "q", (4,))
    vector, w = q[..., :3], q[..., 3]
    sine = _length(vector)
    direction = _direction(vector, sine)
    direction[..., 0] += (sine == 0.0) & (w < 0.0)
    return np.arctan2(sine, w)[..., np.newaxis] * direction


def from_rotation_vector(v: ArrayLike) -> FloatArray:
    """Return the rotation by the angle ``|v|`` about the axis ``v/|v|``.

    Parameters
    ----------
    v : array_like, shape (..., 3)
        Rotation vectors [rad].

    Returns
    -------
    ndarray, shape (..., 4)
    """
    return exp(0.5 * as_floats(v, "v", (3,)))


def to_rotation_vector(q: ArrayLike) -> FloatArray:
    """Return axis times angle, with the angle in [0, pi].

    Parameters
    ----------
    q : array_like, shape (..., 4)

    Returns
    -------
    ndarray, shape (..., 3)
        Rotation vectors [rad], equal for q and -q.
    """
    return 2.0 * log(canonical(q))


def from_matrix(R: ArrayLike) -> FloatArray:
    """Return the canonical quaternions of rotation matrices.

    The row of the matrix 4 q q^T with the largest diagonal entry is used, which avoids
    cancellation.

    Parameters
    ----------
    R : array_like, shape (..., 3, 3)
        ``R_a_from_b``: its columns are the axes of b in components of a.

    Returns
    -------
    ndarray, shape (..., 4)
        ``q_a_from_b``, with w >= 0; rows with NaN are NaN.

    Raises
    ------
    ValueRangeError
        A matrix is no rotation: some entry is further than 1e-3 from that of the result.

    References
    ----------
    S. W. Shepperd, "Quaternion from rotation matrix", Journal of Guidance and Control 1(3),
    1978.
    """
    R = as_floats(R, "R", (3, 3))
    (m00, m01, m02), (m10, m11, m12), (m20, m21, m22) = np.moveaxis(R, (-2, -1), (0, 1))
    outer = np.stack(
        [
            _joined((1.0 + m00 - m11 - m22, m01 + m10, m02 + m20, m21 - m12)),
            _joined((m01 + m10, 1.0 - m00 + m11 - m22, m12 + m21, m02 - m20)),
            _joined((m02 + m20, m12 + m21, 1.0 - m00 - m11 + m22, m10 - m01)),
            _joined((m21 - m12, m02 - m20, m10 - m01, 1.0 + m00 + m11 + m22)),
        ],
        axis=-2,
    )
    best = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(outer, best[..., np.newaxis, np.newaxis], axis=-2)[..., 0, :]
    q = canonical(row / np.linalg.norm(row, axis=-1, keepdims=True))
    bad = np.any(np.abs(to_matrix(q) - R) > _ROTATION_TOLERANCE, axis=(-2, -1))
    if np.any(bad):
        raise ValueRangeError(
            "expected rotation matrices (orthonormal, determinant +1),"
            f" got R{_first(bad)} = {R[bad][0].tolist()}"
        )
    return q


def to_matrix(q: ArrayLike) -> FloatArray:
    """Return the rotation matrices of unit quaternions.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        ``q_a_from_b``.

    Returns
    -------
    ndarray, shape (..., 3, 3)
        ``R_a_from_b``.
    """
    entries = _joined(quaternion_to_matrix(*_components(q, "q", 4)))
    return entries.reshape(*entries.shape[:-1], 3, 3)


def slerp(p: ArrayLike, q: ArrayLike, fraction: ArrayLike) -> FloatArray:
    """Interpolate on the shortest arc at constant angular velocity.

    Parameters
    ----------
    p, q : array_like, shape (..., 4)
        The ends; the sign of the result follows ``p``.
    fraction : array_like, shape (...)
        0 gives the rotation p and 1 the rotation q; values outside extrapolate.

    Returns
    -------
    ndarray, shape (..., 4)

    References
    ----------
    K. Shoemake, "Animating rotation with quaternion curves", SIGGRAPH 1985.
    """
    part = as_floats(fraction, "fraction", ())[..., np.newaxis]
    turn = to_rotation_vector(multiply(conjugate(p), q))
    return multiply(p, from_rotation_vector(part * turn))


def angle_between(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Return the angle of the rotation from p to q.

    Parameters
    ----------
    p, q : array_like, shape (..., 4)

    Returns
    -------
    ndarray, shape (...)
        In [0, pi] [rad], accurate at both ends.
    """
    turn = multiply(conjugate(p), q)
    return 2.0 * np.arctan2(_length(turn[..., :3]), np.abs(turn[..., 3]))


def mean(q: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """Return the mean rotation, independent of the signs of the quaternions.

    Parameters
    ----------
    q : array_like, shape (..., N, 4)
    weights : array_like, shape (..., N), optional
        Non-negative; equal by default.

    Returns
    -------
    ndarray, shape (..., 4)
        The canonical unit quaternion with the least weighted sum of squared matrix distances
        (entries) to all q. Where that is not unique, as for two opposite half turns, one of
        the best.

    Raises
    ------
    ValueRangeError
        There is no quaternion, a value is not finite, or the weights are negative or all 0.

    References
    ----------
    F. L. Markley et al., "Averaging quaternions", Journal of Guidance, Control, and Dynamics
    30(4), 2007, eqs. 12 and 13.
    """
    q = as_finite(q, "q", (4,))
    if q.ndim < 2:
        raise ShapeError(f"expected q of shape (..., N, 4), got {q.shape}")
    if q.shape[-2] == 0:
        raise ValueRangeError("expected at least one quaternion, got none: no mean exists")
    if weights is None:
        weights = np.ones(q.shape[-2])
    weights = as_finite(weights, "weights", (q.shape[-2],))
    if np.any(weights < 0.0) or not np.all(np.any(weights > 0.0, axis=-1)):
        raise ValueRangeError(f"expected non-negative weights, not all zero, got {weights}")
    weighted = weights[..., np.newaxis] * q
    _, vectors = np.linalg.eigh(np.swapaxes(weighted, -2, -1) @ q)
    return canonical(vectors[..., -1])


def make_continuous(q: ArrayLike) -> FloatArray:
    """Choose signs so that no quaternion has a negative dot product with the one before.

    Parameters
    ----------
    q : array_like, shape (N, 4)
        Rows with NaN are skipped.

    Returns
    -------
    ndarray, shape (N, 4)
        The same rotations; the first row keeps its sign.
    """
    q = as_floats(q, "q", (4,)).copy()
    if q.ndim != 2:
        raise ShapeError(f"expected q of shape (N, 4), got {q.shape}")
    known = ~np.isnan(q).any(axis=1)
    rows = q[known]
    flips = np.sum(rows[1:] * rows[:-1], axis=1) < 0.0
    rows[1:][np.cumsum(flips) % 2 == 1] *= -1.0
    q[known] = rows
    return q


def from_wxyz(q: ArrayLike) -> FloatArray:
    """Convert quaternions from the order w, x, y, z to x, y, z, w.

    Parameters
    ----------
    q : array_like, shape (..., 4)

    Returns
    -------
    ndarray, shape (..., 4)
    """
    return np.roll(as_floats(q, "q", (4,)), -1, axis=-1)


def to_wxyz(q: ArrayLike) -> FloatArray:
    """Convert quaternions to the order w, x, y, z.

    Parameters
    ----------
    q : array_like, shape (..., 4)

    Returns
    -------
    ndarray, shape (..., 4)
    """
    return np.roll(as_floats(q, "q", (4,)), 1, axis=-1)


def _components(value: ArrayLike, name: str, count: int) -> tuple[FloatArray, ...]:
    return tuple(np.moveaxis(as_floats(value, name, (count,)), -1, 0))


def _joined(components: Iterable[FloatArray]) -> FloatArray:
    return np.stack(list(components), axis=-1)


def _length(v: FloatArray) -> FloatArray:
    """Return the length of 3-vectors, without overflow or underflow of squares."""
    length: FloatArray = np.hypot(np.hypot(v[..., 0], v[..., 1]), v[..., 2])
    return length


def _direction(v: FloatArray, length: FloatArray) -> FloatArray:
    """Return v / length, and zero where the length is zero."""
    return v / np.where(length == 0.0, 1.0, length)[..., np.newaxis]


def _first(bad: BoolArray) -> str:
    """Return the index of the first bad row, in brackets; nothing for a single value."""
    index = np.argwhere(bad)[0].tolist()
    return str(index) if index else ""

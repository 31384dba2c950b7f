"""Rotations between directions, and the Jacobian of rotation vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite, as_floats
from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["inverse_right_jacobian", "shortest"]

_OPPOSITE: Final = 1e-12  # length of the sum of unit vectors below which they are opposite
_SMALL_ANGLE: Final = 0.05  # below which the series is more accurate than the closed form [rad]


def shortest(v: ArrayLike, w: ArrayLike) -> FloatArray:
    """Return the smallest rotation from one direction to another.

    Parameters
    ----------
    v, w : array_like, shape (..., 3)
        Vectors of any length but 0.

    Returns
    -------
    ndarray, shape (..., 4)
        ``q`` for which ``rotate(q, v)`` points along ``w``, with w >= 0. Of the half turns
        between opposite directions, the one about ``v`` x the coordinate axis that is farthest
        from ``v``.

    Raises
    ------
    ValueRangeError
        A vector is zero or not finite.
    """
    v, w = np.broadcast_arrays(_unit(v, "v"), _unit(w, "w"))
    between = v + w
    total = np.linalg.norm(between, axis=-1, keepdims=True)
    opposite = total < _OPPOSITE
    aside = np.cross(v, np.eye(3)[np.argmin(np.abs(v), axis=-1)])
    across = np.cross(v, between) / np.where(opposite, 1.0, total)
    vector = np.where(opposite, aside, across)
    scalar = np.where(opposite, 0.0, 0.5 * total)
    return quaternion.normalize(np.concatenate([vector, scalar], axis=-1))


def inverse_right_jacobian(half_rotation_vector: ArrayLike) -> FloatArray:
    """Return the Jacobian of the logarithm of a quaternion for small rotations of the body.

    ``log(exp(u) exp(d / 2)) = u + J d`` for small rotation vectors d, with
    ``J = (I + [u] + (1 - |u| cot |u|) / |u|^2 [u]^2) / 2``.

    Parameters
    ----------
    half_rotation_vector : array_like, shape (..., 3)
        u: axis times half the angle [rad].

    Returns
    -------
    ndarray, shape (..., 3, 3)

    References
    ----------
    J. Sola et al., "A micro Lie theory for state estimation in robotics", 2018,
    arXiv:1812.01537, eq. 144, for the whole angle.
    """
    u = as_floats(half_rotation_vector, "half_rotation_vector", (3,))
    square = np.sum(u * u, axis=-1)
    angle = np.maximum(np.sqrt(square), _SMALL_ANGLE)
    series = 1 / 3 + square * (1 / 45 + square * (2 / 945 + square / 4725))
    closed = (1.0 - angle / np.tan(angle)) / angle**2
    factor = np.where(square < _SMALL_ANGLE**2, series, closed)[..., None, None]
    skew = cross_matrix(u)
    return np.asarray(0.5 * (np.eye(3) + skew + factor * (skew @ skew)))


def cross_matrix(v: FloatArray) -> FloatArray:
    """Return the matrices (..., 3, 3) whose product with w is v x w, of vectors (..., 3)."""
    return np.asarray(np.cross(np.eye(3), v[..., None, :]))


def _unit(v: ArrayLike, name: str) -> FloatArray:
    v = as_finite(v, name, (3,))
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    if np.any(length == 0.0):
        raise ValueRangeError(f"expected {name} of non-zero length, got 0: it has no direction")
    return np.asarray(v / length)

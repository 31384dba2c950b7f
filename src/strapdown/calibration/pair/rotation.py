"""Rotation between the axes of two sensors from vectors that both measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

__all__ = ["Fit", "fit_rotation"]


class Fit(NamedTuple):
    """The best rotation between two sets of vectors.

    Parameters
    ----------
    R : (3, 3)
        ``a = R b``.
    unexplained : float
        Share of the squares that the rotation leaves, 0 to 1.
    mirrored : float
        Share that the best reflection leaves.
    reflection : (3, 3)
        That reflection: orthogonal, with determinant -1.
    scale : float
        Root mean square of a over that of b.
    breadth : float
        Second singular value over the first: 0 for vectors along one line.
    """

    R: FloatArray
    unexplained: float
    mirrored: float
    reflection: FloatArray
    scale: float
    breadth: float


def fit_rotation(a: FloatArray, b: FloatArray, *, centred: bool = True) -> Fit:
    """Return the rotation that takes vectors b (K, 3) to a (K, 3), by singular values.

    Lengths are compared after division by their root mean squares, so that units do not matter.

    References
    ----------
    G. Wahba, SIAM Review 7(3), 1965; F. L. Markley, J. Astronautical Sciences 36(3), 1988.
    """
    if centred:
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size_a, size_b = np.linalg.norm(a), np.linalg.norm(b)
    if not (size_a > 0.0 and size_b > 0.0):
        return Fit(np.eye(3), 1.0, 1.0, -np.eye(3), float("nan"), 0.0)
    U, s, Vt = np.linalg.svd(a.T @ b / (size_a * size_b))
    sign = 1.0 if np.linalg.det(U @ Vt) > 0.0 else -1.0
    flip = np.array([1.0, 1.0, sign])
    return Fit(
        (U * flip) @ Vt,
        float(1.0 - np.sum(s * flip) ** 2),
        float(1.0 - np.sum(s * flip * [1.0, 1.0, -1.0]) ** 2),
        (U * flip * [1.0, 1.0, -1.0]) @ Vt,
        float(size_a / size_b),
        float(s[1] / s[0]),
    )

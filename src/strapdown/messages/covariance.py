"""Meaning of the nine numbers of a covariance, for every dialect.

A block is a 3x3 covariance matrix, row-major. ``sensor_msgs/Imu`` (ROS) and horus give two
special meanings to it:

=========================  ===========  ====================================================
block ``c``                status       meaning
=========================  ===========  ====================================================
``c[0] < 0``, or NaN       ``ABSENT``   the quantity itself is not provided
all nine zero              ``UNKNOWN``  the quantity is there, its uncertainty is not stated
anything else              ``KNOWN``    a covariance; :func:`problems` checks it
=========================  ===========  ====================================================

Zeros never mean "perfect". Reading a message alters no block; a writer converts the blocks to
the normal form of its dialect with :func:`normal_form`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown._checks import as_floats
from strapdown.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from strapdown._typing import ArrayLike, FloatArray

__all__ = [
    "HORUS_ABSENT",
    "ROS_ABSENT",
    "CovarianceStatus",
    "normal_form",
    "problems",
    "status",
    "statuses",
]

ROS_ABSENT: Final = (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Absent quantity in ROS (``sensor_msgs/Imu``: "set element 0 to -1")."""

HORUS_ABSENT: Final = (-1.0,) * 9
"""Absent orientation in horus."""


class CovarianceStatus(StrEnum):
    """State of a quantity according to its covariance block."""

    ABSENT = "absent"
    UNKNOWN = "unknown"
    KNOWN = "known"


def status(block: Sequence[float] | FloatArray) -> CovarianceStatus:
    """Return the status that one block of nine numbers expresses.

    Raises
    ------
    ShapeError
        The block does not have nine values.
    """
    if len(block) != 9:
        raise ShapeError(f"expected a covariance of 9 numbers, got {len(block)}")
    if not block[0] >= 0.0:  # NaN too
        return CovarianceStatus.ABSENT
    return CovarianceStatus.KNOWN if any(block) else CovarianceStatus.UNKNOWN


def statuses(blocks: ArrayLike) -> NDArray[np.str_]:
    """Return the status of each of many blocks.

    Parameters
    ----------
    blocks : array_like, shape (..., 9)
        Row-major 3x3 blocks.

    Returns
    -------
    array of str, shape (...)
        Values of :class:`CovarianceStatus`; compare with its members.

    Raises
    ------
    ShapeError
        The last dimension is not 9.
    """
    return _statuses(as_floats(blocks, "covariance", (9,)))


def normal_form(blocks: ArrayLike, absent: Sequence[float]) -> FloatArray:
    """Return the blocks as a dialect writes them.

    Parameters
    ----------
    blocks : array_like, shape (..., 9)
        Row-major 3x3 blocks.
    absent : sequence of 9 floats
        :data:`ROS_ABSENT` or :data:`HORUS_ABSENT`.

    Returns
    -------
    array, shape (..., 9)
        A copy: ``absent`` where the status is ABSENT, +0.0 where it is UNKNOWN, the numbers as
        they are where it is KNOWN.

    Raises
    ------
    ShapeError
        The last dimension is not 9.
    """
    written = as_floats(blocks, "covariance", (9,)).copy()
    written[~written.any(axis=-1)] = 0.0
    written[~(written[..., 0] >= 0.0)] = absent  # NaN too
    return written


def problems(block: ArrayLike) -> tuple[str, ...]:
    """Return why a KNOWN block is no covariance matrix, one line each; empty if it is one.

    Parameters
    ----------
    block : array_like, shape (9,) or (3, 3)
        A block of any status; only a KNOWN one can have problems.

    Returns
    -------
    tuple of str
        A value that is not finite; asymmetry above 1e-9 of the largest value; a smallest
        eigenvalue below -1e-12 of the trace.

    Raises
    ------
    ShapeError
        The block does not have nine values.
    """
    matrix = as_floats(np.reshape(np.asarray(block), -1), "covariance", (9,)).reshape(3, 3)
    if status(matrix.ravel()) is not CovarianceStatus.KNOWN:
        return ()
    found = [
        f"[{row},{column}] is {matrix[row, column]}, not finite"
        for row, column in np.argwhere(~np.isfinite(matrix))
    ]
    if found:
        return tuple(found)
    scaled = matrix / np.abs(matrix).max()  # so that the squares and sums below cannot overflow
    for row, column in ((0, 1), (0, 2), (1, 2)):
        if abs(scaled[row, column] - scaled[column, row]) > 1e-9:
            pair = f"[{row},{column}] is {matrix[row, column]}, [{column},{row}] is "
            found.append(f"asymmetric: {pair}{matrix[column, row]}")
    smallest = float(np.linalg.eigvalsh((scaled + scaled.T) / 2.0)[0])
    if smallest < -1e-12 * np.trace(scaled):
        ratio = f"{smallest:.3g} of the largest value"
        found.append(f"not positive semidefinite: the smallest eigenvalue is {ratio}")
    return tuple(found)


def _statuses(blocks: FloatArray) -> NDArray[np.str_]:
    absent = ~(blocks[..., 0] >= 0.0)  # NaN too
    present: NDArray[Any] = np.where(
        blocks.any(axis=-1), CovarianceStatus.KNOWN, CovarianceStatus.UNKNOWN
    )
    return np.where(absent, CovarianceStatus.ABSENT, present)

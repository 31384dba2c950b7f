"""Windows of a recording on a common grid: turns of the gyro and mean readings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.geometry import quaternion
from strapdown.series import timebase
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.checking.rest import Rest
    from strapdown.series import ImuSeries

__all__ = ["BLOCKS", "SLOWEST_HZ", "Windows", "block_tensors", "integrated", "windows_of"]

SLOWEST_HZ: Final = 10.0
"""Lowest rate at which the integral of a gyro follows a hand or a vehicle."""
BLOCKS: Final = 4
"""Blocks of a window. Over a block of 2 s the mean acceleration of a bounded motion is small."""
_STEP_S: Final = 0.02
_BLOCK_S: Final = (0.5, 2.0)
"""Shortest and longest block; a short recording is divided into three windows."""
_LONGEST_GAP_S: Final = 0.1


@dataclass(frozen=True)
class Windows:
    """Windows in 4 blocks of K/4 steps of 20 ms, without gaps; neighbours overlap by half.

    Parameters
    ----------
    edges_ns : (W, K + 1) int64
        Stamps between the steps [ns].
    turn : (W, K, 3)
        Integral of the angular velocity over each step, without the bias at rest [rad, body].
    force : (W, K, 3)
        Mean specific force over each step [m/s^2, body].
    field : (W, K, 3), optional
        Mean magnetic field over each step [T, body].
    unbiased : bool
        Whether the bias of the gyro is known from rest.
    """

    edges_ns: IntArray
    turn: FloatArray
    force: FloatArray
    field: FloatArray | None
    unbiased: bool

    def __len__(self) -> int:
        return len(self.edges_ns)


def windows_of(series: ImuSeries, rest: Rest | None, most: int) -> Windows | None:
    """Return the windows of a series that turn most; None where there is none.

    Parameters
    ----------
    series : ImuSeries
        With increasing stamps.
    rest : Rest, optional
        Its rest.
    most : int
        Largest number of windows.
    """
    good = np.isfinite(series.angular_velocity).all(axis=1)
    good &= np.isfinite(series.specific_force).all(axis=1)
    kept = series[np.flatnonzero(good)]
    rate_hz = timebase.report(kept.t_ns).rate_hz
    if not rate_hz >= SLOWEST_HZ:
        return None
    t_s = (kept.t_ns - kept.t_ns[0]) / NS_PER_S
    block = int(np.clip(t_s[-1] / (3 * BLOCKS), *_BLOCK_S) / _STEP_S)
    half = BLOCKS // 2 * block
    count = int(t_s[-1] / _STEP_S) // half - 1
    if count < 1:
        return None
    grid_s = np.asarray(np.arange((count + 1) * half + 1) * _STEP_S, np.float64)
    steps = np.arange(count)[:, None] * half + np.arange(2 * half)
    steps = steps[_continuous(t_s, grid_s[steps[:, 0]], grid_s[steps[:, -1] + 1])]
    bias = None if rest is None else rest.rate
    rate = kept.angular_velocity if bias is None else kept.angular_velocity - bias
    turn = _integrals(t_s, rate, grid_s)
    size = np.linalg.norm(turn, axis=1)[steps].sum(axis=1)
    steps = steps[np.argsort(-size, kind="stable")[:most]]
    if not len(steps):
        return None
    edges_s = grid_s[np.column_stack([steps, steps[:, -1] + 1])]
    field = _filled(t_s, kept.magnetic_field)
    return Windows(
        kept.t_ns[0] + np.rint(edges_s * NS_PER_S).astype(np.int64),
        turn[steps],
        _integrals(t_s, kept.specific_force, grid_s)[steps] / _STEP_S,
        None if field is None else _integrals(t_s, field, grid_s)[steps] / _STEP_S,
        bias is not None,
    )


def integrated(turn: FloatArray) -> FloatArray:
    """Return the attitude between the steps of each window, relative to its begin.

    Parameters
    ----------
    turn : (W, K, 3)
        Rotation vectors of the steps [rad, body].

    Returns
    -------
    ndarray, shape (W, K + 1, 4)
        Quaternions from the body after each step to the body at the begin, x y z w.
    """
    q = np.empty((len(turn), turn.shape[1] + 1, 4))
    q[:, 0] = quaternion.IDENTITY
    q[:, 1:] = quaternion.from_rotation_vector(turn)
    reach = 1  # each entry is the product of this many steps, and then of twice as many
    while reach < q.shape[1]:
        q[:, reach:] = quaternion.multiply(q[:, :-reach], q[:, reach:])
        reach *= 2
    return q


def block_tensors(turn: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the means over blocks of ``R[a, i] v[c]``, (W, 4, 3, 3, 3).

    R is the rotation by the gyro from the middle of a step to the begin of the window, v a
    reading. A permutation N of the axes of v then costs one contraction: the mean of ``R N v``
    is the sum over i and c of ``N[i, c]`` times the tensor.
    """
    count = len(turn)
    half = quaternion.from_rotation_vector(0.5 * turn)
    middle = quaternion.to_matrix(quaternion.multiply(integrated(turn)[:, :-1], half))
    r = middle.reshape(count, BLOCKS, -1, 9)
    v = vectors.reshape(count, BLOCKS, -1, 3)
    mean = np.swapaxes(r, -1, -2) @ v / r.shape[2]
    return np.asarray(mean.reshape(count, BLOCKS, 3, 3, 3))


def _continuous(t_s: FloatArray, begin_s: FloatArray, end_s: FloatArray) -> FloatArray:
    """Return which windows have no two samples farther apart than a tenth of a second."""
    gaps = np.flatnonzero(np.diff(t_s) > _LONGEST_GAP_S)
    if not len(gaps):
        return np.ones(len(begin_s), np.bool_)
    # windows with a gap that begins before their end and ends after their begin
    before_end = np.searchsorted(t_s[gaps], end_s)
    over_before_begin = np.searchsorted(t_s[gaps + 1], begin_s, side="right")
    return np.asarray(before_end <= over_before_begin)


def _integrals(t_s: FloatArray, values: FloatArray, grid_s: FloatArray) -> FloatArray:
    """Return the integral of samples over each step of a grid, by trapezoids."""
    sums = np.zeros_like(values)
    np.cumsum(0.5 * np.diff(t_s)[:, None] * (values[1:] + values[:-1]), axis=0, out=sums[1:])
    return np.diff(_between(grid_s, t_s, sums), axis=0)


def _filled(t_s: FloatArray, field: FloatArray | None) -> FloatArray | None:
    """Return the field at every sample; a magnetometer is often slower than the IMU."""
    if field is None:
        return None
    measured = np.isfinite(field).all(axis=1)
    if measured.all():
        return field
    return _between(t_s, t_s[measured], field[measured]) if measured.sum() > 1 else None


def _between(at: FloatArray, t_s: FloatArray, values: FloatArray) -> FloatArray:
    return np.stack([np.interp(at, t_s, column) for column in values.T], axis=1)

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
_LONGEST_GAP_S: Final = 0.15


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
    begin_s, steps = _candidates(t_s)
    bias = None if rest is None else rest.rate
    rate = kept.angular_velocity if bias is None else kept.angular_velocity - bias
    ends = np.stack([begin_s, begin_s + steps * _STEP_S])
    speed = np.linalg.norm(rate, axis=1, keepdims=True)
    size = np.diff(_between(ends, t_s, _sums(t_s, speed)), axis=0)[0, :, 0]
    begin_s = begin_s[np.argsort(-size, kind="stable")[:most]]
    if not len(begin_s):
        return None
    edges_s = begin_s[:, None] + np.arange(steps + 1) * _STEP_S
    field = _filled(t_s, kept.magnetic_field)
    return Windows(
        kept.t_ns[0] + np.rint(edges_s * NS_PER_S).astype(np.int64),
        _integrals(t_s, rate, edges_s),
        _integrals(t_s, kept.specific_force, edges_s) / _STEP_S,
        None if field is None else _integrals(t_s, field, edges_s) / _STEP_S,
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


def _candidates(t_s: FloatArray) -> tuple[FloatArray, int]:
    """Return the begins of windows without gaps [s] and their number of steps."""
    gaps = np.flatnonzero(np.diff(t_s) > _LONGEST_GAP_S)
    first = np.append(t_s[0], t_s[gaps + 1])
    length = np.append(t_s[gaps], t_s[-1]) - first
    half = BLOCKS // 2 * int(np.clip(length.max() / (3 * BLOCKS), *_BLOCK_S) / _STEP_S)
    count = np.maximum((length / (half * _STEP_S)).astype(np.int64) - 1, 0)
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(first, count) + number * (half * _STEP_S), 2 * half


def _sums(t_s: FloatArray, values: FloatArray) -> FloatArray:
    """Return the integral (N, D) of samples from the first on, by trapezoids, without gaps."""
    dt = np.diff(t_s)
    dt[dt > _LONGEST_GAP_S] = 0.0
    sums = np.zeros_like(values)
    np.cumsum(0.5 * dt[:, None] * (values[1:] + values[:-1]), axis=0, out=sums[1:])
    return sums


def _integrals(t_s: FloatArray, values: FloatArray, edges_s: FloatArray) -> FloatArray:
    """Return the integral (W, K, 3) of samples over each step of windows."""
    return np.diff(_between(edges_s, t_s, _sums(t_s, values)), axis=1)


def _filled(t_s: FloatArray, field: FloatArray | None) -> FloatArray | None:
    """Return the field at every sample; a magnetometer is often slower than the IMU."""
    if field is None:
        return None
    measured = np.isfinite(field).all(axis=1)
    if measured.all():
        return field
    return _between(t_s, t_s[measured], field[measured]) if measured.sum() > 1 else None


def _between(at: FloatArray, t_s: FloatArray, values: FloatArray) -> FloatArray:
    return np.stack([np.interp(at, t_s, column) for column in values.T], axis=-1)

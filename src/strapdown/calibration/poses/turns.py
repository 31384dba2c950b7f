"""Turns between still intervals: integrals of the gyro and the rotation that they make.

The integrals of the readings over each step are those of :func:`strapdown.inertial.integrate`
(four-point Adams-Moulton). They are linear in the samples, so a matrix A may be applied to them
afterwards: ``phi_i = A a_i + (A a_{i-1}) x (A a_i) / 12`` is the rotation vector of a step with
its coning correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.geometry import quaternion
from strapdown.geometry.rotations import skew
from strapdown.inertial import WindowRule, integrate
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["Turns"]

LONGEST_S: Final = 30.0
"""Longest turn that is used [s]."""


@dataclass(frozen=True, eq=False)
class Turns:
    """Integrals of the gyro in the turns from one still interval to another.

    Parameters
    ----------
    before, after : (T,) int64
        Still intervals that a turn connects.
    angle : (T, L, 3)
        Integrals of the readings over the steps, without bias [unit of the readings s]; zeros
        after the end of a turn.
    duration_s : (T,)
        [s].
    """

    before: IntArray
    after: IntArray
    angle: FloatArray
    duration_s: FloatArray

    def __len__(self) -> int:
        return len(self.before)

    def __getitem__(self, rows: BoolArray | IntArray) -> Turns:
        return Turns(self.before[rows], self.after[rows], self.angle[rows], self.duration_s[rows])

    @classmethod
    def of(cls, series: ImuSeries, rate: FloatArray, start: IntArray, stop: IntArray) -> Turns:
        """Return the turns between successive still intervals; not those with a gap or above 30 s.

        Parameters
        ----------
        series : ImuSeries
            The session.
        rate : (N, 3)
            Readings of the gyro without bias [unit of the readings].
        start, stop : (M,) int64
            Rows of the still intervals.
        """
        result = integrate(
            series.replace(
                angular_velocity=rate, angular_velocity_covariance=None,
                specific_force=np.zeros_like(rate), specific_force_covariance=None,
            ),
            window=WindowRule(1),
        )  # fmt: skip
        steps, stamps = result.increments, series.t_ns
        plain = steps.delta_angle - result.coning
        begin, end = stamps[stop[:-1] - 1], stamps[start[1:]]
        first = np.searchsorted(steps.t_ns, begin, "right")
        last = np.searchsorted(steps.t_ns, end, "right")
        covered = np.concatenate([[0], np.cumsum(steps.delta_angle_dt_ns)])
        whole = covered[last] - covered[first] == end - begin
        whole &= end - begin <= LONGEST_S * NS_PER_S
        which = np.flatnonzero(whole)
        longest = int((last - first)[which].max(initial=1))
        angle = np.zeros((len(which), longest, 3))
        for row, k in enumerate(which):
            angle[row, : last[k] - first[k]] = plain[first[k] : last[k]]
        return cls(which, which + 1, angle, (end - begin)[which] / NS_PER_S)

    def summed(self, count: int) -> Turns:
        """Return turns whose steps are sums of ``count`` steps: nearly the same, and faster."""
        padding = -self.angle.shape[1] % count
        padded = np.pad(self.angle, ((0, 0), (0, padding), (0, 0)))
        angle = padded.reshape(len(self), -1, count, 3).sum(axis=2)
        return Turns(self.before, self.after, angle, self.duration_s)

    def rotation(self, matrix: FloatArray) -> FloatArray:
        """Return ``R_before_from_after`` (..., T, 3, 3) with a matrix (..., 3, 3) of the gyro."""
        return _product(self._steps(matrix))

    def rotation_and_jacobian(self, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rotations and their derivatives.

        Returns
        -------
        (T, 3, 3)
            R.
        (T, 3, 9)
            J: ``R(A + dA) = R Exp(J da)`` for the elements of dA row by row (J_M of the filter
            that estimates its own scale errors).
        """
        phi, before = self._steps(matrix), _delayed(self.angle)
        R = _remaining(quaternion.to_matrix(quaternion.from_rotation_vector(phi)))
        weight = np.swapaxes(R[:, 1:], -1, -2) @ _right_jacobian(phi) / 12.0
        # phi changes by dA a_i + ((A a_{i-1}) x (dA a_i) - (A a_i) x (dA a_{i-1})) / 12
        now = weight @ (12.0 * np.eye(3) + skew(before @ matrix.T))
        late = weight @ skew(self.angle @ matrix.T)
        J = _outer(now, self.angle) - _outer(late, before)
        return R[:, 0], J.reshape(-1, 3, 9)

    def _steps(self, matrix: FloatArray) -> FloatArray:
        now = self.angle @ np.swapaxes(matrix, -1, -2)[..., np.newaxis, :, :]
        return now + np.cross(_delayed(now), now) / 12.0


def _delayed(steps: FloatArray) -> FloatArray:
    """Return the step before each, zero before the first, where the sensor is at rest."""
    return np.concatenate([np.zeros_like(steps[..., :1, :]), steps[..., :-1, :]], axis=-2)


def _product(phi: FloatArray) -> FloatArray:
    q = quaternion.from_rotation_vector(phi)
    while q.shape[-2] > 1:
        if q.shape[-2] % 2:
            pad = np.broadcast_to(quaternion.IDENTITY, (*q.shape[:-2], 1, 4))
            q = np.concatenate([q, pad], axis=-2)
        q = quaternion.multiply(q[..., ::2, :], q[..., 1::2, :])
    return quaternion.to_matrix(quaternion.normalize(q[..., 0, :]))


def _remaining(R: FloatArray) -> FloatArray:
    """Return the products (T, L + 1, 3, 3) of the rotations from each step to the last."""
    R = np.concatenate([R, np.broadcast_to(np.eye(3), (len(R), 1, 3, 3))], axis=1)
    reach = 1
    while reach < R.shape[1]:
        R[:, :-reach] = R[:, :-reach] @ R[:, reach:]
        reach *= 2
    return R


def _outer(weight: FloatArray, steps: FloatArray) -> FloatArray:
    """Return the sums (T, 9, 3) over the steps of the elements of a weight times a vector."""
    return np.swapaxes(weight.reshape(*weight.shape[:2], 9), 1, 2) @ steps


def _right_jacobian(phi: FloatArray) -> FloatArray:
    """Return J for which ``Exp(phi + d) = Exp(phi) Exp(J d)`` (Sola et al. 2018, eq. 143)."""
    square = np.sum(phi**2, axis=-1)[..., None, None]
    angle = np.sqrt(np.maximum(square, 1e-4))
    small = square < 1e-4
    a = np.where(small, 0.5 - square / 24.0, (1.0 - np.cos(angle)) / angle**2)
    b = np.where(small, 1 / 6 - square / 120.0, (angle - np.sin(angle)) / angle**3)
    cross = skew(phi)
    return np.asarray(np.eye(3) - a * cross + b * (cross @ cross))

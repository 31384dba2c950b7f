"""Rotation of a magnetometer for which the dip of the field is the same in all poses at rest.

``f_k . R_m y_k = sin(dip)`` with the direction ``f_k`` of the specific force at rest, which points
up, and the calibrated field ``y_k`` relative to its norm, up to its sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.detection import StillnessDetector
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries

__all__ = ["LEAST_POSES", "ConstantDip", "fit_constant_dip", "heading_change", "mean_poses"]

LEAST_POSES: Final = 6
ROUNDS: Final = 40
SETTLED: Final = 1e-10


@dataclass(frozen=True, eq=False)
class ConstantDip:
    """Fit of a constant dip.

    Parameters
    ----------
    rotation : (3, 3)
        ``R_m``, body from magnetometer.
    vertical : float
        Component of the field along the specific force, up [of the norm].
    covariance : (3, 3)
        Of ``R_m`` as a rotation vector in magnetometer axes [rad].
    observed : (3, 3), (3,)
        Axes (columns, magnetometer axes) and the part of the information that belongs to a
        rotation about each: 1/3 where the poses determine all of them equally well.
    scale : float
        Standard deviation of the residuals [of the norm].
    """

    rotation: FloatArray
    vertical: float
    covariance: FloatArray
    observed: tuple[FloatArray, FloatArray]
    scale: float


def mean_poses(series: ImuSeries, field: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the directions up (K, 3) and the mean fields (K, 3) of the intervals at rest."""
    intervals = StillnessDetector("variance").analyse(series).intervals
    ups, fields = [], []
    for start, end in zip(intervals.t_start_ns, intervals.t_end_ns, strict=True):
        inside = (series.t_ns >= start) & (series.t_ns <= end) & np.isfinite(field).all(axis=1)
        if inside.any():
            up = np.nanmean(series.specific_force[inside], axis=0)
            ups.append(up / np.linalg.norm(up))
            fields.append(field[inside].mean(axis=0))
    return np.reshape(ups, (-1, 3)), np.reshape(fields, (-1, 3))


def fit_constant_dip(up: FloatArray, field: FloatArray, rotation: FloatArray) -> ConstantDip:
    """Fit rotation and dip by Gauss and Newton's method from a start of the rotation."""
    vertical = float(np.mean((up * (field @ rotation.T)).sum(axis=1)))
    for _ in range(ROUNDS):
        e, J = _residuals(up, field, rotation, vertical)
        step = -np.linalg.lstsq(J, e, rcond=None)[0]
        # far from the solution a long step would leave the range of the linear model
        step[:3] *= min(1.0, 0.5 / max(float(np.linalg.norm(step[:3])), 1e-300))
        rotation = rotation @ quaternion.to_matrix(quaternion.from_rotation_vector(step[:3]))
        vertical += float(step[3])
        if np.abs(step).max() < SETTLED:
            break
    e, J = _residuals(up, field, rotation, vertical)
    noise = float(e @ e) / max(len(e) - 4, 1)
    normal = J.T @ J
    about = normal[:3, :3] - np.outer(normal[:3, 3], normal[3, :3]) / normal[3, 3]
    values, axes = np.linalg.eigh(about / (J[:, :3] ** 2).sum())
    covariance = noise * np.asarray(np.linalg.pinv(normal)[:3, :3], np.float64)
    return ConstantDip(rotation, vertical, covariance, (axes, values), float(np.sqrt(noise)))


def _residuals(
    up: FloatArray, field: FloatArray, rotation: FloatArray, vertical: float
) -> tuple[FloatArray, FloatArray]:
    """Return residuals (K,) and their derivatives (K, 4)."""
    inside = up @ rotation  # up in magnetometer axes
    e = (inside * field).sum(axis=1) - vertical
    return e, np.column_stack([np.cross(field, inside), -np.ones(len(e))])


def heading_change(up: FloatArray, field: FloatArray, one: FloatArray, other: FloatArray) -> float:
    """Return the root mean square difference of the headings by two rotations [rad]."""
    a, b = field @ one.T, field @ other.T
    a, b = (v - up * (up * v).sum(axis=1, keepdims=True) for v in (a, b))
    angle = np.arctan2((np.cross(a, b) * up).sum(axis=1), (a * b).sum(axis=1))
    return float(np.sqrt(np.mean(angle**2)))

"""Rotation of a magnetometer for which the field is constant in the world.

Model of a calibrated reading ``y_k`` at the attitude ``R_k`` (world from body)::

    R(t_k - d) R_m (y_k - c) = (h sin p(t_k), h cos p(t_k), v) + noise

with the rotation ``R_m`` (body from magnetometer), a rest ``c`` of the bias, the delay ``d`` of the
magnetometer, the horizontal and vertical component ``h`` and ``v`` of the field, and the heading
drift ``p`` of the attitude, linear between knots. Attitude without a magnetometer drifts about
the vertical only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.magnetometer.surface import correlation_time
from strapdown.geometry import quaternion
from strapdown.geometry.rotations import skew

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

__all__ = ["ConstantField", "Poses", "fit_constant_field"]

KNOT_S: Final = 20.0  # between knots of the heading drift
DRIFT: Final = 0.05  # rad between knots, standard deviation before the recording
CUT: Final = 4.685  # Tukey's biweight, in robust standard deviations
MEDIAN: Final = 1.1266  # standard deviation over the median of the size of three of them
ROUNDS: Final = 40
SETTLED: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Poses:
    """Calibrated readings with attitudes.

    Parameters
    ----------
    t_s : (N,)
        From 0 [s].
    R_world_from_body : (N, 3, 3)
    rate : (N, 3)
        Angular velocity [rad/s, body].
    field : (N, 3)
        Calibrated readings, relative to their norm [magnetometer axes].
    """

    t_s: FloatArray
    R_world_from_body: FloatArray
    rate: FloatArray
    field: FloatArray

    def every(self, step: int) -> Poses:
        """Return every so many of the poses."""
        return Poses(
            self.t_s[::step], self.R_world_from_body[::step], self.rate[::step], self.field[::step]
        )


@dataclass(frozen=True, eq=False)
class ConstantField:
    """Fit of a constant field.

    Parameters
    ----------
    rotation : (3, 3)
        ``R_m``, body from magnetometer; a rotation, or one with a mirrored axis.
    offset : (3,)
        ``c`` [of the norm, magnetometer axes].
    delay_s : float
        ``d``.
    horizontal, vertical : float
        Components of the field [of its norm].
    drift : (K,)
        ``p`` at the knots [rad].
    covariance : (7, 7)
        Of ``R_m`` as a rotation vector in magnetometer axes [rad], of ``c`` and of ``d``.
    observed : (3, 3), (3,)
        Axes (columns, magnetometer axes) and mean information of a reading about a rotation
        around them: 0 where the recording does not determine it, at most 1.
    heading_error : float
        Root mean square of the heading of the field relative to the drift, without outliers
        [rad].
    scale : float
        Robust standard deviation of the noise [of the norm].
    outliers : int
        Readings with the weight 0.
    """

    rotation: FloatArray
    offset: FloatArray
    delay_s: float
    horizontal: float
    vertical: float
    drift: FloatArray
    covariance: FloatArray
    observed: tuple[FloatArray, FloatArray]
    heading_error: float
    scale: float
    outliers: int


FIELD: Final = 7  # parameters before those of the field: rotation, bias, delay


def fit_constant_field(
    poses: Poses, rotation: FloatArray, *, fixed_delay_s: float | None = None
) -> ConstantField:
    """Fit the model by Gauss and Newton's method with Tukey's biweight.

    Parameters
    ----------
    poses : Poses
    rotation : (3, 3)
        Start.
    fixed_delay_s : float, optional
        Keep the rotation, and no rest of the bias, at this delay: for the heading error that
        they leave.
    """
    basis = _hats(poses.t_s)
    zero = np.zeros(3)
    delay_s = fixed_delay_s or 0.0
    world = _world(poses, rotation, zero, delay_s)
    mean = basis.T @ world[:, :2]
    fit = ConstantField(
        rotation=rotation,
        offset=zero,
        delay_s=delay_s,
        horizontal=float(np.hypot(world[:, 0], world[:, 1]).mean()),
        vertical=float(world[:, 2].mean()),
        drift=np.unwrap(np.arctan2(mean[:, 0], mean[:, 1])),
        covariance=np.zeros((FIELD, FIELD)),
        observed=(np.eye(3), np.zeros(3)),
        heading_error=0.0,
        scale=0.0,
        outliers=0,
    )
    free = np.arange(0 if fixed_delay_s is None else FIELD, FIELD + 2 + len(fit.drift))
    for _ in range(ROUNDS):
        e, J, prior, prior_J = _residuals(poses, basis, fit)
        scale, size2 = _scale(e)
        weight = np.clip(1.0 - size2 / (CUT * scale) ** 2, 0.0, None) ** 2
        flat, w = J.reshape(-1, J.shape[2]), np.repeat(weight, 3) / scale**2
        normal = flat.T @ (w[:, None] * flat) + prior_J.T @ prior_J
        right = flat.T @ (w * e.ravel()) + prior_J.T @ prior
        step = np.zeros(J.shape[2])
        step[free] = -np.linalg.lstsq(normal[np.ix_(free, free)], right[free], rcond=None)[0]
        fit = _moved(fit, step)
        if np.abs(step).max() < SETTLED:
            break
    return _judged(poses, basis, fit)


def _hats(t_s: FloatArray) -> FloatArray:
    """Return the weights (N, K) of the knots: linear interpolation."""
    count = max(int(np.ceil(t_s[-1] / KNOT_S)), 1) + 1
    at = t_s / max(t_s[-1], 1e-9) * (count - 1)
    weights: FloatArray = np.clip(1.0 - np.abs(at[:, None] - np.arange(count)), 0.0, None)
    return weights


def _attitude(poses: Poses, delay_s: float) -> FloatArray:
    """Return the attitudes (N, 3, 3) a delay before the stamps."""
    back = quaternion.to_matrix(quaternion.from_rotation_vector(-delay_s * poses.rate))
    return poses.R_world_from_body @ back


def _world(poses: Poses, rotation: FloatArray, offset: FloatArray, delay_s: float) -> FloatArray:
    """Return the field (N, 3) in the world, at the attitudes a delay before the stamps."""
    field = (poses.field - offset) @ rotation.T
    world: FloatArray = (_attitude(poses, delay_s) @ field[:, :, None])[:, :, 0]
    return world


def _residuals(
    poses: Poses, basis: FloatArray, fit: ConstantField
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return residuals (N, 3) and derivatives (N, 3, P), and those of the drift's prior."""
    p = basis @ fit.drift
    sine, cosine = np.sin(p), np.cos(p)
    y = poses.field - fit.offset
    R_body = _attitude(poses, fit.delay_s)
    R = R_body @ fit.rotation
    constant = [fit.horizontal * sine, fit.horizontal * cosine, np.full(len(p), fit.vertical)]
    e = (R @ y[:, :, None])[:, :, 0] - np.column_stack(constant)
    J = np.zeros((len(p), 3, FIELD + 2 + basis.shape[1]))
    J[:, :, :3] = -R @ skew(y)
    J[:, :, 3:6] = -R
    J[:, :, 6] = -(R_body @ np.cross(poses.rate, y @ fit.rotation.T)[:, :, None])[:, :, 0]
    J[:, 0, FIELD], J[:, 1, FIELD] = -sine, -cosine
    J[:, 2, FIELD + 1] = -1.0
    J[:, 0, FIELD + 2 :] = -(fit.horizontal * cosine)[:, None] * basis
    J[:, 1, FIELD + 2 :] = (fit.horizontal * sine)[:, None] * basis
    steps = np.diff(np.eye(basis.shape[1]), axis=0) / DRIFT
    prior_J = np.hstack([np.zeros((len(steps), FIELD + 2)), steps])
    return e, J, steps @ fit.drift, prior_J


def _moved(fit: ConstantField, step: FloatArray) -> ConstantField:
    turn = quaternion.to_matrix(quaternion.from_rotation_vector(step[:3]))
    return replace(
        fit,
        rotation=fit.rotation @ turn,
        offset=fit.offset + step[3:6],
        delay_s=fit.delay_s + float(step[6]),
        horizontal=fit.horizontal + float(step[FIELD]),
        vertical=fit.vertical + float(step[FIELD + 1]),
        drift=fit.drift + step[FIELD + 2 :],
    )


def _judged(poses: Poses, basis: FloatArray, fit: ConstantField) -> ConstantField:
    """Return the fit with its covariance, what it observes, and its heading error."""
    e, J, _, prior_J = _residuals(poses, basis, fit)
    scale, size2 = _scale(e)
    inside = size2 < (CUT * scale) ** 2
    count = int(inside.sum())
    flat = J[inside].reshape(-1, J.shape[2])
    normal = flat.T @ flat + scale**2 * prior_J.T @ prior_J
    noise = float((e[inside] ** 2).sum() / max(3 * count - len(normal), 1))
    limited = np.clip(e, -CUT * scale, CUT * scale)
    noise *= max(correlation_time(column) for column in limited.T)
    rest = np.arange(3, len(normal))
    mixed = normal[:3, 3:]
    known = np.linalg.lstsq(normal[np.ix_(rest, rest)], mixed.T, rcond=None)[0]
    values, axes = np.linalg.eigh((normal[:3, :3] - mixed @ known) / max(count, 1))
    world = _world(poses, fit.rotation, fit.offset, fit.delay_s)[inside]
    heading = np.arctan2(world[:, 0], world[:, 1]) - (basis @ fit.drift)[inside]
    heading = np.angle(np.exp(1j * heading))
    return replace(
        fit,
        covariance=noise * np.asarray(np.linalg.pinv(normal)[:FIELD, :FIELD], np.float64),
        observed=(axes, values),
        heading_error=float(np.sqrt(np.mean(heading**2))),
        scale=scale,
        outliers=len(e) - count,
    )


def _scale(e: FloatArray) -> tuple[float, FloatArray]:
    """Return the robust standard deviation of residuals (N, 3), and their mean squares (N,)."""
    size2: FloatArray = (e * e).sum(axis=1) / 3.0
    return max(MEDIAN * float(np.sqrt(np.median(size2))), 1e-12), size2

"""Accelerometer from poses: nine parameters that make the specific force at rest gravity.

``f = A (s - b)`` with an upper triangular A, so that the x axis of the sensor is the x axis of the
body and its y axis is in the x-y plane. The residual of a pose is ``|f| - g``.

References
----------
D. Tedaldi, A. Pretto, E. Menegatti, ICRA 2014, section III.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.poses.fit import Fit, fit_robustly, unobserved
from strapdown.calibration.triad import TriadCalibration

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray

__all__ = ["UPPER", "ForceFit", "fit_force", "force_start"]

ROBUST: Final = 0.01
"""Residual from which a pose counts less [m/s^2]."""
NEAR_SI: Final = 0.3
"""Part of gravity within which the readings at rest count as m/s^2."""
UPPER: Final = np.array([0, 1, 2, 4, 5, 8])
"""Elements of a matrix, row by row, on and above the diagonal."""
_PRIOR: Final = np.concatenate([np.full(3, 2.0), np.full(6, 0.2)])  # of bias [m/s^2] and matrix
_NAMES: Final = (
    "accelerometer bias x", "accelerometer bias y", "accelerometer bias z",
    "accelerometer scale x", "accelerometer misalignment xy", "accelerometer misalignment xz",
    "accelerometer scale y", "accelerometer misalignment yz", "accelerometer scale z",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class ForceFit:
    """Calibration of an accelerometer, and its quality.

    Parameters
    ----------
    triad : TriadCalibration
        With covariance.
    residuals : (M,)
        ``|f| - g`` of every pose [m/s^2].
    sensitivity : (12, M, 3)
        Change of bias and matrix per change of the mean readings of the poses.
    used : (M,) bool
        Poses that are no outliers.
    excess : float
        Noise of ``|f|`` beyond that of the samples [m/s^2].
    condition : float
        Condition number.
    not_observable : tuple of str
        Parameters that the poses do not determine.
    """

    triad: TriadCalibration
    residuals: FloatArray
    sensitivity: FloatArray
    used: BoolArray
    excess: float
    condition: float
    not_observable: tuple[str, ...]


def force_start(readings: FloatArray, gravity: float) -> tuple[FloatArray, FloatArray]:
    """Return matrix and bias to start from: SI units where the readings look like them.

    Otherwise those of an ellipsoid whose axes are those of the sensor, or of a sphere.

    Returns
    -------
    (3, 3)
        Diagonal [m/s^2 per unit of the readings].
    (3,)
        [unit of the readings].
    """
    size = float(np.median(np.linalg.norm(readings, axis=1)))
    if abs(size - gravity) < NEAR_SI * gravity:
        return np.eye(3), np.zeros(3)
    middle = 0.5 * (readings.max(axis=0) + readings.min(axis=0))
    reach = float(np.max(np.ptp(readings, axis=0))) / 2.0
    s = (readings - middle) / (reach or 1.0)
    one = np.ones(len(s))
    p, q = np.split(np.linalg.lstsq(np.hstack([s**2, s]), one, rcond=None)[0], 2)
    if len(s) < 9 or not np.all(p > 0.05 * p.max()):  # not an ellipsoid: a sphere
        p = np.ones(3)
        *q, c = np.linalg.lstsq(np.column_stack([s, one]), -np.sum(s**2, axis=1), rcond=None)[0]
        q, level = np.asarray(q), -c
    else:
        level = 1.0
    centre = -q / (2.0 * p)
    radius = np.sqrt((level + np.sum(p * centre**2)) / p)
    return np.diag(gravity / (radius * reach)), middle + centre * reach


def fit_force(readings: FloatArray, noise: FloatArray, gravity: float) -> ForceFit:
    """Fit nine parameters to the mean readings at rest in many attitudes.

    Parameters
    ----------
    readings : (M, 3)
        Mean of each pose [unit of the sensor].
    noise : (M, 3, 3)
        Covariance of each mean.
    gravity : float
        [m/s^2].
    """
    A0, b0 = force_start(readings, gravity)
    s = (readings - b0) @ A0.T  # near m/s^2
    unit = s / np.maximum(np.linalg.norm(s, axis=1, keepdims=True), 1e-30)
    sigma = np.sqrt(np.einsum("ki,kij,kj->k", unit, A0 @ noise @ A0.T, unit))

    def model(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        A = _upper(x[3:])
        away = s - x[:3]
        f = away @ A.T
        size = np.linalg.norm(f, axis=1, keepdims=True)
        u = f / np.maximum(size, 1e-30)
        by_matrix = (u[:, :, None] * away[:, None, :]).reshape(len(s), 9)[:, UPPER]
        return size - gravity, np.hstack([-(u @ A), by_matrix])[:, None, :]

    start = np.concatenate([np.zeros(3), np.eye(3).ravel()[UPPER]])
    fit = fit_robustly(model, start, sigma, prior=_PRIOR, robust=ROBUST, informative=1)
    return _in_units(fit, s, sigma, A0, b0)


def _upper(elements: FloatArray) -> FloatArray:
    matrix = np.zeros(9)
    matrix[UPPER] = elements
    return matrix.reshape(3, 3)


def _in_units(
    fit: Fit, s: FloatArray, sigma: FloatArray, A0: FloatArray, b0: FloatArray
) -> ForceFit:
    """Return a fit to scaled readings in the units of the readings."""
    x = fit.parameters
    A = _upper(x[3:])
    f = (s - x[:3]) @ A.T
    u = f / np.linalg.norm(f, axis=1, keepdims=True)
    # The residual changes by u^T A A0 per change of a reading.
    by_reading = fit.gain * (u @ A @ A0)[None]
    whole = np.zeros((12, 9))
    whole[:3, :3] = np.linalg.inv(A0)
    whole[3 + UPPER, 3 + np.arange(6)] = np.diag(A0)[UPPER % 3]
    triad = TriadCalibration(
        matrix=A @ A0,
        bias=b0 + whole[:3, :3] @ x[:3],
        covariance=whole @ fit.covariance @ whole.T,
    )
    excess = float(np.sqrt(np.median(np.maximum(fit.sigma**2 - sigma**2, 0.0))))
    return ForceFit(
        triad, fit.residuals[:, 0], np.tensordot(whole, by_reading, 1), fit.used, excess,
        fit.condition, unobserved(fit, _PRIOR, _NAMES),
    )  # fmt: skip

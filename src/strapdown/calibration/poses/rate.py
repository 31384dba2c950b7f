"""Gyro from poses: bias at rest, and the matrix that turns gravity from pose to pose.

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
from strapdown.geometry.rotations import skew
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.calibration.poses.force import ForceFit
    from strapdown.calibration.poses.stills import Stills
    from strapdown.calibration.poses.turns import Turns
    from strapdown.series import ImuSeries

__all__ = ["BiasFit", "Directions", "RateFit", "directions", "fit_bias", "fit_rate", "rate_start"]

ROBUST: Final = 0.01
"""Error of direction from which a turn counts less [rad]."""
NEAR_SI: Final = (0.7, 1.4)
"""Scales within which the readings count as rad/s."""
_STEEP: Final = 5.0  # standard deviations of the slope of a bias that drifts
_PRIOR: Final = 0.2  # of an element of the matrix, in scales
_COARSE: Final = 4  # steps that are summed to try scales
_STEPS: Final = 1.04  # ratio of the scales that are tried
_TOGETHER: Final = 100_000  # numbers of steps for which scales are tried together, in 10 MB
_AXES: Final = "xyz"
_NAMES: Final = tuple(
    f"gyro scale {a}" if a == b else f"gyro misalignment {a}{b}" for a in _AXES for b in _AXES
)


@dataclass(frozen=True, eq=False)
class BiasFit:
    """Bias of a gyro from its readings at rest, in units of the readings.

    Parameters
    ----------
    bias : (3,)
        Over the session.
    covariance : (3, 3)
        With the drift.
    g_sensitivity : (3, 3)
        K_ga [unit of the gyro / (m/s^2)].
    drift : (M, 3)
        Departure of the still intervals; zeros where it is no more than their noise.
    changes : float
        Standard deviation of the drift.
    """

    bias: FloatArray
    covariance: FloatArray
    g_sensitivity: FloatArray
    drift: FloatArray
    changes: float

    def remove(self, series: ImuSeries, stills: Stills, force: FloatArray) -> FloatArray:
        """Return the readings (N, 3) of the gyro without bias, drift and sensitivity to force."""
        rate = series.angular_velocity - self.bias - force @ self.g_sensitivity.T
        if self.changes:
            at = stills.centre_ns(series)
            rate -= np.column_stack([np.interp(series.t_ns, at, d) for d in self.drift.T])
        return np.asarray(rate)


def fit_bias(
    stills: Stills, force: FloatArray, at_s: FloatArray, *, g_sensitivity: bool
) -> BiasFit:
    """Fit bias, and sensitivity to specific force, to the means of the gyro at rest.

    Parameters
    ----------
    stills : Stills
        M intervals; those in which the sensor turned are outliers.
    force : (M, 3)
        Specific force in them [m/s^2].
    at_s : (M,)
        Their times [s].
    g_sensitivity : bool
        Whether to fit K_ga.
    """
    middle = np.median(stills.rate, axis=0)
    noise = np.sqrt(np.trace(stills.rate_noise, axis1=1, axis2=2) / 3.0)
    away = np.linalg.norm(stills.rate - middle, axis=1) / np.sqrt(3.0)
    unit = max(float(np.median(away)), float(np.median(noise)), 1e-9 * float(np.abs(middle).max()))
    unit = unit or 1.0
    values = (stills.rate - middle) / unit
    per_axis = np.einsum("ij,kl->kijl", np.eye(3), force).reshape(len(force), 3, 9)
    jacobian = np.concatenate([np.broadcast_to(np.eye(3), (len(force), 3, 3)), per_axis], axis=2)

    def model(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return jacobian @ x - values, jacobian

    prior = np.concatenate([np.full(3, 1e4), np.full(9, 1e3 if g_sensitivity else 0.0)])
    fit = fit_robustly(model, np.zeros(12), noise / unit, prior=prior, robust=10.0, informative=3)
    drift = _drift(fit, noise / unit, at_s) * unit
    changes = float(np.sqrt(np.mean(drift**2)))
    covariance = fit.covariance[:3, :3] * unit**2 + changes**2 * np.eye(3)
    return BiasFit(
        middle + unit * fit.parameters[:3], covariance,
        unit * fit.parameters[3:].reshape(3, 3), drift, changes,
    )  # fmt: skip


def _drift(fit: Fit, noise: FloatArray, at_s: FloatArray) -> FloatArray:
    """Return the drift (M, 3) of a bias: its departures, a straight line, or none.

    Departures count where they exceed the noise of the means, a line where its slope does.
    """
    left = -fit.residuals
    excess = np.sqrt(np.median(np.maximum(fit.sigma**2 - noise**2, 0.0)))
    if excess > np.median(noise):
        return np.asarray(np.where(fit.used[:, None], left, 0.0))
    weight = np.where(fit.used, 1.0 / fit.sigma**2, 0.0)
    since = at_s - np.average(at_s, weights=weight)
    information = np.sum(weight * since**2)
    slope = (weight * since) @ left / max(information, 1e-300)
    steep = np.abs(slope) * np.sqrt(information) > _STEEP
    return np.asarray(np.outer(since, np.where(steep, slope, 0.0)))


@dataclass(frozen=True, eq=False)
class Directions:
    """Direction of gravity in still intervals, and its errors.

    Parameters
    ----------
    up : (M, 3)
        Unit vectors of the specific force [body].
    by_reading : (M, 3, M, 3)
        Change of a direction per change of the mean readings of an interval, with the change of
        the calibration of the accelerometer.
    noise : (M, 3, 3)
        Covariance of the readings.
    """

    up: FloatArray
    by_reading: FloatArray
    noise: FloatArray

    @property
    def sigma(self) -> FloatArray:
        """Noise of one component of each direction (M,), without that of the calibration."""
        count = np.arange(len(self.up))
        direct = self.by_reading[count, :, count, :]
        whole = direct @ self.noise @ np.swapaxes(direct, 1, 2)
        return np.asarray(np.sqrt(np.trace(whole, axis1=1, axis2=2) / 2.0))


def directions(fit: ForceFit, stills: Stills) -> Directions:
    """Return the directions of gravity that a calibrated accelerometer shows."""
    A, away = fit.triad.matrix, stills.force - fit.triad.bias
    f = away @ A.T
    size = np.linalg.norm(f, axis=1)[:, None, None]
    up = f / size[:, 0]
    across = (np.eye(3) - up[:, :, None] * up[:, None, :]) / size
    by_parameter = np.concatenate(
        [
            np.broadcast_to(-A, (len(f), 3, 3)),
            np.einsum("ij,kl->kijl", np.eye(3), away).reshape(len(f), 3, 9),
        ],
        axis=2,
    )
    by_reading = np.einsum("kip,pjl->kijl", across @ by_parameter, fit.sensitivity)
    count = np.arange(len(f))
    by_reading[count, :, count, :] += across @ A
    inverse = fit.triad.inverse_matrix
    noise = stills.force_noise + fit.excess**2 * (inverse @ inverse.T)
    return Directions(up, by_reading, noise)


@dataclass(frozen=True, eq=False)
class RateFit:
    """Calibration of a gyro, and its quality.

    Parameters
    ----------
    triad : TriadCalibration
        With covariance.
    errors : (T,)
        Angle between the turned and the measured direction after each turn [rad].
    used : (T,) bool
        Turns that are no outliers.
    condition : float
        Condition number.
    not_observable : tuple of str
        Parameters that the turns do not determine.
    """

    triad: TriadCalibration
    errors: FloatArray
    used: BoolArray
    condition: float
    not_observable: tuple[str, ...]


def rate_start(turns: Turns, up: FloatArray) -> float:
    """Return the scale [rad per unit of the integrals] that turns gravity best; 1 where SI fits.

    A turn has at least the angle between its two directions, so its length in readings bounds the
    scale from below. A negative scale is that of reversed axes.
    """
    net = np.arctan2(
        np.linalg.norm(np.cross(up[turns.before], up[turns.after]), axis=1),
        np.sum(up[turns.before] * up[turns.after], axis=1),
    )
    length = np.linalg.norm(turns.angle, axis=2).sum(axis=1)
    least = float(np.median(net / np.maximum(length, 1e-300)))
    tried = 0.6 * least * _STEPS ** np.arange(round(np.log(20.0) / np.log(_STEPS)))
    tried = np.concatenate([tried, -tried])

    coarse = turns.summed(_COARSE)
    parts = np.array_split(tried, 1 + tried.size * coarse.angle.size // _TOGETHER)
    errors = [_errors(coarse, up, part[:, None, None] * np.eye(3)) for part in parts]
    best = float(tried[np.argmin(np.median(np.concatenate(errors), axis=1))])
    return 1.0 if NEAR_SI[0] < best < NEAR_SI[1] else best


def _errors(turns: Turns, up: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the angles (..., T) between directions as turned and as measured."""
    turned = _turned(turns.rotation(matrix), up[turns.before])
    away = np.linalg.norm(turned - up[turns.after], axis=-1)
    return np.asarray(2.0 * np.arcsin(np.minimum(away / 2.0, 1.0)))


def _turned(rotation: FloatArray, up: FloatArray) -> FloatArray:
    """Return ``R^T u``."""
    return np.asarray(np.einsum("...tji,tj->...ti", rotation, up))


def fit_rate(
    turns: Turns, toward: Directions, bias: BiasFit, noise_density: float, scale: float
) -> RateFit:
    """Fit the nine elements of the matrix to turns between known directions.

    Parameters
    ----------
    turns : Turns
        T turns.
    toward : Directions
        Of gravity, in the still intervals.
    bias : BiasFit
        That was removed before.
    noise_density : float
        White noise of the readings [unit sqrt(s)].
    scale : float
        Start [rad/s per unit of the readings].
    """
    up = toward.up
    drift = bias.covariance.trace() / 3.0 * turns.duration_s**2
    angle_noise = scale**2 * (noise_density**2 * turns.duration_s + drift)
    tilt = toward.sigma**2
    sigma = np.sqrt(angle_noise + tilt[turns.before] + tilt[turns.after])

    def model(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        R, J = turns.rotation_and_jacobian(scale * x.reshape(3, 3))
        turned = _turned(R, up[turns.before])
        return turned - up[turns.after], scale * skew(turned) @ J

    prior = np.full(9, _PRIOR)
    fit = fit_robustly(model, np.eye(3).ravel(), sigma, prior=prior, robust=ROBUST, informative=2)
    matrix = scale * fit.parameters.reshape(3, 3)
    whole = np.zeros((12, 12))
    whole[:3, :3] = bias.covariance
    # The model's excess is noise of the turns: that of the directions is in their readings.
    of_turns = angle_noise + np.maximum(fit.sigma**2 - sigma**2, 0.0)
    whole[3:, 3:] = scale**2 * _covariance(fit, turns, toward, matrix, of_turns)
    return RateFit(
        TriadCalibration(matrix=matrix, bias=bias.bias, covariance=whole),
        2.0 * np.arcsin(np.minimum(np.linalg.norm(fit.residuals, axis=1) / 2.0, 1.0)),
        fit.used, fit.condition, unobserved(fit, prior, _NAMES),
    )  # fmt: skip


def _covariance(
    fit: Fit, turns: Turns, toward: Directions, matrix: FloatArray, of_turns: FloatArray
) -> FloatArray:
    """Return the covariance (9, 9) with errors of directions, which turns share."""
    R = turns.rotation(matrix)
    before = np.einsum("tji,tjml->timl", R, toward.by_reading[turns.before])
    by_reading = before - toward.by_reading[turns.after]
    change = np.einsum("pti,timl->pml", fit.gain, by_reading)
    shared = np.einsum("pml,mlk,qmk->pq", change, toward.noise, change)
    own = np.einsum("pti,t,qti->pq", fit.gain, of_turns, fit.gain)
    total = shared + own
    # Where the prior decides, the sandwich knows no uncertainty: keep the larger of both.
    values, vectors = np.linalg.eigh(fit.covariance)
    by_prior = values > _PRIOR**2 / 4.0
    return np.asarray(total + (vectors[:, by_prior] * values[by_prior]) @ vectors[:, by_prior].T)


def left_out_errors(
    turns: Turns, toward: Directions, bias: BiasFit, noise_density: float, scale: float
) -> FloatArray:
    """Return the error (T,) of every turn with the matrix of every second other one [rad]."""
    errors = np.full(len(turns), np.nan)
    odd = np.arange(len(turns)) % 2 == 1
    for fitted in (odd, ~odd):
        if fitted.sum() >= 6:
            half = fit_rate(turns[fitted], toward, bias, noise_density, scale)
            errors[~fitted] = _errors(turns[~fitted], toward.up, half.triad.matrix)
    return errors


def noise_density(series: ImuSeries, stills: Stills) -> float:
    """Return the white noise of the gyro [unit of the readings sqrt(s)]."""
    interval_s = float(np.median(np.diff(series.t_ns))) / NS_PER_S
    count = (stills.stop - stills.start)[:, None, None]
    return float(np.sqrt(np.trace((stills.rate_noise * count)[0]) / 3.0 * interval_s))

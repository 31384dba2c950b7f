"""Calibration of a gyro on a rate table, from known rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown.calibration.imu import ImuCalibration, Provenance
from strapdown.calibration.poses.fit import excess_noise, minimise, unobserved
from strapdown.calibration.poses.result import rms, unit_of_gyro
from strapdown.calibration.poses.stills import Stills, session
from strapdown.calibration.triad import TriadCalibration
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry.wgs84 import EARTH_RATE
from strapdown.units import NS_PER_S, RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import ArrayLike, FloatArray, IntArray
    from strapdown.calibration.poses.fit import Fit
    from strapdown.series import ImuSeries

__all__ = ["RateStep", "RateTableCalibration", "rate_table"]

_FEWEST: Final = 4
_POOR: Final = 0.1 * RAD_PER_DEG  # residual that is no noise of a gyro [rad/s]
_AXES: Final = "xyz"


@dataclass(frozen=True)
class RateStep:
    """A time at one rate.

    Parameters
    ----------
    start_s, stop_s : float
        Since the first sample of the series [s]; without the ramps.
    rate : (3,)
        Angular velocity of the table [rad/s, body].
    """

    start_s: float
    stop_s: float
    rate: ArrayLike


@dataclass(frozen=True, eq=False, kw_only=True)
class RateTableCalibration:
    """Calibration of a gyro from known rates.

    Parameters
    ----------
    calibration : ImuCalibration
        Of the gyro; the accelerometer is unchanged.
    warnings : tuple of str
        Findings, each with the next step.
    rate : (S, 3)
        True rate of each step, with that of the Earth if it was asked for [rad/s, body].
    error : (S, 3)
        Calibrated minus true rate [rad/s].
    condition : float
        Condition number.
    not_observable : tuple of str
        Parameters that the steps do not determine, which kept their start values.
    """

    calibration: ImuCalibration
    warnings: tuple[str, ...]
    rate: FloatArray
    error: FloatArray
    condition: float
    not_observable: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the report for people."""
        gyro = self.calibration.gyro
        return [
            f"gyro from {len(self.rate)} rates: to {rms(self.error) / RAD_PER_DEG:.4f} deg/s",
            f"  bias {_listed(gyro.bias / RAD_PER_DEG, gyro.sigma_bias / RAD_PER_DEG)} deg/s",
            f"  scale {_listed(np.diag(gyro.matrix), np.diag(gyro.sigma_matrix))}",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        gyro = self.calibration.gyro
        return {
            "steps": len(self.rate),
            "error_rad_s": self.error.tolist(),
            "condition": self.condition,
            "not_observable": list(self.not_observable),
            "gyro": {
                "matrix": gyro.matrix.tolist(),
                "bias": gyro.bias.tolist(),
                "sigma_matrix": gyro.sigma_matrix.tolist(),
                "sigma_bias": gyro.sigma_bias.tolist(),
                "g_sensitivity": self.calibration.g_sensitivity.tolist(),
            },
        }


def _listed(values: FloatArray, sigmas: FloatArray) -> str:
    return ", ".join(f"{v:.5g} +- {s:.2g}" for v, s in zip(values, sigmas, strict=True))


def rate_table(
    series: ImuSeries,
    steps: Sequence[RateStep],
    *,
    g_sensitivity: bool = False,
    latitude: float | None = None,
) -> RateTableCalibration:
    """Calibrate a gyro from known rates, by least squares.

    ``s = M w + b + K f``: readings s at the rate w and the specific force f, as the accelerometer
    of the series gives it. Turn about each axis, in both directions, and for K with the axis
    up and down.

    Parameters
    ----------
    series : ImuSeries
        Recording of N samples.
    steps : sequence of RateStep
        Known rates.
    g_sensitivity : bool, optional
        Fit K too.
    latitude : float, optional
        Add the vertical part of the Earth's rate [rad]; its horizontal part has no mean over
        whole turns of a level table.

    Returns
    -------
    RateTableCalibration

    Raises
    ------
    ValueRangeError
        There are fewer than 4 steps, or one has no samples.
    ShapeError
        A rate is no vector of three.
    """
    if len(steps) < _FEWEST:
        raise ValueRangeError(
            f"expected {_FEWEST} rates or more, both ways about each axis, got {len(steps)}"
        )
    series, _ = session(series, "calibrate on a rate table")
    stills = Stills.of(series, *_rows(series, steps))
    w = np.array([as_finite(step.rate, "rate", (3,)) for step in steps])
    if w.shape != (len(steps), 3):
        raise ShapeError(f"expected rates of shape (3,), got {w.shape[1:]}")
    length = np.linalg.norm(stills.force, axis=1, keepdims=True)
    if latitude is not None:
        w = w + EARTH_RATE * math.sin(latitude) * stills.force / length
    fit, unit, lacking = _fit(stills, w, g_sensitivity=g_sensitivity)
    M = unit * fit.parameters[3:12].reshape(3, 3)
    A = np.asarray(np.linalg.inv(M), np.float64)
    whole = np.zeros((12, 12))
    whole[:3, :3] = unit**2 * fit.covariance[:3, :3]
    change = np.kron(A, A.T)
    whole[3:, 3:] = unit**2 * change @ fit.covariance[3:12, 3:12] @ change.T
    unit_in, line = unit_of_gyro(A)
    warnings = [] if line is None else [line]
    error = -unit * fit.residuals @ A.T
    if rms(error) > _POOR:
        warnings.append(
            f"rates differ by {rms(error) / RAD_PER_DEG:.2f} deg/s from those of the table: check "
            "the times and signs of the steps, and leave out the ramps"
        )
    if lacking:
        warnings.append(
            f"not observable: {', '.join(lacking)}; they kept their nominal values: add rates both "
            "ways about every axis, and for the sensitivity to force with the axis up and down"
        )
    provenance = Provenance(
        method="rate_table", residuals={"rate_rad_s": rms(error)}, notes=tuple(warnings)
    )
    calibration = ImuCalibration(
        gyro=TriadCalibration(
            matrix=A, bias=unit * fit.parameters[:3], covariance=whole, unit_in=unit_in
        ),
        g_sensitivity=unit * fit.parameters[12:].reshape(3, 3),
        body=series.body,
        provenance=provenance,
    )
    return RateTableCalibration(
        calibration=calibration, warnings=tuple(warnings), rate=w, error=error,
        condition=fit.condition, not_observable=lacking,
    )  # fmt: skip


def _rows(series: ImuSeries, steps: Sequence[RateStep]) -> tuple[IntArray, IntArray]:
    """Return the rows of the steps."""
    edges = np.array([[step.start_s, step.stop_s] for step in steps]) * NS_PER_S
    start, stop = np.searchsorted(series.t_ns, (series.t_ns[0] + edges.astype(np.int64)).T)
    empty = np.flatnonzero(stop - start < 2)
    if len(empty):
        step = steps[int(empty[0])]
        raise ValueRangeError(
            f"expected samples from {step.start_s:g} s to {step.stop_s:g} s, got none; the series "
            f"has {series.duration_s:g} s"
        )
    return start, stop


def _fit(
    stills: Stills, w: FloatArray, *, g_sensitivity: bool
) -> tuple[Fit, float, tuple[str, ...]]:
    """Return the fit of readings in a unit near rad/s, the unit, and what is not observable."""
    centred = stills.rate - stills.rate.mean(axis=0)
    spread = float(np.linalg.norm(w - w.mean(axis=0)))
    unit = float(np.linalg.norm(centred)) / max(spread, 1e-12) or 1.0
    values = stills.rate / unit
    rows = np.einsum("ij,kl->kijl", np.eye(3), w).reshape(len(w), 3, 9)
    by_force = np.einsum("ij,kl->kijl", np.eye(3), stills.force).reshape(len(w), 3, 9)
    one = np.broadcast_to(np.eye(3), (len(w), 3, 3))
    jacobian = np.concatenate([one, rows, by_force], axis=2)

    def model(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return jacobian @ x - values, jacobian

    scale = 10.0 * max(float(np.abs(w).max()), 1e-3)
    start = np.concatenate([values.mean(axis=0), np.eye(3).ravel(), np.zeros(9)])
    sensitivity = 0.01 / STANDARD_GRAVITY if g_sensitivity else 0.0
    prior = np.concatenate([np.full(3, scale), np.full(9, 0.3), np.full(9, sensitivity)])
    names = [
        *[f"gyro bias {a}" for a in _AXES],
        *[f"gyro scale {a}" if a == b else f"gyro misalignment {a}{b}" for a in _AXES
          for b in _AXES],
        *[f"sensitivity of {a} to force along {b}" for a in _AXES for b in _AXES],
    ]  # fmt: skip
    noise = np.sqrt(np.trace(stills.rate_noise, axis1=1, axis2=2) / 3.0) / unit
    sigma = np.maximum(noise, 1e-9)
    fit = minimise(model, start, sigma, prior=prior)
    lacking = unobserved(fit, prior, names)
    excess = excess_noise(
        fit.residuals, sigma, 3 * len(w) - (int(np.sum(prior > 0.0)) - len(lacking))
    )
    return minimise(model, start, np.hypot(sigma, excess), prior=prior), unit, lacking

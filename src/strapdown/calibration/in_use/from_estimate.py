"""Calibration from what a smoother learns about the sensor in motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import require_type
from strapdown.calibration.imu import ImuCalibration, Provenance
from strapdown.calibration.triad import TriadCalibration, bias_covariance
from strapdown.errors import ValueRangeError
from strapdown.estimation import SelfCalibration, SmootherParams

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray

__all__ = ["calibration_from_estimate"]


def calibration_from_estimate(
    estimate: SelfCalibration, *, priors: SmootherParams | None = None
) -> ImuCalibration:
    """Return the calibration of the elements that a recording determines.

    An element is accepted if its standard deviation is below half of its prior. Any other keeps the
    value of an ideal sensor, with the standard deviation of the prior. The gyro bias is the mean
    over the recording, weighted by its inverse variance; its variance is that of the estimate,
    whose errors are common to all times, plus its change over the recording. The covariance has no
    correlations except those of ``bias = matrix^-1 b``. The hard iron of the magnetometer is
    taken as it is.

    Parameters
    ----------
    estimate : SelfCalibration
        ``result.self_calibration`` of a smoother, in any body axes.
    priors : SmootherParams, optional
        Parameters of the smoother; by default its defaults.

    Returns
    -------
    ImuCalibration
        In the axes of the estimate. ``provenance.notes`` names the elements that are not accepted,
        and ``provenance.residuals`` the change of the gyro bias.

    Raises
    ------
    TypeError
        The estimate is of another type, such as None of a filter that estimates no calibration.
    ValueRangeError
        The recording gives no estimate of the gyro bias.

    Examples
    --------
    >>> from strapdown.estimation import SelfCalibration
    >>> estimate = SelfCalibration(
    ...     t_ns=np.array([0, 1]), gyro_bias=np.full((2, 3), 0.01),
    ...     gyro_bias_sigma=np.full((2, 3), 1e-4), accel_bias=np.full(3, 0.02),
    ...     accel_bias_sigma=np.array([0.01, 0.01, 0.04]), gyro_matrix=np.zeros((3, 3)),
    ...     gyro_matrix_sigma=np.full((3, 3), 0.006), gyro_matrix_prior=0.006,
    ... )  # fmt: skip
    >>> calibration_from_estimate(estimate).accel.bias.tolist()
    [0.02, 0.02, 0.0]
    """
    require_type(
        estimate, (SelfCalibration,), "estimate", "pass result.self_calibration of a smoother"
    )
    priors = SmootherParams() if priors is None else priors
    b, b_sigma, change = _mean_bias(estimate)
    b_known = b_sigma < 0.5 * priors.bias_prior
    a_known = estimate.accel_bias_sigma < 0.5 * priors.accel_prior
    m_known = estimate.is_observed
    b = np.where(b_known, b, 0.0)
    M = np.where(m_known, estimate.gyro_matrix, 0.0)
    gyro = _gyro(
        b,
        np.where(b_known, b_sigma, priors.bias_prior),
        M,
        np.where(m_known, estimate.gyro_matrix_sigma, estimate.gyro_matrix_prior),
    )
    a_sigma = np.where(a_known, estimate.accel_bias_sigma, priors.accel_prior)
    accel = TriadCalibration(
        bias=np.where(a_known, estimate.accel_bias, 0.0), covariance=bias_covariance(a_sigma)
    )
    return ImuCalibration(
        gyro=gyro,
        accel=accel,
        magnetometer=_magnetometer(estimate),
        body=estimate.body,
        provenance=Provenance(
            method="estimate in motion",
            residuals={"gyro_bias_change_rad_s": float(change.max())},
            notes=_notes(b_known, a_known, m_known),
        ),
    )


def _mean_bias(estimate: SelfCalibration) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean gyro bias, its standard deviation, and its change over the recording."""
    known = np.isfinite(estimate.gyro_bias).all(axis=1) & np.isfinite(estimate.gyro_bias_sigma).all(
        axis=1
    )
    if not known.any():
        raise ValueRangeError("expected an estimate of the gyro bias, got none; smooth more data")
    biases, sigmas = estimate.gyro_bias[known], estimate.gyro_bias_sigma[known]
    weights = 1.0 / sigmas**2
    mean = (weights * biases).sum(axis=0) / weights.sum(axis=0)
    change2 = (weights * (biases - mean) ** 2).sum(axis=0) / weights.sum(axis=0)
    return mean, np.sqrt(1.0 / weights.mean(axis=0) + change2), np.sqrt(change2)


def _gyro(
    b: FloatArray, b_sigma: FloatArray, M: FloatArray, M_sigma: FloatArray
) -> TriadCalibration:
    """Return the gyro calibration of ``w = (I + M) s - b``, which is ``A (s - A^-1 b)``."""
    inverse = np.linalg.inv(np.eye(3) + M)
    bias = inverse @ b
    variances = np.concatenate([b_sigma, M_sigma.ravel()]) ** 2
    jacobian = np.eye(12)  # of (A^-1 b, A) by (b, A): d(A^-1 b) = A^-1 (db - dA A^-1 b)
    jacobian[:3, :3] = inverse
    jacobian[:3, 3:] = -np.kron(inverse, bias)
    return TriadCalibration(
        matrix=np.eye(3) + M, bias=bias, covariance=jacobian @ np.diag(variances) @ jacobian.T
    )


def _magnetometer(estimate: SelfCalibration) -> TriadCalibration | None:
    """Return the calibration by hard iron; None where it was not estimated."""
    iron, sigma = estimate.hard_iron, estimate.hard_iron_sigma
    if iron is None or sigma is None:
        return None
    return TriadCalibration(bias=iron, covariance=bias_covariance(sigma))


def _notes(bias: BoolArray, accel: BoolArray, matrix: BoolArray) -> tuple[str, ...]:
    """Return a note for each quantity with elements that are not accepted."""
    pairs = np.array([[f"{i}{k}" for k in "xyz"] for i in "xyz"])
    unknown = {
        "gyro bias": np.array(list("xyz"))[~bias],
        "accelerometer bias": np.array(list("xyz"))[~accel],
        "gyro scale": np.array(list("xyz"))[~np.diag(matrix)],
        "gyro misalignment": pairs[~matrix & ~np.eye(3, dtype=bool)],
    }
    return tuple(
        f"{name} not determined: {' '.join(elements)}; turn about more axes, faster or longer"
        for name, elements in unknown.items()
        if len(elements)
    )

"""Results of the calibration of a magnetometer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._words import counted
from strapdown.calibration.magnetometer.coverage import FACETS
from strapdown.units import MICROTESLA, RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.imu import ImuCalibration
    from strapdown.calibration.magnetometer.coverage import Coverage
    from strapdown.calibration.triad import TriadCalibration

__all__ = ["MagnetometerAlignment", "MagnetometerFit"]

KINDS: Final = {
    "hard": "hard iron",
    "diagonal": "hard iron and scales of the axes",
    "full": "hard and soft iron",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class MagnetometerFit:
    """Result of :func:`~strapdown.calibration.ellipsoid`.

    Parameters
    ----------
    calibration : ImuCalibration
        Its ``magnetometer`` gives ``m = A (s - b)``, with the covariance of b and A.
    kind : str
        ``hard``: b only; ``diagonal``: with a scale of each axis; ``full``: symmetric A.
    norm, norm_sigma : float
        Norm of the calibrated field and its standard deviation, 0 where it was given [T, or 1
        for readings in counts].
    unit : str
        Recognised unit of the readings: T, gauss, uT, nT or counts.
    coverage : Coverage
        Of the directions of the calibrated field in the sensor's axes.
    residual_percent, residual_before_percent : float
        Standard deviation of the norm after calibration, without outliers, and of the norm of
        the readings [% of the norm].
    samples : int
        Readings that were used; those below were not.
    outliers, disturbed, disturbed_intervals, repeated, invalid : int
        Readings with the weight 0; in intervals in which the field changed, and the number of
        these intervals; equal to the one before; not finite.
    warnings : tuple of str
        Findings, each with the next step.
    """

    calibration: ImuCalibration
    kind: str
    norm: float
    norm_sigma: float
    unit: str
    coverage: Coverage
    residual_percent: float
    residual_before_percent: float
    samples: int
    outliers: int
    disturbed: int
    disturbed_intervals: int
    repeated: int
    invalid: int
    warnings: tuple[str, ...]

    @property
    def triad(self) -> TriadCalibration:
        """Calibration of the magnetometer alone."""
        assert self.calibration.magnetometer is not None  # noqa: S101 (always set)
        return self.calibration.magnetometer

    def figures(self) -> dict[str, float]:
        """Return the figures of quality for the provenance of the calibration."""
        return {
            "residual_percent": self.residual_percent,
            "residual_before_percent": self.residual_before_percent,
            "coverage": self.coverage.share,
            "empty_cone_deg": self.coverage.empty_cone_deg,
            "norm": self.norm,
        }

    def lines(self) -> list[str]:
        """Return a report for people."""
        triad, cover = self.triad, self.coverage
        size, unit = (MICROTESLA, "uT") if self.unit == "T" else (1.0, self.unit)
        bias = ", ".join(
            f"{b / size:.2f} ± {s / size:.2f}"
            for b, s in zip(triad.bias, triad.sigma_bias, strict=True)
        )
        relative = triad.matrix / np.cbrt(np.linalg.det(triad.matrix))
        rows = ["  ".join(f"{value:8.5f}" for value in row) for row in relative]
        covered = f"{round(cover.share * FACETS)} of {FACETS} facets"
        varies = f"{self.residual_percent:.2f} % (before: {self.residual_before_percent:.1f} %)"
        return [
            f"magnetometer: {KINDS[self.kind]} from {counted(self.samples, 'reading')}",
            f"bias: {bias} {unit}",
            *(f"{name:7} {row}" for name, row in zip(("matrix:", "", ""), rows, strict=True)),
            f"norm: {self._norm()}, varies by {varies}",
            f"coverage: {covered}, largest empty cone {cover.empty_cone_deg:.0f} deg",
            f"left out: {self._left_out()}",
        ]

    def _norm(self) -> str:
        if self.norm == 1.0:
            return "1"
        sigma = f" ± {self.norm_sigma / MICROTESLA:.2f}" if self.norm_sigma else ""
        return f"{self.norm / MICROTESLA:.2f}{sigma} uT"

    def _left_out(self) -> str:
        counts = {
            "outliers": self.outliers,
            f"in {counted(self.disturbed_intervals, 'disturbed interval')}": self.disturbed,
            "repeated": self.repeated,
            "not finite": self.invalid,
        }
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"

    def to_dict(self) -> dict[str, object]:
        """Return the values for JSON."""
        return {
            "kind": self.kind,
            "bias": self.triad.bias.tolist(),
            "bias_sigma": self.triad.sigma_bias.tolist(),
            "matrix": self.triad.matrix.tolist(),
            "matrix_sigma": self.triad.sigma_matrix.tolist(),
            "norm": self.norm,
            "norm_sigma": self.norm_sigma,
            "unit": self.unit,
            "coverage": self.coverage.share,
            "facets": self.coverage.counts.tolist(),
            "empty_cone_deg": self.coverage.empty_cone_deg,
            "residual_percent": self.residual_percent,
            "residual_before_percent": self.residual_before_percent,
            "samples": self.samples,
            "outliers": self.outliers,
            "disturbed": self.disturbed,
            "disturbed_intervals": self.disturbed_intervals,
            "repeated": self.repeated,
            "invalid": self.invalid,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class MagnetometerAlignment:
    """Result of :func:`~strapdown.calibration.align_magnetometer`.

    Parameters
    ----------
    calibration : ImuCalibration
        With the rotation, and with ``gyro`` the refined bias, in its ``magnetometer``.
    method : str
        ``gyro`` or ``poses``.
    rotation : (3, 3)
        Body from magnetometer, as calibrated before.
    rotation_sigma_deg : (3,)
        Standard deviation of the rotation about the axes of the magnetometer [deg].
    is_mirrored : bool
        Whether the axes of the magnetometer are left-handed, as one of the wrong sign makes them;
        the calibration corrects it. Only with ``hemisphere``.
    dip_deg : float
        Angle of the field below the horizontal [deg].
    heading_error_before_deg, heading_error_deg : float
        Root mean square error of the heading before and after the alignment [deg]: with
        ``gyro`` relative to the attitude by gyro and accelerometer, without its slow drift;
        with ``poses`` the correction, and its standard deviation.
    delay_s : float, optional
        Delay of the magnetometer relative to the gyro [s]; None with ``poses``.
    samples, outliers : int
        Readings or poses that were used; readings with the weight 0.
    fit : MagnetometerFit, optional
        Of the ellipsoid, if no calibration was given.
    warnings : tuple of str
        Findings, each with the next step.
    """

    calibration: ImuCalibration
    method: str
    rotation: FloatArray
    rotation_sigma_deg: FloatArray
    is_mirrored: bool
    dip_deg: float
    heading_error_before_deg: float
    heading_error_deg: float
    delay_s: float | None
    samples: int
    outliers: int
    fit: MagnetometerFit | None
    warnings: tuple[str, ...]

    @property
    def rotation_deg(self) -> float:
        """Angle of the rotation, without a mirrored axis [deg]."""
        proper = self.rotation * np.sign(np.linalg.det(self.rotation))
        cosine = (np.trace(proper) - 1.0) / 2.0
        return float(np.arccos(np.clip(cosine, -1.0, 1.0)) / RAD_PER_DEG)

    def lines(self) -> list[str]:
        """Return a report for people."""
        sigma = ", ".join(f"{value:.1g}" for value in self.rotation_sigma_deg)
        unit = "readings" if self.method == "gyro" else "poses at rest"
        delay = "" if self.delay_s is None else f"; delay {1e3 * self.delay_s:.1f} ms"
        axes = " of left-handed axes" if self.is_mirrored else ""
        turn = f"{self.rotation_deg:.2f} deg (± {sigma} about x, y, z){axes}"
        errors = self.heading_error_before_deg, self.heading_error_deg
        return [
            *(self.fit.lines() if self.fit else []),
            f"alignment: {turn} from {self.samples} {unit}, without {self.outliers} outliers",
            "heading error: {:.2f} deg before, {:.2f} deg after".format(*errors),
            f"dip: {self.dip_deg:.1f} deg{delay}",
        ]

    def to_dict(self) -> dict[str, object]:
        """Return the values for JSON."""
        return {
            "method": self.method,
            "rotation": self.rotation.tolist(),
            "rotation_deg": self.rotation_deg,
            "rotation_sigma_deg": self.rotation_sigma_deg.tolist(),
            "is_mirrored": self.is_mirrored,
            "dip_deg": self.dip_deg,
            "heading_error_before_deg": self.heading_error_before_deg,
            "heading_error_deg": self.heading_error_deg,
            "delay_s": self.delay_s,
            "samples": self.samples,
            "outliers": self.outliers,
            "fit": self.fit.to_dict() if self.fit else None,
            "warnings": list(self.warnings),
        }

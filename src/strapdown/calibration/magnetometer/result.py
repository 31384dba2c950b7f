"""Result of the calibration of a magnetometer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._words import counted
from strapdown.calibration.magnetometer.coverage import FACETS
from strapdown.units import MICROTESLA

if TYPE_CHECKING:
    from strapdown.calibration.imu import ImuCalibration
    from strapdown.calibration.magnetometer.coverage import Coverage
    from strapdown.calibration.triad import TriadCalibration

__all__ = ["MagnetometerFit"]

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
            *(f"warning: {text}" for text in self.warnings),
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

"""Results of fitted surfaces: scale, coverage, figures of quality, findings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.imu import ImuCalibration, Provenance
from strapdown.calibration.magnetometer.coverage import FACETS, Coverage, coverage_of
from strapdown.calibration.magnetometer.readings import (
    COUNTS,
    HIGHEST_NORM,
    LOWEST_NORM,
    UNITS,
    Readings,
    unit_of,
)
from strapdown.calibration.magnetometer.result import MagnetometerFit
from strapdown.calibration.triad import TriadCalibration
from strapdown.units import MICROTESLA

if TYPE_CHECKING:
    from strapdown._typing import BoolArray
    from strapdown.calibration.magnetometer.surface import Surface

__all__ = ["FULL_COVERAGE", "TURN_MORE", "described"]

FULL_COVERAGE: Final = 0.5  # below: hard iron only
WIDE_CONE_DEG: Final = 60.0
LARGE_RESIDUAL: Final = 3.0  # % of the norm
MANY: Final = 0.1  # part of the readings left out
TURN_MORE: Final = (
    "turn the device slowly through all attitudes, each axis once up, once down and once level"
)


def described(
    kind: str, surface: Surface, readings: Readings, disturbed: BoolArray, norm: float | None
) -> MagnetometerFit:
    """Return the result of a surface that was fitted to the readings that are not disturbed."""
    inside = readings.field[~disturbed][~surface.is_outlier]
    unit = unit_of(surface.radius)
    triad, size, size_sigma = _scaled(surface, unit, norm)
    coverage = coverage_of(surface.directions(inside))
    before = np.linalg.norm(inside, axis=1)
    residual = 100.0 * float(surface.strength(inside).std())
    outliers, left_out = int(surface.is_outlier.sum()), int(disturbed.sum())
    warnings = (
        *_coverage_warnings(coverage),
        *_norm_warnings(size, unit, norm),
        *_residual_warnings(residual, outliers + left_out, len(readings.field)),
    )
    fit = MagnetometerFit(
        calibration=ImuCalibration(magnetometer=triad, body=readings.body),
        kind=kind,
        norm=size,
        norm_sigma=size_sigma,
        unit=unit,
        coverage=coverage,
        residual_percent=residual,
        residual_before_percent=100.0 * float(before.std() / before.mean()),
        samples=len(inside),
        outliers=outliers,
        disturbed=left_out,
        disturbed_intervals=int((np.diff(disturbed, prepend=False) & disturbed).sum()),
        repeated=readings.repeated,
        invalid=readings.invalid,
        warnings=warnings,
    )
    provenance = Provenance(method=f"ellipsoid, {kind}", residuals=fit.figures(), notes=warnings)
    return replace(fit, calibration=replace(fit.calibration, provenance=provenance))


def _scaled(
    surface: Surface, unit: str, norm: float | None
) -> tuple[TriadCalibration, float, float]:
    """Return the calibration to a norm, the norm, and its standard deviation.

    Without a norm the scale of readings in a known unit is kept: the determinant of A is that of
    a mere change of units, and the covariance loses the part of the common scale.
    """
    A, covariance = surface.matrix, surface.covariance
    sigma, size = 0.0, norm
    project = np.eye(12)
    if size is None and unit != COUNTS:
        size = UNITS[unit] * surface.radius
        trace = np.linalg.inv(A).ravel() / 3.0  # d log(cbrt(det A)) / dA, A is symmetric
        sigma = size * max(float(trace @ covariance[3:, 3:] @ trace), 0.0) ** 0.5
        project[3:, 3:] -= np.outer(A.ravel(), trace)
    size = 1.0 if size is None else size
    project[3:] *= size
    covariance = project @ covariance @ project.T
    np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), 0.0))  # after rounding
    triad = TriadCalibration(
        matrix=size * A,
        bias=surface.bias,
        covariance=covariance,
        unit_in="" if unit == "T" else unit,
    )
    return triad, size, sigma


def _coverage_warnings(cover: Coverage) -> list[str]:
    warnings = []
    if cover.share < FULL_COVERAGE:
        warnings.append(
            f"hard iron only: readings in {round(cover.share * FACETS)} of {FACETS} facets of the "
            f"sphere; for soft iron {TURN_MORE}"
        )
    if cover.empty_cone_deg > WIDE_CONE_DEG:
        axis = ", ".join(f"{value:.2f}" for value in cover.empty_axis)
        warnings.append(
            f"no readings within {cover.empty_cone_deg:.0f} deg of the direction ({axis}) of the "
            "sensor: turn the device until the field points there"
        )
    return warnings


def _norm_warnings(size: float, unit: str, norm: float | None) -> list[str]:
    if unit == COUNTS and norm is None:
        text = "the readings are in no known unit: the calibrated field has the norm 1; pass the "
        return [text + "norm of the local field for T"]
    if size != 1.0 and not LOWEST_NORM <= size <= HIGHEST_NORM:
        remedy = "check the place for steel, or pass the norm"
        if norm:
            remedy = "check the unit of the norm"
        shown = f"{size / MICROTESLA:.4g} uT"
        return [f"a field of {shown} is not that of the Earth, 22 to 67 uT: {remedy}"]
    return []


def _residual_warnings(residual: float, left_out: int, total: int) -> list[str]:
    warnings = []
    if residual > LARGE_RESIDUAL:
        warnings.append(
            f"the calibrated norm varies by {residual:.1f} %: the field changes from place to "
            "place or in time; repeat it in the open, turning the sensor about one point"
        )
    if left_out > MANY * total:
        warnings.append(
            f"{left_out} of {total} readings are outliers or disturbed: repeat it away from "
            "steel, magnets and cables"
        )
    return warnings

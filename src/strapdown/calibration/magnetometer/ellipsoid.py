"""Hard and soft iron of a magnetometer from readings in many attitudes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from strapdown.calibration.imu import ImuCalibration, Provenance
from strapdown.calibration.magnetometer.coverage import (
    FACETS,
    Coverage,
    cells_of,
    coverage_of,
    covered_share,
)
from strapdown.calibration.magnetometer.readings import (
    COUNTS,
    HIGHEST_NORM,
    LOWEST_NORM,
    UNITS,
    Readings,
    disturbed_rows,
    read,
    unit_of,
)
from strapdown.calibration.magnetometer.result import MagnetometerFit
from strapdown.calibration.magnetometer.surface import BASES, Surface, fit_surface
from strapdown.calibration.triad import TriadCalibration
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.units import MICROTESLA

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.series import ImuSeries

__all__ = ["ellipsoid", "fit_readings"]

Kind = Literal["auto", "hard", "diagonal", "full"]

LEAST_SAMPLES: Final = 40
LEAST_COVERAGE: Final = 0.25  # below: no calibration
FULL_COVERAGE: Final = 0.5  # below: hard iron only
FLAT: Final = 0.04  # of the radius: readings of this thickness are in a plane
FLAT_CELLS: Final = 40  # readings are thinned to a grid of 1/40 of the radius
STRETCHED: Final = 10.0  # ratio of the axes beyond which an ellipsoid is no soft iron
WIDE_CONE_DEG: Final = 60.0
LARGE_RESIDUAL: Final = 3.0  # % of the norm
MANY: Final = 0.1  # part of the readings left out
TURN_MORE: Final = (
    "turn the device slowly through all attitudes, each axis once up, once down and once level"
)


def ellipsoid(
    magnetic_field: ImuSeries | ArrayLike, *, norm: float | None = None, kind: Kind = "auto"
) -> MagnetometerFit:
    """Calibrate a magnetometer from readings in many attitudes in one place.

    The readings ``s`` of a sensor that turns in a constant field are on an ellipsoid; ``m = A (s
    - b)`` maps it to a sphere. ``b`` is the field of magnets on the device (hard iron), the
    symmetric ``A`` corrects scales, cross-axis errors and the iron that bends the field (soft
    iron). A rotation of the sensor relative to the IMU remains:
    :func:`~strapdown.calibration.align_magnetometer`.

    Parameters
    ----------
    magnetic_field : ImuSeries or (N, 3)
        Readings in T, gauss, uT, nT or counts; the unit is recognised from their norm. With a
        series, intervals in which the field changes while the sensor turns slowly are left out.
    norm : float, optional
        Norm of the local field [T]; 1 normalises. By default the sensor's mean scale is kept,
        and readings in counts are normalised.
    kind : {"auto", "hard", "diagonal", "full"}
        Parameters: 3 of the bias and the common scale; 6 with scales of the axes; 9. By default
        chosen by the coverage (below 0.5: ``hard``) and the Bayesian information criterion.

    Returns
    -------
    MagnetometerFit

    Raises
    ------
    ValueRangeError
        Too few readings, readings in a plane, a coverage below 0.25, or below 0.5 for the given
        kind; a norm that is not positive.
    UnknownNameError
        There is no such kind.
    ShapeError
        The array is not (N, 3).

    References
    ----------
    Q. Li, J. Griffiths: Least squares ellipsoid specific fitting, GMP 2004.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> field = rng.normal(size=(2000, 3))
    >>> field *= 48.0 / np.linalg.norm(field, axis=1, keepdims=True)
    >>> readings = field * [1.0, 1.1, 0.9] + [30.0, -10.0, 5.0] + rng.normal(0.0, 0.2, field.shape)
    >>> fit = ellipsoid(readings)
    >>> fit.kind, fit.unit, fit.triad.bias.round(1).tolist()
    ('diagonal', 'uT', [30.0, -10.0, 5.0])
    """
    if kind not in {"auto", *BASES}:
        raise UnknownNameError("kind of magnetometer calibration", kind, ["auto", *BASES])
    if norm is not None and not 0.0 < norm < np.inf:
        raise ValueRangeError(f"expected norm above 0, got {norm}")
    return fit_readings(read(magnetic_field), norm, kind)


class _Candidate(NamedTuple):
    """Surface of one kind, with the share of the facets that its readings cover."""

    kind: str
    surface: Surface
    share: float


def fit_readings(readings: Readings, norm: float | None, kind: str) -> MagnetometerFit:
    """Return the calibration of usable readings; see :func:`ellipsoid`."""
    chosen = _choose(readings.field, kind)
    # a second fit without the disturbed intervals, which the first one finds
    disturbed = disturbed_rows(readings, _strength(readings.field, chosen.surface))
    field = readings.field[~disturbed]
    if disturbed.any():
        chosen = _choose(field, kind)
    surface = chosen.surface
    inside = field[~surface.is_outlier]
    unit = unit_of(surface.radius)
    triad, size, size_sigma = _scaled(surface, unit, norm)
    coverage = coverage_of(_directions(field, surface))
    before = np.linalg.norm(inside, axis=1)
    residual = 100.0 * float(_strength(inside, surface).std())
    outliers, left_out = int(surface.is_outlier.sum()), int(disturbed.sum())
    warnings = (
        *_coverage_warnings(coverage),
        *_norm_warnings(size, unit, norm),
        *_residual_warnings(residual, outliers + left_out, len(readings.field)),
    )
    fit = MagnetometerFit(
        calibration=ImuCalibration(magnetometer=triad, body=readings.body),
        kind=chosen.kind,
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
    provenance = Provenance(
        method=f"ellipsoid, {chosen.kind}", residuals=fit.figures(), notes=warnings
    )
    return replace(fit, calibration=replace(fit.calibration, provenance=provenance))


def _choose(field: FloatArray, kind: str) -> _Candidate:
    """Return the surface of a kind, or the best of those that the coverage allows."""
    if len(field) < LEAST_SAMPLES:
        raise ValueRangeError(
            f"expected at least {LEAST_SAMPLES} readings that differ, got {len(field)}; {TURN_MORE}"
        )
    sphere = fit_surface(field, "hard")
    if sphere is None or _is_flat(field, sphere):
        raise ValueRangeError(
            "expected readings around a sphere, got readings in a plane: the bias across the "
            f"plane is not observable; {TURN_MORE}"
        )
    candidates = [_candidate("hard", field, sphere)]
    for other in ("diagonal", "full"):
        surface = fit_surface(field, other) if kind in {"auto", other} else None
        if surface is not None and np.linalg.cond(surface.matrix) < STRETCHED:
            candidates.append(_candidate(other, field, surface))
    cover = candidates[-1].share
    if cover < LEAST_COVERAGE:
        raise ValueRangeError(
            f"expected readings in at least {round(LEAST_COVERAGE * FACETS)} of {FACETS} facets "
            f"of the sphere, got {round(cover * FACETS)}; {TURN_MORE}"
        )
    usable = [c for c in candidates if c.kind == "hard" or c.share >= FULL_COVERAGE]
    if kind == "auto":
        scale, correlated = min((c.surface.scale, c.surface.correlated) for c in usable)
        return min(usable, key=lambda c: c.surface.cost(scale, correlated))
    if usable[-1].kind != kind and kind != "hard":
        raise ValueRangeError(
            f"expected readings in at least {round(FULL_COVERAGE * FACETS)} of {FACETS} facets "
            f"of the sphere for kind {kind}, got {round(cover * FACETS)}; {TURN_MORE}, or pass "
            "kind='hard'"
        )
    return candidates[0] if kind == "hard" else usable[-1]


def _candidate(kind: str, field: FloatArray, surface: Surface) -> _Candidate:
    return _Candidate(kind, surface, covered_share(_directions(field, surface)))


def _strength(field: FloatArray, surface: Surface) -> FloatArray:
    """Return the norms of the calibrated field (N, 3), relative to that of the field."""
    norms: FloatArray = np.linalg.norm((field - surface.bias) @ surface.matrix.T, axis=1)
    return norms


def _directions(field: FloatArray, surface: Surface) -> FloatArray:
    """Return the unit vectors of the calibrated field, without outliers."""
    m = (field[~surface.is_outlier] - surface.bias) @ surface.matrix.T
    directions: FloatArray = m / np.linalg.norm(m, axis=1, keepdims=True)
    return directions


def _is_flat(field: FloatArray, sphere: Surface) -> bool:
    """Return whether the readings on a sphere are on one of its circles."""
    x = (field[~sphere.is_outlier] - sphere.bias) * sphere.matrix[0, 0]
    cells = cells_of(x, FLAT_CELLS)
    return bool(len(cells) < 4 or np.linalg.eigvalsh(np.cov(cells.T))[0] < FLAT**2)


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
    triad = TriadCalibration(
        matrix=size * A,
        bias=surface.bias,
        covariance=project @ covariance @ project.T,
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
        remedy = "pass the norm in T" if norm else "check the place for steel, or pass the norm"
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

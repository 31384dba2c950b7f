"""Result of a calibration from poses, turns or rates, with its report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.calibration.imu import Provenance
from strapdown.errors import ValueRangeError
from strapdown.geometry.gravity import normal_gravity
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration.imu import ImuCalibration
    from strapdown.calibration.poses.sections import Sections
    from strapdown.calibration.triad import TriadCalibration
    from strapdown.series import ImuSeries

__all__ = [
    "PoseCalibration",
    "empty_cone",
    "gravity_of",
    "mean_scale",
    "result_of_faces",
    "rms",
    "unit_of_gyro",
    "unit_of_readings",
    "with_report",
]

WIDEST_CONE: Final = 60.0 * RAD_PER_DEG
"""Half angle of an empty cone above which the attitudes leave a part of the sphere out [rad]."""
_GRID: Final = 4000  # directions on the sphere that are looked at
_NEAR: Final = 1.3  # ratio up to which a norm is that of a unit
_UNITS: Final = (("g", 1.0, "9.80665"), ("cm/s^2 or mg", 980.0, "0.01, or 0.00980665"))


@dataclass(frozen=True, eq=False, kw_only=True)
class PoseCalibration:
    """Calibration from poses and turns, with the figures of its quality.

    Parameters
    ----------
    calibration : ImuCalibration
        Of accelerometer and gyro, with covariances.
    warnings : tuple of str
        Findings, each with the next step; empty if all is well.
    gravity : float
        That the accelerometer was fitted to [m/s^2].
    still_ns : (M, 2) int64
        Start and end of the still intervals [ns].
    directions : (M, 3)
        Unit vectors of the specific force in them [body].
    norm_error, norm_error_left_out : (M,)
        ``|f| - g`` in the still intervals, as fitted, and with a fit to every second other one
        [m/s^2]; NaN where there are too few.
    turn_ns : (T, 2) int64
        Start and end of the turns [ns].
    turn_error, turn_error_left_out : (T,)
        Angle by which each turn misses its end, as above [rad].
    condition : tuple of float
        Condition numbers of the fits of accelerometer and gyro; NaN where there is none.
    not_observable : tuple of str
        Parameters that the session does not determine, which kept their start values.
    threshold : float
        Of stillness, in variances of the initial rest; 0 where it was not chosen.
    time_offset_s : float
        Delay of the gyro after the accelerometer [s]; NaN where unknown.
    """

    calibration: ImuCalibration
    warnings: tuple[str, ...]
    gravity: float
    still_ns: IntArray
    directions: FloatArray
    norm_error: FloatArray
    norm_error_left_out: FloatArray
    turn_ns: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    turn_error: FloatArray = field(default_factory=lambda: np.zeros(0))
    turn_error_left_out: FloatArray = field(default_factory=lambda: np.zeros(0))
    condition: tuple[float, float] = (np.nan, np.nan)
    not_observable: tuple[str, ...] = ()
    threshold: float = 0.0
    time_offset_s: float = np.nan

    @property
    def empty_cone_rad(self) -> float:
        """Half angle of the largest cone without an attitude [rad]."""
        return empty_cone(self.directions)

    def lines(self) -> list[str]:
        """Return the report for people."""
        return list(self._lines())

    def _lines(self) -> Iterator[str]:
        c, millis = self.calibration, 1e3
        if len(self.norm_error):
            fitted, left = rms(self.norm_error), rms(self.norm_error_left_out)
            yield (
                f"accelerometer from {len(self.norm_error)} still intervals: |f| to "
                f"{fitted * millis:.2f} mm/s^2 fitted{_other(left * millis, 'mm/s^2')}"
            )
            yield from _parameters(c.accel, "m/s^2", 1.0)
        if len(self.turn_error):
            fitted, left = rms(self.turn_error), rms(self.turn_error_left_out)
            yield (
                f"gyro from {len(self.turn_error)} turns: direction to "
                f"{fitted / RAD_PER_DEG:.3f} deg fitted{_other(left / RAD_PER_DEG, 'deg')}"
            )
            yield from _parameters(c.gyro, "deg/s", 1.0 / RAD_PER_DEG)
        numbers = " and ".join(f"{value:.3g}" for value in self.condition if np.isfinite(value))
        cone = f"largest empty cone {self.empty_cone_rad / RAD_PER_DEG:.0f} deg"
        yield f"coverage: {cone}" + (f"; condition number {numbers}" if numbers else "")
        if np.isfinite(self.time_offset_s):
            offset_ms = round(self.time_offset_s * millis, 1) + 0.0  # no -0.0
            yield f"gyro after accelerometer by {offset_ms:.1f} ms"

    def residuals(self) -> dict[str, float]:
        """Return the figures of quality, with the unit at the end of the name."""
        figures = {
            "norm_m_s2": rms(self.norm_error),
            "norm_left_out_m_s2": rms(self.norm_error_left_out),
            "direction_deg": rms(self.turn_error) / RAD_PER_DEG,
            "direction_left_out_deg": rms(self.turn_error_left_out) / RAD_PER_DEG,
            "empty_cone_deg": self.empty_cone_rad / RAD_PER_DEG,
        }
        return {name: float(value) for name, value in figures.items() if np.isfinite(value)}

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        c = self.calibration
        return {
            "gravity_m_s2": self.gravity,
            "still_intervals": len(self.norm_error),
            "turns": len(self.turn_error),
            "threshold": self.threshold,
            "residuals": self.residuals(),
            "condition": {
                name: value for name, value in zip(("accel", "gyro"), self.condition, strict=True)
                if np.isfinite(value)
            },
            "time_offset_s": None if np.isnan(self.time_offset_s) else self.time_offset_s,
            "not_observable": list(self.not_observable),
            "accel": _plain(c.accel),
            "gyro": _plain(c.gyro) | {"g_sensitivity": c.g_sensitivity.tolist()},
        }  # fmt: skip


def result_of_faces(  # noqa: PLR0913 (what the two procedures find)
    method: str,
    series: ImuSeries,
    found: Sections,
    calibration: ImuCalibration,
    *,
    gravity: float,
    warnings: Sequence[str],
    turn_error: FloatArray,
    **quality: Any,  # noqa: ANN401 (fields of the result)
) -> PoseCalibration:
    """Return the result of a calibration from faces and turns, which leaves out none of them."""
    f = calibration.accel.calibrated(found.stills.force)
    size = np.linalg.norm(f, axis=1)
    result = PoseCalibration(
        calibration=calibration,
        warnings=tuple(warnings),
        gravity=gravity,
        still_ns=found.stills.span_ns(series),
        directions=f / size[:, None],
        norm_error=size - gravity,
        norm_error_left_out=np.full(len(f), np.nan),
        turn_ns=np.column_stack([series.t_ns[found.turn_start], series.t_ns[found.turn_stop - 1]]),
        turn_error=turn_error,
        turn_error_left_out=np.full(len(turn_error), np.nan),
        **quality,
    )
    return with_report(result, method)


def with_report(result: PoseCalibration, method: str) -> PoseCalibration:
    """Return a result that names what is not observable, and a calibration with its quality."""
    warnings = result.warnings
    if result.not_observable:
        line = (
            f"not observable: {', '.join(result.not_observable)}; they kept their nominal values: "
            "add attitudes on other sides, and turns about every axis"
        )
        warnings = (*warnings, line)
    provenance = Provenance(method=method, residuals=result.residuals(), notes=warnings)
    calibration = replace(result.calibration, provenance=provenance)
    return replace(result, calibration=calibration, warnings=warnings)


def _plain(triad: TriadCalibration) -> dict[str, Any]:
    known = triad.covariance is not None
    return {
        "matrix": triad.matrix.tolist(),
        "bias": triad.bias.tolist(),
        "sigma_matrix": triad.sigma_matrix.tolist() if known else None,
        "sigma_bias": triad.sigma_bias.tolist() if known else None,
        "unit_in": triad.unit_in,
    }


def _other(value: float, unit: str) -> str:
    return f", {value:.3g} {unit} left out" if np.isfinite(value) else ""


def _parameters(triad: TriadCalibration, unit: str, factor: float) -> Iterator[str]:
    """Yield bias, scale and misalignment with their standard deviations."""
    matrix, sigma = triad.matrix, triad.sigma_matrix
    scale = np.diag(matrix)
    per_unit = (np.abs(scale) if triad.unit_in else np.ones(3)) * factor
    bias = map(_with_sigma, triad.bias * per_unit, triad.sigma_bias * per_unit, [".4g"] * 3)
    yield f"  bias {', '.join(bias)} {unit}"
    spread = np.diag(sigma) / np.abs(scale)
    if triad.unit_in:
        shown = map(_with_sigma, scale * factor, spread * np.abs(scale) * factor, [".6g"] * 3)
        yield f"  scale {', '.join(shown)} {unit} per unit of the readings ({triad.unit_in})"
    else:
        shown = map(_with_sigma, 100.0 * (scale - 1.0), 100.0 * spread, ["+.3f"] * 3)
        yield f"  scale {', '.join(shown)} %"
    angles, errors = (m / np.abs(scale)[:, None] / RAD_PER_DEG for m in (matrix, sigma))
    pairs = [(r, c) for r in range(3) for c in range(3) if r != c and matrix[r, c] != 0.0]
    if pairs:
        named = [
            f"{'xyz'[r]}{'xyz'[c]} {_with_sigma(angles[r, c], errors[r, c], '+.3f')}"
            for r, c in pairs
        ]
        yield f"  misalignment {', '.join(named)} deg"


def _with_sigma(value: float, sigma: float, layout: str) -> str:
    return f"{value:{layout}}" + (f" +- {sigma:.2g}" if np.isfinite(sigma) else "")


def rms(values: FloatArray) -> float:
    """Return the root mean square of the finite values; NaN of none."""
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else np.nan


def empty_cone(directions: FloatArray) -> float:
    """Return the half angle of the largest cone that has none of some directions (M, 3) [rad]."""
    if not len(directions):
        return float(np.pi)
    k = np.arange(_GRID) + 0.5
    z, turn = 1.0 - 2.0 * k / _GRID, np.pi * (1.0 + np.sqrt(5.0)) * k
    across = np.sqrt(1.0 - z**2)
    sphere = np.column_stack([across * np.cos(turn), across * np.sin(turn), z])
    nearest = np.max(sphere @ directions.T, axis=1)
    return float(np.arccos(np.clip(nearest.min(), -1.0, 1.0)))


def gravity_of(
    gravity: float | None, latitude: float | None, height: float | None
) -> tuple[float, list[str]]:
    """Return gravity [m/s^2], and the warning where it is only the standard value.

    Parameters
    ----------
    gravity : float, optional
        Known [m/s^2].
    latitude, height : float, optional
        Place instead [rad], [m]; the height is 0 where only the latitude is known.

    Raises
    ------
    ValueRangeError
        Both are given, a height without a latitude, or gravity is not that of the Earth.
    """
    if gravity is not None and (latitude is not None or height is not None):
        raise ValueRangeError("expected gravity or a latitude with a height, got both")
    if gravity is not None:
        if not 9.0 < gravity < 10.5:
            raise ValueRangeError(
                f"expected gravity in m/s^2, between 9.76 and 9.84 on the ground, got {gravity}"
            )
        return float(gravity), []
    if latitude is not None:
        return float(normal_gravity(latitude, 0.0 if height is None else height)), []
    if height is not None:
        raise ValueRangeError("expected a latitude with the height, got none")
    warning = (
        f"gravity is not known and was taken as {STANDARD_GRAVITY} m/s^2, which may be 0.3 % off, "
        "and the accelerometer's scale with it: pass the local value, or latitude and height"
    )
    return STANDARD_GRAVITY, [warning]


def unit_of_readings(matrix: FloatArray, gravity: float) -> tuple[str, str | None]:
    """Return the unit of an accelerometer's readings by its scale, and a warning.

    Parameters
    ----------
    matrix : (3, 3)
        Of the calibration [m/s^2 per unit].
    gravity : float
        [m/s^2].
    """
    scale = mean_scale(matrix)
    at_rest = gravity / scale
    if 1.0 / _NEAR < scale < _NEAR:
        return "", None
    for unit, size, factor in _UNITS:
        if 1.0 / _NEAR < at_rest / size < _NEAR:
            return unit, (
                f"the specific force at rest is {at_rest:.4g}, as if in {unit}: the calibration "
                f"converts it to m/s^2; for a series in SI units, multiply it by {factor} and "
                "calibrate again"
            )
    return "raw", None


def mean_scale(matrix: FloatArray) -> float:
    """Return the scale of a calibration matrix: the cube root of its volume."""
    return float(np.cbrt(abs(np.linalg.det(matrix))))


def unit_of_gyro(matrix: FloatArray) -> tuple[str, str | None]:
    """Return the unit of a gyro's readings by its matrix [rad/s per unit], and a warning."""
    scale = mean_scale(matrix)
    if 1.0 / _NEAR < scale < _NEAR:
        return "", None
    if 1.0 / _NEAR < scale / RAD_PER_DEG < _NEAR:
        return "deg/s", (
            f"the turns are {1.0 / scale:.4g} times too large, as if the gyro were in deg/s: "
            "the calibration converts it to rad/s; for a series in SI units, multiply it by "
            "0.0174533 and calibrate again"
        )
    return "raw", None

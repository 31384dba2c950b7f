"""Strength of the magnetic field, and its offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.checking.report import CheckReport, Finding

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries

__all__ = ["check_field", "without_offset"]

_PLAUSIBLE_T: Final = (15e-6, 100e-6)
"""The field of the Earth, 22 to 67 uT, with what buildings and a device add or take."""
_UNITS: Final = {"uT": 1e-6, "mgauss": 1e-7, "gauss": 1e-4, "nT": 1e-9}
_UNEVEN: Final = 0.1
_LEAST_SPREAD: Final = 0.1  # of the widest direction, so that its offset is known


def check_field(series: ImuSeries, topic: str) -> CheckReport:
    """Check the norm of the magnetic field: unit and disturbance."""
    field = series.magnetic_field
    if field is None or not (measured := np.isfinite(field).all(axis=1)).any():
        return CheckReport((), (), ("magnetic field: no magnetometer",))
    norm = float(np.median(np.linalg.norm(field[measured], axis=1)))
    low, high = _PLAUSIBLE_T
    if low <= norm <= high:
        return CheckReport((), (f"magnetic field {norm * 1e6:.3g} uT",), ())
    for unit, factor in _UNITS.items():
        if low <= norm * factor <= high:
            mended = Finding(
                "mag_unit", topic, f"magnetic field {norm:.4g} T", f"as if in {unit}",
                f"--mag-unit {unit}",
                f"series.replace(magnetic_field={factor:g} * series.magnetic_field)",
            )  # fmt: skip
            return CheckReport((mended,), (), ())
    likely = (
        "the Earth has 22 to 67 uT: iron or a magnet nearby, a sensor without calibration, or "
        "another scale; fuse --no-mag ignores it"
    )
    seen = f"magnetic field {norm * 1e6:.3g} uT"
    return CheckReport((Finding("mag_strength", topic, seen, likely),), (), ())


def without_offset(field: FloatArray) -> FloatArray:
    """Return a field without the constant offset that makes its norm uneven (hard iron).

    The centre b of the sphere on which the readings lie solves ``2 m . b + c = |m|^2``. Along
    directions in which the readings hardly spread it is unknown and taken for zero.

    Parameters
    ----------
    field : (..., 3)
        Readings [any unit].
    """
    m = field.reshape(-1, 3)
    norm = np.linalg.norm(m, axis=1)
    if np.std(norm) < _UNEVEN * np.mean(norm):
        return field
    off, square = m - m.mean(axis=0), norm**2
    offset, *_ = np.linalg.lstsq(2.0 * off, square - square.mean(), rcond=_LEAST_SPREAD)
    return np.asarray(field - offset)

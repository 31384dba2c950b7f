"""Gyro, accelerometer and magnetometer against each other: axes and unit of the gyro."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.checking.axes import SINGLE, agreement, columns_of, in_words
from strapdown.checking.field import without_offset
from strapdown.checking.rates import beyond_range
from strapdown.checking.report import CheckReport, Finding
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.checking.axes import Agreement
    from strapdown.checking.windows import Windows
    from strapdown.series import ImuSeries

__all__ = ["Compared", "compared"]

_COLUMNS: Final = {
    "gyro": "angular_velocity",
    "accelerometer": "specific_force",
    "magnetometer": "magnetic_field",
}


@dataclass(frozen=True)
class Compared:
    """Comparison of the sensors of an IMU.

    Parameters
    ----------
    report : CheckReport
        Findings.
    windows : Windows, optional
        With the axes and the unit of the gyro mended as found.
    force : (3, 3)
        Signed permutation that mends the specific force.
    """

    report: CheckReport
    windows: Windows | None
    force: FloatArray


def compared(series: ImuSeries, topic: str, windows: Windows | None) -> Compared:
    """Compare gyro, accelerometer and magnetometer over windows."""
    high = beyond_range(series)
    if windows is None:
        found = () if high is None else (_unit_finding(topic, RAD_PER_DEG, _fast(high)),)
        unchecked = "axes: no 2 s of gyro and accelerometer with at least 10 Hz"
        return Compared(CheckReport(found, (), (unchecked,)), None, np.eye(3))
    comparison = _Comparison(topic, windows)
    comparison.check_gyro(high)
    comparison.check_field()
    return comparison.result()


class _Comparison:
    """State of a comparison: windows mended so far, and findings."""

    def __init__(self, topic: str, windows: Windows) -> None:
        self._topic = topic
        self._windows = windows
        self._field = None if windows.field is None else without_offset(windows.field)
        self._force = np.eye(3)
        self._findings: list[Finding] = []
        self._checked: list[str] = []
        self._unchecked: list[str] = []

    def check_gyro(self, high: float | None) -> None:
        """Check unit and axes of gyro and accelerometer."""
        windows = self._windows
        found = agreement(windows.turn, windows.force, scaled=True, unbiased=windows.unbiased)
        if found.scale != 1.0 or high is not None:
            scale = found.scale if found.scale != 1.0 else RAD_PER_DEG
            seen = _turned(found) if high is None else _fast(high)
            self._findings.append(_unit_finding(self._topic, scale, seen))
            self._windows = replace(windows, turn=scale * windows.turn)
        self._count("gyro and accelerometer", found)
        if found.is_identity:
            return
        if np.linalg.det(found.matrix) < 0.0 or self._field_convicts_gyro(found):
            against = "the accelerometer" if self._field is None else "the other sensors"
            self._find("gyro", found.matrix, found, against)
            turn = self._windows.turn @ found.matrix.T
            self._windows = replace(self._windows, turn=turn)
        else:
            self._force = -found.matrix.T
            self._find("accelerometer", self._force, found, "the gyro")

    def check_field(self) -> None:
        """Check the axes of the magnetometer against those of the gyro, as mended."""
        found = self._by_field()
        if found is None:
            return
        self._count("gyro and magnetometer", found)
        if not found.is_identity:
            proper = np.linalg.det(found.matrix) > 0.0
            self._find(
                "magnetometer", (-1.0 if proper else 1.0) * found.matrix.T, found, "the gyro"
            )

    def result(self) -> Compared:
        """Return what was found."""
        parts = tuple(self._findings), tuple(self._checked), tuple(self._unchecked)
        return Compared(CheckReport(*parts), self._windows, self._force)

    def _by_field(self) -> Agreement | None:
        if self._field is None:
            return None
        windows = self._windows
        return agreement(windows.turn, self._field, scaled=False, unbiased=windows.unbiased)

    def _field_convicts_gyro(self, found: Agreement) -> bool:
        by_field = self._by_field()
        return by_field is not None and np.array_equal(found.matrix, by_field.matrix)

    def _count(self, what: str, found: Agreement) -> None:
        if found.is_identity and found.excluded:
            self._checked.append(
                f"axes of {what} agree: {found.excluded} of {len(SINGLE)} single errors "
                "(swapped, mirrored, negated) are excluded"
            )
        if found.excluded < len(SINGLE):
            self._unchecked.append(
                f"axes of {what}: too little rotation to exclude "
                f"{len(SINGLE) - found.excluded} of {len(SINGLE)} single errors"
            )

    def _find(self, sensor: str, mend: FloatArray, found: Agreement, against: str) -> None:
        self._findings.append(_axes_finding(sensor, self._topic, mend, found, against))


def _fast(high: float) -> str:
    return f"angular velocity up to {high:.3g} rad/s, which no gyro measures"


def _turned(found: Agreement) -> str:
    return (
        f"gravity turns {found.scale:.3g} times as much as the gyro measures, in {found.against} "
        f"of {found.windows} windows"
    )


def _unit_finding(topic: str, scale: float, seen: str) -> Finding:
    """Return the finding of a gyro in another unit."""
    unit = "deg/s" if scale < 1.0 else "rad/s"
    likely = f"as if in {unit}" if scale < 1.0 else "as if rad/s were converted from deg/s again"
    mended = f"series.replace(angular_velocity={scale:.7g} * series.angular_velocity)"
    return Finding("gyro_unit", topic, seen, likely, f"--gyro-unit {unit}", mended)


def _axes_finding(
    sensor: str, topic: str, mend: FloatArray, found: Agreement, against: str
) -> Finding:
    """Return the finding of permuted or negated axes of a sensor."""
    columns = columns_of(mend)
    column = _COLUMNS[sensor]
    order = [int(np.argmax(np.abs(row))) for row in mend]
    signs = [int(row.sum()) for row in mend]
    product = "" if signs == [1, 1, 1] else f" * {signs}"
    code = {"gyro": "gyro_axes", "accelerometer": "accel_axes", "magnetometer": "mag_axes"}[sensor]
    return Finding(
        code,
        topic,
        f"{sensor} contradicts {against} in {found.against} of {found.windows} windows",
        f"likely {in_words(mend)}",
        f"--save columns.toml, and there the columns of {column} as {', '.join(columns)}",
        f"series.replace({column}=series.{column}[:, {order}]{product})",
    )

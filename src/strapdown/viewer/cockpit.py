"""Calibration from the samples that a page has seen: coverage so far, and the result."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown.calibration import ImuCalibration, ellipsoid, multi_position
from strapdown.calibration.magnetometer.coverage import (
    FACET_SAMPLES,
    FACETS,
    coverage_of,
    facet_of,
    spiral,
)
from strapdown.calibration.poses.stills import Stills, restlessness, session, still_rows
from strapdown.errors import ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.series import ImuSeries

__all__ = ["POINTS", "CalibrationKind", "Progress", "Solution", "progress", "solve"]

POINTS = 800
"""Points of the drawn sphere."""
_STILL = 5.0
"""Spread of a window, in spreads of the rest, below which the sensor is still."""
_TURNED = 0.1
"""Change of the specific force, as a part of it, that is no noise."""
_ENOUGH_ATTITUDES = 30
_ENOUGH_COVERAGE = 0.8


class CalibrationKind(StrEnum):
    """Sensors to calibrate."""

    POSES = "accelerometer and gyro"
    """From 30 to 50 attitudes, after a rest."""
    FIELD = "magnetometer"
    """From turns through every attitude."""


class Progress(NamedTuple):
    """Coverage of a session so far.

    Parameters
    ----------
    covered : (32,) bool
        Facets of the sphere, in sensor axes, that have been seen.
    now : (3,) or None
        Present direction: of the specific force, or of the magnetic field from its centre.
    is_still : bool
        Whether the sensor is at rest now.
    attitudes : int
        Attitudes at rest.
    hint : str
        Next step.
    """

    covered: BoolArray
    now: FloatArray | None
    is_still: bool
    attitudes: int
    hint: str


class Solution(NamedTuple):
    """Result of a calibration: what to apply, and what to read."""

    calibration: ImuCalibration
    lines: list[str]


def progress(kind: CalibrationKind, series: ImuSeries, initial_still_s: float) -> Progress:
    """Return the coverage of a session.

    Parameters
    ----------
    kind : CalibrationKind
    series : ImuSeries
        Samples since its beginning.
    initial_still_s : float
        Rest at the beginning [s].
    """
    nothing = np.zeros(FACETS, bool)
    try:
        series, _ = session(series, "calibrate")
        windows = restlessness(series, None)
    except ValueRangeError as error:
        return Progress(nothing, None, is_still=False, attitudes=0, hint=str(error))
    if kind is CalibrationKind.FIELD:
        return _of_field(series)
    is_still = bool(windows[-1] <= _STILL)
    try:
        windows = restlessness(series, initial_still_s)
    except ValueRangeError as error:
        return Progress(nothing, None, is_still, 0, str(error))
    stills = Stills.of(series, *still_rows(series, windows, _STILL))
    covered = nothing.copy()
    if len(stills):
        covered[facet_of(_units(stills.force))] = True
    count = _attitudes(stills)
    missing = _ENOUGH_ATTITUDES - count
    if missing > 0:
        hint = f"put it down in {missing} more attitudes, for 1 to 4 s each; {_towards(covered)}"
    else:
        hint = "enough attitudes: compute"
    return Progress(covered, _units(series.specific_force[-1:])[0], is_still, count, hint)


def _attitudes(stills: Stills) -> int:
    """Return the number of attitudes; where nothing has turned yet, noise makes none."""
    size = np.linalg.norm(np.mean(stills.force, axis=0)) if len(stills) else 0.0
    if not len(stills) or np.linalg.norm(np.ptp(stills.force, axis=0)) < _TURNED * size:
        return min(1, len(stills))
    return stills.attitudes


def _of_field(series: ImuSeries) -> Progress:
    """Return the coverage of a magnetometer, by directions from the middle of its readings."""
    field = series.magnetic_field
    known = None if field is None else field[np.isfinite(field).all(axis=1)]
    if known is None or len(known) < FACET_SAMPLES:
        nothing = np.zeros(FACETS, bool)
        return Progress(nothing, None, is_still=False, attitudes=0, hint="no magnetic field")
    directions = _units(known - (known.min(axis=0) + known.max(axis=0)) / 2.0)
    found = coverage_of(directions)
    covered = found.counts >= FACET_SAMPLES
    if found.share < _ENOUGH_COVERAGE:
        hint = f"turn it through all attitudes, {found.share:.0%} of the sphere so far; "
        hint += _towards(covered)
    else:
        hint = f"{found.share:.0%} of the sphere: compute"
    return Progress(covered, directions[-1], is_still=False, attitudes=0, hint=hint)


def solve(kind: CalibrationKind, series: ImuSeries, initial_still_s: float) -> Solution:
    """Return the calibration of a session.

    Raises
    ------
    StrapdownError
        The session does not suffice; the message gives the next step.
    """
    if kind is CalibrationKind.POSES:
        poses = multi_position(series, initial_still_s=initial_still_s)
        return Solution(poses.calibration, [*poses.lines(), *poses.warnings])
    fit = ellipsoid(series)
    return Solution(fit.calibration, [*fit.lines(), *fit.warnings])


def _units(vectors: FloatArray) -> FloatArray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: FloatArray = vectors / np.where(length > 0.0, length, 1.0)
    return units


def _towards(covered: BoolArray) -> str:
    """Return which axis of the sensor points to the emptiest side."""
    axes = {f"{sign}{name}": value * np.eye(3)[at] for at, name in enumerate("xyz")
            for sign, value in (("+", 1.0), ("-", -1.0))}  # fmt: skip
    points = spiral(POINTS)
    empty = points[~covered[facet_of(points)]]
    if not len(empty):
        return "every side has been seen"
    share = {name: float(np.mean(empty @ axis > 0.7)) for name, axis in axes.items()}
    return f"emptiest side: {max(share, key=share.__getitem__)}"

"""Readings of a magnetometer: those that can be used, their unit, and disturbed intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_floats
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry.frames import BodyFrame
from strapdown.samples.sample import MAX_FIELD
from strapdown.series import ImuSeries
from strapdown.units import GAUSS, MICROTESLA, NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, BoolArray, FloatArray, IntArray

__all__ = [
    "COUNTS",
    "HIGHEST_NORM",
    "LOWEST_NORM",
    "UNITS",
    "Readings",
    "disturbed_rows",
    "read",
    "unit_of",
]

LOWEST_NORM, HIGHEST_NORM = 22.0 * MICROTESLA, 67.0 * MICROTESLA
"""Norm of the Earth's field at its surface [T]."""
UNITS: Final = {"T": 1.0, "gauss": GAUSS, "uT": MICROTESLA, "nT": 1e-3 * MICROTESLA}
"""Units that are recognised, in T."""
COUNTS: Final = "counts"
TOLERANCE: Final = 1.4  # a unit is recognised where the norm misses the Earth's by this factor
BIN_NS: Final = NS_PER_S // 10  # strength is averaged over this time
SLOW_RATE: Final = 30.0 * RAD_PER_DEG  # rad/s; errors of the calibration change slowly below
STEEP: Final = 0.1  # 1/s: change of the strength, relative to it
NOISE_FACTOR: Final = 6.0  # standard deviations of the noise that are no change
MARGIN: Final = 5  # bins that are left out on either side


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings of a magnetometer that can be used.

    Parameters
    ----------
    field : (N, 3)
        Finite readings [any unit, body].
    rows : (N,) int
        Their rows in the input.
    invalid, repeated : int
        Readings left out: not finite or implausibly large; equal to the one before.
    t_ns : (N,) int64, optional
    turn_rate : (N,), optional
        Size of the angular velocity [rad/s].
    body : BodyFrame
    """

    field: FloatArray
    rows: IntArray
    invalid: int
    repeated: int
    t_ns: IntArray | None
    turn_rate: FloatArray | None
    body: BodyFrame


def read(data: ImuSeries | ArrayLike) -> Readings:
    """Return the usable readings of a series or of an array (N, 3).

    Magnetometers are often slower than the inertial sensors, and their readings repeated.

    Raises
    ------
    ValueRangeError
        A series has no magnetic field.
    ShapeError
        The array is not (N, 3).
    """
    series = data if isinstance(data, ImuSeries) else None
    if series is not None:
        if series.magnetic_field is None:
            raise ValueRangeError(
                "expected a series with a magnetic field, got none: record the magnetometer too"
            )
        field = series.magnetic_field
    else:
        field = as_floats(data, "magnetic_field", (3,))  # type: ignore[arg-type]  # no series
        if field.ndim != 2:
            raise ShapeError(f"expected magnetic_field of shape (N, 3), got {field.shape}")
    valid = (np.abs(field) < MAX_FIELD).all(axis=1)  # false for NaN
    rows = np.flatnonzero(valid)
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (field[rows[1:]] != field[rows[:-1]]).any(axis=1)
    rows = rows[fresh]
    rate = None if series is None else np.linalg.norm(series.angular_velocity[rows], axis=1)
    return Readings(
        field[rows], rows, int((~valid).sum()), int((~fresh).sum()),
        None if series is None else series.t_ns[rows], rate,
        BodyFrame.FLU if series is None else series.body,
    )  # fmt: skip


def unit_of(norm: float) -> str:
    """Return the unit in which a norm is near that of the Earth's field, or ``counts``.

    Examples
    --------
    >>> [unit_of(norm) for norm in (4.8e-5, 0.48, 48.0, 48_000.0, 1_700.0)]
    ['T', 'gauss', 'uT', 'nT', 'counts']
    """
    for name, unit in UNITS.items():
        if LOWEST_NORM / TOLERANCE <= norm * unit <= HIGHEST_NORM * TOLERANCE:
            return name
    return COUNTS


def disturbed_rows(readings: Readings, strength: FloatArray) -> BoolArray:
    """Return flags (N,) of readings in intervals in which the field itself changes.

    The strength of a constant field changes only through errors of the calibration, therefore
    slowly while the sensor turns slowly. Half a second on either side is left out too.

    Parameters
    ----------
    readings : Readings
        With stamps and rates, or nothing is flagged.
    strength : (N,)
        Of the calibrated field, relative to its norm.
    """
    flags = np.zeros(len(strength), np.bool_)
    if readings.t_ns is None or readings.turn_rate is None or len(strength) < 2:
        return flags
    of_row = readings.t_ns // BIN_NS
    bins, at, counts = np.unique(of_row, return_inverse=True, return_counts=True)
    mean = np.bincount(at, strength) / counts
    rate = np.bincount(at, np.nan_to_num(readings.turn_rate, nan=np.inf)) / counts
    step_s = np.diff(bins) * (BIN_NS / NS_PER_S)
    step = np.diff(mean)
    white = np.median(np.abs(np.diff(strength))) / 0.6745 / np.sqrt(2.0)
    noise = white * np.sqrt(1.0 / counts[1:] + 1.0 / counts[:-1])
    slow = np.maximum(rate[1:], rate[:-1]) < SLOW_RATE
    steep = slow & (np.abs(step) > STEEP * step_s + NOISE_FACTOR * noise) & (step_s < 1.0)
    for edge in bins[1:][steep]:
        flags |= (of_row >= edge - 1 - MARGIN) & (of_row <= edge + MARGIN)
    return flags

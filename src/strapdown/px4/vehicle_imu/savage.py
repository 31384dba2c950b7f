"""Increments of savage mode between the ends of windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.geometry.frames import BodyFrame
from strapdown.inertial import integrate_pair
from strapdown.inertial.clocks import SAME_CLOCK
from strapdown.px4.calibration import correct
from strapdown.samples import SampleKind
from strapdown.series import ImuSeries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.inertial import Integration
    from strapdown.px4.calibration import SensorCalibration
    from strapdown.px4.vehicle_imu.settings import PipelineSettings
    from strapdown.series import Increments

__all__ = [
    "Reading",
    "Readings",
    "calibrated",
    "integrate_readings",
    "integrate_recent",
    "slack_ns",
    "without_old",
]

_HISTORY: Final = (
    8  # samples kept before a window: for a quadrature of four, and the step before it
)


class Readings(NamedTuple):
    """Readings of one sensor: stamps [ns], values in board FRD, and their kinds."""

    t_ns: IntArray
    values: FloatArray
    kind: SampleKind


class Reading(NamedTuple):
    """One reading, the mean of ``samples`` samples."""

    t_ns: int
    value: tuple[float, float, float]
    samples: int


def integrate_readings(
    gyro: Readings, accel: Readings, settings: PipelineSettings, stamps_ns: IntArray
) -> Integration:
    """Integrate readings between stamps.

    Parameters
    ----------
    gyro, accel : Readings
        Calibrated readings of the two sensors.
    settings : PipelineSettings
        Settings; their kinds override those of the readings.
    stamps_ns : (K,) int64
        Start of the first window, and ends of all windows [ns].

    Returns
    -------
    Integration
        In body FRD.
    """
    rates, forces = gyro.values, accel.values
    return integrate_pair(
        ImuSeries(gyro.t_ns, rates, np.zeros_like(rates), body=BodyFrame.FRD),
        ImuSeries(accel.t_ns, np.zeros_like(forces), forces, body=BodyFrame.FRD),
        gyro_kind=settings.gyro_kind or gyro.kind,
        accel_kind=settings.accel_kind or accel.kind,
        window=stamps_ns,
    )


def calibrated(
    readings: Readings, calibrations: Sequence[SensorCalibration], until_ns: IntArray
) -> Readings:
    """Calibrate readings in float64.

    Parameters
    ----------
    readings : Readings
        In the order of their stamps.
    calibrations : K of SensorCalibration
        Calibrations in the order of their use.
    until_ns : (K - 1,) int64
        Stamps of the last readings to which each applies, except for the last one [ns].

    Returns
    -------
    Readings
        In body FRD.
    """
    stops = [*np.searchsorted(readings.t_ns, until_ns, "right"), len(readings.t_ns)]
    values = np.empty_like(readings.values)
    for calibration, start, stop in zip(calibrations, [0, *stops], stops, strict=False):
        values[start:stop] = correct(calibration, readings.values[start:stop])
    return readings._replace(values=values)


def slack_ns(readings: tuple[Reading, ...]) -> float:
    """Return the tolerance for equal stamps of one clock [ns]."""
    steps = max(len(readings) - 1, 1)
    return SAME_CLOCK * (readings[-1].t_ns - readings[0].t_ns) / steps if readings else 0.0


def without_old(readings: tuple[Reading, ...], end_ns: int) -> tuple[Reading, ...]:
    """Return the readings that windows after a stamp depend on."""
    done = sum(reading.t_ns <= end_ns for reading in readings)
    return readings[max(done - _HISTORY, 0) :]


def integrate_recent(
    gyro: tuple[Reading, ...],
    accel: tuple[Reading, ...],
    settings: PipelineSettings,
    start_ns: int,
    end_ns: int,
) -> Increments | None:
    """Integrate one window of a stream from its readings and the previous ones.

    Returns
    -------
    Increments or None
        One row; None where a gap interrupts the window.
    """
    gyro = tuple(reading for reading in gyro if reading.t_ns <= end_ns)
    slack = slack_ns(gyro)
    beside = tuple(reading for reading in accel if reading.t_ns <= end_ns + slack)
    if len(beside) != len(gyro):  # another clock: up to the first reading at the end or after
        beside = accel[: sum(reading.t_ns < end_ns for reading in accel) + 1]
    if not beside:
        return None
    stamps_ns = np.array([start_ns, end_ns], np.int64)
    none: IntArray = np.empty(0, np.int64)
    increments = integrate_readings(
        calibrated(_by_column(gyro), [settings.gyro_calibration], none),
        calibrated(_by_column(beside), [settings.accel_calibration], none),
        settings,
        stamps_ns,
    ).increments
    row = increments[increments.t_ns == end_ns]
    return row if len(row) else None


def _by_column(readings: tuple[Reading, ...]) -> Readings:
    stamps, values, samples = zip(*readings, strict=True)
    kind = SampleKind.MEAN if samples[-1] > 1 else SampleKind.POINT
    return Readings(np.array(stamps, np.int64), np.array(values, np.float64), kind)

"""A log against itself: from raw packets to the ``sensor_combined`` that PX4 logged beside them.

Where a log has the raw samples of the chips, everything that the autopilot made of them can be
made again, window by window, and compared. What remains is the rounding that a compiler may
choose: fused multiply-adds and reciprocals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.errors import ShapeError
from strapdown.messages.conversion_px4_rates import sensor_combined_from_vehicle_imu
from strapdown.messages.px4 import SensorCombined, SensorGyro
from strapdown.px4.calibration import CalibrationTracker, thermal_offset
from strapdown.px4.replay import replay_windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray
    from strapdown.px4.calibration import Sensor, SensorCalibration

__all__ = ["LogParameters", "Verification", "verify"]

MAX_GYRO_RESIDUAL: Final = 6e-8
"""Largest deviation of a rate that rounding explains [rad/s]."""
MAX_ACCEL_RESIDUAL: Final = 4e-6
"""The same of a specific force [m/s^2]."""
MIN_IDENTICAL_SHARE: Final = 0.5
"""Share of windows that come out without any deviation, at least."""


class LogParameters(NamedTuple):
    """The parameters of a log.

    Parameters
    ----------
    initial : mapping of str to number
        At its start.
    changes : sequence of (int, str, number)
        Later ones: time [us], name and value, in the order of the log.
    """

    initial: Mapping[str, float]
    changes: Sequence[tuple[int, str, float]] = ()


@dataclass(frozen=True)
class Verification:
    """How what was made again agrees with what was logged.

    Parameters
    ----------
    windows : int
        Windows that were compared.
    skipped_rows : int
        Rows that do not follow the row before, because the log or the autopilot left one out,
        or that hold an accelerometer of another IMU or none.
    skipped_packets : int
        Windows of which packets are missing in the log.
    gyro_period_mismatches, accel_period_mismatches : int
        Windows whose length is not, to the microsecond, the logged one.
    max_gyro_residual, max_accel_residual : float
        Largest deviation on any axis [rad/s], [m/s^2]; NaN without windows.
    gyro_identical_share, accel_identical_share : float
        Share of windows whose three axes are the same bits; NaN without windows.
    """

    windows: int
    skipped_rows: int
    skipped_packets: int
    gyro_period_mismatches: int
    accel_period_mismatches: int
    max_gyro_residual: float
    max_accel_residual: float
    gyro_identical_share: float
    accel_identical_share: float

    @property
    def accepted(self) -> bool:
        """Every period agrees, and rounding explains every deviation."""
        identical = (self.gyro_identical_share + self.accel_identical_share) / 2.0
        return (
            self.windows > 0
            and self.gyro_period_mismatches == self.accel_period_mismatches == 0
            and self.max_gyro_residual <= MAX_GYRO_RESIDUAL
            and self.max_accel_residual <= MAX_ACCEL_RESIDUAL
            and identical >= MIN_IDENTICAL_SHARE
        )


def verify(  # noqa: PLR0913 (every part of a log that matters)
    gyro: Iterable[NDArray[np.void]],
    accel: Iterable[NDArray[np.void]],
    combined: NDArray[np.void],
    *,
    parameters: LogParameters,
    selection: NDArray[np.void] | None = None,
    correction: NDArray[np.void] | None = None,
    px4_version: tuple[int, int] = (1, 16),
) -> Verification:
    """Make the ``sensor_combined`` of a log again from its raw packets, and compare.

    Parameters
    ----------
    gyro, accel : iterables of arrays
        Every instance of ``sensor_gyro_fifo`` and ``sensor_accel_fifo`` in the log, or of
        ``sensor_gyro`` and ``sensor_accel`` where these are logged at their full rate.
    combined : (K,) array of SensorCombined.dtype
        What the log holds.
    parameters : LogParameters
        With the calibrations.
    selection : array of SensorSelection.dtype, optional
        Which devices were in use; by default the first of each.
    correction : structured array, optional
        Messages ``sensor_correction``: offsets by temperature.
    px4_version : tuple of 2 int, optional
        Of the autopilot.

    Returns
    -------
    Verification

    Raises
    ------
    ShapeError
        ``combined`` is of another type.
    """
    if combined.dtype != SensorCombined.dtype:
        raise ShapeError(f"expected an array of SensorCombined.dtype, got {combined.dtype}")
    combined = combined[np.argsort(combined["timestamp"], kind="stable")]
    ends_us = combined["timestamp"].astype(np.int64)
    gyro, accel = list(gyro), list(accel)
    gyro_ids = _in_use(ends_us, gyro, selection, "gyro_device_id")
    accel_ids = _in_use(ends_us, accel, selection, "accel_device_id")
    follows = _follows(combined, ends_us, gyro_ids, accel_ids)
    replayed, whole = np.zeros_like(combined), np.zeros(len(combined), np.bool_)
    for gyro_id, accel_id in {*zip(gyro_ids[follows], accel_ids[follows], strict=True)}:
        rows = follows & (gyro_ids == gyro_id) & (accel_ids == accel_id)
        ends = np.unique(np.append(ends_us[rows], ends_us[np.flatnonzero(rows) - 1]))
        at = np.searchsorted(ends, ends_us[rows]) - 1
        of_end = np.searchsorted(ends_us, ends[1:]).tolist()
        gyro_calibrations, accel_calibrations = (
            _calibrations(sensor, device, combined, parameters, correction)
            for sensor, device in _pair(int(gyro_id), int(accel_id))
        )
        records, complete = replay_windows(
            _of_device(gyro, int(gyro_id)),
            _of_device(accel, int(accel_id)),
            ends,
            gyro_calibration=[gyro_calibrations[row] for row in of_end],
            accel_calibration=[accel_calibrations[row] for row in of_end],
            px4_version=px4_version,
        )
        replayed[rows] = sensor_combined_from_vehicle_imu(records)[at]
        whole[rows] = complete[at]
    compared = follows & whole
    return _compared(
        combined[compared],
        replayed[compared],
        skipped_rows=len(combined) - int(follows.sum()),
        skipped_packets=int((follows & ~whole).sum()),
    )


def _pair(gyro_id: int, accel_id: int) -> tuple[tuple[Sensor, int], tuple[Sensor, int]]:
    return ("gyro", gyro_id), ("accel", accel_id)


def _compared(
    logged: NDArray[np.void],
    replayed: NDArray[np.void],
    *,
    skipped_rows: int,
    skipped_packets: int,
) -> Verification:
    gyro, accel = (
        np.abs(replayed[name].astype(np.float64) - logged[name]).max(axis=1)
        for name in ("gyro_rad", "accelerometer_m_s2")
    )
    mismatches = [
        int(np.count_nonzero(replayed[name] != logged[name]))
        for name in ("gyro_integral_dt", "accelerometer_integral_dt")
    ]
    known = len(logged) > 0
    return Verification(
        windows=len(logged),
        skipped_rows=skipped_rows,
        skipped_packets=skipped_packets,
        gyro_period_mismatches=mismatches[0],
        accel_period_mismatches=mismatches[1],
        max_gyro_residual=float(gyro.max()) if known else np.nan,
        max_accel_residual=float(accel.max()) if known else np.nan,
        gyro_identical_share=float((gyro == 0.0).mean()) if known else np.nan,
        accel_identical_share=float((accel == 0.0).mean()) if known else np.nan,
    )


def _follows(
    combined: NDArray[np.void], ends_us: IntArray, gyro_ids: IntArray, accel_ids: IntArray
) -> BoolArray:
    """Tell which rows hold the window after that of the row before, of one IMU."""
    follows = np.zeros(len(combined), np.bool_)
    length = combined["gyro_integral_dt"][1:].astype(np.int64)
    follows[1:] = (
        (np.abs(np.diff(ends_us) - length) < length / 2)
        & (np.diff(gyro_ids) == 0)
        & (np.diff(accel_ids) == 0)
        & (combined["accelerometer_timestamp_relative"][1:] == 0)
    )
    return follows


def _in_use(
    t_us: IntArray,
    instances: Sequence[NDArray[np.void]],
    selection: NDArray[np.void] | None,
    field: str,
) -> IntArray:
    """Return the id of the device in use at each time."""
    if selection is not None and len(selection):
        since = selection["timestamp"].astype(np.int64)
        row = np.maximum(np.searchsorted(since, t_us, "right") - 1, 0)
        return selection[field].astype(np.int64)[row]
    first = next((int(one["device_id"][0]) for one in instances if len(one)), 0)
    return np.full(len(t_us), first)


def _of_device(instances: Sequence[NDArray[np.void]], device_id: int) -> NDArray[np.void]:
    """Return the messages of one device, from the instance that has most of them."""
    nothing = np.zeros(0, SensorGyro.dtype)
    return max((one[one["device_id"] == device_id] for one in instances), key=len, default=nothing)


def _calibrations(
    sensor: Sensor,
    device_id: int,
    combined: NDArray[np.void],
    parameters: LogParameters,
    correction: NDArray[np.void] | None,
) -> list[SensorCalibration]:
    """Return the calibration in force at each row.

    A change of parameters takes effect where the count in the log steps; where no count ever
    does, at its time.
    """
    tracker = CalibrationTracker(sensor, device_id)
    now = dict(parameters.initial)
    states, since = [tracker.update(now)], [0]
    for changed_us, together in groupby(parameters.changes, itemgetter(0)):
        now.update((name, value) for _, name, value in together)
        states.append(tracker.update(now))
        since.append(changed_us)
    t_us = combined["timestamp"].astype(np.int64)
    of_row = np.searchsorted(since, t_us, "right") - 1
    steps = np.array([state.count for state in states], np.uint8) - np.uint8(states[0].count)
    counts = combined[f"{sensor}_calibration_count"]
    if steps.any() and counts.any():
        steps = np.maximum.accumulate(steps)
        last = np.searchsorted(steps, counts - counts[0], "right") - 1
        of_row = np.clip(of_row, np.searchsorted(steps, steps[last]), last)
    calibrations = [states[row] for row in of_row.tolist()]
    if correction is not None and len(correction):
        return _with_thermal(sensor, device_id, calibrations, t_us, correction)
    return calibrations


def _with_thermal(
    sensor: Sensor,
    device_id: int,
    calibrations: list[SensorCalibration],
    t_us: IntArray,
    correction: NDArray[np.void],
) -> list[SensorCalibration]:
    """Return calibrations with the offset by temperature that was published last."""
    offsets = [thermal_offset(record, sensor, device_id) for record in correction]
    of_row = np.searchsorted(correction["timestamp"].astype(np.int64), t_us, "right") - 1
    made: dict[tuple[int, bytes], SensorCalibration] = {}
    result = []
    for calibration, row in zip(calibrations, of_row.tolist(), strict=True):
        offset = offsets[row] if row >= 0 else np.zeros(3, np.float32)
        key = id(calibration), offset.tobytes()
        if key not in made:
            made[key] = replace(calibration, thermal_offset=offset)
        result.append(made[key])
    return result

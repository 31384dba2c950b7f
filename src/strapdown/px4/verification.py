"""Verification of a log: ``sensor_combined`` recomputed from raw packets and compared.

From the raw samples of the chips in a log, every window of the autopilot can be recomputed and
compared. The remaining differences are rounding that depends on the compiler: fused multiply-adds
and reciprocals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.messages._by_column import as_records
from strapdown.messages.conversion.px4_rates import sensor_combined_from_vehicle_imu
from strapdown.messages.px4 import SensorCombined, SensorGyro
from strapdown.px4.calibration_history import calibration_history
from strapdown.px4.replay import replay_windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray
    from strapdown.px4.calibration import Sensor, SensorCalibration
    from strapdown.px4.calibration_history import LogParameters

__all__ = ["Verification", "verify"]

MAX_GYRO_RESIDUAL: Final = 6e-8
"""Largest deviation of a rate that rounding explains [rad/s]."""
MAX_ACCEL_RESIDUAL: Final = 4e-6
"""Largest deviation of a specific force that rounding explains [m/s^2]."""
ROUNDINGS: Final = 4
"""The same in units of the last place of the largest axis, which dominates at high rates."""
_LIMITS: Final = {"gyro_rad": MAX_GYRO_RESIDUAL, "accelerometer_m_s2": MAX_ACCEL_RESIDUAL}
MIN_IDENTICAL_SHARE: Final = 0.5
"""Least share of windows without any deviation."""

_SETTLING_US: Final = 100_000  # time before and after a logged change within which it takes effect
_UNSETTLED: Final = -1


@dataclass(frozen=True)
class Verification:
    """Agreement of recomputed and logged windows.

    Parameters
    ----------
    windows : int
        Number of compared windows.
    skipped_rows : int
        Rows that do not follow the previous row because the log or the autopilot left one out,
        rows with an accelerometer of another IMU or none, and rows so near a change of the device,
        or of a calibration without count, that either may be in force.
    skipped_packets : int
        Windows with packets missing in the log.
    gyro_period_mismatches, accel_period_mismatches : int
        Windows whose length differs from the logged one, in whole microseconds.
    max_gyro_residual, max_accel_residual : float
        Largest deviation on any axis [rad/s], [m/s^2]; NaN without windows.
    gyro_identical_share, accel_identical_share : float
        Share of windows with identical bits in all three axes; NaN without windows.
    unexplained : int
        Number of deviations of either sensor that rounding does not explain.
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
    unexplained: int

    @property
    def accepted(self) -> bool:
        """Whether every length agrees and rounding explains every deviation."""
        identical = (self.gyro_identical_share + self.accel_identical_share) / 2.0
        return (
            self.windows > 0
            and self.gyro_period_mismatches == self.accel_period_mismatches == 0
            and self.unexplained == 0
            and identical >= MIN_IDENTICAL_SHARE
        )


def verify(  # noqa: PLR0913 (all relevant parts of a log)
    gyro: Iterable[NDArray[np.void]],
    accel: Iterable[NDArray[np.void]],
    combined: NDArray[np.void],
    *,
    parameters: LogParameters,
    selection: NDArray[np.void] | None = None,
    correction: NDArray[np.void] | None = None,
    px4_version: tuple[int, int] = (1, 16),
) -> Verification:
    """Recompute the ``sensor_combined`` of a log from its raw packets, and compare.

    Parameters
    ----------
    gyro, accel : iterables of arrays
        Every instance of ``sensor_gyro_fifo`` and ``sensor_accel_fifo`` in the log, or of
        ``sensor_gyro`` and ``sensor_accel`` where these are logged at their full rate.
    combined : (K,) array of SensorCombined.dtype
        The logged messages.
    parameters : LogParameters
        Parameters with the calibrations.
    selection : array of SensorSelection.dtype, optional
        Devices in use; by default the first of each.
    correction : structured array, optional
        Messages ``sensor_correction``: thermal offsets.
    px4_version : tuple of 2 int, optional
        Of the autopilot.

    Returns
    -------
    Verification

    Raises
    ------
    ShapeError
        ``combined`` has another type.
    """
    combined = as_records(combined, SensorCombined)
    combined = combined[np.argsort(combined["timestamp"], kind="stable")]
    ends_us = combined["timestamp"].astype(np.int64)
    gyro, accel = list(gyro), list(accel)
    gyro_ids = _in_use(ends_us, gyro, selection, "gyro_device_id")
    accel_ids = _in_use(ends_us, accel, selection, "accel_device_id")
    follows = _follows(combined, ends_us, gyro_ids, accel_ids)
    replayed, whole = np.zeros_like(combined), np.zeros(len(combined), np.bool_)
    for gyro_id, accel_id in {*zip(gyro_ids[follows], accel_ids[follows], strict=True)}:
        rows = np.flatnonzero(follows & (gyro_ids == gyro_id) & (accel_ids == accel_id))
        (gyro_calibrations, gyro_settled), (accel_calibrations, accel_settled) = (
            _calibrations(sensor, device, combined[rows], parameters, correction)
            for sensor, device in _pair(int(gyro_id), int(accel_id))
        )
        records, whole[rows] = replay_windows(
            _of_device(gyro, int(gyro_id)),
            _of_device(accel, int(accel_id)),
            (ends_us[rows - 1], ends_us[rows]),
            gyro_calibrations=gyro_calibrations,
            accel_calibrations=accel_calibrations,
            px4_version=px4_version,
        )
        replayed[rows] = sensor_combined_from_vehicle_imu(records)
        follows[rows] = gyro_settled & accel_settled
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
        np.abs(replayed[name].astype(np.float64) - logged[name]).max(axis=1) for name in _LIMITS
    )
    unexplained = sum(
        int(np.count_nonzero(deviation > np.maximum(least, ROUNDINGS * _last_place(logged[name]))))
        for deviation, (name, least) in zip((gyro, accel), _LIMITS.items(), strict=True)
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
        unexplained=unexplained,
    )


def _last_place(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the unit of the last place of the largest component of each vector."""
    place: NDArray[np.float32] = np.spacing(np.abs(vectors).max(axis=1))
    return place


def _follows(
    combined: NDArray[np.void], ends_us: IntArray, gyro_ids: IntArray, accel_ids: IntArray
) -> BoolArray:
    """Return whether each row holds the window directly after that of the previous row."""
    follows = np.zeros(len(combined), np.bool_)
    length = combined["gyro_integral_dt"][1:].astype(np.int64)
    follows[1:] = (
        (np.abs(np.diff(ends_us) - length) < length / 2)
        & (np.diff(gyro_ids) == 0)
        & (np.diff(accel_ids) == 0)
        & (gyro_ids[1:] != _UNSETTLED)
        & (accel_ids[1:] != _UNSETTLED)
        & (combined["accelerometer_timestamp_relative"][1:] == 0)
    )
    return follows


def _in_use(
    t_us: IntArray,
    instances: Sequence[NDArray[np.void]],
    selection: NDArray[np.void] | None,
    field: str,
) -> IntArray:
    """Return the id of the device in use at each time.

    A selection is stamped at its publication, after the first row that it affects.
    """
    if selection is not None and len(selection):
        since, ids = (selection[name].astype(np.int64) for name in ("timestamp", field))
        now, soon = (
            ids[np.maximum(np.searchsorted(since, at_us, "right") - 1, 0)]
            for at_us in (t_us, t_us + _SETTLING_US)
        )
        return np.where(now == soon, now, _UNSETTLED)
    first = next((int(one["device_id"][0]) for one in instances if len(one)), 0)
    return np.full(len(t_us), first)


def _of_device(instances: Sequence[NDArray[np.void]], device_id: int) -> NDArray[np.void]:
    """Return the messages of one device, from the instance with most of them."""
    nothing = np.zeros(0, SensorGyro.dtype)
    return max((one[one["device_id"] == device_id] for one in instances), key=len, default=nothing)


def _calibrations(
    sensor: Sensor,
    device_id: int,
    combined: NDArray[np.void],
    parameters: LogParameters,
    correction: NDArray[np.void] | None,
) -> tuple[list[SensorCalibration], BoolArray]:
    """Return the calibration in force at each row, and whether that is certain.

    A change of parameters takes effect at a step of the count in the log; without any step,
    approximately at its time.
    """
    history = calibration_history(sensor, device_id, parameters, correction)
    since, states = zip(*history, strict=True)
    t_us = combined["timestamp"].astype(np.int64)
    early, now, late = (
        np.searchsorted(since, t_us + shift_us, "right") - 1
        for shift_us in (-_SETTLING_US, 0, _SETTLING_US)
    )
    steps = np.array([state.count for state in states], np.uint8) - np.uint8(states[0].count)
    counts = combined[f"{sensor}_calibration_count"]
    if steps.any() and counts.any():
        steps = np.maximum.accumulate(steps).astype(np.int64)
        counted = (counts - counts[0]).astype(np.int64)
        # Steps before the first row are those that the steps within the log do not explain.
        counted += np.clip(steps[now[-1]] - counted[-1], 0, steps[now[0]])
        last = np.searchsorted(steps, counted, "right") - 1
        first = np.searchsorted(steps, steps[last])
        early, now, late = (np.clip(row, first, last) for row in (early, now, late))
    return [states[row] for row in now.tolist()], early == late

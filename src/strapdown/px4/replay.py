"""``vehicle_imu`` between given stamps: what PX4 made of packets that a log holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.messages.px4 import VehicleImu
from strapdown.px4._packets import usable
from strapdown.px4.calibration import SensorCalibration, apply
from strapdown.px4.driver import messages_from_fifo
from strapdown.px4.increments import integrate_float32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray

__all__ = ["replay_windows"]

_HISTORY: Final = 3  # messages before a window on which it depends, and the packet before them


class _Windows(NamedTuple):
    """Windows of one sensor: uncalibrated integrals between stamps, one row each."""

    lengths_us: IntArray  # 0 where no message lies in the window
    deltas: NDArray[np.float32]
    whole: BoolArray  # no message is missing on which the window depends


def replay_windows(  # noqa: PLR0913 (two sensors with their calibrations)
    gyro: NDArray[np.void],
    accel: NDArray[np.void],
    ends_us: IntArray,
    *,
    gyro_calibration: SensorCalibration | Sequence[SensorCalibration],
    accel_calibration: SensorCalibration | Sequence[SensorCalibration],
    px4_version: tuple[int, int] = (1, 16),
) -> tuple[NDArray[np.void], BoolArray]:
    """Make ``vehicle_imu`` between given stamps, with PX4's arithmetic.

    Parameters
    ----------
    gyro, accel : (N,) arrays of SensorGyro.dtype, SensorAccel.dtype, or of their FIFO forms
        Of one IMU. Packets are averaged first, as the driver does.
    ends_us : (K,) int64
        Ends of windows, ascending [us]; the first is the start of the first window.
    gyro_calibration, accel_calibration : SensorCalibration, or K - 1 of them
        In force at the end of each window.
    px4_version : tuple of 2 int, optional
        Of the autopilot.

    Returns
    -------
    records : (K - 1,) array of VehicleImu.dtype
        With lengths of 0 where a window has no message.
    whole : (K - 1,) bool
        No packet is missing on which the window depends.
    """
    records = np.zeros(max(len(ends_us) - 1, 0), VehicleImu.dtype)
    whole = np.ones(len(records), np.bool_)
    records["timestamp"] = records["timestamp_sample"] = ends_us[1:]
    for messages, calibration, field, sensor in (
        (_averaged(gyro), gyro_calibration, "delta_angle", "gyro"),
        (_averaged(accel), accel_calibration, "delta_velocity", "accel"),
    ):
        windows = _windows_between(
            messages, ends_us, coning=sensor == "gyro", px4_version=px4_version
        )
        if isinstance(calibration, SensorCalibration):
            calibration = [calibration] * len(records)  # noqa: PLW2901 (one for every row)
        records[f"{field}_dt"] = windows.lengths_us
        records[field] = _calibrated(windows, calibration)
        records[f"{sensor}_calibration_count"] = [one.count for one in calibration]
        records[f"{sensor}_device_id"] = messages["device_id"][-1] if len(messages) else 0
        whole &= windows.whole
    return records, whole


def _windows_between(
    messages: NDArray[np.void],
    ends_us: IntArray,
    *,
    coning: bool,
    px4_version: tuple[int, int] = (1, 16),
) -> _Windows:
    """Integrate the messages of one sensor between stamps.

    Parameters
    ----------
    messages : (N,) array of SensorGyro.dtype or SensorAccel.dtype
        In the order of their stamps.
    ends_us : (K,) int64
        Window k holds the messages after stamp k up to stamp k + 1, included [us].
    coning : bool
        Sum the coning correction: for a gyroscope.
    px4_version : tuple of 2 int, optional
        From (1, 16) on gaps are integrated straight through.

    Returns
    -------
    _Windows
        K - 1 rows.
    """
    t_us = messages["timestamp_sample"].astype(np.int64)
    window = np.searchsorted(ends_us, t_us)  # 0 before the first window
    is_last = np.ones(len(t_us), np.bool_)
    is_last[:-1] = window[:-1] != window[1:]
    is_last &= window < len(ends_us)
    values = np.column_stack([messages[axis] for axis in "xyz"])
    first_us = int(t_us[0]) if len(t_us) else 0
    rows, lengths, deltas = integrate_float32(
        t_us, values, coning=coning, is_last=is_last, previous_us=first_us,
        px4_version=px4_version,
    )  # fmt: skip
    result = _Windows(
        np.zeros(len(ends_us), np.int64),
        np.zeros((len(ends_us), 3), np.float32),
        np.zeros(len(ends_us), np.bool_),
    )
    result.lengths_us[window[rows]] = lengths
    result.deltas[window[rows]] = deltas
    result.whole[1:] = _is_whole(t_us, messages["samples"], ends_us)
    return _Windows._make(column[1:] for column in result)


def _averaged(messages: NDArray[np.void]) -> NDArray[np.void]:
    """Return messages in the order of their stamps; packets as the driver averages them."""
    messages = messages[np.argsort(messages["timestamp_sample"], kind="stable")]
    if "dt" in (messages.dtype.names or ()):
        return messages_from_fifo(messages[usable(messages)])
    return messages


def _is_whole(t_us: IntArray, samples: NDArray[np.uint8], ends_us: IntArray) -> BoolArray:
    """Tell for which windows no packet is missing, neither in them nor in what they need.

    A message needs the packet before its own for the sample that was carried over. A window
    needs the last two messages before it, for its first step and for the coning of that.
    """
    whole = np.zeros(max(len(ends_us) - 1, 0), np.bool_)
    sizes = np.maximum(samples.astype(np.int64), 1)
    steps = np.diff(t_us)
    if not len(steps):
        return whole
    expected = np.median(steps / sizes[1:]) * sizes[1:]
    missing = np.append(True, np.abs(steps - expected) > 0.5 * expected).cumsum()
    begins = np.searchsorted(t_us, ends_us[:-1], "right")
    stops = np.searchsorted(t_us, ends_us[1:], "right")
    # The message after a window tells that none is missing at its end.
    known = (
        (begins >= _HISTORY)
        & (stops > begins)
        & ((stops < len(t_us)) | (t_us[stops - 1] == ends_us[1:]))
    )
    begins, stops = begins[known], np.minimum(stops[known], len(t_us) - 1)
    whole[known] = missing[stops] == missing[begins - _HISTORY]
    return whole


def _calibrated(
    windows: _Windows, calibrations: Sequence[SensorCalibration]
) -> NDArray[np.float32]:
    """Return deltas of calibrated readings: PX4 calibrates the mean over a window."""
    seconds = np.float32(1e-6) * windows.lengths_us.astype(np.float32)[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        means = windows.deltas * (np.float32(1.0) / seconds)
    means[windows.lengths_us == 0] = 0.0
    numbers = {id(one): one for one in calibrations}
    of_row = np.array([id(one) for one in calibrations])
    for number, calibration in numbers.items():
        rows = of_row == number
        means[rows] = apply(calibration, means[rows])
    calibrated: NDArray[np.float32] = means * seconds
    return calibrated

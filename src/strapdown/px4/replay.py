"""Recomputation of ``vehicle_imu`` between given stamps from the packets of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.messages.px4 import VehicleImu
from strapdown.messages.wire import rows_by_key
from strapdown.px4._packets import usable
from strapdown.px4.calibration import apply
from strapdown.px4.driver import messages_from_fifo
from strapdown.px4.float32 import MICRO_F, ONE_F
from strapdown.px4.increments import integrate_float32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray
    from strapdown.px4.calibration import SensorCalibration

__all__ = ["replay_windows"]

_HISTORY: Final = 3  # messages before a window that it depends on, and the packet before these


class _Windows(NamedTuple):
    """Windows of one sensor: uncalibrated integrals between stamps, one row each."""

    lengths_us: IntArray  # 0 where the window contains no message
    deltas: NDArray[np.float32]
    whole: BoolArray  # no message that the window depends on is missing


def replay_windows(  # noqa: PLR0913 (two sensors with their calibrations)
    gyro: NDArray[np.void],
    accel: NDArray[np.void],
    bounds_us: tuple[IntArray, IntArray],
    *,
    gyro_calibrations: Sequence[SensorCalibration],
    accel_calibrations: Sequence[SensorCalibration],
    px4_version: tuple[int, int] = (1, 16),
) -> tuple[NDArray[np.void], BoolArray]:
    """Compute ``vehicle_imu`` between given stamps, with PX4's arithmetic.

    Parameters
    ----------
    gyro, accel : (N,) arrays of SensorGyro.dtype, SensorAccel.dtype, or of their FIFO forms
        Of one IMU. Packets are averaged first, as the driver does.
    bounds_us : two (K,) int64
        Starts and ends of ascending windows without overlap [us]. A window contains the messages
        after its start, up to and including its end.
    gyro_calibrations, accel_calibrations : sequences of K SensorCalibration
        Calibrations in force at the end of each window.
    px4_version : tuple of 2 int, optional
        Of the autopilot.

    Returns
    -------
    records : (K,) array of VehicleImu.dtype
        Lengths are 0 where a window contains no message.
    whole : (K,) bool
        No packet that the window depends on is missing.
    """
    records = np.zeros(len(bounds_us[1]), VehicleImu.dtype)
    whole = np.ones(len(records), np.bool_)
    records["timestamp"] = records["timestamp_sample"] = bounds_us[1]
    for messages, calibrations, field, sensor in (
        (_averaged(gyro), gyro_calibrations, "delta_angle", "gyro"),
        (_averaged(accel), accel_calibrations, "delta_velocity", "accel"),
    ):
        windows = _windows_between(
            messages, *bounds_us, coning=sensor == "gyro", px4_version=px4_version
        )
        records[f"{field}_dt"] = windows.lengths_us
        records[field] = _calibrated(windows, calibrations)
        records[f"{sensor}_calibration_count"] = [one.count for one in calibrations]
        records[f"{sensor}_device_id"] = messages["device_id"][-1] if len(messages) else 0
        whole &= windows.whole
    return records, whole


def _windows_between(
    messages: NDArray[np.void],
    starts_us: IntArray,
    ends_us: IntArray,
    *,
    coning: bool,
    px4_version: tuple[int, int],
) -> _Windows:
    """Integrate the messages of one sensor between stamps; messages are in order."""
    count = len(ends_us)
    t_us = messages["timestamp_sample"].astype(np.int64)
    window = np.searchsorted(ends_us, t_us)
    inside = (window < count) & (t_us > np.append(starts_us, 0)[window])
    # Each message between windows is a window of its own, so that no window is too long.
    is_last = ~inside
    is_last[:-1] |= window[:-1] != window[1:]
    is_last[-1:] = True
    values = np.column_stack([messages[axis] for axis in "xyz"])
    first_us = int(t_us[0]) if len(t_us) else 0
    rows, lengths, deltas = integrate_float32(
        t_us, values, coning=coning, is_last=is_last, previous_us=first_us,
        px4_version=px4_version,
    )  # fmt: skip
    result = _Windows(
        np.zeros(count, np.int64),
        np.zeros((count, 3), np.float32),
        _is_whole(t_us, messages["samples"], starts_us, ends_us),
    )
    made = inside[rows]
    result.lengths_us[window[rows[made]]] = lengths[made]
    result.deltas[window[rows[made]]] = deltas[made]
    return result


def _averaged(messages: NDArray[np.void]) -> NDArray[np.void]:
    """Return messages in the order of their stamps, with packets averaged as by the driver."""
    messages = messages[np.argsort(messages["timestamp_sample"], kind="stable")]
    if "dt" in (messages.dtype.names or ()):
        return messages_from_fifo(messages[usable(messages)])
    return messages


def _is_whole(
    t_us: IntArray, samples: NDArray[np.uint8], starts_us: IntArray, ends_us: IntArray
) -> BoolArray:
    """Return whether each window, with the packets it depends on, is complete.

    A message depends on the last sample of the previous packet. A window depends on the last two
    messages before it, for its first step and the coning of that step.
    """
    whole = np.zeros(len(ends_us), np.bool_)
    sizes = np.maximum(samples.astype(np.int64), 1)
    steps = np.diff(t_us)
    if not len(steps):
        return whole
    expected = np.median(steps / sizes[1:]) * sizes[1:]
    missing = np.append(True, np.abs(steps - expected) > 0.5 * expected).cumsum()
    begins = np.searchsorted(t_us, starts_us, "right")
    stops = np.searchsorted(t_us, ends_us, "right")
    # The message after a window shows whether one is missing at its end.
    known = (
        (begins >= _HISTORY)
        & (stops > begins)
        & ((stops < len(t_us)) | (t_us[stops - 1] == ends_us))
    )
    begins, stops = begins[known], np.minimum(stops[known], len(t_us) - 1)
    whole[known] = missing[stops] == missing[begins - _HISTORY]
    return whole


def _calibrated(
    windows: _Windows, calibrations: Sequence[SensorCalibration]
) -> NDArray[np.float32]:
    """Return deltas of calibrated readings: PX4 calibrates the mean over a window."""
    seconds = MICRO_F * windows.lengths_us.astype(np.float32)[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        means = windows.deltas * (ONE_F / seconds)
    means[windows.lengths_us == 0] = 0.0
    for rows in rows_by_key(np.array([id(one) for one in calibrations], np.uint64)):
        means[rows] = apply(calibrations[rows[0]], means[rows])
    calibrated: NDArray[np.float32] = means * seconds
    return calibrated

"""Windows that a PX4 log holds of one IMU, and the agreement of recomputed ones with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.messages.conversion.px4_rates import (
    sensor_combined_from_vehicle_imu,
    vehicle_imu_from_sensor_combined,
)
from strapdown.messages.px4 import SensorCombined, SensorSelection, VehicleImu

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.formats.px4.log import Px4Log
    from strapdown.formats.px4.raw_topics import RawMessages

__all__ = ["agreement", "logged_windows", "windows_of"]

_COMBINED: Final = (
    "gyro_rad", "gyro_integral_dt", "accelerometer_m_s2", "accelerometer_integral_dt",
)  # fmt: skip
_WINDOW: Final = ("delta_angle", "delta_angle_dt", "delta_velocity", "delta_velocity_dt")


def logged_windows(log: Px4Log) -> dict[str, NDArray[np.void]]:
    """Return the windows of a log as vehicle_imu by topic, those of the IMU in use first.

    Parameters
    ----------
    log : Px4Log
        The log.

    Returns
    -------
    dict of str to array of VehicleImu.dtype
        ``sensor_combined``, with the devices of ``sensor_selection``, and each ``vehicle_imu``.
    """
    found = {}
    if log.instances(SensorCombined.topic):
        selection = None
        if log.instances(SensorSelection.topic):
            selection = log.records(SensorSelection).records
        rows = log.records(SensorCombined).records
        records = vehicle_imu_from_sensor_combined(rows, selection=selection)
        found[SensorCombined.topic] = records
    for instance in log.instances(VehicleImu.topic):
        found[f"{VehicleImu.topic}.{instance}"] = log.records(VehicleImu, instance).records
    return found


def windows_of(
    windows: dict[str, NDArray[np.void]],
    gyro: RawMessages,
    accel: RawMessages,
    *,
    interval_us: int,
    is_only_imu: bool,
) -> NDArray[np.void]:
    """Return the windows of one IMU.

    Parameters
    ----------
    windows : dict of str to array of VehicleImu.dtype
        Of the log, as :func:`logged_windows`.
    gyro, accel : RawMessages
        Its sensors.
    interval_us : int
        Wanted length of a window. Where the log has windows of another length, by more than one
        message, the result is empty.
    is_only_imu : bool
        Windows without a device id are also those of this IMU.

    Returns
    -------
    (N,) array of VehicleImu.dtype
    """
    parts = [np.zeros(0, VehicleImu.dtype)]
    for records in reversed(windows.values()):
        chosen = np.ones(len(records), np.bool_)
        for name, raw in (("gyro_device_id", gyro), ("accel_device_id", accel)):
            chosen &= (records[name] == raw.device_id) | (is_only_imu & (records[name] == 0))
        parts.append(records[chosen])
    rows = np.concatenate(parts).astype(VehicleImu.dtype)
    steps_us = np.diff(gyro.messages["timestamp_sample"].astype(np.int64))
    if not (len(rows) and len(steps_us)):
        return rows[:0]
    usual_us = np.median(rows["delta_angle_dt"])
    return rows if abs(usual_us - interval_us) <= np.median(steps_us) else rows[:0]


def agreement(log: Px4Log, logged: NDArray[np.void], made: NDArray[np.void]) -> tuple[str, ...]:
    """Return a note about how many windows of a log were recomputed bit for bit.

    Parameters
    ----------
    log : Px4Log
        The log.
    logged : (N,) array of VehicleImu.dtype
        Its windows of one IMU.
    made : (M,) array of VehicleImu.dtype
        The recomputed windows.

    Returns
    -------
    tuple of str
        One line.
    """
    if not len(logged):
        return ("the log has no windows of this IMU and rate: their phase is that of its samples",)
    ends_us = np.unique(logged["timestamp_sample"])
    same = _agreeing(logged, made, "timestamp_sample", _WINDOW)
    if log.instances(SensorCombined.topic):
        combined = log.records(SensorCombined).records
        again = sensor_combined_from_vehicle_imu(made)
        same = np.union1d(same, _agreeing(combined, again, "timestamp", _COMBINED))
    met = int(np.isin(ends_us, made["timestamp_sample"]).sum())
    agreeing = int(np.isin(ends_us, same).sum())
    line = f"of {len(ends_us)} windows in the log, {met} are recomputed, {agreeing} bit for bit"
    if agreeing < len(ends_us):
        line += "; others lack samples in the log, or the autopilot's compiler rounds otherwise"
    return (line,)


def _agreeing(
    logged: NDArray[np.void], made: NDArray[np.void], stamp: str, fields: tuple[str, ...]
) -> IntArray:
    """Return the stamps at which both have the same numbers [us]."""
    stamps, row, place = np.intersect1d(logged[stamp], made[stamp], return_indices=True)
    same = np.ones(len(stamps), np.bool_)
    for name in fields:
        equal = logged[name][row] == made[name][place]
        same &= equal.all(axis=tuple(range(1, equal.ndim)))
    return stamps[same].astype(np.int64)

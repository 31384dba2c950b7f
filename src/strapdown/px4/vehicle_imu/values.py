"""Conversion between values of the kernels and calibrations, records and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, cast

import numpy as np

from strapdown.messages.px4 import VehicleImu, VehicleImuStatus
from strapdown.px4.float32 import Correction
from strapdown.px4.scheduling import Outputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import ByteArray
    from strapdown.px4.calibration import SensorCalibration
    from strapdown.px4.float32 import Vector

    Value = TypeVar("Value")

__all__ = ["as_correction", "float32_again", "room_for", "status_records", "vehicle_imu_records"]

STATUS_NUMBERS: Final = (
    ("accel_rate_hz", 1), ("gyro_rate_hz", 1), ("accel_raw_rate_hz", 1), ("gyro_raw_rate_hz", 1),
    ("accel_vibration_metric", 1), ("gyro_vibration_metric", 1), ("delta_angle_coning_metric", 1),
    ("mean_accel", 3), ("mean_gyro", 3), ("var_accel", 3), ("var_gyro", 3),
    ("temperature_accel", 1), ("temperature_gyro", 1),
)  # fmt: skip
"""Fields of a status in the order of the numbers of the kernel."""


def as_correction(calibration: SensorCalibration) -> Correction:
    """Return a calibration in the form of the kernels."""
    x, y, z = calibration.rotation
    return Correction(
        _vector(calibration.thermal_offset),
        _vector(calibration.offset),
        _vector(calibration.scale),
        (_vector(x), _vector(y), _vector(z)),
    )


def float32_again(value: Value) -> Value:
    """Return a value of a kernel with each floating point number converted back to float32.

    Compiled code returns float32 as Python floats, which would change the next operation.
    """
    if isinstance(value, float):
        return cast("Value", np.float32(value))
    if isinstance(value, tuple):
        parts = [float32_again(part) for part in value]
        make = getattr(type(value), "_make", tuple)
        return cast("Value", make(parts))
    return value


def room_for(rows: int) -> Outputs:
    """Return empty outputs of a kernel for a number of windows."""
    return Outputs(
        np.zeros((rows, 8), np.int64),
        np.zeros((rows, 6), np.float32),
        np.zeros((rows, 9), np.int64),
        np.zeros((rows, 21), np.float32),
    )


def vehicle_imu_records(
    out: Outputs,
    device_ids: tuple[int, int],
    counts: tuple[int, int] | tuple[ByteArray, ByteArray],
) -> NDArray[np.void]:
    """Return windows as messages.

    Parameters
    ----------
    out : Outputs
        Output rows of the kernel.
    device_ids : tuple of 2 int
        Device ids of gyroscope and accelerometer.
    counts : tuple of 2 int or of 2 (N,) uint8
        Calibration counts of the sensors.

    Returns
    -------
    (N,) array of VehicleImu.dtype
    """
    records = np.zeros(len(out.windows), VehicleImu.dtype)
    records["timestamp"] = records["timestamp_sample"] = out.windows[:, 3]
    for column, name in (
        (4, "delta_angle_dt"),
        (5, "delta_velocity_dt"),
        (6, "delta_angle_clipping"),
        (7, "delta_velocity_clipping"),
    ):
        records[name] = out.windows[:, column]
    records["delta_angle"] = out.deltas[:, :3]
    records["delta_velocity"] = out.deltas[:, 3:]
    records["gyro_calibration_count"], records["accel_calibration_count"] = counts
    records["gyro_device_id"], records["accel_device_id"] = device_ids
    return records


def status_records(out: Outputs, device_ids: tuple[int, int]) -> NDArray[np.void]:
    """Return status rows as messages.

    Parameters
    ----------
    out : Outputs
        Output rows of the kernel.
    device_ids : tuple of 2 int
        Device ids of gyroscope and accelerometer.

    Returns
    -------
    (M,) array of VehicleImuStatus.dtype
    """
    records = np.zeros(len(out.statuses), VehicleImuStatus.dtype)
    records["timestamp"] = out.statuses[:, 0]
    records["accel_clipping"] = out.statuses[:, 1:4]
    records["gyro_clipping"] = out.statuses[:, 4:7]
    records["accel_error_count"], records["gyro_error_count"] = out.statuses[:, 7:9].T
    column = 0
    for name, width in STATUS_NUMBERS:
        part = out.numbers[:, column : column + width]
        records[name] = part if width > 1 else part[:, 0]
        column += width
    records["gyro_device_id"], records["accel_device_id"] = device_ids
    return records


def _vector(values: NDArray[np.float32]) -> Vector:
    x, y, z = np.asarray(values, np.float32)
    return x, y, z

"""PX4's ``vehicle_imu``: from the messages of two sensors to increments and their status."""

from strapdown.px4.vehicle_imu.batch import (
    vehicle_imu_from_fifo,
    vehicle_imu_from_sensors,
    vehicle_imu_from_series,
)
from strapdown.px4.vehicle_imu.live import ScheduledVehicleImu
from strapdown.px4.vehicle_imu.settings import (
    Mode,
    PipelineResult,
    PipelineSettings,
    Recalibration,
    VehicleImuReport,
)
from strapdown.px4.vehicle_imu.stream import PipelineState, VehicleImuIntegrator

__all__ = [
    "Mode",
    "PipelineResult",
    "PipelineSettings",
    "PipelineState",
    "Recalibration",
    "ScheduledVehicleImu",
    "VehicleImuIntegrator",
    "VehicleImuReport",
    "vehicle_imu_from_fifo",
    "vehicle_imu_from_sensors",
    "vehicle_imu_from_series",
]

"""PX4's way from the samples of a chip to ``VehicleImu``, bit for bit, and a better one.

::

    series -> driver -> sensor_gyro, sensor_accel, *_fifo -> vehicle_imu -> down_sampler
                                              fifo -^             replay, verification

==================  ==========================================================================
module              what is there
==================  ==========================================================================
``device_id``       device ids, apart and together: :class:`DeviceId`, :class:`BusType`
``rotations``       how a chip is mounted: :func:`rotation_matrix`, :func:`rotate`
``calibration``     offsets and scales from parameters, their counts: :class:`CalibrationTracker`,
                    :class:`SensorCalibration`, and ``apply`` and ``correct``; and in
                    ``calibration_history`` through a log: :class:`LogParameters`
``driver``          what drivers publish: :class:`DriverChannel`, :func:`messages_from_fifo`
``chips``           and what they would publish of a series: :func:`fifo_from_series`,
                    :func:`sensor_messages_from_series`
``fifo``            packets to samples at their true spacing, and back: :func:`unroll`
``vehicle_imu``     the pipeline, of a recording or message by message:
                    :func:`vehicle_imu_from_series`, :class:`VehicleImuIntegrator`
``increments``      PX4's integrator alone: :func:`px4_increments`
``down_sampler``    what the estimator makes of the windows: :class:`EstimatorDownSampler`
``replay``          windows of a log made again: :func:`replay_windows`
``verification``    and compared with it: :func:`verify`
``vibration``       the metrics of ``vehicle_imu_status``: :func:`vibration_metrics`
``health``          and what they mean: :func:`vibration_report`, :func:`clipping_report`
``drift``           what an integrator leaves of coning and sculling: :func:`self_test`
==================  ==========================================================================

A batch of messages is an array of their ``dtype`` everywhere. The names of ``__all__`` load on
first use.
"""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.px4.calibration import (
        CalibrationTracker,
        SensorCalibration,
        calibration_from_parameters,
        thermal_offset,
    )
    from strapdown.px4.calibration_history import LogParameters
    from strapdown.px4.chips import ChannelSpec, fifo_from_series, sensor_messages_from_series
    from strapdown.px4.device_id import BusType, DeviceId
    from strapdown.px4.down_sampler import EstimatorDownSampler, down_sampled
    from strapdown.px4.drift import SelfTest, SelfTestRow, self_test
    from strapdown.px4.driver import DriverChannel, messages_from_fifo
    from strapdown.px4.fifo import FifoReport, Unrolled, repack, unroll
    from strapdown.px4.health import (
        ClippingReport,
        Level,
        VibrationReport,
        clipping_report,
        vibration_report,
    )
    from strapdown.px4.increments import integrate_float32, px4_increments
    from strapdown.px4.replay import replay_windows
    from strapdown.px4.rotations import rotate, rotate_counts, rotation_matrix
    from strapdown.px4.vehicle_imu import (
        Mode,
        PipelineReport,
        PipelineResult,
        PipelineSettings,
        PipelineState,
        Recalibration,
        ScheduledVehicleImu,
        VehicleImuIntegrator,
        vehicle_imu_from_fifo,
        vehicle_imu_from_sensors,
        vehicle_imu_from_series,
    )
    from strapdown.px4.verification import Verification, verify
    from strapdown.px4.vibration import vibration_metrics

_HOME = {
    "BusType": "device_id",
    "CalibrationTracker": "calibration",
    "ChannelSpec": "chips",
    "ClippingReport": "health",
    "DeviceId": "device_id",
    "DriverChannel": "driver",
    "EstimatorDownSampler": "down_sampler",
    "FifoReport": "fifo",
    "Level": "health",
    "LogParameters": "calibration_history",
    "Mode": "vehicle_imu",
    "PipelineReport": "vehicle_imu",
    "PipelineResult": "vehicle_imu",
    "PipelineSettings": "vehicle_imu",
    "PipelineState": "vehicle_imu",
    "Recalibration": "vehicle_imu",
    "ScheduledVehicleImu": "vehicle_imu",
    "SelfTest": "drift",
    "SelfTestRow": "drift",
    "SensorCalibration": "calibration",
    "Unrolled": "fifo",
    "VehicleImuIntegrator": "vehicle_imu",
    "Verification": "verification",
    "VibrationReport": "health",
    "calibration_from_parameters": "calibration",
    "clipping_report": "health",
    "down_sampled": "down_sampler",
    "fifo_from_series": "chips",
    "integrate_float32": "increments",
    "messages_from_fifo": "driver",
    "px4_increments": "increments",
    "repack": "fifo",
    "replay_windows": "replay",
    "rotate": "rotations",
    "rotate_counts": "rotations",
    "rotation_matrix": "rotations",
    "self_test": "drift",
    "sensor_messages_from_series": "chips",
    "thermal_offset": "calibration",
    "unroll": "fifo",
    "vehicle_imu_from_fifo": "vehicle_imu",
    "vehicle_imu_from_sensors": "vehicle_imu",
    "vehicle_imu_from_series": "vehicle_imu",
    "verify": "verification",
    "vibration_metrics": "vibration",
    "vibration_report": "health",
}

__all__ = [
    "BusType",
    "CalibrationTracker",
    "ChannelSpec",
    "ClippingReport",
    "DeviceId",
    "DriverChannel",
    "EstimatorDownSampler",
    "FifoReport",
    "Level",
    "LogParameters",
    "Mode",
    "PipelineReport",
    "PipelineResult",
    "PipelineSettings",
    "PipelineState",
    "Recalibration",
    "ScheduledVehicleImu",
    "SelfTest",
    "SelfTestRow",
    "SensorCalibration",
    "Unrolled",
    "VehicleImuIntegrator",
    "Verification",
    "VibrationReport",
    "calibration_from_parameters",
    "clipping_report",
    "down_sampled",
    "fifo_from_series",
    "integrate_float32",
    "messages_from_fifo",
    "px4_increments",
    "repack",
    "replay_windows",
    "rotate",
    "rotate_counts",
    "rotation_matrix",
    "self_test",
    "sensor_messages_from_series",
    "thermal_offset",
    "unroll",
    "vehicle_imu_from_fifo",
    "vehicle_imu_from_sensors",
    "vehicle_imu_from_series",
    "verify",
    "vibration_metrics",
    "vibration_report",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)

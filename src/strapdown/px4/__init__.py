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
``vibration``       the metrics of ``vehicle_imu_status``: :func:`vehicle_imu_vibration`
``health``          and what they mean: :func:`vibration_report`, :func:`clipping_report`
``drift``           what an integrator leaves of coning and sculling: :func:`self_test`
==================  ==========================================================================

A batch of messages is an array of their ``dtype`` everywhere. The names of ``__all__`` load on
first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

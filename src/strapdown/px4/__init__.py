"""PX4's processing from the samples of a chip to ``VehicleImu``, bit for bit, and a better one.

::

    series -> driver -> sensor_gyro, sensor_accel, *_fifo -> vehicle_imu -> down_sampler
                                              fifo -^             replay, verification

==================  ==========================================================================
module              content
==================  ==========================================================================
``device_id``       decoding and encoding of device ids: :class:`DeviceId`, :class:`BusType`
``rotations``       mounting of a chip on its board: :func:`rotation_matrix`, :func:`rotate`
``calibration``     offsets and scales from parameters, with counts: :class:`CalibrationTracker`,
                    :class:`SensorCalibration`, ``apply``, ``correct``; over the time of a log in
                    ``calibration_history``: :class:`LogParameters`
``driver``          messages of drivers: :class:`DriverChannel`, :func:`messages_from_fifo`
``chips``           the same for the samples of a series: :func:`fifo_from_series`,
                    :func:`sensor_messages_from_series`
``fifo``            packets to samples at their true spacing, and back: :func:`unroll`
``vehicle_imu``     the pipeline, for a recording or message by message:
                    :func:`vehicle_imu_from_series`, :class:`VehicleImuIntegrator`
``scheduling``      its kernels: order of the messages, and ends of windows
``channels``        its kernels: integration of a message, windows and status
``float32``         its kernels: PX4's arithmetic in float32
``increments``      PX4's integrator without scheduling: :func:`px4_increments`
``down_sampler``    sums of windows for the estimator: :class:`EstimatorDownSampler`
``replay``          windows of a log, recomputed: :func:`replay_windows`
``verification``    their comparison with the log: :func:`verify`
``vibration``       the metrics of ``vehicle_imu_status``: :func:`vehicle_imu_vibration`
``health``          their assessment: :func:`vibration_report`, :func:`clipping_report`
``drift``           drift of an integrator under coning and sculling: :func:`self_test`
==================  ==========================================================================

A batch of messages is always an array of their ``dtype``. The names of ``__all__`` load on first
use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

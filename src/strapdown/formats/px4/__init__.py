"""PX4 logs as a whole: topics and parameters, health, integration and verification.

===========================================  ==================================================
function                                     result
===========================================  ==================================================
:func:`load`, :func:`scan_ulog`              the whole log: :class:`Px4Log`
:func:`imu_health`                           clipping, calibration and vibration of each IMU:
                                             :class:`ImuHealth`
:func:`vibration_of`                         vibration over time: :class:`Metric`
:func:`vehicle_imu_from_recording`           ``vehicle_imu`` of each IMU: :class:`MadeImu`
:func:`write_vehicle_imu`                    the same, written to a file
:func:`verify_log`                           comparison with the ``sensor_combined`` of the log
===========================================  ==================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

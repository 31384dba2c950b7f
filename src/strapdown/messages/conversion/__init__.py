"""Conversion between messages and series: the functions, and the conventions they share.

:func:`convert` picks the function for a source and a target from one table.

Frames
    Messages of horus and ROS are body FLU, world ENU; those of PX4 are body FRD. A series in
    other frames is converted on writing; reading gives the frames of the message. Vectors and
    covariances change signs and places only; a quaternion between ENU and NED is rounded.
Units
    SI everywhere. ``linear_acceleration`` of a message is the ``specific_force`` of a series.
Time
    Integer nanoseconds; PX4 has microseconds, to which stamps are rounded. A series or message
    of rates that comes from increments is stamped at the middle of the interval, increments at
    its end: ``t_mid = t_end - dt // 2``.
Rates and increments
    ``rate = delta / dt``, each delta with its own dt. The inverse is only for mean rates over
    the interval; samples at points in time are integrated instead
    (:mod:`strapdown.inertial`). PX4's ``sensor_combined`` holds the rates of ``vehicle_imu``
    with its own rounding: the increment times the float32 quotient ``1e6 / dt``.
Covariance
    Absent, unknown and known (:mod:`strapdown.messages.covariance`) survive every conversion;
    the writer uses the form of its dialect. In a series, an orientation that no row has is
    ``None``, a row without one is NaN, and a covariance that is unknown in all rows is ``None``.
    An absent orientation is written as the identity.
Loss
    A field that a target cannot hold is left out. :func:`losses` names it, and ``strict=True``
    raises :class:`~strapdown.errors.ConversionLossError` instead.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

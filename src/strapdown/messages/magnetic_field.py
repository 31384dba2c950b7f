"""``MagneticField``: ``sensor_msgs/MagneticField`` of a magnetometer, in the forms of ROS 1 and 2.

==========  =============================  ====================================
type        field                          unit
==========  =============================  ====================================
float64[3]  ``magnetic_field``             T, body FLU; NaN where not measured
float64[9]  ``magnetic_field_covariance``  T^2, row by row; all 0, or -1 first,
                                           where it is unknown
==========  =============================  ====================================

References
----------
ROS REP 145, Conventions for IMU Sensor Drivers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_floats
from strapdown.messages import cdr
from strapdown.messages._serial import RosMessage
from strapdown.messages.cdr import Stamped

if TYPE_CHECKING:
    from typing import Self

    from strapdown.messages.wire import Payload, Wire

__all__ = ["MagneticField"]


@dataclass(frozen=True)
class MagneticField(RosMessage):
    """One ``sensor_msgs/MagneticField``.

    Parameters
    ----------
    header_stamp_ns : int
        Time in the header [ns].
    frame_id : str
        Frame that the header names.
    magnetic_field : tuple of 3 floats
        Field in the axes of the body [T, FLU]; NaN where an axis is not measured.
    magnetic_field_covariance : tuple of 9 floats
        Of its error, row by row [T^2]; all 0, or -1 first, where it is unknown.

    Examples
    --------
    >>> message = MagneticField(1, "imu_link", (20e-6, 0.0, -43e-6))
    >>> MagneticField.from_cdr(message.to_cdr()) == message
    True
    """

    magnetic_field: tuple[float, ...] = (0.0,) * 3
    magnetic_field_covariance: tuple[float, ...] = (0.0,) * 9

    @classmethod
    def _read(cls, data: Payload, wire: Wire) -> Self:
        stamp_ns, frame_id, values, _ = cdr.decode(data, 12, wire)
        x, y, z, *covariance = values.tolist()
        return cls(stamp_ns, frame_id, (x, y, z), tuple(covariance))

    def _write(self, wire: Wire, seq: int) -> bytes:
        field = as_floats(self.magnetic_field, "magnetic_field", (3,))
        covariance = as_floats(self.magnetic_field_covariance, "magnetic_field_covariance", (9,))
        values = np.concatenate([field, covariance])
        return cdr.encode(Stamped(self.header_stamp_ns, self.frame_id, values, seq), wire)

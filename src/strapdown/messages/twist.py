"""``TwistWithCovarianceStamped``: the message of ``geometry_msgs``, in the forms of ROS 1 and 2.

===========  ==============  ==========================================
type         field           unit
===========  ==============  ==========================================
float64[3]   ``linear``      m/s
float64[3]   ``angular``     rad/s
float64[36]  ``covariance``  of both, row by row; 0 where it is unknown
===========  ==============  ==========================================
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

__all__ = ["TwistWithCovarianceStamped"]


@dataclass(frozen=True)
class TwistWithCovarianceStamped(RosMessage):
    """One ``geometry_msgs/TwistWithCovarianceStamped``, such as the velocity of a GNSS receiver.

    Parameters
    ----------
    header_stamp_ns : int
        Time in the header [ns].
    frame_id : str
        Frame that the header names.
    linear, angular : tuple of 3 floats
        Velocity [m/s] and angular velocity [rad/s]; those of a receiver are ENU.
    covariance : tuple of 36 floats
        Of linear, then angular velocity, row by row [m/s, rad/s]; 0 where it is unknown.

    Examples
    --------
    >>> message = TwistWithCovarianceStamped(1, "gps", (1.0, 0.5, 0.0))
    >>> TwistWithCovarianceStamped.from_cdr(message.to_cdr()) == message
    True
    """

    linear: tuple[float, ...] = (0.0,) * 3
    angular: tuple[float, ...] = (0.0,) * 3
    covariance: tuple[float, ...] = (0.0,) * 36

    @classmethod
    def _read(cls, data: Payload, wire: Wire) -> Self:
        stamp_ns, frame_id, values, _ = cdr.decode(data, 42, wire)
        numbers = tuple(values.tolist())
        return cls(stamp_ns, frame_id, numbers[:3], numbers[3:6], numbers[6:])

    def _write(self, wire: Wire, seq: int) -> bytes:
        linear = as_floats(self.linear, "linear", (3,))
        angular = as_floats(self.angular, "angular", (3,))
        covariance = as_floats(self.covariance, "covariance", (36,))
        values = np.concatenate([linear, angular, covariance])
        return cdr.encode(Stamped(self.header_stamp_ns, self.frame_id, values, seq), wire)

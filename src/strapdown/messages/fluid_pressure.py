"""``FluidPressure``: ``sensor_msgs/FluidPressure`` of a barometer, in the forms of ROS 1 and ROS 2.

==========  ==================  ==========================
type        field               unit
==========  ==================  ==========================
float64     ``fluid_pressure``  Pa, absolute
float64     ``variance``        Pa^2; 0 where it is unknown
==========  ==================  ==========================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strapdown.messages import cdr
from strapdown.messages._serial import RosMessage
from strapdown.messages.cdr import Stamped

if TYPE_CHECKING:
    from typing import Self

    from strapdown.messages.wire import Payload, Wire

__all__ = ["FluidPressure"]


@dataclass(frozen=True)
class FluidPressure(RosMessage):
    """One ``sensor_msgs/FluidPressure``.

    Parameters
    ----------
    header_stamp_ns : int
        Time in the header [ns].
    frame_id : str
        Frame that the header names.
    fluid_pressure : float
        Absolute pressure [Pa].
    variance : float
        Of its error [Pa^2]; 0 where it is unknown.

    Examples
    --------
    >>> message = FluidPressure(1, "baro", 101_325.0)
    >>> FluidPressure.from_cdr(message.to_cdr()) == message
    True
    """

    fluid_pressure: float = 0.0
    variance: float = 0.0

    @classmethod
    def _read(cls, data: Payload, wire: Wire) -> Self:
        stamp_ns, frame_id, values, _ = cdr.decode(data, 2, wire)
        return cls(stamp_ns, frame_id, *values.tolist())

    def _write(self, wire: Wire, seq: int) -> bytes:
        values = np.array([self.fluid_pressure, self.variance])
        return cdr.encode(Stamped(self.header_stamp_ns, self.frame_id, values, seq), wire)

"""``NavSatFix``: ``sensor_msgs/NavSatFix`` with its header, in the forms of ROS 1 and ROS 2.

Unlike the messages of :mod:`strapdown.messages.cdr` it does not consist of numbers of one type:

==========  ============================  =======================================
type        field                         unit
==========  ============================  =======================================
int8        ``status``                    -1 no fix, 0 fix, 1 SBAS, 2 GBAS
uint16      ``service``                   bits of the systems used
float64     ``latitude``, ``longitude``   deg
float64     ``altitude``                  m above the WGS 84 ellipsoid
float64[9]  ``position_covariance``       m^2, ENU, row by row
uint8       ``position_covariance_type``  0 unknown, 1 approximated, 2 diagonal
                                          known, 3 known
==========  ============================  =======================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from strapdown.messages._serial import MessageReader, MessageWriter, RosMessage

if TYPE_CHECKING:
    from typing import Self

    from strapdown.messages.wire import Payload, Wire

__all__ = ["NavSatFix"]


@dataclass(frozen=True)
class NavSatFix(RosMessage):
    """One ``sensor_msgs/NavSatFix``.

    Parameters
    ----------
    header_stamp_ns : int
        Time in the header [ns].
    frame_id : str
        Frame that the header names.
    status, service : int
        Kind of the fix, and the satellite systems.
    latitude, longitude : float
        [deg].
    altitude : float
        Above the WGS 84 ellipsoid [m]; NaN where there is none.
    position_covariance : tuple of 9 floats
        [m^2, ENU].
    position_covariance_type : int
        Origin of the covariance.

    Examples
    --------
    >>> message = NavSatFix(1, "gps", latitude=40.1, longitude=-105.1, altitude=1601.4)
    >>> NavSatFix.from_cdr(message.to_cdr()) == message
    True
    """

    NO_FIX: ClassVar[int] = -1
    FIX: ClassVar[int] = 0
    SBAS_FIX: ClassVar[int] = 1
    GBAS_FIX: ClassVar[int] = 2
    COVARIANCE_UNKNOWN: ClassVar[int] = 0
    COVARIANCE_APPROXIMATED: ClassVar[int] = 1
    COVARIANCE_DIAGONAL_KNOWN: ClassVar[int] = 2
    COVARIANCE_KNOWN: ClassVar[int] = 3

    status: int = 0
    service: int = 1
    latitude: float = 0.0
    longitude: float = 0.0
    altitude: float = 0.0
    position_covariance: tuple[float, ...] = (0.0,) * 9
    position_covariance_type: int = 0

    @classmethod
    def _read(cls, data: Payload, wire: Wire) -> Self:
        reader = MessageReader(data, wire)
        stamp_ns, frame_id = reader.header()
        (status,), (service,) = reader.numbers("b"), reader.numbers("H")
        latitude, longitude, altitude, *covariance = reader.numbers("d", 12)
        (kind,) = reader.numbers("B")
        reader.finish()
        return cls(
            stamp_ns,
            frame_id,
            status=status,
            service=service,
            latitude=latitude,
            longitude=longitude,
            altitude=altitude,
            position_covariance=tuple(covariance),
            position_covariance_type=kind,
        )

    def _write(self, wire: Wire, seq: int) -> bytes:
        writer = MessageWriter(wire)
        writer.header(self.header_stamp_ns, self.frame_id, seq)
        writer.numbers("b", self.status)
        writer.numbers("H", self.service)
        place = self.latitude, self.longitude, self.altitude
        writer.numbers("d", *place, *self.position_covariance)
        writer.numbers("B", self.position_covariance_type)
        return writer.data()

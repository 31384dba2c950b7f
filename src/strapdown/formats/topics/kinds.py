"""Types and encodings of the messages that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.formats._nearest_rows import MAGNETOMETER_WITHIN_NS
from strapdown.formats.mcap.messages import channel_encoding, mcap_form
from strapdown.messages import ros_types
from strapdown.messages.cdr import Wire
from strapdown.messages.imu import Imu
from strapdown.messages.navsat import NavSatFix
from strapdown.messages.pose import Odometry
from strapdown.messages.px4 import (
    SensorAccel,
    SensorCombined,
    SensorGyro,
    VehicleAcceleration,
    VehicleAngularVelocity,
    VehicleAttitude,
    VehicleImu,
    VehicleOdometry,
)
from strapdown.messages.ros_odometry import RosOdometry

if TYPE_CHECKING:
    from strapdown.messages._record import Record
    from strapdown.messages.uorb import UorbMessage

__all__ = [
    "FIELDWISE",
    "HORUS",
    "PX4",
    "TWISTS",
    "VECTORS",
    "WITHIN_NS",
    "can_read",
    "modern",
]

HORUS: Final[dict[str, type[Record]]] = {mcap_form(kind).schema: kind for kind in (Imu, Odometry)}
"""Messages of horus, stored as they are in memory, by type name."""

_PX4_KINDS: Final[tuple[type[UorbMessage], ...]] = (
    VehicleImu,
    SensorCombined,
    SensorGyro,
    SensorAccel,
    VehicleAngularVelocity,
    VehicleAcceleration,
    VehicleAttitude,
    VehicleOdometry,
)
PX4: Final = {f"px4_msgs/msg/{kind.__name__}": kind for kind in _PX4_KINDS}
"""Messages of PX4, by type name."""

FIELDWISE: Final[dict[str, type[NavSatFix | RosOdometry]]] = {
    ros_types.NAV_SAT_FIX.name: NavSatFix,
    ros_types.ODOMETRY.name: RosOdometry,
}
"""Types whose messages are read field by field."""
TWISTS: Final = (
    ros_types.TWIST_WITH_COVARIANCE_STAMPED.name,
    ros_types.TWIST_STAMPED.name,
)
"""Types of velocities of a receiver, the more complete first."""
VECTORS: Final = {
    ros_types.MAGNETIC_FIELD.name: "magnetic_field",
    ros_types.VECTOR3_STAMPED.name: "velocity_world",
}
"""Types of vectors, with the column of a series that they become."""
WITHIN_NS: Final = {"magnetic_field": MAGNETOMETER_WITHIN_NS, "velocity_world": 0}
"""Largest distance in time from a vector to its row, by column [ns]; 0 requires equal stamps."""


def modern(kind: str) -> str:
    """Return the ROS 2 name of a type."""
    return kind.replace("/", "/msg/") if kind.count("/") == 1 and kind not in HORUS else kind


def can_read(kind: str, encoding: str) -> bool:
    """Return whether messages of this type and encoding can be converted to series."""
    if kind in HORUS:
        return encoding == channel_encoding(kind)
    if modern(kind) in PX4:
        return encoding == Wire.CDR or (
            encoding == Wire.ROS1 and modern(kind) == ros_types.VEHICLE_IMU.name
        )
    ros = ros_types.ROS_TYPES.get(modern(kind))
    return (
        encoding in list(Wire)
        and ros is not None
        and (ros.floats is not None or ros.name in FIELDWISE)
    )

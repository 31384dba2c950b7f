"""Encoding of single messages in MCAP files, by type.

=======================  ==================================  ========================
type                     schema                              message encoding
=======================  ==================================  ========================
``Imu``                  ``horus/Imu``                       ``x-horus-imu``, 304 bytes
``RosImu``               ``sensor_msgs/msg/Imu``             ``cdr``
``NavSatFix``            ``sensor_msgs/msg/NavSatFix``       ``cdr``
``FluidPressure``        ``sensor_msgs/msg/FluidPressure``   ``cdr``
``MagneticField``        ``sensor_msgs/msg/MagneticField``   ``cdr``
``TwistWithCovariance``  ``geometry_msgs/msg/TwistWith``     ``cdr``
``Stamped``              ``CovarianceStamped``
``Pose3D``               ``geometry_msgs/msg/PoseStamped``   ``cdr``, frame ``map``
those of PX4             ``px4_msgs/msg/NAME``               ``cdr``
``Odometry`` and others  ``horus/NAME``                      ``x-horus-name``, its bytes
=======================  ==================================  ========================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown import messages
from strapdown.messages import cdr
from strapdown.messages._record import Record
from strapdown.messages.cdr import Stamped, Wire
from strapdown.messages.fluid_pressure import FluidPressure
from strapdown.messages.magnetic_field import MagneticField
from strapdown.messages.navsat import NavSatFix
from strapdown.messages.pose import Pose3D
from strapdown.messages.px4_versions import decode_samples
from strapdown.messages.ros import RosImu
from strapdown.messages.ros_types import (
    FLUID_PRESSURE,
    IMU,
    MAGNETIC_FIELD,
    NAV_SAT_FIX,
    POSE_STAMPED,
    ROS_TYPES,
    TWIST_WITH_COVARIANCE_STAMPED,
)
from strapdown.messages.twist import TwistWithCovarianceStamped
from strapdown.messages.uorb import UorbMessage
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.messages._serial import RosMessage
    from strapdown.messages.cdr import Payload
    from strapdown.messages.ros_types import RosType

__all__ = [
    "WORLD",
    "McapForm",
    "channel_encoding",
    "channel_metadata",
    "form_of_channel",
    "mcap_form",
    "schema_of",
]

WORLD: Final = "map"
"""Frame name in the headers of poses (REP 105)."""
_QOS: Final = """\
- history: 1
  depth: 10
  reliability: 1
  durability: 2
  deadline: {sec: 9223372036, nsec: 854775807}
  lifespan: {sec: 9223372036, nsec: 854775807}
  liveliness: 1
  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}
  avoid_ros_namespace_conventions: false
"""
"""The default profile of a ROS 2 publisher: keep last 10, reliable, volatile."""


@dataclass(frozen=True)
class McapForm:
    """Encoding of one type of messages in a file.

    Parameters
    ----------
    msg_type : type
        Class of the messages.
    schema : str
        Name of their type in the file.
    encode : callable
        From a message to its bytes.
    decode : callable
        From bytes to a message; raises FormatError where they are invalid.
    stamp_ns : callable
        The stamp of a message [ns], 0 where it has none.
    """

    msg_type: type[Any]
    schema: str
    encode: Callable[[Any], bytes]
    decode: Callable[[Payload], Any]
    stamp_ns: Callable[[Any], int]

    @property
    def encoding(self) -> str:
        """Message encoding of the channel."""
        return channel_encoding(self.schema)


def channel_encoding(schema: str) -> str:
    """Return the encoding in which messages of a type are written."""
    return Wire.CDR if schema in ROS_TYPES else "x-" + schema.lower().replace("/", "-")


def channel_metadata(schema: str) -> dict[str, str]:
    """Return the metadata of a channel that ROS 2 tools need for playback."""
    ros = ROS_TYPES.get(schema)
    return {
        "offered_qos_profiles": _QOS,
        **({} if ros is None else {"topic_type_hash": ros.rihs01}),
    }


def schema_of(schema: str) -> tuple[str, bytes]:
    """Return encoding and text of a definition; both empty for plain structures."""
    ros = ROS_TYPES.get(schema)
    return ("", b"") if ros is None else ("ros2msg", ros.definition.encode())


def mcap_form(msg_type: type[Any]) -> McapForm:
    """Return the form in which messages of a type are written.

    Raises
    ------
    TypeError
        Messages of that type have no encoding.
    """
    if msg_type not in _BY_TYPE:
        raise TypeError(
            f"expected a type of strapdown.messages, got {msg_type.__qualname__}: its messages "
            "cannot be written"
        )
    return _BY_TYPE[msg_type]


def form_of_channel(schema: str, encoding: str) -> McapForm | None:
    """Return the form of the messages of a channel; None for an unsupported type.

    Parameters
    ----------
    schema : str
        Name of their type, in the spelling of ROS 1 or ROS 2.
    encoding : str
        Encoding of the messages.
    """
    if encoding == Wire.ROS1:
        is_imu = schema.replace("/msg/", "/") == IMU.ros1_name
        return replace(_BY_TYPE[RosImu], decode=RosImu.from_ros1) if is_imu else None
    form = _BY_SCHEMA.get(schema)
    return form if form is not None and form.encoding == encoding else None


def _pose_to_cdr(pose: Pose3D) -> bytes:
    values = np.concatenate([pose.position, pose.orientation])
    return cdr.encode(Stamped(pose.timestamp_ns, WORLD, values))


def _pose_from_cdr(data: Payload) -> Pose3D:
    stamp_ns, _, values, _ = cdr.decode(data, 7)
    pose = Pose3D(timestamp_ns=stamp_ns)
    pose.position, pose.orientation = values[:3], values[3:]
    return pose


def _own_stamp(message: Any) -> int:  # noqa: ANN401 (a message with or without a stamp)
    return int(getattr(message, "timestamp_ns", 0))


def _header_stamp(message: RosImu | RosMessage) -> int:
    return message.header_stamp_ns


def _raw(kind: type[Record]) -> McapForm:
    return McapForm(kind, f"horus/{kind.__name__}", bytes, kind.from_bytes, _own_stamp)


def _records() -> list[type[Record]]:
    """Return the types that are not written as ROS types."""
    kinds = [getattr(messages, name) for name in messages.__all__]
    return [
        kind
        for kind in kinds
        if isinstance(kind, type)
        and issubclass(kind, Record)
        and not issubclass(kind, (UorbMessage, Pose3D))
    ]


def _framed(kind: type[RosMessage], ros: RosType) -> McapForm:
    return McapForm(kind, ros.name, kind.to_cdr, kind.from_cdr, _header_stamp)


def _px4(kind: type[UorbMessage], schema: str) -> McapForm:
    sampled = "timestamp_sample" in (kind.dtype.names or ())
    stamp_us = attrgetter("timestamp_sample" if sampled else "timestamp")

    def decode(data: Payload) -> UorbMessage:
        return kind.from_record(decode_samples(kind, [data])[0].records[0])

    return McapForm(
        kind, schema, kind.to_cdr, decode, lambda message: int(stamp_us(message)) * NS_PER_US
    )


_FORMS: Final = (
    McapForm(RosImu, IMU.name, RosImu.to_cdr, RosImu.from_cdr, _header_stamp),
    _framed(NavSatFix, NAV_SAT_FIX),
    _framed(FluidPressure, FLUID_PRESSURE),
    _framed(MagneticField, MAGNETIC_FIELD),
    _framed(TwistWithCovarianceStamped, TWIST_WITH_COVARIANCE_STAMPED),
    McapForm(Pose3D, POSE_STAMPED.name, _pose_to_cdr, _pose_from_cdr, _own_stamp),
    *(_raw(kind) for kind in _records()),
    *(_px4(ros.uorb, ros.name) for ros in ROS_TYPES.values() if ros.uorb is not None),
)
_BY_TYPE: Final = {form.msg_type: form for form in _FORMS}
_BY_SCHEMA: Final = {form.schema: form for form in _FORMS}

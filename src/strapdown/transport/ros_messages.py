"""ROS types and wire formats of the messages of a topic.

===================  =============================  ===========
message here         ROS type                       wires
===================  =============================  ===========
``Imu``, ``RosImu``  ``sensor_msgs/Imu``            CDR, ROS 1
``Pose3D``           ``geometry_msgs/PoseStamped``  CDR, ROS 1
``NavSatFix``        ``sensor_msgs/NavSatFix``      CDR, ROS 1
``FluidPressure``    ``sensor_msgs/FluidPressure``  CDR, ROS 1
``MagneticField``    ``sensor_msgs/MagneticField``  CDR, ROS 1
a twist              that of ``geometry_msgs``      CDR, ROS 1
messages of PX4      ``px4_msgs/...``               CDR
===================  =============================  ===========

Conversion follows :mod:`strapdown.messages.conversion`: stamps become header stamps, and the
covariances of ``Imu`` are converted to the normal form of the dialect that is written. A
``RosImu``, ``NavSatFix``, ``FluidPressure``, ``MagneticField`` and ``TwistWithCovarianceStamped``
pass unchanged, with their own frame name.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import FormatError, TransportError, ValueRangeError
from strapdown.messages import (
    FluidPressure,
    Imu,
    MagneticField,
    NavSatFix,
    Pose3D,
    RosImu,
    TwistWithCovarianceStamped,
    cdr,
)
from strapdown.messages.cdr import Stamped, Wire
from strapdown.messages.covariance import HORUS_ABSENT, ROS_ABSENT, normal_form
from strapdown.messages.ros_types import (
    FLUID_PRESSURE,
    IMU,
    MAGNETIC_FIELD,
    NAV_SAT_FIX,
    POSE_STAMPED,
    ROS_TYPES,
    TWIST_WITH_COVARIANCE_STAMPED,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from strapdown.messages._serial import RosMessage
    from strapdown.messages.cdr import Payload
    from strapdown.messages.ros_types import RosType
    from strapdown.messages.uorb import UorbMessage

__all__ = ["RosForm", "message_type_of", "ros_form", "type_carried"]


@dataclass(frozen=True)
class RosForm:
    """Encoding and decoding of one message type for ROS.

    Parameters
    ----------
    msg_type : type
        The type here.
    ros : RosType
        The ROS type.
    wires : tuple of Wire
        Serialisations that the ROS type has.
    """

    msg_type: type[Any]
    ros: RosType
    wires: tuple[Wire, ...]
    _write: Callable[[Payload, str, Wire, int], bytes]
    _read: Callable[[Payload, Wire], bytes]

    @property
    def dds_name(self) -> str:
        """The name that the type has in DDS, such as ``sensor_msgs::msg::dds_::Imu_``."""
        package, _, name = self.ros.name.split("/")
        return f"{package}::msg::dds_::{name}_"

    def encode(self, payload: Payload, frame_id: str, wire: Wire, seq: int = 0) -> bytes:
        """Write a message for ROS.

        Parameters
        ----------
        payload : bytes-like
            The message in its :func:`~strapdown.transport.wire.wire_form`.
        frame_id : str
            Frame in the header, if the message names none.
        wire : Wire
            One of :attr:`wires`.
        seq : int
            Sequence number in a ROS 1 header.

        Returns
        -------
        bytes
            With CDR, including its encapsulation of four bytes.

        Raises
        ------
        ValueRangeError
            A stamp, the sequence number or the frame name does not fit its field.
        """
        return self._write(payload, frame_id, wire, seq)

    def decode(self, data: Payload, wire: Wire) -> bytes:
        """Read a message of ROS.

        Parameters
        ----------
        data : bytes-like
            With CDR, including its encapsulation of four bytes.
        wire : Wire
            One of :attr:`wires`.

        Returns
        -------
        bytes
            The message in its :func:`~strapdown.transport.wire.wire_form`.

        Raises
        ------
        FormatError
            The bytes are not such a message.
        """
        return self._read(data, wire)


def ros_form(msg_type: type[Any], wire: Wire = Wire.CDR) -> RosForm:
    """Return the ROS form of a message type.

    Raises
    ------
    TransportError
        ROS has no type for them on that wire.
    """
    form = _FORMS.get(msg_type)
    if form is None or wire not in form.wires:
        possible = ", ".join(kind.__name__ for kind, form in _FORMS.items() if wire in form.wires)
        version = "ROS 1" if wire is Wire.ROS1 else "ROS 2"
        raise TransportError(
            f"{version} has no message for {msg_type.__qualname__}; possible are {possible}"
        )
    return form


def message_type_of(ros_name: str) -> type[Any] | None:
    """Return the message type for a ROS type, such as ``"sensor_msgs/msg/Imu"``.

    Names of ROS 1 and DDS (``"sensor_msgs/Imu"``, ``"sensor_msgs::msg::dds_::Imu_"``) are
    understood too; ``sensor_msgs/Imu`` gives ``Imu``.
    """
    parts = ros_name.replace("::", "/").split("/")
    name = f"{parts[0]}/msg/{parts[-1].removesuffix('_')}"
    return next((form.msg_type for form in _FORMS.values() if form.ros.name == name), None)


def type_carried(topic: str, ros_names: Collection[str]) -> type[Any] | None:
    """Return the message type for a topic that others publish; None if nobody does.

    Raises
    ------
    TransportError
        No message type fits any of the ROS types.
    """
    kinds = filter(None, map(message_type_of, sorted(ros_names)))
    kind = next(kinds, None)
    if ros_names and kind is None:
        possible = ", ".join(
            form.ros.name for form in _FORMS.values() if form.msg_type is not RosImu
        )
        raise TransportError(
            f"topic {topic!r} carries {', '.join(sorted(ros_names))}; expected one of {possible}"
        )
    return kind


_STAMP: Final = struct.Struct("<Q")


def _write_pose(payload: Payload, frame_id: str, wire: Wire, seq: int) -> bytes:
    return _encode(payload, payload[:56], (frame_id, seq), wire)


def _read_pose(data: Payload, wire: Wire) -> bytes:
    message = cdr.decode(data, 7, wire)
    return message.values.tobytes() + _STAMP.pack(message.stamp_ns)


def _write_imu(payload: Payload, frame_id: str, wire: Wire, seq: int) -> bytes:
    return _encode(payload, _in_dialect(payload, ROS_ABSENT), (frame_id, seq), wire)


def _read_imu(data: Payload, wire: Wire) -> bytes:
    message = cdr.decode(data, 37, wire)
    return _in_dialect(message.values.tobytes(), HORUS_ABSENT) + _STAMP.pack(message.stamp_ns)


def _write_ros_imu(payload: Payload, frame_id: str, wire: Wire, seq: int) -> bytes:
    message = cdr.decode(payload, 37)
    message = message._replace(frame_id=message.frame_id or frame_id, seq=seq)
    return cdr.encode(message, wire)


def _read_ros_imu(data: Payload, wire: Wire) -> bytes:
    message = cdr.decode(data, 37, wire)
    try:
        return cdr.encode(message)
    except ValueRangeError as error:  # ROS 1 has stamps and frame names that ROS 2 does not have
        raise FormatError(str(error)) from error


def _framed_form(ros: RosType, kind: type[RosMessage]) -> RosForm:
    def write(payload: Payload, frame_id: str, wire: Wire, seq: int) -> bytes:
        message = kind.from_cdr(payload)
        return replace(message, frame_id=message.frame_id or frame_id).to_wire(wire, seq=seq)

    def read(data: Payload, wire: Wire) -> bytes:
        message = kind.from_wire(data, wire)
        try:
            return message.to_cdr()
        except ValueRangeError as error:  # as above
            raise FormatError(str(error)) from error

    return RosForm(kind, ros, _BOTH, write, read)


def _uorb_form(ros: RosType, kind: type[UorbMessage]) -> RosForm:
    size = 4 + kind.cdr_dtype.itemsize

    def write(payload: Payload, _frame_id: str, _wire: Wire, _seq: int) -> bytes:
        return kind.from_buffer_copy(payload).to_cdr()

    def read(data: Payload, _wire: Wire) -> bytes:
        padded = 0 < len(data) - size < 4  # RTPS pads a message to whole words
        return bytes(kind.from_cdr(data[:size] if padded else data))

    return RosForm(kind, ros, (Wire.CDR,), write, read)


def _encode(payload: Payload, numbers: Payload, header: tuple[str, int], wire: Wire) -> bytes:
    """Write float64 behind a header whose stamp is the last field of the payload."""
    frame_id, seq = header
    (stamp_ns,) = _STAMP.unpack_from(payload, len(numbers))
    return cdr.encode(Stamped(stamp_ns, frame_id, np.frombuffer(numbers, "<f8"), seq), wire)


def _in_dialect(numbers: Payload, orientation_absent: tuple[float, ...]) -> bytes:
    """Return the 37 numbers of an IMU with the covariances in their normal forms."""
    return b"".join(
        (
            numbers[:32],
            _normal_form(bytes(numbers[32:104]), orientation_absent),
            numbers[104:128],
            _normal_form(bytes(numbers[128:200]), ROS_ABSENT),
            numbers[200:224],
            _normal_form(bytes(numbers[224:296]), ROS_ABSENT),
        )
    )


@lru_cache(maxsize=256)
def _normal_form(block: bytes, absent: tuple[float, ...]) -> bytes:
    """Return nine numbers in normal form; they are mostly the same from message to message."""
    return normal_form(np.frombuffer(block, "<f8"), absent).tobytes()


_BOTH: Final = (Wire.CDR, Wire.ROS1)
_FORMS: Final[Mapping[type[Any], RosForm]] = {
    form.msg_type: form
    for form in (
        RosForm(Imu, IMU, _BOTH, _write_imu, _read_imu),
        RosForm(RosImu, IMU, _BOTH, _write_ros_imu, _read_ros_imu),
        RosForm(Pose3D, POSE_STAMPED, _BOTH, _write_pose, _read_pose),
        _framed_form(NAV_SAT_FIX, NavSatFix),
        _framed_form(FLUID_PRESSURE, FluidPressure),
        _framed_form(MAGNETIC_FIELD, MagneticField),
        _framed_form(TWIST_WITH_COVARIANCE_STAMPED, TwistWithCovarianceStamped),
        *(_uorb_form(ros, ros.uorb) for ros in ROS_TYPES.values() if ros.uorb),
    )
}

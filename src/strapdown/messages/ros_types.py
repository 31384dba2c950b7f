"""The ROS message types that strapdown reads and writes: definitions and identifiers.

A definition is the concatenated form that MCAP files and ROS 2 bags carry (encoding
``ros2msg``): the message, then every type inside it after a line of 80 ``=``. Field lists come
from the ``.msg`` files of ``common_interfaces`` and of PX4. ``rihs01`` is the type hash of ROS 2
(REP 2016), the same for Humble and Jazzy; ``md5`` is that of the ROS 1 type.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "IMU",
    "MAGNETIC_FIELD",
    "POSE_STAMPED",
    "QUATERNION_STAMPED",
    "ROS_TYPES",
    "VECTOR3_STAMPED",
    "VEHICLE_IMU",
    "RosType",
]


@dataclass(frozen=True)
class RosType:
    """A ROS message type.

    Parameters
    ----------
    name : str
        ROS 2 name, such as ``"sensor_msgs/msg/Imu"``.
    definition : str
        Concatenated ``ros2msg`` text.
    rihs01 : str
        ROS 2 type hash with its prefix ``RIHS01_``.
    floats : int, optional
        How many float64 follow the header, where the message is nothing else.
    md5 : str, optional
        ROS 1 type hash, where ROS 1 has the type.
    """

    name: str
    definition: str
    rihs01: str
    floats: int | None = None
    md5: str | None = None

    @property
    def ros1_name(self) -> str:
        """ROS 1 name, such as ``"sensor_msgs/Imu"``."""
        return self.name.replace("/msg/", "/")


_SEPARATOR: Final = "=" * 80 + "\nMSG: "

_HEADER: Final = f"""\
{_SEPARATOR}std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{_SEPARATOR}builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
_QUATERNION: Final = f"""\
{_SEPARATOR}geometry_msgs/Quaternion
float64 x 0
float64 y 0
float64 z 0
float64 w 1
"""
_VECTOR3: Final = f"""\
{_SEPARATOR}geometry_msgs/Vector3
float64 x
float64 y
float64 z
"""
_POSE: Final = f"""\
{_SEPARATOR}geometry_msgs/Pose
geometry_msgs/Point position
geometry_msgs/Quaternion orientation
{_SEPARATOR}geometry_msgs/Point
float64 x
float64 y
float64 z
"""

IMU: Final = RosType(
    name="sensor_msgs/msg/Imu",
    floats=37,
    definition="""\
std_msgs/Header header
geometry_msgs/Quaternion orientation
float64[9] orientation_covariance
geometry_msgs/Vector3 angular_velocity
float64[9] angular_velocity_covariance
geometry_msgs/Vector3 linear_acceleration
float64[9] linear_acceleration_covariance
"""
    + _HEADER
    + _QUATERNION
    + _VECTOR3,
    rihs01="RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b",
    md5="6a62c6daae103f4ff57a132d6f95cec2",
)

MAGNETIC_FIELD: Final = RosType(
    name="sensor_msgs/msg/MagneticField",
    floats=12,
    definition="""\
std_msgs/Header header
geometry_msgs/Vector3 magnetic_field
float64[9] magnetic_field_covariance
"""
    + _HEADER
    + _VECTOR3,
    rihs01="RIHS01_e80f32f56a20486c9923008fc1a1db07bbb273cbbf6a5b3bfa00835ee00e4dff",
    md5="2f3b0b43eed0c9501de0fa3ff89a45aa",
)

QUATERNION_STAMPED: Final = RosType(
    name="geometry_msgs/msg/QuaternionStamped",
    floats=4,
    definition="""\
std_msgs/Header header
geometry_msgs/Quaternion quaternion
"""
    + _HEADER
    + _QUATERNION,
    rihs01="RIHS01_381add86c6c3160644d228ca342182c7fd6c7fab11c7a85ad817a9cc22dbac6e",
    md5="e57f1e547e0e1fd13504588ffc8334e2",
)

POSE_STAMPED: Final = RosType(
    name="geometry_msgs/msg/PoseStamped",
    floats=7,
    definition="""\
std_msgs/Header header
geometry_msgs/Pose pose
"""
    + _HEADER
    + _POSE
    + _QUATERNION,
    rihs01="RIHS01_10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8",
    md5="d3812c3cbc69362b77dc0b19b345f8f5",
)

VECTOR3_STAMPED: Final = RosType(
    name="geometry_msgs/msg/Vector3Stamped",
    floats=3,
    definition="""\
std_msgs/Header header
geometry_msgs/Vector3 vector
"""
    + _HEADER
    + _VECTOR3,
    rihs01="RIHS01_d4829622288cbb443886e7ea94ea5671a3b1be6bab4ad04224432a65f7d7887a",
    md5="7b324c7325e683bf02a9b14b01090ec7",
)

VEHICLE_IMU: Final = RosType(
    name="px4_msgs/msg/VehicleImu",
    definition="""\
uint64 timestamp
uint64 timestamp_sample
uint32 accel_device_id
uint32 gyro_device_id
float32[3] delta_angle
float32[3] delta_velocity
uint32 delta_angle_dt
uint32 delta_velocity_dt
uint8 CLIPPING_X = 1
uint8 CLIPPING_Y = 2
uint8 CLIPPING_Z = 4
uint8 delta_angle_clipping
uint8 delta_velocity_clipping
uint8 accel_calibration_count
uint8 gyro_calibration_count
""",
    rihs01="RIHS01_fe916cbea44a1f277388c7d8c3d1d5c7ac01bb020ea09e16a940d58802834c25",
)

ROS_TYPES: Final[Mapping[str, RosType]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            IMU,
            MAGNETIC_FIELD,
            QUATERNION_STAMPED,
            POSE_STAMPED,
            VECTOR3_STAMPED,
            VEHICLE_IMU,
        )
    }
)
"""Every type by its ROS 2 name."""

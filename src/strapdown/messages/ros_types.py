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

from strapdown.messages.px4 import (
    SensorAccel,
    SensorAccelFifo,
    SensorCombined,
    SensorGyro,
    SensorGyroFifo,
    SensorSelection,
    VehicleAcceleration,
    VehicleAngularVelocity,
    VehicleAttitude,
    VehicleImu,
    VehicleImuStatus,
    VehicleOdometry,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown.messages.uorb import UorbMessage

__all__ = [
    "FLUID_PRESSURE",
    "IMU",
    "MAGNETIC_FIELD",
    "NAV_SAT_FIX",
    "ODOMETRY",
    "POSE_STAMPED",
    "QUATERNION_STAMPED",
    "ROS_TYPES",
    "SENSOR_ACCEL",
    "SENSOR_ACCEL_FIFO",
    "SENSOR_COMBINED",
    "SENSOR_GYRO",
    "SENSOR_GYRO_FIFO",
    "SENSOR_SELECTION",
    "TWIST_STAMPED",
    "TWIST_WITH_COVARIANCE_STAMPED",
    "VECTOR3_STAMPED",
    "VEHICLE_ACCELERATION",
    "VEHICLE_ANGULAR_VELOCITY",
    "VEHICLE_ATTITUDE",
    "VEHICLE_IMU",
    "VEHICLE_IMU_STATUS",
    "VEHICLE_ODOMETRY",
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
        Number of float64 after the header, where the message has nothing else.
    md5 : str, optional
        ROS 1 type hash, where ROS 1 has the type.
    uorb : type of UorbMessage, optional
        The PX4 message with the same fields.
    """

    name: str
    definition: str
    rihs01: str
    floats: int | None = None
    md5: str | None = None
    uorb: type[UorbMessage] | None = None

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


_TWIST: Final = f"""\
{_SEPARATOR}geometry_msgs/Twist
geometry_msgs/Vector3 linear
geometry_msgs/Vector3 angular
"""

TWIST_STAMPED: Final = RosType(
    name="geometry_msgs/msg/TwistStamped",
    floats=6,
    definition="""\
std_msgs/Header header
geometry_msgs/Twist twist
"""
    + _HEADER
    + _TWIST
    + _VECTOR3,
    rihs01="RIHS01_5f0fcd4f81d5d06ad9b4c4c63e3ea51b82d6ae4d0558f1d475229b1121db6f64",
    md5="98d34b0043a2093cf9d9345ab6eef12e",
)

TWIST_WITH_COVARIANCE_STAMPED: Final = RosType(
    name="geometry_msgs/msg/TwistWithCovarianceStamped",
    floats=42,
    definition=f"""\
std_msgs/Header header
geometry_msgs/TwistWithCovariance twist
{_SEPARATOR}geometry_msgs/TwistWithCovariance
geometry_msgs/Twist twist
float64[36] covariance
"""
    + _HEADER
    + _TWIST
    + _VECTOR3,
    rihs01="RIHS01_77b67434531e6529b7a0091357b186b6ebdb17fd9ffd3e0c7ce9d3fb11a44563",
    md5="8927a1a12fb2607ceea095b2dc440a96",
)

FLUID_PRESSURE: Final = RosType(
    name="sensor_msgs/msg/FluidPressure",
    floats=2,
    definition="""\
std_msgs/Header header
float64 fluid_pressure
float64 variance
"""
    + _HEADER,
    rihs01="RIHS01_22dfb2b145a0bd5a31a1ac3882a1b32148b51d9b2f3bab250290d66f3595bc32",
    md5="804dc5cea1c5306d6a2eb80b9833befe",
)

NAV_SAT_FIX: Final = RosType(
    name="sensor_msgs/msg/NavSatFix",
    definition=f"""\
uint8 COVARIANCE_TYPE_UNKNOWN = 0
uint8 COVARIANCE_TYPE_APPROXIMATED = 1
uint8 COVARIANCE_TYPE_DIAGONAL_KNOWN = 2
uint8 COVARIANCE_TYPE_KNOWN = 3
std_msgs/Header header
sensor_msgs/NavSatStatus status
float64 latitude
float64 longitude
float64 altitude
float64[9] position_covariance
uint8 position_covariance_type
{_SEPARATOR}sensor_msgs/NavSatStatus
int8 STATUS_NO_FIX = -1
int8 STATUS_FIX = 0
int8 STATUS_SBAS_FIX = 1
int8 STATUS_GBAS_FIX = 2
uint16 SERVICE_GPS = 1
uint16 SERVICE_GLONASS = 2
uint16 SERVICE_COMPASS = 4
uint16 SERVICE_GALILEO = 8
int8 status
uint16 service
"""
    + _HEADER,
    rihs01="RIHS01_62223ab3fe210a15976021da7afddc9e200dc9ec75231c1b6a557fc598a65404",
    md5="2d3a8cd499b9b4a0249fb98fd05cfa48",
)


ODOMETRY: Final = RosType(
    name="nav_msgs/msg/Odometry",
    definition=f"""\
std_msgs/Header header
string child_frame_id
geometry_msgs/PoseWithCovariance pose
geometry_msgs/TwistWithCovariance twist
{_SEPARATOR}geometry_msgs/PoseWithCovariance
geometry_msgs/Pose pose
float64[36] covariance
{_SEPARATOR}geometry_msgs/TwistWithCovariance
geometry_msgs/Twist twist
float64[36] covariance
"""
    + _HEADER
    + _POSE
    + _QUATERNION
    + _TWIST
    + _VECTOR3,
    rihs01="RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0",
    md5="cd5e73d190d741a2f92e81eda573aca7",
)


def _px4(kind: type[UorbMessage], rihs01: str, constants: str = "") -> RosType:
    """Return the ROS type of a PX4 message, whose definition may begin with constants."""
    name = f"px4_msgs/msg/{kind.__name__}"
    return RosType(name, constants + kind.definition, f"RIHS01_{rihs01}", uorb=kind)


_CLIPPING: Final = """\
uint8 CLIPPING_X = 1
uint8 CLIPPING_Y = 2
uint8 CLIPPING_Z = 4
"""

VEHICLE_IMU: Final = _px4(
    VehicleImu, "fe916cbea44a1f277388c7d8c3d1d5c7ac01bb020ea09e16a940d58802834c25", _CLIPPING
)
VEHICLE_IMU_STATUS: Final = _px4(
    VehicleImuStatus, "fc2218502efa240e1d43e97a4d8e1c087cbb76fc8cecd15bcec30641593b0da0"
)
SENSOR_GYRO: Final = _px4(
    SensorGyro, "bbf5db9d49fc39a564f97b7b2acf78da2193797d93a4a7d36dd3b30ae9022222"
)
SENSOR_ACCEL: Final = _px4(
    SensorAccel, "2620c26d35061da80743cc9cc35c782f920db4832d14dd801d7ff48991bfd90b"
)
SENSOR_GYRO_FIFO: Final = _px4(
    SensorGyroFifo, "586e39f7767bcefc668eb4e440af79d603f4d5396a9389b3fbfb3d352e776201"
)
SENSOR_ACCEL_FIFO: Final = _px4(
    SensorAccelFifo, "76579a928768c56395e40fe7dc79b1f64ab491f715bd5d574bd795bc5ecac32d"
)
SENSOR_COMBINED: Final = _px4(
    SensorCombined,
    "e8bb561edb3106315085519255a844e4420677c58bb5dece8f7e3005f9e91d4c",
    "int32 RELATIVE_TIMESTAMP_INVALID = 2147483647\n" + _CLIPPING,
)
VEHICLE_ATTITUDE: Final = _px4(
    VehicleAttitude, "9af74ac6c01335f3a8612e3579d4eaa89a9d81550d933ed057f5d6252dc7e50c"
)
VEHICLE_ODOMETRY: Final = _px4(
    VehicleOdometry,
    "4295b96ad312084aa35c84bdcec65ba2f57eb4f6a293d57d52d95acbe99ff817",
    """\
uint8 POSE_FRAME_UNKNOWN = 0
uint8 POSE_FRAME_NED = 1
uint8 POSE_FRAME_FRD = 2
uint8 VELOCITY_FRAME_UNKNOWN = 0
uint8 VELOCITY_FRAME_NED = 1
uint8 VELOCITY_FRAME_FRD = 2
uint8 VELOCITY_FRAME_BODY_FRD = 3
""",
)
VEHICLE_ACCELERATION: Final = _px4(
    VehicleAcceleration, "76b711ac73de8f5e5c8777f2c2a27d8f29e3b2b39d7ad20de98276e2595f4f11"
)
VEHICLE_ANGULAR_VELOCITY: Final = _px4(
    VehicleAngularVelocity, "a9085b1ed1b428c4e7a6c7f5564f3c0b026de1c5791c3362dd1982092a7699da"
)
SENSOR_SELECTION: Final = _px4(
    SensorSelection, "d7988f3dc4c42a9db6ab43c6f413c4e28798022c46e09d1aa94a3b0932596c5e"
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
            TWIST_STAMPED,
            TWIST_WITH_COVARIANCE_STAMPED,
            FLUID_PRESSURE,
            NAV_SAT_FIX,
            ODOMETRY,
            VEHICLE_IMU,
            VEHICLE_IMU_STATUS,
            SENSOR_GYRO,
            SENSOR_ACCEL,
            SENSOR_GYRO_FIFO,
            SENSOR_ACCEL_FIFO,
            SENSOR_COMBINED,
            VEHICLE_ATTITUDE,
            VEHICLE_ODOMETRY,
            VEHICLE_ACCELERATION,
            VEHICLE_ANGULAR_VELOCITY,
            SENSOR_SELECTION,
        )
    }
)
"""Every type by its ROS 2 name."""

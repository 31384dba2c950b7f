"""Messages, field-exact: horus, ROS and PX4, and conversion between them and to series.

Layouts live in one module per dialect; :mod:`strapdown.messages.conversion` has the rules. The
names below load on first use.
"""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.messages import cdr, conversion, ros_types
    from strapdown.messages.basic import Quaternion, Vector3
    from strapdown.messages.cdr import Batch, Stamped, Wire
    from strapdown.messages.conversion import losses
    from strapdown.messages.covariance import CovarianceStatus
    from strapdown.messages.imu import Imu
    from strapdown.messages.plane import Pose2D, Twist
    from strapdown.messages.pose import Odometry, Pose3D
    from strapdown.messages.px4 import (
        MESSAGES,
        ULOG_FORMAT,
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
    from strapdown.messages.ros import RosImu
    from strapdown.messages.ros_types import ROS_TYPES, RosType

__all__ = [
    "MESSAGES",
    "ROS_TYPES",
    "ULOG_FORMAT",
    "Batch",
    "CovarianceStatus",
    "Imu",
    "Odometry",
    "Pose2D",
    "Pose3D",
    "Quaternion",
    "RosImu",
    "RosType",
    "SensorAccel",
    "SensorAccelFifo",
    "SensorCombined",
    "SensorGyro",
    "SensorGyroFifo",
    "SensorSelection",
    "Stamped",
    "Twist",
    "Vector3",
    "VehicleAcceleration",
    "VehicleAngularVelocity",
    "VehicleAttitude",
    "VehicleImu",
    "VehicleImuStatus",
    "VehicleOdometry",
    "Wire",
    "cdr",
    "conversion",
    "losses",
    "ros_types",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Batch": "cdr",
        "CovarianceStatus": "covariance",
        "Imu": "imu",
        "MESSAGES": "px4",
        "Odometry": "pose",
        "Pose2D": "plane",
        "Pose3D": "pose",
        "Quaternion": "basic",
        "ROS_TYPES": "ros_types",
        "RosImu": "ros",
        "RosType": "ros_types",
        "SensorAccel": "px4",
        "SensorAccelFifo": "px4",
        "SensorCombined": "px4",
        "SensorGyro": "px4",
        "SensorGyroFifo": "px4",
        "SensorSelection": "px4",
        "Stamped": "cdr",
        "Twist": "plane",
        "ULOG_FORMAT": "px4",
        "Vector3": "basic",
        "VehicleAcceleration": "px4",
        "VehicleAngularVelocity": "px4",
        "VehicleAttitude": "px4",
        "VehicleImu": "px4",
        "VehicleImuStatus": "px4",
        "VehicleOdometry": "px4",
        "Wire": "cdr",
        "cdr": "cdr",
        "conversion": "conversion",
        "losses": "conversion.loss",
        "ros_types": "ros_types",
    },
)

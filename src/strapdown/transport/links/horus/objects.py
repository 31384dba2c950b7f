"""Messages as objects of horus, which shows their fields and no bytes, and back."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CODECS"]

_IMU = struct.Struct("<37dQ")
_POSE = struct.Struct("<7dQ")
_ODOMETRY = struct.Struct("<3dQ6dQ576x32s32sQ")
_VECTOR = struct.Struct("<3d")
_QUATERNION = struct.Struct("<4d")
_POSE_2D = struct.Struct("<3dQ")
_TWIST = struct.Struct("<6dQ")


def _imu_from_horus(imu: Any) -> bytes:  # noqa: ANN401 (a class of horus, as below)
    return _IMU.pack(
        *(imu.qx, imu.qy, imu.qz, imu.qw),
        *imu.orientation_covariance,
        *(imu.gyro_x, imu.gyro_y, imu.gyro_z),
        *imu.angular_velocity_covariance,
        *(imu.accel_x, imu.accel_y, imu.accel_z),
        *imu.linear_acceleration_covariance,
        imu.timestamp_ns,
    )


def _imu_to_horus(horus: Any, payload: bytes) -> Any:  # noqa: ANN401
    values = _IMU.unpack(payload)
    imu = horus.Imu(*values[25:28], *values[13:16], values[37])
    imu.qx, imu.qy, imu.qz, imu.qw = values[:4]
    imu.orientation_covariance = list(values[4:13])
    imu.angular_velocity_covariance = list(values[16:25])
    imu.linear_acceleration_covariance = list(values[28:37])
    return imu


def _pose_from_horus(pose: Any) -> bytes:  # noqa: ANN401
    position, turn = (pose.x, pose.y, pose.z), (pose.qx, pose.qy, pose.qz, pose.qw)
    return _POSE.pack(*position, *turn, pose.timestamp_ns)


def _pose_to_horus(horus: Any, payload: bytes) -> Any:  # noqa: ANN401
    return horus.Pose3D(*_POSE.unpack(payload))


def _odometry_from_horus(odometry: Any) -> bytes:  # noqa: ANN401
    stamp = odometry.timestamp_ns
    pose = (odometry.x, odometry.y, odometry.theta, stamp)
    twist = (odometry.linear_velocity, 0.0, 0.0, 0.0, 0.0, odometry.angular_velocity, stamp)
    return _ODOMETRY.pack(*pose, *twist, b"", b"", stamp)


def _odometry_to_horus(horus: Any, payload: bytes) -> Any:  # noqa: ANN401
    values = _ODOMETRY.unpack(payload)
    odometry = horus.Odometry()
    odometry.update(horus.Pose2D(*values[:4]), horus.Twist(*values[4:11]))
    odometry.set_frames(*(name.rstrip(b"\0").decode(errors="replace") for name in values[11:13]))
    odometry.timestamp_ns = values[13]
    return odometry


def _vector_from_horus(vector: Any) -> bytes:  # noqa: ANN401
    return _VECTOR.pack(vector.x, vector.y, vector.z)


def _vector_to_horus(horus: Any, payload: bytes) -> Any:  # noqa: ANN401
    return horus.Vector3(*_VECTOR.unpack(payload))


def _quaternion_from_horus(quaternion: Any) -> bytes:  # noqa: ANN401
    return _QUATERNION.pack(quaternion.x, quaternion.y, quaternion.z, quaternion.w)


def _quaternion_to_horus(horus: Any, payload: bytes) -> Any:  # noqa: ANN401
    return horus.Quaternion(*_QUATERNION.unpack(payload))


def _pose_2d_from_horus(pose: Any) -> bytes:  # noqa: ANN401
    return _POSE_2D.pack(pose.x, pose.y, pose.theta, pose.timestamp_ns)


def _pose_2d_to_horus(horus: Any, payload: bytes) -> Any:  # noqa: ANN401
    return horus.Pose2D(*_POSE_2D.unpack(payload))


def _twist_from_horus(twist: Any) -> bytes:  # noqa: ANN401
    linear = (twist.linear_x, twist.linear_y, twist.linear_z)
    angular = (twist.angular_x, twist.angular_y, twist.angular_z)
    return _TWIST.pack(*linear, *angular, twist.timestamp_ns)


def _twist_to_horus(horus: Any, payload: bytes) -> Any:  # noqa: ANN401
    return horus.Twist(*_TWIST.unpack(payload))


CODECS: Final[dict[str, tuple[Callable[[Any], bytes], Callable[[Any, bytes], Any]]]] = {
    "Imu": (_imu_from_horus, _imu_to_horus),
    "Pose3D": (_pose_from_horus, _pose_to_horus),
    "Pose2D": (_pose_2d_from_horus, _pose_2d_to_horus),
    "Twist": (_twist_from_horus, _twist_to_horus),
    "Odometry": (_odometry_from_horus, _odometry_to_horus),
    "Vector3": (_vector_from_horus, _vector_to_horus),
    "Quaternion": (_quaternion_from_horus, _quaternion_to_horus),
}
"""By the name that a class has here and in horus: what makes bytes of an object, and what makes
an object with the module ``horus`` and bytes."""

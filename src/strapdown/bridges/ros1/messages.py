"""Messages that the devices of a robot publish: ``sensor_msgs/Imu`` with one block filled.

========================  ==========================  =====================
device                    topic                       block
========================  ==========================  =====================
InertialUnit              ``<device>/quaternion``     orientation
(of R2020a)               ``<device>/roll_pitch_yaw``  orientation
Accelerometer             ``<device>/values``         linear_acceleration
Gyro                      ``<device>/values``         angular_velocity
========================  ==========================  =====================

The other blocks are zero, orientation included, and their covariance begins with -1, as
``sensor_msgs/Imu`` says. The covariance of the filled block is zero: not known. The profile
``documented`` gives the variance of an orientation where the InertialUnit has noise.

References
----------
Webots Reference Manual, "InertialUnit", "Accelerometer", "Gyro": tables of the ROS interface
ROS REP 145, Conventions for IMU Sensor Drivers
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from strapdown.messages import RosImu
from strapdown.messages.covariance import ROS_ABSENT
from strapdown.webots.profiles import Angles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from strapdown.webots.profiles import Profile

__all__ = ["BLOCKS", "imu_message", "ros_name", "suffix_of"]

BLOCKS: Final[Mapping[str, str]] = {
    "InertialUnit": "orientation",
    "Accelerometer": "linear_acceleration",
    "Gyro": "angular_velocity",
}
"""Block of the message that each device fills."""


def ros_name(name: str) -> str:
    """Return the name of a device in the graph: what ROS does not allow is ``_``.

    >>> ros_name("IMU-2 (left)")
    'IMU_2__left_'
    """
    return re.sub(r"[^A-Za-z0-9_/]", "_", name)


def suffix_of(kind: str, profile: Profile) -> str:
    """Return what the topic of a device is called behind the device's name."""
    if kind != "InertialUnit":
        return "values"
    return "quaternion" if profile.has_quaternion else "roll_pitch_yaw"


def imu_message(
    kind: str, values: Sequence[float], profile: Profile, *, noise: float = 0.0
) -> RosImu:
    """Return what a device publishes, without stamp, frame and number.

    Parameters
    ----------
    kind : str
        Of the device, one of :data:`BLOCKS`.
    values : sequence of float
        Quaternion x, y, z, w of an InertialUnit, or its roll, pitch and yaw [rad] in a profile
        without quaternions; or three values along the axes.
    profile : Profile
    noise : float
        Field of an InertialUnit.

    Returns
    -------
    RosImu
    """
    message = RosImu(
        orientation=[0.0] * 4,
        orientation_covariance=ROS_ABSENT,
        angular_velocity_covariance=ROS_ABSENT,
        linear_acceleration_covariance=ROS_ABSENT,
    )
    if kind == "InertialUnit" and profile.angles is Angles.MATRIX:
        values = _swapped(*values)
    variance = (0.5 * math.pi * noise) ** 2 if profile.stamps_samples else 0.0
    block = BLOCKS[kind]
    setattr(message, block, values)
    setattr(message, f"{block}_covariance", [variance if i % 4 == 0 else 0.0 for i in range(9)])
    return message


def _swapped(roll: float, pitch: float, yaw: float) -> list[float]:
    """Return the quaternion x, y, z, w that R2020a publishes for its angles.

    They are handed to a function that takes yaw (about y), pitch (about x) and roll (about z)
    as pitch, roll and yaw, so the axes are swapped: R = Ry(pitch) Rx(roll) Rz(yaw).
    """
    sy, cy = math.sin(0.5 * pitch), math.cos(0.5 * pitch)
    sx, cx = math.sin(0.5 * roll), math.cos(0.5 * roll)
    sz, cz = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    return [
        cz * sx * cy + sz * cx * sy,
        cz * cx * sy - sz * sx * cy,
        sz * cx * cy - cz * sx * sy,
        cz * cx * cy + sz * sx * sy,
    ]

"""``RosOdometry``: ``nav_msgs/Odometry``, in the forms of ROS 1 and ROS 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strapdown.messages._serial import MessageReader

if TYPE_CHECKING:
    from typing import Self

    from strapdown.messages.wire import Payload, Wire

__all__ = ["RosOdometry"]


@dataclass(frozen=True)
class RosOdometry:
    """One ``nav_msgs/Odometry``.

    Parameters
    ----------
    header_stamp_ns : int
        Time in the header [ns].
    frame_id, child_frame_id : str
        Frames of the pose and of the twist.
    pose : tuple of 7 floats
        Position [m] and orientation x y z w in ``frame_id``.
    pose_covariance : tuple of 36 floats
        Of x, y, z and rotations about them, row by row [m, rad].
    twist : tuple of 6 floats
        Linear [m/s] and angular [rad/s] velocity in ``child_frame_id``.
    twist_covariance : tuple of 36 floats
        [m/s, rad/s].
    """

    header_stamp_ns: int
    frame_id: str
    child_frame_id: str
    pose: tuple[float, ...]
    pose_covariance: tuple[float, ...]
    twist: tuple[float, ...]
    twist_covariance: tuple[float, ...]

    @classmethod
    def from_wire(cls, data: Payload, wire: Wire) -> Self:
        """Read a serialised message.

        Raises
        ------
        TruncatedError
            It ends early; carries the offset.
        FormatError
            It is longer, or its header is invalid.
        """
        reader = MessageReader(data, wire)
        stamp_ns, frame_id = reader.header()
        child = reader.text()
        pose, pose_covariance = reader.numbers("d", 7), reader.numbers("d", 36)
        twist, twist_covariance = reader.numbers("d", 6), reader.numbers("d", 36)
        reader.finish()
        return cls(stamp_ns, frame_id, child, pose, pose_covariance, twist, twist_covariance)

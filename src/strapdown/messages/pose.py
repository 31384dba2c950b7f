"""``Pose3D`` and ``Odometry`` in the memory layout of the horus messages.

``Pose3D``, 64 bytes: ``position`` (3 float64) at byte 0, ``orientation`` (4 float64, x y z w)
at 24, ``timestamp_ns`` (uint64) at 56.

``Odometry``, 736 bytes:

======  =======================  ===========================================
offset  field                    type
======  =======================  ===========================================
0       ``x``, ``y``, ``theta``  3 float64 [m, m, rad], the pose in a plane
24      ``pose_timestamp_ns``    uint64
32      ``linear``               3 float64 [m/s], child frame
56      ``angular``              3 float64 [rad/s], child frame
80      ``twist_timestamp_ns``   uint64
88      ``pose_covariance``      36 float64, 6x6 row-major
376     ``twist_covariance``     36 float64, 6x6 row-major
664     ``frame_id``             32 bytes, UTF-8 filled up with NUL
696     ``child_frame_id``       32 bytes, UTF-8 filled up with NUL
728     ``timestamp_ns``         uint64
======  =======================  ===========================================

``linear_velocity`` is ``linear[0]``, and ``angular_velocity`` is ``angular[2]``.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated, ClassVar

from strapdown.messages._fields import F64, U64, F64x3, F64x4, F64x6x6, Text32, packed
from strapdown.messages._record import Record, fixed
from strapdown.messages.basic import Quaternion

if TYPE_CHECKING:
    from typing import Self

    from strapdown.messages.plane import Pose2D, Twist

__all__ = ["Odometry", "Pose3D"]


@packed
class Pose3D(Record):
    """Position and orientation; 64 bytes.

    Parameters
    ----------
    x, y, z : float
        Position [m, world].
    qx, qy, qz, qw : float
        Orientation, world from body; by default no rotation.
    timestamp_ns : int
        Nanoseconds since 1970; 0 = not stamped.

    Attributes
    ----------
    position, orientation : array, shape (3,), (4,)
        Writable float64 views; any sequence of that length may be assigned.

    Raises
    ------
    TypeError
        A value is no number, or the stamp is no int.
    OverflowError
        The stamp is outside 0 ... 2**64 - 1.
    """

    __slots__ = ()
    __topic_name__: ClassVar[str] = "pose3d"

    position: Annotated[F64x3, "x y z"]
    orientation: Annotated[F64x4, "qx qy qz qw"]
    timestamp_ns: U64

    x: float
    y: float
    z: float
    qx: float
    qy: float
    qz: float
    qw: float

    def __init__(  # noqa: PLR0913, PLR0917 (the signature of the horus class)
        self,
        x: float = 0.0,
        y: float = 0.0,
        z: float = 0.0,
        qx: float = 0.0,
        qy: float = 0.0,
        qz: float = 0.0,
        qw: float = 1.0,
        timestamp_ns: int = 0,
    ) -> None:
        self.x = x
        self.y = y
        self.z = z
        self.qx = qx
        self.qy = qy
        self.qz = qz
        self.qw = qw
        self.timestamp_ns = timestamp_ns

    @classmethod
    def identity(cls) -> Self:
        """Return the origin without rotation, stamped with the wall clock."""
        return cls(timestamp_ns=time.time_ns())

    @classmethod
    def from_pose_2d(cls, pose: Pose2D) -> Self:
        """Return a pose in the plane z = 0, with the same stamp."""
        turn = Quaternion.from_euler(yaw=pose.theta)
        return cls(pose.x, pose.y, 0.0, turn.x, turn.y, turn.z, turn.w, pose.timestamp_ns)

    def __repr__(self) -> str:
        return (
            f"Pose3D(pos=[{fixed(self.x, self.y, self.z)}], "
            f"quat=[{fixed(self.qx, self.qy, self.qz, self.qw)}], "
            f"timestamp_ns={self.timestamp_ns})"
        )

    def distance_to(self, other: Pose3D) -> float:
        """Return the distance between the positions [m]; orientation is ignored."""
        return math.dist((self.x, self.y, self.z), (other.x, other.y, other.z))

    def is_valid(self) -> bool:
        """Whether position and orientation are finite; the norm is not checked."""
        values = (self.x, self.y, self.z, self.qx, self.qy, self.qz, self.qw)
        return all(map(math.isfinite, values))


@packed
class Odometry(Record):
    """Pose in a plane and velocity; 736 bytes.

    Parameters
    ----------
    x, y : float
        Position [m, frame ``frame_id``].
    theta : float
        Rotation about z [rad].
    linear_velocity : float
        Forward speed [m/s], ``linear[0]``.
    angular_velocity : float
        Turn rate about z [rad/s], ``angular[2]``.
    timestamp_ns : int
        Nanoseconds since 1970; 0 = not stamped.

    Attributes
    ----------
    linear, angular : array, shape (3,)
        Writable float64 views of the twist [m/s, rad/s, frame ``child_frame_id``]; any
        sequence of that length may be assigned.
    pose_covariance, twist_covariance : array, shape (36,)
        Writable float64 views, row-major; 36 numbers or a 6x6 matrix may be assigned.
    frame_id, child_frame_id : str
        At most 31 bytes of UTF-8. Bytes received that are no UTF-8 read as U+FFFD.
    pose_timestamp_ns, twist_timestamp_ns : int
        Stamps of the pose and of the twist [ns].

    Raises
    ------
    TypeError
        A value is no number, or the stamp is no int.
    OverflowError
        The stamp is outside 0 ... 2**64 - 1.
    """

    __slots__ = ()
    __topic_name__: ClassVar[str] = "odom"

    x: F64
    y: F64
    theta: F64
    pose_timestamp_ns: U64
    linear: Annotated[F64x3, "linear_velocity _linear_y _linear_z"]
    angular: Annotated[F64x3, "_angular_x _angular_y angular_velocity"]
    twist_timestamp_ns: U64
    pose_covariance: F64x6x6
    twist_covariance: F64x6x6
    frame_id: Text32
    child_frame_id: Text32
    timestamp_ns: U64

    linear_velocity: float
    angular_velocity: float

    def __init__(  # noqa: PLR0913, PLR0917 (the signature of the horus class)
        self,
        x: float = 0.0,
        y: float = 0.0,
        theta: float = 0.0,
        linear_velocity: float = 0.0,
        angular_velocity: float = 0.0,
        timestamp_ns: int = 0,
    ) -> None:
        self.x = x
        self.y = y
        self.theta = theta
        self.linear_velocity = linear_velocity
        self.angular_velocity = angular_velocity
        self.timestamp_ns = timestamp_ns

    def __repr__(self) -> str:
        return (
            f"Odometry(x={fixed(self.x)}, y={fixed(self.y)}, theta={fixed(self.theta)}, "
            f"v_lin={fixed(self.linear_velocity)}, v_ang={fixed(self.angular_velocity)}, "
            f"timestamp_ns={self.timestamp_ns})"
        )

    def set_frames(self, frame: str, child_frame: str) -> None:
        """Name the frames of the pose and of the twist.

        Raises
        ------
        ValueRangeError
            A name has more than 31 bytes of UTF-8, or holds NUL.
        """
        self.frame_id = frame
        self.child_frame_id = child_frame

    def update(self, pose: Pose2D, twist: Twist) -> None:
        """Copy a pose and a twist with their stamps, and stamp this with the wall clock."""
        parts = bytes(pose) + bytes(twist)
        memoryview(self).cast("B")[: len(parts)] = parts
        self.timestamp_ns = time.time_ns()

    def is_valid(self) -> bool:
        """Whether pose and twist are finite; covariances are not checked."""
        twist = (*self.linear.tolist(), *self.angular.tolist())
        return all(map(math.isfinite, (self.x, self.y, self.theta, *twist)))

"""``Pose2D`` and ``Twist`` in the memory layout of the horus messages: 32 and 56 bytes.

``Pose2D``: ``x``, ``y``, ``theta`` (3 float64) at byte 0, ``timestamp_ns`` (uint64) at 24.
``Twist``: ``linear`` (3 float64) at 0, ``angular`` (3 float64) at 24, ``timestamp_ns`` at 48.
:class:`~strapdown.messages.pose.Odometry` begins with one of each.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated, ClassVar

from strapdown.messages._fields import F64, U64, F64x3, packed
from strapdown.messages._record import Record, fixed

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Pose2D", "Twist"]


@packed
class Pose2D(Record):
    """Position and heading in a plane; 32 bytes.

    Parameters
    ----------
    x, y : float
        Position [m].
    theta : float
        Rotation about z [rad].
    timestamp_ns : int
        Nanoseconds since 1970; 0 = not stamped.

    Raises
    ------
    TypeError
        A value is no number, or the stamp is no int.
    OverflowError
        The stamp is outside 0 ... 2**64 - 1.
    """

    __slots__ = ()
    __topic_name__: ClassVar[str] = "pose"

    x: F64
    y: F64
    theta: F64
    timestamp_ns: U64

    def __init__(self, x: float, y: float, theta: float, timestamp_ns: int = 0) -> None:
        self.x = x
        self.y = y
        self.theta = theta
        self.timestamp_ns = timestamp_ns

    @classmethod
    def origin(cls) -> Self:
        """Return the pose of zeros, stamped with the wall clock."""
        return cls(0.0, 0.0, 0.0, time.time_ns())

    def __repr__(self) -> str:
        return (
            f"Pose2D(x={fixed(self.x)}, y={fixed(self.y)}, theta={fixed(self.theta)}, "
            f"timestamp_ns={self.timestamp_ns})"
        )

    def distance_to(self, other: Pose2D) -> float:
        """Return the distance between the positions [m]; headings are ignored."""
        return math.dist((self.x, self.y), (other.x, other.y))

    def normalize_angle(self) -> None:
        """Normalise ``theta`` to [-pi, pi]; a value that is not finite stays."""
        if math.isfinite(self.theta):
            self.theta = math.remainder(self.theta, math.tau)

    def is_valid(self) -> bool:
        """Whether position and heading are finite."""
        return all(map(math.isfinite, (self.x, self.y, self.theta)))


@packed
class Twist(Record):
    """Velocity and turn rate; 56 bytes.

    Parameters
    ----------
    linear_x, linear_y, linear_z : float
        Velocity [m/s].
    angular_x, angular_y, angular_z : float
        Turn rate [rad/s].
    timestamp_ns : int
        Nanoseconds since 1970; 0 = not stamped.

    Attributes
    ----------
    linear, angular : array, shape (3,)
        Writable float64 views; any sequence of that length may be assigned.

    Raises
    ------
    TypeError
        A value is no number, or the stamp is no int.
    OverflowError
        The stamp is outside 0 ... 2**64 - 1.
    """

    __slots__ = ()
    __topic_name__: ClassVar[str] = "twist"

    linear: Annotated[F64x3, "linear_x linear_y linear_z"]
    angular: Annotated[F64x3, "angular_x angular_y angular_z"]
    timestamp_ns: U64

    linear_x: float
    linear_y: float
    linear_z: float
    angular_x: float
    angular_y: float
    angular_z: float

    def __init__(  # noqa: PLR0913, PLR0917 (the signature of the horus class)
        self,
        linear_x: float = 0.0,
        linear_y: float = 0.0,
        linear_z: float = 0.0,
        angular_x: float = 0.0,
        angular_y: float = 0.0,
        angular_z: float = 0.0,
        timestamp_ns: int = 0,
    ) -> None:
        self.linear_x = linear_x
        self.linear_y = linear_y
        self.linear_z = linear_z
        self.angular_x = angular_x
        self.angular_y = angular_y
        self.angular_z = angular_z
        self.timestamp_ns = timestamp_ns

    @classmethod
    def new_2d(cls, linear_x: float = 0.0, angular_z: float = 0.0) -> Self:
        """Return a twist in the plane [m/s, rad/s], stamped with the wall clock."""
        return cls(linear_x, angular_z=angular_z, timestamp_ns=time.time_ns())

    @classmethod
    def stop(cls) -> Self:
        """Return a twist of zeros, stamped with the wall clock."""
        return cls(timestamp_ns=time.time_ns())

    def __repr__(self) -> str:
        return (
            f"Twist(lin=[{fixed(self.linear_x, self.linear_y, self.linear_z)}], "
            f"ang=[{fixed(self.angular_x, self.angular_y, self.angular_z)}], "
            f"timestamp_ns={self.timestamp_ns})"
        )

    def is_valid(self) -> bool:
        """Whether velocity and turn rate are finite."""
        return all(map(math.isfinite, (*self.linear.tolist(), *self.angular.tolist())))

"""``Imu``: one inertial sample in the memory layout of the horus message, 304 bytes.

======  =================================  =========================  =====================
offset  field                              type                       scalars
======  =================================  =========================  =====================
0       ``orientation``                    4 float64, x y z w         ``qx qy qz qw``
32      ``orientation_covariance``         9 float64, row-major
104     ``angular_velocity``               3 float64 [rad/s]          ``gyro_x .. gyro_z``
128     ``angular_velocity_covariance``    9 float64, row-major
200     ``linear_acceleration``            3 float64 [m/s^2]          ``accel_x .. accel_z``
224     ``linear_acceleration_covariance``  9 float64, row-major
296     ``timestamp_ns``                   uint64 [ns since 1970]
======  =================================  =========================  =====================

``linear_acceleration`` is specific force: level and at rest it reads +9.81 on the up axis, in
free fall zero.

The horus documentation contradicts itself in places. This class resolves it as follows:

* A new message has no orientation: identity quaternion, all nine orientation covariances -1,
  the other covariances 0 ("not stated").
* ``set_orientation_from_euler`` stores the quaternion and leaves the covariance alone, unless
  it is given one.
* The constructor stamps 0; ``Imu.new()`` and ``Imu.now(...)`` read the clock.
* ``has_orientation()`` is the sign test ``orientation_covariance[0] >= 0.0`` and nothing else.
* ``is_valid()`` looks at the ten measured values, not at covariances or the quaternion's norm.
* A covariance attribute is a view, so ``imu.orientation_covariance[0] = 0.01`` works as in Rust
  (horus's Python class returns a copy, which loses it).
"""

from __future__ import annotations

import math
import struct
import time
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import numpy as np

from strapdown.messages._fields import U64, F64x3, F64x3x3, F64x4, packed
from strapdown.messages._record import Record, fixed
from strapdown.messages.basic import Quaternion, Vector3
from strapdown.messages.covariance import HORUS_ABSENT, CovarianceStatus, status

if TYPE_CHECKING:
    from typing import Self

    from strapdown._typing import ArrayLike

__all__ = ["Imu"]

# A new message in one call, at half the cost of setting attribute by attribute.
_PRELUDE: Final = struct.pack("<13d", 0.0, 0.0, 0.0, 1.0, *HORUS_ABSENT)
_fill = struct.Struct("<104s 3d 72x 3d 72x Q").pack_into


@packed
class Imu(Record):
    """One inertial sample.

    Parameters
    ----------
    accel_x, accel_y, accel_z : float
        Specific force [m/s^2, body].
    gyro_x, gyro_y, gyro_z : float
        Angular velocity [rad/s, body].
    timestamp_ns : int
        Nanoseconds since 1970; 0 = not stamped.

    Attributes
    ----------
    qx, qy, qz, qw : float
        Orientation, world from body.
    orientation, angular_velocity, linear_acceleration : array, shape (4,), (3,), (3,)
        Writable float64 views; any sequence of that length may be assigned.
    orientation_covariance, angular_velocity_covariance, linear_acceleration_covariance : array
        Writable float64 views, shape (9,), row-major; nine numbers or a 3x3 matrix may be
        assigned. Their meaning is in :mod:`strapdown.messages.covariance`.

    Raises
    ------
    TypeError
        A value is missing or no number, or the stamp is no int.
    OverflowError
        The stamp is outside 0 ... 2**64 - 1.

    Examples
    --------
    >>> imu = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1)
    >>> imu
    Imu(accel=[0.000, 0.000, 9.810], gyro=[0.000, 0.000, 0.100], timestamp_ns=0)
    >>> imu.has_orientation()
    False
    >>> imu.set_orientation_from_euler(0.0, 0.0, 0.5, covariance=0.01)
    >>> imu.has_orientation()
    True
    """

    __slots__ = ()
    __topic_name__: ClassVar[str] = "imu"

    orientation: Annotated[F64x4, "qx qy qz qw"]
    orientation_covariance: F64x3x3
    angular_velocity: Annotated[F64x3, "gyro_x gyro_y gyro_z"]
    angular_velocity_covariance: F64x3x3
    linear_acceleration: Annotated[F64x3, "accel_x accel_y accel_z"]
    linear_acceleration_covariance: F64x3x3
    timestamp_ns: U64

    qx: float
    qy: float
    qz: float
    qw: float
    gyro_x: float
    gyro_y: float
    gyro_z: float
    accel_x: float
    accel_y: float
    accel_z: float

    def __init__(  # noqa: PLR0913, PLR0917 (the signature of the horus class)
        self,
        accel_x: float,
        accel_y: float,
        accel_z: float,
        gyro_x: float,
        gyro_y: float,
        gyro_z: float,
        timestamp_ns: int = 0,
    ) -> None:
        try:
            _fill(
                self, 0, _PRELUDE, gyro_x, gyro_y, gyro_z, accel_x, accel_y, accel_z, timestamp_ns
            )
        except struct.error:  # does not name the wrong argument
            self.timestamp_ns = timestamp_ns
            values = (accel_x, accel_y, accel_z, gyro_x, gyro_y, gyro_z)
            raise TypeError(f"expected accel_x ... gyro_z as six numbers, got {values}") from None

    @classmethod
    def new(cls) -> Self:
        """Return a sample of zeros without orientation, stamped with the wall clock."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, time.time_ns())

    @classmethod
    def now(  # noqa: PLR0913, PLR0917 (the six values of the constructor)
        cls,
        accel_x: float,
        accel_y: float,
        accel_z: float,
        gyro_x: float,
        gyro_y: float,
        gyro_z: float,
    ) -> Self:
        """Return a sample of these values, stamped with the wall clock."""
        return cls(accel_x, accel_y, accel_z, gyro_x, gyro_y, gyro_z, time.time_ns())

    def __repr__(self) -> str:
        return (
            f"Imu(accel=[{fixed(self.accel_x, self.accel_y, self.accel_z)}], "
            f"gyro=[{fixed(self.gyro_x, self.gyro_y, self.gyro_z)}], "
            f"timestamp_ns={self.timestamp_ns})"
        )

    def set_orientation_from_euler(
        self,
        roll: float,
        pitch: float,
        yaw: float,
        *,
        covariance: float | ArrayLike | None = None,
    ) -> None:
        """Store the quaternion of ``Rz(yaw) Ry(pitch) Rx(roll)``.

        Parameters
        ----------
        roll, pitch, yaw : float
            Intrinsic Z-Y-X angles [rad]. NaN or infinity stores a quaternion of NaN: see
            :meth:`is_valid`.
        covariance : float or array_like, optional
            A variance for all three axes [rad^2], nine numbers, or a 3x3 matrix. None leaves
            the covariance, and so :meth:`has_orientation`, as it is.

        Raises
        ------
        ShapeError
            The covariance has another shape; the message is unchanged.
        TypeError
            A value is no number; the message is unchanged.
        """
        quaternion = Quaternion.from_euler(roll, pitch, yaw)
        if covariance is not None:
            scalar = np.ndim(covariance) == 0
            self.orientation_covariance = np.diag([covariance] * 3) if scalar else covariance
        self.qx, self.qy = quaternion.x, quaternion.y
        self.qz, self.qw = quaternion.z, quaternion.w

    def has_orientation(self) -> bool:
        """Whether ``orientation_covariance[0] >= 0.0``; check before reading it."""
        return bool(self._orientation_covariance[0] >= 0.0)

    def is_valid(self) -> bool:
        """Whether orientation, angular velocity and linear acceleration are finite."""
        return all(
            map(
                math.isfinite,
                (
                    *(self.qx, self.qy, self.qz, self.qw),
                    *(self.gyro_x, self.gyro_y, self.gyro_z),
                    *(self.accel_x, self.accel_y, self.accel_z),
                ),
            )
        )

    def orientation_quat(self) -> Quaternion:
        """Return a copy of the orientation."""
        return Quaternion(self.qx, self.qy, self.qz, self.qw)

    def angular_velocity_vec(self) -> Vector3:
        """Return a copy of the angular velocity [rad/s]."""
        return Vector3(self.gyro_x, self.gyro_y, self.gyro_z)

    def linear_acceleration_vec(self) -> Vector3:
        """Return a copy of the specific force [m/s^2]."""
        return Vector3(self.accel_x, self.accel_y, self.accel_z)

    @property
    def orientation_status(self) -> CovarianceStatus:
        """Status of the orientation, from its covariance."""
        return status(self.orientation_covariance)

    @property
    def angular_velocity_status(self) -> CovarianceStatus:
        """Status of the angular velocity, from its covariance as in ROS."""
        return status(self.angular_velocity_covariance)

    @property
    def linear_acceleration_status(self) -> CovarianceStatus:
        """Status of the specific force, from its covariance as in ROS."""
        return status(self.linear_acceleration_covariance)

"""``Vector3`` and ``Quaternion``: three and four named numbers in the horus layout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from strapdown.geometry.formulas import quaternion_from_half_angles_zyx
from strapdown.messages._fields import F64, packed
from strapdown.messages._record import Record, fixed

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Quaternion", "Vector3"]


@packed
class Vector3(Record):
    """Three numbers; 24 bytes.

    Parameters
    ----------
    x, y, z : float
        Components.
    """

    __slots__ = ()

    x: F64
    y: F64
    z: F64

    def __init__(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> None:
        self.x = x
        self.y = y
        self.z = z

    def __repr__(self) -> str:
        return f"Vector3({fixed(self.x, self.y, self.z)})"

    @classmethod
    def zero(cls) -> Self:
        """Return (0, 0, 0)."""
        return cls()

    def dot(self, other: Vector3) -> float:
        """Return the scalar product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vector3) -> Vector3:
        """Return the vector product."""
        return Vector3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def magnitude(self) -> float:
        """Return the length."""
        return math.hypot(self.x, self.y, self.z)

    def normalize(self) -> None:
        """Give this vector length one; zero stays zero, infinity becomes NaN."""
        length = self.magnitude()
        if length != 0.0:
            self.x, self.y, self.z = self.x / length, self.y / length, self.z / length

    def normalized(self) -> Vector3:
        """Return a copy of length one; the copy of zero is zero."""
        unit = Vector3(self.x, self.y, self.z)
        unit.normalize()
        return unit


@packed
class Quaternion(Record):
    """A quaternion x, y, z, w; 32 bytes.

    Parameters
    ----------
    x, y, z, w : float
        Components; by default no rotation.
    """

    __slots__ = ()

    x: F64
    y: F64
    z: F64
    w: F64

    def __init__(self, x: float = 0.0, y: float = 0.0, z: float = 0.0, w: float = 1.0) -> None:
        self.x = x
        self.y = y
        self.z = z
        self.w = w

    def __repr__(self) -> str:
        return f"Quaternion({fixed(self.x, self.y, self.z, self.w)})"

    @classmethod
    def identity(cls) -> Self:
        """Return the quaternion of no rotation, (0, 0, 0, 1)."""
        return cls()

    @classmethod
    def from_euler(cls, roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0) -> Self:
        """Return the quaternion of ``Rz(yaw) Ry(pitch) Rx(roll)``.

        Parameters
        ----------
        roll, pitch, yaw : float
            Intrinsic Z-Y-X angles [rad]. NaN or infinity gives a quaternion of NaN: see
            :meth:`is_valid`.
        """
        half_roll, half_pitch, half_yaw = 0.5 * roll, 0.5 * pitch, 0.5 * yaw
        if not math.isfinite(half_roll + half_pitch + half_yaw):
            return cls(math.nan, math.nan, math.nan, math.nan)
        components = quaternion_from_half_angles_zyx(
            math.sin(half_roll),
            math.cos(half_roll),
            math.sin(half_pitch),
            math.cos(half_pitch),
            math.sin(half_yaw),
            math.cos(half_yaw),
        )
        return cls(*components)

    def normalize(self) -> None:
        """Give this quaternion length one; all zero stays zero, infinity becomes NaN."""
        length = math.hypot(self.x, self.y, self.z, self.w)
        if length != 0.0:
            self.x, self.y = self.x / length, self.y / length
            self.z, self.w = self.z / length, self.w / length

    def is_valid(self) -> bool:
        """Whether the components are finite and not all zero."""
        components = (self.x, self.y, self.z, self.w)
        return all(map(math.isfinite, components)) and any(components)

"""TouchSensor: contact, or force."""

from __future__ import annotations

from typing import ClassVar

from strapdown.webots.api.sensor import ScalarSensor, TableSensor

__all__ = ["TouchSensor"]


class TouchSensor(TableSensor, ScalarSensor):
    """Bumper or force sensor; needs physics, and reads 0 in a kinematic world."""

    BUMPER: ClassVar[int] = 0
    FORCE: ClassVar[int] = 1
    FORCE3D: ClassVar[int] = 2

    _function = "touch_sensor"
    _kinds = ("TouchSensor",)

    def getValues(self) -> list[float]:
        """Return the outputs of the lookup table for the forces along x, y and z [N]."""
        return self._read("get_values").values[:]

    def getType(self) -> int:
        """Return the type, such as :attr:`BUMPER`."""
        return self.type

    @property
    def values(self) -> list[float]:
        """Force along x, y and z, of the type ``FORCE3D`` [N]."""
        return self.getValues()

    @property
    def type(self) -> int:
        """Type, such as :attr:`BUMPER`."""
        return int(self._parameter("type", "get_type", -1))

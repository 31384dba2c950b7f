"""DistanceSensor: distance along rays."""

from __future__ import annotations

import math
from typing import ClassVar

from strapdown.webots.api.sensor import ScalarSensor, TableSensor

__all__ = ["DistanceSensor"]


class DistanceSensor(TableSensor, ScalarSensor):
    """Distance to the nearest object ahead, by its lookup table."""

    GENERIC: ClassVar[int] = 0
    INFRA_RED: ClassVar[int] = 1
    SONAR: ClassVar[int] = 2
    LASER: ClassVar[int] = 3

    _function = "distance_sensor"
    _kinds = ("DistanceSensor",)

    def getAperture(self) -> float:
        """Return the aperture [rad]."""
        return self.aperture

    def getMaxValue(self) -> float:
        """Return the largest value."""
        return self.max_value

    def getMinValue(self) -> float:
        """Return the smallest value."""
        return self.min_value

    def getType(self) -> int:
        """Return the type, such as :attr:`SONAR`."""
        return self.type

    @property
    def aperture(self) -> float:
        """Aperture [rad]."""
        return self._parameter("aperture", "get_aperture", math.nan)

    @property
    def max_value(self) -> float:
        """Largest value."""
        return self._parameter("max", "get_max_value", math.nan)

    @property
    def min_value(self) -> float:
        """Smallest value."""
        return self._parameter("min", "get_min_value", math.nan)

    @property
    def type(self) -> int:
        """Type, such as :attr:`SONAR`."""
        return int(self._parameter("type", "get_type", -1))

"""Radar: inert, without targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.webots.api.sensor import Sensor

if TYPE_CHECKING:
    from strapdown.webots.api.radar_target import RadarTarget

__all__ = ["Radar"]


class Radar(Sensor):
    """Radar with distances and speeds of targets."""

    _function = "radar"
    _kinds = ("Radar",)

    def getMaxRange(self) -> float:
        """Return the largest range [m]."""
        return self.max_range

    def getMinRange(self) -> float:
        """Return the smallest range [m]."""
        return self.min_range

    def getHorizontalFov(self) -> float:
        """Return the horizontal field of view [rad]."""
        return self.horizontal_fov

    def getVerticalFov(self) -> float:
        """Return the vertical field of view [rad]."""
        return self.vertical_fov

    def getNumberOfTargets(self) -> int:
        """Return the number of targets: 0."""
        return self.number_of_targets

    def getTargets(self) -> list[RadarTarget]:
        """Return the targets: none."""
        return []

    @property
    def max_range(self) -> float:
        """Largest range [m]."""
        return self._parameter("max_range", "get_max_range", 50.0)

    @property
    def min_range(self) -> float:
        """Smallest range [m]."""
        return self._parameter("min_range", "get_min_range", 1.0)

    @property
    def horizontal_fov(self) -> float:
        """Horizontal field of view [rad]."""
        return self._parameter("horizontal_fov", "get_horizontal_fov", 0.78)

    @property
    def vertical_fov(self) -> float:
        """Vertical field of view [rad]."""
        return self._parameter("vertical_fov", "get_vertical_fov", 0.1)

    @property
    def number_of_targets(self) -> int:
        """Number of targets: 0."""
        return 0

"""RangeFinder: inert, with nothing in its range."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from strapdown.webots.api.pixels import PixelDevice
from strapdown.webots.api.sensor import Sensor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RangeFinder"]


class RangeFinder(PixelDevice, Sensor):
    """Camera of distances."""

    _function = "range_finder"
    _kinds = ("RangeFinder",)

    def getFov(self) -> float:
        """Return the field of view [rad]."""
        return self.fov

    def getMaxRange(self) -> float:
        """Return the largest range [m]."""
        return self.max_range

    def getMinRange(self) -> float:
        """Return the smallest range [m]."""
        return self.min_range

    def getRangeImage(self, data_type: str = "list") -> list[float]:
        """Return the distances, row by row: infinite [m]."""
        return self.range_image

    def getRangeImageArray(self) -> list[list[float]]:
        """Return the distances by row: infinite [m]."""
        return [[math.inf] * self.width for _ in range(self.height)]

    @staticmethod
    def rangeImageGetDepth(image: Sequence[float], width: int, x: int, y: int) -> float:
        """Return one distance of an image [m]."""
        return image[y * width + x]

    def saveImage(self, filename: str, quality: int) -> int:
        """Return -1: no image can be saved."""
        return -1

    @property
    def range_image(self) -> list[float]:
        """Distances, row by row: infinite [m]."""
        return [math.inf] * (self.width * self.height)

    @property
    def fov(self) -> float:
        """Field of view [rad]."""
        return self._parameter("fov", "get_fov", 0.7854)

    @property
    def max_range(self) -> float:
        """Largest range [m]."""
        return self._parameter("max_range", "get_max_range", 1.0)

    @property
    def min_range(self) -> float:
        """Smallest range [m]."""
        return self._parameter("min_range", "get_min_range", 0.01)

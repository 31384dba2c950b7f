"""Lidar: inert, with nothing in its range."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, SupportsFloat

from strapdown.webots.api.sensor import Sensor

if TYPE_CHECKING:
    from strapdown.webots.api.lidar_point import LidarPoint

__all__ = ["Lidar"]


class Lidar(Sensor):
    """Lidar with distances in layers."""

    _function = "lidar"
    _kinds = ("Lidar",)

    def getFov(self) -> float:
        """Return the horizontal field of view [rad]."""
        return self.fov

    def getVerticalFov(self) -> float:
        """Return the vertical field of view [rad]."""
        return self.vertical_fov

    def getFrequency(self) -> float:
        """Return the rotation frequency [Hz]."""
        return self.frequency

    def setFrequency(self, frequency: SupportsFloat) -> None:
        """Set the rotation frequency [Hz]."""
        self.frequency = frequency

    def getMaxFrequency(self) -> float:
        """Return the largest rotation frequency [Hz]."""
        return self.max_frequency

    def getMinFrequency(self) -> float:
        """Return the smallest rotation frequency [Hz]."""
        return self.min_frequency

    def getMaxRange(self) -> float:
        """Return the largest range [m]."""
        return self.max_range

    def getMinRange(self) -> float:
        """Return the smallest range [m]."""
        return self.min_range

    def getHorizontalResolution(self) -> int:
        """Return the number of points of a layer."""
        return self.horizontal_resolution

    def getNumberOfLayers(self) -> int:
        """Return the number of layers."""
        return self.number_of_layers

    def getNumberOfPoints(self) -> int:
        """Return the number of points of all layers."""
        return self.number_of_points

    def getRangeImage(self) -> list[float]:
        """Return the distances of all layers: infinite [m]."""
        return self.range_image

    def getRangeImageArray(self) -> list[list[float]]:
        """Return the distances by layer: infinite [m]."""
        return [self.getLayerRangeImage(layer) for layer in range(self.number_of_layers)]

    def getLayerRangeImage(self, layer: int) -> list[float]:
        """Return the distances of one layer: infinite [m]."""
        return [math.inf] * self.horizontal_resolution

    def enablePointCloud(self) -> None:
        """Enable the point cloud."""
        self._keep("point_cloud", "enable_point_cloud", 1)

    def disablePointCloud(self) -> None:
        """Disable the point cloud."""
        self._keep("point_cloud", "disable_point_cloud", 0)

    def isPointCloudEnabled(self) -> bool:
        """Return whether the point cloud was enabled."""
        return bool(self._parameter("point_cloud", "is_point_cloud_enabled", 0))

    def getPointCloud(self) -> list[LidarPoint]:
        """Return the points: none."""
        return []

    def getLayerPointCloud(self, layer: int) -> list[LidarPoint]:
        """Return the points of one layer: none."""
        return []

    @property
    def range_image(self) -> list[float]:
        """Distances of all layers: infinite [m]."""
        return [math.inf] * self.number_of_points

    @property
    def fov(self) -> float:
        """Horizontal field of view [rad]."""
        return self._parameter("fov", "get_fov", 1.5708)

    @property
    def vertical_fov(self) -> float:
        """Vertical field of view [rad]."""
        return self._parameter("vertical_fov", "get_vertical_fov", 0.2)

    @property
    def max_frequency(self) -> float:
        """Largest rotation frequency [Hz]."""
        return self._parameter("max_frequency", "get_max_frequency", 25.0)

    @property
    def min_frequency(self) -> float:
        """Smallest rotation frequency [Hz]."""
        return self._parameter("min_frequency", "get_min_frequency", 1.0)

    @property
    def max_range(self) -> float:
        """Largest range [m]."""
        return self._parameter("max_range", "get_max_range", 1.0)

    @property
    def min_range(self) -> float:
        """Smallest range [m]."""
        return self._parameter("min_range", "get_min_range", 0.01)

    @property
    def horizontal_resolution(self) -> int:
        """Number of points of a layer."""
        return int(self._parameter("horizontal_resolution", "get_horizontal_resolution", 512))

    @property
    def number_of_layers(self) -> int:
        """Number of layers."""
        return int(self._parameter("number_of_layers", "get_number_of_layers", 4))

    @property
    def number_of_points(self) -> int:
        """Number of points of all layers."""
        return self.horizontal_resolution * self.number_of_layers

    @property
    def frequency(self) -> float:
        """Rotation frequency [Hz]."""
        return self._parameter("frequency", "get_frequency", 10.0)

    @frequency.setter
    def frequency(self, frequency: SupportsFloat) -> None:
        self._keep("frequency", "set_frequency", frequency)

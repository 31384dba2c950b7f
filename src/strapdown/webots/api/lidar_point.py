"""Points of a Lidar."""

from __future__ import annotations

import struct

__all__ = ["LidarPoint"]


class LidarPoint:
    """Point of a Lidar's point cloud.

    Parameters
    ----------
    data : bytes
        Points of 20 bytes: x, y, z [m] as floats, layer as int32, time [s] as float.
    offset : int
        Index of the point.
    """

    def __init__(self, data: bytes, offset: int) -> None:
        self.x: float
        self.y: float
        self.z: float
        self.layer: int
        self.time: float
        self.x, self.y, self.z, self.layer, self.time = struct.unpack_from(
            "<fffif", data, 20 * offset
        )

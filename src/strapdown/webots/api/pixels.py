"""Base class of devices with pixels."""

from __future__ import annotations

from strapdown.webots.api.device import Device

__all__ = ["PixelDevice"]


class PixelDevice(Device):
    """Device with rows of pixels."""

    def getWidth(self) -> int:
        """Return the width [pixel]."""
        return self.width

    def getHeight(self) -> int:
        """Return the height [pixel]."""
        return self.height

    @property
    def width(self) -> int:
        """Width [pixel]."""
        return int(self._parameter("width", "get_width", 64))

    @property
    def height(self) -> int:
        """Height [pixel]."""
        return int(self._parameter("height", "get_height", 64))

"""Display: inert."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from strapdown.webots.api.pixels import PixelDevice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.webots.api.camera import Camera

__all__ = ["Display"]


class Display(PixelDevice):
    """Screen for drawing."""

    RGB: ClassVar[int] = 3
    RGBA: ClassVar[int] = 4
    ARGB: ClassVar[int] = 5
    BGRA: ClassVar[int] = 6
    ABGR: ClassVar[int] = 7

    _function = "display"
    _kinds = ("Display",)

    def attachCamera(self, camera: Camera) -> None:
        """Show the images of a camera."""

    def detachCamera(self) -> None:
        """Stop showing the images of a camera."""

    def setColor(self, color: int) -> None:
        """Set the colour, 0xRRGGBB."""

    def setAlpha(self, alpha: float) -> None:
        """Set the opacity of the colour: 0 transparent, 1 opaque."""

    def setOpacity(self, opacity: float) -> None:
        """Set the share of new pixels in the result, 0 to 1."""

    def setFont(self, font: str, size: int, anti_aliasing: bool) -> None:
        """Set the font."""

    def drawPixel(self, x: int, y: int) -> None:
        """Draw a pixel."""

    def drawLine(self, x1: int, y1: int, x2: int, y2: int) -> None:
        """Draw a line."""

    def drawRectangle(self, x: int, y: int, width: int, height: int) -> None:
        """Draw a rectangle."""

    def drawOval(self, cx: int, cy: int, a: int, b: int) -> None:
        """Draw an ellipse."""

    def drawPolygon(self, x: Sequence[int], y: Sequence[int]) -> None:
        """Draw a polygon."""

    def drawText(self, text: str, x: int, y: int) -> None:
        """Draw a text."""

    def fillRectangle(self, x: int, y: int, width: int, height: int) -> None:
        """Fill a rectangle."""

    def fillOval(self, cx: int, cy: int, a: int, b: int) -> None:
        """Fill an ellipse."""

    def fillPolygon(self, x: Sequence[int], y: Sequence[int]) -> None:
        """Fill a polygon."""

    def imageNew(self, data: bytes, format: int, width: int, height: int) -> int:
        """Create an image, and return its number."""
        return self._new_image()

    def imageLoad(self, filename: str) -> int:
        """Load an image, and return its number."""
        return self._new_image()

    def imageCopy(self, x: int, y: int, width: int, height: int) -> int:
        """Copy a part of the screen to a new image, and return its number."""
        return self._new_image()

    def imagePaste(self, image: int, x: int, y: int, blend: bool) -> None:
        """Draw an image."""

    def imageSave(self, image: int, filename: str) -> None:
        """Save an image."""

    def imageDelete(self, image: int) -> None:
        """Delete an image."""

    alpha = property(fset=setAlpha)
    color = property(fset=setColor)
    opacity = property(fset=setOpacity)

    def _new_image(self) -> int:
        number = int(self._parameter("images", "image_new", 0)) + 1
        self._keep("images", "image_new", number)
        return number

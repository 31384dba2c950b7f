"""Pen: inert."""

from __future__ import annotations

from strapdown.webots.api.device import Device

__all__ = ["Pen"]


class Pen(Device):
    """Pen that draws on the surface under a robot."""

    _function = "pen"
    _kinds = ("Pen",)

    def write(self, write: bool) -> None:
        """Start or stop drawing."""

    def setInkColor(self, color: int, density: float) -> None:
        """Set the colour and density of the ink."""

"""Pen: accepted, and draws nothing."""

from __future__ import annotations

from strapdown.webots.api.device import Device

__all__ = ["Pen"]


class Pen(Device):
    """Draws on a surface under a robot."""

    _function = "pen"
    _kinds = ("Pen",)

    def write(self, write: bool) -> None:
        """Draw from now on, or no more."""

    def setInkColor(self, color: int, density: float) -> None:
        """Choose the ink."""

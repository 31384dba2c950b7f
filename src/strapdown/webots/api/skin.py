"""Skin: inert, without bones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.webots.api.device import Device

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Skin"]


class Skin(Device):
    """Animated mesh."""

    _function = "skin"
    _kinds = ("Skin",)

    def getBoneCount(self) -> int:
        """Return the number of bones: 0."""
        return self.bone_count

    def getBoneName(self, index: int) -> str:
        """Return the name of a bone: empty."""
        return ""

    def getBoneOrientation(self, index: int, absolute: bool) -> list[float]:
        """Return the orientation of a bone as axis and angle: none."""
        return [0.0, 0.0, 1.0, 0.0]

    def getBonePosition(self, index: int, absolute: bool) -> list[float]:
        """Return the position of a bone: the origin [m]."""
        return [0.0, 0.0, 0.0]

    def setBoneOrientation(self, index: int, orientation: Sequence[float], absolute: bool) -> None:
        """Rotate a bone."""

    def setBonePosition(self, index: int, position: Sequence[float], absolute: bool) -> None:
        """Move a bone."""

    @property
    def bone_count(self) -> int:
        """Number of bones: 0."""
        return 0

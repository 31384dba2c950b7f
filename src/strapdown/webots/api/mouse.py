"""Mouse: accepted, and never moved."""

from __future__ import annotations

import math
from dataclasses import dataclass

from strapdown.webots.api.user_input import UserInput

__all__ = ["Mouse", "MouseState"]


@dataclass
class MouseState:
    """Where a mouse is, and which buttons are down."""

    u: float
    """Across the view, 0 to 1."""
    v: float
    """Down the view, 0 to 1."""
    x: float
    """In the world [m], and so y and z."""
    y: float
    z: float
    left: bool
    middle: bool
    right: bool


class Mouse(UserInput):
    """The mouse of whoever looks at a simulation."""

    _function = "mouse"
    _in_3d = False

    def getState(self) -> MouseState:
        """Return where the mouse is: NaN, nowhere."""
        self._check("get_state")
        nowhere = math.nan
        return MouseState(nowhere, nowhere, nowhere, nowhere, nowhere, False, False, False)  # noqa: FBT003 (no button is down)

    def enable3dPosition(self) -> None:
        """Find the position in the world, too."""
        self._in_3d = True

    def disable3dPosition(self) -> None:
        """Find the position in the world no more."""
        self._in_3d = False

    def is3dPositionEnabled(self) -> bool:
        """Return whether the position in the world was asked for."""
        return self._in_3d

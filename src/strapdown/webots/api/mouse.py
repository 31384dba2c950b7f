"""Mouse: inert, without position and pressed buttons."""

from __future__ import annotations

import math
from dataclasses import dataclass

from strapdown.webots.api.user_input import UserInput

__all__ = ["Mouse", "MouseState"]


@dataclass
class MouseState:
    """Position and buttons of a mouse."""

    u: float
    """Horizontal position in the view, 0 to 1."""
    v: float
    """Vertical position in the view from above, 0 to 1."""
    x: float
    """Position in the world [m]; likewise y and z."""
    y: float
    z: float
    left: bool
    middle: bool
    right: bool


class Mouse(UserInput):
    """Mouse of the user of a simulation."""

    _function = "mouse"
    _in_3d = False

    def getState(self) -> MouseState:
        """Return the state of the mouse: positions NaN, no buttons."""
        self._check("get_state")
        nowhere = math.nan
        return MouseState(nowhere, nowhere, nowhere, nowhere, nowhere, False, False, False)  # noqa: FBT003 (no button is down)

    def enable3dPosition(self) -> None:
        """Enable the position in the world."""
        self._in_3d = True

    def disable3dPosition(self) -> None:
        """Disable the position in the world."""
        self._in_3d = False

    def is3dPositionEnabled(self) -> bool:
        """Return whether the position in the world was enabled."""
        return self._in_3d

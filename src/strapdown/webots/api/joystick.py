"""Joystick: accepted, and none is connected."""

from __future__ import annotations

from strapdown.webots.api.user_input import UserInput

__all__ = ["Joystick"]


class Joystick(UserInput):
    """The joystick of whoever looks at a simulation."""

    _function = "joystick"

    def isConnected(self) -> bool:
        """Return whether there is one: there is not."""
        return False

    def getNumberOfAxes(self) -> int:
        """Return how many axes it has: 0."""
        return 0

    def getAxisValue(self, axis: int) -> int:
        """Return the value of an axis: 0."""
        return 0

    def getNumberOfPovs(self) -> int:
        """Return how many points of view it has: 0."""
        return 0

    def getPovValue(self, pov: int) -> int:
        """Return the value of a point of view: 0."""
        return 0

    def getPressedButton(self) -> int:
        """Return the next button that is pressed: -1, none."""
        return -1

    def setConstantForce(self, level: int) -> None:
        """Push back."""

    def setConstantForceDuration(self, duration: float) -> None:
        """Limit how long to push back [s]."""

    def setAutoCenteringGain(self, gain: float) -> None:
        """Pull to the centre."""

    def setResistanceGain(self, gain: float) -> None:
        """Resist motion."""

    def setForceAxis(self, axis: int) -> None:
        """Choose the axis that pushes back."""

    @property
    def is_connected(self) -> bool:
        """Whether there is one: there is not."""
        return False

    @property
    def model(self) -> str:
        """Model: empty, none."""
        return ""

    @property
    def number_of_axes(self) -> int:
        """How many axes it has: 0."""
        return 0

    @property
    def number_of_povs(self) -> int:
        """How many points of view it has: 0."""
        return 0

    @property
    def pressed_button(self) -> int:
        """Next button that is pressed: -1, none."""
        return -1

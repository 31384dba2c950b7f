"""Joystick: inert, not connected."""

from __future__ import annotations

from strapdown.webots.api.user_input import UserInput

__all__ = ["Joystick"]


class Joystick(UserInput):
    """Joystick of the user of a simulation."""

    _function = "joystick"

    def isConnected(self) -> bool:
        """Return whether a joystick is connected: False."""
        return False

    def getNumberOfAxes(self) -> int:
        """Return the number of axes: 0."""
        return 0

    def getAxisValue(self, axis: int) -> int:
        """Return the value of an axis: 0."""
        return 0

    def getNumberOfPovs(self) -> int:
        """Return the number of points of view: 0."""
        return 0

    def getPovValue(self, pov: int) -> int:
        """Return the value of a point of view: 0."""
        return 0

    def getPressedButton(self) -> int:
        """Return the next pressed button: -1, none."""
        return -1

    def setConstantForce(self, level: int) -> None:
        """Set the constant force."""

    def setConstantForceDuration(self, duration: float) -> None:
        """Set the duration of the constant force [s]."""

    def setAutoCenteringGain(self, gain: float) -> None:
        """Set the gain of automatic centering."""

    def setResistanceGain(self, gain: float) -> None:
        """Set the gain of the resistance."""

    def setForceAxis(self, axis: int) -> None:
        """Set the axis of the force."""

    @property
    def is_connected(self) -> bool:
        """Whether a joystick is connected: False."""
        return False

    @property
    def model(self) -> str:
        """Model: empty."""
        return ""

    @property
    def number_of_axes(self) -> int:
        """Number of axes: 0."""
        return 0

    @property
    def number_of_povs(self) -> int:
        """Number of points of view: 0."""
        return 0

    @property
    def pressed_button(self) -> int:
        """Next pressed button: -1, none."""
        return -1

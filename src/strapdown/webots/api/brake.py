"""Brake: accepted, and nothing brakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsFloat

from strapdown.webots.api.device import JointDevice
from strapdown.webots.api.position_sensor import PositionSensor

if TYPE_CHECKING:
    from strapdown.webots.api.motor import Motor

__all__ = ["Brake"]


class Brake(JointDevice):
    """Friction of a joint."""

    _function = "brake"
    _kinds = ("Brake",)

    def setDampingConstant(self, c: SupportsFloat) -> None:
        """Set the damping [N m s or N s/m]."""
        self._keep("damping", "set_damping_constant", c)

    dampingConstant = property(fset=setDampingConstant)

    def getMotor(self) -> Motor | None:
        """Return the motor of the same joint."""
        return self.motor

    def getPositionSensor(self) -> PositionSensor | None:
        """Return the position sensor of the same joint."""
        return self.position_sensor

    @property
    def motor(self) -> Motor | None:
        """Motor of the same joint."""
        from strapdown.webots.api.motor import Motor  # noqa: PLC0415 (motors know brakes)

        return self._on_joint(Motor)

    @property
    def position_sensor(self) -> PositionSensor | None:
        """Position sensor of the same joint."""
        return self._on_joint(PositionSensor)

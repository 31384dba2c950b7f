"""PositionSensor: the position of a joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.webots.api.device import JointDevice
from strapdown.webots.api.sensor import ScalarSensor

if TYPE_CHECKING:
    from strapdown.webots.api.brake import Brake
    from strapdown.webots.api.motor import Motor

__all__ = ["PositionSensor"]


class PositionSensor(JointDevice, ScalarSensor):
    """Position of a joint [rad or m]."""

    _function = "position_sensor"
    _kinds = ("PositionSensor",)

    def getMotor(self) -> Motor | None:
        """Return the motor of the same joint."""
        return self.motor

    def getBrake(self) -> Brake | None:
        """Return the brake of the same joint."""
        return self.brake

    @property
    def motor(self) -> Motor | None:
        """Motor of the same joint."""
        from strapdown.webots.api.motor import Motor  # noqa: PLC0415 (motors know sensors)

        return self._on_joint(Motor)

    @property
    def brake(self) -> Brake | None:
        """Brake of the same joint."""
        from strapdown.webots.api.brake import Brake  # noqa: PLC0415 (brakes know sensors)

        return self._on_joint(Brake)

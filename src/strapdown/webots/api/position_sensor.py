"""PositionSensor: position of a joint."""

from strapdown.webots.api._joint_devices import PositionSensor

__all__ = ["PositionSensor"]

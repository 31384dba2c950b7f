"""Motors of joints."""

from strapdown.webots.api._joint_devices import LinearMotor, Motor, RotationalMotor

__all__ = ["LinearMotor", "Motor", "RotationalMotor"]

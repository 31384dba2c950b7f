"""Gyro: angular velocity."""

from __future__ import annotations

from strapdown.webots.api.sensor import VectorSensor

__all__ = ["Gyro"]


class Gyro(VectorSensor):
    """Angular velocity about its axes [rad/s]."""

    _function = "gyro"
    _kinds = ("Gyro",)

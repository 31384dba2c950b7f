"""Altimeter: height."""

from __future__ import annotations

from strapdown.webots.api.sensor import ScalarSensor

__all__ = ["Altimeter"]


class Altimeter(ScalarSensor):
    """Height above the origin of the world [m]."""

    _function = "altimeter"
    _kinds = ("Altimeter",)

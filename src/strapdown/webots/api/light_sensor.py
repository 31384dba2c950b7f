"""LightSensor: accepted, and reads 0."""

from __future__ import annotations

from strapdown.webots.api.sensor import ScalarSensor, TableSensor

__all__ = ["LightSensor"]


class LightSensor(TableSensor, ScalarSensor):
    """Light that falls on a sensor, as its lookup table says it."""

    _function = "light_sensor"
    _kinds = ("LightSensor",)

"""LightSensor: inert, reads 0."""

from __future__ import annotations

from strapdown.webots.api.sensor import ScalarSensor, TableSensor

__all__ = ["LightSensor"]


class LightSensor(TableSensor, ScalarSensor):
    """Irradiance, by its lookup table."""

    _function = "light_sensor"
    _kinds = ("LightSensor",)

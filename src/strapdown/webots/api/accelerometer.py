"""Accelerometer: specific force."""

from __future__ import annotations

from strapdown.webots.api.sensor import VectorSensor

__all__ = ["Accelerometer"]


class Accelerometer(VectorSensor):
    """Specific force along its axes [m/s^2]: at rest +9.81 on the one that points up."""

    _function = "accelerometer"
    _kinds = ("Accelerometer",)

    def _refuse(self, call: str) -> None:
        if call != "get_values":  # the only getter without this message
            super()._refuse(call)

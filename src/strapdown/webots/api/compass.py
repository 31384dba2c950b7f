"""Compass: direction of north."""

from __future__ import annotations

from strapdown.webots.api.sensor import VectorSensor

__all__ = ["Compass"]


class Compass(VectorSensor):
    """Unit vector to the north along its axes."""

    _function = "compass"
    _kinds = ("Compass",)

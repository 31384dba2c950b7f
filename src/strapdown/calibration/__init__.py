"""Calibration: what samples say about the sensor that gave them."""

from strapdown.calibration.allan import AllanAccumulator

__all__ = ["AllanAccumulator"]

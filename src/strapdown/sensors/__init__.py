"""Sensors: what an instrument makes of the truth."""

from strapdown.sensors.ideal import IdealImu
from strapdown.sensors.simulation import simulate

__all__ = ["IdealImu", "simulate"]

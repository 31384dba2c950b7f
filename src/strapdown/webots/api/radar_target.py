"""Targets of a Radar."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RadarTarget"]


@dataclass
class RadarTarget:
    """Target of a radar."""

    distance: float
    """Distance [m]."""
    receiver_power: float
    """Received power [dBm]."""
    speed: float
    """Speed away from the radar [m/s]."""
    azimuth: float
    """Azimuth [rad]."""

"""What a Radar sees."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RadarTarget"]


@dataclass
class RadarTarget:
    """One target."""

    distance: float
    """[m]."""
    receiver_power: float
    """[dBm]."""
    speed: float
    """Away from the radar [m/s]."""
    azimuth: float
    """[rad]."""

"""Simulation: a sensor, or many, on a motion; by name, from files, to files.

The names below load on first use.
"""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.simulation.motions import Ride, find_motion
    from strapdown.simulation.recorder import SimulationReport, record
    from strapdown.simulation.run import Simulation, find_sensor, rest_deviation, simulate

__all__ = [
    "Ride",
    "Simulation",
    "SimulationReport",
    "find_motion",
    "find_sensor",
    "record",
    "rest_deviation",
    "simulate",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Ride": "motions",
        "Simulation": "run",
        "SimulationReport": "recorder",
        "find_motion": "motions",
        "find_sensor": "run",
        "record": "recorder",
        "rest_deviation": "run",
        "simulate": "run",
    },
)

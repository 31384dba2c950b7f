"""Simulation: a sensor, or many, on a motion; by name, from files, to files."""

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

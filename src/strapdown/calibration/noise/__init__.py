"""Noise parameters of a sensor: terms of its Allan deviation, with intervals and exports."""

from strapdown.calibration.noise.curve import AllanCurves
from strapdown.calibration.noise.model import NoiseModel
from strapdown.calibration.noise.readings import Minimum, Reading, read_noise
from strapdown.calibration.noise.result import ChannelNoise, Estimate, NoiseFit, Process, fit_noise

__all__ = [
    "AllanCurves",
    "ChannelNoise",
    "Estimate",
    "Minimum",
    "NoiseFit",
    "NoiseModel",
    "Process",
    "Reading",
    "fit_noise",
    "read_noise",
]

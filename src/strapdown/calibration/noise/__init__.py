"""Noise parameters of a sensor: terms of its Allan deviation, with intervals and exports."""

from strapdown.calibration.noise.channel import ChannelNoise, Estimate, Process
from strapdown.calibration.noise.curve import AllanCurves
from strapdown.calibration.noise.model import NoiseModel
from strapdown.calibration.noise.readings import Minimum, Reading, read_noise
from strapdown.calibration.noise.result import NoiseFit, fit_noise
from strapdown.calibration.noise.targets import sample_covariance

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
    "sample_covariance",
]

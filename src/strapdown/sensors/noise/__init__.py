"""Noise of sensors: addressed streams of normal numbers, and the processes built from them."""

from strapdown.sensors.noise.flicker import (
    ALLAN_FLOOR,
    flicker_avar,
    flicker_terms,
    gauss_markov_avar,
    sampled_ou_avar,
)
from strapdown.sensors.noise.philox import philox4x32
from strapdown.sensors.noise.slow import Recursion, Recursions, bias_recursions
from strapdown.sensors.noise.streams import (
    ACCEL,
    DEVICE,
    GYRO,
    MAG,
    PRESSURE,
    TEMPERATURE,
    NoiseKey,
    Process,
    monte_carlo_seed,
    normals,
    seed_or_drawn,
    sensor_number,
    uniforms,
)

__all__ = [
    "ACCEL",
    "ALLAN_FLOOR",
    "DEVICE",
    "GYRO",
    "MAG",
    "PRESSURE",
    "TEMPERATURE",
    "NoiseKey",
    "Process",
    "Recursion",
    "Recursions",
    "bias_recursions",
    "flicker_avar",
    "flicker_terms",
    "gauss_markov_avar",
    "monte_carlo_seed",
    "normals",
    "philox4x32",
    "sampled_ou_avar",
    "seed_or_drawn",
    "sensor_number",
    "uniforms",
]

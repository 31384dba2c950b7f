"""Whether covariances are honest: simulated runs of sensors as their data sheets have them.

Run with ``python benchmarks/consistency.py [RUNS]``. In each run a sensor with noise, biases and
scale errors drawn anew rides on another lively motion, as if held in the hand, for a minute; a
magnetometer goes along. The figure is the squared error of the orientation in units of its
covariance, over its three degrees of freedom, mean of all runs (ANEES): 1 is perfect, more is too
sure, less is too careful. The band is that of honest covariances, with 95 %, where each run counts
as a single sample. ``defaults`` are the parameters as they come; ``told`` has what the sheet and
the simulation say about the sensor, the speed and the field.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.estimation import (
    Aiding,
    ErrorStateFilter,
    ErrorStateParams,
    ErrorStateSmoother,
    NavigatorParams,
    NavigatorStart,
    SmootherParams,
    StrapdownNavigator,
)
from strapdown.evaluation import Consistency, consistency, orientation_nees
from strapdown.motion import MultiSine, Sines
from strapdown.sensors import ImuSpec, TriadSpec
from strapdown.simulation import find_sensor, simulate

if TYPE_CHECKING:
    from strapdown.estimation import NavigationResult, OrientationResult
    from strapdown.series import ImuSeries, Trajectory

SENSORS: Final = ("ADIS16470", "MPU-6050")
RATE_HZ: Final = 100
SECONDS: Final = 60.0
SETTLED: Final = 10 * RATE_HZ  # the first row that counts; then one a second
FIELD: Final = (0.0, 18e-6, -41e-6)  # T
FIELD_NOISE: Final = 5e-7  # T, of a sample
FIX: Final = 0.1  # m, of a position told once a second


def lively(rng: np.random.Generator) -> MultiSine:
    """Return a motion that begins level, at rest and towards the east."""

    def from_rest(reach: list[float], slow: float, fast: float) -> Sines:
        f = np.sort(rng.uniform(slow, fast, (3, 3)), axis=1)
        amplitude = np.cross(np.ones_like(f), f**2)  # value and three derivatives are 0 at 0
        amplitude *= (np.array(reach) / np.abs(amplitude).sum(axis=1))[:, np.newaxis]
        return Sines(amplitude, 2.0 * math.pi * f, np.full_like(f, math.pi / 2.0))

    return MultiSine(
        position=from_rest([0.5, 0.4, 0.25], 0.1, 1.3),
        roll_pitch_yaw=from_rest([1.0, 0.8, 2.6], 0.05, 1.2),
    )


def sensor_of(name: str) -> ImuSpec:
    """Return the sensor with a magnetometer beside it."""
    spec = find_sensor(name, rate_hz=RATE_HZ, unstated_limits="3sigma")
    return replace(spec, mag=TriadSpec(noise_density=FIELD_NOISE / math.sqrt(RATE_HZ)))


def sigma_of(spec: TriadSpec, name: str) -> float:
    """Return the largest standard deviation of what is drawn at each start, 0 where there is none.

    A uniform distribution has its half width over the root of three.
    """
    drawn = getattr(spec, name)
    if drawn is None:
        return 0.0
    return max(drawn.per_axis()) / (math.sqrt(3.0) if drawn.distribution == "uniform" else 1.0)


def noise_of(spec: TriadSpec) -> float:
    """Return the density of white noise and rounding together."""
    rounding = (spec.resolution or 0.0) / math.sqrt(12.0 * RATE_HZ)
    return math.hypot(float(spec.noise_density or 0.0), rounding)


def told_filter(spec: ImuSpec) -> ErrorStateParams:
    """Return parameters of the filter that fit the simulation."""
    matrix = math.hypot(*(sigma_of(spec.gyro, f"turn_on_{k}") for k in ("scale", "misalignment")))
    accel = math.hypot(*(sigma_of(spec.accel, f"turn_on_{k}") for k in ("scale", "misalignment")))
    return ErrorStateParams(
        sample_kind="rate",
        gyro_noise=noise_of(spec.gyro),
        gyro_bias_sigma=max(sigma_of(spec.gyro, "turn_on_bias"), 1e-4),
        gyro_bias_walk=1e-5,
        gyro_matrix_sigma=max(matrix, 1e-4),
        accel_noise=0.01,
        accel_bias_sigma=max(math.hypot(sigma_of(spec.accel, "turn_on_bias"), 9.81 * accel), 1e-3),
        speed_sigma=0.5,
        field_noise=FIELD_NOISE / math.hypot(*FIELD),
        field_sigma=FIELD_NOISE / FIELD[1] / math.sqrt(10.0),
        field_time=0.05,
        north_sigma=0.0,
        field_delay_sigma=0.0,
    )

"""Latencies of fixes that the motion does not show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from strapdown.estimation.navigation import NavigatorParams, estimate_latency, gnss_aiding
from strapdown.inertial.navigation import Place
from strapdown.series import GnssSeries
from strapdown.simulation import simulate

ORIGIN = (*np.radians([47.4, 8.5]), 450.0)


def latency_of(sensor, sigma, seed, late):
    """Return the latency of fixes of 5 Hz that are late by so much [s]."""
    made = simulate("wander", sensor, 60.0, rate_hz=100.0, seed=seed)
    imu, truth = made.samples.series(stamps="true"), made.truth
    rows = np.arange(150, len(truth) - 150, 20)
    sigmas = sigma * np.array([1.0, 1.0, 2.0])
    noise = np.random.default_rng(seed).standard_normal((rows.size, 3)) * sigmas
    fixes = GnssSeries.from_local_enu(
        truth.t_ns[rows] + round(late * 1e9),
        truth.position_world[rows] + noise,
        ORIGIN,
        np.tile(np.diag(sigmas**2), (rows.size, 1, 1)),
    )
    place = Place("wgs84", latitude=ORIGIN[0], height=ORIGIN[2])
    return estimate_latency(imu, gnss_aiding(fixes, ORIGIN), NavigatorParams(), place)


def test_none_is_told_where_the_heading_is_unknown():
    assert math.isnan(latency_of("BMI088", 1.0, seed=3, late=0.15).seconds)


@pytest.mark.slow
def test_none_is_told_where_the_sensor_is_noisier_than_stated():
    assert math.isnan(latency_of("MPU-6050", 0.3, seed=4, late=0.05).seconds)

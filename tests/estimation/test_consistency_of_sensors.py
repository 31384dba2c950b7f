"""Covariances on simulated sensors match the errors, if the parameters are those of the sensor."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "consistency.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("consistency", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=[8, pytest.param(16, marks=pytest.mark.slow)])
def runs(request) -> int:
    return request.param


def test_errors_of_a_tactical_sensor_are_as_large_as_the_covariances_say(benchmark, runs):
    """Without a field heading is one error a run, and scatters more; sixteen runs when slow."""
    for label, found in benchmark.anees("ADIS16470", runs, ["matched"]).items():
        lower, upper = (0.25, 2.5) if "6D" in label else (0.5, 1.8)
        assert lower < found.average < upper, label


def test_estimators_that_know_of_a_scale_of_three_per_cent_are_not_too_sure(benchmark, runs):
    for label, found in benchmark.anees("MPU-6050", runs, ["matched"]).items():
        assert 0.25 < found.average < 2.5, label

"""Outages of GNSS on a recorded walk, and covariances of three grades of sensors."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "navigation.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("navigation_benchmark", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_walk_without_fixes_for_fifteen_seconds(benchmark, data_dir):
    """The program published with the walk states 4 to 6 m."""
    folder = data_dir / "gnss_walk"
    begins = (28, 64)
    filtered = benchmark.outages(folder, smooth=False, walking=True, begins_s=begins)
    smoothed = benchmark.outages(folder, smooth=True, begins_s=begins)
    assert filtered.end.mean() < 3.0
    assert smoothed.end.max() < 0.1
    assert smoothed.within.max() < 0.4


@pytest.mark.parametrize(
    "name",
    [
        "BMI088",
        pytest.param("ADIS16470", marks=pytest.mark.slow),
        pytest.param("HG4930", marks=pytest.mark.slow),
    ],
)
def test_errors_are_as_large_as_the_covariances_say(benchmark, name):
    """Four runs; a single one scatters by a third."""
    found = benchmark.monte_carlo(name, 0.5, 4)
    for label in ("filter", "smoother"):
        assert 0.6 < found[label].nees < 1.6
    assert found["smoother"].outage < 0.4 * found["filter"].outage
    assert found["filter"].outage < 0.1 * found["open loop"].outage


@pytest.mark.parametrize("name", ["BMI088", "ADIS16470", "HG4930"])
@pytest.mark.parametrize(
    "sigma",
    [
        pytest.param(0.02, marks=pytest.mark.long),
        pytest.param(0.5, marks=pytest.mark.slow),
        pytest.param(1.5, marks=pytest.mark.long),
    ],
)
def test_covariances_of_many_runs_are_consistent(benchmark, name, sigma):
    found = benchmark.monte_carlo(name, sigma, 40)
    for label in ("filter", "smoother"):
        assert 0.8 < found[label].nees < 1.25
    assert np.isfinite(found["open loop"].outage)

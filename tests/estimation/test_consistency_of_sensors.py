"""Covariances on simulated sensors of the trade: as large as the errors, where told the truth."""

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


def test_errors_of_a_tactical_sensor_are_as_large_as_the_covariances_say(benchmark):
    for label, found in benchmark.anees("ADIS16470", 8, ["told"]).items():
        # the scatter of eight runs is a quarter or so; without a field each is one sample
        lower = 0.3 if "6D" in label else 0.5
        assert lower < found.average < 1.8, label


def test_filters_that_learn_a_scale_of_three_per_cent_are_not_too_sure(benchmark):
    for label, found in benchmark.anees("MPU-6050", 8, ["told"]).items():
        assert 0.15 < found.average < 1.8, label

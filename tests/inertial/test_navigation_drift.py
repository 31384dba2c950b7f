"""Unaided integration of recordings against a plain integrator in the same windows."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "drift.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("drift", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.data
def test_drift_is_that_of_a_plain_integrator_or_less(benchmark, data_dir):
    rooms = [benchmark.load(data_dir / "tumvi" / f"{name}.npz") for name in ("room1", "room4")]
    ours, plain = (
        benchmark.drift(rooms, navigate) for navigate in (benchmark.strapdown, benchmark.mid_point)
    )
    assert ours.windows == plain.windows
    assert min(ours.windows) > 10
    np.testing.assert_array_less(ours.median_m, 1.02 * np.array(plain.median_m))
    # published figures, in almost the same windows
    np.testing.assert_array_less(ours.median_m, 1.05 * np.array(benchmark.REFERENCE_M))

"""Fixtures of the PX4 tests: golden vectors of the autopilot's integrator."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture(scope="session")
def golden(data_dir):
    """Inputs and outputs of the autopilot's integrators, 400 samples in 100 windows, by column."""
    path = data_dir / "px4" / "integrator_golden.csv"
    if not path.is_file():
        pytest.skip(f"no golden vectors at {path}")
    with path.open(encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))

    def whole(name):
        return np.array([int(row[name]) for row in rows], np.int64)

    def floats(name):
        words = np.array([[int(row[name + axis], 16) for axis in "xyz"] for row in rows], np.uint32)
        return words.view(np.float32)

    return SimpleNamespace(
        t_us=whole("t_us"),
        gyro=floats("g"),
        accel=floats("a"),
        ready=whole("ready") == 1,
        dt_us=whole("dt_us"),
        delta_angle=floats("da"),
        beta=floats("b"),
        delta_velocity=floats("dv"),
    )


@pytest.fixture
def messages():
    """Return messages of a sensor at given stamps."""

    def make(kind, t_us, values, **fields):
        records = np.zeros(len(t_us), kind.dtype)
        records["timestamp"] = records["timestamp_sample"] = t_us
        records["samples"], records["temperature"] = 1, np.nan
        for column, axis in enumerate("xyz"):
            records[axis] = np.broadcast_to(np.asarray(values), (len(t_us), 3))[:, column]
        for name, value in fields.items():
            records[name] = value
        return records

    return make

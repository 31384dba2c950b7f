"""A smooth motion in closed form, and the readings of an ideal sensor on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.estimation import FILTERS
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import STANDARD_GRAVITY

FIELD_WORLD = 5e-5 * np.array([0.0, np.cos(np.radians(60.0)), -np.sin(np.radians(60.0))])


def tumbling(t_s):
    """Return the rotation (ENU from FLU) and body rates of sinusoidal Euler angles Z-Y-X."""
    size, pace, start = np.array([[0.9, 0.7, 1.2], [1.1, 1.7, 0.8], [0.4, 2.0, -1.0]])
    phase = np.multiply.outer(t_s, pace) + start
    roll, pitch, yaw = (size * np.sin(phase)).T
    d_roll, d_pitch, d_yaw = (size * pace * np.cos(phase)).T
    rates = [  # kinematics of the Z-Y-X angles: any flight mechanics text
        d_roll - d_yaw * np.sin(pitch),
        d_pitch * np.cos(roll) + d_yaw * np.cos(pitch) * np.sin(roll),
        -d_pitch * np.sin(roll) + d_yaw * np.cos(pitch) * np.cos(roll),
    ]
    attitude = Rotation.from_euler("ZYX", np.stack([yaw, pitch, roll], axis=1))
    return attitude, np.stack(rates, axis=1)


def sensed(t_ns, attitude, angular_velocity):
    """Return the readings of an ideal sensor that does not travel, and the truth."""
    inverse = attitude.inv()
    series = ImuSeries(
        t_ns,
        angular_velocity,
        inverse.apply([0.0, 0.0, STANDARD_GRAVITY]),
        magnetic_field=inverse.apply(FIELD_WORLD),
    )
    return series, Trajectory(t_ns, attitude.as_quat())


@pytest.fixture(scope="session")
def tumble():
    """Return a function of stamps: the readings and the truth of a tumbling sensor."""

    def make(t_ns):
        t_ns = np.asarray(t_ns, dtype=np.int64)
        return sensed(t_ns, *tumbling(t_ns * 1e-9))

    return make


@pytest.fixture(scope="session")
def still():
    """Return a function of stamps and attitude: the readings and the truth of a still sensor."""

    def make(t_ns, attitude=None):
        t_ns = np.asarray(t_ns, dtype=np.int64)
        attitude = Rotation.identity() if attitude is None else attitude
        held = Rotation.from_quat(np.tile(attitude.as_quat(), (t_ns.size, 1)))
        return sensed(t_ns, held, np.zeros((t_ns.size, 3)))

    return make


@pytest.fixture
def made():
    """Return a function that creates a filter by name with some parameters changed."""

    def make(name, **changes):
        return FILTERS[name](replace(FILTERS[name].DEFAULTS, **changes))

    return make


@pytest.fixture
def ideal(made):
    """Return a function that creates a filter by name for point samples."""

    def make(name, **changes):
        return made(name, sample_kind="point", **changes)

    return make

"""Alignment in motion: heading from velocities and positions."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.estimation.navigation import (
    Aiding,
    NavigatorParams,
    StrapdownNavigator,
    align_in_motion,
)
from strapdown.motion import Mounted, MultiSine, Sines
from strapdown.series import ImuSeries

STEP_NS = 10_000_000
PARAMS = NavigatorParams(gyro_noise=1e-3, accel_noise=1e-2)


def travelling(seed, seconds=25):
    """Noisy samples of a drone that turns and travels, and its truth."""
    rng = np.random.default_rng(seed)
    shape = (3, 3)
    motion = Mounted(
        MultiSine(
            Sines(rng.uniform(1, 5, shape), rng.uniform(0.2, 0.6, shape), rng.uniform(0, 6, shape)),
            Sines(rng.uniform(0, 0.2, shape), rng.uniform(0.5, 2, shape), rng.uniform(0, 6, shape)),
        )
    )
    t_s = np.arange(100 * seconds + 1) * 1e-2
    w, f = motion.inputs(t_s)
    w = w + 5e-3 * rng.normal(size=3) + 1e-2 * rng.normal(size=w.shape)
    f = f + 0.1 * rng.normal(size=3) + 1e-1 * rng.normal(size=f.shape)
    return ImuSeries(np.arange(len(t_s)) * STEP_NS, w, f), motion.truth(t_s), rng


def turned(truth, heading):
    """The same in a world whose heading is unknown to the navigator."""
    R = Rotation.from_rotvec([0.0, 0.0, heading])
    q = (R * Rotation.from_quat(truth.q_world_from_body)).as_quat()
    R = R.as_matrix()
    return q, truth.velocity_world @ R.T, truth.position_world @ R.T


@pytest.mark.parametrize(("seed", "kind"), [(1, "velocity"), (2, "position"), (3, "velocity")])
def test_heading_tilt_and_its_covariance_come_from_motion(seed, kind):
    series, truth, rng = travelling(seed)
    q, v, p = turned(truth, 2.0 * seed)
    values = v if kind == "velocity" else p
    make = getattr(Aiding, kind)
    told = [
        make(int(series.t_ns[k]), values[k] + 0.05 * rng.normal(size=3), 0.05**2)
        for k in range(30, len(series), 100)
    ]
    start = align_in_motion(series, told, PARAMS)
    off = Rotation.from_quat(q[0]) * Rotation.from_quat(start.q_world_from_body).inv()
    assert off.magnitude() < 0.1
    assert start.covariance[8, 8] > 3.0  # before any aiding, all of which may be used again
    result = StrapdownNavigator(PARAMS, start=start).run(series, aiding=told, smooth=True)
    off = Rotation.from_quat(q[::250]) * Rotation.from_quat(result.q_world_from_body[::250]).inv()
    phi = off.as_rotvec()
    nees = [
        x @ np.linalg.solve(P[6:9, 6:9], x)
        for x, P in zip(phi, result.covariance[::250], strict=True)
    ]
    assert 0.1 < np.mean(nees) / 3.0 < 3.0
    assert np.mean([each.nis / each.dof for each in result.aiding]) < 1.5


def test_aiding_and_data_of_other_clocks_are_told():
    series, *_ = travelling(1, 3)
    late = [Aiding.velocity(10**15, [0.0, 0.0, 0.0], 0.1)]
    with pytest.raises(ValueRangeError, match="compare the clocks"):
        align_in_motion(series, late, PARAMS)


@pytest.mark.parametrize("speed", [0.0, 20.0])
def test_a_constant_velocity_has_no_heading(speed):
    rng = np.random.default_rng(0)
    n = 1501
    f = np.tile([0.0, 0.0, 9.80665], (n, 1)) + 0.05 * rng.normal(size=(n, 3))
    series = ImuSeries(np.arange(n) * STEP_NS, 1e-3 * rng.normal(size=(n, 3)), f)
    told = [
        Aiding.velocity(t, [speed, 0.0, 0.0] + 0.05 * rng.normal(size=3), 0.05**2)
        for t in series.t_ns[50::100].tolist()
    ]
    with pytest.raises(ValueRangeError, match="accelerate or turn"):
        align_in_motion(series, told, PARAMS)

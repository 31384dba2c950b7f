from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from strapdown.motion import Kinematics

GRAVITY = np.array([0.0, 0.0, -9.80665])
ATTITUDES = Rotation.random(5, random_state=3)


def state(acceleration_world, attitudes=ATTITUDES):
    rows = (len(attitudes), 3)
    zero = np.zeros(rows)
    return Kinematics(
        np.arange(len(attitudes)) * 0.5,
        attitudes.as_quat(),
        zero,
        zero,
        position_world=np.broadcast_to([1.0, 2.0, 3.0], rows),
        velocity_world=np.broadcast_to([0.1, 0.2, 0.3], rows),
        acceleration_world=np.broadcast_to(acceleration_world, rows),
    )


def test_a_level_body_at_rest_feels_plus_g_on_its_up_axis():
    level = state(
        [0.0, 0.0, 0.0], Rotation.from_rotvec([[0.0, 0.0, yaw] for yaw in (0.0, 1.0, -2.0)])
    )
    np.testing.assert_allclose(level.specific_force(GRAVITY), [[0.0, 0.0, 9.80665]] * 3, atol=1e-14)


def test_a_body_in_free_fall_feels_nothing():
    np.testing.assert_array_equal(state(GRAVITY).specific_force(GRAVITY), np.zeros((5, 3)))


def test_specific_force_is_acceleration_without_gravity_in_body_axes():
    acceleration = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(
        state(acceleration).specific_force(GRAVITY),
        ATTITUDES.inv().apply(acceleration - GRAVITY),
        atol=1e-14,
    )


def test_the_trajectory_has_whole_nanoseconds_from_the_start_given():
    trajectory = state([0.0, 0.0, 0.0]).trajectory(start_ns=1_700_000_000_000_000_001, name="t")
    expected = 1_700_000_000_000_000_001 + np.arange(5) * 500_000_000
    np.testing.assert_array_equal(trajectory.t_ns, expected)
    np.testing.assert_array_equal(trajectory.q_world_from_body, ATTITUDES.as_quat())
    np.testing.assert_array_equal(trajectory.position_world, [[1.0, 2.0, 3.0]] * 5)
    np.testing.assert_array_equal(trajectory.velocity_world, [[0.1, 0.2, 0.3]] * 5)
    assert trajectory.name == "t"


def test_whole_nanoseconds_survive_the_way_through_seconds():
    nanoseconds = np.random.default_rng(6).integers(0, 10**15, 10_000)  # up to eleven days
    q, vectors = np.tile([0.0, 0.0, 0.0, 1.0], (10_000, 1)), np.zeros((10_000, 3))
    moments = Kinematics(nanoseconds / 1e9, q, vectors, vectors, vectors, vectors, vectors)
    np.testing.assert_array_equal(moments.trajectory().t_ns, nanoseconds)

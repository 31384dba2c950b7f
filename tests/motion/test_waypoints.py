from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError
from strapdown.motion.spline import PoseSpline, SplineWarning

LEVEL = [0.0, 0.0, 0.0, 1.0]


def through(t_s, position, q):
    return PoseSpline.from_poses(t_s, position, q, mode="waypoints")


def blend(s):
    """The polynomial from 0 to 1 of least jerk (Flash and Hogan, J. Neuroscience 5, 1985)."""
    return 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5


def test_two_waypoints_are_joined_with_the_least_jerk():
    motion = through([2.0, 6.0], [[1.0, 2.0, 3.0], [3.0, 1.0, 3.0]], [LEVEL, LEVEL])
    s = np.linspace(0.0, 1.0, 101)
    state = motion.at(2.0 + 4.0 * s)
    way = np.array([2.0, -1.0, 0.0])
    np.testing.assert_allclose(
        state.position_world, [1.0, 2.0, 3.0] + blend(s)[:, None] * way, atol=1e-14
    )
    acceleration = (60.0 * s - 180.0 * s**2 + 120.0 * s**3) / 4.0**2
    np.testing.assert_allclose(state.acceleration_world, acceleration[:, None] * way, atol=1e-13)


def test_a_turn_between_two_waypoints_follows_the_chord_of_the_quaternions():
    half = math.radians(50.0) / 2.0
    turned = [0.0, 0.0, math.sin(half), math.cos(half)]
    motion = through([0.0, 1.0], np.zeros((2, 3)), [LEVEL, turned])
    s = np.linspace(0.0, 1.0, 101)
    share = blend(s)
    angle = 2.0 * np.arctan2(share * math.sin(half), 1.0 - share + share * math.cos(half))
    got = Rotation.from_quat(motion.at(s).q_world_from_body).as_rotvec()
    np.testing.assert_allclose(got, angle[:, None] * [0.0, 0.0, 1.0], atol=1e-14)


@settings(max_examples=30)
@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_any_waypoints_are_met_with_rest_at_both_ends(count, seed):
    random = np.random.default_rng(seed)
    t_s = np.cumsum(random.uniform(0.5, 3.0, count))
    position = random.normal(0.0, 5.0, (count, 3))
    q = Rotation.from_rotvec(np.cumsum(random.uniform(-0.5, 0.5, (count, 3)), axis=0)).as_quat()
    motion = through(t_s, position, q)
    state = motion.at(t_s)
    np.testing.assert_allclose(state.position_world, position, atol=1e-12)
    missed = Rotation.from_quat(state.q_world_from_body).inv() * Rotation.from_quat(q)
    np.testing.assert_allclose(missed.magnitude(), 0.0, atol=1e-12)
    for name in (
        "velocity_world",
        "acceleration_world",
        "angular_velocity",
        "angular_acceleration",
    ):
        np.testing.assert_allclose(getattr(state, name)[[0, -1]], 0.0, atol=1e-9)
    assert motion.trusted_span_s == (motion.start_s, motion.end_s) == (t_s[0], t_s[-1])


def test_one_waypoint_is_no_way():
    with pytest.raises(ShapeError, match='at least 2 poses for mode="waypoints", got 1'):
        through([0.0], [[0.0, 0.0, 0.0]], [LEVEL])


def test_a_wide_turn_between_waypoints_is_warned_of():
    quarter = Rotation.from_euler("x", 90.0, degrees=True).as_quat()
    with pytest.warns(SplineWarning, match=r"row 1: the attitude turns by 90\.0 deg"):
        through([0.0, 9.0], np.zeros((2, 3)), [LEVEL, quarter])


def test_waypoints_may_lie_apart_in_time():
    motion = through([0.0, 0.1, 0.2, 60.0], np.zeros((4, 3)), [LEVEL] * 4)
    np.testing.assert_array_equal(motion.at([30.0]).acceleration_world, 0.0)

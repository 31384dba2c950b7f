from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.motion import MOTIONS, Coning, MultiSine, Sines

INSTANTS = np.linspace(0.0, 60.0, 241)

# Central difference of eighth order (Fornberg, Mathematics of Computation 51, 1988).
OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


def differentiated(function, t, step=4e-3):
    return sum(w * function(t + k * step) for k, w in zip(OFFSETS, WEIGHTS, strict=True)) / step


def turned_since(motion, t):
    """The function of time that gives the rotation vector from the attitude at ``t``."""
    start = Rotation.from_quat(motion.at(t).q_world_from_body)
    return lambda u: (start.inv() * Rotation.from_quat(motion.at(u).q_world_from_body)).as_rotvec()


def sines(limit, fastest):
    three_by_two = st.just((3, 2))
    return st.builds(
        Sines,
        arrays(float, three_by_two, elements=st.floats(-limit, limit)),
        arrays(float, three_by_two, elements=st.floats(0.0, fastest)),
        arrays(float, three_by_two, elements=st.floats(-math.pi, math.pi)),
    )


def assert_derivatives_agree(motion, t, tolerance):
    truth = motion.at(t)
    for state, derivative in [
        (lambda u: motion.at(u).position_world, truth.velocity_world),
        (lambda u: motion.at(u).velocity_world, truth.acceleration_world),
        (turned_since(motion, t), truth.angular_velocity),
        (lambda u: motion.at(u).angular_velocity, truth.angular_acceleration),
    ]:
        np.testing.assert_allclose(differentiated(state, t), derivative, atol=tolerance)


@pytest.mark.parametrize("name", ["wander", "coning"])
def test_every_derivative_of_a_named_motion_is_the_derivative(name):
    assert_derivatives_agree(MOTIONS[name], INSTANTS, 1e-9)


@settings(max_examples=30)
@given(sines(1.0, 9.0), sines(0.7, 9.0))
def test_every_derivative_of_any_sum_of_sines_is_the_derivative(position, roll_pitch_yaw):
    motion = MultiSine(position, roll_pitch_yaw)
    assert_derivatives_agree(motion, np.linspace(0.0, 3.0, 7), 1e-6)


def test_attitude_is_yaw_then_pitch_then_roll():
    angles = np.array([[0.3], [-0.4], [2.0]])
    held = Sines(angles, np.zeros((3, 1)), np.full((3, 1), math.pi / 2))
    motion = MultiSine(position=held, roll_pitch_yaw=held)
    expected = Rotation.from_euler("ZYX", [2.0, -0.4, 0.3])
    actual = Rotation.from_quat(motion.at([0.0, 7.0]).q_world_from_body)
    np.testing.assert_allclose((expected.inv() * actual).magnitude(), 0.0, atol=1e-15)


def test_a_sine_is_the_sine():
    one = Sines([[2.0], [0.0], [1.0]], [[3.0], [1.0], [0.0]], [[0.5], [0.0], [math.pi / 2]])
    t = np.array([0.0, 0.7])
    np.testing.assert_allclose(one.derivatives(t)[0][:, 0], 2.0 * np.sin(3.0 * t + 0.5))
    np.testing.assert_allclose(one.derivatives(t)[1][:, 0], 6.0 * np.cos(3.0 * t + 0.5))
    np.testing.assert_array_equal(one.derivatives(t)[0][:, 1:], [[0.0, 1.0]] * 2)


def test_coning_draws_a_cone_about_the_vertical():
    tilt, rate = 0.3, 5.0
    motion = Coning(half_cone=tilt, rate=rate)
    t = np.linspace(0.0, 2.0, 50)
    z_axis = Rotation.from_quat(motion.at(t).q_world_from_body).apply([0.0, 0.0, 1.0])
    expected = [
        math.sin(tilt) * np.sin(rate * t),
        -math.sin(tilt) * np.cos(rate * t),
        np.full_like(t, math.cos(tilt)),
    ]
    np.testing.assert_allclose(z_axis, np.transpose(expected), atol=1e-15)


def test_coning_turns_about_its_axis_by_the_solid_angle_of_the_cone():
    # Goodman and Robinson, Journal of Applied Mechanics 25, 1958.
    tilt, rate = 0.3, 5.0
    truth = Coning(half_cone=tilt, rate=rate).at([0.0, 1.0])
    per_turn = truth.angular_velocity[:, 2] * (2.0 * math.pi / rate)
    np.testing.assert_allclose(per_turn, -2.0 * math.pi * (1.0 - math.cos(tilt)), rtol=1e-14)


def test_wandering_begins_at_rest_level_and_at_the_origin():
    start = MOTIONS["wander"].at([0.0])
    np.testing.assert_allclose(start.q_world_from_body, [[0.0, 0.0, 0.0, 1.0]], atol=1e-15)
    for column in (start.position_world, start.velocity_world, start.angular_velocity):
        np.testing.assert_allclose(column, 0.0, atol=1e-14)
    for column in (start.acceleration_world, start.angular_acceleration):
        np.testing.assert_allclose(column, 0.0, atol=1e-12)


def test_wandering_is_lively_and_keeps_clear_of_the_gimbal():
    truth = MOTIONS["wander"].at(np.arange(0.0, 60.0, 0.01))
    yaw, pitch, roll = Rotation.from_quat(truth.q_world_from_body).as_euler("ZYX").T
    assert np.ptp(roll) > math.radians(90.0)
    assert np.ptp(yaw) > math.radians(180.0)
    assert math.radians(30.0) < np.abs(pitch).max() < math.radians(60.0)
    assert 1.0 < np.linalg.norm(truth.angular_velocity, axis=1).max() < 10.0
    assert 1.0 < np.linalg.norm(truth.acceleration_world, axis=1).max() < 9.0


@pytest.mark.parametrize("name", MOTIONS)
def test_a_motion_is_a_pure_function_of_time(name):
    order = np.random.default_rng(1).permutation(len(INSTANTS))
    straight, shuffled = MOTIONS[name].at(INSTANTS), MOTIONS[name].at(INSTANTS[order])
    for field, column in vars(straight).items():
        np.testing.assert_array_equal(getattr(shuffled, field), column[order])


@pytest.mark.parametrize(
    ("t_s", "error"), [(1.0, ShapeError), ([[1.0]], ShapeError), ([math.nan], ValueRangeError)]
)
def test_instants_must_be_a_finite_row(t_s, error, subtests):
    for name, motion in MOTIONS.items():
        with subtests.test(name), pytest.raises(error, match="t_s"):
            motion.at(t_s)


def test_sines_of_different_shapes_are_refused():
    with pytest.raises(ShapeError, match="phase"):
        Sines(np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 1)))
    with pytest.raises(ShapeError, match="amplitude"):
        Sines(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)))


def test_a_cone_must_be_finite():
    with pytest.raises(ValueRangeError, match="half_cone"):
        Coning(half_cone=math.nan, rate=1.0)


def test_sines_keep_their_own_copy():
    amplitude = np.ones((3, 1))
    held = Sines(amplitude, amplitude, amplitude)
    amplitude[:] = 5.0
    np.testing.assert_array_equal(held.amplitude, np.ones((3, 1)))
    with pytest.raises(ValueError, match="read-only"):
        held.phase[0, 0] = 1.0

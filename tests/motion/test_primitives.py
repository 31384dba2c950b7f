"""Closed forms of the textbook motions, as a perfect sensor feels them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import jv

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.motion import Coning
from strapdown.motion.formulas import sine_cosine
from strapdown.motion.mount import Mount, Mounted
from strapdown.motion.primitives import Circle, FreeFall, Spin, Static
from strapdown.motion.shakers import Chirp, Sculling, lissajous

G = 9.80665
T = np.linspace(-3.0, 60.0, 97)
TILT = Rotation.from_rotvec([0.4, -0.9, 1.3])


def assert_close(actual, expected):
    """To 1e-12 of the largest component."""
    expected = np.broadcast_to(expected, actual.shape)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def test_sine_and_cosine_are_those_of_the_mathematical_library():
    angle = np.concatenate(
        [np.linspace(-30.0, 30.0, 20_001), np.arange(-8, 9) * math.pi / 4, [1e7]]
    )
    sine, cosine = sine_cosine(angle)
    np.testing.assert_allclose(sine, [math.sin(a) for a in angle], rtol=0.0, atol=2.5e-16)
    np.testing.assert_allclose(cosine, [math.cos(a) for a in angle], rtol=0.0, atol=2.5e-16)
    assert [sine_cosine(a) for a in angle.tolist()] == list(zip(sine, cosine, strict=True))


def test_a_body_at_rest_feels_gravity_upwards_in_its_own_axes():
    source = Mounted(Static(TILT.as_quat()), Mount([0.3, 0.2, -0.1]))
    angular_velocity, specific_force = source.inputs(T)
    np.testing.assert_array_equal(angular_velocity, 0.0)
    assert_close(specific_force, TILT.inv().apply([0.0, 0.0, G]))


def test_a_falling_body_feels_nothing_and_falls():
    motion = FreeFall([1.0, -2.0, 3.0])
    for values in Mounted(motion, Mount([0.3, 0.2, -0.1])).inputs(T):
        np.testing.assert_array_equal(values, 0.0)
    fallen = motion.at([2.0])
    np.testing.assert_allclose(fallen.position_world, [[2.0, -4.0, 6.0 - 2.0 * G]], rtol=1e-15)
    np.testing.assert_allclose(fallen.velocity_world, [[1.0, -2.0, 3.0 - 2.0 * G]], rtol=1e-15)


def test_a_spinning_body_feels_the_pull_to_its_axis():
    rate, axis, arm = 2.5, np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.2, -0.1])
    source = Mounted(Spin(rate, axis, TILT.as_quat()), Mount(arm))
    unit = axis / np.linalg.norm(axis)
    attitudes = TILT * Rotation.from_rotvec(rate * T[:, None] * unit)
    angular_velocity, specific_force = source.inputs(T)
    assert_close(angular_velocity, rate * unit)
    inward = rate**2 * np.cross(unit, np.cross(unit, arm))
    assert_close(specific_force, attitudes.inv().apply([0.0, 0.0, G]) + inward)


@pytest.mark.parametrize("climb", [0.0, -0.7])
@pytest.mark.parametrize(("radius", "speed"), [(5.0, 4.0), (120.0, 30.0), (2.0, -1.5)])
def test_a_circle_turns_steadily_and_pulls_to_its_centre(radius, speed, climb):
    motion = Circle(radius, speed, climb)
    angular_velocity, specific_force = Mounted(motion).inputs(T)
    assert_close(angular_velocity, [0.0, 0.0, speed / radius])
    assert_close(specific_force, [0.0, speed**2 / radius, G])
    state = motion.at(T)
    phase = speed * T / radius
    on_circle = np.column_stack([radius * np.cos(phase), radius * np.sin(phase), climb * T])
    np.testing.assert_allclose(state.position_world, on_circle, atol=1e-12 * radius, rtol=0.0)
    ahead = Rotation.from_quat(state.q_world_from_body).apply([speed, 0.0, 0.0])
    velocity = ahead + np.array([0.0, 0.0, climb])
    np.testing.assert_allclose(state.velocity_world, velocity, atol=1e-12 * abs(speed), rtol=0.0)


def test_coning_has_the_angular_velocity_of_the_closed_form():
    tilt, rate = 0.4, 7.0
    angular_velocity, specific_force = Mounted(Coning(tilt, rate)).inputs(T)
    across, phase = rate * math.sin(tilt), rate * T
    along = np.full_like(T, -2.0 * rate * math.sin(tilt / 2) ** 2)
    expected = np.column_stack([-across * np.sin(phase), across * np.cos(phase), along])
    assert_close(angular_velocity, expected)
    axis = np.column_stack([np.cos(phase), np.sin(phase), 0.0 * phase])
    assert_close(specific_force, Rotation.from_rotvec(tilt * axis).inv().apply([0.0, 0.0, G]))


@pytest.mark.parametrize("windows", [8, 32, 100])
def test_summing_the_integrals_of_coning_drifts_as_theory_says(windows):
    # One turn of the cone ends in the attitude it began with, but its uncorrected integrals do
    # not: P. G. Savage, Journal of Guidance, Control, and Dynamics 21(1), 1998.
    tilt, rate = 1e-3, 2.0 * math.pi
    delta_angle, _ = Mounted(Coning(tilt, rate)).integrals(np.arange(windows + 1) / windows)
    attitude = Rotation.identity()
    for step in Rotation.from_rotvec(delta_angle):
        attitude = attitude * step
    phase = rate / windows
    drift = rate * (1.0 - math.cos(tilt)) * (1.0 - math.sin(phase) / phase)
    assert -attitude.as_rotvec()[2] == pytest.approx(drift, rel=1e-5)


@pytest.mark.parametrize(
    ("swing", "push", "rate"), [(0.05, 10.0, 31.4), (1.0, 3.0, -9.0), (3.1, 1, 2)]
)
def test_sculling_pushes_along_the_body_and_lifts_by_a_bessel_function(swing, push, rate):
    motion = Sculling(swing, push, rate)
    angular_velocity, specific_force = Mounted(motion).inputs(T)
    roll = Rotation.from_rotvec(np.outer(swing * np.sin(rate * T), [1.0, 0.0, 0.0]))
    weight = roll.inv().apply([0.0, 0.0, G])
    assert_close(specific_force, weight + np.outer(push * np.sin(rate * T), [0.0, 1.0, 0.0]))
    assert_close(angular_velocity, np.outer(swing * rate * np.cos(rate * T), [1.0, 0.0, 0.0]))
    one_turn = motion.at(np.arange(200) / 200 * 2.0 * math.pi / rate)
    mean = one_turn.acceleration_world.mean(axis=0)
    np.testing.assert_allclose(mean, [0.0, 0.0, push * jv(1, swing)], atol=1e-12 * push, rtol=0.0)


def test_sculling_stays_near_the_vertical_through_the_origin():
    state = Sculling(0.05, 10.0, 31.4).at(T)
    assert np.abs(state.position_world[:, :2]).max() < 1.01 * 10.0 / 31.4**2
    rise = 0.5 * 10.0 * jv(1, 0.05) * T**2
    np.testing.assert_allclose(state.position_world[:, 2], rise, atol=1e-3, rtol=0.0)


def test_a_lissajous_figure_is_level_and_draws_sines():
    state = lissajous([2.0, 1.0, 0.5], [0.5, 0.25, 1.0], [0.1, 0.2, 0.3]).at(T)
    turns = 2.0 * math.pi * np.outer(T, [0.5, 0.25, 1.0]) + [0.1, 0.2, 0.3]
    np.testing.assert_allclose(
        state.position_world, np.sin(turns) * [2.0, 1.0, 0.5], atol=1e-12, rtol=0.0
    )
    np.testing.assert_array_equal(state.q_world_from_body, [[0.0, 0.0, 0.0, 1.0]] * len(T))


def test_a_chirp_sweeps_from_one_frequency_to_the_other():
    motion = Chirp([1e-3, 0.0, 2e-3], [0.0, 0.02, 0.01], 1.0, 11.0, 20.0)
    crossings = np.array([0.0, 2.0, 20.0])
    frequency = np.array([1.0, 2.0, 11.0])
    turns = crossings + 0.25 * crossings**2  # whole numbers: each passes zero upwards
    assert turns.tolist() == [0.0, 3.0, 120.0]
    state = motion.at(crossings)
    np.testing.assert_allclose(state.position_world, 0.0, atol=1e-15, rtol=0.0)
    expected = np.outer(2.0 * math.pi * frequency, [1e-3, 0.0, 2e-3])
    np.testing.assert_allclose(state.velocity_world, expected, rtol=1e-12)
    rates = np.outer(2.0 * math.pi * frequency, [0.0, 0.02, 0.01])
    np.testing.assert_allclose(state.angular_velocity, rates, atol=1e-12, rtol=0.0)


@pytest.mark.parametrize(
    ("build", "error", "word"),
    [
        (lambda: Static([0.0, 0.0, 0.0, 0.0]), ValueRangeError, "quaternion"),
        (lambda: Static([0.0, 0.0, 1.0]), ShapeError, "q_world_from_body"),
        (lambda: FreeFall([[0.0, 0.0, 1.0]]), ShapeError, "velocity_world"),
        (lambda: FreeFall(gravity_world=[0.0, 0.0, math.inf]), ValueRangeError, "gravity_world"),
        (lambda: Spin(math.nan), ValueRangeError, "rate"),
        (lambda: Spin(1.0, [0.0, 0.0, 0.0]), ValueRangeError, "axis"),
        (lambda: Circle(0.0, 1.0), ValueRangeError, "radius"),
        (lambda: Circle(1.0, math.inf), ValueRangeError, "speed"),
        (lambda: lissajous([1.0, 2.0], [1.0] * 3), ShapeError, "amplitude"),
        (lambda: Chirp([1.0] * 3, [0.0] * 3, 1.0, 2.0, 0.0), ValueRangeError, "duration_s"),
        (lambda: Chirp([1.0] * 3, [0.0] * 3, math.nan, 2.0, 1.0), ValueRangeError, "start_hz"),
        (lambda: Sculling(3.2, 1.0, 1.0), ValueRangeError, "half a turn"),
        (lambda: Sculling(0.1, 1.0, 0.0), ValueRangeError, "rate"),
    ],
)
def test_senseless_parameters_are_refused(build, error, word):
    with pytest.raises(error, match=word):
        build()

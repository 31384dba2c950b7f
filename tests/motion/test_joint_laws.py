"""Laws of joints against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from strapdown.errors import ValueRangeError
from strapdown.motion.joint_laws import REACHED, Motor, Sine, SplineLaw, approach, ramp


def test_a_sine_is_a_sine_with_its_derivatives():
    law = Sine(0.5, 3.0, phase=0.2, offset=-1.0)
    t = np.linspace(-2.0, 2.0, 50)
    value, first, second = law(t)
    np.testing.assert_allclose(value, -1.0 + 0.5 * np.sin(3.0 * t + 0.2), atol=1e-15)
    np.testing.assert_allclose(first, 1.5 * np.cos(3.0 * t + 0.2), atol=1e-15)
    np.testing.assert_allclose(second, -4.5 * np.sin(3.0 * t + 0.2), atol=1e-15)
    with pytest.raises(ValueRangeError, match="finite amplitude"):
        Sine(np.nan, 1.0)


def test_a_spline_law_reproduces_a_cubic_and_knows_its_span():
    knots = np.array([0.0, 1.0, 1.5, 3.0])
    law = SplineLaw(CubicSpline(knots, knots**3))
    t = np.linspace(0.0, 3.0, 31)
    for got, expected in zip(law(t), (t**3, 3.0 * t**2, 6.0 * t), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-12)
    assert (law.start_s, law.end_s) == (0.0, 3.0)
    np.testing.assert_array_equal(law.breaks_s, knots)


def test_a_motor_far_from_its_target_moves_at_full_speed():
    motor = Motor(step_s=0.016, max_velocity=2.0)
    for _ in range(10):
        motor.step(np.inf)
    value, first, second = motor(np.array([0.0, 0.05, 0.16]))
    np.testing.assert_allclose(value, [0.0, 0.1, 0.32], atol=1e-15)
    np.testing.assert_array_equal(first, 2.0)
    assert np.isnan(second).all()
    assert not motor.has_acceleration
    assert motor.end_s == 0.16


def test_a_motor_near_its_target_closes_a_fraction_of_the_error_each_step():
    motor = Motor(step_s=0.02, max_velocity=100.0, gain=5.0, start=1.0)
    for _ in range(8):
        motor.step(3.0)
    value, first, _ = motor(motor.breaks_s)
    error = 2.0 * (1.0 - 5.0 * 0.02) ** np.arange(9)
    np.testing.assert_allclose(value, 3.0 - error, rtol=1e-14)
    np.testing.assert_allclose(first[:-1], 5.0 * error[:-1], rtol=1e-14)
    assert first[-1] == first[-2]  # no step was commanded beyond the end


def test_a_motor_with_an_acceleration_limit_speeds_up_and_brakes_at_the_limit():
    motor = Motor(step_s=0.01, max_velocity=1.0, max_acceleration=4.0)
    targets = [10.0] * 40 + [-10.0] * 60
    for target in targets:
        motor.step(target)
    t = np.array([0.1, 0.25, 0.35, 0.65, 0.9])
    value, first, second = motor(t)
    np.testing.assert_allclose(first, [0.4, 1.0, 1.0, 0.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(second, [4.0, 0.0, 0.0, -4.0, 0.0], atol=1e-10)
    # by hand: 1/8 m of run-up, 0.15 s of cruise, 1/8 m of braking, 1/8 m back, 0.1 s back
    np.testing.assert_allclose(value[[1, 3]], [0.125, 0.4], atol=1e-12)
    assert value[4] == pytest.approx(0.4 - 0.125)
    assert motor.has_acceleration


def test_position_and_velocity_of_a_limited_motor_are_continuous():
    motor = Motor(step_s=0.01, max_velocity=1.0, max_acceleration=4.0)
    for target in np.random.default_rng(1).normal(size=50):
        motor.step(target)
    times = motor.breaks_s[1:-1]
    before, after = motor(times - 1e-10), motor(times)
    np.testing.assert_allclose(before[0], after[0], atol=1e-9)
    np.testing.assert_allclose(before[1], after[1], atol=1e-8)


@given(
    target=st.floats(-3.0, 3.0),
    gain=st.floats(1.0, 1000.0),
    max_acceleration=st.one_of(st.none(), st.floats(0.5, 100.0)),
    max_velocity=st.floats(0.5, 20.0),
)
def test_a_motor_arrives_and_never_passes_its_target(target, gain, max_acceleration, max_velocity):
    motor = Motor(
        step_s=0.032, max_velocity=max_velocity, gain=gain, max_acceleration=max_acceleration
    )
    for _ in range(1200):  # 38 s; time enough for any of these limits
        motor.step(target)
    value, first, _ = motor(motor.breaks_s)
    assert np.max(np.abs(value)) <= abs(target) + 1e-12
    assert value[-1] == pytest.approx(target, abs=1.01 * REACHED)
    assert abs(first[-1]) < 1e-7
    assert np.max(np.abs(first)) <= max_velocity
    if max_acceleration is not None:
        assert np.max(np.abs(np.diff(first))) <= 1.000001 * max_acceleration * 0.032


def test_a_motor_that_is_called_back_brakes_at_its_limit_and_then_returns():
    motor = Motor(step_s=0.01, max_velocity=2.0, gain=100.0, max_acceleration=4.0)
    for target in [5.0] * 100 + [0.0] * 400:  # 2 m/s are reached after 0.5 s, at 0.5 m
        motor.step(target)
    value, first, _ = motor(motor.breaks_s)
    assert value[100] == pytest.approx(1.5)
    assert value.max() == pytest.approx(2.0, abs=1e-12)  # v^2 / (2 a) further on
    assert value[-1] == pytest.approx(0.0, abs=1e-6)
    assert abs(first[-1]) < 1e-4


def test_a_loop_closes_its_error_by_the_gain_but_never_more_than_once_in_a_step():
    assert approach(0.5, 0.0, 0.1, gain=4.0, max_velocity=100.0) == 2.0
    assert approach(-0.5, 0.0, 0.1, gain=40.0, max_velocity=100.0) == -5.0
    assert approach(0.5, 0.0, 0.1, gain=40.0, max_velocity=3.0) == 3.0
    assert approach(0.5 * REACHED, 7.0, 0.1, gain=40.0, max_velocity=3.0) == 0.0


def test_a_ramp_goes_as_far_as_it_may():
    assert ramp(1.0, 3.0, np.inf) == (3.0, 3.0)
    assert ramp(1.0, 3.0, 0.5) == (1.0, 1.5)
    assert ramp(1.0, -3.0, 0.5) == (1.0, 0.5)
    assert ramp(1.0, 1.2, 0.5) == (1.0, 1.2)


def test_a_further_step_changes_nothing_before_it():
    motor = Motor(step_s=0.1, max_velocity=1.0)
    motor.step(1.0)
    before = motor(np.array([0.05]))
    motor.step(-1.0)
    np.testing.assert_array_equal(motor(np.array([0.05])), before)


def test_a_motor_refuses_what_it_cannot_do():
    motor = Motor(step_s=0.1, max_velocity=1.0)
    with pytest.raises(ValueRangeError, match="was commanded, got none"):
        motor(np.zeros(1))
    motor.step(1.0)
    with pytest.raises(ValueRangeError, match="got t_s"):
        motor(np.array([0.11]))
    with pytest.raises(ValueRangeError, match="target position, got NaN"):
        motor.step(np.nan)
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueRangeError, match="positive max_velocity"):
            Motor(step_s=0.1, max_velocity=wrong)
    with pytest.raises(ValueRangeError, match="positive max_acceleration"):
        Motor(step_s=0.1, max_velocity=1.0, max_acceleration=0.0)
    with pytest.raises(ValueRangeError, match="finite start"):
        Motor(step_s=0.1, max_velocity=1.0, start=np.nan)

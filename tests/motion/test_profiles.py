from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from strapdown.motion._profiles import (
    State,
    arrival_s,
    blend,
    coefficients_at,
    settle,
    starts_s,
    state_at,
    turn,
)

BOUNDS = {"max_rate": 2.0, "max_acceleration": 0.5, "max_jerk": 5.0}


def sampled(profile, derivative):
    """Values of a derivative at many instants, both ends of every piece among them."""
    values = []
    for t, coefficients in profile[:-1]:
        polynomial = np.polynomial.Polynomial(coefficients)
        values.append(polynomial.deriv(derivative)(np.linspace(0.0, t, 33)))
    return values


def assert_continuous(profile, derivatives):
    for order in range(derivatives):
        values = sampled(profile, order)
        for before, after in pairwise(values):
            assert after[0] == pytest.approx(before[-1], abs=1e-12)


# The times of the symmetric S-curve: L. Biagiotti and C. Melchiorri, "Trajectory Planning for
# Automatic Machines and Robots", Springer 2008, section 3.4.
@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (20.0, 20.0 / 2.0 + 2.0 / 0.5 + 0.5 / 5.0),  # a cruise at the highest rate
        (1.0, 0.1 + math.sqrt(0.1**2 + 4.0 * 1.0 / 0.5)),  # the highest acceleration only
        (1e-4, 4.0 * (1e-4 / (2.0 * 5.0)) ** (1.0 / 3.0)),  # neither
    ],
)
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_from_rest_to_rest_takes_the_time_of_the_symmetric_s_curve(distance, expected, side):
    profile = turn(State(3.0, 0.0, 0.0), 3.0 + side * distance, **BOUNDS)
    assert arrival_s(profile) == pytest.approx(expected, rel=1e-9)


def test_a_rate_that_stops_just_at_the_target_is_only_braked():
    # 1 rad/s at 0.5 rad/s^2 with ramps of 0.1 s: 2.1 s at a mean of 0.5 rad/s
    profile = turn(State(0.0, 1.0, 0.0), 1.05, **BOUNDS)
    assert arrival_s(profile) == pytest.approx(2.1, abs=1e-6)
    assert all(np.all(rate >= -1e-9) for rate in sampled(profile, 1))


def test_a_target_too_near_to_stop_at_is_come_back_to():
    profile = turn(State(0.0, 1.0, 0.0), 0.5, **BOUNDS)
    assert max(np.max(angle) for angle in sampled(profile, 0)) > 1.04
    assert profile[-1].coefficients == (0.5,)


def test_a_target_straight_ahead_is_gone_to_without_a_stop():
    profile = turn(State(0.0, 1.0, 0.0), 20.0, **BOUNDS)
    assert all(np.all(rate[:-1] > 0.0) for rate in sampled(profile, 1)[:-1])


def test_who_is_there_has_arrived():
    assert arrival_s(turn(State(1.5, 0.0, 0.0), 1.5, **BOUNDS)) == 0.0
    assert arrival_s(settle(State(1.5, 0.0, 0.0), 1.5, max_rate=1.0, max_acceleration=9.0)) == 0.0


angles = st.floats(-20.0, 20.0)
allowed = st.builds(State, angles, st.floats(-1.9, 1.9), st.just(0.0))


@settings(max_examples=60)
@given(allowed, angles)
@example(State(0.0, 1.0, 0.0), 0.0)
@example(State(0.0, 0.0, 0.0), 1e-15)
def test_a_turn_ends_at_rest_at_its_target_within_its_bounds(start, target):
    profile = turn(start, target, **BOUNDS)
    if len(profile) == 1:
        assert start == (target, 0.0, 0.0)
        return
    for order, bound in enumerate([2.0, 0.5, 5.0], 1):
        assert max(np.abs(values).max() for values in sampled(profile, order)) <= bound + 1e-9
    assert_continuous(profile, 3)
    ends = [sampled(profile, order)[-1][-1] for order in range(3)]
    np.testing.assert_allclose(ends, [target, 0.0, 0.0], atol=1e-12)


@given(st.builds(State, angles, st.floats(-9, 9), st.floats(-3, 3)), angles)
@settings(max_examples=60)
def test_a_turn_from_any_state_ends_at_rest_at_its_target(start, target):
    profile = turn(start, target, **BOUNDS)
    if len(profile) == 1:
        assert start == (target, 0.0, 0.0)
        return
    assert_continuous(profile, 3)
    first = [values[0][0] for values in (sampled(profile, order) for order in range(3))]
    np.testing.assert_allclose(first, start, atol=1e-12)
    ends = [sampled(profile, order)[-1][-1] for order in range(3)]
    np.testing.assert_allclose(ends, [target, 0.0, 0.0], atol=1e-11)


@given(st.builds(State, angles, st.floats(-1.0, 1.0), st.just(0.0)), angles)
def test_settling_ends_at_its_target_within_its_bounds(start, target):
    profile = settle(start, target, max_rate=1.0, max_acceleration=10.0)
    if len(profile) == 1:
        return
    for order, bound in enumerate([1.0, 10.0], 1):
        assert max(np.abs(values).max() for values in sampled(profile, order)) <= bound + 1e-9
    assert_continuous(profile, 2)
    ends = [sampled(profile, order)[-1][-1] for order in range(2)]
    np.testing.assert_allclose(ends, [target, 0.0], atol=1e-12)


def test_settling_takes_the_change_at_the_bound_and_one_ramp():
    profile = settle(State(2.0, 0.0, 0.0), -4.0, max_rate=1.0, max_acceleration=10.0)
    assert arrival_s(profile) == pytest.approx(6.0 + 0.1, rel=1e-14)


def test_a_rate_above_its_bound_is_first_brought_below():
    profile = settle(State(0.0, 5.0, 0.0), 40.0, max_rate=1.0, max_acceleration=10.0)
    # 0.4 s down from 5 to 1 gain 1.2, 0.1 s down to 0 gain 0.05
    assert starts_s(profile) == pytest.approx([0.0, 0.4, 0.4 + 38.75, 0.5 + 38.75])


@given(
    st.builds(State, angles, st.floats(-9, 9), st.floats(-3, 3)),
    st.floats(-9, 9),
    st.floats(0.01, 10.0),
)
def test_a_blend_is_smooth_and_covers_the_mean_of_both_rates(start, rate, blend_s):
    profile = blend(start, rate, blend_s=blend_s)
    first = np.polynomial.Polynomial(profile[0].coefficients)
    for order in range(3):
        assert first.deriv(order)(0.0) == pytest.approx(start[order], abs=1e-12)
    if len(profile) == 2:
        expected = [start.value + 0.5 * (start.rate + rate) * blend_s, rate, 0.0]
        ends = [first.deriv(order)(blend_s) for order in range(3)]
        np.testing.assert_allclose(ends, expected, atol=1e-9)


@given(allowed, angles, st.floats(0.0, 30.0))
def test_a_polynomial_may_be_taken_up_anywhere(start, target, t):
    profile = turn(start, target, **BOUNDS)
    later = np.polynomial.Polynomial(coefficients_at(profile, t))
    until = min([s - t for s in starts_s(profile) if s > t], default=1.0)
    assert later(0.5 * until) == pytest.approx(state_at(profile, t + 0.5 * until).value, abs=1e-12)

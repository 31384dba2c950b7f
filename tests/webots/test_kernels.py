"""Lookup tables, rounding and rotations of Webots, number by number."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.webots.devices import formulas as kernels

TABLE = [(-2.0, 100.0, 0.1), (0.0, 50.0, 0.0), (4.0, -50.0, 0.2)]

finite = st.floats(-1e6, 1e6)
axes = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: math.hypot(*v) > 0.1)


@pytest.mark.parametrize(
    ("value", "step", "webots", "documented"),
    [
        (1.767, 0.2, 1.8, 1.8),
        (-1.767, 0.2, -1.6, -1.8),
        (0.05, 0.2, 0, 0),
        (0.1, 0.2, 0.2, 0.2),
        (-0.1, 0.2, 0, -0.2),
        (-0.25, 0.2, 0, -0.2),
        (-0.31, 0.2, -0.2, -0.4),
        (9.81, 0.3, 9.9, 9.9),
        (-9.81, 0.3, -9.6, -9.9),
        (2.5, 1, 3, 3),
        (-2.5, 1, -2, -3),
    ],
)
def test_values_come_to_their_resolution(value, step, webots, documented):
    assert kernels.truncated(value, step) == pytest.approx(webots, rel=1e-14, abs=0)
    assert kernels.nearest(value, step) == pytest.approx(documented, rel=1e-14, abs=0)


@pytest.mark.parametrize("step", [0.01, 0.1, 0.3, 15.0])
@given(value=finite)
def test_webots_truncates_after_adding_a_half(step, value):
    assert kernels.truncated(value, step) == int(value / step + 0.5) * step


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e12, -1e12])
def test_webots_rounds_what_is_too_large_for_32_bits_to_the_least_integer(value):
    assert kernels.truncated(value, 0.1) == -2147483648 * 0.1


def test_the_32_bit_integers_reach_from_end_to_end():
    assert kernels.truncated(2147483647.0, 1.0) == 2147483647.0
    assert kernels.truncated(2147483648.0, 1.0) == -2147483648.0
    assert kernels.truncated(-2147483649.0, 1.0) == -2147483648.0


@given(value=finite, step=st.floats(1e-3, 10))
def test_the_documented_rounding_is_odd_and_at_most_half_a_step_off(value, step):
    rounded = kernels.nearest(value, step)
    assert kernels.nearest(-value, step) == -rounded
    assert abs(rounded - value) <= 0.5 * step * (1 + 1e-9) + 1e-9


def test_what_is_not_finite_has_no_nearest_step():
    assert math.isnan(kernels.nearest(math.nan, 0.1))
    assert kernels.nearest(-math.inf, 0.1) == -math.inf


@pytest.mark.parametrize(
    ("value", "output", "noise"),
    [
        (-3, 100, 0.1),
        (-2, 100, 0.1),
        (-1, 75, 0.05),
        (0, 50, 0),
        (1, 25, 0.05),
        (2, 0, 0.1),
        (4, -50, 0.2),
        (9, -50, 0.2),
    ],
)
def test_a_lookup_table_is_interpolated_in_output_and_noise(value, output, noise):
    assert kernels.look_up(float(value), TABLE) == pytest.approx((output, noise), abs=1e-15)


@given(
    inputs=st.lists(st.floats(-100, 100), min_size=1, max_size=6, unique=True).map(sorted),
    value=st.floats(-120, 120),
)
def test_a_sorted_table_is_numpys_interpolation(inputs, value):
    assume(all(b - a > 1e-6 for a, b in itertools.pairwise(inputs)))
    outputs = [math.sin(i) for i in range(len(inputs))]
    noises = [0.1 * i for i in range(len(inputs))]
    got = kernels.look_up(value, list(zip(inputs, outputs, noises, strict=True)))
    expected = np.interp(value, inputs, outputs), np.interp(value, inputs, noises)
    assert got == pytest.approx(expected, abs=1e-9)


def test_a_table_without_order_is_used_as_it_is():
    table = [(0.0, 0.0, 0.0), (2.0, 2.0, 0.0), (2.0, 3.0, 0.0), (1.0, 9.0, 0.0), (4.0, 4.0, 0.0)]
    # an input that equals the value starts the interval
    assert kernels.look_up(2.0, table[:3] + table[4:]) == (3.0, 0.0)
    assert math.isfinite(kernels.look_up(3.0, table)[0])


def test_a_value_that_is_no_number_stays_none():
    assert math.isnan(kernels.look_up(math.nan, TABLE)[0])
    assert kernels.look_up(math.nan, TABLE)[1] == 0.0
    assert math.isnan(kernels.look_up(math.nan, TABLE[:1])[0])


@given(axis=axes, angle=st.floats(-7, 7))
def test_a_rotation_by_axis_and_angle_is_scipys(axis, angle):
    unit = np.array(axis) / np.linalg.norm(axis)
    expected = Rotation.from_rotvec(unit * angle).as_matrix().ravel()
    assert kernels.axis_angle_matrix(*unit, angle) == pytest.approx(expected, abs=1e-14)


@given(angles=st.tuples(*[st.floats(-3, 3)] * 3))
def test_noise_turns_about_the_axes_of_the_unit_in_order(angles):
    R = Rotation.from_euler("ZYX", [0.3, -0.4, 2.0])
    expected = (R * Rotation.from_euler("XYZ", angles)).as_matrix().ravel()
    got = kernels.turned(R.as_matrix().ravel().tolist(), *angles)
    assert got == pytest.approx(expected, abs=1e-14)


@given(axis=axes, angle=st.floats(-7, 7))
def test_the_quaternion_of_a_matrix_is_scipys_up_to_the_sign(axis, angle):
    R = Rotation.from_rotvec(np.array(axis) / np.linalg.norm(axis) * angle)
    q = np.array(kernels.matrix_quaternion(R.as_matrix().ravel().tolist()))
    expected = R.as_quat()
    assert q * np.sign(q @ expected) == pytest.approx(expected, abs=4e-16)


@pytest.mark.parametrize(
    ("axis", "positive"), [((1, 0.1, -0.2), 0), ((0.1, 1, -0.2), 1), ((0.1, -0.2, 1), 2)]
)
def test_webots_makes_the_largest_component_of_a_half_turn_positive(axis, positive):
    unit = -np.array(axis) / np.linalg.norm(axis)
    m = Rotation.from_rotvec(unit * 3.0).as_matrix().ravel().tolist()
    q = kernels.matrix_quaternion(m)
    assert q[positive] > 0 > q[3]


def test_webots_sees_no_turn_where_the_diagonal_shows_none():
    m = (1.0, -1e-9, 0.0, 1e-9, 1.0, 0.0, 0.0, 0.0, 1.0)
    assert kernels.webots_quaternion(m) == (0.0, 0.0, 0.0, 1.0)
    assert kernels.matrix_quaternion(m)[2] == pytest.approx(5e-10)


@pytest.mark.parametrize("q", [(0, 0, 0, -1), (0, 0, -1, 0), (0, -1, 1, 0), (-3, 4, 0, 0)])
def test_the_first_component_that_is_not_zero_is_made_positive(q):
    x, y, z, w = kernels.canonical(*map(float, q))
    assert next(c for c in (w, x, y, z) if c) > 0
    assert math.hypot(x, y, z, w) == pytest.approx(1.0, abs=1e-15)


@given(roll=st.floats(-9, 9), pitch=st.floats(-9, 9), yaw=st.floats(-9, 9))
def test_angles_of_any_size_become_those_of_their_attitude(roll, pitch, yaw):
    R = Rotation.from_euler("YZX", [-yaw, pitch, roll])
    assume(abs(R.as_matrix()[1, 0]) < 1 - 1e-9)
    got = kernels.same_attitude(roll, pitch, yaw)
    expected = kernels.compass_angles(R.as_matrix().ravel().tolist())
    difference = np.subtract(got, expected)
    difference = (difference + math.pi) % (2 * math.pi) - math.pi
    np.testing.assert_allclose(difference, 0.0, atol=1e-10)


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2, 3 * math.pi / 2])
def test_at_gimbal_the_roll_goes_into_the_yaw(pitch):
    R = Rotation.from_euler("YZX", [-0.5, pitch, 0.2])
    expected = kernels.compass_angles(R.as_matrix().ravel().tolist())
    got = kernels.same_attitude(0.2, pitch, 0.5)
    assert got[0] == expected[0] == 0.0
    assert got == pytest.approx(expected, abs=1e-9)

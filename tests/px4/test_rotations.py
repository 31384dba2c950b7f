"""The rotations of PX4 against scipy, and against values of PX4's own unit tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.px4.rotations import (
    ROTATIONS,
    matrix_float32,
    matrix_product,
    rotate,
    rotate_counts,
    rotation_matrix,
)

EVERY = range(41)
QUARTER_TURNS = [n for n in EVERY if not any(angle % 90 for angle in ROTATIONS[n])]


# Roll/pitch/yaw [degrees] of rotation 0, 1, ..., 40.
ANGLES = """
0/0/0 0/0/45 0/0/90 0/0/135 0/0/180 0/0/225 0/0/270 0/0/315 180/0/0 180/0/45 180/0/90 180/0/135
0/180/0 180/0/225 180/0/270 180/0/315 90/0/0 90/0/45 90/0/90 90/0/135 270/0/0 270/0/45 270/0/90
270/0/135 0/90/0 0/270/0 0/180/90 0/180/270 90/90/0 180/90/0 270/90/0 90/180/0 270/180/0 90/270/0
180/270/0 270/270/0 90/180/90 90/0/270 90/68/293 0/315/0 90/315/0
"""


def test_the_angles_are_those_of_the_autopilot():
    assert ["/".join(map(str, angles)) for angles in ROTATIONS] == ANGLES.split()


def test_a_rotation_is_roll_pitch_yaw_in_the_sequence_3_2_1(subtests):
    for rotation in EVERY:
        with subtests.test(rotation=rotation):
            roll, pitch, yaw = ROTATIONS[rotation]
            expected = Rotation.from_euler("ZYX", [yaw, pitch, roll], degrees=True).as_matrix()
            np.testing.assert_allclose(rotation_matrix(rotation), expected, rtol=0.0, atol=1e-15)
            np.testing.assert_allclose(
                matrix_float32((roll, pitch, yaw)), expected, rtol=0.0, atol=5e-7
            )


@pytest.mark.parametrize(
    ("rotation", "expected"),
    [
        (0, (1, 2, 3)),
        (2, (-2, 1, 3)),
        (10, (2, 1, -3)),
        (16, (1, -3, 2)),
        (24, (3, 2, -1)),
        (28, (2, -3, -1)),
        (36, (3, -1, -2)),
        (17, (2.828427, -1.414214, 2)),
        (38, (-1.890585, -3.223975, -0.177971)),
        (39, (-1.414214, 2, 2.828427)),
        (40, (-0.707107, -3, 2.12132)),
    ],
)
def test_rotations_turn_one_two_three_as_known(rotation, expected):
    np.testing.assert_allclose(rotate(rotation, [1.0, 2.0, 3.0]), expected, rtol=0.0, atol=1e-6)


def test_turning_and_the_matrix_agree(subtests):
    for rotation in EVERY:
        with subtests.test(rotation=rotation):
            v = np.array([1.0, 2.0, 3.0])
            single = rotate(rotation, v.astype(np.float32))
            assert single.dtype == np.float32
            np.testing.assert_allclose(single, rotation_matrix(rotation) @ v, rtol=0.0, atol=1e-5)
            np.testing.assert_allclose(
                rotate(rotation, v), rotation_matrix(rotation) @ v, atol=1e-12
            )
            whole = matrix_product(matrix_float32(ROTATIONS[rotation]), v)
            np.testing.assert_allclose(whole, single, rtol=0.0, atol=1e-5)


def test_the_only_duplicates_are_26_and_27():
    pairs = {
        (a, b)
        for a in EVERY
        for b in range(a)
        if np.allclose(rotation_matrix(a), rotation_matrix(b), atol=1e-3)
    }
    assert pairs == {(26, 14), (27, 10)}


def test_quarter_turns_are_exact_permutations(subtests):
    for rotation in QUARTER_TURNS:
        with subtests.test(rotation=rotation):
            matrix = rotation_matrix(rotation)
            assert set(np.unique(matrix)) <= {-1.0, 0.0, 1.0}
            np.testing.assert_array_equal(matrix @ matrix.T, np.eye(3))
            odd = np.array([0.1, 0.2, 0.3], np.float32)
            assert set(np.abs(rotate(rotation, odd))) == set(odd)


def test_a_saturated_count_stays_saturated_when_its_axis_turns_round():
    counts = np.array([5, 32767, 7], np.int16)
    assert rotate_counts(2, counts).tolist() == [-32768, 5, 7]
    counts = np.array([[5, -32768, 7], [5, -32767, 7]], np.int16)
    assert rotate_counts(2, counts).tolist() == [[32767, 5, 7], [32767, 5, 7]]


@given(st.sampled_from(QUARTER_TURNS), st.lists(st.integers(-32766, 32766), min_size=3, max_size=3))
def test_counts_below_saturation_turn_as_numbers_do(rotation, values):
    turned = rotate_counts(rotation, np.array(values, np.int16))
    roll, pitch, yaw = ROTATIONS[rotation]
    matrix = Rotation.from_euler("ZYX", [yaw, pitch, roll], degrees=True).as_matrix()
    assert turned.tolist() == np.rint(matrix @ values).astype(int).tolist()


def test_counts_off_the_quarter_turns_round_half_away_from_zero_and_saturate():
    # Half a right angle about z: x -> (x - y)/sqrt(2), y -> (x + y)/sqrt(2).
    counts = np.array([[100, 0, -3], [32767, -32768, 1], [-32768, -32768, 1]], np.int16)
    assert rotate_counts(1, counts).tolist() == [
        [71, 71, -3],
        [32767, -1, 1],
        [0, -32768, 1],
    ]


def test_a_right_angle_in_float32_has_the_cosine_of_the_autopilot():
    # The cosine of the float32 next to pi/2 is minus its distance from pi/2.
    assert matrix_float32((0, 0, 90))[0, 0] == np.float32(
        np.pi / 2 - np.float64(np.float32(np.pi / 2))
    )


def test_products_of_float32_round_after_every_operation():
    matrix = np.array([[1.0, 1.0, 1.0]] * 3, np.float32)
    big = np.array([2.0**24, 1.0, 1.0], np.float32)
    assert matrix_product(matrix, big).tolist() == [2.0**24] * 3


@pytest.mark.parametrize("rotation", [-1, 41, 100])
def test_other_numbers_are_no_rotation(rotation):
    with pytest.raises(ValueRangeError, match="0 to 40"):
        rotation_matrix(rotation)
    with pytest.raises(ValueRangeError, match="0 to 40"):
        rotate_counts(rotation, np.zeros(3, np.int16))


def test_counts_of_another_type_or_shape_are_refused():
    with pytest.raises(TypeError, match="int16"):
        rotate_counts(0, np.zeros(3, np.int32))
    with pytest.raises(ShapeError, match="3"):
        rotate_counts(0, np.zeros(4, np.int16))

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from strapdown.errors import ShapeError
from strapdown.messages.covariance import (
    HORUS_ABSENT,
    ROS_ABSENT,
    CovarianceStatus,
    normal_form,
    problems,
    status,
    statuses,
)

ABSENT, UNKNOWN, KNOWN = CovarianceStatus
ZEROS = (0.0,) * 9
DIAGONAL = (0.01, 0.0, 0.0, 0.0, 0.02, 0.0, 0.0, 0.0, 0.03)
numbers = st.sampled_from([-1.0, -0.0, 0.0, 0.5, math.nan])


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (ROS_ABSENT, ABSENT),
        (HORUS_ABSENT, ABSENT),
        ((-1e-300, *ZEROS[1:]), ABSENT),
        ((math.nan, *DIAGONAL[1:]), ABSENT),
        ((-math.inf, *ZEROS[1:]), ABSENT),
        (ZEROS, UNKNOWN),
        ((-0.0,) * 9, UNKNOWN),
        (DIAGONAL, KNOWN),
        ((0.0, *ZEROS[2:], 1e-300), KNOWN),
        ((0.0, *ZEROS[2:], math.nan), KNOWN),
        ((math.inf, *ZEROS[1:]), KNOWN),
    ],
)
def test_the_first_number_and_the_zeros_decide_the_status(block, said):
    assert status(block) is said
    assert statuses(block).item() == said


@given(arrays(np.float64, (4, 2, 9), elements=numbers))
def test_many_blocks_say_what_each_says_alone(many):
    alone = [[status(block) for block in row] for row in many]
    assert np.array_equal(statuses(many), alone)


def test_statuses_compare_with_the_members():
    assert (statuses([ROS_ABSENT, ZEROS, DIAGONAL]) == KNOWN).tolist() == [False, False, True]


@pytest.mark.parametrize("function", [status, statuses, problems])
@pytest.mark.parametrize("wrong", [ZEROS[:8], np.zeros((2, 10)), ()])
def test_other_than_nine_numbers_are_refused(function, wrong):
    with pytest.raises(ShapeError, match="covariance"):
        function(wrong)


@pytest.mark.parametrize("absent", [ROS_ABSENT, HORUS_ABSENT])
def test_a_normal_form_writes_the_dialect_and_leaves_known_numbers_alone(absent):
    odd = (0.5, math.nan, 3.0, *ZEROS[3:])
    written = normal_form([(-7.0, *DIAGONAL[1:]), (-0.0,) * 9, odd], absent)
    assert written[0].tolist() == list(absent)
    assert written[1].tobytes() == bytes(72)
    assert written[2].tobytes() == np.array(odd).tobytes()


@given(arrays(np.float64, (5, 9), elements=numbers))
def test_the_status_survives_both_normal_forms(many):
    before = many.tobytes()
    there = normal_form(many, ROS_ABSENT)
    back = normal_form(there, HORUS_ABSENT)
    assert np.array_equal(statuses(back), statuses(many))
    assert np.array_equal(normal_form(back, ROS_ABSENT), there, equal_nan=True)
    assert many.tobytes() == before


@pytest.mark.parametrize("fine", [ROS_ABSENT, HORUS_ABSENT, ZEROS, DIAGONAL, np.eye(3), np.ones(9)])
def test_a_covariance_and_the_special_blocks_have_no_problem(fine):
    assert problems(fine) == ()


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e300])
@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        ([[1, 2, 0], [2, 1, 0], [0, 0, 1]], "not positive semidefinite"),  # eigenvalues -1, 1, 3
        ([[1, 0, 0], [0, -1e-9, 0], [0, 0, 1]], "not positive semidefinite"),
        ([[0, 0, 1], [0, 0, 0], [1, 0, 0]], "not positive semidefinite"),
        ([[1, 0, 3e-9], [0, 1, 0], [0, 0, 1]], "asymmetric: [0,2] is"),
    ],
)
def test_what_is_no_covariance_is_named_at_any_scale(matrix, text, scale):
    (found,) = problems(np.array(matrix) * scale)
    assert found.startswith(text)


def test_rounding_is_no_problem():
    vector = np.array([0.3, -0.7, 1.1])
    assert problems(np.outer(vector, vector)) == ()  # two eigenvalues are zero but for rounding
    assert problems([[1.0, 0.5, 0.0], [0.5 + 1e-10, 1.0, 0.0], [0.0, 0.0, 1.0]]) == ()


def test_values_that_are_not_finite_are_named():
    assert problems((0.1, math.nan, 0.0, 0.0, math.inf, *ZEROS[5:])) == (
        "[0,1] is nan, not finite",
        "[1,1] is inf, not finite",
    )


@given(arrays(np.float64, (3, 3), elements=st.floats(-1e3, 1e3)))
def test_a_gram_matrix_is_a_covariance(factor):
    assert problems(factor @ factor.T) == ()

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pytest

from strapdown import _checks
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@pytest.mark.parametrize("value", [None, ["1", "2", "3"], "abc", [None, 1.0, 2.0], [1j, 2j, 3j]])
def test_what_is_no_number_is_a_type_error(value):
    with pytest.raises(TypeError, match="expected rate as numbers"):
        _checks.as_floats(value, "rate", (3,))


@pytest.mark.parametrize("value", [1.0, [1.0, 2.0], np.zeros((3, 2)), [[1.0], [1.0, 2.0]]])
def test_a_wrong_shape_names_the_argument_and_the_shape(value):
    with pytest.raises(ShapeError, match=r"expected rate of shape \(\.\.\., 3\)"):
        _checks.as_floats(value, "rate", (3,))


def test_whole_numbers_become_floats_and_floats_are_not_copied():
    assert _checks.as_floats([1, 2, 3], "rate", (3,)).dtype == np.float64
    array = np.zeros((5, 3))
    assert _checks.as_floats(array, "rate", (3,)) is array


def test_the_first_value_that_is_not_finite_is_named():
    with pytest.raises(ValueRangeError, match=r"got rate\[1,2\] = nan"):
        _checks.as_finite([[1.0, 2.0, 3.0], [4.0, 5.0, np.nan]], "rate", (3,))


def test_members_are_found_by_name_and_a_wrong_name_gives_the_nearest():
    assert _checks.as_member(Colour, "red", "colour") is Colour.RED
    assert _checks.as_member(Colour, Colour.RED, "colour") is Colour.RED
    with pytest.raises(UnknownNameError, match="no colour 'gren'; the nearest names: 'green'"):
        _checks.as_member(Colour, "gren", "colour")

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown import units
from strapdown.errors import ValueRangeError


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_decimal_seconds_are_read_to_the_nanosecond(t_ns):
    sign = "-" if t_ns < 0 else ""
    whole, rest = divmod(abs(t_ns), 10**9)
    assert units.ns_from_decimal_seconds(f"{sign}{whole}.{rest:09d}") == t_ns


def test_an_epoch_that_a_float_cannot_hold_stays_exact():
    assert units.ns_from_decimal_seconds("1700000000.123456789") == 1_700_000_000_123_456_789


def test_more_than_nine_decimals_round_half_to_even():
    assert units.ns_from_decimal_seconds("0.0000000005") == 0
    assert units.ns_from_decimal_seconds("0.0000000015") == 2


@pytest.mark.parametrize("text", ["", "nan", "inf", "1 2", "abc", "1e30", "9223372036.854775808"])
def test_text_that_is_no_time_is_refused(text):
    with pytest.raises(ValueRangeError, match="decimal seconds"):
        units.ns_from_decimal_seconds(text)


def test_one_standard_gravity_is_the_defined_value():
    assert Fraction(str(units.STANDARD_GRAVITY)) == Fraction(980665, 100000)

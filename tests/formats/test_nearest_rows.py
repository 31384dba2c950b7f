from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strapdown.formats._nearest_rows import on_nearest_rows

STAMPS = st.lists(st.integers(0, 200), max_size=30)


def numbered(count):
    return np.tile(np.arange(float(count))[:, None], 3)


def test_a_slower_sensor_stands_on_the_nearest_rows_and_the_others_are_unknown():
    rows = np.arange(0, 100, 10)
    values, placed = on_nearest_rows(rows, np.array([4, 26, 71]), numbered(3), within_ns=5)
    expected = [0.0, np.nan, np.nan, 1.0, np.nan, np.nan, np.nan, 2.0, np.nan, np.nan]
    np.testing.assert_array_equal(values[:, 0], expected)
    assert placed.all()


def test_of_two_samples_on_one_row_the_last_stays_and_the_other_is_told():
    values, placed = on_nearest_rows(np.array([0, 10]), np.array([9, 11]), numbered(2), within_ns=5)
    np.testing.assert_array_equal(values[:, 1], [np.nan, 1.0])
    assert placed.tolist() == [False, True]


def test_equal_stamps_are_kept_row_by_row_even_where_they_repeat():
    stamps = np.array([0, 10, 10, 5])
    values, placed = on_nearest_rows(stamps, stamps.copy(), numbered(4), within_ns=0)
    np.testing.assert_array_equal(values, numbered(4))
    assert placed.all()


@given(STAMPS, STAMPS, st.integers(0, 30))
def test_every_sample_is_placed_where_it_belongs_or_told(rows, stamps, within_ns):
    rows, stamps = np.array(rows, np.int64), np.array(stamps, np.int64)
    values, placed = on_nearest_rows(rows, stamps, numbered(len(stamps)), within_ns=within_ns)
    held = values[np.isfinite(values[:, 0]), 0].astype(int)
    assert sorted(held) == np.flatnonzero(placed).tolist()
    for row in np.flatnonzero(np.isfinite(values[:, 0])):
        distance = abs(rows - stamps[int(values[row, 0])])
        assert abs(rows[row] - stamps[int(values[row, 0])]) == distance.min() <= within_ns
    for sample in np.flatnonzero(~placed):
        distance = abs(rows - stamps[sample])
        near = distance.size and distance.min() <= within_ns
        assert not near or np.isfinite(values[distance == distance.min(), 0]).any()

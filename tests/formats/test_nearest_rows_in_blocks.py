"""Vectors that arrive in blocks are assigned to the rows of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strapdown.formats._nearest_rows import NearestRows, on_nearest_rows
from strapdown.formats._time_cut import END_NS, TimeCut
from strapdown.formats.block_reader import NeedsWhole

WITHIN_NS = 20_000_000
MS = 1_000_000


def in_blocks(rows_ns, stamps_ns, vectors, cuts):
    """Return values and count of placed vectors of blocks that end at some places in both."""
    nearest, cut = NearestRows(WITHIN_NS), TimeCut(1_000 * MS)
    found, row, vector = [], 0, 0
    for upto in [*sorted(cuts), END_NS]:
        n, m = np.searchsorted(rows_ns, upto), np.searchsorted(stamps_ns, upto)
        cut.see("rows", rows_ns[row:n])
        cut.see("field", stamps_ns[vector:m])
        nearest.add(rows_ns[row:n], None, None)
        nearest.add(None, stamps_ns[vector:m], vectors[vector:m])
        row, vector = n, m
        found.append(nearest.take(END_NS if upto == END_NS else cut.advance()))
    return np.concatenate(found), nearest.placed, nearest.vectors


steps = st.lists(st.integers(1, 90), min_size=2, max_size=150)


@settings(max_examples=60, deadline=None)
@given(steps, steps, st.lists(st.integers(0, 6000), max_size=6))
def test_blocks_give_the_assignment_of_the_whole(row_steps, stamp_steps, cuts):
    rows_ns, stamps_ns = np.cumsum(row_steps) * MS, np.cumsum(stamp_steps) * MS
    vectors = np.arange(3.0 * len(stamps_ns)).reshape(-1, 3)
    values, placed = on_nearest_rows(rows_ns, stamps_ns, vectors, within_ns=WITHIN_NS)
    found = in_blocks(rows_ns, stamps_ns, vectors, [each * MS for each in cuts])
    np.testing.assert_array_equal(found[0], values)
    assert found[1:] == (placed.sum(), len(stamps_ns))


def test_rows_with_the_stamps_of_the_vectors_keep_them_where_stamps_repeat():
    t_ns = np.repeat(np.arange(0, 5000, 10) * MS, 2)
    vectors = np.arange(3.0 * len(t_ns)).reshape(-1, 3)
    values, placed, _ = in_blocks(t_ns, t_ns, vectors, [1500 * MS, 3000 * MS])
    np.testing.assert_array_equal(values, vectors)
    assert placed == len(t_ns)


def test_repeated_stamps_of_rows_and_vectors_that_differ_later_need_the_whole():
    t_ns = np.repeat(np.arange(0, 5000, 10) * MS, 2)
    vectors = np.zeros((len(t_ns) - 7, 3))
    with pytest.raises(NeedsWhole, match="repeated"):
        in_blocks(t_ns, t_ns[:-7], vectors, [3000 * MS])


def test_vectors_that_miss_a_row_after_the_first_block_do_not_need_the_whole():
    t_ns = np.arange(0, 5000, 10) * MS
    stamps_ns = np.delete(t_ns, 400)
    vectors = np.arange(3.0 * len(stamps_ns)).reshape(-1, 3)
    values, placed, _ = in_blocks(t_ns, stamps_ns, vectors, [1500 * MS, 3000 * MS])
    np.testing.assert_array_equal(np.isnan(values).any(axis=1).nonzero()[0], [400])
    np.testing.assert_array_equal(np.delete(values, 400, axis=0), vectors)
    assert placed == len(stamps_ns)


def test_a_stamp_before_the_cut_needs_the_whole():
    cut = TimeCut(1_000 * MS)
    cut.see("rows", np.array([0, 5_000 * MS]))
    assert cut.advance() == 4_000 * MS
    cut.see("rows", np.array([4_100 * MS]))
    with pytest.raises(NeedsWhole, match="go back"):
        cut.see("rows", np.array([4_050 * MS]))


def test_a_topic_that_is_silent_is_waited_for_two_seconds():
    cut = TimeCut(0)
    cut.see("rows", np.array([10_000 * MS]))
    cut.see("field", np.array([9_000 * MS]))
    assert cut.advance() == 9_000 * MS
    cut.see("rows", np.array([30_000 * MS]))
    assert cut.advance() == 28_000 * MS

"""The Allan deviation of a stream."""

from __future__ import annotations

import allantools
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.calibration import AllanAccumulator
from strapdown.errors import ShapeError, ValueRangeError


def noise(rows: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal((rows, 2)).cumsum(axis=0)


def test_every_value_is_that_of_allantools_at_the_same_cluster_time():
    values = noise(5000)
    allan = AllanAccumulator(50.0)
    allan.add(values)
    taus = allan.cluster_times_s
    assert len(taus) == 12
    for channel in range(2):
        theirs = allantools.adev(values[:, channel], rate=50.0, data_type="freq", taus=taus)
        np.testing.assert_allclose(theirs[0], taus[: len(theirs[0])])
        mine = allan.deviation()[: len(theirs[0]), channel]
        np.testing.assert_allclose(mine, theirs[1], rtol=1e-9)
        assert len(theirs[0]) >= 10


@given(st.lists(st.integers(0, 90), min_size=1, max_size=12))
def test_the_cut_into_blocks_makes_no_difference(sizes):
    values = noise(sum(sizes))
    whole, parts = AllanAccumulator(1.0), AllanAccumulator(1.0)
    whole.add(values)
    start = 0
    for size in sizes:
        parts.add(values[start : start + size])
        start += size
    assert parts.differences.tolist() == whole.differences.tolist()
    np.testing.assert_allclose(parts.deviation(), whole.deviation(), rtol=1e-12)


def test_a_single_sample_has_no_deviation_yet():
    allan = AllanAccumulator(1.0)
    allan.add([[1.0, 2.0]])
    assert allan.deviation().shape == (0, 2)
    assert allan.cluster_times_s.shape == (0,)


def test_wrong_shapes_and_rates_are_named():
    allan = AllanAccumulator(1.0)
    with pytest.raises(ShapeError, match=r"values \(N, C\)"):
        allan.add([1.0, 2.0])
    allan.add([[1.0, 2.0]])
    with pytest.raises(ShapeError, match=r"values \(N, 2\), got \(1, 3\)"):
        allan.add([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueRangeError, match="rate_hz above 0"):
        AllanAccumulator(0.0)

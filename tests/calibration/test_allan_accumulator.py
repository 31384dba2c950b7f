"""The Allan deviation of a stream."""

from __future__ import annotations

import allantools
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.calibration import AllanAccumulator, AllanResult, allan
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.series import ImuSeries


def noise(rows: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal((rows, 2)).cumsum(axis=0)


def test_every_value_is_that_of_allantools_at_the_same_cluster_time():
    values = noise(5000)
    accumulator = AllanAccumulator(50.0)
    accumulator.add(values)
    taus = accumulator.cluster_times_s
    assert len(taus) == 12
    for channel in range(2):
        theirs = allantools.adev(values[:, channel], rate=50.0, data_type="freq", taus=taus)
        np.testing.assert_allclose(theirs[0], taus[: len(theirs[0])])
        mine = accumulator.deviation()[: len(theirs[0]), channel]
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
    accumulator = AllanAccumulator(1.0)
    accumulator.add([[1.0, 2.0]])
    assert accumulator.deviation().shape == (0, 2)
    assert accumulator.cluster_times_s.shape == (0,)


def test_wrong_shapes_and_rates_are_named():
    accumulator = AllanAccumulator(1.0)
    with pytest.raises(ShapeError, match=r"values \(N, C\)"):
        accumulator.add([1.0, 2.0])
    accumulator.add([[1.0, 2.0]])
    with pytest.raises(ShapeError, match=r"values \(N, 2\), got \(1, 3\)"):
        accumulator.add([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueRangeError, match="rate_hz above 0"):
        AllanAccumulator(0.0)


def octaves(values):
    """Return the deviations of the batch at all cluster sizes of the accumulator."""
    sizes = 2 ** np.arange(int(np.log2(len(values) // 2)) + 1)
    return allan(values, rate_hz=50.0, kind="adev", taus=sizes / 50.0)


def same(accumulator: AllanAccumulator, result: AllanResult) -> None:
    np.testing.assert_allclose(accumulator.cluster_times_s, result.tau_s)
    assert accumulator.differences.tolist() == result.terms.tolist()
    np.testing.assert_allclose(accumulator.deviation(), result.deviation, rtol=1e-12)


def test_every_value_is_that_of_the_batch():
    accumulator = AllanAccumulator(50.0)
    accumulator.run(noise(3000))
    same(accumulator, octaves(noise(3000)))


def test_single_samples_have_the_bits_of_a_log():
    values = noise(700)
    values[300, 1] = np.nan
    one, whole = AllanAccumulator(50.0), AllanAccumulator(50.0)
    for sample in values:
        one.update(sample)
    whole.run(values)
    assert np.array_equal(one.deviation(), whole.deviation())
    same(one, octaves(values))


def test_merged_logs_are_pooled_pieces():
    values = noise(2000)
    first, second = AllanAccumulator(50.0), AllanAccumulator(50.0)
    first.run(values[:1100])
    second.run(values[1100:])
    merged = AllanAccumulator(50.0)
    merged.merge(first)
    merged.merge(second)
    gone = np.insert(values, 1100, np.nan, axis=0)
    result = octaves(gone)
    assert merged.differences.tolist() == result.terms.tolist()
    np.testing.assert_allclose(merged.deviation(), result.deviation, rtol=1e-12)
    assert first.differences[0] == 1099


def test_a_series_is_cut_at_its_gaps():
    t_ns = np.delete(np.arange(1200) * 20_000_000, 500)
    values = np.random.default_rng(2).standard_normal((1199, 6))
    series = ImuSeries(t_ns, values[:, :3], values[:, 3:])
    accumulator = AllanAccumulator(50.0)
    accumulator.run(series)
    same(accumulator, octaves(np.insert(values, 500, np.nan, axis=0)))
    with pytest.raises(ValueRangeError, match="samples at 100 Hz, got 50 Hz"):
        AllanAccumulator(100.0).run(series)


def test_accumulators_of_other_sensors_are_not_merged():
    mine = AllanAccumulator(50.0)
    mine.run(noise(10))
    other = AllanAccumulator(50.0)
    other.run(noise(10)[:, :1])
    with pytest.raises(ShapeError, match="expected 2 channels, got 1"):
        mine.merge(other)
    with pytest.raises(ValueRangeError, match="rate_hz 50, got 20"):
        mine.merge(AllanAccumulator(20.0))
    with pytest.raises(TypeError, match="AllanAccumulator"):
        mine.merge(noise(10))
    with pytest.raises(ShapeError, match=r"values \(2,\), got \(3,\)"):
        mine.update([1.0, 2.0, 3.0])

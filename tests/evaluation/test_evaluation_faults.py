"""Faults that recordings are given."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.evaluation import (
    blank_samples,
    cut_gaps,
    drop_samples,
    surviving,
    with_faults,
)
from strapdown.series import ImuSeries, Trajectory

MS = 1_000_000


def recording(count, start_ns=0, *, magnetic=True):
    t_ns = start_ns + np.arange(count) * 10 * MS
    values = np.arange(3.0 * count).reshape(count, 3)
    return ImuSeries(t_ns, values, values + 1.0, magnetic_field=values if magnetic else None)


def test_drops_come_from_one_stream_and_spare_the_ends():
    first, second = recording(4000), recording(3000, 10**18)
    rng = np.random.default_rng(1)
    for series, left in zip([first, second], with_faults("drop", [first, second]), strict=True):
        keep = ~(rng.random(len(series)) < 0.02)
        keep[0] = keep[-1] = True
        assert left == series[keep]
        assert 0.01 < 1 - len(left) / len(series) < 0.03
    (alone,) = drop_samples([second])
    assert alone != left  # the stream went on


@pytest.mark.parametrize("start_ns", [0, 10**18, -7 * 10**9])
def test_gaps_of_300_ms_come_every_20_s_from_5_s_on(start_ns):
    series = recording(5000, start_ns)
    (left,) = with_faults("gap", [series])
    lost_s = np.setdiff1d(series.t_ns, left.t_ns) - start_ns
    expected = [1000 * MS * at + 10 * MS * k for at in (5, 25, 45) for k in range(30)]
    np.testing.assert_array_equal(lost_s, expected)


def test_rows_are_blanked_for_each_sensor_on_its_own():
    trials = [recording(500), recording(400, magnetic=False), recording(300)]
    rng = np.random.default_rng(2)
    for series, left in zip(trials, with_faults("nan", trials), strict=True):
        for name in ("angular_velocity", "specific_force", "magnetic_field"):
            column = getattr(series, name)
            if column is None:
                assert getattr(left, name) is None
                continue
            lost = rng.random(len(series)) < 0.02
            found = getattr(left, name)
            assert np.isnan(found[lost]).all()
            np.testing.assert_array_equal(found[~lost], column[~lost])
        assert len(left) == len(series)


def test_the_reference_is_reduced_to_the_samples_that_are_left():
    series = recording(1000)
    reference = Trajectory(series.t_ns, np.tile([0.0, 0.0, 0.0, 1.0], (1000, 1)))
    (left,) = drop_samples([series], probability=0.5)
    np.testing.assert_array_equal(surviving(reference, left).t_ns, left.t_ns)


def test_impossible_faults_are_refused():
    with pytest.raises(UnknownNameError, match="fire"):
        with_faults("fire", [])
    for generator in (drop_samples, blank_samples):
        with pytest.raises(ValueRangeError, match="probability"):
            next(generator([recording(3)], probability=1.5))
    with pytest.raises(ValueRangeError, match="gaps"):
        next(cut_gaps([recording(3)], length_s=30.0))

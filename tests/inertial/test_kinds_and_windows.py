from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import ShapeError, TimeOrderError, UnknownNameError, ValueRangeError
from strapdown.inertial import (
    IncrementIntegrator,
    WindowRule,
    increments_from_rates,
    integrate,
)
from strapdown.samples import SampleKind
from strapdown.series import ImuSeries

MS = 1_000_000
EACH = WindowRule(1)


def about_x(t_ns, values, forces=None):
    """A series with rotation and force along x only, so that plain integrals are exact."""
    columns = np.zeros((2, len(t_ns), 3))
    columns[0, :, 0], columns[1, :, 0] = values, values if forces is None else forces
    return ImuSeries(np.asarray(t_ns), *columns)


def integrated(series, kind, window=EACH, **options):
    return integrate(series, gyro_kind=kind, accel_kind=kind, window=window, **options)


def test_a_mean_counts_for_the_time_since_the_sample_before():
    series = about_x(np.array([0, 5, 15, 20]) * MS, [9.0, 1.0, 2.0, 3.0], [9.0, 4.0, 5.0, 6.0])
    rows = integrated(series, SampleKind.MEAN).increments
    np.testing.assert_allclose(rows.delta_angle[:, 0], [0.005, 0.020, 0.015], rtol=1e-15)
    np.testing.assert_allclose(rows.delta_velocity[:, 0], [0.020, 0.050, 0.030], rtol=1e-15)


def test_an_increment_is_used_as_it_is():
    series = about_x(np.array([0, 5, 15, 20]) * MS, [9.0, 0.1, 0.2, 0.3])
    rows = integrated(series, SampleKind.INTEGRAL).increments
    assert rows.delta_angle[:, 0].tolist() == rows.delta_velocity[:, 0].tolist() == [0.1, 0.2, 0.3]
    assert rows.delta_angle_dt_ns.tolist() == [5 * MS, 10 * MS, 5 * MS]


def test_gyro_and_accel_may_be_of_different_kinds_and_are_named_in_words():
    series = about_x(np.array([0, 5, 15]) * MS, [0.0, 1.0, 2.0], [0.0, 0.1, 0.2])
    rows = integrate(series, gyro_kind="mean", accel_kind="integral", window=EACH).increments
    np.testing.assert_allclose(rows.delta_angle[:, 0], [0.005, 0.020], rtol=1e-15)
    assert rows.delta_velocity[:, 0].tolist() == [0.1, 0.2]


def test_an_unknown_kind_is_refused_by_name():
    with pytest.raises(UnknownNameError, match=r"'means'.*mean"):
        integrated(about_x([0], [0.0]), "means")


def test_uneven_steps_do_not_matter_to_means():
    series = about_x(np.array([0, 1, 20, 21, 22]) * MS, np.zeros(5))
    assert integrated(series, SampleKind.MEAN).report.uneven == 0
    assert integrated(series, SampleKind.POINT).report.uneven == 3


def test_a_mean_that_is_not_finite_makes_the_next_step_longer():
    series = about_x(np.arange(5) * 5 * MS, [2.0, 2.0, math.nan, 2.0, 2.0])
    result = integrated(series, SampleKind.MEAN)
    assert result.increments.delta_angle_dt_ns.tolist() == [5 * MS, 10 * MS, 5 * MS]
    np.testing.assert_allclose(result.increments.delta_angle[:, 0], [0.01, 0.02, 0.01])
    assert (result.report.not_finite, result.report.lost_ns) == (1, 0)


def test_an_increment_that_is_not_finite_breaks_its_window_because_its_motion_is_lost():
    series = about_x(np.arange(9) * 5 * MS, [0.0, 0.1, 0.1, 0.1, math.nan, 0.1, 0.1, 0.1, 0.1])
    result = integrated(series, SampleKind.INTEGRAL, WindowRule(2))
    assert result.increments.t_ns.tolist() == [10 * MS, 35 * MS]
    np.testing.assert_allclose(result.increments.delta_angle[:, 0], [0.2, 0.2])
    report = result.report
    assert (report.not_finite, report.gaps, report.discarded) == (1, 1, 1)
    assert report.lost_ns == 15 * MS


def test_an_increment_beside_a_rate_that_is_not_finite_is_lost_too():
    t_ns = np.arange(4) * 5 * MS
    series = about_x(t_ns, [1.0, math.nan, 1.0, 1.0], [0.0, 0.1, 0.2, 0.1])
    result = integrate(series, accel_kind=SampleKind.INTEGRAL, window=EACH)
    assert (result.report.not_finite, result.report.gaps) == (1, 1)
    assert result.increments.t_ns.tolist() == [15 * MS]


def test_a_rate_that_is_not_finite_without_accelerometer_makes_the_next_step_longer():
    series = about_x(np.arange(4) * 5 * MS, [1.0, math.nan, 1.0, 1.0])
    result = integrate(series, accel_kind=None, window=EACH)
    assert result.increments.delta_angle_dt_ns.tolist() == [10 * MS, 5 * MS]


@pytest.mark.parametrize("told", [True, False])
def test_without_accelerometer_there_are_only_angles(told):
    rng = np.random.default_rng(3)
    rates = rng.normal(size=(20, 3))
    t_ns = np.arange(20) * 5 * MS
    alone = ImuSeries(t_ns, rates, np.full((20, 3), 7.0 if told else np.nan))
    options = {"accel_kind": None} if told else {}
    result = integrate(alone, window=WindowRule(4), **options)
    rows = result.increments
    both, _ = increments_from_rates(ImuSeries(t_ns, rates, rates), samples_per_increment=4)
    np.testing.assert_array_equal(rows.delta_angle, both.delta_angle)
    assert rows.delta_angle_dt_ns.tolist() == [20 * MS] * 4
    assert np.isnan(rows.delta_velocity).all()
    assert rows.delta_velocity_dt_ns.tolist() == [0] * 4
    np.testing.assert_array_equal(result.sculling, 0.0)
    assert result.report.not_finite == 0


def test_without_gyroscope_there_are_only_velocities():
    t_ns = np.arange(9) * 5 * MS
    alone = ImuSeries(t_ns, np.full((9, 3), np.nan), np.tile([0.0, 0.0, 10.0], (9, 1)))
    rows = integrate(alone, window=WindowRule(4)).increments
    np.testing.assert_allclose(rows.delta_velocity, [[0.0, 0.0, 0.2]] * 2, rtol=1e-14)
    assert np.isnan(rows.delta_angle).all()
    assert rows.delta_angle_dt_ns.tolist() == [0, 0]


def test_a_stream_without_accelerometer_ignores_what_it_is_told():
    integrator = IncrementIntegrator(1, accel_kind=None, max_gap_ns=20 * MS)
    integrator.update(0, (0.0, 0.0, 1.0), (math.nan,) * 3)
    increment = integrator.update(10 * MS, (0.0, 0.0, 1.0), ())
    assert increment.delta_angle == pytest.approx((0.0, 0.0, 0.01))
    assert all(map(math.isnan, increment.delta_velocity))


cubics = st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4).map(np.polynomial.Polynomial)


@given(st.lists(cubics, min_size=3, max_size=3), st.integers(1, 4))
def test_what_is_left_without_the_corrections_is_the_plain_integral(axes, samples):
    t = np.arange(-4, 9) * 0.01
    values = np.stack([axis(t) for axis in axes], axis=-1)
    series = ImuSeries(np.rint(t * 1e9).astype(np.int64), values, 10.0 * values[:, ::-1])
    result = integrate(series, window=WindowRule(samples))
    rows = result.increments
    ends = rows.t_ns * 1e-9
    starts = ends - rows.delta_angle_dt_ns * 1e-9
    whole = starts > -0.021  # preceded by two steps with a shorter history
    exact = np.stack([axis.integ()(ends) - axis.integ()(starts) for axis in axes], axis=-1)
    alpha, nu = rows.delta_angle - result.coning, rows.delta_velocity - result.sculling
    np.testing.assert_allclose(alpha[whole], exact[whole], atol=1e-13)
    np.testing.assert_allclose(nu[whole], 10.0 * exact[whole, ::-1], atol=1e-12)


steps_ms = st.lists(st.integers(1, 9), min_size=1, max_size=40)


@given(steps_ms, st.integers(1, 5), st.one_of(st.none(), st.integers(1, 20)))
def test_a_window_ends_with_enough_samples_or_enough_time(steps, samples_min, interval_ms):
    t_ms = np.cumsum([3, *steps])
    window = WindowRule(samples_min)
    if interval_ms is not None:
        window = WindowRule(samples_min, interval_ms * MS)
    expected, start, count = [], t_ms[0], 0
    for t in t_ms[1:]:
        count += 1
        if count >= samples_min or t - start >= (interval_ms or math.inf):
            expected.append((t * MS, (t - start) * MS))
            start, count = t, 0
    result = integrated(about_x(t_ms * MS, np.zeros(len(t_ms))), SampleKind.POINT, window)
    rows = result.increments
    assert list(zip(rows.t_ns, rows.delta_angle_dt_ns, strict=True)) == expected
    assert result.report.unfinished == count


@given(steps_ms, st.lists(st.integers(0, 250), min_size=1, max_size=12, unique=True).map(sorted))
def test_windows_between_stamps_hold_what_is_after_the_first_up_to_the_second(steps, stamps_ms):
    t_ms = np.cumsum([3, *steps])
    values = np.arange(1.0, len(t_ms) + 1.0)
    expected = []
    for first, last in itertools.pairwise(stamps_ms):
        members = [k for k in range(1, len(t_ms)) if first < t_ms[k] <= last]
        complete = t_ms[-1] >= last  # otherwise more samples may follow
        if members and complete:
            end, before = t_ms[members[-1]], t_ms[members[0] - 1]
            expected.append((end * MS, (end - before) * MS, values[members].sum()))
    window = np.array(stamps_ms) * MS
    rows = integrated(about_x(t_ms * MS, values), SampleKind.INTEGRAL, window).increments
    assert [
        (int(t), int(dt), float(angle))
        for t, dt, angle in zip(
            rows.t_ns, rows.delta_angle_dt_ns, rows.delta_angle[:, 0], strict=True
        )
    ] == expected


def test_a_window_between_stamps_ends_with_its_last_sample_where_none_falls_on_its_end():
    series = about_x(np.array([0, 4, 8, 12, 16, 20]) * MS, np.ones(6))
    result = integrated(series, SampleKind.POINT, np.array([0, 10, 10 + 9, 25]) * MS)
    assert result.increments.t_ns.tolist() == [8 * MS, 16 * MS]
    assert result.increments.delta_angle_dt_ns.tolist() == [8 * MS, 8 * MS]
    assert (result.report.increments, result.report.unfinished) == (2, 1)


def test_a_gap_inside_a_window_between_stamps_leaves_what_comes_after_it():
    series = about_x(np.array([0, 5, 10, 60, 65, 70]) * MS, np.ones(6))
    result = integrated(series, SampleKind.POINT, np.array([0, 70]) * MS, max_gap_ns=20 * MS)
    assert result.increments.t_ns.tolist() == [70 * MS]
    assert result.increments.delta_angle_dt_ns.tolist() == [10 * MS]
    assert (result.report.discarded, result.report.lost_ns) == (1, 60 * MS)


def test_a_step_back_does_not_end_a_window_between_stamps():
    series = about_x(np.array([0, 5, 12, 3, 8, 10]) * MS, np.ones(6))
    result = integrated(series, SampleKind.POINT, np.array([0, 10, 20]) * MS)
    assert result.increments.t_ns.tolist() == [5 * MS, 10 * MS]
    assert (result.report.backward, result.report.discarded) == (1, 1)


def test_stamps_of_windows_ascend_and_there_are_some():
    series = about_x(np.arange(3) * MS, np.ones(3))
    with pytest.raises(TimeOrderError, match="got 5 ns after 5 ns"):
        integrated(series, SampleKind.POINT, np.array([0, 5, 5]))
    with pytest.raises(ShapeError, match="stamps of windows"):
        integrated(series, SampleKind.POINT, np.array([], np.int64))


@pytest.mark.parametrize("parameters", [(0,), (1, 0)])
def test_a_window_is_not_shorter_than_one_sample_or_one_nanosecond(parameters):
    with pytest.raises(ValueRangeError, match="_min"):
        WindowRule(*parameters)


def test_a_sample_that_is_missing_shows_in_the_lengths_and_nowhere_else():
    t = np.arange(-8, 41) * 0.005
    rates = np.stack([np.cos(3.0 * t), np.sin(2.0 * t), np.cos(t)], axis=-1)
    series = ImuSeries(np.rint(t * 1e9).astype(np.int64), rates, 3.0 * rates)
    fewer = series[np.arange(len(t)) != 30]
    stamps = np.arange(0, 11) * 20 * MS
    whole = integrate(series, window=stamps).increments
    holed = integrate(fewer, window=stamps).increments
    assert holed.delta_angle_dt_ns.tolist() == whole.delta_angle_dt_ns.tolist()
    np.testing.assert_allclose(holed.delta_angle, whole.delta_angle, atol=2e-7)
    np.testing.assert_allclose(holed.delta_velocity, whole.delta_velocity, atol=6e-7)
    counted = integrate(fewer, window=WindowRule(4)).increments
    assert sorted(counted.delta_angle_dt_ns.tolist()) == [20 * MS] * 10 + [25 * MS]

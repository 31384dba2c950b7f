"""The float32 integrator against results of the autopilot itself."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown._kernels.compilation import compiled
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.px4 import float32 as kernels
from strapdown.px4.increments import dt_max_s, integrate_float32, px4_increments
from strapdown.series import ImuSeries

F = np.float32


def bits(values):
    return np.asarray(values, np.float32).view(np.uint32)


@pytest.mark.parametrize("coning", [True, False])
def test_a_stream_gives_the_bits_of_the_autopilot(golden, coning):
    values = golden.gyro if coning else golden.accel
    wanted = golden.delta_angle if coning else golden.delta_velocity
    state, previous = kernels.FRESH, 0
    for row, t_us in enumerate(golden.t_us.tolist()):
        dt = kernels.seconds_between(t_us, previous)
        state = kernels.put(state, tuple(values[row]), dt, dt_max_s((1, 16)), coning)
        previous = t_us
        assert all(type(x) is np.float32 for x in (*state.alpha, *state.beta, state.seconds))
        if coning:
            assert (bits(state.beta) == bits(golden.beta[row])).all()
        is_ready = kernels.is_ready(state, 4, F(1000.0))
        assert is_ready == golden.ready[row]
        if is_ready:
            assert kernels.length_us(state) == golden.dt_us[row]
            assert (bits(kernels.total(state)) == bits(wanted[row])).all()
            state = kernels.reset(state)


@pytest.mark.parametrize("coning", [True, False])
def test_the_compiled_batch_gives_the_same_bits(golden, coning):
    values = golden.gyro if coning else golden.accel
    wanted = golden.delta_angle if coning else golden.delta_velocity
    ends, lengths, deltas = integrate_float32(
        golden.t_us, values, coning=coning, samples_per_window=4
    )
    assert (ends == np.flatnonzero(golden.ready)).all()
    assert (lengths == golden.dt_us[golden.ready]).all()
    assert (bits(deltas) == bits(wanted[golden.ready])).all()


def test_the_compiled_coning_sum_has_the_bits_of_the_autopilot(golden):
    put, state, previous = compiled(kernels.put), kernels.FRESH, 0
    for row, t_us in enumerate(golden.t_us.tolist()):
        plain = kernels.Integral(*state)
        dt = kernels.seconds_between(t_us, previous)
        state = put(plain, tuple(golden.gyro[row]), dt, dt_max_s((1, 16)), True)
        assert (bits(state.beta) == bits(golden.beta[row])).all()
        state = kernels.put(plain, tuple(golden.gyro[row]), dt, dt_max_s((1, 16)), True)
        previous = t_us
        if golden.ready[row]:
            state = kernels.reset(state)


def test_windows_may_end_with_given_samples(golden):
    by_count = integrate_float32(golden.t_us, golden.gyro, coning=True, samples_per_window=4)
    by_mark = integrate_float32(golden.t_us, golden.gyro, coning=True, is_last=golden.ready)
    for ours, theirs in zip(by_mark, by_count, strict=True):
        assert np.array_equal(ours, theirs)


def test_before_v1_16_a_gap_of_66_ms_starts_the_window_again():
    t_us = np.array([1000, 2000, 3000, 69_000, 70_000, 71_000, 72_000])
    values = np.ones((7, 3))
    new = integrate_float32(t_us, values, coning=False, samples_per_window=2)
    old = integrate_float32(t_us, values, coning=False, samples_per_window=2, px4_version=(1, 15))
    assert new[1].tolist() == [2000, 67_000, 2000]
    assert old[1].tolist() == [2000, 2000]
    assert old[0].tolist() == [1, 5]


def test_the_longest_window_has_the_bits_of_the_firmware():
    assert dt_max_s((1, 15)) == F(65535) * F(1e-6)
    assert dt_max_s((1, 16)) == F(4294967295) * F(1e-6)


@pytest.mark.parametrize("step_us", [0, -1000])
def test_a_stamp_that_does_not_advance_starts_the_window_again(step_us):
    t_us = np.cumsum([1000, 1000, step_us, 1000, 1000])
    rows, lengths, deltas = integrate_float32(
        t_us, np.full((5, 3), 2.0), coning=True, samples_per_window=2, previous_us=1000
    )
    assert rows.tolist() == [4]
    assert lengths.tolist() == [2000]
    np.testing.assert_allclose(deltas, 4e-3, rtol=1e-6)


def test_the_last_value_and_the_last_step_survive_a_reset():
    state = kernels.put(kernels.FRESH, (F(1), F(2), F(3)), F(0.01), F(1000), True)
    late = kernels.put(state, (F(7), F(8), F(9)), F(0), F(1000), True)
    assert late.last_value == (7, 8, 9)
    assert late.last_delta == state.last_delta != (0, 0, 0)
    assert (late.alpha, late.beta, late.seconds, late.samples) == (kernels.ZERO, kernels.ZERO, 0, 0)


def test_rounding_is_half_away_from_zero():
    for value, whole in ((0.49999997, 0), (0.5, 1), (2.5, 3), (8388609.0, 8388609)):
        assert kernels.rounded(F(value)) == compiled(kernels.rounded)(F(value)) == whole


def test_a_ramp_is_the_integral_over_the_window_half_a_packet_early():
    # A driver averages packets of 1.25 ms: the trapezoid of such means lags by half of one.
    t = np.arange(1, 9) * 1.25e-3
    means = np.zeros((8, 3))
    means[:, 0] = 2.0 * (t - 1.25e-3 / 2)
    means[0, 0] = 2.0 * (t[0] - 1.25e-3 / 2)
    series = ImuSeries(np.arange(1, 9) * 1_250_000, means, means)
    ends, _, deltas = integrate_float32(
        series.t_ns // 1000, means, coning=True, samples_per_window=4
    )
    assert ends.tolist() == [3, 7]
    assert deltas[1, 0] == pytest.approx(6.875e-5, rel=1e-6)  # the truth is 7.5e-5


def test_a_series_begins_its_first_window_with_its_first_sample():
    series = ImuSeries(
        5_000_000_000 + np.arange(9) * 4_000_000, np.full((9, 3), 0.5), np.full((9, 3), -9.8)
    )
    increments = px4_increments(series, 4)
    assert increments.t_ns.tolist() == [5_016_000_000, 5_032_000_000]
    assert increments.delta_angle_dt_ns.tolist() == [16_000_000, 16_000_000]
    np.testing.assert_allclose(increments.delta_angle, 8e-3, rtol=1e-6)
    np.testing.assert_allclose(increments.delta_velocity, -9.8 * 0.016, rtol=1e-6)
    assert len(px4_increments(series[:0], 4)) == 0


def test_bad_arguments_are_refused():
    with pytest.raises(ValueRangeError, match="1 or more, got 0"):
        integrate_float32(np.arange(3), np.zeros((3, 3)), coning=True, samples_per_window=0)
    with pytest.raises(ShapeError, match=r"\(3, 3\), got \(2, 3\)"):
        integrate_float32(np.arange(3), np.zeros((2, 3)), coning=True, samples_per_window=1)

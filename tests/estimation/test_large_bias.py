"""Estimators of the error-state model on simulated gyros with a bias of several deg/s."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.estimation import ErrorStateFilter, ErrorStateParams, ErrorStateSmoother
from strapdown.estimation.error_state.bias_prior import double_bias_prior
from strapdown.estimation.error_state.filter import correct
from strapdown.estimation.error_state.model import BIAS_ERROR
from strapdown.estimation.error_state.rest import bias_at_rest, running_mean
from strapdown.evaluation import orientation_error
from strapdown.series import ImuSeries

DEG = np.pi / 180.0
GRAVITY = np.array([0.0, 0.0, 9.81])
FIELD = 5e-5 * np.array([0.0, 0.4, -0.9])
RATE_HZ = 100.0
BIAS = slice(BIAS_ERROR, BIAS_ERROR + 3)


def sensed(angles, rng, *, bias=0.0, noise=1.0):
    """Return mean readings of a sensor that turns in place by Z-Y-X angles, and its attitude."""
    attitude = Rotation.from_euler("ZYX", angles)
    rate = (attitude[:-1].inv() * attitude[1:]).as_rotvec() * RATE_HZ
    after = attitude[1:]
    middle = attitude[:-1] * Rotation.from_rotvec(0.5 * rate / RATE_HZ)
    white = noise * rng.normal(size=(3, len(rate), 3))
    series = ImuSeries(
        np.round(np.arange(1, len(rate) + 1) * (1e9 / RATE_HZ)).astype(np.int64),
        rate + bias + 0.003 * white[0],
        middle.inv().apply(GRAVITY) + 0.03 * white[1],
        magnetic_field=after.inv().apply(FIELD) + 3e-7 * white[2],
    )
    return series, after


def swinging(seconds, rng, pauses=()):
    """Return smooth Z-Y-X angles, sums of sines of up to 0.4 Hz, with pauses of 6 s."""
    t = np.arange(round(seconds * RATE_HZ) + 1) / RATE_HZ
    speed = np.ones_like(t)
    for start in pauses:
        x = np.clip(np.maximum(start - t, t - start - 6.0) / 2.0, 0.0, 1.0)
        speed *= x * x * (3.0 - 2.0 * x)
    s = np.cumsum(speed)[:, None, None] / RATE_HZ
    pace = rng.uniform(0.5, 2.5, (4, 3))
    return 0.4 * np.sin(s * pace + rng.uniform(0.0, 2.0 * np.pi, (4, 3))).sum(axis=1)


def even_turn(seconds, rate, axis, tilt=0.0):
    """Return angles Z-Y-X of a steady rotation about a vertical or level axis."""
    angles = np.zeros((round(seconds * RATE_HZ) + 1, 3))
    angles[:, axis] = np.arange(len(angles)) * rate / RATE_HZ
    angles[:, 2] += tilt
    return angles


def drift(result, truth):
    """Return the RMS of the rotation to the truth that is not the same from start to end [deg]."""
    error = truth * Rotation.from_quat(result.q_world_from_body).inv()
    return np.degrees(np.sqrt(((error * error.mean().inv()).magnitude() ** 2).mean()))


def test_rests_show_a_bias_of_any_size():
    rng = np.random.default_rng(1)
    bias = np.array([-0.1, 1.2, 4.4]) * DEG
    series, _ = sensed(swinging(30.0, rng, [6.0, 20.0]), rng, bias=bias)
    np.testing.assert_allclose(bias_at_rest(series), bias, atol=0.1 * DEG)


def test_motion_without_rest_shows_no_bias():
    rng = np.random.default_rng(2)
    series, _ = sensed(swinging(20.0, rng), rng, bias=0.07)
    np.testing.assert_array_equal(bias_at_rest(series), np.zeros(3))


def test_a_series_without_usable_samples_shows_no_bias():
    series, _ = sensed(np.zeros((100, 3)), np.random.default_rng(3))
    lost = series.replace(specific_force=np.full((99, 3), np.nan))
    np.testing.assert_array_equal(bias_at_rest(lost), np.zeros(3))


@pytest.mark.parametrize("axis", [1, 2])
def test_a_steady_rotation_about_a_level_axis_is_no_rest(axis):
    rng = np.random.default_rng(4)
    series, _ = sensed(even_turn(10.0, 4.0 * DEG, axis), rng)
    np.testing.assert_array_equal(bias_at_rest(series), np.zeros(3))


def test_a_magnetometer_shows_a_steady_rotation_about_the_vertical():
    rng = np.random.default_rng(5)
    series, _ = sensed(even_turn(10.0, 4.0 * DEG, 0), rng)
    np.testing.assert_array_equal(bias_at_rest(series), np.zeros(3))
    alone = bias_at_rest(series.replace(magnetic_field=None))
    assert alone[2] == pytest.approx(4.0 * DEG, abs=0.1 * DEG)


def test_rests_that_agree_outweigh_a_steady_rotation():
    rng = np.random.default_rng(6)
    turn = even_turn(8.0, 5.0 * DEG, 0)
    angles = np.concatenate([np.zeros((300, 3)), turn, np.repeat(turn[-1:], 500, axis=0)])
    series, _ = sensed(angles, rng, bias=[0.02, 0.0, 0.0])
    found = bias_at_rest(series.replace(magnetic_field=None))
    np.testing.assert_allclose(found, [0.02, 0.0, 0.0], atol=0.1 * DEG)


def test_a_short_steady_rotation_is_no_large_bias():
    rng = np.random.default_rng(7)
    turn = even_turn(2.0, 5.0 * DEG, 0)
    start = swinging(10.0, rng)
    angles = np.concatenate([start, turn + start[-1] + [5.0 * DEG / RATE_HZ, 0.0, 0.0]])
    series, _ = sensed(angles, rng)
    np.testing.assert_array_equal(bias_at_rest(series.replace(magnetic_field=None)), np.zeros(3))


@pytest.mark.parametrize("size", [3.0, 5.0])
def test_the_smoother_uses_rests_with_a_bias_of_any_size(size):
    angles = swinging(50.0, np.random.default_rng(8), [-1.0, 20.0])
    bias = size * DEG * np.array([0.1, 0.4, 0.9])
    usual, biased = (
        ErrorStateSmoother().run(series, use_magnetic_field=False)
        for series, _ in (sensed(angles, np.random.default_rng(8), bias=b) for b in (0.0, bias))
    )
    assert usual.rest[2000:2600].mean() > 0.6
    np.testing.assert_array_equal(biased.rest, usual.rest)
    apart = orientation_error(biased.q_world_from_body, usual.q_world_from_body).total
    assert np.degrees(apart).max() < 0.2
    np.testing.assert_allclose(biased.gyro_bias - usual.gyro_bias, [bias] * len(apart), atol=1e-4)


def test_without_rest_the_prior_of_a_large_bias_is_as_wide_as_the_bias():
    rng = np.random.default_rng(9)
    bias = 3.0 * DEG * np.array([0.4, -0.3, 0.85])
    series, truth = sensed(swinging(40.0, rng), rng, bias=bias)
    result = ErrorStateSmoother().run(series, use_magnetic_field=False)
    assert drift(result, truth) < 2.0


def test_a_doubled_prior_gives_what_it_would_have_given_from_the_start():
    rng = np.random.default_rng(10)
    series, _ = sensed(swinging(10.0, rng), rng, bias=[1e-3, -2e-3, 1.5e-3])
    params = ErrorStateParams(gyro_bias_walk=0.0)
    narrow = ErrorStateFilter(params, compiled=False)
    wide = ErrorStateFilter(replace(params, gyro_bias_sigma=0.008), compiled=False)
    for orientation in (narrow, wide):
        orientation.run(series, use_magnetic_field=False)
    memory, known = narrow._execution.memory(0), wide._execution.memory(0)
    before = np.array(memory.error_covariance)
    double_bias_prior(memory)
    change = np.array(memory.correction.error)
    correct(memory)
    assert memory.bias_scale == 0.008
    wanted = np.array(known.error_covariance)
    assert (np.diag(wanted)[BIAS] > 1.2 * np.diag(before)[BIAS]).any()
    np.testing.assert_allclose(np.diag(memory.error_covariance), np.diag(wanted), rtol=0.02)
    np.testing.assert_allclose(
        memory.gyro_bias, known.gyro_bias, atol=0.02 * np.abs(change[BIAS]).max()
    )
    apart = orientation_error(np.array([memory.orientation]), np.array([known.orientation])).total
    assert apart[0] < 0.05 * np.abs(change[:3]).max()


@pytest.mark.parametrize("seed", [11, 12])
def test_the_filter_recovers_from_a_large_bias_without_rest(seed):
    rng = np.random.default_rng(seed)
    bias = 4.0 * DEG * np.array([0.5, -0.4, 0.77])
    series, truth = sensed(swinging(40.0, rng), rng, bias=bias)
    result = ErrorStateFilter().run(series)
    error = orientation_error(result.q_world_from_body, truth.as_quat())
    assert np.degrees(error.inclination[500:1000]).max() > 5.0  # otherwise nothing is tested
    assert np.degrees(error.inclination[1500:]).max() < 3.0
    assert np.degrees(np.abs(error.heading[3000:])).max() < 4.0
    np.testing.assert_allclose(result.gyro_bias[-1], bias, atol=0.25 * DEG)
    assert (np.abs(result.gyro_bias[-1] - bias) < 4.0 * result.gyro_bias_sigma[-1]).all()


@pytest.mark.parametrize("turned", [0.0, 6.0, -6.0])
def test_the_smoother_uses_the_field_in_rotation_if_another_one_is_steady_at_rest(turned):
    rng = np.random.default_rng(14)
    pauses = [-3.0, 9.0, 21.0, 33.0]
    series, truth = sensed(swinging(45.0, rng, pauses), rng)
    t = series.t_ns * 1e-9
    still = np.any([(t > start) & (t < start + 6.0) for start in pauses], axis=0)
    other = Rotation.from_euler("z", turned, degrees=True).apply(FIELD)
    field = series.magnetic_field.copy()
    field[still] = truth[still].inv().apply(other)
    result = ErrorStateSmoother().run(series.replace(magnetic_field=field))
    heading = orientation_error(result.q_world_from_body, truth.as_quat()).heading
    assert np.degrees(np.abs(heading)).max() < 1.0
    assert result.magnetic_disturbance[~still].mean() < 0.1
    if turned:
        assert result.magnetic_disturbance[still & result.rest].mean() > 0.9


def test_a_doubled_prior_is_the_same_in_machine_code_plain_python_and_chunks():
    rng = np.random.default_rng(12)
    series, _ = sensed(swinging(15.0, rng), rng, bias=4.0 * DEG * np.array([0.5, -0.4, 0.77]))
    fast, slow = ErrorStateFilter(compiled=True), ErrorStateFilter(compiled=False)
    fast.run(series[:777])
    fast.run(series[777:])
    slow.run(series)
    assert slow._execution.memory(0).bias_scale > 2.0 * ErrorStateParams().gyro_bias_sigma
    assert fast.state == slow.state


def test_running_means_are_of_the_rows_within_half_a_second():
    rng = np.random.default_rng(3)
    t_ns = np.cumsum(rng.integers(0, 40_000_000, 300))
    v = rng.normal(size=(300, 3))
    near = np.abs(t_ns - t_ns[:, None]) <= 500_000_000
    expected = np.array([v[rows].mean(axis=0) for rows in near])
    mean, away = running_mean(t_ns, v)
    np.testing.assert_allclose(mean, expected, atol=1e-13)
    np.testing.assert_allclose(away, np.linalg.norm(v - expected, axis=1), atol=1e-13)

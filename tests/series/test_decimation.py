"""Decimation of samples: sines of known frequency, and noise of known variance."""

import numpy as np
import pytest

from strapdown.errors import TimeOrderError, ValueRangeError
from strapdown.series import ImuSeries, Trajectory
from strapdown.series.decimation import decimate

RATE = 200
STEP_NS = 10**9 // RATE


def series(rows=4000, **columns):
    still = np.zeros((rows, 3))
    columns = {"angular_velocity": still, "specific_force": still, **columns}
    return ImuSeries(np.arange(rows) * STEP_NS, **columns)


def sine(hertz, rows=4000):
    wave = np.sin(2 * np.pi * hertz * np.arange(rows) / RATE + 0.3)
    return np.stack([wave, 0 * wave, 0 * wave], axis=1)


def middle(column):
    return column[50:-50]


@pytest.mark.parametrize("hertz", [0.5, 5.0, 14.0])
def test_motion_below_the_cut_off_keeps_amplitude_and_phase(hertz):
    slow, _ = decimate(series(angular_velocity=sine(hertz)), 4)
    error = slow.angular_velocity - sine(hertz)[::4]
    assert np.abs(middle(error)).max() < 2e-3


@pytest.mark.parametrize("hertz", [26.0, 47.0, 99.0])
def test_vibration_above_half_the_new_rate_is_not_folded(hertz):
    slow, _ = decimate(series(angular_velocity=sine(hertz)), 4)
    assert np.abs(middle(slow.angular_velocity)).max() < 1.5e-3
    assert np.abs(middle(sine(hertz)[::4])).max() > 0.9  # as it would be without a filter


def test_the_amplitude_at_the_cut_off_is_one_half():
    _, done = decimate(series(), 4)
    assert done.cutoff_hz == pytest.approx(20.0)
    slow, _ = decimate(series(specific_force=sine(done.cutoff_hz)), 4)
    # Of a sine at 20 Hz in rows at 50 Hz five rows make two periods: mean square is half of square.
    rms = np.sqrt(np.mean(middle(slow.specific_force)[:, 0][:900] ** 2))
    assert rms * np.sqrt(2.0) == pytest.approx(0.5, abs=2e-3)


def test_gravity_is_kept_at_both_ends_and_at_gaps():
    rest = np.tile([0.0, 0.0, 9.80665], (1000, 1))
    whole = series(1000, specific_force=rest)
    t_ns = whole.t_ns + np.where(np.arange(1000) >= 501, 10**10, 0)
    slow, done = decimate(whole.replace(t_ns=t_ns), 4)
    np.testing.assert_allclose(slow.specific_force, rest[: len(slow)], rtol=1e-12)
    assert done.pieces == 2
    assert slow.t_ns.tolist() == [*t_ns[:501:4], *t_ns[501::4]]
    half = done.taps // 2
    ends = [(row, size - 1 - row) for size in (501, 499) for row in range(0, size, 4)]
    assert done.partial == sum(min(distances) < half for distances in ends)


def test_nothing_is_filtered_across_a_gap():
    jump = series(1000, angular_velocity=np.repeat([[0.0] * 3, [1.0] * 3], 500, axis=0))
    t_ns = jump.t_ns + np.where(np.arange(1000) >= 500, 10**10, 0)
    slow, _ = decimate(jump.replace(t_ns=t_ns), 4)
    assert set(np.round(slow.angular_velocity[:, 0], 12)) == {0.0, 1.0}


def test_covariances_are_those_of_the_filtered_noise():
    rows = 200_000
    noise = np.random.default_rng(5).normal(0.0, 0.02, (rows, 3))
    variance = np.tile(np.eye(3) * 0.02**2, (rows, 1, 1))
    marked = variance.copy()
    marked[:, 0, 0] = -1.0
    fast = series(
        rows,
        angular_velocity=noise,
        angular_velocity_covariance=variance,
        specific_force_covariance=marked,
    )
    slow, done = decimate(fast, 4)
    said = middle(slow.angular_velocity_covariance)[:, 1, 1]
    assert np.ptp(said) < 1e-12 * said[0] + 1e-18
    measured = middle(slow.angular_velocity).var()
    assert measured == pytest.approx(said[0], rel=0.02)  # 6 sigma of 150000 correlated samples
    assert done.noise_gain == pytest.approx(np.sqrt(said[0]) / 0.02, rel=1e-9)
    assert (slow.specific_force_covariance == marked[::4]).all()


def test_missing_values_and_a_slow_magnetometer_are_not_invented():
    field = np.full((1000, 3), np.nan)
    field[1::10] = np.arange(100)[:, None]
    rate = np.ones((1000, 3))
    rate[400:600] = np.nan
    slow, done = decimate(series(1000, angular_velocity=rate, magnetic_field=field), 4)
    seen = ~np.isnan(slow.angular_velocity[:, 0])
    assert slow.angular_velocity[seen] == pytest.approx(1.0)
    assert 48 <= (~seen).sum() <= 50
    assert done.partial > (~seen).sum()
    rows = np.arange(0, 1000, 4)
    latest = (rows - 1) // 10
    fresh = (rows - 1) % 10 < 4
    fresh[0] = False
    expected = np.where(fresh, latest, np.nan)
    np.testing.assert_array_equal(slow.magnetic_field[:, 0], expected)


def test_clipping_reaches_as_far_as_the_filter():
    bits = np.zeros(4000, np.uint8)
    bits[2000] = 0b101
    slow, done = decimate(series(gyro_clipping=bits), 4)
    around = np.abs(np.arange(0, 4000, 4) - 2000) <= done.taps // 2
    assert slow.gyro_clipping.tolist() == np.where(around, 0b101, 0).tolist()


def test_a_trajectory_keeps_rows():
    track = Trajectory(np.arange(100) * STEP_NS, np.random.default_rng(1).normal(size=(100, 4)))
    slow, _ = decimate(track, 4)
    assert slow == track[::4]


def test_bad_input_is_refused():
    with pytest.raises(ValueRangeError, match="from 2 to 1000, got 1"):
        decimate(series(), 1)
    with pytest.raises(TypeError, match="whole number"):
        decimate(series(), 2.5)
    with pytest.raises(TypeError, match="series"):
        decimate(np.zeros((4, 3)), 2)
    with pytest.raises(TimeOrderError):
        decimate(series(4).replace(t_ns=[0, 1, 1, 2]), 2)


def test_no_samples_stay_none():
    empty, done = decimate(series(0), 4)
    assert len(empty) == 0
    assert (done.rows, done.pieces, done.partial) == (0, 0, 0)

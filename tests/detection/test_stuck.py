"""Stuck sensors."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.detection import StuckDetector, StuckParams
from strapdown.motion import Static
from strapdown.sensors import load_profile
from strapdown.series import ImuSeries
from strapdown.simulation import simulate

G = 9.80665
RATE_HZ = 200.0
AXES = ("gyro_x", "gyro_y", "gyro_z", "accel_x", "accel_y", "accel_z")


def sensor(*, seconds=20.0, code=0.0, noise=0.01, moving=False, seed=0):
    """A sensor with noise, in codes of a width if there is one."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE_HZ)
    wave = np.sin(np.outer(t, [3.0, 5.0, 7.0])) * moving
    rate = wave + noise * rng.normal(size=wave.shape)
    force = np.array([0.0, 0.0, G]) + 3.0 * wave + noise * rng.normal(size=wave.shape)
    if code:
        rate, force = code * np.round(rate / code), code * np.round(force / code)
    return ImuSeries(np.round(t * 1e9).astype(np.int64), rate, force)


def hold(series, columns, first, count):
    """Return the series with some of its six columns stuck for a while."""
    values = np.hstack([series.angular_velocity, series.specific_force])
    values[first : first + count, columns] = values[first, columns]
    return series.replace(angular_velocity=values[:, :3], specific_force=values[:, 3:])


def found_in(series, params=None):
    detector = StuckDetector(params, compiled=True)
    events = list(detector.run(series))
    last = detector.finish()
    return events if last is None else [*events, last]


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("columns", [[0, 1, 2], [3, 4, 5], [0, 1, 2, 3, 4, 5], [1], [5]])
def test_what_sticks_is_found_with_its_times_and_axes(columns, moving):
    (event,) = found_in(hold(sensor(moving=moving), columns, 2000, 300))
    assert event.t_start_ns == 2000 * 5_000_000
    assert event.t_end_ns == 2299 * 5_000_000
    assert event.t_decided_ns <= 2010 * 5_000_000  # 8 or 9 samples are enough
    assert event.flags == {AXES[column] for column in columns}
    assert max(event.values.values()) == 300


def test_seven_equal_samples_are_not_stuck():
    assert found_in(hold(sensor(), [0, 1, 2], 2000, 7)) == []


def test_a_sensor_of_few_codes_takes_longer_and_is_found_within_a_second():
    coarse = sensor(code=0.02)
    (event,) = found_in(hold(coarse, [3, 4, 5], 2000, 300))
    assert event.flags == {"accel_x", "accel_y", "accel_z"}
    assert 0.1 < (event.t_decided_ns - event.t_start_ns) / 1e9 <= 1.0


def test_a_sensor_that_never_lived_is_found_within_a_second():
    dead = hold(sensor(), [0, 1, 2], 0, 4000)
    (event,) = found_in(dead)
    assert event.t_decided_ns - event.t_start_ns <= 1_000_000_000
    assert "open" in event.flags
    assert event.t_end_ns == dead.t_ns[-1]


def test_what_is_stuck_now_can_be_asked_for():
    series = hold(sensor(), [0, 1, 2], 2000, 300)
    detector = StuckDetector()
    detector.run(series[:2000])
    assert detector.stuck == frozenset()
    detector.run(series[2000:2200])
    assert detector.stuck == {"gyro_x", "gyro_y", "gyro_z"}
    detector.run(series[2200:2400])
    assert detector.stuck == frozenset()


# Codes up to three sigmas wide: at three an axis repeats itself 6 times out of 7.
@pytest.mark.parametrize("code", [0.0, 0.003, 0.01, 0.02, 0.03])
@pytest.mark.parametrize("moving", [False, True])
def test_noise_in_codes_is_no_alarm(code, moving):
    for seed in range(4):
        assert found_in(sensor(seconds=100.0, code=code, moving=moving, seed=seed)) == []


def test_coming_to_rest_on_few_codes_is_no_alarm():
    for seed in range(10):
        moving = sensor(code=0.02, moving=True, seed=seed)
        resting = sensor(code=0.02, seed=seed + 100)
        values = np.vstack([moving.angular_velocity, resting.angular_velocity])
        forces = np.vstack([moving.specific_force, resting.specific_force])
        t_ns = np.arange(len(values)) * 5_000_000
        assert found_in(ImuSeries(t_ns, values, forces)) == []


@pytest.mark.parametrize("part", ["MPU-6050", "MPU-9250", "ICM-20602"])
def test_a_simulated_part_is_no_alarm(part):
    spec = load_profile(part).spec(rate_hz=200)
    assert found_in(simulate(Static(), spec, 60.0, seed=1).samples.series()) == []


def test_sensors_without_noise_are_exempt_if_they_are_declared():
    still = sensor(noise=0.0)
    assert len(found_in(still)) == 1
    assert found_in(still, StuckParams(noise_free=True)) == []


def test_saturation_is_not_stuck():
    series = sensor(moving=True)
    values = series.specific_force.copy()
    values[1000:1100, 0] = 40.0
    assert found_in(series.replace(specific_force=values)) == []
    bits = np.zeros(len(series), np.uint8)
    bits[1000:1100] = 1
    rate = series.angular_velocity.copy()
    rate[1000:1100, 0] = 1.0
    assert found_in(series.replace(angular_velocity=rate, gyro_clipping=bits)) == []


def test_an_axis_that_loses_its_noise_is_found_after_ten_seconds():
    series = sensor(seconds=40.0)
    force = series.specific_force.copy()
    quiet = slice(2000, 6000)
    force[quiet, 1] *= 0.1
    params = StuckParams(gyro_sigma_rad_s=0.01, accel_sigma_m_s2=0.01)
    (event,) = found_in(series.replace(specific_force=force), params)
    assert event.flags == {"accel_low_noise"}
    assert 20.0 < event.t_decided_ns / 1e9 < 25.0
    assert 10.0 < event.t_start_ns / 1e9 < 15.0
    assert 30.0 <= event.t_end_ns / 1e9 < 30.5
    assert found_in(series, params) == []


@pytest.mark.data
def test_recordings_of_sensors_that_work_raise_no_alarm(recordings, static_log):
    for name, series in [*recordings.items(), ("static", static_log)]:
        assert found_in(series) == [], name

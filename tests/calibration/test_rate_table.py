"""Calibration of a gyro from known rates."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.calibration import RateStep, rate_table
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.motion import Mount, Mounted, Turntable
from strapdown.series import ImuSeries
from strapdown.units import RAD_PER_DEG

RATES = np.array([0.0, 60.0, -60.0, 180.0, -180.0]) * RAD_PER_DEG
EARTH = 7.292115e-5


def table(sessions, spec, *, both_ways=True):
    """A level table that turns about the vertical; the sensor is mounted with each axis up."""
    parts, steps, start_ns = [], [], 0
    motion = Turntable.from_rates(RATES, hold_s=4.0, ramp_s=1.0)
    for axis in "xyz":
        for side in "pa" if both_ways else "p":
            attitude = sessions.up(f"{axis}_{side}")
            source = Mounted(motion, Mount(q_body_from_gyro=attitude, q_body_from_accel=attitude))
            series = sessions.recorded(source, spec)
            parts.append(series.replace(t_ns=series.t_ns + start_ns))
            up = quaternion.rotate(quaternion.conjugate(attitude), [0.0, 0.0, 1.0])
            begin_s = start_ns * 1e-9
            steps += [
                RateStep(begin_s + 5 * k + 0.5, begin_s + 5 * k + 3.5, rate * up)
                for k, rate in enumerate(RATES)
            ]
            start_ns += int(series.t_ns[-1]) + 10_000_000
    return ImuSeries.concatenate(parts), steps


def test_known_rates_give_bias_scale_misalignment_and_sensitivity(sessions):
    K = np.array([[2e-4, 0.0, 1e-4], [0.0, -3e-4, 0.0], [1e-4, 0.0, 2e-4]])
    series, steps = table(sessions, sessions.spec(noise=False, g_sensitivity=K.tolist()))
    accel = np.linalg.inv(np.eye(3) + sessions.ACCEL_E)
    force = (series.specific_force - sessions.ACCEL_BIAS) @ accel.T
    result = rate_table(series.replace(specific_force=force), steps, g_sensitivity=True)
    c = result.calibration
    np.testing.assert_allclose(c.gyro.matrix, sessions.GYRO, atol=1e-8)
    np.testing.assert_allclose(c.gyro.bias, sessions.GYRO_BIAS, atol=1e-8)
    readings = (np.eye(3) + sessions.GYRO_E) @ K  # the simulator scales the sensitivity too
    np.testing.assert_allclose(c.g_sensitivity, readings, atol=1e-8)
    assert result.warnings == ()


def test_errors_are_as_large_as_the_report_says(sessions):
    series, steps = table(sessions, sessions.spec(), both_ways=False)
    result = rate_table(series, steps)
    c = result.calibration
    assert np.all(np.abs(c.gyro.matrix - sessions.GYRO) < 4.0 * c.gyro.sigma_matrix)
    assert np.all(np.abs(c.gyro.bias - sessions.GYRO_BIAS) < 4.0 * c.gyro.sigma_bias)
    assert "15 rates" in result.lines()[0]
    assert result.to_dict()["steps"] == 15


def test_the_rate_of_the_earth_belongs_to_a_latitude(sessions):
    series, steps = table(sessions, sessions.spec(noise=False))
    up = series.specific_force - sessions.ACCEL_BIAS
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    vertical = EARTH * np.sin(0.8) * up @ (np.eye(3) + sessions.GYRO_E).T
    there = series.replace(angular_velocity=series.angular_velocity + vertical)
    bias = rate_table(there, steps, latitude=0.8).calibration.gyro.bias
    np.testing.assert_allclose(bias, sessions.GYRO_BIAS, atol=3e-6)


def test_what_the_rates_do_not_determine_is_named(sessions):
    series, steps = table(sessions, sessions.spec())
    (line,) = rate_table(series, steps[:10]).warnings
    assert line.startswith("not observable: gyro misalignment xy")
    assert "gyro scale x" not in line
    with pytest.raises(ValueRangeError, match="4 rates or more"):
        rate_table(series, steps[:2])
    with pytest.raises(ValueRangeError, match=r"samples from 900 s to 901 s, got none"):
        rate_table(series, [*steps, RateStep(900.0, 901.0, np.zeros(3))])
    with pytest.raises(ShapeError, match=r"shape \(3,\)"):
        rate_table(series, [RateStep(s.start_s, s.stop_s, np.zeros((2, 3))) for s in steps])
    wrong = [RateStep(s.start_s, s.stop_s, np.abs(s.rate)) for s in steps]
    assert any("check the times and signs" in w for w in rate_table(series, wrong).warnings)


def test_readings_in_degrees_are_named(sessions):
    series, steps = table(sessions, sessions.spec(), both_ways=False)
    degrees = series.replace(angular_velocity=series.angular_velocity / RAD_PER_DEG)
    result = rate_table(degrees, steps)
    assert result.calibration.gyro.unit_in == "deg/s"
    assert "as if the gyro were in deg/s" in result.warnings[0]

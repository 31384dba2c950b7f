"""Temperature readings: interpolation, held ends, and removal of the lag."""

import numpy as np
import pytest

from strapdown.calibration import (
    ImuCalibration,
    TemperatureCurve,
    TemperatureReadings,
    TriadCalibration,
)
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries, Increments

S = 1_000_000_000


def test_readings_are_linear_between_and_held_at_the_ends():
    readings = TemperatureReadings([10 * S, 20 * S, 40 * S], [20.0, 30.0, 10.0])
    at = readings.at(np.array([0, 10, 15, 20, 30, 40, 99]) * S)
    np.testing.assert_array_equal(at, [20.0, 20.0, 25.0, 30.0, 20.0, 10.0, 10.0])


def test_the_lag_of_one_pole_is_removed_exactly_from_a_parabola():
    # of T' = a + 2 b t the element has T + lag T'
    t = np.arange(0.0, 400.0, 0.5)
    readings = TemperatureReadings((t * S).astype(np.int64), 20.0 + 0.03 * t - 2e-5 * t**2)
    inside = t[(t > 50.0) & (t < 350.0)]
    expected = 20.0 + 0.03 * inside - 2e-5 * inside**2 + 17.0 * (0.03 - 4e-5 * inside)
    at = readings.at((inside * S).astype(np.int64), lag_s=17.0)
    np.testing.assert_allclose(at, expected, atol=5e-6)  # readings are linear between


def test_a_lagging_sensor_gives_the_temperature_of_the_element():
    t = np.arange(0.0, 2000.0)
    element = 25.0 + 10.0 * np.sin(2.0 * np.pi * t / 1000.0)
    lag, w = 20.0, 2.0 * np.pi / 1000.0
    # steady response of 1 / (1 + lag s) to a sine
    read = 25.0 + 10.0 / np.hypot(1.0, lag * w) * np.sin(w * t - np.arctan(lag * w))
    readings = TemperatureReadings((t * S).astype(np.int64), read)
    inside = slice(100, -100)
    off = readings.at(readings.t_ns, lag_s=lag)[inside] - element[inside]
    assert np.abs(off).max() < 0.02
    assert np.abs(read - element)[inside].max() > 1.2


def test_one_reading_is_a_constant_temperature():
    readings = TemperatureReadings([5], [31.0])
    np.testing.assert_array_equal(readings.at([0, 5, 9 * S], lag_s=3.0), [31.0] * 3)


@pytest.mark.parametrize(
    ("t_ns", "celsius", "error", "message"),
    [
        ([], [], ShapeError, "one or more temperatures"),
        ([1, 2], [20.0], ShapeError, "one per stamp"),
        ([1, 1], [20.0, 21.0], ValueRangeError, "increasing stamps"),
        ([1, 2], [293.2, 294.2], ValueRangeError, "in deg C, got a median of 293.7"),
        ([1, 2], [20.0, np.nan], ValueRangeError, r"finite celsius, got celsius\[1\]"),
    ],
)
def test_bad_readings_are_named(t_ns, celsius, error, message):
    with pytest.raises(error, match=message):
        TemperatureReadings(np.array(t_ns, np.int64), celsius)


def test_a_calibration_removes_the_lag_of_each_triad():
    def triad(slope, lag_s):
        curve = TemperatureCurve(
            reference_c=20.0, coefficients=[[slope] * 3], lowest_c=0.0, highest_c=90.0, lag_s=lag_s
        )
        return TriadCalibration(temperature=curve)

    c = ImuCalibration(gyro=triad(1.0, 10.0), accel=triad(2.0, 0.0))
    t = np.arange(100) * S
    readings = TemperatureReadings(t, 20.0 + 0.1 * np.arange(100))
    zeros = np.zeros((100, 3))
    out = c.apply(ImuSeries(t, zeros, zeros), temperature=readings)
    inside = slice(20, 80)
    element = 0.1 * np.arange(100) + 0.1 * 10.0
    np.testing.assert_allclose(out.angular_velocity[inside, 1], -element[inside], atol=1e-9)
    np.testing.assert_allclose(out.specific_force[:, 1], -0.2 * np.arange(100), atol=1e-9)
    sample = c.apply(ImuSample(int(t[50]), (0, 0, 0), (0, 0, 0)), temperature=readings)
    np.testing.assert_allclose(sample.angular_velocity, out.angular_velocity[50])
    whole = c.apply(Increments(t, zeros, zeros, S, S), temperature=readings)
    np.testing.assert_allclose(whole.delta_angle, out.angular_velocity)

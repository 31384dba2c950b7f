"""Temperature profiles against their formulas."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.sensors.temperature import TemperatureProfile, temperature_table


def test_a_constant_stays():
    assert TemperatureProfile(31.5).at([-1.0, 0.0, 1e6]).tolist() == [31.5] * 3


def test_a_table_is_linear_in_between_and_constant_outside():
    profile = TemperatureProfile(temperature_table([10.0, 20.0, 40.0], [20.0, -25.0, 0.0]))
    expected = [20.0, 20.0, -2.5, -25.0, -12.5, 0.0, 0.0]
    assert profile.at([0.0, 10.0, 15.0, 20.0, 30.0, 40.0, 99.0]).tolist() == expected


def test_a_ramp_reproduces_a_polynomial_in_temperature():
    profile = TemperatureProfile(temperature_table([0.0, 1000.0], [-40.0, 85.0]))
    t_s = np.linspace(0.0, 1000.0, 5001)
    shift = profile.at(t_s) - 25.0
    exact = 0.125 * t_s - 65.0
    bias = np.polynomial.Polynomial([0.0, 1e-3, -2e-5, 3e-7])
    np.testing.assert_allclose(bias(shift), bias(exact), rtol=1e-12, atol=1e-14)


def test_a_function_is_asked_at_the_instants():
    profile = TemperatureProfile(lambda t_s: 20.0 + 5.0 * np.sin(t_s))
    assert profile.at([0.0, math.pi / 2]).tolist() == [20.0, 25.0]
    assert TemperatureProfile(lambda _: 21.0).at(np.zeros(3)).tolist() == [21.0] * 3


def test_the_sensor_heats_itself():
    profile = TemperatureProfile(20.0, self_heating_K=12.0, time_constant_s=60.0, power_on_s=5.0)
    expected = [20.0, 20.0, 20.0 + 12.0 * (1.0 - math.exp(-1.0)), 32.0]
    assert profile.at([0.0, 5.0, 65.0, 1e9]).tolist() == pytest.approx(expected, rel=1e-15)


def test_self_heating_adds_to_a_table():
    table = temperature_table([0.0, 60.0], [10.0, 20.0])
    profile = TemperatureProfile(table, self_heating_K=4.0, time_constant_s=60.0)
    assert profile.at(60.0) == pytest.approx(20.0 + 4.0 * (1.0 - math.exp(-1.0)), rel=1e-15)


def test_the_same_bits_for_any_chunking():
    rng = np.random.default_rng(1)
    table = temperature_table(np.arange(20.0), rng.normal(size=20))
    profile = TemperatureProfile(table, self_heating_K=4.0, time_constant_s=7.0)
    t_s = np.sort(rng.uniform(-1.0, 21.0, 400))
    alone = np.concatenate([profile.at(t_s[i : i + 1]) for i in range(400)])
    assert alone.tobytes() == profile.at(t_s).tobytes()


def test_the_table_is_copied():
    t_s, degrees = np.array([0.0, 1.0]), np.array([5.0, 6.0])
    profile = TemperatureProfile(temperature_table(t_s, degrees))
    degrees[:] = 99.0
    assert profile.at([0.5]).tolist() == [5.5]


def test_a_profile_with_a_table_goes_to_another_process():
    profile = TemperatureProfile(temperature_table([0.0, 1.0], [5.0, 6.0]))
    assert pickle.loads(pickle.dumps(profile)).at([0.5]).tolist() == [5.5]  # noqa: S301 (our own)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TemperatureProfile(math.nan), ValueRangeError, "finite ambient"),
        (lambda: TemperatureProfile(self_heating_K=math.inf), ValueRangeError, "self_heating_K"),
        (lambda: TemperatureProfile(time_constant_s=0.0), ValueRangeError, "time_constant_s above"),
        (lambda: temperature_table([0.0, 0.0], [1.0, 2.0]), ValueRangeError, "in row 1"),
        (lambda: temperature_table([0.0, 1.0], [1.0]), ShapeError, "temperature_degC"),
        (lambda: temperature_table([], []), ShapeError, r"shape \(N,\)"),
        (lambda: TemperatureProfile(lambda t: t[:1]).at([1.0, 2.0]), ShapeError, "ambient"),
        (lambda: TemperatureProfile(lambda t: t * np.nan).at([1.0]), ValueRangeError, "ambient"),
    ],
)
def test_bad_profiles_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()

from __future__ import annotations

import math

import numpy as np
import pytest

from strapdown.errors import ValueRangeError
from strapdown.motion import MOTIONS, Coning
from strapdown.sensors import IdealImu, simulate

EPOCH = 1_700_000_000_123_456_789


def test_samples_stand_at_the_rounded_instants_of_the_rate():
    series, truth = simulate(MOTIONS["wander"], IdealImu(rate_hz=300.0), 2.0, start_ns=EPOCH)
    expected = [EPOCH + (2 * k * 10**9 + 300) // 600 for k in range(600)]
    assert series.t_ns.tolist() == expected
    assert truth.t_ns.tolist() == expected


def test_the_stamps_do_not_drift_over_a_day():
    series, _ = simulate(Coning(0.1, 1.0), IdealImu(rate_hz=0.3), 86_400.0)
    assert series.t_ns[-1] == round((len(series) - 1) * 10**10 / 3)


def test_a_coning_sensor_reads_the_closed_form_at_its_own_stamps():
    tilt, rate = 0.2, 3.0
    series, truth = simulate(Coning(tilt, rate), IdealImu(rate_hz=70.0), 1.0, start_ns=EPOCH)
    t = (series.t_ns - EPOCH) / 1e9
    spin = np.full_like(t, -2.0 * rate * math.sin(tilt / 2) ** 2)
    swing = rate * math.sin(tilt)
    rates = np.stack([-swing * np.sin(rate * t), swing * np.cos(rate * t), spin], axis=-1)
    np.testing.assert_allclose(series.angular_velocity, rates, atol=1e-15)
    lean = math.sin(tilt)
    up = np.stack(
        [-lean * np.sin(rate * t), lean * np.cos(rate * t), np.full_like(t, math.cos(tilt))],
        axis=-1,
    )
    np.testing.assert_allclose(series.specific_force, 9.80665 * up, atol=1e-14)
    np.testing.assert_array_equal(truth.t_ns, series.t_ns)


def test_a_wandering_sensor_begins_with_plus_g_up():
    series, truth = simulate(MOTIONS["wander"], IdealImu(), 1.0)
    np.testing.assert_allclose(series.specific_force[0], [0.0, 0.0, 9.80665], atol=1e-12)
    np.testing.assert_allclose(series.angular_velocity[0], 0.0, atol=1e-14)
    assert truth.name == "truth"


def test_a_run_of_no_length_is_empty():
    series, truth = simulate(MOTIONS["wander"], IdealImu(gyro_noise_density=1e-3), 0.0)
    assert len(series) == len(truth) == 0


@pytest.mark.parametrize("duration_s", [-1.0, math.nan, math.inf])
def test_a_run_must_have_a_length(duration_s):
    with pytest.raises(ValueRangeError, match="duration_s"):
        simulate(MOTIONS["wander"], IdealImu(), duration_s)

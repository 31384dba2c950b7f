from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.sensors import IdealImu

IDENTITY = (0.0, 0.0, 0.0, 1.0)
NOISY = IdealImu(
    rate_hz=100.0,
    gyro_noise_density=1e-3,
    accel_noise_density=2e-2,
    mag_noise_density=1e-7,
    seed=42,
)


def measure(imu, samples, angular_velocity=(0.0, 0.0, 0.0), specific_force=(0.0, 0.0, 9.80665)):
    return imu.measure(
        np.arange(samples) * 10_000_000,
        np.tile(angular_velocity, (samples, 1)),
        np.tile(specific_force, (samples, 1)),
        np.tile(IDENTITY, (samples, 1)),
    )


def test_an_imu_without_noise_reads_the_truth():
    series = measure(IdealImu(), 3, (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    np.testing.assert_array_equal(series.angular_velocity, [[0.1, 0.2, 0.3]] * 3)
    np.testing.assert_array_equal(series.specific_force, [[1.0, 2.0, 3.0]] * 3)
    np.testing.assert_array_equal(series.t_ns, [0, 10_000_000, 20_000_000])


def test_a_bias_shows_on_every_sample():
    imu = IdealImu(gyro_bias=(0.01, -0.02, 0.03), accel_bias=(0.1, 0.2, -0.3))
    series = measure(imu, 4)
    np.testing.assert_array_equal(series.angular_velocity, [[0.01, -0.02, 0.03]] * 4)
    np.testing.assert_allclose(series.specific_force, [[0.1, 0.2, 9.80665 - 0.3]] * 4)


@pytest.mark.parametrize(
    ("column", "density"), [("angular_velocity", 1e-3), ("specific_force", 2e-2)]
)
def test_the_noise_has_the_stated_covariance(column, density):
    samples = 200_000
    series = measure(NOISY, samples)
    stated = getattr(series, f"{column}_covariance")
    np.testing.assert_allclose(stated, np.tile(density**2 * 100.0 * np.eye(3), (samples, 1, 1)))
    empirical = np.cov(getattr(series, column), rowvar=False)
    # Four standard errors: sqrt(2/N) of a variance, sqrt(1/N) of a correlation.
    np.testing.assert_allclose(np.diag(empirical), np.diag(stated[0]), rtol=4 * math.sqrt(2e-5 / 2))
    correlation = empirical / stated[0, 0, 0] - np.diag(np.diag(empirical)) / stated[0, 0, 0]
    assert np.abs(correlation).max() < 4 / math.sqrt(samples)


def test_the_noise_is_white():
    noise = measure(NOISY, 100_000).angular_velocity[:, 0]
    lagged = [np.corrcoef(noise[lag:], noise[:-lag])[0, 1] for lag in (1, 2, 10)]
    assert np.abs(lagged).max() < 4 / math.sqrt(100_000)


def test_gyro_accelerometer_and_magnetometer_have_their_own_noise():
    series = measure(NOISY, 10_000)
    columns = (series.angular_velocity, series.specific_force, series.magnetic_field)
    correlations = np.corrcoef(np.hstack(columns), rowvar=False)
    assert np.abs(correlations - np.eye(9)).max() < 4.5 / math.sqrt(10_000)


def test_an_imu_without_noise_states_no_covariance():
    series = measure(IdealImu(), 2)
    assert series.angular_velocity_covariance is None
    assert series.specific_force_covariance is None


def test_the_same_seed_gives_the_same_bytes():
    assert measure(NOISY, 50) == measure(NOISY, 50)


def test_a_longer_run_begins_with_the_shorter_one():
    assert measure(NOISY, 500)[:50] == measure(NOISY, 50)


@pytest.mark.parametrize("other", [{"seed": 43}, {"name": "imu1"}])
def test_another_seed_or_name_gives_other_noise(other):
    noise = measure(NOISY, 50).angular_velocity
    imu = IdealImu(rate_hz=100.0, gyro_noise_density=1e-3, **{"seed": 42, **other})
    assert not np.isin(measure(imu, 50).angular_velocity, noise).any()


def test_a_level_magnetometer_facing_east_sees_north_on_its_left_and_the_dip_below():
    field = measure(IdealImu(), 1).magnetic_field[0]
    expected = [0.0, 50e-6 * math.cos(math.pi / 3), -50e-6 * math.sin(math.pi / 3)]
    np.testing.assert_allclose(field, expected, atol=1e-20)


def test_the_magnetometer_turns_with_the_body():
    attitudes = Rotation.random(6, random_state=8)
    world = (1e-5, 2e-5, -3e-5)
    zero = np.zeros((6, 3))
    series = IdealImu(magnetic_field_world=world).measure(
        np.arange(6), zero, zero, attitudes.as_quat()
    )
    np.testing.assert_allclose(series.magnetic_field, attitudes.inv().apply(world), atol=1e-19)


def test_an_imu_may_have_no_magnetometer():
    assert measure(IdealImu(magnetic_field_world=None), 2).magnetic_field is None


def test_the_series_carries_the_name_and_claims_no_attitude():
    series = measure(IdealImu(name="left"), 2)
    assert series.sensor.name == "left"
    assert series.q_world_from_body is None


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"rate_hz": 0.0}, ValueRangeError),
        ({"rate_hz": math.inf}, ValueRangeError),
        ({"gyro_noise_density": -1.0}, ValueRangeError),
        ({"accel_noise_density": math.nan}, ValueRangeError),
        ({"mag_noise_density": math.inf}, ValueRangeError),
        ({"gyro_bias": (0.0, math.nan, 0.0)}, ValueRangeError),
        ({"accel_bias": (0.0, 0.0)}, ShapeError),
        ({"magnetic_field_world": (0.0, 0.0)}, ShapeError),
        ({"seed": -1}, ValueRangeError),
        ({"seed": 2**64}, ValueRangeError),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(parameters, error):
    with pytest.raises(error, match=next(iter(parameters))):
        IdealImu(**parameters)


def test_columns_of_different_length_are_refused():
    with pytest.raises(ShapeError):
        IdealImu().measure(np.arange(3), np.zeros((3, 3)), np.zeros((2, 3)), np.zeros((3, 4)))


def test_imus_are_values():
    assert IdealImu(gyro_bias=np.array([1.0, 2.0, 3.0])) == IdealImu(gyro_bias=(1.0, 2.0, 3.0))

"""Exports of fitted noise: sensor profile, kalibr, covariances, estimators, table."""

from __future__ import annotations

import csv
import tomllib
from io import StringIO

import numpy as np
import pytest
from ruamel.yaml import YAML

from strapdown import ImuSeries
from strapdown.calibration import allan, sample_covariance
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.estimation import (
    ErrorStateParams,
    MadgwickParams,
    NavigatorParams,
    SmootherParams,
    VqfParams,
)
from strapdown.inertial import ImuNoise
from strapdown.messages.conversion import white_noise_covariance
from strapdown.messages.covariance import CovarianceStatus, status
from strapdown.sensors import load_profile
from strapdown.simulation import find_sensor

RATE_HZ = 20.0


@pytest.fixture(scope="module")
def log():
    """Two kinds of gyro axes and of accelerometer axes, one of each with a random walk."""
    rng = np.random.default_rng(1)
    count = 60_000
    rate = rng.standard_normal((count, 3)) * [1e-3, 2e-3, 3e-3]
    rate[:, 2] += np.cumsum(rng.standard_normal(count)) * 3e-5
    force = rng.standard_normal((count, 3)) * [0.01, 0.02, 0.03] + [0.0, 0.0, 9.81]
    return ImuSeries(np.arange(count) * 50_000_000, rate, force)


@pytest.fixture(scope="module")
def result(log):
    return allan(log)


@pytest.fixture(scope="module")
def fit(result):
    return result.fit()


def test_the_specification_has_each_axis_and_what_is_missing_stays_none(fit):
    spec = fit.to_spec("bench")
    assert (spec.name, float(spec.rate_hz)) == ("bench", pytest.approx(RATE_HZ))
    wanted = np.array([1e-3, 2e-3, 3e-3]) / np.sqrt(RATE_HZ)
    np.testing.assert_allclose(spec.gyro.noise_density, wanted, rtol=0.03)
    np.testing.assert_allclose(spec.accel.noise_density, 10.0 * wanted, rtol=0.03)
    walks = spec.gyro.bias_random_walk
    assert walks[2] == pytest.approx(3e-5 * np.sqrt(RATE_HZ), rel=0.25)
    assert spec.accel.bias_random_walk is None
    assert "accel.bias_random_walk" in spec.missing()


def test_the_sheet_gives_the_same_specification_back(fit, tmp_path):
    path = tmp_path / "bench.toml"
    path.write_text(fit.to_sheet("bench", source='log "A".csv of 2026-01-02'))
    spec = fit.to_spec("bench")
    assert load_profile(path).spec(rate_hz=spec.rate_hz) == spec
    assert find_sensor(path, rate_hz=spec.rate_hz) == spec


def test_the_sheet_states_its_log_the_readable_units_and_what_is_unknown(fit):
    text = fit.to_sheet("bench", source='log "A".csv of 2026-01-02')
    table = tomllib.loads(text)
    assert table["sources"]["log"]["title"].endswith('"A".csv of 2026-01-02: 0.8333 h at 20 Hz')
    assert table["gyro"]["noise_density"]["sided"] == "two"
    assert "not identifiable" in table["accel"]["unknown"]["bias_random_walk"]
    assert "deg/sqrt(h)" in text
    assert "ug/sqrt(Hz) one-sided" in text


def test_kalibr_finds_its_fields(fit):
    text = fit.to_kalibr(topic="/imu", source="log.csv")
    table = YAML(typ="safe").load(text)
    assert list(table) == [
        "rostopic",
        "update_rate",
        "accelerometer_noise_density",
        "accelerometer_random_walk",
        "gyroscope_noise_density",
        "gyroscope_random_walk",
    ]
    assert table["rostopic"] == "/imu"
    assert table["update_rate"] == pytest.approx(RATE_HZ)
    spec = fit.to_spec()
    assert table["gyroscope_noise_density"] == pytest.approx(max(spec.gyro.noise_density))
    assert table["accelerometer_noise_density"] == pytest.approx(max(spec.accel.noise_density))
    bound = max(fit[f"specific_force.{axis}"].coefficients["K"].upper for axis in "xyz")
    assert table["accelerometer_random_walk"] == pytest.approx(bound)
    assert "two-sided" in text
    assert "the worst" in text
    assert "upper bound where not identified: specific_force.x" in text


def test_kalibr_takes_the_mean_and_a_factor(fit):
    table = YAML(typ="safe").load(fit.to_kalibr(inflate=5.0, axes="mean"))
    mean = np.mean(fit.to_spec().gyro.noise_density)
    assert table["gyroscope_noise_density"] == pytest.approx(5.0 * mean)
    with pytest.raises(ValueRangeError, match="inflate above 0"):
        fit.to_kalibr(inflate=0.0)
    with pytest.raises(UnknownNameError, match="worst"):
        fit.to_kalibr(axes="best")


def test_the_covariance_is_that_of_one_sample_and_never_zero(fit, log):
    found = fit.covariance()
    densities = fit.to_spec().gyro.noise_density
    for row, density in enumerate(densities):
        wanted = white_noise_covariance(density, np.array([50_000_000]))[0, row, row]
        assert found["angular_velocity"][row, row] == pytest.approx(wanted)
    for name, matrix in found.items():
        assert status(matrix.ravel()) is CovarianceStatus.KNOWN
        measured = np.diag(sample_covariance(getattr(log, name)))
        np.testing.assert_allclose(np.diag(matrix)[:2], measured[:2], rtol=0.1)
        assert not (matrix - np.diag(np.diag(matrix))).any()


def test_the_covariance_of_a_filtered_sensor_has_twice_its_noise_bandwidth(fit):
    full, narrow = fit.covariance(), fit.covariance(noise_bandwidth_hz=1.0)
    ratio = narrow["specific_force"][0, 0] / full["specific_force"][0, 0]
    assert ratio == pytest.approx(2.0 / RATE_HZ)
    floor = fit["angular_velocity.z"].without_processes.B or 0.0
    biased = fit.covariance(include_bias=True)["angular_velocity"][2, 2]
    assert biased == pytest.approx(full["angular_velocity"][2, 2] + floor**2)
    with pytest.raises(ValueRangeError, match="above 0"):
        fit.covariance(noise_bandwidth_hz=0.0)


def test_the_measured_covariance_is_without_trend_and_keeps_correlations():
    rng = np.random.default_rng(2)
    values = rng.multivariate_normal([0, 0, 0], [[2, 1, 0], [1, 2, 0], [0, 0, 1]], 100_000)
    values += np.linspace(0.0, 50.0, len(values))[:, None]
    values[5] = np.nan
    found = sample_covariance(values)
    np.testing.assert_allclose(found, [[2, 1, 0], [1, 2, 0], [0, 0, 1]], atol=0.05)
    with pytest.raises(ValueRangeError, match="constant axis"):
        sample_covariance(np.ones((20, 3)))
    with pytest.raises(ValueRangeError, match="10 finite rows"):
        sample_covariance(values[:4])
    with pytest.raises(ShapeError):
        sample_covariance(np.ones((2, 20, 3)))


def test_estimators_take_the_worst_axis(fit):
    spec = fit.to_spec()
    walk = fit["angular_velocity.z"].without_processes.K
    navigator = fit.to_params(NavigatorParams)
    assert navigator.gyro_noise == max(spec.gyro.noise_density)
    assert navigator.accel_noise == max(spec.accel.noise_density)
    assert navigator.gyro_walk >= walk
    assert navigator.accel_walk > 0.0
    assert navigator.heading == NavigatorParams().heading
    assert fit.to_params(ErrorStateParams, inflate=3.0).gyro_noise == 3.0 * navigator.gyro_noise
    assert fit.to_params(SmootherParams).bias_walk == navigator.gyro_walk
    assert fit.to_params(VqfParams).rate_noise == navigator.gyro_noise
    noise = fit.to_params(ImuNoise)
    np.testing.assert_array_equal(noise.densities()[0], spec.gyro.noise_density)
    with pytest.raises(UnknownNameError, match="MadgwickParams"):
        fit.to_params(MadgwickParams)


def test_channels_that_are_no_imu_are_refused():
    fit = allan(np.random.default_rng(0).normal(size=(1000, 3)), rate_hz=1.0).fit()
    for export in (fit.to_spec, fit.to_sheet, fit.to_kalibr, fit.covariance):
        with pytest.raises(ShapeError, match="pass an ImuSeries to allan"):
            export()


def test_a_gyro_alone_is_a_sensor_but_not_one_for_kalibr(log):
    alone = log.replace(specific_force=np.full((len(log), 3), np.nan))
    fit = allan(alone).fit(gauss_markov=0)
    assert fit.to_spec().accel.noise_density is None
    assert fit.to_params(VqfParams).rate_noise > 0.0
    with pytest.raises(ShapeError, match="both triads"):
        fit.to_kalibr()


def test_an_axis_without_white_noise_has_no_covariance():
    steps = np.cumsum(np.random.default_rng(3).standard_normal((20_000, 6)), axis=0)
    series = ImuSeries(np.arange(len(steps)) * 50_000_000, steps[:, :3], steps[:, 3:])
    fit = allan(series).fit()
    with pytest.raises(ValueRangeError, match="sample_covariance"):
        fit.covariance()


def test_the_table_has_curves_bounds_and_model(result, fit):
    rows = list(csv.DictReader(StringIO(result.to_csv(fit))))
    assert len(rows) == len(result.tau_s)
    np.testing.assert_array_equal([float(row["tau_s"]) for row in rows], result.tau_s)
    model = fit["specific_force.z"].model.deviation(result.tau_s)
    np.testing.assert_array_equal([float(row["specific_force.z.model"]) for row in rows], model)
    for row in rows:
        low, middle, high = (float(row[f"angular_velocity.x{k}"]) for k in (".lower", "", ".upper"))
        assert low < middle < high
    assert "model" not in result.to_csv()


def test_everything_is_plain_numbers(fit):
    data = fit.to_dict()
    white = data["channels"]["angular_velocity.x"]["coefficients"]["N"]
    assert white["unit"] == "rad/s/sqrt(Hz) two-sided"
    assert white["shown"]["deg/sqrt(h)"] == pytest.approx(3437.75 * white["value"], rel=1e-5)
    assert white["lower"] < white["value"] < white["upper"]
    absent = data["channels"]["specific_force.x"]["coefficients"]["K"]
    assert absent["value"] is None
    assert absent["reason"]

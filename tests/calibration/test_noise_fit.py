"""Fit of noise terms: exact curves, simulated sensors, intervals, and a real log."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import digamma

from strapdown import ImuSeries
from strapdown.calibration import NoiseModel, allan
from strapdown.calibration.noise.curve import Curve, curves_of
from strapdown.calibration.noise.fit import Solution, choose, refit
from strapdown.calibration.noise.uncertainty import covariance, covariance_of_points
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.sensors import GaussMarkov, ImuSimulator, ImuSpec, TriadSpec
from strapdown.simulation._sources import at_rest

HOUR_S = 3600.0


def exact(model, *, edf=1e4):
    """Return a curve without scatter."""
    tau_s = np.unique(np.rint(np.geomspace(1, 20_000, 86))) / 10.0
    bias = np.exp(digamma(edf / 2.0)) / (edf / 2.0)
    return Curve(tau_s, model.deviation(tau_s) ** 2 * bias, np.full(len(tau_s), edf))


def fit_of(spec, hours, seed, **options):
    simulator = ImuSimulator(spec, at_rest(), seed=seed)
    samples = simulator.run(int(hours * HOUR_S * spec.rate_hz))
    return allan(samples.angular_velocity, rate_hz=float(spec.rate_hz)).fit(**options)


@pytest.mark.parametrize(
    "model",
    [
        NoiseModel(N=1e-4),
        NoiseModel(N=1e-4, B=3e-5, K=2e-6),
        NoiseModel(Q=1e-4, N=1e-4, K=3e-6),
        NoiseModel(N=1e-3, R=1e-6),
        NoiseModel(N=1e-4, K=1e-6, gauss_markov=(GaussMarkov(2e-4, 5.0),)),
        NoiseModel(N=1e-4, gauss_markov=(GaussMarkov(2e-4, 2.0), GaussMarkov(2e-4, 200.0))),
    ],
    ids=str,
)
def test_an_exact_curve_gives_its_terms_back(model):
    found = choose(exact(model), gauss_markov=3).model()
    assert found.coefficients() == pytest.approx(model.coefficients(), rel=1e-5)
    times = sorted((each.correlation_time_s, each.sigma) for each in found.gauss_markov)
    wanted = sorted((each.correlation_time_s, each.sigma) for each in model.gauss_markov)
    np.testing.assert_allclose(times, wanted, rtol=1e-5)


def test_the_terms_of_a_curve_can_be_limited():
    model = NoiseModel(N=1e-4, gauss_markov=(GaussMarkov(2e-4, 5.0),))
    assert not choose(exact(model), gauss_markov=0).model().gauss_markov


def test_a_simulated_sensor_gives_white_and_flicker_noise_back():
    triad = TriadSpec(noise_density=1e-4, bias_instability=1e-4)
    for noise in fit_of(ImuSpec(rate_hz=10, gyro=triad), 4, seed=2).channels:
        found = noise.without_processes.coefficients()
        assert found["N"] == pytest.approx(1e-4, rel=0.02)
        assert found["B"] == pytest.approx(1e-4, rel=0.05)
        assert noise.fits, noise.warning


def test_a_simulated_sensor_gives_its_random_walk_back():
    triad = TriadSpec(noise_density=1e-4, bias_instability=4e-5, bias_random_walk=1e-5)
    for noise in fit_of(ImuSpec(rate_hz=5, gyro=triad), 12, seed=2, gauss_markov=0).channels:
        assert noise.coefficients["N"].value == pytest.approx(1e-4, rel=0.02)
        assert noise.coefficients["K"].value == pytest.approx(1e-5, rel=0.10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_simulated_sensors_close_at_a_usual_rate(seed):
    floor = TriadSpec(noise_density=1e-4, bias_instability=1e-4)
    for noise in fit_of(ImuSpec(rate_hz=50, gyro=floor), 4, seed=seed, gauss_markov=0).channels:
        assert noise.coefficients["N"].value == pytest.approx(1e-4, rel=0.02)
        assert noise.coefficients["B"].value == pytest.approx(1e-4, rel=0.05)
    walk = TriadSpec(noise_density=1e-4, bias_instability=4e-5, bias_random_walk=1e-5)
    for noise in fit_of(ImuSpec(rate_hz=50, gyro=walk), 12, seed=seed, gauss_markov=0).channels:
        assert noise.coefficients["N"].value == pytest.approx(1e-4, rel=0.02)
        assert noise.coefficients["K"].value == pytest.approx(1e-5, rel=0.10)


def covered(runs, intervals, seed=5):
    """Return how often the 95 % intervals of N and K of simulated logs contain the truth."""
    rng = np.random.default_rng(seed)
    density, walk, rate_hz, count = 1.0, 0.2, 10.0, 2**13
    values = rng.standard_normal((count, runs)) * density * math.sqrt(rate_hz)
    values += np.cumsum(rng.standard_normal((count, runs)), axis=0) * walk / math.sqrt(rate_hz)
    result = allan(values, rate_hz=rate_hz)
    inside = []
    if intervals == "bootstrap":
        fit = result.fit(gauss_markov=0, intervals="bootstrap")
        for noise in fit.channels:
            for letter, truth in (("N", density), ("K", walk)):
                each = noise.coefficients[letter]
                inside.append(each.value is not None and each.lower < truth < each.upper)
        return np.mean(inside)
    models = [NoiseModel(N=density, K=walk)] * runs
    wanted = 2.0 * np.log([density, walk])
    for curve in curves_of(result, models):
        found = refit(curve, Solution(("N", "K"), wanted))
        of_points = covariance_of_points(curve, found, 1.0 / rate_hz, 0.0)
        sigma = np.sqrt(np.diag(covariance(curve, found, of_points)))
        inside += list(np.abs(found.logs - wanted) < 1.96 * sigma)
    return np.mean(inside)


def test_the_intervals_cover_the_truth():
    assert 0.92 <= covered(100, "fast") <= 0.98


@pytest.mark.slow
def test_the_intervals_cover_the_truth_in_many_logs():
    assert 0.93 <= covered(1500, "fast") <= 0.97


@pytest.mark.slow
def test_intervals_by_bootstrap_cover_the_truth():
    assert 0.92 <= covered(150, "bootstrap") <= 0.98


def test_both_kinds_of_intervals_agree():
    rng = np.random.default_rng(3)
    result = allan(rng.standard_normal(2**15), rate_hz=10.0)
    fast = result.fit(gauss_markov=0).channels[0].coefficients["N"]
    drawn = result.fit(gauss_markov=0, intervals="bootstrap").channels[0].coefficients["N"]
    assert fast.value == drawn.value
    assert drawn.upper / drawn.lower == pytest.approx(fast.upper / fast.lower, rel=0.01)
    again = result.fit(gauss_markov=0, intervals="bootstrap").channels[0].coefficients["N"]
    assert again == drawn


def test_a_curve_of_another_kind_is_reported_with_its_worst_cluster_time():
    rng = np.random.default_rng(4)
    t_s = np.arange(50_000) / 10.0
    hum = 3.0 * np.sin(2.0 * np.pi * t_s / 8.0)  # a period of 8 s bends the curve at some seconds
    fit = allan(rng.standard_normal(len(t_s)) + hum, rate_hz=10.0).fit()
    (warning,) = fit.warnings
    assert "0: the model does not fit: at " in warning
    assert 1.0 < fit["0"].worst_at_s < 60.0
    assert not fit["0"].fits
    calm = allan(rng.standard_normal(50_000), rate_hz=10.0).fit()
    assert calm.warnings == ()
    assert calm["0"].reduced_chi_square < 2.0


def test_rounding_of_samples_is_white_noise_and_not_quantisation():
    rng = np.random.default_rng(6)
    step = 0.5
    values = np.round(rng.standard_normal(100_000) / step) * step
    (noise,) = allan(values, rate_hz=10.0).fit().channels
    estimate = noise.coefficients["Q"]
    assert estimate.value is None
    assert "not identifiable" in estimate.reason
    assert 0.0 == estimate.lower < estimate.upper < 1.0
    rounded = math.sqrt((1.0 + step**2 / 12.0) / 10.0)
    assert noise.coefficients["N"].value == pytest.approx(rounded, rel=0.02)


def test_rounding_of_an_angle_is_quantisation():
    rng = np.random.default_rng(7)
    step, rate_hz = 1e-3, 100.0
    angle = np.cumsum(rng.standard_normal(200_001)) * 1e-4 / math.sqrt(rate_hz)
    angle += 1.2345678 / rate_hz * np.arange(len(angle))  # a turn, so that all codes occur
    rates = np.diff(np.round(angle / step) * step) * rate_hz
    (noise,) = allan(rates, rate_hz=rate_hz).fit().channels
    assert noise.coefficients["Q"].value == pytest.approx(step / math.sqrt(12.0), rel=0.02)


def test_a_constant_channel_has_no_noise_and_says_why():
    values = np.zeros((1000, 2))
    values[:, 1] = np.random.default_rng(0).normal(size=1000)
    constant, noisy = allan(values, rate_hz=1.0).fit().channels
    assert all(each.value is None for each in constant.coefficients.values())
    assert "constant" in constant.warning
    assert noisy.coefficients["N"].value == pytest.approx(1.0, rel=0.1)


def test_cluster_times_that_a_filter_bends_are_left_out():
    rng = np.random.default_rng(8)
    smooth = np.convolve(rng.standard_normal(200_020), np.ones(20) / 20.0, "valid")
    result = allan(smooth, rate_hz=100.0)
    bent, straight = result.fit(), result.fit(bandwidth_hz=1.0)
    assert not bent["0"].fits
    assert straight["0"].fits, straight["0"].warning
    assert straight["0"].coefficients["N"].value == pytest.approx(0.1, rel=0.03)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"gauss_markov": 4}, ValueRangeError, "gauss_markov from 0 to 3"),
        ({"bandwidth_hz": 0.0}, ValueRangeError, "bandwidth_hz above 0"),
        ({"intervals": "exact"}, UnknownNameError, "bootstrap"),
    ],
)
def test_options_out_of_range_are_refused(options, kind, words):
    result = allan(np.random.default_rng(0).normal(size=1000), rate_hz=1.0)
    with pytest.raises(kind, match=words):
        result.fit(**options)


def test_all_cluster_times_give_the_terms_of_spaced_ones():
    values = np.random.default_rng(9).standard_normal(20_000)
    spaced = allan(values, rate_hz=10.0).fit()["0"].coefficients["N"]
    every = allan(values, rate_hz=10.0, taus="all").fit()["0"].coefficients["N"]
    assert every.value == pytest.approx(spaced.value, rel=1e-2)
    assert every.upper / every.lower == pytest.approx(spaced.upper / spaced.lower, rel=0.05)


def test_a_short_log_and_few_cluster_times_are_said_to_be_short():
    values = np.random.default_rng(9).standard_normal(30)
    (noise,) = allan(values, rate_hz=10.0).fit().channels
    assert "fewer than 5" in noise.warning
    assert noise.coefficients["N"].value is None


def test_an_unknown_channel_is_named():
    fit = allan(np.random.default_rng(0).normal(size=1000), rate_hz=1.0).fit()
    with pytest.raises(UnknownNameError, match="angular_velocity"):
        fit["angular_velocity.x"]


@pytest.mark.slow
def test_a_real_sensor_has_its_known_numbers_and_does_not_fit_straight_lines(data_dir):
    with np.load(data_dir / "imu_static" / "adis_16405_imu1.npz") as log:
        rate = np.radians(log["gyr_lsb"] * float(log["gyr_scale_dps"]))
        force = log["acc_lsb"] * float(log["acc_scale_g"]) * 9.80665
    result = allan(ImuSeries(np.arange(len(rate)) * 10_000_000, rate, force))
    fit = result.fit()
    for axis, density, lowest in zip(
        "xyz", (2.42, 2.54, 2.29), (0.0051, 0.0084, 0.0081), strict=True
    ):
        noise = fit[f"angular_velocity.{axis}"]
        assert noise.readings["N"].value * 3437.75 == pytest.approx(density, rel=0.03)
        assert noise.coefficients["N"].value * 3437.75 == pytest.approx(density, rel=0.04)
        assert np.degrees(noise.minimum.deviation) == pytest.approx(lowest, abs=1.5e-4)
    assert fit["angular_velocity.x"].minimum.at_end
    for axis, lowest in zip("xyz", (0.292, 0.222, 0.225), strict=True):
        noise = fit[f"specific_force.{axis}"]
        assert noise.minimum.deviation / 9.80665e-3 == pytest.approx(lowest, abs=1.5e-3)
        assert 8.0 < noise.minimum.tau_s < 17.0
        assert noise.processes  # the bump at a second
    for noise in fit.channels:
        assert noise.coefficients["Q"].value is None
        assert "not identifiable" in noise.coefficients["Q"].reason
        assert not noise.fits
        assert 1.2 < max(noise.worst, 1.0 / noise.worst) < 2.2

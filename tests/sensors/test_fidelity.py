"""The statistics of simulated samples against mathematics, allantools and SciPy.

Seeds are fixed; each tolerance is four expected standard deviations or more.
"""

from __future__ import annotations

import math

import allantools
import numpy as np
import pytest
from scipy import signal, stats

from strapdown.sensors import _coefficients as coefficients
from strapdown.sensors.model import SensorModel
from strapdown.sensors.noise import NoiseKey
from strapdown.sensors.samples import Samples
from strapdown.sensors.simulator import ImuSimulator
from strapdown.sensors.spec import ImuSpec
from strapdown.sensors.triad import Bandwidth, GaussMarkov, TriadSpec, TurnOn

KEY = NoiseKey(20, 1)


def noise_of(triad, samples, rate_hz, *, seed=20, oversampling=1):
    """Return what six axes at rest read, (6, N)."""
    model = SensorModel(
        (triad, triad), NoiseKey(seed, 1), rate_hz=rate_hz, oversampling=oversampling
    )
    return model.run(np.zeros((6, samples * oversampling)))[0]


def allan_deviation(noise, rate_hz, tau_s):
    """Return the Allan deviation over all axes at once, with a program of others."""
    found = [allantools.oadev(row, rate=rate_hz, data_type="freq", taus=tau_s)[1] for row in noise]
    return np.sqrt(np.mean(np.square(found), axis=0))


def test_a_random_walk_starts_at_zero():
    noise = noise_of(TriadSpec(bias_random_walk=1.0), 3, 5.0)
    assert not noise[:, 0].any()
    assert noise[:, 1].all()


@pytest.mark.parametrize("seeds", [400, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_gauss_markov_process_is_stationary_from_the_first_sample(seeds):
    triad = TriadSpec(gauss_markov=(GaussMarkov(0.5, 0.1),))
    runs = np.concatenate([noise_of(triad, 11, 10.0, seed=seed) for seed in range(seeds)])
    spread = 4.0 * math.sqrt(2.0 / len(runs))  # 5.2 % of 12,000 draws
    np.testing.assert_allclose(runs[:, 0].var(), 0.25, rtol=spread)
    np.testing.assert_allclose(runs[:, 10].var(), 0.25, rtol=spread)


def test_the_allan_curve_of_the_specification_is_that_of_the_samples():
    triad = TriadSpec(noise_density=1e-3, bias_random_walk=2e-3, bias_instability=5e-3)
    tau_s = [0.1, 1.0, 10.0]
    found = allan_deviation(noise_of(triad, 1_000_000, 100.0), 100.0, tau_s)
    # 6000 clusters of 10 s: 0.9 %
    np.testing.assert_allclose(found, triad.allan(tau_s)[:, 0], rtol=0.04)


def test_a_carried_rest_falls_with_time_as_the_rounding_of_an_angle_does():
    rate_hz, lsb = 10.0, 0.5
    inputs = np.random.default_rng(4).normal(size=(3, 200_000))
    triad = TriadSpec(resolution=lsb, carry_residue=True)
    error = SensorModel((triad,), KEY, rate_hz=rate_hz).run(inputs)[0] - inputs
    tau_s = np.array([0.1, 1.0, 10.0])
    expected = math.sqrt(3.0) * (lsb / rate_hz / math.sqrt(12.0)) / tau_s
    np.testing.assert_allclose(allan_deviation(error, rate_hz, tau_s), expected, rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distribution", "law"),
    [("normal", stats.norm(0.0, 0.3)), ("uniform", stats.uniform(-0.3, 0.6))],
)
def test_turn_on_biases_over_many_seeds_have_their_distribution(distribution, law):
    triad = TriadSpec(turn_on_bias=TurnOn(distribution, 0.3))
    drawn = [coefficients.drawn_bias(triad, 1, NoiseKey(s, 1), 0, 0) for s in range(10_000)]
    assert abs(np.mean(drawn)) < 4.0 * law.std() / 100.0
    assert np.std(drawn) == pytest.approx(law.std(), rel=4.0 / math.sqrt(20_000))
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-3
    variance = coefficients.turn_on_variance(triad.turn_on_bias, 1)
    assert variance == pytest.approx(law.var())


def test_noise_of_the_element_has_the_density_of_the_filter():
    triad = TriadSpec(
        noise_density=2e-3, noise_at="element", bandwidth=Bandwidth("lowpass", 10.0, 2)
    )
    noise = noise_of(triad, 100_000, 100.0, oversampling=4)
    f_hz, density = signal.welch(noise, fs=100.0, nperseg=256)
    sos = signal.butter(2, 10.0, fs=400.0, output="sos")
    gain = abs(signal.sosfreqz(sos, f_hz, fs=400.0)[1]) ** 2
    low = (f_hz > 1.0) & (f_hz < 8.0)  # what folds down from above 50 Hz is 0.2 % here
    ratio = density[:, low].mean(axis=0) / (2.0 * 2e-3**2 * gain[low])
    assert ratio.mean() == pytest.approx(1.0, rel=0.02)
    # n sqrt(NBW), with the one-sided density n
    bandwidth_hz = 200.0 * np.mean(abs(signal.sosfreqz(sos, 4096, fs=400.0)[1]) ** 2)
    expected = math.sqrt(2.0) * 2e-3 * math.sqrt(bandwidth_hz)
    assert noise.std() == pytest.approx(expected, rel=0.01)


class Still:
    """Rest, for ever."""

    start_s, end_s = -math.inf, math.inf
    has_pose, has_acceleration = False, True

    def inputs(self, t_s):
        return np.zeros((len(t_s), 3)), np.zeros((len(t_s), 3))

    def integrals(self, edges_s):
        return self.inputs(edges_s[1:])


@pytest.mark.parametrize("rate_hz", [25, 200, 1600])
@pytest.mark.parametrize("kind", ["plain", "low-pass", "boxcar", "mean", "carried"])
@pytest.mark.by_default("plain-25", "low-pass-200", "mean-1600", "boxcar-25", "carried-200")
def test_the_covariance_of_the_messages_is_the_variance_of_the_samples(rate_hz, kind):
    options = {
        "plain": {},
        "low-pass": {"noise_at": "element", "bandwidth": Bandwidth("lowpass", 0.4 * rate_hz, 2)},
        "boxcar": {"noise_at": "element", "bandwidth": Bandwidth("boxcar")},
        "mean": {"noise_at": "element"},
        "carried": {"carry_residue": True},
    }[kind]
    sigma = 1e-4 * math.sqrt(rate_hz)
    triad = TriadSpec(
        noise_density=1e-4,
        resolution=sigma,
        scale_misalignment=((0.1, 0.05, 0.0), (0.0, -0.1, 0.0), (0.0, 0.0, 0.05)),
        **options,
    )
    sampling = "mean" if kind == "mean" else "point"
    spec = ImuSpec(
        rate_hz=rate_hz,
        sampling=sampling,
        oversampling=4 if kind in {"boxcar", "mean"} else None,
        gyro=triad,
        accel=triad,
    )
    samples = ImuSimulator(spec, Still(), seed=4).run(100_000)
    series = samples.series()
    for values, covariance in (
        (series.angular_velocity, series.angular_velocity_covariance),
        (series.specific_force, series.specific_force_covariance),
    ):
        np.testing.assert_allclose(values.var(axis=0), np.diag(covariance[0]), rtol=0.02)
        assert np.count_nonzero(covariance[7]) == 3


def test_samples_show_what_they_are():
    samples = ImuSimulator(ImuSpec(), Still()).run(3)
    assert isinstance(samples, Samples)
    assert repr(samples) == "Samples(3 rates of 'imu')"

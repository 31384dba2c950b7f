"""Rounding, range, spectra and independence of simulated devices, against SciPy and arithmetic.

Everything here is read from ``Samples``. Seeds are fixed; each tolerance is four expected standard
deviations of the estimate or more.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import allantools
import numpy as np
import pytest
from scipy import signal, stats

from strapdown.motion import MOTIONS, Mounted, Static
from strapdown.sensors import (
    Bandwidth,
    Clock,
    GaussMarkov,
    ImuSimulator,
    ImuSpec,
    Latency,
    Line,
    Spectrum,
    TriadSpec,
    TurnOn,
    Vibration,
)
from strapdown.sensors.noise import monte_carlo_seed

REST = Mounted(Static())
SHAKEN = Mounted(MOTIONS["multi_sine"])
GRAVITY = np.array([0.0, 0.0, 9.80665])


def both(triad, **options):
    return ImuSpec(gyro=triad, accel=triad, **options)


def at_rest(triad, samples, *, rate_hz=100, seed=4, **options):
    """Return the errors (samples, 6) of a device at rest."""
    device = ImuSimulator(both(triad, rate_hz=rate_hz, **options), REST, seed=seed)
    samples = device.run(samples)
    return np.hstack([samples.angular_velocity, samples.specific_force - GRAVITY])


# -- rounding ------------------------------------------------------------------------------------


def test_rounding_errors_of_a_moving_device_are_uniform_over_one_bit():
    triad = TriadSpec(noise_density=1e-4)
    exact, rounded = (
        ImuSimulator(both(t, rate_hz=200), SHAKEN, seed=2).run(100_000)
        for t in (triad, replace(triad, resolution=1e-3))
    )
    for name in ("angular_velocity", "specific_force"):
        error = getattr(rounded, name) - getattr(exact, name)
        assert np.abs(error).max() <= 0.5e-3 * (1.0 + 1e-9)
        # 300,000 of them: 0.16 %
        assert error.var() == pytest.approx(1e-6 / 12.0, rel=0.01)


def test_a_device_with_less_noise_than_half_a_bit_sticks_at_one_code():
    triad = TriadSpec(noise_density=2e-5, bias=(2e-3, -2e-3, 0.0), resolution=0.01)
    # a bias of a fifth of a bit is lost, with noise of a fiftieth
    assert not at_rest(triad, 2000)[:, :5].any()
    loud = replace(triad, noise_density=2e-4)  # a fifth of a bit
    assert np.ptp(at_rest(loud, 2000)[:, :3], axis=0).min() > 0.0


def test_halves_of_a_bit_are_rounded_to_even_codes():
    device = ImuSimulator(both(TriadSpec(resolution=0.25)))
    halves = {0.5: 0, 1.5: 2, 2.5: 2, 3.5: 4, -0.5: 0, -1.5: -2, -2.5: -2, -3.5: -4}
    for half, code in halves.items():
        sample = device.feed((0.25 * half,) * 3, (0.25 * half,) * 3)
        assert sample.angular_velocity == sample.specific_force == [0.25 * code] * 3


def test_increments_that_carry_their_rest_lose_no_angle_and_fall_with_time():
    rate_hz, lsb = 100, 1e-3
    exact, rounded = (
        ImuSimulator(both(t, rate_hz=rate_hz, sampling="integral"), SHAKEN).run(60_000)
        for t in (TriadSpec(), TriadSpec(resolution=lsb, carry_residue=True))
    )
    for name in ("delta_angle", "delta_velocity"):
        lost = np.cumsum(getattr(rounded, name) - getattr(exact, name), axis=0)
        assert np.abs(lost).max() <= 0.5 * lsb / rate_hz * (1.0 + 1e-6)
        tau_s = np.array([0.02, 0.2, 2.0])
        curves = [
            allantools.oadev(x, rate=rate_hz, data_type="phase", taus=tau_s)[1] for x in lost.T
        ]
        found = np.sqrt(np.mean(np.square(curves), axis=0))
        expected = math.sqrt(3.0) * lsb / rate_hz / math.sqrt(12.0) / tau_s
        np.testing.assert_allclose(found, expected, rtol=0.02)


# -- range ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("measurement_range", "limits"), [(None, (-8, 7)), (1.3, (-5, 5))])
def test_values_stop_exactly_at_the_limit_and_are_flagged_from_there_on(measurement_range, limits):
    lsb, (low, high) = 0.25, limits
    triad = TriadSpec(resolution=lsb, bits=4, measurement_range=measurement_range)
    device = ImuSimulator(both(triad))
    for x in np.arange(-96, 97) / 32.0:
        code = round(Fraction(float(x)) / Fraction(lsb))  # halves to even
        sample = device.feed((0.0, x, -x), (x, 0.0, 0.0))
        opposite = round(-Fraction(float(x)) / Fraction(lsb))
        expected = [min(max(c, low), high) * lsb for c in (0, code, opposite)]
        assert sample.angular_velocity == expected
        assert sample.specific_force == [expected[1], 0.0, 0.0]
        hit = [not low < c < high for c in (code, opposite)]
        assert sample.gyro_clipping == 2 * hit[0] + 4 * hit[1]
        assert sample.accel_clipping == hit[0]


def test_a_clipped_axis_with_noise_sits_on_the_limit_and_is_flagged_there_only():
    limit = 1.0
    triad = TriadSpec(noise_density=1e-3, bias=(1.05, -1.05, 1.0), measurement_range=limit)
    samples = ImuSimulator(both(triad, rate_hz=100), Mounted(MOTIONS["free_fall"])).run(20_000)
    for values, flags in (
        (samples.angular_velocity, samples.gyro_clipping),
        (samples.specific_force, samples.accel_clipping),
    ):
        flagged = (flags[:, None] >> np.arange(3)) & 1 == 1
        assert np.array_equal(np.abs(values) == limit, flagged)
        assert np.abs(values).max() == limit
        # 5 deviations beyond the limit, and at it
        np.testing.assert_allclose(flagged.mean(axis=0), [1.0, 1.0, 0.5], atol=0.015)
        assert (np.sign(values[:, 0]) == 1.0).all()
        assert (np.sign(values[:, 1]) == -1.0).all()


# -- turn-on -------------------------------------------------------------------------------------


def turn_on_biases(devices):
    """Return what gyros (normal) and accelerometers (uniform) of many seeds begin with."""
    spec = ImuSpec(
        gyro=TriadSpec(turn_on_bias=TurnOn("normal", 0.3)),
        accel=TriadSpec(turn_on_bias=TurnOn("uniform", 0.3)),
    )
    runs = [ImuSimulator(spec, REST, seed=seed).run(2) for seed in range(devices)]
    for run in runs:
        assert np.array_equal(run.angular_velocity[0], run.angular_velocity[1])
    gyro = np.concatenate([run.angular_velocity[0] for run in runs])
    accel = np.concatenate([run.specific_force[0] - GRAVITY for run in runs])
    return (gyro, stats.norm(0.0, 0.3)), (accel, stats.uniform(-0.3, 0.6))


def assert_distributed(drawn, law):
    n = len(drawn)
    assert abs(drawn.mean()) < 4.0 * law.std() / math.sqrt(n)
    kurtosis = float(law.stats("k")) + 3.0
    assert drawn.std() == pytest.approx(law.std(), rel=2.0 * math.sqrt((kurtosis - 1.0) / n))
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-3


def test_turn_on_biases_of_many_seeds_have_their_distribution():
    for drawn, law in turn_on_biases(200):
        assert_distributed(drawn, law)


@pytest.mark.slow
def test_turn_on_biases_of_ten_thousand_draws_have_their_distribution():
    for drawn, law in turn_on_biases(3400):
        assert_distributed(drawn, law)


# -- spectra -------------------------------------------------------------------------------------


def tone_through(bandwidth, frequency_hz, *, rate_hz=100, oversampling=16, samples=2000):
    """Return the complex amplitudes (501,) at 0, 0.1, ... of a tone of 1, behind a filter."""
    spec = ImuSpec(rate_hz=rate_hz, oversampling=oversampling, gyro=TriadSpec(bandwidth=bandwidth))
    shaking = Vibration(angular_lines=(Line((1.0, 0.0, 0.0), frequency_hz, 0.0),))
    rate = ImuSimulator(spec, REST, vibration=shaking).run(samples).angular_velocity[-1000:, 0]
    return 2.0 * np.fft.rfft(rate) / 1000.0


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_tone_at_the_bandwidth_is_3_db_down(order):
    spectrum = np.abs(tone_through(Bandwidth("lowpass", 20.0, order), 20.0))
    assert np.argmax(spectrum) == 200
    assert 20.0 * math.log10(spectrum[200]) == pytest.approx(10.0 * math.log10(0.5), abs=1e-3)


@pytest.mark.parametrize(
    ("frequency_hz", "alias_hz"), [(63.0, 37.0), (87.0, 13.0), (131.0, 31.0), (236.0, 36.0)]
)
def test_a_tone_above_half_the_rate_folds_down_with_the_gain_of_the_filter(frequency_hz, alias_hz):
    spectrum = np.abs(tone_through(Bandwidth("lowpass", 40.0, 2), frequency_hz))
    assert np.argmax(spectrum) == round(10.0 * alias_hz)
    sos = signal.butter(2, 40.0, fs=1600.0, output="sos")
    gain = abs(signal.sosfreqz(sos, [frequency_hz], fs=1600.0)[1][0])
    assert 20.0 * math.log10(spectrum[round(10 * alias_hz)] / gain) == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize(("order", "ratios"), [(1, (1.17, 1.43)), (2, (1.057, 1.105))])
def test_noise_of_the_element_has_the_noise_bandwidth_of_its_filter(order, ratios):
    for oversampling, ratio in zip((8, 32), ratios, strict=True):
        triad = TriadSpec(
            noise_density=2e-4, noise_at="element", bandwidth=Bandwidth("lowpass", 10.0, order)
        )
        errors = at_rest(triad, 40_000, rate_hz=10, oversampling=oversampling)
        # 240,000 samples: 0.3 %; the ratios are rounded to three places
        assert errors.var() == pytest.approx(2.0 * 4e-8 * ratio * 10.0, rel=0.017)
        sos = signal.butter(order, 10.0, fs=10.0 * oversampling, output="sos")
        impulse = signal.sosfilt(sos, np.eye(1, 20 * oversampling)[0])
        exact = 5.0 * oversampling * np.sum(impulse**2) / np.sum(impulse) ** 2
        assert errors.var() == pytest.approx(2.0 * 4e-8 * exact, rel=0.0125)


def test_white_noise_of_a_device_has_twice_its_density_on_one_side_of_the_spectrum():
    errors = at_rest(TriadSpec(noise_density=5e-4), 200_000)
    _, density = signal.welch(errors, fs=100.0, nperseg=64, axis=0)
    level = density[2:-2] / (2.0 * 25e-8)
    # 6 axes of 6250 windows: 0.1 %, and each line 0.5 %
    assert level.mean() == pytest.approx(1.0, rel=0.01)
    np.testing.assert_allclose(level.mean(axis=1), 1.0, rtol=0.02)


# -- independence --------------------------------------------------------------------------------


def assert_uncorrelated(series, lags=(0, 1, 2, 64)):
    """No two of the series (K, N) know of each other, nor one of its own past.

    Of P correlations none is beyond 4 / sqrt(N) or, where P is large, what one in a thousand of
    such sets exceeds by chance.
    """
    pairs = len(series) ** 2 * len(lags) / 2.0
    limit = max(4.0, stats.norm.isf(0.5e-3 / pairs))
    x = series - series.mean(axis=1, keepdims=True)
    x /= x.std(axis=1, keepdims=True)
    for lag in lags:
        n = x.shape[1] - lag
        correlation = x[:, lag:] @ x[:, :n].T / n
        if lag == 0:
            np.fill_diagonal(correlation, 0.0)
        assert np.abs(correlation).max() < limit / math.sqrt(n), lag


@pytest.mark.parametrize("count", [5000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_axes_triads_sensors_seeds_and_runs_are_independent(count):
    white = TriadSpec(noise_density=1e-4)
    spec = ImuSpec(gyro=white, accel=white, mag=TriadSpec(noise_density=1e-8))
    seeds = [1, 2, 1 << 32, monte_carlo_seed(1, 0), monte_carlo_seed(1, 1)]
    series = []
    for seed, sensor in itertools.product(seeds, (0, 1)):
        samples = ImuSimulator(spec, REST, seed=seed, sensor=sensor).run(count)
        columns = (samples.angular_velocity, samples.specific_force, samples.magnetic_field)
        series.append(np.hstack(columns).T)
    assert_uncorrelated(series[0], lags=(0,))
    assert_uncorrelated(np.concatenate(series))


def test_the_processes_of_one_axis_are_independent():
    rate_hz, n, fast = 100, 40_000, 0.002
    clock = {"clock": Clock(jitter_s=1e-5), "latency": Latency(0.01, 1e-4)}
    white = at_rest(TriadSpec(noise_density=1e-4), n, rate_hz=rate_hz)
    processes = TriadSpec(gauss_markov=(GaussMarkov(0.1, fast),))
    markov = at_rest(processes, n, rate_hz=rate_hz)
    two = TriadSpec(gauss_markov=(GaussMarkov(0.0, fast), GaussMarkov(0.1, fast)))
    other = at_rest(two, n, rate_hz=rate_hz)
    flicker = TriadSpec(bias_instability=0.1, flicker_band_s=(0.01, 0.02))
    steps = [
        np.diff(at_rest(triad, n + 1, rate_hz=rate_hz)[:, 0])
        for triad in (flicker, TriadSpec(bias_random_walk=0.1))
    ]
    samples = ImuSimulator(both(TriadSpec(), rate_hz=rate_hz, **clock), REST, seed=4).run(n)
    jitter = samples.t_true_s - np.arange(n) / rate_hz
    latency = samples.t_host_ns - samples.t_ns
    series = [white[:, 0], markov[:, 0], other[:, 0], *steps, jitter, latency]
    assert_uncorrelated(np.array(series), lags=(0,))


# -- vibration -----------------------------------------------------------------------------------


def test_a_shaken_device_reads_the_level_of_the_spectrum_and_no_period():
    n, rate_hz = 1 << 18, 1000
    spectrum = Spectrum([0.0, 500.0], [2e-3, 2e-3])  # white up to half the rate: variance 1
    samples = ImuSimulator(
        ImuSpec(rate_hz=rate_hz), REST, vibration=Vibration(spectrum=spectrum), seed=5
    ).run(n)
    shaking = samples.specific_force - GRAVITY
    assert not samples.angular_velocity.any()
    _, density = signal.welch(shaking, fs=rate_hz, nperseg=256, axis=0)
    # 3 axes of 2000 windows: 0.1 %, and each line 1.3 %
    assert density[2:-2].mean() == pytest.approx(2e-3, rel=0.02)
    bands = density[2:122].mean(axis=1).reshape(10, 12).mean(axis=1)
    np.testing.assert_allclose(bands, 2e-3, rtol=0.02)
    power = np.abs(np.fft.rfft(shaking, 2 * n, axis=0)) ** 2
    correlation = np.fft.irfft(power, axis=0)[:n] / n
    for lag in (1024, 2048, 4096, 6144, 8192, 16384, 32768, 65536):
        assert np.abs(correlation[lag]).max() < 4.0 / math.sqrt(n), lag

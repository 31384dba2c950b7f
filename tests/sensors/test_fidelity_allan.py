"""The Allan deviation of simulated devices at rest, measured with allantools.

Each curve is that of ``ImuSimulator`` samples, and the expectation a formula of this file. Seeds
are fixed; each tolerance is four expected standard deviations of the estimate or more.
"""

from __future__ import annotations

import math
from dataclasses import replace

import allantools
import numpy as np
import pytest

from strapdown.motion import Mounted, Static
from strapdown.sensors import GaussMarkov, ImuSimulator, ImuSpec, TriadSpec, load_profile
from strapdown.sensors.noise import flicker_terms

REST = Mounted(Static())
FLOOR = math.sqrt(2.0 * math.log(2.0) / math.pi)
G = 9.80665


def rest(spec, samples, *, sensor=0):
    """Return gyro and accelerometer of a device at rest, (2, samples, 3)."""
    device = ImuSimulator(spec, REST, seed=6, sensor=sensor)
    blocks = list(device.blocks(samples, block=500_000))
    return np.array(
        [
            np.concatenate([block.angular_velocity for block in blocks]),
            np.concatenate([block.specific_force for block in blocks]) - [0.0, 0.0, G],
        ]
    )


def oadev(axes, rate_hz, tau_s):
    """Return the Allan deviation (T,) over all axes (N, C)."""
    found = [allantools.oadev(x, rate=rate_hz, data_type="freq", taus=tau_s)[1] for x in axes.T]
    return np.sqrt(np.mean(np.square(found), axis=0))


def both(triad, **options):
    """Return a device with six axes of one kind, and of one unit."""
    return ImuSpec(gyro=triad, accel=triad, **options)


def ensemble(spec, devices, hours, tau_s):
    """Return the Allan deviations (2, T) of gyro and accelerometer over many devices."""
    rate_hz, squares = float(spec.rate_hz), np.zeros((2, len(tau_s)))
    for sensor in range(devices):
        runs = rest(spec, round(hours * 3600.0 * rate_hz), sensor=sensor)
        squares += [np.square(oadev(axes, rate_hz, tau_s)) for axes in runs]
    return np.sqrt(squares / devices)


def sampled_process_avar(m, phi):
    """Return the Allan variance of a unit Gauss-Markov process over clusters of m samples."""
    k = np.arange(1, 2 * m)
    among = [n + 2.0 * np.sum((n - k[: n - 1]) * phi ** k[: n - 1]) for n in (m, 2 * m)]
    return (4.0 * among[0] - among[1]) / (2.0 * m * m)


# -- one term ------------------------------------------------------------------------------------


def test_white_noise_has_its_level_at_one_second_and_the_slope_of_minus_one_half():
    noise = rest(both(TriadSpec(noise_density=5e-4), rate_hz=10), 800_000)
    tau_s = np.array([0.1, 0.3, 1.0, 3.0, 10.0])
    # 480,000 clusters of 1 s: 0.1 %; 48,000 of 10 s: 0.4 %
    found = oadev(np.hstack(noise), 10.0, tau_s)
    np.testing.assert_allclose(found[2], 5e-4, rtol=5e-3)
    np.testing.assert_allclose(found[0], 5e-4 / math.sqrt(0.1), rtol=5e-3)
    slope, _ = np.polyfit(np.log(tau_s), np.log(found), 1)
    assert slope == pytest.approx(-0.5, abs=5e-3)


def test_a_random_walk_alone_has_its_level_and_the_slope_of_one_half():
    spec = both(TriadSpec(bias_random_walk=3e-3), rate_hz=5)
    tau_s = np.array([4.0, 10.0, 20.0])
    # 60,000 clusters of 20 s: 0.4 %
    found = oadev(np.hstack(rest(spec, 1_000_000)), 5.0, tau_s)
    np.testing.assert_allclose(found, 3e-3 * np.sqrt(tau_s / 3.0), rtol=0.02)
    slope, _ = np.polyfit(np.log(tau_s), np.log(found), 1)
    assert slope == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("correlation_time_s", [0.4, 2.0])
def test_a_gauss_markov_process_has_the_exact_variance_of_its_samples(correlation_time_s):
    process = GaussMarkov(0.5, correlation_time_s)
    clusters = np.array([2, 8, 38])  # 38 samples of 0.1 s: near the peak of the slower one
    found = oadev(
        np.hstack(rest(both(TriadSpec(gauss_markov=(process,)), rate_hz=10), 800_000)),
        10.0,
        0.1 * clusters,
    )
    phi = math.exp(-0.1 / correlation_time_s)
    exact = [0.5 * math.sqrt(sampled_process_avar(int(m), phi)) for m in clusters]
    # the slower process has nodes every few samples, with lines between: 38 samples are many
    first = 0 if correlation_time_s == 0.4 else 2
    np.testing.assert_allclose(found[first:], exact[first:], rtol=0.02)
    if correlation_time_s == 2.0:
        assert found[2] == pytest.approx(0.61736 * 0.5, rel=0.02)


def spread_of_the_start(devices):
    """Return the standard deviations of sample 0, and ten correlation times later."""
    spec = both(TriadSpec(gauss_markov=(GaussMarkov(0.5, 0.1),)), rate_hz=10)
    runs = np.concatenate([rest(spec, 11, sensor=n) for n in range(devices)], axis=-1)
    return runs[:, 0].std(), runs[:, 10].std()


def test_a_gauss_markov_process_begins_in_its_steady_state():
    # 1800 draws: the standard deviation of a standard deviation is 1.7 %
    np.testing.assert_allclose(spread_of_the_start(300), 0.5, rtol=0.07)


@pytest.mark.slow
def test_a_gauss_markov_process_begins_in_its_steady_state_over_many_devices():
    # 24,000 draws: 0.46 %
    np.testing.assert_allclose(spread_of_the_start(4000), 0.5, rtol=0.02)


def test_the_weights_of_flicker_add_up_to_the_floor():
    times, weights = flicker_terms((1.0, 1000.0))
    ratio = np.geomspace(1.0, 1000.0, 400)[:, None] / np.array(times)
    # the variance of white noise through a single pole, integrated twice
    share = 2.0 / ratio * (1.0 - (3.0 - 4.0 * np.exp(-ratio) + np.exp(-2.0 * ratio)) / ratio / 2.0)
    floor = np.sqrt(share @ np.array(weights))
    assert np.abs(floor / FLOOR - 1.0).max() < 0.00131


@pytest.mark.slow
def test_the_floor_of_256_axes_is_flat():
    spec = both(TriadSpec(bias_instability=1e-3), rate_hz=10)
    tau_s = [1.0, 3.0, 10.0, 30.0, 100.0]
    found = np.sqrt(np.mean(ensemble(spec, 43, 2.0, tau_s) ** 2, axis=0))
    # 258 axes of 2 h: 0.45 % at 100 s; that samples are points and not means adds 1 % at 1 s
    np.testing.assert_allclose(found, FLOOR * 1e-3, rtol=0.02)


@pytest.mark.slow
def test_white_noise_random_walk_and_flicker_of_256_axes_follow_the_curve_of_the_spec():
    triad = TriadSpec(noise_density=1e-3, bias_random_walk=1e-5, bias_instability=3e-4)
    tau_s = np.array([0.1, 1.0, 10.0, 100.0, 500.0])
    found = np.sqrt(np.mean(ensemble(both(triad, rate_hz=100), 43, 2.0, tau_s) ** 2, axis=0))
    expected = np.sqrt(1e-6 / tau_s + 1e-10 * tau_s / 3.0 + (FLOOR * 3e-4) ** 2)
    expected[0] = triad.allan(0.1)[0]  # the floor falls below its band
    np.testing.assert_allclose(triad.allan(tau_s)[:, 0], expected, rtol=1e-3)
    sigma = np.array([1e-4, 4e-4, 1.4e-3, 4.5e-3, 1.2e-2])
    assert (np.abs(found / expected - 1.0) < 4.0 * sigma + 5e-4).all()


@pytest.mark.slow
@pytest.mark.parametrize("noise_at", ["output", "element"])
def test_the_deviation_does_not_depend_on_the_rate(noise_at):
    triad = TriadSpec(
        noise_density=1e-3,
        noise_at=noise_at,
        bias_random_walk=5e-3,
        bias_instability=2e-3,
        gauss_markov=(GaussMarkov(3e-3, 1.0),),
    )
    slow = oadev(np.hstack(rest(both(triad, rate_hz=50), 400_000)), 50.0, [0.1])
    fast = rest(both(triad, rate_hz=5000), 5_000_000).reshape(2, -1, 100, 3).mean(axis=2)
    # 60,000 clusters of 0.1 s: 0.24 %, and 0.1 % of the slow one
    fast = oadev(np.hstack(fast), 50.0, [0.1])
    np.testing.assert_allclose(slow, fast, rtol=0.01)
    np.testing.assert_allclose([slow, fast], triad.allan([[0.1]])[..., 0].mean(), rtol=0.01)


# -- there and back ------------------------------------------------------------------------------


def fitted(tau_s, deviation):
    """Return N and the flat floor of a curve, by least squares on relative variances."""
    variance = np.square(deviation)
    columns = np.column_stack([1.0 / np.asarray(tau_s), np.ones(len(tau_s))])
    solved, *_ = np.linalg.lstsq(columns / variance[:, None], np.ones(len(tau_s)), rcond=None)
    return np.sqrt(np.maximum(solved, 0.0))


def test_samples_of_a_consumer_part_have_the_densities_of_its_sheet():
    sheet = load_profile("MPU-6050")
    spec = sheet.spec(rate_hz=200, gyro_range=math.radians(250.0), accel_range=2.0 * G)
    tau_s = [0.02, 0.1, 0.5, 1.0]
    gyro, accel = (oadev(axes, 200.0, tau_s) for axes in rest(spec, 600_000))
    density, floor = fitted(tau_s, gyro)
    # 0.005 deg/s/sqrt(Hz) and 400 ug/sqrt(Hz) are on one side of the spectrum
    assert math.degrees(density) * math.sqrt(2.0) == pytest.approx(0.005, rel=0.02)
    assert fitted(tau_s, accel)[0] * math.sqrt(2.0) / G == pytest.approx(400e-6, rel=0.02)
    assert floor < 0.2 * density  # none is in the sheet, and none is in the samples


@pytest.mark.parametrize("devices", [15, pytest.param(43, marks=pytest.mark.slow)])
def test_samples_of_a_tactical_part_have_the_random_walk_and_bias_instability_of_its_sheet(devices):
    spec = load_profile("ADIS16470").spec(rate_hz=10)
    tau_s = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    # 129 axes of 2 h each: 0.5 % of the fitted floor, over several seeds; 45 axes: 0.8 %
    gyro, accel = ensemble(spec, devices, 2.0, tau_s)
    density, floor = fitted(tau_s, gyro)
    assert math.degrees(density) * 60.0 == pytest.approx(0.34, rel=0.02)
    assert math.degrees(floor) * 3600.0 == pytest.approx(8.0, rel=0.02)
    density, floor = fitted(tau_s, accel)
    assert density * 60.0 == pytest.approx(0.037, rel=0.02)
    assert floor / (1e-6 * G) == pytest.approx(13.0, rel=0.02)


def test_a_round_trip_tells_a_part_from_one_five_percent_worse():
    spec = load_profile("ADIS16470").spec(rate_hz=10)
    worse = replace(spec, gyro=replace(spec.gyro, noise_density=1.05 * spec.gyro.noise_density))
    density, _ = fitted([0.1, 1.0], oadev(rest(worse, 200_000)[0], 10.0, [0.1, 1.0]))
    assert math.degrees(density) * 60.0 > 0.34 * 1.04

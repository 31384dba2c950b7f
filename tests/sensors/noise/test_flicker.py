"""Flicker noise and Allan variances against integrals, covariances and scipy."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize
from scipy.linalg import toeplitz

from strapdown.errors import ValueRangeError
from strapdown.sensors.noise import (
    ALLAN_FLOOR,
    flicker_avar,
    flicker_terms,
    gauss_markov_avar,
    sampled_ou_avar,
)


def exact_gauss_markov(x: float) -> float:
    """Evaluate the closed form with sixty digits."""
    with localcontext() as context:
        context.prec = 60
        x = Decimal(x)
        rest = (3 - 4 * (-x).exp() + (-2 * x).exp()) / (2 * x)
        return float(2 / x * (1 - rest))


@pytest.mark.parametrize("x", [1e-9, 1e-4, 0.0199, 0.02, 0.0201, 0.3, 1.9, 30.0, 1e6])
def test_the_variance_of_a_gauss_markov_process_is_exact_at_any_cluster_time(x):
    assert gauss_markov_avar(2.0 * x, 2.0) == pytest.approx(exact_gauss_markov(x), rel=2e-12)


def test_the_variance_of_a_gauss_markov_process_is_the_integral_over_its_spectrum():
    tau, time = 3.0, 2.0

    def integrand(f):  # with the one-sided spectrum
        spectrum = 4.0 * time / (1.0 + (2.0 * math.pi * f * time) ** 2)
        return 2.0 * spectrum * math.sin(math.pi * f * tau) ** 4 / (math.pi * f * tau) ** 2

    parts = [integrate.quad(integrand, k / tau, (k + 1) / tau)[0] for k in range(300)]
    assert gauss_markov_avar(tau, time) == pytest.approx(sum(parts), rel=1e-6)


def test_a_gauss_markov_process_peaks_at_1_89_correlation_times():
    peak = optimize.minimize_scalar(lambda x: -gauss_markov_avar(x, 1.0), bounds=(1.0, 3.0))
    assert peak.x == pytest.approx(1.8926, abs=5e-5)
    assert math.sqrt(-peak.fun) == pytest.approx(0.61736, abs=5e-6)


def test_the_floor_is_the_integral_over_the_spectrum_of_flicker():
    def integrand(u):  # 4 S(f) sin(u)^4 / u^2 df with u = pi f tau, S two-sided, and B = 1
        return 4.0 / (2.0 * math.pi) * math.sin(u) ** 4 / u**3

    parts = [integrate.quad(integrand, k * math.pi, (k + 1) * math.pi)[0] for k in range(500)]
    assert math.sqrt(sum(parts)) == pytest.approx(ALLAN_FLOOR, rel=1e-6)
    assert round(ALLAN_FLOOR, 5) == 0.66428


@pytest.mark.parametrize(
    ("decades", "weights"),
    [
        (3, [0.68399, 0.46813, 0.49304, 0.48574, 0.49378, 0.45901, 0.71179]),
        (
            4,
            [0.66883, 0.43412, 0.46253, 0.45598, 0.45974, 0.45583, 0.46444, 0.41960, 0.70580],
        ),
        (
            5,
            [
                *(0.68367, 0.46865, 0.49227, 0.48723, 0.48916),
                *(0.48866, 0.48779, 0.49240, 0.46039, 0.71037),
            ],
        ),
    ],
)
def test_the_usual_bands_have_the_frozen_weights_and_are_flat(decades, weights):
    band = (1.0, 10.0**decades)
    times, found = flicker_terms(band)
    np.testing.assert_allclose(found, weights, rtol=0.0, atol=6e-6)
    assert times[0] == pytest.approx(0.167316, rel=3e-6)
    assert times[-1] == pytest.approx(1.67316 * 10.0**decades, rel=3e-6)
    ripple = np.sqrt(flicker_avar(np.logspace(0.0, decades, 3000), band)) / ALLAN_FLOOR - 1.0
    assert np.abs(ripple).max() <= 0.001305


def test_outside_the_band_the_floor_falls_slowly():
    tau = np.array([1.0 / 10.0, 1.0 / 3.0, 3.0e3, 1.0e4])
    level = np.sqrt(flicker_avar(tau, (1.0, 1000.0))) / ALLAN_FLOOR
    np.testing.assert_allclose(level, [0.716, 0.946, 0.944, 0.705], atol=5e-4)


def test_the_steady_deviation_over_three_decades_is_1_948():
    _, weights = flicker_terms((0.1, 100.0))
    assert math.sqrt(sum(weights)) == pytest.approx(1.948, abs=5e-4)


@settings(max_examples=50)
@given(decades=st.floats(0.1, 10.0), low=st.floats(1e-3, 1e3))
def test_any_band_is_flat_with_positive_weights(decades, low):
    band = (low, low * 10.0**decades)
    times, weights = flicker_terms(band)
    assert min(weights) > 0.05
    assert all(a < b for a, b in itertools.pairwise(times))
    tau = np.geomspace(*band, 200)
    ripple = np.sqrt(flicker_avar(tau, band)) / ALLAN_FLOOR - 1.0
    assert np.abs(ripple).max() < 0.0043


@pytest.mark.parametrize("decades", [1.0, 2.5, 3.0, 4.0, 5.0])
def test_the_weights_are_the_best_of_all_that_are_not_negative(decades):
    times, weights = flicker_terms((1.0, 10.0**decades))
    clusters = np.logspace(0.0, decades, 200)
    shares = [[exact_gauss_markov(t / time) for time in times] for t in clusters]
    best, _ = optimize.nnls(np.array(shares), np.full(200, 2.0 * math.log(2.0) / math.pi))
    np.testing.assert_allclose(weights, best, rtol=1e-9)


@pytest.mark.parametrize("band", [(0.0, 1.0), (2.0, 1.0), (1.0, math.inf), (1.0, 2e10)])
def test_a_band_that_cannot_be_is_refused(band):
    with pytest.raises(ValueRangeError, match="expected flicker_band_s of two ascending"):
        flicker_terms(band)


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.9, 0.99])
def test_the_variance_of_a_sampled_process_is_that_of_its_covariance(phi):
    for m in (1, 2, 7, 100):
        pair = np.repeat([-1.0, 1.0], m) / m
        expected = pair @ toeplitz(phi ** np.arange(2 * m)) @ pair / 2.0
        assert sampled_ou_avar(m, phi) == pytest.approx(expected, rel=1e-9)


def test_a_finely_sampled_process_is_the_continuous_one():
    steps = 2000
    sampled = sampled_ou_avar(np.array([500, 4000]), math.exp(-1.0 / steps))
    np.testing.assert_allclose(sampled, gauss_markov_avar([0.25, 2.0], 1.0), rtol=1e-5)

"""Degrees of freedom, types of noise and bounds of Allan-type deviations."""

from __future__ import annotations

import allantools
import numpy as np
import pytest
from scipy import stats

from strapdown.calibration import DeviationKind, NoiseType, allan
from strapdown.calibration.allan_deviation.confidence import edf_of, overlapping_edf
from strapdown.errors import ShapeError, UnknownNameError

CHECKED = {  # K = 1001, m = 1, 10, 100, 300
    NoiseType.WHITE: (665.78, 146.18, 13.00, 3.00),
    NoiseType.FLICKER: (868.81, 121.48, 9.63, 2.20),
    NoiseType.RANDOM_WALK: (1000.0, 97.33, 7.42, 1.54),
    NoiseType.QUANTISATION: (500.5, 495.9, 445.4, 286.6),
}


@pytest.mark.parametrize("noise", CHECKED)
def test_degrees_of_freedom_have_the_values_of_the_tables(noise):
    for m, expected in zip((1, 10, 100, 300), CHECKED[noise], strict=True):
        digits = 2 if noise is not NoiseType.QUANTISATION else 1
        digits = 1 if expected == 1000.0 else digits
        assert round(overlapping_edf(noise, 1001, m), digits) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["adev", "mdev", "tdev", "hdev", "ohdev"])
@pytest.mark.parametrize("noise", NoiseType)
def test_degrees_of_freedom_of_the_other_kinds_are_those_of_allantools(kind, noise):
    for points, m in ((1001, 1), (1001, 10), (1001, 100), (100_001, 1000)):
        if m < 100 and noise.exponent <= 0:
            continue  # there the other program is not exact: see the next test
        expected = allantools.edf_greenhall(
            noise.exponent,
            3 if "h" in kind else 2,
            m,
            points,
            overlapping=kind in ("mdev", "tdev", "ohdev"),
            modified=kind in ("mdev", "tdev"),
        )
        found = edf_of(DeviationKind(kind), noise, points, m)
        assert found == pytest.approx(expected, rel=0.01)


def test_degrees_of_freedom_of_white_noise_at_one_sample_are_exact():
    n, white = 999, NoiseType.WHITE  # differences with neighbours that correlate by -1/2
    expected = n / (1.0 + 2.0 * (1.0 - 1.0 / n) / 4.0)
    for kind in ("adev", "mdev", "tdev"):
        assert edf_of(DeviationKind(kind), white, 1001, 1) == pytest.approx(expected, rel=1e-12)
    n = 998  # second differences: -2/3 and 1/6
    expected = n / (1.0 + 2.0 * ((1.0 - 1.0 / n) * 4.0 / 9.0 + (1.0 - 2.0 / n) / 36.0))
    for kind in ("hdev", "ohdev"):
        assert edf_of(DeviationKind(kind), white, 1001, 1) == pytest.approx(expected, rel=1e-12)


def test_the_total_deviation_has_more_degrees_of_freedom_at_long_cluster_times():
    for noise, expected in (("white", 5.0), ("flicker", 3.68), ("random_walk", 2.74)):
        found = edf_of(DeviationKind.TOTDEV, NoiseType(noise), 1001, 300)
        assert found == pytest.approx(expected, abs=0.01)  # 1.5, 1.17, 0.93 T/tau less 0.22, 0.36
        assert edf_of(DeviationKind.TOTDEV, NoiseType(noise), 1001, 10) == overlapping_edf(
            NoiseType(noise), 1001, 10
        )


@pytest.mark.parametrize("kind", ["adev", "mdev", "ohdev", "totdev"])
def test_two_thirds_of_the_bounds_of_the_other_kinds_cover_white_noise(kind):
    samples = np.random.default_rng(2).standard_normal((1000, 1000))
    m = np.array([1, 4, 16, 64, 100])
    result = allan(samples, rate_hz=1.0, taus=m, kind=kind)
    # of white noise the Hadamard variance is that of Allan; the modified one is half for large m
    variance = 1.0 / m * ((m**2 + 1) / (2 * m**2) if kind == "mdev" else 1.0)
    inside = (result.lower**2 <= variance[:, None]) & (variance[:, None] <= result.upper**2)
    np.testing.assert_allclose(inside.mean(axis=1), 0.683, atol=0.05)


def test_bounds_are_quantiles_of_chi_square():
    result = allan(np.random.default_rng(0).standard_normal(1000), rate_hz=1.0, confidence=0.9)
    result = result.with_noise_types([["white"]] * len(result.tau_s))
    low, high = stats.chi2.ppf([[0.95], [0.05]], result.edf[:, 0])
    deviation, edf = result.deviation[:, 0], result.edf[:, 0]
    np.testing.assert_allclose(result.lower[:, 0], deviation * np.sqrt(edf / low), rtol=1e-10)
    np.testing.assert_allclose(result.upper[:, 0], deviation * np.sqrt(edf / high), rtol=1e-10)
    assert edf[0] == pytest.approx(665.78, abs=0.01)
    np.testing.assert_allclose(
        result.expected_error, 1.0 / np.sqrt(2.0 * (1000 / result.cluster_size - 1.0))
    )


@pytest.mark.parametrize(
    ("runs", "slack"),
    [(1000, 0.02), pytest.param(16_000, 0.0, marks=pytest.mark.slow)],
    ids=["thinned", "whole"],
)
@pytest.mark.parametrize("noise", ["white", "random_walk"])
def test_two_thirds_of_the_bounds_cover_the_truth(noise, runs, slack):
    """In 66 to 70 % of the series; the thinned run allows for its own spread."""
    samples = np.random.default_rng(1).standard_normal((1000, runs))
    m = np.array([1, 2, 4, 8, 16, 32, 64, 80])
    truth = 1.0 / np.sqrt(m)
    if noise == "random_walk":
        samples = samples.cumsum(axis=0)
        truth = np.sqrt((2 * m**2 + 1) / (6 * m))  # of a walk that is sampled
    found = allan(samples, rate_hz=1.0, taus=m)
    for result in (found, found.with_noise_types([[noise] * runs] * len(m))):
        inside = (result.lower <= truth[:, None]) & (truth[:, None] <= result.upper)
        share = inside.mean(axis=1)
        assert np.all(share >= 0.66 - slack)
        assert np.all(share <= 0.70 + slack)


def test_types_of_noise_are_found_from_the_samples():
    rng = np.random.default_rng(6)
    white = rng.standard_normal(20_001)
    columns = [np.diff(white), white[1:], np.cumsum(white[1:])]
    result = allan(np.stack(columns, axis=1), rate_hz=1.0, taus=[1, 4, 16, 64])
    for row in result.noise_types:
        assert row == ("quantisation", "white", "random_walk")


def test_a_sum_of_noises_changes_its_type_with_the_cluster_time():
    rng = np.random.default_rng(6)
    values = rng.standard_normal(200_000) + 0.02 * rng.standard_normal(200_000).cumsum()
    types = [row[0] for row in allan(values, rate_hz=1.0, taus="octave").noise_types]
    assert types[:3] == ["white"] * 3
    assert types[-4:] == ["random_walk"] * 4


def test_given_types_change_degrees_of_freedom_and_bounds_only():
    values = np.random.default_rng(3).standard_normal((900, 2))
    result = allan(values, rate_hz=1.0, taus=[1, 10])
    other = result.with_noise_types([["white", "flicker"], ["random_walk", NoiseType.WHITE]])
    assert other.edf[0, 1] == overlapping_edf(NoiseType.FLICKER, 901, 1)
    assert other.edf[1, 0] == overlapping_edf(NoiseType.RANDOM_WALK, 901, 10)
    assert other.upper[1, 0] > result.upper[1, 0]
    assert np.array_equal(other.deviation, result.deviation)
    with pytest.raises(ShapeError, match=r"2 rows \(cluster times\) of 2 \(channels\), got 1 rows"):
        result.with_noise_types([["white", "white"]])
    with pytest.raises(UnknownNameError, match="type of noise"):
        result.with_noise_types([["pink", "white"]] * 2)


def test_pieces_add_their_degrees_of_freedom():
    values = np.random.default_rng(3).standard_normal(2001)
    whole = allan(values[:1000], rate_hz=1.0, taus=[10])
    values[1000] = np.nan
    halves = allan(values, rate_hz=1.0, taus=[10])
    assert halves.edf[0, 0] == pytest.approx(2.0 * whole.edf[0, 0])

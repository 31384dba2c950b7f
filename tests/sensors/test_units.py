"""Units and meanings of data sheets, against figures that the sheets themselves print."""

from __future__ import annotations

import math

import pytest

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.sensors.units import (
    UNITS,
    bias_instability_from_allan_minimum,
    bias_instability_from_b,
    from_angle_random_walk,
    from_velocity_random_walk,
    gauss_markov_from_diffusion,
    noise_density_from,
    to_si,
    turn_on_from_limit,
)

DEG = math.pi / 180.0


def test_the_one_sided_density_of_the_adis16470_is_its_printed_angle_random_walk():
    density = noise_density_from(0.008, "deg/s/sqrt(Hz)", sided="one")
    assert density / DEG * 60.0 == pytest.approx(0.34, rel=5e-3)  # deg/sqrt(h)
    assert density / DEG * 60.0 == pytest.approx(0.339, abs=5e-4)


def test_the_density_of_the_adis16448_does_not_give_its_printed_angle_random_walk():
    density = noise_density_from(0.0135, "deg/s/sqrt(Hz)", sided="one")
    assert density / DEG * 60.0 == pytest.approx(0.573, abs=5e-4)
    assert from_angle_random_walk(0.66) > 1.15 * density


def test_a_two_sided_density_is_taken_as_it_is():
    assert noise_density_from(2.0, "rad/s/sqrt(Hz)", sided="two") == 2.0
    assert noise_density_from(100.0, "ug/sqrt(Hz)", sided="two") == pytest.approx(9.80665e-4)


def test_sidedness_has_no_default():
    with pytest.raises(TypeError, match="sided"):
        noise_density_from(1.0, "deg/s/sqrt(Hz)")


def test_random_walks_come_from_hours():
    assert from_angle_random_walk(60.0 / DEG) == pytest.approx(1.0, rel=1e-15)
    assert from_velocity_random_walk(60.0) == 1.0
    # 0.065 ft/s/sqrt(h) as NavToolkit converts it for the HG1700
    assert from_velocity_random_walk(0.065, "ft/s/sqrt(h)") == pytest.approx(3.302e-4, rel=1e-4)


@pytest.mark.parametrize(
    ("unit", "quantity", "size"),
    [
        ("deg/s/g", "rate per acceleration", 1.77974e-3),
        ("ug/g^2", "acceleration nonlinearity", 1.01972e-7),
        ("deg/h", "rate", 4.8481368e-6),
        ("m/s^3/sqrt(Hz)", "acceleration random walk", 1.0),
    ],
)
def test_the_size_of_a_unit(unit, quantity, size):
    assert to_si(1.0, unit, quantity) == pytest.approx(size, rel=5e-6)


def test_a_unit_of_another_quantity_is_not_taken():
    with pytest.raises(UnknownNameError, match=r"deg/s/sqrt\(Hz\)"):
        noise_density_from(0.005, "deg/s", sided="one")
    with pytest.raises(UnknownNameError, match="sidedness"):
        noise_density_from(0.005, "deg/s/sqrt(Hz)", sided="both")


def test_one_spelling_of_a_unit_has_one_size():
    sizes = {}
    for quantity, units in UNITS.items():
        for unit, size in units.items():
            assert sizes.setdefault(unit, size) == size, (quantity, unit)


def test_without_random_walk_the_allan_minimum_is_the_flicker_floor():
    b = bias_instability_from_allan_minimum(1.0, 0.1)
    assert b * math.sqrt(2.0 * math.log(2.0) / math.pi) == pytest.approx(1.0, rel=1e-14)


def test_the_curve_of_all_three_terms_has_the_minimum_that_was_asked_for():
    n, k, minimum = 3e-4, 2e-6, 5e-5
    b = bias_instability_from_allan_minimum(minimum, n, k)
    tau = math.sqrt(3.0) * n / k  # where white noise and random walk are equal
    variance = n**2 / tau + k**2 * tau / 3.0 + 2.0 * math.log(2.0) / math.pi * b**2
    assert math.sqrt(variance) == pytest.approx(minimum, rel=1e-12)


def test_a_minimum_below_white_noise_and_random_walk_is_refused():
    with pytest.raises(ValueRangeError, match="means something else"):
        bias_instability_from_allan_minimum(1e-5, 3e-4, 2e-6)


def test_a_flicker_coefficient_only_changes_its_unit():
    assert bias_instability_from_b(1.0, "deg/h") == pytest.approx(DEG / 3600.0)


def test_a_diffusion_becomes_its_steady_deviation():
    # gz-sensors: a "dynamic bias" read as the steady deviation is 12 times too small at 300 s
    process = gauss_markov_from_diffusion(1e-5, 300.0)
    assert process.sigma == pytest.approx(12.247e-5, rel=1e-4)
    assert process.correlation_time_s == 300.0
    assert process.allan_peak == pytest.approx(0.61736 * process.sigma, rel=1e-5)


@pytest.mark.parametrize(
    ("meaning", "distribution", "size"),
    [("1sigma", "normal", 6.0), ("3sigma", "normal", 2.0), ("max", "uniform", 6.0)],
)
def test_a_limit_becomes_what_it_means(meaning, distribution, size):
    turn_on = turn_on_from_limit((6.0, 6.0, 12.0), meaning)
    assert turn_on.distribution == distribution
    assert turn_on.per_axis() == (size, size, 2.0 * size)


def test_a_limit_needs_a_meaning():
    with pytest.raises(UnknownNameError, match="3sigma"):
        turn_on_from_limit(1.0, "typical")


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_figures_are_finite_magnitudes(bad):
    for call in (
        lambda: noise_density_from(bad, "ug/sqrt(Hz)", sided="one"),
        lambda: from_angle_random_walk(bad),
        lambda: from_velocity_random_walk(bad),
        lambda: bias_instability_from_allan_minimum(bad, 1.0),
        lambda: bias_instability_from_allan_minimum(1.0, bad),
        lambda: bias_instability_from_allan_minimum(1.0, 1.0, bad),
        lambda: bias_instability_from_b(bad, "deg/h"),
        lambda: gauss_markov_from_diffusion(bad, 1.0),
        lambda: gauss_markov_from_diffusion(1.0, bad),
        lambda: turn_on_from_limit(bad, "max"),
    ):
        with pytest.raises(ValueRangeError):
            call()

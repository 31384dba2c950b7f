"""Noise terms: Allan variances, spectra, units, and values read off a curve."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from strapdown.calibration import NoiseModel, allan, read_noise
from strapdown.calibration.noise.units import SHOWN, STORED, shown
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.sensors import GaussMarkov, TriadSpec


def result_of(*models, samples=200_000, rate_hz=10.0):
    """Return a result whose curves are exactly those of the models."""
    result = allan(np.random.default_rng(0).normal(size=(samples, len(models))), rate_hz=rate_hz)
    curves = [model.deviation(result.tau_s) for model in models]
    return replace(result, deviation=np.stack(curves, axis=1), units=("rad/s",) * len(models))


def test_the_terms_are_those_of_the_standard():
    tau = np.array([0.5, 2.0, 8.0])
    terms = NoiseModel(Q=2.0, N=3.0, B=0.5, K=0.25, R=0.125).terms(tau)
    np.testing.assert_allclose(terms["Q"], math.sqrt(3.0) * 2.0 / tau)
    np.testing.assert_allclose(terms["N"], 3.0 / np.sqrt(tau))
    np.testing.assert_allclose(terms["B"], 0.5 * 0.664282, rtol=1e-5)
    np.testing.assert_allclose(terms["K"], 0.25 * np.sqrt(tau / 3.0))
    np.testing.assert_allclose(terms["R"], 0.125 * tau / math.sqrt(2.0))


def test_a_gauss_markov_process_has_its_peak_where_the_standard_has_it():
    model = NoiseModel(gauss_markov=(GaussMarkov(2.0, 10.0),))
    tau = np.geomspace(1.0, 1000.0, 5001)
    curve = model.deviation(tau)
    assert tau[np.argmax(curve)] == pytest.approx(18.9, rel=5e-3)
    assert curve.max() == pytest.approx(2.0 * 0.617, rel=1e-3)


def test_the_model_agrees_with_the_sensor_model_of_the_simulator():
    process = GaussMarkov(1e-4, 30.0)
    triad = TriadSpec(
        noise_density=1e-4, bias_random_walk=2e-6, rate_ramp=1e-8, gauss_markov=(process,)
    )
    model = NoiseModel(N=1e-4, K=2e-6, R=1e-8, gauss_markov=(process,))
    tau = np.geomspace(0.01, 1e4, 50)
    np.testing.assert_allclose(model.deviation(tau), triad.allan(tau)[:, 0], rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        NoiseModel(N=0.3),
        NoiseModel(B=0.3),
        NoiseModel(K=0.3),
        NoiseModel(gauss_markov=(GaussMarkov(0.3, 2.0),)),
    ],
)
def test_the_spectrum_gives_the_allan_variance(model):
    tau = 4.0

    def integrand(log_f):
        f = math.exp(log_f)
        power = 2.0 * math.sin(math.pi * f * tau) ** 4 / (math.pi * f * tau) ** 2
        return 2.0 * float(model.density(f)) * power * f

    parts = [quad(integrand, *np.log([a, b]), limit=2000)[0] for a, b in
             ((1e-6, 1.0), (1.0, 30.0), (30.0, 300.0))]  # fmt: skip
    assert sum(parts) == pytest.approx(float(model.deviation(tau)) ** 2, rel=2e-3)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_coefficient_that_is_not_positive_is_refused(value):
    with pytest.raises(ValueRangeError, match="expected N above 0"):
        NoiseModel(N=value)


@pytest.mark.parametrize(
    ("unit", "letter", "name", "factor"),
    [
        ("rad/s", "Q", "arcsec", 206265.0),
        ("rad/s", "N", "deg/sqrt(h)", 3437.75),
        ("rad/s", "N", "deg/s/sqrt(Hz) one-sided", 57.29578 * math.sqrt(2.0)),
        ("rad/s", "B", "deg/h", 206265.0),
        ("rad/s", "K", "deg/h/sqrt(h)", 206265.0 * 60.0),
        ("rad/s", "R", "deg/h/h", 206265.0 * 3600.0),
        ("m/s^2", "Q", "um/s", 1e6),
        ("m/s^2", "N", "m/s/sqrt(h)", 60.0),
        ("m/s^2", "N", "ug/sqrt(Hz) one-sided", math.sqrt(2.0) / 9.80665e-6),
        ("m/s^2", "B", "ug", 101972.0),
        ("m/s^2", "K", "ug/sqrt(h)", 101972.0 * 60.0),
        ("m/s^2", "R", "ug/h", 101972.0 * 3600.0),
    ],
)
def test_the_units_of_data_sheets_have_their_factors(unit, letter, name, factor):
    value = shown(letter, 2.5, unit)[name]
    assert value == pytest.approx(2.5 * factor, rel=5e-6)
    assert value / dict(SHOWN[unit][letter])[name] == 2.5


def test_every_density_states_its_sidedness():
    for unit, letters in SHOWN.items():
        assert STORED[unit]["N"].endswith("two-sided")
        densities = [name for name, _ in letters["N"] if "Hz" in name]
        assert densities
        assert all(name.endswith("one-sided") for name in densities)


def test_lines_are_read_where_the_curve_has_their_slope():
    white, walk = NoiseModel(N=3.0), NoiseModel(K=0.2)
    ramp, steps = NoiseModel(R=0.01), NoiseModel(Q=0.4)
    readings = read_noise(result_of(white, walk, ramp, steps))
    assert readings["0"]["N"].value == pytest.approx(3.0)
    assert readings["1"]["K"].value == pytest.approx(0.2)
    assert readings["2"]["R"].value == pytest.approx(0.01)
    assert readings["3"]["Q"].value == pytest.approx(0.4)


def test_the_floor_is_the_lowest_point_over_its_factor():
    model = NoiseModel(N=1.0, B=1.0, K=0.01)
    reading = result_of(model).read()["0"]["B"]
    tau = np.geomspace(0.1, 2000.0, 20_000)
    curve = model.deviation(tau)
    assert reading.value == pytest.approx(curve.min() / 0.664282, rel=1e-4)
    assert reading.at_s[0] == pytest.approx(tau[np.argmin(curve)], rel=0.1)


def test_a_value_without_its_slope_is_none_with_the_reason_and_a_bound():
    readings = result_of(NoiseModel(N=1.0)).read()["0"]
    walk, floor = readings["K"], readings["B"]
    assert walk.value is None
    assert "no slope of +0.5 (random walk)" in walk.reason
    longest = result_of(NoiseModel(N=1.0)).tau_s[-1]
    assert walk.upper == pytest.approx(math.sqrt(3.0) / longest)  # touches the curve at its end
    assert floor.value is None
    assert "lowest at its end" in floor.reason


def test_white_noise_is_not_read_at_one_second_whatever_the_slope():
    model = NoiseModel(N=1.0, B=10.0)  # at 1 s the curve is flat
    reading = result_of(model, rate_hz=10.0).read()["0"]["N"]
    assert reading.value is None
    assert reading.upper >= 1.0


def test_other_deviations_have_no_such_lines():
    result = allan(np.random.default_rng(0).normal(size=1000), rate_hz=1.0, kind="mdev")
    with pytest.raises(UnknownNameError, match="mdev"):
        result.read()
    with pytest.raises(UnknownNameError, match="oadev"):
        result.fit()

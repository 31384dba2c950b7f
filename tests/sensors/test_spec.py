"""The parameters of an IMU: what they may be, JSON, and the Allan curves that follow."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import FormatError, ShapeError, UnknownNameError, ValueRangeError
from strapdown.sensors.spec import (
    Bandwidth,
    Clock,
    Fifo,
    GaussMarkov,
    ImuSpec,
    Latency,
    SpecWarning,
    Temperature,
    TriadSpec,
    TurnOn,
)

FULL = ImuSpec(
    name="full",
    rate_hz=Fraction(1000, 3),
    oversampling=8,
    sampling="mean",
    gyro=TriadSpec(
        noise_density=(1e-4, 1.1e-4, 1.2e-4),
        bias_random_walk=1e-6,
        bias_instability=2e-5,
        flicker_band_s=(0.1, 1e4),
        gauss_markov=(GaussMarkov(1e-4, 30.0), GaussMarkov(2e-4, 300.0)),
        rate_ramp=-1e-9,
        turn_on_bias=TurnOn("uniform", (0.1, 0.1, 0.2)),
        turn_on_scale=TurnOn("normal", 0.01),
        turn_on_misalignment=TurnOn("normal", 0.001),
        bias=(1 / 3, 0.1, -0.2),
        scale_misalignment=((0.01, 0.0, 0.0), (0.0, 0.02, 0.0), (0.001, 0.0, 0.03)),
        g_sensitivity=((1e-3, 0.0, 0.0), (0.0, 1e-3, 0.0), (0.0, 0.0, 1e-3)),
        temperature=Temperature(30.0, bias=((1e-3, 1e-5), (), (2e-3,)), scale=((), (1e-4,), ())),
        measurement_range=8.7,
        resolution=8.7 / 32768,
        bits=16,
        bandwidth=Bandwidth("lowpass", 90.0, order=3),
        noise_at="element",
        enabled=(True, False, True),
    ),
    accel=TriadSpec(
        quadratic=(1e-7, -1e-7, 0.0),
        bandwidth=Bandwidth("sections", sections=((0.2, 0.4, 0.2, 1.0, -0.5, 0.2),)),
    ),
    mag=TriadSpec(noise_density=1e-8),
    clock=Clock(rate_error_ppm=-20.0, tick_s=39.0625e-6, tick_bits=24),
    latency=Latency(0.002, quantiles_s=(0.0, 1e-3, 5e-3)),
    fifo=Fifo(10, depth=64, stamps="burst"),
    drop_probability=0.01,
)


def test_json_gives_back_an_equal_spec():
    assert ImuSpec.from_json(FULL.to_json()) == FULL
    assert ImuSpec.from_json(ImuSpec().to_json()) == ImuSpec()
    assert isinstance(ImuSpec.from_json(FULL.to_json()).rate_hz, Fraction)


@given(
    st.floats(1e-7, 1e-3),
    st.tuples(*[st.floats(-1e300, 1e300)] * 3),
    st.one_of(st.fractions(1, 10_000), st.integers(1, 100_000), st.floats(1e-3, 1e5)),
)
def test_json_keeps_every_bit_of_every_number(density, bias, rate):
    spec = ImuSpec(rate_hz=rate, gyro=TriadSpec(noise_density=density, bias=bias))
    again = ImuSpec.from_json(spec.to_json())
    assert again == spec
    assert type(again.rate_hz) is type(rate)


def test_json_that_leaves_something_out_has_the_default():
    assert ImuSpec.from_json('{"rate_hz": 100, "accel": {"bias": [1, 2, 3]}}') == ImuSpec(
        rate_hz=100, accel=TriadSpec(bias=(1.0, 2.0, 3.0))
    )


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("[1]", FormatError, "as an object"),
        ("{", FormatError, "JSON of an ImuSpec"),
        ("[" * 100_000, FormatError, "JSON of an ImuSpec"),
        ('{"gyro": {"noise_densty": 1}}', UnknownNameError, "noise_density"),
        ('{"gyro": {"noise_density": "low"}}', FormatError, "noise_density as numbers"),
        ('{"gyro": 3}', FormatError, "gyro as an object"),
        ('{"gyro": {"noise_density": NaN}}', ValueRangeError, "finite noise_density"),
        ('{"rate_hz": "1/0"}', FormatError, "rate_hz as a number or a fraction"),
        ('{"rate_hz": "fast"}', FormatError, "rate_hz as a number or a fraction"),
    ],
)
def test_json_that_is_no_spec_is_refused(text, error, words):
    with pytest.raises(error, match=words):
        ImuSpec.from_json(text)


def test_a_spec_cannot_be_changed_and_a_changed_copy_leaves_it_alone():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FULL.gyro.noise_density = 1.0
    before = FULL.to_json()
    dataclasses.replace(FULL, gyro=dataclasses.replace(FULL.gyro, noise_density=2e-4))
    assert FULL.to_json() == before
    assert pickle.loads(pickle.dumps(FULL)) == FULL  # noqa: S301 (what was pickled above)


def test_arrays_and_lists_become_tuples_that_their_owner_cannot_change():
    mine = np.full((3, 3), 0.1)
    triad = TriadSpec(scale_misalignment=mine, bias=[1, 2, 3], gauss_markov=[GaussMarkov(1, 2)])
    mine[:] = 7.0
    assert triad.scale_misalignment[0] == (0.1, 0.1, 0.1)
    assert triad.bias == (1.0, 2.0, 3.0)
    assert hash(triad) == hash(
        TriadSpec(
            scale_misalignment=np.full((3, 3), 0.1),
            bias=(1, 2, 3),
            gauss_markov=(GaussMarkov(1, 2),),
        )
    )


def test_nothing_is_known_of_an_empty_spec_and_zero_is_known():
    empty = ImuSpec().missing()
    assert {"gyro.noise_density", "accel.bandwidth", "gyro.g_sensitivity"} <= set(empty)
    assert "accel.g_sensitivity" not in empty
    assert not any(name.startswith("mag") for name in empty)
    known = ImuSpec(gyro=TriadSpec(noise_density=0.0), mag=TriadSpec())
    assert "gyro.noise_density" not in known.missing()
    assert "mag.noise_density" in known.missing()


def test_one_number_stands_for_three_axes():
    triad = TriadSpec(noise_density=2.0, bias_instability=(1.0, 2.0, 3.0))
    assert triad.per_axis("noise_density") == (2.0, 2.0, 2.0)
    assert triad.per_axis("bias_instability") == (1.0, 2.0, 3.0)
    assert triad.per_axis("quadratic") is None
    with pytest.raises(UnknownNameError, match="noise_density"):
        triad.per_axis("noise")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: TriadSpec(noise_density=math.nan), ValueRangeError, "finite noise_density"),
        (lambda: TriadSpec(noise_density=-1.0), ValueRangeError, "noise_density of 0 or more"),
        (lambda: TriadSpec(noise_density=(1.0, 2.0)), ShapeError, "noise_density of shape"),
        (lambda: TriadSpec(noise_density="0.1"), TypeError, "noise_density as numbers"),
        (lambda: TriadSpec(bias=(0.0, 0.0, math.inf)), ValueRangeError, "finite bias"),
        (lambda: TriadSpec(bias=None), TypeError, "bias as numbers"),
        (lambda: TriadSpec(scale_misalignment=np.eye(2)), ShapeError, "scale_misalignment"),
        (lambda: TriadSpec(flicker_band_s=(10.0, 1.0)), ValueRangeError, "flicker_band_s"),
        (lambda: TriadSpec(gauss_markov=(1.0,)), TypeError, "as GaussMarkov"),
        (lambda: TriadSpec(gauss_markov=GaussMarkov(1, 1)), TypeError, "as a tuple"),
        (lambda: TriadSpec(gauss_markov=(GaussMarkov(1, 1),) * 17), ValueRangeError, "at most 16"),
        (lambda: TriadSpec(bits=16), ValueRangeError, "a resolution with bits"),
        (lambda: TriadSpec(resolution=1.0, bits=60), ValueRangeError, "bits from 2 to 48"),
        (lambda: TriadSpec(resolution=1.0, bits=16.0), TypeError, "whole number"),
        (lambda: TriadSpec(resolution=0.0), ValueRangeError, "resolution above 0"),
        (lambda: TriadSpec(measurement_range=-1.0), ValueRangeError, "measurement_range above 0"),
        (lambda: TriadSpec(turn_on_bias=0.1), TypeError, "as TurnOn"),
        (lambda: TriadSpec(noise_at="outside"), UnknownNameError, "'output'"),
        (lambda: TriadSpec(enabled=(True, 1, True)), TypeError, "3 booleans"),
        (lambda: TriadSpec(carry_residue=1), TypeError, "as bool"),
        (lambda: TurnOn("gauss", 1.0), UnknownNameError, "normal"),
        (lambda: TurnOn("normal", -1.0), ValueRangeError, "size"),
        (lambda: GaussMarkov(1.0, 0.0), ValueRangeError, "correlation_time_s above 0"),
        (lambda: Temperature(bias=((1.0,), (1.0,))), ShapeError, "one an axis"),
        (lambda: Temperature(scale=((math.nan,), (), ())), ValueRangeError, "finite scale"),
        (lambda: Bandwidth("lowpas", 10.0), UnknownNameError, "lowpass"),
        (lambda: Bandwidth("lowpass"), ValueRangeError, "frequency_hz with the bandwidth lowpass"),
        (lambda: Bandwidth("boxcar", 10.0), ValueRangeError, "only there"),
        (lambda: Bandwidth("lowpass", 10.0, order=5), ValueRangeError, "order from 1 to 4"),
        (lambda: Bandwidth("sections"), ValueRangeError, "sections with the bandwidth"),
        (
            lambda: Bandwidth("sections", sections=((1, 0, 0, 1, 0, 1.1),)),
            ValueRangeError,
            "stable",
        ),
        (lambda: Bandwidth("sections", sections=((1, 0, 0, 1),)), ShapeError, "sections"),
        (lambda: Clock(rate_error_ppm=-1e6), ValueRangeError, "rate_error_ppm above"),
        (lambda: Clock(tick_bits=24), ValueRangeError, "tick_s with tick_bits"),
        (lambda: Latency(sigma_s=-1.0), ValueRangeError, "sigma_s"),
        (lambda: Latency(quantiles_s=(1.0, 0.5)), ValueRangeError, "rising quantiles_s"),
        (lambda: Latency(quantiles_s=(1.0,)), ValueRangeError, "two or more"),
        (lambda: Latency(sigma_s=1.0, quantiles_s=(0.0, 1.0)), ValueRangeError, "got both"),
        (lambda: Fifo(0), ValueRangeError, "watermark from 1"),
        (lambda: Fifo(10, depth=5), ValueRangeError, "at least the watermark 10"),
        (lambda: Fifo(1, stamps="now"), UnknownNameError, "burst"),
        (lambda: ImuSpec(rate_hz=0), ValueRangeError, "rate_hz of 1e-06 or more"),
        (lambda: ImuSpec(rate_hz=10**30), ValueRangeError, "at most 1e\\+09"),
        (lambda: ImuSpec(rate_hz=Fraction(1, 10**9)), ValueRangeError, "rate_hz of 1e-06"),
        (lambda: Fifo(2**21), ValueRangeError, "watermark from 1 to 1048576"),
        (lambda: ImuSpec(rate_hz=math.inf), ValueRangeError, "finite rate_hz"),
        (lambda: ImuSpec(oversampling=0), ValueRangeError, "oversampling from 1"),
        (lambda: ImuSpec(sampling="pointwise"), UnknownNameError, "'point'"),
        (lambda: ImuSpec(drop_probability=1.5), ValueRangeError, "at most 1"),
        (lambda: ImuSpec(gyro={}), TypeError, "gyro as TriadSpec"),
        (lambda: ImuSpec(name=3), TypeError, "name as str"),
        (lambda: ImuSpec(accel=TriadSpec(g_sensitivity=np.eye(3))), ValueRangeError, "gyro only"),
        (
            lambda: ImuSpec(
                rate_hz=100, oversampling=2, gyro=TriadSpec(bandwidth=Bandwidth("lowpass", 100.0))
            ),
            ValueRangeError,
            "gyro.bandwidth below half the internal rate of 200 Hz",
        ),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_by_name(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("triads", "words"),
    [
        ({"gyro": TriadSpec(noise_density=0.005)}, "57.3 or 60 times less.*degrees taken for rad"),
        ({"gyro": TriadSpec(noise_density=0.0595)}, "if it were 60 times less.*deg/sqrt"),
        ({"gyro": TriadSpec(noise_density=2e-9)}, "60 times more.*radians taken for degrees"),
        ({"accel": TriadSpec(noise_density=0.037)}, "60 times less.*m/s/sqrt"),
        ({"accel": TriadSpec(noise_density=(1e-3, 1e-3, 1e-7))}, "60 times more"),
    ],
)
def test_a_density_that_is_a_factor_of_units_off_gets_a_warning_that_says_so(triads, words):
    with pytest.warns(SpecWarning, match=words) as caught:
        ImuSpec(name="mine", **triads)
    assert len(caught) == 1
    assert str(caught[0].message).startswith("mine: ")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("density", [0.0, 5.8e-7, 1.2e-4, 6e-4, 0.1, 3.0])
def test_a_density_that_is_plausible_or_wild_gets_none(density):
    ImuSpec(gyro=TriadSpec(noise_density=density))


TAU = np.geomspace(1e-2, 1e4, 61)


def test_white_noise_random_walk_and_ramp_have_their_slopes():
    triad = TriadSpec(
        noise_density=(2.0, 0.0, 0.0), bias_random_walk=(0.0, 3.0, 0.0), rate_ramp=(0.0, 0.0, -5.0)
    )
    expected = np.stack([2.0 / np.sqrt(TAU), 3.0 * np.sqrt(TAU / 3.0), 5.0 * TAU / np.sqrt(2.0)], 1)
    np.testing.assert_allclose(triad.allan(TAU), expected, rtol=1e-14)


def test_flicker_is_flat_in_its_band_and_rolls_off_outside():
    curve = TriadSpec(bias_instability=1.0, flicker_band_s=(1.0, 1000.0)).allan(TAU)
    floor = math.sqrt(2.0 * math.log(2.0) / math.pi)
    inside = (TAU >= 1.0) & (TAU <= 1000.0)
    np.testing.assert_allclose(curve[inside], floor, rtol=1.32e-3)
    assert TriadSpec(bias_instability=1.0).allan(0.1)[0] == pytest.approx(0.716 * floor, rel=2e-3)
    assert TriadSpec(bias_instability=1.0).allan(1e4)[0] == pytest.approx(0.705 * floor, rel=2e-3)


def test_a_gauss_markov_process_peaks_where_the_mathematics_says():
    triad = TriadSpec(gauss_markov=(GaussMarkov(2.0, 50.0),))
    assert triad.allan(1.8928 * 50.0)[0] == pytest.approx(0.61736 * 2.0, rel=1e-5)
    assert np.max(triad.allan(np.geomspace(1, 1e4, 2001))) == pytest.approx(1.23472, rel=1e-5)


def test_terms_add_as_squares():
    parts = [
        TriadSpec(noise_density=1.0),
        TriadSpec(bias_random_walk=0.1),
        TriadSpec(bias_instability=0.5),
        TriadSpec(gauss_markov=(GaussMarkov(0.3, 10.0),)),
    ]
    whole = TriadSpec(
        noise_density=1.0,
        bias_random_walk=0.1,
        bias_instability=0.5,
        gauss_markov=(GaussMarkov(0.3, 10.0),),
    )
    total = np.sqrt(sum(part.allan(TAU) ** 2 for part in parts))
    np.testing.assert_allclose(whole.allan(TAU), total, rtol=1e-13)


def test_the_curves_have_the_shape_of_the_times_and_an_axis_that_is_off_has_none():
    curves = FULL.allan(np.ones((4, 5)))
    assert set(curves) == {"gyro", "accel", "mag"}
    assert curves["gyro"].shape == (4, 5, 3)
    assert np.isnan(curves["gyro"][..., 1]).all()
    assert np.isfinite(curves["gyro"][..., [0, 2]]).all()
    assert ImuSpec().allan(1.0)["accel"].tolist() == [0.0, 0.0, 0.0]


def test_rounding_that_carries_its_rest_is_in_the_curve_and_plain_rounding_is_not():
    triad = TriadSpec(noise_density=1e-4, resolution=0.02, carry_residue=True)
    with_rest = ImuSpec(rate_hz=50, gyro=triad).allan(TAU)["gyro"]
    q = 0.02 / 50 / math.sqrt(12.0)  # rad
    expected = np.sqrt(1e-8 / TAU + 3.0 * q**2 / TAU**2)
    np.testing.assert_allclose(with_rest[:, 2], expected, rtol=1e-13)
    plain = dataclasses.replace(triad, carry_residue=False)
    np.testing.assert_allclose(ImuSpec(gyro=plain).allan(TAU)["gyro"][:, 0], 1e-4 / np.sqrt(TAU))


@pytest.mark.parametrize("tau", [0.0, -1.0, math.nan])
def test_a_cluster_time_is_positive(tau):
    with pytest.raises(ValueRangeError, match="tau_s"):
        FULL.allan([1.0, tau])


def test_the_text_is_plain_json():
    assert json.loads(FULL.to_json())["gyro"]["bandwidth"]["order"] == 3

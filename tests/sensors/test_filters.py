"""Filters against SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import signal

from strapdown.errors import ValueRangeError
from strapdown.sensors import filters
from strapdown.sensors.spec import ImuSpec
from strapdown.sensors.triad import Bandwidth, TriadSpec

RATE_HZ = 400.0


def as_sos(sections):
    return np.array([[b0, b1, b2, 1.0, a1, a2] for b0, b1, b2, a1, a2 in sections])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("frequency_hz", [0.5, 37.0, 190.0])
def test_a_low_pass_is_the_butterworth_filter_of_scipy(order, frequency_hz):
    f_hz = np.linspace(0.01, 199.0, 200)
    expected = signal.butter(order, frequency_hz, fs=RATE_HZ, output="sos")
    sections = filters.lowpass(frequency_hz, order, RATE_HZ)
    np.testing.assert_allclose(
        signal.sosfreqz(as_sos(sections), f_hz, fs=RATE_HZ)[1],
        signal.sosfreqz(expected, f_hz, fs=RATE_HZ)[1],
        atol=1e-10,
    )


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_bandwidth_is_where_the_gain_has_fallen_by_3_db(order):
    sos = as_sos(filters.lowpass(37.0, order, RATE_HZ))
    gain = abs(signal.sosfreqz(sos, [37.0], fs=RATE_HZ)[1][0])
    assert gain == pytest.approx(math.sqrt(0.5), rel=1e-12)


@pytest.mark.parametrize("window", [1, 4, 7])
def test_power_gain_is_the_sum_of_squares_of_the_impulse_response(window):
    sections = filters.lowpass(11.0, 3, RATE_HZ)
    impulse = np.zeros(20_000)
    impulse[0] = 1.0
    response = np.convolve(signal.sosfilt(as_sos(sections), impulse), np.full(window, 1 / window))
    expected = np.sum(response**2)
    assert filters.power_gain(sections, window) == pytest.approx(expected, rel=1e-12)


def test_a_mean_of_four_lets_a_quarter_of_the_power_through():
    assert filters.power_gain((), 4) == pytest.approx(0.25, rel=1e-13)


@pytest.mark.parametrize(
    ("order", "oversampled", "expected"),
    [(1, 8, 1.17), (1, 16, 1.33), (1, 32, 1.43), (2, 8, 1.057), (2, 16, 1.092), (2, 32, 1.105)],
)
def test_the_noise_bandwidth_of_a_sampled_filter_is_below_the_analog_one(
    order, oversampled, expected
):
    sections = filters.lowpass(1.0, order, oversampled)
    assert filters.noise_bandwidth_hz(sections, oversampled) == pytest.approx(expected, abs=6e-3)


@pytest.mark.parametrize(
    ("order", "expected"), [(1, 1.5708), (2, 1.1107), (3, 1.0472), (4, 1.0262)]
)
def test_the_noise_bandwidth_tends_to_the_analog_one(order, expected):
    sections = filters.lowpass(1.0, order, 4000.0)
    assert filters.noise_bandwidth_hz(sections, 4000.0) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_group_delay_is_that_of_scipy_at_low_frequency(order):
    sections = filters.lowpass(20.0, order, RATE_HZ)
    impulse = np.zeros(5000)
    impulse[0] = 1.0
    response = signal.sosfilt(as_sos(sections), impulse)
    centroid_s = np.sum(np.arange(5000) * response) / RATE_HZ  # -d(phase)/d(omega) at 0
    assert filters.group_delay_s(sections, RATE_HZ) == pytest.approx(centroid_s, rel=1e-9)


@pytest.mark.parametrize(
    ("frequency_hz", "rate_hz", "expected"), [(None, 100, 1), (10.0, 100, 1), (12.5, 100, 1),
                                              (13.0, 100, 2), (100.0, 100, 8), (101.0, 100, 16)]
)  # fmt: skip
def test_without_a_wish_the_internal_rate_is_at_least_eight_times_the_bandwidth(
    frequency_hz, rate_hz, expected
):
    bandwidth = None if frequency_hz is None else Bandwidth("lowpass", frequency_hz)
    spec = ImuSpec(rate_hz=rate_hz, accel=TriadSpec(bandwidth=bandwidth))
    assert filters.oversampling(spec) == expected


def test_a_wish_for_oversampling_is_met():
    assert filters.oversampling(ImuSpec(oversampling=7)) == 7


def test_a_bandwidth_beyond_half_the_rate_is_refused():
    with pytest.raises(ValueRangeError, match="bandwidth below half the internal rate of 400 Hz"):
        filters.lowpass(200.0, 2, RATE_HZ)

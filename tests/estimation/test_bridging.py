"""Rates inside a gap, against motions in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.estimation.error_state.bridging import Rates

START, END = 30.0, 30.3


def seen(rate, t):
    """Return rates around a gap."""
    kept = (t <= START) | (t >= END)
    return Rates.of(t[kept], rate(t)[kept])


def wave(t):
    """Return rates of 0.8 to 1.5 Hz, which a straight line across 0.3 s misses widely."""
    pace = 2.0 * np.pi * np.array([0.8, 1.1, 1.5])
    phase = np.array([0.3, 1.0, 2.0])
    return np.sin(np.multiply.outer(t, pace) + phase) * [2.0, 3.0, 1.0]


def integral(rate):
    t = np.linspace(START, END, 3001)
    return np.trapezoid(rate(t), t, axis=0)


@pytest.mark.parametrize("step", [0.0035, 0.01, 0.02])
def test_a_wave_goes_on_inside_the_gap(step):
    rates = seen(wave, np.arange(0.0, 60.0, step))
    inside, lost = rates.across(START, END)
    found = inside.mean(axis=0) * (END - START)
    line = 0.5 * (wave(np.array([START])) + wave(np.array([END])))[0] * (END - START)
    wrong = np.linalg.norm(found - integral(wave))
    assert wrong < 0.02
    assert wrong < 0.1 * np.linalg.norm(line - integral(wave))
    assert np.sqrt(np.trace(lost)) < 0.3


def test_an_even_turn_goes_on():
    even = [0.1, -0.2, 1.0]
    rates = seen(lambda t: np.broadcast_to(even, (len(t), 3)), np.arange(0.0, 60.0, 0.01))
    np.testing.assert_allclose(rates.across(START, END)[0], np.tile(even, (30, 1)), atol=5e-3)


def test_the_covariance_is_that_of_the_errors():
    """Of rough noise: squared errors of many gaps, divided by their variances."""
    rng = np.random.default_rng(3)
    t = np.arange(0.0, 600.0, 0.01)
    spectrum = rng.normal(size=(len(t) // 2 + 1, 3, 2)) @ [1.0, 1.0j]
    spectrum /= 1.0 + np.fft.rfftfreq(len(t), 0.01)[:, None] ** 2
    rate = 30.0 * np.fft.irfft(spectrum, len(t), axis=0)
    rates, ratios = Rates.of(t, rate), []
    for start in np.arange(500, len(t) - 500, 1500):
        end = start + 60
        kept = np.r_[: start + 1, end : len(t)]
        around = Rates(t[kept], rate[kept], rates.autocovariance)
        inside, lost = around.across(t[start], t[end])
        error = (inside.mean(axis=0) - rate[start : end + 1].mean(axis=0)) * 0.6
        ratios.append(error @ np.linalg.solve(lost, error) / 3.0)
    assert 0.08 < np.mean(ratios) < 0.25  # 1/8 by the margin for other motions


def test_long_before_the_first_rate_nothing_is_known():
    t = np.arange(0.0, 60.0, 0.01)
    inside, lost = Rates.of(t, wave(t)).across(-20.0, 0.0)
    assert np.abs(inside[:50]).max() < 1e-3
    assert np.linalg.eigvalsh(lost).min() > 0.0

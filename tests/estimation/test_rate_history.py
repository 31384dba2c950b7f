"""Rotation in a gap from the motion before it, against linear algebra and in the filter."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.estimation import ErrorStateFilter
from strapdown.estimation.error_state.history import (
    ALIKE_S,
    BIN_S,
    KNOWN,
    NOISE,
    RateHistory,
    forget_rates,
    remember,
    rotation_across,
    weigh,
)
from strapdown.series import ImuSeries
from strapdown.units import STANDARD_GRAVITY


def wave(t):
    pace = 2.0 * np.pi * np.array([0.7, 1.0, 1.3])
    return np.sin(np.multiply.outer(t, pace) + np.array([0.3, 1.0, 2.0])) * [2.0, 3.0, 1.0]


def histories_of(rate, ends):
    """Yield the history of rates up to each of these times, in samples of 5 ms."""
    history, done = RateHistory(), 0
    for end in ends:
        stamps = np.arange(0.0, end, 0.005)
        for t in stamps[done:]:
            remember(history, tuple(0.005 * rate(t + 0.0025)), 0.005)
        done = len(stamps)
        yield deepcopy(history)


def history_of(rate, seconds):
    return next(histories_of(rate, [seconds]))


@pytest.mark.parametrize("span", [0.11, 0.3, 0.7])
def test_the_weights_are_those_of_the_best_linear_estimate(span):
    history = history_of(wave, 60.0)
    assert weigh(history, span)
    alike = np.array(history.alike)

    def covariance(a, b):
        lag = np.abs(np.subtract.outer(a, b))
        table = np.interp(lag / BIN_S, np.arange(len(alike)), alike)
        return table * np.exp(-0.5 * (lag / ALIKE_S) ** 2)

    known = np.r_[span, (0.5 - np.arange(1, KNOWN)) * BIN_S]
    parts = int(np.ceil(span / BIN_S))
    inside = (np.arange(parts) + 0.5) * span / parts
    noisy = covariance(known, known) + NOISE * alike[0] * np.eye(KNOWN)
    best = np.linalg.solve(noisy, covariance(known, inside).sum(axis=1) * span / parts)
    np.testing.assert_allclose(history.weights, best, rtol=1e-9, atol=1e-12)


def test_a_wave_goes_on_inside_the_gap():
    wrong, line_wrong = [], []
    ends = np.arange(40.0, 60.0, 1.7)
    for end, history in zip(ends, histories_of(wave, ends), strict=True):
        assert weigh(history, 0.3)
        t = np.linspace(end, end + 0.3, 301)
        true = np.trapezoid(wave(t), t, axis=0)
        found = rotation_across(history, tuple(wave(end + 0.3)))
        line = 0.15 * (wave(end) + wave(end + 0.3))
        wrong.append(np.linalg.norm(found - true))
        line_wrong.append(np.linalg.norm(line - true))
    assert np.mean(wrong) < 0.5 * np.mean(line_wrong)


def test_without_enough_motion_there_is_no_estimate():
    assert not weigh(history_of(wave, 5.0), 0.3)
    history = history_of(wave, 20.0)
    forget_rates(history)
    assert not weigh(history, 0.3)
    assert not weigh(history_of(lambda _t: np.zeros(3), 20.0), 0.3)


def swinging():
    """Return readings at 50 Hz of a swing with gaps of 0.3 s, and the truth."""
    t = np.arange(6001) / 50.0
    paces = 2.0 * np.pi * np.array([0.8, 0.7, 0.5])
    angles = 0.5 * np.sin(np.multiply.outer(t, paces) + np.array([0.0, 1.0, 2.0]))
    attitude = Rotation.from_euler("ZYX", angles)
    rate = (attitude[:-1].inv() * attitude[1:]).as_rotvec() * 50.0
    middle = attitude[:-1] * Rotation.from_rotvec(0.01 * rate)
    force = middle.inv().apply([0.0, 0.0, STANDARD_GRAVITY])
    kept = (np.arange(6000) % 500 >= 15) | (np.arange(6000) < 1000)
    return ImuSeries(np.arange(6000) * 20_000_000, rate, force)[kept], attitude[1:][kept]


def test_a_swing_is_followed_through_the_gaps():
    series, attitude = swinging()
    result = ErrorStateFilter().run(series)
    assert result.report.gaps == 10
    turn = (Rotation.from_quat(result.q_world_from_body) * attitude.inv()).as_rotvec()
    heading = np.degrees(np.unwrap(turn[:, 2]))
    after = np.flatnonzero(np.diff(series.t_ns) > 100_000_000)
    lost = heading[after + 1] - heading[after]
    assert np.sqrt(np.mean(lost**2)) < 4.5  # a straight line: 10.6 deg


def test_machine_code_bridges_with_the_same_bits():
    series, _ = swinging()
    plain = ErrorStateFilter(compiled=False).run(series[:1600])
    code = ErrorStateFilter(compiled=True).run(series[:1600])
    np.testing.assert_array_equal(plain.q_world_from_body, code.q_world_from_body)

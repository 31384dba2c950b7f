"""Running mean, variance and covariance in float32."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.px4 import float32 as kernels

F = np.float32


def fed(values):
    state, valid = kernels.EMPTY, []
    for value in values:
        with np.errstate(invalid="ignore"):
            state = kernels.update(state, F(value))
        valid.append(kernels.is_valid(state))
    return state, valid


def test_mean_and_variance_are_valid_from_the_third_number_on():
    state, valid = fed([3, 1, 4, 1, 5, 9, 2, 6])
    assert valid == [False, False] + 6 * [True]
    assert state.mean == 3.875
    assert kernels.variance(state) == pytest.approx(7.553571, rel=1e-6)


def test_a_small_variance_on_a_large_mean_survives_float32():
    state, _ = fed(1e6 + np.arange(10_000) % 2)
    assert state.mean == pytest.approx(1000000.5, abs=0.07)  # one float32 step
    assert kernels.variance(state) == pytest.approx(0.250025, abs=1e-4)


def test_the_mean_starts_anew_when_its_counter_is_full():
    state, _ = fed(np.where(np.arange(65_535) % 2, 1.0, -1.0))
    seen = []
    for _ in range(3):
        state = kernels.update(state, F(5.0))
        seen.append((state.number, kernels.is_valid(state)))
        assert state.mean == 5.0
        assert state.m2 == pytest.approx(1.0, rel=1e-4)
    assert seen == [(1, False), (2, False), (3, True)]
    assert kernels.variance(state) == pytest.approx(0.5, rel=1e-4)


def test_what_rounding_left_of_the_squares_is_not_carried_over_a_full_counter():
    full = kernels.Mean(65_535, F(1.0), F(0.0), F(65_535.0), F(-0.25))
    assert kernels.update(full, F(1.0)).m2 == 1.0
    six = (*kernels.SIX[:5], F(-0.25))
    full = kernels.Spread(65_535, kernels.ZERO, kernels.ZERO, 6 * (F(65_535.0),), six)
    assert kernels.update_spread(full, kernels.ZERO).m2 == 6 * (1.0,)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_not_finite_starts_it_again(bad):
    assert fed([1.0, 2.0, bad])[0] == kernels.EMPTY
    assert fed([bad])[0] == kernels.EMPTY
    spread = kernels.update_spread(kernels.EMPTY_SPREAD, (F(1), F(2), F(3)))
    with np.errstate(invalid="ignore"):
        assert kernels.update_spread(spread, (F(1), F(bad), F(3))) == kernels.EMPTY_SPREAD


def test_turned_variances_are_those_of_turned_readings():
    rng = np.random.default_rng(3)
    values = (rng.standard_normal((200, 3)) @ rng.standard_normal((3, 3))).astype(np.float32)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0].astype(np.float32)
    state = kernels.EMPTY_SPREAD
    for row in values:
        state = kernels.update_spread(state, tuple(row))
    np.testing.assert_allclose(state.mean, values.mean(axis=0), rtol=1e-5, atol=1e-6)
    rotation = tuple(tuple(row) for row in turn)
    wanted = np.var(values.astype(np.float64) @ turn.T, axis=0, ddof=1)
    np.testing.assert_allclose(kernels.turned_variance(state, rotation), wanted, rtol=1e-5)

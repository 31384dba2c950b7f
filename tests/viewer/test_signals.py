"""Signals on a screen: bins keep peaks, lines break at gaps, many samples cost little."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.viewer.signals import Pyramid, Signal, Span


def signal(t_ns, values, period=np.inf):
    values = np.asarray(values, float).reshape(len(t_ns), -1)
    labels = tuple("xyz"[: values.shape[1]])
    return Signal("q", "u", "", labels, np.asarray(t_ns), lambda a, b: values[a:b], period)


def test_a_peak_of_one_sample_is_visible_at_every_zoom():
    count, peak = 300_000, 123_457
    values = np.zeros(count)
    values[peak], values[peak + 1] = 7.0, -3.0
    shown = signal(np.arange(count) * 1000, values)
    width = count
    while width > 10:
        first = max(0, peak - width // 2)
        _, drawn = shown.within(Span(first * 1000, (first + width) * 1000), 200)
        assert np.nanmax(drawn) == 7.0
        assert np.nanmin(drawn) == -3.0
        assert len(drawn) <= 2 * 400 + 2
        width //= 3


def test_bins_hold_the_extremes_that_a_search_finds():
    rng = np.random.default_rng(4)
    t = np.cumsum(rng.integers(1, 2000, 5000))
    values = rng.normal(size=(5000, 3))
    shown = signal(t, values)
    bins = 100
    at, drawn = shown.within(Span(int(t[1000]), int(t[4000])), bins)
    edges = np.linspace(t[999], t[4000] + 1, bins + 1)
    for number in range(bins):
        inside = (t >= edges[number]) & (t < edges[number + 1])
        low, high = drawn[2 * number], drawn[2 * number + 1]
        np.testing.assert_array_equal(low, values[inside].min(axis=0))
        np.testing.assert_array_equal(high, values[inside].max(axis=0))
        assert edges[number] <= at[2 * number] < edges[number + 1]


@pytest.mark.parametrize("peak", [0, 63, 64, 299_900, 299_999])
def test_the_first_and_the_last_samples_are_in_the_extremes_of_blocks(peak):
    values = np.zeros(300_000)
    values[peak] = 7.0
    _, drawn = signal(np.arange(300_000) * 1000, values).within(Span(0, 300_000_000), 50)
    assert np.nanmax(drawn) == 7.0


def test_stamps_that_are_known_are_not_read_again():
    t = np.arange(300_000) * 1000
    seen = []

    class Watched(np.ndarray):
        def __getitem__(self, rows):
            seen.append(rows)
            return super().__getitem__(rows)

    pyramid = Pyramid()
    np.testing.assert_array_equal(pyramid.stamps(t[:100_000]), t[:100_000:64])
    np.testing.assert_array_equal(pyramid.stamps(t.view(Watched)), t[::64])
    assert [rows.start for rows in seen] == [100_032]


def test_few_samples_are_drawn_as_they_are():
    t = np.arange(50) * 10
    values = np.arange(50.0)
    at, drawn = signal(t, values).within(Span(100, 200))
    np.testing.assert_array_equal(at, t[9:21])
    np.testing.assert_array_equal(drawn[:, 0], values[9:21])


@pytest.mark.parametrize("count", [40, 40_000])
def test_a_gap_breaks_the_line(count):
    t = np.arange(count) * 10
    t[count // 2 :] += 10 * count
    shown = signal(t, np.ones(count))
    at, drawn = shown.within(Span(0, int(t[-1]) + 1))
    inside = (at > t[count // 2 - 1] + 200) & (at < t[count // 2] - 200)
    assert np.isnan(drawn[inside]).all()
    assert inside.any() or np.isnan(drawn).any()


def test_a_wrapped_angle_breaks_the_line():
    angles = np.array([170.0, 179.0, -179.0, -170.0])
    _, drawn = signal(np.arange(4) * 10, angles, period=360.0).within(Span(0, 40))
    assert np.isnan(drawn[:, 0]).tolist() == [False, False, True, False, False]


def test_missing_values_do_not_hide_their_neighbours():
    values = np.full(100_000, np.nan)
    values[50_000] = 1.0
    _, drawn = signal(np.arange(100_000), values).within(Span(0, 100_000), 50)
    assert np.nanmax(drawn) == 1.0

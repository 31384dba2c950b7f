"""Recursions: one set of bits under any chunking, and the statistics that they promise."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import ShapeError
from strapdown.sensors.noise import (
    NoiseKey,
    Process,
    Recursion,
    Recursions,
    bias_recursions,
    flicker_terms,
    normals,
    sampled_ou_avar,
)
from strapdown.sensors.spec import GaussMarkov, TriadSpec

KEY, CHANNEL = NoiseKey(11, 3), 4
TERMS = [
    Recursion.random_walk(Process.RANDOM_WALK, 0.1, 0.02),
    Recursion.gauss_markov(Process.GAUSS_MARKOV, 0.3, 1.5, 0.02),
    Recursion.gauss_markov(Process.FLICKER, 0.2, 40.0, 0.02, stationary=False),
]
BASE = np.sin(np.arange(6000.0))
FULL = TriadSpec(
    bias_random_walk=(1e-3, 0.0, 2e-3),
    bias_instability=1e-2,
    gauss_markov=(GaussMarkov(0.1, 0.02), GaussMarkov(0.0, 5.0), GaussMarkov(0.3, 5.0)),
)


@pytest.fixture(scope="module")
def whole():
    """Every node in one call, by a plain loop over the definition."""
    total = BASE.copy()
    for term in TERMS:
        drawn = normals(KEY, CHANNEL, term.process, 0, len(BASE)).tolist()
        x = term.start * drawn[0]
        total[0] = total[0] + x
        for j in range(1, len(BASE)):
            x = term.phi * x + term.q * drawn[j]
            total[j] = total[j] + x
    return total


@given(
    cuts=st.lists(st.integers(1, len(BASE) - 1), max_size=12, unique=True),
    executions=st.lists(st.booleans(), min_size=13, max_size=13),
)
def test_any_chunking_and_any_execution_give_the_same_bits(whole, cuts, executions):
    recursions = Recursions(KEY, CHANNEL, TERMS)
    edges = [0, *sorted(cuts), len(BASE)]
    for first, last, machine in zip(edges, edges[1:], executions, strict=False):
        chunk = recursions.nodes(first, last - first, BASE[first:last], compiled=machine)
        np.testing.assert_array_equal(chunk, whole[first:last])


def test_node_by_node_gives_the_same_bits(whole):
    recursions = Recursions(KEY, CHANNEL, TERMS)
    single = [recursions.nodes(j, 1, BASE[j : j + 1])[0] for j in range(600)]
    np.testing.assert_array_equal(single, whole[:600])


@given(starts=st.lists(st.integers(0, len(BASE) - 10), min_size=1, max_size=5))
def test_going_elsewhere_gives_the_same_bits(whole, starts):
    recursions = Recursions(KEY, CHANNEL, TERMS)
    for start in starts:
        chunk = recursions.nodes(start, 10, BASE[start : start + 10], compiled=True)
        np.testing.assert_array_equal(chunk, whole[start : start + 10])


def test_going_back_far_replays_from_a_checkpoint(monkeypatch):
    recursions = Recursions(KEY, CHANNEL, TERMS)
    count = 2 * 2**16 + 500
    run = recursions.nodes(0, count, np.zeros(count), compiled=True)
    replayed = []
    original = Recursions._run
    monkeypatch.setattr(
        Recursions,
        "_run",
        lambda self, out, **options: (replayed.append(len(out)), original(self, out, **options)),
    )
    for start in (2**16 + 100, 2**16 - 1, 2 * 2**16):
        replayed.clear()
        again = recursions.nodes(start, 50, np.zeros(50), compiled=True)
        np.testing.assert_array_equal(again, run[start : start + 50])
        assert sum(replayed) <= 2**16 + 50


def test_a_state_goes_through_json_and_on_with_the_same_bits(whole):
    first = Recursions(KEY, CHANNEL, TERMS)
    first.nodes(0, 1234, BASE[:1234])
    state = json.loads(json.dumps(first.state()))
    second = Recursions(KEY, CHANNEL, TERMS)
    second.nodes(0, 77, BASE[:77])
    second.restore(state)
    np.testing.assert_array_equal(second.nodes(1234, 300, BASE[1234:1534]), whole[1234:1534])
    assert first.state() == state
    np.testing.assert_array_equal(second.nodes(5, 5, BASE[5:10]), whole[5:10])


def test_the_base_stays_as_it_is_and_no_recursions_give_it_back():
    base = BASE.copy()
    Recursions(KEY, CHANNEL, TERMS).nodes(0, len(base), base, compiled=True)
    np.testing.assert_array_equal(base, BASE)
    np.testing.assert_array_equal(Recursions(KEY, CHANNEL, []).nodes(7, len(base), base), base)


def test_what_does_not_fit_is_refused():
    recursions = Recursions(KEY, CHANNEL, TERMS)
    with pytest.raises(ShapeError, match=r"expected base of shape \(3,\), got \(4,\)"):
        recursions.nodes(0, 3, np.zeros(4))
    with pytest.raises(ShapeError, match="expected a state of 3 recursions, got 1"):
        recursions.restore({"node": 0, "values": [0.0]})


def test_a_walk_starts_at_zero_and_a_process_as_asked():
    walk, steady, from_zero = TERMS
    for term in (walk, from_zero):
        assert Recursions(KEY, CHANNEL, [term]).nodes(0, 1, np.zeros(1))[0] == 0.0
    drawn = normals(KEY, CHANNEL, steady.process, 0, 1)[0]
    first = Recursions(KEY, CHANNEL, [steady]).nodes(0, 1, np.zeros(1))[0]
    assert first == pytest.approx(0.3 * float(drawn), rel=1e-15)


@given(sigma=st.floats(1e-6, 1e3), ratio=st.floats(1e-9, 50.0))
def test_a_step_keeps_the_steady_variance(sigma, ratio):
    term = Recursion.gauss_markov(Process.GAUSS_MARKOV, sigma, 2.0, 2.0 * ratio)
    assert term.start == sigma
    innovation = sigma**2 * -math.expm1(-2.0 * ratio)
    assert term.q**2 == pytest.approx(innovation, rel=1e-12)
    assert term.phi == pytest.approx(math.exp(-ratio), rel=1e-15)


def allan_variance(values: np.ndarray, m: int) -> float:
    means = np.diff(np.concatenate(([0.0], np.cumsum(values)))[::m]) / m
    return float(np.mean(np.diff(means) ** 2) / 2.0)


@pytest.fixture(scope="module")
def process():
    """A process, and what it gives."""
    count = 2**21
    term = Recursion.gauss_markov(Process.GAUSS_MARKOV, 2.0, 10.0, 1.0)
    return term, Recursions(KEY, 0, [term]).nodes(0, count, np.zeros(count), compiled=True)


@pytest.mark.parametrize("m", [1, 8, 20, 60])
def test_the_allan_variance_of_a_process_is_the_exact_one(process, m):
    term, values = process
    expected = 4.0 * float(sampled_ou_avar(m, term.phi))
    spread = 4.0 * math.sqrt(
        3.0 * m / len(values)
    )  # of the mean of squares of neighbours that overlap
    assert spread < 0.04
    assert allan_variance(values, m) == pytest.approx(expected, rel=spread)


def test_the_allan_variance_of_a_walk_grows_with_the_cluster_time():
    count, m = 2**21, 64
    term = Recursion.random_walk(Process.RANDOM_WALK, 0.5, 0.01)
    values = Recursions(KEY, 0, [term]).nodes(0, count, np.zeros(count), compiled=True)
    expected = 0.5**2 * (m * 0.01) / 3.0 * (1.0 + 0.5 / m**2)
    assert allan_variance(values, m) == pytest.approx(
        expected, rel=4.0 * math.sqrt(3.0 * m / count)
    )


def test_a_steady_start_has_the_variance_of_later():
    term = Recursion.gauss_markov(Process.GAUSS_MARKOV, 2.0, 1.0, 0.2)
    nodes, sensors = 51, 8000  # ten correlation times
    runs = np.array(
        [
            Recursions(NoiseKey(1, sensor), 0, [term]).nodes(
                0, nodes, np.zeros(nodes), compiled=True
            )
            for sensor in range(sensors)
        ]
    )
    for node in (0, 50):
        assert np.mean(runs[:, node] ** 2) == pytest.approx(4.0, rel=4.0 * math.sqrt(2.0 / sensors))


def test_slow_terms_of_the_usual_band_have_a_node_in_32_samples_at_1_khz():
    decimation, slow, fast = bias_recursions(TriadSpec(bias_instability=1.0), 0, 1e-3)
    assert decimation == 32
    assert [term.process for term in slow] == list(range(Process.FLICKER, Process.FLICKER + 7))
    assert fast == ()


def test_terms_come_in_their_order_with_numbers_of_their_own():
    decimation, slow, fast = bias_recursions(FULL, 0, 1e-3)
    assert decimation == 32
    flicker = range(Process.FLICKER, Process.FLICKER + 7)
    assert [t.process for t in slow] == [Process.RANDOM_WALK, Process.GAUSS_MARKOV + 2, *flicker]
    assert [t.process for t in fast] == [Process.GAUSS_MARKOV]
    assert slow[0] == Recursion.random_walk(Process.RANDOM_WALK, 1e-3, 0.032)
    assert fast[0] == Recursion.gauss_markov(Process.GAUSS_MARKOV, 0.1, 0.02, 1e-3)
    times, weights = flicker_terms((1.0, 1000.0))
    assert slow[2] == Recursion.gauss_markov(
        Process.FLICKER, 1e-2 * math.sqrt(weights[0]), times[0], 0.032
    )


def test_a_term_without_size_takes_no_work():
    assert bias_recursions(TriadSpec(), 0, 1e-3)[1:] == ((), ())
    without_walk = bias_recursions(FULL, 1, 1e-3)[1]
    assert Process.RANDOM_WALK not in [term.process for term in without_walk]


def test_no_process_is_stationary_when_zero_is_asked_for():
    _, slow, fast = bias_recursions(FULL, 0, 1e-3, stationary=False)
    assert all(term.start == 0.0 for term in (*slow, *fast))


@given(
    rate=st.floats(0.5, 50e3),
    times=st.lists(st.floats(1e-4, 1e4), max_size=16),
    low=st.floats(1e-2, 1e2),
)
def test_slow_terms_have_five_nodes_in_a_correlation_time(rate, times, low):
    processes = tuple(GaussMarkov(1.0, time) for time in times)
    triad = TriadSpec(bias_instability=1.0, gauss_markov=processes, flicker_band_s=(low, 1e3 * low))
    decimation, slow, fast = bias_recursions(triad, 0, 1.0 / rate)
    assert math.log2(decimation).is_integer()
    assert len(slow) + len(fast) == len(times) + 7
    assert decimation == 1 or decimation / rate <= 1.0 / 30.0
    if decimation == 1:
        assert fast == ()
    else:
        assert all(-1.0 / math.log(term.phi) >= 5.0 * (1.0 - 1e-9) for term in slow)


def variance_between_nodes(covariance, decimation: int, m: int) -> float:
    """Return the Allan variance of interpolated nodes, over every phase of the clusters."""
    total = 0.0
    for phase in range(decimation):
        sample = phase + np.arange(2 * m)
        node, fraction = sample // decimation, sample % decimation / decimation
        sign = np.repeat([-1.0, 1.0], m) / m
        weights = np.bincount(node, sign * (1.0 - fraction), node[-1] + 2)
        weights += np.bincount(node + 1, sign * fraction, node[-1] + 2)
        numbers = np.arange(len(weights))
        total += weights @ covariance(numbers[:, None], numbers) @ weights / 2.0
    return total / decimation


@pytest.mark.parametrize("rate", [200.0, 1000.0])
def test_nodes_and_lines_between_them_keep_the_floor_where_its_band_begins(rate):
    decimation, slow, _ = bias_recursions(TriadSpec(bias_instability=1.0), 0, 1.0 / rate)
    assert decimation > 1
    _, weights = flicker_terms((1.0, 1000.0))
    m = round(rate)  # clusters of 1 s
    coarse = sum(
        weight * variance_between_nodes(lambda i, j, t=term: t.phi ** abs(i - j), decimation, m)
        for term, weight in zip(slow, weights, strict=True)
    )
    every = sum(
        weight * float(sampled_ou_avar(m, term.phi ** (1.0 / decimation)))
        for term, weight in zip(slow, weights, strict=True)
    )
    assert math.sqrt(coarse / every) == pytest.approx(1.0, abs=5e-4)


def test_nodes_and_lines_between_them_keep_a_walk_from_one_second_on():
    rate = 1000.0
    decimation, (walk,), _ = bias_recursions(TriadSpec(bias_random_walk=1.0), 0, 1.0 / rate)
    coarse = variance_between_nodes(lambda i, j: walk.q**2 * np.minimum(i, j), decimation, 1000)
    assert math.sqrt(coarse * 3.0) == pytest.approx(1.0, abs=5e-4)

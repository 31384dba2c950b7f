"""Stamps of the host: latency, queue and drops, each against its own rule."""

from __future__ import annotations

import json
import math
from collections import deque
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from strapdown.errors import ValueRangeError
from strapdown.sensors.clock import SampleClock
from strapdown.sensors.host import HostStamps
from strapdown.sensors.noise import NoiseKey
from strapdown.sensors.spec import Clock, Fifo, FifoStamps, Latency

KEY = NoiseKey(3, 11)
PERFECT, AT_ONCE = Clock(), Latency()
REAL_CLOCK = Clock(rate_error_ppm=80.0, walk_ppm=1.0, jitter_s=1e-4, tick_s=39.0625e-6)


def host(*, latency=AT_ONCE, fifo=None, drops=0.0, **timer):
    return HostStamps(latency, fifo, drops, timer_of(**timer), KEY)


def timer_of(clock=PERFECT, rate=100, start_s=0.0):
    return SampleClock(clock, rate, KEY, start_s=start_s)


def true_ns(*, count=100, **timer):
    t_s = timer_of(**timer).instants(0, count)
    return np.rint(t_s * 1e9).astype(np.int64)


# ---------------------------------------------------------------------------------- latency


def test_without_latency_the_stamp_is_the_instant():
    stamped = host(clock=REAL_CLOCK, start_s=2.0).stamp(0, 500)
    assert stamped.t_host_ns.tolist() == true_ns(clock=REAL_CLOCK, count=500, start_s=2.0).tolist()
    assert stamped.kept.all()
    assert not stamped.overrun.any()


def test_a_constant_latency_shifts_the_stamps():
    stamped = host(latency=Latency(constant_s=0.0125)).stamp(40, 60)
    assert stamped.t_host_ns.tolist() == [10_000_000 * k + 12_500_000 for k in range(40, 100)]


def test_normal_latency_is_cut_off_at_zero():
    # 1 Hz: no arrival has to wait for another one
    n = 4000
    stamped = host(latency=Latency(constant_s=0.01, sigma_s=0.004), rate=1).stamp(0, n)
    random_s = (stamped.t_host_ns - true_ns(rate=1, count=n)) * 1e-9 - 0.01
    assert random_s.min() >= 0.0
    assert stats.kstest(random_s, stats.halfnorm(scale=0.004).cdf).pvalue > 1e-3


def test_latency_follows_a_table_of_quantiles():
    n, quantiles = 4000, (0.008, 0.009, 0.012, 0.050)
    latency = Latency(constant_s=0.001, quantiles_s=quantiles)
    stamped = host(latency=latency, rate=1).stamp(0, n)
    random_s = (stamped.t_host_ns - true_ns(rate=1, count=n)) * 1e-9 - 0.001

    def cdf(value):
        return np.interp(value, quantiles, [0.0, 1 / 3, 2 / 3, 1.0])

    assert stats.kstest(random_s, cdf).pvalue > 1e-3


def test_arrivals_stay_in_order():
    n = 3000
    latency = Latency(constant_s=0.002, sigma_s=0.03)
    stamped = host(latency=latency).stamp(0, n)
    free_ns = host(latency=latency, rate=1).stamp(0, n).t_host_ns - true_ns(rate=1, count=n)
    expected, before = [], -1
    for arrival in (true_ns(count=n) + free_ns).tolist():
        before = max(arrival, before + 1)
        expected.append(before)
    np.testing.assert_allclose(stamped.t_host_ns, expected, rtol=0, atol=2)  # ns, of rounding
    held = np.diff(stamped.t_host_ns) == 1
    assert 0.2 < held.mean() < 0.9
    assert (np.diff(stamped.t_host_ns) > 0).all()


@given(
    sigma=st.floats(0.0, 1.0),
    jitter=st.floats(0.0, 1.0),
    rate=st.sampled_from([1, 100, 30_000]),
)
@settings(max_examples=15)
def test_stamps_without_a_queue_strictly_increase(sigma, jitter, rate):
    stamps = host(latency=Latency(sigma_s=sigma), clock=Clock(jitter_s=jitter), rate=rate)
    assert (np.diff(stamps.stamp(0, 300).t_host_ns) > 0).all()


# ---------------------------------------------------------------------------------- queue


def test_a_burst_is_stamped_with_the_time_of_the_reading():
    stamps = host(latency=Latency(constant_s=0.001), fifo=Fifo(4, stamps=FifoStamps.BURST))
    reading = [31_000_000] * 4 + [71_000_000] * 4 + [111_000_000] * 2
    assert stamps.stamp(0, 10).t_host_ns.tolist() == reading


def test_reconstructed_stamps_step_back_from_the_reading():
    fifo = Fifo(3, stamps=FifoStamps.RECONSTRUCTED)
    stamps = host(latency=Latency(constant_s=0.5), fifo=fifo, clock=Clock(rate_error_ppm=1e5))
    read = [round(1e9 * (k / 110 + 0.5)) for k in (2, 5, 8)]  # runs 10 % fast
    expected = [ns - back * 10_000_000 for ns in read for back in (2, 1, 0)]
    assert stamps.stamp(0, 9).t_host_ns.tolist() == expected


def test_reconstructed_stamps_round_each_step():
    stamps = host(fifo=Fifo(4, stamps=FifoStamps.RECONSTRUCTED), rate=3)
    assert stamps.stamp(0, 4).t_host_ns.tolist() == [0, 333_333_333, 666_666_667, 10**9]


def test_device_stamps_are_those_of_the_device():
    fifo = Fifo(4, stamps=FifoStamps.DEVICE)
    stamps = host(latency=Latency(sigma_s=0.1), fifo=fifo, clock=REAL_CLOCK, start_s=1.5)
    expected = 1_500_000_000 + SampleClock(REAL_CLOCK, 100, KEY).device_ns(0, 50)
    assert stamps.stamp(0, 50).t_host_ns.tolist() == expected.tolist()


def test_a_reading_has_the_latency_of_its_last_sample():
    latency = Latency(constant_s=0.001, sigma_s=0.0005)
    each = host(latency=latency).stamp(0, 60).t_host_ns
    burst = host(latency=latency, fifo=Fifo(5, stamps=FifoStamps.BURST)).stamp(0, 60).t_host_ns
    assert burst.tolist() == np.repeat(each[4::5], 5).tolist()


def queue_of(taken_ns, reading_ns, watermark, depth):
    """Play a queue event by event; return which samples are read, and which readings overran."""
    kept, overrun = np.zeros(len(taken_ns), bool), np.zeros(len(reading_ns), bool)
    queue, group = deque(), 0
    for k, taken in enumerate([*taken_ns.tolist(), math.inf]):
        while group < len(reading_ns) and reading_ns[group] <= taken:
            while queue and queue[0] // watermark <= group:
                kept[queue.popleft()] = True
            group += 1
        queue.append(k)
        if len(queue) > depth:
            overrun[queue.popleft() // watermark] = True
    return kept, overrun


@pytest.mark.parametrize(("watermark", "depth"), [(4, 4), (4, 6), (1, 2), (5, 8)])
def test_an_overrun_loses_the_oldest_like_a_queue_played_event_by_event(watermark, depth):
    n = 400 * watermark
    latency = Latency(quantiles_s=(0.0, 0.001, 0.002, 0.02, 0.05))
    fifo = Fifo(watermark, depth=depth, stamps=FifoStamps.BURST)
    stamped = host(latency=latency, fifo=fifo).stamp(0, n)
    kept, overrun = queue_of(true_ns(count=n), stamped.t_host_ns[::watermark], watermark, depth)
    settled = n - depth  # the run of the test ends, that of the device does not
    assert stamped.kept[:settled].tolist() == kept[:settled].tolist()
    assert stamped.overrun[:settled].tolist() == np.repeat(overrun, watermark)[:settled].tolist()
    assert 0.05 < stamped.kept.mean() < 0.99


def test_a_queue_without_depth_loses_nothing():
    stamped = host(latency=Latency(constant_s=10.0), fifo=Fifo(4)).stamp(0, 100)
    assert stamped.kept.all()
    assert not stamped.overrun.any()


def test_an_overrun_does_not_move_the_other_samples():
    latency = Latency(quantiles_s=(0.0, 0.002, 0.05))
    deep, shallow = (
        host(latency=latency, fifo=Fifo(4, depth=depth, stamps=FifoStamps.RECONSTRUCTED))
        for depth in (None, 4)
    )
    assert not shallow.stamp(0, 400).kept.all()
    assert shallow.stamp(0, 400).t_host_ns.tolist() == deep.stamp(0, 400).t_host_ns.tolist()


# ---------------------------------------------------------------------------------- drops


def test_drops_have_their_probability_and_are_independent():
    n, p = 40_000, 0.2
    dropped = ~host(drops=p).stamp(0, n).kept
    assert dropped.mean() == pytest.approx(p, abs=4.0 * math.sqrt(p * (1.0 - p) / n))
    pairs = np.mean(dropped[1:] & dropped[:-1])
    assert pairs == pytest.approx(p * p, abs=4.0 * p / math.sqrt(n))


def test_a_drop_leaves_all_other_samples_as_they_are():
    latency = Latency(constant_s=0.002, sigma_s=0.03)
    none, some, more = (host(latency=latency, drops=p, clock=REAL_CLOCK) for p in (0.0, 0.1, 0.3))
    expected = none.stamp(0, 5000).t_host_ns.tolist()
    assert some.stamp(0, 5000).t_host_ns.tolist() == expected
    assert more.stamp(0, 5000).t_host_ns.tolist() == expected
    assert not (more.stamp(0, 5000).kept & ~some.stamp(0, 5000).kept).any()


def test_certain_and_impossible_drops():
    assert not host(drops=1.0).stamp(0, 1000).kept.any()
    assert host(drops=0.0).stamp(0, 1000).kept.all()


# ---------------------------------------------------------------------------------- invariance

VARIANTS = [
    {"latency": Latency(constant_s=0.002), "drops": 0.1},
    {"latency": Latency(constant_s=0.002, sigma_s=0.03), "drops": 0.1},
    {
        "latency": Latency(quantiles_s=(0.0, 0.01, 0.1)),
        "fifo": Fifo(7, depth=9, stamps=FifoStamps.RECONSTRUCTED),
        "drops": 0.1,
    },
    {"latency": Latency(sigma_s=0.3), "fifo": Fifo(5000, stamps=FifoStamps.BURST)},
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_bits_for_any_chunking(variant):
    n = 12_500
    rng = np.random.default_rng(5)
    cuts = np.unique(np.concatenate(([0, 1, n], rng.integers(0, n, 15))))
    expected = host(clock=REAL_CLOCK, **variant).stamp(0, n)
    stamps = host(clock=REAL_CLOCK, **variant)
    parts = [stamps.stamp(int(a), int(b - a)) for a, b in pairwise(cuts)]
    for column, chunks in zip(expected, zip(*parts, strict=True), strict=True):
        assert np.concatenate(chunks).tobytes() == column.tobytes()
    for start in (9000, 0, 6000):
        there = stamps.stamp(start, 3)
        assert there.t_host_ns.tolist() == expected.t_host_ns[start : start + 3].tolist()


@pytest.mark.parametrize("variant", VARIANTS)
def test_restored_stamps_go_on_with_the_same_bits(variant):
    stamps = host(clock=REAL_CLOCK, **variant)
    stamps.stamp(0, 9000)
    state = json.loads(json.dumps(stamps.state()))
    other = host(clock=REAL_CLOCK, **variant)
    other.restore(state)
    ours, theirs = stamps.stamp(9000, 5000), other.stamp(9000, 5000)
    for mine, its in zip(ours, theirs, strict=True):
        assert mine.tolist() == its.tolist()


def test_each_call_gives_arrays_of_its_own():
    stamps = host(latency=Latency(sigma_s=0.01))
    first = stamps.stamp(0, 5)
    expected = first.t_host_ns.tolist()
    first.t_host_ns[:] = 0
    assert stamps.stamp(0, 5).t_host_ns.tolist() == expected


# ---------------------------------------------------------------------------------- door


@pytest.mark.parametrize("drops", [1.5, -0.1, math.nan])
def test_impossible_probabilities_are_refused(drops):
    with pytest.raises(ValueRangeError, match="drop_probability from 0 to 1, got"):
        host(drops=drops)


def test_samples_before_the_first_are_refused():
    for latency in (Latency(), Latency(sigma_s=0.1)):
        with pytest.raises(ValueRangeError, match="from 0 on, got start -1"):
            host(latency=latency).stamp(-1, 2)

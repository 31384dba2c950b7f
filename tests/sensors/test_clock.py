"""The device's clock: instants by integers, exact ticks, the same for any chunking."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strapdown.errors import ValueRangeError
from strapdown.sensors.clock import SampleClock, exact, whole
from strapdown.sensors.noise import DEVICE, NoiseKey, Process, normals
from strapdown.sensors.spec import Clock

KEY = NoiseKey(20, 7)
EVERYTHING = Clock(
    rate_error_ppm=-35.0,
    ageing_ppm_per_s=1e-3,
    walk_ppm=0.5,
    jitter_s=2e-4,
    tick_s=39.0625e-6,
    tick_bits=24,
)


def joined(parts):
    return np.concatenate(list(parts))


def partition(total, rng):
    """Return (start, count) of random chunks, one of a single row among them."""
    cuts = np.unique(np.concatenate(([0, 1, total], rng.integers(0, total, 12))))
    return [(int(a), int(b - a)) for a, b in pairwise(cuts)]


# ---------------------------------------------------------------------------------- instants


@given(
    rate=st.fractions(min_value=Fraction(1, 100), max_value=100_000, max_denominator=10_007),
    start=st.integers(0, 10**12),
)
def test_instants_of_a_perfect_clock_are_the_correctly_rounded_quotients(rate, start):
    instants = SampleClock(Clock(), rate, KEY).instants(start, 5)
    assert instants.tolist() == [float(Fraction(k) / rate) for k in range(start, start + 5)]


def test_instants_are_exact_where_products_leave_53_bits():
    rate = Fraction(10**15 + 1, 3 * 10**12)
    instants = SampleClock(Clock(), rate, KEY).instants(10**9, 3)
    assert instants.tolist() == [float(k / rate) for k in range(10**9, 10**9 + 3)]


def test_a_float_rate_stands_for_its_decimal_form():
    assert SampleClock(Clock(), 0.1, KEY).instants(3, 1).tolist() == [30.0]
    assert exact(39.0625e-6) == Fraction(5, 128_000)
    assert exact(np.float64(0.1)) == Fraction(1, 10)


def test_the_start_shifts_all_instants():
    assert SampleClock(Clock(), 4, KEY, start_s=2.5).instants(0, 3).tolist() == [2.5, 2.75, 3.0]


def test_regression_recovers_the_rate_error():
    t_s = SampleClock(Clock(rate_error_ppm=40.0), 200, KEY).instants(0, 20_000)
    slope = np.polynomial.Polynomial.fit(t_s, np.arange(20_000) / 200, 1).convert().coef[1]
    assert slope - 1.0 == pytest.approx(40e-6, abs=1e-12)


def test_regression_recovers_the_rate_error_under_jitter():
    n, jitter_s = 20_000, 1e-5
    t_s = SampleClock(Clock(rate_error_ppm=-25.0, jitter_s=jitter_s), 200, KEY).instants(0, n)
    slope = np.polynomial.Polynomial.fit(t_s, np.arange(n) / 200, 1).convert().coef[1]
    sigma = jitter_s * math.sqrt(12.0 / n) / (n / 200)
    assert slope - 1.0 == pytest.approx(-25e-6, abs=4.0 * sigma)


@pytest.mark.parametrize("ageing", [2e-3, -2e-3, 1e-9])
def test_an_ageing_clock_is_quadratic_in_true_time(ageing):
    clock = SampleClock(Clock(rate_error_ppm=100.0, ageing_ppm_per_s=ageing), 10, KEY)
    for k in (0, 1, 999, 1_000_000):
        t = Fraction(clock.instants(k, 1)[0])
        e0, a = Fraction(100, 10**6), Fraction(ageing) / 10**6
        device_s = (1 + e0) * t + a * t * t / 2
        assert float(device_s) == pytest.approx(k / 10, rel=4e-16, abs=0.0)


def test_a_clock_that_ageing_stops_is_an_error():
    clock = SampleClock(Clock(ageing_ppm_per_s=-1e4), 1, KEY)
    with pytest.raises(ValueRangeError, match="ageing_ppm_per_s stops"):
        clock.instants(0, 60)


# ---------------------------------------------------------------------------------- walk


def test_the_walk_follows_its_recursion():
    n, rate, walk_ppm = 9_000, 50.0, 30.0
    clock = SampleClock(Clock(rate_error_ppm=12.0, walk_ppm=walk_ppm), 50, KEY)
    noise = normals(KEY, DEVICE, Process.CLOCK_WALK, 0, n).astype(float)
    noise[0] = 0.0  # the walk begins at zero
    error = 12e-6 + np.cumsum(walk_ppm * 1e-6 / math.sqrt(rate) * noise)
    expected = np.concatenate(([0.0], np.cumsum(1.0 / rate / (1.0 + error))[:-1]))
    np.testing.assert_allclose(clock.instants(0, n), expected, rtol=0.0, atol=2e-12)


@pytest.mark.parametrize("rate", [20, 500])
def test_the_variance_of_the_walk_grows_with_time_and_not_with_the_rate(rate):
    walk_ppm, n = 2.0, 20_000
    clock = SampleClock(Clock(walk_ppm=walk_ppm), rate, KEY)
    error_ppm = 1e6 * (1.0 / (rate * np.diff(clock.instants(0, n))) - 1.0)
    assert abs(error_ppm[0]) < 1e-5  # begins at 0
    steps = np.diff(error_ppm)
    per_second = steps.var() * rate
    assert per_second == pytest.approx(walk_ppm**2, rel=4.0 * math.sqrt(2.0 / n))
    assert abs(np.mean(steps[1:] * steps[:-1])) < 4.0 / math.sqrt(n) * steps.var()


# ---------------------------------------------------------------------------------- jitter


def test_jitter_is_white_and_does_not_accumulate():
    n, jitter_s = 20_000, 1e-4
    clock = SampleClock(Clock(rate_error_ppm=5.0, jitter_s=jitter_s), 100, KEY)
    jitter = clock.instants(0, n) - SampleClock(Clock(rate_error_ppm=5.0), 100, KEY).instants(0, n)
    for half in (jitter[: n // 2], jitter[n // 2 :]):
        assert half.std() == pytest.approx(jitter_s, rel=4.0 / math.sqrt(n))
        assert abs(half.mean()) < 4.0 * jitter_s / math.sqrt(n / 2)
    assert abs(np.mean(jitter[1:] * jitter[:-1])) < 4.0 / math.sqrt(n) * jitter_s**2


@given(jitter=st.floats(1e-6, 10.0), m=st.integers(1, 5), ppm=st.floats(-500_000.0, 500_000.0))
@settings(max_examples=25)
def test_instants_increase_however_large_the_jitter(jitter, m, ppm):
    clock = SampleClock(
        Clock(rate_error_ppm=ppm, jitter_s=jitter), 100, KEY, oversampling=m, start_s=3.0
    )
    assert (np.diff(clock.edges(0, 300)) > 0.0).all()


# ---------------------------------------------------------------------------------- internal


@pytest.mark.parametrize("clock", [Clock(), EVERYTHING], ids=["perfect", "everything"])
@pytest.mark.parametrize("m", [1, 4, 7])
def test_the_last_internal_instant_is_the_output_instant(clock, m):
    clock = SampleClock(clock, 200, KEY, oversampling=m, start_s=1.0)
    for start in (0, 4090, 9001):
        internal = clock.internal_instants(start, 11)
        assert internal.shape == (11 * m,)
        assert internal[m - 1 :: m].tolist() == clock.instants(start, 11).tolist()
        assert clock.edges(start, 11)[1:].tolist() == internal.tolist()


def test_internal_instants_divide_the_interval_evenly():
    clock = SampleClock(Clock(rate_error_ppm=100.0), 10, KEY, oversampling=4)
    expected = np.arange(-4, 9) / 40.0 / (1.0 + 100e-6)
    np.testing.assert_allclose(clock.edges(0, 3), expected, rtol=0.0, atol=1e-15)


def test_internal_instants_follow_the_walk():
    clock = SampleClock(Clock(walk_ppm=2000.0), 10, KEY, oversampling=3)
    steps = np.diff(clock.edges(5, 40)).reshape(-1, 3)
    np.testing.assert_allclose(steps, np.repeat(steps[:, :1], 3, axis=1), rtol=1e-12)
    assert np.ptp(steps[:, 0]) > 1e-5


def test_edges_of_neighbouring_calls_meet():
    clock = SampleClock(EVERYTHING, 200, KEY, oversampling=3)
    assert clock.edges(7, 5)[-1] == clock.edges(12, 5)[0]


# ---------------------------------------------------------------------------------- stamps


@pytest.mark.parametrize("rate", [25, 200, 1600, 2000, Fraction(6400, 7)])
def test_the_counter_has_whole_ticks_and_wraps(rate):
    # BMI088: 39.0625 us in 24 bits (data sheet BST-BMI088-DS001), so it wraps after 655.36 s.
    clock = SampleClock(Clock(rate_error_ppm=300.0, tick_s=39.0625e-6, tick_bits=24), rate, KEY)
    start = math.floor(655.36 * rate) - 3
    ticks = [math.floor(Fraction(k) / rate / Fraction(5, 128_000)) for k in range(start, start + 9)]
    assert clock.ticks(start, 9).tolist() == [count % 2**24 for count in ticks]
    assert min(ticks) < 2**24 < max(ticks)
    tick_ns = Fraction(5, 128_000) * 10**9
    expected = [math.floor(count * tick_ns + Fraction(1, 2)) for count in ticks]
    assert clock.device_ns(start, 9).tolist() == expected


def test_known_ticks_of_a_2_khz_sensor():
    clock = SampleClock(Clock(tick_s=39.0625e-6, tick_bits=24), 2000, KEY)
    assert clock.ticks(0, 6).tolist() == [0, 12, 25, 38, 51, 64]  # 12.8 ticks a sample
    assert clock.device_ns(0, 6).tolist() == [0, 468750, 976563, 1484375, 1992188, 2500000]
    assert clock.ticks(1_310_720, 1).tolist() == [0]  # 655.36 s
    assert clock.device_ns(1_310_720, 1).tolist() == [655_360_000_000]


def test_without_a_tick_the_stamp_is_the_nominal_time_of_the_device():
    clock = SampleClock(Clock(rate_error_ppm=500.0, jitter_s=0.01), 3, KEY)
    assert clock.device_ns(0, 4).tolist() == [0, 333_333_333, 666_666_667, 1_000_000_000]
    assert clock.ticks(0, 4).tolist() == clock.device_ns(0, 4).tolist()
    assert clock.device_ns(3 * 10**9, 1).tolist() == [10**18]


@given(
    values=st.lists(st.integers(0, 10**10), min_size=1, max_size=4),
    ratio=st.fractions(min_value=0, max_value=10**6),
    nearest=st.booleans(),
)
def test_whole_numbers_are_exact_for_any_fraction(values, ratio, nearest):
    half = Fraction(1, 2) if nearest else 0
    expected = [math.floor(value * ratio + half) for value in values]
    assert whole(np.array(values, np.int64), ratio, nearest=nearest).tolist() == expected


# ---------------------------------------------------------------------------------- invariance


@pytest.mark.parametrize("seed", range(4))
def test_the_same_bits_for_any_chunking(seed):
    clock = SampleClock(EVERYTHING, 200, KEY, oversampling=2)
    whole_run = clock.instants(0, 9_500), clock.internal_instants(0, 9_500)
    stamps = clock.ticks(0, 9_500), clock.device_ns(0, 9_500)
    chunks = partition(9_500, np.random.default_rng(seed))
    again = SampleClock(EVERYTHING, 200, KEY, oversampling=2)
    calls = again.instants, again.internal_instants, again.ticks, again.device_ns
    for call, expected in zip(calls, (*whole_run, *stamps), strict=True):
        assert joined(call(a, n) for a, n in chunks).tobytes() == expected.tobytes()


def test_going_back_and_ahead_gives_the_same_bits():
    clock = SampleClock(EVERYTHING, 200, KEY)
    t_s = clock.instants(0, 90_000)
    for start in (89_000, 0, 65_530, 4_095, 50_000, 70_000):
        assert clock.instants(start, 7).tolist() == t_s[start : start + 7].tolist()


def test_a_restored_clock_goes_on_with_the_same_bits():
    clock = SampleClock(EVERYTHING, 200, KEY)
    t_s = clock.instants(0, 30_000)
    clock.instants(20_000, 1)
    state = json.loads(json.dumps(clock.state()))
    other = SampleClock(EVERYTHING, 200, KEY)
    other.restore(state)
    assert other.instants(20_001, 9_999).tolist() == t_s[20_001:].tolist()
    assert other.instants(3, 5).tolist() == t_s[3:8].tolist()


def test_a_clock_without_a_walk_has_no_state():
    clock = SampleClock(Clock(rate_error_ppm=3.0, jitter_s=1e-4), 200, KEY)
    t_s = clock.instants(500, 9).tolist()
    assert clock.state() == []
    clock.restore([])
    assert clock.instants(500, 9).tolist() == t_s


def test_compiled_noise_gives_the_same_bits():
    plain, compiled = (SampleClock(EVERYTHING, 200, KEY, compiled=c) for c in (False, True))
    assert plain.instants(0, 5_000).tobytes() == compiled.instants(0, 5_000).tobytes()


def test_an_empty_request_gives_nothing():
    clock = SampleClock(EVERYTHING, 200, KEY)
    assert clock.instants(5, 0).shape == (0,)
    assert clock.ticks(5, 0).shape == (0,)


@pytest.mark.parametrize(
    ("rate", "m", "message"),
    [
        (0, 1, "rate_hz above 0, got 0"),
        (math.nan, 1, "rate_hz above 0, got nan"),
        (10, 0, "oversampling of 1 or more, got 0"),
    ],
)
def test_impossible_rates_are_refused(rate, m, message):
    with pytest.raises(ValueRangeError, match=message):
        SampleClock(Clock(), rate, KEY, oversampling=m)


def test_samples_before_the_first_are_refused():
    clock = SampleClock(Clock(), 10, KEY)
    for call in (clock.instants, clock.internal_instants, clock.edges, clock.ticks):
        with pytest.raises(ValueRangeError, match="from 0 on, got start -1"):
            call(-1, 2)

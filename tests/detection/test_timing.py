"""Faults of clocks."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.detection import TimingDetector, TimingParams
from strapdown.series import ImuSeries

STEP_NS = 5_000_000


def series_at(t_ns):
    t_ns = np.asarray(t_ns, np.int64)
    return ImuSeries(t_ns, np.ones((len(t_ns), 3)), np.ones((len(t_ns), 3)))


def regular(count=4000):
    return np.arange(count) * STEP_NS


def found_in(t_ns, params=None):
    detector = TimingDetector(params)
    events = list(detector.run(series_at(t_ns)))
    last = detector.finish()
    return events if last is None else [*events, last]


def test_a_regular_clock_is_well():
    assert found_in(regular()) == []
    assert found_in(regular(), TimingParams(rate_hz=200.0)) == []


@pytest.mark.parametrize(
    ("missing", "flags"), [(3, None), (6, {"late"}), (100, {"late"}), (210, {"late", "lost"})]
)
def test_a_gap_is_late_after_five_intervals_and_lost_after_a_second(missing, flags):
    t_ns = np.delete(regular(), slice(2000, 2000 + missing))
    events = found_in(t_ns)
    if flags is None:
        assert events == []
        return
    (event,) = events
    assert event.flags == flags
    assert (event.t_start_ns, event.t_end_ns) == (1999 * STEP_NS, (2000 + missing) * STEP_NS)
    assert event.values["longest_gap_s"] == pytest.approx((missing + 1) * 0.005)


def test_a_fast_sensor_is_not_late_before_20_ms():
    t_ns = np.arange(20_000) * 1_000_000
    assert found_in(np.delete(t_ns, slice(9000, 9018))) == []
    assert found_in(np.delete(t_ns, slice(9000, 9021)))[0].flags == {"late"}


def test_a_pause_of_more_than_ten_seconds_is_lost():
    t_ns = regular()
    t_ns[2000:] += 60_000_000_000
    (event,) = found_in(t_ns)
    assert event.flags == {"late", "lost"}
    assert event.values["longest_gap_s"] == pytest.approx(60.005)


def test_stamps_that_repeat_or_go_back_are_counted():
    t_ns = regular()
    t_ns[2000:2003] = t_ns[1999]
    t_ns[2010] -= 12_000_000
    (event,) = found_in(t_ns)
    assert event.flags == {"duplicate", "backward"}
    assert (event.values["duplicates"], event.values["backward"]) == (3.0, 1.0)


def test_a_clock_that_starts_again_is_backward():
    t_ns = np.concatenate([regular(2000), regular(2000)])
    (event,) = found_in(t_ns)
    assert event.flags == {"backward"}
    assert event.t_start_ns == 0


@pytest.mark.parametrize("share", [-0.10, -0.06, -0.04, 0.04, 0.06, 0.10])
@pytest.mark.parametrize("declared", [False, True])
def test_a_rate_that_is_off_by_more_than_five_percent_is_found(share, declared):
    slow = np.round(np.arange(400) * STEP_NS / (1 + share)).astype(np.int64)
    t_ns = np.concatenate([regular(2000), 2000 * STEP_NS + slow])
    events = found_in(t_ns, TimingParams(rate_hz=200.0) if declared else None)
    if abs(share) < 0.05:
        assert events == []
        return
    (event,) = events
    assert event.flags - {"open"} == {"rate"}
    assert event.values["rate_error"] == pytest.approx(share, rel=0.2)
    assert 0.9 < (event.t_decided_ns - 2000 * STEP_NS) / 1e9 <= 2.1


@pytest.mark.parametrize(("share", "is_jitter"), [(0.005, False), (0.03, True)])
def test_jitter_is_a_percent_of_intervals_that_are_a_fifth_off(share, is_jitter):
    rng = np.random.default_rng(1)
    t_ns = regular(10_000)
    # A stamp that is late makes one interval longer and the next shorter.
    late = rng.random(len(t_ns)) < share / 2
    t_ns = t_ns + late * round(0.3 * STEP_NS)
    events = found_in(t_ns)
    assert bool(events) == is_jitter
    if events:
        assert all("jitter" in event.flags for event in events)
        assert events[0].values["jitter_share"] == pytest.approx(share, rel=0.5)


def test_even_noise_of_stamps_below_a_fifth_is_no_jitter():
    rng = np.random.default_rng(2)
    noise = np.round(rng.uniform(-0.08, 0.08, 10_000) * STEP_NS).astype(np.int64)
    assert found_in(regular(10_000) + noise) == []


def test_a_timer_learns_once_that_a_sample_is_late_and_once_that_it_is_lost():
    detector = TimingDetector()
    assert detector.check(10**12) is None
    detector.run(series_at(regular(1000)))
    last = 999 * STEP_NS
    assert detector.check(last + 24_000_000) is None
    late = detector.check(last + 26_000_000)
    assert late.flags == {"late", "open"}
    assert (late.t_start_ns, late.t_decided_ns) == (last, last + 26_000_000)
    assert late.values == {"longest_gap_s": pytest.approx(0.026)}
    assert detector.check(last + 500_000_000) is None
    assert detector.check(last + 1_001_000_000).flags == {"late", "lost", "open"}
    assert detector.check(last + 5_000_000_000) is None
    detector.run(series_at(regular(10) + last + 6_000_000_000))
    assert detector.check(last + 6_000_000_000 + 10 * STEP_NS) is None
    assert detector.check(last + 7_000_000_000).flags == {"late", "open"}


@pytest.mark.data
def test_recordings_have_no_late_samples(recordings, static_log):
    for name, series in [*recordings.items(), ("static", static_log)]:
        assert found_in(series.t_ns) == [], name

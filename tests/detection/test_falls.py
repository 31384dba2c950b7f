"""Falls of people."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.detection import FALL_PRESETS, FallDetector, FallParams, FallScore
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.series import ImuSeries

G = 9.80665
some_seeds = pytest.mark.parametrize("seeds", [100, pytest.param(500, marks=pytest.mark.slow)])
APART_NS = 60_000_000_000  # longer than any gap that is bridged: the detector starts anew


def in_a_row(recordings):
    """Join recordings so far apart that none knows of another; return where each begins."""
    starts = np.arange(len(recordings)) * APART_NS
    moved = [
        series.replace(t_ns=series.t_ns + start)
        for series, start in zip(recordings, starts, strict=True)
    ]
    return ImuSeries.concatenate(moved), starts


def share_with_a_fall(kind, seeds, params=None):
    series, starts = in_a_row([kind(seed) for seed in range(seeds)])
    detector = FallDetector(params, compiled=True)
    events = detector.run(series).filter("fall")
    assert detector.report.restarts == seeds - 1
    hit = np.zeros(seeds, bool)
    hit[np.searchsorted(starts, events.t_end_ns, side="right") - 1] = True
    return hit.mean()


@some_seeds
def test_simulated_falls_are_found(people, seeds):
    assert share_with_a_fall(people["fall"], seeds) >= 0.98


@some_seeds
@pytest.mark.parametrize(
    "kind", ["sit_down", "jump", "climb_stairs", "lie_down", "stumble", "drop_device"]
)
def test_what_is_no_fall_is_not_reported(people, kind, seeds):
    assert share_with_a_fall(people[kind], seeds) <= 0.02


@pytest.mark.parametrize("preset", sorted(set(FALL_PRESETS) - {"waist"}))
def test_every_preset_finds_hard_falls(people, preset):
    assert share_with_a_fall(people["fall"], 100, FALL_PRESETS[preset]) >= 0.95


def test_a_device_left_on_the_floor_is_reported_and_flagged(people):
    events = FallDetector().run(people["drop_device"](2, leave=True)).filter("fall")
    assert len(events) == 1
    assert events[0].flags == {"free_fall"}


def test_a_fall_of_a_person_is_not_flagged_as_one_of_a_device(people):
    series, _ = in_a_row([people["fall"](seed) for seed in range(100)])
    events = FallDetector().run(series).filter("fall")
    assert events.flags["free_fall"].sum() == 0


def simple_fall(rate_hz, *, angle_deg=90.0, peak_g=5.0, low_g=0.4, seconds=9.0):
    """One g along z, low from 3.7 s to 4 s, one high sample at 4 s, then another posture."""
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    angle = np.radians(angle_deg) * (t > 4.0)
    size = np.where((t >= 3.7) & (t < 4.0), low_g, 1.0)
    size[np.argmin(np.abs(t - 4.0))] = peak_g
    force = G * size[:, None] * np.stack([np.sin(angle), 0 * t, np.cos(angle)], axis=1)
    return ImuSeries(np.round(t * 1e9).astype(np.int64), np.zeros((len(t), 3)), force)


@pytest.mark.parametrize("rate_hz", [20, 50, 100, 200, 1000])
def test_an_event_says_when_how_hard_and_how_far(rate_hz):
    series = simple_fall(rate_hz)
    (event,) = FallDetector().run(series)
    assert event.kind == "fall"
    assert event.t_end_ns == 4_000_000_000
    assert event.t_start_ns == 3_700_000_000
    assert event.t_decided_ns == 6_000_000_000  # two seconds of latency, to the sample
    assert event.values["peak_m_s2"] == pytest.approx(5.0 * G)
    assert event.values["low_m_s2"] == pytest.approx(0.4 * G)
    assert event.values["low_duration_s"] == pytest.approx(0.3, abs=1.1 / rate_hz)
    assert event.values["angle_rad"] == pytest.approx(np.pi / 2, abs=1e-9)


def test_the_horizontal_spread_is_that_of_a_low_passed_second():
    """A horizontal oscillation well below 5 Hz, of amplitude A, has a deviation of A / sqrt(2)."""
    series = simple_fall(200, angle_deg=60.0)
    t = series.t_ns * 1e-9
    swing = 20.0 * np.sin(2 * np.pi * 1.0 * t) * ((t > 3.0) & (t < 4.0))
    force = series.specific_force + np.outer(swing, [0.0, 1.0, 0.0])
    (event,) = FallDetector().run(series.replace(specific_force=force))
    assert event.values["horizontal_std_m_s2"] == pytest.approx(20.0 / np.sqrt(2.0), rel=0.06)


@pytest.mark.parametrize(
    ("change", "falls"),
    [
        ({}, 1),
        ({"angle_deg": 40.0}, 0),
        ({"angle_deg": 50.0}, 1),
        ({"peak_g": 2.4}, 0),
        ({"peak_g": 2.6}, 1),
        ({"low_g": 0.75}, 0),
        ({"low_g": 0.65}, 1),
    ],
)
def test_low_impact_and_tilt_are_all_demanded(change, falls):
    assert len(FallDetector().run(simple_fall(200, **change))) == falls


def test_below_40_hz_a_lower_peak_is_enough():
    assert len(FallDetector().run(simple_fall(20, peak_g=2.0))) == 1
    assert len(FallDetector().run(simple_fall(200, peak_g=2.0))) == 0


def test_a_larger_peak_within_a_second_moves_the_event():
    series = simple_fall(100, seconds=10.0)
    force = series.specific_force.copy()
    force[450] *= 8.0  # 4.5 s: within a second, and larger
    (event,) = FallDetector().run(series.replace(specific_force=force))
    assert event.t_end_ns == 4_500_000_000
    assert event.values["peak_m_s2"] == pytest.approx(8.0 * G)


def test_a_second_impact_within_a_reported_fall_is_swallowed():
    series = simple_fall(100, seconds=10.0)
    force = series.specific_force.copy()
    force[550] *= 3.0
    events = FallDetector().run(series.replace(specific_force=force))
    assert events.t_end_ns.tolist() == [4_000_000_000]


def test_a_rejected_peak_does_not_hide_the_fall_after_it():
    """The first peak comes without a low phase; the fall begins 1.5 s later."""
    series = simple_fall(100, seconds=10.0)
    force = series.specific_force.copy()
    force[250] *= 9.0
    events = FallDetector().run(series.replace(specific_force=force))
    assert events.t_end_ns.tolist() == [4_000_000_000]


def test_a_saturated_peak_is_flagged():
    series = simple_fall(100)
    clipping = (np.linalg.norm(series.specific_force, axis=1) > 4.0 * G).astype(np.uint8)
    (event,) = FallDetector().run(series.replace(accel_clipping=clipping))
    assert event.flags == {"clipped"}


@pytest.mark.parametrize(("start", "stop"), [(2.2, 2.6), (3.05, 3.4), (5.2, 5.6)])
def test_too_little_data_leaves_a_candidate_undecided(start, stop):
    series = simple_fall(100)
    t = series.t_ns * 1e-9
    force = np.where(((t > start) & (t < stop))[:, None], np.nan, series.specific_force)
    detector = FallDetector()
    assert len(detector.run(series.replace(specific_force=force))) == 0
    assert detector.report.undecided == 1


def test_a_few_lost_samples_change_nothing():
    series = simple_fall(100)
    keep = np.ones(len(series), bool)
    keep[[220, 221, 333, 520, 521, 522]] = False
    assert len(FallDetector().run(series[keep])) == 1


def test_a_recording_that_ends_too_soon_leaves_a_candidate_undecided():
    detector = FallDetector()
    assert len(detector.run(simple_fall(100, seconds=5.5))) == 0
    assert detector.finish() is None
    assert detector.report.undecided == 1


def test_a_recording_that_ends_a_little_too_soon_is_enough():
    detector = FallDetector()
    assert len(detector.run(simple_fall(100, seconds=5.9))) == 0
    event = detector.finish()
    assert (event.kind, event.t_end_ns, event.t_decided_ns) == (
        "fall",
        4_000_000_000,
        5_890_000_000,
    )
    assert detector.finish() is None


def test_lying_still_after_a_fall_is_an_event_of_its_own():
    fall, lie = FallDetector().run(simple_fall(100, seconds=20.0))
    assert (fall.kind, lie.kind) == ("fall", "long_lie")
    assert lie.duration_s == pytest.approx(10.0, abs=0.011)
    assert lie.t_decided_ns == lie.t_end_ns
    assert lie.values == {"since_fall_s": (lie.t_end_ns - fall.t_end_ns) / 1e9}


def test_who_gets_up_or_moves_does_not_lie_long():
    series = simple_fall(100, seconds=40.0)
    t = series.t_ns * 1e-9
    up = np.where((t > 10.0)[:, None], [0.0, 0.0, G], series.specific_force)
    moving = series.specific_force + np.outer(2.0 * np.sin(7.0 * t) * (t > 6.0), [0.0, 1.0, 0.0])
    for force in (up, moving):
        events = FallDetector().run(series.replace(specific_force=force))
        assert events.counts == {"fall": 1}


def test_a_score_learns_what_a_rule_cannot_tell(people):
    """Falls against devices that are left on the floor: low, impact and tilt are in both."""
    drops = [people["drop_device"](seed, leave=True) for seed in range(60)]
    falls = [people["fall"](seed) for seed in range(60)]
    law = FallScore.fit(falls[:30] + drops[:30], [True] * 30 + [False] * 30)
    found = [len(FallDetector(score=law).run(s).filter("fall")) > 0 for s in falls[30:]]
    wrong = [len(FallDetector(score=law).run(s).filter("fall")) > 0 for s in drops[30:]]
    assert np.mean(found) >= 0.9
    assert np.mean(wrong) <= 0.1
    (event, *_) = FallDetector(score=law).run(falls[30])
    logit = law.offset + np.dot(law.weights, [event.values[name] for name in law.FEATURES])
    assert event.values["score"] == pytest.approx(1.0 / (1.0 + np.exp(-logit)))


def test_the_fit_is_the_penalised_maximum_likelihood(people):
    """At the maximum the gradient is zero: here in terms of standardised features."""
    recordings = [people["fall"](s) for s in range(8)] + [people["jump"](s) for s in range(8)]
    labels = np.array([True] * 8 + [False] * 8)
    law = FallScore.fit(recordings, labels)
    every = FallDetector(score=FallScore((0.0,) * 6, 500.0))
    rows = []
    for series in recordings:
        every.reset()
        events = every.run(series).filter("fall")
        largest = events[int(np.argmax(events.values["peak_m_s2"]))]
        rows.append([largest.values[name] for name in law.FEATURES])
    features = np.array(rows)
    scale = features.std(axis=0)
    p = 1.0 / (1.0 + np.exp(-(features @ np.array(law.weights) + law.offset)))
    standardised = (features - features.mean(axis=0)) / scale
    gradient = standardised.T @ (labels - p) - np.array(law.weights) * scale
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)


def test_a_fit_refuses_what_teaches_nothing(people):
    with pytest.raises(ShapeError, match="labels"):
        FallScore.fit([people["fall"](0)], [True, False])
    with pytest.raises(ValueRangeError, match="both kinds"):
        FallScore.fit([people["fall"](0)], [True])
    with pytest.raises(ShapeError, match="6 weights"):
        FallScore((1.0,), 0.0)


def test_parameters_are_checked():
    with pytest.raises(ValueRangeError, match="coverage"):
        FallParams(coverage=1.2)
    with pytest.raises(ValueRangeError, match="angle_rad"):
        FallParams(angle_rad=-1.0)


@pytest.mark.data
def test_walks_and_rooms_hold_no_fall_and_a_board_in_the_hand_some(recordings):
    found = {name: len(FallDetector().run(s).filter("fall")) for name, s in recordings.items()}
    expected = {"broad 08": 2, "broad 24": 4, "broad 29": 3}
    assert {name: count for name, count in found.items() if count} == expected


@pytest.mark.data
def test_a_static_log_holds_no_fall(static_log):
    assert len(FallDetector().run(static_log)) == 0

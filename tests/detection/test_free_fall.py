"""Free fall of devices."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.detection import FreeFallDetector, FreeFallParams, is_freefall
from strapdown.messages import Imu
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

G = 9.80665


def drop(height_m, rate_hz, *, seed=0, bias_g=0.1, spin_rad_s=0.0):
    """Rest, a fall from a height, an impact; with a bias, noise, and perhaps a spin."""
    rng = np.random.default_rng(seed)
    falls_s = np.sqrt(2.0 * height_m / G)
    t = np.arange(0.0, 1.5 + falls_s, 1.0 / rate_hz) + rng.uniform(0.0, 1.0 / rate_hz)
    falling = (t >= 1.0) & (t < 1.0 + falls_s)
    after = np.clip(t - 1.0 - falls_s, 0.0, None)
    hit = np.where((after > 0.0) & (after < 0.03), 20.0 * G, 0.0)
    force = np.where(falling, 0.0, G + hit)[:, None] * np.array([0.0, 0.6, 0.8])
    rate = np.where(falling, spin_rad_s, 0.0)[:, None] * np.array([0.0, 0.0, 1.0])
    force -= (rate**2).sum(axis=1)[:, None] * np.array([0.03, 0.0, 0.0])  # w x (w x r)
    bias = rng.normal(size=3)
    force += bias_g * G * bias / np.linalg.norm(bias)
    force += 0.05 * rng.normal(size=force.shape)
    return ImuSeries(np.round(t * 1e9).astype(np.int64), rate, force), falls_s


@pytest.mark.parametrize("lever_arm_m", [None, (0.03, 0.0, 0.0)])
@pytest.mark.parametrize("spin_rad_s", [0.0, 10.0])
@pytest.mark.parametrize("rate_hz", [50, 100, 200, 400, 800, 1600])
@pytest.mark.by_default(
    "50-0.0-None",
    "50-10.0-lever_arm_m1",
    "100-10.0-None",
    "200-0.0-lever_arm_m1",
    "400-10.0-lever_arm_m1",
    "800-0.0-None",
    "1600-0.0-None",
    "1600-10.0-lever_arm_m1",
)
def test_every_drop_of_10_cm_and_more_is_found_and_measured(rate_hz, spin_rad_s, lever_arm_m):
    params = FreeFallParams(lever_arm_m=lever_arm_m)
    for height_m in (0.1, 0.2, 0.5, 1.0, 2.0):
        for seed in range(10):
            series, falls_s = drop(height_m, rate_hz, seed=seed, spin_rad_s=spin_rad_s)
            (event,) = FreeFallDetector(params, compiled=True).run(series)
            assert "impact" in event.flags
            # Between samples nobody sees: each end is known to half an interval.
            coarse = (1.0 + 1.0 / (rate_hz * falls_s)) ** 2 - 1.0
            assert abs(event.values["height_m"] / height_m - 1.0) < max(0.1, coarse + 1e-9)


@pytest.mark.parametrize("rate_hz", [50, 200, 1600])
def test_drops_of_half_the_least_height_are_not_reported(rate_hz):
    for seed in range(10):
        assert len(FreeFallDetector().run(drop(0.025, rate_hz, seed=seed)[0])) == 0


def slow(size_g, *, rate_hz=200):
    """A second of rest, then magnitudes in g, one a sample, then rest."""
    size = np.concatenate([np.ones(rate_hz), np.asarray(size_g), np.ones(rate_hz)])
    force = np.outer(size * G, [0.0, 0.0, 1.0])
    t_ns = np.arange(len(size)) * (1_000_000_000 // rate_hz)
    return ImuSeries(t_ns, np.zeros_like(force), force)


def test_an_event_begins_with_its_first_low_sample_and_is_certain_after_the_latency():
    series = slow([0.02] * 60)
    (event,) = FreeFallDetector().run(series)
    assert event.t_start_ns == 1_000_000_000
    assert event.t_end_ns == 1_000_000_000 + 59 * 5_000_000
    assert event.t_decided_ns - event.t_start_ns == pytest.approx(0.1e9, abs=5e6)
    assert event.values["fall_time_s"] == pytest.approx(60 * 0.005)
    assert event.values["height_m"] == pytest.approx(0.5 * G * 0.3**2)
    assert event.values["minimum_m_s2"] == pytest.approx(0.02 * G)
    assert event.values["mean_m_s2"] == pytest.approx(0.02 * G)
    assert "rotation_m_s2" not in event.values
    assert event.flags == set()


def test_a_stream_knows_of_a_fall_while_it_lasts():
    series, detector = slow([0.0] * 60), FreeFallDetector()
    known = []
    for t_ns, force in zip(series.t_ns.tolist(), series.specific_force.tolist(), strict=True):
        detector.update(ImuSample(t_ns, (0.0, 0.0, 0.0), force))
        known.append(detector.falling)
    assert not any(known[: 200 + 19])
    assert all(known[200 + 20 : 200 + 60])
    assert not any(known[200 + 64 :])


@pytest.mark.parametrize(
    ("size_g", "events"),
    [
        ([0.34] * 30, 1),
        ([0.36] * 30, 0),
        ([0.0] * 30 + [0.5] * 20 + [0.0] * 30, 1),  # below the release: goes on
        ([0.0] * 30 + [0.6] * 20 + [0.0] * 30, 2),  # above it, for long
        ([0.0] * 30 + [2.0] * 2 + [0.0] * 30, 1),  # a spike of 10 ms
        ([0.0] * 30 + [2.0] * 3 + [0.0] * 30, 2),
        ([0.0] * 10 + [0.5] + [0.0] * 10, 0),  # not before it is certain
    ],
)
def test_threshold_release_and_spikes(size_g, events):
    assert len(FreeFallDetector().run(slow(size_g))) == events


def test_what_began_by_a_throw_or_ended_by_an_impact_says_so():
    thrown = slow([2.0] * 10 + [1.0] * 10 + [0.0] * 40)
    long_ago = slow([2.0] * 10 + [1.0] * 70 + [0.0] * 40)
    dropped = slow([0.0] * 40 + [6.0] * 4)
    touched = slow([0.0] * 40 + [2.0] * 4)
    found = [FreeFallDetector().run(s)[0].flags for s in (thrown, long_ago, dropped, touched)]
    assert found == [{"thrown"}, set(), {"impact"}, set()]
    assert FreeFallDetector().run(dropped)[0].values["impact_m_s2"] == pytest.approx(6.0 * G)


def test_a_short_impact_that_rings_ends_the_fall_at_once():
    """Two samples of 12 g at 1600 Hz, then low samples between high ones: no spike in the air."""
    series = slow([0.0] * 480 + [12.0] * 2 + [0.1, 2.0] * 4, rate_hz=1600)
    (event,) = FreeFallDetector().run(series)
    assert event.flags == {"impact"}
    assert event.values["impact_m_s2"] == pytest.approx(12.0 * G)
    assert event.values["fall_time_s"] == pytest.approx(0.3)


def test_a_saturated_impact_is_flagged():
    series = slow([0.0] * 40 + [6.0] * 4)
    bits = (series.specific_force[:, 2] > 5.0 * G) * np.uint8(4)
    (event,) = FreeFallDetector().run(series.replace(accel_clipping=bits))
    assert event.flags == {"impact", "clipped"}


def test_a_lever_arm_explains_what_a_spinning_device_reads():
    series, _ = drop(1.0, 200, bias_g=0.0, spin_rad_s=20.0)
    assert len(FreeFallDetector().run(series)) == 0  # 12 m/s^2
    (event,) = FreeFallDetector(FreeFallParams(lever_arm_m=(0.03, 0.0, 0.0))).run(series)
    assert event.values["rotation_m_s2"] == pytest.approx(12.0, rel=0.01)
    assert event.values["turn_rate_rad_s"] == pytest.approx(20.0, rel=0.01)
    assert event.values["mean_m_s2"] < 0.2


def test_lost_samples_are_bridged_and_holes_end_a_fall():
    series = slow([0.0] * 80)
    keep = np.ones(len(series), bool)
    keep[230:233] = False
    (whole,) = FreeFallDetector().run(series[keep])
    assert whole.duration_s == pytest.approx(79 * 0.005)
    keep[230:240] = False
    (part,) = FreeFallDetector().run(series[keep]).filter(flag="gap")
    assert part.t_end_ns == series.t_ns[229]
    blind = np.where(keep[:, None], series.specific_force, np.nan)
    (blinded,) = FreeFallDetector().run(series.replace(specific_force=blind)).filter(flag="gap")
    assert blinded == part


def test_a_fall_that_the_data_end_in_is_open():
    detector = FreeFallDetector()
    assert len(detector.run(slow([0.0] * 60)[:240])) == 0
    event = detector.finish()
    assert event.flags == {"open"}
    assert event.duration_s == pytest.approx(39 * 0.005)
    assert detector.finish() is None


def test_the_rule_of_one_sample():
    assert is_freefall(ImuSample(0, None, (0.5, 0.5, 0.5)))
    assert not is_freefall(ImuSample(0, None, (1.0, 0.0, 0.0)))
    assert is_freefall(ImuSample(0, None, (1.0, 0.0, 0.0)), threshold=1.5)
    assert not is_freefall(ImuSample(0, None, None))
    assert not is_freefall(ImuSample(0, None, (float("nan"), 0.0, 0.0)))
    assert is_freefall(Imu(0.0, 0.0, 0.9, 0.0, 0.0, 0.0))
    assert not is_freefall(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0))


@pytest.mark.data
def test_recordings_hold_the_free_falls_that_were_counted_in_them(recordings):
    found = {name: FreeFallDetector().run(series) for name, series in recordings.items()}
    counts = {name: len(events) for name, events in found.items() if len(events)}
    assert counts == {"broad 16": 12, "walk 2017-11-22-11-49-03": 1}
    times = {name: found[name].values["fall_time_s"].max() for name in counts}
    assert times["broad 16"] == pytest.approx(0.42, abs=0.005)
    assert times["walk 2017-11-22-11-49-03"] == pytest.approx(0.105, abs=0.001)


@pytest.mark.data
def test_a_static_log_holds_no_free_fall(static_log):
    assert len(FreeFallDetector().run(static_log)) == 0

"""Impacts."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.detection import ImpactDetector, ImpactParams
from strapdown.series import ImuSeries

G = 9.80665
ALONG = np.array([0.6, 0.0, 0.8])


def knocks(*pulses, rate_hz=1600, seconds=3.0):
    """Rest along z, and half sines (start, length [s], peak [m/s^2]) along a slanted axis."""
    t = np.arange(0.0, seconds, 1.0 / rate_hz)
    push = np.zeros(len(t))
    for start, length, peak in pulses:
        phase = (t - start) / length
        push += np.where((phase > 0) & (phase < 1), peak * np.sin(np.pi * phase), 0.0)
    force = np.array([0.0, 0.0, G]) + push[:, None] * ALONG
    return ImuSeries(np.round(t * 1e9).astype(np.int64), np.zeros_like(force), force)


def test_a_half_sine_is_measured():
    """Area 2/pi of peak times length; above half for 2/3 of its length."""
    peak, length = 120.0, 0.02
    (event,) = ImpactDetector().run(knocks((1.0, length, peak)))
    v = event.values
    vector = np.array([v["peak_x_m_s2"], v["peak_y_m_s2"], v["peak_z_m_s2"]])
    np.testing.assert_allclose(vector, [0.0, 0.0, G] + peak * ALONG, rtol=1e-3, atol=1e-9)
    assert v["peak_m_s2"] == pytest.approx(np.linalg.norm(vector))
    change = np.array([v[f"delta_velocity_{axis}_m_s"] for axis in "xyz"])
    np.testing.assert_allclose(change, 2 / np.pi * peak * length * ALONG, rtol=0.02, atol=1e-9)
    direction = np.array([v[f"direction_{axis}"] for axis in "xyz"])
    np.testing.assert_allclose(direction, ALONG, atol=1e-3)
    assert v["half_duration_s"] == pytest.approx(2 / 3 * length, rel=0.05)
    assert v["bandwidth_hz"] == pytest.approx(800.0)
    assert event.t_start_ns + v["peak_after_s"] * 1e9 == pytest.approx(1.01e9, abs=1e6)
    assert event.duration_s <= length
    assert event.t_decided_ns <= event.t_end_ns
    assert event.flags == set()


@pytest.mark.parametrize("rate_hz", [100, 200, 400, 1600])
def test_the_change_of_velocity_does_not_depend_on_the_rate(rate_hz):
    """As the peak of a short pulse does; at 100 Hz the trapezoid itself misses 5 %."""
    (event,) = ImpactDetector().run(knocks((1.0, 0.04, 100.0), rate_hz=rate_hz))
    expected = 2 / np.pi * 100.0 * 0.04 * 0.8
    assert event.values["delta_velocity_z_m_s"] == pytest.approx(expected, rel=0.06)


def test_what_follows_within_the_merging_time_is_one_impact():
    near = knocks((1.0, 0.01, 100.0), (1.04, 0.01, 150.0))
    far = knocks((1.0, 0.01, 100.0), (1.2, 0.01, 150.0))
    (event,) = ImpactDetector().run(near)
    assert event.duration_s == pytest.approx(0.05, abs=0.003)
    peak = np.linalg.norm(ALONG * 150 + [0, 0, G])
    assert event.values["excess_m_s2"] == pytest.approx(peak - G, rel=0.1)
    assert len(ImpactDetector().run(far)) == 2


@pytest.mark.parametrize(("peak", "events"), [(2.8 * G, 0), (3.4 * G, 1)])
def test_the_threshold_is_on_the_excess(peak, events):
    assert len(ImpactDetector().run(knocks((1.0, 0.02, peak)))) == events


def test_a_jerk_can_trigger_too():
    series = knocks((1.0, 0.004, 15.0))  # slope 15 pi / 0.004 = 11.8 km/s^3
    assert len(ImpactDetector().run(series)) == 0
    assert len(ImpactDetector(ImpactParams(jerk_m_s3=8e3)).run(series)) == 1
    assert len(ImpactDetector(ImpactParams(jerk_m_s3=15e3)).run(series)) == 0


def test_a_force_that_stays_is_no_endless_impact():
    """The low-pass comes up to it in half a second."""
    (event,) = ImpactDetector().run(knocks((1.0, 8.0, 200.0), seconds=6.0)).filter(flag="cut")[:1]
    assert event.duration_s <= 1.0


def test_saturation_is_flagged():
    series = knocks((1.0, 0.02, 120.0))
    bits = (series.specific_force[:, 2] > 90.0) * np.uint8(4)
    (event,) = ImpactDetector().run(series.replace(accel_clipping=bits))
    assert event.flags == {"clipped"}


def test_a_hole_and_the_end_of_the_data_end_an_impact():
    series = knocks((1.0, 0.03, 120.0))
    holed = ImpactDetector().run(series[(series.t_ns < 1.016e9) | (series.t_ns > 1.3e9)])
    assert [event.flags for event in holed] == [{"gap"}]
    detector = ImpactDetector()
    assert len(detector.run(series[series.t_ns < 1.016e9])) == 0
    assert detector.finish().flags == {"open"}
    assert detector.finish() is None


@pytest.mark.data
def test_slow_motion_and_rest_hold_no_impact(recordings, static_log):
    for name in ("broad 02", "broad 11", "room1", "room4"):
        assert len(ImpactDetector().run(recordings[name])) == 0
    assert len(ImpactDetector().run(static_log)) == 0


@pytest.mark.data
def test_taps_of_a_finger_are_impacts_of_a_few_milliseconds(recordings):
    events = ImpactDetector().run(recordings["broad 24"])
    assert len(events) >= 10
    assert np.median(events.values["half_duration_s"]) < 0.02

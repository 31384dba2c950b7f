"""Mean rates with gaps between their intervals are not integrated silently."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from strapdown.errors import FormatError
from strapdown.formats import Recording
from strapdown.formats.px4.integration import vehicle_imu_from_recording
from strapdown.formats.reports import ReadReport
from strapdown.px4 import PipelineSettings
from strapdown.series import ImuSeries


@pytest.fixture
def throttled():
    """Every second window of 200 Hz, as received from a topic without a configured rate limit."""
    t_ns = np.arange(100, dtype=np.int64) * 10_000_000
    series = ImuSeries(t_ns, np.zeros((100, 3)), np.zeros((100, 3)))
    report = ReadReport("mcap", coverage={"sensor_combined": 0.5})
    return Recording(imu={"sensor_combined": series}, report=report)


@pytest.mark.parametrize("topic", [None, "sensor_combined"])
def test_a_throttled_stream_of_mean_rates_is_refused(throttled, topic):
    with pytest.raises(FormatError, match=r"50\.0%"):
        vehicle_imu_from_recording(throttled, topic=topic)


def test_the_refusal_names_the_longest_topic_that_covers_the_time(throttled):
    series = throttled.imu["sensor_combined"]
    half = series.replace(specific_force=np.full((100, 3), np.nan))  # a gyro only
    imu = {**throttled.imu, "gyro": half, "short": series[:20], "long": series[:50]}
    recording = replace(throttled, imu=imu)
    with pytest.raises(FormatError, match=r"use long \(--topic long\), which covers 100\.0%"):
        vehicle_imu_from_recording(recording, topic="sensor_combined")


@pytest.fixture
def swinging():
    """Angles quadratic in time, and their mean rates over steps of 1 ms."""
    t_ns = np.arange(1, 401, dtype=np.int64) * 1_000_000
    rates = np.zeros((400, 3))
    rates[:, 2] = 2.0 * (t_ns - 500_000) * 1e-9
    return ImuSeries(t_ns, rates, np.zeros((400, 3)), body="FRD", world="NED")


@pytest.mark.parametrize("topic", ["sys1/comp1/highres_imu", "highres_imu", "a/highres_imu/id2"])
def test_means_of_a_telemetry_link_are_taken_as_means_and_that_is_said(swinging, topic):
    (found,) = vehicle_imu_from_recording(Recording(imu={topic: swinging})).values()
    ends_s, lengths_s = (found.increments.t_ns * 1e-9, found.increments.delta_angle_dt_ns * 1e-9)
    exact = ends_s**2 - (ends_s - lengths_s) ** 2
    np.testing.assert_allclose(found.increments.delta_angle[:, 2], exact, rtol=1e-9)
    assert any("means" in note and "--kind" in note for note in found.notes)


def test_other_topics_are_samples_and_a_kind_that_is_said_prevails(swinging):
    (plain,) = vehicle_imu_from_recording(Recording(imu={"not_highres_imu": swinging})).values()
    assert plain.notes == ()
    rate = PipelineSettings(gyro_kind="point", accel_kind="point")
    recording = Recording(imu={"highres_imu": swinging})
    (said,) = vehicle_imu_from_recording(recording, rate).values()
    assert said.notes == ()
    assert said.increments == plain.increments
    (known,) = vehicle_imu_from_recording(recording).values()
    assert known.increments != plain.increments


@pytest.mark.parametrize("topic", ["sensor_combined", "/fmu/out/vehicle_imu", "vehicle_imu.1"])
def test_means_without_their_intervals_are_refused_unless_they_are_said_to_be_another(
    swinging, topic
):
    recording = Recording(imu={topic: swinging})
    with pytest.raises(FormatError, match=r"without their intervals.*--kind"):
        vehicle_imu_from_recording(recording)
    said = PipelineSettings(gyro_kind="mean", accel_kind="mean")
    assert vehicle_imu_from_recording(recording, said)


def test_it_is_taken_on_request(throttled):
    assert vehicle_imu_from_recording(throttled, anyway=True)

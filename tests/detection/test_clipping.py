"""Clipping."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.detection import ClippingDetector, ClippingParams, clipping_bits
from strapdown.motion import MultiSine, Sines
from strapdown.px4.health import clipping_report
from strapdown.sensors import load_profile
from strapdown.series import ImuSeries
from strapdown.simulation import simulate

RANGES = ClippingParams(gyro_range_rad_s=4.0, accel_range_m_s2=30.0)


def shaken(*, noise=0.01, code=0.0, rate_hz=200, seconds=20.0, seed=0):
    """Sines up to 6 rad/s and 45 m/s^2, in codes of a width if there is one."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / rate_hz)
    phases = np.array([0.0, 1.0, 2.0])
    waves = np.sin(np.outer(t, [3.0, 5.0, 7.0]) + phases)
    rate = 6.0 * waves + noise * rng.normal(size=waves.shape)
    force = 45.0 * waves + 10.0 * noise * rng.normal(size=waves.shape)
    if code:
        rate, force = code * np.round(rate / code), 10 * code * np.round(force / code / 10)
    return ImuSeries(np.round(t * 1e9).astype(np.int64), rate, force)


def clipped(series, rate=4.0, force=30.0):
    """Cut the values off; return them and the axes at the ends."""
    w, f = series.angular_velocity, series.specific_force
    bits = [
        (np.abs(values) >= end) @ np.array([1, 2, 4]) for values, end in ((w, rate), (f, force))
    ]
    cut = series.replace(
        angular_velocity=np.clip(w, -rate, rate), specific_force=np.clip(f, -force, force)
    )
    return cut, *bits


def longest_run(flags):
    runs = "".join("1" if flag else "0" for flag in flags).split("0")
    return max(map(len, runs))


def test_a_declared_range_counts_every_sample():
    series, gyro, accel = clipped(shaken(noise=0.0))
    detector = ClippingDetector(RANGES)
    detector.run(series)
    for found, bits in ((detector.gyro, gyro), (detector.accel, accel)):
        # 99.9 % of the range is clipped already.
        assert found.windows == len(series)
        assert found.by_axis == pytest.approx(
            tuple(np.count_nonzero(bits & axis) for axis in (1, 2, 4)), abs=30
        )
        assert found.longest_run == pytest.approx(longest_run(bits != 0), abs=4)


def test_the_share_that_counts_as_clipped_is_exact():
    rate = np.zeros((6, 3))
    rate[1:, 0] = 4.0 * np.array([0.9989, 0.9991, 1.0, -0.9991, -0.9989])
    series = ImuSeries(np.arange(6) * 5_000_000, rate, np.full((6, 3), 5.0))
    detector = ClippingDetector(RANGES)
    detector.run(series)
    assert detector.gyro == clipping_report(np.array([0, 0, 1, 1, 1, 0], np.uint8))
    assert detector.gyro.share == 0.5
    assert detector.accel.share == 0.0
    assert ClippingDetector().gyro.share == 0.0


def test_stretches_are_merged_and_name_their_axes():
    force = np.full((200, 3), 1.0)
    force[50:53, 1] = 30.0
    force[60, 2] = -30.0
    force[150, 0] = 30.0
    series = ImuSeries(np.arange(200) * 5_000_000, np.zeros((200, 3)), force)
    first, second = ClippingDetector(RANGES).run(series)
    assert (first.t_start_ns, first.t_end_ns) == (250_000_000, 300_000_000)
    assert first.t_decided_ns == first.t_start_ns
    assert first.flags == {"accel_y", "accel_z"}
    assert first.values == {"gyro_samples": 0.0, "accel_samples": 4.0}
    assert (second.t_start_ns, second.flags) == (750_000_000, {"accel_x"})


def test_a_stretch_that_the_data_end_in_is_open():
    force = np.full((200, 3), 30.0)
    series = ImuSeries(np.arange(200) * 5_000_000, np.zeros((200, 3)), force)
    detector = ClippingDetector(RANGES)
    assert len(detector.run(series)) == 0
    assert detector.finish().flags == {"accel_x", "accel_y", "accel_z", "open"}
    assert detector.finish() is None


def test_clipping_that_the_samples_bring_along_is_taken_over():
    series = shaken(seconds=2.0)
    bits = np.zeros(len(series), np.uint8)
    bits[[7, 8, 9, 100]] = 5
    none = ClippingParams(gyro_range_rad_s=np.inf, accel_range_m_s2=np.inf)
    detector = ClippingDetector(none)
    events = detector.run(series.replace(gyro_clipping=bits))
    assert [event.flags for event in events] == [{"gyro_x", "gyro_z"}] * 2
    assert detector.gyro == clipping_report(bits)
    gyro, accel = clipping_bits(series.replace(gyro_clipping=bits), none)
    np.testing.assert_array_equal(gyro, bits)
    assert not accel.any()


@pytest.mark.parametrize("code", [0.0, 0.001])
def test_a_range_is_learnt_from_the_values(code):
    cut, gyro, accel = clipped(shaken(code=code))
    for found, bits in zip(clipping_bits(cut), (gyro, accel), strict=True):
        wrong = np.count_nonzero(found != bits)
        assert wrong <= 0.02 * len(cut)  # what lies within 0.1 % of the end
        assert not np.any(bits & ~found)
    detector = ClippingDetector()
    detector.run(cut)
    np.testing.assert_array_equal(detector.limits[0], 4.0)
    np.testing.assert_array_equal(detector.limits[1], 30.0)


def test_sides_may_end_at_different_values():
    cut, _, _ = clipped(shaken())
    moved = cut.replace(specific_force=cut.specific_force + np.array([0.5, 0.0, 0.0]))
    detector = ClippingDetector()
    detector.run(moved)
    np.testing.assert_allclose(detector.limits[1, 0], [30.5, 29.5])


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("code", [0.0, 0.001, 0.004])
def test_an_unsaturated_sensor_clips_nothing(noise, code):
    detector = ClippingDetector()
    events = detector.run(shaken(noise=noise, code=code))
    assert len(events) == 0
    assert detector.finish() is None


def nodding():
    """Roll to and fro, at up to 6 rad/s."""
    none = np.zeros((3, 1))
    roll = np.array([[3.0], [0.0], [0.0]])
    still = Sines(none, none, none)
    return MultiSine(still, Sines(roll, np.full((3, 1), 2.0), none))


@pytest.mark.parametrize(("range_deg_s", "saturated"), [(250.0, True), (500.0, False)])
def test_the_range_of_a_simulated_part_is_learnt(range_deg_s, saturated):
    """The simulator says itself which samples its range has cut."""
    spec = load_profile("MPU-6050").spec(rate_hz=200, gyro_range=np.radians(range_deg_s))
    series = simulate(nodding(), spec, 20.0, seed=3).samples.series()
    bare = series.replace(gyro_clipping=None, accel_clipping=None)
    gyro, accel = clipping_bits(bare)
    truth = series.gyro_clipping != 0
    assert truth.any() == saturated
    assert np.count_nonzero((gyro != 0) & ~truth) <= 0.002 * len(series)
    assert np.count_nonzero((gyro == 0) & truth) <= 0.002 * len(series)
    assert not accel.any()


@pytest.mark.data
def test_recordings_that_nobody_saturated_raise_no_alarm(recordings, static_log):
    for series in [*recordings.values(), static_log]:
        detector = ClippingDetector()
        assert len(detector.run(series)) == 0
        assert detector.finish() is None


@pytest.mark.data
def test_saturation_of_real_motion_is_learnt(recordings):
    cut, gyro, _ = clipped(recordings["broad 07"], rate=6.0, force=1e3)
    found, _ = clipping_bits(cut)
    assert np.count_nonzero(found != gyro) <= 0.01 * np.count_nonzero(gyro)

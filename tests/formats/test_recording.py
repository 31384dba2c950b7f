from __future__ import annotations

import numpy as np
import pytest

import strapdown
from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats import ReadReport, Recording
from strapdown.series import ImuSeries, Increments, Trajectory


def imu(count):
    return ImuSeries(np.arange(count), np.zeros((count, 3)), np.ones((count, 3)))


def track(count):
    return Trajectory(np.arange(count), np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)))


def increments(count):
    dt = np.full(count, 10)
    return Increments(np.arange(count) * 10, np.ones((count, 3)), np.ones((count, 3)), dt, dt)


RECORDING = Recording(
    imu={"a": imu(3), "b": imu(5)},
    increments={"c": increments(9)},
    trajectories={"attitude": track(7), "truth/pose": track(2)},
)


def test_the_longest_imu_stands_for_the_recording_unless_a_topic_is_named():
    assert len(RECORDING.imu_series()) == 9
    assert RECORDING.imu_series("a") == imu(3)


def test_an_imu_with_both_triads_stands_before_a_longer_device_alone():
    unknown = np.full((9, 3), np.nan)
    gyro = imu(9).replace(specific_force=unknown)
    both = Recording(imu={"gyro": gyro, "imu": imu(3)})
    assert len(both.imu_series()) == 3
    assert len(both.imu_series("gyro")) == 9
    assert len(Recording(imu={"gyro": gyro}).imu_series()) == 9


def test_increments_are_offered_as_mean_rates():
    rates = RECORDING.imu_series("c")
    assert np.all(rates.angular_velocity == 1e8)
    assert rates.t_ns[0] == -5


def test_the_longest_track_is_the_default_and_a_named_truth_is_the_reference():
    assert len(RECORDING.trajectory()) == 7
    assert RECORDING.reference_topic() == "truth/pose"
    assert Recording(trajectories={"x": track(1), "y": track(2)}).reference_topic() == "y"
    assert Recording().reference_topic() is None


@pytest.mark.parametrize("ask", [Recording.imu_series, Recording.trajectory, Recording.only])
def test_an_unknown_topic_gives_the_nearest(ask):
    with pytest.raises(UnknownNameError, match=r"no .*topic 'truth'"):
        ask(RECORDING, "truth")


@pytest.mark.parametrize("ask", [Recording.imu_series, Recording.trajectory])
def test_a_recording_without_it_says_so(ask):
    with pytest.raises(FormatError, match="the file holds none"):
        ask(Recording())


def test_one_topic_can_be_singled_out():
    assert RECORDING.only("b") == Recording(imu={"b": imu(5)})


@pytest.mark.parametrize(
    "source", [imu(4), track(4), increments(4)], ids=lambda s: type(s).__name__
)
def test_one_series_alone_can_be_written_and_read(source, tmp_path):
    strapdown.write(tmp_path / "a.mcap", source)
    recording = strapdown.open(tmp_path / "a.mcap")
    found = [*recording.imu.values(), *recording.trajectories.values()]
    assert [type(each) for each in [*found, *recording.increments.values()]] == [type(source)]


def test_a_report_with_any_damage_is_not_lossless():
    assert ReadReport("x", messages=3, skipped={"t": 1}, notes=("n",)).lossless
    for damage in ({"lost_messages": 1}, {"lost_bytes": 1}, {"damage": ("d",)}):
        assert not ReadReport("x", **damage).lossless

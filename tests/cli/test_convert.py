"""``strapdown convert`` from logs of PX4, beside what pyulog reads in them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mcap.reader import make_reader
from pyulog import ULog
from rosbags.highlevel import AnyReader
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.formats import block_writer
from strapdown.series import Increments

runner = CliRunner()


def convert(*arguments):
    return runner.invoke(app, ["convert", *map(str, arguments)])


def convert_json(*arguments):
    return json.loads(convert(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def log(data_dir):
    path = data_dir / "px4" / "ulog" / "sample_log_small.ulg"
    if not path.is_file():
        pytest.skip(f"no log at {path}")
    return path


@pytest.fixture(scope="module")
def logged(log):
    """Columns of vehicle_imu.1, and what the clock of the log is off."""
    ulog = ULog(str(log), ["vehicle_imu", "vehicle_gps_position"])
    return ulog.get_dataset("vehicle_imu", 1).data


def vectors(columns, name):
    return np.stack([columns[f"{name}[{axis}]"] for axis in range(3)], axis=1).astype(float)


def test_increments_of_a_log_become_imu_messages_in_flu(log, logged, tmp_path):
    report = convert_json(log, tmp_path / "a.mcap", "--clock", "boot")
    with AnyReader([tmp_path / "a.mcap"]) as reader:
        messages = [
            reader.deserialize(raw, connection.msgtype)
            for connection, _, raw in reader.messages()
            if connection.topic == "vehicle_imu.1"
        ]
    assert {message.__msgtype__ for message in messages} == {"sensor_msgs/msg/Imu"}
    stamps = [each.header.stamp.sec * 10**9 + each.header.stamp.nanosec for each in messages]
    dt_us = logged["delta_angle_dt"].astype(np.int64)
    middle_ns = logged["timestamp_sample"].astype(np.int64) * 1000 - dt_us * 500
    assert stamps == middle_ns.tolist()
    rates = vectors(logged, "delta_angle") / (dt_us[:, None] * 1e-6) * [1, -1, -1]
    got = [[each.angular_velocity.x, each.angular_velocity.y, each.angular_velocity.z]
           for each in messages]  # fmt: skip
    assert np.allclose(got, rates, rtol=1e-14, atol=0.0)
    gravity = np.array([each.linear_acceleration.z for each in messages])
    assert 9.0 < np.median(gravity) < 10.5
    assert all(each.orientation_covariance[0] == -1.0 for each in messages)
    assert any("vehicle_imu.1" in note and "too little" in note for note in report["notes"])


def test_increments_stay_increments_on_request(log, logged, tmp_path):
    convert(log, tmp_path / "a.mcap", "--increments", "--clock", "boot")
    back = strapdown.open(tmp_path / "a.mcap").increments["vehicle_imu.1"]
    assert back.delta_angle.tolist() == vectors(logged, "delta_angle").tolist()
    assert back.t_ns.tolist() == (logged["timestamp_sample"].astype(np.int64) * 1000).tolist()


def test_stamps_of_ros_count_from_1970_and_those_of_other_files_from_the_start(log, tmp_path):
    offset = strapdown.open(log).clock_offset_ns
    first = strapdown.open(log).imu["sensor_combined"].t_ns[0]
    assert offset > 10**18
    for ending, moved in ((".mcap", offset), (".npz", 0)):
        convert(log, tmp_path / f"a{ending}")
        series = strapdown.open(tmp_path / f"a{ending}").imu["sensor_combined"]
        assert series.t_ns[0] == first + moved
    convert(log, tmp_path / "b.npz", "--clock", "epoch")
    assert strapdown.open(tmp_path / "b.npz").imu["sensor_combined"].t_ns[0] == first + offset


def test_attitude_and_noise_are_put_beside_the_rates(log, tmp_path):
    report = convert_json(
        log, tmp_path / "a.mcap", "--attitude", "auto", "--noise", "1e-4", "2e-3", "--topic",
        "vehicle_imu.0",
    )  # fmt: skip
    back = strapdown.open(tmp_path / "a.mcap")
    (series,) = back.imu.values()
    known = ~np.isnan(series.q_world_from_body).any(axis=1)
    assert known.sum() > 0.9 * len(series)
    assert any(f"{known.sum()} of {len(series)}" in note for note in report["notes"])
    source = strapdown.open(log).increments["vehicle_imu.0"]
    variance = series.angular_velocity_covariance[:, 1, 1]
    assert np.allclose(variance * source.delta_angle_dt_ns, 10.0, rtol=1e-12)  # N^2 in rad^2 ns/s^2


def test_noise_and_stamps_act_on_the_only_stream_of_a_log_that_is_whole(log, tmp_path):
    columns = ULog(str(log), ["sensor_combined"]).get_dataset("sensor_combined").data
    options = ("--topic", "sensor_combined", "--clock", "boot", "--stamp", "end", "--noise")
    report = convert_json(log, tmp_path / "a.mcap", *options, 1e-4, 2e-3)
    (series,) = strapdown.open(tmp_path / "a.mcap").imu.values()
    assert series.t_ns.tolist() == (columns["timestamp"].astype(np.int64) * 1000).tolist()
    for found, density, dt_us in (
        (series.angular_velocity_covariance, 1e-4, columns["gyro_integral_dt"]),
        (series.specific_force_covariance, 2e-3, columns["accelerometer_integral_dt"]),
    ):
        np.testing.assert_allclose(found[:, 2, 2], density**2 / (dt_us * 1e-6), rtol=1e-12)
    assert not any(note.startswith("vehicle_imu") for note in report["notes"])


def test_that_rates_are_means_is_said_in_one_line(log, tmp_path):
    notes = convert_json(log, tmp_path / "a.mcap")["notes"]
    (line,) = (note for note in notes if "mean rates over intervals" in note)
    topics = ["sensor_combined", "vehicle_imu.0", "vehicle_imu.1", "vehicle_imu.2"]
    assert sorted(line.partition(": ")[0].split(", ")) == topics


@pytest.mark.parametrize("ending", [".mcap", ".bag", ".csv", ".tum", ".npz", ".parquet", ".ulg"])
def test_a_log_becomes_every_format(log, tmp_path, ending):
    report = convert_json(log, tmp_path / f"a{ending}")
    assert report["exit"] in {0, 3}, report
    assert report["messages"] > 100
    back = strapdown.open(tmp_path / f"a{ending}")
    assert sum(map(len, [*back.imu.values(), *back.trajectories.values()])) > 100


def test_a_topic_or_attitude_that_is_not_there_leaves_no_file(log, tmp_path):
    for options in (["--topic", "sensor_combine"], ["--attitude", "vehicle_atitude"]):
        done = convert(log, tmp_path / "a.mcap", *options)
        assert done.exit_code == 1
        assert "sensor_combined" in done.stderr or "vehicle_attitude" in done.stderr
        assert list(tmp_path.iterdir()) == []


def test_a_table_keeps_to_the_imu_that_is_longest_in_the_first_block(tmp_path):
    rows = np.zeros((10, 3))
    dt_ns = np.full(10, 10)
    first = Increments(np.arange(1, 11) * 10, rows + 1.0, rows, dt_ns, dt_ns)
    second = first.replace(delta_angle=rows + 2.0)
    with block_writer(tmp_path / "a.csv") as writer:
        for sizes in ((5, 4), (4, 5), (0, 1)):
            parts = {"a": first[: sizes[0]], "b": second[: sizes[1]]}
            imu = {name: strapdown.Recording(increments={name: part}).imu_series(name)
                   for name, part in parts.items() if len(part)}  # fmt: skip
            writer.write(strapdown.Recording(imu=imu))
    assert writer.messages == 9
    assert writer.lost == ["b: 10 rows of ImuSeries"]


def test_messages_are_in_the_order_of_time(log, tmp_path):
    convert(log, tmp_path / "a.mcap", "--attitude", "auto")
    with (tmp_path / "a.mcap").open("rb") as stream:
        stamps = [
            message.log_time
            for _, _, message in make_reader(stream).iter_messages(topics=["sensor_combined"])
        ]
    assert len(stamps) == 1298
    assert stamps == sorted(stamps)

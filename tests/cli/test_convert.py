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
from strapdown.formats import UlogWriter, block_writer
from strapdown.formats.px4.log import load
from strapdown.px4 import calibration_from_parameters
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


# From ULog to ULog, and what cannot be


def test_a_ulog_keeps_calibration_and_infos_and_names_what_it_does_not_carry(flight_log, tmp_path):
    report = convert_json(flight_log, tmp_path / "a.ulg")
    before, after = ULog(str(flight_log)), ULog(str(tmp_path / "a.ulg"))
    assert after.msg_info_dict == before.msg_info_dict
    assert after.initial_parameters == before.initial_parameters
    changes = [
        [(name, value) for _, name, value in log.changed_parameters] for log in (before, after)
    ]
    assert len(changes[0]) > 2
    assert changes[0] == changes[1]
    for (was_us, *_), (is_us, *_) in zip(
        before.changed_parameters, after.changed_parameters, strict=True
    ):
        assert 0 <= was_us - is_us < 10_000
    rows = len(
        ULog(str(flight_log), ["sensor_combined"]).get_dataset("sensor_combined").data["timestamp"]
    )
    assert report["exit"] == 3
    assert report["lost"][-2:] == [
        f"sensor_combined: {rows} rows, which are means over intervals",
        "topics that are not carried over: sensor_correction, sensor_selection",
    ]
    devices = {
        int(each.data["device_id"][0]) for each in after.data_list if each.name == "sensor_gyro"
    }
    assert 0 not in devices


def test_the_calibration_of_a_converted_log_is_that_of_the_log(px4, flight, tmp_path):
    log = px4.write(tmp_path / "log.ulg", flight, dropout=False)
    convert(log, tmp_path / "copy.ulg")
    tracked = [load(path) for path in (log, tmp_path / "copy.ulg")]
    found = [
        calibration_from_parameters(each.parameters, "gyro", px4.IDS[0][1]) for each in tracked
    ]
    assert found[0].offset.any()
    assert found[0].offset.tolist() == found[1].offset.tolist()


def test_only_the_topic_that_was_asked_for_is_no_loss(flight_log, tmp_path):
    report = convert_json(flight_log, tmp_path / "a.ulg", "--topic", "vehicle_imu.1")
    assert (report["exit"], report["lost"]) == (0, [])
    assert load(tmp_path / "a.ulg").instances("vehicle_imu_status") == [1]


def test_stamps_since_1970_are_not_shifted_twice(log, tmp_path):
    convert(log, tmp_path / "a.ulg", "--clock", "epoch")
    first, back = strapdown.open(log), strapdown.open(tmp_path / "a.ulg")
    before, after = (each.trajectories["vehicle_attitude"].t_ns for each in (first, back))
    assert (after - before).tolist() == [first.clock_offset_ns] * len(before)
    assert back.clock_offset_ns == 0
    shifted = load(tmp_path / "a.ulg").rows("vehicle_imu_status", 1)["timestamp"]
    status = load(log).rows("vehicle_imu_status", 1)["timestamp"]
    assert (shifted - status).tolist() == [first.clock_offset_ns // 1000] * len(status)


@pytest.mark.parametrize("topic", [None, "sensor_accel.1", "vehicle_imu.0"])
def test_what_is_uncalibrated_is_said_once(log, tmp_path, topic):
    chips = [f"sensor_{name}.{number}" for name in ("accel", "gyro") for number in range(3)]
    options = () if topic is None else ("--topic", topic)
    notes = convert_json(log, tmp_path / "a.mcap", *options)["notes"]
    named = [note.partition(": ")[0].split(", ") for note in notes if "uncalibrated" in note]
    expected = [chip for chip in chips if topic in (None, chip)]
    assert [sorted(names) for names in named] == ([expected] if expected else [])
    assert sum("uncalibrated" in note for note in strapdown.open(log).report.notes) == 1


@pytest.fixture
def no_imu(tmp_path):
    rows = np.zeros(3, [("timestamp", "<u8"), ("voltage", "<f4")])
    with UlogWriter(tmp_path / "noimu.ulg") as writer:
        writer.write("battery", 0, rows)
    return tmp_path / "noimu.ulg"


@pytest.mark.parametrize("ending", [".mcap", ".bag", ".csv", ".tum", ".npz", ".parquet", ".ulg"])
def test_of_a_file_without_an_imu_there_is_nothing_to_write(no_imu, tmp_path, ending):
    done = convert(no_imu, tmp_path / f"a{ending}")
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert "expected an IMU or an attitude" in line
    assert "nothing to write" in line
    assert [path.name for path in tmp_path.iterdir()] == ["noimu.ulg"]
    drawn = runner.invoke(app, ["plot", str(no_imu), "--output", str(tmp_path / "a.png")])
    assert drawn.exit_code == 1
    assert "expected an IMU or an attitude" in drawn.stderr


def test_a_log_of_means_alone_has_nothing_for_a_ulog(log, tmp_path):
    done = convert(log, tmp_path / "a.ulg", "--topic", "sensor_combined")
    assert done.exit_code == 1
    assert "nothing to write" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".ulg", ".npz", ".parquet"])
def test_an_attitude_is_put_beside_rates_alone(flight_log, tmp_path, ending):
    done = convert(flight_log, tmp_path / f"a{ending}", "--attitude", "auto")
    assert done.exit_code == 2
    assert "it works for .mcap, .bag, .csv" in " ".join(done.stderr.replace("│", "").split())
    assert list(tmp_path.iterdir()) == []


def test_an_epoch_that_was_asked_for_and_that_nobody_knows_is_an_error(flight_log, tmp_path):
    done = convert(flight_log, tmp_path / "a.mcap", "--clock", "epoch")
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert "flight.ulg: expected a log that states when its clock began" in line
    assert list(tmp_path.iterdir()) == []
    notes = convert_json(flight_log, tmp_path / "a.mcap")["notes"]
    assert any("stamps count from the start of the autopilot" in note for note in notes)

"""Writing of ROS 2 bags, compared with rosbags."""

from __future__ import annotations

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore
from typer.testing import CliRunner

import strapdown.formats as files
from strapdown.cli._app import app
from strapdown.series import ImuSeries

runner = CliRunner()
STORE = get_typestore(Stores.ROS2_HUMBLE)


def test_rosbags_reads_every_number(tmp_path, recording):
    files.write(tmp_path / "bag", recording)
    imu = recording.imu["imu/data"]
    with AnyReader([tmp_path / "bag"], default_typestore=STORE) as reader:
        chosen = [each for each in reader.connections if each.topic == "imu/data"]
        read = [
            (time, reader.deserialize(raw, connection.msgtype))
            for connection, time, raw in reader.messages(chosen)
        ]
    assert [time for time, _ in read] == imu.t_ns.tolist()
    for row, (_, message) in enumerate(read):
        rate, force = message.angular_velocity, message.linear_acceleration
        assert [rate.x, rate.y, rate.z] == imu.angular_velocity[row].tolist()
        assert [force.x, force.y, force.z] == imu.specific_force[row].tolist()
        assert message.header.frame_id == "imu_link"


def test_types_come_with_definitions_and_hashes(tmp_path, recording):
    files.write(tmp_path / "bag", recording)
    with Reader(tmp_path / "bag") as reader:
        connections = {each.topic: each for each in reader.connections}
    imu = connections["imu/data"]
    assert imu.msgtype == "sensor_msgs/msg/Imu"
    assert imu.digest == STORE.hash_rihs01("sensor_msgs/msg/Imu")
    assert connections["vehicle_imu"].msgtype == "px4_msgs/msg/VehicleImu"
    assert "float32[3] delta_angle" in connections["vehicle_imu"].msgdef.data


def test_a_bag_reads_back_like_the_same_recording_in_mcap(tmp_path, recording):
    bag, mcap = tmp_path / "bag", tmp_path / "a.mcap"
    written = files.write(bag, recording), files.write(mcap, recording)
    assert written[0].messages == written[1].messages
    first, second = files.open(bag), files.open(mcap)
    for topic, series in second.imu.items():
        assert np.array_equal(first.imu[topic].t_ns, series.t_ns)
        assert np.array_equal(first.imu[topic].specific_force, series.specific_force)
    assert first.increments.keys() == second.increments.keys()


def test_blocks_give_the_bag_that_one_writing_gives(tmp_path):
    t_ns, ones = np.arange(100) * 10**7, np.ones((100, 3))
    imu = ImuSeries(t_ns, ones * t_ns[:, None] * 1e-9, ones)
    with files.block_writer(tmp_path / "blocks") as writer:
        for start in range(0, 100, 30):
            writer.write(files.Recording(imu={"imu/data": imu[start : start + 30]}))
    assert files.open(tmp_path / "blocks").imu["imu/data"].t_ns.tolist() == t_ns.tolist()


def test_a_bag_is_replaced_by_force_only_and_other_folders_never(tmp_path, recording):
    bag = tmp_path / "bag"
    files.write(bag, recording)
    before = {path.name: path.read_bytes() for path in bag.iterdir()}
    with pytest.raises(FileExistsError, match="--force"):
        files.write(bag, recording)
    assert {path.name: path.read_bytes() for path in bag.iterdir()} == before
    one = recording.only("truth")
    files.write(bag, one, force=True)
    assert list(files.open(bag).trajectories) == ["truth"]
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="no ROS 2 bag"):
        files.write(home, recording, force=True)
    assert (home / "thesis.txt").read_text() == "years of work"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bag", "home"]


def test_nothing_is_left_of_a_bag_that_could_not_be_written(tmp_path):
    ones = np.ones((2, 3))
    late = ImuSeries(np.array([0, 2**62]), ones, ones)  # not a valid ROS stamp
    with pytest.raises(ValueError, match="stamp"):
        files.write(tmp_path / "bag", late)
    assert not list(tmp_path.iterdir())


def test_the_command_converts_to_a_folder(tmp_path, recording):
    files.write(tmp_path / "a.mcap", recording)
    done = runner.invoke(app, ["convert", str(tmp_path / "a.mcap"), str(tmp_path / "b") + "/"])
    assert done.exit_code in {0, 3}, done.stderr
    assert (tmp_path / "b" / "metadata.yaml").is_file()
    assert (tmp_path / "b" / "b.db3").is_file()
    assert files.open(tmp_path / "b").report.format == "rosbag2"

"""Bags of rosbags' own writers, read field by field, and damaged ones."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.interfaces import ConnectionExtRosbag2
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Writer2

import strapdown.formats as files
from strapdown.errors import FormatError
from strapdown.formats import ReadReport, Recording

IMU, TEXT = "sensor_msgs/msg/Imu", "std_msgs/msg/String"


def fill(writer, messages, imu_numbers):
    imu = writer.add_connection("/imu/data", IMU, typestore=messages.store)
    text = writer.add_connection("/chat", TEXT, typestore=messages.store)
    for stamp, numbers in zip(*imu_numbers, strict=True):
        message = messages.imu(int(stamp), numbers, seq=7)
        writer.write(imu, int(stamp) + 1000, messages.serialize(message))
        writer.write(text, int(stamp) + 2000, messages.serialize(messages.text("hi")))


@pytest.fixture
def bag1(tmp_path, ros1, imu_numbers):
    def make(packing=None, name="a.bag"):
        writer = Writer1(tmp_path / name)
        if packing is not None:
            writer.set_compression(Writer1.CompressionFormat[packing])
        with writer:
            fill(writer, ros1, imu_numbers)
        return tmp_path / name

    return make


@pytest.fixture
def bag2(tmp_path, ros2, imu_numbers):
    def make(storage="SQLITE3", version=9, mode=None):
        writer = Writer2(tmp_path / "bag", version=version, storage_plugin=StoragePlugin[storage])
        if mode is not None:
            writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
        with writer:
            fill(writer, ros2, imu_numbers)
        return tmp_path / "bag"

    return make


@pytest.mark.parametrize("packing", [None, "BZ2", "LZ4"])
@pytest.mark.parametrize("on_error", ["strict", "salvage"])
def test_a_ros1_bag_is_read_field_for_field(bag1, assert_same_imu, packing, on_error):
    back = files.open(bag1(packing, "bag of any name"), on_error=on_error)
    assert_same_imu(back.imu["/imu/data"])
    assert back.report.format == "rosbag1"
    assert (back.report.messages, back.report.skipped) == (40, {"/chat": 40})
    assert back.report.lossless


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize(
    ("storage", "mode"),
    [
        ("SQLITE3", None),
        ("MCAP", None),
        ("SQLITE3", "MESSAGE"),
        ("SQLITE3", "FILE"),
        ("MCAP", "FILE"),
        ("MCAP", "STORAGE"),
    ],
)
def test_a_ros2_bag_is_read_field_for_field(bag2, assert_same_imu, storage, mode, version):
    back = files.open(bag2(storage, version, mode))
    assert_same_imu(back.imu["/imu/data"])
    assert (back.report.messages, back.report.skipped) == (40, {"/chat": 40})
    assert back.report.lossless


def test_messages_that_are_not_read_are_counted_also_next_to_one_topic(bag1, bag2):
    for path in (bag1(None, "a.bag"), bag2()):
        part = files.open(path, topic="/imu/data")
        assert (part.report.messages, part.report.skipped) == (40, {"/chat": 40})


@pytest.mark.parametrize("name", ["bag.db3", "no ending", "100%20.db3", "what?#.db3"])
def test_a_database_without_its_folder_is_read_whatever_it_is_called(
    bag2, tmp_path, assert_same_imu, name
):
    (bag2() / "bag.db3").rename(tmp_path / name)
    back = files.open(tmp_path / name)
    assert_same_imu(back.imu["/imu/data"])
    assert back.report.format == "rosbag2"


def test_a_folder_of_mcap_parts_is_one_recording_in_the_order_of_their_numbers(
    tmp_path, ros2, imu_numbers, assert_same_imu
):
    folder = tmp_path / "split"
    for part in range(11):
        rows = slice(4 * part, 4 * part + 4)
        writer = Writer2(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP)
        with writer:
            fill(writer, ros2, (imu_numbers[0][rows], imu_numbers[1][rows]))
        folder.mkdir(exist_ok=True)
        (tmp_path / "bag" / "bag.mcap").rename(folder / f"split_{part}.mcap")
        (tmp_path / "bag" / "metadata.yaml").replace(folder / "metadata.yaml")
        (tmp_path / "bag").rmdir()
    back = files.open(folder)
    assert_same_imu(back.imu["/imu/data"])
    assert back.report.messages == 40


def test_rosbags_makes_a_bag_of_our_mcap_that_reads_back_equal(recording, tmp_path):
    files.write(tmp_path / "ours.mcap", recording)
    with (
        AnyReader([tmp_path / "ours.mcap"]) as ours,
        Writer2(tmp_path / "bag", version=9) as writer,
    ):
        connections = {}
        for connection in ours.connections:
            assert isinstance(connection.ext, ConnectionExtRosbag2)
            assert len(connection.ext.offered_qos_profiles) == 1
            connections[connection.topic] = writer.add_connection(
                connection.topic,
                connection.msgtype,
                typestore=ours.typestore,
                offered_qos_profiles=connection.ext.offered_qos_profiles,
            )
        for connection, stamp, raw in ours.messages():
            writer.write(connections[connection.topic], stamp, raw)
    back = files.open(tmp_path / "bag")
    given = recording.imu["imu/data"]
    assert back.imu["imu/data"].sensor.name == given.sensor.name
    assert back.imu["imu/data"].replace(sensor=given.sensor) == given
    truth = recording.trajectories["truth"]
    assert back.trajectories["truth"] == truth.replace(moving=None, name="")
    assert back.increments["vehicle_imu"] == recording.increments["vehicle_imu"]


def test_values_that_are_not_plausible_are_noted(tmp_path, ros1, imu_numbers):
    numbers = imu_numbers[1].copy()
    numbers[3, 13] = 1e6
    with Writer1(tmp_path / "a.bag") as writer:
        fill(writer, ros1, (imu_numbers[0], numbers))
    assert any(
        "rad/s" in note and "row 3" in note for note in files.open(tmp_path / "a.bag").report.notes
    )


def test_a_message_that_cannot_be_decoded_is_an_error_or_counted(tmp_path, ros1, imu_numbers):
    with Writer1(tmp_path / "a.bag") as writer:
        imu = writer.add_connection("/imu/data", IMU, typestore=ros1.store)
        for row, (stamp, numbers) in enumerate(zip(*imu_numbers, strict=True)):
            raw = ros1.serialize(ros1.imu(int(stamp), numbers))
            writer.write(imu, int(stamp), raw[:-1] if row == 5 else raw)
    with pytest.raises(FormatError, match="/imu/data"):
        files.open(tmp_path / "a.bag")
    back = files.open(tmp_path / "a.bag", on_error="salvage")
    expected = np.delete(imu_numbers[0], 5).tolist()
    assert back.imu["/imu/data"].t_ns.tolist() == expected
    assert back.report.lost_messages == 1


@pytest.mark.parametrize("size", [5, 100, 5000, -1000, -10])
def test_a_cut_bag_is_a_format_error(bag1, size):
    path = bag1()
    os.truncate(path, size if size > 0 else path.stat().st_size + size)
    with pytest.raises(FormatError):
        files.open(path)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE messages",
        "DROP TABLE topics",
        "ALTER TABLE messages RENAME COLUMN data TO other",
        "UPDATE messages SET data = 'text'",
        "UPDATE messages SET data = NULL WHERE id > 3",
        "UPDATE topics SET offered_qos_profiles = '{[}'",
        "UPDATE topics SET serialization_format = 'json'",
    ],
)
def test_a_database_of_another_shape_gives_no_foreign_error(bag2, statement):
    folder = bag2()
    path = folder / "bag.db3"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA writable_schema = 1")
        if "ALTER" in statement or "NULL" in statement:
            database.executescript(
                "CREATE TABLE free (id INTEGER PRIMARY KEY, topic_id, timestamp, data);"
                "INSERT INTO free SELECT * FROM messages; DROP TABLE messages;"
                "ALTER TABLE free RENAME TO messages;"
            )
        database.execute(statement)
    database.close()
    try:
        files.open(path)
    except FormatError:
        pass
    else:
        assert "json" in statement
    try:
        report = files.open(path, on_error="salvage").report
    except FormatError:
        assert "'text'" not in statement
        assert "NULL" not in statement
    else:
        assert not report.lossless or "json" in statement


@pytest.mark.parametrize(
    "metadata", ["", "a: [", "rosbag2_bagfile_information: 3", "rosbag2_bagfile_information: {}"]
)
def test_metadata_that_makes_no_sense_is_a_format_error(bag2, metadata):
    folder = bag2()
    (folder / "metadata.yaml").write_text(metadata)
    for on_error in ("strict", "salvage"):
        with pytest.raises(FormatError):
            files.open(folder, on_error=on_error)


def test_fewer_messages_than_the_metadata_says_are_a_loss(bag2):
    folder = bag2()
    text = (folder / "metadata.yaml").read_text()
    (folder / "metadata.yaml").write_text(text.replace("message_count: 40", "message_count: 42"))
    with pytest.raises(FormatError, match="expected 42 messages, got 40"):
        files.open(folder)
    report = files.open(folder, on_error="salvage").report
    assert (report.messages, report.lost_messages) == (40, 4)  # two of each topic
    assert any("expected 42 messages" in line for line in report.damage)


def test_a_bag_is_written_on_as_mcap_and_csv(bag1, tmp_path, assert_same_imu):
    back = files.open(bag1())
    files.write(tmp_path / "b.mcap", back)
    assert_same_imu(files.open(tmp_path / "b.mcap").imu["/imu/data"])
    single = Recording(Path("x"), ReadReport("hand"), imu=back.imu)
    files.write(tmp_path / "b.csv", single)
    force = files.open(tmp_path / "b.csv").imu["imu"].specific_force
    assert force.tolist() == back.imu["/imu/data"].specific_force.tolist()

"""MCAP against mcap's own reader and writer, against rosbags, and against damage."""

from __future__ import annotations

import io
import os
import struct
import time
import zlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from rosbags.highlevel import AnyReader
from rosbags.typesys import get_types_from_msg

import strapdown.formats as files
from strapdown.errors import (
    ChecksumError,
    FormatError,
    TruncatedError,
    UnsupportedError,
    ValueRangeError,
)
from strapdown.formats import McapWriter, ReadReport, Recording
from strapdown.formats.mcap.records import split
from strapdown.messages import ROS_TYPES, Imu, RosImu, VehicleImu
from strapdown.series import ImuSeries, Trajectory

PACKINGS = list(CompressionType)
MAGIC = b"\x89MCAP0\r\n"


def series_of(recording):
    groups = (recording.imu, recording.trajectories, recording.increments)
    return {(g, topic): s for g, group in enumerate(groups) for topic, s in group.items()}


def only(series, topic="imu/data"):
    return Recording("x", ReadReport("hand"), imu={topic: series})


def some_imu(rows=60, seed=3):
    rng = np.random.default_rng(seed)
    t_ns = 1_000_000_000 + np.arange(rows) * 5_000_000
    return ImuSeries(t_ns, rng.normal(size=(rows, 3)), rng.normal(size=(rows, 3)))


def messages_of(path):
    """Return what mcap's own reader finds, checksums verified: (schema, channel, message) each."""
    with path.open("rb") as stream:
        return list(make_reader(stream, validate_crcs=True).iter_messages())


def with_writer(fill, **options):
    """Return the bytes of a file by mcap's own writer."""
    stream = io.BytesIO()
    writer = Writer(stream, **options)
    writer.start("ros2")
    fill(writer)
    writer.finish()
    return stream.getvalue()


def add_imu_channel(writer, topic="/imu/data", kind="sensor_msgs/msg/Imu", encoding="cdr"):
    schema = writer.register_schema(kind, "ros2msg", b"whatever")
    return writer.register_channel(topic, encoding, schema)


# Round trips


def test_what_is_written_reads_back_equal(recording, tmp_path):
    report = files.write(tmp_path / "a.mcap", recording)
    back = files.open(tmp_path / "a.mcap")
    assert series_of(back) == series_of(recording)
    assert report.lost == ()
    assert back.report.lossless
    assert not back.report.skipped
    # two IMUs, every second field, pose, velocity, attitude, increments
    assert report.messages == back.report.messages == 6 * 60 + 30


def test_frames_survive_and_the_wire_is_flu_and_enu(recording, tmp_path, ros2):
    turned = recording.imu["imu/data"].in_frames(body="FRD", world="NED")
    files.write(tmp_path / "a.mcap", only(turned))
    back = files.open(tmp_path / "a.mcap").imu["imu/data"]
    assert (back.body, back.world) == ("FRD", "NED")
    assert np.array_equal(back.specific_force, turned.specific_force)
    assert np.array_equal(back.magnetic_field, turned.magnetic_field, equal_nan=True)
    assert np.allclose(back.q_world_from_body, turned.q_world_from_body, atol=1e-15)
    flu = recording.imu["imu/data"]
    wire = [m.data for _, channel, m in messages_of(tmp_path / "a.mcap") if "data" in channel.topic]
    message = ros2.store.deserialize_cdr(wire[3], "sensor_msgs/msg/Imu")
    force = message.linear_acceleration
    assert [force.x, force.y, force.z] == flu.specific_force[3].tolist()


floats = st.floats(width=64)


@settings(max_examples=25)
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            hnp.arrays(np.int64, n, elements=st.integers(0, 2**31 * 10**9 - 1)),
            hnp.arrays(np.float64, (n, 3), elements=floats),
            hnp.arrays(np.float64, (n, 3), elements=floats),
            hnp.arrays(np.bool_, n),
        )
    )
)
def test_any_stamps_and_numbers_survive(tmp_path_factory, columns):
    t_ns, angular_velocity, specific_force, flags = columns
    path = tmp_path_factory.mktemp("any") / "a.mcap"
    series = ImuSeries(t_ns, angular_velocity, specific_force, magnetic_field=angular_velocity)
    unit = np.tile([0.0, 0.0, 0.0, 1.0], (len(t_ns), 1))
    track = Trajectory(t_ns, unit, velocity_world=specific_force, moving=flags)
    written = Recording(path, ReadReport("hand"), imu={"imu": series}, trajectories={"t": track})
    report = files.write(path, written)
    back = files.open(path)
    assert back.imu["imu"] == series
    unsaid = bool(report.lost)  # rows with repeated stamps cannot be identified
    assert back.trajectories["t"] == (track.replace(moving=None) if unsaid else track)
    assert not unsaid or len(np.unique(t_ns)) < len(t_ns) or np.any(np.diff(t_ns) < 0)


def test_what_messages_cannot_hold_is_named(tmp_path):
    series = some_imu().replace(gyro_clipping=np.ones(60, np.uint8))
    assert files.write(tmp_path / "a.mcap", only(series)).lost == ("imu/data: gyro_clipping",)


def test_a_negative_stamp_is_refused_and_leaves_no_file(tmp_path):
    series = some_imu()
    with pytest.raises(ValueRangeError):
        files.write(tmp_path / "a.mcap", only(series.replace(t_ns=series.t_ns - 10**12)))
    assert list(tmp_path.iterdir()) == []


def test_two_imus_of_one_parent_keep_their_own_magnetic_fields(tmp_path):
    first = some_imu().replace(magnetic_field=np.full((60, 3), 1e-5))
    second = some_imu(seed=4).replace(magnetic_field=np.full((60, 3), 2e-5))
    written = Recording("x", ReadReport("hand"), {"imu/data": first, "imu/data_raw": second})
    files.write(tmp_path / "a.mcap", written)
    assert files.open(tmp_path / "a.mcap").imu == written.imu


# Other readers


def test_mcap_reads_our_file_in_time_order_with_equal_checksums(recording, tmp_path, ros2):
    files.write(tmp_path / "a.mcap", recording)
    found = messages_of(tmp_path / "a.mcap")
    stamps = [message.log_time for _, _, message in found]
    assert stamps == sorted(stamps)
    assert all(message.publish_time == message.log_time for _, _, message in found)
    imu = recording.imu["imu/data"]
    mine = [m for _, channel, m in found if channel.topic == "imu/data"]
    assert [m.publish_time for m in mine] == imu.t_ns.tolist()
    for row, message in enumerate(mine):
        theirs = ros2.store.deserialize_cdr(message.data, "sensor_msgs/msg/Imu")
        stamp = theirs.header.stamp
        assert stamp.sec * 10**9 + stamp.nanosec == imu.t_ns[row]
        assert theirs.header.frame_id == "imu_link"
        q = theirs.orientation
        assert [q.x, q.y, q.z, q.w] == imu.q_world_from_body[row].tolist()
        rate = theirs.angular_velocity
        assert [rate.x, rate.y, rate.z] == imu.angular_velocity[row].tolist()
        covariance = theirs.orientation_covariance.reshape(3, 3)
        assert np.array_equal(covariance, imu.orientation_covariance[row])


def test_channels_carry_what_rosbag2_wants_for_playing(recording, tmp_path, ros2):
    files.write(tmp_path / "a.mcap", recording)
    store = ros2.store
    for schema, channel, _ in messages_of(tmp_path / "a.mcap"):
        assert (schema.encoding, channel.message_encoding) == ("ros2msg", "cdr")
        if schema.name not in store.types:
            store.register(get_types_from_msg(schema.data.decode(), schema.name))
        assert channel.metadata["topic_type_hash"] == store.hash_rihs01(schema.name)
        assert "reliability: 1" in channel.metadata["offered_qos_profiles"]


def test_the_file_says_who_wrote_it_and_in_which_frames(recording, tmp_path):
    with McapWriter(tmp_path / "a.mcap", metadata={"seed": "7"}) as writer:
        writer.write_series(imu={"imu/data": recording.imu["imu/data"]})
    with (tmp_path / "a.mcap").open("rb") as stream:
        reader = make_reader(stream)
        assert reader.get_header().profile == "ros2"
        records = [(entry.name, entry.metadata) for entry in reader.iter_metadata()]
    assert records[0][0] == "strapdown"
    assert records[0][1]["seed"] == "7"
    assert records[1][0] == "strapdown/topic"
    assert records[1][1]["body"] == "FLU"
    assert records[1][1]["world"] == "ENU"


def test_rosbags_reads_our_file_field_for_field(recording, tmp_path):
    files.write(tmp_path / "a.mcap", recording)
    with AnyReader([tmp_path / "a.mcap"]) as reader:
        counts = {connection.topic: connection.msgcount for connection in reader.connections}
        assert counts == {
            "imu/data": 60,
            "imu/mag": 30,
            "imu/data_raw": 60,
            "truth": 60,
            "truth/velocity": 60,
            "attitude": 60,
            "vehicle_imu": 60,
        }
        rows = Counter()
        for connection, _, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            row = rows[connection.topic]
            rows[connection.topic] += 1
            if connection.topic == "truth":
                truth = recording.trajectories["truth"]
                p, q = message.pose.position, message.pose.orientation
                assert [p.x, p.y, p.z] == truth.position_world[row].tolist()
                assert [q.x, q.y, q.z, q.w] == truth.q_world_from_body[row].tolist()
            elif connection.topic == "vehicle_imu":
                increments = recording.increments["vehicle_imu"]
                assert message.timestamp_sample * 1000 == increments.t_ns[row]
                assert message.delta_angle.tolist() == increments.delta_angle[row].tolist()
                assert message.delta_velocity_dt == 9999
                assert message.delta_angle_clipping == increments.gyro_clipping[row]
            elif connection.topic == "imu/mag":
                field = recording.imu["imu/data"].magnetic_field[2 * row]
                vector = message.magnetic_field
                assert [vector.x, vector.y, vector.z] == field.tolist()


# Other writers


@pytest.mark.parametrize(
    "options",
    [{"compression": packing, "chunk_size": 3000} for packing in PACKINGS]
    + [{"use_chunking": False}, {"enable_crcs": False}, {"use_statistics": False}],
)
def test_a_file_of_mcap_and_rosbags_is_read_field_for_field(
    tmp_path, ros2, imu_numbers, assert_same_imu, options
):
    def fill(writer):
        channel = add_imu_channel(writer)
        for stamp, numbers in zip(*imu_numbers, strict=True):
            raw = ros2.serialize(ros2.imu(int(stamp), numbers))
            writer.add_message(channel, int(stamp) + 5, raw, int(stamp))

    path = tmp_path / "a.bin"
    path.write_bytes(with_writer(fill, **options))
    for on_error in ("strict", "salvage"):
        back = files.open(path, on_error=on_error)
        assert_same_imu(back.imu["/imu/data"])
        assert back.report.messages == 40
        assert back.report.lossless


def test_ros1_messages_in_mcap_are_read(tmp_path, ros1, imu_numbers, assert_same_imu):
    def fill(writer):
        schema = writer.register_schema("sensor_msgs/Imu", "ros1msg", b"")
        channel = writer.register_channel("/imu", "ros1", schema)
        for seq, (stamp, numbers) in enumerate(zip(*imu_numbers, strict=True)):
            raw = ros1.serialize(ros1.imu(int(stamp), numbers, seq=seq))
            writer.add_message(channel, int(stamp), raw, int(stamp))

    (tmp_path / "a.mcap").write_bytes(with_writer(fill))
    assert_same_imu(files.open(tmp_path / "a.mcap").imu["/imu"])


def test_two_channels_of_one_topic_stay_in_the_order_of_the_file(
    tmp_path, ros2, imu_numbers, assert_same_imu
):
    def fill(writer):
        schema = writer.register_schema("sensor_msgs/msg/Imu", "ros2msg", b"")
        channels = [writer.register_channel("/imu", "cdr", schema) for _ in range(2)]
        for row, (stamp, numbers) in enumerate(zip(*imu_numbers, strict=True)):
            raw = ros2.serialize(ros2.imu(int(stamp), numbers))
            writer.add_message(channels[row % 3 == 0], int(stamp), raw, int(stamp))

    (tmp_path / "a.mcap").write_bytes(with_writer(fill))
    assert_same_imu(files.open(tmp_path / "a.mcap").imu["/imu"])


def test_other_types_attachments_and_metadata_are_passed_over_and_counted(
    tmp_path, ros2, imu_numbers, assert_same_imu
):
    def fill(writer):
        channel = add_imu_channel(writer)
        words = add_imu_channel(writer, "/chat", "std_msgs/msg/String")
        strange = writer.register_channel("/json", "json", 0)
        writer.add_attachment(1, 2, "photo", "image/png", bytes(3 * 2**20))
        writer.add_metadata("weather", {"sky": "blue"})
        for stamp, numbers in zip(*imu_numbers, strict=True):
            message = ros2.imu(int(stamp), numbers)
            writer.add_message(channel, int(stamp), ros2.serialize(message), int(stamp))
            writer.add_message(words, int(stamp), ros2.serialize(ros2.text("hello")), int(stamp))
        writer.add_message(strange, 1, b"{}", 1)

    (tmp_path / "a.mcap").write_bytes(with_writer(fill))
    back = files.open(tmp_path / "a.mcap")
    assert_same_imu(back.imu["/imu/data"])
    assert back.report.skipped == {"/chat": 40, "/json": 1}
    assert back.report.messages == 40
    assert back.report.lossless


def test_a_magnetic_field_joins_the_imu_of_its_parent_by_equal_stamps(tmp_path, ros2, imu_numbers):
    stamps, numbers = imu_numbers

    def fill(writer):
        imu = add_imu_channel(writer, "/imu/data")
        field = add_imu_channel(writer, "/imu/mag", "sensor_msgs/msg/MagneticField")
        for stamp, row in zip(stamps.tolist(), numbers, strict=True):
            writer.add_message(imu, stamp, ros2.serialize(ros2.imu(stamp, row)), stamp)
        for stamp in (stamps[3], stamps[7], stamps[7] + 1):
            message = ros2.magnetic_field(int(stamp), [1e-5, 2e-5, 3e-5])
            writer.add_message(field, int(stamp), ros2.serialize(message), int(stamp))

    (tmp_path / "a.mcap").write_bytes(with_writer(fill))
    back = files.open(tmp_path / "a.mcap")
    field = back.imu["/imu/data"].magnetic_field
    assert field[3].tolist() == field[7].tolist() == [1e-5, 2e-5, 3e-5]
    assert np.isnan(np.delete(field, [3, 7], axis=0)).all()
    assert back.report.skipped == {"/imu/mag": 1}
    assert "/imu/mag" in back.report.notes[0]


# Streaming


def test_messages_written_one_at_a_time_read_back(tmp_path):
    horus = [Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1 * row, row) for row in range(5)]
    ros = [RosImu(row, "base", linear_acceleration=[0, 0, row]) for row in range(5)]
    px4 = [VehicleImu(timestamp_sample=row, delta_angle_dt=1000) for row in range(5)]
    with McapWriter(tmp_path / "a.mcap") as writer:
        for row in range(5):
            writer.write("imu", horus[row], log_time_ns=1000 + row)
            writer.write("ros", ros[row])
            writer.write("px4", px4[row])
    found = messages_of(tmp_path / "a.mcap")
    theirs = [(s.name, c.message_encoding, m.data) for s, c, m in found if c.topic == "imu"]
    assert theirs == [("horus/Imu", "x-horus-imu", bytes(message)) for message in horus]
    assert {m.log_time - m.publish_time for _, c, m in found if c.topic == "imu"} == {1000}
    back = files.open(tmp_path / "a.mcap")
    assert back.imu["imu"].t_ns.tolist() == [0, 1, 2, 3, 4]
    assert back.imu["imu"].specific_force[4].tolist() == [0.0, 0.0, 9.81]
    assert back.imu["ros"].specific_force[:, 2].tolist() == [0, 1, 2, 3, 4]
    assert back.imu["ros"].sensor.name == "base"
    assert back.increments["px4"].t_ns.tolist() == [0, 1000, 2000, 3000, 4000]
    assert back.increments["px4"].body == "FRD"


def test_a_message_of_another_type_or_time_is_refused(tmp_path):
    with McapWriter(tmp_path / "a.mcap") as writer:
        with pytest.raises(TypeError, match="got int"):
            writer.write("imu", 3)
        with pytest.raises(ValueRangeError, match="log_time_ns"):
            writer.write("imu", Imu(0, 0, 0, 0, 0, 0), log_time_ns=-1)
    assert files.open(tmp_path / "a.mcap").report.messages == 0


def test_a_file_that_exists_is_not_touched_without_force(tmp_path):
    path = tmp_path / "a.mcap"
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError, match="force"):
        files.write(path, only(some_imu()))
    with pytest.raises(FileExistsError):
        McapWriter(path)
    assert path.read_bytes() == b"precious"
    files.write(path, only(some_imu()), force=True)
    assert len(files.open(path).imu["imu/data"]) == 60
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.mcap"]


def test_two_writers_do_not_share_a_path(tmp_path):
    with (
        McapWriter(tmp_path / "a.mcap"),
        pytest.raises(FileExistsError, match="being written"),
    ):
        McapWriter(tmp_path / "a.mcap")


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(TypeError), McapWriter(tmp_path / "a.mcap") as writer:
        writer.write("imu", "no message")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_the_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.write(tmp_path / "no" / "a.mcap", only(some_imu()))


def test_a_closed_writer_stays_closed(tmp_path):
    with McapWriter(tmp_path / "a.mcap") as writer:
        writer.write("imu", Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0))
        writer.close()
        assert len(files.open(tmp_path / "a.mcap").imu["imu"]) == 1
    with pytest.raises(ValueError, match="closed"):
        writer.write("imu", Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0))


# Damage


@pytest.fixture(scope="module")
def chunked():
    """A file of mcap's writer with 6 chunks; for each its place and its messages.

    The places are those of the index by mcap's own reader.
    """
    series = some_imu(18)

    def fill(writer):
        channel = add_imu_channel(writer)
        for row, stamp in enumerate(series.t_ns.tolist()):
            message = RosImu(
                stamp,
                "imu",
                angular_velocity=series.angular_velocity[row],
                linear_acceleration=series.specific_force[row],
            )
            message.orientation_covariance[0] = -1.0
            writer.add_message(channel, stamp, message.to_cdr(), stamp)

    data = with_writer(fill, chunk_size=900, enable_data_crcs=True)
    indexes = make_reader(io.BytesIO(data)).get_summary().chunk_indexes
    assert len(indexes) == 6
    chunks = [(index.chunk_start_offset, index.chunk_length, 3) for index in indexes]
    return data, series, chunks


def rows_of(recording):
    return recording.imu["/imu/data"] if recording.imu else some_imu(0)


def test_a_cut_at_any_byte_is_an_error_and_salvage_gives_whole_chunks(chunked, stride, tmp_path):
    data, series, chunks = chunked
    path = tmp_path / "a.mcap"
    path.write_bytes(data)
    expected = series.replace(sensor=replace(series.sensor, name="imu"))
    for size in reversed(range(1, len(data), stride)):
        os.truncate(path, size)
        with pytest.raises(TruncatedError) as caught:
            files.open(path)
        assert caught.value.path == path
        assert caught.value.offset <= size
        if size < len(MAGIC):
            continue
        back = files.open(path, on_error="salvage")
        whole = sum(count for start, length, count in chunks if start + length <= size)
        assert rows_of(back) == (expected[:whole] if whole else some_imu(0))
        assert not back.report.lossless
        assert back.report.damage


def test_a_flipped_bit_in_a_chunk_is_a_checksum_error_and_costs_that_chunk(chunked, tmp_path):
    data, series, chunks = chunked
    path = tmp_path / "a.mcap"
    rng = np.random.default_rng(5)
    for number, (start, length, count) in enumerate(chunks):
        damaged = bytearray(data)
        at = int(rng.integers(start + 9 + 44, start + length))
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(ChecksumError) as caught:
            files.open(path)
        assert caught.value.offset == start
        back = files.open(path, on_error="salvage")
        kept = np.delete(np.arange(18), slice(3 * number, 3 * number + 3))
        assert rows_of(back).t_ns.tolist() == series.t_ns[kept].tolist()
        assert np.array_equal(rows_of(back).specific_force, series.specific_force[kept])
        assert back.report.lost_messages == count
        assert back.report.lost_bytes == length


def test_without_a_summary_the_index_behind_a_chunk_tells_what_was_lost(chunked, tmp_path):
    data, _, chunks = chunked
    start, length, _ = chunks[3]
    damaged = bytearray(data[: chunks[5][0]])
    damaged[start + length - 1] ^= 1
    (tmp_path / "a.mcap").write_bytes(damaged)
    report = files.open(tmp_path / "a.mcap", on_error="salvage").report
    assert report.lost_messages == 3
    assert report.messages == 12


def test_salvage_finds_the_next_chunk_behind_bytes_that_are_no_records(chunked, tmp_path):
    data, series, chunks = chunked
    start, length, _ = chunks[2]
    noise = np.random.default_rng(6).bytes(length + 700)
    (tmp_path / "a.mcap").write_bytes(data[:start] + noise + data[chunks[3][0] :])
    back = files.open(tmp_path / "a.mcap", on_error="salvage")
    kept = np.delete(np.arange(18), slice(6, 9))
    assert rows_of(back).t_ns.tolist() == series.t_ns[kept].tolist()
    with pytest.raises(FormatError):
        files.open(tmp_path / "a.mcap")


def test_topics_come_from_the_summary_where_the_first_chunk_is_lost(chunked, tmp_path):
    data, series, chunks = chunked
    damaged = bytearray(data)
    damaged[chunks[0][0] + 100] ^= 1
    (tmp_path / "a.mcap").write_bytes(damaged)
    back = files.open(tmp_path / "a.mcap", on_error="salvage")
    assert rows_of(back).t_ns.tolist() == series.t_ns[3:].tolist()


def test_without_any_definition_the_messages_are_counted_as_lost(chunked, tmp_path):
    data, _, chunks = chunked
    damaged = bytearray(data[: chunks[-1][0]])
    damaged[chunks[0][0] + 100] ^= 1
    (tmp_path / "a.mcap").write_bytes(damaged)
    back = files.open(tmp_path / "a.mcap", on_error="salvage")
    assert back.imu == {}
    assert back.report.lost_messages == 15


def test_every_flipped_bit_of_our_file_is_found(stride, tmp_path):
    path = tmp_path / "a.mcap"
    files.write(path, only(some_imu(3)))
    data = path.read_bytes()
    whole = files.open(path).imu["imu/data"]
    with path.open("r+b", buffering=0) as file:
        for bit in range(0, 8 * len(data), 11 * stride):
            at, mask = bit // 8, 1 << bit % 8
            os.pwrite(file.fileno(), bytes([data[at] ^ mask]), at)
            with pytest.raises(FormatError):
                files.open(path)
            if at >= len(MAGIC):
                back = files.open(path, on_error="salvage")
                assert not back.report.lossless
                assert not back.imu or back.imu["imu/data"] == whole
            os.pwrite(file.fileno(), data[at : at + 1], at)
    assert files.open(path).imu["imu/data"] == whole


def record(opcode, content):
    return struct.pack("<BQ", opcode, len(content)) + content


def text(words):
    return struct.pack("<I", len(words)) + words


def bare_file(*records):
    """Header, records, and an end without summary or checksums."""
    ends = record(0x0F, bytes(4)), record(0x02, bytes(20)), MAGIC
    return MAGIC + record(0x01, text(b"ros2") + text(b"")) + b"".join(records) + b"".join(ends)


def chunk(packed, size, packing=b"zstd", crc=0):
    head = struct.pack("<QQQI", 0, 0, size, crc) + text(packing)
    return record(0x06, head + struct.pack("<Q", len(packed)) + packed)


@pytest.mark.parametrize(
    ("packed", "size", "packing"),
    [
        (bytes(100), 2**32, b"zstd"),
        (bytes(100), 2**63, b"lz4"),
        (bytes(100), 100_001, b"zstd"),
        (zstandard.compress(bytes(2**20)), 2**20, b"zstd"),
    ],
)
def test_a_chunk_that_claims_too_much_is_refused_before_it_is_unpacked(
    tmp_path, packed, size, packing
):
    (tmp_path / "a.mcap").write_bytes(bare_file(chunk(packed, size, packing)))
    with pytest.raises(UnsupportedError, match="claim to decompress"):
        files.open(tmp_path / "a.mcap")
    assert files.open(tmp_path / "a.mcap", on_error="salvage").report.lost_bytes


@pytest.mark.parametrize("size", [1000, 40_000])
def test_a_chunk_that_unpacks_to_more_than_it_claims_is_refused(tmp_path, size):
    bomb = zstandard.compress(bytes(2**28))
    streamed = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(2**22))
    for packed in (bomb, streamed):
        (tmp_path / "a.mcap").write_bytes(bare_file(chunk(packed, size)))
        with pytest.raises(ChecksumError):
            files.open(tmp_path / "a.mcap")


def test_an_unknown_packing_is_named(tmp_path):
    (tmp_path / "a.mcap").write_bytes(bare_file(chunk(b"abc", 3, b"brotli")))
    with pytest.raises(UnsupportedError, match="brotli"):
        files.open(tmp_path / "a.mcap")


def framed(records):
    return b"".join(struct.pack("<BQ", kind, len(body)) + body for kind, body in records)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 200),  # of a kind in a row: below and above what is compared at once
            st.sampled_from([4, 5, 7]),
            st.integers(0, 3),
        ),
        max_size=6,
    ),
    st.integers(0, 40),
)
def test_a_chunk_is_split_like_record_by_record(rows, cut):
    records = [
        (kind, bytes([number % 251]) * length)
        for count, kind, length in rows
        for number in range(count)
    ]
    data = framed(records)
    data = data[: len(data) - cut]
    expected, at = [], 0
    for kind, body in records:
        expected.append((kind, at + 9, at := at + 9 + len(body)))
    whole = [each for each in expected if each[2] <= len(data)]
    parts = split(data)
    assert [next(parts) for _ in whole] == whole
    if len(data) in {0, *(stop for _, _, stop in whole)}:
        assert not list(parts)
    else:
        with pytest.raises(FormatError, match="expected a"):
            next(parts)


def test_short_runs_of_records_cost_no_more_than_their_number():
    data = framed([(5, b""), (5, b""), (5, b"\0")] * 30_000)
    start = time.process_time()
    assert sum(1 for _ in split(data)) == 90_000
    assert time.process_time() - start < 5.0  # not the square of it


def test_records_of_applications_are_passed_over(tmp_path):
    (tmp_path / "a.mcap").write_bytes(bare_file(record(0x80, b"mine"), record(0x42, b"future")))
    assert files.open(tmp_path / "a.mcap").report.lossless


@pytest.mark.parametrize(
    ("records", "what"),
    [
        ([record(0x00, b"")], "opcode 0x00"),
        ([record(0x03, b"\1\0" + text(b"\xff") + text(b"") + text(b""))], "UTF-8"),
        ([record(0x03, b"\1\0" + text(b"a")[:3])], "a field of 4 bytes"),
        ([record(0x05, bytes(10))], "a message, got 10 bytes"),
        ([record(0x05, bytes(30))], "defined channels"),
        ([record(0x07, bytes(7))], "an index"),
        ([record(0x06, bytes(100))], "two lengths"),
        ([chunk(record(0x05, bytes(30))[:-1], 38, b"")], "too long"),
        ([chunk(b"12345", 5, b"")], "last 5 bytes"),
        ([chunk(bytes(90), 90, b"")], "zeros"),
        ([chunk(b"", 0, b""), record(0x05, bytes(30))], "one outside"),
        ([record(0x03, b"\1\0" + text(n) + text(b"") + text(b"")) for n in (b"a", b"b")], "two"),
        ([record(0x01, text(b"") + text(b""))] * 2 + [record(0x0F, bytes(4))] * 2, None),
    ],
)
def test_records_that_make_no_sense_are_damage(tmp_path, records, what):
    path = tmp_path / "a.mcap"
    path.write_bytes(bare_file(*records))
    if what is not None:
        with pytest.raises(FormatError, match=what):
            files.open(path)
        assert what.split(",")[0] in "".join(files.open(path, on_error="salvage").report.damage)
    else:
        files.open(path, on_error="salvage")


def test_a_field_topic_of_which_nothing_can_be_decoded_is_counted(tmp_path):
    def fill(writer):
        writer.add_message(add_imu_channel(writer), 1, RosImu(5).to_cdr(), 1)
        field = add_imu_channel(writer, "/imu/mag", "sensor_msgs/msg/MagneticField")
        writer.add_message(field, 1, b"\0\1\0\0", 1)

    (tmp_path / "a.mcap").write_bytes(with_writer(fill))
    back = files.open(tmp_path / "a.mcap", on_error="salvage")
    assert back.imu["/imu/data"].magnetic_field is None
    assert back.report.lost_messages == 1


def test_many_places_of_damage_are_counted_and_not_all_described(tmp_path):
    (tmp_path / "a.mcap").write_bytes(bare_file(*[chunk(b"12345", 5, b"")] * 1000))
    report = files.open(tmp_path / "a.mcap", on_error="salvage").report
    assert len(report.damage) == 21
    assert report.damage[-1] == "and 980 more"


def test_a_count_that_does_not_fit_the_statistics_is_an_error(tmp_path, chunked):
    data = chunked[0]
    statistics = data.index(struct.pack("<BQQHI", 0x0B, 56, 18, 1, 1))
    footer = len(data) - 8 - 29
    start, _, _ = struct.unpack_from("<QQI", data, footer + 9)
    changed = bytearray(data)
    changed[statistics + 9] = 19
    crc = zlib.crc32(bytes(changed[start : footer + 25]))
    changed[footer + 25 : footer + 29] = struct.pack("<I", crc)
    (tmp_path / "a.mcap").write_bytes(changed)
    with pytest.raises(FormatError, match="19 messages"):
        files.open(tmp_path / "a.mcap")
    report = files.open(tmp_path / "a.mcap", on_error="salvage").report
    assert (report.messages, report.lost_messages) == (18, 1)


def test_a_message_that_cannot_be_decoded_is_an_error_or_counted(tmp_path):
    def fill(writer):
        imu = add_imu_channel(writer, "/imu/data")
        horus = writer.register_channel(
            "/horus", "x-horus-imu", writer.register_schema("horus/Imu", "", b"")
        )
        px4 = add_imu_channel(writer, "/px4", "px4_msgs/msg/VehicleImu")
        for channel, good, bad in (
            (imu, RosImu(5).to_cdr(), b"\0\1\0\0short"),
            (horus, bytes(Imu(0, 0, 9.81, 0, 0, 0, 5)), bytes(303)),
            (horus, bytes(Imu(0, 0, 9.81, 0, 0, 0, 6)), bytes(296) + b"\xff" * 8),
            (px4, VehicleImu(timestamp_sample=5).to_cdr(), bytes(64) + b"x"),
            (px4, VehicleImu(timestamp_sample=5).to_cdr(), b"\0\1\0\0" + b"\xff" * 60),
        ):
            writer.add_message(channel, 1, good, 1)
            writer.add_message(channel, 1, bad, 1)

    (tmp_path / "a.mcap").write_bytes(with_writer(fill))
    with pytest.raises(FormatError, match="/imu/data") as caught:
        files.open(tmp_path / "a.mcap")
    assert caught.value.topic == "/imu/data"
    back = files.open(tmp_path / "a.mcap", on_error="salvage")
    assert {name: len(series) for name, series in back.imu.items()} == {
        "/imu/data": 1,
        "/horus": 2,
    }
    assert len(back.increments["/px4"]) == 2
    assert back.report.messages == 5
    assert back.report.lost_messages == 5


@pytest.mark.parametrize("nonsense", [{"body": "XYZ"}, {"world": "up"}, {"gyro_device_id": "x"}])
def test_a_description_that_makes_no_sense_is_damage(tmp_path, nonsense):
    def fill(writer):
        said = {"topic": "/imu/data", "holds": "imu", **nonsense}
        writer.add_metadata("strapdown/topic", said)
        writer.add_message(add_imu_channel(writer), 1, RosImu(5).to_cdr(), 1)

    (tmp_path / "a.mcap").write_bytes(with_writer(fill))
    with pytest.raises(FormatError, match="description"):
        files.open(tmp_path / "a.mcap")
    back = files.open(tmp_path / "a.mcap", on_error="salvage")
    assert len(back.imu["/imu/data"]) == 1
    assert not back.report.lossless


def test_every_type_that_is_written_has_a_definition_that_rosbags_parses(ros2):
    for name, kind in ROS_TYPES.items():
        ros2.store.register(get_types_from_msg(kind.definition, name))
        assert ros2.store.hash_rihs01(name) == kind.rihs01

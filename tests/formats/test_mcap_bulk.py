"""Many messages at once: order, indexes and checksums, as the library mcap reads them."""

from __future__ import annotations

import io
import threading
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import NonSeekingReader, make_reader
from mcap.records import Chunk
from mcap.stream_reader import StreamReader
from rosbags.highlevel import AnyReader

import strapdown.formats as files
from strapdown.errors import ValueRangeError
from strapdown.formats import McapWriter, Recording, block_writer
from strapdown.messages import RosImu
from strapdown.series import ImuSeries, Increments, Trajectory

ROWS = 3000
STEP_NS = 1_000_000


def vectors(rows, seed):
    return np.random.default_rng(seed).normal(size=(rows, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def several():
    """Topics with messages of different lengths, at different rates."""
    t_ns = 10**9 + np.arange(ROWS) * STEP_NS
    slow = t_ns[::7] + 300
    unit = np.tile([0.0, 0.0, 0.0, 1.0], (len(slow), 1))
    dt_ns = np.full(ROWS, STEP_NS)
    return Recording(
        imu={"imu/data": ImuSeries(t_ns, vectors(ROWS, 1), vectors(ROWS, 2))},
        trajectories={"truth": Trajectory(slow, unit, position_world=vectors(len(slow), 3))},
        increments={
            "vehicle_imu": Increments(
                t_ns + 1000, vectors(ROWS, 4), vectors(ROWS, 5), dt_ns, dt_ns, body="FRD"
            )
        },
    )


@pytest.fixture(scope="module")
def path(several, tmp_path_factory):
    path = tmp_path_factory.mktemp("bulk") / "several.mcap"
    files.write(path, several)
    return path


def test_messages_of_all_topics_stand_in_the_order_of_their_stamps(path, several):
    with path.open("rb") as stream:
        found = [
            (channel.topic, message.log_time)
            for _, channel, message in NonSeekingReader(stream, validate_crcs=True).iter_messages(
                log_time_order=False
            )
        ]
    stamps = [stamp for _, stamp in found]
    assert stamps == sorted(stamps)
    by_topic = defaultdict(list)
    for topic, stamp in found:
        by_topic[topic].append(stamp)
    assert by_topic == {
        "imu/data": several.imu["imu/data"].t_ns.tolist(),
        "truth": several.trajectories["truth"].t_ns.tolist(),
        "vehicle_imu": several.increments["vehicle_imu"].t_ns.tolist(),
    }


@pytest.mark.parametrize("topic", ["imu/data", "truth", "vehicle_imu"])
def test_the_indexes_lead_to_the_messages_of_a_topic_and_a_time(path, several, topic):
    start, stop = 10**9 + 1500 * STEP_NS, 10**9 + 2500 * STEP_NS
    groups = {**several.imu, **several.trajectories, **several.increments}
    expected = [stamp for stamp in groups[topic].t_ns.tolist() if start <= stamp < stop]
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        messages = reader.iter_messages(topics=[topic], starting_at=start, ending_before=stop)
        assert [message.log_time for _, _, message in messages] == expected


def test_the_summary_counts_what_the_file_holds(path, several):
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    statistics = summary.statistics
    counts = {
        summary.channels[channel].topic: count
        for channel, count in statistics.channel_message_counts.items()
    }
    slow = len(several.trajectories["truth"])
    assert counts == {"imu/data": ROWS, "truth": slow, "vehicle_imu": ROWS}
    assert statistics.message_count == 2 * ROWS + slow
    assert (statistics.channel_count, statistics.schema_count) == (3, 3)
    assert statistics.chunk_count == len(summary.chunk_indexes) > 3
    assert statistics.metadata_count == 4
    assert statistics.message_start_time == 10**9
    assert statistics.message_end_time == 10**9 + (ROWS - 1) * STEP_NS + 1000


def test_chunks_end_with_the_message_that_reaches_256_kib(path):
    with path.open("rb") as stream:
        records = StreamReader(stream, emit_chunks=True).records
        sizes = [record.uncompressed_size for record in records if isinstance(record, Chunk)]
    assert all(2**18 < size < 2**18 + 400 for size in sizes[:-1])


def test_rosbags_reads_every_number_of_every_topic(path, several):
    rows = defaultdict(list)
    with AnyReader([path]) as reader:
        for connection, _, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            if connection.topic == "imu/data":
                vector = message.linear_acceleration
                rows["imu"].append([vector.x, vector.y, vector.z])
            elif connection.topic == "truth":
                vector = message.pose.position
                rows["truth"].append([vector.x, vector.y, vector.z])
            else:
                rows["vehicle_imu"].append(message.delta_velocity.tolist())
    assert rows["imu"] == several.imu["imu/data"].specific_force.tolist()
    assert rows["truth"] == several.trajectories["truth"].position_world.tolist()
    assert rows["vehicle_imu"] == several.increments["vehicle_imu"].delta_velocity.tolist()


def test_our_reader_gives_back_what_went_in(path, several):
    back = files.open(path)
    assert back.report.lossless
    assert back.imu == several.imu
    assert back.increments == several.increments
    assert back.trajectories["truth"] == several.trajectories["truth"]


stamps = st.lists(st.integers(0, 10**6), max_size=30)


@settings(max_examples=30)
@given(st.lists(stamps, min_size=1, max_size=4))
def test_topics_keep_their_order_whatever_their_stamps(tmp_path_factory, many):
    path = tmp_path_factory.mktemp("order") / "a.mcap"
    zeros = {n: np.zeros((n, 3)) for n in map(len, many)}
    series = {
        f"t{number}": ImuSeries(np.array(each, np.int64), zeros[len(each)], zeros[len(each)])
        for number, each in enumerate(many)
    }
    files.write(path, Recording(imu=series))
    found = defaultdict(list)
    with path.open("rb") as stream:
        for _, channel, message in make_reader(stream).iter_messages(log_time_order=False):
            found[channel.topic].append(message.publish_time)
    assert found == {f"t{number}": each for number, each in enumerate(many) if each}


def test_single_messages_and_series_share_a_file(several, tmp_path):
    message = RosImu(5, "imu_link")
    with McapWriter(tmp_path / "a.mcap") as writer:
        writer.write("single", message)
        writer.write_series(imu=several.imu)
        writer.write("single", message, log_time_ns=10**12)
        assert writer.messages == ROWS + 2
    with (tmp_path / "a.mcap").open("rb") as stream:
        found = [
            (message.publish_time, message.log_time, message.data)
            for _, _, message in make_reader(stream, validate_crcs=True).iter_messages(
                topics=["single"]
            )
        ]
    assert found == [(5, 5, message.to_cdr()), (5, 10**12, message.to_cdr())]
    assert files.open(tmp_path / "a.mcap").imu["imu/data"] == several.imu["imu/data"]


def test_blocks_and_the_whole_give_the_same_messages(several, path, tmp_path):
    series = several.imu["imu/data"]
    with block_writer(tmp_path / "a.mcap") as writer:
        for start in range(0, ROWS, 700):
            writer.write(Recording(imu={"imu/data": series[start : start + 700]}))
    payloads = []
    for each in (path, tmp_path / "a.mcap"):
        with each.open("rb") as stream:
            messages = make_reader(stream).iter_messages(topics=["imu/data"])
            payloads.append([message.data for _, _, message in messages])
    assert payloads[0] == payloads[1]


def test_a_failure_after_many_chunks_leaves_no_file_and_no_thread(several, tmp_path):
    series = several.imu["imu/data"]
    before = threading.active_count()

    def fail():
        with McapWriter(tmp_path / "a.mcap") as writer:
            writer.write_series(imu={"imu": series})
            writer.write_series(imu={"imu": series.replace(t_ns=series.t_ns - 10**12)})

    with pytest.raises(ValueRangeError):
        fail()
    assert list(tmp_path.iterdir()) == []
    assert threading.active_count() == before


def test_a_topic_without_rows_is_a_channel_without_messages(tmp_path):
    none = np.zeros((0, 3))
    files.write(tmp_path / "a.mcap", ImuSeries(np.zeros(0, np.int64), none, none))
    data = (tmp_path / "a.mcap").read_bytes()
    summary = make_reader(io.BytesIO(data)).get_summary()
    assert [channel.topic for channel in summary.channels.values()] == ["imu/data"]
    assert summary.statistics.message_count == 0
    assert files.open(tmp_path / "a.mcap").imu == {}

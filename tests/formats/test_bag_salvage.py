"""Salvage of damaged ROS 1 bags from rosbags' own writers: cut, flipped and overwritten.

The expected messages are computed from the undamaged file with rosbags' reader.
"""

from __future__ import annotations

import bz2
import json
import re
from typing import NamedTuple

import lz4.frame
import numpy as np
import pytest
from rosbags.rosbag1 import Reader, Writer
from typer.testing import CliRunner

import strapdown.formats as files
from strapdown.cli._app import app
from strapdown.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError

IMU, TEXT = "sensor_msgs/msg/Imu", "std_msgs/msg/String"
TOPIC = "/imu/data"
PACKINGS = ["none", "bz2", "lz4"]


class Bag(NamedTuple):
    """The bytes of a bag, with the places of its chunks and messages."""

    data: bytes
    chunks: dict  # by start of each chunk: start and size of its data
    messages: list  # chunk, end in the decompressed chunk, stamp of an Imu or None


def write(path, ros1, imu_numbers, packing, threshold=3000):
    writer = Writer(path)
    if packing != "none":
        writer.set_compression(Writer.CompressionFormat[packing.upper()])
    if packing == "lz4":  # rosbag's recorder sets this flag, rosbags' writer does not
        writer.compressor = lambda raw: lz4.frame.compress(raw, content_checksum=True)
    writer.chunk_threshold = threshold
    with writer:
        imu = writer.add_connection(TOPIC, IMU, typestore=ros1.store)
        text = writer.add_connection("/chat", TEXT, typestore=ros1.store)
        for stamp, numbers in zip(*imu_numbers, strict=True):
            writer.write(imu, int(stamp), ros1.serialize(ros1.imu(int(stamp), numbers)))
            writer.write(text, int(stamp), ros1.serialize(ros1.text("hi")))


def layout(path, stamps):
    with Reader(path) as reader:
        chunks = {at: (chunk.datapos, chunk.datasize) for at, chunk in reader.chunks.items()}
        topics = {connection.id: connection.topic for connection in reader.connections}
        raw = {at: chunk.decompressor for at, chunk in reader.chunks.items()}
        index = sorted(
            (entry.chunk_pos, entry.offset, number, entry.time)
            for number, entries in reader.indexes.items()
            for entry in entries
        )
    data = path.read_bytes()
    unpacked = {at: raw[at](data[start : start + size]) for at, (start, size) in chunks.items()}
    messages = []
    for chunk, offset, number, stamp in index:
        head = offset + 4 + 38  # a length; op, conn and time with their lengths
        size = int.from_bytes(unpacked[chunk][head : head + 4], "little")
        messages.append((chunk, head + 4 + size, stamp if topics[number] == TOPIC else None))
    assert [stamp for *_, stamp in messages if stamp] == list(stamps)
    return Bag(data, chunks, messages)


@pytest.fixture(scope="module", params=PACKINGS)
def bag(request, tmp_path_factory, ros1, imu_numbers):
    path = tmp_path_factory.mktemp("bag") / "a.bag"
    write(path, ros1, imu_numbers, request.param)
    return layout(path, imu_numbers[0])


@pytest.fixture
def packing(bag):
    return re.search(rb"compression=(none|bz2|lz4)", bag.data)[1].decode()


@pytest.fixture
def damaged(tmp_path):
    """Write bytes and read them in salvage."""

    def make(data):
        (tmp_path / "a.bag").write_bytes(data)
        return files.open(tmp_path / "a.bag", on_error="salvage")

    return make


@pytest.fixture
def strict_error(tmp_path):
    """Write bytes and return the error of reading them."""

    def make(data):
        (tmp_path / "a.bag").write_bytes(data)
        with pytest.raises(FormatError) as caught:
            files.open(tmp_path / "a.bag")
        assert caught.value.path == tmp_path / "a.bag"
        assert 'on_error="salvage" gives' in str(caught.value)
        return caught.value

    return make


def stamps(recording):
    return recording.imu[TOPIC].t_ns.tolist() if TOPIC in recording.imu else []


def assert_holds(recording, messages):
    """Compare read and expected messages: the Imu by their stamps, the others by number."""
    assert stamps(recording) == [stamp for *_, stamp in messages if stamp]
    texts = sum(stamp is None for *_, stamp in messages)
    assert recording.report.skipped == ({"/chat": texts} if texts else {})
    assert recording.report.damage


def unpacked_size(packing, packed):
    """Return how much of a chunk can be decompressed without its end."""
    if packing == "none":
        return len(packed)
    unpacker = {"bz2": bz2.BZ2Decompressor, "lz4": lz4.frame.LZ4FrameDecompressor}[packing]()
    return len(unpacker.decompress(packed))


def whole_before(bag, packing, cut):
    sizes = {
        at: unpacked_size(packing, bag.data[start : min(start + size, cut)])
        for at, (start, size) in bag.chunks.items()
        if start < cut < start + size
    }
    ends = {at: start + size for at, (start, size) in bag.chunks.items()}
    return [
        message
        for message in bag.messages
        if (message[1] <= sizes[message[0]] if message[0] in sizes else ends[message[0]] <= cut)
    ]


def cuts(bag, stride):
    edges = [at + step for at in bag.chunks for step in (-1, 0, 1, 60)]
    rng = np.random.default_rng(5)
    return [
        20,
        4000,
        *edges,
        *rng.integers(9, len(bag.data), 180 // stride).tolist(),
        len(bag.data) - 1,
    ]


def test_a_cut_bag_gives_exactly_the_whole_messages_before_the_cut(
    bag, packing, damaged, strict_error, stride
):
    counts = set()
    for cut in cuts(bag, stride):
        expected = whole_before(bag, packing, cut)
        error = strict_error(bag.data[:cut])
        assert isinstance(error, TruncatedError)
        assert 0 <= error.offset <= cut
        if cut < 13:
            continue
        back = damaged(bag.data[:cut])
        assert_holds(back, expected)
        assert 0 <= back.report.lost_bytes <= cut - error.offset
        counts.add(len(expected))
    assert len(counts) >= len(bag.chunks) > 5


def test_a_cut_in_a_long_chunk_of_lz4_gives_the_blocks_before_it(
    tmp_path, ros1, imu_numbers, damaged
):
    many = np.arange(1, 401) * 10**9, np.tile(imu_numbers[1], (10, 1))
    write(tmp_path / "a.bag", ros1, many, "lz4", threshold=2**20)
    bag = layout(tmp_path / "a.bag", many[0])
    assert len(bag.chunks) == 1
    cut = len(bag.data) * 2 // 3
    expected = whole_before(bag, "lz4", cut)
    assert 0 < len(expected) < len(bag.messages)
    assert_holds(damaged(bag.data[:cut]), expected)


def without_index(data):
    """Set the position of the index to 0, as it is until a recorder ends."""
    at = data.index(b"index_pos=") + 10
    return data[:at] + bytes(8) + data[at + 8 :]


def test_a_bag_without_its_index_gives_everything(bag, damaged, strict_error, assert_same_imu):
    data = without_index(bag.data)
    error = strict_error(data)
    assert isinstance(error, TruncatedError)
    assert f"gives at least {len(bag.messages)} messages" in str(error)
    back = damaged(data)
    assert_same_imu(back.imu[TOPIC])
    assert_holds(back, bag.messages)
    assert (back.report.lost_messages, back.report.lost_bytes) == (0, 0)


def test_the_command_line_salvages_a_cut_bag_and_says_so_with_exit_code_3(bag, tmp_path):
    cut = tmp_path / "a.bag.active"
    cut.write_bytes(bag.data[: len(bag.data) // 2])
    done = CliRunner().invoke(app, ["info", str(cut), "--json"])
    report = json.loads(done.stdout)
    assert done.exit_code == report["exit"] == 3
    assert report["format"] == "rosbag1"
    assert report["messages"] > 0


def test_the_file_of_a_killed_recorder_is_read_into_its_open_chunk(bag, packing, damaged):
    *_, before, last = bag.chunks
    start, size = bag.chunks[last]
    head = bytearray(bag.data[last:start])  # a recorder writes both sizes when the chunk ends
    at = head.index(b"size=") + 5
    head[at : at + 4] = head[-4:] = bytes(4)
    cut = start + (size * 2 // 3 if packing == "none" else size)
    data = without_index(bag.data[:last] + head + bag.data[start:cut])
    sizes = unpacked_size(packing, bag.data[start:cut])
    expected = [each for each in bag.messages if each[0] != last or each[1] <= sizes]
    assert len(expected) > sum(each[0] <= before for each in bag.messages)
    assert_holds(damaged(data), expected)


def middle(bag):
    """Return a chunk with others around it, and the messages of all but this one."""
    chunk = list(bag.chunks)[3]
    return chunk, [message for message in bag.messages if message[0] != chunk]


@pytest.mark.parametrize("bag", ["bz2", "lz4"], indirect=True)
def test_a_flipped_bit_in_a_packed_chunk_costs_that_chunk(bag, damaged, strict_error):
    chunk, others = middle(bag)
    start, size = bag.chunks[chunk]
    for at in range(start, start + size, 97):
        data = bytearray(bag.data)
        data[at] ^= 0x10
        error = strict_error(data)
        assert error.offset == chunk
        assert isinstance(error, ChecksumError | TruncatedError)
        back = damaged(data)
        assert_holds(back, others)
        assert back.report.lost_messages == len(bag.messages) - len(others)
        assert back.report.lost_bytes == start + size - chunk


@pytest.mark.parametrize("bag", ["none"], indirect=True)
@pytest.mark.parametrize("value", [b"\xff", b"\0"])
def test_broken_framing_in_a_plain_chunk_costs_the_rest_of_it(bag, damaged, strict_error, value):
    chunk, others = middle(bag)
    start, size = bag.chunks[chunk]
    inside = [message for message in bag.messages if message[0] == chunk]
    for number, message in enumerate(inside[:-1]):
        if not inside[number + 1][2]:
            continue  # rosbags only reads Imu messages
        begin = start + message[1]
        data = bag.data[:begin] + value + bag.data[begin + 1 :]
        error = strict_error(data)
        assert error.offset == begin
        assert not isinstance(error, TruncatedError)
        back = damaged(data)
        expected = sorted([*others, *inside[: number + 1]], key=bag.messages.index)
        assert_holds(back, expected)
        assert back.report.lost_messages == len(inside) - number - 1
        assert back.report.lost_bytes == size - message[1]


@pytest.mark.parametrize("change", [-1000, -3, 1, 10**4, 10**9])
def test_a_wrong_length_of_a_chunk_loses_nothing(bag, damaged, strict_error, change):
    chunk, _ = middle(bag)
    start, size = bag.chunks[chunk]
    length = max(size + change, 1).to_bytes(4, "little")
    data = bag.data[: start - 4] + length + bag.data[start:]
    strict_error(data)
    back = damaged(data)
    assert_holds(back, bag.messages)
    assert back.report.lost_messages == 0


def test_behind_a_chunk_that_is_overwritten_with_its_index_the_next_one_is_found(
    bag, damaged, strict_error
):
    chunk, others = middle(bag)
    behind = list(bag.chunks)[4]
    for stop in (chunk + 30, behind, behind - 1):
        data = bag.data[:chunk] + b"\x5a" * (stop - chunk) + bag.data[stop:]
        assert strict_error(data).offset == chunk
        back = damaged(data)
        assert_holds(back, others)
        assert back.report.lost_messages == len(bag.messages) - len(others)
        assert back.report.lost_bytes == behind - chunk


def test_bytes_that_are_no_records_are_passed_over(bag, damaged):
    chunk, _ = middle(bag)
    back = damaged(bag.data[:chunk] + b"\x5a" * 3000 + bag.data[chunk:])
    assert_holds(back, bag.messages)
    assert back.report.lost_bytes == 3000


def test_topics_come_from_the_index_where_the_first_chunk_is_lost(bag, damaged):
    first, second, *_ = bag.chunks
    lost = sum(message[0] == first for message in bag.messages)
    data = bag.data[:first] + bytes(second - first) + bag.data[second:]
    assert_holds(damaged(data), bag.messages[lost:])
    stop = list(bag.chunks)[-1]  # without an index the topic of the messages is unknown
    back = damaged(data[:stop])
    assert back.report.lost_messages == sum(first < each[0] < stop for each in bag.messages)
    assert not back.imu


@pytest.mark.parametrize("topic", [b"/imu/dat2", b"/imu/\xff\xff\xff\xff"])
def test_of_two_topics_with_one_number_the_first_counts(bag, damaged, strict_error, topic):
    index = int.from_bytes(bag.data[bag.data.index(b"index_pos=") + 10 :][:8], "little")
    data = bag.data[:index] + bag.data[index:].replace(b"topic=/imu/data", b"topic=" + topic)
    assert strict_error(without_index(data)).offset == index
    assert_holds(damaged(without_index(data)), bag.messages)


@pytest.mark.parametrize("bag", ["bz2", "lz4"], indirect=True)
def test_a_chunk_that_unpacks_without_end_is_refused_and_the_others_are_read(
    bag, packing, damaged, strict_error
):
    chunk, others = middle(bag)
    start, size = bag.chunks[chunk]
    packers = {"bz2": bz2.compress, "lz4": lz4.frame.compress}
    bomb = packers[packing](bytes(size * 200 if packing == "lz4" else 2**24))
    assert len(bomb) <= size
    for claimed in (None, 0, 2**32 - 1):
        data = bytearray(bag.data)
        data[start : start + size] = bomb.ljust(size, b"\0")
        if claimed is not None:
            at = data.index(b"size=", chunk) + 5
            data[at : at + 4] = claimed.to_bytes(4, "little")
        assert isinstance(strict_error(data), ChecksumError | UnsupportedError | FormatError)
        back = damaged(data)
        assert_holds(back, others)
        assert back.report.lost_messages == len(bag.messages) - len(others)


def test_a_bag_of_another_version_or_with_encryption_is_unsupported(bag, tmp_path, strict_error):
    data = bag.data.replace(b"V2.0", b"V1.2", 1)
    (tmp_path / "old.bag").write_bytes(data)
    for on_error in ("strict", "salvage"):
        with pytest.raises(UnsupportedError, match="of version"):
            files.open(tmp_path / "old.bag", on_error=on_error)
    field = b"encryptor=rosbag/AesCbc"
    field = len(field).to_bytes(4, "little") + field
    header = 13 + 4 + int.from_bytes(bag.data[13:17], "little")
    length = (header - 17 + len(field)).to_bytes(4, "little")
    data = bag.data[:13] + length + bag.data[17:header] + field + bag.data[header:]
    assert isinstance(strict_error(data), UnsupportedError)


@pytest.mark.parametrize(
    "header",
    [
        b"\x05\0\0\0\x01\0\0\0=",
        b"\x09\0\0\0\xff\0\0\0op=\x02",
        b"\x08\0\0\0\x04\0\0\0op=\x02",
        b"\x08\0\0\0\x04\0\0\0op=\x04",
        b"\x08\0\0\0\x04\0\0\0op=\x06",
        b"\x08\0\0\0\x04\0\0\0op=\x07",
        b"\x08\0\0\0\x04\0\0\0op=\x03",
        b"\x08\0\0\0\x04\0\0\0op=\x09",
        b"\x28\0\0\0\x04\0\0\0op=\x05" + b"\x0f\0\0\0compression=zip\x09\0\0\0size=\0\0\0\0",
        b"\xff\xff\xff\x7f",
    ],
)
def test_records_that_make_no_sense_are_damage(bag, damaged, strict_error, header):
    chunk, _ = middle(bag)
    record = header + bytes(4)
    data = without_index(bag.data[:chunk] + record + bag.data[chunk:])
    assert strict_error(data).offset == chunk
    back = damaged(data)
    assert_holds(back, bag.messages)
    assert back.report.lost_bytes == len(record)

"""Thousands of damaged MCAP files and bags: no foreign error, no invented row, no hang.

Mutants come from fixed seeds. Readers of third parties give ``struct.error``, ``ZstdError``,
``AssertionError``, ``KeyError`` and more on such files.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from mcap.writer import CompressionType, Writer
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

import strapdown.formats as files
from strapdown.errors import FormatError
from strapdown.messages import RosImu

ROWS = 40
MUTANTS = 60
IMU = "sensor_msgs/msg/Imu"


def messages():
    rng = np.random.default_rng(7)
    for row in range(ROWS):
        stamp = 1_000_000_000 + row * 10_000_000
        fields = rng.normal(size=(2, 3))
        yield stamp, RosImu(stamp, "imu", angular_velocity=fields[0], linear_acceleration=fields[1])


def write_mcap(path, packing, *, chunked=True):
    with path.open("wb") as stream:
        writer = Writer(stream, chunk_size=2000, compression=packing, use_chunking=chunked)
        writer.start("ros2")
        schema = writer.register_schema(IMU, "ros2msg", b"")
        channel = writer.register_channel("/imu", "cdr", schema)
        for stamp, message in messages():
            writer.add_message(channel, stamp, message.to_cdr(), stamp)
        writer.finish()


def write_bag(path, packing):
    store = get_typestore(Stores.ROS1_NOETIC)
    writer = Writer1(path)
    if packing is not None:
        writer.set_compression(Writer1.CompressionFormat[packing])
    writer.chunk_threshold = 3000
    with writer:
        connection = writer.add_connection("/imu", IMU, typestore=store)
        for stamp, message in messages():
            writer.write(connection, stamp, message.to_ros1())


def write_db3(path):
    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer2(path.with_suffix(".folder"), version=9) as writer:
        connection = writer.add_connection("/imu", IMU, typestore=store)
        for stamp, message in messages():
            writer.write(connection, stamp, message.to_cdr())
    next(path.with_suffix(".folder").glob("*.db3")).rename(path)


WRITERS = {
    "mcap zstd": lambda path: write_mcap(path, CompressionType.ZSTD),
    "mcap lz4": lambda path: write_mcap(path, CompressionType.LZ4),
    "mcap plain": lambda path: write_mcap(path, CompressionType.NONE),
    "mcap without chunks": lambda path: write_mcap(path, CompressionType.NONE, chunked=False),
    "bag": lambda path: write_bag(path, None),
    "bag bz2": lambda path: write_bag(path, "BZ2"),
    "bag lz4": lambda path: write_bag(path, "LZ4"),
    "db3": write_db3,
}
GUARDED = {"mcap zstd", "mcap lz4", "mcap plain"}
"""Formats whose rows have a checksum."""
CHECKED = {*GUARDED, "bag bz2"}
"""Formats that do not give a row with other numbers; of a bag, an index may leave rows out."""


def flip_bits(data, rng):
    damaged = bytearray(data)
    for _ in range(int(rng.integers(1, 17))):
        damaged[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return damaged


def cut(data, rng):
    return data[: int(rng.integers(len(data)))]


def repeat(data, rng):
    start, stop = sorted(rng.integers(len(data), size=2))
    return data[:stop] + data[start:]


def remove(data, rng):
    start, stop = sorted(rng.integers(len(data), size=2))
    return data[:start] + data[stop:]


def swap(data, rng):
    a, b, c = sorted(rng.integers(len(data), size=3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def edit_length(data, rng):
    at = int(rng.integers(len(data) - 8))
    number = (0, 2**31, 2**32 - 1, 2**63, 2**64 - 1, len(data))[int(rng.integers(6))]
    return data[:at] + struct.pack("<Q", number) + data[at + 8 :]


def overwrite(data, rng):
    start, stop = sorted(rng.integers(len(data), size=2))
    return data[:start] + rng.bytes(stop - start) + data[stop:]


MUTATIONS = [flip_bits, cut, repeat, remove, swap, edit_length, overwrite]


def rows_of(recording):
    """Each row as its stamp and its six numbers."""
    return [
        (stamp, *rate, *force)
        for series in recording.imu.values()
        for stamp, rate, force in zip(
            series.t_ns.tolist(),
            series.angular_velocity.tolist(),
            series.specific_force.tolist(),
            strict=True,
        )
    ]


@pytest.fixture(scope="module", params=WRITERS)
def sample(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "sample"
    WRITERS[request.param](path)
    return request.param, path.read_bytes(), rows_of(files.open(path))


def check(path, data, kind, true_rows):
    """Read damaged bytes both ways; return how many of the two readings gave an error."""
    with path.open("r+b" if path.exists() else "wb") as file:  # truncating first is slow
        file.write(data)
        file.truncate()
    errors = 0
    try:
        strict = rows_of(files.open(path))
    except FormatError:
        errors += 1
    else:
        assert len(strict) <= 2 * len(true_rows)  # a bag may say everything twice
        assert kind not in GUARDED or strict == true_rows or not strict
        assert kind not in CHECKED or set(strict) <= set(true_rows)
    try:
        back = files.open(path, on_error="salvage")
    except FormatError:
        return errors + 1
    rows = rows_of(back)
    assert back.report.lost_messages >= 0
    assert back.report.lost_bytes <= len(data)
    assert len(rows) <= 2 * len(true_rows)
    if kind in CHECKED:
        assert set(rows) <= set(true_rows)
        assert errors == 0 or not back.report.lossless
    return errors


@pytest.mark.parametrize("mutate", MUTATIONS)
def test_no_mutant_gives_a_foreign_error_or_an_invented_row(sample, mutate, stride, tmp_path):
    kind, data, true_rows = sample
    rng = np.random.default_rng(zlib.crc32(f"{kind} {mutate.__name__}".encode()))
    errors = 0
    for _ in range(MUTANTS // stride):
        mutant = bytes(mutate(data, rng))
        errors += check(tmp_path / "a", mutant, kind, true_rows)
    assert errors > 0 or stride > 1  # a few may all be harmless


@pytest.mark.parametrize("start", [b"", b"\x89MCAP0\r\n", b"#ROSBAG V2.0\n", b"SQLite format 3\0"])
def test_noise_is_a_format_error_or_holds_nothing(start, tmp_path):
    rng = np.random.default_rng(8)
    for size in range(0, 4000, 80):
        check(tmp_path / "a", start + rng.bytes(size), "mcap plain", [])

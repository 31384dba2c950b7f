"""One small recording in every format, and what can be said of it without our readers."""

from __future__ import annotations

import resource
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from rosbags.rosbag1 import Reader as Reader1
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

import strapdown.formats as files
from strapdown.formats import Recording
from strapdown.messages import RosImu
from strapdown.series import ImuSeries, Trajectory

ROWS = 40
STEP_NS = 5_000_000
START_NS = 1_700_000_000_000_000_000
IMU = "sensor_msgs/msg/Imu"


def imu() -> ImuSeries:
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((2, ROWS, 3)).astype(np.float32).astype(float)  # ULog holds these
    return ImuSeries(START_NS + np.arange(ROWS) * STEP_NS, *vectors)


def track() -> Trajectory:
    rng = np.random.default_rng(8)
    q, position = rng.standard_normal((ROWS, 4)), rng.standard_normal((ROWS, 3))
    return Trajectory(START_NS + np.arange(ROWS) * STEP_NS, q, position_world=position)


def messages():
    series = imu()
    for t_ns, rate, force in zip(
        series.t_ns.tolist(), series.angular_velocity, series.specific_force, strict=True
    ):
        yield t_ns, RosImu(t_ns, "imu", angular_velocity=rate, linear_acceleration=force)


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
    writer = Writer1(path)
    if packing is not None:
        writer.set_compression(Writer1.CompressionFormat[packing])
    writer.chunk_threshold = 3000
    with writer:
        store = get_typestore(Stores.ROS1_NOETIC)
        connection = writer.add_connection("/imu", IMU, typestore=store)
        for stamp, message in messages():
            writer.write(connection, stamp, message.to_ros1())


def write_db3(path):
    store, folder = get_typestore(Stores.ROS2_HUMBLE), path.with_suffix(".folder")
    with Writer2(folder, version=9) as writer:
        connection = writer.add_connection("/imu", IMU, typestore=store)
        for stamp, message in messages():
            writer.write(connection, stamp, message.to_cdr())
    next(folder.glob("*.db3")).rename(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("VACUUM")


def write_euroc(path, columns):
    rng = np.random.default_rng(9)
    lines = ["#timestamp [ns]" + ",name" * (columns - 1)]
    for k in range(ROWS):
        cells = map(repr, rng.standard_normal(columns - 1).tolist())
        lines.append(",".join([str(START_NS + k), *cells]))
    path.write_bytes("\r\n".join([*lines, ""]).encode())


def write_arrays(path, *, of_broad):
    rng = np.random.default_rng(10)
    gyr, acc, mag, pos = rng.standard_normal((4, ROWS, 3))
    t_ns, ref = np.arange(ROWS), rng.standard_normal((ROWS, 4))
    if of_broad:
        fields = {"mag": mag, "ref": ref, "pos": pos, "mov": t_ns > 9, "fs": np.float64(100)}
    else:
        fields = {"t_ns": t_ns, "gt_t_ns": t_ns, "gt": np.hstack([pos, ref])}
    with path.open("wb") as file:
        np.savez_compressed(file, gyr=gyr, acc=acc, **fields)


def write_ours(path, ending):
    ours = path.with_suffix(ending)
    both = Recording(imu={"imu": imu()}, trajectories={"pose": track()})
    files.write(ours, {".csv": imu(), ".tum": track(), ".ulg": imu()}.get(ending, both))
    ours.rename(path)


WRITERS = {
    "mcap zstd": lambda path: write_mcap(path, CompressionType.ZSTD),
    "mcap lz4": lambda path: write_mcap(path, CompressionType.LZ4),
    "mcap plain": lambda path: write_mcap(path, CompressionType.NONE),
    "mcap without chunks": lambda path: write_mcap(path, CompressionType.NONE, chunked=False),
    "bag": lambda path: write_bag(path, None),
    "bag bz2": lambda path: write_bag(path, "BZ2"),
    "bag lz4": lambda path: write_bag(path, "LZ4"),
    "db3": write_db3,
    "ulog": lambda path: write_ours(path, ".ulg"),
    "csv": lambda path: write_ours(path, ".csv"),
    "tum": lambda path: write_ours(path, ".tum"),
    "euroc": lambda path: write_euroc(path, 7),
    "euroc truth": lambda path: write_euroc(path, 17),
    "npz": lambda path: write_ours(path, ".npz"),
    "parquet": lambda path: write_ours(path, ".parquet"),
    "npz of broad": lambda path: write_arrays(path, of_broad=True),
    "npz of tumvi": lambda path: write_arrays(path, of_broad=False),
}


def rows_of(recording):
    """Each row as its stamp and its first six numbers, None for NaN, topic after topic."""
    series = [
        (each.t_ns, each.angular_velocity, each.specific_force) for each in recording.imu.values()
    ] + [
        (each.t_ns, each.q_world_from_body[:, :3], each.q_world_from_body[:, 3:])
        for each in recording.trajectories.values()
    ]
    return [
        (stamp, *(None if np.isnan(number) else number for number in (*one, *two)))
        for stamps, *vectors in series
        for stamp, one, two in zip(stamps.tolist(), *(v.tolist() for v in vectors), strict=True)
    ]


@dataclass
class Sample:
    """A file: its format, its bytes, and its rows."""

    kind: str
    data: bytes
    rows: list[tuple[float | None, ...]]
    path: Path

    def ends(self) -> list[int]:
        """Return, for each row that can be had without the end of the file, where it is complete.

        They come from the libraries of a format, or from the bytes of the numbers.
        """
        if self.kind in {"mcap zstd", "mcap lz4", "mcap plain"}:
            with self.path.open("rb") as stream:
                chunks = make_reader(stream).get_summary().chunk_indexes
            return in_chunks([(c.chunk_start_offset + c.chunk_length, count_of(c)) for c in chunks])
        if self.kind in {"bag bz2", "bag lz4"}:
            with Reader1(self.path) as reader:
                counts = [sum(info.connection_counts.values()) for info in reader.chunk_infos]
                ends = [chunk.datapos + chunk.datasize for chunk in reader.chunks.values()]
            return in_chunks(zip(ends, counts, strict=True))
        if self.kind in {"mcap without chunks", "bag"}:
            last = [np.array(row[4:7]).tobytes() for row in self.rows]
            return [self.data.index(numbers) + 24 + 72 for numbers in last]  # and its covariance
        if self.kind in {"csv", "tum", "euroc", "euroc truth"}:
            lines = [at for at, byte in enumerate(self.data) if byte == ord("\n")]
            return [at + 1 for at in lines[-ROWS:]]
        return []


def in_chunks(chunks):
    return [end for end, count in chunks for _ in range(count)]


def count_of(chunk):
    return chunk.message_index_length // 16 if chunk.message_index_length else 0


@pytest.fixture(scope="module", params=WRITERS)
def sample(request, tmp_path_factory) -> Sample:
    """A recording in every format."""
    path = tmp_path_factory.mktemp("hostile") / "sample"
    WRITERS[request.param](path)
    return Sample(request.param, path.read_bytes(), rows_of(files.open(path)), path)


@contextmanager
def limited(size: int):
    """Limit the address space of the process to so many bytes more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture
def in_256_mib():
    """Run a test in an address space of 256 MiB more than the process has."""
    with limited(256 * 2**20):
        yield


@pytest.fixture(scope="session")
def rows():
    """Return the rows of a recording."""
    return rows_of


@pytest.fixture(params=[17, pytest.param(1, marks=pytest.mark.long)], ids=["thinned", "whole"])
def stride(request) -> int:
    """Step of a sweep, as of other tests; here the whole takes many minutes."""
    return request.param

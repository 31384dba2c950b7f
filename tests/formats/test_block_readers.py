"""Blocks of every format have the rows and the report of the whole file."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.errors import FormatError
from strapdown.formats import Recording
from strapdown.formats import long_files as entry
from strapdown.formats._series_headers import topics
from strapdown.formats.arrays import npz_recording, parquet_writer
from strapdown.formats.bag import batches
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.mcap.scan import McapScan
from strapdown.formats.text import lines, table
from strapdown.formats.ulog import reader as ulog_reader
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Increments, Trajectory

ROWS = 600
START_NS = 1_700_000_000_000_000_000
ENDINGS = [".mcap", ".bag", "", ".ulg", ".npz", ".parquet", ".csv"]


def imu(rows, seed, step_ns=5_000_000, **columns):
    rng = np.random.default_rng(seed)
    t_ns = START_NS + np.arange(rows) * step_ns
    return ImuSeries(t_ns, *rng.standard_normal((2, rows, 3)), **columns)


def gapped():
    """Return samples with gaps, repeated stamps, and some that go back by up to 0.1 s."""
    series = imu(ROWS, 1)
    t_ns = series.t_ns.copy()
    t_ns[ROWS // 3 :] += 3_000_000_000
    t_ns[280] = t_ns[279]
    t_ns[320:325] -= 100_000_000
    t_ns[400:] += 2_000_000
    field = np.full((ROWS, 3), np.nan)
    field[::7] = 1e-5 * np.random.default_rng(2).standard_normal((len(field[::7]), 3))
    return series.replace(t_ns=t_ns, magnetic_field=field)


def several():
    """Return two IMUs, one with all columns, and two tracks, one with velocities."""
    full = imu(
        ROWS,
        1,
        magnetic_field=1e-5 * np.random.default_rng(5).standard_normal((ROWS, 3)),
        angular_velocity_covariance=np.broadcast_to(np.eye(3), (ROWS, 3, 3)),
    )
    q = quaternion.from_rotation_vector(np.random.default_rng(4).standard_normal((ROWS, 3)))
    track = Trajectory(full.t_ns[::3], q[::3], position_world=q[::3, :3])
    return Recording(
        imu={"a/data": full, "b/data": imu(ROWS // 2, 3, 10_000_000)},
        trajectories={
            "truth": track.replace(velocity_world=q[::3, 1:]),
            "pose": track[: ROWS // 5],
        },
        history=("made",),
    )


def windows():
    """Return increments, whose messages have padding in memory."""
    rows = 2 * ROWS
    series = imu(rows, 6)
    dt_ns = np.full(rows, 5_000_000)
    angles, velocities = series.angular_velocity * 5e-3, series.specific_force * 5e-3
    return Recording(
        increments={"vehicle_imu": Increments(series.t_ns, angles, velocities, dt_ns, dt_ns)}
    )


RECORDINGS = {
    "gapped": lambda: Recording(imu={"imu/data": gapped()}),
    "several": several,
    "windows": windows,
}


@pytest.fixture(autouse=True)
def every_file_is_long(monkeypatch):
    monkeypatch.setattr(entry, "_BLOCKWISE", 0)


@pytest.fixture(params=[7, 400])
def rows(request, monkeypatch):
    """Make blocks of about so many rows."""
    set_rows(monkeypatch, request.param)
    return request.param


def set_rows(monkeypatch, rows):
    monkeypatch.setattr(McapScan, "batch_bytes", rows * 400)
    monkeypatch.setattr(batches, "_ROWS", rows)
    monkeypatch.setattr(ulog_reader, "BLOCK", rows * 100)
    monkeypatch.setattr(npz_recording, "_PIECE", rows)
    monkeypatch.setattr(parquet_writer, "_ROWS", rows)
    monkeypatch.setattr(lines, "_BLOCK", rows * 150)
    monkeypatch.setattr(table, "_TOGETHER", 1)


def joined(parts):
    """Return the series of blocks by group and topic, and how many blocks there are."""
    found, count = {}, 0
    for block in parts:
        count += 1
        for holds, topic, series in topics(block):
            found.setdefault((holds, topic), []).append(series)
    return {key: each[0].concatenate(each) for key, each in found.items()}, count


def assert_equal(path, topic=None, *, least=2):
    """Compare the blocks of a file with the whole."""
    whole = files.open(path, on_error="salvage", topic=topic)
    blocks = entry.block_reader(path, on_error="salvage", topic=topic)
    parts = list(blocks)
    found, count = joined(parts)
    assert count >= least
    assert found == {(holds, name): series for holds, name, series in topics(whole) if len(series)}
    assert blocks.report == replace(whole.report, coverage=blocks.report.coverage)
    assert blocks.report.coverage == pytest.approx(whole.report.coverage)
    assert parts[0].history == whole.history


@pytest.mark.parametrize(
    ("kind", "ending"),
    [("gapped", ".csv"), *itertools.product(RECORDINGS, ENDINGS[:-1])],  # a table holds one series
)
def test_blocks_are_the_whole(kind, ending, rows, tmp_path):  # noqa: ARG001 (sets their size)
    files.write(tmp_path / f"a{ending}", RECORDINGS[kind]())
    assert_equal(tmp_path / f"a{ending}")


@pytest.mark.parametrize("ending", ENDINGS)
def test_progress_grows_with_the_blocks_to_the_whole(ending, tmp_path, monkeypatch):
    set_rows(monkeypatch, 100)
    rows = 9000 if ending == ".bag" else 1500  # in chunks of a megabyte
    files.write(tmp_path / f"a{ending}", Recording(imu={"imu/data": imu(rows, 1)}))
    with files.open_blocks(tmp_path / f"a{ending}") as blocks:
        found = [blocks.progress for _ in blocks]
    assert 0.0 < found[0] < 0.5
    assert (np.diff(found) >= 0.0).all()
    assert 0.95 < found[-1] <= blocks.progress <= 1.0


def mangled(path, seed):
    """Damage some bytes of a file, and return it."""
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    for place in rng.integers(len(data) // 10, len(data), 3):
        data[place] ^= 0x55
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("ending", [".mcap", ".bag", ".ulg", ".npz", ".parquet", ".csv"])
def test_damage_gives_the_rows_of_the_whole_or_needs_it(ending, tmp_path, monkeypatch):
    set_rows(monkeypatch, 100)
    compared = 0
    for seed in range(6):
        path = tmp_path / f"{seed}{ending}"
        files.write(path, Recording(imu={"imu/data": imu(ROWS, seed)}))
        mangled(path, seed)
        try:
            blocks = entry.block_reader(path, on_error="salvage")
            if blocks is None:
                continue
            found, _ = joined(blocks)
        except NeedsWhole:
            continue
        except FormatError:
            with pytest.raises(FormatError):
                files.open(path, on_error="salvage")
            continue
        whole = files.open(path, on_error="salvage")
        assert found == {(h, name): each for h, name, each in topics(whole) if len(each)}
        assert blocks.report == whole.report
        compared += 1
    assert compared or ending in {".bag", ".npz", ".parquet"}


def test_one_topic_of_many_is_read_alone(tmp_path, rows):  # noqa: ARG001 (sets their size)
    for ending in (".mcap", ".bag", "", ".npz", ".parquet"):
        files.write(tmp_path / f"a{ending}", several())
        assert_equal(tmp_path / f"a{ending}", topic={"a/data", "truth"})


def test_a_topic_that_begins_late_needs_the_whole(tmp_path, monkeypatch):
    set_rows(monkeypatch, 7)
    rows = 1500
    series = imu(rows, 1)
    path = tmp_path / "a.mcap"
    with files.block_writer(path) as writer:
        for start in range(0, rows, 50):
            part = slice(start, start + 50)
            track = Trajectory(series.t_ns[part], np.tile([0, 0, 0, 1.0], (50, 1)))
            held = {"late": track} if start >= rows - 100 else {}
            writer.write(Recording(imu={"imu": series[part]}, trajectories=held))
    with pytest.raises(NeedsWhole):
        list(entry.block_reader(path, on_error="strict"))


def test_a_clock_that_jumps_back_leaves_the_rest_as_one_block(tmp_path, rows):  # noqa: ARG001
    series = gapped()
    t_ns = series.t_ns.copy()
    t_ns[480:] -= 60_000_000_000
    path = tmp_path / "a.mcap"
    files.write(path, series.replace(t_ns=t_ns))
    with pytest.raises(NeedsWhole, match="go back"):
        list(entry.block_reader(path, on_error="salvage"))
    with files.open_blocks(path) as blocks:
        found, count = joined(blocks)
    assert count > 1
    whole = files.open(path)
    assert found["imu", "imu/data"].t_ns.tolist() == whole.imu["imu/data"].t_ns.tolist()
    assert blocks.report == whole.report


def test_short_files_are_one_block(tmp_path, monkeypatch):
    monkeypatch.undo()
    files.write(tmp_path / "a.mcap", imu(100, 1))
    with files.open_blocks(tmp_path / "a.mcap") as blocks:
        assert len(list(blocks)) == 1


@pytest.mark.parametrize("block_bytes", [30_000, 1_000_000])
def test_the_blocks_of_a_flight_have_its_field_and_its_notes(data_dir, block_bytes):
    path = data_dir / "px4" / "ulog" / "sample.ulg"
    whole = files.open(path, on_error="salvage")
    blocks = ulog_reader.UlogBlocks(path, salvage=True, block_bytes=block_bytes)
    found, count = joined(blocks)
    assert count > 2
    assert found == {(h, name): each for h, name, each in topics(whole) if len(each)}
    assert np.isfinite(found["imu", "sensor_combined"].magnetic_field).any()
    assert blocks.report.notes == whole.report.notes
    assert blocks.report.messages == whole.report.messages
    assert blocks.report.skipped == whole.report.skipped

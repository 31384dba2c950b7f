"""Blocks of every format have the rows and the report of the whole file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.formats import Recording
from strapdown.formats import files as entry
from strapdown.formats._series_headers import topics
from strapdown.formats.arrays import npz_recording, parquet
from strapdown.formats.bag import reader as bag_reader
from strapdown.formats.mcap.scan import McapScan
from strapdown.formats.text import table
from strapdown.formats.ulog import reader as ulog_reader
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Trajectory

ROWS = 1500
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
    t_ns[700] = t_ns[699]
    t_ns[800:805] -= 100_000_000
    t_ns[1000:] += 2_000_000
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


RECORDINGS = {"gapped": lambda: Recording(imu={"imu/data": gapped()}), "several": several}


@pytest.fixture(autouse=True)
def every_file_is_long(monkeypatch):
    monkeypatch.setattr(entry, "_BLOCKWISE", 0)


@pytest.fixture(params=[7, 1000])
def rows(request, monkeypatch):
    """Make blocks of about so many rows."""
    set_rows(monkeypatch, request.param)
    return request.param


def set_rows(monkeypatch, rows):
    monkeypatch.setattr(McapScan, "batch_bytes", rows * 400)
    monkeypatch.setattr(bag_reader, "_ROWS", rows)
    monkeypatch.setattr(ulog_reader, "BLOCK", rows * 100)
    monkeypatch.setattr(npz_recording, "_PIECE", rows)
    monkeypatch.setattr(parquet, "_ROWS", rows)
    monkeypatch.setattr(table, "_BLOCK", rows * 150)
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


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", RECORDINGS)
def test_blocks_are_the_whole(kind, ending, rows, tmp_path):  # noqa: ARG001 (sets their size)
    if kind == "several" and ending == ".csv":
        pytest.skip("a table holds one series")
    files.write(tmp_path / f"a{ending}", RECORDINGS[kind]())
    assert_equal(tmp_path / f"a{ending}")

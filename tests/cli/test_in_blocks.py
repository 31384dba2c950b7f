"""Verbs on long recordings, which are read in blocks, give what they give of the whole."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown.formats as files
from strapdown.cli import _in_blocks
from strapdown.cli._app import app
from strapdown.formats import Recording
from strapdown.formats import long_files as entry
from strapdown.formats.arrays import npz_recording
from strapdown.formats.bag import batches
from strapdown.formats.mcap.scan import McapScan
from strapdown.formats.text import lines, table
from strapdown.formats.ulog import reader as ulog_reader
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Increments, Trajectory

ROWS = 2000
ORDERS = ["in order", "out of order"]
ENDINGS = [".mcap", ".bag", "", ".ulg", ".npz", ".parquet", ".csv"]
VERBS = {
    "fuse": ["fuse", "{path}", "--filter", "mahony", "--output", "{out}.csv"],
    "detect": ["detect", "{path}", "--output", "{out}.json"],
    "allan": ["allan", "{path}", "--data", "{out}.csv"],
    "convert": ["convert", "{path}", "{out}.csv"],
}


def imu():
    """Return samples of a sensor that turns, falls and hits, with gaps and a magnetometer."""
    rng = np.random.default_rng(1)
    t_ns = 1_700_000_000_000_000_000 + np.arange(ROWS) * 5_000_000
    t_ns[ROWS // 3 :] += 400_000_000
    force = np.tile([0.0, 0.0, 9.81], (ROWS, 1)) + 0.02 * rng.standard_normal((ROWS, 3))
    force[900:1000] *= 0.01
    force[1000:1004] = 90.0
    rate = 0.1 * rng.standard_normal((ROWS, 3))
    field = np.full((ROWS, 3), np.nan)
    field[::5] = [1e-6, 2e-5, -4e-5] + 1e-7 * rng.standard_normal((ROWS // 5, 3))
    return ImuSeries(t_ns, rate, force, magnetic_field=field)


def disordered():
    """Return the same with stamps that repeat and go back."""
    series = imu()
    t_ns = series.t_ns.copy()
    t_ns[500] = t_ns[499]
    t_ns[1500:1503] -= 40_000_000
    return series.replace(t_ns=t_ns)


def windows(series):
    """Return the increments of samples, which a log of PX4 holds with both sensors."""
    dt_ns = np.full(ROWS, 5_000_000)
    delta = 0.005 * series.angular_velocity, 0.005 * series.specific_force
    made = Increments(np.sort(series.t_ns), *delta, dt_ns, dt_ns)
    return Recording(increments={"vehicle_imu": made})


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Return a file of each format, of samples in order and out of order."""
    folder = tmp_path_factory.mktemp("long")
    found = {}
    for name, series in zip(ORDERS, (imu(), disordered()), strict=True):
        for ending in ENDINGS:
            path = folder / f"{name.replace(' ', '_')}{ending}"
            held = Recording(imu={"imu/data": series})
            files.write(path, windows(series) if ending == ".ulg" else held)
            found[name, ending] = path
    return found


def run(verb, path, out):
    out.parent.mkdir(exist_ok=True)
    arguments = [each.format(path=path, out=out) for each in VERBS[verb]]
    done = CliRunner().invoke(app, [*arguments, "--json", "--force"])
    assert done.exit_code in {0, 1, 3}, done.output
    written = {
        each.suffix: each.read_bytes() for each in sorted(out.parent.glob("*")) if each.is_file()
    }
    return done.exit_code, done.stdout, written, done.stderr


@pytest.fixture
def in_blocks(monkeypatch):
    """Make every file a long one, with blocks of about 300 rows."""
    monkeypatch.setattr(entry, "_BLOCKWISE", 0)
    monkeypatch.setattr(entry, "_LARGE", 0)
    monkeypatch.setattr(McapScan, "batch_bytes", 100_000)
    monkeypatch.setattr(batches, "_ROWS", 300)
    monkeypatch.setattr(ulog_reader, "BLOCK", 30_000)
    monkeypatch.setattr(npz_recording, "_PIECE", 300)
    monkeypatch.setattr(lines, "_BLOCK", 40_000)
    monkeypatch.setattr(table, "_TOGETHER", 1)


CASES = [
    *((verb, "in order", ".mcap") for verb in ("detect", "allan")),
    *((verb, "out of order", ending) for verb in ("fuse", "convert") for ending in ENDINGS),
    ("detect", "out of order", ".mcap"),
]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
@pytest.mark.by_default(
    "detect out of order .mcap",
    "fuse out of order .mcap",
    "fuse out of order .npz",
    "fuse out of order .csv",
    "convert out of order .bag",
    "convert out of order ",
    "convert out of order .ulg",
    "convert out of order .parquet",
)
def test_a_verb_writes_the_same_bits_in_blocks(request, case, paths, tmp_path):
    verb, *kind = case
    path = paths[tuple(kind)]
    whole = run(verb, path, tmp_path / "out")
    request.getfixturevalue("in_blocks")
    assert run(verb, path, tmp_path / "out") == whole


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.usefixtures("in_blocks")
def test_a_verb_shows_how_much_is_read(verb, paths, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(_in_blocks, "progress_bar", lambda what: nullcontext(shown.append))  # noqa: ARG005
    run(verb, paths["in order", ".mcap"], tmp_path / "out")
    assert len(shown) > 3
    assert shown == sorted(shown)
    assert shown[0] < 0.5
    assert 0.95 < shown[-1] <= 1.0


def test_an_estimate_is_compared_with_the_reference_as_of_the_whole(request, tmp_path):
    series = imu()
    q = quaternion.from_rotation_vector(1e-3 * np.arange(ROWS // 4)[:, None] * [0.0, 0.0, 1.0])
    truth = Trajectory(series.t_ns[::4] + 1_000_000, q)
    files.write(tmp_path / "a.mcap", Recording(imu={"imu": series}, trajectories={"truth": truth}))
    whole = run("fuse", tmp_path / "a.mcap", tmp_path / "out" / "a")
    assert "orientation_error" in whole[1]
    request.getfixturevalue("in_blocks")
    part = run("fuse", tmp_path / "a.mcap", tmp_path / "out" / "a")
    assert part == whole


def test_a_clock_that_jumps_back_is_fused_as_a_whole(request, tmp_path):
    series = imu()
    t_ns = series.t_ns.copy()
    t_ns[1500:] -= 5_000_000_000
    files.write(tmp_path / "a.mcap", series.replace(t_ns=t_ns))
    *whole, _ = run("fuse", tmp_path / "a.mcap", tmp_path / "out" / "a")
    request.getfixturevalue("in_blocks")
    *part, told = run("fuse", tmp_path / "a.mcap", tmp_path / "out" / "a")
    assert part == whole
    assert "reading the whole recording into memory: stamps go back" in told


def several():
    """Return two IMUs and a track with velocities."""
    series = imu()
    q = quaternion.from_rotation_vector(1e-3 * np.arange(ROWS)[:, None] * [0.0, 0.0, 1.0])
    track = Trajectory(series.t_ns, q, position_world=q[:, :3], velocity_world=q[:, 1:])
    return Recording(
        imu={"a/data": series, "b/data": series[::2].replace(magnetic_field=None)},
        trajectories={"truth": track[::3]},
        history=("made",),
    )


OPTIONS = {
    "all topics": ["{out}.mcap"],
    "to a bag": ["{out}.bag"],
    "to npz": ["{out}.npz"],
    "one topic": ["{out}.csv", "--topic", "b/data"],
    "the longest topic": ["{out}.csv"],
    "with attitude": ["{out}.mcap", "--topic", "b/data", "--attitude", "truth"],
    "decimated": ["{out}.mcap", "--decimate", "4"],
    "other axes": ["{out}.csv", "--topic", "a/data", "--frame", "NED/FRD"],
    "a part": ["{out}.mcap", "--from", "2", "--until", "6.5"],
}


@pytest.mark.parametrize(
    ("name", "ending"),
    [*((name, ".mcap") for name in OPTIONS), *((name, ".npz") for name in list(OPTIONS)[:3])],
)
@pytest.mark.by_default(
    "one topic-.mcap",
    "a part-.mcap",
    "to npz-.npz",
    "all topics-.mcap",
    "with attitude-.mcap",
    "decimated-.mcap",
)
def test_options_of_convert_give_the_same_bits_in_blocks(request, name, ending, tmp_path):
    files.write(tmp_path / f"a{ending}", several())

    def converted():
        out = tmp_path / "out" / "a"
        out.parent.mkdir(exist_ok=True)
        arguments = [each.format(out=out) for each in OPTIONS[name]]
        path = str(tmp_path / f"a{ending}")
        done = CliRunner().invoke(app, ["convert", path, *arguments, "--json", "--force"])
        assert done.exit_code in {0, 3}, done.output
        (written,) = out.parent.iterdir()
        is_dated = written.suffix == ".npz"  # by the clock, as zip archives are
        content = files.open(written) if is_dated else written.read_bytes()
        return done.exit_code, done.stdout, content

    whole = converted()
    request.getfixturevalue("in_blocks")
    assert converted() == whole


@pytest.mark.parametrize("verb", ["fuse", "detect"])
def test_a_part_of_a_long_recording_is_that_of_the_whole(request, verb, tmp_path):
    files.write(tmp_path / "a.mcap", Recording(imu={"imu": imu()}))
    cut = ["--from", "1.5", "--until", "7"]
    VERBS["part"] = [*VERBS[verb], *cut]
    whole = run("part", tmp_path / "a.mcap", tmp_path / "out" / "a")
    request.getfixturevalue("in_blocks")
    assert run("part", tmp_path / "a.mcap", tmp_path / "out" / "a") == whole

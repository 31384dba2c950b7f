"""Verbs that use one IMU of a long recording do not read the others."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown.formats as files
from strapdown.cli import _reading
from strapdown.cli._app import app
from strapdown.formats import Recording
from strapdown.formats import long_files as entry
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Trajectory

ROWS = 1000
ENDINGS = [".mcap", ".bag", "", ".ulg", ".npz", ".parquet"]
VERBS = {
    "fuse": ["--output", "{out}.tum", "--force"],
    "fuse one": ["--topic", "{imu}", "--output", "{out}.tum", "--force"],
    "check": [],
    "detect": ["--kind", "free_fall,clipping"],
    "allan": [],
    "integrate": ["{out}.mcap", "--anyway", "--force"],
    "calibrate": ["--kind", "rest", "--latitude", "48", "--output", "{out}.toml", "--force"],
    "odometry": ["--output", "{out}.csv", "--force"],
    "plot": ["--output", "{out}.svg", "--force"],
}
IMU = "b/data"


def imu(rows, seed, **columns):
    rng = np.random.default_rng(seed)
    t_ns = 1_700_000_000_000_000_000 + np.arange(rows) * (30_000_000_000 // rows)
    rate = 0.001 * rng.standard_normal((rows, 3)) + [0.0, 0.0, 0.002]
    return ImuSeries(
        t_ns, rate, [0.0, 0.0, 9.81] + 0.05 * rng.standard_normal((rows, 3)), **columns
    )


def recording():
    """Return three IMUs, of which the longest has no accelerometer, and two attitudes."""
    lame = imu(2 * ROWS, 1).replace(specific_force=np.full((2 * ROWS, 3), np.nan))
    field = np.tile([0.0, 2e-5, -4e-5], (ROWS, 1))
    one = imu(ROWS, 2, magnetic_field=field)
    t_ns = one.t_ns[::10]
    turn = np.outer(0.002e-9 * (t_ns - t_ns[0]), [0.0, 0.0, 1.0])
    q = quaternion.from_rotation_vector(turn)
    return Recording(
        imu={"a/data": lame, "b/data": one, "c/data": imu(ROWS // 2, 3)},
        trajectories={"truth": Trajectory(t_ns, q), "other": Trajectory(t_ns[::2], q[::2])},
    )


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Return a file of each format."""
    folder = tmp_path_factory.mktemp("topics")
    found = {}
    for ending in ENDINGS:
        found[ending] = folder / f"recording{ending}"
        files.write(found[ending], recording())
    return found


def run(verb, path, out):
    topics = {"imu": "sensor_gyro.1" if path.suffix == ".ulg" else IMU, "out": str(out)}
    arguments = [each.format(**topics) for each in VERBS[verb]]
    done = CliRunner().invoke(app, [verb.split()[0], str(path), *arguments, "--json"])
    assert done.exit_code in {0, 3}, done.output
    return done.exit_code, done.output


CASES = [(verb, ".mcap") for verb in VERBS] + [("detect", ending) for ending in ENDINGS[1:]]


@pytest.mark.parametrize(("verb", "ending"), CASES)
def test_a_verb_gives_the_same_from_one_topic_as_from_all(
    verb, ending, paths, tmp_path, monkeypatch
):
    whole = run(verb, paths[ending], tmp_path / "a")
    asked, opened = [], files.open

    def noted(*args, **options):
        asked.append(options.get("topic"))
        return opened(*args, **options)

    monkeypatch.setattr(entry, "_LARGE", 0)
    monkeypatch.setattr(_reading.files, "open", noted)
    part = run(verb, paths[ending], tmp_path / "a")
    assert part == whole
    if ending != ".ulg":  # which holds these series as others
        assert {topic for topics in asked for topic in topics} <= {"a/data", IMU, "truth", "other"}
        assert IMU in asked[-1]


def test_a_topic_that_is_chosen_names_the_others(paths, monkeypatch):
    whole = CliRunner().invoke(app, ["check", str(paths[".mcap"])])
    monkeypatch.setattr(entry, "_LARGE", 0)
    part = CliRunner().invoke(app, ["check", str(paths[".mcap"])])
    assert part.stdout == whole.stdout
    assert "--topic chooses another: a/data, c/data" in part.stdout


def test_evaluate_reads_the_two_attitudes(paths, monkeypatch):
    arguments = ["evaluate", str(paths[".bag"]), str(paths[".mcap"]), "--estimate-topic", "other"]
    whole = CliRunner().invoke(app, arguments)
    asked, opened = [], files.open
    monkeypatch.setattr(entry, "_LARGE", 0)
    monkeypatch.setattr(
        _reading.files, "open", lambda *a, **k: (asked.append(k["topic"]), opened(*a, **k))[1]
    )
    part = CliRunner().invoke(app, arguments)
    assert (part.exit_code, part.output) == (whole.exit_code, whole.output)
    assert asked == ["other", "truth"]

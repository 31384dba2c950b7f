"""``-`` as standard input of every verb that reads a file, and as output of ``convert``."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown import ImuSeries, Trajectory
from strapdown.cli._app import app
from strapdown.formats import Recording, write

COMMAND = str(Path(sys.executable).with_name("strapdown"))
runner = CliRunner()


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a verb in an empty folder for temporary files; nothing may remain there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))

    def invoke(*arguments, data=b""):
        done = runner.invoke(app, [*map(str, arguments)], input=data)
        assert list(folder.iterdir()) == []
        return done

    return invoke


@pytest.fixture
def recording():
    t_ns = 1_700_000_000_000_000_000 + 10_000_000 * np.arange(300)
    half = 0.05 * np.arange(300)
    q = np.stack([np.zeros(300), np.zeros(300), np.sin(half), np.cos(half)], axis=1)
    imu = ImuSeries(t_ns, np.tile([0.0, 0.0, 10.0], (300, 1)), np.tile([0.0, 0.0, 9.81], (300, 1)))
    return Recording(imu={"imu/data": imu}, trajectories={"pose": Trajectory(t_ns, q)})


@pytest.fixture(params=[".mcap", ".bag", ".npz", ".parquet"])
def data(request, recording, tmp_path):
    path = tmp_path / f"a{request.param}"
    write(path, recording)
    return path.read_bytes()


def test_a_recording_of_any_format_is_read_from_standard_input(run, data):
    report = json.loads(run("info", "-", "--json", data=data).stdout)
    assert report["file"] == "-"
    assert {topic["topic"]: topic["count"] for topic in report["topics"]} == {
        "imu/data": 300,
        "pose": 300,
    }


@pytest.mark.parametrize("data", [".mcap"], indirect=True)
@pytest.mark.parametrize(
    "arguments",
    [
        ["cat", "-", "--count", "1"],
        ["convert", "-", "OUT.npz"],
        ["detect", "-"],
        ["evaluate", "-", "-", "--estimate-topic", "pose"],
        ["fuse", "-", "--output", "OUT.csv"],
        ["integrate", "-", "OUT.npz", "--rate", "50"],
        ["mavlink", "send", "-", "--to", "127.0.0.1:9", "--speed", "inf"],
        ["odometry", "-", "--output", "OUT.csv"],
        ["play", "-", "--topic", "imu/data", "--to", "local:streams", "--rate", "1000"],
        ["plot", "-", "--output", "OUT.png"],
        ["recover", "-", "--output", "OUT.mcap"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_verb_that_reads_a_file_reads_standard_input(run, data, arguments, tmp_path):
    done = run(*(each.replace("OUT", f"{tmp_path}/out") for each in arguments), data=data)
    assert done.exit_code in {0, 3}, done.output


def test_import_reads_a_table_from_standard_input(run):
    rows = "".join(f"{k / 100},0.5,0,0,0,0,9.81\n" for k in range(200))
    table = ("time [s],gx [rad/s],gy [rad/s],gz [rad/s],ax,ay,az\n" + rows).encode()
    assert "angular velocity [rad/s]" in run("import", "-", data=table).stdout


def test_what_is_no_recording_is_named_standard_input(run):
    done = run("info", "-", data=b"nonsense")
    assert done.exit_code == 1
    assert done.stderr.startswith("strapdown: standard input: expected MCAP")


@pytest.mark.parametrize("data", [".mcap"], indirect=True)
@pytest.mark.parametrize("form", ["mcap", "bag", "npz", "parquet"])
def test_convert_writes_the_same_series_to_standard_output(run, data, recording, form, tmp_path):
    done = run("convert", "-", "-", "--format", form, data=data)
    assert done.exit_code == 0
    topics = "topics: imu/data (300 rows), pose (300 rows)"
    assert done.stderr == f"wrote standard output: 600 messages\n{topics}\n"
    (tmp_path / "b").write_bytes(done.stdout_bytes)
    assert strapdown.open(tmp_path / "b").imu["imu/data"] == recording.imu["imu/data"]
    assert not Path("-").exists()


@pytest.mark.parametrize("data", [".npz"], indirect=True)
def test_the_report_of_json_and_errors_are_on_standard_error(run, data):
    done = run("convert", "-", "-", "--format", "csv", "--topic", "imu/data", "--json", data=data)
    assert done.stdout.startswith("#")
    assert json.loads(done.stderr)["output"] == "-"
    done = run("convert", "-", "-", "--format", "npz", "--json", data=b"nonsense")
    assert (done.exit_code, done.stdout_bytes) == (1, b"")
    assert "standard input" in done.stderr


@pytest.mark.parametrize("data", [".npz"], indirect=True)
def test_a_format_belongs_to_standard_output(run, data, tmp_path):
    done = run("convert", "-", "-", data=data)
    assert done.exit_code == 2
    assert "expected one of mcap, bag" in done.stderr
    done = run("convert", "-", tmp_path / "a.npz", "--format", "npz", data=data)
    assert done.exit_code == 2
    assert "ending of a file" in done.stderr


def test_a_terminal_is_neither_read_nor_given_bytes(recording, tmp_path):
    write(tmp_path / "a.npz", recording)
    ours, theirs = pty.openpty()
    try:
        for arguments, streams, reason in (
            (["info", "-"], {"stdin": theirs}, "got a terminal; pipe"),
            (["convert", "a.npz", "-", "--format", "mcap"], {"stdout": theirs}, "FILE.mcap"),
        ):
            done = subprocess.run(
                [COMMAND, *arguments],
                cwd=tmp_path,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                env={**os.environ, "COLUMNS": "200"},
                **streams,
            )
            assert done.returncode == 2
            assert reason in done.stderr
    finally:
        os.close(ours)
        os.close(theirs)

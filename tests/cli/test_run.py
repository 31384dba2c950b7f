"""``strapdown run``, as a person, a script and a signal use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.messages import Pose3D
from strapdown.transport import Topic

COMMAND = [str(Path(sys.executable).with_name("strapdown")), "run"]
PIPELINE = """
[device.imu]
motion = "wander"
rate = 100
duration = 1.0
speed = inf

[filter.pose]
from = "imu"
filter = "madgwick"

[record.file]
from = ["imu", "pose"]
file = "run.mcap"
"""
ENDLESS = PIPELINE.replace("duration = 1.0", "").replace("speed = inf", "")
runner = CliRunner()


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(text, *arguments):
    Path("p.toml").write_text(text)
    return runner.invoke(app, ["run", "p.toml", *arguments])


@pytest.fixture
def start():
    """Start the command in a process of its own, which does not outlive the test."""
    processes = []

    def popen(text, *arguments):
        Path("p.toml").write_text(text)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        processes.append(subprocess.Popen([*COMMAND, "p.toml", *arguments], **pipes))
        return processes[-1]

    yield popen
    for process in processes:
        process.kill()
        process.communicate()


def test_a_pipeline_runs_until_its_sources_have_ended():
    done = run(PIPELINE)
    assert done.exit_code == 0
    rows = [line.split()[:3] for line in done.stdout.splitlines()]
    assert rows[1:] == [
        ["device.imu", "ended", "100"],
        ["filter.pose", "ended", "100"],
        ["record.file", "ended", "200"],
    ]
    assert "pose: ended: 100 messages" in done.stderr
    assert len(strapdown.open("run.mcap").trajectory()) == 100


def test_json_has_an_account_of_every_part():
    done = run(PIPELINE, "--json")
    data = json.loads(done.stdout)
    assert data["exit"] == 0
    assert data["lost"] == []
    assert [(part["name"], part["kind"], part["sent"]) for part in data["parts"]] == [
        ("imu", "device", 100),
        ("pose", "filter", 100),
        ("file", "record", 200),
    ]


def test_quiet_says_nothing_but_what_failed():
    done = run(PIPELINE, "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    done = run(PIPELINE, "--quiet", "--force", "--duration", "nan")
    assert done.exit_code == 2
    assert "--duration" in done.stderr


def test_it_ends_when_the_duration_is_over_and_what_was_sent_is_worked_off():
    done = run(ENDLESS, "--duration", "0.5", "--json")
    parts = json.loads(done.stdout)["parts"]
    assert done.exit_code == 0
    assert 20 < parts[0]["sent"] < 400
    assert parts[2]["sent"] == 2 * parts[0]["sent"]


def test_a_part_that_failed_is_in_the_table_and_the_exit_code_is_1():
    done = run(PIPELINE + "min_free_bytes = 1_000_000_000_000_000_000\n")
    assert done.exit_code == 1
    assert "record.file" in done.stdout
    assert "\nfile: " in done.stdout
    assert "file: failed: " in done.stderr


def test_damage_of_a_log_is_a_loss():
    run(PIPELINE.replace("run.mcap", "old.mcap"))
    Path("old.mcap").write_bytes(Path("old.mcap").read_bytes()[:-2000])
    text = '[log.imu]\nfile = "old.mcap"\nspeed = inf\n' + PIPELINE[PIPELINE.index("[filter") :]
    done = run(text)
    assert done.exit_code == 3
    assert "lost: imu: " in done.stderr


def test_a_bad_file_is_one_line_with_the_place():
    done = run(PIPELINE.replace("wander", "wandr"))
    assert done.exit_code == 1
    assert done.stderr.startswith("strapdown: p.toml: line 3: device.imu.motion: there is no")
    assert done.stderr.count("\n") == 1


def test_an_output_that_exists_is_replaced_only_by_force():
    assert run(PIPELINE).exit_code == 0
    again = run(PIPELINE)
    assert again.exit_code == 1
    assert "pass --force" in again.stderr
    assert run(PIPELINE, "--force").exit_code == 0


@pytest.mark.xdist_group("transport")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 0, marks=pytest.mark.slow)],
)
def test_a_signal_ends_it_in_order_and_the_recording_is_whole(start, number, status):
    process = start(ENDLESS, "--json")
    while not process.stderr.readline().startswith("running: "):
        assert process.poll() is None
    time.sleep(0.3)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60.0)
    assert process.returncode == status
    sent = json.loads(out)["parts"][0]["sent"]
    recording = strapdown.open("run.mcap")
    assert len(recording.imu_series()) == len(recording.trajectory()) == sent > 0


def shown_on_a_terminal(*arguments):
    """Run the command; return what standard error shows where it is a terminal."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [*COMMAND, "p.toml", *arguments], stderr=theirs, stdout=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # which is how a terminal says that nobody writes any more
            while part := os.read(ours, 4096):
                shown += part
        os.close(ours)
    assert process.returncode == 0
    return shown


@pytest.mark.slow
def test_a_terminal_shows_a_table_while_it_runs_unless_told_to_be_quiet(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    Path("p.toml").write_text(ENDLESS)
    assert shown_on_a_terminal("--duration", "0.2", "--quiet") == b""
    shown = shown_on_a_terminal("--duration", "1.5", "--force")
    rows = [line.split() for line in shown.decode().splitlines()]
    rates = [float(row[3]) for row in rows if row[:2] == ["device.imu", "running"]]
    assert len(rates) > 2
    assert 20.0 < max(rates) < 1000.0
    assert b"imu: ended: " in shown


@pytest.mark.slow
@pytest.mark.xdist_group("transport")
def test_another_process_receives_what_a_pipeline_publishes(start):
    name = f"t{os.getpid()}-{uuid.uuid4().hex[:8]}"
    text = ENDLESS[: ENDLESS.index("[record")]
    with Topic(Pose3D, name=name, backend="ipc") as receiver:
        process = start(f'{text}[topic.out]\nfrom = "pose"\naddress = "ipc:{name}"\n')
        poses = [receiver.recv(timeout=60.0) for _ in range(50)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60.0) == 0
        stats = receiver.stats()
    assert None not in poses
    steps = {after.timestamp_ns - pose.timestamp_ns for pose, after in pairwise(poses)}
    assert steps == {10_000_000}
    assert stats.lost_overwritten == stats.lost_transport == 0

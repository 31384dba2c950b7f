"""``strapdown record`` and ``play``: two processes, signals, and files that are never lost."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
import uuid
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from typer.testing import CliRunner

import strapdown.formats as files
from strapdown.bridges.live.recorder import LiveOptions, Recorder
from strapdown.cli import record as cli
from strapdown.cli._app import app
from strapdown.cli._live import parse_bytes, parse_split
from strapdown.errors import TransportError
from strapdown.formats.playback import MessageFile
from strapdown.messages import Imu, Pose3D, RosImu
from strapdown.series import ImuSeries, Trajectory
from strapdown.transport import Topic, address
from strapdown.transport.backends import Ros2

pytestmark = pytest.mark.xdist_group("transport")

COMMAND = str(Path(sys.executable).with_name("strapdown"))
MS = 1_000_000
runner = CliRunner()


@pytest.fixture
def name(need_peer):
    """The name of a topic that nobody else uses."""
    need_peer("iceoryx2", find_spec("iceoryx2"), "pip install iceoryx2")
    return f"t{os.getpid()}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def start():
    """Start the command in a process of its own; it is ended with the test."""
    started = []

    def begin(*arguments, **options):
        options = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
        process = subprocess.Popen([COMMAND, *map(str, arguments)], text=True, **options)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def run(tmp_path):
    """A recording of 1 s: an IMU at 200 Hz."""
    path = tmp_path / "run.mcap"
    with Recorder(path, options=LiveOptions(min_free_bytes=0)) as recorder:
        recorder.add("imu", Imu)
        for number in range(200):
            t_ns = 10**18 + number * 5 * MS
            recorder.write("imu", Imu(0.0, 0.0, 9.81, 0.1, 0.2, number, t_ns), received_ns=t_ns)
    return path


def wait_for(process, word: str) -> None:
    """Read what a process says until it says a word."""
    for line in process.stderr:
        if word in line:
            return
    pytest.fail(f"it never said {word!r}")


def digest(path, topic) -> str:
    messages = [each for each in MessageFile(path).messages() if each.topic == topic]
    return hashlib.sha256(b"".join(each.payload for each in messages)).hexdigest()


def publish(topic, first: int, seconds: float) -> int:
    """Send at 1 kHz; return the number behind the last."""
    due, number = time.monotonic(), first
    end = due + seconds
    while time.monotonic() < end:
        topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number))
        number += 1
        due += 0.001
        time.sleep(max(0.0, due - time.monotonic()))
    return number


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 0), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)],
)
def test_a_signal_ends_the_recording_within_a_second_and_loses_nothing(
    tmp_path, start, name, number, code
):
    path = tmp_path / "run.mcap"
    with Topic(Imu, name=name, backend="ipc") as topic:
        topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 0))
        process = start("record", f"ipc:{name}", "-o", path, "--min-free", "0B", "--json")
        wait_for(process, "recording")
        sent = publish(topic, 1, 0.3)
        process.send_signal(number)
        told = time.monotonic()
        out, _ = process.communicate(timeout=20)
        took_s = time.monotonic() - told
        assert process.returncode == code
        assert took_s < 5.0  # 1 s on a machine that does nothing else
    outcome = json.loads(out)
    recording = files.open(path)  # strictly: it has its summary
    stamps = recording.imu[name].t_ns.tolist()
    assert stamps == list(range(sent))
    assert outcome["exit"] == code
    assert outcome["messages"] == {name: len(stamps)}
    assert outcome["bytes"] == path.stat().st_size


def test_playing_into_a_recorder_gives_a_file_with_the_same_bytes(tmp_path, start, name, run):
    again = tmp_path / "again.mcap"
    process = start("record", f"ipc:{name}", "-o", again, "--count", "200", "--min-free", "0B")
    wait_for(process, f"waiting for ipc:{name}")
    player = start("play", run, "--to", f"ipc:{name}", "--rate", "5", "--wait", "10", "--json")
    out, _ = player.communicate(timeout=30)
    _, said = process.communicate(timeout=30)
    assert process.returncode == player.returncode == 0, said
    assert json.loads(out)["messages"] == {"imu": 200}
    assert digest(again, name) == digest(run, "imu")


@pytest.mark.slow
def test_a_recorder_that_is_started_again_refuses_and_changes_nothing(tmp_path, start, name):
    path = tmp_path / "run.mcap"
    first = start("record", f"ipc:{name}?type=Imu", "-o", path, "--min-free", "0B")
    wait_for(first, "recording")
    before = path.read_bytes()
    for extra in ([], ["--force"]):
        second = start("record", f"ipc:{name}?type=Imu", "-o", path, "--min-free", "0B", *extra)
        _, said = second.communicate(timeout=30)
        assert second.returncode == 1
        assert "another recorder" in said
    first.terminate()
    first.communicate(timeout=20)
    assert path.read_bytes()[: len(before)] == before
    whole = path.read_bytes()
    done = runner.invoke(app, ["record", f"local:{name}", "-o", str(path), "--min-free", "0B"])
    assert done.exit_code == 1
    assert "--force" in done.stderr
    assert path.read_bytes() == whole


def test_a_topic_of_poses_and_one_of_another_dialect_land_in_one_file(tmp_path, start, name):
    path = tmp_path / "run.mcap"
    with (
        Topic(Pose3D, name=f"{name}/pose", backend="ipc") as pose,
        Topic(RosImu, name=f"{name}/imu", backend="ipc") as imu,
    ):
        pose.send(Pose3D())
        imu.send(RosImu(0, "link"))
        process = start(
            "record", f"ipc:{name}/pose", f"ipc:{name}/imu", "-o", path, "--count", "22",
            "--min-free", "0B",
        )  # fmt: skip
        wait_for(process, "recording")
        wait_for(process, "recording")
        for number in range(1, 11):
            pose.send(Pose3D(x=number, timestamp_ns=number))
            imu.send(RosImu(number, "link"))
        process.communicate(timeout=20)
    assert process.returncode == 0
    recording = files.open(path)
    assert recording.trajectories[f"{name}/pose"].position_world[:, 0].tolist() == list(range(11))
    assert recording.imu[f"{name}/imu"].sensor.name == "link"


@pytest.mark.slow
def test_messages_of_ros_2_are_recorded_with_the_frame_of_their_headers(tmp_path, start, need_peer):
    need_peer("cyclonedds", find_spec("cyclonedds"), "pip install cyclonedds")
    path, topic_name = tmp_path / "run.mcap", f"/t{os.getpid()}_{uuid.uuid4().hex[:8]}"
    with Topic(RosImu, name=topic_name, backend=Ros2()) as topic:
        process = start("record", f"ros2:{topic_name}", "-o", path, "--min-free", "0B")
        wait_for(process, "recording")
        assert topic.wait_for_subscriber(20.0)
        for number in range(20):
            topic.send(RosImu(number, "imu_link", angular_velocity=[0.0, 0.0, number]))
            time.sleep(0.01)
        time.sleep(0.5)
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert process.returncode == 0, said
    imu = files.open(path).imu[topic_name[1:]]
    assert imu.t_ns.tolist() == list(range(20))
    assert imu.sensor.name == "imu_link"


def test_a_duration_ends_a_recording_of_which_nothing_came(tmp_path, name, monkeypatch):
    monkeypatch.setattr(cli, "find_type", lambda *_: None)
    path = tmp_path / "run.mcap"
    done = runner.invoke(
        app,
        ["record", f"ipc:{name}", "-o", str(path), "--duration", "0.3", "--min-free", "0B",
         "--json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["notes"] == [f"no message on {name}"]
    assert f"waiting for ipc:{name}" in done.stderr
    assert not files.open(path).imu


def test_quiet_recording_and_playing_say_nothing(tmp_path, run, name):
    quiet = ["--quiet", "--duration", "0.1"]
    path = str(tmp_path / "quiet.mcap")
    done = runner.invoke(app, ["record", f"local:{name}", "-o", path, "--min-free", "0B", *quiet])
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    done = runner.invoke(app, ["play", str(run), "--to", f"local:{name}", *quiet])
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


def test_a_recorder_that_nobody_listens_to_any_more_goes_on(tmp_path, start, name):
    path = tmp_path / "run.mcap"
    nobody, theirs = os.pipe()
    os.close(nobody)
    with Topic(Imu, name=name, backend="ipc") as topic, os.fdopen(theirs) as stderr:
        topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 7))
        options = ["--min-free", "0B", "--count", "1"]
        process = start("record", f"ipc:{name}", "-o", path, *options, stderr=stderr)
        assert process.wait(20) == 0
    assert files.open(path).imu[name].t_ns.tolist() == [7]


def test_a_source_that_cannot_be_recorded_is_lost_and_the_others_go_on(tmp_path, monkeypatch):
    asked = []

    def find(source, *_):
        asked.append(source.name)
        if asked.count(source.name) > 1:
            raise TransportError("its master is gone")  # and was there at the beginning

    for module in (cli, address):
        monkeypatch.setattr(module, "find_type", find)
    options = ["--min-free", "0B", "--duration", "0.5"]
    path = tmp_path / "a.mcap"
    arguments = ["record", "ipc:gone", "local:there", "-o", str(path), *options]
    monkeypatch.setattr(sys, "argv", ["strapdown", *arguments])
    done = runner.invoke(app, arguments)
    assert done.exit_code == 3
    assert "lost: gone: not recorded: its master is gone" in done.stderr
    with path.open("rb") as file:
        (said,) = (each.metadata for each in make_reader(file).iter_metadata())
    assert said["frames"].startswith("ENU from FLU")
    assert said["command"].startswith("strapdown record ipc:gone ")
    asked.clear()
    path = tmp_path / "b.mcap"
    done = runner.invoke(app, ["record", "ipc:gone", "-o", str(path), *options])
    assert done.exit_code == 1
    assert "strapdown: its master is gone" in done.stderr
    files.open(path)  # strictly


@pytest.mark.slow
def test_files_are_split_and_said(tmp_path, start, name):
    with Topic(Imu, name=name, backend="ipc") as topic:
        topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 0))
        process = start(
            "record", f"ipc:{name}", "-o", tmp_path / "run.mcap", "--split", "0.3s",
            "--min-free", "0B", "--json",
        )  # fmt: skip
        wait_for(process, "recording")
        sent = publish(topic, 1, 1.0)
        process.terminate()
        out, _ = process.communicate(timeout=20)
    names = json.loads(out)["files"]
    assert len(names) >= 2
    stamps = [t for each in names for t in files.open(each).imu[name].t_ns.tolist()]
    assert stamps == list(range(sent))


def test_the_one_file_of_a_series_is_said_by_its_own_name(tmp_path):
    options = ["--split", "1GB", "--duration", "0.1", "--min-free", "0B"]
    done = runner.invoke(app, ["record", "local:imu", "-o", str(tmp_path / "run.mcap"), *options])
    assert f"wrote {tmp_path / 'run_000.mcap'}: " in done.stdout


def test_a_disk_with_too_little_room_is_an_error(tmp_path):
    path = tmp_path / "run.mcap"
    done = runner.invoke(app, ["record", "local:imu", "-o", str(path), "--min-free", "1000000TB"])
    assert done.exit_code == 1
    assert "are to stay free" in done.stderr
    assert not path.exists()


@pytest.mark.slow
def test_a_file_that_is_taken_away_ends_the_recording_with_an_error(tmp_path, start, name):
    path = tmp_path / "run.mcap"
    process = start("record", f"ipc:{name}?type=Imu", "-o", path, "--min-free", "0B")
    wait_for(process, "recording")
    path.unlink()
    _, said = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "moved, replaced or removed; 0 messages are safe (0 bytes), 0 are lost" in said


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere:imu", "-o", "a.mcap"], 1, "there is no backend 'nowhere'"),
        (["ipc", "-o", "a.mcap"], 1, "BACKEND:NAME"),
        (["local:imu", "-o", "a.bag"], 1, "ends in .mcap"),
        (["local:imu", "local:imu", "-o", "a.mcap"], 2, "each source once"),
        (["local:imu", "-o", "a.mcap", "--split", "7"], 2, "a size such as 1GB"),
        (["local:imu", "-o", "a.mcap", "--split", "0s"], 2, "a size such as 1GB"),
        (["local:imu", "-o", "a.mcap", "--min-free", "lots"], 2, "a number and a unit"),
        (["local:imu", "-o", "a.mcap", "--duration", "0"], 2, "more than 0"),
        (["local:imu", "-o", "a.mcap", "--count", "0"], 2, "--count"),
        (["local:imu?typ=Imu", "-o", "a.mcap"], 1, "'type'"),
        (["local:im u", "-o", "a.mcap"], 1, "unexpected ' '"),
        (["ipc:ä", "-o", "a.mcap"], 1, "unexpected 'ä'"),
    ],
)
def test_nonsense_is_refused_and_leaves_no_file(tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, ["record", *arguments])
    assert done.exit_code == code
    assert words in " ".join(done.stderr.replace("│", "").split())
    assert not list(tmp_path.iterdir())


def test_sizes_and_times_are_read():
    assert parse_bytes("200MB", "") == 200_000_000
    assert parse_bytes("1.5GiB", "") == 3 * 2**29
    assert parse_split(["1gb", "10min"], "") == (10**9, 600.0)
    assert parse_split([], "") == (None, None)


def test_playing_says_what_it_left_out(tmp_path):
    path = tmp_path / "run.bag"
    t_ns = 10**18 + np.arange(20) * 10 * MS
    ones = np.ones((20, 3))
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (20, 1))
    files.write(path, Trajectory(t_ns, upright, position_world=ones, velocity_world=ones))
    done = runner.invoke(app, ["play", str(path), "--to", "local:{topic}", "--rate", "inf"])
    assert done.exit_code == 0, done.stderr
    assert "played" in done.stdout
    assert "left out 20 messages on pose/velocity: no topic carries their type" in done.stdout


@pytest.mark.parametrize("suffix", [".mcap", ".bag"])
def test_a_magnetometer_is_played_recorded_and_joins_its_imu_again(tmp_path, start, name, suffix):
    t_ns = 10**18 + np.arange(40) * 10 * MS
    numbers = np.arange(120.0).reshape(40, 3)
    field = np.full((40, 3), np.nan)
    field[::2] = 1e-6 * numbers[::2]
    files.write(tmp_path / f"a{suffix}", ImuSeries(t_ns, numbers, numbers, magnetic_field=field))
    again = tmp_path / "again.mcap"
    topics = [f"ipc:{name}/imu/{last}" for last in ("data", "mag")]
    recording = start("record", *topics, "-o", again, "--count", 60, "--min-free", "0B")
    wait_for(recording, "waiting")
    arguments = ["play", str(tmp_path / f"a{suffix}"), "--to", f"ipc:{name}/{{topic}}"]
    done = runner.invoke(app, [*arguments, "--rate", "inf", "--wait", "20"])
    assert done.exit_code == 0, done.output
    assert recording.wait(20) == 0, recording.stderr.read()
    (series,) = files.open(again).imu.values()
    np.testing.assert_array_equal(series.t_ns, t_ns)
    np.testing.assert_array_equal(series.specific_force, numbers)
    np.testing.assert_array_equal(series.magnetic_field, field)


def test_playing_a_damaged_recording_exits_with_3(tmp_path, run):
    raw = run.read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(raw[: len(raw) * 2 // 3])
    done = runner.invoke(app, ["play", str(cut), "--to", "local:x", "--rate", "inf", "--json"])
    assert done.exit_code == 3
    assert json.loads(done.stdout)["lost"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--rate", "0"], 2, "more than 0"),
        (["--start", "-1"], 2, "0 or more"),
        (["--start", "inf"], 2, "0 or more"),
        (["--from", "3", "--until", "2"], 2, "an end after the begin"),
        (["--wait", "nan"], 2, "0 or more"),
        (["--to", "nowhere:x"], 1, "there is no backend 'nowhere'"),
        (["--to", "local:x?type=Vector3"], 1, "Imu and Vector3"),
    ],
)
def test_playing_nonsense_is_refused(run, arguments, code, words):
    done = runner.invoke(app, ["play", str(run), *arguments])
    assert done.exit_code == code
    assert words in " ".join(done.stderr.replace("│", "").split())


def test_several_topics_do_not_go_to_one_address(tmp_path):
    path = tmp_path / "two.mcap"
    with Recorder(path, options=LiveOptions(min_free_bytes=0)) as recorder:
        for topic in ("a", "b"):
            recorder.add(topic, Imu)
            recorder.write(topic, Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 1))
    done = runner.invoke(app, ["play", str(path), "--to", "local:x", "--rate", "inf"])
    assert done.exit_code == 1
    assert "{topic}" in done.stderr
    done = runner.invoke(app, ["play", str(path), "--to", "local:x", "--topic", "b", "--json"])
    assert json.loads(done.stdout)["messages"] == {"b": 1}


@pytest.mark.slow
def test_keys_of_a_terminal_pause_seek_and_end(run, name):
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "play", str(run), "--to", f"ipc:{name}", "--rate", "0.01", "--json"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_own_terminal,  # noqa: PLW1509 (it only makes one system call)
    )
    try:
        wait_for(process, "keys:")
        os.write(main, b" \x1b[C+ ")  # as if a key was held
        out, _ = process.communicate(timeout=20)  # 5 s on is behind the end
        assert process.returncode == 0
        assert json.loads(out)["messages"].get("imu", 0) < 200
    finally:
        process.kill()
        process.communicate()
        os.close(main)
        os.close(terminal)


def _own_terminal() -> None:
    """Make standard input the terminal that signals and keys come from."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

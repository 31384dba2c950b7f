"""``strapdown fuse`` on a live topic, which a thread of the test sends to."""

from __future__ import annotations

import json
import threading
import time
import uuid
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import strapdown
from strapdown import Topic
from strapdown.cli import _fuse_live
from strapdown.cli._app import app
from strapdown.cli._fuse_live import angles_and_sigmas
from strapdown.messages import Imu, MagneticField, Pose3D, RosImu

pytestmark = pytest.mark.xdist_group("transport")
runner = CliRunner()
TILT = Rotation.from_euler("x", 30.0, degrees=True)
FORCE = TILT.inv().apply([0.0, 0.0, 9.81])


def run(*arguments):
    return runner.invoke(app, ["fuse", *map(str, arguments)])


@pytest.fixture
def name():
    return f"t{uuid.uuid4().hex[:8]}"


@contextmanager
def sending(name, make, kind=Imu):
    """Send a message every 5 ms until the end of the block."""
    stop = threading.Event()

    def send():
        with Topic(kind, name=name, backend="local") as topic:
            t_ns = 1_700_000_000_000_000_000
            while not stop.wait(0.005):
                t_ns += 5_000_000
                topic.send(make(t_ns))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def tilted(t_ns):
    return Imu(*FORCE, 0.0, 0.0, 0.0, t_ns)


@pytest.mark.parametrize(("ending", "seconds"), [(".tum", 2.5), (".mcap", 0.7)])
def test_the_attitude_of_every_message_goes_into_a_file(name, tmp_path, ending, seconds):
    path = tmp_path / f"attitude{ending}"
    with sending(name, tilted):
        done = run(
            f"local:{name}?type=Imu", "--filter", "complementary", "--duration", seconds,
            "-o", path, "--json",
        )  # fmt: skip
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    track = strapdown.open(path).trajectory()
    assert len(track) == data["attitudes"] > 10
    assert data["frames"] == {"world": "ENU", "body": "FLU"}
    assert data["report"]["samples"] == len(track)
    roll = Rotation.from_quat(track.q_world_from_body[-1]).as_euler("ZYX", degrees=True)[2]
    assert roll == pytest.approx(30.0, abs=0.1)
    lines = [line for line in done.stderr.splitlines() if " Hz: " in line]
    assert len(lines) <= seconds  # one a second
    if seconds > 2.0:
        assert "roll 30.00" in lines[-1]


def test_poses_go_to_another_topic(name):
    with sending(name, tilted), Topic(Pose3D, name=f"{name}-out", backend="local") as ear:
        done = run(f"local:{name}?type=Imu", "--duration", 0.7, "-o", f"local:{name}-out")
        poses = ear.recv_all()
    assert done.exit_code == 0, done.output
    assert len(poses) > 10
    assert (np.diff([pose.timestamp_ns for pose in poses]) > 0).all()
    assert "+-" not in done.stdout
    assert f"wrote local:{name}-out" in done.stdout


def test_messages_of_ros_are_converted(name):
    def make(t_ns):
        message = RosImu(t_ns, "imu")
        message.linear_acceleration = FORCE
        return message

    with sending(name, make, RosImu):
        done = run(f"local:{name}?type=RosImu", "--duration", 0.7, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["attitudes"] > 10


def test_silence_is_one_line_and_leaves_no_file(name, tmp_path):
    done = run(f"local:{name}?type=Imu", "--duration", 0.3, "-o", tmp_path / "a.csv")
    assert done.exit_code == 1
    assert f"expected IMU messages on local:{name}, received none" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("backend", ["local", "ipc"])
def test_a_magnetometer_turns_the_heading_to_magnetic_north(name, tmp_path, backend):
    stop, path = threading.Event(), tmp_path / "attitude.tum"
    north = TILT.inv() * Rotation.from_euler("z", -40.0, degrees=True)
    field = tuple(north.apply([0.0, 2e-5, -4e-5]))

    def send():
        with (
            Topic(Imu, name=name, backend=backend) as imus,
            Topic(MagneticField, name=f"{name}/mag", backend=backend) as fields,
        ):
            t_ns = 1_700_000_000_000_000_000
            while not stop.wait(0.005):
                t_ns += 5_000_000
                if t_ns % 20_000_000 == 0:
                    fields.send(MagneticField(t_ns - 1_000_000, "", field))
                imus.send(tilted(t_ns))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        done = run(
            f"{backend}:{name}?type=Imu", "--magnetometer", f"{backend}:{name}/mag",
            "--filter", "complementary", "--duration", 1.5, "-o", path, "--json",
        )  # fmt: skip
    finally:
        stop.set()
        thread.join()
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    account = data["magnetometer"]
    assert account["input"] == f"{backend}:{name}/mag"
    assert account["received"] - 1 <= account["joined"] + account["left_out"]
    assert account["joined"] > 10
    track = strapdown.open(path).trajectory()
    q = track.q_world_from_body
    assert np.isfinite(q).all()
    assert account["rows_before"] < 30
    yaw = Rotation.from_quat(q[-1]).as_euler("ZYX", degrees=True)[0]
    assert yaw == pytest.approx(40.0, abs=0.5)


def test_the_time_to_compile_is_not_part_of_the_duration(name, monkeypatch):
    answer, pauses_s = _fuse_live.poses, [0.8]

    def slow_at_first(*arguments):
        time.sleep(pauses_s.pop() if pauses_s else 0.0)
        return answer(*arguments)

    monkeypatch.setattr(_fuse_live, "poses", slow_at_first)
    with sending(name, tilted):
        done = run(f"local:{name}?type=Imu", "--duration", 0.7, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["seconds"] > 0.5


def test_a_magnetometer_that_says_nothing_delays_nothing_and_is_a_loss(name):
    with sending(name, tilted):
        done = run(
            f"local:{name}?type=Imu", "--magnetometer", f"local:{name}/mag", "--duration", 0.7
        )
    assert done.exit_code == 3
    assert "no sample of the magnetometer came: heading is relative to the start" in done.stderr


def test_two_live_topics_are_answered_with_the_option():
    done = run("local:imu", "local:mag")
    assert done.exit_code == 2
    assert "--magnetometer names a magnetometer" in " ".join(done.stderr.replace("│", "").split())


def test_a_magnetometer_of_other_messages_is_refused(name):
    with Topic(Pose3D, name=f"{name}/mag", backend="local"), sending(name, tilted):
        done = run(
            f"local:{name}?type=Imu", "--magnetometer", f"local:{name}/mag", "--duration", 0.7
        )
    assert done.exit_code == 1
    assert "carries strapdown.messages.pose.Pose3D" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["local:imu?type=Imu", "--magnetometer", "local:mag", "--no-mag"],
        ["local:imu?type=Imu", "--declination", "3"],
        ["run.csv", "--magnetometer", "local:mag", "-o", "a.csv"],
        ["--live", "14550", "--magnetometer", "local:mag"],
    ],
)
def test_a_live_magnetometer_belongs_to_a_live_topic(arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    assert "does not go with" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--smooth"],
        ["--compare"],
        ["--picture", "a.png"],
        ["--topic", "imu"],
        ["--live", "14550"],
        ["--from", "3"],
    ],
)
def test_options_without_effect_are_refused(options):
    done = run("local:imu?type=Imu", *options)
    assert done.exit_code == 2


def test_a_topic_of_something_else_is_refused(name):
    done = run(f"local:{name}?type=Pose3D", "--duration", 0.3)
    assert done.exit_code == 1
    assert "Pose3D" in done.stderr


def test_sigmas_of_the_angles_are_those_of_turned_attitudes():
    attitude = Rotation.from_euler("ZYX", [70.0, 35.0, -20.0], degrees=True)
    root = np.array([[0.010, 0.0, 0.0], [0.004, 0.008, 0.0], [-0.003, 0.002, 0.012]])
    draws = np.random.default_rng(3).normal(size=(40_000, 3)) @ root.T
    turned = (Rotation.from_rotvec(draws) * attitude).as_euler("ZYX")
    angles, sigmas = angles_and_sigmas(attitude.as_quat(), root @ root.T)
    np.testing.assert_allclose(np.degrees(angles), [-20.0, 35.0, 70.0], atol=1e-9)
    np.testing.assert_allclose(sigmas, turned.std(axis=0)[::-1], rtol=0.02)
    assert np.isnan(angles_and_sigmas(attitude.as_quat(), np.full((3, 3), np.nan))[1]).all()

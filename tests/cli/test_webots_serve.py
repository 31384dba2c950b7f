"""``strapdown webots serve``: addresses, refusals, and one controller from beginning to end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from struct import pack, unpack_from

import pytest

from strapdown.cli.webots_serve import serve
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.formats import open as open_recording
from strapdown.webots.scene.kinematic import VelocityModel

WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot {
  name "my robot" controller "<extern>"
  children [ InertialUnit { name "imu" } Gyro { name "gyro" } ]
}
Robot { name "other" controller "own" }
"""
COMMAND = [sys.executable, "-c", "from strapdown.cli import main; main()", "webots", "serve"]


@pytest.fixture
def world(tmp_path):
    path = tmp_path / "world.wbt"
    path.write_text(WORLD)
    return path


def exactly(peer, count):
    data = b""
    while len(data) < count:
        more = peer.recv(count - len(data))
        assert more, data
        data += more
    return data


def exchange(peer, request):
    peer.sendall(request)
    size = exactly(peer, 4)
    return size + exactly(peer, unpack_from("<i", size)[0] - 4)


@pytest.mark.parametrize("profile", ["documented", "R2020a"])
def test_a_profile_with_other_angles_is_refused_for_inertial_units(world, profile):
    expected = f"expected profile R2025a, R2023b or R2021a for InertialUnit 'imu', got {profile}"
    with pytest.raises(ValueRangeError, match=expected):
        serve(world=str(world), profile=profile)


def test_an_unknown_profile_is_named(world):
    with pytest.raises(UnknownNameError, match="R1999a"):
        serve(world=str(world), profile="R1999a")


def test_options_of_the_world_are_passed_on(world, monkeypatch):
    seen = {}

    def stop(_path, **options):
        seen.update(options)
        raise ValueRangeError("seen enough")

    monkeypatch.setattr("strapdown.webots.World", stop)
    with pytest.raises(ValueRangeError, match="seen enough"):
        serve(world=str(world), velocity_model=VelocityModel.ODE, late_devices=True)
    assert (seen["velocity_model"], seen["late_devices"]) == ("ode", True)


@pytest.mark.parametrize("tcp", ["", "x", "host:", "70000", "host:-1", "1.5"])
def test_a_port_is_a_number(world, tcp):
    with pytest.raises(ValueRangeError, match="PORT"):
        serve(world=str(world), tcp=tcp)


@pytest.mark.parametrize(
    ("tcp", "address"),
    [
        (None, None),
        ("1234", ("127.0.0.1", 1234)),
        (":1234", ("127.0.0.1", 1234)),
        ("0.0.0.0:1234", ("0.0.0.0", 1234)),  # noqa: S104 (asked for)
    ],
)
def test_it_listens_where_it_is_told_to_and_else_on_this_machine(world, monkeypatch, tcp, address):
    seen = []

    def stop(*, address, realtime):
        seen.append((address, realtime))
        raise ValueRangeError("seen enough")

    monkeypatch.setattr("strapdown.cli.webots_serve.Server", stop)
    with pytest.raises(ValueRangeError, match="seen enough"):
        serve(world=str(world), tcp=tcp)
    assert seen == [(address, False)]


@pytest.mark.parametrize(
    "ending", ["duration", signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_controller_connects_by_the_printed_url(world, tmp_path, ending):
    recording = tmp_path / "run.mcap"
    command = [*COMMAND, "--world", str(world), "--record", str(recording), "--json"]
    command += ["--duration", "0.16"] if ending == "duration" else []
    with started(command) as (process, folder):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(10.0)
            connect(peer, f"{folder}/ipc/my%20robot/extern")
            assert b"my robot\0R2025a\0" in exchange(peer, pack("<iI", 8, 0))
            enable = b"".join(pack("<HiBH", tag, 3, 1, 32) for tag in (1, 2))
            answer = exchange(peer, pack("<iI", 8 + len(enable), 32) + enable)
            while not answer.endswith(pack("<HB", 0, 2)):
                if ending != "duration" and b"\x04" in answer and len(answer) > 8:
                    process.send_signal(ending)
                    answer = exactly(peer, 11)
                else:
                    answer = exchange(peer, pack("<iI", 8, 32))
            peer.sendall(bytes(4))
        output, errors = process.communicate(timeout=20)
    report = json.loads(output)
    code = 0 if ending == "duration" else 128 + ending
    assert (process.returncode, report["exit"]) == (code, code), errors
    assert report["robots"] == ["my robot"]
    steps = 5 if ending == "duration" else 1
    assert report["steps"] == steps
    assert set(report["record"]["samples"].values()) == {steps}
    assert open_recording(recording).imu
    assert not folder.exists()
    folder.parent.rmdir()


def test_a_supervisor_chooses_the_exit_code(world):
    world.write_text(WORLD.replace('"my robot"', '"my robot" supervisor TRUE'))
    with started([*COMMAND, "--world", str(world)]) as (process, folder):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(10.0)
            connect(peer, f"{folder}/ipc/my%20robot/extern")
            exchange(peer, pack("<iI", 8, 0))
            quit_with_5 = pack("<HiBi", 0, 5, 54, 5)
            exchange(peer, pack("<iI", 8 + len(quit_with_5), 0) + quit_with_5)
            peer.sendall(bytes(4))
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 5, errors
    folder.parent.rmdir()


@contextmanager
def started(command):
    """Start the verb; give its process, and the folder in which controllers find it."""
    user = f"strapdown-test-{os.getpid()}"
    environment = os.environ | {"USER": user, "WEBOTS_HOME": ""}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        line = process.stderr.readline()
        url = re.fullmatch(r"WEBOTS_CONTROLLER_URL='ipc://(\d+)/my robot'\n", line)
        assert url is not None, line
        assert int(url[1]) == process.pid
        yield process, Path("/tmp/webots", user, url[1])  # noqa: S108 (where controllers look)


def connect(peer, path):
    """Connect as soon as the socket is there."""
    for _ in range(200):
        try:
            peer.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            subprocess.run(["sleep", "0.02"], check=True)
        else:
            return
    raise AssertionError(path)

"""The verbs of ``strapdown mavlink``, with pymavlink at the other end of a socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import common
from typer.testing import CliRunner

import strapdown
from strapdown import ImuSeries, Increments
from strapdown.cli._app import app

COMMAND = str(Path(sys.executable).with_name("strapdown"))
runner = CliRunner()
MS = 1_000_000


def run_json(*arguments):
    done = runner.invoke(app, ["mavlink", *map(str, arguments), "--json"])
    return json.loads(done.stdout), done


@pytest.fixture
def receiver(monkeypatch):
    """Pymavlink as a receiver, and its address."""
    monkeypatch.setitem(os.environ, "MAVLINK20", "1")

    end = mavutil.mavlink_connection("udpin:127.0.0.1:0", dialect="common")
    yield end, "{}:{}".format(*end.port.getsockname())
    end.close()


@pytest.fixture
def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def talk():
    """Return what sends HIGHRES_IMU to a port, again and again, until the test ends."""
    stop = threading.Event()
    threads = []

    def begin(port):
        def send():
            packer = common.MAVLink(None, srcSystem=1, srcComponent=1)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
                k = 0
                while not stop.wait(0.005):
                    k += 1
                    message = common.MAVLink_highres_imu_message(
                        5_000 * k, 0, 0, -9.8, *([0.0] * 10), 0x3F
                    )
                    packer.seq = k % 256
                    out.sendto(message.pack(packer), ("127.0.0.1", port))

        threads.append(threading.Thread(target=send))
        threads[-1].start()

    yield begin
    stop.set()
    for thread in threads:
        thread.join()


@pytest.fixture
def series_file(tmp_path):
    rows = np.ones((40, 1))
    series = ImuSeries(np.arange(40) * MS, rows * [0.1, 0.2, 0.3], rows * [0, 0, 9.80665])
    strapdown.write(tmp_path / "imu.npz", series)
    return tmp_path / "imu.npz"


@pytest.fixture
def increments_file(tmp_path):
    rows = np.ones((40, 1))
    increments = Increments(
        np.arange(1, 41) * 5 * MS,
        rows * [0.001, 0.0, 0.0],
        rows * [0.0, 0.0, -0.049],
        np.full(40, 5 * MS),
        np.full(40, 5 * MS),
        body="FRD",
    )
    strapdown.write(tmp_path / "increments.npz", increments)
    return tmp_path / "increments.npz"


def test_send_reaches_pymavlink(receiver, series_file):
    end, address = receiver
    report, done = run_json("send", series_file, "--to", address, "--speed", "inf")
    assert (done.exit_code, report["messages"], report["message"]) == (0, 40, "HIL_SENSOR")
    got = [end.recv_match(blocking=True, timeout=5.0) for _ in range(40)]
    assert [message.time_usec for message in got] == [1000 * k for k in range(40)]
    assert got[0].zacc == pytest.approx(-9.80665)
    assert got[0].fields_updated == 0x3F


@pytest.mark.parametrize(("message", "first_us"), [("highres_imu", 5_000), ("hil_sensor", 2_500)])
def test_increments_are_sent_as_mean_rates(receiver, increments_file, message, first_us):
    end, address = receiver
    arguments = ["--to", address, "--message", message, "--speed", "inf"]
    assert run_json("send", increments_file, *arguments)[1].exit_code == 0
    first = end.recv_match(blocking=True, timeout=5.0)
    assert (first.get_type(), first.time_usec) == (message.upper(), first_us)
    assert first.xgyro == pytest.approx(0.2)
    assert first.zacc == pytest.approx(-9.8)


def test_attitude_is_sent_from_the_reference(receiver, tmp_path):
    end, address = receiver
    truth = strapdown.Trajectory([0, MS], [[0, 0, 0, 1.0]] * 2, world="NED", body="FRD")
    strapdown.write(tmp_path / "truth.npz", truth)
    run_json("send", tmp_path / "truth.npz", "--to", address, "--message", "attitude_quaternion")
    assert end.recv_match(blocking=True, timeout=5.0).q1 == pytest.approx(1.0)


def test_raw_imu_is_sent_in_the_scale_that_is_given(receiver, series_file):
    end, address = receiver
    arguments = ["send", series_file, "--to", address, "--message", "raw_imu", "--speed", "inf"]
    refused = runner.invoke(app, ["mavlink", *map(str, arguments)])
    assert refused.exit_code == 2
    assert "--raw-scale" in refused.stderr
    assert run_json(*arguments, "--raw-scale", "0.5", "0.1", "1")[1].exit_code == 0
    assert end.recv_match(blocking=True, timeout=5.0).zacc == -19


def test_sending_to_nobody_is_a_loss(series_file, free_port):
    report, done = run_json("send", series_file, "--to", free_port, "--speed", "inf")
    assert (done.exit_code, report["refused"]) == (3, 40)
    assert "refused: nobody listens" in report["lost"][0]


def test_record_writes_what_comes(talk, free_port, tmp_path):
    talk(free_port)
    out = tmp_path / "flight.mcap"
    report, done = run_json("record", out, "--listen", free_port, "--duration", "0.5")
    assert done.exit_code == 0, done.output
    series = strapdown.open(out).imu["sys1/comp1/highres_imu"]
    assert len(series) == report["samples"]["sys1/comp1/highres_imu"] > 10
    up = series.in_frames(body="FLU").specific_force[:, 2]
    np.testing.assert_allclose(up, 9.8, rtol=1e-6)


def test_hearing_nothing_is_an_error_and_leaves_no_file(free_port, tmp_path):
    out = tmp_path / "flight.mcap"
    report, done = run_json("record", out, "--listen", free_port, "--duration", "0.05")
    assert done.exit_code == 1
    assert "expected MAVLink messages of an IMU" in report["error"]
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_refused_before_listening(tmp_path):
    out = tmp_path / "flight.mcap"
    out.write_text("mine")
    done = runner.invoke(app, ["mavlink", "record", str(out)])  # else it would listen for ever
    assert done.exit_code == 1
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("flight.foo", "ending '.foo'"),
        ("missing/flight.mcap", "No such file or directory"),
        ("note.txt/flight.mcap", "Not a directory"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_listening(tmp_path, name, text):
    (tmp_path / "note.txt").touch()
    out = tmp_path / name
    done = runner.invoke(app, ["mavlink", "record", str(out), "--listen", "0", "--duration", "0.1"])
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()  # no "listening at"
    assert text in line
    assert [each.name for each in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.parametrize("duration", ["-1", "0", "nan"])
def test_a_duration_is_above_zero(tmp_path, duration):
    out = str(tmp_path / "flight.mcap")
    done = runner.invoke(app, ["mavlink", "record", out, "--listen", "0", "--duration", duration])
    assert done.exit_code == 2
    assert "--duration" in done.stderr


def test_a_host_that_is_not_known_is_named(series_file, tmp_path):
    for arguments in (
        ("record", tmp_path / "a.mcap", "--listen", "no such host:14550"),
        ("send", series_file, "--to", "no such host:14550"),
    ):
        report, done = run_json(*arguments)
        assert done.exit_code == 1
        assert report["error"].startswith("no such host:14550: ")


def test_record_reads_a_telemetry_log_and_says_what_is_missing(tmp_path):
    packer = common.MAVLink(None, srcSystem=1, srcComponent=1)
    data = b""
    for k in (0, 1, 2, 5):
        packer.seq = k
        message = common.MAVLink_scaled_imu_message(10 * k, 0, 0, -1000, 1, 2, 3, 0, 0, 0)
        data += struct.pack(">Q", k) + message.pack(packer)
    (tmp_path / "flight.tlog").write_bytes(data)
    out = tmp_path / "flight.npz"
    report, done = run_json("record", out, "--tlog", tmp_path / "flight.tlog")
    assert done.exit_code == 3
    assert "2 messages are missing" in report["lost"][0]
    assert strapdown.open(out).imu["sys1/comp1/scaled_imu"].t_ns.tolist() == [
        0,
        10 * MS,
        20 * MS,
        50 * MS,
    ]


def test_record_refuses_a_telemetry_log_without_imu_and_attitude(tmp_path):
    message = common.MAVLink_vfr_hud_message(1, 2, 3, 4, 5, 6)
    data = struct.pack(">Q", 1) + message.pack(common.MAVLink(None, srcSystem=1, srcComponent=1))
    (tmp_path / "flight.tlog").write_bytes(data)
    report, done = run_json("record", tmp_path / "a.npz", "--tlog", tmp_path / "flight.tlog")
    assert done.exit_code == 1
    assert report["error"].endswith("of an IMU or of attitude, got others: VFR_HUD 1")
    assert not (tmp_path / "a.npz").exists()


def test_silence_is_told_as_such(free_port, tmp_path):
    out = tmp_path / "silence.npz"
    report, done = run_json("record", out, "--listen", free_port, "--duration", "0.2")
    assert (done.exit_code, out.exists()) == (1, False)
    assert report["error"].endswith("received none; check the target of the sender")


def test_an_interrupted_recording_is_kept(talk, free_port, tmp_path):
    out = tmp_path / "flight.npz"
    command = [COMMAND, "mavlink", "record", str(out), "--listen", str(free_port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert b"listening at 127.0.0.1:" in process.stderr.readline()
        talk(free_port)
        threading.Event().wait(0.3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == 130
    assert len(strapdown.open(out).imu["sys1/comp1/highres_imu"]) > 5

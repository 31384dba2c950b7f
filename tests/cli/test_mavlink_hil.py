"""``strapdown mavlink hil``: a flight with its recording, and its errors."""

import socket
import time
from threading import Thread

import pytest

import strapdown.formats as files
from strapdown.cli.mavlink_hil import hil
from strapdown.errors import DeviceError, PeerLostError, ValueRangeError
from strapdown.webots.file.sample_worlds import find_world

pytest.importorskip("mujoco")
common = pytest.importorskip("pymavlink.dialects.v20.common")


def connection(port, flight):
    """Return a connection to a simulator as soon as it listens."""
    while True:
        assert flight.is_alive()
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.01)


def answer(port, flight, counts):
    """Answer every HIL_SENSOR with motors at half of their velocity."""
    with connection(port, flight) as link:
        mav = common.MAVLink(None)
        while data := link.recv(1 << 16):
            for message in mav.parse_buffer(data) or ():
                if message.get_type() == "HIL_SENSOR":
                    counts.append(message.time_usec)
                    reply = common.MAVLink_hil_actuator_controls_message(
                        message.time_usec, [0.5] * 4 + [float("nan")] * 12, 128, 1
                    )
                    link.sendall(reply.pack(mav))


def test_a_flight_is_reported_and_recorded(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    counts = []
    results = []

    def fly():
        results.append(hil(listen=str(port), duration=0.4, output=tmp_path / "flight.mcap"))

    flight = Thread(target=fly)
    flight.start()
    answer(port, flight, counts)
    flight.join(30.0)
    assert "waiting for an autopilot" in capsys.readouterr().err
    (result,) = results
    data = result.data
    assert data["time_s"] == pytest.approx(0.4)
    assert (data["messages"]["sensors"], data["messages"]["fixes"]) == (100, 4)
    assert counts[-1] == 400_000
    recording = files.open(tmp_path / "flight.mcap")
    assert len(recording.gnss["gps/values"]) == 4
    assert len(recording.imu["imu/data"]) == 100


def warnings_of(world, capsys):
    with pytest.raises(PeerLostError):
        hil(world=world, listen="0", patience=0.05)
    printed = capsys.readouterr().err.splitlines()
    return [line for line in printed if line.startswith("WARNING")]


def test_a_replaced_proto_of_a_users_world_is_warned_of_and_none_of_ours(tmp_path, capsys):
    assert warnings_of("quadcopter", capsys) == []
    address = "https://raw.githubusercontent.com/cyberbotics/webots/R2025a/Quadcopter.proto"
    own = tmp_path / "own.wbt"
    shipped = find_world("quadcopter").read_text()
    own.write_text(shipped.replace("../protos/Quadcopter.proto", address))
    (line,) = warnings_of(str(own), capsys)
    assert f"PROTO at {address!r} is not fetched: a simpler one of strapdown" in line


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"listen": "0", "patience": 0.05}, PeerLostError, "expected an autopilot to connect"),
        ({"listen": "moon"}, ValueRangeError, r"expected \[HOST:\]PORT"),
        ({"listen": "0", "motor": ["wing"]}, DeviceError, "it has no wing"),
        ({"listen": "0", "world": "imu_robot"}, DeviceError, "cannot be flown"),
    ],
)
def test_what_cannot_fly_says_why(options, error, message):
    with pytest.raises(error, match=message):
        hil(**options)

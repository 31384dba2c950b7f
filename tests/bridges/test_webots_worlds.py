"""Real worlds behind the server: what a controller of Webots would see."""

from __future__ import annotations

import math
import socket
import time
from struct import pack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strapdown.webots.run.lockstep import Lockstep
from strapdown.webots.world.world import World

ONE = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot {
  name "rob" controller "<extern>" customData "told" rotation 0 0 1 0.6
  physics Physics { mass 1 }
  children [
    InertialUnit { name "imu" noise 0 }
    Accelerometer { name "acc" lookupTable [ -100 -100 0, 100 100 0 ] }
    Gyro { name "gyro" }
    HingeJoint {
      jointParameters HingeJointParameters { axis 0 0 1 }
      device [ RotationalMotor { name "motor" } PositionSensor { name "angle" } ]
      endPoint Solid { name "arm" }
    }
    Camera { name "eye" width 32 height 16 }
    LED { name "lamp" }
  ]
}
"""
TWO = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot { name "a" controller "<extern>" children [ Gyro { name "gyro" } ] }
Robot { name "b" controller "<extern>" children [ Gyro { name "gyro" } ] }
"""


class Ports:
    """The ports of a world by name, as the server's fixture asks for them."""

    def __init__(self, world):
        self.ports = {name: world.port(name) for name in world.robots}


@pytest.fixture
def serve_world(serve):
    def start(text, *, alone, realtime=False, **options):
        world = World(text, profile="R2025a", dynamics="kinematic", **options)
        lockstep = None if alone else Lockstep(world, world.robots, realtime=realtime)
        address = ("127.0.0.1", 0)
        return serve(world=Ports(world), scheduler=lockstep, address=address, realtime=realtime)

    return start


def period(ms):
    return pack("<BH", 1, ms)


@pytest.mark.parametrize("alone", [True, False])
def test_a_robot_is_configured_and_measures(serve_world, transport, alone):
    client = serve_world(ONE, alone=alone).connect(transport)
    first = client.begin()
    names = [name for _, name, _ in first.data[0, 0]["devices"]]
    assert names == ["imu", "acc", "gyro", "motor", "angle", "eye", "lamp"]
    assert (first.data[0, 0]["custom"], first.data[0, 0]["controller"]) == ("told", "<extern>")
    assert first.data[1, 0] == [0.0, "ENU"]
    assert first.data[2, 0] == [[-100, -100, 0, 100, 100, 0]]
    assert first.data[6, 0][1:3] == [32, 16]
    answer = client.exchange(32, *((tag, period(32)) for tag in (1, 2, 3)))
    assert answer.data[0, 4] == pytest.approx(0.032, abs=1e-15)
    expected = [0.0, 0.0, math.sin(0.3), math.cos(0.3)]
    assert answer.data[1, 54] == pytest.approx(expected, abs=1e-12)
    assert answer.data[2, 51] == pytest.approx([0.0, 0.0, 9.81], abs=1e-9)
    assert answer.data[3, 53] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


def test_a_motor_turns_its_joint(serve_world):
    client = serve_world(ONE, alone=True).ipc()
    client.begin()
    forever = pack("<HdHd", 1, math.inf, 2, 0.5)
    client.exchange(32, (4, forever), (5, period(32)))
    angles = [client.exchange(32).data[5, 1] for _ in range(40)]
    assert angles[-1] - angles[-2] == pytest.approx(0.5 * 0.032, rel=1e-6)


def test_late_steps_tell_how_late_they_were(serve_world):
    client = serve_world(ONE, alone=True).ipc()
    client.begin()
    asked = [32, 0, 40, 40, 64, 32, 16]
    assert [client.exchange(ms).delay for ms in asked] == [0, 0, 0, 24, 0, 32, 16]


@pytest.mark.parametrize("alone", [True, False])
def test_the_duration_ends_the_controller(serve_world, transport, alone):
    running = serve_world(ONE, alone=alone, duration_s=0.064)
    client = running.connect(transport)
    client.begin()
    assert (0, 2) not in client.exchange(32).data
    assert (0, 2) not in client.exchange(32).data
    assert (0, 2) in client.exchange(32).data
    client.goodbye()
    running.thread.join(5.0)
    assert not running.thread.is_alive()


def test_two_robots_keep_step(serve_world):
    running = serve_world(TWO, alone=False)
    a, b = running.ipc(robot="a"), running.tcp("b")
    a.begin()
    b.begin()
    for step in range(1, 5):
        a.send(a.request(32, (1, period(32))))
        b.send(b.request(32, (1, period(32))))
        time_s = pytest.approx(0.032 * step, abs=1e-12)
        assert a.receive().data[0, 4] == b.receive().data[0, 4] == time_s
    a.exit()
    assert b.exchange(32).data[0, 4] == pytest.approx(0.16, abs=1e-12)


def test_a_controller_that_comes_back_begins_anew(serve_world):
    running = serve_world(ONE, alone=True)
    first = running.ipc()
    first.begin()
    first.exchange(32, (3, period(32)))
    first.exit()
    again = running.ipc()
    assert again.begin().data[0, 0]["time"] == pytest.approx(0.032, abs=1e-15)
    assert again.exchange(32).order == [(0, 4)]


def test_real_time_does_not_run_ahead_of_the_clock(serve_world):
    client = serve_world(ONE, alone=False, realtime=True).ipc()
    assert client.begin().data[0, 0]["mode"] == 1
    client.exchange(32)
    start = time.monotonic()
    for _ in range(3):
        client.exchange(64)
    assert time.monotonic() - start >= 0.192 - 0.05


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 500),
            st.integers(0, 8),
            st.one_of(
                st.binary(max_size=30),
                st.builds(lambda c, x: pack("<Hd", c, x), st.integers(1, 6), st.floats()),
                st.builds(lambda p: pack("<BH", 1, p), st.integers(0, 65535)),
            ),
        ),
        max_size=5,
    )
)
def test_no_commands_bring_a_world_down(serve_world, requests):
    running = serve_world(ONE, alone=True)
    client = running.ipc()
    client.begin()
    client.send(b"".join(client.request(ms, (tag, data)) for ms, tag, data in requests))
    client.peer.shutdown(socket.SHUT_WR)
    while client.peer.recv(1 << 16):
        pass
    assert running.ipc().begin().delay == 0
    running.stop()

"""A quadcopter flown through the JSON interface of ArduPilot's SITL."""

import json
import math
import socket
import struct
import sys
import time
from contextlib import closing
from threading import Thread

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import PeerLostError
from strapdown.webots import World
from strapdown.webots.file.world_file import read_world

pytest.importorskip("mujoco")
pytest.importorskip("pymavlink")

from strapdown.bridges.mavlink.ardupilot import ArduPilotSimulator

MASS, GRAVITY, MOST = 1.5, 9.81, 1e-5 * 1000.0**2


class Link(closing):
    """ArduPilot's end, from the description of the interface."""

    def __init__(self, place):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(place)
        self.socket.settimeout(10.0)
        self.frame = 0
        super().__init__(self)

    def close(self):
        self.socket.close()

    def exchange(self, widths, magic=18458, advance=1):
        """Send pulse widths; return the answer."""
        self.frame += advance
        count = 16 if magic == 18458 else 32
        widths = [*widths, *[1000] * (count - len(widths))]
        self.socket.send(struct.pack(f"<HHI{count}H", magic, 400, self.frame, *widths))
        data = self.socket.recv(1 << 14)
        assert data.startswith(b"\n")
        assert data.endswith(b"\n")
        return json.loads(data)


def outputs(state, target):
    """Return the pulse widths of a controller of position, attitude and rate."""
    w, x, y, z = state["quaternion"]
    R = Rotation.from_quat([x, y, z, w])
    rate = np.array(state["imu"]["gyro"])
    position, velocity = np.array(state["position"]), np.array(state["velocity"])
    wanted = np.clip(1.2 * (target - position) - 1.8 * velocity, -3.0, 3.0)
    wanted = wanted - np.array([0, 0, GRAVITY])
    down = -wanted / np.linalg.norm(wanted)
    error = R.inv().apply(np.cross(R.apply([0, 0, 1]), down))
    roll, pitch, turn = 1.2 * error * [1, 1, 0] - np.array([0.25, 0.25, 0.2]) * rate
    mix = [(-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)]
    thrust = MASS * np.linalg.norm(wanted) / 4
    shares = [(thrust + r * roll + p * pitch + t * turn) / MOST for r, p, t in mix]
    return [1000 + round(1000 * math.sqrt(min(max(share, 0.0), 1.0))) for share in shares]


@pytest.fixture
def flight():
    """Function that flies a world in a thread; the place, and the results at its end."""
    threads, simulators = [], []
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # two threads that wait for each other

    def fly(world, duration_s, **options):
        simulator = ArduPilotSimulator(world, listen="0", **options)
        simulators.append(simulator)
        results = []

        def run():
            with simulator:
                results.append(simulator.fly(duration_s))

        threads.append(Thread(target=run))
        threads[-1].start()
        return simulator, results

    yield fly
    for thread, simulator in zip(threads, simulators, strict=True):
        simulator.stop()
        thread.join(30.0)
        assert not thread.is_alive()
    sys.setswitchinterval(usual)


def test_an_autopilot_hovers_by_pulse_widths(flight):
    file = read_world("quadcopter")
    file.world_info.set("basicTimeStep", 8)
    simulator, results = flight(World(file), 8.0)
    target = np.array([0.3, 0.2, -0.8])
    widths = [1000] * 4
    states = []
    with Link(simulator.address) as link:
        for _ in range(1000):
            states.append(link.exchange(widths))
            widths = outputs(states[-1], target)
        time.sleep(0.1)
    assert results == [pytest.approx(8.0)]
    assert simulator.counts == {"controls": 1000, "lost": 0}
    last = states[-1]
    assert last["timestamp"] == pytest.approx(8.0)
    assert last["position"] == pytest.approx(target, abs=0.05)
    assert last["imu"]["accel_body"] == pytest.approx([0, 0, -GRAVITY], abs=0.05)
    heights = [state["position"][2] for state in states[-375:]]
    assert max(heights) - min(heights) < 0.05
    w, x, y, z = states[0]["quaternion"]  # the nose to the east
    assert Rotation.from_quat([x, y, z, w]).apply([1, 0, 0]) == pytest.approx([0, 1, 0], abs=1e-6)


def test_a_packet_that_is_repeated_advances_nothing_and_missing_ones_are_counted(flight):
    simulator, _ = flight(World("quadcopter"), 0.02)
    with Link(simulator.address) as link:
        first = link.exchange([1000] * 4)
        again = link.exchange([1000] * 4, advance=0)
        link.socket.send(b"not a packet")
        later = link.exchange([1000] * 4, advance=4)
        assert first == again
        assert later["timestamp"] - first["timestamp"] == pytest.approx(0.004)
        for _ in range(3):
            link.exchange([1000] * 4, 29569)  # with 32 outputs
    assert simulator.counts == {"controls": 5, "lost": 3}


def test_silence_is_reported():
    with (
        ArduPilotSimulator(World("quadcopter"), listen="0", patience_s=0.05) as simulator,
        pytest.raises(PeerLostError, match="expected packets of ArduPilot at"),
    ):
        simulator.fly(1.0)

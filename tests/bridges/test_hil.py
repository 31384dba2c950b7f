"""A quadcopter in a world with physics, flown over MAVLink HIL by a small autopilot."""

import math
import socket
import sys
from contextlib import closing, contextmanager, suppress
from threading import Event, Thread, Timer

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import DeviceError, PeerLostError, ValueRangeError
from strapdown.webots import World
from strapdown.webots.file.world_file import read_world

pytest.importorskip("mujoco")
common = pytest.importorskip("pymavlink.dialects.v20.common")

from strapdown.bridges.mavlink.ardupilot import ArduPilotSimulator  # noqa: E402
from strapdown.bridges.mavlink.hil import HilSimulator, pressure_at  # noqa: E402
from strapdown.bridges.mavlink.vehicle import Fix, Vehicle  # noqa: E402

MASS, GRAVITY, MOST_THRUST = 1.5, 9.81, 4 * 1e-5 * 1000.0**2
NORTH_OF = 6378137.0 * math.radians(1e-7)  # m in the unit of HIL_GPS, roughly


class Link(closing):
    """The autopilot's end: pymavlink on a TCP connection."""

    def __init__(self, place):
        self.socket = socket.create_connection(place)
        self.mav = common.MAVLink(self)
        super().__init__(self)

    def write(self, data):
        self.socket.sendall(data)

    def messages(self):
        while data := self.socket.recv(1 << 16):
            yield from self.mav.parse_buffer(data) or ()

    def close(self):
        self.socket.close()


class Autopilot:
    """Cascaded control of position, velocity, attitude and rate; forward, right, down.

    Attitude is the integral of the gyro, position that of HIL_GPS: simple, and good for seconds.
    """

    def __init__(self, target):
        self.target = np.array(target)  # north, east, down
        self.R = Rotation.from_euler("z", math.pi / 2)  # it stands with its nose to the east
        self.position = np.zeros(3)
        self.velocity = np.zeros(3)
        self.home = None
        self.last_us = None
        self.heights = []
        self.field = None
        self.fixes = 0

    def fix(self, m):
        here = np.array([m.lat, m.lon, m.alt * 1e-3])
        if self.home is None:
            self.home = here
        north, east, up = here - self.home
        east *= NORTH_OF * math.cos(math.radians(m.lat * 1e-7))
        self.position = np.array([north * NORTH_OF, east, -up])
        self.velocity = np.array([m.vn, m.ve, m.vd]) * 1e-2
        self.fixes += 1

    def sensor(self, m):
        """Return the outputs of the four motors."""
        rate = np.array([m.xgyro, m.ygyro, m.zgyro])
        dt = 0.0 if self.last_us is None else (m.time_usec - self.last_us) * 1e-6
        self.last_us = m.time_usec
        force = np.array([m.xacc, m.yacc, m.zacc])
        self.R = self.R * Rotation.from_rotvec(rate * dt)
        acceleration = self.R.apply(force) + np.array([0, 0, GRAVITY])
        self.velocity = self.velocity + acceleration * dt
        self.position = self.position + self.velocity * dt
        self.field = self.R.apply([m.xmag, m.ymag, m.zmag])
        wanted = 1.2 * (self.target - self.position) - 1.8 * self.velocity
        wanted = np.clip(wanted, -3.0, 3.0) - np.array([0, 0, GRAVITY])
        thrust = MASS * np.linalg.norm(wanted)
        down = -wanted / np.linalg.norm(wanted)
        tilt = np.cross(self.R.apply([0, 0, 1]), down)
        yaw = self.R.as_euler("ZYX")[0]
        error = self.R.inv().apply(tilt) + np.array([0, 0, math.sin(math.pi / 2 - yaw)])
        moment = np.array([1.2, 1.2, 0.3]) * error - np.array([0.25, 0.25, 0.2]) * rate
        roll, pitch, turn = moment
        mix = [(-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)]  # the order of PX4
        shares = [
            (thrust / 4 + r * roll + p * pitch + t * turn) / (MOST_THRUST / 4) for r, p, t in mix
        ]
        return [math.sqrt(min(max(share, 0.0), 1.0)) for share in shares]

    def run(self, link):
        """Answer until the simulator disconnects."""
        for message in link.messages():
            if message.get_type() == "HIL_GPS":
                self.fix(message)
            elif message.get_type() == "HIL_SENSOR":
                self.heights.append(-self.position[2])
                outputs = [*self.sensor(message), *[0.0] * 12]
                link.mav.hil_actuator_controls_send(message.time_usec, outputs, 128, 1)


@contextmanager
def flying(world, pilot, patience_s=10.0):
    """Start a pilot at the other end of a simulator."""

    def run(place):
        with Link(place) as link, suppress(ConnectionError):
            pilot.run(link)

    with HilSimulator(world, listen="0", patience_s=patience_s) as simulator:
        thread = Thread(target=run, args=(simulator.address,))
        thread.start()
        yield simulator
    thread.join(10.0)


def flown(world, duration_s, pilot):
    with flying(world, pilot) as simulator:
        return simulator.fly(duration_s), simulator.counts


@pytest.fixture(autouse=True)
def _quick_turns():
    """Let the two threads of a test take turns more often than every 5 ms."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize(
    ("step_ms", "place"),
    [(8, (0.6, -0.4, 1.0)), pytest.param(4, (3.0, -2.0, 5.0), marks=pytest.mark.slow)],
)
def test_an_autopilot_takes_off_flies_to_a_place_and_hovers(step_ms, place):
    file = read_world("quadcopter")
    file.world_info.set("basicTimeStep", step_ms)
    world = World(file)
    north, east, up = place
    pilot = Autopilot([north, east, -up])
    duration_s = 15.0 if step_ms == 8 else 20.0
    time_s, counts = flown(world, duration_s, pilot)
    states = world.scene.present(world.file.robots[0])
    count = round(duration_s / step_ms * 1e3)
    assert time_s == pytest.approx(duration_s)
    assert counts["sensors"] == count
    assert counts["controls"] > count - 100  # after the first answer one for each
    assert pilot.fixes == counts["fixes"] >= 10 * duration_s - 20
    assert states.position[0] == pytest.approx([east, north, up + 0.05], abs=0.1)
    assert np.linalg.norm(states.velocity[0]) < 0.1
    assert states.R_world_from_body[0][:, 0] == pytest.approx([1, 0, 0], abs=0.05)  # east
    hover = pilot.heights[-round(10.0 / step_ms * 1e3) :]
    assert max(hover) - min(hover) < 0.1


def test_the_magnetic_field_points_north_and_down_on_every_heading():
    pilot = Autopilot([0.0, 0.0, -1.0])
    flown(World("quadcopter"), 1.0, pilot)
    north, east, down = pilot.field
    assert (east, math.hypot(north, down)) == pytest.approx((0.0, 0.48), abs=1e-3)
    assert math.degrees(math.atan2(down, north)) == pytest.approx(63.0, abs=0.1)


def test_pressure_is_that_of_the_standard_atmosphere():
    """US Standard Atmosphere 1976, table I: 1000 m and 5000 m (geopotential)."""
    assert pressure_at(1000.0) == pytest.approx(898.75, abs=0.02)
    assert pressure_at(5000.0) == pytest.approx(540.20, abs=0.05)


def test_without_an_autopilot_it_says_so():
    with (
        HilSimulator(World("quadcopter"), listen="0", patience_s=0.05) as simulator,
        pytest.raises(PeerLostError, match="expected an autopilot to connect"),
    ):
        simulator.fly(1.0)


def test_an_autopilot_that_falls_silent_is_reported():
    class Silent(Autopilot):
        def run(self, link):
            link.mav.hil_actuator_controls_send(0, [0.0] * 16, 0, 1)

            stop.wait(5.0)

    stop = Event()
    with flying(World("quadcopter"), Silent([0, 0, 0]), patience_s=0.5) as simulator:
        with pytest.raises(PeerLostError, match=r"expected HIL_ACTUATOR_CONTROLS within 0\.5 s"):
            simulator.fly(10.0)
        stop.set()


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ("imu_robot", "cannot be flown: it has no Altimeter, motor 1"),
        ("pendulum", "cannot be flown: it has no"),
    ],
)
def test_a_robot_that_cannot_be_flown_is_refused(world, message):
    with pytest.raises(DeviceError, match=message):
        HilSimulator(World(world), listen="0")


def test_an_autopilot_that_sends_all_the_time_does_not_stop_the_simulation(monkeypatch):
    monkeypatch.setattr("strapdown.bridges.mavlink.hil._SETTLE_S", 0.1)

    class Restless(Autopilot):
        def run(self, link):
            while not stop.wait(0.001):
                link.mav.hil_actuator_controls_send(0, [0.0] * 16, 0, 1)

    stop = Event()
    with flying(World("quadcopter"), Restless([0, 0, 0])) as simulator:
        guard = Timer(5.0, simulator.stop)
        guard.start()
        assert simulator.fly(0.02) == pytest.approx(0.02)
        guard.cancel()
        stop.set()


def test_the_last_of_several_outputs_drives_the_motors(monkeypatch):
    driven = []
    monkeypatch.setattr(Vehicle, "drive", lambda _, shares: driven.append(shares[0]))

    class Double(Autopilot):
        def run(self, link):
            packed = [
                common.MAVLink_hil_actuator_controls_message(0, [share] * 16, 0, 1).pack(link.mav)
                for share in (0.25, 0.75)
            ]
            link.write(b"".join(packed))
            for _ in link.messages():
                """Read until the simulator disconnects."""

    with flying(World("quadcopter"), Double([0, 0, 0]), patience_s=0.2) as simulator:
        with pytest.raises(PeerLostError, match="HIL_ACTUATOR_CONTROLS"):
            simulator.fly(1.0)
        assert simulator.counts["controls"] == 2
    assert driven == [0.75]


def test_a_velocity_beyond_the_message_is_limited(monkeypatch):
    fast = Fix(47.0, 8.0, 500.0, np.array([-400.0, 1000.0, 10.0]))
    monkeypatch.setattr(Vehicle, "fix", lambda _: fast)

    class Reader(Autopilot):
        def run(self, link):
            self.first = next(m for m in link.messages() if m.get_type() == "HIL_GPS")

    pilot = Reader([0, 0, 0])
    with flying(World("quadcopter"), pilot) as simulator:
        simulator.fly(0.05)
    assert (pilot.first.vn, pilot.first.ve, pilot.first.vd) == (-32768, 32767, 1000)
    assert pilot.first.vel == 65535


@pytest.mark.parametrize("patience_s", [0.0, -1.0, math.nan])
@pytest.mark.parametrize("simulator", [HilSimulator, ArduPilotSimulator])
def test_a_patience_without_a_length_is_refused(simulator, patience_s):
    with pytest.raises(ValueRangeError, match="expected a patience above 0 s"):
        simulator(World("quadcopter"), listen="0", patience_s=patience_s)


@pytest.mark.parametrize(("simulator", "port"), [(HilSimulator, 4560), (ArduPilotSimulator, 9002)])
def test_by_default_it_is_where_the_autopilot_looks_on_this_machine_only(
    monkeypatch, simulator, port
):
    places = []
    open_at = simulator._open

    def opened(self, place):
        places.append(place)
        return open_at(self, ("127.0.0.1", 0))

    monkeypatch.setattr(simulator, "_open", opened)
    with simulator(World("quadcopter")), simulator(World("quadcopter"), listen=str(port)):
        assert places == [("127.0.0.1", port)] * 2


def test_a_step_that_is_not_of_whole_milliseconds_is_refused():
    file = read_world("quadcopter")
    file.world_info.set("basicTimeStep", 0.5)
    with pytest.raises(DeviceError, match=r"basicTimeStep of whole milliseconds, got 0\.5"):
        HilSimulator(World(file), listen="0")

"""Times of samples and of their arrival, and return values of steps."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strapdown.webots.world.world import World

B = 32
ERAS = ["R2025a", "R2021a", "R2020a"]
HEADER = "#VRML_SIM R2025a utf8\n"


def ticking(t_s):
    """Return a state at (t, 0, 0), so that the position of a sample shows its time."""
    still = (0.0, 0.0, 0.0)
    return (t_s, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), still, still, still, still


def world(devices, *, step=B, motion=ticking, **options):
    text = f"""{HEADER}WorldInfo {{ basicTimeStep {step} }}
    Robot {{ name "rob" physics Physics {{ }} children [ {devices} ] }}"""
    return World(text, motion=motion, **options)


def gps(*names):
    return " ".join(f'GPS {{ name "{name}" }}' for name in names)


class Client:
    """Steps a robot, and stores the last sample of each device, as a controller does."""

    def __init__(self, port):
        self.port = port
        info = port.configure()
        self.tags = {device.name: device.tag for device in info.devices}
        self.samples = {}
        self.pending = []
        self.time_s = info.time_s

    def enable(self, name, period):
        self.pending.append((self.tags[name], "period", (period,)))

    def step(self, ms):
        self.begin(ms)
        return self.end()

    def begin(self, ms):
        self.port.begin(ms, self.pending)
        self.pending = []

    def end(self):
        return self.take(self.port.end())

    def take(self, answer):
        self.time_s = answer.time_s
        for tag, sample_time, values in answer.samples:
            self.samples[tag] = (sample_time, values)
        return answer.delay

    def at(self, name):
        """Time of the last sample [ms]; None: there is none."""
        sample = self.samples.get(self.tags[name])
        return None if sample is None else round(sample[0] * 1000.0, 6)

    def values(self, name):
        return self.samples[self.tags[name]][1]


@pytest.mark.parametrize("profile", ["documented", *ERAS])
def test_three_sensors_with_three_periods_are_sampled_as_in_the_worked_example(profile):
    client = Client(
        world("Accelerometer { } Gyro { } InertialUnit { }", motion=None, profile=profile).port()
    )
    for name, period in (("accelerometer", 64), ("gyro", 50), ("inertial unit", 32)):
        client.enable(name, period)
    rows = []
    for step in range(9):
        assert client.step(B) == 0
        rows.append([client.at(name) for name in ("accelerometer", "gyro", "inertial unit")])
        assert client.time_s == (step + 1) * B / 1000.0
        if step == 5:
            client.enable("accelerometer", 0)
        if step == 6:
            client.enable("accelerometer", 64)
    assert rows == [
        [None, None, 32],
        [64, 64, 64],
        [64, 64, 96],
        [128, 128, 128],
        [128, 128, 160],
        [192, 192, 192],
        [192, 192, 224],
        [192, 256, 256],
        [288, 256, 288],
    ]


def test_a_long_step_delivers_the_last_of_its_samples_at_its_end():
    client = Client(world(gps("gps")).port())
    client.enable("gps", 3 * B)
    client.step(5 * B)
    assert (client.at("gps"), client.time_s) == (3 * B, 5 * B / 1000.0)
    client.step(B)
    assert client.at("gps") == 6 * B


def test_delays_are_those_of_the_worked_example():
    client = Client(world(gps("gps")).port())
    client.step(B)
    asked = [0, 40, 40, 64, 32, 16]
    returned, lasted = [], []
    for ms in asked:
        before = client.time_s
        returned.append(client.step(ms))
        lasted.append(round((client.time_s - before) * 1000.0))
    assert returned == [0, 0, 24, 0, 32, 16]
    assert lasted == [0, 64, 64, 64, 32, 32]


def test_enabling_and_disabling_while_the_world_changes():
    the_world = world(gps(*"ABCD"), motion=None)
    client = Client(the_world.port())
    robot = the_world.robots["rob"].node
    assert client.samples == {}
    client.enable("A", 3 * B)
    for name in "BCD":
        client.enable(name, B)
    old, new = [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]
    client.step(B)
    assert [client.values(name)[:3] for name in "BCD"] == [old] * 3
    assert client.at("A") is None
    client.step(B)
    assert client.at("A") is None
    client.step(B)
    assert client.values("A")[:3] == old
    robot.set("translation", tuple(new))
    the_world.changed(robot, "translation")
    client.enable("B", 0)
    client.enable("D", 0)
    client.step(B)
    seen = {name: client.values(name)[:3] for name in "ABCD"}
    assert seen == {"A": old, "B": old, "C": new, "D": old}
    client.step(B)
    assert client.values("A")[:3] == old
    client.step(B)
    assert client.values("A")[:3] == new


def moves_after(t_change_s):
    """Rotate and move between the sample of an instant and the next."""

    def state(t_s):
        late = t_s > t_change_s + 1e-9
        still = (0.0, 0.0, 0.0)
        turned = (0.0, math.sin(0.5), 0.0, math.cos(0.5))
        pose = ((0.1, 0.2, 0.3), turned) if late else (still, (0.0, 0.0, 0.0, 1.0))
        return *pose, still, still, still, still

    return state


def test_a_change_during_a_long_step_is_seen_by_the_next_sample():
    text = f"""{HEADER}WorldInfo {{ coordinateSystem "NUE" }}
    Robot {{ children [ Compass {{ }} GPS {{ }} ] }}"""
    client = Client(World(text, motion=moves_after(3 * B / 1000.0)).port())
    client.enable("compass", 3 * B)
    client.enable("gps", 3 * B)
    client.step(5 * B)
    assert client.values("compass") == pytest.approx([1.0, 0.0, 0.0], abs=1e-4)
    assert client.values("gps")[:3] == pytest.approx([0.0, 0.0, 0.0], abs=1e-4)
    client.step(B)
    # north rotated into the sensor: transpose of Ry(1) times x
    assert client.values("compass") == pytest.approx([math.cos(1.0), 0.0, math.sin(1.0)], abs=1e-4)
    assert client.values("gps")[:3] == pytest.approx([0.1, 0.2, 0.3], abs=1e-4)


def test_values_wait_for_the_end_of_a_step_in_two_halves():
    client = Client(world(gps("gps")).port())
    client.enable("gps", 3 * B)
    client.step(B)
    client.begin(4 * B)
    assert client.at("gps") is None
    client.end()
    assert client.at("gps") == 3 * B
    client.begin(B)
    assert client.at("gps") == 3 * B
    client.end()
    assert client.at("gps") == 6 * B


def test_the_position_of_a_device_is_that_of_its_node_after_one_step():
    the_world = world(
        'Compass { } LED { } Gyro { } GPS { name "test_gps" model "gps model"'
        " translation 0.5 -1 2 }",
        step=64,
        motion=None,
    )
    client = Client(the_world.port())
    info = the_world.port().configure().devices[3]
    assert (info.node_type, info.name, info.model) == (44, "test_gps", "gps model")
    client.enable("test_gps", 64)
    client.step(64)
    assert client.values("test_gps")[:3] == pytest.approx([0.5, -1.0, 2.0], abs=1e-4)


@settings(max_examples=40)
@given(period=st.integers(1, 300), step=st.sampled_from([1, 4, 7.5, 10, 32, 0.5]))
def test_the_effective_period_is_the_next_multiple_of_the_basic_step(period, step):
    the_world = world(gps("gps"), step=step)
    taken = []
    the_world.observe(lambda _robot, _device, at, values: taken.append((at, values[0])))
    port = the_world.port()
    port.begin(0, [(1, "period", (period,))])
    port.end()
    steps = math.ceil(period / step)
    the_world.advance_to(3 * steps)
    assert [at for at, _ in taken] == [steps, 2 * steps, 3 * steps]
    for at, value in taken:
        assert value == pytest.approx(at * step / 1000.0, abs=1e-12)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_how_a_controller_slices_time_changes_no_sample(slices):
    def run(durations):
        the_world = world(
            "GPS { accuracy 0.1 } Accelerometer { lookupTable [-99 -99 0.1 99 99 0.1] }"
            "HingeJoint { device RotationalMotor { } endPoint Solid { physics Physics { }"
            ' children Accelerometer { name "swung" translation 0 0.1 0 } } }',
            step=4,
        )
        taken = []
        the_world.observe(lambda _r, device, at, values: taken.append((device.tag, at, values)))
        port = the_world.port()
        port.exchange(0, [(1, "period", (8,)), (2, "period", (12,)), (4, "period", (4,))])
        port.exchange(0, [(3, "position", (math.inf,)), (3, "velocity", (2.0,))])
        for ms in durations:
            port.exchange(ms, ())
        return taken

    assert run([4 * n for n in slices]) == run([4] * sum(slices))


def test_enabling_again_starts_the_wait_anew_and_the_old_value_stays():
    client = Client(world(gps("gps")).port())
    client.enable("gps", 2 * B)
    client.step(2 * B)
    client.step(B)
    client.enable("gps", 2 * B)
    client.step(B)
    assert client.at("gps") == 2 * B
    client.step(B)
    assert client.at("gps") == 5 * B


@pytest.mark.parametrize(("period", "documented", "era"), [
    (32768, 1024 * B, B),
    (65535, 2048 * B, B),
    (65536, 2048 * B, None),
    (65536 + 64, 2050 * B, 2 * B),
    (32767, 1024 * B, 1024 * B),
])  # fmt: skip
def test_releases_read_a_period_as_a_signed_number_of_16_bits(period, documented, era):
    for profile, expected in (("documented", documented), ("R2025a", era)):
        client = Client(world(gps("gps"), profile=profile).port())
        client.enable("gps", period)
        client.step((expected or 10 * B) - B)
        assert client.at("gps") is None
        client.step(B)
        assert client.at("gps") == expected


def test_samples_come_in_the_order_of_tags_whatever_was_refreshed_first():
    port = world(gps(*"ABC")).port()
    requests = [(1, "period", (3 * B,)), (2, "period", (2 * B,)), (3, "period", (B,))]
    answer = port.exchange(3 * B, requests)
    assert [(tag, round(t * 1000)) for tag, t, _ in answer.samples] == [
        (1, 3 * B),
        (2, 2 * B),
        (3, 3 * B),
    ]
    assert port.exchange(0, ()).samples == []


def test_a_fractional_basic_step_rounds_durations_and_delays():
    client = Client(world(gps("gps"), step=7.5).port())
    client.enable("gps", 10)
    assert [client.step(10), client.step(10), client.step(15)] == [0, 5, 0]
    assert client.time_s == pytest.approx(0.045)
    assert client.at("gps") == 45.0


def test_the_duration_ends_the_simulation_with_minus_one():
    the_world = world(gps("gps"), duration_s=0.1)
    assert the_world.end_step == 3
    client = Client(the_world.port())
    client.enable("gps", B)
    assert [client.step(B), client.step(B), client.step(B)] == [0, 0, 0]
    assert not the_world.ended
    assert client.step(B) == -1
    assert the_world.ended
    assert (client.time_s, client.at("gps")) == (0.096, 96)
    assert client.step(B) == -1


def test_a_step_over_the_end_delivers_what_was_sampled_before_it():
    client = Client(world(gps("gps"), duration_s=0.1).port())
    client.enable("gps", 2 * B)
    assert client.step(10 * B) == -1
    assert (client.time_s, client.at("gps")) == (0.096, 64)


def test_the_end_of_a_motion_ends_the_simulation():
    class Short:
        end_s = 2 * B / 1000.0

        def state(self, t_s):
            assert t_s <= self.end_s + 1e-12
            return ticking(t_s)

    client = Client(world(gps("gps"), motion=Short()).port())
    client.enable("gps", B)
    assert [client.step(B) for _ in range(4)] == [0, 0, -1, -1]
    assert client.values("gps")[0] == pytest.approx(0.064)


def test_quitting_ends_the_simulation_at_the_present_step():
    the_world = world(gps("gps"))
    client = Client(the_world.port())
    for _ in range(5):
        client.step(B)
    the_world.quit(7)
    assert the_world.ended
    assert the_world.exit_status == 7
    assert client.step(B) == -1
    assert client.time_s == 0.16


class Countdown:
    """Driven robot that gets its motor commands, and is asked for no state twice."""

    def __init__(self):
        self.asked = []
        self.speed = 0.0

    def command(self, device, command, value):
        assert (device, command) == ("rotor", "velocity")
        self.speed = value[0]

    def state(self, t_s):
        self.asked.append(t_s)
        still = (0.0, 0.0, 0.0)
        return (self.speed, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), still, still, still, still


def test_a_motion_that_listens_to_motors_closes_the_loop_step_by_step():
    motion = Countdown()
    rotor = 'HingeJoint { device RotationalMotor { name "rotor" } endPoint Solid { } }'
    client = Client(world(f"{gps('gps')} {rotor}", motion=motion).port())
    client.enable("gps", B)
    seen = []
    for speed in (1.0, 2.0, 3.0):
        client.pending.append((2, "velocity", (speed,)))
        client.step(2 * B)
        seen.append(client.values("gps")[0])
    assert seen == [1.0, 2.0, 3.0]
    later = [round(t_s / 0.032) for t_s in motion.asked if t_s > 0.0]
    assert sorted(set(later)) == [1, 2, 3, 4, 5, 6]
    assert later == sorted(later)


def test_a_gps_without_physics_forgets_where_it_was_while_disabled():
    the_world = World(f"{HEADER}Robot {{ children [ {gps('gps')} ] }}", motion=ticking)
    client = Client(the_world.port())
    speeds = []
    for period in (B, 0, B):
        client.enable("gps", period)
        for _ in range(2):
            client.step(B)
            speeds.append(client.values("gps")[3])
    assert speeds == pytest.approx([math.nan, 1.0, 1.0, 1.0, math.nan, 1.0], nan_ok=True)


def test_a_leap_moves_on_and_refreshes_nothing():
    the_world = world(gps("gps"))
    port = the_world.port()
    port.exchange(B, [(1, "period", (B,))])
    device = the_world.robots["rob"].devices[0]
    horizon, count = the_world.timeline.leap(100)
    assert count == 100
    positions = horizon.states(device.node).position[:, 0]
    assert positions[[0, -1]] == pytest.approx([2 * B / 1000.0, 101 * B / 1000.0])
    assert the_world.time_s == 101 * B / 1000.0
    port.exchange(0, [(1, "period", (B,))])
    assert port.exchange(B, ()).samples[0][1] == 102 * B / 1000.0

"""Worlds: noise and resets, robots and ports, requests of controllers and supervisors."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from strapdown.errors import DeviceError, UnknownNameError, ValueRangeError
from strapdown.webots.devices.random_streams import MarsagliaStream
from strapdown.webots.file.node import Node
from strapdown.webots.file.world_file import read_world
from strapdown.webots.scene.kinematic import KinematicScene
from strapdown.webots.world.world import World

HEADER = "#VRML_SIM R2025a utf8\n"
NOISY = "GPS { accuracy 1 }"
ROTOR = """HingeJoint {
  device [ RotationalMotor { name "motor" } PositionSensor { name "angle" } ]
  jointParameters HingeJointParameters { axis 0 0 1 }
  endPoint Solid { children [ Gyro { name "rotor gyro" } ] physics Physics { } }
}"""


def text(devices, *, info="", robot=""):
    return f"""{HEADER}WorldInfo {{ {info} }}
    DEF ROB Robot {{ name "rob" {robot} physics Physics {{ }} children [ {devices} ] }}"""


def record(world):
    """Record (robot, device, step, values) of every refresh."""
    taken = []
    world.observe(
        lambda robot, device, step, values: taken.append((robot.name, device.name, step, values))
    )
    return taken


def enable_all(world, ms=32):
    for robot in world.robots.values():
        requests = [(d.tag, "period", (ms,)) for d in robot.devices if d.measurement is not None]
        world.port(robot.name).exchange(0, requests)


def run(world, steps):
    taken = record(world)
    enable_all(world)
    world.advance_to(steps)
    return taken


def circling(t_s):
    """Rotate about z while moving on a circle, with all derivatives."""
    c, s = math.cos(t_s), math.sin(t_s)
    q = (0.0, 0.0, math.sin(t_s / 2.0), math.cos(t_s / 2.0))
    return (c, s, 0.0), q, (-s, c, 0.0), (0.0, 0.0, 1.0), (-c, -s, 0.0), (0.0, 0.0, 0.0)


# -- noise and resets ----------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["documented", "R2025a"])
def test_the_same_world_and_seed_give_the_same_samples(profile):
    source = text(f"{NOISY} InertialUnit {{ noise 0.01 }}")
    first, again, other = (run(World(source, profile=profile, seed=seed), 50) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_the_seed_of_the_file_counts_where_none_is_given():
    source = text(NOISY, info="randomSeed 42")
    assert World(source).seed == 42
    assert run(World(source), 5) == run(World(text(NOISY), seed=42), 5)


def test_a_device_more_changes_no_other_devices_noise():
    alone = run(World(text('GPS { name "b" accuracy 1 }')), 20)
    both = run(World(text('GPS { name "a" accuracy 1 } GPS { name "b" accuracy 1 }')), 20)
    assert [row for row in both if row[1] == "b"] == alone
    assert [row[3] for row in both if row[1] == "a"] != [row[3] for row in alone]


def test_releases_draw_one_sequence_for_all_devices_in_the_order_of_tags():
    devices = " ".join(f'GPS {{ name "{name}" accuracy 1 }}' for name in "ab")
    stream = MarsagliaStream(9)
    taken = run(World(text(devices), profile="R2025a", seed=9), 3)
    assert [(row[2], row[1]) for row in taken] == [
        (step, name) for step in (1, 2, 3) for name in "ab"
    ]
    for row in taken:
        assert row[3][:3] == pytest.approx([stream.gaussian() for _ in range(3)], rel=1e-12)


@pytest.mark.parametrize("profile", ["documented", "R2025a", "R2021a", "R2020a"])
def test_a_reset_repeats_the_first_run(profile):
    correlation = 0.9 if profile == "documented" else 0.0  # releases decorrelate at a reset
    gps = f"GPS {{ accuracy 1 noiseCorrelation {correlation} }}"
    source = text(f"{gps} {ROTOR} InertialUnit {{ noise 0.01 }}")
    world = World(source, profile=profile, motion=circling)
    taken = record(world)
    enable_all(world)
    motor = next(d for d in world.robots["rob"].devices if d.name == "motor")

    def first_run():
        taken.clear()
        for step in range(1, 40):
            if step % 10 == 5:
                world.command(motor, "velocity", (0.1 * step,))
                world.command(motor, "position", (math.inf,))
            world.advance_to(step)
        return list(taken)

    before = first_run()
    world.reset()
    assert (world.step_count, world.time_s) == (0, 0.0)
    assert first_run() == before


def test_a_reset_in_mid_period_samples_at_the_next_step_and_drops_what_was_pending():
    port = (world := World(text(NOISY))).port()
    port.exchange(0, [(1, "period", (96,))])
    port.exchange(32 * 4, ())
    world.advance_to(6)
    world.reset()
    assert port.exchange(0, ()).samples == []
    assert [round(t * 1000) for _, t, _ in port.exchange(32, ()).samples] == [32]
    assert port.exchange(64, ()).samples == []
    assert [round(t * 1000) for _, t, _ in port.exchange(32, ()).samples] == [128]


def test_the_first_value_of_a_released_accelerometer_after_a_reset_is_gravity_alone():
    speed = 1.0
    rest = (0.0, 0.0, 0.0)
    world = World(
        text("Accelerometer { }"),
        profile="R2025a",
        motion=lambda t: ((t, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), (speed, 0.0, 0.0), rest),
    )
    port = world.port()
    port.exchange(0, [(1, "period", (64,))])
    values = [port.exchange(64, ()).samples[0][2] for _ in range(2)]
    assert values[0] == pytest.approx([15.625, 0.0, 9.81], abs=1e-9)
    assert values[1] == pytest.approx([0.0, 0.0, 9.81], abs=1e-9)
    world.reset()
    after = [port.exchange(ms, ()).samples[0][2] for ms in (32, 64)]
    assert after == pytest.approx(np.array([[0.0, 0.0, 9.81]] * 2), abs=1e-9)


def test_a_reset_restores_the_tree():
    world = World(text(NOISY, robot='translation 1 2 3 customData "first"'))
    robot = world.robots["rob"].node
    before = world.file.to_text()
    port = world.port()
    port.configure()
    robot.set("translation", (9.0, 9.0, 9.0))
    world.changed(robot, "translation")
    port.exchange(0, [(0, "custom_data", ("second",)), (1, "period", (32,))])
    child = Node("Gyro", {"name": "late"})
    robot.set("children", [*robot.nodes("children"), child])
    world.inserted(child)
    world.reset()
    assert world.file.to_text() == before
    assert world.robots["rob"].node is robot
    answer = port.exchange(32, ())
    assert answer.samples[0][2][:3] != pytest.approx([9.0, 9.0, 9.0], abs=0.5)
    assert world.scene.present(robot).position[0] == pytest.approx([1.0, 2.0, 3.0])


# -- robots and ports ----------------------------------------------------------------------------

TWO = f"""{HEADER}WorldInfo {{ }}
Robot {{ name "one" children [ GPS {{ }} ] }}
Robot {{ name "two" children [ GPS {{ }} ] }}"""


def test_a_port_without_a_name_is_that_of_the_only_robot():
    world = World(TWO)
    with pytest.raises(DeviceError, match="'one', 'two'"):
        world.port()
    with pytest.raises(UnknownNameError, match="one"):
        world.port("on")
    assert world.port("one") is world.port("one")
    alone = World(text(""))
    assert alone.port() is alone.port("rob")


def test_robots_with_one_name_get_numbers():
    world = World(f"{HEADER}Robot {{ }} Robot {{ }} Robot {{ }}")
    assert list(world.robots) == ["robot", "robot(1)", "robot(2)"]


def test_of_robots_that_step_in_turn_the_first_moves_the_world():
    world = World(TWO)
    one, two = world.port("one"), world.port("two")
    steps = []
    for _ in range(3):
        for port in (one, two):
            answer = port.exchange(32, [(1, "period", (32,))] if not steps else ())
            steps.append((world.step_count, answer.delay, answer.time_s))
    assert steps == [(n, 0, n * 0.032) for n in (1, 1, 2, 2, 3, 3)]


def test_a_robot_that_was_left_behind_gets_its_last_samples_at_once():
    world = World(TWO)
    one, two = world.port("one"), world.port("two")
    two.exchange(0, [(1, "period", (64,))])
    one.exchange(32 * 5, ())
    answer = two.exchange(32, ())
    assert world.step_count == 5
    assert [(round(t * 1000)) for _, t, _ in answer.samples] == [128]
    assert answer.time_s == 0.16
    assert two.exchange(32, ()).time_s == 0.192


def test_what_a_controller_learns():
    world = World(
        text(
            f"InertialUnit {{ noise 0.02 }} Gyro {{ lookupTable [ -1 -2 0, 1 2 0.5 ] }} {ROTOR}"
            ' DistanceSensor { type "sonar" } Camera { width 7 height 5 }'
            ' SliderJoint { device PositionSensor { name "slide" } }',
            info='coordinateSystem "NUE" basicTimeStep 16',
            robot='model "m" controller "c" controllerArgs [ "-a" "b c" ] customData "d"'
            " supervisor TRUE",
        ),
        profile="R2021a",
    )
    info = world.port().configure()
    assert (info.name, info.model, info.controller) == ("rob", "m", "c")
    assert info.controller_args == ("-a", "b c")
    assert (info.version, info.profile, info.coordinate_system) == ("R2021a", "R2021a", "NUE")
    assert (info.supervisor, info.synchronization, info.custom_data) == (True, True, "d")
    assert (info.time_s, info.basic_time_step, info.world_path) == (0.0, 16.0, "")
    assert [device.tag for device in info.devices] == list(range(1, 9))
    by_name = {device.name: device for device in info.devices}
    assert by_name["inertial unit"].parameters == {"noise": 0.02, "coordinate_system": "NUE"}
    assert by_name["gyro"].parameters == {"lookup_table": [-1.0, -2.0, 0.0, 1.0, 2.0, 0.5]}
    motor = by_name["motor"].parameters
    assert motor["rotational"] is True
    assert (motor["max_velocity"], motor["max_force"], motor["acceleration"]) == (10.0, 10.0, -1.0)
    assert (motor["control_pid"], motor["multiplier"]) == ((10.0, 0.0, 0.0), 1.0)
    assert by_name["angle"].parameters["rotational"] is True
    assert by_name["slide"].parameters["rotational"] is False
    distance = by_name["distance sensor"].parameters
    assert (distance["type"], distance["min"], distance["max"]) == (2, 0.0, 1000.0)
    assert by_name["camera"].parameters == {"width": 7, "height": 5}
    assert by_name["rotor gyro"].node_type == 45


@pytest.mark.parametrize("folder", ["project/worlds", "project"])
def test_the_project_is_the_folder_above_the_worlds(tmp_path, folder):
    path = tmp_path / folder / "w.wbt"
    path.parent.mkdir(parents=True)
    path.write_text(text(""))
    info = World(path).port().configure()
    assert info.project_path == str(tmp_path / "project")
    assert info.world_path == str(path)


def test_a_new_controller_finds_every_sensor_disabled():
    world = World(text(NOISY))
    port = world.port()
    port.exchange(32, [(1, "period", (32,)), (0, "custom_data", ("kept",))])
    port.close()
    world.advance_to(4)
    assert port.configure().custom_data == "kept"
    answer = port.exchange(50, ())
    assert answer.samples == []
    assert answer.delay == 0


def test_requests_to_wrong_tags_or_devices_are_refused():
    port = World(text(NOISY)).port()
    with pytest.raises(DeviceError, match=r"tag 1 \.\.\. 1, got 2"):
        port.exchange(0, [(2, "period", (32,))])
    with pytest.raises(DeviceError, match="expected a motor for 'velocity', got GPS 'gps'"):
        port.exchange(0, [(1, "velocity", (1.0,))])
    with pytest.raises(DeviceError, match="'custom_data' or 'battery', got 'fly'"):
        port.exchange(0, [(0, "fly", ())])


def test_motions_are_given_by_robot_def_or_solid_name():
    source = f"""{HEADER}Robot {{ name "a" children [ GPS {{ }} ] }}
    DEF B Robot {{ name "b" children [ Solid {{ name "arm" children [ GPS {{ }} ] }} ] }}"""

    def at(x):
        return lambda _t: ((x, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), *[(0.0, 0.0, 0.0)] * 4)

    taken = run(World(source, motion={"a": at(1.0), "B": at(2.0)}), 1)
    assert [row[3][0] for row in taken] == [1.0, 2.0]
    taken = run(World(source, motion={"arm": at(3.0)}), 1)
    assert [row[3][0] for row in taken] == [0.0, 3.0]
    with pytest.raises(UnknownNameError, match="'arm'"):
        World(source, motion={"army": at(1.0)})
    with pytest.raises(DeviceError, match="'a', 'b'"):
        World(source, motion=at(1.0))


# -- requests of controllers ---------------------------------------------------------------------


def test_a_position_sensor_follows_its_motor():
    port = World(text(ROTOR), dynamics="kinematic").port()
    infinite = (1, "position", (math.inf,))
    port.exchange(0, [infinite, (1, "velocity", (2.0,)), (2, "period", (32,))])
    positions = [port.exchange(32, ()).samples[0][2][0] for _ in range(3)]
    assert positions == pytest.approx([0.064, 0.128, 0.192])


def test_a_command_that_comes_again_does_nothing_unless_a_coupled_motor_had_another():
    pair = " ".join(
        ROTOR.replace('"motor"', f'"m::{name}"').replace('"angle"', f'"angle {name}"')
        for name in ("a", "b")
    )
    port = World(text(pair), dynamics="kinematic").port()
    tags = {device.name: device.tag for device in port.configure().devices}
    a, b = tags["m::a"], tags["m::b"]
    port.exchange(0, [(tags[name], "period", (32,)) for name in ("angle a", "angle b")])
    port.exchange(0, [(a, "position", (math.inf,))])

    def speeds(*commands):
        before, after = (port.exchange(32, each).samples for each in ((), commands))
        return [(end[2][0] - begin[2][0]) / 0.032 for begin, end in zip(before, after, strict=True)]

    assert speeds((a, "velocity", (1.0,))) == pytest.approx([1.0, 1.0])
    assert speeds((a, "velocity", (1.0,))) == pytest.approx([1.0, 1.0])
    assert speeds((b, "velocity", (2.0,))) == pytest.approx([2.0, 2.0])
    assert speeds((a, "velocity", (1.0,))) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("dynamics", ["kinematic", "physics"])
def test_a_command_of_no_number_is_ignored_with_a_warning(dynamics, capsys):
    limits = ["acceleration", "available_force", "pid"]
    commands = ["position", "velocity", "force", "torque", *limits]

    def angle(requests):
        port = World(text(ROTOR), dynamics=dynamics).port()
        port.exchange(0, [(1, "position", (math.inf,)), (2, "period", (32,))])
        port.exchange(64, requests)
        return port.exchange(320, ()).samples[0][2][0]

    assert angle([(1, command, (math.nan,) * 3) for command in commands]) == angle(()) > 0.1
    lines = capsys.readouterr().err.splitlines()
    ignored = [line for line in lines if line.endswith("got NaN: ignored")]
    assert [line.split("'")[1] for line in ignored] == commands


@pytest.mark.parametrize("most", [1, 3, 4096])
def test_commands_in_the_middle_of_a_horizon_change_only_what_follows(most, monkeypatch):
    monkeypatch.setattr("strapdown.webots.world.timeline.MOST_AHEAD", most)
    port = World(text(ROTOR), dynamics="kinematic").port()
    port.exchange(0, [(1, "position", (math.inf,)), (2, "period", (32,))])
    positions = [0.0]
    for speed in (1.0, -2.0, 3.0):
        port.exchange(0, [(1, "velocity", (speed,))])
        positions += [port.exchange(32, ()).samples[0][2][0] for _ in range(7)]
    changes = [(after - before) / 0.032 for before, after in pairwise(positions)]
    assert changes == pytest.approx([1.0] * 7 + [-2.0] * 7 + [3.0] * 7)


def test_the_world_looks_far_ahead_only_as_long_as_nothing_is_commanded(monkeypatch):
    asked = []
    ahead = KinematicScene.ahead
    monkeypatch.setattr(
        KinematicScene, "ahead", lambda self, count: asked.append(count) or ahead(self, count)
    )
    port = World(text(ROTOR), dynamics="kinematic").port()
    port.exchange(0, [(2, "period", (32,)), (1, "position", (math.inf,))])
    for _ in range(500):
        port.exchange(32, ())
    assert len(asked) < 10
    asked.clear()
    for step in range(100):
        port.exchange(32, [(1, "velocity", (0.01 * step,))])
    assert asked == [1] * 100
    asked.clear()
    for _ in range(100):
        port.exchange(32, [(1, "velocity", (0.99,))])
    assert len(asked) < 10


def test_a_torque_between_two_equal_commands_lets_the_second_count(capsys):
    world = World(text(ROTOR), dynamics="kinematic")
    commands = []
    scene_command = world.scene.command
    world.scene.command = lambda _motor, *said: (
        commands.append(said) or scene_command(_motor, *said)
    )
    port = world.port()
    for command, value in (
        ("velocity", 1.0),
        ("velocity", 1.0),
        ("torque", 0.1),
        ("torque", 0.1),
        ("velocity", 1.0),
    ):
        port.exchange(0, [(1, command, (value,))])
    assert [command for command, _ in commands] == ["velocity", "torque", "torque", "velocity"]
    assert "without physics" in capsys.readouterr().err


class Doubled:
    """Another measurement: twice the reading of the device."""

    width = 3

    def __init__(self, perfect):
        self.perfect = perfect

    def __getattr__(self, name):
        return getattr(self.perfect, name)

    def take(self, row, dt_s):
        return [2.0 * value for value in self.perfect.take(row, dt_s)]


def test_another_measurement_may_be_put_behind_a_device_at_any_time():
    world = World(text("Accelerometer { } Gyro { }"))
    port = world.port()
    port.exchange(0, [(1, "period", (32,))])
    assert port.exchange(32 * 5, ()).samples[0][2] == pytest.approx([0.0, 0.0, 9.81])
    robot = world.robots["rob"]
    device = robot.devices[0]
    device.measurement = Doubled(world.perfect_measurement(device))
    assert port.exchange(32, ()).samples[0][2] == pytest.approx([0.0, 0.0, 19.62])
    info = world.file.world_info
    info.set("gravity", 1.0)
    world.changed(info, "gravity")
    assert isinstance(device.measurement, Doubled)


def test_a_supervisor_speaks_through_its_port():
    port = World(text("", robot='supervisor TRUE translation 1 2 3 customData "x"')).port()
    number = port.supervise("from_def", "ROB")
    assert port.supervise("position", number) == pytest.approx([1.0, 2.0, 3.0])
    port.supervise("set", number, "translation", None, (4.0, 5.0, 6.0))
    assert port.supervise("position", number) == pytest.approx([4.0, 5.0, 6.0])
    port.exchange(64, ())
    port.supervise("simulation_reset")
    assert port.exchange(0, ()).time_s == 0.0
    port.supervise("simulation_quit", 3)
    assert port.exchange(32, ()).delay == -1


def test_a_limit_that_a_supervisor_sets_counts_and_is_told():
    world = World(text(ROTOR), dynamics="kinematic")
    port = world.port()
    port.exchange(0, [(1, "position", (math.inf,)), (1, "velocity", (5.0,)), (2, "period", (32,))])
    motor = world.robots["rob"].devices[0].node
    motor.set("maxVelocity", 2.0)
    world.changed(motor, "maxVelocity")
    answer = port.exchange(32, [(1, "velocity", (5.0,))])
    assert answer.devices[0].parameters["max_velocity"] == 2.0
    assert answer.samples[0][2] == pytest.approx([0.064])


def test_a_position_sensor_has_absolute_noise_and_a_resolution():
    rotor = ROTOR.replace('name "angle"', 'name "angle" noise 0.1')
    values = [row[3][0] for row in run(World(text(rotor)), 500) if row[1] == "angle"]
    assert np.std(values) == pytest.approx(0.1, rel=0.15)
    assert np.mean(values) == pytest.approx(0.0, abs=0.02)
    rotor = ROTOR.replace('name "angle"', 'name "angle" resolution 0.2').replace(
        "axis 0 0 1", "axis 0 0 1 position -0.31"
    )
    for profile, rounded in (("documented", -0.4), ("R2025a", -0.2)):
        taken = run(World(text(rotor), profile=profile), 1)
        assert [row[3][0] for row in taken if row[1] == "angle"] == pytest.approx([rounded])


def test_devices_without_surroundings_read_nothing_after_their_period():
    world = World(text('DistanceSensor { } LightSensor { } TouchSensor { type "force-3d" }'))
    port = world.port()
    requests = [(tag, "period", (64,)) for tag in (1, 2, 3)]
    assert port.exchange(32, requests).samples == []
    assert [values for _, _, values in port.exchange(32, ()).samples] == [
        [1000.0],
        [0.0],
        [0.0] * 3,
    ]


# -- changes by supervisors ----------------------------------------------------------------------


def test_custom_data_that_somebody_else_set_is_told_once():
    world = World(text(""))
    port = world.port()
    port.exchange(0, [(0, "custom_data", ("mine",))])
    assert port.exchange(0, ()).custom_data is None
    robot = world.robots["rob"]
    assert robot.node.text("customData") == "mine"
    robot.node.set("customData", "theirs")
    world.changed(robot.node, "customData")
    assert port.exchange(0, ()).custom_data == "theirs"
    assert port.exchange(0, ()).custom_data is None


def test_a_changed_field_of_a_device_counts_at_once_and_is_told():
    world = World(text("Gyro { } Accelerometer { }"))
    port = world.port()
    port.exchange(0, [(2, "period", (32,))])
    port.exchange(32 * 5, ())
    node = world.robots["rob"].devices[1].node
    node.set("lookupTable", [(-100.0, -1000.0, 0.0), (100.0, 1000.0, 0.0)])
    world.changed(node, "lookupTable")
    answer = port.exchange(32, ())
    assert [device.name for device in answer.devices] == ["accelerometer"]
    assert answer.devices[0].parameters["lookup_table"][:3] == [-100.0, -1000.0, 0.0]
    assert answer.samples[0][2] == pytest.approx([0.0, 0.0, 98.1])
    assert port.exchange(32, ()).devices == ()


def test_the_coordinate_system_may_change_while_the_world_runs():
    world = World(
        text(
            "Compass { rotation 0 1 0 0.392699 } InertialUnit { }",
            info='coordinateSystem "NUE"',
            robot="rotation 0 1 0 0.916298",
        )
    )
    port = world.port()
    first = port.exchange(32, [(1, "period", (32,))])
    assert first.samples[0][2] == pytest.approx([0.258819, 0.0, 0.965926], abs=1e-4)
    info = world.file.world_info
    info.set("coordinateSystem", "EUN")
    world.changed(info, "coordinateSystem")
    answer = port.exchange(96, ())
    assert answer.samples[0][2] == pytest.approx([-0.965926, 0.0, 0.258819], abs=1e-4)
    assert [d.parameters["coordinate_system"] for d in answer.devices] == ["EUN"]
    world.reset()
    again = port.exchange(32, ())
    assert again.samples[0][2] == pytest.approx([0.258819, 0.0, 0.965926], abs=1e-4)
    assert [d.parameters["coordinate_system"] for d in again.devices] == ["NUE"]


def test_gravity_may_change_while_the_world_runs():
    world = World(text("Accelerometer { }"))
    port = world.port()
    port.exchange(32, [(1, "period", (32,))])
    info = world.file.world_info
    info.set("gravity", 1.62)
    world.changed(info, "gravity")
    assert port.exchange(32, ()).samples[0][2] == pytest.approx([0.0, 0.0, 1.62])


@pytest.mark.parametrize(("field", "value", "up"), [("gravity", 5.0, 5.0), ("title", "x", 9.81)])
def test_devices_remember_while_the_world_info_changes(field, value, up, capsys):
    def passing(t_s):
        zero = (0.0, 0.0, 0.0)
        return (t_s, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0), zero, zero, zero

    world = World(text("Accelerometer { }"), profile="R2025a", motion=passing)
    port = world.port()
    port.exchange(32 * 3, [(1, "period", (32,))])
    info = world.file.world_info
    info.set(field, value)
    world.changed(info, field)
    assert port.exchange(32, ()).samples[0][2] == pytest.approx([0.0, 0.0, up])
    assert capsys.readouterr().err == ""


def test_physics_that_comes_and_goes_counts_for_the_devices_of_its_solid():
    world = World(f"{HEADER}Robot {{ children [ Accelerometer {{ }} ] }}", profile="R2025a")
    port = world.port()
    robot = world.robots["robot"].node
    physics = Node("Physics")
    nothing, weight = [math.nan] * 3, [0.0, 0.0, 9.81]

    def read():
        return pytest.approx(port.exchange(32, ()).samples[0][2], nan_ok=True)

    port.exchange(0, [(1, "period", (32,))])
    assert read() == nothing
    robot.set("physics", physics)
    world.inserted(physics)
    assert read() == weight
    robot.set("physics", None)
    world.removed(physics)
    assert read() == nothing
    robot.set("physics", physics)
    world.inserted(physics)
    world.reset()
    assert read() == nothing


@pytest.mark.parametrize("late", [False, True])
def test_a_late_device_is_found_where_that_is_asked_for(late):
    world = World(text("Gyro { }"), late_devices=late)
    port = world.port()
    port.configure()
    robot = world.robots["rob"].node
    child = Node("GPS", {"name": "late", "translation": (1.0, 2.0, 3.0)})
    robot.set("children", [*robot.nodes("children"), child])
    world.inserted(child)
    answer = port.exchange(32, ())
    assert [(d.tag, d.name) for d in answer.devices] == ([(2, "late")] if late else [])
    if late:
        samples = port.exchange(32, [(2, "period", (32,))]).samples
        assert samples[0][2][:3] == pytest.approx([1.0, 2.0, 3.0])


def test_a_late_robot_takes_part_until_a_reset():
    world = World(text(""))
    newcomer = Node("Robot", {"name": "late", "children": [Node("GPS")]})
    world.file.nodes.append(newcomer)
    world.inserted(newcomer)
    port = world.port("late")
    assert port.exchange(32, [(1, "period", (32,))]).samples
    world.reset()
    assert port.exchange(32, ()).delay == -1


def test_a_removed_device_has_no_more_samples():
    world = World(text("GPS { } Gyro { }"))
    port = world.port()
    port.exchange(32, [(1, "period", (32,)), (2, "period", (32,))])
    robot = world.robots["rob"].node
    gone, stays = robot.nodes("children")
    robot.set("children", [stays])
    world.removed(gone)
    world.changed(world.file.world_info, "gravity")
    assert [tag for tag, _, _ in port.exchange(32, ()).samples] == [2]
    world.reset()
    assert [tag for tag, _, _ in port.exchange(32, ()).samples] == [2]
    assert port.exchange(32, [(1, "period", (32,))]).samples[0][0] == 1


def test_a_removed_robot_has_no_more_steps():
    world = World(TWO)
    node = world.robots["two"].node
    world.file.nodes.remove(node)
    world.removed(node)
    assert world.port("two").exchange(32, ()).delay == -1
    assert world.port("one").exchange(32, ()).delay == 0


# -- observers, messages, options ----------------------------------------------------------------


def test_an_observer_sees_every_refresh_until_it_stops():
    world = World(text("GPS { } Gyro { }"))
    seen = []
    observation = world.observe(lambda r, d, step, v: seen.append((r.name, d.kind, step, len(v))))
    enable_all(world, 64)
    world.advance_to(5)
    assert seen == [
        ("rob", kind, step, width) for step in (2, 4) for kind, width in (("GPS", 7), ("Gyro", 3))
    ]
    observation.stop()
    observation.stop()
    world.advance_to(9)
    assert len(seen) == 4


def test_what_is_wrong_with_the_file_is_said_once_on_stderr(capsys):
    table = "Gyro { lookupTable [ 1 1 0, 0 0 0 ] resolution 0 }"
    world = World(text(table))
    lines = capsys.readouterr().err.splitlines()
    assert lines == world.messages
    assert sum("lookup table must be sorted" in line for line in lines) == 1
    assert all(line.startswith('WARNING: Gyro "gyro": ') for line in lines)
    assert any("Invalid 'resolution' changed to -1." in line for line in lines)
    world.reset()
    assert capsys.readouterr().err == ""


def test_an_accelerometer_without_physics_warns_once(capsys):
    world = World(f"{HEADER}Robot {{ children [ Accelerometer {{ }} ] }}", profile="R2025a")
    values = [row[3] for row in run(world, 3)]
    assert np.isnan(values).all()
    world.changed(world.file.world_info, "gravity")
    world.advance_to(5)
    said = "Parent of Accelerometer node has no physics: measurements may be wrong."
    assert capsys.readouterr().err == f'WARNING: Accelerometer "accelerometer": {said}\n'


def test_a_world_file_that_was_read_stays_as_it_is():
    file = read_world(text(NOISY))
    before = file.to_text()
    world = World(file)
    world.robots["rob"].node.set("translation", (1.0, 1.0, 1.0))
    assert file.to_text() == before


def test_wrong_options_are_refused():
    with pytest.raises(UnknownNameError, match=r"R2025a.*documented"):
        World(text(""), profile="R2019a")
    with pytest.raises(ValueRangeError, match="duration"):
        World(text(""), duration_s=-1.0)
    with pytest.raises(UnknownNameError, match="kinematic"):
        World(text(""), dynamics="kinematics")


FALLING = f"""{HEADER}WorldInfo {{ basicTimeStep 8 }}
Robot {{ name "rob" boundingObject Sphere {{ }} physics Physics {{ }}
  children [ GPS {{ }} Accelerometer {{ }} ] }}"""


def test_a_body_with_physics_falls_unless_it_is_moved_or_kinematics_is_asked_for():
    def drop(**options):
        return run(World(FALLING, **options), 8)[-2][3][2]

    assert drop() == pytest.approx(-0.5 * 9.81 * 0.064**2, rel=0.05)
    assert drop(dynamics="physics") == drop()
    assert drop(dynamics="kinematic") == 0.0
    assert drop(motion=circling) == 0.0
    with pytest.raises(DeviceError, match="choose kinematic dynamics"):
        World(FALLING, dynamics="physics", motion=circling)

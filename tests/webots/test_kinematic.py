"""Worlds without forces against kinematic trees, differences and hand calculation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.motion.tree import Hinge, KinematicTree, Link, Slider, hinge2
from strapdown.webots.file.world_file import read_world
from strapdown.webots.scene.drivers import Driver
from strapdown.webots.scene.kinematic import KinematicScene
from strapdown.webots.scene.scene import BodyStates
from strapdown.webots.world.world import World

STEP_S = 0.032
VECTORS = BodyStates._fields[1:]


class Rig:
    """World from text, with its nodes by name."""

    def __init__(self, text, *, step_s=STEP_S, system="ENU", drive=(), **options):
        head = f'#VRML_SIM R2025a utf8\nWorldInfo {{ coordinateSystem "{system}" }}\n'
        self.world = read_world(head + text)
        self.nodes = {
            str(node.fields["name"]): node for node in self.world.walk() if "name" in node.fields
        }
        self.said = []
        self.scene = KinematicScene(
            self.world,
            step_s=step_s,
            motions={self.nodes[name]: driver for name, driver in dict(drive).items()},
            warn=lambda node, text: self.said.append((node.text("name"), text)),
            **options,
        )

    def run(self, motor, velocity):
        self.scene.command(self.nodes[motor], "position", (math.inf,))
        self.scene.command(self.nodes[motor], "velocity", (velocity,))

    def aim(self, motor, position):
        self.scene.command(self.nodes[motor], "position", (position,))

    def watch(self, *names):
        for name in names:
            self.scene.watch(self.nodes[name])

    def ahead(self, count, name):
        return self.scene.ahead(count).states(self.nodes[name])

    def present(self, name):
        return self.scene.present(self.nodes[name])

    def position(self, name):
        return self.scene.position(self.nodes[name])


def hinge(name, end, *, parameters="axis 0 0 1", motor=""):
    """Return a hinge with a motor and a position sensor."""
    return f"""HingeJoint {{
        jointParameters HingeJointParameters {{ {parameters} }}
        device [
            RotationalMotor {{ name "{name}" {motor} }}
            PositionSensor {{ name "{name} position" }}
        ]
        endPoint {end}
    }}"""


def robot(*children):
    """Return a robot with these children."""
    return 'Robot { name "robot" children [ ' + " ".join(children) + " ] }"


ARM = 'Solid { name "arm" translation 0.5 0 0 }'
SENSOR_Q = (0.0, 0.6, 0.0, 0.8)
SENSOR = (
    'Accelerometer { name "sensor" translation 0.3 0 0.1'
    f" rotation 0 1 0 {2.0 * math.atan2(0.6, 0.8)!r} }}"
)


def steady(position, velocity):
    """Return the law of a joint with a constant velocity."""
    return lambda t_s: (position + velocity * t_s, velocity, 0.0)


def assert_states_agree(states, motion, t_s, *, atol=1e-12):
    """Compare states with a motion of the library in the same axes."""
    known = motion.at(t_s)
    rotation = Rotation.from_quat(known.q_world_from_body)
    np.testing.assert_allclose(states.R_world_from_body, rotation.as_matrix(), atol=atol)
    expected = BodyStates(
        states.R_world_from_body,
        known.position_world,
        known.velocity_world,
        rotation.apply(known.angular_velocity),
        known.acceleration_world,
        rotation.apply(known.angular_acceleration),
    )
    for field in VECTORS:
        got, wanted = getattr(states, field), getattr(expected, field)
        np.testing.assert_allclose(got, wanted, atol=atol, rtol=1e-12, err_msg=field)


def pose(position, q):
    """Return the fields of a pose."""
    turn = Rotation.from_quat(q).as_rotvec()
    angle = float(np.linalg.norm(turn))
    x, y, z = map(repr, map(float, position))
    u, v, w = map(repr, (turn / angle).tolist())
    return f"translation {x} {y} {z} rotation {u} {v} {w} {angle!r}"


ANCHOR = (0.1, -0.2, 0.3)

JOINTS = {
    "hinge": """HingeJoint {
        jointParameters HingeJointParameters { axis 1 2 -2 anchor 0.1 -0.2 0.3 position 0.4 }
        device RotationalMotor { name "m1" }
        endPoint %s
    }""",
    "slider": """SliderJoint {
        jointParameters JointParameters { axis 1 2 -2 position 0.4 }
        device LinearMotor { name "m1" }
        endPoint %s
    }""",
    "double hinge": """Hinge2Joint {
        jointParameters HingeJointParameters { axis 0 1 1 anchor 0.1 -0.2 0.3 position 0.4 }
        jointParameters2 JointParameters { axis 1 0 0.5 position -1.1 }
        device RotationalMotor { name "m1" }
        device2 RotationalMotor { name "m2" }
        endPoint %s
    }""",
    "ball": """BallJoint {
        jointParameters BallJointParameters { anchor 0.1 -0.2 0.3 position 0.4 }
        jointParameters2 JointParameters { axis 0 1 0 position -0.3 }
        jointParameters3 JointParameters { axis 0 0 1 position 0.2 }
        device RotationalMotor { name "m1" }
        device2 RotationalMotor { name "m2" }
        device3 RotationalMotor { name "m3" }
        endPoint %s
    }""",
}
"""Texts of joints, as templates for an end point."""

TREES = {
    "hinge": lambda law: [Hinge((1, 2, -2), law, ANCHOR)],
    "slider": lambda law: [Slider((1, 2, -2), law)],
    "double hinge": lambda *laws: hinge2(((0, 1, 1), (1, 0, 0.5)), laws, anchor=ANCHOR),
    "ball": lambda *laws: [
        Hinge(axis, law, ANCHOR)
        for axis, law in zip(((0, 1, 0), (-1, 0, 0), (0, 0, 1)), laws, strict=True)
    ],
}
"""The same joints in a kinematic tree, by the laws of their axes."""

POSITIONS = {"hinge": [0.4], "slider": [0.4], "double hinge": [0.4, -1.1], "ball": [0.4, -0.3, 0.2]}


@pytest.mark.parametrize("kind", JOINTS)
def test_every_joint_moves_as_in_a_kinematic_tree(kind):
    positions, joints = POSITIONS[kind], TREES[kind]
    velocities = [1.5, -2.5, 0.5][: len(positions)]
    base = {"position": (1.0, 2.0, 3.0), "q_parent_from_link": (0.5, -0.5, 0.5, 0.5)}
    seat = {"position": (0.2, 0.1, -0.4), "q_parent_from_link": (0.1, 0.7, 0.5, 0.5)}
    sensor = {"position": (0.3, 0.0, 0.1), "q_parent_from_link": SENSOR_Q}

    # The pose of the end point in the file belongs to the joint positions in the file.
    rest = Link("end", joints(*(steady(position, 0.0) for position in positions)))
    placed = KinematicTree([rest, Link("seat", parent="end", **seat)]).motion("seat").at([0.0])
    in_file = pose(placed.position_world[0], placed.q_world_from_body[0])
    body = f'Solid {{ name "body" {in_file} children [ {SENSOR} ] }}'
    table = hinge("turn", f'Solid {{ name "table" children [ {JOINTS[kind] % body} ] }}')
    rig = Rig(robot(f"Pose {{ {pose(*base.values())} children [ {table} ] }}"))
    rig.watch("body", "sensor")
    rig.run("turn", 0.8)
    for number, velocity in enumerate(velocities, 1):
        rig.run(f"m{number}", velocity)

    laws = [steady(*law) for law in zip(positions, velocities, strict=True)]
    tree = KinematicTree(
        [
            Link("base", **base),
            Link("table", [Hinge((0, 0, 1), steady(0.0, 0.8))], parent="base"),
            Link("end", joints(*laws), parent="table"),
            Link("body", parent="end", **seat),
            Link("sensor", parent="body", **sensor),
        ]
    )
    horizon = rig.scene.ahead(40)
    for name in ("body", "sensor"):
        later = BodyStates(*(array[1:] for array in horizon.states(rig.nodes[name])))
        assert_states_agree(later, tree.motion(name), np.arange(2, 41) * STEP_S)


def test_the_end_point_begins_where_the_file_has_it_whatever_the_position():
    arm = 'Solid { name "arm" translation 0 0.5 0 rotation 0 0 1 1.57 }'
    rig = Rig(robot(hinge("motor", arm, parameters="axis 0 0 1 anchor 0.1 0 0 position 1.57")))
    states = rig.present("arm")
    np.testing.assert_array_equal(states.position, [[0.0, 0.5, 0.0]])
    expected = Rotation.from_rotvec([0, 0, 1.57]).as_matrix()
    np.testing.assert_allclose(states.R_world_from_body[0], expected, atol=1e-15)
    assert rig.position("motor") == rig.position("motor position") == 1.57


def test_a_steady_joint_has_exact_accelerations_but_none_where_its_velocity_jumps():
    rig = Rig(robot(hinge("motor", ARM)))
    rig.run("motor", 2.0)
    states = rig.ahead(10, "arm")
    assert np.isnan(states.acceleration[0]).all()
    np.testing.assert_allclose(np.linalg.norm(states.acceleration[1:], axis=1), 2.0, rtol=1e-14)
    np.testing.assert_array_equal(states.angular_acceleration[1:], 0.0)
    np.testing.assert_allclose(states.angular_velocity, np.tile([0, 0, 2.0], (10, 1)))
    rig.scene.commit(10)
    again = rig.ahead(1, "arm")
    np.testing.assert_allclose(np.linalg.norm(again.acceleration), 2.0)
    rig.scene.commit(1)
    rig.run("motor", 3.0)
    states = rig.ahead(2, "arm")
    assert np.isnan(states.acceleration[0]).all()
    np.testing.assert_allclose(np.linalg.norm(states.acceleration[1]), 0.5 * 9.0)


def test_an_unknown_acceleration_stays_behind_its_joint():
    rig = Rig(robot(hinge("motor", ARM), 'Gyro { name "base" }'))
    rig.watch("arm", "base")
    rig.run("motor", 2.0)
    horizon = rig.scene.ahead(1)
    assert np.isnan(horizon.states(rig.nodes["arm"]).acceleration).all()
    np.testing.assert_array_equal(horizon.states(rig.nodes["base"]).acceleration, 0.0)


def test_a_limited_acceleration_is_known_exactly():
    rig = Rig(robot(hinge("motor", ARM, motor="acceleration 4")))
    rig.run("motor", 1.0)
    states = rig.ahead(20, "arm")
    t_s = STEP_S * np.arange(1, 21)
    spin = np.where(t_s < 0.25, 4.0 * t_s, 1.0)
    np.testing.assert_allclose(states.angular_velocity[:, 2], spin, rtol=1e-13)
    ramp = t_s < 0.25
    np.testing.assert_allclose(states.angular_acceleration[ramp, 2], 4.0, rtol=1e-12)
    np.testing.assert_array_equal(states.angular_acceleration[9:], 0.0)
    angle = np.where(ramp, 2.0 * t_s**2, np.nan)[ramp]
    np.testing.assert_allclose(states.position[ramp, 1], 0.5 * np.sin(angle), rtol=1e-12)
    centripetal = -np.einsum("ij,ij->i", states.acceleration, states.position) / 0.5
    np.testing.assert_allclose(centripetal, 0.5 * spin**2, rtol=1e-12)


def test_velocities_and_accelerations_are_the_derivatives_of_the_poses():
    lower = hinge(
        "b",
        f'Solid {{ name "lower" translation 0.2 0 0 children [ {SENSOR} ] }}',
        parameters="axis 1 1 0",
        motor="acceleration 30",
    )
    upper = f'Solid {{ name "upper" translation 0 0 0.4 children [ {lower} ] }}'
    parameters = "axis 0 0 1 anchor 0 0.1 0"
    rig = Rig(robot(hinge("a", upper, parameters=parameters, motor="acceleration 20")), step_s=1e-3)
    rig.run("a", 4.0)
    rig.run("b", -3.0)
    states = rig.ahead(60, "sensor")  # both are still accelerating
    for value, rate in (
        ("position", "velocity"),
        ("velocity", "acceleration"),
        ("angular_velocity", "angular_acceleration"),
    ):
        series = getattr(states, value)
        slope = (series[2:] - series[:-2]) / 2e-3
        known = getattr(states, rate)[1:-1]
        np.testing.assert_allclose(slope, known, atol=3e-4, err_msg=rate)
    turned = Rotation.from_matrix(states.R_world_from_body)
    spin = (turned[2:] * turned[:-2].inv()).as_rotvec() / 2e-3
    np.testing.assert_allclose(spin, states.angular_velocity[1:-1], atol=3e-5)


def test_steps_ahead_are_bit_for_bit_those_one_by_one():
    limited = "acceleration 3 minPosition -1 maxPosition 1"
    lower = f'Solid {{ name "lower" translation 0.1 0 0 children [ {SENSOR} ] }}'
    second = hinge("b", lower, parameters="axis 0 1 0", motor=limited)
    upper = f'Solid {{ name "upper" translation 0.1 0 0.2 children [ {second} ] }}'
    slider = (
        'SliderJoint { device LinearMotor { name "c" maxVelocity 0.3 }'
        ' endPoint Solid { name "box" } }'
    )
    text = robot(hinge("a", upper, parameters="axis 0 0 1 anchor 0 0.1 0"), slider)
    names = ("sensor", "box", "upper")

    def play(block):
        random = np.random.default_rng(7)
        rig = Rig(text)
        rig.watch(*names)
        rows = [[] for _ in range(len(names) * len(BodyStates._fields) + 1)]
        for _ in range(60):
            motor = rig.nodes["abc"[random.integers(3)]]
            command = ("position", "velocity")[random.integers(2)]
            value = math.inf if random.random() < 0.3 else float(random.normal())
            if command == "position" or math.isfinite(value):
                rig.scene.command(motor, command, (value,))
            todo = int(random.integers(1, 40))
            while todo:
                count = min(block, todo)
                horizon = rig.scene.ahead(block)
                arrays = [array for name in names for array in horizon.states(rig.nodes[name])]
                arrays.append(horizon.positions(rig.nodes["b"]))
                for row, array in zip(rows, arrays, strict=True):
                    row.append(array[:count])
                rig.scene.commit(count)
                todo -= count
        return [np.concatenate(row) for row in rows]

    for one_by_one, in_blocks in zip(play(1), play(64), strict=True):
        assert one_by_one.tobytes() == in_blocks.tobytes()


C2 = """
Robot { children [ HingeJoint {
    jointParameters HingeJointParameters { axis 0 1 0 }
    device RotationalMotor { name "motor" }
    endPoint Solid {
        name "rotor" physics Physics { }
        boundingObject Pose {
            translation 0 0.063 0 rotation 1 0 0 -1.5707963267948966
            children [ Cylinder { radius 0.04 height 0.005 } Cylinder { radius 0.03 height 0.008 } ]
        }
        children [
            Accelerometer { name "center" }
            Accelerometer { name "tX" translation 0.1 0 0 }
            Accelerometer { name "tY" translation 0 0.1 0 }
            Accelerometer { name "tZ" translation 0 0 0.1 }
            Solid {
                name "disc" translation 0.1 0.05 0 physics Physics { }
                boundingObject Pose {
                    rotation 1 0 0 -1.5707963267948966
                    children Cylinder { radius 0.1 height 0.01 }
                }
                children [
                    Accelerometer { name "center offset" }
                    Accelerometer { name "tX offset" translation 0.1 0 0 }
                    Accelerometer { name "tY offset" translation 0 0.1 0 }
                    Accelerometer { name "tZ offset" translation 0 0 0.1 }
                ]
            }
        ]
    }
} ] }
"""

# sensor, the original suite's expectation within 0.1, and the two models within 1e-3
C2_CASES = [
    ("center", (0, 9.8, 0), (0, 9.81, 0), (0.0086, 9.81, -0.0856)),
    ("tX", (-1, 9.8, -0.1), (-0.9853, 9.81, -0.0496), (-0.9767, 9.81, -0.1352)),
    ("tY", (0, 9.8, 0), (0, 9.81, 0), (0.0086, 9.81, -0.0856)),
    ("tZ", (0, 9.8, -1), (0.0496, 9.81, -0.9853), (0.0582, 9.81, -1.0709)),
    ("center offset", (-1, 9.8, -0.1), (-0.9853, 9.81, -0.0496), (-0.9767, 9.81, -0.1352)),
    ("tX offset", (-2, 9.8, -0.2), (-1.9706, 9.81, -0.0991), (-1.9620, 9.81, -0.1848)),
    ("tY offset", (-1, 9.8, -0.1), (-0.9853, 9.81, -0.0496), (-0.9767, 9.81, -0.1352)),
    ("tZ offset", (-1, 9.8, -1.1), (-0.9357, 9.81, -1.0349), (-0.9271, 9.81, -1.1205)),
]

C2_LEVERS = [(0, 0), (0.1, 0), (0, 0), (0, 0.1), (0.1, 0), (0.2, 0), (0.1, 0), (0.1, 0.1)]
"""Positions x and z of the sensors on the rotor."""


@pytest.mark.parametrize(("model", "passes"), [("exact", 7), ("ode", 8)])
def test_a_rotor_gives_velocity_differences_of_either_model(model, passes):
    rig = Rig(C2, system="NUE", velocity_model=model)
    rig.watch(*(name for name, *_ in C2_CASES))
    rig.run("motor", 3.1415927)
    horizon = rig.scene.ahead(5)
    passed = 0
    for name, suite, *columns in C2_CASES:
        states = horizon.states(rig.nodes[name])
        change = (states.velocity[4] - states.velocity[3]) / STEP_S
        force = states.R_world_from_body[4].T @ (change + np.array([0.0, 9.81, 0.0]))
        np.testing.assert_allclose(force, columns[model == "ode"], atol=1e-3, err_msg=name)
        passed += np.max(np.abs(force - suite)) <= 0.1
        if model == "exact":
            states = BodyStates(*(array[4] for array in states))
            exact = states.R_world_from_body.T @ states.acceleration
            lever = np.round(states.R_world_from_body.T @ states.position, 9)
            np.testing.assert_allclose(exact, -(3.1415927**2) * lever * [1, 0, 1], atol=1e-12)
        else:
            assert np.isnan(states.acceleration).all()
    assert passed == passes


LOOKUP = "lookupTable [ -1000 -1000 0, 1000 1000 0 ]"


@pytest.mark.parametrize("profile", ["R2025a", "R2021a"])
@pytest.mark.parametrize(("model", "passes"), [("exact", 7), ("ode", 8)])
def test_accelerometers_on_a_rotor_read_as_in_the_suite_of_webots(profile, model, passes):
    text = C2.replace('"center" }', f'"center" {LOOKUP} }}')
    world = World(
        f'#VRML_SIM R2025a utf8\nWorldInfo {{ coordinateSystem "NUE" }}\n{text}',
        profile=profile,
        dynamics="kinematic",
        velocity_model=model,
    )
    port = world.port()
    devices = {device.name: device for device in port.configure().devices}
    table = devices["center"].parameters["lookup_table"]
    assert (len(table), table[3], table[5]) == (6, 1000.0, 0.0)
    motor = devices.pop("motor").tag
    requests = [(device.tag, "period", (32,)) for device in devices.values()]
    run = [(motor, "position", (math.inf,)), (motor, "velocity", (3.1415927,))]
    answer = port.exchange(5 * 32, [*requests, *run])
    values = {tag: value for tag, _, value in answer.samples}
    passed = 0
    for name, suite, *columns in C2_CASES:
        force = values[devices[name].tag]
        np.testing.assert_allclose(force, columns[model == "ode"], atol=1e-3, err_msg=name)
        passed += np.max(np.abs(np.subtract(force, suite))) <= 0.1
    assert passed == passes


def test_documented_accelerometers_on_a_rotor_read_pure_centripetal_acceleration():
    world = World(
        f'#VRML_SIM R2025a utf8\nWorldInfo {{ coordinateSystem "NUE" }}\n{C2}',
        dynamics="kinematic",
    )
    port = world.port()
    motor, *sensors = (device.tag for device in port.configure().devices)
    requests = [(tag, "period", (32,)) for tag in sensors]
    run = [(motor, "position", (math.inf,)), (motor, "velocity", (3.1415927,))]
    answer = port.exchange(5 * 32, [*requests, *run])
    values = [value for _, _, value in answer.samples]
    for (x, z), force in zip(C2_LEVERS, values, strict=True):
        wanted = [-(3.1415927**2) * x, 9.81, -(3.1415927**2) * z]
        np.testing.assert_allclose(force, wanted, atol=1e-12)


@pytest.mark.parametrize("profile", ["documented", "R2025a", "R2021a"])
def test_a_gyro_on_a_rotor_reads_as_in_the_suite_of_webots(profile):
    rotor = f'Solid {{ physics Physics {{ }} children [ Gyro {{ name "gyro" {LOOKUP} }} ] }}'
    joint = hinge("motor", rotor, parameters="axis 0 1 0")
    world = World(
        '#VRML_SIM R2025a utf8\nWorldInfo { coordinateSystem "NUE" }\n'
        f"Robot {{ rotation 0 1 0 1.5708 children [ {joint} ] }}",
        profile=profile,
        dynamics="kinematic",
    )
    port = world.port()
    devices = {device.name: device for device in port.configure().devices}
    table = devices["gyro"].parameters["lookup_table"]
    assert (len(table), table[3], table[5]) == (6, 1000.0, 0.0)
    motor, gyro = devices["motor"].tag, devices["gyro"].tag
    requests = [(gyro, "period", (32,)), (motor, "position", (math.inf,))]
    answer = port.exchange(40 * 32, [*requests, (motor, "velocity", (10.0,))])
    np.testing.assert_allclose(answer.samples[0][2], [0, 10, 0], atol=1e-4)


def test_bodies_without_physics_have_exact_velocities_in_either_model():
    for model in ("exact", "ode"):
        rig = Rig(robot(hinge("motor", ARM)), velocity_model=model)
        rig.run("motor", 2.0)
        states = rig.ahead(3, "arm")
        swing = np.cross([0, 0, 2.0], states.position)
        np.testing.assert_allclose(states.velocity, swing, atol=1e-15)
        assert np.isfinite(states.acceleration[1:]).all()


def test_a_position_loop_brings_a_joint_to_its_target_and_stays_there():
    rig = Rig(robot(hinge("motor", ARM, motor="maxVelocity 3")))
    rig.aim("motor", 0.8)
    track = rig.scene.ahead(300).positions(rig.nodes["motor position"])
    np.testing.assert_allclose(track[:5], 3.0 * STEP_S * np.arange(1, 6), rtol=1e-13)
    error = 0.8 - track
    near = np.flatnonzero(error < 0.3)[:-1][:20]
    np.testing.assert_allclose(error[near + 1] / error[near], 1.0 - 10.0 * STEP_S, rtol=1e-7)
    assert error[-1] == pytest.approx(0.0, abs=1e-8)
    rig.scene.commit(300)
    states = rig.ahead(1, "arm")
    np.testing.assert_array_equal(states.velocity, 0.0)
    np.testing.assert_array_equal(states.acceleration, 0.0)


def test_a_gyro_on_a_joint_reads_its_velocity():
    rotor = 'Solid { name "rotor" children [ Gyro { name "gyro" } ] }'
    joint = hinge("motor", rotor, parameters="axis 0 1 0")
    rig = Rig(f"Robot {{ rotation 0 1 0 1.5708 children [ {joint} ] }}", system="NUE")
    rig.run("motor", 10.0)
    states = rig.ahead(40, "gyro")
    spin = states.R_world_from_body[-1].T @ states.angular_velocity[-1]
    np.testing.assert_allclose(spin, [0, 10, 0], atol=1e-12)


def test_forces_move_nothing_and_are_mentioned_once():
    rig = Rig(robot(hinge("motor", ARM)))
    for torque in (1.0, 2.0):
        rig.scene.command(rig.nodes["motor"], "torque", (torque,))
    np.testing.assert_array_equal(rig.ahead(5, "arm").velocity, 0.0)
    assert rig.said == [("motor", "a force or torque moves nothing without physics")]
    rig.scene.command(rig.nodes["motor"], "velocity", (20.0,))
    assert rig.said[1] == (
        "motor",
        "The requested velocity 20 exceeds 'maxVelocity' = 10.",
    )


def test_coupled_motors_move_together_each_by_its_multiplier():
    rig = Rig(
        robot(
            hinge("grip::left", 'Solid { name "left" }'),
            hinge("grip::right", 'Solid { name "right" }', motor="multiplier -1"),
        )
    )
    rig.run("grip::right", 2.0)
    rig.scene.ahead(10)
    rig.scene.commit(10)
    assert rig.position("grip::left") == pytest.approx(0.64)
    assert rig.position("grip::right") == pytest.approx(-0.64)


def test_passive_joints_and_velocity_fields_move_nothing():
    rig = Rig(
        robot(
            "HingeJoint { jointParameters HingeJointParameters { axis 0 0 1 position 0.3 }"
            ' device PositionSensor { name "sensor" } endPoint Solid { name "arm" } }'
        )
        + ' Solid { name "free" linearVelocity 1 2 3 angularVelocity 0 0 1 translation 4 5 6 }'
    )
    rig.watch("arm", "free")
    horizon = rig.scene.ahead(3)
    assert horizon.positions(rig.nodes["sensor"]).tolist() == [0.3] * 3
    for name, place in (("arm", [0, 0, 0]), ("free", [4, 5, 6])):
        states = horizon.states(rig.nodes[name])
        np.testing.assert_array_equal(states.position, [place] * 3)
        np.testing.assert_array_equal(states.R_world_from_body, [np.eye(3)] * 3)
        for field in VECTORS[1:]:
            np.testing.assert_array_equal(getattr(states, field), 0.0)


def test_a_motor_without_a_joint_turns_by_itself_and_a_lone_sensor_knows_nothing():
    rig = Rig(
        robot(
            'Propeller { device RotationalMotor { name "rotor" maxVelocity 100 } }',
            'PositionSensor { name "lone" }',
        )
    )
    rig.run("rotor", 50.0)
    horizon = rig.scene.ahead(2)
    np.testing.assert_allclose(horizon.positions(rig.nodes["rotor"]), [1.6, 3.2])
    assert np.isnan(horizon.positions(rig.nodes["lone"])).all()
    assert math.isnan(rig.position("lone"))


def test_a_transform_scales_what_is_below_it():
    rig = Rig(
        "Transform { translation 1 0 0 scale 2 2 2 children [ "
        + robot(
            hinge("motor", ARM, parameters="axis 0 0 1 anchor 0.25 0 0"),
            "SliderJoint { jointParameters JointParameters { axis 1 0 0 }"
            ' device LinearMotor { name "push" } endPoint Solid { name "box" } }',
        )
        + " ] }"
    )
    rig.watch("arm", "box")
    rig.run("motor", 1.0)
    rig.run("push", 1.0)
    horizon = rig.scene.ahead(10)
    turned = 0.32
    arm, box = (horizon.states(rig.nodes[name]) for name in ("arm", "box"))
    place = [1.5 + 0.5 * math.cos(turned), 0.5 * math.sin(turned), 0.0]
    np.testing.assert_allclose(arm.position[-1], place)
    np.testing.assert_allclose(box.position[-1], [1.64, 0.0, 0.0])
    np.testing.assert_allclose(box.velocity[-1], [2.0, 0.0, 0.0])
    np.testing.assert_allclose(np.linalg.det(arm.R_world_from_body), 1.0)


def test_a_pose_that_is_set_belongs_to_the_present_position_of_the_joint():
    rig = Rig(robot(hinge("motor", ARM)))
    rig.watch("arm")
    rig.run("motor", 2.0)
    rig.scene.ahead(10)
    rig.scene.commit(10)
    rig.nodes["arm"].set("translation", (0.0, 0.25, 0.0))
    rig.nodes["arm"].set("rotation", (0.0, 0.0, 1.0, 0.0))
    rig.scene.place(rig.nodes["arm"])
    np.testing.assert_allclose(rig.present("arm").position, [[0.0, 0.25, 0.0]], atol=1e-16)
    np.testing.assert_allclose(rig.present("arm").velocity, [[-0.5, 0.0, 0.0]], atol=1e-15)
    later = rig.ahead(5, "arm").position[-1]
    np.testing.assert_allclose(later, [-0.25 * math.sin(0.32), 0.25 * math.cos(0.32), 0.0])
    rig.scene.commit(5)
    rig.nodes["robot"].set("translation", (0.0, 0.0, 1.0))
    rig.scene.place(rig.nodes["robot"])
    assert rig.present("arm").position[0, 2] == 1.0


def test_a_position_that_is_written_becomes_the_present_one_and_the_target():
    rig = Rig(robot(hinge("motor", ARM)))
    rig.run("motor", 2.0)
    rig.scene.ahead(10)
    rig.scene.commit(10)
    joint = rig.nodes["motor"].parent
    joint.node("jointParameters").set("position", -0.5)
    rig.scene.rebuild()
    assert rig.position("motor") == -0.5
    states = rig.ahead(3, "arm")
    np.testing.assert_allclose(states.position[:, 1], 0.5 * math.sin(-0.5))
    np.testing.assert_array_equal(states.velocity, 0.0)


def test_a_rebuilt_scene_goes_on_where_it_was_with_nodes_that_came_and_went():
    rig = Rig(robot(hinge("motor", ARM), 'Gyro { name "gyro" }'))
    rig.watch("arm", "gyro")
    rig.run("motor", 2.0)
    rig.scene.ahead(10)
    rig.scene.commit(10)
    base = rig.nodes["robot"]
    extra = Rig(robot(hinge("second", 'Solid { name "tip" translation 1 0 0 }'))).nodes["robot"]
    base.set("children", [base.nodes("children")[0], *extra.nodes("children")])
    rig.scene.rebuild()
    rig.nodes |= {node.text("name"): node for node in base.walk() if "name" in node.fields}
    rig.watch("tip")
    rig.run("second", 1.0)
    horizon = rig.scene.ahead(10)
    np.testing.assert_allclose(horizon.positions(rig.nodes["motor"])[-1], 2.0 * 20 * STEP_S)
    tip = horizon.states(rig.nodes["tip"])
    np.testing.assert_allclose(tip.position[-1, :2], [math.cos(0.32), math.sin(0.32)])
    np.testing.assert_allclose(tip.velocity[-1, :2], [-math.sin(0.32), math.cos(0.32)])


def circle(t_s):
    """Return the states of a body on a circle of 2 m at 0.5 rad/s, facing forward."""
    angle = 0.5 * np.asarray(t_s)
    ahead = np.stack([-np.sin(angle), np.cos(angle), 0.0 * angle], axis=-1)
    outward = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=-1)
    R = Rotation.from_rotvec(np.outer(angle + np.pi / 2, [0, 0, 1])).as_matrix()
    spin = np.tile([0, 0, 0.5], (len(angle), 1))
    return BodyStates(R, 2.0 * outward, ahead, spin, -0.5 * outward, 0.0 * spin)


def test_a_driven_robot_is_where_its_driver_says_and_carries_its_joints():
    driver = Driver(circle, 0.0, 100.0)
    text = (
        'Pose { translation 7 7 7 children [ Robot { name "robot" translation 1 2 3 children [ '
        + hinge("motor", ARM)
        + ' Gyro { name "gyro" translation 0 0 0.1 } ] } ] }'
    )
    rig = Rig(text, drive={"robot": driver})
    rig.watch("robot", "gyro", "arm")
    rig.run("motor", 2.0)
    horizon = rig.scene.ahead(20)
    t_s = np.arange(1, 21) * STEP_S
    expected = circle(t_s)
    for field in BodyStates._fields:
        got = getattr(horizon.states(rig.nodes["robot"]), field)
        np.testing.assert_allclose(got, getattr(expected, field), atol=1e-15, err_msg=field)
    gyro = horizon.states(rig.nodes["gyro"])
    np.testing.assert_allclose(gyro.position - expected.position, np.tile([0, 0, 0.1], (20, 1)))
    np.testing.assert_allclose(gyro.velocity, expected.velocity, atol=1e-15)
    tree = KinematicTree(
        [
            Link(
                "robot",
                [Hinge((0, 0, 1), steady(0.0, 0.5)), Slider((0, 1, 0), steady(-2.0, 0.0))],
                q_parent_from_link=(0, 0, math.sqrt(0.5), math.sqrt(0.5)),
            ),
            Link(
                "arm",
                [Hinge((0, 0, 1), steady(0.0, 2.0)), Slider((1, 0, 0), steady(0.5, 0.0))],
                parent="robot",
            ),
        ]
    )
    arm = BodyStates(*(array[1:] for array in horizon.states(rig.nodes["arm"])))
    assert_states_agree(arm, tree.motion("arm"), t_s[1:])
    rig.scene.commit(3)
    np.testing.assert_allclose(rig.present("robot").position[0], expected.position[2])


def test_a_horizon_knows_any_node_and_the_present_state_is_its_last():
    rig = Rig(robot(hinge("motor", ARM), 'Gyro { name "gyro" translation 1 1 1 }'))
    rig.watch("gyro")
    rig.run("motor", 2.0)
    horizon = rig.scene.ahead(4)
    arm = horizon.states(rig.nodes["arm"])
    assert arm.position.shape == (4, 3)
    np.testing.assert_array_equal(horizon.states(rig.nodes["gyro"]).position, 1.0)
    rig.scene.commit(4)
    for field in BodyStates._fields:
        np.testing.assert_array_equal(
            getattr(rig.present("arm"), field)[0], getattr(arm, field)[-1], err_msg=field
        )
    np.testing.assert_array_equal(rig.position("motor"), 4 * STEP_S * 2.0)


def test_a_scene_refuses_what_it_cannot_do():
    with pytest.raises(UnknownNameError, match="velocity model 'euler'"):
        Rig(robot(), velocity_model="euler")
    rig = Rig(robot())
    for count in (0, rig.scene.lookahead + 1):
        with pytest.raises(ValueRangeError, match=f"got {count}"):
            rig.scene.ahead(count)
    rig.scene.ahead(2)
    with pytest.raises(ValueRangeError, match="expected 3 states ahead"):
        rig.scene.commit(3)
    rig.scene.ahead(2)
    rig.scene.commit(0)
    with pytest.raises(ValueRangeError, match="call ahead"):
        rig.scene.commit(1)

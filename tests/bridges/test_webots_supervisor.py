"""Supervisors over the wire: what a controller with the library of Webots R2025a asks and reads."""

from __future__ import annotations

import math
import time
from struct import pack
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strapdown.webots.api.supervisor import Supervisor
from strapdown.webots.run.lockstep import Lockstep
from strapdown.webots.world.world import World

SCENE = """#VRML_SIM R2025a utf8
WorldInfo { coordinateSystem "NUE" basicTimeStep 32 title "a title" info [ "one" "two" ] }
DEF SUBJECT Robot {
  name "boss" supervisor TRUE controller "<extern>" translation 0 0.5 0 selfCollision TRUE
  children [
    InertialUnit { name "unit" noise 5e-06 }
    DEF NEEDLE Compass { name "compass" rotation 0 1 0 0.392699 }
    DEF J HingeJoint {
      jointParameters HingeJointParameters { axis 0 1 0 position 0.5 }
      device [ RotationalMotor { name "m" } PositionSensor { name "p" } ]
      endPoint DEF ARM Solid { translation 0 0 1 }
    }
  ]
}
DEF CRATE Solid {
  translation 1 0.1 0 rotation 0 1 0 1.5707963267948966 name "crate" physics Physics { mass 2 }
  recognitionColors [ 1 0.5 0, 0 0 1 ]
}
"""
TWO = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot { name "boss" supervisor TRUE controller "<extern>" }
DEF OTHER Robot { name "other" controller "<extern>" children [ Gyro { name "gyro" } ] }
"""
QUIT = (0, 2)
VALUES = ["", "B", "i", "d", "2d", "3d", "4d", "3d"]
STRING, NODE, MANY = 8, 9, 16


class Field(NamedTuple):
    """A field as the library keeps it."""

    node: int
    number: int
    kind: int


class Library:
    """The calls of a supervisor's program, in the bytes of ``src/controller/c/supervisor.c``.

    That of R2025a: 78 asks for PROTOs, and requests for fields carry the number of one. Set values
    wait for the next step, or for the next insertion or removal; all else is asked for at once.
    """

    def __init__(self, client):
        self.client = client
        first = client.begin()
        self.robot = first.data[0, 0]
        self.own = first.data.get((0, 0, "again"))
        self.nodes: dict[int, list[Any]] = {}
        self.counts: dict[tuple[int, str], int] = {}
        self.pending = b""
        self.records: list[tuple[int, int]] = []

    def ask(self, payload, ms=0, *records):
        answer = self.client.exchange(ms, *([(0, payload)] if payload else []), *records)
        self.records = answer.order
        data = answer.data
        if (0, 20) in data:
            number, name, count = data[0, 20]
            self.counts[number, name] = count
        return data

    def step(self, ms=32, *records):
        pending, self.pending = self.pending, b""
        return self.ask(pending, ms, *records)

    def now(self, payload):
        """Ask for something that also sends the values that were set."""
        pending, self.pending = self.pending, b""
        return self.ask(pending + payload)

    # nodes: number, or None
    def from_def(self, name, proto=-1):
        found = self.ask(pack("<B", 84) + text(name) + pack("<i", proto))[0, 84]
        return self._keep([*found, name]) if found[0] else None

    def from_id(self, number):
        found = self.ask(pack("<Bi", 83, number)).get((0, 83))
        return None if found is None else self._keep([*found[:5], *found[6:]])

    def from_tag(self, tag):
        found = self.ask(pack("<Bi", 85, tag)).get((0, 85))
        return None if found is None else self._keep([*found[:5], *found[6:]])

    def _keep(self, node):
        self.nodes[node[0]] = node[1:]
        return node[0]

    # fields
    def field(self, node, name):
        return self._field(node, pack("<BIi", 87, node, -1) + text(name) + b"\0")

    def field_at(self, node, index):
        return self._field(node, pack("<BIiIB", 64, node, -1, index, 0))

    def _field(self, node, request):
        number, kind, _, count, *_, name = self.ask(request)[0, 87]
        if number == -1:
            return None
        self.counts[node, name] = count
        return Field(node, number, kind)

    def get(self, field, index=None):
        node, number, kind = field
        place = b"" if index is None else pack("<I", index)
        (value,) = self.ask(pack("<BIiIB", 88, node, -1, number, 0) + place)[0, 88]
        if value == [0]:
            return None
        assert value[:4] == [kind, node, -1, number]
        if kind % MANY == NODE:
            return self._keep(value[4]) if value[4][0] else None
        return value[4]

    def set(self, field, *values, index=-1):
        node, number, kind = field
        self.pending += pack("<BIIIi", 62, node, number, kind, index) + self._value(kind, values)

    def insert(self, field, index, *values):
        node, number, kind = field
        return self.now(pack("<BIIi", 89, node, number, index) + self._value(kind, values))

    def remove_value(self, field, index=-1):
        return self.now(pack("<BIIi", 63, field.node, field.number, index))

    def _value(self, kind, values):
        if kind % MANY in {STRING, NODE}:
            return text(values[0])
        return pack("<" + VALUES[kind % MANY], *values)

    # what has one answer
    def number(self, command, node, *more):
        return self.ask(pack("<BI", command, node) + b"".join(more))[0, command]


def text(words):
    return words.encode() + b"\0"


class Ports:
    def __init__(self, world):
        self.world = world
        self.ports = {name: world.port(name) for name in world.robots}


@pytest.fixture
def serve_world(serve):
    def start(source=SCENE, *, alone=True, **options):
        world = World(source, **{"profile": "R2025a", "dynamics": "kinematic", **options})
        scheduler = None if alone else Lockstep(world, world.robots)
        return serve(world=Ports(world), scheduler=scheduler, address=("127.0.0.1", 0))

    return start


@pytest.fixture
def library(serve_world):
    return Library(serve_world().ipc(robot="boss"))


def eventually(happens):
    for _ in range(400):
        if happens():
            return
        time.sleep(0.005)


def period(ms):
    return pack("<BH", 1, ms)


# -- nodes and fields ----------------------------------------------------------------------------


def test_a_supervisor_learns_about_its_own_node(serve_world, transport):
    running = serve_world()
    client = running.ipc(robot="boss") if transport == "ipc" else running.tcp("boss")
    library = Library(client)
    number, *rest = library.own
    assert library.robot["supervisor"] == 1
    assert rest == [0, 0, 0, "Robot", "SUBJECT"]
    assert library.from_def("SUBJECT") == number


def test_another_robot_is_none_and_is_told_so(serve_world):
    client = serve_world(TWO).ipc(robot="other")
    assert client.begin().data[0, 0]["supervisor"] == 0


def test_nodes_come_with_type_tag_parent_and_name(library):
    own, crate = library.own[0], library.from_def("CRATE")
    assert library.nodes[crate] == [80, -1, 0, 0, "Solid", "CRATE"]  # WB_NODE_SOLID, below the root
    needle = library.from_tag(2)
    assert library.nodes[needle] == [39, 2, own, 0, "Compass", "NEEDLE"]
    assert library.from_def("SUBJECT.NEEDLE") == needle
    assert library.from_id(needle) == needle
    assert library.from_id(library.nodes[needle][2]) == own
    assert library.nodes[own] == [34, -1, 0, 0, "Robot", "SUBJECT"]


def test_what_does_not_exist_is_answered_as_the_library_needs_it(library):
    assert library.from_def("NOBODY") is None
    assert library.from_def("NOBODY", proto=library.own[0]) is None
    assert library.from_tag(99) is None
    assert library.from_id(99999) is None
    assert library.ask(bytes([86])) == {}  # nothing is selected
    assert library.field(library.own[0], "nothing") is None
    assert library.field_at(library.own[0], 999) is None
    assert library.field(99999, "name") is None
    assert library.ask(pack("<BIiIB", 88, 99999, -1, 0, 0))[0, 88] == [[0]]
    assert library.from_def("CRATE") is not None  # nothing was left over


def test_every_kind_of_field_is_read(library):
    own, crate = library.own[0], library.from_def("CRATE")
    world = library.get(library.field(0, "children"), 0)
    joint = library.get(library.field(library.from_def("J"), "jointParameters"))
    assert library.nodes[joint][4] == "HingeJointParameters"
    read = {
        "SFBool": (library.field(own, "selfCollision"), 1),
        "SFFloat": (library.field(joint, "position"), 0.5),
        "SFVec3f": (library.field(crate, "translation"), [1.0, 0.1, 0.0]),
        "SFRotation": (library.field(crate, "rotation"), [0.0, 1.0, 0.0, math.pi / 2]),
        "SFString": (library.field(world, "title"), "a title"),
    }
    kinds = {"SFBool": 1, "SFInt32": 2, "SFFloat": 3, "SFVec3f": 5, "SFRotation": 6, "SFString": 8}
    for name, (field, value) in read.items():
        assert field.kind == kinds[name]
        assert library.get(field) == value, name
    colors = library.field(crate, "recognitionColors")
    assert (colors.kind, library.counts[crate, "recognitionColors"]) == (MANY + 7, 2)
    assert library.get(colors, 1) == [0.0, 0.0, 1.0]
    info = library.field(world, "info")
    assert (info.kind, library.get(info, 0)) == (MANY + STRING, "one")
    assert library.get(info, 7) is None
    seed = library.field(world, "randomSeed")
    assert (seed.kind, library.get(seed)) == (2, 0)
    assert library.get(library.field(crate, "boundingObject")) is None
    assert library.counts[crate, "boundingObject"] == 0
    assert library.counts[crate, "physics"] == 1 if library.field(crate, "physics") else False


def test_fields_are_counted_and_found_by_number(library):
    crate = library.from_def("CRATE")
    (count,) = library.number(65, crate, b"\0")
    fields = [library.field_at(crate, index) for index in range(count)]
    assert None not in fields
    assert fields[library.field(crate, "translation").number] == library.field(crate, "translation")
    assert library.field_at(crate, count) is None


def test_a_value_that_is_set_counts_from_the_step_on(library):
    crate = library.from_def("CRATE")
    translation = library.field(crate, "translation")
    library.set(translation, 2.0, 3.0, 4.0)
    assert library.get(translation) == [1.0, 0.1, 0.0]  # the library has not sent it yet
    library.step()
    assert library.get(translation) == [2.0, 3.0, 4.0]
    assert library.number(90, crate) == [[2.0, 3.0, 4.0]]


def test_every_kind_of_value_is_set(library):
    own, crate = library.own[0], library.from_def("CRATE")
    world = library.get(library.field(0, "children"), 0)
    changes = [
        (library.field(own, "selfCollision"), (0,), None),
        (library.field(world, "randomSeed"), (7,), None),
        (library.field(world, "title"), ("ein Titel \u00fc",), None),
        (library.field(crate, "translation"), (5.0, 6.0, 7.0), None),
        (library.field(crate, "rotation"), (0.0, 0.0, 1.0, 0.5), None),
        (library.field(crate, "recognitionColors"), (0.25, 0.5, 0.75), 1),
        (library.field(world, "info"), ("drei",), 0),
    ]
    for field, values, index in changes:
        library.set(field, *values, index=-1 if index is None else index)
    library.step()
    for field, values, index in changes:
        value = library.get(field, index)
        assert value == (values[0] if len(values) == 1 else list(values))


# -- pose and motion -----------------------------------------------------------------------------


def test_poses_are_those_of_the_scene(library):
    arm, crate = library.from_def("ARM"), library.from_def("CRATE")
    assert library.number(90, arm)[0] == pytest.approx([0.0, 0.5, 1.0], abs=1e-12)
    turn = [0, 0, 1, 0, 1, 0, -1, 0, 0]
    assert library.number(91, crate)[0] == pytest.approx(turn, abs=1e-12)
    pose = library.ask(pack("<BII", 92, 0, crate))[0, 92]
    assert pose[:2] == [0, crate]
    assert pose[2] == pytest.approx([0, 0, 1, 1, 0, 1, 0, 0.1, -1, 0, 0, 0, 0, 0, 0, 1], abs=1e-12)
    own = library.own[0]
    relative = library.ask(pack("<BII", 92, crate, own))[0, 92]
    assert relative[:2] == [crate, own]
    assert [relative[2][3], relative[2][7], relative[2][11]] == pytest.approx([0, 0.4, -1])
    assert library.number(93, crate) == [[1.0, 0.1, 0.0]]
    without = library.number(90, library.from_def("J"))[0]
    assert all(map(math.isnan, without))


def test_a_velocity_moves_a_body(serve_world):
    pytest.importorskip("mujoco")
    floating = SCENE.replace("WorldInfo {", "WorldInfo { gravity 0")
    library = Library(serve_world(floating, dynamics="physics").ipc(robot="boss"))
    crate = library.from_def("CRATE")
    library.ask(pack("<BI6d", 66, crate, 0.5, 0, 0, 0, 0, 0))
    assert library.number(96, crate)[0] == pytest.approx([0.5, 0, 0, 0, 0, 0])
    for _ in range(10):
        library.step()
    assert library.number(90, crate)[0] == pytest.approx([1.16, 0.1, 0.0], abs=1e-9)
    library.ask(pack("<BI", 67, crate))
    assert library.number(96, crate)[0] == [0.0] * 6
    library.ask(pack("<BI6d", 66, crate, 0.5, 0, 0, 0, 0, 0))
    library.ask(bytes([57]))
    assert library.number(96, crate)[0] == [0.0] * 6


def test_a_joint_is_put_to_an_angle(library):
    joint = library.from_def("J")
    library.ask(pack("<BIdI", 76, joint, 1.25, 1))
    assert library.step(32, (4, period(32)))[4, 1] == pytest.approx(1.25, abs=1e-9)


def test_the_attitudes_of_webots_own_test_of_the_inertial_unit_are_read(library):
    """The program of ``tests/api/controllers/inertial_unit``: rotations that a supervisor sets."""
    rows = [
        ((0, 1, 0, 0), (0, 0, 0)),
        ((0, 1, 0, -1.5708), (0, 0, -1.5708)),
        ((0, 1, 0, 1.5708), (0, 0, 1.5708)),
        ((1, 0, 0, 1.5708), (1.5708, 0, 0)),
        ((1, 0, 0, -1.5708), (-1.5708, 0, 0)),
        ((0, 0, 1, 0.7854), (0, 0.7854, 0)),
        ((0, 0, 1, -0.7854), (0, -0.7854, 0)),
    ]
    rotation = library.field(library.own[0], "rotation")
    library.step(32, (1, period(32)))
    for turn, expected in rows:
        library.set(rotation, *turn)
        x, y, z, w = library.step()[1, 54]
        # inertial_unit.c, coordinate system NUE
        yaw = math.atan2(2 * y * w - 2 * x * z, 1 - 2 * y * y - 2 * z * z)
        roll = math.atan2(2 * x * w - 2 * y * z, 1 - 2 * x * x - 2 * z * z)
        pitch = math.asin(2 * x * y + 2 * z * w)
        assert (roll, pitch, yaw) == pytest.approx(expected, abs=1e-3)


def test_the_directions_of_webots_own_test_of_the_compass_are_read(library):
    """The program of ``tests/api/controllers/compass``: it changes the coordinate system."""
    library.set(library.field(library.own[0], "rotation"), 0.0, 1.0, 0.0, 0.916298)
    north = library.step(32, (2, period(32)))[2, 52]
    assert north == pytest.approx([0.258819, 0, 0.965926], abs=1e-4)
    world = library.get(library.field(0, "children"), 0)
    library.set(library.field(world, "coordinateSystem"), "EUN")
    changed = library.step()
    assert changed[1, 0] == [5e-06, "EUN"]  # the client has to know what angles it computes
    for _ in range(2):
        north = library.step()[2, 52]
    assert north == pytest.approx([-0.965926, 0, 0.258819], abs=1e-4)


def test_a_run_over_the_wire_is_that_in_process_to_the_bit(library):
    robot = Supervisor(World(SCENE, profile="R2025a", dynamics="kinematic"))
    unit = robot.getDevice("unit")
    unit.enable(32)
    crate, rotation = robot.getFromDef("CRATE"), robot.getSelf().getField("rotation")
    number, far = library.from_def("CRATE"), library.field(library.own[0], "rotation")
    there = []
    here = []
    for step in range(100):
        axis = (math.sin(step), math.cos(step), 0.3, 0.01 * step)
        library.set(far, *axis)
        rotation.setSFRotation(list(axis))
        data = library.step(32, *([(1, period(32))] if step == 0 else []))
        robot.step(32)
        there.append((data[1, 54], library.number(90, number)[0], library.get(far)))
        here.append((unit.getQuaternion(), crate.getPosition(), rotation.getSFRotation()))
    assert there == here


# -- changes of the tree -------------------------------------------------------------------------


def test_nodes_are_imported_counted_and_removed(library):
    children = library.field(0, "children")
    count = library.counts[0, "children"]
    library.insert(
        children, count, "DEF NEW Solid { translation 9 0 0 children [ DEF IN Pose { } ] }"
    )
    assert library.counts[0, "children"] == count + 1
    new = library.get(children, count)
    assert library.nodes[new][-2:] == ["Solid", "NEW"]
    assert library.number(90, new) == [[9.0, 0.0, 0.0]]
    inner = library.from_def("IN")
    library.ask(pack("<BI", 97, new))
    assert [command for _, command in library.records] == [97, 97, 20]
    assert library.counts[0, "children"] == count
    assert library.from_id(new) is None
    assert library.from_id(inner) is None


def test_a_node_is_put_into_a_field_of_one_and_taken_out(library):
    crate = library.from_def("CRATE")
    box = library.field(crate, "boundingObject")
    (number,) = library.insert(box, -1, "DEF SHAPE Box { size 1 2 3 }")[0, 89]
    assert library.from_def("SHAPE") == number
    assert library.counts[crate, "boundingObject"] == 1
    assert library.get(box) == number
    library.remove_value(box)
    assert library.counts[crate, "boundingObject"] == 0
    assert library.get(box) is None


def test_values_are_inserted_into_many_and_removed(library):
    world = library.get(library.field(0, "children"), 0)
    info = library.field(world, "info")
    library.set(info, "ONE", index=0)
    library.insert(info, 1, "between")
    assert [library.get(info, index) for index in range(3)] == ["ONE", "between", "two"]
    library.remove_value(info, 0)
    assert library.counts[world, "info"] == 2
    assert library.get(info, 0) == "between"
    colors = library.field(library.from_def("CRATE"), "recognitionColors")
    library.insert(colors, 0, 0.5, 0.5, 0.5)
    assert library.get(colors, 0) == [0.5, 0.5, 0.5]


def test_late_devices_are_told(serve_world):
    library = Library(serve_world(late_devices=True).ipc(robot="boss"))
    children = library.field(library.own[0], "children")
    at_end = library.counts[library.own[0], "children"]
    told = library.insert(children, at_end, 'Gyro { name "late" }')
    assert told[0, 15] == [(45, "late", "")]
    assert library.step(32, (5, period(32)))[5, 53] == pytest.approx([0, 0, 0], abs=1e-12)
    assert library.nodes[library.from_tag(5)][1] == 5


def test_a_supervisor_removes_another_robot(serve_world):
    running = serve_world(TWO, alone=False)
    boss, other = Library(running.ipc(robot="boss")), running.ipc(robot="other")
    other.begin()
    node = boss.from_def("OTHER")
    other.send(other.request(32))
    boss.ask(pack("<BI", 97, node))
    assert QUIT in other.receive().data
    other.goodbye()
    assert boss.step()[0, 4] == pytest.approx(0.032)


def test_a_node_tells_its_text_and_that_it_is_no_proto(library):
    (exported,) = library.number(77, library.from_def("CRATE"))
    assert exported.startswith("DEF CRATE Solid {")
    assert library.number(78, library.from_def("CRATE"), pack("<i", -1)) == [-1, 0, -1, ""]


def test_a_proto_has_the_fields_of_its_node(serve_world, tmp_path):
    (tmp_path / "Brick.proto").write_text(
        "#VRML_SIM R2025a utf8\nPROTO Brick [ field SFVec3f translation 0 0 0 ]\n"
        '{ Solid { translation IS translation name "brick" } }\n'
    )
    text_ = SCENE.replace(
        "DEF CRATE Solid {", "DEF BRICK Brick { translation 4 5 6 }\nDEF CRATE Solid {"
    )
    library = Library(serve_world(text_, proto_dirs=[tmp_path]).ipc(robot="boss"))
    brick = library.from_def("BRICK")
    assert library.nodes[brick] == [80, -1, 0, 1, "Brick", "BRICK"]
    number, is_derived, count, name = library.number(78, brick, pack("<i", -1))
    assert (number, is_derived, name) == (0, 0, "Brick")
    assert count == library.number(65, brick, b"\1")[0]
    asked = pack("<BIi", 87, brick, 0) + text("translation") + b"\0"
    index, kind, is_internal, size, actual, place, name = library.ask(asked)[0, 87]
    assert (kind, is_internal, size, actual, place, name) == (5, 1, -1, brick, index, "translation")
    assert library.get(library.field(brick, "translation")) == [4.0, 5.0, 6.0]
    assert library.number(78, brick, pack("<i", 0)) == [-1, 0, -1, ""]


# -- the simulation ------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [52, 55])
def test_a_reset_puts_everything_back(library, command):
    crate = library.from_def("CRATE")
    translation = library.field(crate, "translation")
    children = library.field(0, "children")
    count = library.counts[0, "children"]
    library.insert(children, 0, "DEF NEW Solid { }")
    new = library.from_def("NEW")
    library.set(translation, 2.0, 3.0, 4.0)
    library.step()
    told = library.ask(bytes([command]))
    assert (0, 55) not in told  # news of R2025b, which R2025a cannot read
    assert told[0, 4] == 0.0
    assert told[0, 97] == [new]
    assert library.counts[0, "children"] == count
    assert library.get(translation) == [1.0, 0.1, 0.0]
    assert library.step()[0, 4] == pytest.approx(0.032)


@pytest.mark.parametrize("steps", [0, 1])
def test_a_supervisor_ends_the_simulation(serve_world, steps):
    running = serve_world(alone=False)
    library = Library(running.ipc(robot="boss"))
    library.step()
    library.ask(pack("<Bi", 54, 5))
    for _ in range(steps):
        assert QUIT in library.step()
    library.client.goodbye()
    running.thread.join(5.0)
    assert not running.thread.is_alive()
    assert running.world.world.exit_status == 5


def test_what_is_not_simulated_is_reported_once_and_answered(serve_world):
    running = serve_world()
    library = Library(running.ipc(robot="boss"))
    own = library.own[0]
    label = pack("<BH3dI", 53, 0, 0.1, 0.1, 0.1, 0xFF) + text("hello") + text("Arial")
    force = pack("<BI3dB", 71, own, 1, 2, 3, 0)
    movie = pack("<BiiBBBB", 58, 640, 480, 0, 90, 1, 0) + text("a.mp4")
    for _ in range(2):
        assert library.ask(label + pack("<BB", 50, 90) + text("a.png")) == {}
        assert library.ask(pack("<B", 60) + text("a.html")) == {(0, 16): [0]}
        assert library.ask(bytes([61])) == {(0, 17): [0]}
        assert library.ask(movie + bytes([59]) + force) == {}
        assert library.ask(pack("<BI6dB", 72, own, *range(6), 1) + pack("<BI", 68, own)) == {}
        assert (
            library.ask(pack("<BI", 74, own) + text("a") + pack("<BI", 75, own) + text("a")) == {}
        )
        assert library.ask(pack("<B", 51) + text("other.wbt") + pack("<Bi", 56, 0)) == {}
        assert library.ask(pack("<BIIB", 69, own, own, 1) + pack("<BI", 70, own)) == {}
        assert library.number(94, own, b"\1") == [own, 1, 0]
        assert library.number(95, own) == [0]
        assert library.ask(bytes([98])) == {(0, 98): [0]}
        assert library.ask(bytes([99, 100])) == {}
        track = pack("<BIIBBi", 101, own, 0, 0, 1, 32) + pack("<BIIB", 102, 0, own, 0)
        assert library.ask(track + pack("<BIBBi", 103, own, 1, 1, 32)) == {}
    calls = [line.split("inert call: ")[1].split("(")[0] for line in running.log[1:]]
    assert calls == [
        "Supervisor.exportImage",
        "Supervisor.animationStartRecording",
        "Supervisor.movieStartRecording",
        "Node.addForce",
        "Node.addForceWithOffset",
        "Node.restartController",
        "Node.saveState",
        "Node.loadState",
        "Supervisor.worldLoad",
        "Supervisor.simulationSetMode",
        "Node.getContactPoints",
        "Node.getStaticBalance",
    ]


def test_what_is_refused_is_reported_and_changes_nothing(serve_world):
    running = serve_world()
    library = Library(running.ipc(robot="boss"))
    children = library.field(0, "children")
    library.insert(children, 0, "Solid {")
    library.set(library.field(library.from_def("CRATE"), "translation"), math.nan, 0.0, 0.0)
    library.step()
    library.ask(pack("<BI", 97, 12345))
    library.ask(bytes([79]))
    lines = running.log[1:]
    assert len(lines) == 4
    assert "expected finite numbers for 'translation'" in lines[1]
    assert "12345" in lines[2]
    assert lines[3] == "robot 'boss': skipped command 79 of a supervisor"
    assert library.number(90, library.from_def("CRATE")) == [[1.0, 0.1, 0.0]]


def test_a_command_that_is_cut_off_costs_the_connection(serve_world):
    running = serve_world()
    for cut in (pack("<BI", 66, 1), pack("<B", 84) + b"NO END", pack("<BIiIB", 88, 0, -1, 0, 0)):
        library = Library(running.ipc(robot="boss"))
        library.client.send(library.client.request(0, (0, cut)))
        assert library.client.closed


# -- saving --------------------------------------------------------------------------------------


@pytest.fixture
def on_disk(tmp_path):
    folder = tmp_path / "project" / "worlds"
    folder.mkdir(parents=True)
    (folder / "scene.wbt").write_text(SCENE)
    return folder / "scene.wbt"


def save(library, name=None):
    request = pack("<BB", 82, 0) if name is None else pack("<BB", 82, 1) + text(str(name))
    return library.ask(request)[0, 82] == [1]


def test_a_world_is_saved_beside_itself(serve_world, on_disk, transport):
    running = serve_world(on_disk)
    library = Library(running.ipc(robot="boss") if transport == "ipc" else running.tcp("boss"))
    library.set(library.field(library.from_def("CRATE"), "translation"), 2.0, 3.0, 4.0)
    library.step()
    assert save(library, "copy.wbt")
    assert "translation 2 3 4" in (on_disk.parent / "copy.wbt").read_text()
    assert save(library)
    assert "translation 2 3 4" in on_disk.read_text()


@pytest.mark.parametrize("name", ["copy.txt", "../../outside.wbt"])
def test_over_tcp_a_world_is_only_saved_as_one_in_its_project(serve_world, on_disk, name):
    running = serve_world(on_disk)
    library = Library(running.tcp("boss"))
    assert not save(library, name)
    assert "expected a .wbt file in" in running.log[-1]
    library.client.exit()
    library = Library(running.ipc(robot="boss"))
    assert save(library, name) == name.endswith(".wbt")  # a program of this machine
    assert not (on_disk.parent / "copy.txt").exists()


@pytest.mark.parametrize("way", ["absolute", "relative", "link"])
def test_over_tcp_a_text_only_reads_proto_files_of_its_project(serve_world, on_disk, way):
    project = on_disk.parents[1]
    proto = '#VRML_SIM R2025a utf8\nPROTO {} [ ] {{ Solid {{ name "{}" }} }}'
    (project.parent / "Outside.proto").write_text(proto.format("Outside", "secret"))
    (project / "Inside.proto").write_text(proto.format("Inside", "known"))
    (project / "link").symlink_to(project.parent)
    outside = {
        "absolute": project.parent / "Outside.proto",
        "relative": "../../Outside.proto",
        "link": "../link/Outside.proto",
    }[way]
    running = serve_world(on_disk)
    library = Library(running.tcp("boss"))
    children = library.field(0, "children")
    library.insert(children, 0, f'EXTERNPROTO "{outside}" Outside {{ }}')
    assert "expected EXTERNPROTO with a file in" in running.log[-1]
    library.insert(children, 0, "DEF LATER Outside { }")  # the address was not kept, either
    assert library.field(library.from_def("LATER"), "name") is None
    library.insert(children, 0, 'EXTERNPROTO "../Inside.proto" DEF IN Inside { }')
    assert library.get(library.field(library.from_def("IN"), "name")) == "known"
    library.client.exit()
    library = Library(running.ipc(robot="boss"))  # a program of this machine
    library.insert(children, 0, f'EXTERNPROTO "{outside}" DEF OUT Outside {{ }}')
    assert library.get(library.field(library.from_def("OUT"), "name")) == "secret"


def test_over_tcp_a_robot_of_the_package_has_its_parts(serve_world, on_disk):
    library = Library(serve_world(on_disk).tcp("boss"))
    robot = 'EXTERNPROTO "https://example.org/Pioneer3dx.proto" DEF P Pioneer3dx { }'
    library.insert(library.field(0, "children"), 0, robot)
    wheel = library.get(library.field(library.from_def("P"), "children"), 0)
    solid = library.get(library.field(wheel, "endPoint"))
    assert library.get(library.field(solid, "name")) == "left wheel"


def test_a_node_whose_proto_cannot_be_read_is_refused(serve_world, monkeypatch, tmp_path):
    monkeypatch.setenv("STRAPDOWN_PROTO_PATH", str(tmp_path / "absent"))
    running = serve_world()
    library = Library(running.ipc(robot="boss"))
    library.insert(library.field(0, "children"), 0, "Unknown { }")
    assert "No such folder or archive of PROTOs" in running.log[-1]
    assert library.from_def("CRATE")  # it is still served


# -- profiles ------------------------------------------------------------------------------------

TILTED = """#VRML_SIM R2025a utf8
WorldInfo { coordinateSystem "ENU" basicTimeStep 32 }
Robot { name "rob" controller "<extern>" rotation 0.6 0 0.8 0.7
  children [ InertialUnit { name "unit" xAxis FALSE } Gyro { name "gyro" } ] }
"""


@pytest.mark.parametrize("profile", ["R2025a", "R2023b", "R2021a"])
def test_a_profile_whose_client_computes_angles_is_served(serve_world, profile):
    client = serve_world(TILTED, profile=profile).ipc()
    first = client.begin()
    assert first.data[0, 0]["version"] == "R2025a"  # that of the protocol
    # The client of R2021a had the formulas of NUE only.
    assert first.data[1, 0] == [0.0, "NUE" if profile == "R2021a" else "ENU"]
    port = World(TILTED, profile=profile, dynamics="kinematic").port("rob")
    port.configure()
    here = port.exchange(32, [(1, "period", (32,))]).samples
    assert client.exchange(32, (1, period(32))).data[1, 54] == here[0][2]


@pytest.mark.parametrize("profile", ["documented", "R2020a"])
def test_another_profile_is_served_without_inertial_units(serve_world, profile):
    running = serve_world(TILTED, profile=profile)
    client = running.ipc()
    client.send(client.request(0))
    assert client.closed
    eventually(lambda: running.log)
    assert f"for InertialUnit 'unit', got {profile}" in running.log[-1]
    other = serve_world(TILTED.replace("InertialUnit", "Accelerometer").replace(" xAxis FALSE", ""),
                        profile=profile).ipc()  # fmt: skip
    assert other.begin().data[0, 0]["version"] == "R2025a"
    data = other.exchange(32, (2, period(32))).data
    assert data[2, 53] == pytest.approx([0, 0, 0], abs=1e-12)


@pytest.mark.parametrize(("profile", "samples"), [("R2025a", 4), ("documented", 0)])
def test_the_sign_of_a_long_period_is_that_of_the_profile(serve_world, profile, samples):
    client = serve_world(TWO, profile=profile).ipc(robot="other")
    client.begin()
    answers = [client.exchange(32, *([(1, period(40000))] * (step == 0))) for step in range(4)]
    assert sum((1, 53) in answer.data for answer in answers) == samples


# -- anything ------------------------------------------------------------------------------------


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.builds(
                lambda command, numbers: (
                    bytes([command]) + b"".join(pack("<i", n) for n in numbers)
                ),
                st.integers(50, 104),
                st.lists(st.integers(-1, 20), max_size=12),
            ),
        ),
        max_size=6,
    )
)
def test_no_commands_of_a_supervisor_bring_a_world_down(serve_world, payloads):
    running = serve_world()
    client = running.ipc(robot="boss")
    client.begin()
    client.send(b"".join(client.request(0, (0, payload)) for payload in payloads))
    time.sleep(0.001)
    client.peer.close()
    ended = any(54 in payload for payload in payloads)
    if not ended:
        assert running.ipc(robot="boss").begin().delay == 0
    running.stop()

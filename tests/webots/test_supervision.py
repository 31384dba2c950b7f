"""Requests of supervisors to a world, by numbers of nodes and names of fields."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from strapdown.errors import (
    DeviceError,
    FormatError,
    UnknownNameError,
    ValueRangeError,
)
from strapdown.webots.file.world_file import read_world
from strapdown.webots.world.world import World

SCENE = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 10 }
DEF R Robot {
  name "rob" supervisor TRUE translation 1 0 0 rotation 0 0 1 1.5707963267948966
  battery [ 1 2 3 ] controllerArgs [ "a" "b" ]
  children [
    DEF S Solid { translation 1 0 0 }
    DEF J HingeJoint {
      jointParameters HingeJointParameters { axis 0 0 1 position 0.5 }
      device [ RotationalMotor { name "m" } PositionSensor { name "p" } ]
      endPoint DEF ARM Solid { translation 0 0 1 }
    }
    DEF G Gyro { lookupTable [ -1 -1 0, 1 1 0 ] }
    Gadget { power 1 }
  ]
}
"""

BALL = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 4 }
Robot { name "eye" supervisor TRUE }
DEF BALL Solid {
  translation 0 0 5 name "ball" physics Physics { mass 2 density -1 }
  boundingObject Sphere { radius 0.1 }
}
"""


@pytest.fixture
def world():
    return World(SCENE)


@pytest.fixture
def ask(world):
    return world.supervision.call


def at(ask, name):
    return ask("from_def", name)


# ---- nodes ---------------------------------------------------------------------------------


def test_nodes_are_found_by_name_robot_and_tag(ask):
    robot = at(ask, "R")
    assert ask("self", "rob") == robot
    assert ask("from_def", "R.S") == at(ask, "S")
    assert ask("from_device", "rob", 3) == at(ask, "G")
    assert ask("from_id", robot) == robot
    assert ask("root") == 0


@pytest.mark.parametrize(
    "call",
    [
        ("from_def", "X"),
        ("from_device", "rob", 0),
        ("from_device", "rob", 9),
        ("from_id", 999),
        ("from_id", -1),
        ("from_proto_def", 0, "X"),
        ("parent", 0),
    ],
)
def test_what_is_not_there_is_none(ask, call):
    assert ask(*call) is None


def test_a_node_says_what_it_is(ask):
    solid = at(ask, "S")
    assert [ask(word, solid) for word in ("type", "base_type", "def")] == ["Solid", "Solid", "S"]
    assert ask("parent", solid) == at(ask, "R")
    assert ask("parent", at(ask, "R")) == 0
    assert ask("base_type", 0) == "Group"
    assert ask("export", solid) == "DEF S Solid {\n  translation 1 0 0\n}"


def test_a_wrong_call_names_what_there_is(ask):
    with pytest.raises(UnknownNameError, match="no method of a supervisor 'from_defs'"):
        ask("from_defs", "X")
    with pytest.raises(UnknownNameError, match="no robot 'bob'"):
        ask("self", "bob")
    with pytest.raises(DeviceError, match="expected the number of a node, got None"):
        ask("type", None)


# ---- fields --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "name", "kind", "count"),
    [
        ("R", "translation", "SFVec3f", -1),
        ("R", "children", "MFNode", 4),
        ("R", "controllerArgs", "MFString", 2),
        ("R", "physics", "SFNode", -1),
        ("G", "lookupTable", "MFVec3f", 2),
        ("G", "resolution", "SFFloat", -1),
    ],
)
def test_a_field_says_its_type_and_count(ask, node, name, kind, count):
    assert tuple(ask("field", at(ask, node), name)) == (kind, count)
    assert name in ask("fields", at(ask, node))


def test_the_gravity_is_a_number(ask):
    info = ask("get", 0, "children", 0)
    assert tuple(ask("field", info, "gravity")) == ("SFFloat", -1)
    assert ask("get", info, "gravity", None) == 9.81


def test_a_field_that_is_not_there_is_none(ask):
    assert ask("field", at(ask, "R"), "nope") is None
    gadget = ask("get", at(ask, "R"), "children", -1)
    assert ask("base_type", gadget) == "Gadget"
    assert ask("field", gadget, "power") is None
    assert ask("fields", gadget) == []


def test_fields_are_read(ask):
    robot = at(ask, "R")
    assert ask("get", robot, "translation", None) == [1.0, 0.0, 0.0]
    assert ask("get", robot, "supervisor", None) is True
    assert ask("get", robot, "physics", None) is None
    assert ask("get", robot, "battery", 1) == 2.0
    assert ask("get", robot, "controllerArgs", -1) == "b"
    assert ask("get", robot, "children", 0) == at(ask, "S")
    assert ask("get", at(ask, "G"), "lookupTable", 0) == [-1.0, -1.0, 0.0]


def test_fields_are_changed(world, ask):
    robot = at(ask, "R")
    ask("set", robot, "customData", None, "x")
    ask("set", robot, "battery", -1, 9)
    ask("insert", robot, "controllerArgs", -1, "c")
    ask("insert", robot, "controllerArgs", 0, "z")
    ask("remove_item", robot, "controllerArgs", 1)
    node = world.file.find_def("R")
    assert node.get("customData") == "x"
    assert node.get("battery") == [1.0, 2.0, 9.0]
    assert node.get("controllerArgs") == ["z", "b", "c"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (("get", "battery", 3), ValueRangeError, "index below 3 for 'battery', got 3"),
        (("get", "battery", -4), ValueRangeError, "index below 3 for 'battery', got -4"),
        (("insert", "battery", 5, 1.0), ValueRangeError, "index below 4"),
        (("set", "battery", None, "x"), TypeError, "Robot.battery: expected"),
        (("set", "translation", None, (1.0, math.nan, 0.0)), ValueRangeError, "finite numbers"),
        (("set", "nope", None, 1), UnknownNameError, "no field of Robot 'nope'"),
        (("set", "translation", 0, 1.0), DeviceError, "expected a field of many values"),
        (("import", "physics", None, "Physics { } Physics { }"), DeviceError, "one node"),
        (("import", "children", -1, "Solid { x }"), FormatError, "line 1 column 11"),
        (("import", "name", None, "Solid { }"), DeviceError, "empty field 'name'"),
    ],
)
def test_wrong_changes_are_refused_and_change_nothing(world, ask, call, error, message):
    before = world.file.to_text()
    method, *arguments = call
    with pytest.raises(error, match=message):
        ask(method, at(ask, "R"), *arguments)
    assert world.file.to_text() == before


def test_everything_that_passes_is_plain_data(ask):
    robot = at(ask, "R")
    for call in [("fields", robot), ("position", robot), ("get", robot, "children", None)]:
        answer = ask(*call)
        assert pickle.loads(pickle.dumps(answer)) == answer  # noqa: S301 (our own bytes)
        assert {type(item) for item in answer} <= {str, float, int}


# ---- added and removed nodes ---------------------------------------------------------------


def test_a_node_is_imported_and_removed(world, ask):
    ask("import", 0, "children", -1, 'DEF BALL Solid { translation 0 2 0 name "ball" }')
    ball = at(ask, "BALL")
    assert world.file.nodes[-1] is world.file.find_def("BALL")
    assert ask("parent", ball) == 0
    assert ask("position", ball) == [0, 2, 0]
    ask("remove", ball)
    assert at(ask, "BALL") is None
    assert ask("from_id", ball) is None
    with pytest.raises(DeviceError, match="which was removed"):
        ask("type", ball)


def test_a_node_is_imported_at_a_place(world, ask):
    robot = at(ask, "R")
    ask("import", robot, "children", 1, "DEF A Pose { } DEF B Pose { }")
    names = [node.def_name for node in world.file.find_def("R").nodes("children")]
    assert names == ["S", "A", "B", "J", "G", ""]
    assert ask("parent", at(ask, "B")) == robot


def test_an_empty_field_takes_one_node(world, ask):
    solid = at(ask, "S")
    ask("import", solid, "physics", None, "Physics { mass 3 density -1 }")
    assert world.file.find_def("S").node("physics").get("mass") == 3
    with pytest.raises(DeviceError, match="the field is full"):
        ask("import", solid, "physics", None, "Physics { }")
    ask("remove_item", solid, "physics", None)
    assert world.file.find_def("S").node("physics") is None


def test_what_hangs_on_a_removed_node_has_gone_too(ask):
    joint, arm = at(ask, "J"), at(ask, "ARM")
    ask("remove", joint)
    assert ask("from_id", arm) is None


def test_the_info_and_the_root_stay(ask):
    with pytest.raises(DeviceError, match="got WorldInfo"):
        ask("remove", ask("get", 0, "children", 0))
    with pytest.raises(DeviceError, match="got the root of the world"):
        ask("remove", 0)


def test_an_imported_node_is_checked(world, ask, capsys):
    ask("import", at(ask, "R"), "children", -1, "DEF NEW Gyro { resolution 0 }")
    assert world.file.find_def("NEW").get("resolution") == -1
    assert "Invalid 'resolution' changed to -1." in capsys.readouterr().err


# ---- poses ---------------------------------------------------------------------------------


def test_poses_are_in_the_world(ask):
    # The robot at (1, 0, 0) looks along y, so a point 1 m ahead of it is at (1, 1, 0).
    assert ask("position", at(ask, "S")) == pytest.approx([1, 1, 0], abs=1e-12)
    assert ask("center_of_mass", at(ask, "S")) == pytest.approx([1, 1, 0], abs=1e-12)
    turn = [0, -1, 0, 1, 0, 0, 0, 0, 1]
    assert ask("orientation", at(ask, "S")) == pytest.approx(turn, abs=1e-12)
    assert ask("velocity", at(ask, "S")) == [0] * 6


@pytest.mark.parametrize(("word", "count"), [("position", 3), ("orientation", 9), ("velocity", 6)])
def test_what_has_no_pose_is_nowhere(ask, word, count):
    answer = ask(word, at(ask, "J"))
    assert len(answer) == count
    assert np.isnan(answer).all()


def test_a_robot_is_moved_by_its_fields(ask):
    robot = at(ask, "R")
    ask("set", robot, "translation", None, (0.0, 0.0, 2.0))
    ask("set", robot, "rotation", None, (0.0, 0.0, 2.0, 0.0))
    assert ask("position", at(ask, "S")) == pytest.approx([1, 0, 2], abs=1e-12)
    assert ask("get", robot, "rotation", None) == [0, 0, 1, 0]


def test_fields_tell_the_present_pose(world, ask):
    arm, motor = at(ask, "ARM"), world.file.find_def("J").nodes("device")[0]
    parameters = ask("get", at(ask, "J"), "jointParameters", None)
    world.scene.command(motor, "velocity", (1.0,))
    world.scene.command(motor, "position", (1.5,))
    world.advance_to(50)
    assert ask("get", parameters, "position", None) == pytest.approx(1.0, abs=1e-6)
    assert ask("get", arm, "translation", None) == [0, 0, 1]
    assert ask("get", arm, "rotation", None) == pytest.approx([0, 0, 1, 0.5], abs=1e-6)


def test_a_joint_is_moved_by_its_field_even_to_where_it_was_written(world, ask):
    motor = world.file.find_def("J").nodes("device")[0]
    parameters = ask("get", at(ask, "J"), "jointParameters", None)
    world.scene.command(motor, "position", (1.5,))
    world.advance_to(50)
    world.scene.command(motor, "velocity", (0.0,))
    ask("set", parameters, "position", None, 0.5)
    assert ask("get", parameters, "position", None) == pytest.approx(0.5, abs=1e-9)
    assert ask("get", at(ask, "ARM"), "rotation", None)[3] == pytest.approx(0, abs=1e-9)


# ---- physics -------------------------------------------------------------------------------


@pytest.fixture
def fallen():
    world = World(BALL)
    world.advance_to(100)
    return world


def test_fields_tell_where_a_body_fell(fallen):
    ask = fallen.supervision.call
    ball = at(ask, "BALL")
    z = ask("get", ball, "translation", None)[2]
    assert z == pytest.approx(5 - 9.81 * 0.4**2 / 2, abs=0.02)
    assert ask("velocity", ball)[2] == pytest.approx(-9.81 * 0.4, rel=1e-6)
    assert ask("get", ball, "linearVelocity", None)[2] == pytest.approx(-9.81 * 0.4, rel=1e-6)


def test_a_body_is_put_back_to_where_the_file_has_it(fallen):
    ask = fallen.supervision.call
    ball = at(ask, "BALL")
    ask("set", ball, "translation", None, (0.0, 0.0, 5.0))
    assert ask("position", ball) == pytest.approx([0, 0, 5], abs=1e-9)
    assert ask("velocity", ball)[2] == pytest.approx(-9.81 * 0.4, rel=1e-6)
    ask("reset_physics", ball)
    assert ask("velocity", ball) == pytest.approx([0] * 6, abs=1e-9)
    assert ask("position", ball) == pytest.approx([0, 0, 5], abs=1e-9)


def test_a_body_is_thrown(fallen):
    ask = fallen.supervision.call
    ball = at(ask, "BALL")
    before = ask("position", ball)
    ask("set_velocity", ball, [1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    assert ask("velocity", ball) == pytest.approx([1, 2, 3, 0.1, 0.2, 0.3], abs=1e-9)
    assert ask("position", ball) == pytest.approx(before, abs=1e-9)
    ask("reset_physics", 0)
    assert ask("velocity", ball) == pytest.approx([0] * 6, abs=1e-9)


# ---- the simulation ------------------------------------------------------------------------


def test_a_reset_begins_again(world, ask):
    robot, number = world.file.find_def("R"), at(ask, "R")
    ask("set", number, "translation", None, (9.0, 9.0, 9.0))
    ask("import", number, "children", -1, "DEF NEW Pose { }")
    new = at(ask, "NEW")
    ask("remove", at(ask, "S"))
    world.advance_to(5)
    ask("simulation_reset")
    assert world.step_count == 0
    assert ask("position", number) == pytest.approx([1, 0, 0], abs=1e-12)
    assert at(ask, "R") == number
    assert world.file.find_def("S").parent is robot
    assert at(ask, "NEW") is None
    assert ask("from_id", new) is None


def test_a_simulation_is_ended(world, ask):
    ask("simulation_quit", 3)
    assert world.exit_status == 3
    assert world.ended


def test_the_world_is_saved_as_it_is(fallen, tmp_path):
    path = tmp_path / "saved.wbt"
    ask = fallen.supervision.call
    assert ask("world_save", str(path)) is True
    saved = read_world(path).find_def("BALL")
    assert list(saved.get("translation")) == ask("position", at(ask, "BALL"))
    assert ask("world_save", None) is False
    assert ask("world_save", str(tmp_path / "no" / "such" / "folder.wbt")) is False


def test_a_sample_world_is_not_overwritten(monkeypatch, tmp_path):
    path = tmp_path / "sample.wbt"
    path.write_text(SCENE)
    monkeypatch.setattr("strapdown.webots.world.supervision.WORLDS", tmp_path)
    ask = World(path).supervision.call
    assert ask("world_save", None) is False
    assert ask("world_save", str(tmp_path / "new.wbt")) is False
    assert [each.read_text() for each in tmp_path.iterdir()] == [SCENE]


def test_a_field_whose_new_value_is_not_supported_keeps_the_old_one():
    world = World(
        '#VRML_SIM R2025a utf8\nDEF W WorldInfo { gpsCoordinateSystem "WGS84" }'
        "\nRobot { children [ GPS { } ] }"
    )
    info = world.supervision.call("from_def", "W")
    with pytest.raises(ValueRangeError, match="latitude"):
        world.supervision.call("set", info, "gpsReference", None, (400.0, 0.0, 0.0))
    assert tuple(world.supervision.call("get", info, "gpsReference", None)) == (0.0, 0.0, 0.0)

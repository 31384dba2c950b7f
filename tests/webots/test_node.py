import pytest

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.webots.file.node import Node


@pytest.fixture
def robot():
    gyro = Node("Gyro", {"name": "g"})
    joint = Node("HingeJoint", {"device": [Node("RotationalMotor")], "endPoint": Node("Solid")})
    return Node("Robot", {"children": [gyro, joint], "physics": Node("Physics")}, def_name="R")


def test_a_field_that_was_not_written_has_its_default(robot):
    assert robot.get("name") == "robot"
    assert robot.get("translation") == (0, 0, 0)
    assert "name" not in robot.fields


def test_a_default_of_many_values_is_fresh(robot):
    robot.get("controllerArgs").append("x")
    assert robot.get("controllerArgs") == []


def test_a_field_that_does_not_exist_is_an_error_that_names_the_nearest(robot):
    with pytest.raises(UnknownNameError, match=r"no field of Robot 'nam'; .*'name'"):
        robot.get("nam")
    with pytest.raises(UnknownNameError, match="no field of Robot 'nam'"):
        robot.set("nam", 1)


def test_values_are_checked_when_they_are_set(robot):
    with pytest.raises(TypeError, match=r"Robot.name: expected a value of SFString, got 1"):
        robot.set("name", 1)
    with pytest.raises(ValueRangeError, match=r"Robot.translation: expected 3 numbers .* got 2"):
        robot.set("translation", (1, 2))
    with pytest.raises(ValueRangeError, match=r"Robot.cpuConsumption"):
        robot.set("cpuConsumption", 10**400)
    robot.set("translation", [1, 2, 3])
    assert robot.get("translation") == (1.0, 2.0, 3.0)


def test_typed_access_returns_the_value_or_says_what_is_there(robot):
    assert robot.number("cpuConsumption") == 10.0
    assert robot.vector("rotation") == (0, 0, 1, 0)
    assert robot.text("name") == "robot"
    assert robot.flag("synchronization") is True
    assert robot.node("physics").type == "Physics"
    assert robot.node("boundingObject") is None
    assert [child.type for child in robot.nodes("children")] == ["Gyro", "HingeJoint"]
    assert Node("Robot", {"battery": [1, 2, 3]}).numbers("battery") == [1.0, 2.0, 3.0]
    assert Node("Gyro", {"lookupTable": [1, 2, 3]}).vectors("lookupTable") == [(1.0, 2.0, 3.0)]
    for access in (robot.number, robot.vector, robot.flag, robot.numbers, robot.vectors):
        with pytest.raises(TypeError, match=r"Robot.name: expected .*, got 'robot'"):
            access("name")
    with pytest.raises(TypeError, match="expected a string, got 2"):
        Node("Camera", {"width": 2}).text("width")
    with pytest.raises(TypeError, match="expected a node, got 'robot'"):
        robot.node("name")


def test_the_tree_is_walked_in_the_order_of_the_file(robot):
    order = ["Robot", "Gyro", "HingeJoint", "RotationalMotor", "Solid", "Physics"]
    assert [node.type for node in robot.walk()] == order
    assert [node.type for node in robot.children_nodes()] == ["Gyro", "HingeJoint", "Physics"]


def test_nodes_know_where_they_are(robot):
    motor = list(robot.walk())[3]
    assert motor.parent_field == "device"
    assert [node.type for node in motor.ancestors()] == ["HingeJoint", "Robot"]
    assert robot.parent is None


def test_a_copy_is_deep_and_has_no_parent(robot):
    joint = robot.nodes("children")[1]
    twin = joint.copy()
    assert twin.parent is None
    assert twin.node("endPoint") is not joint.node("endPoint")
    assert twin.node("endPoint").parent is twin
    twin.node("endPoint").set("name", "other")
    assert joint.node("endPoint").get("name") == "solid"


def test_nodes_are_equal_only_to_themselves(robot):
    assert robot != robot.copy()
    assert len({robot, robot.copy()}) == 2


def test_a_node_shows_its_names(robot):
    assert repr(robot) == "<DEF R Robot>"
    assert repr(robot.nodes("children")[0]) == "<Gyro 'g'>"


def test_an_unknown_node_has_only_what_was_written():
    node = Node("Gadget", {"power": 3})
    assert not node.known
    assert node.get("power") == 3
    with pytest.raises(UnknownNameError, match="no field of Gadget 'name'"):
        node.get("name")

"""Supervisors: nodes and fields of a world, and the simulation."""

from __future__ import annotations

import math

import pytest

from strapdown.webots.api import ContactPoint, Field, Node, Proto, Supervisor
from strapdown.webots.file.world_file import read_world

WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 info [ "one" "two" ] }
DEF ROB Robot {
  translation 1 2 3 rotation 0 0 1 1.5707963267948966 name "rob" supervisor TRUE
  children [
    DEF BOX Solid { translation 0.5 0 0 name "box" }
    Accelerometer { }
    DEF HINGE HingeJoint {
      jointParameters HingeJointParameters { axis 0 0 1 }
      device [ RotationalMotor { name "motor" } ]
      endPoint Solid { name "arm" }
    }
  ]
}
"""


@pytest.fixture
def rob():
    return Supervisor(WORLD, dynamics="kinematic")


def test_a_robot_that_is_no_supervisor_is_refused(robot, capsys):
    rob = robot()
    rob.__class__ = Supervisor
    assert rob.getRoot() is None
    rob.simulationReset()
    assert capsys.readouterr().err == "".join(
        f"Error: ignoring illegal call to wb_supervisor_{call}() in a 'Robot' controller.\n"
        "Error: this function can only be used in a 'Supervisor' controller.\n"
        for call in ("node_get_root", "simulation_reset")
    )
    assert rob.port.supervised == []


class TestNodes:
    def test_nodes_are_found_in_many_ways(self, rob):
        node = rob.getFromDef("ROB")
        assert node.getId() == rob.getSelf().getId() == rob.getFromId(node.id).id
        assert rob.getFromDef("ROB.BOX").getId() == rob.getFromDef("BOX").getId()
        assert rob.getFromDevice(1).getTypeName() == "Accelerometer"
        assert rob.getFromDevice(rob.getDevice("motor")).getTypeName() == "RotationalMotor"
        assert Node(DEF="BOX", robot=rob).id == rob.getFromDef("BOX").id
        assert rob.getSelected() is None

    def test_what_there_is_not_is_none(self, rob):
        assert rob.getFromDef("NONE") is None
        assert rob.getFromId(9999) is None
        assert rob.getFromDevice(9) is None
        assert rob.getSelf().getField("nonsense") is None
        assert rob.getSelf().getFieldByIndex(999) is None
        assert rob.getSelf().getFromProtoDef("X") is None

    def test_a_node_says_what_it_is(self, rob):
        node = rob.getFromDef("BOX")
        assert (node.getDef(), node.getTypeName(), node.getBaseTypeName()) == (
            "BOX",
            "Solid",
            "Solid",
        )
        assert (node.getType(), rob.getSelf().getType()) == (Node.SOLID, Node.ROBOT)
        assert node.getParentNode().getDef() == "ROB"
        assert rob.getRoot().getParentNode() is None
        assert not node.isProto()
        assert node.getProto() is None
        text = node.exportString()
        assert text.startswith("DEF BOX Solid {")
        assert "translation 0.5 0 0" in text

    def test_a_node_knows_where_it_is(self, rob):
        node, box = rob.getSelf(), rob.getFromDef("BOX")
        assert node.getPosition() == [1.0, 2.0, 3.0]
        assert box.getPosition() == pytest.approx([1.0, 2.5, 3.0])
        assert node.getOrientation() == pytest.approx([0, -1, 0, 1, 0, 0, 0, 0, 1], abs=1e-15)
        assert box.getPose() == pytest.approx(
            [0, -1, 0, 1, 1, 0, 0, 2.5, 0, 0, 1, 3, 0, 0, 0, 1], abs=1e-15
        )
        assert box.getPose(node) == pytest.approx(
            [1, 0, 0, 0.5, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], abs=1e-15
        )
        assert node.getVelocity() == [0.0] * 6

    def test_a_joint_can_be_turned(self, rob):
        rob.getFromDef("HINGE").setJointPosition(0.5)
        position = rob.getFromDef("HINGE").getField("jointParameters").getSFNode()
        assert position.getField("position").getSFFloat() == 0.5

    def test_a_node_can_be_removed_and_imported(self, rob):
        children = rob.getSelf().getField("children")
        before = children.getCount()
        rob.getFromDef("BOX").remove()
        assert children.getCount() == before - 1
        assert rob.getFromDef("BOX") is None
        children.importMFNodeFromString(-1, 'DEF NEW Solid { translation 0 0 1 name "new" }')
        assert children.getMFNode(-1).getDef() == "NEW"
        assert rob.getFromDef("NEW").getPosition() == pytest.approx([1.0, 2.0, 4.0])
        children.removeMF(0)
        assert children.getCount() == before - 1
        rob.step(32)

    @pytest.mark.parametrize("late", [True, False])
    def test_a_device_that_is_imported_is_found_where_the_world_wants_it(self, late):
        rob = Supervisor(WORLD, dynamics="kinematic", late_devices=late)
        before = rob.getNumberOfDevices()
        rob.getSelf().getField("children").importMFNodeFromString(-1, 'Gyro { name "late" }')
        rob.step(32)
        late_one = rob.getDevice("late")
        assert rob.getNumberOfDevices() == before + late
        if late:
            assert rob.getDeviceByIndex(before) is late_one
            late_one.enable(32)
            rob.step(32)
            assert late_one.getValues() == [0.0, 0.0, 0.0]
        else:
            assert late_one is None
            with pytest.raises(KeyError):
                rob.getDeviceByIndex(before)

    def test_what_a_person_or_an_engine_would_see_is_told_once(self, rob, capsys):
        node = rob.getSelf()
        capsys.readouterr()
        for _ in range(2):
            node.addForce([0, 0, 1], False)
        assert node.getContactPoints() == []
        assert capsys.readouterr().err == (
            "inert call: Node.addForce() is accepted and nothing is simulated\n"
            "inert call: Node.getContactPoints() is accepted and nothing is simulated\n"
        )

    def test_a_contact_has_a_point_and_a_node(self):
        contact = ContactPoint((1.0, 2.0, 3.0, 7))
        assert (contact.getPoint(), contact.getNodeId()) == ([1.0, 2.0, 3.0], 7)


class TestFields:
    def test_fields_are_listed(self, rob):
        node = rob.getSelf()
        names = [node.getFieldByIndex(i).getName() for i in range(node.getNumberOfFields())]
        assert {"translation", "children", "customData"} <= set(names)
        field = node.getField("translation")
        assert (field.getType(), field.getTypeName(), field.getCount()) == (
            Field.SF_VEC3F,
            "SFVec3f",
            -1,
        )
        children = node.getField("children")
        assert (children.type, children.type_name, children.count) == (Field.MF_NODE, "MFNode", 3)
        assert children.value is None
        assert field.getActualField().name == "translation"

    def test_a_pose_that_is_set_is_there_at_once(self, rob):
        node = rob.getSelf()
        node.getField("translation").setSFVec3f([4, 5, 6])
        node.getField("rotation").setSFRotation([0.0, 1.0, 0.0, 0.25])
        assert node.getPosition() == [4.0, 5.0, 6.0]
        assert node.getField("translation").getSFVec3f() == [4.0, 5.0, 6.0]
        assert node.getField("rotation").value == pytest.approx([0.0, 1.0, 0.0, 0.25])

    def test_texts_and_truths_can_be_set(self, rob):
        node = rob.getSelf()
        node.getField("customData").setSFString("hello")
        node.getField("selfCollision").setSFBool(True)
        assert node.getField("customData").getSFString() == "hello"
        assert node.getField("selfCollision").getSFBool() is True
        rob.step(32)
        assert rob.getCustomData() == "hello"

    def test_one_of_many_values_can_be_set_inserted_and_removed(self, rob):
        info = next(
            node.getField("info")
            for node in map(rob.getFromId, range(1, 9))
            if node.getTypeName() == "WorldInfo"
        )
        info.setMFString(0, "zero")
        info.insertMFString(1, "half")
        info.removeMF(-1)
        assert [info.getMFString(i) for i in range(info.count)] == ["zero", "half"]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("translation", "1 2 3"),
            ("translation", [1.0, 2.0]),
            ("customData", 1),
            ("supervisor", 1),
            ("cpuConsumption", "1"),
            ("children", []),
        ],
    )
    def test_a_value_of_another_kind_is_refused(self, rob, capsys, field, value):
        capsys.readouterr()
        field = rob.getSelf().getField(field)
        before = field.value
        field.value = value
        assert capsys.readouterr().err == "Error: new field value has wrong type or length.\n"
        assert field.value == before

    def test_a_vector_of_another_length_is_refused(self, rob, capsys):
        capsys.readouterr()
        rob.getSelf().getField("translation").setSFVec3f([1.0])
        assert capsys.readouterr().err == (
            "Error: setSFVec3f(): length of 'value' argument should be 3.\n"
        )

    def test_types_have_the_numbers_of_the_interface(self):
        names = ["BOOL", "INT32", "FLOAT", "VEC2F", "VEC3F", "ROTATION", "COLOR", "STRING", "NODE"]
        assert [getattr(Field, f"SF_{name}") for name in names] == list(range(1, 10))
        assert [getattr(Field, f"MF_{name}") for name in names] == list(range(17, 26))


def test_a_proto_has_the_name_and_the_fields_of_its_node(tmp_path):
    (tmp_path / "Cube.proto").write_text(
        "#VRML_SIM R2025a utf8\n"
        'PROTO Cube [ field SFString name "cube" ] { Solid { name IS name } }\n'
    )
    path = tmp_path / "w.wbt"
    path.write_text(
        '#VRML_SIM R2025a utf8\nEXTERNPROTO "Cube.proto"\n'
        'Robot { name "rob" supervisor TRUE }\nDEF CUBE Cube { name "c" }\n'
    )
    node = Supervisor(read_world(path)).getFromDef("CUBE")
    assert (node.isProto(), node.getTypeName(), node.getBaseTypeName()) == (True, "Cube", "Solid")
    proto = node.getProto()
    assert isinstance(proto, Proto)
    assert (proto.getTypeName(), proto.isDerived(), proto.getParent()) == ("Cube", False, None)
    assert proto.getField("name").getSFString() == "c"
    assert proto.getNumberOfFields() == node.getNumberOfFields()


class TestSimulation:
    def test_a_reset_brings_back_the_beginning(self, rob):
        accelerometer = rob.getDevice("accelerometer")
        accelerometer.enable(32)
        rob.getSelf().getField("translation").setSFVec3f([0.0, 0.0, 0.0])
        for _ in range(3):
            rob.step(32)
        rob.simulationReset()
        rob.step(32)
        assert rob.getTime() == 0.032
        assert rob.getSelf().getPosition() == [1.0, 2.0, 3.0]
        assert accelerometer.sample_time == 0.032

    def test_after_quit_a_step_returns_minus_one(self, rob):
        assert rob.step(32) == 0
        rob.simulationQuit(0)
        assert rob.step(32) == -1
        with pytest.raises(SystemExit):
            rob.step(32)

    def test_a_world_is_saved_as_it_is(self, rob, tmp_path):
        rob.getSelf().getField("translation").setSFVec3f([0.0, 0.0, 7.0])
        path = tmp_path / "saved.wbt"
        assert rob.worldSave(str(path)) is True
        assert Supervisor(path).getSelf().getPosition() == [0.0, 0.0, 7.0]

    def test_the_pace_stays(self, rob, capsys):
        capsys.readouterr()
        assert rob.simulationGetMode() == rob.SIMULATION_MODE_FAST
        rob.simulationSetMode(rob.SIMULATION_MODE_FAST)
        assert capsys.readouterr().err == ""
        rob.simulation_mode = rob.SIMULATION_MODE_PAUSE
        assert "Supervisor.simulationSetMode() is accepted" in capsys.readouterr().err
        assert (rob.SIMULATION_MODE_PAUSE, rob.SIMULATION_MODE_REAL_TIME) == (0, 1)

    def test_there_is_no_view(self, rob):
        rob.setLabel(0, "text", 0.0, 0.0, 0.1, 0xFF0000)
        rob.exportImage("a.png", 90)
        rob.movieStartRecording("a.mp4", 1, 1, 0, 1, 1, False)
        assert (rob.movieIsReady(), rob.movieFailed()) == (True, False)
        assert rob.animationStartRecording("a.html") is False
        assert not rob.virtualRealityHeadsetIsUsed()
        assert all(map(math.isnan, rob.virtualRealityHeadsetGetPosition()))

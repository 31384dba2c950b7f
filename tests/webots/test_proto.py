import pytest

from strapdown.errors import FormatError, UnsupportedError
from strapdown.webots.file.proto import read_proto
from strapdown.webots.file.proto_library import ProtoSource
from strapdown.webots.file.world_file import devices_of, read_world

HEAD = "#VRML_SIM R2025a utf8\n"

ARM = """
# An arm.
PROTO Arm [
  field SFVec3f translation 0 0 1
  vrmlField SFString{"long", "short"} name "arm"   # restricted
  field MFNode{Gyro{}, Solid{}} sensors []
  field MFVec3f table [ -1 -1 0, 1 1 0 ]
  deprecatedField SFFloat noise 0.1
  hiddenField SFNode core NULL
]
{
  DEF BASE Solid {
    translation IS translation
    name IS name
    physics IS core
    children [
      InertialUnit { noise IS noise }
      Accelerometer { lookupTable IS table }
      Group { children IS sensors }
    ]
  }
}
"""


@pytest.fixture
def project(tmp_path):
    """Function that writes PROTOs and a world, and reads the world."""
    (tmp_path / "protos" / "arms").mkdir(parents=True)
    (tmp_path / "worlds").mkdir()

    def read(world, /, *, release="R2025a", proto_dirs=(), folder="protos/arms", **protos):
        for name, text in protos.items():
            (tmp_path / folder / f"{name}.proto").write_text(HEAD + text, encoding="utf-8")
        path = tmp_path / "worlds" / "w.wbt"
        path.write_text(f"#VRML_SIM {release} utf8\n{world}", encoding="utf-8")
        return read_world(path, proto_dirs=proto_dirs)

    return read


def test_an_instance_becomes_the_body_with_its_values(project):
    world = project(
        'Robot { children DEF LEFT Arm { name "left" sensors [ DEF G Gyro { } ] table [] } }',
        Arm=ARM,
    )
    (robot,) = world.robots
    (arm,) = robot.nodes("children")
    assert (arm.type, arm.proto, arm.def_name, arm.line) == ("Solid", "Arm", "LEFT", 2)
    assert arm.parent is robot
    assert arm.get("name") == "left"
    assert arm.get("translation") == (0, 0, 1)
    assert [device.type for device in devices_of(robot)] == [
        "InertialUnit",
        "Accelerometer",
        "Gyro",
    ]
    unit, accelerometer, gyro = devices_of(robot)
    assert unit.get("noise") == 0.1
    assert accelerometer.fields["lookupTable"] == []
    assert world.find_def("G") is gyro
    assert world.find_def("BASE") is None
    assert world.notices == []


def test_instances_share_nothing(project):
    world = project("Robot { children [ Arm { } Arm { } ] }", Arm=ARM)
    first, second = world.robots[0].nodes("children")
    first.set("name", "changed")
    assert second.get("name") == "arm"
    assert len(devices_of(world.robots[0])) == 4


def test_a_proto_may_be_made_of_another_one(project):
    world = project(
        'Robot { children Hand { label "h" } }',
        Arm=ARM,
        Hand='PROTO Hand [ field SFString label "" ] { Arm { name IS label sensors Finger { } } }',
        Finger="PROTO Finger [ ] { Gyro { } }",
    )
    (hand,) = world.robots[0].nodes("children")
    assert (hand.proto, hand.get("name")) == ("Hand", "h")
    assert len(devices_of(world.robots[0])) == 3


def test_a_declared_file_wins_over_the_folders(project, tmp_path):
    (tmp_path / "worlds" / "Arm.proto").write_text(HEAD + "PROTO Arm [ ] { Gyro { } }")
    world = project('EXTERNPROTO "Arm.proto"\nRobot { children Arm { } }', Arm=ARM)
    assert [device.type for device in devices_of(world.robots[0])] == ["Gyro"]


GYRO = "PROTO Part [ ] { Gyro { } }"
OTHERS = {
    "an address": 'EXTERNPROTO "Part.proto"\n',
    "an unknown address": 'EXTERNPROTO "https://example.org/Part.proto"\n',
    "a declaration": "PROTO Part [ ] { Compass { } }\n",
}


@pytest.mark.parametrize("world", OTHERS.values(), ids=OTHERS)
def test_a_proto_file_takes_what_it_declares_itself(project, tmp_path, world):
    (tmp_path / "worlds" / "Part.proto").write_text(HEAD + "PROTO Part [ ] { Compass { } }")
    hand = 'EXTERNPROTO "Part.proto"\nPROTO Hand [ ] { Group { children Part { } } }'
    file = project(f"{world}Robot {{ children Hand {{ }} }}", Hand=hand, Part=GYRO)
    assert [device.type for device in devices_of(file.robots[0])] == ["Gyro"]


@pytest.mark.parametrize("world", OTHERS.values(), ids=OTHERS)
def test_a_node_given_to_a_proto_is_what_its_own_file_declares(project, tmp_path, world):
    (tmp_path / "worlds" / "Part.proto").write_text(HEAD + "PROTO Part [ ] { Compass { } }")
    (tmp_path / "protos" / "Part.proto").write_text(HEAD + "PROTO Part [ ] { Compass { } }")
    slot = "[ field MFNode slot [ Part { } ] ]"
    inner = f"PROTO Inner {slot} {{ Group {{ children IS slot }} }}"
    outer = (
        f'EXTERNPROTO "Part.proto"\nPROTO Outer {slot} {{ Group {{ children ['
        " Part { } Inner { slot IS slot } Inner { slot Pose { children Part { } } } ] } }"
    )
    parts = {"Outer": outer, "Inner": inner, "Part": GYRO}
    file = project(
        f"{world}Robot {{ children [ Outer {{ slot Part {{ }} }} Outer {{ }} ] }}", **parts
    )
    devices = [device.type for device in devices_of(file.robots[0])]
    assert devices == ["Gyro", "Compass", "Gyro", "Gyro", "Gyro", "Gyro"]


def test_an_error_in_a_node_given_to_a_proto_names_its_file(project):
    hand = "PROTO Hand [ field MFNode on [] ] { Group { children IS on } }"
    with pytest.raises(FormatError, match=r"w\.wbt: line 3: .*Arm\.translation: expected 3 num"):
        project("Hand {\n on Arm { translation 1 2 } }", Arm=ARM, Hand=hand)


def test_more_folders_can_be_named(project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    world = "Robot { children Arm { } }"
    assert devices_of(project(world, folder="elsewhere", Arm=ARM).robots[0]) == []
    found = project(world, proto_dirs=[tmp_path / "elsewhere"])
    assert len(devices_of(found.robots[0])) == 2


def test_an_unknown_node_is_kept_and_listed_once(project):
    world = project(
        'EXTERNPROTO "https://example.org/Road.proto"\n'
        "Road { size 1 1 }\nRoad { }\nRobot { children Shape { appearance Rust { } } }"
    )
    assert [node.type for node in world.nodes] == ["WorldInfo", "Road", "Road", "Robot"]
    assert world.nodes[1].fields == {"size": (1, 1)}
    assert world.notices == [
        (
            "Road: line 3: no effect, nothing can rest on it: "
            "PROTO at 'https://example.org/Road.proto' is not fetched"
        ),
        "Rust: line 5: no effect: unknown node",
    ]


def test_a_world_may_declare_its_own(project):
    world = project(
        "WorldInfo { }\n" + ARM + 'Robot { children [ Arm { } DEF B Arm { name "b" } ] }\n'
        "PROTO Pair [ ] { Group { children [ Arm { } Gyro { } ] } }\nRobot { children Pair { } }",
        Arm="PROTO Arm [ ] { Gyro { } }",
    )
    first, second = world.robots
    assert len(devices_of(first)) == 4
    assert world.find_def("B").get("name") == "b"
    assert [device.type for device in devices_of(second)][-1] == "Gyro"
    assert world.notices == []
    (late,) = world.copy().read_nodes('Arm { name "late" }')
    assert (late.type, late.proto, late.get("name")) == ("Solid", "Arm", "late")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PROTO Arm [ ] { Group { }\n", "line 2 column 15: expected the end of '{', got none"),
        ("PROTO Arm [ x ] { }", "line 2 column 13: expected 'field' or ']', got 'x'"),
        ("PROTO [ ] { }", "line 2 column 7: expected the name of the PROTO, got '['"),
        ("PROTO Arm [ ] { Group { x IS y } }\nArm { }", "line 2 column 30: expected the name of"),
        ("PROTO Arm [ ] { Group { x %< 1 >% } }\nArm { }", "line 2 column 27: expected a value"),
        ("PROTO Arm [ ] { Arm { } }\nArm { }", "does Arm contain itself?"),
    ],
)
def test_a_wrong_declaration_in_a_world_is_an_error_with_line_and_column(project, text, message):
    with pytest.raises(FormatError) as caught:
        project(text)
    assert "w.wbt: " in str(caught.value)
    assert message in str(caught.value)


def test_a_proto_that_may_hold_devices_must_be_there(project):
    with pytest.raises(UnsupportedError, match=r"w\.wbt: line 3: .*PROTO Board.* not fetched"):
        project(
            'EXTERNPROTO "https://example.org/Board.proto"\n'
            "Robot { children Pose { children Board { } } }"
        )


def test_the_error_names_the_options(project):
    with pytest.raises(
        UnsupportedError, match=r"--proto-dir \(proto_dirs\) or STRAPDOWN_PROTO_PATH"
    ):
        project('EXTERNPROTO "webots://a/Board.proto"\nRobot { children Board { } }')


def test_a_field_that_is_no_parameter_is_listed(project):
    world = project("Robot { children Arm { colour 1 0 0 } }", Arm=ARM)
    assert world.notices == ["Arm.colour: line 2: no such parameter"]


def test_a_proto_in_itself_is_refused(project):
    with pytest.raises(FormatError, match="does Loop contain itself"):
        project("Loop { }", Loop="PROTO Loop [ ] { Group { children Loop { } } }")


def test_protos_that_would_fill_the_memory_are_refused(project, monkeypatch):
    monkeypatch.setattr("strapdown.webots.file.proto.MAX_NODES", 2_000)
    bodies = {
        f"P{i}": f"PROTO P{i} [ ] {{ Group {{ children [ {f'P{i + 1} {{ }} ' * 20} ] }} }}"
        for i in range(8)
    }
    with pytest.raises(FormatError, match="at most 2000 nodes"):
        project("P0 { }", **bodies)


def test_the_body_of_an_old_file_is_brought_up_to_date(project, tmp_path):
    (tmp_path / "protos" / "Can.proto").write_text(
        "#VRML_SIM R2021a utf8\nPROTO Can [ ] { Shape { geometry Cylinder { } } }"
    )
    (can,) = project("Can { }").nodes[1:]
    assert (can.type, can.proto) == ("Pose", "Can")


@pytest.mark.parametrize(("world", "proto"), [("R2021a", "R2021a"), ("R2021a", "R2025a")])
def test_a_file_is_brought_up_to_date_once_and_by_its_own_release(project, tmp_path, world, proto):
    (tmp_path / "protos" / "Can.proto").write_text(
        f"#VRML_SIM {proto} utf8\nPROTO Can [ field MFNode on [] ]"
        " { Solid { boundingObject Cylinder { } children IS on } }"
    )
    (can,) = project("Can { on Shape { geometry Cone { } } }", release=world).nodes[1:]
    turned = proto == "R2021a"
    assert [node.type for node in can.walk()].count("Pose") == 2 * turned
    assert can.node("boundingObject").type == ("Pose" if turned else "Cylinder")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Robot { }", "line 2 column 1: expected PROTO, got 'Robot'"),
        ("PROTO Arm { }", "column 11: expected '[', got '{'"),
        ("PROTO Arm [ SFFloat x 1 ] { Group { } }", "column 13: expected 'field' or ']', got 'SF"),
        ("PROTO Arm [ field SFFloat x ] { Group { } }", "column 29: expected a value of 'x'"),
        ('PROTO Arm [ field SFFloat x "1" ] { Group { } }', "column 29: expected a value of SFFl"),
        ("PROTO Arm [ field SFString{", "column 27: expected the end of '{', got none"),
        ("PROTO Arm [ ] { Pose { scale IS size } }", "column 33: expected the name of a parameter"),
        (
            "PROTO Arm [ field SFFloat x 1 ] { Pose { name 1 translation IS x } }",
            "expected 3 numbers of SFVec3f as Pose.translation, got 1",
        ),
        ("PROTO Arm [ ] { NULL }", "expected a node as the body"),
        ("PROTO Arm [ ] { Group { }", "column 26: expected '}', got the end of the text"),
    ],
)
def test_a_wrong_file_is_an_error_with_line_and_column(project, text, message):
    with pytest.raises(FormatError) as caught:
        project("Arm { }", Arm=text)
    assert "Arm.proto: line 2 column" in str(caught.value)
    assert message in str(caught.value)


def test_a_value_that_does_not_fit_its_parameter_is_an_error(project):
    with pytest.raises(FormatError, match=r"line 2: .*Arm\.translation: expected 3 numbers"):
        project("Arm { translation 1 2 }", Arm=ARM)


def test_the_interface_of_a_proto_can_be_read(tmp_path):
    path = tmp_path / "Arm.proto"
    path.write_text(HEAD + ARM)
    proto = read_proto(ProtoSource(path, path.read_bytes))
    assert proto.name == "Arm"
    assert proto.parameters["name"] == ("SFString", "arm")
    assert proto.parameters["table"] == ("MFVec3f", [(-1, -1, 0), (1, 1, 0)])

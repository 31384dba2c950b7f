from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strapdown.webots
from strapdown.errors import DeviceError, FormatError
from strapdown.webots.file.vrml import parse
from strapdown.webots.file.world_file import carrier_of, devices_of, has_physics, read_world

TABLE = "The input values of a lookup table must be sorted in increasing order."
NEW_NORTH = (
    "The 'northDirection' field is deprecated, please use the 'coordinateSystem' field instead."
)
OLD_NORTH = (
    "The 'northDirection' field is deprecated, according to the 'coordinateSystem' field, the"
    " north is aligned along the x-axis."
)


def read(body, *, release="R2025a", **options):
    return read_world(f"#VRML_SIM {release} utf8\n{body}", **options)


def texts(world):
    return [text for _, text in world.warnings]


def only(body, **options):
    """The only node except WorldInfo, and the texts of its warnings."""
    world = read(body, **options)
    return world.nodes[-1], texts(world)


# ---- reading -------------------------------------------------------------------------------


def test_a_file_is_read_by_its_path(tmp_path):
    path = tmp_path / "w.wbt"
    path.write_bytes(b'\xef\xbb\xbf#VRML_SIM R2023b utf8\nRobot { name "caf\xc3\xa9" }')
    for source in (path, str(path)):
        world = read_world(source)
        assert (world.path, world.release) == (path, "R2023b")
        assert world.robots[0].get("name") == "café"


def test_a_missing_file_is_missing():
    with pytest.raises(FileNotFoundError):
        read_world("no such world.wbt")


@pytest.mark.parametrize("text", [b"", b"Robot { }", b"#VRML V2.0 utf8\n", b"#VRML_SIM utf8\n"])
def test_a_file_of_another_kind_is_refused(tmp_path, text):
    path = tmp_path / "w.wbt"
    path.write_bytes(text)
    with pytest.raises(FormatError, match=r"w\.wbt: line 1 column 1: expected '#VRML_SIM R2025a"):
        read_world(path)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "w.wbt"
    path.write_bytes(b"#VRML_SIM R2025a utf8\n\xff\xfe")
    with pytest.raises(FormatError, match="line 2: expected UTF-8, got the byte 0xff"):
        read_world(path)


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "w.wbt"
    path.write_text("#VRML_SIM R2025a utf8\nRobot {\n  name 3\n}")
    with pytest.raises(FormatError, match=r"w\.wbt: line 3 column 8: expected a value of SFStrin"):
        read_world(path)


def test_a_world_always_has_its_info():
    world = read("Robot { }")
    assert world.world_info.get("basicTimeStep") == 32
    assert [node.type for node in world.nodes] == ["WorldInfo", "Robot"]


@pytest.mark.parametrize("release", ["V8.5.0", "V7.0.2", "R2018a", "R2021a Revision 1", "R2025a"])
def test_the_release_is_kept_as_written(release):
    assert read("Robot { }", release=release).release == release


def test_the_first_info_counts():
    world = read('WorldInfo { title "a" } WorldInfo { title "b" }')
    assert world.world_info.get("title") == "a"


# ---- finding -------------------------------------------------------------------------------


def test_nodes_are_found_by_their_names():
    world = read(
        'DEF A Robot { children [ DEF B Solid { name "1" } ] }'
        ' DEF C Robot { children [ DEF B Solid { name "2" } DEF D Group { } ] }'
    )
    assert world.find_def("B").get("name") == "1"
    assert world.find_def("C.B").get("name") == "2"
    assert world.find_def("C.D").type == "Group"
    assert world.find_def("A.D") is None
    assert world.find_def("A.A") is None
    assert world.find_def("X") is None


def test_robots_on_robots_are_robots_with_devices_of_their_own():
    world = read(
        'Robot { name "outer" children [ Gyro { }'
        ' Robot { name "inner" children Compass { } } Accelerometer { } ] }'
        ' Unknown { children Robot { name "lost" } }'
    )
    assert [robot.get("name") for robot in world.robots] == ["outer", "inner"]
    outer, inner = world.robots
    assert [device.type for device in devices_of(outer)] == ["Gyro", "Accelerometer"]
    assert [device.type for device in devices_of(inner)] == ["Compass"]


def test_devices_come_in_the_order_of_their_tags():
    world = read("""
    Robot { children [
      Group { children [ LED { name "1" children Gyro { name "2" } } ] }
      Hinge2Joint {
        endPoint Solid { children [ GPS { name "6" } ] }
        device2 [ PositionSensor { name "5" } ]
        device [ RotationalMotor { name "3" } Brake { name "4" } ]
      }
      Shape { }
      Solid { children Pose { children [ Gadget { children Gyro { } } Compass { name "7" } ] } }
      SliderJoint { device LinearMotor { name "8" } endPoint Solid { } }
      Slot { endPoint Solid { children Camera { name "9" } } }
      Track { device LinearMotor { name "10" } }
      Propeller { device RotationalMotor { name "11" } }
    ] }""")
    names = [device.get("name") for device in devices_of(world.robots[0])]
    assert names == [str(number) for number in range(1, 12)]


def test_the_carrier_of_a_device_is_the_nearest_solid_above():
    robot = read("""
    Robot { name "r" physics Physics { } children [
      Pose { children Gyro { } }
      HingeJoint { device RotationalMotor { }
                   endPoint Solid { name "s" children [ Compass { children GPS { } } ] } } ] }
    """).robots[0]
    carriers = [carrier_of(device) for device in devices_of(robot)]
    assert [node.get("name") for node in carriers] == ["r", "r", "s", "compass"]
    assert [has_physics(node) for node in carriers] == [True, True, False, False]


def test_a_device_on_nothing_has_no_carrier():
    (gyro,) = parse("Gyro { }").nodes
    with pytest.raises(DeviceError, match="expected a Solid or Robot above <Gyro>"):
        carrier_of(gyro)


def test_a_copy_shares_no_node():
    world = read("DEF A Robot { children [ Gyro { resolution 0 } ] }")
    twin = world.copy()
    assert not set(world.walk()) & set(twin.walk())
    ((node, _),) = twin.warnings
    assert node is devices_of(twin.find_def("A"))[0]


def test_a_world_survives_writing_and_reading():
    world = read('DEF A Robot { name "x" children [ Gyro { } Gadget { power 1 } ] }')
    again = read_world(world.to_text())
    assert again.release == "R2025a"
    assert again.to_text() == world.to_text()
    assert again.find_def("A").get("name") == "x"


# ---- checks --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["InertialUnit", "Accelerometer", "Gyro", "Compass", "GPS"])
@pytest.mark.parametrize("value", ["0", "-2", "-0.5"])
def test_a_resolution_out_of_range_is_changed_with_a_warning(kind, value):
    node, said = only(f"{kind} {{ resolution {value} }}")
    assert node.get("resolution") == -1
    assert said == [
        "Invalid 'resolution' changed to -1. The value should be either -1 or positive."
    ]


@pytest.mark.parametrize("value", [-1, 0.01])
def test_a_resolution_in_range_stays(value):
    node, said = only(f"Gyro {{ resolution {value} }}")
    assert (node.get("resolution"), said) == (value, [])


def test_the_basic_time_step_must_be_positive():
    world = read("WorldInfo { basicTimeStep 0 }")
    assert world.world_info.get("basicTimeStep") == 32
    assert world.warnings == [
        (
            world.world_info,
            "Invalid 'basicTimeStep' changed to 32. The value should be positive.",
        )
    ]


@pytest.mark.parametrize(
    ("body", "field", "expected"),
    [
        ("WorldInfo { randomSeed -2 }", "randomSeed", 0),
        ("GPS { speedNoise -1 }", "speedNoise", 0),
        ("GPS { noiseCorrelation 1.5 }", "noiseCorrelation", 0),
        ("GPS { noiseCorrelation -0.5 }", "noiseCorrelation", 0),
        ("GPS { speedResolution 0 }", "speedResolution", -1),
        ('WorldInfo { gpsCoordinateSystem "mars" }', "gpsCoordinateSystem", "local"),
        ('WorldInfo { coordinateSystem "NED" }', "coordinateSystem", "ENU"),
    ],
)
def test_a_value_out_of_range_is_changed_with_one_warning(body, field, expected):
    node, said = only(body)
    assert node.get(field) == expected
    (text,) = said
    assert text.startswith(f"Invalid '{field}'")


@pytest.mark.parametrize(
    "body",
    [
        "WorldInfo { randomSeed -1 }",
        "GPS { speedNoise 0 noiseCorrelation 1 speedResolution -1 }",
        'WorldInfo { gpsCoordinateSystem "WGS84" coordinateSystem "NUE" }',
        "InertialUnit { noise 5 }",
    ],
)
def test_values_in_range_stay_without_a_word(body):
    assert only(body)[1] == []


def test_a_table_out_of_order_is_kept_and_warned_of_once_a_row():
    node, said = only("Gyro { lookupTable [ 0 0 0, 1 1 0, 1 2 0, 0.5 3 0, 4 4 0 ] }")
    assert [row[0] for row in node.get("lookupTable")] == [0, 1, 1, 0.5, 4]
    assert said == [TABLE, TABLE]


def test_what_has_no_effect_is_listed_once():
    world = read("Charger { } Group { children [ Charger { } Fluid { } ] } Wobble { } Wobble { }")
    assert [notice.partition(":")[0] for notice in world.notices] == ["Wobble", "Charger", "Fluid"]


# ---- old files and directions --------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "info", "system", "said"),
    [
        ("R2020a", "", "NUE", []),
        ("V8.5.0", "northDirection 1 0 0", "NUE", []),
        ("R2019b", "northDirection 0 0 1", "EUN", []),
        ("R2020a", "northDirection 0 1 1", "NUE", [OLD_NORTH]),
        ("R2020b", "", "ENU", []),
        ("R2020b", 'coordinateSystem "NUE" northDirection 0 0 1', "EUN", []),
        ("R2021a", 'coordinateSystem "NUE" northDirection 0 1 0', "NUE", []),
        ("R2021a", "northDirection 0 0 1", "ENU", [NEW_NORTH]),
        ("R2025a", 'coordinateSystem "NUE" northDirection 1 0 0', "NUE", [NEW_NORTH]),
    ],
)
def test_a_north_direction_becomes_a_coordinate_system_or_is_warned_of(release, info, system, said):
    world = read(f"WorldInfo {{ {info} }}", release=release)
    assert world.world_info.get("coordinateSystem") == system
    assert "northDirection" not in world.world_info.fields
    assert texts(world) == said


def test_the_gravity_of_an_old_file_is_the_length_of_its_vector():
    assert read("WorldInfo { gravity 3 -4 0 }", release="R2020a").world_info.get("gravity") == 5
    assert read("WorldInfo { }", release="R2020a").world_info.get("gravity") == 9.81


def test_vectors_can_be_kept():
    info = "WorldInfo { gravity 0 0 -9.81 northDirection 0 1 0 }"
    world = read(info, release="R2020a", keep_vectors=True)
    assert world.world_info.get("gravity") == (0, 0, -9.81)
    assert world.world_info.get("northDirection") == (0, 1, 0)
    assert texts(world) == []


def test_a_kept_north_along_gravity_is_dropped_with_a_warning():
    world = read("WorldInfo { northDirection 0 2 0 }", release="R2020a", keep_vectors=True)
    assert "northDirection" not in world.world_info.fields
    assert texts(world) == ["The 'northDirection' field is parallel to gravity, and not used."]


def test_the_samples_that_come_with_the_package_are_read_without_a_warning():
    folder = Path(strapdown.webots.__file__).parent / "worlds"
    worlds = [read_world(path) for path in sorted(folder.glob("*.wbt"))]
    assert len(worlds) >= 8
    assert [world.warnings for world in worlds if world.warnings] == []
    assert all(world.robots for world in worlds)


PIECES = ["Robot {", "WorldInfo {", "Gyro {", "Shape {", "}", "children [", "]", "gravity 0 0 -1"]
PIECES += ["northDirection 0 0 1", "basicTimeStep -1", "lookupTable [ 1 0 0 0 0 0 ]", "resolution"]
PIECES += ["geometry Cylinder { }", "boundingObject", "controllerArgs", '"a b"', "0", "Wobble {"]
PIECES += ["coordinateSystem", "gpsReference 1 2 3", "DEF A", "USE A", "NULL", "data", "1e308"]


@given(
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.sampled_from(["V8.5.0", "R2020a", "R2021a", "R2025a"]),
    st.booleans(),
)
def test_whatever_a_file_says_it_is_read_or_refused(body, release, keep_vectors):
    try:
        world = read(body, release=release, keep_vectors=keep_vectors)
    except FormatError as error:
        assert "line " in str(error)  # noqa: PT017 (some texts are right)
    else:
        assert read_world(world.to_text(), keep_vectors=True).to_text()
        for robot in world.robots:
            assert all(device.is_a("Device") for device in devices_of(robot))


def test_a_field_that_a_node_does_not_have_is_named_with_the_nearest():
    world = read_world(
        "#VRML_SIM R2025a utf8\nWorldInfo { basicTimestep 8 }\n"
        "Robot { children [\nGyro { colour 3 }\nGyro { colour 4 } Mystery { colour 5 } ] }"
    )
    assert world.notices == [
        "Mystery: line 5: no effect: unknown node",
        "WorldInfo: line 2: no effect: unknown field 'basicTimestep'; is it basicTimeStep?",
        "Gyro: line 4: no effect: unknown field 'colour'",
    ]

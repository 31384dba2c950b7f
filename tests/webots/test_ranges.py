"""Fields that are set to values out of their ranges, from files and from Python, by profile."""

from __future__ import annotations

import math

import pytest

from strapdown.errors import ValueRangeError
from strapdown.webots import Supervisor, World

RELEASES = ["R2025a", "R2023b", "R2021a", "R2020a"]
UNSORTED = "The input values of a lookup table must be sorted in increasing order."
WORLD = """#VRML_SIM R2025a utf8
DEF INFO WorldInfo { }
Robot {
  supervisor TRUE
  physics Physics { }
  children [
    DEF IU InertialUnit { %s }
    DEF ACC Accelerometer { %s }
    DEF GPS GPS { accuracy 0.1 }
    HingeJoint { device [ RotationalMotor { } DEF POS PositionSensor { } ] endPoint Solid { } }
  ]
}
"""
WRONG = [
    ("IU", "resolution", 0.0, -1.0, "-1. The value should be either -1 or positive."),
    ("ACC", "resolution", -2.0, -1.0, "-1. The value should be either -1 or positive."),
    ("GPS", "resolution", 0.0, -1.0, "-1. The value should be either -1 or positive."),
    ("GPS", "speedResolution", 0.0, -1.0, "-1. The value should be either -1 or positive."),
    ("GPS", "speedNoise", -0.1, 0.0, "0. The value should be either 0 or positive."),
    ("GPS", "noiseCorrelation", 1.5, 0.0, "0. The value should be between 0 and 1."),
    ("POS", "resolution", 0.0, -1.0, "-1. The value should be either -1 or positive."),
    ("INFO", "basicTimeStep", 0.0, 32.0, "32. The value should be positive."),
    ("INFO", "randomSeed", -2, 0, "0. The value should be either -1 or positive."),
    ("INFO", "coordinateSystem", "NED", "ENU", "ENU. The value should be NUE, ENU or EUN."),
    ("INFO", "gpsCoordinateSystem", "mars", "local", "local. The value should be local or WGS84."),
]


@pytest.fixture
def make(capsys):
    """Return a supervisor with enabled sensors, and discard its messages."""

    def supervisor(profile="documented", *, unit="", acc=""):
        made = Supervisor(WORLD % (unit, acc), profile=profile)
        capsys.readouterr()
        for device in made.devices.values():
            if hasattr(device, "enable"):
                device.enable(32)
        return made

    return supervisor


def field_of(robot, name, field):
    return robot.getFromDef(name).getField(field)


def test_a_release_puts_another_value_in_its_place(make, capsys, subtests):
    for profile in RELEASES:
        for row in WRONG:
            with subtests.test(profile=profile, row=row):
                name, field, value, becomes, words = row
                robot = make(profile)
                changed = field_of(robot, name, field)
                changed.value = value
                assert changed.value == becomes
                assert f"Invalid '{field}' changed to {words}\n" in capsys.readouterr().err
                assert robot.step(32) == 0


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [row[:3] for row in WRONG] + [("IU", "noise", -0.1), ("IU", "noise", 1.01)],
)
def test_the_manual_refuses_it_and_the_field_stays(make, capsys, name, field, value):
    robot = make()
    changed = field_of(robot, name, field)
    before = changed.value
    with pytest.raises(ValueError, match=f"expected {field} .*, got {value!r} for <DEF {name}"):
        changed.value = value
    assert changed.value == before
    assert robot.step(32) == 0
    assert capsys.readouterr().err == ""


def test_a_node_that_was_changed_by_hand_is_refused_as_well():
    world = World(WORLD % ("", ""))
    node = world.file.find_def("IU")
    node.set("noise", 2.0)
    with pytest.raises(ValueRangeError, match=r"expected noise in range \[0, 1\], got 2.0"):
        world.changed(node, "noise")


@pytest.mark.parametrize("noise", [0.0, 0.5, 1.0])
def test_the_manual_takes_a_noise_from_0_to_1(make, capsys, noise):
    robot = make()
    field_of(robot, "IU", "noise").setSFFloat(noise)
    robot.step(32)
    assert robot.getDevice("inertial unit").getNoise() == noise
    angles = robot.getDevice("inertial unit").getRollPitchYaw()
    assert all(map(math.isfinite, angles))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("profile", ["R2025a", "R2021a"])
@pytest.mark.parametrize("noise", [-0.01, 2.0])
def test_releases_take_any_noise(make, capsys, profile, noise):
    robot = make(profile, unit=f"noise {noise}")
    assert robot.getDevice("inertial unit").getNoise() == noise
    field_of(robot, "IU", "noise").setSFFloat(2 * noise)
    robot.step(32)
    assert robot.getDevice("inertial unit").getNoise() == 2 * noise
    assert "Invalid" not in capsys.readouterr().err


@pytest.mark.parametrize("noise", ["-0.1", "1.1", "7"])
def test_a_noise_out_of_range_in_a_file_is_none_for_the_manual_and_said(capsys, noise):
    robot = Supervisor(WORLD % (f"noise {noise}", ""))
    text = "Invalid 'noise' changed to 0. The value should be in range [0, 1].\n"
    assert capsys.readouterr().err == f'WARNING: InertialUnit "inertial unit": {text}'
    unit = robot.getDevice("inertial unit")
    assert unit.getNoise() == 0.0
    unit.enable(32)
    robot.step(32)
    assert unit.getQuaternion() == [0.0, 0.0, 0.0, 1.0]
    node = 'DEF NEW InertialUnit { name "new" noise 7 }'
    robot.getSelf().getField("children").importMFNodeFromString(-1, node)
    assert capsys.readouterr().err == f'WARNING: InertialUnit "new": {text}'


@pytest.mark.parametrize("profile", ["documented", *RELEASES])
def test_each_row_out_of_order_is_said_when_a_table_changes_and_only_then(make, capsys, profile):
    robot = make(profile, acc="lookupTable [ 0 0 0, 0 1 0, -1 2 0 ]")
    table = field_of(robot, "ACC", "lookupTable")
    for row, said in (([5.0, 3.0, 0.0], 2), ([5.0, 4.0, 0.0], 3), ([6.0, 5.0, 0.0], 3)):
        table.insertMFVec3f(-1, row)
        assert capsys.readouterr().err.count(UNSORTED) == said
    field_of(robot, "ACC", "xAxis").setSFBool(False)
    field_of(robot, "INFO", "gravity").setSFFloat(5.0)
    robot.step(32)
    assert UNSORTED not in capsys.readouterr().err
    assert robot.getDevice("accelerometer").getLookupTable()[-3:] == [6.0, 5.0, 0.0]


def test_a_late_device_is_checked_once(capsys):
    robot = Supervisor(WORLD % ("", ""), profile="R2025a", late_devices=True)
    capsys.readouterr()
    robot.getSelf().getField("children").importMFNodeFromString(
        -1, "Gyro { resolution 0 lookupTable [ 0 0 0, 0 1 0 ] }"
    )
    said = capsys.readouterr().err.splitlines()
    assert [line.partition('"gyro": ')[2] for line in said] == [
        "Invalid 'resolution' changed to -1. The value should be either -1 or positive.",
        UNSORTED,
    ]

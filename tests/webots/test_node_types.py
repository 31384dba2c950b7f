import pytest

from strapdown.errors import UnknownNameError
from strapdown.webots.file.node_types import NODE_TYPES, coerce, fields_of, is_a, is_known

NUMBERS = (
    "Robot 34, Accelerometer 35, Altimeter 36, Brake 37, Camera 38, Compass 39, Connector 40,"
    " Display 41, DistanceSensor 42, Emitter 43, GPS 44, Gyro 45, InertialUnit 46, LED 47,"
    " Lidar 48, LightSensor 49, LinearMotor 50, Pen 51, PositionSensor 52, Propeller 53, Radar 54,"
    " RangeFinder 55, Receiver 56, RotationalMotor 57, Skin 58, Speaker 59, TouchSensor 60,"
    " VacuumGripper 61"
)

DEFAULTS = {
    "WorldInfo": {
        "gravity": 9.81,
        "coordinateSystem": "ENU",
        "basicTimeStep": 32,
        "randomSeed": 0,
        "gpsCoordinateSystem": "local",
        "gpsReference": (0, 0, 0),
        "title": "",
        "info": [],
    },
    "Pose": {"translation": (0, 0, 0), "rotation": (0, 0, 1, 0), "children": []},
    "Transform": {"scale": (1, 1, 1)},
    "Solid": {
        "name": "solid",
        "model": "",
        "description": "",
        "contactMaterial": "default",
        "immersionProperties": [],
        "boundingObject": None,
        "physics": None,
        "locked": False,
        "radarCrossSection": 0,
        "recognitionColors": [],
        "translationStep": 0.01,
        "rotationStep": 0.261799387,
        "linearVelocity": (0, 0, 0),
        "angularVelocity": (0, 0, 0),
    },
    "Robot": {
        "name": "robot",
        "controller": "<generic>",
        "controllerArgs": [],
        "customData": "",
        "supervisor": False,
        "synchronization": True,
        "battery": [],
        "cpuConsumption": 10,
        "selfCollision": False,
        "window": "<generic>",
        "remoteControl": "<none>",
    },
    "Physics": {
        "density": 1000,
        "mass": -1,
        "centerOfMass": [],
        "inertiaMatrix": [],
        "damping": None,
    },
    "InertialUnit": {
        "name": "inertial unit",
        "noise": 0,
        "xAxis": True,
        "yAxis": True,
        "zAxis": True,
        "resolution": -1,
        "lookupTable": [],
    },
    "Accelerometer": {"name": "accelerometer", "lookupTable": [], "zAxis": True, "resolution": -1},
    "Gyro": {"name": "gyro", "xAxis": True},
    "Compass": {"name": "compass", "yAxis": True},
    "GPS": {
        "name": "gps",
        "type": "satellite",
        "accuracy": 0,
        "noiseCorrelation": 0,
        "resolution": -1,
        "speedNoise": 0,
        "speedResolution": -1,
    },
}


def test_devices_have_the_numbers_of_the_controller_interface(subtests):
    for pair in NUMBERS.split(", "):
        with subtests.test(pair=pair):
            name, number = pair.split()
            assert NODE_TYPES[name] == int(number)


def test_no_two_types_share_a_number():
    # A Supervisor is the Robot type of old releases.
    numbers = [number for name, number in NODE_TYPES.items() if name != "Supervisor"]
    assert len(set(numbers)) == len(numbers)
    assert set(numbers) == set(range(1, 88))


@pytest.mark.parametrize("kind", DEFAULTS)
def test_defaults_are_those_of_the_manual(kind):
    known = fields_of(kind)
    assert {name: known[name].default for name in DEFAULTS[kind]} == DEFAULTS[kind]


@pytest.mark.parametrize(
    ("kind", "base", "expected"),
    [
        ("Robot", "Solid", True),
        ("Robot", "Pose", True),
        ("Robot", "Group", True),
        ("InertialUnit", "Solid", True),
        ("InertialUnit", "Device", True),
        ("HingeJoint", "Joint", True),
        ("BallJoint", "Joint", True),
        ("RotationalMotor", "Device", True),
        ("RotationalMotor", "Motor", True),
        ("RotationalMotor", "Solid", False),
        ("PositionSensor", "Motor", False),
        ("Robot", "Device", False),
        ("Solid", "Robot", False),
        ("Cylinder", "Geometry", True),
        ("Wobble", "Wobble", True),
        ("Wobble", "Solid", False),
        ("Solid", "Wobble", False),
    ],
)
def test_types_are_derived_as_in_the_manual(kind, base, expected):
    assert is_a(kind, base) is expected


@pytest.mark.parametrize("name", ["Device", "Node", "Joint", "RectangleArena", ""])
def test_abstract_and_unknown_types_are_no_types_of_nodes(name):
    assert not is_known(name)


def test_the_fields_of_an_unknown_type_are_an_error_that_names_the_nearest():
    with pytest.raises(UnknownNameError, match="'InertialUnit'"):
        fields_of("InertialUnits")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("SFFloat", 1, 1.0),
        ("SFInt32", 3.0, 3),
        ("SFBool", False, False),
        ("SFVec2f", [1, 2], (1.0, 2.0)),
        ("MFFloat", 2, [2.0]),
        ("MFFloat", (1, 2), [1.0, 2.0]),
        ("MFString", "a", ["a"]),
        ("MFVec3f", [1, 2, 3, 4, 5, 6], [(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)]),
        ("MFVec3f", (1, 2, 3), [(1.0, 2.0, 3.0)]),
        ("MFVec3f", [(1, 2, 3)], [(1.0, 2.0, 3.0)]),
        ("MFInt32", [1, 2], [1, 2]),
        ("SFGravity", 9.81, 9.81),
        ("SFGravity", (0, -9.81, 0), (0.0, -9.81, 0.0)),
        ("SFNode", None, None),
    ],
)
def test_values_take_the_form_of_their_field(kind, value, expected):
    got = coerce(kind, value)
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value", "error"),
    [
        ("SFFloat", True, TypeError),
        ("SFFloat", "1", TypeError),
        ("SFFloat", (1, 2), TypeError),
        ("SFBool", 1, TypeError),
        ("SFString", 1, TypeError),
        ("SFNode", 1, TypeError),
        ("MFNode", [None], TypeError),
        ("SFVec3f", (1, 2), ValueError),
        ("SFVec3f", (1, 2, True), TypeError),
        ("SFRotation", (0, 0, 1), ValueError),
        ("MFVec3f", [1, 2, 3, 4], ValueError),
        ("MFVec3f", [(1, 2)], ValueError),
        ("SFInt32", 1.5, ValueError),
        ("SFInt32", 2**31, ValueError),
        ("SFInt32", float("nan"), ValueError),
        ("SFInt32", float("inf"), ValueError),
    ],
)
def test_values_that_do_not_fit_are_refused(kind, value, error):
    with pytest.raises(error, match="expected"):
        coerce(kind, value)

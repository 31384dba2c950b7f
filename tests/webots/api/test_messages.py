"""Messages to a controller on stderr, word for word."""

from __future__ import annotations

import math

import pytest

from strapdown.webots.api import (
    GPS,
    Accelerometer,
    Altimeter,
    Compass,
    Device,
    Gyro,
    InertialUnit,
    PositionSensor,
    Robot,
)

ALL = (
    "InertialUnit inertial unit", "Accelerometer accelerometer", "Gyro gyro", "Compass compass",
    "GPS gps",
)  # fmt: skip
FIVE = [
    (InertialUnit, "inertial_unit", "inertial unit"),
    (Accelerometer, "accelerometer", "accelerometer"),
    (Gyro, "gyro", "gyro"),
    (Compass, "compass", "compass"),
    (GPS, "gps", "gps"),
]
GETTERS = {
    "inertial_unit": {
        "getRollPitchYaw": "get_roll_pitch_yaw",
        "getQuaternion": "get_quaternion",
    },
    "gps": {
        "getValues": "get_values", "getSpeed": "get_speed", "getSpeedVector": "get_speed_vector",
    },
}  # fmt: skip


@pytest.fixture
def rob(robot, capsys):
    made = robot(*ALL)
    capsys.readouterr()
    return made


@pytest.fixture
def said(capsys):
    return lambda: capsys.readouterr().err


def getters(function):
    return GETTERS.get(function, {"getValues": "get_values"})


@pytest.mark.parametrize(("_kind", "function", "name"), FIVE)
def test_a_negative_period_changes_nothing(rob, said, _kind, function, name):
    device = rob.getDevice(name)
    device.enable(64)
    device.enable(-5)
    assert device.getSamplingPeriod() == 64
    assert said() == f"Error: wb_{function}_enable() called with negative sampling period.\n"


@pytest.mark.parametrize(("_kind", "function", "name"), FIVE)
def test_a_disabled_device_says_so_at_every_read(rob, said, _kind, function, name):
    device = rob.getDevice(name)
    for method, call in getters(function).items():
        line = (
            f"Error: wb_{function}_{call}() called for a disabled device! "
            f"Please use: wb_{function}_enable().\n"
        )
        for _ in range(2):
            value = getattr(device, method)()
            assert all(map(math.isnan, value if isinstance(value, list) else [value]))
            assert said() == line


def test_a_disabled_device_keeps_its_last_value(rob, said):
    gyro = rob.getDevice("gyro")
    gyro.enable(32)
    rob.step(32)
    gyro.sampling_period = None
    rob.step(32)
    assert gyro.getValues() == [32.0, 64.0, -32.0]
    assert "disabled" in said()


@pytest.mark.parametrize("five", FIVE)
@pytest.mark.parametrize("tag", ["other kind", "robot", "out of range"])
def test_a_wrong_tag_is_refused_by_every_function(rob, said, five, tag):
    kind, function, name = five
    index = ALL.index(next(each for each in ALL if each.endswith(name)))
    number = {"other kind": (index + 1) % 5 + 1, "robot": 0, "out of range": 9}[tag]
    missing = "Error: device with tag=9 not found.\n" if number == 9 else ""

    def refusal(call):
        return f"{missing}Error: wb_{function}_{call}(): invalid device tag.\n"

    device = kind(number, robot=rob)
    assert said() == ""
    device.enable(32)
    assert said() == refusal("enable")
    device.disable()
    assert said() == refusal("enable")
    assert device.getSamplingPeriod() == 0
    assert said() == refusal("get_sampling_period")
    for method, call in getters(function).items():
        if method == "getRollPitchYaw":
            assert device.getRollPitchYaw() == [0.0, 0.0, 0.0]
        elif method == "getSpeed":
            assert math.isnan(device.getSpeed())
        else:
            with pytest.raises(SystemError, match="NULL pointer access") as info:
                getattr(device, method)()
            assert isinstance(info.value, ValueError)
        assert said() == ("" if function == "accelerometer" else refusal(call))
    if function == "inertial_unit":
        assert device.getNoise() == 0.0
        assert said() == refusal("get_noise")
    elif function != "gps":
        assert device.getLookupTable() == []
        assert said() == refusal("get_lookup_table_size") + refusal("get_lookup_table")


def test_a_wrong_tag_gives_the_angles_of_the_unit_that_was_read_last(rob):
    unit = rob.getDevice("inertial unit")
    unit.enable(32)
    rob.step(32)
    unit._state.values = [0.0, 0.0, math.sin(0.3), math.cos(0.3)]
    assert unit.getRollPitchYaw() == pytest.approx([0.0, 0.0, 0.6])
    assert InertialUnit("gyro", robot=rob).getRollPitchYaw() == pytest.approx([0.0, 0.0, 0.6])


def test_any_device_of_a_tag_that_is_none_has_no_name(rob, said):
    device = Device(9, robot=rob)
    assert (device.getName(), device.getModel(), device.getNodeType()) == ("", "", 0)
    assert said() == "".join(
        f"Error: device with tag=9 not found.\nError: wb_device_{call}(): invalid device tag.\n"
        for call in ("get_name", "get_model", "get_node_type")
    )


def test_the_robot_itself_is_the_device_of_tag_0(rob, said):
    device = Device("rob", robot=rob)
    assert said() == ""
    assert (device._tag, device.name, device.model, device.node_type) == (0, "rob", "mymodel", 34)


def test_a_device_that_is_missing_is_tag_0(rob, said):
    gyro = Gyro("missing", robot=rob)
    assert gyro._tag == 0
    assert said() == (
        'Warning: "missing" device not found.\nError: wb_gyro_enable(): invalid device tag.\n'
    )


def test_a_device_without_a_name_is_refused(rob, said):
    Gyro("", robot=rob)
    assert said() == (
        "Error: wb_robot_get_device() called with NULL or empty argument.\n"
        "Error: wb_gyro_enable(): invalid device tag.\n"
    )


def test_a_device_that_the_robot_does_not_have_is_none(rob, said):
    assert rob.getDevice("nope") is None
    assert said() == 'Device "nope" was not found on robot "rob"\n'


@pytest.mark.parametrize("index", [-1, 5, 99])
def test_an_index_out_of_range_is_a_key_error_of_the_robots_name(rob, said, index):
    with pytest.raises(KeyError) as info:
        rob.getDeviceByIndex(index)
    assert info.value.args == ("rob",)
    assert said() == ("Error: The index of wb_robot_get_device_by_index() is out of the bounds.\n")


def test_a_device_of_an_unknown_kind_is_told_and_left_out(robot, said):
    rob = robot("Propeller prop", "Gyro gyro")
    assert said() == 'Unsupported device type: 53 for device named "prop"\n'
    assert list(rob.devices) == ["gyro"]
    assert rob.getNumberOfDevices() == 2


def test_another_version_of_the_simulator_is_told(robot, said):
    robot(version="R2023b rev1")
    assert said() == (
        "Warning: Webots [R2023b rev1] and libController [R2025a] versions are not the same for "
        "Robot 'rob'! Different versions can lead to undefined behavior.\n"
    )
    robot(version="R2025a-rev2")
    assert said() == ""


OLD_GETTERS = (
    "Accelerometer Altimeter Brake Camera Compass Connector Display DistanceSensor Emitter GPS"
    " Gyro InertialUnit LED Lidar LightSensor Motor Pen PositionSensor Radar RangeFinder Receiver"
    " Skin Speaker TouchSensor"
)


@pytest.mark.parametrize("kind", OLD_GETTERS.split())
def test_old_getters_say_what_to_use_instead(rob, said, kind):
    getter = getattr(rob, f"get{kind}")
    word = "Led" if kind == "LED" else kind
    text = f"DEPRECATION: Robot.get{word} is deprecated, please use Robot.getDevice instead.\n"
    assert getter("gyro") is rob.getDevice("gyro")
    assert said() == text
    assert getter("nope") is None
    assert said() == f'{text}Device "nope" was not found on robot "rob"\n'


@pytest.mark.parametrize("mode", [1, 3, -1])
def test_modes_other_than_simulation_and_remote_control_are_refused(rob, said, mode):
    rob.setMode(Robot.MODE_SIMULATION, "")
    rob.setMode(Robot.MODE_REMOTE_CONTROL, "")
    assert said() == ""
    rob.setMode(mode, "")
    assert said() == f"Error: wb_robot_set_mode() cannot set mode to {mode}.\n"


def test_the_battery_is_not_known(rob, said):
    assert math.isnan(rob.batterySensorGetValue())
    assert said() == (
        "Error: wb_robot_battery_sensor_get_value() called for a disabled device! "
        "Please use: wb_robot_battery_sensor_enable().\n"
    )
    rob.batterySensorEnable(-1)
    assert said() == (
        "Error: wb_robot_battery_sensor_enable() called with negative sampling period.\n"
    )
    rob.battery_sensor_sampling_period = 64
    assert (rob.batterySensorGetSamplingPeriod(), said()) == (64, "")
    rob.step(32)
    assert (0, "battery", (64,)) in rob.port.requests


def test_inert_devices_are_told_once_and_in_one_line(robot, said):
    rob = robot("Camera cam", "Gyro gyro", "LED led", "RotationalMotor motor", "Altimeter alt")
    assert said() == (
        'inert devices: Camera "cam", LED "led"; calls are accepted and nothing is simulated\n'
    )
    rob.getDevice("cam").enable(32)
    rob.step(32)
    assert said() == ""


def test_a_keyboard_is_told_once_as_inert(rob, said):
    assert rob.getKeyboard().getKey() == -1
    assert said() == (
        "Error: wb_keyboard_get_key() called for a disabled device! "
        "Please use: wb_keyboard_enable().\n"
    )
    rob.keyboard.enable(32)
    rob.keyboard.enable(64)
    assert said() == "inert call: Keyboard.enable() is accepted and nothing is simulated\n"
    assert rob.keyboard.getKey() == -1
    rob.keyboard.enable(-1)
    assert said() == "Error: wb_keyboard_enable() called with negative sampling period.\n"
    assert rob.keyboard.sampling_period == 64


@pytest.mark.parametrize("kind", [Altimeter, PositionSensor])
def test_a_wrong_tag_of_a_sensor_of_one_value_reads_not_a_number(rob, said, kind):
    assert math.isnan(kind(0, robot=rob).getValue())
    assert said() == f"Error: wb_{kind._function}_get_value(): invalid device tag.\n"

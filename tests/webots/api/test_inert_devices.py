"""Inert devices: calls are accepted, and nothing is simulated."""

from __future__ import annotations

import inspect
import math
import struct

import pytest

from strapdown.webots import api
from strapdown.webots.api import AnsiCodes, Keyboard, LidarPoint, MouseState, RangeFinder

INERT = [
    "Brake", "Camera", "Connector", "Display", "Emitter", "LED", "Lidar", "LightSensor", "Pen",
    "Radar", "RangeFinder", "Receiver", "Skin", "Speaker", "VacuumGripper",
]  # fmt: skip
SIZE = {"width": 4, "height": 2}
PARAMETERS = {
    "Camera": SIZE, "Display": SIZE, "RangeFinder": SIZE,
    "DistanceSensor": {"type": 2, "min": 0.0, "max": 1000.0, "aperture": 1.5708,
                       "lookup_table": [0.0, 0.0, 0.0, 0.1, 1000.0, 0.0]},
    "TouchSensor": {"type": 1, "lookup_table": []},
    "LightSensor": {"lookup_table": []},
}  # fmt: skip
ARGUMENTS = {
    "image": bytes(32), "data": b"", "filename": "f", "message": "m", "text": "t", "sound": "s",
    "engine": "pico", "language": "en-US", "font": "Arial", "x": 1, "y": 1, "width": 4,
    "index": 0, "layer": 0, "orientation": [0, 0, 1, 0], "position": [0, 0, 0], "p": 32,
    "sampling_period": 32, "loop": False, "blend": False, "absolute": True, "write": True,
}  # fmt: skip


@pytest.fixture
def device(robot):
    robots = []

    def make(kind):
        robots.append(robot(f"{kind} it", parameters=PARAMETERS))
        return robots[-1].getDevice("it")

    return make


@pytest.mark.parametrize("kind", INERT)
def test_every_method_is_accepted(device, kind):
    thing = device(kind)
    assert type(thing).__name__ == kind
    for name, method in inspect.getmembers(thing, callable):
        if not name.startswith("_"):
            needed = [
                each.name
                for each in inspect.signature(method).parameters.values()
                if each.default is each.empty
            ]
            lists = {"x": [1], "y": [1]} if "Polygon" in name else {}
            method(**{key: (ARGUMENTS | lists).get(key, 1) for key in needed})
    for name in dir(type(thing)):
        attribute = getattr(type(thing), name)
        if isinstance(attribute, property) and attribute.fget:
            getattr(thing, name)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("Camera", {"getWidth": 4, "getHeight": 2, "getImage": bytes(32), "hasRecognition": False,
                    "getImageArray": [[[0, 0, 0]] * 2] * 4, "getRecognitionObjects": [],
                    "getRecognitionSegmentationImage": bytes(32)}),
        ("RangeFinder", {"getWidth": 4, "getRangeImage": [math.inf] * 8,
                         "getRangeImageArray": [[math.inf] * 4] * 2}),
        ("Lidar", {"getPointCloud": [], "getNumberOfPoints": 4 * 512,
                   "getRangeImage": [math.inf] * (4 * 512), "getFrequency": 10.0}),
        ("Radar", {"getTargets": [], "getNumberOfTargets": 0}),
        ("Receiver", {"getQueueLength": 0, "getString": "", "getBytes": b"", "getInts": ()}),
        ("Emitter", {"getChannel": 0, "getRange": -1.0, "getBufferSize": -1}),
        ("DistanceSensor", {"getType": 2, "getMaxValue": 1000.0, "getAperture": 1.5708,
                            "getLookupTable": [0.0, 0.0, 0.0, 0.1, 1000.0, 0.0]}),
        ("TouchSensor", {"getType": 1, "getLookupTable": []}),
        ("LED", {"get": 0}),
        ("Connector", {"getPresence": -1, "isLocked": False}),
        ("VacuumGripper", {"getPresence": False, "isOn": False}),
        ("Speaker", {"isSpeaking": False, "getLanguage": "en-US", "getEngine": "pico"}),
        ("Skin", {"getBoneCount": 0}),
        ("Display", {"getWidth": 4, "getHeight": 2}),
    ],
)  # fmt: skip
def test_values_are_neutral(device, kind, values):
    thing = device(kind)
    assert {name: getattr(thing, name)() for name in values} == values


def test_a_light_sensor_reads_zero_after_the_first_period(robot):
    rob = robot("LightSensor it")
    sensor = rob.getDevice("it")
    sensor.enable(64)
    rob.step(32)
    assert math.isnan(sensor.getValue())
    rob.step(32)
    assert sensor.getValue() == sensor.value == 0.0


def test_what_is_set_can_be_read(device):
    led, camera, emitter = device("LED"), device("Camera"), device("Emitter")
    led.set(0xFF0000)
    camera.setFov(1)
    emitter.setChannel(api.Emitter.CHANNEL_BROADCAST)
    emitter.range = 2.5
    assert (led.get(), camera.fov, emitter.channel, emitter.getRange()) == (0xFF0000, 1.0, -1, 2.5)
    lidar, connector = device("Lidar"), device("Connector")
    lidar.enablePointCloud()
    connector.lock()
    connector.enablePresence(32)
    assert (lidar.isPointCloudEnabled(), connector.locked, connector.presence) == (True, True, 0)
    display = device("Display")
    assert display.imageLoad("a.png") != display.imageNew(b"", display.RGB, 0, 0)


def test_two_objects_of_a_device_share_what_was_set(robot):
    rob = robot("LED led")
    api.LED("led", robot=rob).set(1)
    assert rob.getDevice("led").get() == 1


def test_a_message_of_another_kind_is_refused(device, capsys):
    emitter = device("Emitter")
    capsys.readouterr()
    for message in ("text", b"bytes", [1.0, 2.0], (1, 2)):
        emitter.send(message)
    assert capsys.readouterr().err == ""
    emitter.send({1})
    assert capsys.readouterr().err == ("Emitter.send(): unsupported data type: <class 'set'>\n")


def test_the_old_name_of_getstring_says_so(device, capsys):
    receiver = device("Receiver")
    capsys.readouterr()
    assert receiver.getData() == ""
    assert capsys.readouterr().err == (
        "DEPRECATION: Receiver.getData is deprecated, please use Receiver.getString instead.\n"
    )


def test_pixels_and_depths_are_found_in_images():
    image = bytes(range(4 * 6))
    pixel = api.Camera
    assert pixel.imageGetBlue(image, 3, 1, 1) == 16
    assert pixel.imageGetGreen(image, 3, 1, 1) == 17
    assert pixel.imageGetRed(image, 3, 1, 1) == 18
    assert pixel.imageGetGray(image, 3, 1, 1) == 17
    assert RangeFinder.rangeImageGetDepth([0.0, 1.0, 2.0, 3.0], 2, 1, 1) == 3.0


def test_a_point_of_a_lidar_is_read_from_20_bytes():
    data = struct.pack("<fffif", 0, 0, 0, 0, 0) + struct.pack("<fffif", 1, 2, 3, 4, 0.5)
    point = LidarPoint(data, 1)
    assert (point.x, point.y, point.z, point.layer, point.time) == (1.0, 2.0, 3.0, 4, 0.5)


def test_nobody_uses_keyboard_mouse_and_joystick(robot):
    rob = robot()
    rob.keyboard.enable(32)
    rob.mouse.enable(32)
    rob.joystick.enable(32)
    assert rob.getKeyboard().getKey() == rob.keyboard.getKeyCode() == -1
    assert rob.keyboard.get_key() == ""
    state = rob.getMouse().getState()
    assert isinstance(state, MouseState)
    assert math.isnan(state.u)
    assert (state.left, state.middle, state.right) == (False, False, False)
    assert (rob.joystick.isConnected(), rob.joystick.getPressedButton()) == (False, -1)
    assert Keyboard(robot=rob).getSamplingPeriod() == 32
    rob.keyboard.sampling_period = None
    assert rob.keyboard.sampling_period == 0


def test_keys_have_their_numbers():
    assert [Keyboard.END, Keyboard.UP, Keyboard.PAGEDOWN, Keyboard.NUMPAD_HOME] == [
        312,
        315,
        367,
        375,
    ]
    assert [Keyboard.NUMPAD_LEFT, Keyboard.NUMPAD_DOWN, Keyboard.NUMPAD_END] == [376, 379, 382]
    assert (Keyboard.KEY, Keyboard.SHIFT) == (0xFFFF, 0x10000)
    assert (Keyboard.CONTROL, Keyboard.ALT) == (0x20000, 0x40000)


def test_colours_are_control_sequences():
    assert (AnsiCodes.RESET, AnsiCodes.BOLD, AnsiCodes.UNDERLINE) == (
        "\033[0m",
        "\033[1m",
        "\033[4m",
    )
    assert (AnsiCodes.BLACK_FOREGROUND, AnsiCodes.WHITE_FOREGROUND) == ("\033[30m", "\033[37m")
    assert (AnsiCodes.BLACK_BACKGROUND, AnsiCodes.WHITE_BACKGROUND) == ("\033[40m", "\033[47m")
    assert AnsiCodes.CLEAR_SCREEN == "\033[2J"

"""Cases of the test suite of Webots, executed by a controller."""

from __future__ import annotations

import math

import pytest

from strapdown.webots import Supervisor

B = 32
HEADER = "#VRML_SIM R2025a utf8\n"
TABLE = "lookupTable [ -1000 -1000 0, 1000 1000 0 ]"


def supervisor(devices, profile, *, system="NUE", robot=""):
    text = f"""{HEADER}DEF INFO WorldInfo {{ coordinateSystem "{system}" }}
    DEF ROBOT Robot {{ supervisor TRUE {robot} children [ {devices} ] }}"""
    return Supervisor(text, profile=profile)


@pytest.mark.parametrize("noise", [5e-6, 0.0])
@pytest.mark.parametrize("profile", ["documented", "R2025a", "R2021a", "R2020a"])
def test_inertial_unit(profile, noise):
    robot = supervisor(f"InertialUnit {{ noise {noise} }}", profile)
    unit = robot.getDevice("inertial unit")
    robot.step(B)
    unit.enable(B)
    if profile != "R2020a":
        assert unit.getNoise() == noise
    rotation = robot.getFromDef("ROBOT").getField("rotation")
    east = 1.5708 if profile == "documented" else -1.5708
    for turn, expected in [
        ([0, 1, 0, 0], [0, 0, 0]),
        ([0, 1, 0, -1.5708], [0, 0, east]),
        ([0, 1, 0, 1.5708], [0, 0, -east]),
        ([1, 0, 0, 1.5708], [1.5708, 0, 0]),
        ([1, 0, 0, -1.5708], [-1.5708, 0, 0]),
        ([0, 0, 1, 0.7854], [0, 0.7854, 0]),
        ([0, 0, 1, -0.7854], [0, -0.7854, 0]),
    ]:
        rotation.setSFRotation(turn)
        robot.step(B)
        assert unit.getRollPitchYaw() == pytest.approx(expected, abs=1e-3 if noise else 1e-4)


@pytest.mark.parametrize("profile", ["documented", "R2025a", "R2021a"])
def test_accelerometer_and_gyro_on_rotors(profile):
    rotor = """HingeJoint {{
      jointParameters HingeJointParameters {{ axis 0 1 0 }}
      device RotationalMotor {{ name "{0} motor" }}
      endPoint Solid {{ physics Physics {{ }} boundingObject Sphere {{ radius 0.01 }}
                        name "{0}" children [ {1} ] }} }}"""
    pair = f'Accelerometer {{ {TABLE} }} Accelerometer {{ name "tX" translation 0.1 0 0 }}'
    rotors = rotor.format("slow", pair) + rotor.format("fast", f"Gyro {{ {TABLE} }}")
    robot = supervisor(rotors, profile, robot="rotation 0 1 0 1.5708")
    for name, speed in (("slow motor", 3.1415927), ("fast motor", 10.0)):
        motor = robot.getDevice(name)
        motor.setPosition(math.inf)
        motor.setVelocity(speed)
    center, on_x, gyro = map(robot.getDevice, ("accelerometer", "tX", "gyro"))
    for sensor in (center, on_x, gyro):
        sensor.enable(B)
    for sensor in (center, gyro):
        table = sensor.getLookupTable()
        assert (len(table), table[3], table[5]) == (6, 1000, 0)
    robot.step(5 * B)
    assert center.getValues() == pytest.approx([0, 9.8, 0], abs=0.1)
    assert on_x.getValues() == pytest.approx([-1, 9.8, -0.1], abs=0.1)
    exact = [-0.98696, 9.81, 0] if profile == "documented" else [-0.9853, 9.81, -0.0496]
    assert on_x.getValues() == pytest.approx(exact, abs=1e-3)
    robot.step(35 * B)
    assert gyro.getValues() == pytest.approx([0, 10, 0], abs=1e-4)


@pytest.mark.parametrize("profile", ["documented", "R2025a", "R2021a", "R2020a"])
def test_compass(profile):
    robot = supervisor(
        "Compass { rotation 0 1 0 0.392699 }", profile, robot="rotation 0 1 0 0.916298"
    )
    compass = robot.getDevice("compass")
    compass.enable(B)
    robot.step(B)
    assert compass.getValues() == pytest.approx([0.258819, 0, 0.965926], abs=1e-4)
    robot.getFromDef("INFO").getField("coordinateSystem").setSFString("EUN")
    for _ in range(3):
        robot.step(B)
    assert compass.getValues() == pytest.approx([-0.965926, 0, 0.258819], abs=1e-4)


def test_enable_disable():
    names = "ABCD"
    gps = " ".join(f'GPS {{ name "{name}" }}' for name in names)
    robot = supervisor(gps, "R2025a")
    a, b, c, d = sensors = [robot.getDevice(name) for name in names]

    def seen():
        return [None if math.isnan(each.getValues()[0]) else each.getValues() for each in sensors]

    assert seen() == [None] * 4
    a.enable(3 * B)
    for sensor in (b, c, d):
        sensor.enable(B)
    old, new = [0, 0, 0], [1, 2, 3]
    robot.step(B)
    assert seen() == [None, old, old, old]
    robot.step(B)
    assert seen() == [None, old, old, old]
    robot.step(B)
    assert seen() == [old] * 4
    robot.getFromDef("ROBOT").getField("translation").setSFVec3f(new)
    b.disable()
    d.disable()
    robot.step(B)
    assert seen() == [old, old, new, old]
    robot.step(B)
    assert seen() == [old, old, new, old]
    robot.step(B)
    assert seen() == [new, old, new, old]


def test_begin_end():
    robot = supervisor("GPS { }", "R2025a")
    gps = robot.getDevice("gps")
    gps.enable(3 * B)
    robot.step(B)
    assert robot.stepBegin(4 * B) == 0
    assert math.isnan(gps.getSpeed())
    assert robot.stepEnd() == 0
    assert gps.sample_time == pytest.approx(0.096)
    robot.stepBegin(B)
    assert gps.sample_time == pytest.approx(0.096)
    assert robot.stepEnd() == 3 * B  # excess of the request before it
    assert gps.sample_time == pytest.approx(0.192)
    assert robot.getTime() == pytest.approx(0.192)

"""Every row of the table of differences in every profile, as seen by a controller."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.webots import DIFFERENCES, PROFILES, Robot, World

NAN = math.nan
HALF = math.pi / 2
X, Y, Z = np.eye(3)
STEP_S = 0.032


def by(profile, *values):
    """Return the value of documented, R2025a (and R2023b), R2021a or R2020a."""
    column = ["documented", "R2025a", "R2021a", "R2020a"]
    return values[column.index("R2025a" if profile == "R2023b" else profile)]


def about(axis, angle):
    return Rotation.from_rotvec(np.asarray(axis) * angle)


LEVEL = about(X, 0.0)
TURNED = about(Y, 0.6) * about(Z, 0.3) * about(X, 0.2)
ENU_FROM_NUE = Rotation.from_matrix(np.column_stack((Y, Z, X)))


def enabled(profile, devices, *, system="NUE", R=LEVEL, **options):
    """Return a robot at rest, rotated by R, or in motion, with every device enabled."""
    world = f"""#VRML_SIM R2025a utf8
    WorldInfo {{ coordinateSystem "{system}" }}
    Robot {{ {options.get("robot", "physics Physics { }")} children [ {devices} ] }}"""
    still = (0.0, 0.0, 0.0)
    q = R.as_quat()
    motion = options.get("move") or (lambda _t_s: (still, q, still, still, still, still))
    robot = Robot(world, profile=profile, motion=motion)
    for device in robot.devices.values():
        device.enable(32)
    return robot


def angles(profile, R=LEVEL, *, system="NUE", fields=""):
    robot = enabled(profile, f"InertialUnit {{ {fields} }}", system=system, R=R)
    robot.step(32)
    return robot.getDevice("inertial unit").getRollPitchYaw()


def values(profile, device, **options):
    """Return the three numbers of the only device after a step."""
    robot = enabled(profile, device, **options)
    robot.step(32)
    return robot.getDeviceByIndex(0).getValues()


def close(got, expected, *, atol=1e-9):
    np.testing.assert_allclose(got, expected, atol=atol)


def check_reference_frame(profile, _said):
    # looks along the x axis of an EUN world, which is west of its north, z
    close(angles(profile, system="EUN"), by(profile, (0, 0, -HALF), (0, 0, 0), *[(0, 0, HALF)] * 2))
    # looks east and lies on its side in an ENU world
    lying = (-HALF, 0, HALF), (0, 0, 0), (-HALF, 0, -HALF), (-HALF, 0, -HALF)
    close(angles(profile, system="ENU"), by(profile, *lying))


def check_angle_formulas(profile, _said):
    close(angles(profile, about(Y, 0.3)), by(profile, (0, 0, -0.3), *[(0, 0, 0.3)] * 3))
    if profile in {"R2025a", "R2023b"}:  # the formulas of ENU in all but NUE worlds
        close(angles(profile, about(Z, 0.3), system="ENU"), (0, 0, 0.3))
        close(angles(profile, about(Y, 0.3), system="EUN"), (0, 0.3, 0))
    if profile in {"R2021a", "R2020a"}:  # the formulas of NUE in all worlds
        close(angles(profile, ENU_FROM_NUE * about(X, 0.3), system="ENU"), (0, 0, 0.3))
        close(angles(profile, ENU_FROM_NUE * about(Z, 0.3), system="ENU"), (0.3, 0, 0))


def check_heading_east(profile, _said):
    _, _, yaw = angles(profile, about(Y, -HALF))
    close(yaw, by(profile, HALF, -HALF, -HALF, -HALF))


def check_pitch_sign(profile, _said):
    close(angles(profile, about(Z, 0.3))[1], 0.3)
    if profile in {"R2025a", "R2023b"}:
        close(angles(profile, about(Y, -0.3), system="ENU")[1], -0.3)
    if profile == "documented":
        close(angles(profile, ENU_FROM_NUE * about(Z, 0.3), system="ENU"), (0, 0.3, 0))


def check_noise(profile, _said):
    robot = enabled(profile, "InertialUnit { noise 0.01 lookupTable [ -4 -4 0.1, 4 4 0.1 ] }")
    unit = robot.getDevice("inertial unit")
    robot.step(32)
    if profile in {"R2025a", "R2023b", "R2021a"}:  # drawn for z first
        g_z, g_y, g_x = -1.0722486457310145, 0.7716707096747687, -1.0410355800804416
        turn = Rotation.from_euler("XYZ", np.array([g_x, g_y, g_z]) * 0.01 * math.pi)
        close(np.abs(np.dot(unit.getQuaternion(), turn.as_quat())), 1.0, atol=1e-14)
    count = 2000
    rows = [unit.getRollPitchYaw() for _ in range(count) if robot.step(32) == 0]
    sigma = by(profile, 0.01 * HALF, 0.01 * math.pi, 0.01 * math.pi, 0.0)
    np.testing.assert_allclose(np.std(rows, axis=0), sigma, rtol=4 / math.sqrt(2 * count))


def check_disabled_axis(profile, _said):
    corrupted = (0.2777, 0.0940, 0.6496)
    expected = by(profile, (0.2, 0.3, NAN), corrupted, (0.2, 0.3, 0.6), (0.2, 0.3, NAN))
    yaw_sign = np.array([1, 1, -1]) if profile == "documented" else 1
    close(angles(profile, TURNED, fields="yAxis FALSE") * yaw_sign, expected, atol=1e-4)
    corrupted = (0.5990, 0.4314, -0.1351)
    expected = by(profile, (0.2, NAN, 0.6), corrupted, (0.2, 0.3, 0.6), (0.2, NAN, 0.6))
    close(angles(profile, TURNED, fields="zAxis FALSE") * yaw_sign, expected, atol=1e-4)
    corrupted = (-0.0836, 0.2315, 0.6907)
    expected = by(profile, (NAN, 0.3, 0.6), corrupted, (0, 0.3, 0.6), (NAN, 0.3, 0.6))
    close(angles(profile, TURNED, fields="xAxis FALSE") * yaw_sign, expected, atol=1e-4)
    _, _, yaw = angles(profile, about(Y, 0.004), fields="xAxis FALSE")
    close(yaw, 0.0 if profile == "R2023b" else by(profile, -0.004, 0.004, 0.004, 0.004))


def check_resolution(profile, _said):
    fields = "resolution 0.1"
    if profile in {"documented", "R2020a"}:
        R = about(Y, -0.64) * about(Z, -0.33) * about(X, 0.17)
        expected = by(profile, (0.2, -0.3, 0.6), None, None, (0.2, -0.2, -0.5))
        close(angles(profile, R, fields=fields), expected)
    else:
        robot = enabled(profile, f"InertialUnit {{ {fields} }}", R=TURNED)
        robot.step(32)
        q = TURNED.as_quat()
        unit = robot.getDevice("inertial unit")
        close(unit.getQuaternion(), np.trunc(q / 0.1 + 0.5) * 0.1)
    if profile == "R2020a":  # the switches of pitch and yaw are mixed up
        roll, pitch, yaw = angles(profile, TURNED, fields=f"{fields} zAxis FALSE")
        close((roll, pitch, yaw), (0.2, -214748364.8, 0.6))
        close(angles(profile, TURNED, fields="resolution 0.5 yAxis FALSE"), (0, 0.3, -1073741824))


def check_z_axis(profile, _said):
    tilted = about(Z, 0.3)
    pitch = by(profile, NAN, 0.3, 0.3, NAN)
    close(angles(profile, tilted, fields="zAxis FALSE"), (0, pitch, 0))
    corrupted = (0.5990, 0.4314, -0.1351)
    expected = by(profile, (0.2, NAN, -0.6), corrupted, (0.2, 0.3, 0.6), (0.2, NAN, 0.6))
    close(angles(profile, TURNED, fields="zAxis FALSE"), expected, atol=1e-4)
    if profile == "R2020a":
        got = angles(profile, tilted, fields="zAxis FALSE resolution 0.5")
        close(got, (0, -2147483648 * 0.5, 0))


def set_from_python(profile, field, value):
    """Return the value of a field of an InertialUnit that a Supervisor has set."""
    ask = World("#VRML_SIM R2025a utf8\nRobot { children [ DEF U InertialUnit { } ] }",
                profile=profile).supervision.call  # fmt: skip
    unit = ask("from_def", "U")
    ask("set", unit, field, None, value)
    return ask("get", unit, field, None)


def check_resolution_of_zero(profile, said):
    changed = "Invalid 'resolution' changed to -1."
    close(angles(profile, about(Z, 0.333), fields="resolution 0"), (0, 0.333, 0))
    assert said().count(changed) == 1
    if profile == "documented":
        with pytest.raises(ValueRangeError, match="either -1 or positive, got 0"):
            set_from_python(profile, "resolution", 0.0)
    else:
        assert set_from_python(profile, "resolution", 0.0) == -1
        assert said().count(changed) == 1


def check_noise_of_one(profile, said):
    sigma = by(profile, HALF, math.pi, math.pi, 0.0)
    drawn = np.array([-1.0410355800804416, 0.7716707096747687, -1.0722486457310145])
    robot = enabled(profile, "InertialUnit { noise 1.0 }")
    robot.step(32)
    unit = robot.getDevice("inertial unit")
    if profile in {"R2025a", "R2023b", "R2021a"}:  # as of 0.01, and a hundred times as much
        turn = Rotation.from_euler("XYZ", drawn * sigma)
        close(np.abs(np.dot(unit.getQuaternion(), turn.as_quat())), 1.0, atol=1e-12)
    elif profile == "R2020a":
        close(unit.getRollPitchYaw(), (0, 0, 0))
    else:  # a pitch of 0.01 is that of 1.0 in small
        small = enabled(profile, "InertialUnit { noise 0.01 }")
        small.step(32)
        roll, pitch, yaw = 100 * np.array(small.getDevice("inertial unit").getRollPitchYaw())
        turn = about(Y, -yaw) * about(Z, pitch) * about(X, roll)
        close(np.abs(np.dot(unit.getQuaternion(), turn.as_quat())), 1.0, atol=1e-9)
    assert said() == ""
    if profile == "documented":
        with pytest.raises(ValueRangeError, match="range"):
            set_from_python(profile, "noise", 1.5)
        close(angles(profile, fields="noise 1.5"), (0, 0, 0))
        assert said().count("Invalid 'noise' changed to 0.") == 1
    else:
        assert set_from_python(profile, "noise", 1.5) == 1.5


def check_rounding(profile, _said):
    # north is -0.25 along y, which is 1.25 steps
    got = values(profile, "Compass { resolution 0.2 }", R=about(Z, math.asin(0.25)))
    close(got[1], by(profile, -0.2, 0.0, 0.0, 0.0))
    got = values(profile, "Accelerometer { resolution 0.3 }", R=about(X, math.pi))
    close(got[1], by(profile, -9.9, -9.6, -9.6, -9.6))


def check_lookup_table(profile, _said):
    roll, _, _ = angles(profile, about(X, 0.3), fields="lookupTable [ -4 -8 0, 4 8 0 ]")
    close(roll, by(profile, 0.6, 0.3, 0.3, 0.6))


def check_getters(profile, _said):
    unit = enabled(profile, "InertialUnit { noise 0.25 }").getDevice("inertial unit")
    for name in ("getQuaternion", "getNoise", "quaternion", "noise"):
        assert hasattr(unit, name) == by(profile, True, True, True, False)
    if profile != "R2020a":  # from the start
        assert unit.getNoise() == unit.noise == 0.25


def quaternion(profile, fields=""):
    robot = enabled(profile, f"InertialUnit {{ {fields} }}", R=about(Y, 3.5))
    robot.step(32)
    return robot.getDevice("inertial unit").getQuaternion()


def check_quaternion(profile, _said):
    if profile == "R2020a":
        return
    # a turn by more than half: the greatest component is positive, w is not
    y, w = math.sin(1.75), math.cos(1.75)
    released = (0, y, 0, w)
    close(quaternion(profile), by(profile, (0, -y, 0, -w), released, released, None))
    length = np.linalg.norm(quaternion(profile, "resolution 0.3"))
    close(length, by(profile, 1.0, 0.9, 0.9, None))


def starting(t_s):
    """Accelerate along x by 2 according to the velocity, and by 7 according to the acceleration."""
    zero = (0.0, 0.0, 0.0)
    return zero, (0.0, 0.0, 0.0, 1.0), (2.0 * t_s, 0.0, 0.0), zero, (7.0, 0.0, 0.0), zero


def spinning(t_s):
    """Turn about y at 3 rad/s."""
    zero = (0.0, 0.0, 0.0)
    q = (0.0, math.sin(1.5 * t_s), 0.0, math.cos(1.5 * t_s))
    return zero, q, zero, (0.0, 3.0, 0.0), zero, zero


def check_accelerometer(profile, _said):
    got = values(profile, "Accelerometer { }", move=starting)
    close(got, by(profile, (7, 9.81, 0), *[(2, 9.81, 0)] * 3))
    # a sensor at 0.1 of x that is merged in: R2020a takes the point 0 of the body
    merged = """Solid { translation 0.1 0 0 physics Physics { }
                        children Accelerometer { } }"""
    got = values(profile, merged, move=spinning)
    # first difference: from rest to omega x r, in the axes of the end
    spun = (0.0, 9.81, -0.1 * 3.0 / STEP_S)
    close(got, by(profile, (-0.9, 9.81, 0), spun, spun, (0, 9.81, 0)))


def check_accelerometer_without_physics(profile, said):
    robot = enabled(profile, "Accelerometer { }", robot="", move=starting)
    nothing = (NAN, NAN, NAN)
    for _ in range(3):
        robot.step(32)
        got = robot.getDevice("accelerometer").getValues()
        close(got, by(profile, (7, 9.81, 0), nothing, nothing, (0, 9.81, 0)))
    text = "Parent of Accelerometer node has no physics: measurements may be wrong."
    assert said().count(text) == by(profile, 1, 1, 1, 0)


def check_random_numbers(profile, _said):
    def noisy(*names):
        device = 'Accelerometer {{ name "{}" lookupTable [ -99 -99 0.1, 99 99 0.1 ] }}'
        robot = enabled(profile, " ".join(map(device.format, names)))
        robot.step(32)
        return {name: (robot.getDevice(name).getValues()[1] / 9.81 - 1.0) / 0.1 for name in names}

    alone, both = noisy("a"), noisy("b", "a")
    if profile == "documented":
        assert both["a"] == alone["a"] != both["b"]
    else:  # three draws a refresh, of which that of y is the second; tag after tag
        close(alone["a"], 0.7716707096747687)
        close(both["b"], 0.7716707096747687)
        close(both["a"], -1.7797925328713822)


def check_before_first_sample(profile, said):
    robot = enabled(profile, "InertialUnit { } Accelerometer { } Gyro { } Compass { } GPS { }")
    unit, *vectors, gps = robot.devices.values()
    for got in (unit.getRollPitchYaw(), *(each.getValues() for each in (*vectors, gps))):
        close(got, [NAN] * 3)
    if profile != "R2020a":
        close(unit.getQuaternion(), [NAN] * 4)
    close([gps.getSpeed(), *gps.getSpeedVector()], [NAN] * 4)
    assert said() == ""


ROWS = {
    "reference frame of InertialUnit": check_reference_frame,
    "angle formulas": check_angle_formulas,
    "yaw when heading east, NUE": check_heading_east,
    "pitch sign": check_pitch_sign,
    "noise of InertialUnit": check_noise,
    "disabled axis of InertialUnit": check_disabled_axis,
    "resolution of InertialUnit": check_resolution,
    "`zAxis FALSE` (the page: the second element is NaN)": check_z_axis,
    "`resolution 0` (the page: in the list of valid values, not in the text)": (
        check_resolution_of_zero
    ),
    "`noise 1.0` (the page: not in the range [0, 1), but defined as pi/2)": check_noise_of_one,
    "rounding": check_rounding,
    "lookupTable of InertialUnit": check_lookup_table,
    "getQuaternion, getNoise": check_getters,
    "quaternion": check_quaternion,
    "Accelerometer": check_accelerometer,
    "Accelerometer without Physics": check_accelerometer_without_physics,
    "random numbers": check_random_numbers,
    "value before the first sample": check_before_first_sample,
}


def test_a_profile_does_what_its_column_says(capsys, subtests):
    for profile, (topic, check) in itertools.product(PROFILES, ROWS.items()):
        with subtests.test(profile=profile, topic=topic):
            check(profile, lambda: capsys.readouterr().err)


def test_the_table_has_these_rows_and_a_column_for_each_profile():
    assert [row.topic for row in DIFFERENCES] == list(ROWS)
    assert set(DIFFERENCES[0]._fields) == {"topic", *PROFILES}
    assert all(text for row in DIFFERENCES for text in row)

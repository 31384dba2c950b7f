"""InertialUnits of every profile, against worked numbers, SciPy and the original client."""

from __future__ import annotations

import itertools
import json
import math
import struct

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import UnknownNameError
from strapdown.geometry.euler import from_quaternion
from strapdown.webots.devices.inertial_units import inertial_angles
from strapdown.webots.devices.measurement_factory import make_measurement
from strapdown.webots.devices.random_streams import DeviceStream, MarsagliaStream
from strapdown.webots.file.conventions import AXES, Conventions
from strapdown.webots.file.node import Node
from strapdown.webots.profiles import PROFILES
from strapdown.webots.scene.scene import BodyStates

HALF = math.pi / 2
NAN = math.nan
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def about(axis, angle):
    return Rotation.from_rotvec(np.array(axis) * angle)


def compass(roll, pitch, yaw):
    """Return the rotation from forward, up and right to north, up and east."""
    return about(Y, -yaw) * about(Z, pitch) * about(X, roll)


def zyx(roll, pitch, yaw):
    return about(Z, yaw) * about(Y, pitch) * about(X, roll)


def frame(conventions):
    n, u = np.array(conventions.north), np.array(conventions.up)
    return Rotation.from_matrix(np.column_stack((n, u, np.cross(n, u))))


def make_conventions(system="NUE", *, north=None, up=None, gravity=9.81):
    own_north, own_up = AXES[system]
    up = own_up if up is None else up
    return Conventions(
        system,
        up=up,
        north=own_north if north is None else north,
        gravity_world=tuple(-gravity * component for component in up),
    )


def states_of(*rotations):
    R = np.stack([np.atleast_2d(each.as_matrix()) for each in rotations])
    zeros = np.zeros((len(R), 3))
    return BodyStates(R, zeros, zeros, zeros, zeros, zeros)


def no_draw():
    raise AssertionError("nothing here has noise")


def make_unit(
    profile="documented",
    system="NUE",
    *,
    conventions=None,
    gaussian=no_draw,
    options=None,
    **fields,
):
    warnings = []
    measurement = make_measurement(
        Node("InertialUnit", fields),
        profile=PROFILES[profile],
        conventions=conventions or make_conventions(system),
        gaussian=gaussian,
        warn=warnings.append,
        has_physics=True,
        has_body=True,
        **(options or {}),
    )
    measurement.warnings = warnings
    return measurement


def sample(unit, R):
    (row,) = unit.prepare(states_of(R))
    return unit.take(row, 0.032)


def angles_of(profile, R, system="NUE", **kwargs):
    values = sample(make_unit(profile, system, **kwargs), R)
    if profile in {"documented", "R2020a"}:
        return values[:3]
    return inertial_angles(PROFILES[profile], system, values)


# By the manual.

DIRECTIONS = {
    "NUE": make_conventions("NUE"),
    "EUN": make_conventions("EUN"),
    "ENU": make_conventions("ENU"),
    "north is -z": make_conventions("NUE", north=(0.0, 0.0, -1.0)),
    "north is -x": make_conventions("NUE", north=(-1.0, 0.0, 0.0)),
}


@pytest.mark.parametrize(
    ("system", "axes", "R", "expected"),
    [
        ("NUE", "FUR", Rotation.identity(), (0, 0, 0)),
        ("NUE", "FUR", about(Y, -HALF), (0, 0, HALF)),  # east
        ("NUE", "FUR", about(Y, HALF), (0, 0, -HALF)),  # west
        ("NUE", "FUR", about(X, 0.3), (0.3, 0, 0)),
        ("NUE", "FUR", about(Z, 0.3), (0, 0.3, 0)),
        ("ENU", "FLU", Rotation.identity(), (0, 0, HALF)),
        ("ENU", "FLU", about(Z, HALF), (0, 0, 0)),
        ("ENU", "FLU", about(Y, -0.3), (0, 0.3, HALF)),
        ("ENU", "FUR", Rotation.identity(), (-HALF, 0, HALF)),
    ],
)
def test_the_documented_angles(system, axes, R, expected):
    assert angles_of("documented", R, system, options={"axes": axes}) == pytest.approx(
        expected, abs=1e-12
    )


@pytest.mark.parametrize("conventions", DIRECTIONS.values(), ids=DIRECTIONS)
@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (about(X, 0.3), (0.3, 0, 0)),
        (about(Z, 0.3), (0, 0.3, 0)),
        (about(Y, -HALF), (0, 0, HALF)),
    ],
)
def test_the_documented_angles_hold_for_any_north_and_up(conventions, turn, expected):
    got = angles_of("documented", frame(conventions) * turn, conventions=conventions)
    assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("system", "axes", "q"),
    [
        ("NUE", "FUR", (0.050362191, -0.276489453, 0.171221984, 0.944298821)),
        ("ENU", "FUR", (0.721186225, 0.273474787, 0.394334581, 0.499602050)),
        ("EUN", "FUR", (-0.085460779, -0.863227667, 0.156683673, 0.472212533)),
        ("ENU", "FLU", (0.156683673, -0.085460779, 0.472212533, 0.863227667)),
    ],
)
def test_the_documented_quaternion_is_that_of_the_angles(system, axes, q):
    turn = frame(make_conventions(system)) * compass(0.2, 0.3, 0.6)
    R = turn * about(X, -HALF) if axes == "FLU" else turn
    values = sample(make_unit("documented", system, options={"axes": axes}), R)
    assert values[:3] == pytest.approx((0.2, 0.3, 0.6), abs=1e-12)
    assert values[3:] == pytest.approx(q, abs=1e-9)


def test_the_documented_resolution_rounds_each_angle():
    got = angles_of("documented", compass(0.17, -0.33, 1.767), resolution=0.2)
    assert got == pytest.approx((0.2, -0.4, 1.8), abs=1e-12)


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("xAxis", (NAN, 0.3, 0.6)),
        ("yAxis", (0.2, 0.3, NAN)),
        ("zAxis", (0.2, NAN, 0.6)),
    ],
)
def test_a_documented_axis_that_is_off_is_no_number_and_changes_nothing_else(axis, expected):
    R = compass(0.2, 0.3, 0.6)
    values = sample(make_unit("documented", **{axis: False, "resolution": 1e-9}), R)
    assert values[:3] == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert values[3:] == sample(make_unit("documented"), R)[3:]


def test_the_documented_lookup_table_comes_before_the_resolution_and_skips_disabled_axes():
    draws = iter([0.5, -1.0])
    unit = make_unit(
        "documented",
        gaussian=lambda: next(draws),
        lookupTable=[(-4, -8, 0.1), (4, 8, 0.1)],
        resolution=0.01,
        zAxis=False,
    )
    values = sample(unit, compass(0.2, 0.3, 0.6))
    # roll 0.4 * 1.05 and yaw 1.2 * 0.9
    assert values[:3] == pytest.approx((0.42, NAN, 1.08), abs=1e-12, nan_ok=True)
    assert next(draws, None) is None


attitudes = st.tuples(
    st.floats(-math.pi, math.pi), st.floats(-HALF, HALF), st.floats(-math.pi, math.pi)
)
mountings = st.sampled_from(["FUR", "FLU"])


@given(angles=attitudes, conventions=st.sampled_from(list(DIRECTIONS.values())), axes=mountings)
def test_documented_angles_come_back_and_agree_with_the_quaternion(angles, conventions, axes):
    R = frame(conventions) * compass(*angles)
    R = R * about(X, -HALF) if axes == "FLU" else R
    values = sample(make_unit(conventions=conventions, options={"axes": axes}), R)
    tolerance = 1e-12 if abs(angles[1]) < HALF - 1e-3 else 1e-6
    if abs(angles[1]) < HALF - 1e-8:
        difference = np.subtract(values[:3], angles)
        difference = (difference + math.pi) % (2 * math.pi) - math.pi
        np.testing.assert_allclose(difference, 0.0, atol=tolerance)
    q = np.array(values[3:])
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
    assert q[3] >= 0
    assert abs(q @ R.as_quat()) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(Rotation.from_quat(q).as_matrix(), R.as_matrix(), atol=2e-15)


@given(angles=attitudes)
def test_a_documented_yaw_is_a_compass_and_a_pitch_the_slope_of_the_nose(angles):
    assume(abs(angles[1]) < HALF - 1e-6)
    R = compass(*angles)
    _, pitch, yaw = angles_of("documented", R)
    north, up, east = R.as_matrix()[:, 0]
    assert math.remainder(yaw - math.atan2(east, north), 2 * math.pi) == pytest.approx(0, abs=1e-9)
    assert math.copysign(1, pitch) == math.copysign(1, up)


@given(angles=attitudes)
def test_the_documented_angles_are_those_of_the_geometry_floor(angles):
    assume(abs(angles[1]) < HALF - 1e-6)
    values = sample(make_unit(), compass(*angles))
    expected = from_quaternion(values[3:], "webots_documented")
    difference = (np.subtract(values[:3], expected) + math.pi) % (2 * math.pi) - math.pi
    np.testing.assert_allclose(difference, 0.0, atol=1e-9)


@pytest.mark.parametrize("pitch", [HALF, -HALF])
def test_with_the_nose_at_the_zenith_a_documented_yaw_is_the_whole_turn(pitch):
    roll, _, yaw = angles_of("documented", compass(0.2, pitch, 0.5))
    assert roll == 0.0
    assert yaw == pytest.approx(0.5 - math.copysign(0.2, pitch), abs=1e-12)


def test_tiny_documented_turns_are_exact_in_the_quaternion_too():
    values = sample(make_unit(), about(Y, 1e-9))
    assert values[2] == pytest.approx(-1e-9, rel=1e-12)
    assert values[4] == pytest.approx(5e-10, rel=1e-12)


def test_documented_noise_has_its_size_on_each_angle_and_reaches_the_quaternion():
    unit = make_unit(gaussian=DeviceStream(1, "r", "iu").gaussian, noise=0.01)
    count = 200_000
    R = np.broadcast_to(np.eye(3), (count, 3, 3))
    zeros = np.zeros((count, 3))
    states = BodyStates(R, zeros, zeros, zeros, zeros, zeros)
    values = unit.batch(states, np.full(count, 0.032))
    np.testing.assert_allclose(values[:, :3].std(axis=0), 0.015708, rtol=0.01)
    np.testing.assert_allclose(values[:, :3].mean(axis=0), 0.0, atol=4 * 0.0157 / math.sqrt(count))
    np.testing.assert_allclose(np.linalg.norm(values[:, 3:], axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(
        from_quaternion(values[:, 3:], "webots_documented"), values[:, :3], atol=1e-12
    )


@given(angles=attitudes, noise=st.sampled_from([1e-3, 0.1, 1.0]), seed=st.integers(0, 99))
def test_noisy_documented_angles_stay_in_range_and_agree_with_the_quaternion(angles, noise, seed):
    conventions = DIRECTIONS["EUN"]
    unit = make_unit(
        conventions=conventions,
        gaussian=DeviceStream(seed, "r", "iu").gaussian,
        noise=noise,
        options={"axes": "FLU"},
    )
    values = sample(unit, frame(conventions) * compass(*angles) * about(X, -HALF))
    roll, pitch, yaw = values[:3]
    assert abs(roll) <= math.pi
    assert abs(yaw) <= math.pi
    assert abs(pitch) <= HALF
    rebuilt = frame(conventions) * compass(roll, pitch, yaw) * about(X, -HALF)
    assert abs(np.dot(rebuilt.as_quat(), values[3:])) == pytest.approx(1.0, abs=4e-15)


def test_documented_noise_is_drawn_for_roll_pitch_and_yaw_in_that_order():
    draws = iter([1.0, 2.0, -3.0])
    got = angles_of("documented", compass(0, 0, 0), gaussian=lambda: next(draws), noise=0.02)
    assert got == pytest.approx(np.array([1, 2, -3]) * 0.02 * HALF, abs=1e-15)


# By the releases.


@pytest.mark.data
def test_the_client_of_r2025a_gives_the_recorded_angles_bit_for_bit(data_dir):
    text = (data_dir / "webots" / "quaternion_to_rpy_r2025a.json").read_text("utf-8")
    cases = json.loads(text)["cases"]
    assert len(cases) == 231
    for case in cases:
        expected = [NAN if angle is None else angle for angle in case["roll_pitch_yaw"]]
        got = inertial_angles(PROFILES["R2025a"], case["coordinateSystem"], case["quaternion"])
        assert struct.pack("3d", *got) == struct.pack("3d", *expected), case


def test_angles_before_the_first_sample_are_no_numbers():
    for system in ("NUE", "ENU", "EUN"):
        assert all(map(math.isnan, inertial_angles(PROFILES["R2025a"], system, [NAN] * 4)))


RELEASES = ["R2025a", "R2023b", "R2021a", "R2020a"]
DIGITS = 1.5708, 0.7854


def test_a_unit_on_a_turned_robot_reads_the_turn(subtests):
    for profile, noise, (axis, angle, expected) in itertools.product(
        ["documented", *RELEASES],
        [5e-6, 0.0],
        [
            (Y, 0.0, (0, 0, 0)),
            (Y, -1.5708, (0, 0, -1.5708)),
            (Y, 1.5708, (0, 0, 1.5708)),
            (X, 1.5708, (1.5708, 0, 0)),
            (X, -1.5708, (-1.5708, 0, 0)),
            (Z, 0.7854, (0, 0.7854, 0)),
            (Z, -0.7854, (0, -0.7854, 0)),
        ],
    ):
        with subtests.test(profile=profile, noise=noise, axis=axis, angle=angle, expected=expected):
            check_turn(profile, noise, axis, angle, expected)


def check_turn(profile, noise, axis, angle, expected):
    got = angles_of(profile, about(axis, angle), gaussian=MarsagliaStream(0).gaussian, noise=noise)
    sign = -1 if profile == "documented" else 1
    expected = (expected[0], expected[1], sign * expected[2])
    assert got == pytest.approx(expected, abs=1e-3 if noise else 1e-4)


OFF_ENU = {
    "": (0.2, 0.3, 0.6),
    "x": (0.1028, 0.3334, 0.5934),
    "y": (0.2202, 0.6388, 0.0731),
    "z": (0.1117, -0.0382, 0.6585),
    "xy": (0, 0.6707, 0),
    "xz": (0, 0, 0.6707),
    "yz": (0.6707, 0, 0),
    "xyz": (0, 0, 0.6707),
}


@pytest.mark.parametrize("profile", ["R2025a", "R2023b"])
@pytest.mark.parametrize("off", OFF_ENU)
def test_a_disabled_axis_corrupts_the_others_in_enu(profile, off):
    fields = {f"{axis}Axis": False for axis in off}
    got = angles_of(profile, zyx(0.2, 0.3, 0.6), "ENU", **fields)
    assert got == pytest.approx(OFF_ENU[off], abs=1e-4)


@pytest.mark.parametrize(
    ("off", "expected"),
    [
        ("x", (-0.0836, 0.2315, 0.6907)),
        ("y", (0.2777, 0.0940, 0.6496)),
        ("z", (0.5990, 0.4314, -0.1351)),
    ],
)
def test_a_disabled_axis_corrupts_the_others_in_nue(off, expected):
    R = about(Y, 0.6) * about(Z, 0.3) * about(X, 0.2)
    got = angles_of("R2025a", R, "NUE", **{f"{off}Axis": False})
    assert got == pytest.approx(expected, abs=1e-4)


def test_a_disabled_yaw_of_a_mounted_unit_shares_out_the_pitch():
    got = angles_of("R2025a", about(Y, 0.3) * about(X, 1.5708), "ENU", yAxis=False)
    assert got == pytest.approx((1.5934, 0.15, 0.1534), abs=1e-4)


@pytest.mark.parametrize("axis", [X, Y, Z])
def test_a_disabled_axis_sees_half_turns(axis):
    # about the axis itself; the switch of z loses the second component, that of y the third
    switch = {X: "xAxis", Y: "zAxis", Z: "yAxis"}[axis]
    q = sample(make_unit("R2025a", **{switch: False}), about(axis, math.pi))
    assert np.abs(q) == pytest.approx((0, 0, 1, 0), abs=1e-15)  # no axis left: z
    other = {X: "yAxis", Y: "xAxis", Z: "xAxis"}[axis]
    q = sample(make_unit("R2025a", **{other: False}), about(axis, math.pi))
    assert np.abs(q[:3]) == pytest.approx(axis, abs=1e-15)


def test_a_disabled_axis_does_not_turn_a_unit_at_rest():
    q = sample(make_unit("R2025a", xAxis=False), Rotation.identity())
    assert q == [0, 0, 0, 1]


@pytest.mark.parametrize(("profile", "seen"), [("R2025a", 0.004), ("R2023b", 0.0)])
def test_small_turns_vanish_behind_a_disabled_axis_until_r2023b(profile, seen):
    _, _, yaw = angles_of(profile, about(Z, 0.004), "ENU", xAxis=False)
    assert yaw == pytest.approx(seen, abs=1e-12)
    _, _, yaw = angles_of(profile, about(Z, 0.006), "ENU", xAxis=False)
    assert yaw == pytest.approx(0.006, abs=1e-12)


def test_r2023b_takes_nearly_half_turns_for_half_turns():
    q = sample(make_unit("R2023b", "ENU", xAxis=False), about(Z, math.pi - 0.004))
    assert np.abs(q) == pytest.approx((0, 0, 1, 0), abs=1e-12)


@pytest.mark.parametrize("profile", ["R2025a", "R2023b"])
def test_the_resolution_rounds_the_components_of_the_quaternion(profile):
    q = sample(make_unit(profile, "ENU", resolution=0.1), zyx(0.2, 0.3, 0.6))
    assert q == pytest.approx((0.1, 0.2, 0.3, 0.9), abs=1e-15)
    assert np.linalg.norm(q) == pytest.approx(0.97468, abs=1e-5)
    got = inertial_angles(PROFILES[profile], "ENU", q)
    assert got == pytest.approx((0.321751, 0.304693, 0.664774), abs=1e-6)
    mirrored = about(Z, -0.6) * about(Y, -0.3) * about(X, -0.2)
    q = sample(make_unit(profile, "ENU", resolution=0.1), mirrored)
    assert q == pytest.approx((0, 0, -0.2, 0.9), abs=1e-15)
    got = inertial_angles(PROFILES[profile], "ENU", q)
    assert got == pytest.approx((0, 0, -0.372988), abs=1e-6)


NOISY_Q = (-0.016552415952, 0.011842360887, -0.017036730714, 0.999647700853)


@pytest.mark.parametrize("profile", ["R2025a", "R2021a"])
def test_noise_is_drawn_for_the_last_axis_first(profile):
    unit = make_unit(profile, gaussian=MarsagliaStream(0).gaussian, noise=0.01)
    assert sample(unit, Rotation.identity()) == pytest.approx(NOISY_Q, abs=1e-11)


def test_noise_can_be_drawn_for_the_first_axis_first():
    options = {"noise_order": "xyz"}
    unit = make_unit("R2025a", gaussian=MarsagliaStream(0).gaussian, noise=0.01, options=options)
    g = np.array([-1.0722486457310145, 0.7716707096747687, -1.0410355800804416])
    expected = Rotation.from_euler("XYZ", 0.01 * math.pi * g).as_quat()
    assert sample(unit, Rotation.identity()) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("noise", [-0.01, 2.0])
def test_a_release_takes_any_noise(noise):
    unit = make_unit("R2025a", gaussian=lambda: 1.0, noise=noise)
    expected = Rotation.from_euler("XYZ", [noise * math.pi] * 3).as_quat()
    got = np.array(sample(unit, Rotation.identity()))
    assert abs(got @ expected) == pytest.approx(1.0, abs=1e-15)
    assert unit.warnings == []


@pytest.mark.parametrize(
    ("pitch", "noise", "expected"),
    [
        (0.0, 0.01, (0.0315, 0.0314, 0.0314)),
        (1.4, 0.01, (0.188, 0.031, 0.188)),
        (0.0, 1.0, (1.77, 0.74, 1.77)),
    ],
)
def test_the_noise_of_r2025a_has_its_size(pitch, noise, expected):
    count = 200_000
    normals = iter(np.random.default_rng(5).standard_normal(3 * count).tolist())
    unit = make_unit("R2025a", "ENU", gaussian=lambda: next(normals), noise=noise)
    R = np.broadcast_to(about(Y, pitch).as_matrix(), (count, 3, 3))
    zeros = np.zeros((count, 3))
    q = unit.batch(BodyStates(R, zeros, zeros, zeros, zeros, zeros), np.full(count, 0.032))
    got = from_quaternion(q, "webots_enu").std(axis=0)
    np.testing.assert_allclose(got, expected, rtol=0.016)


@given(angles=attitudes, system=st.sampled_from(["NUE", "ENU"]))
def test_angles_of_r2025a_come_back(angles, system):
    assume(abs(angles[1]) < HALF - 1e-3)
    roll, pitch, yaw = angles
    enu = system == "ENU"
    R = zyx(*angles) if enu else about(Y, yaw) * about(Z, pitch) * about(X, roll)
    got = angles_of("R2025a", R, system)
    difference = (np.subtract(got, angles) + math.pi) % (2 * math.pi) - math.pi
    # a turn whose cosine rounds to 1 is the identity
    np.testing.assert_allclose(difference, 0.0, atol=2e-8)


def test_r2025a_ignores_gravity_and_the_lookup_table():
    conventions = make_conventions("ENU", gravity=0.0)
    table = [(0, 5, 0.5), (1, 6, 0.5)]
    R = zyx(0.2, 0.3, 0.6)
    for profile in ("R2025a", "R2021a"):
        got = sample(make_unit(profile, conventions=conventions, lookupTable=table), R)
        assert got == sample(make_unit(profile, "ENU"), R)


@pytest.mark.parametrize(
    ("system", "expected"), [("NUE", (0, 0, 0)), ("ENU", (-HALF, 0, -HALF)), ("EUN", (0, 0, HALF))]
)
def test_r2021a_multiplies_its_frame_on_the_wrong_side(system, expected):
    got = angles_of("R2021a", Rotation.identity(), system)
    assert got == pytest.approx(expected, abs=1e-12)


def test_r2021a_takes_out_the_roll_and_has_no_switch_for_pitch_and_yaw():
    R = about(Y, 0.6) * about(Z, 0.3) * about(X, 0.2)
    assert angles_of("R2021a", R, xAxis=False) == pytest.approx((0, 0.3, 0.6), abs=1e-12)
    got = angles_of("R2021a", R, yAxis=False, zAxis=False)
    assert got == pytest.approx((0.2, 0.3, 0.6), abs=1e-12)


WRONG_SIDE = {  # attitude: angles for n=x, n=z, n=-z, n=-x (u=y) and n=y (u=z)
    "level": (Rotation.identity(), [(0, 0, 0)] * 5),
    "roll": (
        about(X, 0.3),
        [(0.3, 0, 0), (0, 0.3, 0), (0, -0.3, 0), (-0.3, 0, 0), (0, 0, 0.3)],
    ),
    "pitch": (
        about(Z, 0.3),
        [(0, 0.3, 0), (-0.3, 0, 0), (0.3, 0, 0), (0, -0.3, 0), (0.3, 0, 0)],
    ),
    "turned": (about(Y, 0.3), [*[(0, 0, 0.3)] * 4, (0, 0.3, 0)]),
    "east": (about(Y, -1.57079), [*[(0, 0, -HALF)] * 4, (0, -HALF, 0)]),
}
FRAMES = [(X, Y), (Z, Y), ((0.0, 0.0, -1.0), Y), ((-1.0, 0.0, 0.0), Y), (Y, Z)]
SYSTEMS = {0: "NUE", 1: "EUN", 4: "ENU"}  # frames that exist in R2021a


def test_the_frame_on_the_wrong_side_mixes_the_angles(subtests):
    for attitude, number in itertools.product(WRONG_SIDE, range(5)):
        with subtests.test(attitude=attitude, number=number):
            check_wrong_side(attitude, number)


def check_wrong_side(attitude, number):
    turn, expected = WRONG_SIDE[attitude]
    north, up = FRAMES[number]
    conventions = make_conventions("NUE", north=north, up=up)
    R = frame(conventions) * turn
    got = angles_of("R2020a", R, conventions=conventions)
    assert got == pytest.approx(expected[number], abs=1e-4)
    if number in SYSTEMS:
        got = angles_of("R2021a", R, SYSTEMS[number])
        assert got == pytest.approx(expected[number], abs=1e-4)


def test_r2020a_knows_no_up_without_gravity():
    conventions = make_conventions("NUE", gravity=0.0)
    got = angles_of("R2020a", about(X, 0.1), conventions=conventions)
    assert all(map(math.isnan, got))


def test_r2020a_looks_up_enabled_angles_and_has_no_other_noise():
    draws = iter([1.0, -1.0])
    got = angles_of(
        "R2020a",
        about(Y, 0.6) * about(Z, 0.3) * about(X, 0.2),
        gaussian=lambda: next(draws),
        noise=0.5,
        lookupTable=[(-4, -8, 0.1), (4, 8, 0.1)],
        yAxis=False,
    )
    assert got == pytest.approx((0.44, 0.54, NAN), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("off", "expected"),
    [
        ("", (0.2, 0.3, 0.6)),
        ("x", (NAN, 0.3, 0.6)),
        ("y", (0.2, 0.34, -2147483648 * 0.1)),
        ("z", (0.2, -2147483648 * 0.1, 0.64)),
        ("yz", (0.2, NAN, NAN)),
    ],
)
def test_r2020a_mixes_up_which_angles_are_rounded(off, expected):
    R = about(Y, 0.64) * about(Z, 0.34) * about(X, 0.2)
    got = angles_of("R2020a", R, resolution=0.1, **{f"{axis}Axis": False for axis in off})
    assert got == pytest.approx(expected, abs=1e-12, nan_ok=True)


# Batches.


def test_a_batch_is_its_refreshes_one_after_another(subtests):
    for profile, fields in itertools.product(
        PROFILES,
        [
            {},
            {"noise": 0.02},
            {"noise": 0.02, "lookupTable": [(-4, -8, 0.1), (4, 8, 0.1)]},
            {"lookupTable": [(-4, -8, 0.1), (0, 0, 0), (4, 8, 0.1)], "resolution": 0.01},
            {"yAxis": False, "resolution": 0.01},
            {"xAxis": False, "noise": 0.02, "resolution": 0.25},
            {"xAxis": False, "yAxis": False, "zAxis": False},
        ],
    ):
        with subtests.test(profile=profile, fields=fields):
            check_batch(profile, fields)


def check_batch(profile, fields):
    rng = np.random.default_rng(7)
    rotations = [
        *Rotation.random(20, rng),
        Rotation.identity(),
        *(about(axis, angle) for axis, angle in itertools.product((X, Y, Z), (HALF, math.pi))),
        about(Z, 1e-3),
    ]
    conventions = make_conventions("EUN")
    stream = DeviceStream(2, "r", "iu")
    make = {"conventions": conventions, "gaussian": stream.gaussian, **fields}
    states = states_of(*rotations)
    unit = make_unit(profile, **make)
    expected = [unit.take(row, 0.032) for row in unit.prepare(states)]
    stream.reset()
    unit = make_unit(profile, **make)
    got = [
        unit.batch(BodyStates(*(a[part] for a in states)), np.full(len(states[0][part]), 0.032))
        for part in (slice(0, 9), slice(9, None))
    ]
    np.testing.assert_array_equal(np.concatenate(got), expected)
    assert np.concatenate(got).shape == (len(rotations), unit.width)


def test_a_batch_draws_in_either_order():
    states = states_of(*Rotation.random(5, np.random.default_rng(3)))
    for order in ("zyx", "xyz"):
        one, other = (
            make_unit(
                "R2025a",
                gaussian=MarsagliaStream(8).gaussian,
                options={"noise_order": order},
                noise=0.1,
            )
            for _ in range(2)
        )
        expected = [one.take(row, 0.032) for row in one.prepare(states)]
        np.testing.assert_array_equal(other.batch(states, np.full(5, 0.032)), expected)


@pytest.mark.parametrize("profile", PROFILES)
def test_changed_fields_count_after_configure(profile):
    node = Node("InertialUnit")
    unit = make_measurement(
        node,
        profile=PROFILES[profile],
        conventions=make_conventions(),
        gaussian=no_draw,
        warn=print,
        has_physics=True,
        has_body=True,
    )
    node.set("resolution", 0.5)
    assert sample(unit, about(X, 0.1))[0] > 0.04
    unit.configure()
    assert sample(unit, about(X, 0.1))[0] == 0.0


@pytest.mark.parametrize(
    ("profile", "options"),
    [("documented", {"axes": "RFU"}), ("R2025a", {"noise_order": "yxz"})],
)
def test_an_unknown_mounting_or_order_is_refused(profile, options):
    with pytest.raises(UnknownNameError, match="nearest names"):
        make_unit(profile, options=options)

"""Accelerometer, Gyro and Compass of every profile, on motions whose derivatives are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import UnknownNameError
from strapdown.webots.devices.measurement_factory import make_measurement
from strapdown.webots.devices.random_streams import DeviceStream
from strapdown.webots.file.conventions import AXES, Conventions
from strapdown.webots.file.node import Node
from strapdown.webots.profiles import PROFILES
from strapdown.webots.scene.scene import BodyStates

NAN = math.nan
STEP = 0.032
DIFFERENCING = ["R2025a", "R2023b", "R2021a", "R2020a"]
NO_PHYSICS = "Parent of Accelerometer node has no physics: measurements may be wrong."
NO_BODY = "this node or its parents requires a 'physics' field to be functional."


def make_conventions(system):
    north, up = AXES[system]
    return Conventions(system, up, north, tuple(-9.81 * component for component in up))


def no_draw():
    raise AssertionError("nothing here has noise")


def make_device(node, profile, *, system="NUE", gaussian=no_draw, warn=print, **has):
    if node.parent is None:
        Node("Robot", {"children": [node]})
    return make_measurement(
        node,
        profile=PROFILES[profile],
        conventions=make_conventions(system),
        gaussian=gaussian,
        warn=warn,
        has_physics=has.get("has_physics", True),
        has_body=has.get("has_body", True),
    )


def accelerometer(profile, *, node=None, fields=None, **kwargs):
    return make_device(node or Node("Accelerometer", fields), profile, **kwargs)


def states_of(count=1, R=None, **vectors):
    R = np.eye(3) if R is None else R
    names = BodyStates._fields[1:]
    arrays = [np.broadcast_to(vectors.get(name, (0.0, 0.0, 0.0)), (count, 3)) for name in names]
    return BodyStates(np.broadcast_to(R, (count, 3, 3)), *arrays)


def refresh(device, states, dt_s=STEP):
    return [device.take(row, dt_s) for row in device.prepare(states)]


def rotor(times_s, point, rate=math.pi):
    """Return the states of a point of a rotor about y, without accelerations."""
    turns = Rotation.from_rotvec(np.outer(times_s, (0.0, rate, 0.0)))
    omega = np.array([0.0, rate, 0.0])
    position = turns.apply(point)
    velocity = np.cross(omega, position)
    zeros = np.zeros_like(position)
    return BodyStates(
        turns.as_matrix(), position, velocity, zeros + omega, np.cross(omega, velocity), zeros
    )


def unknown(states):
    return states._replace(acceleration=np.full_like(states.position, NAN))


# Accelerometer.


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("system", "expected"), [("NUE", (0, 9.81, 0)), ("ENU", (0, 0, 9.81))])
def test_a_still_accelerometer_reads_plus_g_on_the_up_axis(profile, system, expected):
    for row in refresh(accelerometer(profile, system=system), states_of(3)):
        assert row == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_falling_accelerometer_reads_nothing(profile):
    times = STEP * np.arange(1, 4)
    states = states_of(3, acceleration=(0.0, -9.81, 0.0))
    velocity = np.outer(times, (0.0, -9.81, 0.0))
    rows = refresh(accelerometer(profile), states._replace(velocity=velocity))
    np.testing.assert_allclose(rows, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("point", "differenced"),
    [
        ((0.0, 0.0, 0.0), (0, 9.81, 0)),
        ((0.1, 0.0, 0.0), (-0.9853, 9.81, -0.0496)),
        ((0.0, 0.1, 0.0), (0, 9.81, 0)),
        ((0.0, 0.0, 0.1), (0.0496, 9.81, -0.9853)),
        ((0.1, 0.05, 0.0), (-0.9853, 9.81, -0.0496)),
        ((0.2, 0.05, 0.0), (-1.9706, 9.81, -0.0991)),
        ((0.1, 0.15, 0.0), (-0.9853, 9.81, -0.0496)),
        ((0.1, 0.05, 0.1), (-0.9357, 9.81, -1.0349)),
    ],
)
def test_an_accelerometer_on_a_rotor(point, differenced):
    states = rotor(STEP * np.arange(1, 6), point, 3.1415927)
    for profile in DIFFERENCING:
        got = refresh(accelerometer(profile), states)[-1]
        assert got == pytest.approx(differenced, abs=1e-4)
    centripetal = (-point[0] * math.pi**2, 9.81, -point[2] * math.pi**2)
    got = refresh(accelerometer("documented"), states)[-1]
    assert got == pytest.approx(centripetal, abs=1e-6)


def test_a_release_first_reads_the_whole_velocity_as_acceleration():
    states = states_of(2, velocity=(1.0, 0.0, 0.0))
    device = accelerometer("R2025a", system="ENU")
    assert refresh(device, states, 0.064) == [
        pytest.approx((15.625, 0, 9.81)),
        pytest.approx((0, 0, 9.81)),
    ]
    assert (
        refresh(accelerometer("documented", system="ENU"), states, 0.064)
        == [pytest.approx((0, 0, 9.81))] * 2
    )


@pytest.mark.parametrize("profile", DIFFERENCING)
def test_a_release_forgets_no_velocity_and_takes_a_reset_for_an_endless_period(profile):
    device = accelerometer(profile, system="ENU")
    moving = states_of(1, velocity=(1.0, 0.0, 0.0))
    refresh(device, moving)
    device.reset()
    (row,) = device.prepare(moving)
    device.start(row)
    assert refresh(device, states_of(1), math.inf) == [pytest.approx((0, 0, 9.81))]
    assert refresh(device, moving) == [pytest.approx((31.25, 0, 9.81))]


def test_without_accelerations_the_documented_device_differences_from_where_it_was_enabled():
    device = accelerometer("documented", system="ENU")
    states = unknown(rotor(STEP * np.arange(4), (0.1, 0.0, 0.0)))
    rows = device.prepare(states)
    for _ in range(2):  # enabled twice: no state is kept
        device.start(rows[0])
        got = [device.take(row, STEP) for row in rows[1:]]
        change = np.diff(states.velocity, axis=0) / STEP + (0, 0, 9.81)
        expected = np.einsum("nji,nj->ni", states.R_world_from_body[1:], change)
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_a_documented_device_takes_differences_only_where_no_acceleration_is_known():
    states = rotor(STEP * np.arange(6), (0.1, 0.0, 0.0))
    changes = states.acceleration.copy()
    for lost in (1, 4):
        changes[lost] = (states.velocity[lost] - states.velocity[lost - 1]) / STEP
        states.acceleration[lost] = NAN
    changes[:, 2] += 9.81
    expected = np.einsum("nji,nj->ni", states.R_world_from_body, changes)
    for sliced in ([6], [1, 1, 1, 1, 1, 1], [2, 3, 1]):  # for any number of states known ahead
        device = accelerometer("documented", system="ENU")
        got, first = [], 0
        for count in sliced:
            part = BodyStates(*(array[first : first + count] for array in states))
            got += refresh(device, part)
            first += count
        np.testing.assert_allclose(got, expected, atol=1e-12)
        batch = accelerometer("documented", system="ENU").batch(states, np.full(6, STEP))
        np.testing.assert_allclose(batch, expected, atol=1e-12)


def test_a_documented_device_has_no_spike_after_a_reset_or_an_unknown_start():
    device = accelerometer("documented", system="ENU")
    moving = unknown(states_of(1, velocity=(1.0, 0.0, 0.0)))
    assert refresh(device, moving) == [pytest.approx((0, 0, 9.81))]
    refresh(device, unknown(states_of(1)))
    device.reset()
    assert refresh(device, moving, math.inf) == [pytest.approx((0, 0, 9.81))]


def test_without_physics_each_profile_has_its_own_reading():
    R = Rotation.from_rotvec([0.3, 0, 0]).as_matrix()
    states = states_of(2, R=R, velocity=(1.0, 0.0, 0.0), acceleration=(2.0, 0.0, 0.0))
    gravity = (0, 9.81 * math.cos(0.3), -9.81 * math.sin(0.3))
    for profile, expected, texts in [
        ("documented", (2.0, *gravity[1:]), [NO_PHYSICS]),
        ("R2025a", (NAN, NAN, NAN), [NO_PHYSICS]),
        ("R2023b", (NAN, NAN, NAN), [NO_PHYSICS]),
        ("R2021a", (NAN, NAN, NAN), [NO_PHYSICS]),
        ("R2020a", gravity, []),
    ]:
        said = []
        device = accelerometer(profile, has_physics=False, warn=said.append)
        assert refresh(device, states) == [pytest.approx(expected, nan_ok=True)] * 2
        batch = device.batch(states, np.full(2, STEP))
        np.testing.assert_allclose(batch, [expected] * 2)
        assert said == texts


# The point that R2020a measures at.


def merged(*, joint=False, outer_physics=True):
    """Return an accelerometer on a Solid that belongs to the body of the robot around it."""
    sensor = Node("Accelerometer", {"translation": (0.0, 0.0, 0.1)})
    inner = Node(
        "Solid",
        {
            "translation": (0.1, 0.05, 0.0),
            "rotation": (0.0, 1.0, 0.0, math.pi / 2),
            "children": [Node("Group", {"children": [sensor]})],
            "physics": Node("Physics"),
        },
    )
    child = Node("HingeJoint", {"endPoint": inner}) if joint else inner
    physics = Node("Physics") if outer_physics else None
    Node("Robot", {"physics": physics, "children": [child]})
    return sensor


def test_r2020a_measures_at_the_translation_of_the_sensor_in_the_merged_body():
    body_R, omega = Rotation.from_rotvec([0.1, 0.7, 0.2]), np.array([0.3, 2.0, -1.0])
    R = body_R * Rotation.from_rotvec([0, math.pi / 2, 0])
    # the sensor is at inner + Ry(pi/2) (0, 0, 0.1) of the body
    position = body_R.apply([0.2, 0.05, 0.0])
    states = states_of(
        1,
        R=R.as_matrix(),
        velocity=np.cross(omega, position),
        angular_velocity=omega,
    )
    wrong = np.cross(omega, body_R.apply([0.0, 0.0, 0.1]))
    for profile, velocity in [("R2020a", wrong), ("R2021a", states.velocity[0])]:
        (got,) = refresh(accelerometer(profile, node=merged()), states)
        expected = R.inv().apply(velocity / STEP + (0, 9.81, 0))
        assert got == pytest.approx(expected, abs=1e-12)


def test_r2020a_is_right_where_the_solid_of_the_sensor_has_a_body_of_its_own():
    states = states_of(1, velocity=(1.0, 2.0, 3.0), angular_velocity=(3.0, 2.0, 1.0))
    (expected,) = refresh(accelerometer("R2021a"), states)
    alone = Node("Accelerometer", {"translation": (1.0, 0.0, 0.0)})
    Node("Robot", {"children": [alone]})
    for node in (alone, merged(joint=True), merged(outer_physics=False)):
        assert refresh(accelerometer("R2020a", node=node), states) == [expected]


# Gyro.


@pytest.mark.parametrize("profile", PROFILES)
def test_a_gyro_reads_the_angular_velocity_in_its_own_axes(profile):
    R = Rotation.from_euler("YZX", [0.6, 0.3, 0.2])
    states = states_of(1, R=R.as_matrix(), angular_velocity=(1.0, -2.0, 3.0))
    (got,) = refresh(make_device(Node("Gyro"), profile), states)
    assert got == pytest.approx(R.inv().apply([1, -2, 3]), abs=1e-14)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_gyro_without_a_body(profile):
    said = []
    states = states_of(3, angular_velocity=(1.0, 2.0, 3.0))
    device = make_device(Node("Gyro"), profile, has_body=False, warn=said.append)
    device.configure()
    if profile == "documented":
        assert refresh(device, states) == [[1, 2, 3]] * 3
        assert said == [NO_BODY]
    else:
        assert refresh(device, states) == [[0, 0, 0]] * 3
        assert said == [NO_BODY] * 3
        assert device.batch(states, np.full(3, STEP)).tolist() == [[0, 0, 0]] * 3
        assert said == [NO_BODY] * 6


# Compass.


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("system", "expected"),
    [("NUE", (0.258819, 0, 0.965926)), ("EUN", (-0.965926, 0, 0.258819))],
)
def test_a_compass_reads_north_in_its_own_axes(profile, system, expected):
    R = Rotation.from_rotvec([0, 0.916298, 0]) * Rotation.from_rotvec([0, 0.392699, 0])
    (got,) = refresh(
        make_device(Node("Compass"), profile, system=system), states_of(R=R.as_matrix())
    )
    assert got == pytest.approx(expected, abs=1e-6)


# Lookup table, axes, resolution.


def test_a_resolution_rounds_every_value(subtests):
    for kind, profile, step in itertools.product(
        ["Accelerometer", "Gyro", "Compass"], PROFILES, [0.01, 0.1, 0.3, 15.0]
    ):
        with subtests.test(kind=kind, profile=profile, step=step):
            check_resolution(kind, profile, step)


def check_resolution(kind, profile, step):
    R = Rotation.from_euler("YZX", [0.6, 0.3, 0.2]).as_matrix()
    states = states_of(1, R=R, angular_velocity=(7.0, -8.0, 9.0))
    (exact,) = refresh(make_device(Node(kind), profile), states)
    (got,) = refresh(make_device(Node(kind, {"resolution": step}), profile), states)
    if profile == "documented":
        steps = [math.copysign(math.floor(abs(value) / step + 0.5), value) for value in exact]
        assert got == pytest.approx([n * step for n in steps], abs=0)
    else:
        assert got == [int(value / step + 0.5) * step for value in exact]


@pytest.mark.parametrize("profile", PROFILES)
def test_table_mask_and_resolution_come_in_this_order(profile):
    draws = iter([0.5, -1.0])
    fields = {
        "lookupTable": [(-10, -20, 0.1), (10, 20, 0.1)],
        "yAxis": False,
        "resolution": 0.5,
    }
    device = make_device(Node("Gyro", fields), profile, gaussian=lambda: next(draws))
    (got,) = refresh(device, states_of(1, angular_velocity=(1.0, 5.0, 3.0)))
    # 2 * 1.05 and 6 * 0.9 to halves
    assert got == pytest.approx((2.0, NAN, 5.5), nan_ok=True)
    assert next(draws, None) is None


def test_noise_of_a_table_is_relative_and_nothing_at_zero():
    table = [(-200, -200, 0.004), (200, 200, 0.004)]
    stream = DeviceStream(4, "r", "a")
    device = accelerometer("documented", fields={"lookupTable": table}, gaussian=stream.gaussian)
    values = device.batch(states_of(20_000), np.full(20_000, STEP))
    assert np.all(values[:, [0, 2]] == 0.0)
    assert values[:, 1].std() == pytest.approx(0.004 * 9.81, rel=4 / math.sqrt(40_000))


def test_a_value_that_a_table_makes_zero_still_draws_a_number():
    draws = []
    fields = {"lookupTable": [(-1, 0, 0.1), (1, 0, 0.1)]}
    device = make_device(
        Node("Gyro", fields), "documented", gaussian=lambda: draws.append(1) or 1.0
    )
    assert refresh(device, states_of(1)) == [[0, 0, 0]]
    assert len(draws) == 3


def test_changed_fields_count_after_configure():
    for device_fields in ("Gyro", "Compass", "Accelerometer"):
        for profile in ("documented", "R2025a"):
            node = Node(device_fields)
            device = make_device(node, profile)
            node.set("xAxis", False)
            device.configure()
            assert math.isnan(refresh(device, states_of(1))[0][0])


# Batches.


def test_a_batch_is_its_refreshes_one_after_another(subtests):
    for kind, profile, fields, known in itertools.product(
        ["Accelerometer", "Gyro", "Compass"],
        PROFILES,
        [
            {},
            {"lookupTable": [(-10, -20, 0.1), (0, 0, 0), (10, 20, 0.1)], "xAxis": False},
            {"resolution": 0.25, "zAxis": False},
            {"xAxis": False, "yAxis": False, "zAxis": False, "lookupTable": [(0, 0, 1), (1, 1, 1)]},
        ],
        [True, False, None],
    ):
        with subtests.test(kind=kind, profile=profile, fields=fields, known=known):
            check_batch(kind, profile, fields, known)


def check_batch(kind, profile, fields, known):
    states = rotor(STEP * np.arange(1, 20), (0.1, 0.2, 0.3))
    if known is None:  # now and then
        states.acceleration[::3] = NAN
    elif not known:
        states = unknown(states)
    dt_s = np.array([math.inf, *np.full(18, STEP)])
    stream = DeviceStream(2, "r", "d")

    def fresh():
        stream.reset()
        return make_device(Node(kind, fields), profile, gaussian=stream.gaussian)

    device = fresh()
    expected = [device.take(*pair) for pair in zip(device.prepare(states), dt_s, strict=True)]
    device = fresh()
    got = [
        device.batch(BodyStates(*(array[part] for array in states)), dt_s[part])
        for part in (slice(0, 7), slice(7, None), slice(0, 0))
    ]
    np.testing.assert_array_equal(np.concatenate(got), expected)


@given(
    profile=st.sampled_from(list(PROFILES)),
    count=st.integers(1, 6),
    kind=st.sampled_from(["Accelerometer", "Gyro"]),
)
def test_a_refresh_gives_a_list_of_its_own(profile, count, kind):
    device = make_device(Node(kind), profile)
    rows = device.prepare(states_of(count))
    values = [device.take(row, STEP) for row in rows]
    for value in values:
        value[0] = 17.0
    assert all(device.take(row, STEP)[0] != 17.0 for row in rows)
    assert all(type(component) is float for component in values[0])


def test_a_node_that_measures_nothing_is_refused():
    with pytest.raises(UnknownNameError, match="device that measures 'Camera'"):
        make_device(Node("Camera"), "documented")

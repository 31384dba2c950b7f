from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from strapdown.errors import FormatError, ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry import quaternion, wgs84
from strapdown.geometry.gravity import normal_gravity
from strapdown.motion.commands import Command, InitialState, Limits, MotionCommands
from strapdown.motion.earth import FlatEarth, Wgs84
from strapdown.motion.mount import Mounted

DEG = math.pi / 180.0
G = 9.80665
FLIP = np.array([1.0, -1.0, -1.0])  # FLU from FRD, and back
ENU_FROM_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
HERE = [32.0, 120.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
WAIT = [1, 0, 0, 0, 0, 0, 0, 1, 1]
LIVELY = [
    [1, 0, 0, 0, 0, 0, 0, 2, 1],
    [2, 90, 0, 0, 10, 0, 0, 40, 1],
    [1, 5, 0, 0, 0.5, 0, 0, 3, 1],
    [3, 540, 10, -20, -3, 1, 0, 60, 0],
    [5, 0, 0, 0, 0, 0, 0, 30, 0],
    [4, 45, 20, 10, 5, 0, 1, 2, 1],
    [1, -20, 5, 8, -0.2, 0.1, 0.05, 4, 1],
    [2, 0, 0, 0, 0, 0, 0, 100, 1],
]
# Central difference of eighth order (Fornberg, Mathematics of Computation 51, 1988).
OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


def flat(rows, initial=HERE, **options):
    return MotionCommands.from_rows(initial, rows, frame="flat", **options)


def rotation_ned_from_frd(state):
    return Rotation.from_matrix(
        ENU_FROM_NED.T @ Rotation.from_quat(state.q_world_from_body).as_matrix() @ np.diag(FLIP)
    )


def yaw_pitch_roll(state):
    return rotation_ned_from_frd(state).as_euler("ZYX")


def body_velocity(state):
    ned = state.velocity_world @ ENU_FROM_NED
    return rotation_ned_from_frd(state).inv().apply(ned)


def end_of(motion):
    return motion.at([motion.end_s])


def differentiated(function, t, step=2e-4):
    return sum(w * function(t + k * step) for k, w in zip(OFFSETS, WEIGHTS, strict=True)) / step


def away_from_breaks(motion, count, margin=1e-3):
    t = np.random.default_rng(5).uniform(margin, motion.end_s - margin, count)
    breaks = np.concatenate([[0.0], motion.breaks_s, [motion.end_s]])
    return t[np.abs(t[:, None] - breaks).min(axis=1) > margin]


def ecef(motion, state):
    latitude, longitude, height = motion.earth.latitude, motion.earth.longitude, motion.earth.height
    q = wgs84.q_ecef_from_enu(latitude, longitude)
    origin = wgs84.ecef_from_geodetic(latitude, longitude, height)
    return origin + quaternion.rotate(q, state.position_world)


# Commands, one by one


@pytest.mark.parametrize("frame", ["flat", "wgs84"])
@pytest.mark.parametrize(
    ("kind", "angles", "velocity"),
    [
        (2, [50.0, -20.0, 30.0], [4.0, -0.5, 0.3]),
        (3, [60.0, -15.0, 27.0], [5.0, -0.3, 0.2]),
        (4, [50.0, -20.0, 30.0], [5.0, -0.3, 0.2]),
        (5, [60.0, -15.0, 27.0], [4.0, -0.5, 0.3]),
    ],
)
def test_targets_and_changes_are_met_exactly(frame, kind, angles, velocity):
    initial = [0.0, 0.0, 0.0, 1.0, 0.2, -0.1, 10.0, 5.0, -3.0]
    row = [kind, 50, -20, 30, 4, -0.5, 0.3, 60, 1]
    motion = MotionCommands.from_rows(initial, [row, WAIT], frame=frame)
    assert motion.segments[0].reached
    variables = motion._variables.derivatives(np.array([motion.end_s, motion.segments[0].end_s]))
    expected = np.array([*(np.array(angles[::-1]) * DEG), *velocity])
    np.testing.assert_allclose(variables[0], np.stack([expected] * 2, axis=1), atol=1e-12)
    np.testing.assert_allclose(variables[1:], 0.0, atol=1e-12)
    if frame == "flat":
        state = end_of(motion)
        np.testing.assert_allclose(yaw_pitch_roll(state)[0], np.array(angles) * DEG, atol=1e-12)
        np.testing.assert_allclose(body_velocity(state)[0], velocity, atol=1e-12)
        np.testing.assert_allclose(state.angular_velocity, 0.0, atol=1e-12)


def test_angles_are_not_wrapped():
    motion = flat([[3, 540, 0, 0, 0, 0, 0, 60, 1]])
    yaw = np.unwrap(yaw_pitch_roll(motion.at(np.linspace(0.0, motion.end_s, 500)))[:, 0])
    assert yaw[-1] - yaw[0] == pytest.approx(3.0 * math.pi, abs=1e-12)


def test_a_target_reached_early_starts_the_next_command_at_once():
    # 1 m/s at 1 m/s^2 with ramps of 0.1 s
    motion = flat([[2, 0, 0, 0, 1, 0, 0, 20, 1], [1, 0, 0, 0, 0, 0, 0, 3, 0]])
    first, second = motion.segments
    assert first.reached
    assert second.reached
    assert (first.start_s, second.start_s) == (0.0, first.end_s)
    assert first.end_s == pytest.approx(1.1, rel=1e-14)
    assert motion.end_s == second.end_s == pytest.approx(4.1, rel=1e-14)
    assert [segment.command.gps_visible for segment in motion.segments] == [True, False]


def test_a_target_not_reached_ends_with_its_duration():
    # 0.1 s up to 1 m/s^2 and 1.9 s of it: 0.05 + 1.9 m/s
    motion = flat([[2, 0, 0, 0, 10, 0, 0, 2, 1]])
    assert not motion.segments[0].reached
    assert motion.end_s == 2.0
    assert body_velocity(end_of(motion))[0] == pytest.approx([1.95, 0.0, 0.0], abs=1e-13)


def test_the_command_after_an_unreached_target_starts_from_the_actual_state():
    # 0.1 s up to 0.5 rad/s^2, then 0.9 s of it: 1/1200 + 0.025 0.9 + 0.25 0.81 rad
    unreached = [2, 90, 0, 0, 0, 0, 0, 1, 1]
    actual = 1.0 / 1200.0 + 0.0225 + 0.2025
    motion = flat([unreached, [3, 10, 0, 0, 0, 0, 0, 60, 1]])
    assert yaw_pitch_roll(motion.at([1.0]))[0, 0] == pytest.approx(actual, abs=1e-13)
    assert yaw_pitch_roll(end_of(motion))[0, 0] == pytest.approx(actual + 10.0 * DEG, abs=1e-12)


def test_a_change_of_velocity_is_from_the_actual_velocity():
    motion = flat([[2, 0, 0, 0, 10, 0, 0, 2, 1], [4, 0, 0, 0, 3, 0, 0, 60, 1]])
    assert body_velocity(end_of(motion))[0] == pytest.approx([4.95, 0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("blend_s", [0.1, 0.5, 0.0])
def test_rates_are_held_after_a_blend(blend_s):
    rates = [1, 10, -4, 6, 0.5, 0.1, -0.2, 3, 1]
    motion = flat([rates], blend_s=blend_s)
    state = end_of(motion)
    gained = 3.0 - 0.5 * blend_s
    expected = np.array([10.0, -4.0, 6.0]) * DEG * gained
    np.testing.assert_allclose(yaw_pitch_roll(state)[0], expected, atol=1e-14)
    np.testing.assert_allclose(body_velocity(state)[0], np.array([0.5, 0.1, -0.2]) * gained, 1e-13)


def test_rates_blend_from_the_rates_that_are():
    # the yaw of the unreached target above, with a rate of 0.025 + 0.45 rad/s; the end is
    # start + r T - (r - r0) blend / 2 though the start has an acceleration
    rate = 0.2
    motion = flat([[2, 90, 0, 0, 0, 0, 0, 1, 1], [1, rate / DEG, 0, 0, 0, 0, 0, 2, 1]])
    expected = (1.0 / 1200.0 + 0.225) + rate * 2.0 - (rate - 0.475) * 0.05
    assert yaw_pitch_roll(end_of(motion))[0, 0] == pytest.approx(expected, abs=1e-14)
    around = motion.at([np.nextafter(1.0, 0.0), 1.0])
    np.testing.assert_allclose(np.diff(around.angular_acceleration, axis=0), 0.0, atol=1e-12)


def test_without_a_blend_rates_step_at_a_break():
    motion = flat([WAIT, [1, 90, 0, 0, 0, 0, 0, 1, 1]], blend_s=0.0)
    assert 1.0 in motion.breaks_s
    state = motion.at([np.nextafter(1.0, 0.0), 1.0, 2.0])
    assert state.angular_velocity[:, 2] == pytest.approx([0.0, -90.0 * DEG, -90.0 * DEG])
    assert yaw_pitch_roll(state)[2, 0] == pytest.approx(math.pi / 2.0, abs=1e-15)


def test_a_command_of_rates_shorter_than_a_blend_is_all_blend():
    rows = [[1, 0, 0, 0, 10, 0, 0, 0.01, 0]] * 500
    motion = flat(rows)  # sample by sample: only the first command changes anything
    assert body_velocity(end_of(motion))[0, 0] == pytest.approx(10.0 * (5.0 - 0.005), abs=1e-9)
    np.testing.assert_allclose(end_of(motion).acceleration_world[0], [0.0, 10.0, 0.0], atol=1e-9)


def test_a_target_that_is_met_takes_no_time():
    motion = flat([[2, 0, 0, 0, 0, 0, 0, 10, 1], WAIT, [5, 0, 0, 0, 0, 0, 0, 9, 1]])
    assert [(s.start_s, s.end_s, s.reached) for s in motion.segments] == [
        (0.0, 0.0, True),
        (0.0, 1.0, True),
        (1.0, 1.0, True),
    ]


def test_a_command_that_takes_less_than_a_nanosecond_does_nothing():
    motion = flat([[1, 90, 0, 0, 5, 0, 0, 1e-12, 1], [3, 1e-300, 0, 0, 0, 0, 0, 9, 1], WAIT])
    assert [segment.end_s for segment in motion.segments] == [0.0, 0.0, 1.0]
    np.testing.assert_array_equal(end_of(motion).position_world, [[0.0, 0.0, 0.0]])


# What the body feels


@pytest.mark.parametrize("frame", ["flat", "wgs84"])
def test_from_the_first_instant_a_vehicle_at_rest_feels_gravity_alone(frame):
    motion = MotionCommands.from_rows(HERE, [WAIT], frame=frame)
    _, force = Mounted(motion, earth=motion.earth).inputs([0.0, 0.3, 1.0])
    gravity = G if frame == "flat" else float(normal_gravity(32.0 * DEG, 100.0))
    np.testing.assert_allclose(force, [[0.0, 0.0, gravity]] * 3, atol=1e-14, rtol=1e-9)


def test_constant_body_velocity_in_a_level_turn_is_felt_as_centripetal():
    rate, speed = 12.0 * DEG, 15.0
    motion = flat([[1, 12, 0, 0, 0, 0, 0, 30, 1]], [*HERE[:3], speed, 0.0, 0.0, *HERE[6:]])
    angular, force = Mounted(motion, earth=motion.earth).inputs(np.linspace(0.1, 30.0, 50))
    np.testing.assert_allclose(angular, [[0.0, 0.0, -rate]] * 50, atol=1e-14)
    np.testing.assert_allclose(force, [[0.0, -rate * speed, G]] * 50, atol=1e-12)


def test_specific_force_is_that_of_the_body_axes():
    motion = flat(LIVELY)
    t = away_from_breaks(motion, 200)
    state = motion.at(t)
    w = state.angular_velocity * FLIP
    v = body_velocity(state)
    v_rate = differentiated(lambda u: body_velocity(motion.at(u)), t)
    down = rotation_ned_from_frd(state).inv().apply([0.0, 0.0, G])
    _, force = Mounted(motion, earth=motion.earth).inputs(t)
    np.testing.assert_allclose(force * FLIP, v_rate + np.cross(w, v) - down, atol=1e-8)


def test_yaw_turns_right_pitch_lifts_the_nose_and_roll_lowers_the_right_side():
    still = flat([WAIT], [0, 0, 0, 0, 0, 0, 90, 0, 0]).at([0.0])
    forward = Rotation.from_quat(still.q_world_from_body[0]).apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(forward, [1.0, 0.0, 0.0], atol=1e-15)  # east
    for angles, force in [([0, 30, 0], [0.5, 0.0, 0.75**0.5]), ([0, 0, 30], [0.0, 0.5, 0.75**0.5])]:
        motion = flat([WAIT], [0, 0, 0, 0, 0, 0, *angles])
        _, felt = Mounted(motion).inputs([0.5])
        np.testing.assert_allclose(felt[0] / G, force, atol=1e-15)


@pytest.mark.parametrize("frame", ["flat", "wgs84"])
def test_every_derivative_is_the_derivative(frame):
    motion = MotionCommands.from_rows(HERE, LIVELY, frame=frame)
    t = away_from_breaks(motion, 300)
    state = motion.at(t)
    start = Rotation.from_quat(state.q_world_from_body).inv()
    for function, derivative in [
        (lambda u: motion.at(u).position_world, state.velocity_world),
        (lambda u: motion.at(u).velocity_world, state.acceleration_world),
        (lambda u: motion.at(u).angular_velocity, state.angular_acceleration),
        (
            lambda u: (start * Rotation.from_quat(motion.at(u).q_world_from_body)).as_rotvec(),
            state.angular_velocity,
        ),
    ]:
        np.testing.assert_allclose(differentiated(function, t), derivative, atol=2e-9)


@pytest.mark.parametrize("frame", ["flat", "wgs84"])
def test_nothing_jumps_with_blends(frame):
    motion = MotionCommands.from_rows(HERE, LIVELY, frame=frame)
    before = motion.at(np.nextafter(motion.breaks_s, 0.0))
    after = motion.at(motion.breaks_s)
    for name, column in vars(after).items():
        np.testing.assert_allclose(column, getattr(before, name), atol=2e-12, err_msg=name)


# The path


def test_a_steady_turn_draws_a_circle():
    rate, speed = 20.0 * DEG, 12.0
    initial = [*HERE[:3], speed, 0.0, 0.0, *HERE[6:]]
    motion = flat([[1, 20, 0, 0, 0, 0, 0, 600, 1]], initial, blend_s=0.0)
    t = np.linspace(0.0, 600.0, 5001)
    radius = speed / rate
    circle = [radius * (1.0 - np.cos(rate * t)), radius * np.sin(rate * t), np.zeros_like(t)]
    np.testing.assert_allclose(motion.at(t).position_world, np.transpose(circle), atol=1e-10)


def test_a_speed_is_gained_over_the_way_of_a_trapezoid():
    # up to 1 m/s^2 in 0.1 s, 9.9 s of it, down in 0.1 s: half of 10 m/s for 10.1 s
    motion = flat([[2, 0, 0, 0, 10, 0, 0, 60, 1]])
    np.testing.assert_allclose(end_of(motion).position_world[0], [0.0, 50.5, 0.0], atol=1e-12)


@pytest.mark.parametrize("rate", [5.0, 115.0])
def test_the_position_is_the_integral_of_the_velocity_to_rounding(rate):
    initial = [*HERE[:3], 30.0, 0.0, 0.0, *HERE[6:]]
    motion = flat([[1, rate, 0, rate / 2, 0, 0, 0, 1, 1], *LIVELY], initial)
    edges = np.concatenate([[0.0], motion.breaks_s, [motion.end_s]])
    nodes, weights = np.polynomial.legendre.leggauss(80)
    middles, halves = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    velocity = motion.at(np.ravel(middles[:, None] + halves[:, None] * nodes)).velocity_world
    ways = np.einsum("n,pnc->pc", weights, velocity.reshape(-1, 80, 3)) * halves[:, None]
    expected = np.cumsum(ways, axis=0)
    np.testing.assert_allclose(motion.at(edges[1:]).position_world, expected, atol=5e-12)


@pytest.mark.parametrize("frame", ["flat", "wgs84"])
def test_the_path_does_not_depend_on_the_rate(frame):
    motion = MotionCommands.from_rows(HERE, LIVELY, frame=frame)
    fast = motion.at(np.arange(int(motion.end_s * 2000)) / 2000)
    slow = motion.at(np.arange(int(motion.end_s * 50)) / 50)
    single = [motion.at([k / 50]) for k in range(0, len(slow.t_s), 97)]
    for name, column in vars(slow).items():
        every = getattr(fast, name)[::40][: len(column)]
        np.testing.assert_allclose(column, every, atol=1e-12, err_msg=name)
        alone = np.concatenate([getattr(state, name) for state in single])
        np.testing.assert_allclose(alone, column[::97], atol=1e-12, err_msg=name)


@pytest.mark.parametrize("frame", ["flat", "wgs84"])
def test_the_same_instants_give_the_same_bits_in_any_order_and_company(frame):
    motion = MotionCommands.from_rows(HERE, LIVELY, frame=frame)
    t = np.linspace(0.0, motion.end_s, 9000)
    random = np.random.default_rng(2)
    order = random.permutation(len(t))
    cuts = np.sort(random.integers(0, len(t), 40))
    whole, shuffled = motion.at(t), motion.at(t[order])
    chunks = [motion.at(chunk) for chunk in np.split(t, cuts)]
    for name, column in vars(whole).items():
        np.testing.assert_array_equal(getattr(shuffled, name), column[order], err_msg=name)
        joined = np.concatenate([getattr(chunk, name) for chunk in chunks])
        np.testing.assert_array_equal(joined, column, err_msg=name)
    assert motion.at([]).q_world_from_body.shape == (0, 4)


# Over the ellipsoid


def meridian_radius(latitude):
    e2 = 0.00669437999014
    return 6378137.0 * (1.0 - e2) / (1.0 - e2 * math.sin(latitude) ** 2) ** 1.5


@pytest.mark.parametrize("height", [0.0, 5000.0])
def test_level_flight_along_a_meridian_covers_its_arc(height):
    initial = [30.0, 10.0, height, 250.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    motion = MotionCommands.from_rows(initial, [[1, 0, 0, 0, 0, 0, 0, 2000, 1]])
    latitude, longitude, heights = wgs84.geodetic_from_ecef(ecef(motion, motion.at([1000, 2000])))
    np.testing.assert_allclose(heights, height, atol=1e-8)
    np.testing.assert_allclose(longitude, 10.0 * DEG, atol=1e-15)
    for end, way in zip(latitude, [250e3, 500e3], strict=True):
        arc, _ = quad(lambda x: meridian_radius(x) + height, 30.0 * DEG, end, epsabs=1e-9)
        assert arc == pytest.approx(way, abs=1e-7)


def test_level_flight_along_a_parallel_keeps_latitude_and_height():
    initial = [-45.0, 179.0, 1000.0, 200.0, 0.0, 0.0, 90.0, 0.0, 0.0]
    motion = MotionCommands.from_rows(initial, [[1, 0, 0, 0, 0, 0, 0, 1800, 1]])
    place = wgs84.geodetic_from_ecef(ecef(motion, end_of(motion)))
    latitude, longitude, height = (float(x[0]) for x in place)
    across = 6378137.0 / math.sqrt(1.0 - 0.00669437999014 / 2.0) + 1000.0
    moved = 200.0 * 1800.0 / (across * math.cos(math.pi / 4.0))
    assert latitude == pytest.approx(-math.pi / 4.0, abs=1e-14)
    assert height == pytest.approx(1000.0, abs=1e-8)
    assert longitude == pytest.approx(179.0 * DEG + moved - 2.0 * math.pi, abs=1e-13)


def local_axes(motion, state):
    """Latitude, height and the rotation of north-east-down axes from the world."""
    latitude, longitude, height = wgs84.geodetic_from_ecef(ecef(motion, state))
    world = Rotation.from_quat(wgs84.q_ecef_from_enu(motion.earth.latitude, motion.earth.longitude))
    here = Rotation.from_quat(wgs84.q_ecef_from_enu(latitude, longitude))
    return latitude, height, Rotation.from_matrix(ENU_FROM_NED.T) * here.inv() * world


def test_sensors_feel_what_the_navigation_equations_say():
    # f_n = dv_n/dt - g_n + (2 w_ie + w_en) x v_n and w_b = w_nb + R (w_ie + w_en):
    # P. D. Groves, "Principles of GNSS, Inertial, and Multisensor Integrated Navigation
    # Systems", 2nd ed., section 5.4
    rows = [[2, 60, 5, 10, 200, 0, 0, 600, 1], [1, 3, 1, -2, 0.5, 0.1, 0.2, 10, 1]]
    limits = Limits(acceleration=20.0, jerk=50.0)
    initial = [52.0, 5.0, 3000.0, 150.0, 0.0, 0.0, 40.0, 0.0, 0.0]
    motion = MotionCommands.from_rows(initial, rows, limits=limits)
    t = away_from_breaks(motion, 100, margin=5e-3)

    def velocity(u):
        state = motion.at(u)
        return local_axes(motion, state)[2].apply(state.velocity_world)

    state = motion.at(t)
    latitude, height, ned_from_world = local_axes(motion, state)
    v = velocity(t)
    meridian, across = wgs84.radii(latitude)
    zero = np.zeros_like(t)
    earth = wgs84.EARTH_RATE * np.stack([np.cos(latitude), zero, -np.sin(latitude)], axis=1)
    transport = np.stack(
        [
            v[:, 1] / (across + height),
            -v[:, 0] / (meridian + height),
            -v[:, 1] * np.tan(latitude) / (across + height),
        ],
        axis=1,
    )
    gravity = np.stack([zero, zero, normal_gravity(latitude, height)], axis=1)
    force_ned = differentiated(velocity, t, 1e-3) - gravity + np.cross(2.0 * earth + transport, v)
    angles = motion._variables.derivatives(t)
    frd_from_ned = Rotation.from_euler("ZYX", angles[0][2::-1].T).inv()
    roll, pitch, _ = angles[0][:3]
    roll_1, pitch_1, yaw_1 = angles[1][:3]
    own = np.stack(
        [
            roll_1 - yaw_1 * np.sin(pitch),
            pitch_1 * np.cos(roll) + yaw_1 * np.cos(pitch) * np.sin(roll),
            -pitch_1 * np.sin(roll) + yaw_1 * np.cos(pitch) * np.cos(roll),
        ],
        axis=1,
    )
    angular, force = Mounted(motion, earth=motion.earth).inputs(t)
    np.testing.assert_allclose(force * FLIP, frd_from_ned.apply(force_ned), atol=1e-8)
    expected = own + frd_from_ned.apply(earth + transport)
    np.testing.assert_allclose(angular * FLIP, expected, atol=1e-13)
    attitude = ned_from_world * Rotation.from_quat(state.q_world_from_body)
    turned = attitude.as_matrix() @ np.diag(FLIP) @ frd_from_ned.as_matrix()
    np.testing.assert_allclose(turned, np.broadcast_to(np.eye(3), turned.shape), atol=1e-12)


def test_the_turning_of_the_local_axes_has_an_exact_derivative():
    # so fast that every term of the derivative counts
    initial = [60.0, 5.0, 3000.0, 6000.0, 3000.0, -1500.0, 20.0, 0.0, 0.0]
    motion = MotionCommands.from_rows(initial, [[1, 0, 0, 0, 0, 0, 0, 100, 1]])
    t = np.linspace(10.0, 90.0, 9)
    numerical = differentiated(lambda u: motion.at(u).angular_velocity, t, 0.5)
    np.testing.assert_allclose(motion.at(t).angular_acceleration, numerical, atol=2e-15)


def test_the_earth_of_a_motion_is_where_it_starts():
    assert MotionCommands.from_rows(HERE, [WAIT]).earth == Wgs84(32.0 * DEG, 120.0 * DEG, 100.0)
    assert flat([WAIT]).earth == FlatEarth()


def test_a_path_to_a_pole_is_refused():
    initial = [89.0, 0.0, 0.0, 250.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    rows = [[1, 0, 0, 0, 0, 0, 0, 1000, 1]]
    with pytest.raises(ValueRangeError, match=r"89\.9 deg of latitude"):
        MotionCommands.from_rows(initial, rows)
    MotionCommands.from_rows(initial, rows, frame="flat")


@pytest.mark.parametrize(
    ("height", "down", "duration_s"),
    [
        (-6.37e6, 0.0, 1000),
        (0.0, 1000.0, 2e4),  # through the Earth, and out again
        pytest.param(0.0, 1000.0, 7e5, marks=pytest.mark.slow),
    ],
)
def test_a_path_deep_into_the_earth_is_refused(height, down, duration_s):
    initial = [40.0, 0.0, height, 10.0, 0.0, down, 0.0, 0.0, 0.0]
    rows = [[1, 0, 0, 0, 0, 0, 0, duration_s, 1]]
    with pytest.raises(ValueRangeError, match=r"above a height of -1e\+06 m, got -.*vz"):
        MotionCommands.from_rows(initial, rows)
    MotionCommands.from_rows(initial, rows, frame="flat")


# Any commands


def rows_of(kinds):
    angle, speed = st.floats(-400, 400), st.floats(-20, 20)
    return st.tuples(
        st.sampled_from(kinds),
        angle,
        angle,
        angle,
        speed,
        speed,
        speed,
        st.floats(0, 30),
        st.just(1),
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(rows_of([2, 3, 4, 5]), min_size=1, max_size=5),
    st.sampled_from([Limits(), Limits(3.0, 7.0, 1.0, 2.0, 3.0)]),
)
def test_targets_never_exceed_the_limits(rows, limits):
    motion = flat([WAIT, *rows], limits=limits)
    t = np.unique(np.concatenate([np.linspace(0.0, motion.end_s, 3000), motion.breaks_s]))
    _, first, second = np.abs(motion._variables.derivatives(t))
    assert first[:3].max() <= limits.angular_rate + 1e-8
    assert second[:3].max() <= limits.angular_acceleration + 1e-8
    assert first[3:].max() <= limits.acceleration + 1e-7
    assert second[3:].max() <= limits.jerk + 1e-7


@settings(max_examples=40, deadline=None)
@given(
    st.lists(rows_of([1, 2, 3, 4, 5]), min_size=1, max_size=6), st.sampled_from(["flat", "wgs84"])
)
def test_any_commands_make_a_continuous_motion(rows, frame):
    motion = MotionCommands.from_rows(HERE, [WAIT, *rows], frame=frame)
    for segment in motion.segments:
        assert segment.end_s - segment.start_s <= segment.command.duration_s * (1 + 1e-12) + 1e-12
    assert [s.start_s for s in motion.segments[1:]] == [s.end_s for s in motion.segments[:-1]]
    state = motion.at(np.linspace(0.0, motion.end_s, 500))
    for name, column in vars(state).items():
        assert np.isfinite(column).all(), name
    np.testing.assert_allclose(np.linalg.norm(state.q_world_from_body, axis=1), 1.0, atol=1e-14)
    before = motion.at(np.nextafter(motion.breaks_s, 0.0))
    after = motion.at(motion.breaks_s)
    largest = 1.0 + np.abs(state.velocity_world).max()
    for name in ("position_world", "velocity_world", "q_world_from_body", "angular_velocity"):
        jump = np.abs(getattr(after, name) - getattr(before, name)).max(initial=0.0)
        assert jump < 1e-9 * largest, name


# At the door


def test_a_file_makes_a_motion(tmp_path):
    path = tmp_path / "motion.csv"
    rows = [HERE, LIVELY[1], LIVELY[2]]
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join(["lat,lon,...", lines[0], "type,yaw,...", *lines[1:]]) + "\n")
    motion = MotionCommands.from_file(path, frame="flat", limits=Limits(2.0), blend_s=0.2)
    same = flat(rows[1:], limits=Limits(2.0), blend_s=0.2)
    assert motion.segments == same.segments
    np.testing.assert_array_equal(end_of(motion).position_world, end_of(same).position_world)
    path.write_text("\n".join(["lat,lon,...", lines[0], "type,yaw,...", "9,0"]) + "\n")
    with pytest.raises(FormatError, match=r"motion\.csv: line 4"):
        MotionCommands.from_file(path)


def test_the_inputs_are_left_alone():
    initial, rows = np.array(HERE), np.array(LIVELY, dtype=float)
    motion = flat(rows, initial)
    breaks = motion.breaks_s
    breaks[:] = 0.0
    assert motion.breaks_s[-1] > 0.0
    np.testing.assert_array_equal(initial, HERE)
    np.testing.assert_array_equal(rows, LIVELY)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MotionCommands(InitialState(), []), ValueRangeError, "takes time"),
        (lambda: flat([[2, 0, 0, 0, 0, 0, 0, 9, 1]]), ValueRangeError, "takes time"),
        (lambda: flat([[1, 0, 0, 0, 0, 0, 0, 0, 1]]), ValueRangeError, "takes time"),
        (lambda: flat([WAIT], blend_s=-0.1), ValueRangeError, "blend_s"),
        (lambda: flat([WAIT], blend_s=math.nan), ValueRangeError, "blend_s"),
        (lambda: flat(WAIT), ShapeError, "rows"),
        (lambda: flat([WAIT[:8]]), ShapeError, "rows"),
        (lambda: flat([[1, 0, 0, 0, 9, 0, 0, 1e9, 1]]), ValueRangeError, "check the durations"),
        (lambda: MotionCommands.from_rows(HERE, [WAIT], frame="moon"), UnknownNameError, "moon"),
        (lambda: Limits(angular_jerk=0.0), ValueRangeError, "angular_jerk"),
        (lambda: Limits(acceleration=math.nan), ValueRangeError, "acceleration"),
        (lambda: flat([WAIT]).at([1.1]), ValueRangeError, "t_s"),
        (lambda: flat([WAIT]).at([-1e-9]), ValueRangeError, "t_s"),
        (lambda: flat([WAIT]).at(0.5), ShapeError, "t_s"),
    ],
)
def test_what_cannot_be_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_day_at_rest_is_cheap():
    motion = MotionCommands(InitialState(), [Command(1, (0, 0, 0), (0, 0, 0), 1e9)])
    assert len(motion._path.starts_s) == 1
    np.testing.assert_array_equal(end_of(motion).position_world, [[0.0, 0.0, 0.0]])

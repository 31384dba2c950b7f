"""What a mounted sensor feels, against independent integrations of its motion."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import wgs84
from strapdown.geometry.gravity import normal_gravity
from strapdown.motion import MOTIONS, MultiSine
from strapdown.motion.earth import FlatEarth, Wgs84
from strapdown.motion.mount import Mount, Mounted
from strapdown.motion.piecewise import SixPosition, Turntable
from strapdown.motion.primitives import Circle, Spin

GRAVITY = np.array([0.0, 0.0, -9.80665])
MOTION = MOTIONS["multi_sine"]
BODY_FROM_GYRO = Rotation.from_rotvec([0.1, 2.0, -0.4])
BODY_FROM_ACCEL = Rotation.from_rotvec([-1.0, 0.3, 0.8])
ARM = np.array([0.4, -0.3, 0.2])
MOUNT = Mount(ARM, BODY_FROM_GYRO.as_quat(), BODY_FROM_ACCEL.as_quat())
PLACE = Wgs84(math.radians(40.0), math.radians(-75.0), 300.0)
EARTHS = [FlatEarth(), PLACE]

# Central difference of eighth order (Fornberg, Mathematics of Computation 51, 1988).
OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


def attitude(source, t):
    return Rotation.from_quat(source.truth(t).q_world_from_body)


def chained(steps):
    """The products of the first 1, 2, 3 ... rotations, by doubling."""
    reach = 1
    while reach < len(steps):
        steps = Rotation.concatenate([steps[:reach], steps[:-reach] * steps[reach:]])
        reach *= 2
    return steps


def gauss_legendre(start, end, nodes):
    """Nodes (N, nodes) and weights of a quadrature over each interval."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    half = 0.5 * (end - start)[:, None]
    return 0.5 * (start + end)[:, None] + half * x, half * weights


def magnus(source, edges):
    """Turns over intervals from the angular velocity alone, by a method of sixth order.

    S. Blanes, F. Casas and J. Ros, BIT 40(3), 2000, eqs. for Y' = A Y; a body rate is on the
    other side, so that signs are turned round.
    """
    nodes, _ = gauss_legendre(edges[:-1], edges[1:], 3)
    first, middle, last = -np.moveaxis(source.inputs(nodes.ravel())[0].reshape(-1, 3, 3), 1, 0)
    h = np.diff(edges)[:, None]
    a1 = h * middle
    a2 = h * math.sqrt(15.0) / 3.0 * (last - first)
    a3 = h * 10.0 / 3.0 * (last - 2.0 * middle + first)
    c1 = np.cross(a1, a2)
    c2 = -np.cross(a1, 2.0 * a3 + c1) / 60.0
    whole = a1 + a3 / 12.0 + np.cross(-20.0 * a1 - a3 + c1, a2 + c2) / 240.0
    return Rotation.from_rotvec(-whole)


def test_gyro_and_accelerometer_have_axes_of_their_own():
    t = np.linspace(0.0, 3.0, 20)
    plain = Mounted(MOTION, Mount(ARM)).inputs(t)
    turned = Mounted(MOTION, MOUNT).inputs(t)
    for body_from_sensor, ours, theirs in zip(
        (BODY_FROM_GYRO, BODY_FROM_ACCEL), plain, turned, strict=True
    ):
        np.testing.assert_allclose(theirs, body_from_sensor.inv().apply(ours), atol=1e-13, rtol=0.0)


def test_specific_force_is_the_change_of_the_velocity_of_the_point_less_gravity():
    source = Mounted(MOTION, MOUNT)
    t, step = np.linspace(0.1, 5.0, 50), 5e-3
    acceleration = (
        sum(
            weight * source.truth(t + k * step).velocity_world
            for k, weight in zip(OFFSETS, WEIGHTS, strict=True)
        )
        / step
    )
    expected = attitude(source, t).inv().apply(acceleration - GRAVITY)
    np.testing.assert_allclose(source.inputs(t)[1], expected, atol=1e-9, rtol=0.0)


def test_the_truth_is_the_pose_of_the_accelerometer():
    t = np.array([0.5, 2.0])
    body, truth = MOTION.at(t), Mounted(MOTION, MOUNT).truth(t, start_ns=7)
    body_attitude = Rotation.from_quat(body.q_world_from_body)
    difference = attitude(Mounted(MOTION, MOUNT), t).inv() * body_attitude * BODY_FROM_ACCEL
    np.testing.assert_allclose(difference.magnitude(), 0.0, atol=1e-15, rtol=0.0)
    place = body.position_world + body_attitude.apply(ARM)
    np.testing.assert_allclose(truth.position_world, place, atol=1e-15, rtol=0.0)
    velocity = body.velocity_world + body_attitude.apply(np.cross(body.angular_velocity, ARM))
    np.testing.assert_allclose(truth.velocity_world, velocity, atol=1e-15, rtol=0.0)
    assert truth.t_ns.tolist() == [500_000_007, 2_000_000_007]


@pytest.mark.parametrize("earth", EARTHS)
def test_each_axis_of_a_large_accelerometer_feels_its_own_place(earth):
    arms = np.array([[0.1, 0.0, 0.0], [0.0, -0.2, 0.05], [0.3, 0.1, 0.0]])
    axes = BODY_FROM_ACCEL.as_quat()
    large = Mounted(MOTION, Mount(arms, q_body_from_accel=axes), earth)
    edges = np.linspace(0.0, 1.0, 9)
    for axis, arm in enumerate(arms):
        small = Mounted(MOTION, Mount(arm, q_body_from_accel=axes), earth)
        for reading in (
            lambda source: source.inputs(edges)[1],
            lambda source: source.integrals(edges)[1],
            lambda source: source.preintegrated(edges)[1],
            lambda source: source.velocity_change(edges),
        ):
            np.testing.assert_array_equal(reading(large)[:, axis], reading(small)[:, axis])
    middle = Mounted(MOTION, Mount(arms.mean(axis=0), q_body_from_accel=axes)).truth(edges)
    assert large.truth(edges) == middle


@pytest.mark.parametrize("interval", [0.001, 0.005, 0.04])
@pytest.mark.parametrize("name", ["multi_sine", "coning", "sculling", "chirp", "turntable"])
@pytest.mark.by_default(
    "coning-0.005", "multi_sine-0.04", "sculling-0.001", "chirp-0.04", "turntable-0.005"
)
def test_integrals_are_those_of_a_finer_quadrature(name, interval):
    source = Mounted(MOTIONS[name], MOUNT)
    edges = 55.0 + interval * (np.arange(41) - 7.3)  # the table starts a ramp at 55 s
    fine = np.linspace(edges[:-1], edges[1:], 21, axis=-1)
    for k, delta in enumerate(zip(*source.integrals(edges), strict=True)):
        cuts = np.union1d(fine[k], source.motion.breaks_s)
        cuts = cuts[(cuts >= edges[k]) & (cuts <= edges[k + 1])]
        nodes, weights = (array.ravel() for array in gauss_legendre(cuts[:-1], cuts[1:], 10))
        for ours, values in zip(delta, source.inputs(nodes), strict=True):
            steepest = np.abs(np.diff(values, axis=0) / np.diff(nodes)[:, None]).max()
            error = 1e-13 * np.abs(values).max() + np.spacing(55.0) * steepest  # of the instants
            np.testing.assert_allclose(ours, weights @ values, rtol=0.0, atol=error * interval)


def test_integrals_over_breaks_add_up_to_what_the_table_has_turned():
    table = Turntable.from_rates([0.0, 3.0, -1.0], hold_s=0.01, ramp_s=0.004)
    edges = np.array([0.0, 0.013, 0.0131, 0.03, table.end_s])
    delta_angle, _ = Mounted(table).integrals(edges)
    turned = np.diff(table.angle.derivatives(edges)[0])
    np.testing.assert_allclose(delta_angle[:, 2], turned, rtol=0.0, atol=1e-17)


def test_preintegrated_increments_close_over_a_minute():
    source = Mounted(MOTION, MOUNT)
    t = np.arange(60_001) / 1000.0
    delta_angle, delta_velocity = source.preintegrated(t)
    gyro_from_accel = BODY_FROM_GYRO.inv() * BODY_FROM_ACCEL
    # the gyro's turns in the axes of the accelerometer, which carry the velocity
    steps = Rotation.from_rotvec(gyro_from_accel.inv().apply(delta_angle))
    truth = source.truth(t[[0, -1]])
    start, end = Rotation.from_quat(truth.q_world_from_body)
    attitudes = start * Rotation.concatenate([Rotation.identity(), chained(steps)])
    assert (attitudes[-1].inv() * end).magnitude() < 1e-12
    pushes = attitudes[:-1].apply(delta_velocity) + GRAVITY * np.diff(t)[:, None]
    velocity = truth.velocity_world[0] + np.vstack([np.zeros(3), np.cumsum(pushes, axis=0)])
    np.testing.assert_allclose(velocity[-1], truth.velocity_world[1], rtol=0.0, atol=1e-9)
    path = make_interp_spline(t, velocity, k=5).integrate(0.0, 60.0)
    np.testing.assert_allclose(path, np.diff(truth.position_world, axis=0)[0], atol=1e-9, rtol=0.0)


def test_angular_velocity_alone_closes_over_a_minute():
    source = Mounted(
        MOTION,
        Mount(
            q_body_from_accel=BODY_FROM_GYRO.as_quat(), q_body_from_gyro=BODY_FROM_GYRO.as_quat()
        ),
    )
    edges = np.arange(12_001) / 200.0
    start, end = attitude(source, edges[[0, -1]])
    turned = start * chained(magnus(source, edges))[-1]
    assert (turned.inv() * end).magnitude() < 1e-9


def test_specific_force_alone_closes_over_a_minute():
    source = Mounted(MOTION, MOUNT)
    edges = np.arange(12_001) / 200.0
    nodes, weights = gauss_legendre(edges[:-1], edges[1:], 3)
    t = nodes.ravel()
    acceleration = attitude(source, t).apply(source.inputs(t)[1]) + GRAVITY
    velocity = np.sum(weights.ravel()[:, None] * acceleration, axis=0)
    truth = source.truth(edges[[0, -1]])
    gained = np.diff(truth.velocity_world, axis=0)[0]
    np.testing.assert_allclose(velocity, gained, atol=1e-9, rtol=0.0)
    later = 60.0 - t[:, None]
    path = truth.velocity_world[0] * 60.0 + np.sum(
        weights.ravel()[:, None] * later * acceleration, 0
    )
    np.testing.assert_allclose(path, np.diff(truth.position_world, axis=0)[0], atol=1e-9, rtol=0.0)


def test_a_velocity_change_is_the_increment_in_the_axes_at_the_end():
    source = Mounted(MOTION, MOUNT)
    edges = np.array([0.0, 0.1, 0.15, 0.4])
    truth = source.truth(edges)
    change = np.diff(truth.velocity_world, axis=0) - GRAVITY * np.diff(edges)[:, None]
    attitudes = Rotation.from_quat(truth.q_world_from_body)
    np.testing.assert_allclose(
        source.velocity_change(edges), attitudes[1:].inv().apply(change), atol=1e-14, rtol=0.0
    )
    np.testing.assert_allclose(
        source.preintegrated(edges)[1], attitudes[:-1].inv().apply(change), atol=1e-14, rtol=0.0
    )


class Inertial:
    """The sensor under PLACE as the stars see it: axes of the world at time 0, Earth's centre."""

    def __init__(self, source):
        self.source, self.rate = source, PLACE.rate_world
        axes = Rotation.from_quat(wgs84.q_ecef_from_enu(PLACE.latitude, PLACE.longitude))
        self.ecef_from_world = axes
        self.origin = axes.inv().apply(
            wgs84.ecef_from_geodetic(PLACE.latitude, PLACE.longitude, PLACE.height)
        )

    def turned(self, t):
        return Rotation.from_rotvec(np.outer(t, self.rate))

    def attitude(self, t):
        return self.turned(t) * attitude(self.source, t)

    def position(self, t):
        return self.turned(t).apply(self.origin + self.source.truth(t).position_world)

    def velocity(self, t):
        truth = self.source.truth(t)
        carried = np.cross(self.rate, self.origin + truth.position_world)
        return self.turned(t).apply(truth.velocity_world + carried)

    def gravitation(self, t):
        """Gravity without the centrifugal part."""
        place = self.origin + self.source.truth(t).position_world
        latitude, longitude, height = wgs84.geodetic_from_ecef(self.ecef_from_world.apply(place))
        up = Rotation.from_quat(wgs84.q_ecef_from_enu(latitude, longitude)).apply([0.0, 0.0, 1.0])
        down = self.ecef_from_world.inv().apply(-normal_gravity(latitude, height)[:, None] * up)
        return self.turned(t).apply(down + np.cross(self.rate, np.cross(self.rate, place)))


@pytest.mark.parametrize("motion", [MOTION, Circle(900.0, 240.0, 15.0)])
def test_on_the_turning_earth_the_readings_obey_newton_among_the_stars(motion):
    axes = BODY_FROM_ACCEL.as_quat()
    source = Mounted(motion, Mount(ARM, axes, axes), PLACE)
    stars = Inertial(source)
    edges = np.arange(6_001) / 200.0
    start, end = stars.attitude(edges[[0, -1]])
    assert ((start * chained(magnus(source, edges))[-1]).inv() * end).magnitude() < 1e-10
    nodes, weights = gauss_legendre(edges[:-1], edges[1:], 3)
    t, weights = nodes.ravel(), weights.ravel()[:, None]
    force = stars.attitude(t).apply(source.inputs(t)[1]) + stars.gravitation(t)
    (v_0, v_1), (p_0, p_1) = stars.velocity(edges[[0, -1]]), stars.position(edges[[0, -1]])
    np.testing.assert_allclose(np.sum(weights * force, axis=0), v_1 - v_0, atol=1e-10, rtol=0.0)
    path = v_0 * edges[-1] + np.sum(weights * (edges[-1] - t[:, None]) * force, axis=0)
    np.testing.assert_allclose(path, p_1 - p_0, atol=2e-8, rtol=0.0)  # of 6e6 m


def test_increments_on_the_turning_earth_are_those_of_the_stars():
    motion = MultiSine(MOTION.position, MOTION.roll_pitch_yaw)
    source = Mounted(motion, MOUNT, PLACE)
    stars = Inertial(source)
    edges = np.array([0.0, 0.01, 0.02, 0.05, 0.5, 3.0])
    attitudes = stars.attitude(edges)
    to_gyro = BODY_FROM_ACCEL.inv() * BODY_FROM_GYRO
    gyros = attitudes * to_gyro
    delta_angle, delta_velocity = source.preintegrated(edges)
    turns = gyros[:-1].inv() * gyros[1:]
    np.testing.assert_allclose(delta_angle, turns.as_rotvec(), atol=1e-14, rtol=0.0)
    fine = np.linspace(edges[:-1], edges[1:], 201, axis=-1)
    for k, cuts in enumerate(fine):
        nodes, weights = gauss_legendre(cuts[:-1], cuts[1:], 5)
        t = nodes.ravel()
        force = stars.attitude(t).apply(source.inputs(t)[1])
        impulse = np.sum(weights.ravel()[:, None] * force, axis=0)
        before, after = (attitudes[i].inv().apply(impulse) for i in (k, k + 1))
        np.testing.assert_allclose(delta_velocity[k], before, atol=1e-13, rtol=0.0)
        np.testing.assert_allclose(source.velocity_change(edges)[k], after, atol=1e-13, rtol=0.0)


def test_a_source_says_what_it_knows_and_for_how_long():
    endless, finite = Mounted(Spin(1.0)), Mounted(SixPosition())
    assert (endless.start_s, endless.end_s) == (-math.inf, math.inf)
    assert (finite.start_s, finite.end_s) == (0.0, 70.0)
    assert finite.has_pose
    assert finite.has_acceleration
    with pytest.raises(ValueRangeError, match="70"):
        finite.inputs([70.1])


@pytest.mark.parametrize("earth", EARTHS)
def test_no_interval_gives_no_increment(earth):
    source = Mounted(MOTION, MOUNT, earth)
    for edges in ([], [1.0]):
        for delta in (*source.integrals(edges), *source.preintegrated(edges)):
            assert delta.shape == (0, 3)
        assert source.velocity_change(edges).shape == (0, 3)
    assert source.inputs([])[1].shape == (0, 3)
    assert len(source.truth([])) == 0


@pytest.mark.parametrize("edges", [[0.0, 1.0, 1.0], [0.0, 2.0, 1.0]])
def test_edges_that_do_not_ascend_are_refused(edges):
    source = Mounted(MOTION)
    for method in (source.integrals, source.preintegrated, source.velocity_change):
        with pytest.raises(ValueRangeError, match=rf"edges_s\[2\] = 1\.0 after {edges[1]}; sort"):
            method(edges)


@pytest.mark.parametrize(
    ("build", "error", "word"),
    [
        (lambda: Mount([0.0, 1.0]), ShapeError, "lever_arm"),
        (lambda: Mount(np.zeros((2, 3))), ShapeError, "lever_arm"),
        (lambda: Mount([0.0, math.nan, 1.0]), ValueRangeError, "lever_arm"),
        (lambda: Mount(q_body_from_gyro=[0.0, 0.0, 1.0]), ShapeError, "q_body_from_gyro"),
        (lambda: Mount(q_body_from_accel=np.eye(4)), ShapeError, "q_body_from_accel"),
        (lambda: Mount(q_body_from_accel=[0.0] * 4), ValueRangeError, "quaternion"),
    ],
)
def test_senseless_mounts_are_refused(build, error, word):
    with pytest.raises(error, match=word):
        build()


def test_a_mount_keeps_its_own_copy():
    arm = np.array([1.0, 0.0, 0.0])
    mount = Mount(arm)
    arm[:] = 9.0
    np.testing.assert_array_equal(mount.lever_arm, [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(mount.lever_arm)[:] = 9.0


def test_integrals_over_hours_take_the_memory_of_minutes():
    source = Mounted(MOTIONS["coning"])
    source.integrals(np.arange(0.0, 100.0))
    tracemalloc.start()
    delta_angle, _ = source.integrals(np.arange(0.0, 3000.0, 10.0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6
    np.testing.assert_array_equal(
        delta_angle[200:203], source.integrals([2000.0, 2010.0, 2020.0, 2030.0])[0]
    )

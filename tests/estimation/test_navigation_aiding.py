"""Aiding by antennas, barometer, wheels, magnetometer and poses; fixes of receivers."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.estimation.navigation import (
    Aiding,
    NavigationPrior,
    NavigatorParams,
    StrapdownNavigator,
    barometer_aiding,
    gnss_aiding,
)
from strapdown.estimation.navigation.aiding import KINDS
from strapdown.estimation.navigation.state import NavigatorMemory
from strapdown.geometry import wgs84
from strapdown.inertial.navigation import Place
from strapdown.motion import Mounted, MultiSine, Sines
from strapdown.series import BarometerSeries, GnssSeries, ImuSeries

STEP_NS = 10_000_000
REST = np.array([0.0, 0.0, 9.80665])
ARM = np.array([0.5, -0.3, 1.2])


@pytest.fixture(scope="module")
def ride():
    """Exact samples of a motion with turns, and its truth."""
    rng = np.random.default_rng(3)
    shape = (3, 3)
    motion = Mounted(
        MultiSine(
            Sines(rng.uniform(0.5, 2, shape), rng.uniform(0.5, 2, shape), rng.uniform(0, 6, shape)),
            Sines(rng.uniform(0.1, 0.4, shape), rng.uniform(1, 3, shape), rng.uniform(0, 6, shape)),
        )
    )
    t_s = np.arange(1001) * 1e-2
    return ImuSeries(np.arange(1001) * STEP_NS, *motion.inputs(t_s)), motion.truth(t_s)


def start_of(truth, covariance=None):
    return NavigationPrior(
        truth.q_world_from_body[0],
        truth.velocity_world[0],
        truth.position_world[0],
        covariance=covariance,
    )


def resting(count):
    return ImuSeries(np.arange(count) * STEP_NS, np.zeros((count, 3)), np.tile(REST, (count, 1)))


def point_of(truth, series):
    """Position and velocity of the end of the lever arm, from those of the sensor."""
    R = Rotation.from_quat(truth.q_world_from_body)
    position = truth.position_world + R.apply(ARM)
    velocity = truth.velocity_world + R.apply(np.cross(series.angular_velocity, ARM))
    return R, position, velocity


def test_measurements_of_a_turning_body_agree_with_what_is_predicted_of_them(ride):
    series, truth = ride
    R, position, velocity = point_of(truth, series)
    inside = R.inv().apply(velocity)
    field = R.inv().apply([np.sin(0.1), np.cos(0.1), -2.0])  # 0.1 rad east of north
    baseline = R.apply(ARM)
    aiding = []
    for k in range(100, 1001, 100):
        t_ns, q = int(series.t_ns[k]), truth.q_world_from_body[k]
        heading = np.arctan2(baseline[k, 1], baseline[k, 0])
        aiding += [
            Aiding.position(t_ns, position[k], 1e-4, lever_arm=ARM),
            Aiding.velocity(t_ns, velocity[k], 1e-4, lever_arm=ARM),
            Aiding.velocity(t_ns, inside[k], 1e-4, "body", lever_arm=ARM),
            Aiding.forward_speed(t_ns, inside[k, 0], 1e-2, lever_arm=ARM),
            Aiding.heading(t_ns, heading, 1e-2, axis=ARM),
            Aiding.magnetic_field(t_ns, field[k], 1e-2, declination=0.1),
            Aiding.pose(t_ns, position[k], q, 1e-4, lever_arm=ARM),
        ]
    result = StrapdownNavigator(start=start_of(truth)).run(series, aiding=aiding)
    assert max(each.nis for each in result.aiding) < 0.1
    assert [each.dof for each in result.aiding[:7]] == [3, 3, 3, 1, 1, 1, 6]


def test_the_lever_arm_of_an_antenna_makes_heading_observable(ride):
    series, truth = ride
    _, position, _ = point_of(truth, series)
    wrong = np.diag(np.repeat([0.1, 0.1, 0.3, 0.01, 0.001], 3) ** 2)
    off = Rotation.from_rotvec([0.0, 0.0, 0.3]) * Rotation.from_quat(truth.q_world_from_body[0])
    start = NavigationPrior(
        off.as_quat(), truth.velocity_world[0], truth.position_world[0], covariance=wrong
    )
    fixes = [
        Aiding.position(int(series.t_ns[k]), position[k], 0.01**2, lever_arm=ARM)
        for k in range(0, 1001, 20)
    ]
    result = StrapdownNavigator(NavigatorParams(gate=1.0), start=start).run(series, aiding=fixes)
    turn = Rotation.from_quat(result.q_world_from_body[-1]).inv() * Rotation.from_quat(
        truth.q_world_from_body[-1]
    )
    assert turn.magnitude() < 0.02
    np.testing.assert_allclose(result.position_world[-1], truth.position_world[-1], atol=0.03)


def test_wheels_that_do_not_slip_bound_the_drift_of_a_car():
    """In a plane, along its forward axis: speed and no side slip replace fixes."""
    t_s = np.arange(3001) * 1e-2
    heading, rate, speed = 0.3 * t_s, 0.3, 5.0
    w = np.tile([1e-3, -1e-3, rate + 1e-3], (3001, 1))  # with biases
    f = np.tile([0.02, speed * rate - 0.03, 9.82665], (3001, 1))
    x = speed / rate * np.sin(heading)
    y = speed / rate * (1.0 - np.cos(heading))
    series = ImuSeries(np.arange(3001) * STEP_NS, w, f)
    start = NavigationPrior(velocity_world=(speed, 0.0, 0.0))
    told = []
    for t in series.t_ns[10::10].tolist():
        told += [Aiding.forward_speed(t, speed, 0.05), Aiding.non_holonomic(t, (0.05, 0.05))]
    free = StrapdownNavigator(start=start).run(series)
    aided = StrapdownNavigator(start=start).run(series, aiding=told)
    truth = np.column_stack([x, y, np.zeros_like(x)])
    away = [np.linalg.norm(each.position_world - truth, axis=1)[-1] for each in (free, aided)]
    assert away[0] > 10.0
    assert away[1] < 2.0


def test_the_bias_of_a_barometer_is_estimated():
    rng = np.random.default_rng(0)
    data = resting(3000)
    told = [Aiding.zero_velocity(int(t)) for t in data.t_ns[100::10]]
    told += [
        Aiding.altitude(int(t), 4.0 + 0.2 * rng.normal(), 0.2) for t in data.t_ns[101::10].tolist()
    ]
    navigator = StrapdownNavigator()
    result = navigator.run(data, aiding=told)
    assert navigator.estimate.altitude_bias == pytest.approx(4.0, abs=0.1)
    assert abs(result.position_world[-1, 2]) < 0.05
    assert all(each.accepted for each in result.aiding if each.kind == "altitude")


def test_altitude_follows_the_curvature_of_the_earth():
    place = Place("wgs84", latitude=0.7, height=100.0)
    at = wgs84.ecef_from_geodetic(0.7, 0.0, 100.0)
    ahead = wgs84.ecef_from_geodetic(0.701, 0.001, 150.0)  # 7.4 km away, 50 m higher
    q = wgs84.q_ecef_from_enu(0.7, 0.0)
    there = Rotation.from_quat(q).inv().apply(ahead - at)
    assert there[2] < 46.0
    start = NavigationPrior(position_world=there, covariance=1e-12 * np.eye(15))
    navigator = StrapdownNavigator(
        NavigatorParams(altitude_bias_sigma=0.1), start=start, place=place
    )
    navigator.run(resting(1))
    told = navigator.aid(Aiding.altitude(0, 50.0, 0.1))
    assert told.nis < 0.1


@pytest.mark.parametrize(
    ("aiding", "places"),
    [
        (Aiding.forward_speed(4_990_000_000, 0.0, 0.001), [3]),
        (Aiding.non_holonomic(4_990_000_000, 0.001), [4, 5]),
        (Aiding.magnetic_field(4_990_000_000, [0.0, 20.0, -40.0], 0.001), [8]),
        (Aiding.heading(4_990_000_000, np.pi / 2, 0.001, axis=[0.0, 1.0, 0.0]), [8]),
        (Aiding.altitude(4_990_000_000, 0.0, 0.001), []),
        (Aiding.pose(4_990_000_000, [0, 0, 0], [0, 0, 0, 1], 1e-8), [0, 1, 2, 6, 7, 8]),
    ],
    ids=lambda value: value.kind if isinstance(value, Aiding) else "",
)
def test_an_aiding_reduces_the_variance_of_what_it_measures(aiding, places):
    navigator = StrapdownNavigator(NavigatorParams(heading_sigma=0.1))
    navigator.run(resting(500))
    before = np.diag(navigator.estimate.covariance)[places]
    assert navigator.aid(aiding).accepted
    assert (np.diag(navigator.estimate.covariance)[places] < 0.5 * before).all()


def test_fixes_become_positions_and_velocities_in_the_world_of_the_origin():
    origin = (0.7, 0.3, 200.0)
    turned = wgs84.q_ecef_from_enu(0.701, 0.302)
    east = Rotation.from_quat(wgs84.q_ecef_from_enu(0.7, 0.3)).inv() * Rotation.from_quat(turned)
    covariance = np.tile(np.diag([1.0, 4.0, 9.0]), (3, 1, 1))
    fixes = GnssSeries(
        [10**9, 2 * 10**9, 3 * 10**9],
        [0.701, np.nan, 0.701],
        [0.302, 0.3, 0.302],
        [250.0, 250.0, np.nan],
        covariance,
        velocity_world=np.tile([10.0, 0.0, 0.0], (3, 1)),
        velocity_covariance=covariance * np.array([1.0, 1.0, 0.0])[:, None, None],
        heading=[0.5, 0.5, np.nan],
        heading_sigma=[0.1, 0.1, 0.1],
    )
    told = gnss_aiding(fixes, origin, lever_arm=ARM, latency=0.2, heading_axis=[0.0, 1.0, 0.0])
    assert [each.kind for each in told] == ["position", "velocity", "heading"]
    assert {each.t_ns for each in told} == {800_000_000}
    position, velocity, heading = told
    expected = wgs84.ecef_from_geodetic(0.701, 0.302, 250.0) - wgs84.ecef_from_geodetic(*origin)
    q = Rotation.from_quat(wgs84.q_ecef_from_enu(0.7, 0.3)).inv()
    np.testing.assert_allclose(position.value, q.apply(expected), atol=1e-6)
    np.testing.assert_allclose(velocity.value, east.apply([10.0, 0.0, 0.0]), atol=1e-12)
    R = east.as_matrix()
    np.testing.assert_allclose(position.covariance, R @ covariance[0] @ R.T, atol=1e-12)
    np.testing.assert_array_equal(position.lever_arm, ARM)
    np.testing.assert_array_equal(heading.axis, [0.0, 1.0, 0.0])


def test_readings_of_a_barometer_count_from_the_first():
    readings = BarometerSeries([0, 10, 20], [np.nan, 310.0, 312.5])
    told = barometer_aiding(readings, 0.3, latency=-1e-9)
    assert [(each.t_ns, *each.value.tolist()) for each in told] == [(11, 0.0), (21, 2.5)]
    assert barometer_aiding(readings, 0.3, origin=300.0)[0].value[0] == 10.0


def test_rejections_of_every_kind_are_counted_separately():
    assert len(NavigatorMemory().refused) == len(KINDS)
    navigator = StrapdownNavigator(NavigatorParams(patience=2))
    navigator.run(resting(300))
    t_ns = 2_990_000_000
    for _ in range(2):
        assert not navigator.aid(Aiding.pose(t_ns, [9, 0, 0], [0, 0, 0, 1], 1e-6)).accepted
        assert not navigator.aid(Aiding.forward_speed(t_ns, 9.0, 0.01)).accepted
    assert navigator.aid(Aiding.forward_speed(t_ns, 9.0, 0.01)).accepted


def test_aiding_that_is_no_measurement_is_refused():
    with pytest.raises(ValueRangeError, match="zero vector"):
        Aiding.magnetic_field(0, [0.0, 0.0, 0.0], 0.1)
    with pytest.raises(ShapeError, match="lever_arm"):
        Aiding.position(0, [0.0, 0.0, 0.0], 1.0, lever_arm=[1.0, 2.0])
    with pytest.raises(ShapeError, match=r"\(6, 6\)"):
        Aiding.pose(0, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], np.eye(3))
    with pytest.raises(ValueRangeError, match="positive definite"):
        Aiding.altitude(0, 1.0, 0.0)
    with pytest.raises(ValueRangeError, match="altitude"):
        Aiding.altitude(0, np.nan, 1.0)

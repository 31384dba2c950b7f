"""Accuracy of the orientation of all filters.

Every filter keeps the bounds with its defaults; most keep narrower ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.estimation import FILTERS, SMOOTHERS
from strapdown.evaluation import evaluate_orientation
from strapdown.samples import ImuSample

MS = 1_000_000
SECOND = 1000 * MS
GRAVITY = 9.80665

# Rows: axes of the frame in ENU or FLU.
WORLDS = {
    "ENU": np.eye(3),
    "NED": np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]]),
    "NWU": np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]),
}
BODIES = {"FLU": np.eye(3), "FRD": np.diag([1, -1, -1])}
FACES = [("x", 0), ("x", 90), ("x", 180), ("x", 270), ("y", 90), ("y", -90)]
POSES = [
    Rotation.from_euler("z", heading, degrees=True) * Rotation.from_euler(*face, degrees=True)
    for face in FACES
    for heading in (0, 90, 180, 270)
]

every_filter = pytest.mark.parametrize("name", FILTERS)


def in_frames(series, world, body):
    """Express readings in other body axes without the library."""
    axes = BODIES[body]
    return series.replace(
        specific_force=series.specific_force @ axes.T,
        magnetic_field=series.magnetic_field @ axes.T,
        world=world,
        body=body,
    )


def heading_of(q):
    return Rotation.from_quat(q).as_euler("ZYX", degrees=True)[0]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("world", WORLDS)
@every_filter
@pytest.mark.by_default(
    "complementary-ENU-FLU",
    "complementary-NED-FRD",
    "eskf-ENU-FLU",
    "eskf-NED-FRD",
    "madgwick-ENU-FLU",
    "madgwick-NED-FRD",
    "mahony-ENU-FLU",
    "mahony-NED-FRD",
    "vqf-ENU-FLU",
    "vqf-NED-FRD",
)
def test_six_faces_and_four_headings_give_the_analytic_attitude(still, name, world, body):
    for pose in POSES:
        readings = in_frames(still(np.arange(200) * 10 * MS, pose)[0], world, body)
        result = FILTERS[name]().run(readings)
        expected = Rotation.from_matrix(WORLDS[world] @ pose.as_matrix() @ BODIES[body].T)
        error = Rotation.from_quat(result.q_world_from_body[-1]) * expected.inv()
        assert error.magnitude() < 1e-9
        assert (result.world, result.body) == (world, body)
        assert result.uses_magnetic_field
        assert result.report.lossless


@every_filter
def test_without_a_magnetometer_tilt_is_the_same_and_heading_starts_at_zero(still, name):
    for pose in POSES:
        readings, _ = still(np.arange(200) * 10 * MS, pose)
        result = FILTERS[name]().run(readings, use_magnetic_field=False)
        up = Rotation.from_quat(result.q_world_from_body[-1]).inv().apply([0, 0, 1])
        assert np.linalg.norm(up - pose.inv().apply([0, 0, 1])) < 1e-9
        assert result.q_world_from_body[-1, 2] == pytest.approx(0.0, abs=1e-9)
        assert not result.uses_magnetic_field


@every_filter
def test_a_tumbling_ideal_sensor_is_followed_closely(tumble, ideal, name):
    readings, truth = tumble(np.arange(0, 30 * SECOND, 5 * MS))
    evaluation = evaluate_orientation(ideal(name).run(readings).trajectory(), truth)
    assert evaluation.total_max < np.radians(0.5)


@pytest.mark.parametrize(("kind", "turn"), [("mean", 0.1), ("point", 0.05)])
@every_filter
def test_a_mean_says_all_of_its_interval_and_a_rate_half_of_it(still, made, name, kind, turn):
    readings, _ = still(np.arange(0, 2 * SECOND, 10 * MS))
    rates = np.zeros((len(readings), 3))
    rates[-1, 2] = 10.0
    readings = readings.replace(angular_velocity=rates)
    result = made(name, sample_kind=kind).run(readings, use_magnetic_field=False)
    assert heading_of(result.q_world_from_body[-1]) == pytest.approx(np.degrees(turn), abs=0.01)


@every_filter
def test_jittered_stamps_cost_nothing(tumble, ideal, name):
    def error(steps):
        readings, truth = tumble(np.cumsum(steps))
        track = ideal(name).run(readings).trajectory()
        return evaluate_orientation(track, truth).total

    uniform = np.full(6000, 10 * MS)
    jittered = np.random.default_rng(3).normal(10 * MS, 2 * MS, 6000).astype(np.int64)
    assert error(jittered) < 1.2 * error(uniform) + 1e-5


@pytest.mark.parametrize(
    "start",
    [
        pytest.param({"pose": Rotation.from_euler("x", 180, degrees=True)}, id="upside down"),
        pytest.param({"bias": np.radians([0.5, -0.5, 0.5])}, id="with a gyro bias"),
    ],
)
@every_filter
def test_tilt_is_right_five_seconds_after_a_hard_start_at_rest(still, name, start):
    readings, truth = still(np.arange(0, 6 * SECOND, 5 * MS), start.get("pose"))
    readings = readings.replace(angular_velocity=readings.angular_velocity + start.get("bias", 0))
    track = FILTERS[name]().run(readings).trajectory()
    after = evaluate_orientation(track, truth.between_ns(5 * SECOND, 6 * SECOND))
    assert after.inclination_max < np.radians(1.5)


@every_filter
def test_tilt_is_right_five_seconds_after_a_start_in_motion(tumble, ideal, name):
    readings, truth = tumble(np.arange(0, 6 * SECOND, 5 * MS))
    shake = np.where(readings.t_ns < 3 * SECOND, 3.0, 0.0)
    shake = shake * np.sin(2 * np.pi * 2.0 * readings.t_ns * 1e-9 + 1.0)
    forward = Rotation.from_quat(truth.q_world_from_body).inv().apply([1.0, 0.0, 0.0])
    readings = readings.replace(
        specific_force=readings.specific_force + shake[:, np.newaxis] * forward
    )
    track = ideal(name).run(readings).trajectory()
    after = evaluate_orientation(track, truth.between_ns(5 * SECOND, 6 * SECOND))
    assert after.inclination_max < np.radians(1.5)


@every_filter
def test_free_fall_neither_tilts_nor_stops_the_filter(tumble, ideal, name):
    readings, truth = tumble(np.arange(0, 20 * SECOND, 5 * MS))
    force = readings.specific_force.copy()
    force[(readings.t_ns > 10 * SECOND) & (readings.t_ns < 11 * SECOND)] = 0.0
    track = ideal(name).run(readings.replace(specific_force=force)).trajectory()
    after = evaluate_orientation(track, truth.between_ns(16 * SECOND, 20 * SECOND))
    assert after.inclination_max < np.radians(1.0)


@every_filter
def test_tilt_is_right_five_seconds_after_an_impact_of_100_g(still, name):
    readings, truth = still(np.arange(0, 16 * SECOND, 5 * MS))
    force = readings.specific_force.copy()
    hit = (readings.t_ns >= 10 * SECOND) & (readings.t_ns < 10 * SECOND + 10 * MS)
    assert hit.sum() == 2
    force[hit, 0] += 100.0 * GRAVITY
    track = FILTERS[name]().run(readings.replace(specific_force=force)).trajectory()
    after = evaluate_orientation(track, truth.between_ns(15 * SECOND, 16 * SECOND))
    assert after.inclination_max < np.radians(1.0)


@pytest.mark.parametrize("told", ["by the samples", "by the range"])
@every_filter
def test_tilt_is_right_five_seconds_after_a_gyro_clipped(still, made, name, told):
    """Half a turn in 0.3 s, of which a gyro of 500 deg/s measures only 150 deg."""
    readings, truth = still(np.arange(0, 17 * SECOND, 5 * MS))
    limit = np.radians(500.0)
    fast = (readings.t_ns > 10 * SECOND) & (readings.t_ns <= 10 * SECOND + 300 * MS)
    angle = np.clip((readings.t_ns * 1e-9 - 10.0) * 600.0, 0.0, 180.0)
    attitude = Rotation.from_euler("y", angle[:, np.newaxis], degrees=True)
    rates = np.zeros((len(readings), 3))
    rates[fast, 1] = limit
    readings = readings.replace(
        angular_velocity=rates,
        specific_force=attitude.inv().apply([0.0, 0.0, GRAVITY]),
        magnetic_field=attitude.inv().apply(readings.magnetic_field[0].copy()),
    )
    truth = truth.replace(q_world_from_body=attitude.as_quat())
    if told == "by the samples":
        bits = np.where(fast, 2, 0).astype(np.uint8)
        result = made(name).run(readings.replace(gyro_clipping=bits))
    else:
        result = made(name, gyro_range=limit).run(readings)
    after = evaluate_orientation(result.trajectory(), truth.between_ns(15300 * MS, 17 * SECOND))
    assert after.inclination_max < np.radians(1.0)
    assert result.report.clipped_angular_velocity == fast.sum()


@every_filter
def test_the_sign_of_the_quaternion_is_continuous(tumble, name):
    readings, _ = tumble(np.arange(0, 30 * SECOND, 10 * MS))
    spinning = readings.replace(
        angular_velocity=np.tile([0.0, 0.0, 3.0], (len(readings), 1)),
        specific_force=np.tile([0.0, 0.0, GRAVITY], (len(readings), 1)),
        magnetic_field=None,
    )
    q = FILTERS[name]().run(spinning).q_world_from_body
    assert np.all(np.sum(q[1:] * q[:-1], axis=1) > 0.0)
    assert np.any(q[:, 3] < -0.5)  # more than one full turn
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 1e-12


@every_filter
def test_the_sign_is_continuous_even_over_most_of_a_turn_in_one_step(name):
    orientation = FILTERS[name]()
    stamps = [0, 5 * MS, 10 * MS, 15 * MS]
    q = [orientation.update(ImuSample(t, (0, 0, 1200.0), (0, 0, 9.81))) for t in stamps]
    assert all(abs(q[k] @ q[k + 1]) == q[k] @ q[k + 1] for k in range(3))


@every_filter
def test_an_accelerometer_bias_is_given_by_filters_that_estimate_one(tumble, name):
    readings, _ = tumble(np.arange(0, SECOND, 10 * MS))
    orientation = FILTERS[name]()
    result = orientation.run(readings)
    for found in (result, orientation.estimate):
        assert (found.accel_bias is not None) == (name == "eskf")
        assert (found.accel_bias_sigma is not None) == (name == "eskf")


@every_filter
def test_a_result_converts_between_frames_and_back(tumble, name):
    readings, _ = tumble(np.arange(0, SECOND, 10 * MS))
    result = FILTERS[name]().run(readings)
    there = result.in_frames(world="NED", body="FRD")
    assert (there.world, there.body) == ("NED", "FRD")
    expected = WORLDS["NED"] @ Rotation.from_quat(result.q_world_from_body).as_matrix()
    expected = expected @ BODIES["FRD"].T
    np.testing.assert_allclose(
        Rotation.from_quat(there.q_world_from_body).as_matrix(), expected, atol=1e-15
    )
    np.testing.assert_allclose(
        there.orientation_covariance,
        WORLDS["NED"] @ result.orientation_covariance @ WORLDS["NED"].T,
        atol=1e-15,
    )
    np.testing.assert_array_equal(there.gyro_bias, result.gyro_bias @ BODIES["FRD"].T)
    back = there.in_frames(world="ENU", body="FLU").trajectory()
    assert evaluate_orientation(back, result.trajectory()).total_max < 1e-15


@every_filter
def test_the_covariance_is_one_and_heading_alone_drifts_without_a_magnetometer(tumble, name):
    readings, _ = tumble(np.arange(0, 60 * SECOND, 10 * MS))
    for nine_axes in (True, False):
        result = FILTERS[name]().run(readings, use_magnetic_field=nine_axes)
        covariance = result.orientation_covariance
        np.testing.assert_allclose(covariance, np.swapaxes(covariance, 1, 2))
        assert np.linalg.eigvalsh(covariance[100:]).min() > 0.0
        tilt, heading = covariance[:, 0, 0], covariance[:, 2, 2]
        assert tilt[-1] < tilt[1]
        # has converged, except for the effect of the motion itself
        assert tilt[-1000:].mean() == pytest.approx(tilt[-2000:-1000].mean(), rel=0.5)
        if nine_axes:
            assert heading[-1000:].mean() == pytest.approx(heading[-2000:-1000].mean(), rel=0.5)
        else:
            assert heading[-1] > heading[2000] > heading[200]


@pytest.mark.parametrize("name", SMOOTHERS)
def test_smoothers_give_the_analytic_attitude_of_every_pose_in_every_frame(still, name):
    for k, pose in enumerate(POSES):
        world, body = list(WORLDS)[k % 3], list(BODIES)[k % 2]
        readings = in_frames(still(np.arange(200) * 10 * MS, pose)[0], world, body)
        result = SMOOTHERS[name]().run(readings)
        expected = Rotation.from_matrix(WORLDS[world] @ pose.as_matrix() @ BODIES[body].T)
        error = Rotation.from_quat(result.q_world_from_body) * expected.inv()
        assert error.magnitude().max() < 1e-6
        assert (result.world, result.body) == (world, body)


@pytest.mark.parametrize("fault", [np.nan, np.inf, 1e300, 0.0])
@pytest.mark.parametrize("name", SMOOTHERS)
@pytest.mark.by_default("vqf-nan", "vqf-inf", "vqf-1e+300", "vqf-0.0", "eskf-nan", "eskf-1e+300")
def test_smoothers_survive_heavy_faults(tumble, name, fault):
    readings, truth = tumble(np.arange(0, 60 * SECOND, 10 * MS))
    random = np.random.default_rng(11)
    broken = {}
    for sensor in ("angular_velocity", "specific_force", "magnetic_field"):
        column = getattr(readings, sensor).copy()
        column[(random.random(len(column)) < 0.3) & (readings.t_ns < 20 * SECOND)] = fault
        broken[sensor] = column
    result = SMOOTHERS[name]().run(readings.replace(**broken))
    q = result.q_world_from_body
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 1e-12
    assert np.all(np.sum(q[1:] * q[:-1], axis=1) > 0.0)
    assert evaluate_orientation(result.trajectory(), truth[-1:]).total < np.radians(1.0)

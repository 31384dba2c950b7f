"""Is the orientation right?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.estimation import FILTERS, ComplementaryFilter, ComplementaryParams, ImuSample
from strapdown.evaluation import evaluate_orientation

MS = 1_000_000
SECOND = 1000 * MS

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


def in_frames(series, world, body):
    """Express readings in other body axes without the library."""
    axes = BODIES[body]
    return series.replace(
        specific_force=series.specific_force @ axes.T,
        magnetic_field=series.magnetic_field @ axes.T,
        world=world,
        body=body,
    )


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", FILTERS)
def test_six_faces_and_four_headings_give_the_analytic_attitude(still, name, world, body):
    for pose in POSES:
        readings = in_frames(still(np.arange(20) * 10 * MS, pose)[0], world, body)
        result = FILTERS[name]().run(readings)
        expected = Rotation.from_matrix(WORLDS[world] @ pose.as_matrix() @ BODIES[body].T)
        error = Rotation.from_quat(result.q_world_from_body[-1]) * expected.inv()
        assert error.magnitude() < 1e-9
        assert (result.world, result.body) == (world, body)
        assert result.uses_magnetic_field
        assert result.report.lossless


@pytest.mark.parametrize("name", FILTERS)
def test_without_a_magnetometer_tilt_is_the_same_and_heading_starts_at_zero(still, name):
    for pose in POSES:
        readings, _ = still(np.arange(20) * 10 * MS, pose)
        result = FILTERS[name]().run(readings, use_magnetic_field=False)
        up = Rotation.from_quat(result.q_world_from_body[-1]).inv().apply([0, 0, 1])
        assert np.linalg.norm(up - pose.inv().apply([0, 0, 1])) < 1e-9
        assert result.q_world_from_body[-1, 2] == pytest.approx(0.0, abs=1e-9)
        assert not result.uses_magnetic_field


def test_a_tumbling_ideal_sensor_is_followed_closely(tumble):
    readings, truth = tumble(np.arange(0, 30 * SECOND, 5 * MS))
    evaluation = evaluate_orientation(ComplementaryFilter().run(readings).trajectory(), truth)
    assert evaluation.total_max < np.radians(0.05)


def test_jittered_stamps_cost_nothing(tumble):
    def error(steps):
        readings, truth = tumble(np.cumsum(steps))
        track = ComplementaryFilter().run(readings).trajectory()
        return evaluate_orientation(track, truth).total

    uniform = np.full(6000, 10 * MS)
    jittered = np.random.default_rng(3).normal(10 * MS, 2 * MS, 6000).astype(np.int64)
    assert error(jittered) < 1.2 * error(uniform)


@pytest.mark.parametrize(
    "start",
    [
        pytest.param({"pose": Rotation.from_euler("x", 180, degrees=True)}, id="upside down"),
        pytest.param({"bias": np.radians([0.5, -0.5, 0.5])}, id="with a gyro bias"),
    ],
)
def test_tilt_is_right_five_seconds_after_a_hard_start_at_rest(still, start):
    readings, truth = still(np.arange(0, 6 * SECOND, 5 * MS), start.get("pose"))
    readings = readings.replace(angular_velocity=readings.angular_velocity + start.get("bias", 0))
    track = ComplementaryFilter().run(readings).trajectory()
    after = evaluate_orientation(track, truth.between(5 * SECOND, 6 * SECOND))
    assert after.inclination_max < np.radians(0.5)


def test_tilt_is_right_five_seconds_after_a_start_in_motion(tumble):
    readings, truth = tumble(np.arange(0, 6 * SECOND, 5 * MS))
    shake = 3.0 * np.sin(2 * np.pi * 2.0 * readings.t_ns * 1e-9 + 1.0)
    forward = Rotation.from_quat(truth.q_world_from_body).inv().apply([1.0, 0.0, 0.0])
    readings = readings.replace(
        specific_force=readings.specific_force + shake[:, np.newaxis] * forward
    )
    track = ComplementaryFilter().run(readings).trajectory()
    at_start = evaluate_orientation(track, truth[:1])
    after = evaluate_orientation(track, truth.between(5 * SECOND, 6 * SECOND))
    assert at_start.inclination > np.radians(10.0)
    assert after.inclination_max < np.radians(1.0)


def test_a_gyro_bias_is_learnt_at_rest_unless_the_limit_forbids_it(still):
    bias = np.radians([1.0, -0.7, 0.4])
    readings, _ = still(np.arange(0, 20 * SECOND, 5 * MS))
    readings = readings.replace(angular_velocity=readings.angular_velocity + bias)

    def final_heading(params):
        result = ComplementaryFilter(params).run(readings, use_magnetic_field=False)
        return Rotation.from_quat(result.q_world_from_body[-1]).as_euler("ZYX")[0]

    assert abs(final_heading(None)) < np.radians(2.0)
    drift = final_heading(ComplementaryParams(bias_limit=0.0))
    assert drift == pytest.approx(bias[2] * 20.0, rel=0.02)


def test_a_disturbed_field_counts_less(still):
    readings, truth = still(np.arange(0, 30 * SECOND, 5 * MS))
    field = readings.magnetic_field.copy()
    magnet = (readings.t_ns > 20 * SECOND) & (readings.t_ns < 23 * SECOND)
    field[magnet] += [1e-4, 0.0, 0.0]
    track = ComplementaryFilter().run(readings.replace(magnetic_field=field)).trajectory()
    error = evaluate_orientation(track, truth)
    # full trust would go 1 - exp(-3/9) of the way to atan2(100, 25) = 76 deg
    assert np.radians(0.01) < error.heading_max < np.radians(2.0)


@pytest.mark.parametrize(("name", "axis"), [("magnetic_field", "z"), ("specific_force", "x")])
def test_a_slow_sensor_corrects_as_fast_as_a_quick_one(still, name, axis):
    stamps = np.arange(0, 20 * SECOND, 5 * MS)
    readings, truth = still(stamps)
    turned, _ = still(stamps, Rotation.from_euler(axis, 20, degrees=True))
    later = stamps[:, np.newaxis] > 10 * SECOND
    quick = np.where(later, getattr(turned, name), getattr(readings, name))
    slow = np.where(np.arange(len(quick))[:, np.newaxis] % 10 == 0, quick, np.nan)
    turns = []
    for column in (quick, slow):
        track = ComplementaryFilter().run(readings.replace(**{name: column})).trajectory()
        turns.append(evaluate_orientation(track, truth.between(11 * SECOND, 20 * SECOND)).total)
    assert turns[0] > np.radians(5.0)
    assert turns[1] == pytest.approx(turns[0], rel=0.02)


@pytest.mark.parametrize("moved", ["angular_velocity", "specific_force"])
def test_a_slow_turn_is_no_bias_while_the_sensor_shakes(still, moved):
    readings, _ = still(np.arange(0, 30 * SECOND, 5 * MS))
    wave = np.sin(4 * np.pi * readings.t_ns * 1e-9)[:, np.newaxis]
    shaken = {"angular_velocity": readings.angular_velocity + np.radians([0.0, 0.0, 1.0])}
    size = {"angular_velocity": np.radians([0, 0, 4]), "specific_force": [0, 0, 2]}[moved]
    shaken[moved] = shaken.get(moved, readings.specific_force) + wave * size
    result = ComplementaryFilter().run(readings.replace(**shaken), use_magnetic_field=False)
    heading = Rotation.from_quat(result.q_world_from_body[-1]).as_euler("ZYX", degrees=True)[0]
    assert heading == pytest.approx(30.0, abs=0.5)


def test_free_fall_neither_tilts_nor_stops_the_filter(tumble):
    readings, truth = tumble(np.arange(0, 20 * SECOND, 5 * MS))
    force = readings.specific_force.copy()
    force[(readings.t_ns > 10 * SECOND) & (readings.t_ns < 11 * SECOND)] = 0.0
    track = ComplementaryFilter().run(readings.replace(specific_force=force)).trajectory()
    assert evaluate_orientation(track, truth).total_max < np.radians(0.1)


def test_the_sign_of_the_quaternion_is_continuous(tumble):
    readings, _ = tumble(np.arange(0, 30 * SECOND, 10 * MS))
    spinning = readings.replace(
        angular_velocity=np.tile([0.0, 0.0, 3.0], (len(readings), 1)), magnetic_field=None
    )
    q = ComplementaryFilter().run(spinning).q_world_from_body
    assert np.all(np.sum(q[1:] * q[:-1], axis=1) > 0.0)
    assert np.any(q[:, 3] < -0.5)  # it went round more than once
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 1e-12


def test_the_sign_is_continuous_even_over_most_of_a_turn_in_one_step():
    orientation = ComplementaryFilter()
    q = [orientation.update(ImuSample(t, (0, 0, 1200.0), (0, 0, 9.81))) for t in (0, 5 * MS)]
    assert q[0] @ q[1] == pytest.approx(-np.cos(1200.0 * 0.005 / 2))


@pytest.mark.parametrize(
    "change",
    [{"tau_acc": 0.0}, {"tau_mag": -1.0}, {"bias_limit": -0.1}, {"reset_after": np.nan},
     {"tau_acc": np.inf}],
)  # fmt: skip
def test_parameters_out_of_range_are_refused_by_name(change):
    with pytest.raises(ValueRangeError, match=next(iter(change))):
        ComplementaryParams(**change)


def test_a_result_converts_between_frames_and_back(tumble):
    readings, _ = tumble(np.arange(0, SECOND, 10 * MS))
    result = ComplementaryFilter().run(readings)
    there = result.in_frames(world="NED", body="FRD")
    assert (there.world, there.body) == ("NED", "FRD")
    expected = WORLDS["NED"] @ Rotation.from_quat(result.q_world_from_body).as_matrix()
    expected = expected @ BODIES["FRD"].T
    np.testing.assert_allclose(
        Rotation.from_quat(there.q_world_from_body).as_matrix(), expected, atol=1e-15
    )
    back = there.in_frames(world="ENU", body="FLU").trajectory()
    assert evaluate_orientation(back, result.trajectory()).total_max < 1e-15

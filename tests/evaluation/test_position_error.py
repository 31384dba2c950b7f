"""Errors of position: alignment, drift, relative errors of pose, and free integration."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.evaluation import (
    closing_error,
    drift_errors,
    evaluate_position,
    relative_pose_error,
    strapdown_drift,
    true_states,
)
from strapdown.series import Trajectory

MS = 1_000_000
COUNT = 200
STAMPS = np.arange(COUNT) * 10 * MS
RNG = np.random.default_rng(8)
WALK = np.cumsum(RNG.normal(size=(COUNT, 3)), axis=0)
ATTITUDES = Rotation.random(COUNT, rng=RNG)
SHIFT = np.array([3.0, -2.0, 5.0])


def track(position, rotation=ATTITUDES, stamps=STAMPS, **columns):
    return Trajectory(stamps, rotation.as_quat(), position_world=position, **columns)


REFERENCE = track(WALK)


def level(angle_deg):
    return Rotation.from_euler("z", angle_deg, degrees=True)


def test_without_alignment_errors_are_plain_distances():
    error = np.tile([3.0, 4.0, 12.0], (COUNT, 1))
    error[0] = 0.0
    evaluation = evaluate_position(track(WALK + error), REFERENCE)
    share = np.sqrt((COUNT - 1) / COUNT)
    assert evaluation.ate == pytest.approx(13.0 * share)
    assert evaluation.ate_2d == pytest.approx(5.0 * share)
    assert evaluation.ate_vertical == pytest.approx(12.0 * share)
    assert evaluation.error_max == pytest.approx(13.0)
    assert evaluation.error_median == pytest.approx(13.0)
    assert evaluation.closing_error == pytest.approx(13.0)
    assert evaluation.closing_error_2d == pytest.approx(5.0)
    distance = np.linalg.norm(np.diff(WALK, axis=0), axis=1).sum()
    assert evaluation.distance == pytest.approx(distance)
    assert evaluation.drift_percent == pytest.approx(1300.0 / distance)


@pytest.mark.parametrize(
    ("align", "turn"),
    [("start", level(130)), ("rigid2d", level(-170)), ("rigid3d", Rotation.random(rng=RNG))],
)
def test_alignment_removes_the_rigid_motion_it_names(align, turn):
    estimate = track(turn.apply(WALK) + SHIFT, turn * ATTITUDES)
    evaluation = evaluate_position(estimate, REFERENCE, align=align)
    assert evaluation.error_max < 1e-12
    assert (Rotation.from_quat(evaluation.removed_rotation) * turn.inv()).magnitude() < 1e-12
    np.testing.assert_allclose(evaluation.removed_translation, SHIFT, atol=1e-12)
    assert evaluate_position(estimate, REFERENCE).ate > 1.0


def test_no_alignment_removes_scale_or_reflection():
    for estimate in (track(1.1 * WALK), track(WALK * [-1.0, 1.0, 1.0])):
        for align in ("rigid2d", "rigid3d"):
            assert evaluate_position(estimate, REFERENCE, align=align).ate_2d > 0.5


def test_rigid_alignments_are_the_best_of_their_kind():
    estimate = track(level(20).apply(WALK) + SHIFT + RNG.normal(size=(COUNT, 3)))
    centred = estimate.position_world - estimate.position_world.mean(axis=0)
    truth = WALK - WALK.mean(axis=0)
    _, rssd = Rotation.align_vectors(centred, truth)
    best = evaluate_position(estimate, REFERENCE, align="rigid3d")
    assert best.ate == pytest.approx(rssd / np.sqrt(COUNT))

    plane = [1.0, 1.0, 0.0]
    _, rssd = Rotation.align_vectors(
        np.vstack([centred * plane, [[0.0, 0.0, 1.0]]]),
        np.vstack([truth * plane, [[0.0, 0.0, 1.0]]]),
        weights=[1.0] * COUNT + [1e9],
    )
    best = evaluate_position(estimate, REFERENCE, align="rigid2d")
    assert best.ate_2d == pytest.approx(rssd / np.sqrt(COUNT))
    assert best.removed_rotation[:2] == (0.0, 0.0)


def test_rows_without_position_or_mask_do_not_count():
    position = WALK.copy()
    position[3] = np.nan
    moving = np.ones(COUNT, bool)
    moving[:3] = False
    evaluation = evaluate_position(REFERENCE[:100], track(position, moving=moving))
    assert evaluation.samples == 96
    assert evaluation.excluded == {
        "not moving": 3, "without reference": 1, "without estimate": 100,
    }  # fmt: skip
    assert evaluation.ate == 0.0


def test_frames_are_reconciled_before_the_plane_is_taken():
    estimate = track(WALK + np.array([0.0, 0.0, 2.0])).in_frames(world="NED", body="FRD")
    evaluation = evaluate_position(estimate, REFERENCE.in_frames(world="NUE"))
    assert evaluation.ate_2d < 1e-12
    assert evaluation.ate_vertical == pytest.approx(2.0)


def test_a_track_without_positions_and_an_unknown_alignment_are_refused():
    with pytest.raises(ValueRangeError, match="200 without estimate"):
        evaluate_position(Trajectory(STAMPS, ATTITUDES.as_quat()), REFERENCE)
    with pytest.raises(UnknownNameError, match="sim3"):
        evaluate_position(REFERENCE, REFERENCE, align="sim3")


def test_a_position_evaluation_is_json():
    data = json.loads(json.dumps(evaluate_position(REFERENCE, REFERENCE).to_dict()))
    assert data["ate"] == 0.0
    assert data["align"] == "none"
    assert data["drift_percent"] == 0.0


def test_the_drift_of_what_never_moves_is_not_a_number():
    still = track(np.zeros((COUNT, 3)))
    assert np.isnan(evaluate_position(still, still).drift_percent)


def test_the_closing_error_is_from_the_first_to_the_last_known_position():
    position = WALK.copy()
    position[[0, -1]] = np.nan
    position[1], position[-2] = [1.0, 1.0, 1.0], [4.0, 5.0, 13.0]
    assert closing_error(track(position)) == pytest.approx((13.0, 5.0))
    assert closing_error(track(position).in_frames(world="NUE")) == pytest.approx((13.0, 5.0))
    with pytest.raises(ValueRangeError, match="with positions"):
        closing_error(Trajectory(STAMPS, ATTITUDES.as_quat()))


def test_relative_errors_do_not_see_constant_motions_of_the_world():
    turn = Rotation.random(rng=RNG)
    estimate = track(turn.apply(WALK) + SHIFT, turn * ATTITUDES)
    error = relative_pose_error(estimate, REFERENCE, over_s=0.1)
    assert error.translation_max < 1e-12
    assert error.rotation_max < 1e-7
    assert error.pairs == COUNT - 10


def test_relative_errors_of_a_straight_way_with_a_known_drift():
    straight = np.outer(np.arange(COUNT), [0.1, 0.0, 0.0])
    flat = Rotation.identity(COUNT)
    reference = track(straight, flat)
    estimate = track(1.02 * straight, level(np.arange(COUNT)[:, None] * 0.05))
    by_time = relative_pose_error(estimate, reference, over_s=0.5)
    assert by_time.rotation_deg == pytest.approx(2.5)
    assert by_time.pairs == COUNT - 50
    by_way = relative_pose_error(track(1.02 * straight, flat), reference, over_m=2.0)
    assert by_way.translation == pytest.approx(0.04)
    assert by_way.drift_percent == pytest.approx(2.0)
    assert by_way.translation_median == pytest.approx(by_way.translation_max)


def test_segments_of_time_do_not_reach_across_holes():
    kept = np.ones(COUNT, bool)
    kept[60:100] = False
    reference = REFERENCE[kept]
    error = relative_pose_error(REFERENCE, reference, over_s=0.2)
    # of the 140 that start before the end, those that end inside the hole are gone
    assert error.pairs == (60 - 20 + 1) + (100 - 20) - 1
    assert error.translation_max < 1e-12


def test_segments_need_one_length_that_exists():
    with pytest.raises(TypeError, match="one of over_s and over_m"):
        relative_pose_error(REFERENCE, REFERENCE)
    with pytest.raises(ValueRangeError, match="above 0"):
        relative_pose_error(REFERENCE, REFERENCE, over_m=0.0)
    with pytest.raises(ValueRangeError, match="shorter segments"):
        relative_pose_error(REFERENCE, REFERENCE, over_s=60.0)


def free_fall(count=14_000):
    """A reference at 100 Hz that falls along a parabola, and its acceleration."""
    t_ns = np.arange(count) * 10 * MS
    t = t_ns * 1e-9
    position = np.stack([2.0 * t, 0.5 * t**2, 1.0 - 3.0 * t + 0.25 * t**2], axis=-1)
    velocity = np.stack([np.full_like(t, 2.0), t, 0.5 * t - 3.0], axis=-1)
    return track(position, Rotation.identity(count), t_ns), velocity


def test_true_states_are_even_and_know_the_velocity_of_a_parabola():
    reference, velocity = free_fall()
    states = true_states(reference)
    assert len(states) == 8
    assert np.ptp(np.diff(states.t_ns[1:])) <= 20 * MS
    assert reference.t_ns[-1] - states.t_ns[-1] >= 60 * 10**9
    rows = states.t_ns // (10 * MS)
    np.testing.assert_allclose(states.velocity_world, velocity[rows], atol=1e-6)


def test_states_are_not_taken_from_holes():
    reference, _ = free_fall()
    states = true_states(reference)
    hole = np.abs(reference.t_ns - states.t_ns[3]) < 40 * MS
    hole[states.t_ns[3] // (10 * MS)] = False
    assert len(true_states(reference[~hole])) == 7
    with pytest.raises(ValueRangeError, match="positions"):
        true_states(Trajectory(STAMPS, ATTITUDES.as_quat()))


def test_drift_is_read_after_fixed_times_and_summed_up_by_its_median():
    reference, _ = free_fall(6_500)
    errors = []
    for scale in (1.0, 2.0, 9.0):
        late = reference.between_ns(2 * 10**9, 40 * 10**9)
        since = (late.t_ns - late.t_ns[0]) * 1e-9
        off = scale * np.outer(since**2, [0.0, 0.6, 0.8])
        errors.append(
            drift_errors(late.replace(position_world=late.position_world + off), reference)
        )
    drift = strapdown_drift(errors)
    np.testing.assert_allclose(drift.median_m[:4], [2.0, 50.0, 200.0, 1800.0])
    assert np.isnan(drift.median_m[4])
    assert drift.windows == (3, 3, 3, 3, 0)
    assert drift.metrics["drift_10s_m"] == pytest.approx(200.0)


def test_drift_needs_a_reference_within_50_ms():
    reference, _ = free_fall(3_000)
    estimate = reference
    hole = np.abs(reference.t_ns - 5 * 10**9) < 55 * MS
    assert np.isnan(drift_errors(estimate, reference[~hole])[1])
    hole = np.abs(reference.t_ns - 5 * 10**9) < 45 * MS
    assert drift_errors(estimate, reference[~hole])[1] == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ValueRangeError, match="at least one window"):
        strapdown_drift([])

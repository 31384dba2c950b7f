"""Errors between tracks: the BROAD metric, alignment, and rows that do not count."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.evaluation import evaluate_orientation, orientation_error
from strapdown.series import Trajectory

MS = 1_000_000
RANDOM = Rotation.random(50, rng=np.random.default_rng(17))
STAMPS = np.arange(50) * 10 * MS


def about(axis, angle_deg):
    return Rotation.from_euler(axis, np.asarray(angle_deg)[..., np.newaxis], degrees=True)


def track(rotation, stamps=STAMPS, **columns):
    return Trajectory(stamps, rotation.as_quat(), **columns)


def degrees(errors):
    return [float(np.degrees(error)) for error in errors]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (about("z", 5), [5, 5, 0]),
        (about("z", -5), [5, 5, 0]),
        (about("x", 5), [5, 0, 5]),
        (about("y", -5), [5, 0, 5]),
        (about("z", 180), [180, 180, 0]),
        (about("x", 175), [175, 0, 175]),
        (Rotation.identity(), [0, 0, 0]),
    ],
)
def test_pure_heading_and_pure_tilt_are_told_apart(turn, expected):
    for reference in RANDOM[:5]:
        errors = orientation_error((turn * reference).as_quat(), reference.as_quat())
        np.testing.assert_allclose(degrees(errors), expected, atol=1e-12)


@given(
    st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: np.hypot(*q[:2]) > 0.1),
    st.sampled_from([-1.0, 1.0]),
    st.sampled_from([-1.0, 1.0]),
)
def test_total_and_inclination_are_the_angles_of_the_rotation_and_of_the_vertical(q, s, p):
    estimate, reference = Rotation.from_quat(q), RANDOM[0]
    turn = estimate * reference.inv()
    errors = orientation_error(s * estimate.as_quat(), p * reference.as_quat())
    vertical = turn.apply([0.0, 0.0, 1.0])
    tilt = np.arctan2(np.hypot(*vertical[:2]), vertical[2])
    assert errors.total == pytest.approx(turn.magnitude(), abs=1e-12)
    assert errors.inclination == pytest.approx(tilt, abs=1e-12)
    # the two parts are rotations about perpendicular axes
    halves = np.cos(np.array([errors.total, errors.heading, errors.inclination]) / 2)
    assert halves[0] == pytest.approx(halves[1] * halves[2], abs=1e-12)


def test_small_errors_are_not_rounded_away_and_nan_stays_nan():
    errors = orientation_error([[0, 0, 1e-12, 1.0], [np.nan] * 4], [0.0, 0.0, 0.0, 1.0])
    assert errors.total[0] == pytest.approx(2e-12)
    assert np.isnan(errors.heading[1])
    assert errors.inclination.shape == (2,)


def test_a_hand_made_track_of_nine_rows():
    turns = [about("z", 90)] * 2 + [
        about("z", 3), about("z", -4), about("x", 12), about("z", 70), about("y", -5),
    ] + [about("z", 90)] * 2  # fmt: skip
    reference = RANDOM[:9]
    q_reference = reference.as_quat()
    q_reference[5] = np.nan
    estimate = Rotation.concatenate(turns) * reference
    moving = [False] * 2 + [True] * 5 + [False] * 2
    evaluation = evaluate_orientation(
        track(estimate, STAMPS[:9]), Trajectory(STAMPS[:9], q_reference, moving=moving)
    )
    assert evaluation.samples == 4
    assert evaluation.excluded == {"not moving": 4, "without reference": 1}
    assert evaluation.total_deg == pytest.approx(np.sqrt((9 + 16 + 144 + 25) / 4))
    assert evaluation.heading_deg == pytest.approx(np.sqrt((9 + 16) / 4))
    assert evaluation.inclination_deg == pytest.approx(np.sqrt((144 + 25) / 4))
    assert np.degrees(evaluation.total_max) == pytest.approx(12.0)
    assert np.degrees(evaluation.heading_max) == pytest.approx(4.0)


def test_estimates_are_interpolated_but_not_across_gaps_or_ends():
    stamps = np.array([0, 10, 20, 500, 510]) * MS
    estimate = track(about("z", [0.0, 10.0, 20.0, 30.0, 40.0]), stamps)
    reference = track(about("z", [0.0, 5.0, 13.0, 0.0, 32.0, 0.0]),
                      np.array([-5, 5, 15, 200, 502, 600]) * MS)  # fmt: skip
    evaluation = evaluate_orientation(estimate, reference)
    assert evaluation.samples == 3
    assert evaluation.excluded == {"without estimate": 3}
    assert evaluation.heading_deg == pytest.approx(np.sqrt(4 / 3))
    everything = evaluate_orientation(estimate, reference, max_gap_ns=1000 * MS)
    assert everything.samples == 4


def test_late_rows_of_the_estimate_are_dropped_and_counted():
    stamps = np.array([0, 10, 10, 20, 15, 30]) * MS
    estimate = track(about("z", [0.0, 1.0, 50.0, 2.0, 50.0, 3.0]), stamps)
    reference = track(about("z", [0.0, 1.0, 2.0, 3.0]), np.arange(4) * 10 * MS)
    evaluation = evaluate_orientation(estimate, reference)
    assert evaluation.total_max < 1e-12
    assert evaluation.dropped == 2


@pytest.mark.parametrize("world", ["ENU", "NED", "NWU", "NUE", "EUN"])
def test_frames_are_reconciled_and_the_vertical_is_found(world):
    truth = track(RANDOM)
    tilted = track(about("x", 7) * RANDOM)
    expected = [7.0, 0.0, 7.0]
    for estimate, reference in [
        (tilted.in_frames(world=world, body="FRD"), truth),
        (tilted, truth.in_frames(world=world, body="FUR")),
        (tilted.in_frames(world=world), truth.in_frames(world=world)),
    ]:
        e = evaluate_orientation(estimate, reference)
        found = [e.total_deg, e.heading_deg, e.inclination_deg]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_heading_alignment_takes_the_first_second_that_counts():
    stamps = np.arange(300) * 10 * MS
    drift = np.where(np.arange(300) < 150, 170.0 + 20.0 * (np.arange(300) % 2), 195.0)
    truth = track(Rotation.identity(300), stamps, moving=np.arange(300) >= 50)
    estimate = track(about("z", drift) * about("x", 5), stamps)
    evaluation = evaluate_orientation(estimate, truth, align="heading")
    # rows 50 to 149 are 170 and 190 in turn: 180 goes, which leaves +-10 there and 15 after
    assert evaluation.heading_deg == pytest.approx(np.sqrt((100 * 100 + 150 * 225) / 250))
    assert evaluation.inclination_deg == pytest.approx(5.0)
    assert Rotation.from_quat(evaluation.removed_rotation).magnitude() == pytest.approx(np.pi)
    assert evaluate_orientation(estimate, truth).heading_deg > 160.0


def test_world_alignment_removes_any_constant_rotation():
    turn = Rotation.random(rng=np.random.default_rng(3))
    evaluation = evaluate_orientation(track(turn * RANDOM), track(RANDOM), align="world")
    assert evaluation.total_max < 1e-7
    removed = Rotation.from_quat(evaluation.removed_rotation)
    assert (removed * turn.inv()).magnitude() < 1e-7
    wobble = track(turn * about("z", np.tile([3.0, -3.0], 25)) * RANDOM)
    assert evaluate_orientation(wobble, track(RANDOM), align="world").total_deg == pytest.approx(3)


def test_an_evaluation_is_json():
    evaluation = evaluate_orientation(track(about("z", 5) * RANDOM), track(RANDOM))
    data = json.loads(json.dumps(evaluation.to_dict()))
    assert data["total_deg"] == pytest.approx(5.0)
    assert data["heading"] == pytest.approx(np.radians(5.0))
    assert data["align"] == "none"
    assert data["samples"] == 50
    assert data["removed_rotation"] == [0, 0, 0, 1]


def test_tracks_without_common_time_are_one_clear_error():
    with pytest.raises(ValueRangeError, match=r"50 without estimate.*0\.000 to 0\.490 s"):
        evaluate_orientation(track(RANDOM), track(RANDOM, STAMPS + 1000 * MS))
    nothing = Trajectory([], np.empty((0, 4)))
    for pair in [(nothing, track(RANDOM)), (track(RANDOM), nothing), (nothing, nothing)]:
        with pytest.raises(ValueRangeError, match="no time"):
            evaluate_orientation(*pair)
    for nothing_known in (np.nan, 0.0):
        unknown = Trajectory(STAMPS, np.full((50, 4), nothing_known))
        with pytest.raises(ValueRangeError, match="50 without reference"):
            evaluate_orientation(track(RANDOM), unknown)


def test_an_unknown_alignment_is_refused():
    with pytest.raises(UnknownNameError, match="yaw"):
        evaluate_orientation(track(RANDOM), track(RANDOM), align="yaw")


def test_world_and_body_alignment_finds_the_mounting_of_a_sensor():
    world, body = Rotation.random(2, rng=np.random.default_rng(5))
    estimate = track(world * RANDOM * body)
    evaluation = evaluate_orientation(estimate, track(RANDOM), align="world_and_body")
    assert evaluation.total_max < 1e-7
    for removed, true in [
        (evaluation.removed_rotation, world),
        (evaluation.removed_body_rotation, body),
    ]:
        assert (Rotation.from_quat(removed) * true.inv()).magnitude() < 1e-7
    assert evaluate_orientation(estimate, track(RANDOM), align="world").total_deg > 30.0

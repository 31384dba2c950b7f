"""Values that evaluations take as tracks."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.estimation import FILTERS
from strapdown.evaluation import (
    closing_error,
    drift_errors,
    evaluate_orientation,
    evaluate_position,
    relative_pose_error,
    surviving,
    true_states,
)
from strapdown.inertial.navigation import NavigationStart, mechanise
from strapdown.series import ImuSeries, Trajectory

STAMPS = np.arange(400) * 10_000_000
REST = ImuSeries(STAMPS, np.zeros((400, 3)), np.tile([0.0, 0.0, 9.80665], (400, 1)))
TRUTH = Trajectory(
    STAMPS,
    np.tile([0.0, 0.0, 0.0, 1.0], (400, 1)),
    position_world=np.zeros((400, 3)),
    velocity_world=np.zeros((400, 3)),
)


def test_results_of_filters_are_evaluated_as_their_trajectories():
    result = FILTERS["mahony"]().run(REST)
    assert evaluate_orientation(result, TRUTH) == evaluate_orientation(result.trajectory(), TRUTH)
    assert evaluate_orientation(TRUTH, result).total_deg < 1e-9


def test_tracks_of_dead_reckoning_are_evaluated_as_their_trajectories():
    run = mechanise(REST, NavigationStart())
    track = run.trajectory
    assert evaluate_position(run, TRUTH) == evaluate_position(track, TRUTH)
    assert relative_pose_error(run, TRUTH, over_s=1.0) == relative_pose_error(
        track, TRUTH, over_s=1.0
    )
    assert closing_error(run) == closing_error(track)
    assert true_states(run) == true_states(track)
    assert surviving(run, REST[::2]) == track[::2]
    np.testing.assert_array_equal(drift_errors(run, TRUTH), drift_errors(track, TRUTH))


@pytest.mark.parametrize("other", [REST, TRUTH.q_world_from_body, None], ids=repr)
@pytest.mark.parametrize(
    ("name", "evaluate"),
    [
        ("estimate", lambda value: evaluate_orientation(value, TRUTH)),
        ("reference", lambda value: evaluate_orientation(TRUTH, value)),
        ("estimate", lambda value: evaluate_position(value, TRUTH)),
        ("reference", lambda value: relative_pose_error(TRUTH, value, over_s=1.0)),
        ("estimate", lambda value: drift_errors(value, TRUTH)),
        ("reference", true_states),
        ("track", closing_error),
    ],
)
def test_anything_else_is_refused_with_what_to_pass(name, evaluate, other):
    expected = rf"^expected {name} as a Trajectory .*, got {type(other).__name__}; pass .*$"
    with pytest.raises(TypeError, match=expected):
        evaluate(other)

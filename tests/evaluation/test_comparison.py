"""Tables of algorithms on recordings."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.evaluation import compare, evaluate_orientation
from strapdown.series import Trajectory

RUNS = {
    "old": {"a": {"rmse": 2.0, "max": 5.0}, "b": {"rmse": 4.0, "max": 5.0}},
    "new": {"b": {"max": 1.0, "rmse": 6.0}, "a": {"rmse": 0.0, "max": 0.0}},
}


def test_means_medians_and_ratios_of_means():
    runs = {
        name: {str(k): {"x": v} for k, v in enumerate(values)}
        for name, values in {"p": (1.0, 2.0, 6.0), "q": (3.0, 3.0, 12.0)}.items()
    }
    table = compare(runs, baseline="p")
    assert table.mean == {"p": {"x": 3.0}, "q": {"x": 6.0}}
    assert table.median == {"p": {"x": 2.0}, "q": {"x": 3.0}}
    assert table.ratio == {"p": {"x": 1.0}, "q": {"x": 2.0}}


def test_the_text_is_aligned_and_names_everything():
    lines = str(compare(RUNS, baseline="old")).splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["old", "3", "3", "1.000", "5", "5", "1.000"],
        ["new", "3", "3", "1.000", "0.5", "0.5", "0.100"],
    ]
    assert len({len(line) for line in lines[:3]}) == 1
    assert lines[3] == "over 2 recordings; ratios of means to old"
    assert "ratio" not in str(compare(RUNS))


def test_recordings_keep_their_order_and_json_holds_all():
    data = json.loads(json.dumps(compare(RUNS, baseline="new").to_dict()))
    assert data["recordings"] == ["a", "b"]
    assert data["values"]["new"] == {"rmse": [0.0, 6.0], "max": [0.0, 1.0]}
    assert data["ratio"]["old"]["max"] == 10.0


def test_evaluations_are_compared_by_their_metrics():
    q = Rotation.random(20, rng=np.random.default_rng(1))
    reference = Trajectory(np.arange(20) * 10_000_000, q.as_quat())
    off = Rotation.from_euler("z", 3.0, degrees=True)
    estimate = reference.replace(q_world_from_body=(off * q).as_quat())
    table = compare({"mine": {"trial": evaluate_orientation(estimate, reference)}})
    assert table.metrics == ("total_deg", "heading_deg", "inclination_deg")
    assert table.mean["mine"]["heading_deg"] == pytest.approx(3.0)
    assert table.ratio == {}


def test_a_run_that_failed_shows_and_a_baseline_of_zero_has_no_ratio():
    table = compare(
        {"zero": {"a": {"x": 0.0}}, "lost": {"a": {"x": np.nan}}, "one": {"a": {"x": 1.0}}},
        baseline="zero",
    )
    assert np.isnan(table.mean["lost"]["x"])
    assert "nan" in str(table)
    assert table.ratio["one"]["x"] == np.inf


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ({}, "at least one"),
        ({"a": {}}, "at least one"),
        ({"a": {"r": {"x": 1.0}}, "b": {"s": {"x": 1.0}}}, "same recordings, got r, s"),
        ({"a": {"r": {"x": 1.0}}, "b": {"r": {"y": 1.0}}}, "metrics x, got y"),
    ],
)
def test_what_cannot_be_compared_is_refused(results, message):
    with pytest.raises(ValueRangeError, match=message):
        compare(results)


def test_an_unknown_baseline_is_refused():
    with pytest.raises(UnknownNameError, match="older"):
        compare(RUNS, baseline="older")

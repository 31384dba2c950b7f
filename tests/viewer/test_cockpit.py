"""Calibration from what a page has seen: coverage so far, results, and their application."""

from __future__ import annotations

import numpy as np
import pytest
from tests.calibration_sessions import ACCEL, ACCEL_BIAS, recorded, tumble

from strapdown.errors import ValueRangeError
from strapdown.formats import Recording
from strapdown.series import ImuSeries
from strapdown.viewer import RecordingSource, ViewModel
from strapdown.viewer.cockpit import CalibrationKind, progress, solve

POSES, FIELD = CalibrationKind


@pytest.fixture(scope="module")
def session():
    """A session of 30 attitudes after a rest of 30 s."""
    return recorded(tumble())


def first(series, seconds):
    return series.between(start_s=0.0, stop_s=seconds)


def turned(count, seed=5):
    """Readings of a magnetometer in random attitudes, with hard iron of 20 uT."""
    rng = np.random.default_rng(seed)
    field = rng.normal(size=(count, 3))
    field = 48e-6 * field / np.linalg.norm(field, axis=1, keepdims=True) + [20e-6, 0.0, 0.0]
    t = np.arange(count) * 20_000_000
    noise = rng.normal(scale=1e-2, size=(2, count, 3))
    return ImuSeries(t, 1.0 + noise[0], [0.0, 0.0, 9.81] + noise[1], magnetic_field=field)


def test_the_first_seconds_ask_for_more():
    empty = progress(POSES, turned(20), 30.0)
    assert not empty.covered.any()
    assert "expected 100 samples" in empty.hint


def test_attitudes_are_counted_and_the_rest_recognised(session):
    resting = progress(POSES, first(session, 30.4), 30.0)
    assert resting.is_still
    assert resting.attitudes == 1
    assert resting.covered.sum() == 1
    some = progress(POSES, first(session, 70.0), 30.0)
    whole = progress(POSES, session, 30.0)
    assert 2 < some.attitudes < whole.attitudes
    assert "more attitudes" in some.hint
    assert whole.attitudes >= 30
    assert whole.hint == "enough attitudes: compute"
    assert whole.covered.sum() > some.covered.sum()


def test_the_result_is_that_of_the_procedure_and_calibrates_what_is_shown(session):
    solution = solve(POSES, session, 30.0)
    np.testing.assert_allclose(solution.calibration.accel.matrix, ACCEL, atol=2e-3)
    np.testing.assert_allclose(solution.calibration.accel.bias, ACCEL_BIAS, atol=5e-3)
    assert solution.lines
    source = RecordingSource(Recording(imu={"imu": session}), name="run")
    source.apply(solution.calibration)
    model = ViewModel([source])
    norm = {name: values for name, _, _, values in model.values(0)}["norm of specific force"]
    assert norm[0] == pytest.approx(9.80665, abs=0.02)
    assert any(figure.name == "calibration" for figure in source.health())
    measured = source.measured_within(source.span())
    np.testing.assert_array_equal(measured.specific_force, session.specific_force)


def test_a_session_that_does_not_suffice_says_what_is_missing(session):
    with pytest.raises(ValueRangeError, match="attitudes at rest"):
        solve(POSES, first(session, 50.0), 30.0)


def test_a_magnetometer_is_covered_side_by_side():
    half = turned(2000)
    half = half[half.magnetic_field[:, 2] > 0.0]
    found = progress(FIELD, half, 30.0)
    assert 0.3 < found.covered.mean() < 0.8
    assert "emptiest side" in found.hint
    whole = progress(FIELD, turned(2000), 30.0)
    assert whole.covered.all()
    assert "100% of the sphere: compute" in whole.hint
    fit = solve(FIELD, turned(2000), 30.0)
    np.testing.assert_allclose(fit.calibration.magnetometer.bias, [20e-6, 0.0, 0.0], atol=1e-6)


def test_a_recording_without_field_has_no_coverage(session):
    assert progress(FIELD, session, 30.0).hint == "no magnetic field"

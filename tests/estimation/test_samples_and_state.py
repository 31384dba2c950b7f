"""Streaming, batches, clocks, broken samples, and the state that is handed over."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown import timebase
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.estimation import FILTERS, ComplementaryFilter, FilterState, ImuSample
from strapdown.evaluation import evaluate_orientation

MS = 1_000_000
SECOND = 1000 * MS
LEVEL = (0.0, 0.0, 9.81)


def samples(series):
    rows = zip(
        series.t_ns.tolist(),
        series.angular_velocity.tolist(),
        series.specific_force.tolist(),
        series.magnetic_field.tolist(),
        strict=True,
    )
    return [ImuSample(*row) for row in rows]


@pytest.fixture
def faulty(tumble):
    """Readings with everything in them that can go wrong."""
    random = np.random.default_rng(7)
    stamps = np.cumsum(random.integers(4 * MS, 6 * MS, 1500))
    stamps[500:] += 300 * MS  # a gap
    stamps[800] = stamps[799]  # a duplicate
    stamps[900] -= 20 * MS  # one that goes back
    stamps[1000:] -= 3 * SECOND  # the clock is set back
    stamps[1200:] += 60 * SECOND  # and forward
    readings, _ = tumble(stamps)
    broken = {}
    for name in ("angular_velocity", "specific_force", "magnetic_field"):
        column = getattr(readings, name).copy()
        column[random.random(1500) < 0.05, 1] = np.nan
        column[random.random(1500) < 0.02] = 1e300
        broken[name] = column
    broken["angular_velocity"][600:640] = np.inf
    return readings.replace(**broken)


@pytest.mark.parametrize("name", FILTERS)
def test_a_run_is_a_loop_of_updates(faulty, name):
    batch, stream = FILTERS[name](), FILTERS[name]()
    result = batch.run(faulty)
    rows = np.array([stream.update(sample) for sample in samples(faulty)])
    np.testing.assert_allclose(result.q_world_from_body, rows, rtol=0.0, atol=1e-12)
    assert result.report == stream.report == batch.report


@pytest.mark.parametrize("name", FILTERS)
def test_chunks_with_the_state_handed_over_as_json_are_the_whole_bit_for_bit(faulty, name):
    whole = FILTERS[name]()
    expected = whole.run(faulty)
    parts, state = [], None
    for rows in (slice(0, 1), slice(1, 505), slice(505, 505), slice(505, 1010), slice(1010, None)):
        part = FILTERS[name]()
        part.reset(state)
        parts.append(part.run(faulty[rows]).q_world_from_body)
        state = FilterState.from_dict(json.loads(json.dumps(part.state.to_dict())))
        assert state == part.state
    assert np.concatenate(parts).tobytes() == expected.q_world_from_body.tobytes()
    assert state == whole.state


@pytest.mark.parametrize("name", FILTERS)
def test_a_reset_goes_back_to_the_beginning(faulty, name):
    used = FILTERS[name]()
    first = used.run(faulty)
    assert used.state != FILTERS[name]().state
    used.reset()
    assert used.state == FILTERS[name]().state
    assert used.report.samples == 0
    assert np.array_equal(used.run(faulty).q_world_from_body, first.q_world_from_body)


def test_two_runs_add_up_in_the_account(faulty):
    orientation = ComplementaryFilter()
    parts = [orientation.run(faulty[rows]).report for rows in (slice(0, 700), slice(700, None))]
    total = orientation.report
    assert total.samples == 1500
    assert total.invalid_angular_velocity == sum(p.invalid_angular_velocity for p in parts)
    assert total.longest_gap_ns == max(p.longest_gap_ns for p in parts)


def test_the_account_counts_each_kind_of_fault(faulty):
    clean_clock = ComplementaryFilter().run(faulty).report
    assert (clean_clock.gaps, clean_clock.duplicates, clean_clock.backward) == (1, 1, 1)
    assert clean_clock.restarts == 2
    assert 300 * MS < clean_clock.longest_gap_ns < 307 * MS
    for name in ("angular_velocity", "specific_force", "magnetic_field"):
        values = getattr(faulty, name)
        unusable = ~(np.abs(values) < 1e9).all(axis=1)
        assert getattr(clean_clock, f"invalid_{name}") == unusable.sum()
    assert not clean_clock.lossless
    assert len(clean_clock.losses()) == 6
    assert "1 gaps in time up to 30" in str(clean_clock)
    assert json.loads(json.dumps(clean_clock.to_dict()))["lossless"] is False


@pytest.mark.parametrize("first_step", [5 * MS, 200 * MS])
def test_gaps_are_those_that_the_time_tools_see(still, first_step):
    steps = np.full(400, 5 * MS)
    steps[[100, 200, 300, 302]] = [24 * MS, 27 * MS, 300 * MS, 60 * MS]
    steps[0] = first_step
    readings, _ = still(np.append(0, np.cumsum(steps)))
    report = ComplementaryFilter().run(readings).report
    expected = timebase.report(readings.t_ns)
    assert (report.gaps, report.longest_gap_ns) == (expected.gaps, expected.longest_gap_ns)


def test_a_sample_that_repeats_or_goes_back_changes_nothing_but_the_account(tumble):
    readings = samples(tumble(np.arange(0, SECOND, 10 * MS))[0])
    orientation = ComplementaryFilter()
    q = [orientation.update(sample) for sample in readings][-1]
    before = orientation.state
    for t_ns in (readings[-1].t_ns, readings[-1].t_ns - 5 * MS):
        late = orientation.update(ImuSample(t_ns, (1.0, 2.0, 3.0), LEVEL))
        assert np.array_equal(late, q)
    assert orientation.state == before
    assert (orientation.report.duplicates, orientation.report.backward) == (1, 1)


@pytest.mark.parametrize("jump", [-5 * SECOND, 3600 * SECOND, -(2**62)])
def test_after_a_jump_of_the_clock_orientation_is_set_anew(tumble, still, jump):
    moving, _ = tumble(np.arange(0, 5 * SECOND, 5 * MS))
    resting, truth = still(np.arange(0, SECOND, 5 * MS) + 5 * SECOND + jump)
    orientation = ComplementaryFilter()
    orientation.run(moving)
    result = orientation.run(resting)
    assert result.report.restarts == 1
    assert evaluate_orientation(result.trajectory(), truth).total_max < 1e-9


def test_lost_samples_and_lost_rates_are_bridged_by_the_neighbours(tumble):
    readings, truth = tumble(np.arange(0, 60 * SECOND, 5 * MS))
    lost = np.random.default_rng(5).random(len(readings)) < 0.05
    lost[0] = False
    rates = readings.angular_velocity.copy()
    rates[lost] = np.nan
    for holed in (readings[~lost], readings.replace(angular_velocity=rates)):
        track = ComplementaryFilter().run(holed).trajectory()
        assert evaluate_orientation(track, truth).total_max < np.radians(0.1)


def test_a_dead_gyro_leaves_orientation_to_the_other_sensors(still, tumble):
    moving, _ = tumble(np.arange(0, 5 * SECOND, 5 * MS))
    resting, truth = still(np.arange(5 * SECOND, 65 * SECOND, 5 * MS))
    resting = resting.replace(angular_velocity=np.full((len(resting), 3), np.nan))
    orientation = ComplementaryFilter()
    orientation.run(moving)
    result = orientation.run(resting)
    at_the_end = evaluate_orientation(result.trajectory(), truth[-1:])
    assert at_the_end.total < np.radians(0.5)
    assert result.report.invalid_angular_velocity == len(resting)


def test_a_broken_reading_of_one_sensor_leaves_the_others_at_work():
    orientation = ComplementaryFilter()
    tilted = (0.0, 9.81 * math.sin(0.3), 9.81 * math.cos(0.3))
    assert orientation.update(ImuSample(0, None, (math.nan, 0.0, 1.0))).tolist() == [0, 0, 0, 1]
    q = orientation.update(ImuSample(5 * MS, (math.inf, 0.0, 0.0), tilted))
    np.testing.assert_allclose(q, [math.sin(0.15), 0.0, 0.0, math.cos(0.15)], atol=1e-15)
    q = orientation.update(ImuSample(10 * MS, (0.0, 0.0, 0.0), None, (0.0, 0.0, 0.0)))
    np.testing.assert_allclose(q, [math.sin(0.15), 0.0, 0.0, math.cos(0.15)], atol=1e-15)
    report = orientation.report
    assert report.invalid_angular_velocity == 2
    assert report.invalid_specific_force == 2
    assert report.invalid_magnetic_field == 1


def test_free_fall_from_the_first_sample_on_has_no_up():
    orientation = ComplementaryFilter()
    q = orientation.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    assert q.tolist() == [0, 0, 0, 1]
    assert orientation.report.lossless


STAMPS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-3 * SECOND, 30 * SECOND),
    st.integers(0, 40).map(lambda k: k * 5 * MS),
)
NUMBERS = st.one_of(
    st.floats(),
    st.floats(-20.0, 20.0),
    st.sampled_from([0.0, -0.0, 1e300, -1e300, 5e-324, math.nan, math.inf, 9999.0, 99999.0]),
)
VECTORS = st.none() | st.tuples(NUMBERS, NUMBERS, NUMBERS)


@pytest.mark.parametrize("name", FILTERS)
@given(stream=st.lists(st.builds(ImuSample, STAMPS, VECTORS, VECTORS, VECTORS), max_size=30))
def test_no_input_leaves_anything_but_a_finite_unit_quaternion(name, stream):
    orientation = FILTERS[name]()
    for sample in stream:
        q = orientation.update(sample)
        assert abs(np.linalg.norm(q) - 1.0) < 1e-12
        assert all(map(math.isfinite, orientation.state.values))
    assert orientation.report.samples == len(stream)


@pytest.mark.parametrize("fault", [np.nan, np.inf, 1e300, 0.0])
def test_a_minute_after_heavy_faults_orientation_has_recovered(tumble, fault):
    readings, _ = tumble(np.arange(0, 100 * SECOND, 10 * MS))
    clean = ComplementaryFilter().run(readings).trajectory()
    random = np.random.default_rng(11)
    broken = {}
    for name in ("angular_velocity", "specific_force", "magnetic_field"):
        column = getattr(readings, name).copy()
        column[(random.random(len(readings)) < 0.3) & (readings.t_ns < 40 * SECOND)] = fault
        broken[name] = column
    track = ComplementaryFilter().run(readings.replace(**broken)).trajectory()
    assert np.isfinite(track.q_world_from_body).all()
    assert evaluate_orientation(track, clean[-1:]).total < np.radians(0.5)


def test_vectors_may_be_any_three_numbers():
    plain = ImuSample(0, (0.0, 0.0, 1.0), LEVEL)
    assert ImuSample(0, [0, 0, 1], np.array(LEVEL)) == plain
    with pytest.raises(ShapeError, match="specific_force"):
        ImuSample(0, (0.0, 0.0, 0.0), (1.0, 2.0))
    with pytest.raises(ShapeError, match="angular_velocity"):
        ImuSample(0, 1.0, LEVEL)


def test_a_stamp_beyond_64_bits_is_refused():
    with pytest.raises(ValueRangeError, match="t_ns"):
        ComplementaryFilter().update(ImuSample(2**63, (0.0, 0.0, 0.0), LEVEL))


def test_a_foreign_or_damaged_state_is_refused():
    state = ComplementaryFilter().state
    with pytest.raises(UnknownNameError, match="mahony"):
        ComplementaryFilter().reset(FilterState("mahony", 0, state.values))
    with pytest.raises(ShapeError, match="values"):
        ComplementaryFilter().reset(FilterState(state.filter, 0, state.values[:-1]))
    with pytest.raises(ValueRangeError, match="finite"):
        FilterState(state.filter, 0, (math.nan, *state.values[1:]))
    for damaged in ({}, state.to_dict() | {"values": ["1.0"]}, state.to_dict() | {"t_ns": 0.5}):
        with pytest.raises(ValueRangeError, match="filter state"):
            FilterState.from_dict(damaged)

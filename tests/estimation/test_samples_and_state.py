"""Streaming, batches, clocks, faulty samples, and saved states."""

from __future__ import annotations

import json
import math
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.estimation import (
    FILTERS,
    ComplementaryFilter,
    FilterState,
    FootNavigator,
    StrapdownNavigator,
)
from strapdown.evaluation import evaluate_orientation
from strapdown.geometry import quaternion
from strapdown.samples import ImuSample
from strapdown.series import timebase

MS = 1_000_000
SECOND = 1000 * MS
LEVEL = (0.0, 0.0, 9.81)

every_filter = pytest.mark.parametrize("name", FILTERS)


def samples(series):
    rows = zip(
        series.t_ns.tolist(),
        series.angular_velocity.tolist(),
        series.specific_force.tolist(),
        series.magnetic_field.tolist(),
        *(
            [0] * len(series) if bits is None else bits.tolist()
            for bits in (series.gyro_clipping, series.accel_clipping)
        ),
        strict=True,
    )
    return [ImuSample(*row) for row in rows]


@pytest.fixture
def faulty(tumble):
    """Readings with every kind of fault."""
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
    clipped = random.integers(0, 8, (2, 1500)) * (random.random((2, 1500)) < 0.02)
    gyro_clipping, accel_clipping = clipped.astype(np.uint8)
    return readings.replace(**broken, gyro_clipping=gyro_clipping, accel_clipping=accel_clipping)


@every_filter
def test_a_run_is_a_loop_of_updates(faulty, name):
    batch, stream = FILTERS[name](), FILTERS[name]()
    result = batch.run(faulty)
    rows = np.array([stream.update(sample) for sample in samples(faulty)])
    np.testing.assert_allclose(result.q_world_from_body, rows, rtol=0.0, atol=1e-12)
    assert result.report == stream.report == batch.report


@every_filter
def test_the_source_of_a_kernel_as_python_gives_what_it_gives_compiled(faulty, name):
    part = samples(faulty[480:860])
    compiled, source = FILTERS[name](), FILTERS[name](compiled=False)
    for sample in part:
        expected = compiled.update(sample)
        np.testing.assert_allclose(source.update(sample), expected, rtol=0.0, atol=1e-12)
    assert source.report == compiled.report


@every_filter
def test_an_estimate_is_the_last_row_of_a_run(faulty, name):
    orientation = FILTERS[name]()
    result = orientation.run(faulty)
    estimate = orientation.estimate
    assert estimate.t_ns == faulty.t_ns[-1]
    for column in ("q_world_from_body", "orientation_covariance", "gyro_bias"):
        np.testing.assert_array_equal(getattr(estimate, column), getattr(result, column)[-1])
    assert (estimate.rest, estimate.magnetic_disturbance) == (
        result.rest[-1],
        result.magnetic_disturbance[-1],
    )


@every_filter
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


@every_filter
def test_a_reset_goes_back_to_the_beginning(faulty, name):
    used = FILTERS[name]()
    first = used.run(faulty)
    assert used.state != FILTERS[name]().state
    used.reset()
    assert used.state == FILTERS[name]().state
    assert used.report.samples == 0
    assert np.array_equal(used.run(faulty).q_world_from_body, first.q_world_from_body)


@every_filter
def test_two_runs_add_up_in_the_account(faulty, name):
    orientation = FILTERS[name]()
    parts = [orientation.run(faulty[rows]).report for rows in (slice(0, 700), slice(700, None))]
    total = orientation.report
    assert total.samples == 1500
    assert total.invalid_angular_velocity == sum(p.invalid_angular_velocity for p in parts)
    assert total.longest_gap_ns == max(p.longest_gap_ns for p in parts)


@every_filter
def test_the_account_counts_each_kind_of_fault(faulty, name):
    report = FILTERS[name]().run(faulty).report
    assert (report.gaps, report.duplicates, report.backward) == (1, 1, 1)
    assert report.restarts == 2
    assert 300 * MS < report.longest_gap_ns < 307 * MS
    counted = np.ones(1500, dtype=bool)
    counted[[800, 900]] = False  # dropped for their stamps
    for sensor in ("angular_velocity", "specific_force", "magnetic_field"):
        values = getattr(faulty, sensor)
        unusable = ~(np.abs(values) < 1e9).all(axis=1)
        assert getattr(report, f"invalid_{sensor}") == unusable.sum()
    assert report.clipped_angular_velocity == ((faulty.gyro_clipping > 0) & counted).sum()
    assert report.clipped_specific_force == ((faulty.accel_clipping > 0) & counted).sum()
    assert not report.lossless
    assert len(report.losses()) == 8
    assert "1 gaps in time up to 30" in str(report)
    assert json.loads(json.dumps(report.to_dict()))["lossless"] is False


@pytest.mark.parametrize("first_step", [5 * MS, 200 * MS])
def test_gaps_are_those_that_the_time_tools_see(still, first_step):
    steps = np.full(400, 5 * MS)
    steps[[100, 200, 300, 302]] = [24 * MS, 27 * MS, 300 * MS, 60 * MS]
    steps[0] = first_step
    readings, _ = still(np.append(0, np.cumsum(steps)))
    report = ComplementaryFilter().run(readings).report
    expected = timebase.report(readings.t_ns)
    assert (report.gaps, report.longest_gap_ns) == (expected.gaps, expected.longest_gap_ns)


@every_filter
def test_a_sample_that_repeats_or_goes_back_changes_nothing_but_the_account(tumble, name):
    readings = samples(tumble(np.arange(0, SECOND, 10 * MS))[0])
    orientation = FILTERS[name]()
    q = [orientation.update(sample) for sample in readings][-1]
    before = orientation.state
    for t_ns in (readings[-1].t_ns, readings[-1].t_ns - 5 * MS):
        late = orientation.update(ImuSample(t_ns, (1.0, 2.0, 3.0), LEVEL))
        assert np.array_equal(late, q)
    assert orientation.state == before
    assert (orientation.report.duplicates, orientation.report.backward) == (1, 1)


@pytest.mark.parametrize("jump", [-5 * SECOND, 3600 * SECOND, -(2**62)])
@every_filter
def test_after_a_jump_of_the_clock_orientation_is_set_anew(tumble, still, name, jump):
    moving, _ = tumble(np.arange(0, 5 * SECOND, 5 * MS))
    resting, truth = still(np.arange(0, SECOND, 5 * MS) + 5 * SECOND + jump)
    orientation = FILTERS[name]()
    orientation.run(moving)
    bias = orientation.estimate.gyro_bias
    result = orientation.run(resting)
    assert result.report.restarts == 1
    assert evaluate_orientation(result.trajectory(), truth[:1]).total < 1e-9
    assert evaluate_orientation(result.trajectory(), truth).total_max < np.radians(0.1)
    assert np.linalg.norm(result.gyro_bias[0] - bias) < np.radians(0.1)


@every_filter
def test_lost_samples_and_lost_rates_are_bridged_by_the_neighbours(tumble, ideal, name):
    readings, truth = tumble(np.arange(0, 60 * SECOND, 5 * MS))
    clean = evaluate_orientation(ideal(name).run(readings).trajectory(), truth).total
    lost = np.random.default_rng(5).random(len(readings)) < 0.05
    lost[0] = False
    rates = readings.angular_velocity.copy()
    rates[lost] = np.nan
    for holed in (readings[~lost], readings.replace(angular_velocity=rates)):
        track = ideal(name).run(holed).trajectory()
        assert evaluate_orientation(track, truth).total < clean + np.radians(0.1)


@every_filter
def test_a_dead_gyro_leaves_orientation_to_the_other_sensors(still, tumble, name):
    moving, _ = tumble(np.arange(0, 5 * SECOND, 5 * MS))
    resting, truth = still(np.arange(5 * SECOND, 65 * SECOND, 5 * MS))
    resting = resting.replace(angular_velocity=np.full((len(resting), 3), np.nan))
    orientation = FILTERS[name]()
    orientation.run(moving)
    result = orientation.run(resting)
    at_the_end = evaluate_orientation(result.trajectory(), truth[-1:])
    assert at_the_end.total < np.radians(1.0)
    assert result.report.invalid_angular_velocity == len(resting)


@every_filter
def test_a_magnetometer_that_stops_leaves_heading_to_the_gyro(tumble, ideal, name):
    readings, truth = tumble(np.arange(0, 40 * SECOND, 10 * MS))
    field = np.where(readings.t_ns[:, np.newaxis] < 20 * SECOND, readings.magnetic_field, np.nan)
    result = ideal(name).run(readings.replace(magnetic_field=field))
    assert evaluate_orientation(result.trajectory(), truth).total_max < np.radians(1.0)
    assert result.report.lossless
    heading = result.orientation_covariance[:, 2, 2]
    assert heading[-1] > 1.5 * heading[1990]


@every_filter
def test_a_magnetometer_that_comes_late_sets_heading(tumble, ideal, name):
    readings, truth = tumble(np.arange(0, 60 * SECOND, 10 * MS))
    field = np.where(readings.t_ns[:, np.newaxis] > 20 * SECOND, readings.magnetic_field, np.nan)
    result = ideal(name).run(readings.replace(magnetic_field=field))
    late = evaluate_orientation(result.trajectory(), truth[-1:])
    assert late.total < np.radians(1.0)
    assert result.uses_magnetic_field


@every_filter
def test_sensors_that_come_one_by_one_at_a_stamp_are_one_sample(tumble, ideal, name):
    readings, truth = tumble(np.arange(0, 20 * SECOND, 10 * MS))
    together, apart = ideal(name), ideal(name)
    for k, sample in enumerate(samples(readings)):
        rate, force, field = sample.vectors()
        slow = field if k % 5 == 0 else None
        whole = together.update(ImuSample(sample.t_ns, rate, force, slow))
        apart.update(ImuSample(sample.t_ns, rate, None))
        parts = apart.update(ImuSample(sample.t_ns, None, force))
        if slow is not None:
            parts = apart.update(ImuSample(sample.t_ns, None, None, slow))
        apart_by = 2.0 * np.arccos(min(1.0, abs(whole @ parts)))
        assert apart_by < np.radians(0.5)
    assert apart.report.lossless
    assert apart.report.merged == len(readings) + len(readings) // 5
    assert together.report.merged == 0
    assert 2.0 * np.arccos(min(1.0, abs(parts @ truth.q_world_from_body[-1]))) < np.radians(0.5)


@every_filter
def test_the_longest_silence_of_each_sensor_is_reported(still, name):
    readings, _ = still(np.arange(0, 10 * SECOND, 10 * MS))
    silent = {
        "angular_velocity": slice(100, 150),
        "specific_force": slice(300, 330),
        "magnetic_field": slice(600, 900),
    }
    broken = {}
    for sensor, rows in silent.items():
        broken[sensor] = getattr(readings, sensor).copy()
        broken[sensor][rows] = np.nan
    report = FILTERS[name]().run(readings.replace(**broken)).report
    assert report.silent_angular_velocity_ns == 510 * MS
    assert report.silent_specific_force_ns == 310 * MS
    assert report.silent_magnetic_field_ns == 3010 * MS


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


@every_filter
def test_free_fall_from_the_first_sample_on_has_no_up(name):
    orientation = FILTERS[name]()
    q = orientation.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    assert q.tolist() == [0, 0, 0, 1]
    assert orientation.report.lossless


@every_filter
@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-7, 1e-5, 1e-3])
def test_a_start_all_but_upside_down_is_a_unit_quaternion(name, off):
    up_in_body = (0.0, math.sin(off), -math.cos(off))
    q = FILTERS[name]().update(ImuSample(0, None, tuple(9.81 * v for v in up_in_body)))
    assert abs(np.linalg.norm(q) - 1.0) < 1e-15
    np.testing.assert_allclose(quaternion.rotate(q, up_in_body), [0.0, 0.0, 1.0], atol=3e-6)


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


@every_filter
@settings(max_examples=60)
@given(stream=st.lists(st.builds(ImuSample, STAMPS, VECTORS, VECTORS, VECTORS), max_size=30))
def test_no_input_leaves_anything_but_a_finite_unit_quaternion(name, stream):
    orientation = FILTERS[name]()
    quaternions = [orientation.update(sample) for sample in stream]
    for q in quaternions:
        assert abs(np.linalg.norm(q) - 1.0) < 1e-12
    for before, after in pairwise(quaternions):
        assert before @ after >= -1e-15  # opposite headings are orthogonal, to rounding
    assert all(map(math.isfinite, orientation.state.values))
    covariance = orientation.estimate.orientation_covariance
    assert np.linalg.eigvalsh(covariance).min() >= -1e-12 * np.linalg.norm(covariance)
    assert orientation.report.samples == len(stream)


def broken_by(readings, until_ns, fault, seed):
    """Return readings of which 30 % of each sensor are a fault, up to a time."""
    random = np.random.default_rng(seed)
    columns = {}
    for sensor in ("angular_velocity", "specific_force", "magnetic_field"):
        column = getattr(readings, sensor).copy()
        column[(random.random(len(column)) < 0.3) & (readings.t_ns < until_ns)] = fault
        columns[sensor] = column
    return readings.replace(**columns)


@pytest.mark.parametrize("fault", [np.nan, np.inf, 1e300, 0.0])
@every_filter
def test_a_minute_after_heavy_faults_orientation_has_recovered(tumble, name, fault):
    readings, _ = tumble(np.arange(0, 100 * SECOND, 10 * MS))
    clean = FILTERS[name]().run(readings).trajectory()
    track = FILTERS[name]().run(broken_by(readings, 40 * SECOND, fault, 11)).trajectory()
    assert np.isfinite(track.q_world_from_body).all()
    assert evaluate_orientation(track, clean[-1:]).total < np.radians(0.5)


JUMPS = st.one_of(
    st.integers(-20 * SECOND, 20 * SECOND),
    st.sampled_from([0, -(2**60), 2**60, -1, 1, 300 * MS]),
)


@every_filter
@settings(max_examples=10)
@given(
    jumps=st.lists(JUMPS, min_size=5, max_size=5),
    fault=st.sampled_from([np.nan, np.inf, 1e300, 0.0]),
    seed=st.integers(0, 99),
)
def test_a_minute_after_a_mad_clock_and_heavy_faults_all_is_well(tumble, name, jumps, fault, seed):
    """The clock jumps every two seconds up to 10 s and is regular afterwards.

    A step with a false rotation also causes a wrong bias, which takes longer to correct than
    a wrong attitude: hence two degrees.
    """
    readings, _ = tumble(np.arange(0, 70 * SECOND, 20 * MS))
    clean = FILTERS[name]().run(readings).q_world_from_body[-1]
    jumped = np.repeat(np.cumsum([0, *jumps]), [100, 100, 100, 100, 100, 3000])
    broken = broken_by(readings, 10 * SECOND, fault, seed)
    q = FILTERS[name]().run(broken.replace(t_ns=readings.t_ns + jumped)).q_world_from_body
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 1e-12
    assert 2.0 * np.arccos(min(1.0, abs(q[-1] @ clean))) < np.radians(2.0)


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


@pytest.mark.parametrize(
    "make",
    [FILTERS["mahony"], StrapdownNavigator, FootNavigator],
    ids=["filter", "navigator", "foot navigator"],
)
def test_threads_that_share_an_estimator_take_turns(make, monkeypatch):
    shared, inside, met = make(), threading.Semaphore(1), []
    execution = shared._execution
    take = execution.update

    def slow_update(sample):
        alone = inside.acquire(blocking=False)
        met.append(alone)
        time.sleep(0.001)
        if alone:
            inside.release()
        return take(sample)

    monkeypatch.setattr(execution, "update", slow_update)

    def feed():
        for i in range(20):
            shared.update(ImuSample(i * 10 * MS, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81)))

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == [True] * 80
    assert shared.report.samples == 80

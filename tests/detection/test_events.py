"""Events, and what every detector has in common."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strapdown.detection import (
    DETECTORS,
    ClippingDetector,
    DetectorState,
    Event,
    Events,
    FallDetector,
    FreeFallDetector,
    FreeFallParams,
    ImpactDetector,
)
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

G = 9.80665
DROP = Event("free_fall", 100, 500, 200, {"height_m": 0.8}, frozenset({"impact"}))
BUMP = Event("impact", 300, 350, 310, {"peak_m_s2": 60.0})
names = pytest.mark.parametrize("name", DETECTORS)


def test_a_table_of_events_gives_them_back():
    events = Events.of([DROP, BUMP])
    assert len(events) == 2
    assert list(events) == [DROP, BUMP]
    assert events[-1] == BUMP
    assert list(events[1:]) == [BUMP]
    assert list(events[[True, False]]) == [DROP]
    assert list(events[[1, 0]]) == [BUMP, DROP]
    assert events == Events.of(iter([DROP, BUMP]))
    assert events != Events.of([DROP])
    assert events.counts == {"free_fall": 1, "impact": 1}
    np.testing.assert_array_equal(events.values["height_m"], [0.8, np.nan])
    np.testing.assert_array_equal(events.flags["impact"], [True, False])
    np.testing.assert_allclose(events.duration_s, [400e-9, 50e-9])
    assert repr(events) == "Events(1 free_fall, 1 impact)"
    assert repr(Events.of([])) == "Events(none)"


def test_events_are_filtered_by_kind_flag_and_time():
    events = Events.of([DROP, BUMP])
    assert list(events.filter("impact")) == [BUMP]
    assert list(events.filter(flag="impact")) == [DROP]
    assert list(events.filter(flag="no such flag")) == []
    assert list(events.filter(start_ns=351)) == [DROP]
    assert list(events.filter(stop_ns=300)) == [DROP]
    assert list(events.filter("impact", start_ns=340, stop_ns=345)) == [BUMP]
    assert len(Events.of([]).filter("impact")) == 0


def test_merged_events_stand_in_the_order_of_their_starts():
    assert list(Events.of([BUMP]).merge(Events.of([]), Events.of([DROP]))) == [DROP, BUMP]


def test_markers_say_where_and_what():
    drop, bump = Events.of([DROP, BUMP]).to_markers()
    assert drop == (100, 500, "free_fall", "free fall (impact)")
    assert bump == (300, 350, "impact", "impact")


def test_events_are_json():
    data = json.loads(json.dumps(Events.of([DROP, BUMP]).to_dict()))
    assert data["counts"] == {"free_fall": 1, "impact": 1}
    assert [Event.from_dict(each) for each in data["events"]] == [DROP, BUMP]
    with pytest.raises(ValueRangeError, match="expected an event"):
        Event.from_dict({"kind": "impact"})


def test_columns_have_one_row_an_event():
    one = np.zeros(1, np.int64)
    with pytest.raises(ShapeError, match="height_m"):
        Events(np.array(["a"]), one, one, one, {"height_m": np.zeros(2)})


def lively(seconds=30.0, rate_hz=100.0, seed=1):
    """A sensor that is thrown, hit, saturated and turned about: something for every detector."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    force = np.tile([0.0, 0.0, G], (len(t), 1))
    rate = np.zeros((len(t), 3))
    for start in np.arange(2.0, seconds - 2.0, 3.0):
        here = t >= start
        force[here & (t < start + rng.uniform(0.1, 0.5))] = 0.0
        force[here & (t < start + 0.05)] *= 3.0
        axis = rng.normal(size=3)
        force[here] = G * axis / np.linalg.norm(axis)
        force[here & (t < start + 0.3)] *= rng.uniform(0.0, 0.6)
        hit = here & (t >= start + 0.3) & (t < start + 0.35)
        force[hit] *= rng.uniform(3.0, 12.0, (hit.sum(), 1))
    rate[:, 1] = 9.0 * np.sin(2.0 * t)
    force += 0.05 * rng.normal(size=force.shape)
    rate += 0.02 * rng.normal(size=rate.shape)
    force, rate = np.clip(force, -80.0, 80.0), np.clip(rate, -6.0, 6.0)
    return ImuSeries(np.round(t * 1e9).astype(np.int64), rate, force)


@names
def test_a_series_gives_the_same_as_a_stream(name, stream):
    series = lively()
    batch, live = DETECTORS[name](), DETECTORS[name]()
    found = list(batch.run(series))
    assert found == stream(live, series)
    assert batch.state == live.state
    assert batch.report == live.report


@names
def test_a_stream_of_vectors_gives_the_same_as_one_of_samples(name):
    series = lively(6.0)
    samples, vectors = DETECTORS[name](), DETECTORS[name]()
    for t_ns, w, f in zip(
        series.t_ns.tolist(), series.angular_velocity, series.specific_force, strict=True
    ):
        assert samples.update(ImuSample(t_ns, w, f)) == vectors.update(t_ns, w, f)
    assert samples.state == vectors.state
    with pytest.raises(ShapeError, match="three numbers"):
        vectors.update(0, (1.0, 2.0), None)


@names
def test_machine_code_and_plain_python_agree(name):
    series = lively(8.0)
    plain, machine = DETECTORS[name](compiled=False), DETECTORS[name](compiled=True)
    assert plain.run(series) == machine.run(series)
    assert plain.state == machine.state
    assert plain.finish() == machine.finish()
    assert plain.state == machine.state


@pytest.mark.parametrize("kind", [FreeFallDetector, FallDetector, ImpactDetector, ClippingDetector])
def test_a_lively_recording_has_events_of_every_kind_and_plain_python_finds_the_same(kind, stream):
    series = lively()
    plain = kind(compiled=False)
    found = stream(plain, series)
    assert len(found) >= 3
    detector = kind()
    assert list(detector.run(series)) == found
    assert plain.state == detector.state
    assert detector.finish() == plain.finish()


@names
@settings(max_examples=10)
@given(split=st.integers(0, 3000))
def test_a_saved_state_goes_on_bit_for_bit(name, split):
    series = lively()
    whole = DETECTORS[name]()
    expected = list(whole.run(series))
    first, second = DETECTORS[name](), DETECTORS[name]()
    found = list(first.run(series[:split]))
    second.reset(DetectorState.from_dict(json.loads(json.dumps(first.state.to_dict()))))
    found += second.run(series[split:])
    assert found == expected
    assert second.state == whole.state


@names
def test_an_event_of_a_stream_is_certain_at_the_latest_when_it_comes(name):
    series = lively()
    detector = DETECTORS[name]()
    for row in range(len(series)):
        one = series[row : row + 1]
        for event in detector.run(one):
            assert event.t_start_ns <= event.t_decided_ns <= one.t_ns[0]
            assert event.t_start_ns <= event.t_end_ns <= one.t_ns[0]


stamps = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 10**10),
    st.integers(0, 400).map(lambda k: k * 5_000_000),
)
numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.floats(-200, 200), st.just(0.0)
)
vectors = st.one_of(st.none(), st.tuples(numbers, numbers, numbers))


@names
@given(
    rows=st.lists(st.tuples(stamps, vectors, vectors, st.integers(0, 7)), max_size=80),
    sort=st.booleans(),
)
def test_no_sample_does_harm_and_all_are_counted(name, rows, sort):
    if sort:
        rows = sorted(rows, key=lambda row: row[0])
    detector = DETECTORS[name]()
    for t_ns, rate, force, bits in rows:
        detector.update(ImuSample(t_ns, rate, force, None, bits, bits))
    detector.finish()
    assert DetectorState.from_dict(detector.state.to_dict()) == detector.state
    assert detector.report.samples == len(rows)
    assert detector.report.invalid_specific_force == sum(
        force is None or not all(abs(x) < 1e5 for x in force) for _, _, force, _ in rows
    )
    times = [row[0] for row in rows]
    assert detector.report.duplicates >= (sum(a == b for a, b in pairwise(times)) if sort else 0)


@names
def test_nothing_and_a_single_sample_are_no_events(name):
    series = lively()[:1]
    for few in (series[:0], series):
        detector = DETECTORS[name]()
        assert len(detector.run(few)) == 0
        assert detector.finish() is None
        assert detector.report.samples == len(few)


@names
def test_nan_infinity_and_a_clock_that_goes_back_are_counted(name):
    series = lively(10.0)
    force, rate, t_ns = (
        series.specific_force.copy(), series.angular_velocity.copy(), series.t_ns.copy()
    )  # fmt: skip
    force[100], force[101, 1], rate[102] = np.nan, np.inf, np.nan
    t_ns[200] = t_ns[199]
    t_ns[300] = t_ns[298]
    t_ns[600:] += 300_000_000
    t_ns[800:] -= 5_000_000_000
    detector = DETECTORS[name]()
    detector.run(ImuSeries(t_ns, rate, force))
    report = detector.report
    assert (report.invalid_specific_force, report.invalid_angular_velocity) == (2, 1)
    assert (report.duplicates, report.backward, report.restarts) == (1, 1, 1)
    assert (report.gaps, report.longest_gap_ns) == (1, 310_000_000)


@names
def test_a_state_of_another_detector_is_refused(name):
    detector = DETECTORS[name]()
    other = next(kind for kind in DETECTORS.values() if name != kind.NAME)
    with pytest.raises(UnknownNameError, match="state of this detector"):
        detector.reset(other().state)
    with pytest.raises(ShapeError, match="state of"):
        detector.reset(DetectorState(name, (0.0,), (0,)))
    with pytest.raises(ValueRangeError, match="64 bits"):
        detector.update(ImuSample(2**63, None, None))


def test_parameters_and_states_are_checked():
    with pytest.raises(ValueRangeError, match="threshold_m_s2"):
        FreeFallParams(threshold_m_s2=-1.0)
    with pytest.raises(ValueRangeError, match="min_duration_s"):
        FreeFallParams(min_duration_s=float("inf"))
    with pytest.raises(ValueRangeError, match="lever_arm_m"):
        FreeFallParams(lever_arm_m=(0.0, float("nan"), 0.0))
    assert FreeFallParams(bridge_s=0.0, lever_arm_m=(0.0, -0.1, 0.0)).bridge_s == 0.0
    with pytest.raises(ValueRangeError, match="finite"):
        DetectorState("free_fall", (float("nan"),), ())
    with pytest.raises(ValueRangeError, match="detector state"):
        DetectorState.from_dict({"detector": "free_fall"})

"""Voting among IMUs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown._kernels.compilation import compiling_first
from strapdown._kernels.records import values_of
from strapdown.detection import (
    DetectorState,
    SensorMount,
    SensorState,
    Voter,
    VoterParams,
    VoterProfile,
)
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

G = 9.80665
RATE_HZ = 200.0
GYRO_SIGMA = np.radians(0.1)
ACCEL_SIGMA = 0.02
ONSET = 5.0
ROWS = slice(round(ONSET * RATE_HZ), None)
FAULTS = ("nan", "stuck", "bias", "scale", "delay", "sign", "noise")


def truth(t, *, moving=True):
    """Angular velocity and specific force of a body that turns about all axes, or rests."""
    phases = np.array([0.0, 2.0, 4.0])
    wave = np.sin(2 * np.pi * np.outer(t, [0.5, 0.6, 0.7]) + phases) * moving
    rate = np.array([1.0, 0.9, 0.8]) * wave
    force = np.array([0.0, 0.0, G]) + np.array([1.5, 2.0, 1.0]) * wave[:, ::-1]
    return rate, force


def sensors(n=3, *, seconds=12.0, moving=True, seed=0):
    """Return time, and n times rate and force with noise and with a bias of their own."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    rate, force = truth(t, moving=moving)
    rates = rate + GYRO_SIGMA * rng.normal(size=(n, *rate.shape))
    forces = force + ACCEL_SIGMA * rng.normal(size=(n, *force.shape))
    rates += GYRO_SIGMA * rng.uniform(-1, 1, (n, 1, 3))
    forces += ACCEL_SIGMA * rng.uniform(-1, 1, (n, 1, 3))
    return t, rates, forces


def inject(fault, rate, force, *, seed=1):
    """Break one sensor from the onset on, in place."""
    rng = np.random.default_rng(seed)
    late = round(0.05 * RATE_HZ)
    for values, sigma, bias in ((rate, GYRO_SIGMA, np.radians(5.0)), (force, ACCEL_SIGMA, 2.0)):
        rows = values[ROWS].copy()
        changed = {
            "nan": np.full_like(rows, np.nan),
            "stuck": np.broadcast_to(rows[0], rows.shape),
            "bias": rows + np.array([bias, 0.0, 0.0]),
            "scale": 1.03 * rows,
            "delay": values[ROWS.start - late : -late].copy(),
            "sign": -rows,
            "noise": rows + 9.95 * sigma * rng.normal(size=rows.shape),
        }
        values[ROWS] = changed[fault]


def as_series(t, rates, forces):
    t_ns = np.round(t * 1e9).astype(np.int64)
    return [ImuSeries(t_ns, w, f) for w, f in zip(rates, forces, strict=True)]


def failures(result, quantity="gyro"):
    """Sensors that failed, and the seconds after the onset."""
    found = result.events.filter("failed", flag=quantity)
    return [(int(e.values["sensor"]), e.t_decided_ns / 1e9 - ONSET) for e in found]


def distance_to(healthy, values):
    """Return how far values are outside of what some sensors read, of each component."""
    low, high = healthy.min(axis=0), healthy.max(axis=0)
    return np.maximum(np.maximum(low - values, values - high), 0.0)


@pytest.mark.parametrize("blend", [False, True])
@pytest.mark.parametrize("broken", [0, 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_one_of_three_that_breaks_fails_in_time_and_does_not_reach_the_output(fault, broken, blend):
    t, rates, forces = sensors()
    inject(fault, rates[broken], forces[broken])
    voter = Voter(3, params=VoterParams(blend=blend))
    result = voter.run(as_series(t, rates, forces))
    # 3 % of gravity, or 50 ms of these shakes, are no more than good accelerometers differ.
    quantities = ("gyro",) if fault in {"scale", "delay"} else ("gyro", "accel")
    for quantity in quantities:
        ((sensor, after),) = failures(result, quantity)
        assert sensor == broken
        assert 0.0 < after <= 1.2
    assert voter.gyro_states[broken] is SensorState.FAILED
    assert voter.selected[0] == (1 if broken == 0 else 0)
    good = [i for i in range(3) if i != broken]
    voted = result.series
    assert distance_to(rates[good], voted.angular_velocity).max() <= 3 * GYRO_SIGMA * 1.0001
    assert distance_to(forces[good], voted.specific_force).max() <= 3 * ACCEL_SIGMA * 1.0001


def test_faults_of_the_accelerometer_alone_leave_the_gyro_alone():
    t, rates, forces = sensors()
    inject("bias", rates[1].copy(), forces[1])
    result = Voter(3).run(as_series(t, rates, forces))
    assert failures(result, "accel")[0][0] == 1
    assert failures(result, "gyro") == []


@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_good_sensors_are_left_in_peace(n, moving):
    series = as_series(*sensors(n, seconds=30.0, moving=moving))
    result = Voter(n).run(series)
    assert len(result.events) == 0
    assert not result.states.any()
    np.testing.assert_array_equal(result.selected, 0)


def test_a_blend_of_n_is_quieter_by_the_root_of_n():
    t, rates, forces = sensors(4, seconds=30.0, moving=False)
    rates -= rates.mean(axis=1, keepdims=True)
    result = Voter(4, params=VoterParams(blend=True)).run(as_series(t, rates, forces))
    # 18 000 values: the deviation is known to 0.5 %.
    assert result.series.angular_velocity.std() == pytest.approx(GYRO_SIGMA / 2, rel=0.03)


def test_a_sensor_recovers_after_ten_good_seconds():
    t, rates, forces = sensors(seconds=25.0)
    broken = slice(round(5 * RATE_HZ), round(10 * RATE_HZ))
    rates[0, broken] += np.radians(5.0)
    result = Voter(3).run(as_series(t, rates, forces))
    kinds = [(e.kind, e.values["sensor"]) for e in result.events]
    assert kinds == [
        ("suspect", 0.0), ("selected", 1.0), ("failed", 0.0), ("recovered", 0.0),
    ]  # fmt: skip
    recovered = result.events[-1]
    assert 20.0 < recovered.t_decided_ns / 1e9 < 20.0 + 8.0  # the mean over 2 s forgets slowly
    assert result.selected[-1, 0] == 1


def test_a_short_excursion_makes_a_suspect_and_no_more():
    t, rates, forces = sensors()
    rates[0, 1000:1060] += np.radians(5.0)
    result = Voter(3).run(as_series(t, rates, forces))
    assert [e.kind for e in result.events] == ["suspect", "selected", "cleared"]


@pytest.mark.parametrize("fault", ["nan", "stuck", "noise", "bias"])
def test_two_at_rest_tell_by_themselves_who_is_wrong(fault):
    t, rates, forces = sensors(2, moving=False)
    inject(fault, rates[0], forces[0])
    forces[0, :, 2] += 1.0 * (t >= ONSET) * (fault == "bias")
    result = Voter(2).run(as_series(t, rates, forces))
    for quantity in ("gyro", "accel"):
        ((sensor, after),) = failures(result, quantity)
        assert sensor == 0
        assert after <= 1.3
    assert len(result.events.filter("disagree")) == 0
    assert tuple(result.selected[-1]) == (1, 1)


def test_two_that_differ_in_motion_disagree_and_the_present_one_is_kept():
    t, rates, forces = sensors(2)
    inject("sign", rates[0], forces[0].copy())
    result = Voter(2).run(as_series(t, rates, forces))
    assert result.events.counts.get("disagree", 0) >= 1
    assert failures(result) == []
    np.testing.assert_array_equal(result.selected, 0)


def turning_in_place(seconds=20.0, *, seed=0):
    """Return two sensors of a body that turns about all axes and feels gravity alone."""
    t, rates, forces = sensors(2, seconds=seconds, seed=seed)
    rate, force = truth(t)
    steps = Rotation.from_rotvec(0.5 * (rate[1:] + rate[:-1]) / RATE_HZ)
    world_from_body = [Rotation.identity()]
    for step in steps:
        world_from_body.append(world_from_body[-1] * step)
    gravity = Rotation.concatenate(world_from_body).inv().apply([0.0, 0.0, G])
    return t, rates, forces - force + gravity


@pytest.mark.parametrize("broken", [0, 1])
@pytest.mark.parametrize("fault", ["gyro sign", "gyro bias", "gyro scale", "accel bias"])
@pytest.mark.by_default("gyro bias-0", "gyro scale-1", "accel bias-0", "gyro sign-1")
def test_of_two_in_motion_the_one_that_gravity_contradicts_is_wrong(fault, broken):
    t, rates, forces = turning_in_place()
    late = t >= ONSET
    if fault == "gyro sign":
        rates[broken, late] *= -1.0
    elif fault == "gyro bias":
        rates[broken, late] += np.radians([8.0, 0.0, 0.0])
    elif fault == "gyro scale":
        rates[broken, late] *= 1.5
    else:
        forces[broken, late] += [1.5, 0.0, 0.0]
    quantity = fault.split()[0]
    result = Voter(2).run(as_series(t, rates, forces))
    ((sensor, after),) = failures(result, quantity)
    assert sensor == broken
    assert after < 4.0
    assert failures(result, "accel" if quantity == "gyro" else "gyro") == []
    assert result.selected[-1, ("gyro", "accel").index(quantity)] == 1 - broken


@pytest.mark.parametrize("seed", range(3))
def test_two_good_ones_that_turn_in_place_agree(seed):
    result = Voter(2).run(as_series(*turning_in_place(seed=seed)))
    assert len(result.events) == 0


def test_of_two_the_clipped_one_is_wrong():
    t, rates, forces = sensors(2)
    late = (t >= ONSET) & (t < ONSET + 2.0)
    forces[:, late] += [40.0, 0.0, 0.0]
    forces[0] = np.clip(forces[0], -20.0, 20.0)
    first, second = as_series(t, rates, forces)
    bits = (forces[0, :, 0] >= 20.0).astype(np.uint8)
    result = Voter(2).run([first.replace(accel_clipping=bits), second])
    ((sensor, after),) = failures(result, "accel")
    assert (sensor, after < 1.2) == (0, True)
    assert len(result.events.filter("disagree")) == 0
    # Nothing says so without the bits.
    assert result.selected[-1, 1] == 1
    unaware = Voter(2).run([first, second])
    assert failures(unaware, "accel") == []
    assert unaware.events.filter("disagree").counts == {"disagree": 1}


def test_every_selection_is_a_message_of_px4():
    t, rates, forces = sensors()
    inject("bias", rates[1], forces[1].copy())
    profiles = [
        VoterProfile(priority=p, gyro_device_id=10 + p, accel_device_id=20 + p) for p in (2, 0, 1)
    ]
    voter = Voter(3, profiles=profiles)
    assert (voter.selection.gyro_device_id, voter.selection.accel_device_id) == (10, 20)
    result = voter.run(as_series(t, rates, forces))
    first, second = result.selections
    assert (first.timestamp, first.gyro_device_id, first.accel_device_id) == (0, 10, 20)
    (event,) = result.events.filter("selected")
    assert (second.gyro_device_id, second.accel_device_id) == (11, 20)
    assert second.timestamp == event.t_start_ns // 1000
    assert voter.selection.gyro_device_id == 11
    assert voter.selection.timestamp == round(t[-1] * 1e6)


def test_a_lower_priority_number_is_selected_first():
    profiles = [VoterProfile(priority=p) for p in (2, 0, 1)]
    t, rates, forces = sensors()
    inject("bias", rates[1], forces[1])
    voter = Voter(3, profiles=profiles)
    assert voter.selected == (1, 1)
    voter.run(as_series(t, rates, forces))
    assert voter.selected == (2, 2)


def test_mounts_and_lever_arms_bring_sensors_to_one_body():
    t = np.arange(0.0, 10.0, 1 / RATE_HZ)
    rng = np.random.default_rng(3)
    rate, force = truth(t)
    alpha = np.gradient(rate, t, axis=0)
    arms = np.array([[0.0, 0.0, 0.0], [0.3, -0.2, 0.1], [-0.2, 0.1, 0.4]])
    turns = quaternion.normalize(rng.normal(size=(3, 4)))
    series, mounts = [], []
    for arm, q in zip(arms, turns, strict=True):
        there = force + np.cross(alpha, arm) + np.cross(rate, np.cross(rate, arm))
        noisy = rate + 0.01 * GYRO_SIGMA * rng.normal(size=rate.shape)
        back = quaternion.conjugate(q)
        t_ns = np.round(t * 1e9).astype(np.int64)
        series.append(
            ImuSeries(t_ns, quaternion.rotate(back, noisy), quaternion.rotate(back, there))
        )
        mounts.append(SensorMount(tuple(q), tuple(arm)))
    result = Voter(3, mounts, params=VoterParams(blend=True)).run(series)
    assert len(result.events) == 0
    np.testing.assert_allclose(result.series.angular_velocity[50:], rate[50:], atol=1e-4)
    # The derivative of the angular velocity comes 20 ms late: 3 rad/s^2 of change, 0.5 m.
    np.testing.assert_allclose(result.series.specific_force[50:], force[50:], atol=0.1)
    # Without the arms sensors are as far apart as 2 m/s^2.
    apart = Voter(3, [SensorMount(m.q_body_from_sensor) for m in mounts]).run(series)
    assert np.abs(apart.series.specific_force - force)[50:].max() > 0.4


def test_readings_are_interpolated_to_the_oldest_stamp():
    voter = Voter(2)
    force = (0.0, 0.0, G)
    for k in range(10):
        stamps = (k * 10_000_000, k * 10_000_000 + 4_000_000)
        vote = voter.update([ImuSample(t, (t * 1e-9, 0.0, 0.0), force) for t in stamps])
        assert vote.t_ns == stamps[0]
        assert vote.angular_velocity[0] == pytest.approx(stamps[0] * 1e-9, abs=1e-12)
    blend = Voter(2, params=VoterParams(blend=True))
    for k in range(10):
        stamps = (k * 10_000_000, k * 10_000_000 + 4_000_000)
        vote = blend.update([ImuSample(t, (t * 1e-9, 0.0, 0.0), force) for t in stamps])
        if k:
            assert vote.angular_velocity[0] == pytest.approx(stamps[0] * 1e-9, abs=1e-12)


def test_a_stream_gives_the_same_as_recordings():
    t, rates, forces = sensors()
    inject("noise", rates[0], forces[0])
    rates[1, 300:320] = np.nan
    series = as_series(t, rates, forces)
    batch, live = Voter(3), Voter(3)
    votes = []
    for row in range(len(t)):
        samples = [
            ImuSample(int(s.t_ns[row]), s.angular_velocity[row], s.specific_force[row])
            for s in series
        ]
        votes.append(live.update(samples))
    with compiling_first():  # the stream was plain Python, unless machine code was there
        result = batch.run(series)
    assert live.state == batch.state
    np.testing.assert_array_equal(
        [v.angular_velocity for v in votes], result.series.angular_velocity
    )
    np.testing.assert_array_equal([v.specific_force for v in votes], result.series.specific_force)
    assert [e for v in votes for e in v.events] == list(result.events)
    assert live.report == batch.report
    assert batch.report.missing_gyro == (0, 20, 0)


@pytest.mark.parametrize("split", [0, 1, 1005, 1300])
def test_a_saved_state_goes_on_bit_for_bit(split):
    t, rates, forces = sensors()
    inject("nan", rates[0], forces[0])
    series = as_series(t, rates, forces)
    whole, first, second = Voter(3), Voter(3), Voter(3)
    expected = whole.run(series)
    first.run([each[:split] for each in series])
    second.reset(DetectorState.from_dict(json.loads(json.dumps(first.state.to_dict()))))
    rest = second.run([each[split:] for each in series])
    assert rest.series == expected.series[split:]
    assert second.state == whole.state
    with pytest.raises(ShapeError, match="voter state"):
        Voter(2).reset(first.state)
    with pytest.raises(UnknownNameError, match="state of a voter"):
        Voter(3).reset(DetectorState("stuck", (), ()))


def test_a_late_sensor_counts_as_missing_and_fails():
    t, rates, forces = sensors()
    series = as_series(t, rates, forces)
    kept = (t < ONSET) | (t > ONSET + 3.0)
    series[0] = series[0][kept]
    voter = Voter(3)
    samples = [
        [
            ImuSample(int(n), w, f)
            for n, w, f in zip(s.t_ns, s.angular_velocity, s.specific_force, strict=True)
        ]
        for s in series
    ]
    last = dict(zip(t[kept], samples[0], strict=True))
    held = samples[0][0]
    events = []
    for row, time in enumerate(t):
        held = last.get(time, held)
        events += voter.update([held, samples[1][row], samples[2][row]]).events
    (failed,) = [e for e in events if e.kind == "failed" and "gyro" in e.flags]
    assert failed.values == {"sensor": 0.0}
    assert 0.99 < failed.t_decided_ns / 1e9 - ONSET < 1.2


numbers = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.floats(-50, 50))
vectors = st.one_of(st.none(), st.tuples(numbers, numbers, numbers))
rows = st.one_of(
    st.none(),
    st.tuples(st.one_of(st.integers(-(2**62), 2**62 - 1), st.integers(0, 10**9)), vectors, vectors),
)


@settings(max_examples=60)
@given(cycles=st.lists(st.tuples(rows, rows, rows), max_size=40))
def test_no_sample_does_harm(cycles):
    voter = Voter(3)
    for cycle in cycles:
        vote = voter.update([None if row is None else ImuSample(*row) for row in cycle])
        finite = np.isfinite([*vote.angular_velocity, *vote.specific_force])
        assert finite[:3].all() == finite[:3].any()
    _, gyros, accels, *_ = voter._memory()
    remembered = [sensor.memory for sensor in gyros + accels]
    assert np.isfinite([values_of(each) for each in remembered]).all()


def test_nothing_is_no_vote():
    empty = ImuSeries(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3)))
    assert len(Voter(2).run([empty, empty]).series) == 0
    vote = Voter(2).update([None, None])
    assert np.isnan(vote.angular_velocity).all()


def test_what_cannot_be_voted_on_is_refused():
    with pytest.raises(ValueRangeError, match="at least 2"):
        Voter(1)
    with pytest.raises(ShapeError, match="mounts"):
        Voter(2, [SensorMount()])
    with pytest.raises(ValueRangeError, match="length 1"):
        Voter(2, [SensorMount(), SensorMount((0.0, 0.0, 0.0, 2.0))])
    with pytest.raises(ValueRangeError, match="above 0"):
        Voter(2, profiles=[VoterProfile(), VoterProfile(gyro_sigma_rad_s=0.0)])
    with pytest.raises(ShapeError, match="samples"):
        Voter(2).update([None])
    with pytest.raises(ValueRangeError, match="63 bits"):
        Voter(2).update([ImuSample(2**62, None, None), None])

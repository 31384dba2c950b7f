"""Foot-mounted navigator on simulated walks with known strides, and algebra of the smoother."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.estimation.filter import as_columns
from strapdown.estimation.foot import FootNavigator, FootParams, FootState
from strapdown.estimation.foot import navigator as foot
from strapdown.estimation.foot.filter import FootRow, Passage
from strapdown.estimation.navigation.errors import Correction
from strapdown.estimation.navigation.smoothing import Adjoint
from strapdown.estimation.navigation.state import SIZE
from strapdown.samples import ImuSample
from strapdown.samples.execution import Execution
from strapdown.series import ImuSeries
from strapdown.units import STANDARD_GRAVITY

STEP_NS = 5_000_000
REST_S, SWING_S, STANCE_S = 2.0, 0.5, 0.4
STRIDE_M, LIFT_M, HEADING = 1.3, 0.12, 0.3
GRAVITY = np.array([0.0, 0.0, STANDARD_GRAVITY])


def bump(u):
    """Return a smooth path from 0 to 1 and its second derivative (a polynomial of degree 7)."""
    way = u**4 * (35.0 - 84.0 * u + 70.0 * u**2 - 20.0 * u**3)
    return way, u**2 * (420.0 - 1680.0 * u + 2100.0 * u**2 - 840.0 * u**3)


def lift(u):
    """Return a smooth path from 0 to 1 and back, and its second derivative."""
    x = u * (1.0 - u)
    return 256.0 * x**4, 256.0 * (12.0 * x**2 * (1.0 - 2.0 * u) ** 2 - 8.0 * x**3)


def walk(strides=12, *, stair=0.0, seed=1, turn=0.0, pace=1.0):
    """Return the readings of a sensor on a foot, and its positions: closed form plus noise."""
    heading = HEADING
    period = (SWING_S + STANCE_S) / pace
    swing = SWING_S / pace
    count = round((REST_S + strides * period + 1.0) * 1e9 / STEP_NS)
    t = np.arange(count) * STEP_NS * 1e-9
    stride = np.floor((t - REST_S) / period).clip(-1, strides)
    moves = (stride >= 0) & (stride < strides)
    u = np.where(moves, ((t - REST_S) - stride * period) / swing, 0.0).clip(0.0, 1.0)
    done = np.clip(stride, 0, strides)
    (way, pull), (up, push) = bump(u), lift(u)
    ahead, rise = done + way, LIFT_M * up + stair * (done + way)
    along = STRIDE_M * ahead
    position = np.stack([along * math.cos(heading), along * math.sin(heading), rise], axis=1)
    acceleration = (
        np.stack(
            [
                STRIDE_M * pull * math.cos(heading),
                STRIDE_M * pull * math.sin(heading),
                LIFT_M * push + stair * pull,
            ],
            axis=1,
        )
        / swing**2
    )
    # the foot pitches by 0.8 rad and back; the angle is a lift, its rate by the chain rule
    x = u * (1.0 - u)
    pitch = 0.8 * up
    rate = 0.8 * 1024.0 * x**3 * (1.0 - 2.0 * u) / swing * moves
    attitude = Rotation.from_euler("ZYX", np.stack([np.full(count, heading), pitch, 0 * t], 1))
    rng = np.random.default_rng(seed)
    force = attitude.inv().apply(acceleration + GRAVITY)
    rates = np.stack([0 * t, rate, 0 * t], axis=1)
    series = ImuSeries(
        np.arange(count) * STEP_NS,
        rates + rng.normal(0.0, 0.003, (count, 3)) + turn,
        force + rng.normal(0.0, 0.03, (count, 3)),
    )
    return series, position


def way_error(result, position):
    """Return the largest distance from the truth after aligning the heading."""
    turned = Rotation.from_euler("Z", HEADING).apply(result.position_world.copy())
    return np.linalg.norm(turned - position, axis=1).max()


@pytest.mark.parametrize("smooth", [False, True])
def test_a_walk_is_followed_to_a_hundredth_of_its_way(smooth):
    series, position = walk()
    result = FootNavigator().run(series, smooth=smooth)
    assert way_error(result, position) < 0.01 * 12 * STRIDE_M


def test_strides_are_measured():
    series, _ = walk()
    gait = FootNavigator().run(series, smooth=True).gait()
    assert len(gait) == 12
    np.testing.assert_allclose(gait.stride_length, STRIDE_M, atol=0.03)
    np.testing.assert_allclose(gait.clearance, LIFT_M, atol=0.02)
    np.testing.assert_allclose(gait.cadence[1:-1], 120.0 / (SWING_S + STANCE_S), rtol=0.02)
    np.testing.assert_allclose(gait.duration, gait.swing_time + gait.stance_time)
    assert np.all((gait.swing_time > 0.3) & (gait.swing_time < 0.65))
    assert gait.distance == pytest.approx(12 * STRIDE_M, rel=0.02)
    np.testing.assert_allclose(gait.speed[1:-1], STRIDE_M / (SWING_S + STANCE_S), rtol=0.05)


def test_a_standing_foot_makes_no_strides():
    series, _ = walk(0)
    result = FootNavigator().run(series)
    assert len(result.gait()) == 0
    assert result.stance[-1]
    assert np.linalg.norm(result.position_world[-1]) < 0.01


def test_a_level_floor_holds_the_height_and_stairs_are_climbed():
    tilted, _ = walk(30, turn=0.002)
    free = FootNavigator(FootParams(stair_height=0.0)).run(tilted)
    held = FootNavigator().run(tilted)
    assert abs(held.position_world[-1, 2]) < 0.03
    assert abs(held.position_world[-1, 2]) <= abs(free.position_world[-1, 2])
    stairs, position = walk(10, stair=0.17)
    climbed = FootNavigator().run(stairs)
    assert climbed.position_world[-1, 2] == pytest.approx(1.7, abs=0.05)
    np.testing.assert_allclose(climbed.gait().height_change, 0.17, atol=0.03)
    smoothed = FootNavigator().run(stairs, smooth=True)
    assert way_error(smoothed, position) < 0.15
    # each new floor has the error of its own height; the error at the top is their sum
    assert climbed.covariance[-1, 2, 2] > 5 * held.covariance[-1, 2, 2]


def test_frames_are_declared_and_change_nothing_else():
    series, _ = walk(4)
    flipped = series.in_frames(world="NED", body="FRD")
    for smooth in (False, True):
        straight = FootNavigator().run(series, smooth=smooth)
        turned = FootNavigator().run(flipped, smooth=smooth)
        assert (turned.world, turned.body) == ("NED", "FRD")
        back = turned.in_frames(world="ENU", body="FLU")
        np.testing.assert_array_equal(back.position_world, straight.position_world)
        np.testing.assert_array_equal(turned.stance, straight.stance)


def test_a_stream_is_the_recording_bit_for_bit_and_a_saved_state_goes_on():
    series, _ = walk(3)
    whole = FootNavigator()
    result = whole.run(series)
    stream = FootNavigator()
    for k in range(len(series)):
        w, f = series.angular_velocity[k].tolist(), series.specific_force[k].tolist()
        if k == 700:
            saved = json.loads(json.dumps(stream.state.to_dict()))
            stream = FootNavigator()
            stream.reset(FootState.from_dict(saved))
        estimate = stream.update(ImuSample(int(series.t_ns[k]), w, f))
        np.testing.assert_array_equal(estimate.position_world, result.position_world[k])
        assert estimate.stance == result.stance[k]
        np.testing.assert_equal(estimate.statistic, result.statistic[k])
    assert stream.state == whole.state
    parts = FootNavigator()
    halves = [parts.run(series[:600]), parts.run(series[600:])]
    joined = np.concatenate([half.position_world for half in halves])
    np.testing.assert_array_equal(joined, result.position_world)


def test_plain_python_gives_the_same():
    series, _ = walk(1, seed=3)
    series = series[340:500]
    fast = FootNavigator().run(series, smooth=True)
    plain = FootNavigator(compiled=False).run(series, smooth=True)
    np.testing.assert_allclose(plain.position_world, fast.position_world, atol=1e-12)
    np.testing.assert_allclose(plain.covariance, fast.covariance, rtol=1e-6, atol=1e-15)


def dense_smoother(passages, params):
    """Return the smoothed errors by the Rauch-Tung-Striebel recursion, with inverses."""
    n = SIZE
    found = np.zeros((len(passages), n))
    noises = np.repeat(
        [0.0, params.accel_noise, params.gyro_noise, params.accel_walk, params.gyro_walk], 3
    )
    noises = np.append(noises, 0.0)  # no barometer
    for k in range(len(passages) - 2, -1, -1):
        tape = passages["tape"][k + 1]
        h = tape["h"]
        rotation = tape["rotation"].reshape(3, 3)
        x, y, z = tape["force"]
        rates = np.zeros((n, n))
        rates[0:3, 3:6] = np.eye(3)
        rates[3:6, 6:9] = -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        rates[3:6, 9:12] = rates[6:9, 12:15] = -rotation
        step = np.eye(n) + h * rates + 0.5 * (h * rates) @ (h * rates)
        after = passages["known"]["error_covariance"][k]
        predicted = step @ after @ step.T + np.diag(noises**2) * h
        taken = tape["variances"] > 0.0
        told = tape["innovations"][taken] / tape["variances"][taken]
        moved = tape["columns"][taken].T @ told
        gain = np.linalg.lstsq(predicted, step @ after, rcond=1e-14)[0].T
        found[k] = gain @ (found[k + 1] + moved)
    return found


def test_going_back_is_the_smoother_of_rauch_tung_and_striebel():
    series, _ = walk(1, seed=5)
    series = series[300:620]
    navigator = FootNavigator(FootParams(stair_height=0.0))
    samples = as_columns(series, use_magnetic_field=False).block(0, len(series))
    passages = np.zeros(len(series), Passage.dtype())
    navigator._execution.run(foot._RECORD, samples, passages)
    forward = passages["known"].copy()
    expected = dense_smoother(passages[60:].copy(), navigator.params)
    rows = np.zeros(len(series), FootRow.dtype())
    Execution(foot._BACK, Adjoint(), Correction()).run(foot._BACK, passages, rows)
    for name, errors in (
        ("velocity", slice(3, 6)),
        ("position", slice(0, 3)),
        ("accel_bias", slice(9, 12)),
    ):
        got = (rows[name] - forward[name])[60:]
        np.testing.assert_allclose(got, expected[:, errors], atol=2e-5)
    assert np.abs(expected[:, 3:6]).max() > 1e-3


def test_smoothing_ends_where_the_filter_does_and_is_surer_before():
    series, _ = walk(6)
    forward, smooth = (FootNavigator().run(series, smooth=how) for how in (False, True))
    np.testing.assert_allclose(smooth.position_world[-1], forward.position_world[-1], atol=1e-5)
    known = slice(30, None)  # after the rest at the start was detected
    sigma = [np.sqrt(np.diagonal(r.covariance[known], axis1=1, axis2=2)) for r in (smooth, forward)]
    assert np.all(sigma[0] <= sigma[1] * (1.0 + 1e-6) + 1e-12)
    assert sigma[0][:, 3].max() < 0.6 * sigma[1][:, 3].max()  # along the path


def test_smoothing_takes_the_jumps_out_of_strides():
    # a scale error of the accelerometer is corrected at once when the foot lands
    series, _ = walk(6)
    series = series.replace(specific_force=series.specific_force * 1.01)
    forward, smooth = (FootNavigator().run(series, smooth=how) for how in (False, True))
    steps = [
        np.linalg.norm(np.diff(r.position_world, axis=0) - r.velocity_world[1:] * 0.005, axis=1)
        for r in (forward, smooth)
    ]
    assert steps[1].max() < 0.5 * steps[0].max()


def test_running_stances_that_are_never_quiet_still_hold_the_foot():
    series, position = walk(20, pace=1.3)
    t = series.t_ns * 1e-9
    shaken = series.angular_velocity + np.where(
        t > REST_S, 0.6 * np.sin(2.0 * np.pi * 17.0 * t), 0.0
    )[:, None] * [0.0, 1.0, 0.0]  # never below T = 1e4
    result = FootNavigator().run(series.replace(angular_velocity=shaken))
    assert way_error(result, position) < 0.05 * 20 * STRIDE_M
    assert len(result.gait()) >= 18


def test_without_stances_the_covariance_says_that_the_position_is_lost():
    t = np.arange(2000) * STEP_NS
    rates = np.zeros((2000, 3))
    rates[400:, 2] = 20.0
    force = np.tile([0.0, 0.0, STANDARD_GRAVITY], (2000, 1))
    force[400:] += 25.0 * np.stack([np.sin(0.2 * np.arange(1600))] * 3, axis=1)
    result = FootNavigator(FootParams(envelope_growth=1e-6)).run(ImuSeries(t, rates, force))
    assert math.sqrt(result.covariance[-1, 0, 0]) > 0.5
    assert not result.stance[-1]
    assert math.sqrt(result.covariance[390, 0, 0]) < 0.01


def test_lost_samples_gaps_and_repeated_stamps_do_little():
    series, position = walk()
    rng = np.random.default_rng(4)
    keep = rng.random(len(series)) > 0.02
    keep[:200] = True
    rows = np.repeat(np.flatnonzero(keep), 1 + (rng.random(keep.sum()) < 0.02))
    navigator = FootNavigator()
    result = navigator.run(series[rows])
    assert navigator.report.duplicates > 5
    assert way_error(result, position[rows]) < 0.05 * 12 * STRIDE_M
    broken = series.angular_velocity.copy()
    broken[rng.random(len(series)) < 0.02] = math.nan
    result = FootNavigator().run(series.replace(angular_velocity=broken), smooth=True)
    assert np.isfinite(result.position_world).all()
    assert way_error(result, position) < 0.05 * 12 * STRIDE_M


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**10) | st.integers(-(2**63), 2**63 - 1),
            *[st.floats(-50.0, 50.0) | st.sampled_from([1e300, math.nan, math.inf])] * 6,
        ),
        max_size=40,
    )
)
def test_no_sample_does_harm(rows):
    navigator = FootNavigator()
    for t_ns, *values in sorted(rows, key=lambda row: row[0]):
        estimate = navigator.update(ImuSample(t_ns, values[:3], values[3:]))
        assert np.isfinite(estimate.position_world).all()
        assert np.linalg.norm(estimate.q_world_from_body) == pytest.approx(1.0, abs=1e-12)


def test_nothing_and_one_sample_are_answered():
    series, _ = walk(0)
    for count in (0, 1, 3):
        for smooth in (False, True):
            result = FootNavigator().run(series[:count], smooth=smooth)
            assert len(result) == count
            assert len(result.gait()) == 0


def test_misuse_is_refused():
    navigator = FootNavigator()
    other = navigator.state
    with pytest.raises(UnknownNameError):
        navigator.reset(FootState(other.filter.__class__("vqf", 0, (1.0,)), other.window))
    with pytest.raises(ShapeError):
        navigator.reset(
            FootState(other.filter.__class__(other.filter.filter, 0, (1.0,)), other.window)
        )
    with pytest.raises(ValueRangeError):
        FootState.from_dict({"filter": 3})
    with pytest.raises(ValueRangeError, match="still_sigma"):
        FootParams(still_sigma=0.0)
    with pytest.raises(ValueRangeError, match="64 bits"):
        navigator.update(ImuSample(2**63, None, None))


def test_progress_is_told_up_to_the_end():
    series, _ = walk(2)
    for smooth in (False, True):
        told: list[float] = []
        FootNavigator().run(series, smooth=smooth, progress=told.append)
        assert told == sorted(told)
        assert told[-1] == 1.0

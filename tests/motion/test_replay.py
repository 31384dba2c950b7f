from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad_vec

from strapdown.errors import ShapeError, TimeOrderError, UnknownNameError, ValueRangeError
from strapdown.motion.replay import Replay
from strapdown.series import ImuSeries

START_NS = 1_700_000_000_000_000_001
RATES = 2.0 * math.pi * np.array([0.7, 1.1, 1.6, 0.4, 0.9, 1.3])


def signal(t_s):
    """Six smooth signals, (N, 6)."""
    return np.array([2.0, 1.0, 0.5, 3.0, 4.0, 9.8]) * np.cos(np.multiply.outer(t_s, RATES))


def recorded(rate_hz=100, samples=200, values=None):
    t_ns = np.arange(samples) * (1_000_000_000 // rate_hz)
    values = signal(t_ns / 1e9) if values is None else values
    return ImuSeries(START_NS + t_ns, values[:, :3], values[:, 3:])


def noise(samples=40, seed=2):
    return np.random.default_rng(seed).normal(size=(samples, 6))


@pytest.mark.parametrize("kind", ["linear", "quintic"])
def test_a_replay_gives_the_samples_at_their_stamps(kind):
    series = recorded(values=noise(), samples=40)
    replay = Replay(series, kind=kind)
    w, f = replay.inputs((series.t_ns - replay.start_ns) / 1e9)
    np.testing.assert_allclose(w, series.angular_velocity, atol=1e-14)
    np.testing.assert_allclose(f, series.specific_force, atol=1e-14)


def test_between_samples_a_linear_replay_is_straight():
    values = noise()
    replay = Replay(recorded(values=values, samples=40), kind="linear")
    t_s = np.random.default_rng(0).uniform(0.0, 0.39, 500)
    expected = [np.interp(t_s, np.arange(40) / 100, column) for column in values.T]
    np.testing.assert_allclose(np.hstack(replay.inputs(t_s)), np.transpose(expected), atol=1e-13)


def test_a_quintic_replay_is_closer_to_a_smooth_signal():
    t_s = np.linspace(0.2, 1.8, 1000)
    wrong = {
        kind: np.abs(np.hstack(Replay(recorded(), kind=kind).inputs(t_s)) - signal(t_s)).max()
        for kind in ("linear", "quintic")
    }
    assert wrong["quintic"] < 1e-6
    assert 1e-3 < wrong["linear"] < 1e-2


@settings(max_examples=20)
@given(st.sampled_from(["linear", "quintic"]), st.integers(0, 2**32 - 1))
def test_integrals_are_those_of_the_inputs(kind, seed):
    replay = Replay(recorded(values=noise(12, seed), samples=12), kind=kind)
    edges = np.sort(np.random.default_rng(seed).uniform(0.0, 0.11, 4))
    angle, velocity = replay.integrals(edges)
    assert angle.shape == velocity.shape == (3, 3)
    for row in range(3):
        start, end = edges[row : row + 2]
        stamps = [t for t in np.arange(12) / 100 if start < t < end]
        expected, _ = quad_vec(
            lambda t: np.hstack(replay.inputs([t]))[0],
            start,
            end,
            points=stamps,
            epsabs=1e-12,
            epsrel=1e-10,
        )
        got = np.concatenate([angle[row], velocity[row]])
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("kind", ["linear", "quintic"])
def test_a_steady_record_is_steady_from_the_first_instant(kind):
    steady = np.tile([0.1, -0.3, 0.7, 0.01, -0.7, 9.80665], (50, 1))
    replay = Replay(recorded(values=steady, samples=50), kind=kind)
    t_s = np.linspace(0.0, 0.49, 1001)
    np.testing.assert_array_equal(np.hstack(replay.inputs(t_s)), np.tile(steady[0], (1001, 1)))
    sums = np.hstack(replay.integrals(t_s))
    np.testing.assert_array_equal(sums, np.diff(t_s)[:, None] * steady[0])


def test_a_replay_knows_its_span_and_its_bandwidth():
    replay = Replay(recorded(rate_hz=100, samples=200))
    assert (replay.start_s, replay.end_s) == (0.0, 1.99)
    assert replay.start_ns == START_NS
    assert replay.nyquist_hz == 50.0
    assert replay.has_acceleration
    for t_s in ([-1e-9], [1.9900001], [math.nan]):
        with pytest.raises(ValueRangeError, match="t_s"):
            replay.inputs(t_s)
        with pytest.raises(ValueRangeError, match="t_s"):
            replay.integrals([0.0, *t_s])


def test_a_replay_has_no_pose():
    replay = Replay(recorded())
    assert not replay.has_pose
    for ask in (replay.preintegrated, replay.velocity_change, replay.truth):
        with pytest.raises(TypeError, match="source with a pose"):
            ask([0.0, 0.1])


def test_a_record_in_other_axes_is_replayed_in_ours():
    t_s = np.linspace(0.0, 1.0, 50)
    ours = Replay(recorded()).inputs(t_s)
    theirs = Replay(recorded().in_frames(body="FRD")).inputs(t_s)
    np.testing.assert_array_equal(ours, theirs)


# Lever arm: a body that turns about z by the angle sin(k t) / k, recorded at its axis


def swinging(k=2.0 * math.pi):
    t_s = np.arange(401) / 200
    rate, still = np.cos(k * t_s), np.zeros_like(t_s)
    record = np.stack([still, still, rate, still, still, np.full_like(t_s, 9.80665)], axis=-1)
    inner = np.linspace(0.2, 1.8, 300)
    return recorded(200, 401, record), inner, np.cos(k * inner), -k * np.sin(k * inner)


def test_at_a_lever_arm_the_sensor_feels_centripetal_and_tangential_acceleration():
    series, t_s, rate, change = swinging()
    replay = Replay(series, kind="quintic", lever_arm=[0.3, 0.0, 5.0], allow_differentiation=True)
    w, f = replay.inputs(t_s)
    np.testing.assert_allclose(w[:, 2], rate, atol=1e-9)
    expected = [-0.3 * rate**2, 0.3 * change, np.full_like(rate, 9.80665)]
    np.testing.assert_allclose(f, np.transpose(expected), atol=1e-6)


def test_each_axis_of_the_accelerometer_may_have_its_own_lever_arm():
    series, t_s, rate, change = swinging()
    arms = [[0.3, 0.0, 0.0], [0.0, 0.2, 0.0], [0.4, 0.4, 0.4]]
    replay = Replay(series, kind="quintic", lever_arm=arms, allow_differentiation=True)
    f = replay.inputs(t_s)[1]
    expected = [-0.3 * rate**2, -0.2 * rate**2, np.full_like(rate, 9.80665)]
    np.testing.assert_allclose(f, np.transpose(expected), atol=1e-6)
    assert not np.allclose(f[:, 1], 0.2 * change, atol=0.1)


def test_a_lever_arm_is_not_differentiated_in_silence():
    with pytest.raises(ValueRangeError, match="allow_differentiation=True"):
        Replay(recorded(), lever_arm=[0.1, 0.0, 0.0])


@pytest.mark.parametrize("arm", [[0.1], np.zeros((2, 3)), np.zeros((1, 3, 3))])
def test_a_lever_arm_has_three_components(arm):
    with pytest.raises(ShapeError, match="lever_arm"):
        Replay(recorded(), lever_arm=arm, allow_differentiation=True)
    with pytest.raises(ValueRangeError, match="lever_arm"):
        Replay(recorded(), lever_arm=[math.nan, 0.0, 0.0], allow_differentiation=True)


# Bad input


def test_nothing_that_came_is_changed():
    series = recorded(values=noise(), samples=40)
    kept = noise()
    arm, edges = np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.1, 0.2])
    replay = Replay(series, kind="quintic", lever_arm=arm, allow_differentiation=True)
    replay.integrals(edges)
    w, f = replay.inputs(edges)
    w[:], f[:] = 5.0, 5.0
    np.testing.assert_array_equal(series.angular_velocity, kept[:, :3])
    np.testing.assert_array_equal(series.specific_force, kept[:, 3:])
    np.testing.assert_array_equal(arm, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(edges, [0.0, 0.1, 0.2])
    np.testing.assert_allclose(replay.inputs([0.0])[0][0], kept[0, :3])


@pytest.mark.parametrize("step", [0, -5])
def test_stamps_must_increase(step):
    series = recorded()
    t_ns = series.t_ns.copy()
    t_ns[7] = t_ns[6] + step
    with pytest.raises(TimeOrderError, match=r"^row 7: "):
        Replay(series.replace(t_ns=t_ns))


@pytest.mark.parametrize("edges", [[0.1, 0.2, 0.2], [0.1, 0.2, 0.05]])
def test_edges_that_do_not_ascend_are_refused(edges):
    with pytest.raises(ValueRangeError, match=r"edges_s\[2\] = .* after 0\.2; sort"):
        Replay(recorded()).integrals(edges)


def test_rows_without_a_value_are_named():
    values = signal(np.arange(200) / 100)
    values[[11, 30], 4] = np.nan
    with pytest.raises(ValueRangeError, match=r"^row 11: .* 2 of 200 rows"):
        Replay(recorded(values=values))


def test_a_gap_is_bridged_only_when_asked():
    series = recorded()
    holed = series[np.r_[0:50, 80:200]]
    with pytest.raises(
        ValueRangeError,
        match=r"^row 50: .* 0\.31 s, the longest of 1 gaps; .*start_s=\.\.\., stop_s=",
    ):
        Replay(holed)
    replay = Replay(holed, max_gap_ns=310_000_000)
    middle = np.hstack(replay.inputs([0.49 + 0.155]))[0]
    np.testing.assert_allclose(middle, signal(np.array([0.49, 0.80])).mean(axis=0))


@pytest.mark.parametrize(("kind", "fewest"), [("linear", 2), ("quintic", 6)])
def test_too_few_samples_are_counted(kind, fewest):
    Replay(recorded(samples=fewest), kind=kind)
    for samples in (0, 1, fewest - 1):
        with pytest.raises(ShapeError, match=f"at least {fewest} samples"):
            Replay(recorded(samples=samples), kind=kind)
    with pytest.raises(ShapeError, match="at least 6 samples for a lever arm"):
        Replay(recorded(samples=5), lever_arm=[0.0, 0.0, 0.1], allow_differentiation=True)


def test_an_unknown_interpolation_is_named():
    with pytest.raises(UnknownNameError, match="'cubic'"):
        Replay(recorded(), kind="cubic")

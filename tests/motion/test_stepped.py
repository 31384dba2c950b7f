"""Sources known step by step, held against quadrature and against the states themselves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad_vec
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.motion.stepped import Between, SteppedSource, StepValue

STEP_S = 0.004
STEPS = 25
GRAVITY = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope="module")
def source():
    generator = np.random.default_rng(3)
    turns = Rotation.from_rotvec(generator.normal(scale=0.02, size=(STEPS + 1, 3)))
    attitude = [Rotation.random(rng=4)]
    for turn in turns[1:]:
        attitude.append(attitude[-1] * turn)
    velocity = np.cumsum(generator.normal(scale=0.05, size=(STEPS + 1, 3)), axis=0)
    return SteppedSource(
        STEP_S,
        np.array([r.as_quat() for r in attitude]),
        np.cumsum(velocity, axis=0) * STEP_S,
        velocity,
        GRAVITY,
        first_step=7,
        angular_velocity=generator.normal(size=(STEPS + 1, 3)),
        specific_force=generator.normal(size=(STEPS + 1, 3)),
    )


def rotations(source):
    return Rotation.from_quat(source.q_world_from_sensor)


def state_times(source):
    return (source.first_step + np.arange(STEPS + 1)) * STEP_S


def test_a_step_holds_the_mean_rate_and_the_mean_acceleration_between_its_states(source):
    R = rotations(source)
    rate = (R[:-1].inv() * R[1:]).as_rotvec() / STEP_S
    force_world = np.diff(source.velocity_world, axis=0) / STEP_S - GRAVITY
    for fraction in (0.0, 0.3, 0.999):
        w, f = source.inputs(state_times(source)[:-1] + fraction * STEP_S)
        now = R[:-1] * Rotation.from_rotvec(rate * fraction * STEP_S)
        np.testing.assert_allclose(w, rate, atol=1e-12)
        np.testing.assert_allclose(f, now.inv().apply(force_world), atol=1e-11)


def test_the_last_state_ends_the_last_step(source):
    end = state_times(source)[-1]
    w, f = source.inputs([end])
    before = source.inputs([np.nextafter(end - 1e-9, 0.0)])
    np.testing.assert_allclose(w, before[0], atol=1e-9)
    np.testing.assert_allclose(f, before[1], atol=1e-6)


def test_integrals_agree_with_quadrature_across_steps(source):
    times = state_times(source)
    edges = [times[0] + 0.3 * STEP_S, times[2] + 0.1 * STEP_S, times[2] + 0.9 * STEP_S, times[-1]]

    def inputs(t):
        return np.concatenate([part[0] for part in source.inputs([t])])

    delta_angle, delta_velocity = source.integrals(edges)
    for i in range(3):
        inner = times[(times > edges[i]) & (times < edges[i + 1])]
        cuts = [edges[i], *inner, edges[i + 1]]
        expected = sum(
            quad_vec(inputs, a, np.nextafter(b, 0.0), epsabs=1e-13)[0] for a, b in pairwise(cuts)
        )
        np.testing.assert_allclose(delta_angle[i], expected[:3], atol=1e-12)
        np.testing.assert_allclose(delta_velocity[i], expected[3:], atol=1e-12)


def test_integrals_of_a_still_sensor_are_gravity_times_time():
    source = SteppedSource(
        0.01, np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)), np.zeros((3, 3)), np.zeros((3, 3)), GRAVITY
    )
    delta_angle, delta_velocity = source.integrals([0.0, 0.005, 0.02])
    np.testing.assert_array_equal(delta_angle, 0.0)
    np.testing.assert_allclose(
        delta_velocity, [[0.0, 0.0, 0.04905], [0.0, 0.0, 0.14715]], rtol=1e-15
    )


@given(inner=st.lists(st.integers(1, 999_999), max_size=40))
def test_increments_over_any_partition_sum_to_those_of_the_whole(source, inner):
    start, end = source.start_s, source.end_s
    edges = np.unique([start, *(start + np.array(inner) * 1e-6 * (end - start)), end])
    whole, parts = source.integrals([start, end]), source.integrals(edges)
    for one, many in zip(whole, parts, strict=True):
        np.testing.assert_allclose(many.sum(axis=0), one[0], rtol=1e-12, atol=1e-14)
    attitude, velocity = Rotation.identity(), np.zeros(3)
    for turn, change in zip(*source.preintegrated(edges), strict=True):
        velocity += attitude.apply(change)
        attitude = attitude * Rotation.from_rotvec(turn)
    turn, change = source.preintegrated([start, end])
    np.testing.assert_allclose(velocity, change[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        (attitude.inv() * Rotation.from_rotvec(turn[0])).as_rotvec(), 0.0, atol=1e-13
    )


def test_the_parts_of_a_step_sum_to_the_step(source):
    times = state_times(source)
    R = rotations(source)
    edges = times[4] + np.linspace(0.0, 1.0, 14) * STEP_S
    edges[-1] = times[5]
    turn = (R[4].inv() * R[5]).as_rotvec()
    np.testing.assert_allclose(source.integrals(edges)[0].sum(axis=0), turn, rtol=1e-12)
    change = source.velocity_world[5] - source.velocity_world[4] - GRAVITY * STEP_S
    parts = source.preintegrated(edges)[1]
    axes = R[4] * Rotation.from_rotvec(turn * (np.arange(13.0) / 13.0)[:, None])
    np.testing.assert_allclose(axes.apply(parts).sum(axis=0), change, rtol=1e-12)


def test_a_velocity_change_stands_in_the_axes_at_its_end(source):
    times = state_times(source)
    change = np.diff(source.velocity_world, axis=0) - GRAVITY * STEP_S
    np.testing.assert_allclose(
        source.velocity_change(times), rotations(source)[1:].inv().apply(change), atol=1e-14
    )


def test_truth_meets_the_states_and_is_stamped_by_whole_steps(source):
    times = state_times(source)
    truth = source.truth(times, start_ns=5)
    np.testing.assert_array_equal(truth.t_ns, 5 + 4_000_000 * np.arange(7, 7 + STEPS + 1))
    np.testing.assert_allclose(truth.velocity_world, source.velocity_world, atol=1e-15)
    np.testing.assert_allclose(truth.position_world, source.position_world, atol=1e-15)
    R = Rotation.from_quat(truth.q_world_from_body)
    np.testing.assert_allclose((R.inv() * rotations(source)).magnitude(), 0.0, atol=1e-14)


def test_true_positions_within_a_step_bend_with_its_acceleration(source):
    h = 1e-3 * STEP_S
    t = state_times(source)[3] + 0.4 * STEP_S
    p = source.truth([t - h, t, t + h]).position_world
    acceleration = (source.velocity_world[4] - source.velocity_world[3]) / STEP_S
    np.testing.assert_allclose((p[0] - 2.0 * p[1] + p[2]) / h**2, acceleration, atol=1e-2)


def test_linear_samples_go_straight_from_step_to_step_one_step_late(source):
    linear = replace(source, between="linear")
    times = state_times(source)
    held = source.inputs(times[:-1])
    w, f = linear.inputs(times)
    np.testing.assert_allclose(w[1:], held[0], atol=1e-12)
    np.testing.assert_allclose(w[0], held[0][0], atol=1e-12)
    force_world = np.diff(source.velocity_world, axis=0) / STEP_S - GRAVITY
    np.testing.assert_allclose(rotations(source)[1:].apply(f[1:]), force_world, atol=1e-11)
    middle = linear.inputs(times[1:-1] + 0.5 * STEP_S)[0]
    np.testing.assert_allclose(middle, 0.5 * (held[0][:-1] + held[0][1:]), atol=1e-12)


@pytest.mark.parametrize("between", Between)
def test_reported_samples_on_the_states_are_the_simulators_own(source, between):
    reported = replace(source, value="reported", between=between)
    w, f = reported.inputs(state_times(source))
    np.testing.assert_allclose(w, source.angular_velocity, atol=1e-13)
    np.testing.assert_allclose(f, source.specific_force, atol=1e-13)
    for old, new in zip(
        source.integrals([0.03, 0.05]), reported.integrals([0.03, 0.05]), strict=True
    ):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("rate_hz", [1000, 500, 200, 3000])
def test_instants_counted_by_division_fall_on_the_steps_that_they_name(rate_hz):
    steps = 30_000
    velocity = np.zeros((steps + 1, 3))
    velocity[:, 0] = np.cumsum(np.arange(steps + 1.0)) / rate_hz  # acceleration k + 1 in step k
    still = np.tile([0.0, 0.0, 0.0, 1.0], (steps + 1, 1))
    source = SteppedSource(1.0 / rate_hz, still, velocity, velocity, np.zeros(3))
    _, f = source.inputs(np.arange(steps) / rate_hz)
    np.testing.assert_allclose(f[:, 0], np.arange(steps) + 1.0, atol=1e-3)


def test_empty_requests_give_empty_answers(source):
    assert source.inputs([])[0].shape == (0, 3)
    for edges in ([], [0.03]):
        for part in (*source.integrals(edges), *source.preintegrated(edges)):
            assert part.shape == (0, 3)


def test_queries_leave_the_states_as_they_were(source):
    before = [
        array.copy()
        for array in (source.q_world_from_sensor, source.position_world, source.velocity_world)
    ]
    times = state_times(source)
    asked = times.copy()
    source.inputs(times)
    source.integrals(times)
    source.preintegrated(times)
    source.velocity_change(times)
    source.truth(times)
    np.testing.assert_array_equal(times, asked)
    for array, copy in zip(
        (source.q_world_from_sensor, source.position_world, source.velocity_world),
        before,
        strict=True,
    ):
        np.testing.assert_array_equal(array, copy)


def test_instants_outside_the_states_are_refused(source):
    for t in (source.start_s - 1e-6, source.end_s + 1e-6, np.nan):
        with pytest.raises(ValueRangeError, match="t_s"):
            source.inputs([t])
    with pytest.raises(ShapeError, match=r"t_s of shape \(N,\)"):
        source.inputs(0.05)


def test_edges_that_stand_still_are_refused(source):
    with pytest.raises(ValueRangeError, match=r"edges_s\[2\] at or before"):
        source.integrals([0.03, 0.04, 0.04])


def test_bad_states_are_refused_by_name():
    q, v = np.tile([0.0, 0.0, 0.0, 1.0], (4, 1)), np.zeros((4, 3))
    with pytest.raises(ValueRangeError, match="positive step_s, got 0"):
        SteppedSource(0.0, q, v, v, GRAVITY)
    with pytest.raises(ShapeError, match=r"position_world of shape \(4, 3\), got \(3, 3\)"):
        SteppedSource(0.1, q, v[:3], v, GRAVITY)
    with pytest.raises(ShapeError, match="at least 2 states, got 1"):
        SteppedSource(0.1, q[:1], v[:1], v[:1], GRAVITY)
    with pytest.raises(ValueRangeError, match="finite velocity_world"):
        SteppedSource(0.1, q, v, v * np.nan, GRAVITY)
    with pytest.raises(ValueRangeError, match='value="reported", got None'):
        SteppedSource(0.1, q, v, v, GRAVITY, value=StepValue.REPORTED)
    with pytest.raises(UnknownNameError, match="interpolation 'cubic'"):
        SteppedSource(0.1, q, v, v, GRAVITY, between="cubic")

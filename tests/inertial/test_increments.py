from __future__ import annotations

import functools
import json
import math
import operator
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from scipy.special import jv

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.inertial import (
    IncrementIntegrator,
    WindowRule,
    increments_from_rates,
    integrate,
)
from strapdown.series import ImuSeries, SensorIdentity

MS = 1_000_000
WARM_UP = 8  # samples before t = 0, for the history of the quadrature


def sampled(t_s, angular_velocity, specific_force):
    return ImuSeries(np.rint(t_s * 1e9).astype(np.int64), angular_velocity, specific_force)


def still(t_ns, **columns):
    """A series with arbitrary values."""
    return ImuSeries(t_ns, np.zeros((len(t_ns), 3)), np.zeros((len(t_ns), 3)), **columns)


def instants(duration_s, rate_hz, jitter=0.0):
    k = np.arange(-WARM_UP, round(duration_s * rate_hz) + 1)
    shift = np.random.default_rng(5).uniform(-jitter, jitter, len(k))
    shift[[0, WARM_UP, -1]] = 0.0
    return np.rint((k + shift) / rate_hz * 1e9) * 1e-9


def after_warm_up(series, samples_per_increment):
    increments, report = increments_from_rates(series, samples_per_increment=samples_per_increment)
    assert report.uneven == report.gaps == 0
    return increments[increments.t_ns > 0]


def composed(rotation_vectors):
    return functools.reduce(operator.mul, Rotation.from_rotvec(np.array(rotation_vectors)))


# Half-cone [deg], frequency [Hz], sampling rate [Hz], samples an increment; the drift [deg/h]
# of an independent implementation of the same algorithm over 20 s with even spacing, and
# its bound with spacing jittered by a tenth. Without any correction: 30 to 4000 deg/h.
CONING = [
    ((1.0, 10.0, 200.0, 4), 0.343, 0.5),
    ((1.0, 10.0, 800.0, 4), 0.00145, 0.1),
    ((1.0, 50.0, 800.0, 4), 3.98, 5.0),
    ((0.1, 50.0, 800.0, 4), 0.0401, 0.3),
    ((1.0, 50.0, 1000.0, 4), 1.72, 2.5),
    ((1.0, 20.0, 400.0, 2), 0.689, 1.0),
]


def coning_drift(half_cone_deg, frequency, rate_hz, samples_per_increment, *, jitter):
    """Drift over 20 s [deg/h] against the closed form of the motion."""
    half_cone = math.radians(half_cone_deg)
    w, t = 2.0 * math.pi * frequency, instants(20.0, rate_hz, jitter)
    swing, spin = w * math.sin(half_cone), -2.0 * w * math.sin(half_cone / 2.0) ** 2
    rates = np.stack([-swing * np.sin(w * t), swing * np.cos(w * t), np.full_like(t, spin)], -1)
    increments = after_warm_up(sampled(t, rates, np.zeros_like(rates)), samples_per_increment)
    end = w * t[-1]
    tilt = [[half_cone, 0.0, 0.0], [half_cone * math.cos(end), half_cone * math.sin(end), 0.0]]
    start, stop = Rotation.from_rotvec(tilt)
    error = stop.inv() * start * composed(increments.delta_angle)
    return math.degrees(error.magnitude()) / t[-1] * 3600.0


@pytest.mark.parametrize(("case", "even", "jittered"), CONING)
@pytest.mark.by_default("case0-0.343-0.5", "case3-0.0401-0.3", "case5-0.689-1.0")
def test_coning_leaves_the_drift_that_theory_allows(case, even, jittered):
    assert coning_drift(*case, jitter=0.0) < 1.05 * even
    assert coning_drift(*case, jitter=0.1) < jittered


# Sculling: theta_x = th0 sin wt with f_y = 10 sin wt pushes along z by 10 J1(th0) on average.
# th0 [deg], f [Hz], rate [Hz], samples an increment, residual [m/s^2]; none: 1e-3 to 3e-2.
SCULLING = [
    (1.0, 10.0, 200.0, 4, 1.6e-5),
    (1.0, 10.0, 800.0, 4, 2e-7),
    (1.0, 50.0, 800.0, 4, 3.7e-5),
    (0.1, 50.0, 800.0, 4, 3.5e-6),
    (1.0, 20.0, 400.0, 2, 1.5e-5),
]


def velocity_from(increments):
    """Velocity in the frame of the start: each increment is rotated at mid-interval."""
    turns = Rotation.from_rotvec(np.array(increments.delta_angle))
    halves = Rotation.from_rotvec(increments.delta_angle / 2.0)
    attitude, velocity = Rotation.identity(), np.zeros(3)
    for turn, pushed in zip(turns, halves.apply(np.array(increments.delta_velocity)), strict=True):
        velocity = velocity + attitude.apply(pushed)
        attitude = attitude * turn
    return attitude, velocity


@pytest.mark.parametrize(("swing", "f", "rate_hz", "m", "residual"), SCULLING)
def test_sculling_pushes_as_the_bessel_function_says(swing, f, rate_hz, m, residual):
    swing, w, t = math.radians(swing), 2.0 * math.pi * f, instants(10.0, rate_hz)
    zero = np.zeros_like(t)
    rates = np.stack([swing * w * np.cos(w * t), zero, zero], axis=-1)
    forces = np.stack([zero, 10.0 * np.sin(w * t), zero], axis=-1)
    _, velocity = velocity_from(after_warm_up(sampled(t, rates, forces), m))
    assert abs(velocity[2] / 10.0 - 10.0 * jv(1, swing)) < 1.2 * residual


# A general motion whose state at t = 2 s was integrated to all digits by an independent solver:
# rate [Hz], samples an increment, attitude error [deg], velocity error [m/s].
GENERAL = [
    (100.0, 2, 2.7e-5, 2.0e-4),
    (200.0, 4, 3.9e-6, 2.1e-4),
    (400.0, 4, 4.6e-7, 5.1e-5),
    (800.0, 4, 5.6e-8, 1.3e-5),
]
GENERAL_ATTITUDE = Rotation.from_quat(
    [-0.03957716265396967, 0.04437690992582165, -0.06547811509902872, 0.9960807971770044]
)
GENERAL_VELOCITY = [-0.7471151794177595, 0.5197102336773929, -19.43518359705023]


def general_motion(rate_hz):
    t = instants(2.0, rate_hz)
    rates = [0.7 * np.cos(5 * t), 0.9 * np.sin(7 * t + 0.3), 1.1 * np.cos(3 * t)]
    forces = [3 * np.sin(11 * t), 2 * np.cos(6 * t), -9.8 + 4 * np.sin(13 * t)]
    return sampled(t, np.stack(rates, axis=-1), np.stack(forces, axis=-1))


@pytest.mark.parametrize(("rate_hz", "m", "attitude_deg", "velocity_ms"), GENERAL)
def test_a_general_motion_is_followed(rate_hz, m, attitude_deg, velocity_ms):
    attitude, velocity = velocity_from(after_warm_up(general_motion(rate_hz), m))
    error = math.degrees((GENERAL_ATTITUDE.inv() * attitude).magnitude())
    assert error < 1.1 * attitude_deg
    assert np.linalg.norm(velocity - GENERAL_VELOCITY) < 1.1 * velocity_ms


@pytest.mark.parametrize(("rate_hz", "error"), [(200.0, 8.1e-4), (400.0, 2.0e-4), (800.0, 5.1e-5)])
def test_the_sum_of_the_textbooks_in_the_axes_at_the_start_leaves_four_times_as_much(
    rate_hz, error
):
    result = integrate(general_motion(rate_hz), window=WindowRule(4))
    rows = result.increments
    alpha, nu = rows.delta_angle - result.coning, rows.delta_velocity - result.sculling
    pushes = (nu + 0.5 * np.cross(alpha, nu) + result.sculling)[rows.t_ns > 0]
    attitude, velocity = Rotation.identity(), np.zeros(3)
    for turn, push in zip(
        Rotation.from_rotvec(rows.delta_angle[rows.t_ns > 0]), pushes, strict=True
    ):
        velocity = velocity + attitude.apply(push)
        attitude = attitude * turn
    assert np.linalg.norm(velocity - GENERAL_VELOCITY) == pytest.approx(error, rel=0.03)


cubics = st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4).map(np.polynomial.Polynomial)
steps_ms = st.lists(st.integers(10, 20), min_size=6, max_size=20)


@given(steps_ms, cubics, cubics, st.integers(1, 3))
def test_cubic_rates_about_one_axis_are_integrated_exactly_at_any_spacing(steps, rate, force, m):
    t = np.cumsum([0, *steps]) * 1e-3
    zero = np.zeros_like(t)
    series = sampled(
        t, np.stack([zero, rate(t), zero], axis=-1), np.stack([zero, force(t), zero], axis=-1)
    )
    increments, _ = increments_from_rates(series, samples_per_increment=m)
    ends = increments.t_ns * 1e-9
    starts = ends - increments.delta_angle_dt_ns * 1e-9
    whole = starts > t[2] - 1e-6  # the first two steps have a shorter history
    for polynomial, column in [(rate, increments.delta_angle), (force, increments.delta_velocity)]:
        exact = polynomial.integ()(ends) - polynomial.integ()(starts)
        np.testing.assert_allclose(column[whole, 1], exact[whole], atol=1e-14)
        np.testing.assert_array_equal(column[:, ::2], 0.0)


def test_the_history_grows_from_trapezoid_to_parabola_to_cubic():
    t = np.array([0.0, 0.010, 0.025, 0.045])
    for power, exact_from in [(1, 0), (2, 1), (3, 2)]:
        rates = np.zeros((4, 3))
        rates[:, 0] = t**power
        increments, _ = increments_from_rates(sampled(t, rates, rates), max_gap_ns=40 * MS)
        exact = np.diff(t ** (power + 1)) / (power + 1)
        wrong = np.abs(increments.delta_angle[:, 0] - exact) > 1e-15
        assert wrong.tolist() == [row < exact_from for row in range(3)]


def test_a_step_of_more_than_twice_another_falls_back_to_the_trapezoid_and_is_counted():
    t = np.cumsum([0, 10, 10, 10, 10, 21, 10, 10, 10, 10]) * 1e-3
    rates = np.zeros((10, 3))
    rates[:, 0] = np.sin(40.0 * t)
    increments, report = increments_from_rates(sampled(t, rates, rates), max_gap_ns=30 * MS)
    trapezoid = np.diff(t) * (rates[1:, 0] + rates[:-1, 0]) / 2.0
    same = np.abs(increments.delta_angle[:, 0] - trapezoid) < 1e-15
    assert same.tolist() == [True, False, False, False, True, True, True, False, False]
    assert report.uneven == 3


def test_a_step_of_exactly_twice_another_does_not_fall_back():
    t_ns = np.cumsum([0, 10, 10, 10, 20, 10, 10]) * MS
    _, report = increments_from_rates(still(t_ns), max_gap_ns=30 * MS)
    assert report.uneven == 0


def test_an_increment_is_stamped_with_the_end_of_its_window_and_the_exact_length():
    t_ns = np.array([0, 5, 10, 16, 20, 25, 30]) * MS + 7
    increments, report = increments_from_rates(still(t_ns), samples_per_increment=2)
    assert increments.t_ns.tolist() == [10 * MS + 7, 20 * MS + 7, 30 * MS + 7]
    assert increments.delta_angle_dt_ns.tolist() == [10 * MS] * 3
    assert increments.delta_velocity_dt_ns.tolist() == [10 * MS] * 3
    assert (report.samples, report.increments, report.unfinished) == (7, 3, 0)


def test_samples_that_are_not_finite_and_repeated_stamps_are_left_out_and_counted():
    t_ns = np.array([0, 5, 10, 10, 15, 20]) * MS
    rates, forces = np.full((6, 3), 0.5), np.full((6, 3), 2.0)
    rates[1, 2], forces[4, 0], rates[3] = math.nan, math.inf, 99.0
    increments, report = increments_from_rates(ImuSeries(t_ns, rates, forces))
    assert increments.t_ns.tolist() == [10 * MS, 20 * MS]
    np.testing.assert_allclose(increments.delta_angle, 0.005, rtol=1e-14)
    np.testing.assert_allclose(increments.delta_velocity, 0.02, rtol=1e-14)
    assert (report.not_finite, report.repeated, report.lost_ns) == (2, 1, 0)


def test_a_gap_breaks_the_window_off_and_starts_again():
    t_ns = np.array([0, 5, 10, 15, 115, 120, 125]) * MS
    increments, report = increments_from_rates(still(t_ns), samples_per_increment=2)
    assert increments.t_ns.tolist() == [10 * MS, 125 * MS]
    assert (report.gaps, report.discarded, report.lost_ns) == (1, 1, 105 * MS)
    assert json.loads(json.dumps(asdict(report))) == asdict(report)


def test_a_step_too_long_for_64_bits_is_a_gap():
    t_ns = np.array([-(2**62) - 5, -(2**62), 2**62 + 1, 2**62 + 6])
    increments, report = increments_from_rates(still(t_ns))
    assert increments.delta_angle_dt_ns.tolist() == [5, 5]
    assert (report.gaps, report.backward) == (1, 0)


def test_nothing_from_before_a_gap_is_used_after_it():
    t_ns = np.array([0, 5, 10, 15, 115, 120, 125, 130]) * MS
    rng = np.random.default_rng(2)
    series = ImuSeries(t_ns, rng.normal(size=(8, 3)), rng.normal(size=(8, 3)))
    both, _ = increments_from_rates(series)
    fresh, _ = increments_from_rates(series[4:])
    assert both[3:] == fresh


def test_a_step_back_starts_again_and_loses_only_the_open_window():
    t_ns = np.array([0, 5, 10, 15, 3, 8, 13]) * MS
    increments, report = increments_from_rates(still(t_ns), samples_per_increment=2)
    assert increments.t_ns.tolist() == [10 * MS, 13 * MS]
    assert (report.backward, report.discarded, report.lost_ns) == (1, 1, 5 * MS)


@pytest.mark.parametrize(
    ("step_ms", "gap_ms", "gaps"), [(1, 20, 0), (1, 21, 1), (5, 50, 0), (5, 51, 1)]
)
def test_the_default_gap_is_ten_steps_and_at_least_20_ms(step_ms, gap_ms, gaps):
    t_ns = np.cumsum([0, *[step_ms] * 9, gap_ms, *[step_ms] * 9]) * MS
    _, report = increments_from_rates(still(t_ns))
    assert report.gaps == gaps


def test_clipping_within_a_window_reaches_its_increment():
    t_ns = np.arange(7) * 5 * MS
    series = still(
        t_ns,
        gyro_clipping=np.array([7, 1, 2, 0, 0, 0, 4], np.uint8),
        accel_clipping=np.array([0, 0, 0, 0, 4, 0, 0], np.uint8),
    )
    increments, _ = increments_from_rates(series, samples_per_increment=2)
    assert increments.gyro_clipping.tolist() == [3, 0, 4]
    assert increments.accel_clipping.tolist() == [0, 4, 0]


def test_frames_and_identity_go_along():
    sensor = SensorIdentity("imu0", 3, 4)
    increments, _ = increments_from_rates(still(np.arange(3) * MS, body="FRD", sensor=sensor))
    assert increments.body == "FRD"
    assert increments.sensor == sensor


@pytest.mark.parametrize("samples", [0, 1])
def test_too_few_samples_give_no_increment(samples):
    increments, report = increments_from_rates(still(np.arange(samples) * MS))
    assert len(increments) == report.increments == 0
    assert report.samples == samples


messy_steps = st.lists(
    st.one_of(st.integers(1, 12), st.sampled_from([0, 0, -7, 50])), min_size=0, max_size=40
)


kinds = st.sampled_from([None, "point", "mean", "integral"])
rules = st.builds(WindowRule, st.integers(1, 4), st.sampled_from([12 * MS, 2**63 - 1]))


@given(messy_steps, rules, kinds, kinds, st.integers(0, 2**32 - 1))
def test_a_stream_gives_the_bits_of_the_batch(steps, window, gyro_kind, accel_kind, seed):
    series = messy_series(steps, seed)
    options = {"gyro_kind": gyro_kind, "accel_kind": accel_kind, "max_gap_ns": 20 * MS}
    batch = integrate(series, window=window, **options)
    rows = batch.increments
    integrator = IncrementIntegrator(window, **options)
    stream = [one for row in range(len(series)) if (one := streamed(integrator, series, row))]
    assert [one.t_ns for one in stream] == rows.t_ns.tolist()
    assert [
        one.dt_ns * (gyro_kind is not None) for one in stream
    ] == rows.delta_angle_dt_ns.tolist()
    for name, columns in [
        ("delta_angle", rows.delta_angle),
        ("delta_velocity", rows.delta_velocity),
        ("coning", batch.coning),
        ("sculling", batch.sculling),
    ]:
        vectors = np.array([getattr(one, name) for one in stream]).reshape(-1, 3)
        np.testing.assert_array_equal(vectors, columns)
    assert [one.gyro_clipping for one in stream] == rows.gyro_clipping.tolist()
    assert [one.accel_clipping for one in stream] == rows.accel_clipping.tolist()
    assert integrator.report == batch.report


def messy_series(steps, seed):
    rng = np.random.default_rng(seed)
    rows = len(steps) + 1
    rates, forces = rng.normal(size=(rows, 3)), rng.normal(size=(rows, 3)) * 10.0
    rates[1:][rng.random(rows - 1) < 0.1] = math.nan
    return ImuSeries(
        np.cumsum([1, *steps]) * MS + rng.integers(0, 1000, rows) * (rng.random() < 0.5),
        rates,
        forces,
        gyro_clipping=rng.integers(0, 8, rows, np.uint8),
        accel_clipping=rng.integers(0, 8, rows, np.uint8),
    )


def streamed(integrator, series, row):
    return integrator.update(
        int(series.t_ns[row]),
        series.angular_velocity[row],
        series.specific_force[row],
        gyro_clipping=int(series.gyro_clipping[row]),
        accel_clipping=int(series.accel_clipping[row]),
    )


@given(messy_steps.filter(lambda steps: min(steps, default=0) >= 0), st.integers(0, 2**32 - 1))
def test_every_nanosecond_of_ordered_samples_is_in_an_increment_or_counted(steps, seed):
    series = messy_series(steps, seed)
    series = series[np.argsort(series.t_ns, kind="stable")]
    used = series.t_ns[np.isfinite(series.angular_velocity).all(axis=1)]
    integrator = IncrementIntegrator(3, max_gap_ns=20 * MS)
    lengths = [
        one.dt_ns for row in range(len(series)) if (one := streamed(integrator, series, row))
    ]
    state, span = integrator.state, int(used[-1] - used[0]) if len(used) else 0
    assert sum(lengths) + state.lost_ns + (state.t_ns - state.start_ns) == span


def test_the_state_of_a_stream_can_be_kept_compared_and_restored():
    series = messy_series([5] * 20, 4)
    integrator = IncrementIntegrator(4, max_gap_ns=20 * MS)
    for row in range(10):
        streamed(integrator, series, row)
    kept = integrator.state
    first = [streamed(integrator, series, row) for row in range(10, 20)]
    assert integrator.state != kept
    integrator.state = kept
    assert [streamed(integrator, series, row) for row in range(10, 20)] == first


def test_reset_forgets_everything():
    integrator = IncrementIntegrator(2, max_gap_ns=20 * MS)
    fresh = integrator.state, integrator.report
    for t_ns in (0, 5 * MS, 10 * MS):
        integrator.update(t_ns, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    assert (integrator.state, integrator.report) != fresh
    integrator.reset()
    assert (integrator.state, integrator.report) == fresh


def test_the_corrections_of_a_streamed_increment_are_told_apart():
    integrator = IncrementIntegrator(2, max_gap_ns=20 * MS)
    for t_ns, w in [(0, (0.0, 0.0, 0.0)), (10 * MS, (2.0, 0.0, 0.0)), (20 * MS, (0.0, 2.0, 0.0))]:
        increment = integrator.update(t_ns, w, (0.0, 0.0, 0.0))
    first = np.array([0.01, 0.0, 0.0])
    second = np.subtract(increment.delta_angle, increment.coning) - first
    # To second order the coning is 7/12 of this cross product; rotations give it exactly.
    twist = np.cross(first, second)
    assert increment.coning[2] == pytest.approx(7.0 / 12.0 * twist[2], rel=1e-4)
    whole = Rotation.from_rotvec(first) * Rotation.from_rotvec(second + twist / 12.0)
    np.testing.assert_allclose(increment.delta_angle, whole.as_rotvec(), rtol=1e-12)
    assert increment.sculling == (0.0, 0.0, 0.0)


def test_a_streaming_integrator_refuses_options_below_one():
    with pytest.raises(ValueRangeError, match="samples_min"):
        IncrementIntegrator(0, max_gap_ns=1)
    with pytest.raises(ValueRangeError, match="max_gap_ns"):
        IncrementIntegrator(max_gap_ns=0)


@pytest.mark.parametrize("options", [{"samples_per_increment": 0}, {"max_gap_ns": 0}])
def test_options_below_one_are_refused_by_name(options):
    name = next(iter(options))
    with pytest.raises(ValueRangeError, match=name):
        increments_from_rates(still(np.arange(3) * MS), **options)


def test_a_streamed_sample_has_three_components():
    integrator = IncrementIntegrator(max_gap_ns=MS)
    with pytest.raises(ShapeError, match="specific_force"):
        integrator.update(0, (0.0, 0.0, 0.0), (0.0, 0.0))

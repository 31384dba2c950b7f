"""Drifts of independent implementations of the same algorithms on the same motions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.inertial import IncrementIntegrator, WindowRule, integrate
from strapdown.inertial.self_test import (
    CASES,
    Case,
    Coning,
    Sculling,
    delay_s,
    drift,
    packet_means,
)
from strapdown.samples import SampleKind
from strapdown.series import ImuSeries, Increments

DEG_PER_HOUR = math.degrees(3600.0)


def savage(kind=SampleKind.POINT):
    def integrator(series, samples_per_window):
        window = WindowRule(samples_per_window)
        return integrate(series, gyro_kind=kind, accel_kind=kind, window=window).increments

    return integrator


def trapezoid(series, samples_per_window):
    """The same recursion on increments by the trapezoid rule."""
    h = np.diff(series.t_ns, prepend=series.t_ns[0])[:, None] * 1e-9
    columns = [
        h * (values + np.roll(values, 1, axis=0)) / 2.0
        for values in (series.angular_velocity, series.specific_force)
    ]
    return savage(SampleKind.INTEGRAL)(ImuSeries(series.t_ns, *columns), samples_per_window)


def exact(half_cone_deg, frequency):
    """The same recursion on the exact increments of coning."""
    a, w = math.radians(half_cone_deg), 2.0 * math.pi * frequency

    def integrator(series, samples_per_window):
        t = series.t_ns * 1e-9
        integral = np.stack(
            [
                math.sin(a) * np.cos(w * t),
                math.sin(a) * np.sin(w * t),
                -2.0 * w * math.sin(a / 2.0) ** 2 * t,
            ],
            axis=-1,
        )
        increments = np.diff(integral, axis=0, prepend=integral[:1])
        each = ImuSeries(series.t_ns, increments, np.zeros_like(increments))
        return savage(SampleKind.INTEGRAL)(each, samples_per_window)

    return integrator


# Half-cone [deg], frequency [Hz], samples a second, samples a window; drift [deg/h] without
# correction, with Savage's on exact increments, on those by trapezoids and by Adams-Moulton.
CONING = [
    ((1.0, 10.0, 200.0, 4), 480, 0.635, 33.0, 0.343),
    ((1.0, 10.0, 800.0, 4), 32.3, 0.00250, 2.03, 0.00145),
    ((1.0, 50.0, 800.0, 4), 3586, 7.70, 260, 3.98),
    ((0.1, 50.0, 800.0, 4), 35.9, 0.0768, 2.60, 0.0401),
    ((1.0, 50.0, 1000.0, 4), 2400, 3.17, 165, 1.72),
    ((1.0, 20.0, 400.0, 2), 255, 1.27, 66.0, 0.689),
]


@pytest.mark.parametrize(("case", "none", "on_exact", "on_trapezoids", "on_rates"), CONING)
def test_coning_drifts_as_each_algorithm_lets_it(case, none, on_exact, on_trapezoids, on_rates):
    half_cone, frequency, rate_hz, samples = case
    tested = Case(Coning(math.radians(half_cone), frequency), rate_hz, samples)
    measured = [
        tested.uncorrected,
        drift(exact(half_cone, frequency), tested),
        drift(trapezoid, tested),
        drift(savage(), tested),
    ]
    expected = [none, on_exact, on_trapezoids, on_rates]
    np.testing.assert_allclose(np.array(measured) * DEG_PER_HOUR, expected, rtol=0.01)


# Swing [deg], frequency [Hz], samples a second, samples a window; drift [m/s^2] without
# correction, with sculling on increments by trapezoids and by Adams-Moulton.
SCULLING = [
    ((1.0, 10.0, 200.0, 4), 2.12e-2, 1.46e-3, 1.6e-5),
    ((1.0, 10.0, 800.0, 4), 1.43e-3, 9.0e-5, None),
    ((1.0, 50.0, 800.0, 4), 3.17e-2, 2.3e-3, 3.7e-5),
    ((0.1, 50.0, 800.0, 4), 3.17e-3, 2.3e-4, 3.5e-6),
    ((1.0, 20.0, 400.0, 2), 5.63e-3, 1.46e-3, 1.5e-5),
]


@pytest.mark.parametrize(("case", "none", "on_trapezoids", "on_rates"), SCULLING)
def test_sculling_drifts_as_each_algorithm_lets_it(case, none, on_trapezoids, on_rates):
    swing, frequency, rate_hz, samples = case
    tested = Case(Sculling(math.radians(swing), frequency), rate_hz, samples)
    assert tested.uncorrected == pytest.approx(none, rel=0.01)
    assert drift(trapezoid, tested) == pytest.approx(on_trapezoids, rel=0.03)
    if on_rates is None:
        assert drift(savage(), tested) <= 2e-7
    else:
        assert drift(savage(), tested) == pytest.approx(on_rates, rel=0.03)


def test_the_cases_are_those_of_the_tables():
    def row(case):
        motion = case.motion
        return (
            math.degrees(motion.amplitude),
            motion.frequency_hz,
            case.rate_hz,
            (case.samples_per_window),
        )

    for kind, table, edges in [
        (Coning, CONING, [(100, 800, 4), (200, 8000, 40), (200, 1000, 5), (200, 400, 2)]),
        (Sculling, SCULLING, [(200, 8000, 40)]),
    ]:
        rows = [row(case) for case in CASES if isinstance(case.motion, kind)]
        expected = [entry[0] for entry in table] + [(1.0, *edge) for edge in edges]
        np.testing.assert_allclose(rows, expected)


# Means over packets of 10 of 8000 readings a second; drift [deg/h] as means, and taken as rates
# by mistake. Of the readings themselves it is that of the closed form, at 8000 Hz.
@pytest.mark.parametrize(
    ("frequency", "as_means", "as_rates"), [(10.0, 0.023, 1.03), (50.0, 10.2, 125)]
)
def test_means_taken_for_rates_drift_many_times_more(frequency, as_means, as_rates):
    motion = Coning(math.radians(1.0), frequency)
    packets, each = Case(motion, 800.0, 4, packet=10), Case(motion, 8000.0, 40)
    measured = [
        drift(savage(SampleKind.MEAN), packets),
        drift(savage(SampleKind.POINT), packets),
        drift(savage(), each),
    ]
    expected = [as_means, as_rates, residual(1.0, frequency, 8000.0) * DEG_PER_HOUR]
    np.testing.assert_allclose(np.array(measured) * DEG_PER_HOUR, expected, rtol=0.03)


def residual(half_cone_deg, frequency, rate_hz, *, exact_increments=False):
    """Drift of steps with a coning term of two increments, to second order in the cone [rad/s].

    Increments of a cone of half angle a turn by p = w h a step, and are a P long. Their sum goes
    around a circle of radius a P / (2 sin(p/2)), and with each step the triangle from its centre
    and the term of two increments add up; truth is a^2 p / 2.
    """
    a, w = math.radians(half_cone_deg), 2.0 * math.pi * frequency
    p = w / rate_hz
    back = np.exp(-1j * p)
    length = p * abs(9 + 19 * back - 5 * back**2 + back**3) / 24.0  # Adams and Moulton
    if exact_increments:
        length = 2.0 * math.sin(p / 2.0)
    sector = length**2 * math.sin(p) * (1.0 / (4.0 * math.sin(p / 2.0) ** 2) + 1.0 / 6.0)
    return 0.5 * a**2 * w * abs(1.0 - sector / p)


# Cones of a cycle, or of half of one, in each window; the last two at the limit of sampling.
EDGES = [(200.0, 8000.0, 40), (200.0, 1000.0, 5), (100.0, 8000.0, 40), (600.0, 8000.0, 40),
         (200.0, 800.0, 4), (200.0, 400.0, 2)]  # fmt: skip


@pytest.mark.parametrize(("frequency", "rate_hz", "samples"), EDGES)
def test_a_cone_in_step_with_the_windows_drifts_by_what_its_samples_leave_open(
    frequency, rate_hz, samples
):
    """Second-order sums drift by w a^3 / 2 more, 689 deg/h at 200 Hz."""
    case = Case(Coning(math.radians(1.0), frequency, 2.0), rate_hz, samples)
    for integrator, is_exact in ((savage(), False), (exact(1.0, frequency), True)):
        expected = residual(1.0, frequency, rate_hz, exact_increments=is_exact)
        # Samples of each step leave an error of third order too, a times smaller.
        assert drift(integrator, case) == pytest.approx(expected, rel=0.05)


def test_the_residual_drift_falls_with_the_fourth_power_of_the_step():
    a, w = math.radians(1.0), 2.0 * math.pi * 50.0
    for rate_hz in (16000.0, 32000.0):
        quarter = a**2 * w * (w / rate_hz) ** 4
        assert residual(1.0, 50.0, rate_hz) == pytest.approx(7.0 / 720.0 * quarter, rel=0.01)
        found = residual(1.0, 50.0, rate_hz, exact_increments=True)
        assert found == pytest.approx(quarter / 60.0, rel=0.01)


@pytest.mark.parametrize("turns", [0.6, 0.7, 0.9, 3.0])
def test_a_long_turn_within_a_window_is_not_wrapped(turns):
    t = np.arange(2001) / 1000.0
    rates = np.zeros((len(t), 3))
    rates[:, 2] = math.pi * turns
    series = ImuSeries(np.rint(t * 1e9).astype(np.int64), rates, rates)
    rows = savage()(series, 2000)
    np.testing.assert_allclose(rows.delta_angle, [[0.0, 0.0, 2.0 * math.pi * turns]], rtol=1e-12)


@pytest.mark.parametrize("turns", [0.8, 3.0, 1e90, 1e190, 1e300])
def test_steps_of_absurd_angles_are_summed_with_their_coning(turns):
    """More than 270 degrees in one step, back in the next, then a quarter turn about x."""
    angles = np.zeros((4, 3))
    angles[1:3, 2], angles[3, 0] = (2.0 * math.pi * turns, -2.0 * math.pi * turns), math.pi / 2.0
    series = ImuSeries(np.arange(4) * 10_000_000, angles, angles)
    rows = savage(SampleKind.INTEGRAL)(series, 3)
    # alpha is 0 before the third increment, so that its term is that of the one before: 1/12.
    coning = np.cross(angles[2] / 6.0, angles[3]) / 2.0
    np.testing.assert_allclose(rows.delta_angle[0], angles[3] + coning, rtol=1e-12)
    stream = IncrementIntegrator(3, gyro_kind="integral", accel_kind="integral", max_gap_ns=10**9)
    for t_ns, angle in zip(series.t_ns.tolist(), angles, strict=True):
        found = stream.update(t_ns, angle, angle)
    assert found.delta_angle == tuple(rows.delta_angle[0])


def test_a_wide_cone_and_a_long_turn_end_at_their_attitude():
    """30 degrees of cone and 240 of spin in a window, where the terms of any order matter."""
    t = np.arange(-8, 4001) / 4000.0
    sway, spin = math.radians(30.0), math.radians(240.0)
    lean = Rotation.from_rotvec(
        sway * np.stack([np.cos(9.0 * t), np.sin(9.0 * t), 0.0 * t], axis=-1)
    )
    turned = lean * Rotation.from_rotvec(spin * np.stack([0.0 * t, 0.0 * t, t], axis=-1))
    steps = (turned[:-1].inv() * turned[1:]).as_rotvec()
    # An increment is the integral of the rate: less the coning within its step.
    before = np.vstack([steps[:1], steps[:-1]])
    increments = np.vstack([np.zeros(3), steps - np.cross(before, steps) / 12.0])
    series = ImuSeries(np.rint((t + 1.0) * 1e9).astype(np.int64), increments, 0.0 * increments)
    rows = savage(SampleKind.INTEGRAL)(series[8:], 4000)
    whole = Rotation.from_rotvec(np.array(rows.delta_angle[0]))
    assert (whole.inv() * turned[8].inv() * turned[-1]).magnitude() < 1e-6


def test_means_do_not_lag():
    packets = Case(CASES[0].motion, 800.0, 4, packet=10)
    assert delay_s(savage(SampleKind.MEAN), packets) == pytest.approx(0.0, abs=1e-12)
    assert delay_s(savage(SampleKind.POINT), packets) == pytest.approx(0.625e-3, rel=1e-9)


def test_a_ramp_in_packets_gives_the_angle_of_its_window():
    """2 t rad/s from 5 to 10 ms is 7.5e-5 rad; rates lag by half a packet: 6.875e-5."""
    t_ns = np.arange(0, 10_000_001, 125_000)
    rates = np.zeros((len(t_ns), 3))
    rates[:, 2] = 2.0 * t_ns * 1e-9
    packets = packet_means(ImuSeries(t_ns, rates, rates), 10)
    for kind, angle in [(SampleKind.MEAN, 7.5e-5), (SampleKind.POINT, 6.875e-5)]:
        window = np.array([5_000_000, 10_000_000])
        rows = integrate(packets, gyro_kind=kind, accel_kind=kind, window=window).increments
        assert rows.delta_angle_dt_ns.tolist() == [5_000_000]
        assert rows.delta_angle[0, 2] == pytest.approx(angle, rel=1e-12)


def test_packet_means_are_by_the_trapezoid_rule_at_the_last_reading():
    t_ns = np.arange(8)
    values = np.arange(8.0)[:, None] ** 2 * [1.0, -1.0, 0.0]
    means = packet_means(ImuSeries(t_ns, values, 2.0 * values), 3)
    assert means.t_ns.tolist() == [3, 6]
    np.testing.assert_allclose(means.angular_velocity[:, 0], [9.5 / 3.0, (4.5 + 16 + 25 + 18) / 3])
    np.testing.assert_allclose(means.specific_force[:, 1], [-19.0 / 3.0, -2 * 63.5 / 3])


def test_the_drift_of_exact_increments_is_none():
    """Rotation vectors about one axis add up, so any sum is exact."""
    motion = Sculling(0.02, 5.0, force=0.0)
    assert drift(savage(), Case(motion, 1000.0, 7)) < 1e-15


def test_a_drift_that_is_put_in_comes_out():
    def leaning(series, samples_per_window):
        rows = savage()(series, samples_per_window)
        dt = rows.delta_angle_dt_ns[:, None] * 1e-9
        return rows.replace(delta_velocity=rows.delta_velocity + dt * [0.0, 0.0, 0.25])

    def turning(series, samples_per_window):
        rows = savage()(series, samples_per_window)
        dt = rows.delta_angle_dt_ns[:, None] * 1e-9
        return rows.replace(delta_angle=rows.delta_angle + dt * [0.0, 0.0, 0.01])

    still = Case(Sculling(1e-6, 1.0), 100.0, 5)
    assert drift(leaning, still) == pytest.approx(0.25, rel=1e-6)
    assert drift(turning, Case(Coning(1e-6, 1.0), 100.0, 5)) == pytest.approx(0.01, rel=1e-6)


def test_windows_that_do_not_divide_the_motion_are_compared_with_its_true_state():
    whole = Case(Sculling(math.radians(1.0), 10.0, duration_s=10.0), 800.0, 4)
    broken = Case(Sculling(math.radians(1.0), 10.0, duration_s=9.97), 797.0, 4)
    assert drift(savage(), broken) < 3.0 * drift(savage(), whole)


@pytest.mark.parametrize(
    "wrong", [{"rate_hz": 0.0}, {"samples_per_window": 0}, {"packet": 0}], ids=str
)
def test_a_case_needs_positive_numbers(wrong):
    options = {"rate_hz": 100.0, "samples_per_window": 4, **wrong}
    with pytest.raises(ValueRangeError, match=next(iter(wrong))):
        Case(CASES[0].motion, **options)


def test_an_integrator_is_any_function_from_samples_to_increments():
    def lazy(series, samples_per_window):
        ends = np.arange(samples_per_window, len(series), samples_per_window)
        dt = np.full(len(ends), series.t_ns[ends[0]] - series.t_ns[0])
        zeros = np.zeros((len(ends), 3))
        return Increments(series.t_ns[ends], zeros, zeros, dt, dt)

    case = Case(Coning(0.1, 1.0, duration_s=10.25), 100.0, 5)
    # a quarter of a turn from the start, 0.1 sqrt(2) rad, in 10.25 s
    assert drift(lazy, case) == pytest.approx(0.1 * math.sqrt(2.0) / 10.25, rel=2e-3)

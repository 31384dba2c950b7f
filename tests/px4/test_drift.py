"""Drifts of PX4's integrator and of the default, against an independent implementation."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.inertial import WindowRule, integrate
from strapdown.inertial.self_test import Case, Coning, drift, packet_means
from strapdown.px4 import self_test
from strapdown.px4.increments import px4_increments
from strapdown.samples import SampleKind
from strapdown.series import ImuSeries

pytestmark = pytest.mark.xdist_group("drift")  # all take the same self-test

DEG_PER_HOUR = math.degrees(3600.0)

# As in the tables of drift; px4 and default.
CONING = [(173, 0.343), (11.1, 0.00145), (1330, 3.98), (13.3, 0.0401), (866, 1.72), (253, 0.689)]
SCULLING = [
    (2.23e-2, 1.6e-5),
    (1.52e-3, 2e-7),
    (3.31e-2, 3.7e-5),
    (3.31e-3, 3.5e-6),
    (6.97e-3, 1.5e-5),
]
# Half a cycle and a whole one in each window: cones, without and with the default, and sculling.
EDGES = [
    (1.974e4, 77.2),
    (3.948e4, 0.458),
    (3.948e4, 143.6),
    (3.948e4, 3.948e4),
    (8.727e-2, 4.4e-6),
]
ON_EXACT = [143, 9.12, 1106, 11.1, 716, 191]


@pytest.fixture(scope="module")
def default():
    return self_test()


def test_px4_drifts_as_its_algorithm_lets_it(default):
    expected = [px4 for px4, _ in CONING + SCULLING]
    rows = default.rows[: len(expected)]
    np.testing.assert_allclose([row.px4 for row in rows], expected, rtol=0.01)


def test_the_default_drifts_at_most_a_hundredth_of_px4(default):
    assert len(default.rows) == 16
    for row, (_, figure) in zip(default.rows, CONING + SCULLING, strict=False):
        assert row.drift <= row.px4 / 100.0
        assert row.drift <= 2.0 * figure


def test_cones_in_step_with_the_windows_drift_by_what_their_samples_leave_open(default):
    for row, (uncorrected, figure) in zip(default.rows[11:], EDGES, strict=True):
        assert row.uncorrected == pytest.approx(uncorrected, rel=0.01)
        assert row.drift == pytest.approx(figure, rel=0.02)
    assert default.rows[12].drift < default.rows[12].px4 / 1000.0
    # Two samples a cycle look like an oscillation in a plane: nothing is left to correct.
    assert default.rows[14].px4 == pytest.approx(default.rows[14].uncorrected, rel=0.01)


def test_px4_lags_by_half_a_packet_and_the_default_does_not(default):
    assert default.packet_interval_s == pytest.approx(1.25e-3)
    assert default.px4_packet_delay_s == pytest.approx(0.625e-3, rel=1e-4)
    assert abs(default.packet_delay_s) < 1e-12


def test_rows_say_what_was_tested_in_which_unit(default):
    first, last = default.rows[0], default.rows[10]
    assert (first.motion, first.unit, first.rate_hz, first.samples_per_window) == (
        "coning", "deg/h", 200.0, 4,
    )  # fmt: skip
    assert (last.motion, last.unit, last.rate_hz, last.samples_per_window) == (
        "sculling", "m/s^2", 400.0, 2,
    )  # fmt: skip
    assert first.uncorrected == pytest.approx(480, rel=0.01)
    assert last.amplitude_deg == pytest.approx(1.0)
    assert json.loads(json.dumps(asdict(default)))["rows"][0]["frequency_hz"] == 10.0


def test_mode_px4_is_compared_with_itself():
    result = self_test("px4", rate_hz=250.0, samples_per_window=1)
    assert result.mode == "px4"
    assert all(row.drift == row.px4 for row in result.rows)
    assert result.packet_delay_s == result.px4_packet_delay_s == pytest.approx(2e-3, rel=1e-4)
    assert {row.rate_hz for row in result.rows} == {250.0}
    assert len(set(result.rows)) == len(result.rows)


@pytest.mark.parametrize("options", [{"rate_hz": 0.0}, {"samples_per_window": 0}], ids=str)
def test_rates_and_windows_below_one_are_refused(options):
    with pytest.raises(ValueRangeError, match=next(iter(options))):
        self_test(**options)


def test_an_unknown_mode_is_refused_by_name():
    with pytest.raises(UnknownNameError, match=r"'savege'.*'savage'"):
        self_test("savege")


def on_exact_increments(motion):
    """Samples whose trapezoids are the exact increments of coning, for PX4's integrator."""
    a, w = motion.amplitude, 2.0 * math.pi * motion.frequency_hz

    def integrator(series, samples_per_window):
        t = series.t_ns * 1e-9
        spin = -2.0 * w * math.sin(a / 2.0) ** 2
        integral = np.stack(
            [math.sin(a) * np.cos(w * t), math.sin(a) * np.sin(w * t), spin * t], axis=-1
        )
        means = np.diff(integral, axis=0) / np.diff(t)[:, None]
        values = [series.angular_velocity[0]]
        for mean in means:
            values.append(2.0 * mean - values[-1])
        rates = np.array(values)
        return px4_increments(ImuSeries(series.t_ns, rates, 0.0 * rates), samples_per_window)

    return integrator


def test_px4_drifts_on_exact_increments_too(default):
    for row, expected in zip(default.rows, ON_EXACT, strict=False):
        motion = Coning(math.radians(row.amplitude_deg), row.frequency_hz)
        case = Case(motion, row.rate_hz, row.samples_per_window)
        measured = drift(on_exact_increments(motion), case) * DEG_PER_HOUR
        assert measured == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("frequency", "expected"), [(10.0, 12.2), (50.0, 1441)])
def test_px4_integrates_the_means_of_packets_once_more(frequency, expected):
    case = Case(Coning(math.radians(1.0), frequency), 800.0, 4, packet=10)
    assert drift(px4_increments, case) * DEG_PER_HOUR == pytest.approx(expected, rel=0.01)


def test_px4_gives_a_ramp_half_a_packet_late():
    t_ns = np.arange(0, 10_000_001, 125_000)
    rates = np.zeros((len(t_ns), 3))
    rates[:, 2] = 2.0 * t_ns * 1e-9
    rows = px4_increments(packet_means(ImuSeries(t_ns, rates, rates), 10)[3:], 4)
    assert (rows.t_ns.tolist(), rows.delta_angle_dt_ns.tolist()) == ([10_000_000], [5_000_000])
    assert rows.delta_angle[0, 2] == pytest.approx(6.875e-5, rel=1e-6)


def trapezoid(series, samples_per_window):
    """Savage's corrections on increments by the trapezoid rule."""
    h = np.diff(series.t_ns, prepend=series.t_ns[0])[:, None] * 1e-9
    columns = [
        h * (values + np.roll(values, 1, axis=0)) / 2.0
        for values in (series.angular_velocity, series.specific_force)
    ]
    kind = SampleKind.INTEGRAL
    each, window = ImuSeries(series.t_ns, *columns), WindowRule(samples_per_window)
    return integrate(each, gyro_kind=kind, accel_kind=kind, window=window).increments


# A general motion whose state at t = 2 s was integrated to all digits by an independent solver:
# samples per second, samples per window; errors [deg], [m/s] of PX4's integrator and trapezoids.
GENERAL = [
    (100.0, 2, (5.05e-3, 1.33e-3), (3.40e-3, 4.5e-4)),
    (200.0, 4, (1.63e-3, 9.1e-4), (8.5e-4, 2.5e-4)),
    (400.0, 4, (4.07e-4, 2.3e-4), (2.1e-4, 6.3e-5)),
    (800.0, 4, (1.02e-4, 5.7e-5), (5.3e-5, 1.6e-5)),
]
ATTITUDE = Rotation.from_quat(
    [-0.03957716265396967, 0.04437690992582165, -0.06547811509902872, 0.9960807971770044]
)
VELOCITY = [-0.7471151794177595, 0.5197102336773929, -19.43518359705023]


@pytest.mark.parametrize(("rate_hz", "samples", "of_px4", "of_trapezoids"), GENERAL)
def test_a_general_motion_is_followed_as_each_algorithm_lets_it(
    rate_hz, samples, of_px4, of_trapezoids
):
    t = np.arange(-8, round(2.0 * rate_hz) + 1) / rate_hz
    rates = [0.7 * np.cos(5 * t), 0.9 * np.sin(7 * t + 0.3), 1.1 * np.cos(3 * t)]
    forces = [3 * np.sin(11 * t), 2 * np.cos(6 * t), -9.8 + 4 * np.sin(13 * t)]
    series = ImuSeries(
        np.rint(t * 1e9).astype(np.int64), np.stack(rates, axis=-1), np.stack(forces, axis=-1)
    )
    for integrator, expected in [(px4_increments, of_px4), (trapezoid, of_trapezoids)]:
        rows = integrator(series, samples)
        np.testing.assert_allclose(errors(rows[rows.t_ns > 0]), expected, rtol=0.03)


def errors(rows):
    """Errors of attitude [deg] and velocity [m/s], each increment rotated at its middle."""
    turns = Rotation.from_rotvec(np.array(rows.delta_angle))
    pushes = Rotation.from_rotvec(rows.delta_angle / 2.0).apply(np.array(rows.delta_velocity))
    attitude, velocity = Rotation.identity(), np.zeros(3)
    for turn, push in zip(turns, pushes, strict=True):
        velocity = velocity + attitude.apply(push)
        attitude = attitude * turn
    return (
        math.degrees((ATTITUDE.inv() * attitude).magnitude()),
        float(np.linalg.norm(velocity - VELOCITY)),
    )


@pytest.mark.parametrize(("rate_hz", "limit"), [(None, 2000), (400.0, 4000)])
def test_a_window_longer_than_the_shortest_motion_is_refused_with_the_limit(rate_hz, limit):
    with pytest.raises(
        ValueRangeError, match=f"samples_per_window of {limit} or less.* {limit + 1}$"
    ):
        self_test(rate_hz=rate_hz, samples_per_window=limit + 1)


def test_a_window_as_long_as_the_motion_is_measured():
    case = Case(Coning(math.radians(1.0), 10.0, 0.5), 200.0, 100)
    assert drift(px4_increments, case) > 0.0

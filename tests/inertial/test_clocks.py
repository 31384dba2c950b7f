from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from scipy.special import jv

from strapdown.errors import FrameError
from strapdown.inertial import (
    WindowRule,
    integrate,
    integrate_pair,
    on_gyro_clock,
)
from strapdown.samples import SampleKind
from strapdown.series import ImuSeries

MS = 1_000_000
NO_ACCEL = np.nan


def gyro_at(t_ns, rates=None, **columns):
    shape = (len(t_ns), 3)
    rates = np.zeros(shape) if rates is None else rates
    return ImuSeries(np.asarray(t_ns), rates, np.full(shape, NO_ACCEL), **columns)


def accel_at(t_ns, forces, **columns):
    forces = np.asarray(forces, float)
    if forces.ndim == 1:
        forces = forces[:, None] * [1.0, 0.0, -2.0]
    return ImuSeries(np.asarray(t_ns), np.full_like(forces, np.nan), forces, **columns)


def test_on_one_clock_the_increments_are_those_of_the_accelerometer():
    rng = np.random.default_rng(1)
    t_ns = np.cumsum(rng.integers(4 * MS, 6 * MS, 50))
    forces = rng.normal(size=(50, 3))
    moved = on_gyro_clock(gyro_at(t_ns), accel_at(t_ns, forces), accel_kind=SampleKind.POINT)
    each = integrate(accel_at(t_ns, forces), window=WindowRule(1)).increments
    np.testing.assert_allclose(moved.specific_force[1:], each.delta_velocity, atol=1e-15)
    np.testing.assert_array_equal(moved.specific_force[0], 0.0)


offsets_us = st.integers(0, 4000)


@given(
    offsets_us,
    st.integers(1000, 9000),
    st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3).map(np.polynomial.Polynomial),
)
def test_a_parabola_of_force_is_exact_between_the_stamps(offset_us, gyro_step_us, force):
    accel_ns = (np.arange(60) * 4000 + offset_us) * 1000
    gyro_ns = np.arange(9000, 200_000, gyro_step_us) * 1000
    moved = on_gyro_clock(
        gyro_at(gyro_ns), accel_at(accel_ns, force(accel_ns * 1e-9)), accel_kind=SampleKind.POINT
    )
    started = gyro_ns[:-1] > accel_ns[2]  # the first steps have a shorter history
    exact = np.diff(force.integ()(gyro_ns * 1e-9))
    np.testing.assert_allclose(moved.specific_force[1:, 0][started], exact[started], atol=1e-14)


def test_means_are_shared_out_by_time():
    accel = accel_at(np.array([0, 10, 20, 30]) * MS, [9.0, 1.0, 2.0, 3.0])
    gyro = gyro_at(np.array([5, 15, 20, 28]) * MS)
    moved = on_gyro_clock(gyro, accel, accel_kind=SampleKind.MEAN)
    np.testing.assert_allclose(moved.specific_force[:, 0], [0.0, 0.015, 0.010, 0.024], atol=1e-17)


def test_increments_are_shared_out_by_time():
    accel = accel_at(np.array([0, 10, 20]) * MS, [9.0, 0.1, 0.3])
    moved = on_gyro_clock(gyro_at(np.array([5, 15]) * MS), accel, accel_kind=SampleKind.INTEGRAL)
    np.testing.assert_allclose(moved.specific_force[:, 0], [0.0, 0.2], atol=1e-16)


def test_where_the_accelerometer_says_nothing_there_is_nothing():
    accel = accel_at(np.array([10, 20, 30]) * MS, np.ones(3))
    moved = on_gyro_clock(
        gyro_at(np.array([5, 10, 29, 31]) * MS), accel, accel_kind=SampleKind.POINT
    )
    assert np.isnan(moved.specific_force[:, 0]).tolist() == [True, False, False, True]


@pytest.mark.parametrize(("gyro_first_ms", "gyro_step_ms"), [(1, 4), (0, 50)])
@pytest.mark.parametrize("kind", [SampleKind.POINT, SampleKind.MEAN])
def test_a_gap_of_the_accelerometer_is_never_bridged(kind, gyro_first_ms, gyro_step_ms):
    accel_ns = np.concatenate([np.arange(0, 1001, 4), np.arange(1049, 2000, 4)]) * MS
    gyro_ns = np.arange(gyro_first_ms, 1990, gyro_step_ms) * MS
    result = integrate_pair(
        gyro_at(gyro_ns),
        accel_at(accel_ns, np.ones(len(accel_ns))),
        gyro_kind=kind,
        accel_kind=kind,
        window=WindowRule(2),
    )
    rows = result.increments
    assert len(rows) > 15
    np.testing.assert_allclose(
        rows.delta_velocity[:, 0], rows.delta_velocity_dt_ns * 1e-9, rtol=1e-12
    )
    starts = rows.t_ns - rows.delta_velocity_dt_ns
    assert ((rows.t_ns <= 1000 * MS) | (starts >= 1049 * MS)).all()
    assert result.report.gaps == 1
    assert result.report.lost_ns >= 49 * MS


def test_a_gyro_sample_that_is_left_out_does_not_lose_velocity():
    gyro_ns, accel_ns = np.arange(20) * 5 * MS, np.arange(-1, 120) * MS - 300
    rates = np.zeros((20, 3))
    rates[7, 1] = np.nan
    result = integrate_pair(
        gyro_at(gyro_ns, rates), accel_at(accel_ns, np.ones(121)), window=WindowRule(1)
    )
    rows = result.increments
    assert (len(rows), result.report.not_finite, result.report.gaps) == (18, 1, 0)
    np.testing.assert_allclose(rows.delta_velocity[:, 0], rows.delta_velocity_dt_ns * 1e-9)


def test_accel_samples_may_come_in_any_order():
    t_ns = np.arange(30) * 5 * MS
    forces = np.sin(t_ns * 1e-8)
    shuffled = np.random.default_rng(8).permutation(30)
    gyro = gyro_at(t_ns[2:20] + MS)
    ordered = on_gyro_clock(gyro, accel_at(t_ns, forces), accel_kind=SampleKind.POINT)
    mixed = on_gyro_clock(
        gyro, accel_at(t_ns[shuffled], forces[shuffled]), accel_kind=SampleKind.POINT
    )
    assert mixed == ordered


def test_clipping_reaches_every_interval_that_a_sample_touches():
    bits = np.array([0, 1, 0, 2, 0, 0], np.uint8)
    accel = accel_at(np.array([0, 10, 20, 30, 40, 50]) * MS, np.ones(6), accel_clipping=bits)
    gyro = gyro_at(np.array([2, 8, 12, 28, 30, 31, 45]) * MS, gyro_clipping=np.full(7, 4, np.uint8))
    moved = on_gyro_clock(gyro, accel, accel_kind=SampleKind.POINT)
    assert moved.accel_clipping[1:].tolist() == [1, 1, 2, 2, 0, 0]
    assert moved.gyro_clipping.tolist() == [4] * 7


def test_an_accelerometer_with_no_sample_gives_no_velocity():
    moved = on_gyro_clock(
        gyro_at(np.arange(3) * MS), accel_at(np.zeros(0, np.int64), []), accel_kind="point"
    )
    assert np.isnan(moved.specific_force).all()


def test_a_gyroscope_with_no_sample_gives_no_row():
    accel = accel_at(np.arange(3) * MS, np.ones(3), accel_clipping=np.ones(3, np.uint8))
    empty = gyro_at(np.zeros(0, np.int64))
    assert len(on_gyro_clock(empty, accel, accel_kind=SampleKind.POINT)) == 0
    assert len(integrate_pair(empty, accel, window=WindowRule(1)).increments) == 0


def test_axes_are_not_mixed():
    accel = accel_at(np.arange(3) * MS, np.ones(3), body="FRD")
    with pytest.raises(FrameError, match="FLU and FRD"):
        on_gyro_clock(gyro_at(np.arange(3) * MS), accel, accel_kind=SampleKind.POINT)


@pytest.mark.parametrize(("late_ns", "same"), [(25_000, True), (26_000, False)])
def test_stamps_within_half_a_percent_of_the_interval_are_one_clock(late_ns, same):
    t_ns = np.arange(50) * 5 * MS
    forces = np.sin(t_ns * 1e-8)
    result = integrate_pair(gyro_at(t_ns), accel_at(t_ns + late_ns, forces), window=WindowRule(1))
    joined = integrate(
        gyro_at(t_ns).replace(specific_force=accel_at(t_ns, forces).specific_force),
        window=WindowRule(1),
    )
    assert (len(result.increments) == len(joined.increments)) == same
    if same:
        assert result.increments == joined.increments


@pytest.mark.parametrize("accel_hz", [400.0, 800.0, 1000.0])
def test_sculling_is_corrected_across_clocks(accel_hz):
    """The residual on one clock at 800 Hz is 9e-8 m/s^2, without correction 1.4e-3."""
    swing, w = np.radians(1.0), 2.0 * np.pi * 10.0
    gyro_s = np.arange(-8, 8001) / 800.0
    accel_s = np.arange(-24, round(10.1 * accel_hz)) / accel_hz + 0.3e-3
    gyro_ns, accel_ns = (np.rint(t * 1e9).astype(np.int64) for t in (gyro_s, accel_s))
    rates, forces = np.zeros((len(gyro_s), 3)), np.zeros((len(accel_s), 3))
    rates[:, 0], forces[:, 1] = swing * w * np.cos(w * gyro_s), 10.0 * np.sin(w * accel_s)
    rows = integrate_pair(
        gyro_at(gyro_ns, rates), accel_at(accel_ns, forces), window=WindowRule(4)
    ).increments
    rows = rows[rows.t_ns > 0]
    ends = np.cumsum(rows.delta_angle[:, 0])
    pushed = Rotation.from_rotvec((ends - rows.delta_angle[:, 0] / 2.0)[:, None] * [1.0, 0.0, 0.0])
    velocity_z = pushed.apply(np.array(rows.delta_velocity)).sum(axis=0)[2]
    assert abs(velocity_z / 10.0 - 10.0 * jv(1, swing)) < 1.5e-5

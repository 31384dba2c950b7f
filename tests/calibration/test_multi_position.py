"""Calibration from many attitudes, on simulated sessions with known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.calibration import multi_position
from strapdown.calibration.poses.delay import delay_of_gyro
from strapdown.calibration.poses.fit import excess_noise, minimise
from strapdown.calibration.poses.result import empty_cone
from strapdown.calibration.poses.stills import rolling_spread
from strapdown.calibration.poses.turns import Turns
from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion
from strapdown.geometry.gravity import normal_gravity
from strapdown.sensors import ImuSpec
from strapdown.series import ImuSeries
from strapdown.units import RAD_PER_DEG

UPPER = np.array([0, 1, 2, 4, 5, 8])


def errors(result, sessions, *, accel_unit=1.0, gyro_unit=1.0):
    """Errors of all 24 parameters, and their standard deviations."""
    c = result.calibration
    error = np.concatenate([
        c.accel.bias / accel_unit - sessions.ACCEL_BIAS,
        (c.accel.matrix * accel_unit - sessions.ACCEL).ravel()[UPPER],
        c.gyro.bias / gyro_unit - sessions.GYRO_BIAS,
        (c.gyro.matrix * gyro_unit - sessions.GYRO).ravel(),
    ])  # fmt: skip
    sigma = np.concatenate([
        c.accel.sigma_bias / accel_unit, c.accel.sigma_matrix.ravel()[UPPER] * accel_unit,
        c.gyro.sigma_bias / gyro_unit, c.gyro.sigma_matrix.ravel() * gyro_unit,
    ])  # fmt: skip
    return error, sigma


@pytest.fixture(scope="module")
def usual(sessions):
    told = []
    result = multi_position(sessions.tumbled(), gravity=sessions.GRAVITY, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    return result


def test_a_session_without_noise_gives_every_parameter_exactly(sessions):
    result = multi_position(sessions.tumbled(noise=False), gravity=sessions.GRAVITY)
    error, _ = errors(result, sessions)
    assert np.abs(error).max() < 1e-8
    assert np.tril(result.calibration.accel.matrix, -1).tolist() == [[0.0] * 3] * 3
    assert result.warnings == ()
    assert len(result.norm_error) == 30
    assert len(result.turn_error) == 29


def test_errors_are_as_large_as_the_report_says(usual, sessions):
    error, sigma = errors(usual, sessions)
    assert np.all(np.abs(error) < 3.5 * sigma)
    assert np.all(sigma > 0.0)
    assert usual.warnings == ()
    # White noise of 0.015 m/s^2 a sample, 150 samples an interval.
    assert np.sqrt(np.mean(usual.norm_error_left_out**2)) < 2.5e-3
    assert np.sqrt(np.mean(usual.turn_error_left_out**2)) < 0.1 * RAD_PER_DEG
    assert abs(usual.time_offset_s) < 1e-3
    assert 20.0 < usual.empty_cone_rad / RAD_PER_DEG < 60.0
    assert usual.calibration.provenance.method == "multi_position"
    assert usual.calibration.provenance.residuals["norm_left_out_m_s2"] < 2.5e-3


def test_the_report_names_what_was_measured(usual):
    text = "\n".join(usual.lines())
    for part in ("30 still intervals", "29 turns", "left out", "bias", "+-", "empty cone"):
        assert part in text
    data = usual.to_dict()
    assert data["still_intervals"] == 30
    assert data["residuals"]["direction_left_out_deg"] < 0.1
    assert np.shape(data["gyro"]["sigma_matrix"]) == (3, 3)


def test_raw_counts_need_no_other_parameter(sessions):
    series = sessions.tumbled()
    counts = series.replace(
        specific_force=np.round(415.0 * series.specific_force + 33000.0),
        angular_velocity=np.round(4778.0 * series.angular_velocity + 32768.0),
    )
    result = multi_position(counts, gravity=sessions.GRAVITY)
    c = result.calibration
    np.testing.assert_allclose(c.accel.matrix * 415.0, sessions.ACCEL, atol=1e-3)
    np.testing.assert_allclose(c.gyro.matrix * 4778.0, sessions.GYRO, atol=1e-3)
    assert (c.accel.unit_in, c.gyro.unit_in, result.warnings) == ("raw", "raw", ())
    assert np.sqrt(np.mean(result.norm_error_left_out**2)) < 2.5e-3
    assert np.sqrt(np.mean(result.turn_error_left_out**2)) < 0.65 * RAD_PER_DEG
    calibrated = multi_position(c.apply(counts), gravity=sessions.GRAVITY).calibration
    np.testing.assert_allclose(calibrated.gyro.matrix, np.eye(3), atol=1e-4)
    np.testing.assert_allclose(calibrated.accel.bias, 0.0, atol=1e-3)


def test_other_units_are_named_with_the_remedy(sessions):
    series = sessions.tumbled()
    other = series.replace(
        specific_force=series.specific_force / 9.80665,
        angular_velocity=series.angular_velocity / RAD_PER_DEG,
    )
    result = multi_position(other, gravity=sessions.GRAVITY)
    in_g, in_degrees = result.warnings
    assert "as if in g" in in_g
    assert "multiply it by 9.80665" in in_g
    assert "as if the gyro were in deg/s" in in_degrees
    assert "multiply it by 0.0174533" in in_degrees
    units = (result.calibration.accel.unit_in, result.calibration.gyro.unit_in)
    assert units == ("g", "deg/s")
    error, sigma = errors(result, sessions, accel_unit=1 / 9.80665, gyro_unit=1 / RAD_PER_DEG)
    assert np.all(np.abs(error) < 3.5 * sigma)


def test_drift_bad_intervals_and_half_a_sphere_are_bounded_and_named(sessions):
    motion = sessions.tumble(36, 3, upper_half=True)
    series = sessions.recorded(motion)
    part = (series.t_ns / series.t_ns[-1])[:, None]
    force = series.specific_force.copy()
    first = 3050
    for k in (7, 15):  # pushed while it rests
        rest = slice(first + 320 * k - 200, first + 320 * k)
        force[rest] += [0.1, 0.1, -0.1]
    result = multi_position(
        series.replace(
            specific_force=force,
            angular_velocity=series.angular_velocity + 0.02 * RAD_PER_DEG * part,
        ),
        gravity=sessions.GRAVITY,
    )
    error, sigma = errors(result, sessions)
    error[9:12] -= 0.01 * RAD_PER_DEG  # mean of the drift
    assert np.all(np.abs(error) < 3.5 * sigma)
    text = "\n".join(result.warnings)
    assert "left out 2 still intervals" in text
    assert "empty: put the device down on its other sides too" in text
    assert "the bias of the gyro moved by 0.00" in text
    assert len(result.warnings) == 3


def noisy(series, seed):
    rng = np.random.default_rng(seed)
    force = series.specific_force + 0.02 * rng.normal(size=(len(series), 3))
    rate = series.angular_velocity + 0.002 * rng.normal(size=(len(series), 3))
    return series.replace(specific_force=force, angular_velocity=rate)


@pytest.mark.parametrize("runs", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_many_sessions_agree_with_their_standard_deviations(sessions, runs):
    series = sessions.tumbled(noise=False)
    pairs = [
        errors(multi_position(noisy(series, k), gravity=sessions.GRAVITY), sessions)
        for k in range(runs)
    ]
    error, sigma = map(np.array, zip(*pairs, strict=True))
    assert np.all(np.mean(np.abs(error) < 3.0 * sigma, axis=0) >= (0.99 if runs > 100 else 0.7))
    assert np.all(sigma.mean(axis=0)[:9] < 1.5 * smallest_sigma(sessions))
    assert np.all(sigma.mean(axis=0)[:9] > 0.95 * smallest_sigma(sessions))


def smallest_sigma(sessions):
    """Cramer and Rao's bound of the accelerometer's parameters, from all samples at rest."""
    q = quaternion.conjugate(sessions.attitudes(30, 11))
    f = quaternion.rotate(q, [0.0, 0.0, sessions.GRAVITY])
    s, u = f @ (np.eye(3) + sessions.ACCEL_E).T, f / sessions.GRAVITY
    by_matrix = (u[:, :, None] * s[:, None, :]).reshape(len(u), 9)[:, UPPER]
    samples = np.concatenate([[3050], np.full(29, 200)])
    sigma = 0.02 * np.linalg.norm(u @ sessions.ACCEL, axis=1) / np.sqrt(samples)
    J = np.hstack([-u @ sessions.ACCEL, by_matrix]) / sigma[:, None]
    return np.sqrt(np.diag(np.linalg.inv(J.T @ J)))


def test_a_gyro_with_other_axes_is_named(sessions):
    series = sessions.tumbled()
    swapped = series.replace(angular_velocity=series.angular_velocity[:, [1, 0, 2]])
    result = multi_position(swapped, gravity=sessions.GRAVITY)
    assert any("axes of the gyro" in line or "turns miss their ends" in line
               for line in result.warnings)  # fmt: skip


@pytest.mark.parametrize(("rows", "where"), [(3, "behind"), (-3, "ahead of")])
def test_a_gyro_that_is_late_or_early_is_named(sessions, rows, where):
    series = sessions.tumbled()
    moved = series.replace(angular_velocity=np.roll(series.angular_velocity, rows, axis=0))
    result = multi_position(moved, gravity=sessions.GRAVITY)
    assert result.time_offset_s == pytest.approx(0.01 * rows, abs=5e-4)
    (line,) = result.warnings
    assert line == f"the gyro is 30 ms {where} the accelerometer: shift its stamps"


def test_no_delay_is_found_without_turns():
    t_ns = np.arange(5000) * 10_000_000
    still = np.tile([0.0, 0.0, 9.8], (5000, 1))
    assert np.isnan(delay_of_gyro(t_ns, still, np.zeros((5000, 3))))
    assert np.isnan(delay_of_gyro(t_ns[:100], still[:100], np.zeros((100, 3))))


def test_the_sensitivity_to_force_is_fitted_on_request(sessions):
    K = np.array([[2e-4, 0.0, 1e-4], [0.0, -3e-4, 0.0], [1e-4, 0.0, 2e-4]])
    readings = (np.eye(3) + sessions.GYRO_E) @ K  # the simulator scales the sensitivity too
    series = sessions.recorded(sessions.tumble(), sessions.spec(g_sensitivity=K.tolist()))
    result = multi_position(series, gravity=sessions.GRAVITY, g_sensitivity=True)
    np.testing.assert_allclose(result.calibration.g_sensitivity, readings, atol=2e-5)
    error, sigma = errors(result, sessions)
    assert np.all(np.abs(error) < 4.0 * sigma)


def test_lost_samples_and_gaps_cost_nothing_but_their_turns(sessions):
    series = sessions.tumbled()
    force = series.specific_force.copy()
    force[500:520] = np.nan
    holed = series.replace(specific_force=force)
    kept = np.ones(len(series), np.bool_)
    kept[3200:3260] = False  # within a turn
    result = multi_position(holed[kept], gravity=sessions.GRAVITY)
    error, sigma = errors(result, sessions)
    assert np.all(np.abs(error) < 3.5 * sigma)
    assert len(result.turn_error) in {27, 28}


def test_gravity_comes_from_a_value_or_a_place_or_by_default(sessions):
    series = sessions.tumbled()
    here = multi_position(series, latitude=0.8, height=500.0)
    assert here.gravity == normal_gravity(0.8, 500.0)
    assert here.warnings == ()
    plain = multi_position(series)
    assert plain.gravity == 9.80665
    assert plain.warnings[0].startswith("gravity is not known")
    assert plain.calibration.provenance.notes == plain.warnings
    for wrong, text in (
        ({"gravity": 9.8, "latitude": 0.8}, "got both"),
        ({"gravity": 1.0}, "got 1.0"),
        ({"height": 3.0}, "expected a latitude"),
    ):
        with pytest.raises(ValueRangeError, match=text):
            multi_position(series, **wrong)


def test_a_session_that_cannot_be_calibrated_says_why(sessions):
    series = sessions.tumbled()
    with pytest.raises(ValueRangeError, match=r"movement after \d.* shorter initial_still_s"):
        multi_position(series[2500:], gravity=9.8)
    with pytest.raises(ValueRangeError, match=r"begins with 30 s at rest, got 20"):
        multi_position(series[:2001], gravity=9.8)
    with pytest.raises(ValueRangeError, match=r"expected 12 attitudes .* got 1[01];"):
        multi_position(series[:6200], gravity=9.8)
    with pytest.raises(ValueRangeError, match="expected angular_velocity"):
        multi_position(
            series.replace(angular_velocity=np.full((len(series), 3), np.nan)), gravity=9.8
        )
    with pytest.raises(ValueRangeError, match="100 samples or more"):
        multi_position(series[:50], gravity=9.8)
    with pytest.raises(TypeError, match="expected series as ImuSeries, got str"):
        multi_position("tumble.mcap")
    with pytest.raises(ValueRangeError, match="rate of 5 Hz"):
        multi_position(series[::50], gravity=9.8)


def test_a_device_that_was_never_turned_is_not_calibrated():
    rng = np.random.default_rng(1)
    count = 12_000
    drift = 0.04 * np.sin(2.0 * np.pi * np.arange(count) / count)[:, None]
    force = np.array([0.0, 0.0, 9.81]) + drift + rng.normal(0.0, 2e-3, (count, 3))
    rate = rng.normal(0.0, 2e-4, (count, 3))
    series = ImuSeries(np.arange(count) * 100_000_000, rate, force)
    with pytest.raises(ValueRangeError, match=r"on all sides, got all within \d+ deg of one"):
        multi_position(series, gravity=9.81)


def test_readings_and_frames_of_other_axes_give_the_same_calibration(usual, sessions):
    there = sessions.tumbled().in_frames(body="FRD", world="NED")
    result = multi_position(there, gravity=sessions.GRAVITY)
    assert result.calibration.body == "FRD"
    np.testing.assert_allclose(
        result.calibration.in_frame("FLU").accel.bias, usual.calibration.accel.bias, atol=1e-6
    )


def test_the_rolling_spread_is_that_of_each_window():
    values = np.random.default_rng(2).normal(size=(1003, 3)) * [1.0, 2.0, 0.5] + 1e6
    windows = np.lib.stride_tricks.sliding_window_view(values, 50, axis=0)
    expected = np.linalg.norm(windows.var(axis=2), axis=1)
    np.testing.assert_allclose(rolling_spread(values, 50), expected, rtol=1e-7)


def test_the_empty_cone_of_known_directions():
    faces = np.vstack([np.eye(3), -np.eye(3)])
    assert empty_cone(faces) == pytest.approx(np.arccos(1.0 / np.sqrt(3.0)), abs=0.03)
    assert empty_cone(faces[:1]) == pytest.approx(np.pi, abs=0.05)
    assert empty_cone(np.zeros((0, 3))) == np.pi


def test_turns_are_products_of_rotations_and_their_derivatives_are_exact():
    rng = np.random.default_rng(4)
    angle = rng.normal(scale=0.02, size=(2, 37, 3))
    turns = Turns(np.array([0, 1]), np.array([1, 2]), angle, np.ones(2))
    A = np.eye(3) + rng.normal(scale=0.1, size=(3, 3))
    R, J = turns.rotation_and_jacobian(A)
    np.testing.assert_allclose(turns.rotation(A), R, atol=1e-14)
    for one, steps in zip(R, angle @ A.T, strict=True):
        late = np.vstack([np.zeros(3), steps[:-1]])
        whole = Rotation.identity()
        for phi in Rotation.from_rotvec(steps + np.cross(late, steps) / 12.0):
            whole *= phi
        np.testing.assert_allclose(one, whole.as_matrix(), atol=1e-13)
    for k in range(9):
        step = np.zeros(9)
        step[k] = 1e-6
        ahead, behind = (turns.rotation(A + d * step.reshape(3, 3)) for d in (1.0, -1.0))
        turned = Rotation.from_matrix(np.swapaxes(behind, 1, 2) @ ahead).as_rotvec() / 2e-6
        np.testing.assert_allclose(J[:, :, k], turned, atol=1e-8)


def test_a_linear_fit_is_that_of_the_normal_equations():
    rng = np.random.default_rng(3)
    J = rng.normal(size=(20, 2, 3))
    values, sigma = rng.normal(size=(20, 2)), rng.uniform(0.5, 2.0, size=20)
    fit = minimise(lambda x: (J @ x - values, J), np.zeros(3), sigma, prior=np.full(3, 1e6))
    W = 1.0 / sigma**2
    N = np.einsum("kdi,k,kdj->ij", J, W, J)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(N), rtol=1e-8)
    x = np.linalg.solve(N, np.einsum("kdi,k,kd->i", J, W, values))
    np.testing.assert_allclose(fit.parameters, x, rtol=1e-7)
    moved = values.copy()
    moved[4, 1] += 0.01
    other = minimise(lambda x: (J @ x - moved, J), np.zeros(3), sigma, prior=np.full(3, 1e6))
    change = other.parameters - fit.parameters
    np.testing.assert_allclose(change, -0.01 * fit.gain[:, 4, 1], atol=1e-7)


def test_the_excess_noise_explains_the_residuals():
    r, sigma = np.random.default_rng(1).normal(scale=3.0, size=(4000, 1)), np.ones(4000)
    assert excess_noise(r, sigma, 4000) == pytest.approx(np.sqrt(8.0), rel=0.03)
    assert excess_noise(0.1 * r, sigma, 4000) == 0.0
    assert excess_noise(r, sigma, 0) == 0.0


def test_an_ideal_sensor_needs_no_calibration(sessions):
    series = sessions.recorded(sessions.tumble(), replace(ImuSpec(), rate_hz=100))
    result = multi_position(series, gravity=sessions.GRAVITY)
    np.testing.assert_allclose(result.calibration.accel.matrix, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(result.calibration.gyro.matrix, np.eye(3), atol=1e-9)

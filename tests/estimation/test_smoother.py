"""Smoother on motions in closed form, with the errors of its model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.signal import butter, lfilter
from scipy.spatial.transform import Rotation

from strapdown._kernels.compilation import compiled
from strapdown.errors import FrameError, StrapdownError, ValueRangeError
from strapdown.estimation import ErrorStateFilter, ErrorStateSmoother, SmootherParams
from strapdown.estimation.error_state import smoother as smoother_module
from strapdown.estimation.error_state.backward import retreat
from strapdown.estimation.error_state.forward import carry_place
from strapdown.estimation.error_state.knots import ERRORS, Knot, Step
from strapdown.estimation.error_state.model import Window, carry
from strapdown.estimation.error_state.recording import gather
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

GRAVITY = 9.81
FIELD = np.array([0.0, 0.36, -0.93])
STRENGTH = 5e-5
RATE_HZ = 100.0
DEFAULTS = SmootherParams()


@dataclass
class Truth:
    attitude: Rotation
    gyro_matrix: np.ndarray
    gyro_bias: np.ndarray


def swinging(seconds, rng, pace=1.0):
    """Return random smooth attitudes at twice the sampling rate, from before the first sample."""
    t = np.arange(2 * round(seconds * RATE_HZ) + 1) / (2.0 * RATE_HZ)
    angles = np.zeros((len(t), 3))
    for axis in range(3):
        for _ in range(3):
            size, speed, start = rng.uniform([0.3, 0.5, 0.0], [0.8, 2.5, 6.28])
            angles[:, axis] += size * np.sin(pace * speed * t + start)
    return Rotation.from_euler("ZYX", angles)


def wandering(count, rng, density):
    """Return accelerations (world) of a position that is white noise up to 0.1 Hz."""
    b, a = butter(4, 0.1, fs=RATE_HZ)
    white = rng.normal(size=(count + 3002, 3)) * density * np.sqrt(RATE_HZ)
    place = lfilter(b, a, white, axis=0)[3000:]
    return np.diff(place, 2, axis=0) * RATE_HZ**2


def sensed(  # noqa: PLR0913 (errors of a sensor)
    attitude,
    rng,
    *,
    acceleration=0.0,
    noise=1.0,
    matrix=DEFAULTS.matrix_prior,
    bias=DEFAULTS.bias_prior,
    field=0.02,
):
    """Return mean readings of a sensor with the model of the smoother, and the truth."""
    before, middle, after = attitude[:-1:2], attitude[1::2], attitude[2::2]
    count, dt = len(after), 1.0 / RATE_HZ
    rate = (before.inv() * after).as_rotvec() / dt
    spin2 = (rate**2).sum(axis=1, keepdims=True)

    def white(density, turn_density):
        size = noise * np.sqrt((density**2 + turn_density**2 * spin2) / dt)
        return size * rng.normal(size=(count, 3))

    M = matrix if np.ndim(matrix) else matrix * rng.normal(size=(3, 3))
    walk = noise * DEFAULTS.bias_walk * np.sqrt(dt) * rng.normal(size=(count, 3))
    gyro_bias = bias * rng.normal(size=3) + np.cumsum(walk, axis=0)
    turned = rate + gyro_bias + white(DEFAULTS.gyro_noise, DEFAULTS.gyro_scale_noise)
    force = middle.inv().apply(acceleration + np.array([0.0, 0.0, GRAVITY]))
    force += noise * DEFAULTS.accel_prior * rng.normal(size=3)
    force += white(DEFAULTS.speed_noise, DEFAULTS.speed_turn_noise)
    keep = np.exp(-dt / 2.5)  # noise of the field with a correlation time of 2.5 s
    drive = np.sqrt(1.0 - keep**2) * rng.normal(size=(count + 2000, 3))
    wrong = field * lfilter([1.0], [1.0, -keep], drive, axis=0)[2000:]
    series = ImuSeries(
        np.round(np.arange(1, count + 1) * dt * 1e9).astype(np.int64),
        np.linalg.solve(np.eye(3) + M, turned.T).T,
        force,
        magnetic_field=STRENGTH * (after.inv().apply(FIELD) + wrong),
    )
    return series, Truth(after, M, gyro_bias)


def simulated(seed, seconds=60.0, **options):
    rng = np.random.default_rng(seed)
    attitude = swinging(seconds, rng)
    push = wandering(len(attitude) // 2, rng, options.pop("density", DEFAULTS.place_noise))
    return sensed(attitude, rng, acceleration=push, **options)


def quiet(seconds=30.0, seed=3):
    """Return a swinging sensor in one place with hardly any errors."""
    rng = np.random.default_rng(seed)
    return sensed(swinging(seconds, rng), rng, noise=0.01, matrix=0.0, bias=0.0, field=0.0)


def turning(seconds, rate, rng):
    """Return attitudes of rotations about each body axis in sequence, forth and back."""
    count = 2 * round(seconds * RATE_HZ)
    axes = np.repeat(np.vstack([np.eye(3), -np.eye(3)]), count // 6, axis=0)
    attitudes = [Rotation.from_euler("xyz", rng.normal(size=3))]
    for axis in axes:
        attitudes.append(attitudes[-1] * Rotation.from_rotvec(axis * rate / (2 * RATE_HZ)))
    return Rotation.concatenate(attitudes)


def errors(result, truth):
    """Return rotation vectors of the error about the world's axes [rad]."""
    return (truth.attitude * Rotation.from_quat(result.q_world_from_body).inv()).as_rotvec()


def rms_deg(error):
    return np.degrees(np.sqrt((error**2).sum(axis=-1).mean()))


def mean_nees(result, truth):
    rows = np.arange(len(result) // 10, len(result), 50)
    e, P = errors(result, truth)[rows], result.orientation_covariance[rows]
    return np.einsum("ki,kij,kj->k", e, np.linalg.inv(P), e).mean() / 3.0


def test_a_single_sample_is_refused_in_one_line():
    with pytest.raises(StrapdownError, match=r"whole series.*ErrorStateSmoother\.run") as caught:
        ErrorStateSmoother().update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81)))
    assert "\n" not in str(caught.value)


def test_a_negative_noise_is_refused():
    with pytest.raises(ValueRangeError, match="gyro_noise"):
        SmootherParams(gyro_noise=-1.0)


def test_a_nearly_perfect_sensor_gives_the_attitude():
    series, truth = quiet()
    assert rms_deg(errors(ErrorStateSmoother().run(series), truth)) < 0.2


def test_without_a_field_heading_is_exact_at_the_start_and_its_variance_grows():
    series, _ = simulated(1, seconds=20.0)
    result = ErrorStateSmoother().run(series, use_magnetic_field=False)
    heading = result.orientation_covariance[:, 2, 2]
    assert heading[0] == 0.0
    assert heading[1000] > heading[100] > 0.0
    assert not result.uses_magnetic_field


def test_covariances_match_the_errors_of_a_few_runs():
    ratios = [
        mean_nees(ErrorStateSmoother().run(series), truth)
        for series, truth in (simulated(seed, seconds=40.0) for seed in range(10))
    ]
    assert 0.5 < np.mean(ratios) < 1.7  # 10 runs of about 10 independent errors: 4 sigma


@pytest.mark.slow
def test_covariances_match_the_errors_over_a_hundred_runs():
    ratios = [
        mean_nees(ErrorStateSmoother().run(series), truth)
        for series, truth in map(simulated, range(100))
    ]
    assert 0.8 <= np.mean(ratios) <= 1.25


@pytest.mark.slow
def test_the_smoother_is_no_worse_than_the_filter_in_the_mean_of_fifty_runs():
    smoothed, filtered = [], []
    for seed in range(50):
        series, truth = simulated(seed, seconds=40.0, density=0.5)
        smoothed.append(rms_deg(errors(ErrorStateSmoother().run(series), truth)))
        filtered.append(rms_deg(errors(ErrorStateFilter().run(series), truth)))
    assert np.mean(smoothed) < np.mean(filtered)


@pytest.mark.parametrize("use_magnetic_field", [False, True])
def test_scale_and_misalignment_are_found_on_a_turntable(use_magnetic_field):
    rng = np.random.default_rng(5)
    M = 0.01 * rng.normal(size=(3, 3))
    series, _ = sensed(turning(60.0, 0.7, rng), rng, noise=0.3, matrix=M)
    if use_magnetic_field:
        iron = STRENGTH * np.array([0.1, -0.05, 0.08])
        series = series.replace(magnetic_field=series.magnetic_field + iron)
    params = SmootherParams(matrix_prior=0.01, place_noise=0.1)  # it stays in place
    result = ErrorStateSmoother(params).run(series, use_magnetic_field=use_magnetic_field)
    found = result.self_calibration
    assert (found.gyro_matrix_sigma < 2e-3).all()
    assert (np.abs(found.gyro_matrix - M) < 3.0 * found.gyro_matrix_sigma).all()
    assert found.is_observed.all()


def test_without_excitation_the_gyro_matrix_stays():
    rng = np.random.default_rng(6)
    still = Rotation.from_euler("xyz", np.tile([0.3, -0.2, 0.5], (4001, 1)))
    for push in (0.0, wandering(2000, rng, 2.0)):
        series, _ = sensed(still, rng, acceleration=push, matrix=0.0, bias=0.0)
        found = ErrorStateSmoother().run(series).self_calibration
        assert np.abs(found.gyro_matrix).max() < 0.2 * DEFAULTS.matrix_prior
        assert not found.is_observed.any()


def test_biases_lie_within_their_standard_deviations():
    series, truth = simulated(8, density=0.5)
    result = ErrorStateSmoother().run(series)
    away = np.abs(result.gyro_bias - truth.gyro_bias) / result.gyro_bias_sigma
    assert away.max() < 4.0
    found = result.self_calibration
    assert found.t_ns[0] == series.t_ns[0]
    assert found.t_ns[-1] == series.t_ns[-1]
    np.testing.assert_array_equal(found.gyro_bias[-1], result.gyro_bias[-1])


def test_the_delay_of_the_magnetometer_is_found():
    late = 2  # samples
    series, _ = quiet()
    field = np.roll(series.magnetic_field, late, axis=0)[late:]
    found = ErrorStateSmoother().run(series[late:].replace(magnetic_field=field)).self_calibration
    away = abs(found.magnetometer_delay - late / RATE_HZ)
    assert away < 4e-3
    assert away < 3.0 * found.magnetometer_delay_sigma


def test_a_magnet_on_the_sensor_is_found():
    series, truth = quiet()
    iron = STRENGTH * np.array([1.2, -0.3, 0.4])
    carried = series.replace(magnetic_field=series.magnetic_field + iron)
    result = ErrorStateSmoother().run(carried)
    np.testing.assert_allclose(result.self_calibration.hard_iron, iron, atol=1e-3 * STRENGTH)
    assert rms_deg(errors(result, truth)) < 0.5


def test_a_magnet_for_a_third_of_the_time_is_left_out_and_is_no_hard_iron():
    series, truth = quiet(60.0)
    field = series.magnetic_field.copy()
    field[2000:4000] += STRENGTH * np.array([0.5, 0.5, 0.2])
    result = ErrorStateSmoother().run(series.replace(magnetic_field=field))
    assert result.self_calibration.hard_iron is None
    assert rms_deg(errors(result, truth)) < 1.0
    assert result.magnetic_disturbance[2100:3900].mean() > 0.95
    assert result.magnetic_disturbance[:1900].mean() < 0.05


def test_a_step_of_the_field_for_half_a_minute_hardly_moves_heading():
    rng = np.random.default_rng(9)
    attitude = swinging(90.0, rng)
    series, truth = sensed(attitude, rng, noise=0.1, matrix=0.0, field=0.005)
    turned = 1.3 * Rotation.from_euler("z", 20.0, degrees=True).apply(FIELD)
    field = series.magnetic_field.copy()
    field[3000:6000] = STRENGTH * truth.attitude[3000:6000].inv().apply(turned)
    result = ErrorStateSmoother().run(series.replace(magnetic_field=field))
    assert np.degrees(np.abs(errors(result, truth)[:, 2])).max() < 1.0


def test_a_hole_in_an_even_turn_loses_nothing():
    rng = np.random.default_rng(10)
    t = np.arange(6001) / (2 * RATE_HZ)
    spin = np.sin(0.5 * t)[:, None] * [0.2, 0.3, 0.5]
    attitude = Rotation.from_rotvec(spin)
    series, truth = sensed(attitude, rng, noise=0.01, matrix=0.0, bias=0.0)
    kept = np.ones(len(series), bool)
    kept[1000:1030] = False
    result = ErrorStateSmoother().run(series[kept], use_magnetic_field=False)
    turn = errors(result, replace(truth, attitude=truth.attitude[kept]))
    assert result.report.gaps == 1
    assert np.degrees(np.abs(turn[:, 2] - turn[0, 2])).max() < 0.3


def test_a_swing_is_followed_through_the_holes():
    """A straight line between the rates on both sides loses 12 deg of heading in such a hole."""
    rng = np.random.default_rng(11)
    t = np.arange(12001) / (2 * RATE_HZ)
    angles = 0.5 * np.sin(2.0 * np.pi * np.array([0.8, 0.7, 0.5]) * t[:, None] + [0.0, 1.0, 2.0])
    attitude = Rotation.from_euler("ZYX", angles)
    series, truth = sensed(attitude, rng, noise=0.1, matrix=0.0, bias=0.0)
    kept = np.arange(len(series)) % 700 >= 30
    result = ErrorStateSmoother().run(series[kept], use_magnetic_field=False)
    turn = errors(result, replace(truth, attitude=truth.attitude[kept]))
    assert result.report.gaps == 8
    assert np.degrees(np.abs(turn[:, 2] - turn[0, 2])).max() < 2.5
    sigma = np.sqrt(result.orientation_covariance[:, 2, 2])
    assert (np.abs(turn[:, 2] - turn[0, 2]) < 3.0 * sigma + 1e-3).all()


def test_after_a_hole_of_a_minute_the_recording_goes_on_as_another_stretch():
    series, truth = quiet(40.0)
    late = series.t_ns + 60_000_000_000 * (np.arange(len(series)) >= 2000)
    result = ErrorStateSmoother().run(series.replace(t_ns=late))
    assert result.report.restarts == 1
    assert rms_deg(errors(result, truth)) < 0.3


@pytest.mark.parametrize(("use_magnetic_field", "jump_deg"), [(False, 0.1), (True, 1.5)])
def test_pieces_join(monkeypatch, use_magnetic_field, jump_deg):
    series, truth = simulated(11, seconds=80.0, density=0.5, matrix=0.001)
    whole = ErrorStateSmoother().run(series, use_magnetic_field=use_magnetic_field)
    monkeypatch.setattr(smoother_module, "PIECE_S", 30.0)
    monkeypatch.setattr(smoother_module, "OVERLAP_S", 10.0)
    done = []
    pieces = ErrorStateSmoother().run(
        series, use_magnetic_field=use_magnetic_field, progress=done.append
    )
    apart = Rotation.from_quat(whole.q_world_from_body[-1]).inv()
    assert np.degrees((apart * Rotation.from_quat(pieces.q_world_from_body[-1])).magnitude()) < 6.0
    steps = np.diff(errors(pieces, truth), axis=0)
    assert np.degrees(np.abs(steps)).max() < 1.5
    assert np.degrees(np.abs(steps[:, 2])).max() < jump_deg
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert len(done) > 3


def test_nothing_that_a_sensor_may_say_becomes_nan():
    series, truth = quiet(60.0)
    rng = np.random.default_rng(12)
    columns = {}
    for name in ("angular_velocity", "specific_force", "magnetic_field"):
        column = getattr(series, name).copy()
        hit = rng.random(column.shape) < 0.3
        hit[3000:] = False
        column[hit] = rng.choice([np.nan, np.inf, -np.inf, 1e300, 0.0, 9e4, -3e3], hit.sum())
        columns[name] = column
    result = ErrorStateSmoother().run(series.replace(**columns))
    for values in (result.q_world_from_body, result.orientation_covariance, result.gyro_bias):
        assert np.isfinite(values).all()
    np.testing.assert_allclose(np.linalg.norm(result.q_world_from_body, axis=1), 1.0, atol=1e-12)
    assert np.degrees(np.linalg.norm(errors(result, truth)[5500:], axis=1)).max() < 5.0


@pytest.mark.parametrize("count", [0, 1, 2, 7, 25])
def test_recordings_too_short_to_smooth_have_an_orientation_all_the_same(count):
    series, _ = quiet(5.0)
    result = ErrorStateSmoother().run(series[:count])
    assert len(result) == count
    assert np.isfinite(result.q_world_from_body).all()


@pytest.mark.parametrize("silent", ["angular_velocity", "specific_force", "magnetic_field"])
def test_a_sensor_that_never_speaks_is_no_reason_to_fail(silent):
    series, _ = quiet(5.0)
    nothing = np.full((len(series), 3), np.nan)
    result = ErrorStateSmoother().run(series.replace(**{silent: nothing}))
    assert np.isfinite(result.q_world_from_body).all()
    assert np.isfinite(result.orientation_covariance).all()


def test_other_frames_give_the_same_in_those_frames():
    series, _ = simulated(13, seconds=20.0)
    here = ErrorStateSmoother().run(series)
    there = ErrorStateSmoother().run(series.in_frames(world="NED", body="FRD"))
    moved = here.in_frames(world="NED", body="FRD")
    np.testing.assert_allclose(there.q_world_from_body, moved.q_world_from_body, atol=1e-9)
    np.testing.assert_allclose(there.gyro_bias, moved.gyro_bias, atol=1e-12)
    calibration = here.self_calibration.in_frame("FRD")
    np.testing.assert_allclose(
        there.self_calibration.gyro_matrix, calibration.gyro_matrix, atol=1e-12
    )
    flip = np.diag([1.0, -1.0, -1.0])
    matrix = here.self_calibration.gyro_matrix
    np.testing.assert_allclose(calibration.gyro_matrix, flip @ matrix @ flip)
    assert (calibration.gyro_matrix_sigma >= 0.0).all()


def test_a_calibration_refuses_an_unknown_frame_and_becomes_plain_numbers():
    series, _ = quiet(5.0)
    calibration = ErrorStateSmoother().run(series).self_calibration
    with pytest.raises(FrameError, match="FLU"):
        calibration.in_frame("ENU")
    plain = calibration.to_dict()
    assert plain["gyro_bias"] == calibration.gyro_bias[-1].tolist()
    assert plain["hard_iron"] is None
    assert plain["body"] == "FLU"


def test_a_knot_knows_the_mean_rate_and_the_mean_field_that_is_still_in_the_turning_body():
    dt, rate, field = 0.01, np.array([0.3, -0.5, 0.8]), np.array([0.0, 0.4, -0.9])
    turns = Rotation.from_rotvec(np.arange(41)[:, None] * dt * rate)
    measured = turns.inv().apply(field)
    measured[[3, 12, 30]] = np.nan
    measured[31:] = np.nan
    steps = np.zeros(41, Step.dtype())
    steps["dt"], steps["turn"] = dt, dt * rate
    knots = np.zeros(3, Knot.dtype())
    knots["at"] = [10, 20, 38]
    plain = Knot.unpack(knots)
    arrays = turns.as_quat(), measured, np.array([0, 15, 31]), np.array([15, 25, 40])
    gather(plain, Step.unpack(steps), *arrays)
    compiled(gather)(knots, steps, *arrays)
    for name in ("rate", "has_field", "field", "swing"):
        np.testing.assert_array_equal(Knot.pack(plain)[name], knots[name], strict=True)
    np.testing.assert_allclose(knots["rate"], [rate] * 3, rtol=1e-12)
    assert knots["has_field"].tolist() == [True, True, False]
    still = turns[[10, 20]].inv().apply(field)
    np.testing.assert_allclose(knots["field"][:2], still, atol=1e-12)
    np.testing.assert_allclose(knots["swing"][:2], np.cross(rate, still), atol=1e-12)
    assert not knots["field"][2].any()


def test_the_way_back_is_the_transpose_of_the_way_there():
    rng = np.random.default_rng(14)
    window = Window.of_values(rng.normal(size=77))
    there, back = rng.normal(size=(2, ERRORS))
    moved = there.tolist()
    carry_place(moved, 0.5 * window.span)
    carry(moved, window)
    carry_place(moved, 0.5 * window.span)
    gradient = back.tolist()
    retreat(gradient, window)
    assert gradient @ there == pytest.approx(moved @ back, rel=1e-12)

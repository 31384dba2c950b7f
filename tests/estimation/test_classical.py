"""The laws of Mahony and Madgwick, and the error model of the classical filters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.estimation import FILTERS, MadgwickParams, MahonyParams, classical
from strapdown.evaluation import evaluate_orientation
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

MS = 1_000_000
SECOND = 1000 * MS
GRAVITY = 9.80665
UP = np.array([0.0, 0.0, 1.0])
CLASSICAL = ("complementary", "mahony", "madgwick")

random = np.random.default_rng(20)
ATTITUDES = Rotation.random(1000, rng=random)
DIRECTIONS = random.normal(size=(2, 1000, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=-1, keepdims=True)


STEP = 1e-5
NUDGES = Rotation.from_rotvec(STEP * np.vstack([np.eye(3), -np.eye(3)])).as_matrix()


def errors(R, a, m):
    """Return the errors of both directions from the kernels, in body axes."""
    tilt = np.array([*classical.tilt_error(R @ a), 0.0])
    north = np.array(classical.field_error(R @ m)[:3])
    return tilt @ R, north @ R


def north_of(R, m):
    """Return the reference direction of the field of both authors, without an east component."""
    h = R @ m
    return np.array([0.0, np.hypot(h[0], h[1]), h[2]])


def derivative(function, R):
    """Return the derivative of a function of attitude by a rotation of the body."""
    ahead, behind = np.array([function(R @ nudge) for nudge in NUDGES]).reshape(2, 3)
    return (ahead - behind) / (2.0 * STEP)


def test_the_errors_are_minus_the_gradient_of_what_madgwick_minimises():
    for R, a, m in zip(ATTITUDES.as_matrix(), *DIRECTIONS, strict=True):
        for known, s, error in zip((UP, north_of(R, m)), (a, m), errors(R, a, m), strict=True):

            def objective(turned, known=known, s=s):
                f = known @ turned - s
                return 0.5 * (f @ f)

            assert np.abs(error + derivative(objective, R)).max() < 1e-8


def test_the_errors_are_minus_the_gradient_of_mahonys_lyapunov_function():
    for R, a, m in zip(ATTITUDES.as_matrix(), *DIRECTIONS, strict=True):
        north = north_of(R, m)

        def lyapunov(turned, a=a, m=m, north=north):
            return 2.0 - UP @ turned @ a - north @ turned @ m

        error = np.add(*errors(R, a, m))
        assert np.abs(error + derivative(lyapunov, R)).max() < 1e-8


def times(p, q):
    """Return the product of quaternions x y z w, also complex ones."""
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return np.array(
        [
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
            pw * qw - px * qx - py * qy - pz * qz,
        ]
    )


def test_the_gradient_by_four_components_is_the_same_but_along_the_quaternion():
    """The report differentiates by the components of q; here it is done by complex steps."""
    columns = (ATTITUDES.as_quat(), ATTITUDES.as_matrix(), *DIRECTIONS)
    for q, R, a, m in zip(*columns, strict=True):
        gradient = np.zeros(4)
        for known, s in ((UP, a), (north_of(R, m), m)):
            for k in range(4):
                moved = q + 1e-30j * np.eye(4)[k]
                inverse = moved * [-1.0, -1.0, -1.0, 1.0]
                f = times(inverse, times(np.append(known, 0.0), moved))[:3] - s
                gradient[k] += np.imag(0.5 * np.sum(f**2)) * 1e30
        gradient -= (gradient @ q) * q
        closed = 2.0 * times(q, np.append(-np.add(*errors(R, a, m)), 0.0))
        assert np.abs(closed - gradient).max() < 1e-12


def test_at_the_true_attitude_the_gradient_of_the_field_vanishes():
    """In widely copied code it does not: the predicted field has half its length."""
    dips = np.radians(random.uniform(-85.0, 85.0, 1000))
    for R, dip in zip(ATTITUDES.as_matrix(), dips, strict=True):
        m = 5e-5 * np.array([0.0, np.cos(dip), np.sin(dip)]) @ R
        assert np.linalg.norm(errors(R, UP, m)[1]) < 1e-12


def tilt_after_a_jump(orientation, angle, step_ns=5 * MS):
    """Return the tilt [rad] after each step of a constant tilted force after a level rest."""
    for k in range(2 * SECOND // step_ns + 2):
        orientation.update(ImuSample(k * step_ns, (0.0, 0.0, 0.0), (0.0, 0.0, GRAVITY)))
    force = (0.0, GRAVITY * np.sin(angle), GRAVITY * np.cos(angle))
    tilts = []
    for k in range(2 * SECOND // step_ns + 2, 6 * SECOND // step_ns):
        q = orientation.update(ImuSample(k * step_ns, (0.0, 0.0, 0.0), force))
        tilts.append(Rotation.from_quat(q).as_rotvec()[0])
    return np.array(tilts)


def test_mahony_turns_in_proportion_to_the_sine_of_an_error(made):
    start = np.radians(60.0)
    tilts = tilt_after_a_jump(made("mahony", k_i=0.0), start)
    # x' = -k sin x has the solution tan(x/2) = tan(x0/2) exp(-k t)
    t = 5e-3 * np.arange(1, len(tilts) + 1)
    expected = start - 2.0 * np.arctan(np.tan(start / 2.0) * np.exp(-MahonyParams().k_p * t))
    np.testing.assert_allclose(tilts, expected, atol=2e-3)


def test_madgwick_turns_at_two_beta_whatever_the_error(made):
    start = np.radians(20.0)
    tilts = tilt_after_a_jump(made("madgwick"), start)
    speed = 2.0 * MadgwickParams().beta
    t = 5e-3 * np.arange(1, len(tilts) + 1)
    np.testing.assert_allclose(tilts, np.minimum(speed * t, start), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "gain"), [("mahony", {"k_p": 50.0, "k_i": 0.0}), ("madgwick", {"beta": 50.0})]
)
@pytest.mark.parametrize("step_ns", [100 * MS, 500 * MS])
def test_no_gain_overshoots_however_long_the_step(made, name, gain, step_ns):
    start = np.radians(60.0)
    tilts = tilt_after_a_jump(made(name, **gain), start, step_ns)
    assert np.all(np.diff(tilts) > -1e-9)
    assert np.all(tilts <= start + 1e-9)
    assert tilts[-1] == pytest.approx(start, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "learning"), [("mahony", {"k_i": 0.1}), ("madgwick", {"zeta": 0.02})]
)
def test_a_gyro_bias_is_learnt_up_to_its_limit(still, made, name, learning):
    bias = np.array([0.02, -0.01, 0.03])
    readings, truth = still(np.arange(0, 200 * SECOND, 20 * MS))
    readings = readings.replace(angular_velocity=readings.angular_velocity + bias)
    result = made(name, **learning).run(readings)
    np.testing.assert_allclose(result.gyro_bias[-1], bias, atol=2e-3)
    assert evaluate_orientation(result.trajectory(), truth[-1:]).total < np.radians(1.0)
    limited = made(name, bias_clip=0.015, **learning).run(readings)
    assert np.abs(limited.gyro_bias).max() == 0.015
    assert not made(name, **dict.fromkeys(learning, 0.0)).run(readings).gyro_bias.any()


@pytest.mark.parametrize(("sensor", "axis"), [("magnetic_field", "z"), ("specific_force", "x")])
@pytest.mark.parametrize("name", CLASSICAL)
def test_a_slow_sensor_corrects_as_fast_as_a_quick_one(still, name, sensor, axis):
    stamps = np.arange(0, 20 * SECOND, 5 * MS)
    readings, truth = still(stamps)
    turned, _ = still(stamps, Rotation.from_euler(axis, 20, degrees=True))
    later = stamps[:, np.newaxis] > 10 * SECOND
    quick = np.where(later, getattr(turned, sensor), getattr(readings, sensor))
    slow = np.where(np.arange(len(quick))[:, np.newaxis] % 10 == 0, quick, np.nan)
    turns = []
    for column in (quick, slow):
        track = FILTERS[name]().run(readings.replace(**{sensor: column})).trajectory()
        turns.append(evaluate_orientation(track, truth.between_ns(11 * SECOND, 20 * SECOND)).total)
    assert turns[0] > np.radians(5.0)
    assert turns[1] == pytest.approx(turns[0], rel=0.05)


@pytest.mark.parametrize("nine_axes", [True, False])
@pytest.mark.parametrize("name", CLASSICAL)
@pytest.mark.by_default("complementary-True", "mahony-False", "madgwick-True")
def test_the_covariance_is_honest_within_a_factor(tumble, made, name, nine_axes):
    """One variance for tilt and one for heading: the errors are within a factor of 2 of them.

    The noise of the readings is that of the parameters.
    """
    step = 0.01
    readings, truth = tumble(np.arange(0, 40 * SECOND, 10 * MS))
    params = FILTERS[name].DEFAULTS
    density = {
        "angular_velocity": params.gyro_noise,
        "specific_force": params.accel_noise,
        "magnetic_field": params.field_noise * 5e-5 * np.cos(np.radians(60.0)),
    }
    late = readings.t_ns > 15 * SECOND
    attitude = Rotation.from_quat(truth.q_world_from_body)
    squares = []
    for seed in range(24):
        noise = np.random.default_rng(seed)
        noisy = {
            sensor: getattr(readings, sensor)
            + noise.normal(0.0, size / np.sqrt(step), (len(readings), 3))
            for sensor, size in density.items()
        }
        noisy["angular_velocity"] += noise.normal(0.0, params.gyro_bias, 3)
        orientation = made(name, sample_kind="point")
        result = orientation.run(readings.replace(**noisy), use_magnetic_field=nine_axes)
        error = Rotation.from_quat(result.q_world_from_body) * attitude.inv()
        if not nine_axes:  # heading is relative to the start; tilt has converged by then
            settled = error[readings.t_ns.searchsorted(4 * SECOND)].as_euler("ZYX")[0]
            error = Rotation.from_euler("z", -settled) * error
        variance = np.diagonal(result.orientation_covariance, axis1=1, axis2=2)
        squares.append(np.mean(error.as_rotvec()[late] ** 2 / variance[late], axis=0))
    east, north, up = np.mean(squares, axis=0)
    assert 0.25 < 0.5 * (east + north) < 4.0
    assert 0.25 < up < 4.0


def test_a_turn_that_was_not_seen_widens_the_covariance(made):
    stamps = np.arange(0, 10 * SECOND, 10 * MS)
    kept = (stamps < 5 * SECOND) | (stamps > 5500 * MS)
    level = np.tile([0.0, 0.0, GRAVITY], (len(stamps), 1))
    series = ImuSeries(stamps, np.zeros_like(level), level)
    for name in CLASSICAL:
        whole = made(name).run(series).orientation_covariance[kept]
        holed = made(name).run(series[kept]).orientation_covariance
        after = stamps[kept] > 5500 * MS
        ratio = holed[after, 2, 2] / whole[after, 2, 2]
        assert ratio.min() > 4.0

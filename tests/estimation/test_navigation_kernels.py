"""Error states of a navigator against matrices and numerical derivatives."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from strapdown.estimation.navigation import Aiding, NavigatorParams
from strapdown.estimation.navigation import errors as kernels
from strapdown.estimation.navigation.errors import Correction
from strapdown.estimation.navigation.prediction import AidingUpdate, Prediction, linearise, pack
from strapdown.estimation.navigation.state import SIZE, NavigatorMemory
from strapdown.geometry.rotations import inverse_right_jacobian
from strapdown.inertial.navigation import Place
from strapdown.inertial.navigation.mechanisation import Motion, advance

PLACE = Place()
ARM = np.array([0.5, -0.3, 1.2])
NOISELESS = NavigatorParams(
    gyro_noise=0.0, accel_noise=0.0, gyro_walk=0.0, accel_walk=0.0, altitude_walk=0.0
)


def skew(v):
    return np.cross(np.eye(3), v)


def a_memory(rng, covariance=None):
    if covariance is None:
        root = rng.normal(size=(SIZE, SIZE))
        covariance = root @ root.T
    return NavigatorMemory(
        orientation=Rotation.random(rng=rng).as_quat().tolist(),
        gyro_bias=(rng.normal(size=3) * 0.01).tolist(),
        velocity=rng.normal(size=3).tolist(),
        position=rng.normal(size=3).tolist(),
        accel_bias=(rng.normal(size=3) * 0.1).tolist(),
        last_rate=rng.normal(size=3).tolist(),
        last_force=(rng.normal(size=3) * 5.0).tolist(),
        error_covariance=np.array(covariance).tolist(),
    )


def covariance_of(memory):
    return np.array(memory.error_covariance)


def moved(memory, error):
    """Return the state of a navigator with the error ``error`` corrected."""
    true = deepcopy(memory)
    kernels.inject(true, Correction(error=np.array(error).tolist()))
    return true


def error_between(true, memory):
    ours, theirs = (Rotation.from_quat(each.orientation) for each in (memory, true))
    parts = {
        name: np.subtract(getattr(true, name), getattr(memory, name))
        for name in ("position", "velocity", "accel_bias", "gyro_bias")
    }
    altitude = true.altitude_bias - memory.altitude_bias
    return np.concatenate(
        [
            parts["position"],
            parts["velocity"],
            (theirs * ours.inv()).as_rotvec(),
            parts["accel_bias"],
            parts["gyro_bias"],
            [altitude],
        ]
    )


def linearised(aiding, memory, earth):
    """Return rows, residuals and variances of independent errors."""
    (update,) = AidingUpdate.unpack(pack([aiding], [0], 0.999))
    linearise(memory, earth, Prediction(), update)
    numbers = update.slopes, update.residuals, update.eigenvalues
    return [np.array(each[: update.count]) for each in numbers]


def told(memory, correction, row, residual, variance):
    correction.slopes[:] = list(row)
    return kernels.correct(memory, correction, residual, variance)


def test_the_covariance_grows_as_the_matrix_exponential_says():
    rng = np.random.default_rng(1)
    memory = a_memory(rng)
    before = covariance_of(memory)
    R, f, dt = Rotation.random(rng=rng).as_matrix(), np.array([1.0, 2.0, 9.0]), 0.002
    F, noise = np.zeros((SIZE, SIZE)), np.zeros(SIZE)
    F[0:3, 3:6], F[3:6, 6:9], F[3:6, 9:12], F[6:9, 12:15] = np.eye(3), -skew(f), -R, -R
    noise[3:6], noise[6:9], noise[9:12], noise[12:15] = 0.01, 0.04, 0.09, 0.16
    noise[15] = 0.25
    params = NavigatorParams(
        accel_noise=0.1, gyro_noise=0.2, accel_walk=0.3, gyro_walk=0.4, altitude_walk=0.5
    )
    kernels.propagate(memory.error_covariance, dt, tuple(R.ravel()), tuple(f), params)
    step = expm(F * dt)
    expected = step @ before @ step.T + np.diag(noise * dt)
    # third order: |F|^3 dt^3 / 6
    np.testing.assert_allclose(covariance_of(memory), expected, rtol=0, atol=2e-6)
    np.testing.assert_allclose(covariance_of(memory), covariance_of(memory).T, rtol=0, atol=1e-14)


def test_errors_move_as_differences_of_the_whole_model_do():
    rng = np.random.default_rng(2)
    turn, push, h = np.array([0.002, -0.004, 0.006]), np.array([0.01, 0.02, 0.05]), 0.005

    def step(memory):
        here = Motion(tuple(memory.orientation), tuple(memory.velocity), tuple(memory.position))
        there = advance(
            here,
            tuple(turn - h * np.array(memory.gyro_bias)),
            tuple(push - h * np.array(memory.accel_bias)),
            (0.0, 0.0, 0.0),
            h,
            PLACE.for_kernels(),
        )
        after = deepcopy(memory)
        after.orientation, after.velocity, after.position = map(list, there)
        return after

    for place in range(SIZE):
        error = np.zeros(SIZE)
        error[place] = 1e-5
        memory = a_memory(rng, np.outer(error, error))
        expected = error_between(step(moved(memory, error)), step(memory))
        half = Rotation.from_rotvec(0.5 * (turn - h * np.array(memory.gyro_bias)))
        R = (Rotation.from_quat(memory.orientation) * half).as_matrix()
        f = R @ (push / h - memory.accel_bias)
        kernels.propagate(memory.error_covariance, h, tuple(R.ravel()), tuple(f), NOISELESS)
        found = covariance_of(memory)[place] / error[place]
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-9)


def test_a_correction_is_the_kalman_filter_of_textbooks():
    rng = np.random.default_rng(3)
    memory, correction = a_memory(rng), Correction()
    before = covariance_of(memory)
    H, y, R = rng.normal(size=(3, SIZE)), rng.normal(size=3), np.diag([0.5, 1.0, 2.0])
    S = H @ before @ H.T + R
    K = before @ H.T @ np.linalg.inv(S)
    nis = sum(told(memory, correction, H[k], y[k], R[k, k]) for k in range(3))
    assert nis == pytest.approx(y @ np.linalg.solve(S, y), rel=1e-12)
    np.testing.assert_allclose(correction.error, K @ y, atol=1e-12)
    np.testing.assert_allclose(covariance_of(memory), before - K @ S @ K.T, atol=1e-11)


def test_the_covariance_stays_positive_through_many_sharp_measurements():
    rng = np.random.default_rng(5)
    memory, correction = a_memory(rng), Correction()
    row = np.zeros(SIZE)
    params = NavigatorParams(accel_noise=1e-3, gyro_noise=1e-4, accel_walk=1e-5, gyro_walk=1e-6)
    for k in range(600):
        R = tuple(Rotation.random(rng=rng).as_matrix().ravel())
        f = tuple(rng.normal(size=3) * 9.8)
        kernels.propagate(memory.error_covariance, 0.01, R, f, params)
        row[:] = 0.0
        row[k % 6] = 1.0
        told(memory, correction, row, 1e-3, 1e-8)
        kernels.inject(memory, correction)
    covariance = covariance_of(memory)
    assert np.linalg.eigvalsh(covariance / np.trace(covariance))[0] > 0.0
    np.testing.assert_array_equal(covariance, covariance.T)


def test_an_error_of_orientation_turns_about_the_axes_of_the_world():
    memory = a_memory(np.random.default_rng(6))
    phi, correction = np.array([0.1, -0.2, 0.3]), Correction()
    correction.error[6:9] = phi.tolist()
    true = deepcopy(memory)
    kernels.inject(true, correction)
    turned = Rotation.from_rotvec(phi) * Rotation.from_quat(memory.orientation)
    assert (Rotation.from_quat(true.orientation) * turned.inv()).magnitude() < 1e-14
    assert not any(correction.error)


def test_the_navigator_tells_what_all_filters_tell():
    memory = a_memory(np.random.default_rng(7))
    kernels.publish(memory)
    covariance = covariance_of(memory)
    np.testing.assert_allclose(memory.gyro_bias_sigma, np.sqrt(np.diag(covariance)[12:15]))
    np.testing.assert_allclose(memory.covariance, covariance[6:9, 6:9])


@pytest.mark.parametrize(
    "aiding",
    [
        Aiding.position(0, [1.0, 2.0, 3.0], 0.1),
        Aiding.velocity(0, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]),
        Aiding.velocity(0, [1.0, 2.0, 3.0], 0.1, "body"),
        Aiding.zero_velocity(0),
        Aiding.zero_rate(0),
        Aiding.heading(0, 0.3, 0.1),
        Aiding.gravity(0),
        Aiding.position(0, [1.0, 2.0, 3.0], 0.1, lever_arm=ARM),
        Aiding.velocity(0, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], lever_arm=ARM),
        Aiding.velocity(0, [1.0, 2.0, 3.0], 0.1, "body", lever_arm=ARM),
        Aiding.heading(0, 0.3, 0.1, axis=ARM),
        Aiding.magnetic_field(0, [20.0, -5.0, 40.0], 0.1, declination=0.2),
        Aiding.altitude(0, 3.0, 0.5),
        Aiding.forward_speed(0, 3.0, 0.5, lever_arm=ARM),
        Aiding.non_holonomic(0, [0.1, 0.2], lever_arm=ARM),
        Aiding.pose(0, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3, 0.4], 0.1, lever_arm=ARM),
    ],
    ids=[
        "position",
        "velocity",
        "velocity-body",
        "zero-velocity",
        "zero-rate",
        "heading",
        "gravity",
        "antenna-position",
        "antenna-velocity",
        "antenna-velocity-body",
        "heading-axis",
        "magnetic-field",
        "altitude",
        "forward-speed",
        "non-holonomic",
        "pose",
    ],
)
@pytest.mark.parametrize("place", [PLACE, Place("wgs84", latitude=0.8)], ids=["flat", "wgs84"])
def test_rows_of_aiding_are_derivatives_of_what_is_predicted(aiding, place):
    rng = np.random.default_rng(8)
    earth = place.for_kernels()
    for _ in range(5):
        memory = a_memory(rng)
        rows, *_ = linearised(aiding, memory, earth)
        slopes = np.empty_like(rows)
        for k in range(SIZE):
            step = np.zeros(SIZE)
            step[k] = 1e-6
            ahead, behind = (linearised(aiding, moved(memory, s * step), earth)[1] for s in (1, -1))
            slopes[:, k] = -(ahead - behind) / 2e-6  # the measurement is constant
        # the change of gravity with height, 3e-6 a metre, is not modelled
        np.testing.assert_allclose(rows, slopes, rtol=0, atol=4e-6)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 2.1e-4, 0.1, 1.0, 3.1])
def test_rows_of_an_orientation_are_the_inverse_of_a_jacobian(angle):
    memory = a_memory(np.random.default_rng(10))
    turn = Rotation.from_rotvec(angle * np.array([2.0, -1.0, 2.0]) / 3.0)
    measured = (turn * Rotation.from_quat(memory.orientation)).as_quat()
    aiding = Aiding.pose(0, [1.0, 2.0, 3.0], measured, 0.1)
    rows, residuals, _ = linearised(aiding, memory, PLACE.for_kernels())
    np.testing.assert_allclose(residuals[3:], turn.as_rotvec(), rtol=0, atol=1e-15)
    expected = 2.0 * inverse_right_jacobian(0.5 * turn.as_rotvec())
    np.testing.assert_allclose(rows[3:, 6:9], expected, rtol=0, atol=1e-14)


def test_correlated_errors_are_told_apart_before_they_are_told():
    rng = np.random.default_rng(9)
    root = rng.normal(size=(3, 3))
    covariance = root @ root.T + np.eye(3)
    memory, correction = a_memory(rng), Correction()
    before = covariance_of(memory)
    aiding = Aiding.position(0, [1.0, 2.0, 3.0], covariance)
    y = np.array([1.0, 2.0, 3.0]) - memory.position
    S = before[:3, :3] + covariance
    rows, residuals, variances = linearised(aiding, memory, PLACE.for_kernels())
    numbers = zip(rows, residuals, variances, strict=True)
    nis = sum(told(memory, correction, *number) for number in numbers)
    assert nis == pytest.approx(y @ np.linalg.solve(S, y), rel=1e-10)
    np.testing.assert_allclose(
        covariance_of(memory), before - before[:, :3] @ np.linalg.solve(S, before[:3]), atol=1e-10
    )

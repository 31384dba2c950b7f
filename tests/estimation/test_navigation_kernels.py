"""The fifteen errors of a navigator against matrices and against numerical derivatives."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from strapdown.estimation.navigation import Aiding
from strapdown.estimation.navigation import _kernels as kernels
from strapdown.estimation.navigation.memory import _kernels as memory
from strapdown.integration.navigation import Place
from strapdown.integration.navigation._kernels import Motion, advance

SPREAD = slice(kernels.SPREAD, kernels.NAVIGATOR)
PLACE = Place()


def skew(v):
    return np.cross(np.eye(3), v)


def a_state(rng, spread=None):
    state = np.array(memory.FRESH)
    state[:4] = Rotation.random(rng=rng).as_quat()
    state[kernels.BIAS : kernels.BIAS + 3] = rng.normal(size=3) * 0.01
    state[kernels.VELOCITY : kernels.VELOCITY + 9] = rng.normal(size=9)
    state[kernels.ACCEL_BIAS : kernels.ACCEL_BIAS + 3] = rng.normal(size=3) * 0.1
    state[memory.RATE : memory.RATE + 3] = rng.normal(size=3)
    state[memory.FORCE : memory.FORCE + 3] = rng.normal(size=3) * 5.0
    if spread is None:
        root = rng.normal(size=(15, 15))
        spread = root @ root.T
    state[SPREAD] = np.ravel(spread)
    return state


def spread_of(state):
    return state[SPREAD].reshape(15, 15)


def moved(state, error):
    """The state whose error ``error`` is."""
    true = state.copy()
    true[kernels.ERROR : kernels.SPREAD] = error
    kernels.inject(true)
    return true


def error_between(true, state):
    ours, theirs = (Rotation.from_quat(each[:4]) for each in (state, true))
    parts = [slice(at, at + 3) for at in (kernels.POSITION, kernels.VELOCITY)]
    biases = [slice(at, at + 3) for at in (kernels.ACCEL_BIAS, kernels.BIAS)]
    return np.concatenate(
        [
            *(true[part] - state[part] for part in parts),
            (theirs * ours.inv()).as_rotvec(),
            *(true[part] - state[part] for part in biases),
        ]
    )


def told(state, row, residual, variance):
    state[kernels.ROW : kernels.ROW + 15] = row
    return kernels.correct(state, residual, variance)


def test_the_covariance_grows_as_the_matrix_exponential_says():
    rng = np.random.default_rng(1)
    state = a_state(rng)
    before = spread_of(state).copy()
    R, f, dt = Rotation.random(rng=rng).as_matrix(), np.array([1.0, 2.0, 9.0]), 0.002
    F, noise = np.zeros((15, 15)), np.zeros(15)
    F[0:3, 3:6], F[3:6, 6:9], F[3:6, 9:12], F[6:9, 12:15] = np.eye(3), -skew(f), -R, -R
    noise[3:6], noise[6:9], noise[9:12], noise[12:15] = 0.01, 0.04, 0.09, 0.16
    kernels.propagate(state, dt, tuple(R.ravel()), *f, 0.1, 0.2, 0.3, 0.4)
    step = expm(F * dt)
    expected = step @ before @ step.T + np.diag(noise * dt)
    # third order: |F|^3 dt^3 / 6
    np.testing.assert_allclose(spread_of(state), expected, rtol=0, atol=2e-6)
    np.testing.assert_allclose(spread_of(state), spread_of(state).T, rtol=0, atol=1e-14)


def test_errors_move_as_differences_of_the_whole_model_do():
    rng = np.random.default_rng(2)
    turn, push, h = (0.002, -0.004, 0.006), (0.01, 0.02, 0.05), 0.005

    def step(state):
        biases = [state[at : at + 3] for at in (kernels.BIAS, kernels.ACCEL_BIAS)]
        here = Motion(*(tuple(state[at : at + n]) for at, n in ((0, 4), (29, 3), (32, 3))))
        there = advance(
            here,
            *(tuple(total - bias * h) for total, bias in zip((turn, push), biases, strict=True)),
            (0.0, 0.0, 0.0),
            h,
            PLACE.for_kernels(),
        )
        after = state.copy()
        after[:4], after[29:32], after[32:35] = there
        return after

    for place in range(15):
        error = np.zeros(15)
        error[place] = 1e-5
        state = a_state(rng, np.outer(error, error))
        expected = error_between(step(moved(state, error)), step(state))
        bias = state[kernels.BIAS : kernels.BIAS + 3]
        half = Rotation.from_rotvec(0.5 * (np.array(turn) - bias * h))
        R = (Rotation.from_quat(state[:4]) * half).as_matrix()
        f = R @ (np.array(push) / h - state[kernels.ACCEL_BIAS : kernels.ACCEL_BIAS + 3])
        kernels.propagate(state, h, tuple(R.ravel()), *f, 0.0, 0.0, 0.0, 0.0)
        found = spread_of(state)[place] / error[place]
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-9)


def test_a_correction_is_the_kalman_filter_of_textbooks():
    rng = np.random.default_rng(3)
    state = a_state(rng)
    before = spread_of(state).copy()
    H, y, R = rng.normal(size=(3, 15)), rng.normal(size=3), np.diag([0.5, 1.0, 2.0])
    S = H @ before @ H.T + R
    K = before @ H.T @ np.linalg.inv(S)
    nis = sum(told(state, H[k], y[k], R[k, k]) for k in range(3))
    assert nis == pytest.approx(y @ np.linalg.solve(S, y), rel=1e-12)
    np.testing.assert_allclose(state[kernels.ERROR : kernels.SPREAD], K @ y, atol=1e-12)
    np.testing.assert_allclose(spread_of(state), before - K @ S @ K.T, atol=1e-11)


def test_the_covariance_stays_positive_through_many_sharp_measurements():
    rng = np.random.default_rng(5)
    state = a_state(rng)
    row = np.zeros(15)
    for k in range(600):
        R = tuple(Rotation.random(rng=rng).as_matrix().ravel())
        kernels.propagate(state, 0.01, R, *rng.normal(size=3) * 9.8, 1e-3, 1e-4, 1e-5, 1e-6)
        row[:] = 0.0
        row[k % 6] = 1.0
        told(state, row, 1e-3, 1e-8)
        kernels.inject(state)
    least = np.linalg.eigvalsh(spread_of(state) / np.trace(spread_of(state)))[0]
    assert least > 0.0
    np.testing.assert_array_equal(spread_of(state), spread_of(state).T)


def test_an_error_of_orientation_turns_about_the_axes_of_the_world():
    state = a_state(np.random.default_rng(6))
    phi = np.array([0.1, -0.2, 0.3])
    true = moved(state, np.r_[np.zeros(6), phi, np.zeros(6)])
    turned = Rotation.from_rotvec(phi) * Rotation.from_quat(state[:4])
    assert (Rotation.from_quat(true[:4]) * turned.inv()).magnitude() < 1e-14
    assert not true[kernels.ERROR : kernels.SPREAD].any()


def test_the_head_of_the_state_tells_what_all_filters_tell():
    state = a_state(np.random.default_rng(7))
    kernels.publish(state)
    spread = spread_of(state)
    np.testing.assert_allclose(state[7:10], np.sqrt(np.diag(spread)[12:]))
    np.testing.assert_allclose(state[10:16], spread[6:9, 6:9][np.triu_indices(3)])


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
    ],
    ids=[
        "position",
        "velocity",
        "velocity-body",
        "zero-velocity",
        "zero-rate",
        "heading",
        "gravity",
    ],
)
@pytest.mark.parametrize("place", [PLACE, Place("wgs84", latitude=0.8)], ids=["flat", "wgs84"])
def test_rows_of_aiding_are_derivatives_of_what_is_predicted(aiding, place):
    rng = np.random.default_rng(8)
    earth = place.for_kernels()
    for _ in range(5):
        state = a_state(rng)
        rows, *_ = aiding.rows(state, earth)
        slopes = np.empty_like(rows)
        for k in range(15):
            step = np.zeros(15)
            step[k] = 1e-6
            ahead, behind = (aiding.rows(moved(state, s * step), earth)[1] for s in (1, -1))
            slopes[:, k] = -(ahead - behind) / 2e-6  # what is measured stays
        # how gravity changes with height, 3e-6 a metre, is not told
        np.testing.assert_allclose(rows, slopes, rtol=0, atol=4e-6)


def test_correlated_errors_are_told_apart_before_they_are_told():
    rng = np.random.default_rng(9)
    root = rng.normal(size=(3, 3))
    covariance = root @ root.T + np.eye(3)
    state = a_state(rng)
    before = spread_of(state).copy()
    aiding = Aiding.position(0, [1.0, 2.0, 3.0], covariance)
    y = np.array([1.0, 2.0, 3.0]) - state[kernels.POSITION : kernels.POSITION + 3]
    S = before[:3, :3] + covariance
    rows, residuals, variances = aiding.rows(state, PLACE.for_kernels())
    nis = sum(told(state, *each) for each in zip(rows, residuals, variances, strict=True))
    assert nis == pytest.approx(y @ np.linalg.solve(S, y), rel=1e-10)
    np.testing.assert_allclose(
        spread_of(state), before - before[:, :3] @ np.linalg.solve(S, before[:3]), atol=1e-10
    )

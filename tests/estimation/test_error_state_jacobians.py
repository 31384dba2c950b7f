"""The linear error model against numeric differentiation of the nonlinear one.

The nonlinear model is written here anew with rotations of scipy, sample by sample.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.estimation.error_state import _kernels as kernels

GRAVITY = 9.80665
SAMPLES, DT = 400, 2.5e-4
ERRORS = kernels.OTHERS + 2
Q, BIAS, MATRIX, V, WINDOW = 0, 4, 7, 16, 19
P = WINDOW + kernels.WINDOW


def moved(state, readings):
    """Return attitude and velocity after a window, without the kernels; rows are alternatives."""
    q, v, bias, accel_bias, matrix = state
    for rate, force in zip(*readings, strict=True):
        half = Rotation.from_rotvec(0.5 * DT * (rate + matrix @ rate - bias))
        v = v + ((q * half).apply(force - accel_bias) - [0.0, 0.0, GRAVITY]) * DT
        q = q * half * half
    return q, v


def nominal(seed):
    """Return a random state and a window of smooth readings (rates, forces)."""
    random = np.random.default_rng(seed)
    t = DT * np.arange(SAMPLES)[:, None]
    rates = random.normal(0.0, 2.0, 3) * np.cos(random.uniform(0.0, 6.0, 3) + 9.0 * t)
    forces = random.normal(0.0, 8.0, 3) + random.normal(0.0, 5.0, 3) * np.sin(20.0 * t)
    return (
        Rotation.random(random_state=seed),
        random.normal(0.0, 2.0, 3),
        random.normal(0.0, 0.02, 3),
        random.normal(0.0, 0.1, 3),
        random.normal(0.0, 0.01, (3, 3)),
    ), (rates, forces)


def retracted(state, errors):
    """Return a state moved by rows of errors, as the model defines them."""
    q, v, bias, accel_bias, matrix = state
    turn = Rotation.from_rotvec(errors[:, 0:3])
    return (
        turn * q,
        turn.apply(v) + errors[:, 3:6],
        bias + errors[:, 6:9],
        accel_bias + errors[:, 9:12],
        matrix + errors[:, 12:21].reshape(-1, 3, 3),
    )


def numeric_transition(state, readings):
    """Return d (phi, xi) at the end / d error at the start, by central differences."""
    step = 1e-4
    q0, v0 = moved(state, readings)
    q, v = moved(retracted(state, step * np.vstack([np.eye(21), -np.eye(21)])), readings)
    turn = q * q0.inv()
    errors = np.hstack([turn.as_rotvec(), v - turn.apply(v0)])
    return (errors[:21] - errors[21:]).T / (2.0 * step)


def preintegrated(state, readings):
    """Return the vector of the kernels after a finished window."""
    q, v, bias, accel_bias, matrix = state
    x = np.zeros(P + ERRORS**2)
    x[Q : Q + 4], x[V : V + 3] = q.as_quat(), v
    x[BIAS : BIAS + 3], x[MATRIX : MATRIX + 9] = bias, matrix.ravel()
    for rate, force in zip(*readings, strict=True):
        reading = tuple(rate * DT)
        turn = kernels.corrected_turn(x, BIAS, MATRIX, *reading, DT)
        kernels.extend_window(x, WINDOW, Q, turn, reading, tuple(force - accel_bias), DT)
    kernels.finish_window(x, WINDOW, V, GRAVITY)
    return x


@pytest.mark.parametrize("seed", range(3))
def test_a_window_moves_attitude_and_velocity_as_the_model_does(seed):
    state, readings = nominal(seed)
    x = preintegrated(state, readings)
    q, v = moved(state, readings)
    assert (Rotation.from_quat(x[Q : Q + 4]) * q.inv()).magnitude() < 1e-12
    np.testing.assert_allclose(x[V : V + 3], v, atol=1e-12)
    assert x[WINDOW + kernels.SPAN] == pytest.approx(SAMPLES * DT)


@pytest.mark.parametrize("seed", range(3))
def test_the_transition_over_a_window_is_the_numeric_derivative(seed):
    state, readings = nominal(seed)
    x = preintegrated(state, readings)
    numeric = numeric_transition(state, readings)
    for i in range(21):  # where only error i is uncertain, F P F^T shows column i of F
        x[P:] = 0.0
        x[P + i * (ERRORS + 1)] = 1.0
        kernels.predict_covariance(x, P, ERRORS, WINDOW, GRAVITY)
        column = (np.arange(ERRORS) == i) * 1.0
        column[:6] = numeric[:, i]
        size = np.abs(column).max()
        np.testing.assert_allclose(
            x[P:].reshape(ERRORS, -1), np.outer(column, column), atol=1e-6 * size**2
        )


def test_prediction_is_f_p_ft_for_any_covariance():
    state, readings = nominal(3)
    x = preintegrated(state, readings)
    f = np.eye(ERRORS)
    f[:6, :21] = numeric_transition(state, readings)
    root = np.random.default_rng(1).normal(size=(ERRORS, ERRORS))
    x[P:] = (root @ root.T).ravel()
    kernels.predict_covariance(x, P, ERRORS, WINDOW, GRAVITY)
    expected = f @ root @ root.T @ f.T
    np.testing.assert_allclose(x[P:].reshape(ERRORS, -1), expected, rtol=1e-5, atol=1e-4)


def test_an_update_is_that_of_a_kalman_filter_and_a_considered_state_stays():
    random = np.random.default_rng(2)
    n = ERRORS
    root = random.normal(size=(n, n))
    p = root @ root.T
    h = np.zeros(n)
    h[[0, 2, 7]] = 0.5, -1.0, 2.0
    for considered in ([], [2, 12, 13]):
        x = np.zeros(n * n + 3 * n)
        x[: n * n] = p.ravel()
        e, c, k = n * n, n * n + n, n * n + 2 * n
        for i in (0, 2, 7):
            kernels.project(x, 0, n, c, i, h[i])
        s = h @ x[c : c + n] + 3.0
        gain = p @ h / s
        gain[considered] = 0.0
        x[k : k + n] = gain
        kernels.update(x, 0, n, e, c, k, 0.7, s)
        joseph = np.eye(n) - np.outer(gain, h)
        expected = joseph @ p @ joseph.T + 3.0 * np.outer(gain, gain)
        np.testing.assert_allclose(x[: n * n].reshape(n, n), expected, atol=1e-10)
        np.testing.assert_allclose(x[e : e + n], 0.7 * gain)
        assert not x[e : e + n][considered].any()

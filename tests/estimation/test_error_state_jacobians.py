"""Linear error model against numeric differentiation of the nonlinear one.

The nonlinear model is implemented here with rotations of scipy, sample by sample.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.estimation.error_state.model import (
    OWN_ERRORS,
    Window,
    carry,
    corrected_turn,
    extend_window,
    finish_window,
    multiply_rows,
    predict_covariance,
)
from strapdown.estimation.error_state.update import joseph, project, shrink
from strapdown.units import STANDARD_GRAVITY

SAMPLES, DT = 400, 2.5e-4
ERRORS = OWN_ERRORS + 2


def moved(state, readings):
    """Return attitude and velocity after a window, without the kernels; rows are alternatives."""
    q, v, bias, accel_bias, matrix = state
    for rate, force in zip(*readings, strict=True):
        half = Rotation.from_rotvec(0.5 * DT * (rate + matrix @ rate - bias))
        v = v + ((q * half).apply(force - accel_bias) - [0.0, 0.0, STANDARD_GRAVITY]) * DT
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
    """Return attitude, velocity and window of the kernels after a finished window."""
    q, v, bias, accel_bias, matrix = state
    window, orientation, velocity = Window(), q.as_quat().tolist(), v.tolist()
    for rate, force in zip(*readings, strict=True):
        reading = (rate * DT).tolist()
        turn = corrected_turn(bias.tolist(), matrix.tolist(), reading, DT)
        own_force = (force - accel_bias).tolist()
        extend_window(window, orientation, turn, reading, own_force, DT)
    finish_window(window, velocity)
    return orientation, velocity, window


@pytest.mark.parametrize("seed", range(3))
def test_a_window_moves_attitude_and_velocity_as_the_model_does(seed):
    state, readings = nominal(seed)
    orientation, velocity, window = preintegrated(state, readings)
    q, v = moved(state, readings)
    assert (Rotation.from_quat(orientation) * q.inv()).magnitude() < 1e-12
    np.testing.assert_allclose(velocity, v, atol=1e-12)
    assert window.span == pytest.approx(SAMPLES * DT)


@pytest.mark.parametrize("seed", range(3))
def test_the_transition_over_a_window_is_the_numeric_derivative(seed):
    state, readings = nominal(seed)
    _, _, window = preintegrated(state, readings)
    numeric = numeric_transition(state, readings)
    for i in range(21):  # if only error i is uncertain, F P F^T contains column i of F
        p = np.zeros((ERRORS, ERRORS)).tolist()
        p[i][i] = 1.0
        predict_covariance(p, window)
        column = (np.arange(ERRORS) == i) * 1.0
        column[:6] = numeric[:, i]
        size = np.abs(column).max()
        np.testing.assert_allclose(p, np.outer(column, column), atol=1e-6 * size**2)


def test_prediction_is_f_p_ft_for_any_covariance():
    state, readings = nominal(3)
    _, _, window = preintegrated(state, readings)
    f = np.eye(ERRORS)
    f[:6, :21] = numeric_transition(state, readings)
    root = np.random.default_rng(1).normal(size=(ERRORS, ERRORS))
    p = (root @ root.T).tolist()
    predict_covariance(p, window)
    np.testing.assert_allclose(p, f @ root @ root.T @ f.T, rtol=1e-5, atol=1e-4)


def test_a_vector_of_errors_is_carried_as_a_matrix_of_one_column():
    _, _, window = preintegrated(*nominal(3))
    error = np.random.default_rng(5).normal(size=ERRORS).tolist()
    column = [[element] for element in error]
    carry(error, window)
    multiply_rows(column, window)
    np.testing.assert_allclose(error, [element for (element,) in column], rtol=1e-12)


def test_an_update_is_that_of_a_kalman_filter_and_a_considered_state_stays():
    random = np.random.default_rng(2)
    n = ERRORS
    root = random.normal(size=(n, n))
    p = root @ root.T
    h = np.zeros(n)
    h[[0, 2, 7]] = 0.5, -1.0, 2.0
    for considered in ([], [2, 12, 13]):
        covariance, error, column = p.tolist(), [0.0] * n, [0.0] * n
        for i in (0, 2, 7):
            project(covariance, column, i, h[i])
        s = h @ column + 3.0
        gain = p @ h / s
        gain[considered] = 0.0
        joseph(covariance, error, column, gain.tolist(), 0.7, s)
        left = np.eye(n) - np.outer(gain, h)
        expected = left @ p @ left.T + 3.0 * np.outer(gain, gain)
        np.testing.assert_allclose(covariance, expected, atol=1e-10)
        np.testing.assert_allclose(error, 0.7 * gain)
        assert not np.array(error)[considered].any()


def test_shrinking_is_josephs_form_for_the_optimal_gain_and_stays_symmetric():
    random, n = np.random.default_rng(6), ERRORS + 1  # a multiple of four
    root = random.normal(size=(n, n))
    p, h = root @ root.T, random.normal(size=n)
    p = 0.5 * (p + p.T)
    s = h @ p @ h + 3.0
    column = p @ h
    expected, covariance = p.tolist(), p.tolist()
    joseph(expected, [0.0] * n, column.tolist(), (column / s).tolist(), 0.0, s)
    shrink(covariance, (column / np.sqrt(s)).tolist())
    np.testing.assert_allclose(covariance, expected, atol=1e-12 * np.abs(p).max())
    np.testing.assert_array_equal(covariance, np.transpose(covariance))

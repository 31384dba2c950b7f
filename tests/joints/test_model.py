"""Derivatives of the constraints, and the equations of the solver, against numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.joints.anatomy import JointKind
from strapdown.joints.heading import Heading
from strapdown.joints.model import TILT, Model, State, tangents
from strapdown.joints.segments import Segment, Segments
from strapdown.joints.solver import _inverse_diagonal

COUNT = 12


@pytest.fixture
def segments():
    random = np.random.default_rng(5)

    def segment(seed):
        turns = Rotation.random(COUNT, random_state=seed).as_matrix()
        curvature = random.normal(size=(COUNT, 3, 3))
        force, force_body = 50.0 + random.normal(size=(2, COUNT, 3))
        return Segment(turns, 0.9 * turns, curvature, force, force_body)

    return Segments(0.05 * np.arange(COUNT), 0, 0.0, segment(1), segment(2))


@pytest.fixture
def state():
    random = np.random.default_rng(6)
    one, two = (v / np.linalg.norm(v) for v in random.normal(size=(2, 3)))
    state = State(np.zeros(2), *random.normal(size=(4, 3)), one, two, angle=1.2)
    matrices = 0.01 * random.normal(size=(2, 9))
    return replace(state, matrix_first=matrices[0], matrix_second=matrices[1])


@pytest.mark.parametrize("kind", JointKind)
def test_derivatives_of_the_constraints_are_those_of_differences(kind, segments, state):
    model = Model(segments, kind, with_matrices=True)
    heading, h = np.linspace(-1.0, 2.0, COUNT), 1e-6
    none = np.zeros(2)
    for label, constraint in model.constraints(state, heading).items():
        for name, derivative in constraint.by.items():
            for column in range(derivative.shape[2]):
                step = np.zeros(derivative.shape[2])
                step[column] = h
                ahead, back = (
                    model.constraints(state.moved({name: sign * step}, none), heading)[label].rows
                    for sign in (1.0, -1.0)
                )
                np.testing.assert_allclose(
                    derivative[:, :, column], (ahead - back) / (2.0 * h), atol=2e-4, rtol=1e-4
                )
        ahead, back = (
            model.constraints(state, heading + sign * h)[label].rows for sign in (1.0, -1.0)
        )
        # far above TILT the damping of small horizontal accelerations is 1 - (0.1 / 70)^2
        np.testing.assert_allclose(
            constraint.by_heading, (ahead - back) / (2.0 * h), atol=1e-3, rtol=1e-4
        )


def test_small_horizontal_accelerations_show_no_heading(segments, state):
    still = replace(segments.second, force=np.tile([0.01 * TILT, 0.0, 9.81], (COUNT, 1)))
    still = replace(still, curvature=np.zeros((COUNT, 3, 3)))
    state = replace(state, force_second=np.zeros(3))
    model = Model(replace(segments, second=still), JointKind.BALL)
    slope = model.constraints(state, np.zeros(COUNT))["centre"].by_heading
    assert np.abs(slope).max() < 2e-4 * TILT


def test_tangents_are_orthonormal():
    for axis in np.eye(3):
        matrix = np.column_stack([axis, tangents(axis)])
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(3), atol=1e-15)


def test_the_diagonal_of_an_inverse_is_that_of_numpy():
    random = np.random.default_rng(2)
    beside = random.normal(size=9)
    diagonal = 5.0 + random.random(10)
    matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    np.testing.assert_allclose(
        _inverse_diagonal(diagonal, beside), np.diag(np.linalg.inv(matrix)), rtol=1e-12
    )


def test_heading_is_linear_between_knots(segments):
    heading = Heading(replace(segments, t_s=np.linspace(3.0, 10.0, COUNT)))
    knots = np.random.default_rng(1).normal(size=heading.count)
    by_weights = heading.weights @ knots
    np.testing.assert_allclose(by_weights, heading.at(knots, np.linspace(3.0, 10.0, COUNT)))

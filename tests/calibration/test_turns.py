"""Rotations of turns for a matrix of the gyro, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.calibration.poses.turns import Turns


@pytest.fixture(params=[1, 2, 7, 8])
def turns(request):
    """Three turns with so many steps at most."""
    angle = np.random.default_rng(request.param).normal(scale=0.2, size=(3, request.param, 3))
    return Turns(np.arange(3), np.arange(1, 4), angle, np.ones(3))


MATRIX = np.eye(3) + 0.1 * np.random.default_rng(5).normal(size=(3, 3))


def test_a_rotation_is_the_product_of_those_of_its_steps(turns):
    expected = []
    for steps in turns.angle @ MATRIX.T:
        before = np.vstack([np.zeros(3), steps[:-1]])
        product = Rotation.identity()
        for vector in steps + np.cross(before, steps) / 12.0:
            product = product * Rotation.from_rotvec(vector)
        expected.append(product.as_matrix())
    np.testing.assert_allclose(turns.rotation(MATRIX), expected, rtol=0, atol=1e-14)
    R, _ = turns.rotation_and_jacobian(MATRIX)
    np.testing.assert_allclose(R, expected, rtol=0, atol=1e-14)
    several = turns.rotation(np.array([0.5 * MATRIX, MATRIX]))
    np.testing.assert_allclose(several[0], turns.rotation(0.5 * MATRIX), rtol=0, atol=1e-14)
    np.testing.assert_allclose(several[1], expected, rtol=0, atol=1e-14)


def test_the_jacobian_is_the_derivative_of_the_rotation(turns):
    _, J = turns.rotation_and_jacobian(MATRIX)
    for element in range(9):
        change = np.zeros(9)
        change[element] = 1e-6
        ahead, behind = (turns.rotation(MATRIX + s * change.reshape(3, 3)) for s in (1, -1))
        turned = Rotation.from_matrix(np.swapaxes(behind, -1, -2) @ ahead).as_rotvec() / 2e-6
        np.testing.assert_allclose(J[..., element], turned, rtol=0, atol=1e-8)

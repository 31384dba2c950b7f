"""Squared errors against what covariances promise."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.evaluation import consistency, nees, nis, orientation_nees

RNG = np.random.default_rng(21)


def covariance(size):
    root = RNG.normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


def test_squares_are_those_of_the_inverse_covariance():
    for size in (1, 3, 6):
        error, spread = RNG.normal(size=(5, size)), covariance(size)
        expected = np.einsum("ki,ij,kj->k", error, np.linalg.inv(spread), error)
        np.testing.assert_allclose(nees(error, spread), expected)
        np.testing.assert_allclose(nis(error, np.tile(spread, (5, 1, 1))), expected)
    assert nees([2.0], [[4.0]]) == pytest.approx(1.0)


def test_orientation_errors_are_turned_about_world_axes():
    q = Rotation.random(20, rng=RNG)
    turn = RNG.normal(scale=0.01, size=(20, 3))
    spread = np.diag([1e-4, 4e-4, 9e-4])
    found = orientation_nees((Rotation.from_rotvec(turn) * q).as_quat(), q.as_quat(), spread)
    np.testing.assert_allclose(found, (turn**2 / np.diag(spread)).sum(axis=1), rtol=1e-9)


def test_honest_covariances_lie_in_their_band_and_wrong_ones_outside():
    spread = covariance(3)
    squares = nees(RNG.multivariate_normal(np.zeros(3), spread, size=1000), spread)
    honest = consistency(squares, 3)
    assert honest.is_consistent
    assert honest.average == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / 3000.0))
    assert honest.share_within == pytest.approx(0.99, abs=0.015)
    assert honest.lower == pytest.approx(chi2.ppf(0.005, 3000) / 3000)
    assert honest.upper == pytest.approx(chi2.ppf(0.995, 3000) / 3000)
    assert not consistency(1.3 * squares, 3).is_consistent
    assert not consistency(0.7 * squares, 3).is_consistent
    assert json.loads(json.dumps(honest.to_dict()))["is_consistent"] is True


def test_rows_that_are_not_finite_are_left_out():
    found = consistency([1.0, np.nan, 3.0, np.inf], 2, level=0.5)
    assert found.samples == 2
    assert found.average == pytest.approx(1.0)
    # the median of two degrees of freedom is 2 ln 2
    assert found.share_within == 0.5


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match="covariance"):
        nees([1.0, 2.0], np.eye(3))
    with pytest.raises(ShapeError, match="errors"):
        nees(1.0, [[1.0]])
    with pytest.raises(ValueRangeError, match="singular"):
        nees([1.0, 2.0], np.zeros((2, 2)))
    for squares, dof, level in [([], 3, 0.9), ([1.0], 0, 0.9), ([1.0], 3, 1.0)]:
        with pytest.raises(ValueRangeError, match="finite squares"):
            consistency(squares, dof, level=level)

"""Rotations between directions, and matrices of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.geometry.rotations import skew


@pytest.mark.parametrize("shape", [(), (4,), (2, 5)])
def test_the_skew_matrix_gives_the_cross_product(shape):
    v, w = np.random.default_rng(7).normal(size=(2, *shape, 3))
    product = (skew(v) @ w[..., None])[..., 0]
    np.testing.assert_allclose(product, np.cross(v, w), rtol=1e-14, atol=1e-15)

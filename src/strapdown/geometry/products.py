"""Products of stacks of matrices, with the same rounding on every machine.

Results of matmul and einsum depend on the machine, on the size of the stack and on the order in
memory; sums of elementwise products do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

__all__ = ["entries_of", "matrix_matrix", "matrix_vector"]


def matrix_vector(R: FloatArray, v: FloatArray) -> FloatArray:
    """Return products of matrices (N, 3, 3) and vectors (N, 3) or (3,)."""
    shares = R * v[..., np.newaxis, :]
    return shares[..., 0] + shares[..., 1] + shares[..., 2]


def matrix_matrix(R: FloatArray, M: FloatArray) -> FloatArray:
    """Return products of matrices (N, 3, 3) and one matrix (3, 3)."""
    shares = R[..., np.newaxis] * M
    return shares[..., 0, :] + shares[..., 1, :] + shares[..., 2, :]


def entries_of(R: FloatArray) -> FloatArray:
    """Return the entries of matrices (N, 3, 3) as contiguous columns (9, N)."""
    return np.ascontiguousarray(R.transpose(1, 2, 0)).reshape(9, -1)

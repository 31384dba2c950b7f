"""Types of arrays and tuples."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["AnyArray", "ArrayLike", "BoolArray", "ByteArray", "FloatArray", "IntArray"]

AnyArray: TypeAlias = NDArray[Any]
BoolArray: TypeAlias = NDArray[np.bool_]
ByteArray: TypeAlias = NDArray[np.uint8]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

Three: TypeAlias = tuple[float, float, float]
Four: TypeAlias = tuple[float, float, float, float]

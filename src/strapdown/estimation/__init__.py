"""Orientation filters: one shape, ``update(sample)`` and ``run(series)``.

:data:`FILTERS` names them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.estimation.complementary import ComplementaryFilter, ComplementaryParams
from strapdown.estimation.result import (
    FilterReport,
    FilterState,
    OrientationFilter,
    OrientationResult,
)
from strapdown.estimation.samples import ImuSample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "FILTERS",
    "ComplementaryFilter",
    "ComplementaryParams",
    "FilterReport",
    "FilterState",
    "ImuSample",
    "OrientationFilter",
    "OrientationResult",
]

FILTERS: Mapping[str, Callable[[], OrientationFilter]] = {"complementary": ComplementaryFilter}
"""Every filter by name, with default parameters when called."""

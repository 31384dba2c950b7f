"""Filters and smoothers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strapdown._lazy import LazyMapping

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.estimation.result import OrientationFilter
    from strapdown.estimation.smoother import OrientationSmoother

__all__ = ["FILTERS", "SMOOTHERS"]

FILTERS: Mapping[str, Callable[[], OrientationFilter]] = LazyMapping(
    "filter",
    "strapdown.estimation",
    {
        "complementary": "complementary:ComplementaryFilter",
        "mahony": "mahony:MahonyFilter",
        "madgwick": "madgwick:MadgwickFilter",
        "vqf": "vqf:VqfFilter",
        "eskf": "error_state:ErrorStateFilter",
    },
)
"""Every filter by name, with default parameters when called."""

SMOOTHERS: Mapping[str, Callable[[], OrientationSmoother[Any]]] = LazyMapping(
    "smoother",
    "strapdown.estimation",
    {"vqf": "vqf:OfflineVqf", "eskf": "error_state:ErrorStateSmoother"},
)
"""Every smoother by the name of the filter whose model it shares."""

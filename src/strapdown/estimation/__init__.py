"""Orientation filters: one shape, ``update(sample)`` and ``run(series)``; smoothers: ``run``.

:data:`FILTERS` and :data:`SMOOTHERS` name them all. What stands here loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strapdown._lazy import LazyMapping, lazy_names
from strapdown.samples import ImuSample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.estimation.complementary import ComplementaryFilter, ComplementaryParams
    from strapdown.estimation.error_state import (
        ErrorStateFilter,
        ErrorStateParams,
        ErrorStateSmoother,
        SmootherParams,
    )
    from strapdown.estimation.foot import (
        FootEstimate,
        FootNavigator,
        FootParams,
        FootResult,
        FootState,
        GaitResult,
    )
    from strapdown.estimation.madgwick import MadgwickFilter, MadgwickParams
    from strapdown.estimation.mahony import MahonyFilter, MahonyParams
    from strapdown.estimation.navigation import (
        Aiding,
        AidingResult,
        NavigationEstimate,
        NavigationResult,
        NavigatorParams,
        NavigatorStart,
        StrapdownNavigator,
        poses_of_orientation,
    )
    from strapdown.estimation.result import (
        FilterReport,
        FilterState,
        OrientationEstimate,
        OrientationFilter,
        OrientationResult,
    )
    from strapdown.estimation.self_calibration import SelfCalibration
    from strapdown.estimation.smoother import OrientationSmoother
    from strapdown.estimation.vqf import OfflineVqf, VqfFilter, VqfParams

__all__ = [
    "FILTERS",
    "SMOOTHERS",
    "Aiding",
    "AidingResult",
    "ComplementaryFilter",
    "ComplementaryParams",
    "ErrorStateFilter",
    "ErrorStateParams",
    "ErrorStateSmoother",
    "FilterReport",
    "FilterState",
    "FootEstimate",
    "FootNavigator",
    "FootParams",
    "FootResult",
    "FootState",
    "GaitResult",
    "ImuSample",
    "MadgwickFilter",
    "MadgwickParams",
    "MahonyFilter",
    "MahonyParams",
    "NavigationEstimate",
    "NavigationResult",
    "NavigatorParams",
    "NavigatorStart",
    "OfflineVqf",
    "OrientationEstimate",
    "OrientationFilter",
    "OrientationResult",
    "OrientationSmoother",
    "SelfCalibration",
    "SmootherParams",
    "StrapdownNavigator",
    "VqfFilter",
    "VqfParams",
    "poses_of_orientation",
]

FILTERS: Mapping[str, Callable[[], OrientationFilter]] = LazyMapping(
    __name__,
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
    __name__, {"vqf": "vqf:OfflineVqf", "eskf": "error_state:ErrorStateSmoother"}
)
"""Every smoother by the name of the filter whose model it shares."""

_HOMES = {
    "complementary": ("ComplementaryFilter", "ComplementaryParams"),
    "error_state": ("ErrorStateFilter", "ErrorStateParams", "ErrorStateSmoother", "SmootherParams"),
    "foot": (
        "FootEstimate",
        "FootNavigator",
        "FootParams",
        "FootResult",
        "FootState",
        "GaitResult",
    ),
    "madgwick": ("MadgwickFilter", "MadgwickParams"),
    "mahony": ("MahonyFilter", "MahonyParams"),
    "navigation": (
        "Aiding",
        "AidingResult",
        "NavigationEstimate",
        "NavigationResult",
        "NavigatorParams",
        "NavigatorStart",
        "StrapdownNavigator",
        "poses_of_orientation",
    ),
    "result": (
        "FilterReport",
        "FilterState",
        "OrientationEstimate",
        "OrientationFilter",
        "OrientationResult",
    ),
    "self_calibration": ("SelfCalibration",),
    "smoother": ("OrientationSmoother",),
    "vqf": ("OfflineVqf", "VqfFilter", "VqfParams"),
}
__getattr__, __dir__ = lazy_names(
    __name__, {name: module for module, names in _HOMES.items() for name in names}
)

"""Orientation filters: one shape, ``update(sample)`` and ``run(series)``; smoothers: ``run``.

:data:`FILTERS` and :data:`SMOOTHERS` name them all. What stands here loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strapdown._lazy import LazyMapping, lazy_names
from strapdown.samples import ImuSample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.estimation.classical import ClassicalParams
    from strapdown.estimation.complementary import ComplementaryFilter, ComplementaryParams
    from strapdown.estimation.error_state import (
        ErrorStateFilter,
        ErrorStateParams,
        ErrorStateSmoother,
        SmootherParams,
    )
    from strapdown.estimation.filter import FilterParams
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
    "ClassicalParams",
    "ComplementaryFilter",
    "ComplementaryParams",
    "ErrorStateFilter",
    "ErrorStateParams",
    "ErrorStateSmoother",
    "FilterParams",
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
        "complementary": "complementary.ComplementaryFilter",
        "mahony": "mahony.MahonyFilter",
        "madgwick": "madgwick.MadgwickFilter",
        "vqf": "vqf.VqfFilter",
        "eskf": "error_state.ErrorStateFilter",
    },
)
"""Every filter by name, with default parameters when called."""

SMOOTHERS: Mapping[str, Callable[[], OrientationSmoother[Any]]] = LazyMapping(
    __name__,
    {
        "vqf": "vqf.OfflineVqf",
        "eskf": "error_state.ErrorStateSmoother",
    },
)
"""Every smoother by the name of the filter whose model it shares."""

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Aiding": "navigation",
        "AidingResult": "navigation",
        "ClassicalParams": "classical",
        "ComplementaryFilter": "complementary",
        "ComplementaryParams": "complementary",
        "ErrorStateFilter": "error_state",
        "ErrorStateParams": "error_state",
        "ErrorStateSmoother": "error_state",
        "FilterParams": "filter",
        "FilterReport": "result",
        "FilterState": "result",
        "FootEstimate": "foot",
        "FootNavigator": "foot",
        "FootParams": "foot",
        "FootResult": "foot",
        "FootState": "foot",
        "GaitResult": "foot",
        "MadgwickFilter": "madgwick",
        "MadgwickParams": "madgwick",
        "MahonyFilter": "mahony",
        "MahonyParams": "mahony",
        "NavigationEstimate": "navigation",
        "NavigationResult": "navigation",
        "NavigatorParams": "navigation",
        "NavigatorStart": "navigation",
        "OfflineVqf": "vqf",
        "OrientationEstimate": "result",
        "OrientationFilter": "result",
        "OrientationResult": "result",
        "OrientationSmoother": "smoother",
        "SelfCalibration": "self_calibration",
        "SmootherParams": "error_state",
        "StrapdownNavigator": "navigation",
        "VqfFilter": "vqf",
        "VqfParams": "vqf",
        "poses_of_orientation": "navigation",
    },
)

"""Orientation filters: one shape, ``update(sample)`` and ``run(series)``; smoothers: ``run``.

:data:`FILTERS` and :data:`SMOOTHERS` name them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.estimation.complementary import ComplementaryFilter, ComplementaryParams
from strapdown.estimation.eskf import ErrorStateFilter, ErrorStateParams
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
    OrientationSmoother,
)
from strapdown.estimation.self_calibration import SelfCalibration
from strapdown.estimation.smoother import ErrorStateSmoother, SmootherParams
from strapdown.estimation.vqf import OfflineVqf, VqfFilter, VqfParams
from strapdown.samples import ImuSample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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

FILTERS: Mapping[str, Callable[[], OrientationFilter]] = {
    "complementary": ComplementaryFilter,
    "mahony": MahonyFilter,
    "madgwick": MadgwickFilter,
    "vqf": VqfFilter,
    "eskf": ErrorStateFilter,
}
"""Every filter by name, with default parameters when called."""

SMOOTHERS: Mapping[str, Callable[[], OrientationSmoother]] = {
    "vqf": OfflineVqf,
    "eskf": ErrorStateSmoother,
}
"""Every smoother by the name of the filter whose model it shares."""

"""Inertial navigation: position, velocity and attitude, aided from outside."""

from strapdown.estimation.navigation.aiding import Aiding, AidingResult
from strapdown.estimation.navigation.navigator import StrapdownNavigator
from strapdown.estimation.navigation.params import NavigatorParams, NavigatorStart
from strapdown.estimation.navigation.result import (
    NavigationEstimate,
    NavigationResult,
    poses_of_orientation,
)

__all__ = [
    "Aiding",
    "AidingResult",
    "NavigationEstimate",
    "NavigationResult",
    "NavigatorParams",
    "NavigatorStart",
    "StrapdownNavigator",
    "poses_of_orientation",
]

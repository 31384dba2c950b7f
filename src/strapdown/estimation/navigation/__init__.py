"""Inertial navigation: position, velocity and attitude, with aiding by other measurements."""

from strapdown.estimation.navigation.aiding import Aiding, AidingResult
from strapdown.estimation.navigation.gnss import barometer_aiding, gnss_aiding
from strapdown.estimation.navigation.in_motion import align_in_motion
from strapdown.estimation.navigation.latency import Latency, estimate_latency
from strapdown.estimation.navigation.navigator import StrapdownNavigator
from strapdown.estimation.navigation.params import NavigatorParams
from strapdown.estimation.navigation.prior import NavigationPrior
from strapdown.estimation.navigation.result import (
    NavigationEstimate,
    NavigationResult,
    poses_of_orientation,
)

__all__ = [
    "Aiding",
    "AidingResult",
    "Latency",
    "NavigationEstimate",
    "NavigationPrior",
    "NavigationResult",
    "NavigatorParams",
    "StrapdownNavigator",
    "align_in_motion",
    "barometer_aiding",
    "estimate_latency",
    "gnss_aiding",
    "poses_of_orientation",
]

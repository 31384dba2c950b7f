"""Uncertainty that gaps and saturated sensors add to the state of a navigator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.estimation.attitude import gain
from strapdown.estimation.navigation.errors import widen
from strapdown.estimation.navigation.state import ORIENTATION, POSITION, VELOCITY
from strapdown.geometry.vectors import approach, distance2, square

if TYPE_CHECKING:
    from strapdown._typing import Three
    from strapdown.estimation.navigation.state import NavigatorMemory

SMOOTHING_S: Final = 0.5  # time constant of the running means
LOST_TURN: Final = 1.0  # of the usual rotation in the time of a gap: sigma of the rotation
LOST_PUSH: Final = 0.5  # of the velocity change in a gap: sigma of it
CLIPPED: Final = 0.5  # of the reading of a saturated axis: sigma of the part beyond the range


@kernel
def remember_motion(s: NavigatorMemory, h: float, rate: Three, force: Three) -> None:
    """Update the running means of rates and accelerations."""
    usual, weight = s.usual, 1.0
    if s.started:
        weight = gain(h, SMOOTHING_S)
    approach(usual.force, weight, force)
    usual.force_spread += weight * (distance2(force, usual.force) - usual.force_spread)
    usual.rate_square += weight * (square(rate) - usual.rate_square)


@kernel
def loosen(s: NavigatorMemory, hole: float) -> None:
    """Increase the covariance for the unknown motion in a gap [s]."""
    usual = s.usual
    angle = LOST_TURN * math.sqrt(usual.rate_square) * hole
    gravity = math.sqrt(square(usual.force))
    away = gravity * min(1.0, angle) + math.sqrt(usual.force_spread)
    speed = LOST_PUSH * hole * away
    widen(s.error_covariance, ORIENTATION, angle * angle)
    widen(s.error_covariance, VELOCITY, speed * speed)
    widen(s.error_covariance, POSITION, 0.25 * speed * speed * hole * hole)


@kernel
def widen_clipped(s: NavigatorMemory, clipping: int, h: float, rate: Three, force: Three) -> None:
    """Increase the covariance while axes are saturated, with a correlated error."""
    turned, s.gyro_clipped = clipped_for(s.gyro_clipped, clipping & 7, h, rate)
    pushed, s.accel_clipped = clipped_for(s.accel_clipped, clipping & 56, h, force)
    widen(s.error_covariance, ORIENTATION, turned)
    widen(s.error_covariance, VELOCITY, pushed)


@kernel
def clipped_for(seconds: float, axes: int, h: float, reading: Three) -> tuple[float, float]:
    """Return the variance from saturated axes in h seconds, and for how long they are so."""
    if not axes:
        return 0.0, 0.0
    size = CLIPPED * CLIPPED * square(reading)
    return size * h * (2.0 * seconds + h), seconds + h

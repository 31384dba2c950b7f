"""Axes of gyro and accelerometer among the channels of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.calibration.noise.channel import ChannelNoise

__all__ = ["QUANTITIES", "triads_of"]

QUANTITIES: Final = {"gyro": "angular_velocity", "accel": "specific_force"}
"""Quantity of each triad."""


def triads_of(
    channels: Sequence[ChannelNoise], *, both: bool = False
) -> dict[str, tuple[ChannelNoise, ...]]:
    """Return the three axes of gyro and accelerometer."""
    named = {each.channel: each for each in channels}
    found = {}
    for triad, quantity in QUANTITIES.items():
        three = [named[name] for axis in "xyz" if (name := f"{quantity}.{axis}") in named]
        if len(three) == 3:
            found[triad] = tuple(three)
    if not found or len(named) != 3 * len(found) or (both and len(found) < 2):
        wanted = "both triads of an IMU" if both else "triads of an IMU"
        raise ShapeError(
            f"expected {wanted}, angular_velocity.x to specific_force.z, got "
            f"{', '.join(named) or 'no channel'}; pass an ImuSeries to allan"
        )
    return found

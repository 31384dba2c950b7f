"""Series by group and topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from strapdown.series import BarometerSeries, GnssSeries, ImuSeries, Increments, Trajectory

__all__ = ["Content"]


class Content(NamedTuple):
    """Series by topic, in the groups of a recording."""

    imu: dict[str, ImuSeries]
    trajectories: dict[str, Trajectory]
    increments: dict[str, Increments]
    gnss: dict[str, GnssSeries]
    barometers: dict[str, BarometerSeries]

    def group(self, holds: str) -> dict[str, Any]:
        """Return the series of a group by topic."""
        group: dict[str, Any] = getattr(self, holds)
        return group

"""Navigation in a pipeline: an IMU, a GNSS receiver and a barometer in, poses out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._words import counted
from strapdown.bridges.live.navigation import LiveNavigation
from strapdown.bridges.live.pipeline.aided import AidedStage
from strapdown.bridges.live.pipeline.stages import params_of
from strapdown.estimation.navigation import NavigatorParams
from strapdown.messages import FluidPressure, NavSatFix, TwistWithCovarianceStamped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown.bridges.live.pipeline.tables import Table
    from strapdown.messages import Imu, Pose3D

__all__ = ["NavigateStage"]


class NavigateStage(AidedStage):
    """Inertial navigation aided by fixes, as that of ``strapdown navigate``."""

    SOURCES = range(2, 5)
    AIDS = (NavSatFix,)
    OPTIONAL = (TwistWithCovarianceStamped, FluidPressure)

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._navigation = LiveNavigation(
            params_of(table, NavigatorParams()),
            lever_arm=table.floats("lever_arm", 3) or (0.0, 0.0, 0.0),
            latency=table.get("latency", float, 0.0),
        )

    def aid(self, message: NavSatFix | TwistWithCovarianceStamped | FluidPressure) -> int:
        """Use a fix, a velocity or a pressure."""
        return self._navigation.aid(message)

    def poses(self, messages: Sequence[Imu]) -> Iterator[Pose3D]:
        """Yield the poses after the start."""
        for message in messages:
            yield from self._navigation.take(message)

    def finish(self) -> Iterator[Pose3D]:
        """Yield the poses of samples that waited for a start."""
        yield from self._navigation.finish()
        self.notes += self._navigation.notes
        if unused := self._navigation.unused:
            self.notes.append(
                f"{counted(unused, 'message')} not used: fixes without position, velocities "
                "without fix or covariance, or messages before the first sample"
            )

    def losses(self) -> list[str]:
        """Return what navigation left out."""
        navigation = self._navigation
        found = super().losses()
        if navigation.late:
            found.append(f"{counted(navigation.late, 'aiding')} later than the buffer")
        return (
            found
            if navigation.navigator is None
            else [*found, *navigation.navigator.report.losses()]
        )

"""Odometry in a pipeline: position by dead reckoning, of a foot or of any body."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from strapdown.bridges.live.fusion import BLOCK, incoming, sample_of
from strapdown.bridges.live.navigation import pose_of
from strapdown.bridges.live.pipeline.part import Part
from strapdown.bridges.live.pipeline.stages import params_of
from strapdown.estimation.foot import FootNavigator
from strapdown.estimation.foot.params import FootParams
from strapdown.estimation.navigation import NavigatorParams, StrapdownNavigator
from strapdown.messages import Imu, Pose3D, conversion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import ExitStack

    from strapdown.bridges.live.pipeline.tables import Table

__all__ = ["OdometryStage"]

_AT_REST = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0)


class OdometryStage(Part):
    """Dead reckoning, as that of ``strapdown odometry``."""

    TAKES = (Imu,)
    gives = Pose3D

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._navigator: FootNavigator | StrapdownNavigator
        if table.get("foot", bool, default=False):
            self._navigator = FootNavigator(params_of(table, FootParams()))
        else:
            self._navigator = StrapdownNavigator(params_of(table, NavigatorParams()))

    def join(self, parts: Sequence[Part]) -> None:
        """Give as many poses as samples come."""
        super().join(parts)
        self.rate_hz = parts[0].rate_hz

    def open(self, stack: ExitStack) -> None:  # noqa: ARG002 (nothing is to be closed)
        """Compile the navigator ahead of the first message."""
        for messages in ([_AT_REST], [_AT_REST] * BLOCK):
            for _ in self._poses(messages):
                pass
        self._navigator.reset()

    def work(self) -> None:
        """Answer every message by a pose."""
        for source in self.inlets.values():
            for messages in incoming(source, stop=self.stop):
                began_s = perf_counter()
                for pose in self._poses(messages):
                    self.give(pose)
                self.passed(len(messages), perf_counter() - began_s)

    def _poses(self, messages: Sequence[Imu]) -> Iterator[Pose3D]:
        if len(messages) < BLOCK:
            for each in messages:
                yield pose_of(each.timestamp_ns, self._navigator.update(sample_of(each)))
            return
        result = self._navigator.run(conversion.series_from_imu(messages))
        yield from map(Pose3D.from_record, result.poses())

    def losses(self) -> list[str]:
        """Return what the navigator left out."""
        return [*super().losses(), *self._navigator.report.losses()]

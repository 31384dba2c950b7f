"""Navigation in a pipeline: an IMU and a GNSS receiver in, poses out."""

from __future__ import annotations

import math
from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, Final

from strapdown._words import counted
from strapdown.bridges.live.navigation import LiveNavigation
from strapdown.bridges.live.pipeline.part import Part, State
from strapdown.bridges.live.pipeline.stages import params_of
from strapdown.estimation.navigation import NavigatorParams
from strapdown.messages import Imu, NavSatFix, Pose3D

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.bridges.live.pipeline.tables import Table

__all__ = ["NavigateStage"]

_SLICE_S: Final = 0.05
"""Longest wait for a message before the stage looks whether it is to end [s]."""
_OVER: Final = (State.ENDED, State.FAILED)


class NavigateStage(Part):
    """Inertial navigation aided by fixes, as that of ``strapdown navigate``.

    In a pipeline without pacing a sample waits for a fix that is later, so that all are processed
    in the order of their stamps; otherwise samples are answered at once.
    """

    SOURCES = range(2, 3)
    gives = Pose3D

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._navigation = LiveNavigation(
            params_of(table, NavigatorParams()),
            lever_arm=table.floats("lever_arm", 3) or (0.0, 0.0, 0.0),
            latency=table.get("latency", float, 0.0),
        )

    def join(self, parts: Sequence[Part]) -> None:
        """Receive samples from one stage, and fixes from the other."""
        super().join(parts)
        by_type = {part.gives: part for part in parts}
        if by_type.keys() != {Imu, NavSatFix}:
            got = ", ".join(f"{getattr(p.gives, '__name__', '')} from {p.name!r}" for p in parts)
            raise self.table.error(
                f"expected one part of Imu and one of NavSatFix, got {got}", "from"
            )
        self._imu, self._gnss = by_type[Imu], by_type[NavSatFix]
        self.rate_hz = self._imu.rate_hz

    def work(self) -> None:
        """Answer every sample after the start by a pose."""
        imu, fixes = self.inlets[self._imu.name], self.inlets[self._gnss.name]
        waiting, is_last = deque[Imu](), False
        while not is_last:
            is_last = self.stop.is_set()
            waits = self.waits and not is_last and self._gnss.state not in _OVER
            for fix in fixes.recv_all():
                self._navigation.aid(fix)
            if is_last:
                waiting.extend(imu.recv_all())
            elif not waiting and (first := imu.recv(timeout=_SLICE_S)) is not None:
                waiting.extend((first, *imu.recv_all()))
            self._answer(waiting, self._navigation.known_ns if waits else math.inf)
            if waiting and (late := fixes.recv(timeout=_SLICE_S)) is not None:
                self._navigation.aid(late)
        for pose in self._navigation.finish():
            self.give(pose)
        self.notes += self._navigation.notes

    def _answer(self, waiting: deque[Imu], before_ns: float) -> None:
        """Process the samples whose stamps are before a limit."""
        began_s, count = perf_counter(), 0
        while waiting and waiting[0].timestamp_ns < before_ns:
            for pose in self._navigation.take(waiting.popleft()):
                self.give(pose)
            count += 1
        if count:
            self.passed(count, perf_counter() - began_s)

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

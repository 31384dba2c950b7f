"""Navigation in a pipeline: an IMU, a GNSS receiver and a barometer in, poses out."""

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
from strapdown.messages import FluidPressure, Imu, NavSatFix, Pose3D, TwistWithCovarianceStamped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.bridges.live.pipeline.tables import Table

__all__ = ["NavigateStage"]

_SLICE_S: Final = 0.05
"""Longest wait for a message before the stage looks whether it is to end [s]."""
_AIDS: Final = (NavSatFix, TwistWithCovarianceStamped, FluidPressure)
_OVER: Final = (State.ENDED, State.FAILED)


class NavigateStage(Part):
    """Inertial navigation aided by fixes, as that of ``strapdown navigate``.

    In a pipeline without pacing a sample waits for aiding of every kind that is later, so that all
    is processed in the order of its stamps; otherwise samples are answered at once.
    """

    SOURCES = range(2, 5)
    gives = Pose3D

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._navigation = LiveNavigation(
            params_of(table, NavigatorParams()),
            lever_arm=table.floats("lever_arm", 3) or (0.0, 0.0, 0.0),
            latency=table.get("latency", float, 0.0),
        )

    def join(self, parts: Sequence[Part]) -> None:
        """Receive samples and fixes, and velocities and pressures where stages give them."""
        super().join(parts)
        kinds = [part.gives for part in parts]
        if len({*kinds}) < len(kinds) or not {Imu, NavSatFix} <= {*kinds} <= {Imu, *_AIDS}:
            got = ", ".join(f"{getattr(p.gives, '__name__', '')} from {p.name!r}" for p in parts)
            line = (
                "expected parts of Imu, of NavSatFix and optionally of TwistWithCovarianceStamped "
                f"and FluidPressure, got {got}"
            )
            raise self.table.error(line, "from")
        self._imu = parts[kinds.index(Imu)]
        self._aids = [part for part in parts if part is not self._imu]
        self.rate_hz = self._imu.rate_hz

    def work(self) -> None:
        """Answer every sample after the start by a pose."""
        imu = self.inlets[self._imu.name]
        waiting, is_last = deque[Imu](), False
        known_ns = dict.fromkeys((part.name for part in self._aids), -math.inf)
        while not is_last:
            is_last = self.stop.is_set()
            live = [part.name for part in self._aids if part.state not in _OVER]
            for name in known_ns:
                for message in self.inlets[name].recv_all():
                    known_ns[name] = self._navigation.aid(message)
            if is_last:
                waiting.extend(imu.recv_all())
            elif not waiting and (first := imu.recv(timeout=_SLICE_S)) is not None:
                waiting.extend((first, *imu.recv_all()))
            behind = live if self.waits and not is_last else []
            self._answer(waiting, min((known_ns[name] for name in behind), default=math.inf))
            if waiting:
                slowest = min(behind, key=lambda name: known_ns[name])
                if (late := self.inlets[slowest].recv(timeout=_SLICE_S)) is not None:
                    known_ns[slowest] = self._navigation.aid(late)
        for pose in self._navigation.finish():
            self.give(pose)
        self.notes += self._navigation.notes
        if unused := self._navigation.unused:
            self.notes.append(
                f"{counted(unused, 'message')} not used: fixes without position, velocities "
                "without fix or covariance, or messages before the first sample"
            )

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

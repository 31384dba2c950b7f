"""Base of the stages that take slower sensors next to an IMU."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Final

from strapdown.bridges.live.pipeline.part import Part, State
from strapdown.messages import Imu, Pose3D

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["AidedStage"]

_SLICE_S: Final = 0.05
"""Longest wait for a message before the stage looks whether it is to end [s]."""
_OVER: Final = (State.ENDED, State.FAILED)


class AidedStage(Part):
    """Stage that answers samples of an IMU by poses, aided by messages of slower sensors.

    In a pipeline without pacing a sample waits for aiding that is later, so that all are processed
    in the order of their stamps; otherwise samples are answered at once.
    """

    gives = Pose3D
    AIDS: ClassVar[tuple[type[Any], ...]] = ()
    """Types of the messages that aid it, besides those of the IMU."""
    OPTIONAL: ClassVar[tuple[type[Any], ...]] = ()
    """Others, which may be missing."""

    @abstractmethod
    def aid(self, message: Any) -> int:  # noqa: ANN401 (one of its types)
        """Use a message that aids, from the next sample on; return its time [ns]."""

    @abstractmethod
    def poses(self, messages: Sequence[Imu]) -> Iterator[Pose3D]:
        """Yield the poses that samples complete."""

    def finish(self) -> Iterator[Pose3D]:
        """Yield the poses of samples that waited until the end."""
        yield from ()

    def join(self, parts: Sequence[Part]) -> None:
        """Receive samples from one stage, and what aids them from others."""
        super().join(parts)
        kinds = [part.gives for part in parts]
        needed: list[type[Any]] = [Imu, *self.AIDS]
        if len({*kinds}) < len(kinds) or not {*needed} <= {*kinds} <= {*needed, *self.OPTIONAL}:
            got = ", ".join(f"{getattr(p.gives, '__name__', '')} from {p.name!r}" for p in parts)
            wanted = ", of ".join(each.__name__ for each in needed)
            optional = " and ".join(each.__name__ for each in self.OPTIONAL)
            line = f"expected parts of {wanted} and optionally of {optional}, got {got}"
            raise self.table.error(line, "from")
        self._imu = parts[kinds.index(Imu)]
        self._aids = [part for part in parts if part is not self._imu]
        self.rate_hz = self._imu.rate_hz

    def work(self) -> None:
        """Answer every sample by a pose."""
        imu = self.inlets[self._imu.name]
        waiting, is_last = deque[Imu](), False
        known_ns = dict.fromkeys((part.name for part in self._aids), -math.inf)
        while not is_last:
            is_last = self.stop.is_set()
            live = [part.name for part in self._aids if part.state not in _OVER]
            if is_last:
                waiting.extend(imu.recv_all())
            elif not waiting and (first := imu.recv(timeout=_SLICE_S)) is not None:
                waiting.extend((first, *imu.recv_all()))
            for name in known_ns:
                for message in self.inlets[name].recv_all():
                    known_ns[name] = self.aid(message)
            behind = live if self.waits and not is_last else []
            self._answer(waiting, min((known_ns[name] for name in behind), default=math.inf))
            if waiting:
                slowest = min(behind, key=lambda name: known_ns[name])
                if (late := self.inlets[slowest].recv(timeout=_SLICE_S)) is not None:
                    known_ns[slowest] = self.aid(late)
        for pose in self.finish():
            self.give(pose)

    def _answer(self, waiting: deque[Imu], before_ns: float) -> None:
        """Process the samples whose stamps are before a limit."""
        began_s, messages = perf_counter(), list[Imu]()
        while waiting and waiting[0].timestamp_ns < before_ns:
            messages.append(waiting.popleft())
        if messages:
            for pose in self.poses(messages):
                self.give(pose)
            self.passed(len(messages), perf_counter() - began_s)

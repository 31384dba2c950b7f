"""Coverage: the share of the recorded time that the intervals of a stream account for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from strapdown.errors import FormatError
from strapdown.formats.recording import is_whole

if TYPE_CHECKING:
    from typing import Self

    from strapdown._typing import IntArray
    from strapdown.formats.recording import Recording
    from strapdown.series import ImuSeries, Increments

__all__ = ["ANYWAY", "LEAST_COVERAGE", "LEAST_FUSED", "Coverage", "refuse_uncovered", "share_of"]

LEAST_COVERAGE: Final = 0.99
"""Intervals that cover less of the time are a thinned stream and are not integrated."""
LEAST_FUSED: Final = 0.5
"""Estimators bridge gaps, but not most of the motion: a stream that covers less is not fused."""
ANYWAY: Final = "pass anyway=True (--anyway) to use it nevertheless"


@dataclass
class Coverage:
    """Sum of the intervals over the time from the start of the first to the end of the last."""

    covered_ns: int = 0
    begin_ns: int | None = None
    end_ns: int = 0

    @classmethod
    def of(cls, t_ns: IntArray, dt_ns: IntArray) -> Self:
        """Return the coverage of a complete set of intervals, given as for :meth:`add`."""
        coverage = cls()
        coverage.add(t_ns, dt_ns)
        return coverage

    def add(self, t_ns: IntArray, dt_ns: IntArray) -> None:
        """Add intervals by their ends and lengths, both (N,) int64 [ns]."""
        if len(t_ns):
            begin, end = int((t_ns - dt_ns).min()), int(t_ns.max())
            self.begin_ns = begin if self.begin_ns is None else min(begin, self.begin_ns)
            self.end_ns = max(end, self.end_ns)
            self.covered_ns += int(dt_ns.sum())

    @property
    def share(self) -> float:
        """The coverage: 1 without intervals, 0 where all lengths are zero."""
        if self.begin_ns is None:
            return 1.0
        span_ns = self.end_ns - self.begin_ns
        return self.covered_ns / span_ns if span_ns > 0 else 0.0

    def shortfall(self, name: str, remedy: str) -> list[str]:
        """Return a line with the coverage and the remedy where too much time is missing."""
        if self.share >= LEAST_COVERAGE:
            return []
        share = f"{self.share:.1%}"
        return [
            f"{name}: its intervals cover {share} of the time, too little to integrate; {remedy}"
        ]


def share_of(recording: Recording, topic: str) -> float:
    """Return the coverage of an IMU topic: 1 where its samples have no intervals."""
    if topic in recording.increments:
        windows = recording.increments[topic]
        return Coverage.of(windows.t_ns, windows.delta_angle_dt_ns).share
    return recording.report.coverage.get(topic, 1.0)


def refuse_uncovered(
    recording: Recording, topic: str, share: float, *, least: float = LEAST_COVERAGE
) -> None:
    """Raise an error if a topic covers too little of the time.

    Raises
    ------
    FormatError
        The share is below ``least``; the message names the longest topic that covers enough.
    """
    if share >= least:
        return
    sources: dict[str, ImuSeries | Increments] = {**recording.imu, **recording.increments}
    serving = [
        name
        for name, source in sources.items()
        if name != topic and is_whole(source) and share_of(recording, name) >= least
    ]
    longest = max(serving, key=lambda name: len(sources[name]), default=None)
    remedy = (
        "log the samples, or every window"
        if longest is None
        else f"use {longest} (--topic {longest}), which covers {share_of(recording, longest):.1%}"
    )
    raise FormatError(
        f"expected windows that cover {least:.0%} of the time, got {share:.1%} in {topic}; "
        f"{remedy}; {ANYWAY}",
        path=recording.path,
        topic=topic,
    )

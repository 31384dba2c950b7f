"""Coverage: the share of the recorded time that the intervals of a stream account for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Self

    from strapdown._typing import IntArray

__all__ = ["LEAST_COVERAGE", "Coverage"]

LEAST_COVERAGE: Final = 0.99
"""Intervals that cover less of the time are a thinned stream and are not integrated."""


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

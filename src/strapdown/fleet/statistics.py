"""Statistics that merge: of parts of the runs, in any grouping, without their values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Moments"]


@dataclass(frozen=True)
class Moments:
    """Count, mean, squared deviations and limits of numbers.

    Parameters
    ----------
    count : int
        Numbers.
    mean : float
        Their mean; 0 if there is none.
    squares : float
        Sum of their squared deviations from the mean.
    smallest, largest : float
        Limits; infinite if there is none.

    Examples
    --------
    >>> low, high = Moments.of([1.0, 2.0]), Moments.of([6.0])
    >>> low.merge(high)
    Moments(count=3, mean=3.0, squares=14.0, smallest=1.0, largest=6.0)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    smallest: float = math.inf
    largest: float = -math.inf

    @classmethod
    def of(cls, values: Iterable[float]) -> Moments:
        """Return the moments of numbers."""
        found = cls()
        for value in values:
            found = found.merge(cls(1, value, 0.0, value, value))
        return found

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both together (T. F. Chan, G. H. Golub, R. J. LeVeque, 1979)."""
        if not (self.count and other.count):
            return self if self.count else other
        count = self.count + other.count
        step = other.mean - self.mean
        return Moments(
            count,
            self.mean + step * (other.count / count),
            self.squares + other.squares + step * step * (self.count * other.count / count),
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
        )

    @property
    def deviation(self) -> float:
        """Standard deviation of the sample; NaN of fewer than two numbers."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else math.nan

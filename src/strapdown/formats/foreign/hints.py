"""What the user states about a table of another program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from strapdown.geometry.frames import BodyFrame

__all__ = ["Hints"]


@dataclass(frozen=True)
class Hints:
    """Facts about a table that the user states.

    Parameters
    ----------
    units : mapping of str to str
        By quantity, or ``"time"``.
    rate_hz : float, optional
        Sampling rate, where rows or a counter are the time [Hz].
    names : sequence of str
        Names to go by, column by column, where the table has none or says little.
    words : sequence of str
        Words in the names of the columns to take where several would do.
    body : BodyFrame or name, optional
        Directions of the axes, by default FLU, or as the known layout has them.
    """

    units: Mapping[str, str] = field(default_factory=dict)
    rate_hz: float | None = None
    names: Sequence[str] = ()
    words: Sequence[str] = ()
    body: BodyFrame | str | None = None

    @property
    def states_columns(self) -> bool:
        """Whether anything is stated about columns or units."""
        return bool(self.units or self.names or self.words or self.rate_hz)

"""A measurement: from the states of a device's frame to the numbers that a controller reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.webots.scene.scene import BodyStates

__all__ = ["Columnar", "Measurement", "Memoryless", "Row", "one_by_one", "rows_of"]

Row: TypeAlias = "tuple[Any, ...]"
"""What a measurement prepares of one state, in plain numbers."""


class Measurement(Protocol):
    """How one device turns states into values."""

    @property
    def width(self) -> int:
        """How many values a refresh gives."""
        ...

    def prepare(self, states: BodyStates) -> Sequence[Row]:
        """Return one row for each state of the sensor's frame: all that needs no history."""
        ...

    def start(self, row: Row) -> None:
        """Take the state at which an enable took effect: a first period begins here."""
        ...

    def take(self, row: Row, dt_s: float, /) -> list[float]:
        """Return the values of one refresh.

        Parameters
        ----------
        row : tuple
            From :meth:`prepare`.
        dt_s : float
            Since the last refresh or enable [s]; infinite right after a reset of a release.
        """
        ...

    def batch(self, states: BodyStates, dt_s: FloatArray, /) -> FloatArray:
        """Return the values (N, width) of refreshes at N states, as :meth:`take` would."""
        ...

    def reset(self) -> None:
        """Forget what a simulation reset makes a device forget."""
        ...

    def configure(self) -> None:
        """Read the fields of the node again."""
        ...


class Memoryless:
    """A measurement that needs nothing of the past."""

    def start(self, row: Row) -> None:
        """Need no beginning."""

    def reset(self) -> None:
        """Have nothing to forget."""


class Columnar(Memoryless, ABC):
    """A memoryless measurement whose rows are those of one array."""

    def prepare(self, states: BodyStates) -> list[Row]:
        """Return what a refresh needs of each state."""
        return rows_of(self._columns(states))

    @abstractmethod
    def _columns(self, states: BodyStates) -> FloatArray:
        """Return what a refresh needs of N states, (K, N)."""


def rows_of(columns: FloatArray) -> list[Row]:
    """Return the rows of columns (K, N) in plain numbers; faster than the list of an array."""
    return list(zip(*columns.tolist(), strict=True))


def one_by_one(measurement: Measurement, states: BodyStates, dt_s: FloatArray) -> FloatArray:
    """Return the refreshes (N, width) at N states, each taken in turn."""
    rows = zip(measurement.prepare(states), dt_s.tolist(), strict=True)
    return np.array([measurement.take(*row) for row in rows]).reshape(-1, measurement.width)

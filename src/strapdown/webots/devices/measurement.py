"""Interface of measurements: from the states of a device's frame to a controller's readings."""

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
"""Plain numbers that a measurement prepares from one state."""


class Measurement(Protocol):
    """Measurement of one device: converts states to values."""

    @property
    def width(self) -> int:
        """Number of values in a refresh."""
        ...

    def prepare(self, states: BodyStates) -> Sequence[Row]:
        """Return one row for each state of the sensor's frame, with all that needs no history."""
        ...

    def start(self, row: Row) -> None:
        """Start a first period at the state at which the device was enabled."""
        ...

    def take(self, row: Row, dt_s: float, /) -> list[float]:
        """Return the values of one refresh.

        Parameters
        ----------
        row : tuple
            From :meth:`prepare`.
        dt_s : float
            Time since the last refresh or enable [s]; infinite right after a reset of a release.
        """
        ...

    def batch(self, states: BodyStates, dt_s: FloatArray, /) -> FloatArray:
        """Return the values (N, width) of refreshes at N states, as :meth:`take` would."""
        ...

    def reset(self) -> None:
        """Reset the state that a simulation reset clears."""
        ...

    def configure(self) -> None:
        """Read the fields of the node again."""
        ...


class Memoryless:
    """Measurement without a state."""

    def start(self, row: Row) -> None:
        """Do nothing: there is no state."""

    def reset(self) -> None:
        """Do nothing: there is no state."""


class Columnar(Memoryless, ABC):
    """Memoryless measurement whose rows are those of one array."""

    def prepare(self, states: BodyStates) -> list[Row]:
        """Return the inputs of a refresh for each state."""
        return rows_of(self._columns(states))

    @abstractmethod
    def _columns(self, states: BodyStates) -> FloatArray:
        """Return the inputs of refreshes at N states, (K, N)."""


def rows_of(columns: FloatArray) -> list[Row]:
    """Return the rows of columns (K, N) in plain numbers; faster than the list of an array."""
    return list(zip(*columns.tolist(), strict=True))


def one_by_one(measurement: Measurement, states: BodyStates, dt_s: FloatArray) -> FloatArray:
    """Return the refreshes (N, width) at N states, computed one after another."""
    rows = zip(measurement.prepare(states), dt_s.tolist(), strict=True)
    return np.array([measurement.take(*row) for row in rows]).reshape(-1, measurement.width)

"""What measurements share: rows of states before, and the last stage after.

The last stage is lookup table, switched-off axes and resolution.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from strapdown._compile import compiled
from strapdown.webots import formulas as kernels
from strapdown.webots.profiles import Rounding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.webots.conventions import Conventions
    from strapdown.webots.measuring import Measurement
    from strapdown.webots.node import Node
    from strapdown.webots.profiles import Profile
    from strapdown.webots.scene import BodyStates

__all__ = [
    "AXES",
    "Columnar",
    "Memoryless",
    "Output",
    "Row",
    "Setting",
    "draw",
    "one_by_one",
    "rounding",
    "rows_of",
]

Row: TypeAlias = "tuple[Any, ...]"
"""What a measurement prepares of one state, in plain numbers."""

AXES: Final = ("xAxis", "yAxis", "zAxis")


class Setting(NamedTuple):
    """What a device finds in its world."""

    profile: Profile
    conventions: Conventions
    gaussian: Callable[[], float]
    """Gives the next standard normal number of the device's stream."""
    warn: Callable[[str], None]
    """Takes the text of a warning."""


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


class Output:
    """What a device does to three values before a controller reads them.

    Disabled axes are neither looked up nor rounded.

    Parameters
    ----------
    node : Node
        Of the device, with ``resolution`` and the three axes.
    setting : Setting
    axes : three field names
        What switches each value on.
    rounded : three field names, optional
        What switches the rounding of each value on, in place of ``axes``.
    """

    apply: Callable[[Sequence[float]], list[float]]
    """Returns what becomes of the values of one refresh, as a fresh list."""
    draws: bool
    """Whether the lookup table has noise."""

    def __init__(
        self,
        node: Node,
        setting: Setting,
        *,
        axes: Sequence[str] = AXES,
        rounded: Sequence[str] | None = None,
    ) -> None:
        self._node = node
        self._gaussian = setting.gaussian
        self._axes = axes
        self._rounded_axes = axes if rounded is None else rounded
        self._symmetric = setting.profile.rounding is Rounding.SYMMETRIC
        self._round = rounding(setting.profile)
        self.configure()

    def configure(self) -> None:
        """Read the fields of the node again."""
        node = self._node
        self._resolution = node.number("resolution")
        self._enabled = [i for i in range(3) if node.flag(self._axes[i])]
        self._disabled = [i for i in range(3) if i not in self._enabled]
        rounds = self._resolution != -1.0
        self._rounded = [i for i in range(3) if rounds and node.flag(self._rounded_axes[i])]
        self._table = node.vectors("lookupTable")
        self.draws = any(row[2] != 0.0 for row in self._table)
        plain = not (self._table or self._disabled or self._rounded)
        self.apply = list if plain else self._apply

    def _apply(self, values: Sequence[float]) -> list[float]:
        out = list(values)
        if self._table:
            for i in self._enabled:
                value, noise = kernels.look_up(out[i], self._table)
                out[i] = value * (1.0 + noise * self._gaussian()) if noise else value
        for i in self._disabled:
            out[i] = math.nan
        for i in self._rounded:
            out[i] = self._round(out[i], self._resolution)
        return out

    def apply_rows(self, values: FloatArray) -> None:
        """Do in place to (N, 3) values what :meth:`apply` does to each row in turn."""
        if self._table:
            inputs = np.ascontiguousarray(values[:, self._enabled])
            outputs, noises = np.empty_like(inputs), np.empty_like(inputs)
            compiled(kernels.look_up_values)(
                inputs.ravel(), np.array(self._table), outputs.ravel(), noises.ravel()
            )
            drawn = noises != 0.0
            numbers = draw(self._gaussian, int(np.count_nonzero(drawn)))
            outputs[drawn] *= 1.0 + noises[drawn] * numbers
            values[:, self._enabled] = outputs
        values[:, self._disabled] = math.nan
        if self._rounded:
            steps = np.ascontiguousarray(values[:, self._rounded])
            compiled(kernels.round_values)(steps.ravel(), self._resolution, self._symmetric)
            values[:, self._rounded] = steps


def rows_of(columns: FloatArray) -> list[Row]:
    """Return the rows of columns (K, N) in plain numbers; faster than the list of an array."""
    return list(zip(*columns.tolist(), strict=True))


def one_by_one(measurement: Measurement, states: BodyStates, dt_s: FloatArray) -> FloatArray:
    """Return the refreshes (N, width) at N states, each taken in turn."""
    rows = zip(measurement.prepare(states), dt_s.tolist(), strict=True)
    return np.array([measurement.take(*row) for row in rows]).reshape(-1, measurement.width)


def draw(gaussian: Callable[[], float], count: int) -> FloatArray:
    """Return the next normal numbers (count,) of a stream."""
    return np.array([gaussian() for _ in range(count)])


def rounding(profile: Profile) -> Callable[[float, float], float]:
    """Return how a profile brings a value to a resolution: both are the arguments."""
    return kernels.nearest if profile.rounding is Rounding.SYMMETRIC else kernels.truncated

"""Last stage of a measurement: lookup table, switched-off axes and resolution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown._kernels.compilation import compiled
from strapdown.webots.devices import formulas as kernels
from strapdown.webots.profiles import Rounding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.webots.file.conventions import Conventions
    from strapdown.webots.file.node import Node
    from strapdown.webots.profiles import Profile

__all__ = ["AXES", "Output", "Setting", "draw", "rounding"]

AXES: Final = ("xAxis", "yAxis", "zAxis")


class Setting(NamedTuple):
    """Properties of the world that a measurement uses."""

    profile: Profile
    conventions: Conventions
    gaussian: Callable[[], float]
    """Returns the next standard normal number of the device's stream."""
    warn: Callable[[str], None]
    """Called with the text of a warning."""


class Output:
    """Processing of three values before a controller reads them.

    Disabled axes are neither looked up nor rounded.

    Parameters
    ----------
    node : Node
        Node of the device, with ``resolution`` and the three axes.
    setting : Setting
    axes : three field names
        Fields that enable each value.
    rounded : three field names, optional
        Fields that enable the rounding of each value, in place of ``axes``.
    """

    apply: Callable[[Sequence[float]], list[float]]
    """Returns the processed values of one refresh, as a new list."""
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
        """Apply :meth:`apply` in place to each row of values (N, 3)."""
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


def draw(gaussian: Callable[[], float], count: int) -> FloatArray:
    """Return the next normal numbers (count,) of a stream."""
    return np.array([gaussian() for _ in range(count)])


def rounding(profile: Profile) -> Callable[[float, float], float]:
    """Return a profile's function of value and resolution that rounds the value."""
    return kernels.nearest if profile.rounding is Rounding.SYMMETRIC else kernels.truncated

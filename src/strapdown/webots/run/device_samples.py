"""Samples of one device of a world, as they come."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.webots.devices.device import DeviceState

__all__ = ["DeviceSamples"]


class DeviceSamples:
    """Samples of one device: steps and values.

    Parameters
    ----------
    device : DeviceState
    width : int
        Values of a sample.

    Attributes
    ----------
    device : DeviceState
    steps : array of int
        Steps of single samples, which follow those of the blocks.
    values : array of float
        Their values, one sample after the other.
    """

    def __init__(self, device: DeviceState, width: int) -> None:
        self.device = device
        self.steps = array("q")
        self.values = array("d")
        self._width = width
        self._blocks: list[tuple[IntArray, FloatArray]] = []
        """Blocks of batches, which precede ``steps`` and ``values``."""

    def add(self, steps: IntArray, values: FloatArray) -> None:
        """Add a block of samples; the caller must not modify it any more."""
        if self.steps:
            self._blocks.append(self._after_blocks())
            del self.steps[:], self.values[:]
        self._blocks.append((steps, values))

    def table(self) -> tuple[IntArray, FloatArray]:
        """Return the steps (N,) and the values (N, width)."""
        steps, values = zip(*self._blocks, self._after_blocks(), strict=True)
        return np.concatenate(steps), np.concatenate(values)

    def clear(self) -> None:
        """Discard all samples."""
        del self._blocks[:], self.steps[:], self.values[:]

    def __len__(self) -> int:
        return len(self.steps) + sum(len(steps) for steps, _ in self._blocks)

    def _after_blocks(self) -> tuple[IntArray, FloatArray]:
        return np.array(self.steps), np.array(self.values).reshape(-1, self._width)

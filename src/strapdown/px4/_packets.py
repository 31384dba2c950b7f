"""Batches of FIFO messages: valid entries, saturation and axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.px4.rotations import rotate_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import BoolArray

__all__ = [
    "AXES",
    "CAPACITY",
    "copied",
    "filled",
    "is_clipped",
    "last_samples",
    "rotated",
    "usable",
]

AXES: Final = ("x", "y", "z")
CAPACITY: Final = 32
_LOWEST, _HIGHEST = np.int16(-32767), np.int16(32766)


def usable(packets: NDArray[np.void]) -> BoolArray:
    """Return which packets hold 1 to 32 samples and a scale above 0, (K,)."""
    samples, scale = packets["samples"], packets["scale"]
    return (scale > 0.0) & (scale < np.inf) & (samples >= 1) & (samples <= CAPACITY)


def filled(samples: NDArray[np.integer]) -> BoolArray:
    """Return which entries of packets hold samples, (K, 32), by their number (K,)."""
    valid: BoolArray = np.arange(CAPACITY) < samples[:, None]
    return valid


def is_clipped(counts: NDArray[np.int16]) -> BoolArray:
    """Return which raw samples are saturated, in the same shape."""
    return (counts <= _LOWEST) | (counts >= _HIGHEST)


def copied(records: NDArray[np.void]) -> NDArray[np.void]:
    """Copy records with zero padding, which a copy by numpy leaves undefined."""
    copy = np.zeros(records.shape, records.dtype)
    copy[:] = records
    return copy


def rotated(records: NDArray[np.void], rotation: int) -> NDArray[np.void]:
    """Return packets with their samples rotated to the axes of the board."""
    if rotation == 0:
        return records
    records, valid = copied(records), filled(records["samples"])
    counts = np.stack([records[axis][valid] for axis in AXES], axis=1)
    for axis, turned in zip(AXES, rotate_counts(rotation, counts).T, strict=True):
        records[axis][valid] = turned
    return records


def last_samples(packets: NDArray[np.void]) -> NDArray[np.int16]:
    """Return the last sample of each packet, (K, 3)."""
    rows, ends = np.arange(len(packets)), packets["samples"] - np.uint8(1)
    return np.stack([packets[axis][rows, ends] for axis in AXES], axis=1)

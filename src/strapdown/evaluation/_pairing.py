"""Two tracks at the same stamps, and the rows that count."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.geometry import WorldFrame
from strapdown.series.timebase import ordered, resample
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.series import Trajectory

__all__ = ["Pair", "is_place", "is_rotation", "paired", "rms"]


class Pair(NamedTuple):
    """The rows of two tracks that can be compared, in ENU and one body frame."""

    estimate: Trajectory
    reference: Trajectory
    rows: IntArray
    """Which rows of the whole reference these are, from the first of motion and estimate on."""
    excluded: dict[str, int]
    """How many are not, by reason."""
    dropped: int
    """Rows of the estimate left out because their stamp repeats or goes back."""


def paired(
    estimate: Trajectory,
    reference: Trajectory,
    max_gap_ns: int | None,
    *,
    attitude: bool = False,
    position: bool = False,
) -> Pair:
    """Return an estimate at the stamps of a reference, where both know what is asked for."""
    reference = reference.in_frames(world=WorldFrame.ENU)
    track, order = ordered(estimate.in_frames(world=WorldFrame.ENU, body=reference.body), "drop")
    asked = {"velocity_world": None, "moving": None} | (
        {} if position else {"position_world": None}
    )
    there, _ = resample(track.replace(**asked), t_ns=reference.t_ns, max_gap_ns=max_gap_ns)
    counts = np.ones(len(reference), bool) if reference.moving is None else reference.moving
    moving = counts
    excluded = {"not moving": int((~counts).sum())}
    for reason, side in (("without reference", reference), ("without estimate", there)):
        known = np.ones(len(reference), bool)
        if attitude:
            known &= is_rotation(side.q_world_from_body)
        if position:
            known &= is_place(side.position_world, len(side))
        excluded[reason] = int((counts & ~known).sum())
        counts = counts & known
    excluded = {reason: number for reason, number in excluded.items() if number}
    if not counts.any():
        raise ValueRangeError(
            f"expected rows that can be compared, got none of {len(reference)}"
            f" ({', '.join(f'{number} {reason}' for reason, number in excluded.items())}):"
            f" the estimate covers {_span(track)}, the reference {_span(reference)}"
        )
    dropped = order.dropped_duplicates + order.dropped_backward
    rows = np.flatnonzero(counts) - np.flatnonzero(moving & known)[0]
    return Pair(there[counts], reference[counts], rows, excluded, dropped)


def is_rotation(q: FloatArray) -> BoolArray:
    """Return which rows are a rotation: finite, and not all zero."""
    largest: FloatArray = np.max(np.abs(q), axis=1)
    return np.isfinite(largest) & (largest > 0.0)


def is_place(position: FloatArray | None, rows: int) -> BoolArray:
    """Return which rows are a position; none where there is no such column."""
    if position is None:
        return np.zeros(rows, bool)
    return np.asarray(np.isfinite(position).all(axis=1))


def rms(error: FloatArray) -> float:
    """Return the root mean square of numbers, or of the lengths of vectors."""
    return float(np.sqrt(np.sum(error**2) / len(error)))


def _span(track: Trajectory) -> str:
    if not len(track):
        return "no time"
    return f"{track.t_ns.min() / NS_PER_S:.3f} to {track.t_ns.max() / NS_PER_S:.3f} s"

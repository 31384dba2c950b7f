"""Tracks to compare: two at the same stamps, with the rows that count."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.geometry import WorldFrame
from strapdown.series import Trajectory
from strapdown.series.timebase import ordered, resample
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.series.timebase import OrderReport

__all__ = ["Pair", "Track", "as_track", "in_enu", "is_place", "is_rotation", "paired", "rms"]


class HasTrajectory(Protocol):
    """A result with a trajectory, as an attribute or from a method."""

    @property
    def trajectory(self) -> Trajectory | Callable[[], Trajectory]: ...


Track: TypeAlias = "Trajectory | HasTrajectory"
"""A trajectory, or a result that has one."""


class Pair(NamedTuple):
    """The rows of two tracks that can be compared, in ENU and one body frame."""

    estimate: Trajectory
    reference: Trajectory
    rows: IntArray
    """Row numbers in the reference, counted from the first row that moves and has an estimate."""
    excluded: dict[str, int]
    """Number of rows of the reference that do not count, by reason."""
    dropped: int
    """Rows of the estimate left out because their stamp repeats or goes back."""


def as_track(value: object, name: str) -> Trajectory:
    """Return a trajectory, or the one of a result.

    Raises
    ------
    TypeError
        The value is neither.
    """
    track = getattr(value, "trajectory", value)
    track = track() if callable(track) else track
    if not isinstance(track, Trajectory):
        raise TypeError(
            f"expected {name} as a Trajectory or a result with a trajectory, got "
            f"{type(value).__name__}; pass what a filter's run() returned, or build a Trajectory"
        )
    return track


def in_enu(estimate: Track, reference: Track) -> tuple[Trajectory, Trajectory, OrderReport]:
    """Return both tracks in ENU and the body frame of the reference, the estimate in order.

    Samples of the estimate whose stamp repeats or goes back are dropped and reported.
    """
    truth = as_track(reference, "reference").in_frames(world=WorldFrame.ENU)
    track = as_track(estimate, "estimate").in_frames(world=WorldFrame.ENU, body=truth.body)
    track, order = ordered(track, "drop")
    return track, truth, order


def paired(
    estimate: Track,
    reference: Track,
    max_gap_ns: int | None,
    *,
    attitude: bool = False,
    position: bool = False,
) -> Pair:
    """Interpolate an estimate at the stamps of a reference; keep rows where both are known."""
    track, truth, order = in_enu(estimate, reference)
    asked = {"velocity_world": None, "moving": None} | (
        {} if position else {"position_world": None}
    )
    there, _ = resample(track.replace(**asked), t_ns=truth.t_ns, max_gap_ns=max_gap_ns)
    counts = np.ones(len(truth), bool) if truth.moving is None else truth.moving
    moving = counts
    excluded = {"not moving": int((~counts).sum())}
    for reason, side in (("without reference", truth), ("without estimate", there)):
        known = np.ones(len(truth), bool)
        if attitude:
            known &= is_rotation(side.q_world_from_body)
        if position:
            known &= is_place(side.position_world, len(side))
        excluded[reason] = int((counts & ~known).sum())
        counts = counts & known
    excluded = {reason: number for reason, number in excluded.items() if number}
    if not counts.any():
        raise ValueRangeError(
            f"expected rows that can be compared, got none of {len(truth)}"
            f" ({', '.join(f'{number} {reason}' for reason, number in excluded.items())}):"
            f" the estimate covers {_span(track)}, the reference {_span(truth)}"
        )
    dropped = order.dropped_duplicates + order.dropped_backward
    rows = np.flatnonzero(counts) - np.flatnonzero(moving & known)[0]
    return Pair(there[counts], truth[counts], rows, excluded, dropped)


def is_rotation(q: FloatArray) -> BoolArray:
    """Return a mask of the rows that are rotations: finite, and not all zero."""
    largest: FloatArray = np.max(np.abs(q), axis=1)
    return np.isfinite(largest) & (largest > 0.0)


def is_place(position: FloatArray | None, rows: int) -> BoolArray:
    """Return a mask of the rows with a position; all False without that column."""
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

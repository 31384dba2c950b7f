"""Attitudes of a long recording on disk, and their signals."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats.spill import Table
from strapdown.series import Trajectory
from strapdown.viewer.quantities import Frames, attitude, converted, error_angles, error_signal
from strapdown.viewer.signals import Pyramid, Signal
from strapdown.viewer.sources import Pose, nearest

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

__all__ = ["StoredTrack", "difference", "extended"]

_AROUND: Final = 32
"""Rows of the estimate on both sides of those of the reference, for interpolation."""


class StoredTrack:
    """Attitudes on disk, and positions where known; one thread appends while others read.

    Parameters
    ----------
    first : Trajectory
        Its first rows, one or more, which determine the frames.
    """

    def __init__(self, first: Trajectory) -> None:
        self.frames = Frames(first.world, first.body)
        self._rows = Table()
        self._pyramids: defaultdict[Frames | None, Pyramid] = defaultdict(Pyramid)
        self.append(first)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def t_ns(self) -> IntArray:
        """Stamps (N,) of the rows so far."""
        return self._rows.t_ns

    def append(self, rows: Trajectory) -> None:
        """Append rows, which must be later."""
        columns = {"q": rows.q_world_from_body}
        if rows.position_world is not None:
            columns["position"] = rows.position_world
        self._rows.append(rows.t_ns, columns)

    def part(self, start: int, stop: int, frames: Frames | None = None) -> Trajectory:
        """Return rows as a trajectory in frames; None means its own."""
        position = None
        if "position" in self._rows.names:
            position = self._rows.read("position", start, stop)
        track = Trajectory(
            self.t_ns[start:stop],
            self._rows.read("q", start, stop),
            position_world=position,
            world=self.frames.world,
            body=self.frames.body,
        )
        return converted(track, frames)

    def signal(self, frames: Frames | None) -> Signal:
        """Return roll, pitch and yaw in frames; None means its own."""

        def read(start: int, stop: int) -> FloatArray:
            return self.part(start, stop, frames).q_world_from_body

        shown = attitude(self.t_ns, read, self.frames if frames is None else frames)
        shown.pyramid = self._pyramids[frames]
        return shown

    def pose_at(self, t_ns: int) -> Pose:
        """Return the row nearest to a time."""
        row = nearest(self.t_ns, t_ns)
        part = self.part(row, row + 1)
        position = None if part.position_world is None else part.position_world[0]
        return Pose(part.q_world_from_body[0], position, part.world, part.body)

    def positions(self, most: int) -> FloatArray | None:
        """Return at most so many known positions (N, 3), evenly spaced; None without positions."""
        if "position" not in self._rows.names:
            return None
        rows = np.unique(np.linspace(0, len(self) - 1, most).astype(int)).tolist()
        positions = np.concatenate([self._rows.read("position", row, row + 1) for row in rows])
        known: FloatArray = positions[np.isfinite(positions).all(axis=1)]
        return known


def extended(track: StoredTrack | None, rows: Trajectory) -> StoredTrack:
    """Append rows to a track, or begin one with them."""
    if track is None:
        return StoredTrack(rows)
    track.append(rows)
    return track


def difference(estimate: StoredTrack, reference: StoredTrack) -> Signal:
    """Return the error of the estimate where it is as late as the reference."""
    known, t_ns = estimate.t_ns, reference.t_ns
    t_ns = t_ns[: int(np.searchsorted(t_ns, known[-1], "right"))]

    def read(start: int, stop: int) -> FloatArray:
        first, last = np.searchsorted(known, [t_ns[start], t_ns[stop - 1]]).tolist()
        around = max(0, first - _AROUND), min(len(known), last + _AROUND)
        return error_angles(estimate.part(*around), reference.part(start, stop))

    return error_signal(t_ns, read)

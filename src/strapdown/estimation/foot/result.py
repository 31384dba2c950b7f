"""Results of the foot-mounted navigator, and the strides in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from strapdown._words import counted
from strapdown.estimation.navigation.result import NavigationEstimate, NavigationResult
from strapdown.geometry.frames import WorldFrame
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray

__all__ = ["FootEstimate", "FootResult", "GaitResult"]

_SHUFFLE_M = 0.1  # a foot that lands nearer than this, ...
_SHUFFLE_LIFT_M = 0.03  # ... and was lifted less than this, has made no stride


class FootEstimate(NavigationEstimate):
    """Estimates of a streaming foot navigator at the stamp of its last sample; ENU and FLU."""

    __slots__ = ()

    @property
    def stance(self) -> bool:
        """Whether the foot is in a stance."""
        return bool(self._of("stance"))

    @property
    def statistic(self) -> float:
        """Statistic of the motion of the foot (SHOE); NaN if it is not known."""
        value = float(self._of("statistic"))
        return value if value >= 0.0 else float("nan")


@dataclass(frozen=True)
class GaitResult:
    """Strides of one foot: each from the middle of a stance to the middle of the next.

    Parameters
    ----------
    t_start_ns, t_end_ns : (S,) int64
        Of each stride [ns].
    lift_ns, land_ns : (S,) int64
        End of the stance before it, and start of the one after it [ns].
    stride_length : (S,)
        Horizontal [m].
    height_change : (S,)
        Change of height, positive upward [m].
    clearance : (S,)
        Largest height of the sensor above the higher one of the two stances [m].
    duration, stance_time, swing_time : (S,)
        [s]; swing: from lift to land. The stance is the rest of the stride.
    cadence : (S,)
        Steps of both feet a minute, two to a stride [1/min].
    """

    t_start_ns: IntArray
    t_end_ns: IntArray
    lift_ns: IntArray
    land_ns: IntArray
    stride_length: FloatArray
    height_change: FloatArray
    clearance: FloatArray
    duration: FloatArray
    stance_time: FloatArray
    swing_time: FloatArray
    cadence: FloatArray

    def __len__(self) -> int:
        return len(self.t_start_ns)

    @property
    def speed(self) -> FloatArray:
        """Horizontal speed of each stride [m/s]."""
        return np.asarray(self.stride_length / self.duration)

    @property
    def distance(self) -> float:
        """Sum of the stride lengths [m]."""
        return float(self.stride_length.sum())

    def __str__(self) -> str:
        if not len(self):
            return "no strides"
        length, cadence = np.median(self.stride_length), np.median(self.cadence)
        return (
            f"{counted(len(self), 'stride')}, {self.distance:.1f} m, median {length:.2f} m "
            f"at {cadence:.0f} steps/min"
        )

    def __repr__(self) -> str:
        return f"GaitResult({self})"


@dataclass(frozen=True, eq=False, repr=False)
class FootResult(NavigationResult):
    """Path of a foot, and its stances.

    Parameters
    ----------
    stance : (N,) bool
        Whether the foot is in a stance.
    statistic : (N,)
        Statistic of the motion of the foot (SHOE); NaN where it is not known.
    **others
        As in :class:`~strapdown.estimation.NavigationResult`.
    """

    stance: BoolArray = field(default_factory=lambda: np.zeros(0, bool))
    statistic: FloatArray = field(default_factory=lambda: np.zeros(0))

    def gait(self) -> GaitResult:
        """Return the strides."""
        track = self.trajectory().in_frames(world=WorldFrame.ENU)
        position = track.position_world
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.stance, [0]])))
        begins, ends = edges[::2], edges[1::2] - 1
        middles = (begins + ends) // 2
        start, end, lift, land = middles[:-1], middles[1:], ends[:-1], begins[1:]
        if position is None or not len(start):
            start = end = lift = land = np.zeros(0, np.int64)
            position = np.zeros((max(len(self), 1), 3))
        way = position[end] - position[start]
        top = np.array([position[a : b + 1, 2].max() for a, b in zip(start, end, strict=True)])
        clearance = top - np.maximum(position[start, 2], position[end, 2])
        length = np.hypot(way[:, 0], way[:, 1])
        real = (length > _SHUFFLE_M) | (clearance > _SHUFFLE_LIFT_M)
        t = self.t_ns
        duration = (t[end] - t[start]) / NS_PER_S
        swing = (t[land] - t[lift]) / NS_PER_S
        columns = (
            t[start], t[end], t[lift], t[land], length, way[:, 2], clearance,
            duration, duration - swing, swing, 120.0 / np.maximum(duration, 1e-9),
        )  # fmt: skip
        return GaitResult(*(column[real] for column in columns))

"""Motion of two segments on a common grid, each in the world of its own orientation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.calibration.pair.grid import Grid
from strapdown.calibration.pair.signals import (
    Curve,
    ImuSignals,
    PoseSignals,
    pose_signals,
    signals_of,
)
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.samples import SampleKind
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["Segment", "Segments", "gaps", "segments_of"]

WHOLE: Final = 1.5
"""Part of a step of the grid above which there is a gap."""
SHORTEST_S: Final = 10.0
"""Shortest motion that both sensors must have recorded."""


@dataclass(frozen=True, eq=False)
class Segment:
    """One segment at K instants of the grid.

    Parameters
    ----------
    rotation : (K, 3, 3)
        World from sensor, at the instants.
    mean_rotation : (K, 3, 3)
        The same, averaged over 0.2 s.
    curvature : (K, 3, 3)
        Second derivative of the rotation, averaged [1/s^2]. Times a lever arm in sensor axes, it
        is the acceleration of that point relative to the sensor.
    force : (K, 3)
        Specific force in world axes, averaged [m/s^2].
    force_body : (K, 3)
        The same in sensor axes.
    """

    rotation: FloatArray
    mean_rotation: FloatArray
    curvature: FloatArray
    force: FloatArray
    force_body: FloatArray

    @cached_property
    def force_products(self) -> FloatArray:
        """Derivatives (K, 3, 9) of the force by the elements of a matrix, row by row [m/s^2]."""
        products: FloatArray = np.einsum("kij,kl->kijl", self.mean_rotation, self.force_body)
        return products.reshape(-1, 3, 9)


@dataclass(frozen=True, eq=False)
class Segments:
    """Both segments at the same instants.

    Parameters
    ----------
    t_s : (K,)
        Time since ``start_ns`` [s]; without the instants at which a sensor is unknown.
    start_ns : int
        Stamp of time 0 [ns].
    delay_s : float
        Delay of the second clock that was removed [s].
    first, second : Segment
    """

    t_s: FloatArray
    start_ns: int
    delay_s: float
    first: Segment
    second: Segment


def segments_of(
    series: tuple[ImuSeries, ImuSeries],
    orientations: tuple[Trajectory, Trajectory],
    kind: SampleKind,
    delay_s: float = 0.0,
) -> Segments:
    """Return the motion of two segments from samples and orientations.

    Parameters
    ----------
    series : two of ImuSeries
    orientations : two of Trajectory
        Of the sensors, each in a world of its own with z up.
    kind : SampleKind
        Of the samples: a mean is that of the middle of its interval.
    delay_s : float
        Stamps of the second less those of the first for the same instant [s].

    Raises
    ------
    ShapeError
        A sensor has too few samples, or no specific force.
    ValueRangeError
        The recordings do not overlap for 10 s.
    """
    sources = [
        _Sources.of(each, pose, name, delay)
        for each, pose, name, delay in zip(
            series, orientations, ("first", "second"), (0.0, delay_s), strict=True
        )
    ]
    start_ns = max(each.start_ns for each in sources)
    end_s = min(each.imu.span_s[1] - each.since(start_ns) for each in sources)
    grid = Grid.over(0.0, max(end_s, 0.0), *(each.imu for each in sources))
    known = np.zeros(0, bool)
    if grid.count:
        known = grid.covered(np.logical_and(*(each.known(grid, start_ns) for each in sources)))
    seconds = float(known.sum()) * grid.step_s
    if seconds < SHORTEST_S:
        raise ValueRangeError(
            f"expected at least {SHORTEST_S:g} s in which both sensors have samples, got "
            f"{seconds:.3g} s; check that both recordings have one clock"
        )
    first, second = (each.segment(grid, known, start_ns, kind) for each in sources)
    return Segments(grid.t_s[known], start_ns, delay_s, first, second)


def gaps(t_s: FloatArray) -> IntArray:
    """Return the indices of the instants of the grid (K,) before a gap."""
    steps = np.diff(t_s)
    return np.flatnonzero(steps > WHOLE * np.median(steps))


class _Sources(NamedTuple):
    """Samples and orientation of a sensor as functions of time.

    Parameters
    ----------
    imu : ImuSignals
    force : Curve
        Specific force [m/s^2].
    pose : PoseSignals
    delay_s : float
        Of the clock of the sensor [s].
    """

    imu: ImuSignals
    force: Curve
    pose: PoseSignals
    delay_s: float

    @classmethod
    def of(cls, series: ImuSeries, orientation: Trajectory, name: str, delay_s: float) -> _Sources:
        """Return the sources of a sensor of a name."""
        signals = signals_of(series, name)
        if not isinstance(signals, ImuSignals) or signals.force is None:
            raise ShapeError(
                f"expected specific force in the {name} sensor, got none; a joint needs gyro and "
                "accelerometer of both"
            )
        pose = pose_signals(orientation, f"orientation of the {name}")
        return cls(signals, signals.force, pose, delay_s)

    @property
    def start_ns(self) -> int:
        """Time 0 of the samples by the clock of the first [ns]."""
        return self.imu.start_ns - round(self.delay_s * NS_PER_S)

    def since(self, start_ns: int) -> float:
        """Return a stamp of the first's clock as time of the samples [s]."""
        return (start_ns - self.imu.start_ns) / NS_PER_S + self.delay_s

    def pose_since(self, start_ns: int) -> float:
        """Return a stamp of the first's clock as time of the orientation [s]."""
        return (start_ns - self.pose.start_ns) / NS_PER_S + self.delay_s

    def known(self, grid: Grid, start_ns: int) -> BoolArray:
        """Return a mask of the times of the finer grid at which everything is known."""
        at = grid.fine_s + self.since(start_ns)
        pose = self.pose.known(grid.fine_s + self.pose_since(start_ns))
        return self.imu.known(at) & self.force.known(at) & pose

    def segment(self, grid: Grid, known: BoolArray, start_ns: int, kind: SampleKind) -> Segment:
        """Return the motion at the known instants of the grid."""
        rotation = self.pose.rotation(grid.fine_s + self.pose_since(start_ns))
        late_s = 0.5 * self.force.interval_s if kind is SampleKind.MEAN else 0.0
        force = self.force.at(grid.fine_s + self.since(start_ns) + late_s)
        turned = np.einsum("kij,kj->ki", rotation, force)
        at = np.rint((grid.t_s[known] - grid.start_s) / grid.step_s).astype(np.int64) * grid.parts
        return Segment(
            rotation[at],
            grid.mean(rotation)[known],
            grid.mean_curvature(rotation)[known],
            grid.mean(turned)[known],
            grid.mean(force)[known],
        )

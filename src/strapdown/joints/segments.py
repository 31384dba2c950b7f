"""Motion of two segments on a common grid, each in the world of its own orientation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.pair.grid import Grid
from strapdown.calibration.pair.signals import ImuSignals, pose_signals, signals_of
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.samples import SampleKind
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["Segment", "Segments", "segments_of"]

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
    """

    rotation: FloatArray
    mean_rotation: FloatArray
    curvature: FloatArray
    force: FloatArray


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
    imus = [_imu(each, name) for each, name in zip(series, ("first", "second"), strict=True)]
    delays = (0.0, delay_s)
    start_ns = max(imu.start_ns for imu in imus)
    shifts = [
        (start_ns - imu.start_ns) / NS_PER_S + delay
        for imu, delay in zip(imus, delays, strict=True)
    ]
    end_s = min(imu.span_s[1] - shift for imu, shift in zip(imus, shifts, strict=True))
    grid = Grid.over(0.0, max(end_s, 0.0), *imus)
    each_known = [imu.known(grid.fine_s + shift) for imu, shift in zip(imus, shifts, strict=True)]
    known = grid.covered(each_known[0] & each_known[1]) if grid.count else np.zeros(0, bool)
    if known.sum() * grid.step_s < SHORTEST_S:
        raise ValueRangeError(
            f"expected at least {SHORTEST_S:g} s in which both sensors have samples, got "
            f"{known.sum() * grid.step_s:.3g} s; check that both recordings have one clock"
        )
    first, second = (
        _segment(grid, known, imu, orientation, start_ns + round(delay * NS_PER_S), kind)
        for imu, orientation, delay in zip(imus, orientations, delays, strict=True)
    )
    return Segments(grid.t_s[known], start_ns, delay_s, first, second)


def _imu(series: ImuSeries, name: str) -> ImuSignals:
    signals = signals_of(series, name)
    if not isinstance(signals, ImuSignals) or signals.force is None:
        raise ShapeError(
            f"expected specific force in the {name} sensor, got none; a joint needs gyro and "
            "accelerometer of both"
        )
    return signals


def _segment(  # noqa: PLR0913, PLR0917 (where and when, and from what)
    grid: Grid,
    known: BoolArray,
    imu: ImuSignals,
    orientation: Trajectory,
    start_ns: int,
    kind: SampleKind,
) -> Segment:
    pose = pose_signals(orientation, "orientation")
    rotation = pose.rotation(grid.fine_s + (start_ns - pose.start_ns) / NS_PER_S)
    assert imu.force is not None  # noqa: S101 (checked by _imu)
    late_s = 0.5 * imu.force.interval_s if kind is SampleKind.MEAN else 0.0
    force = imu.force.at(grid.fine_s + late_s + (start_ns - imu.start_ns) / NS_PER_S)
    at = np.rint((grid.t_s[known] - grid.start_s) / grid.step_s).astype(np.int64) * grid.parts
    turned = np.einsum("kij,kj->ki", rotation, force)
    return Segment(
        rotation[at],
        grid.mean(rotation)[known],
        grid.mean_curvature(rotation)[known],
        grid.mean(turned)[known],
    )

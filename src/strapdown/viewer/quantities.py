"""Quantities of an IMU and of an attitude, as signals over rows that are in memory or on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from strapdown.evaluation import orientation_error
from strapdown.geometry import BodyFrame, EulerConvention, WorldFrame, euler
from strapdown.series import Trajectory, timebase
from strapdown.units import MICROTESLA, NS_PER_S, RAD_PER_DEG
from strapdown.viewer.signals import Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray, IntArray
    from strapdown.series import ImuSeries

    Read: TypeAlias = Callable[[int, int], FloatArray]

__all__ = [
    "XYZ",
    "Frames",
    "attitude",
    "converted",
    "difference",
    "error_angles",
    "error_signal",
    "field_signal",
    "imu_signals",
    "signals_of",
    "signals_of_track",
]

XYZ: Final = ("x", "y", "z")
"""Labels of the components of a vector."""


class Frames(NamedTuple):
    """Frames in which a page shows values."""

    world: WorldFrame
    body: BodyFrame


def signals_of(series: ImuSeries) -> list[Signal]:
    """Return the quantities of an IMU, measured and derived; stamps must be in order."""
    rate, force, field = series.angular_velocity, series.specific_force, series.magnetic_field
    magnetic = None
    if field is not None and (there := np.isfinite(field).any(axis=1)).any():
        known = field[there]  # the rows without it are no gaps
        magnetic = field_signal(series.t_ns[there], lambda a, b: known[a:b], series.body)
    return imu_signals(
        series.t_ns, lambda a, b: rate[a:b], lambda a, b: force[a:b], series.body, magnetic
    )


def field_signal(t_ns: IntArray, field: Read, body: BodyFrame) -> Signal:
    """Return the magnetic field of rows that have one."""
    return Signal(
        "magnetic field", "µT", f"body {body}", XYZ, t_ns, lambda a, b: field(a, b) / MICROTESLA
    )


def imu_signals(
    t: IntArray, rate: Read, force: Read, body: BodyFrame, magnetic: Signal | None
) -> list[Signal]:
    """Return the quantities of an IMU from readers of angular velocity and specific force."""

    def norm(start: int, stop: int) -> FloatArray:
        return _lengths(force(start, stop))

    def change(start: int, stop: int) -> FloatArray:
        rows = force(max(0, start - 1), stop)
        steps = _lengths(np.diff(rows, axis=0))
        return steps if start else np.vstack([np.full((min(1, len(rows)), 1), np.nan), steps])

    def step(start: int, stop: int) -> FloatArray:
        steps = np.diff(t[max(0, start - 1) : stop])[:, None] / NS_PER_S * 1e3
        return steps if start else np.vstack([np.full((min(1, stop), 1), np.nan), steps])

    return [
        Signal("angular velocity", "rad/s", f"body {body}", XYZ, t, rate),
        Signal("specific force", "m/s²", f"body {body}", XYZ, t, force),
        *([] if magnetic is None else [magnetic]),
        Signal("norm of specific force", "m/s²", "", ("|f|",), t, norm),
        Signal("vibration", "m/s²", "", ("|f - previous f|",), t, change),
        Signal("time between samples", "ms", "", ("step",), t, step),
    ]


def _lengths(rows: FloatArray) -> FloatArray:
    """Return the norms (n, 1) of rows, in a third of the time of ``numpy.linalg.norm``."""
    lengths: FloatArray = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return lengths


def signals_of_track(track: Trajectory) -> Signal:
    """Return roll, pitch and yaw of a track."""
    q = track.q_world_from_body
    return attitude(track.t_ns, lambda a, b: q[a:b], Frames(track.world, track.body))


def attitude(t_ns: IntArray, read: Read, frames: Frames) -> Signal:
    """Return roll, pitch and yaw of attitudes xyzw in frames."""
    is_upright = frames.world not in {WorldFrame.NUE, WorldFrame.EUN}
    shown = frames if is_upright else Frames(WorldFrame.ENU, BodyFrame.FLU)

    def angles(start: int, stop: int) -> FloatArray:
        q = read(start, stop)
        if not is_upright:  # Z-Y-X needs a vertical z axis
            track = Trajectory(t_ns[start:stop], q, world=frames.world, body=frames.body)
            q = converted(track, shown).q_world_from_body
        degrees: FloatArray = euler.from_quaternion(q, EulerConvention.ZYX) / RAD_PER_DEG
        return degrees

    frame = f"{shown.world} from {shown.body}, Z-Y-X"
    return Signal("attitude", "deg", frame, ("roll", "pitch", "yaw"), t_ns, angles, period=360.0)


def difference(estimate: Trajectory, reference: Trajectory) -> Signal:
    """Return the error of an estimate at the times of the reference.

    It contains the constant difference of headings of which one is relative.
    """
    values = error_angles(estimate, reference)
    return error_signal(reference.t_ns, lambda a, b: values[a:b])


def error_signal(
    t_ns: IntArray, read: Read, name: str = "estimate against reference", frame: str = ""
) -> Signal:
    """Return the signal of :func:`error_angles`."""
    return Signal(name, "deg", frame, ("total", "heading", "inclination"), t_ns, read)


def error_angles(estimate: Trajectory, reference: Trajectory) -> FloatArray:
    """Return total, heading and inclination (N, 3) [deg] at the times of the reference."""
    reference = reference.in_frames(world=estimate.world, body=estimate.body)
    error = orientation_error(
        timebase.orientation_at(estimate, reference.t_ns), reference.q_world_from_body
    )
    angles: FloatArray = np.stack([error.total, error.heading, error.inclination], axis=1)
    return angles / RAD_PER_DEG


Shown = TypeVar("Shown", "ImuSeries", "Trajectory")


def converted(series: Shown, frames: Frames | None) -> Shown:
    """Return a series in frames; None means its own."""
    return series if frames is None else series.in_frames(world=frames.world, body=frames.body)

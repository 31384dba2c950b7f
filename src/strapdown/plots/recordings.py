"""Pictures of recordings, and of estimates against truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import FormatError
from strapdown.evaluation import orientation_error
from strapdown.geometry import BodyFrame, EulerConvention, WorldFrame, euler
from strapdown.plots._axes import GREY, draw, label, panels
from strapdown.series import timebase
from strapdown.units import MICROTESLA, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown._typing import FloatArray, IntArray
    from strapdown.formats import Recording
    from strapdown.series import ImuSeries, Trajectory

__all__ = [
    "draw_attitude",
    "draw_imu",
    "plot_estimate",
    "plot_recording",
    "plot_track",
    "signals",
]


def plot_recording(recording: Recording, *, topic: str | None = None) -> Figure:
    """Draw the signals of one IMU of a recording, and its longest attitude.

    Parameters
    ----------
    recording : Recording
        With an IMU, an attitude, or both.
    topic : str, optional
        Draw this topic alone; by default the longest IMU and the longest attitude.

    Returns
    -------
    Figure
        One panel a quantity, over seconds from the first stamp.

    Raises
    ------
    UnknownNameError
        There is no such topic.
    FormatError
        The recording holds nothing to draw.
    """
    if topic is not None:
        recording = recording.only(topic)
    if not (recording.imu or recording.increments or recording.trajectories):
        raise FormatError(
            "expected an IMU or an attitude, the file holds none", path=recording.path
        )
    if not (recording.imu or recording.increments):
        return plot_track(recording.trajectory(), title=recording.path.name)
    series = recording.imu_series()
    track = recording.trajectory() if recording.tracks else None
    count = len(signals(series)) + (track is not None)
    figure, axes = panels(count, f"{recording.path.name}: {series.sensor.name or 'IMU'}")
    start_ns = int(series.t_ns.min()) if len(series) else 0
    rest = draw_imu(axes, series, start_ns)
    if track is not None:
        draw_attitude(rest[0], track, start_ns)
    return figure


def plot_track(
    track: Trajectory,
    *,
    reference: Trajectory | None = None,
    heading_is_relative: bool = False,
    title: str = "",
) -> Figure:
    """Draw attitude, and position where there is one, over time.

    Parameters
    ----------
    track : Trajectory
        N rows.
    reference : Trajectory, optional
        In the same frames and already aligned; its attitude is drawn in grey below.
    heading_is_relative : bool, optional
        Whether heading counts from the start, its origin being unknown: the label states it.
    title : str, optional
        By default the name of the track.

    Returns
    -------
    Figure
        One panel a quantity.
    """
    count = 1 + (track.position_world is not None)
    figure, axes = panels(count, title or track.name or "attitude")
    start_ns = int(track.t_ns.min()) if len(track) else 0
    if reference is not None:
        draw_attitude(axes[0], reference, start_ns, below="reference")
    yaw = "yaw, relative to the start" if heading_is_relative else "yaw"
    draw_attitude(axes[0], track, start_ns, yaw=yaw)
    if track.position_world is not None:
        draw(axes[1], track.t_ns, track.position_world, start_ns)
        label(axes[1], "position [m]", f"world {track.world}")
    return figure


def plot_estimate(series: ImuSeries, estimate: Trajectory, truth: Trajectory) -> Figure:
    """Draw the signals of an IMU, the attitude estimated from them, and its error.

    Parameters
    ----------
    series : ImuSeries
        Samples of the sensor.
    estimate, truth : Trajectory
        In the same frames; the truth drawn in grey below the estimate.

    Returns
    -------
    Figure
        Angular velocity, specific force, attitude, and orientation error on a log scale.
    """
    figure, axes = panels(4, "measurements of the IMU, and the attitude estimated from them")
    start_ns = int(truth.t_ns[0])
    rest = draw_imu(axes, series.replace(magnetic_field=None), start_ns)
    draw_attitude(rest[0], truth, start_ns, below="truth")
    draw_attitude(rest[0], estimate, start_ns)
    error = orientation_error(
        timebase.orientation_at(estimate, truth.t_ns), truth.q_world_from_body
    )
    names = ("total", "heading", "inclination")
    degrees = np.stack([getattr(error, name) for name in names], axis=1) / RAD_PER_DEG
    draw(rest[1], truth.t_ns, degrees, start_ns, labels=names)
    rest[1].set_yscale("log")
    label(rest[1], "error [deg]", "estimate against truth")
    return figure


def draw_imu(axes: Sequence[Axes], series: ImuSeries, start_ns: int) -> Sequence[Axes]:
    """Draw the signals of an IMU from the top, and return the remaining axes."""
    measured = signals(series)
    for axis, (quantity, t_ns, values) in zip(axes, measured, strict=False):
        draw(axis, t_ns, values, start_ns)
        label(axis, quantity, f"body {series.body}")
    return axes[len(measured) :]


def signals(series: ImuSeries) -> list[tuple[str, IntArray, FloatArray]]:
    """Return the signals of an IMU: quantity, stamps (N,) and values (N, 3).

    A quantity without any value is left out.
    """
    found = [
        ("angular velocity [rad/s]", series.t_ns, series.angular_velocity),
        ("specific force [m/s$^2$]", series.t_ns, series.specific_force),
    ]
    if series.magnetic_field is not None:  # rows without it are no gaps: its rate may be lower
        there = np.isfinite(series.magnetic_field).any(axis=1)
        field = series.magnetic_field[there] / MICROTESLA
        found.append(("magnetic field [µT]", series.t_ns[there], field))
    return [each for each in found if not len(series) or np.isfinite(each[2]).any()]


def draw_attitude(
    axis: Axes, track: Trajectory, start_ns: int, *, yaw: str = "yaw", below: str = ""
) -> None:
    """Draw roll, pitch and yaw, the latter with its label.

    A track drawn ``below`` an estimate, under this name, is grey and has no labels of axes. Z-Y-X
    angles need a vertical z axis: a world with y up is converted to ENU.
    """
    if track.world in {WorldFrame.NUE, WorldFrame.EUN}:
        track = track.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
    angles = euler.from_quaternion(track.q_world_from_body, EulerConvention.ZYX) / RAD_PER_DEG
    if below:
        names = (below, None, None)
        draw(axis, track.t_ns, angles, start_ns, labels=names, colour=GREY, period=360.0)
        return
    draw(axis, track.t_ns, angles, start_ns, labels=("roll", "pitch", yaw), period=360.0)
    label(axis, "attitude [deg]", f"{track.world} from {track.body}, Z-Y-X")

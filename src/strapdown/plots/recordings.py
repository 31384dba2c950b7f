"""Pictures of recordings and of estimates against truth.

Every function returns a figure and shows nothing. Units stand in the labels and frames in the
titles; x, y and z differ in colour and in dash; gaps are drawn as gaps; long signals keep
their peaks, because each pixel shows the smallest and the largest value behind it.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from strapdown import timebase
from strapdown._words import printable
from strapdown.errors import UnsupportedError
from strapdown.evaluation import orientation_error
from strapdown.formats._output import replacing
from strapdown.geometry import EulerConvention, euler
from strapdown.units import MICROTESLA, NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown._typing import FloatArray, IntArray
    from strapdown.formats import Recording
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["plot_estimate", "plot_recording", "plot_track", "save"]

# Okabe and Ito's palette: safe for colour-blind readers.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#9A9A9A"
STYLES = ((BLUE, "solid"), (ORANGE, (0, (5, 1))), (GREEN, (0, (2, 1))))
COLUMNS = 1_000  # time bins of the envelope: about one per pixel column
PICTURES = (".png", ".svg", ".pdf")


def plot_recording(recording: Recording, *, topic: str | None = None) -> Figure:
    """Draw what a recording holds: the signals of one IMU, and its longest attitude.

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
    if not (recording.imu or recording.increments):
        return plot_track(recording.trajectory(), title=recording.path.name)
    series = recording.imu_series()
    track = recording.trajectory() if recording.tracks else None
    panels = 2 + (series.magnetic_field is not None) + (track is not None)
    figure, axes = _panels(panels, f"{recording.path.name}: {series.sensor.name or 'IMU'}")
    start_ns = int(series.t_ns.min()) if len(series) else 0
    rest = _draw_imu(axes, series, start_ns)
    if track is not None:
        _draw_attitude(rest[0], track, start_ns)
    return figure


def plot_track(track: Trajectory, *, title: str = "") -> Figure:
    """Draw attitude, and position where there is one, over time.

    Parameters
    ----------
    track : Trajectory
        N rows.
    title : str, optional
        By default the name of the track.

    Returns
    -------
    Figure
        One panel a quantity.
    """
    panels = 1 + (track.position_world is not None)
    figure, axes = _panels(panels, title or track.name or "attitude")
    start_ns = int(track.t_ns.min()) if len(track) else 0
    _draw_attitude(axes[0], track, start_ns)
    if track.position_world is not None:
        _draw(axes[1], track.t_ns, track.position_world, start_ns)
        _label(axes[1], "position [m]", f"world {track.world}")
    return figure


def plot_estimate(series: ImuSeries, estimate: Trajectory, truth: Trajectory) -> Figure:
    """Draw the signals of an IMU, the attitude estimated from them, and its error.

    Parameters
    ----------
    series : ImuSeries
        What the sensor gave.
    estimate, truth : Trajectory
        In the same frames; the truth drawn in grey below the estimate.

    Returns
    -------
    Figure
        Angular velocity, specific force, attitude, and orientation error on a log scale.
    """
    figure, axes = _panels(4, "what the IMU measured, and the attitude estimated from it")
    start_ns = int(truth.t_ns[0])
    rest = _draw_imu(axes, series.replace(magnetic_field=None), start_ns)
    _draw_attitude(rest[0], truth, start_ns, truth=True)
    _draw_attitude(rest[0], estimate, start_ns)
    error = orientation_error(
        timebase.orientation_at(estimate, truth.t_ns), truth.q_world_from_body
    )
    names = ("total", "heading", "inclination")
    degrees = np.stack([getattr(error, name) for name in names], axis=1) / RAD_PER_DEG
    _draw(rest[1], truth.t_ns, degrees, start_ns, labels=names)
    rest[1].set_yscale("log")
    _label(rest[1], "error [deg]", "estimate against truth")
    return figure


def save(figure: Figure, path: Path | str, *, force: bool = False) -> None:
    """Write a figure; the ending of the path chooses the format.

    Parameters
    ----------
    figure : Figure
        As the functions of this module return it.
    path : path-like
        Ends in .png, .svg or .pdf.
    force : bool
        Whether an existing file is replaced.

    Raises
    ------
    UnsupportedError
        Another ending.
    FileExistsError
        The file exists and ``force`` is not set.
    """
    path = Path(path)
    if path.suffix.lower() not in PICTURES:
        raise UnsupportedError(
            f"expected an ending of {', '.join(PICTURES)}, got {path.suffix!r}", path=path
        )
    with replacing(path, force=force) as partial:
        figure.savefig(partial, format=path.suffix[1:].lower(), dpi=120)


def _panels(count: int, title: str) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    figure = Figure(figsize=(10.0, 1.0 + 2.2 * count), layout="constrained")
    figure.suptitle(printable(title).replace("$", r"\$"))
    axes = list(np.atleast_1d(figure.subplots(count, 1, sharex=True)))
    axes[-1].set_xlabel("time since the first sample [s]")
    return figure, axes


def _draw_imu(axes: Sequence[Axes], series: ImuSeries, start_ns: int) -> Sequence[Axes]:
    """Draw the signals of an IMU from the top, and return the axes that stay free."""
    frame = f"body {series.body}"
    signals = [
        ("angular velocity [rad/s]", series.t_ns, series.angular_velocity),
        ("specific force [m/s$^2$]", series.t_ns, series.specific_force),
    ]
    if series.magnetic_field is not None:  # rows without it are no gaps: it may be slower
        there = np.isfinite(series.magnetic_field).any(axis=1)
        field = series.magnetic_field[there] / MICROTESLA
        signals.append(("magnetic field [µT]", series.t_ns[there], field))
    for axis, (label, t_ns, values) in zip(axes, signals, strict=False):
        _draw(axis, t_ns, values, start_ns)
        _label(axis, label, frame)
    return axes[len(signals) :]


def _draw_attitude(axis: Axes, track: Trajectory, start_ns: int, *, truth: bool = False) -> None:
    angles = euler.from_quaternion(track.q_world_from_body, EulerConvention.ZYX) / RAD_PER_DEG
    if truth:
        _draw(axis, track.t_ns, angles, start_ns, labels=("truth", None, None), colour=GREY)
        return
    _draw(axis, track.t_ns, angles, start_ns, labels=("roll", "pitch", "yaw"))
    _label(axis, "attitude [deg]", f"{track.world} from {track.body}, Z-Y-X")


def _draw(  # noqa: PLR0913 (a drawing primitive)
    axis: Axes,
    t_ns: IntArray,
    values: FloatArray,
    start_ns: int,
    *,
    labels: Sequence[str | None] = ("x", "y", "z"),
    colour: str | None = None,
) -> None:
    for column, (label, (own_colour, dashes)) in enumerate(zip(labels, STYLES, strict=True)):
        t, y = _envelope(t_ns, values[:, column])
        axis.plot(
            (t - start_ns) / NS_PER_S,
            y,
            color=colour or own_colour,
            linestyle="solid" if colour else dashes,
            linewidth=2.4 if colour else 1.0,
            label=label,
        )


def _label(axis: Axes, quantity: str, frame: str) -> None:
    axis.set_ylabel(quantity)
    axis.set_title(frame, loc="right", fontsize="small", color="#555555")
    axis.grid(alpha=0.3)
    axis.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, fontsize="small", frameon=False
    )


def _envelope(t_ns: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Break a signal at gaps, and thin each piece to the extremes of its bins."""
    order = np.argsort(t_ns, kind="stable")
    t, y = t_ns[order].astype(np.float64), values[order]
    steps = np.diff(t)
    gap = 5.0 * np.median(steps) + 1.0 if steps.size else np.inf
    edges = [0, *(np.flatnonzero(steps > gap) + 1).tolist(), len(t)]
    size = max(1, len(t) // COLUMNS)
    pieces = [_extremes(t[a:b], y[a:b], size) for a, b in pairwise(edges)]
    joined_t, joined_y = [pieces[0][0]], [pieces[0][1]]
    for piece_t, piece_y in pieces[1:]:
        joined_t += [piece_t[:1], piece_t]
        joined_y += [np.array([np.nan]), piece_y]
    return np.concatenate(joined_t), np.concatenate(joined_y)


def _extremes(t: FloatArray, y: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest value of each bin of ``size`` samples, in order."""
    if size < 3:
        return t, y
    whole = len(t) // size * size
    bins_y = y[:whole].reshape(-1, size)
    known = np.isfinite(bins_y)
    low = np.where(known, bins_y, np.inf).argmin(axis=1)
    high = np.where(known, bins_y, -np.inf).argmax(axis=1)
    pick = np.sort(np.stack([low, high], axis=1), axis=1)
    rows = (pick + np.arange(0, whole, size)[:, None]).ravel()
    rows = np.append(rows, np.arange(whole, len(t)))
    return t[rows], y[rows]

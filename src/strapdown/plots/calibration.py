"""Picture of a calibration from poses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._words import printable
from strapdown.plots._axes import BLUE, GREEN, GREY, ORANGE, draw
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown.calibration import PoseCalibration
    from strapdown.series import ImuSeries

__all__ = ["plot_calibration"]


def plot_calibration(
    series: ImuSeries, result: PoseCalibration, *, title: str = "calibration"
) -> Figure:
    """Draw a session, the residuals of its poses and turns, and the attitudes on the sphere.

    Parameters
    ----------
    series : ImuSeries
        Session that was calibrated.
    result : PoseCalibration
        Its result.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        Calibrated specific force with still intervals and turns; ``|f| - g`` of each, and
        the error of each turn, fitted and left out; directions of the vertical in the body, both
        halves of the sphere seen from outside in equal areas.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    figure = Figure(figsize=(10.0, 9.0), layout="constrained")
    figure.suptitle(printable(title).replace("$", r"\$"))
    grid = figure.add_gridspec(3, 2, height_ratios=(1.0, 1.0, 1.6))
    start_ns = int(series.t_ns[0])
    _draw_session(figure.add_subplot(grid[0, :]), series, result, start_ns)
    _draw_errors(
        figure.add_subplot(grid[1, 0]), result.norm_error * 1e3, result.norm_error_left_out * 1e3,
        "|f| - g [mm/s^2]", "still interval",
    )  # fmt: skip
    _draw_errors(
        figure.add_subplot(grid[1, 1]), result.turn_error / RAD_PER_DEG,
        result.turn_error_left_out / RAD_PER_DEG, "error of direction [deg]", "turn",
    )  # fmt: skip
    for column, (sign, name) in enumerate(((1.0, "+z half"), (-1.0, "-z half"))):
        _draw_half(figure.add_subplot(grid[2, column]), result, sign, name)
    return figure


def _draw_session(axis: Axes, series: ImuSeries, result: PoseCalibration, start_ns: int) -> None:
    force = result.calibration.accel.calibrated(series.specific_force)
    draw(axis, series.t_ns, force, start_ns)
    for spans_ns, colour, height, name in (
        (result.still_ns, GREEN, 1.02, "still"), (result.turn_ns, ORANGE, 1.02, "turn")
    ):  # fmt: skip
        spans = (spans_ns - start_ns) / NS_PER_S
        axis.broken_barh(
            [(a, b - a) for a, b in spans.tolist()], (height, 0.06),
            transform=axis.get_xaxis_transform(), color=colour, alpha=0.7, label=name,
            clip_on=False,
        )  # fmt: skip
    axis.set_xlabel("time since the first sample [s]")
    axis.set_ylabel("specific force [m/s^2]")
    axis.grid(alpha=0.3)
    axis.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.08), ncols=5, fontsize="small", frameon=False
    )


def _draw_errors(
    axis: Axes, fitted: np.ndarray, left_out: np.ndarray, quantity: str, each: str
) -> None:
    rows = np.arange(len(fitted)) + 1
    axis.axhline(0.0, color=GREY, linewidth=0.8)
    axis.plot(rows, fitted, "o", color=BLUE, markersize=4.0, label="fitted")
    if np.isfinite(left_out).any():
        axis.plot(rows, left_out, "x", color=ORANGE, markersize=5.0, label="left out")
    axis.set_xlabel(each)
    axis.set_ylabel(quantity)
    axis.grid(alpha=0.3)
    axis.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize="small", frameon=False
    )


def _draw_half(axis: Axes, result: PoseCalibration, sign: float, name: str) -> None:
    """Draw the directions of one half of the sphere by Lambert's equal-area projection."""
    u = result.directions[sign * result.directions[:, 2] >= 0.0]
    stretch = 1.0 / np.sqrt(np.maximum(1.0 + sign * u[:, 2], 1e-9))
    circle = np.linspace(0.0, 2.0 * np.pi, 181)
    for angle_deg in (30.0, 60.0, 90.0):
        radius = np.sqrt(2.0) * np.sin(angle_deg * RAD_PER_DEG / 2.0)
        axis.plot(radius * np.cos(circle), radius * np.sin(circle), color=GREY, linewidth=0.6)
    axis.plot(u[:, 0] * stretch, u[:, 1] * stretch, "o", color=BLUE, markersize=5.0)
    axis.set_aspect("equal")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_xlabel("x")
    axis.set_ylabel("y")
    axis.set_title(f"up in the body, {name}: {len(u)} attitudes", fontsize="small")

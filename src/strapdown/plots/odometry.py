"""Pictures of tracks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import ShapeError
from strapdown.geometry import WorldFrame
from strapdown.plots._axes import BLUE, GREY, ORANGE, label
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from strapdown.series import Trajectory

__all__ = ["plot_odometry"]


def plot_odometry(
    track: Trajectory,
    *,
    reference: Trajectory | None = None,
    heading_is_relative: bool = False,
    title: str = "odometry",
) -> Figure:
    """Draw a track from above, and its height over time.

    Parameters
    ----------
    track : Trajectory
        N rows with positions.
    reference : Trajectory, optional
        The true track, already aligned; drawn in grey below.
    heading_is_relative : bool, optional
        Whether heading counts from the start, its origin being unknown: axes are then x and y
        instead of east and north.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        The plan, at one scale for both axes, and the height.

    Raises
    ------
    ShapeError
        The track has no positions.
    """
    if track.position_world is None:
        raise ShapeError("expected a track with positions to draw, got attitude alone")
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    figure = Figure(figsize=(11.0, 5.5), layout="constrained")
    figure.suptitle(title)
    plan, height = figure.subplots(1, 2, width_ratios=(3, 2))
    start_ns = int(track.t_ns[0]) if len(track) else 0
    for each, name, colour, width in (
        (reference, "reference", GREY, 2.4),
        (track, "estimate", BLUE, 1.0),
    ):
        if each is None:
            continue
        position = each.in_frames(world=WorldFrame.ENU).position_world
        if position is None:
            continue
        known = np.isfinite(position[:, :2]).all(axis=1)
        plan.plot(*position[known, :2].T, color=colour, linewidth=width, label=name)
        t_s = (each.t_ns - start_ns) / NS_PER_S
        height.plot(t_s, position[:, 2], color=colour, linewidth=width, label=name)
        if each is track and known.any():
            first, last = position[known][[0, -1], :2]
            plan.plot(*first, "o", color=ORANGE, label="start")
            plan.plot(*last, "s", color=ORANGE, label="end")
    plan.set_aspect("equal", adjustable="datalim")
    if heading_is_relative:
        plan.set_xlabel("x [m]")
        label(plan, "y [m]", "seen from above, heading relative to the start")
    else:
        plan.set_xlabel("east [m]")
        label(plan, "north [m]", f"seen from above, world {WorldFrame.ENU}")
    height.set_xlabel("time since the first sample [s]")
    label(height, "height [m]", "up")
    return figure

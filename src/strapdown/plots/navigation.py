"""Maps of navigation with a GNSS receiver."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.evaluation import outages
from strapdown.geometry import WorldFrame
from strapdown.plots._axes import BLUE, GREEN, GREY, ORANGE, PURPLE, label
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown._typing import BoolArray, IntArray
    from strapdown.estimation.navigation import NavigationResult
    from strapdown.series import GnssSeries, Trajectory

    Spans = Sequence[tuple[int, int]]

__all__ = ["plot_navigation"]

_ELLIPSES: Final = 12
"""Ellipses along a track, in addition to the largest of each outage."""
_INSIDE_95: Final = math.sqrt(5.991)
"""Radius, in standard deviations, of the circle that holds 95 % of a normal in the plane."""
_PART_OF_WIDTH: Final = 0.2
"""Largest length of the scale bar, as part of the width of the map."""


def plot_navigation(
    result: NavigationResult,
    fixes: GnssSeries,
    origin: Sequence[float],
    *,
    reference: Trajectory | None = None,
    title: str = "navigation",
) -> Figure:
    """Draw a map of a track with its fixes, and its height and uncertainty over time.

    Parameters
    ----------
    result : NavigationResult
        The track with covariances, and which fixes were used.
    fixes : GnssSeries
        The fixes that were given, on the clock of the track.
    origin : sequence of 3 floats
        Of the world: latitude, longitude [rad], altitude [m].
    reference : Trajectory, optional
        The true track, in the same world; drawn in grey below.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        The map at one scale for both axes, with a scale bar and ellipses that contain the position
        with 95 %, and with the times without fixes marked; next to it the height, and the standard
        deviation of the position.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    figure = Figure(figsize=(12.0, 6.5), layout="constrained")
    figure.suptitle(title)
    parts = figure.add_gridspec(2, 2, width_ratios=(3, 2))
    plan = figure.add_subplot(parts[:, 0])
    height = figure.add_subplot(parts[0, 1])
    spread = figure.add_subplot(parts[1, 1], sharex=height)
    result = result.in_frames(world=WorldFrame.ENU)
    told = [each for each in result.aiding if each.kind == "position"]
    used_ns, refused_ns = (
        np.array([each.t_ns for each in told if each.accepted is accepted], np.int64)
        for accepted in (True, False)
    )
    spans = outages(used_ns, result.t_ns)
    if reference is not None:
        _draw_reference(plan, height, reference, int(result.t_ns[0]))
    _draw_fixes(plan, height, fixes, origin, refused_ns, start_ns=int(result.t_ns[0]))
    _draw_track(plan, height, spread, result, spans)
    _finish_map(plan, origin)
    label(height, "height above the origin [m]", "up")
    spread.set_xlabel("time since the first sample [s]")
    label(spread, "standard deviation [m]", "uncertainty of the position")
    return figure


def _draw_reference(plan: Axes, height: Axes, reference: Trajectory, start_ns: int) -> None:
    position = reference.in_frames(world=WorldFrame.ENU).position_world
    if position is not None:
        style: dict[str, Any] = {"color": GREY, "linewidth": 2.4, "label": "reference"}
        plan.plot(position[:, 0], position[:, 1], **style)
        height.plot((reference.t_ns - start_ns) / NS_PER_S, position[:, 2], **style)


def _draw_fixes(  # noqa: PLR0913 (where, what and when)
    plan: Axes,
    height: Axes,
    fixes: GnssSeries,
    origin: Sequence[float],
    refused_ns: IntArray,
    *,
    start_ns: int,
) -> None:
    position, t_s = fixes.local_enu(origin), (fixes.t_ns - start_ns) / NS_PER_S
    refused = np.isin(fixes.t_ns, refused_ns)
    for rows, marker, colour, name in (
        (~refused, ".", GREEN, "fix"),
        (refused, "x", PURPLE, "fix, refused"),
    ):
        if rows.any():
            style: dict[str, Any] = {"marker": marker, "color": colour, "markersize": 5.0}
            plan.plot(*position[rows, :2].T, linestyle="", label=name, **style)
            height.plot(t_s[rows], position[rows, 2], linestyle="", label=name, **style)


def _draw_track(
    plan: Axes, height: Axes, spread: Axes, result: NavigationResult, spans: Spans
) -> None:
    t_ns, position = result.t_ns, result.position_world
    t_s = (t_ns - t_ns[0]) / NS_PER_S
    inside = np.zeros(len(t_ns), np.bool_)
    for begin_ns, end_ns in spans:
        inside |= (t_ns >= begin_ns) & (t_ns <= end_ns)
        begin_s, end_s = (begin_ns - int(t_ns[0])) / NS_PER_S, (end_ns - int(t_ns[0])) / NS_PER_S
        for axes in (height, spread):
            axes.axvspan(begin_s, end_s, color=ORANGE, alpha=0.15, linewidth=0.0)
    plan.plot(*position[:, :2].T, color=BLUE, linewidth=1.2, label="estimate")
    height.plot(t_s, position[:, 2], color=BLUE, linewidth=1.2, label="estimate")
    if inside.any():
        without = np.where(inside[:, None], position[:, :2], np.nan)
        plan.plot(*without.T, color=ORANGE, linewidth=2.0, label="estimate without fixes")
    _draw_ellipses(plan, result, inside, spans)
    plan.plot(*position[0, :2], "o", color=BLUE, label="start")
    plan.plot(*position[-1, :2], "s", color=BLUE, label="end")
    variances = np.diagonal(result.covariance[:, :3, :3], axis1=1, axis2=2)
    plane = np.sqrt(variances[:, 0] + variances[:, 1])
    spread.semilogy(t_s, plane, color=BLUE, linewidth=1.2, label="in the plane")
    spread.semilogy(t_s, np.sqrt(variances[:, 2]), color=GREEN, linewidth=1.2, label="up")


def _draw_ellipses(plan: Axes, result: NavigationResult, inside: BoolArray, spans: Spans) -> None:
    """Draw ellipses of 95 % at equal distances in time, and at the worst of each outage."""
    from matplotlib.patches import Ellipse  # noqa: PLC0415 (as above)

    covariance = result.covariance[:, :2, :2]
    size = np.trace(covariance, axis1=1, axis2=2)
    rows = set(np.linspace(0, len(size) - 1, _ELLIPSES + 1)[1:].astype(int).tolist())
    for begin_ns, end_ns in spans:
        within = np.flatnonzero(inside & (result.t_ns >= begin_ns) & (result.t_ns <= end_ns))
        if len(within):
            rows.add(int(within[size[within].argmax()]))
    name = "95 %"
    for row in sorted(rows):
        values, axes = np.linalg.eigh(covariance[row])
        width, length = 2.0 * _INSIDE_95 * np.sqrt(np.maximum(values, 0.0))
        angle = math.degrees(math.atan2(axes[1, 1], axes[0, 1]))
        colour = ORANGE if inside[row] else BLUE
        style: dict[str, Any] = {"facecolor": "none", "edgecolor": colour, "linewidth": 1.0}
        east, north, _ = result.position_world[row].tolist()
        plan.add_patch(Ellipse((east, north), length, width, angle=angle, label=name, **style))
        name = "_"  # once in the legend


def _finish_map(plan: Axes, origin: Sequence[float]) -> None:
    """Set one scale for both axes, and draw the scale bar."""
    plan.set_aspect("equal", adjustable="datalim")
    plan.set_xlabel(f"east [m]; the origin is {_place(origin)}")
    label(plan, "north [m]", "")
    plan.autoscale_view()
    low, high = plan.get_xlim()
    length = scale_length(_PART_OF_WIDTH * (high - low))
    transform = plan.get_xaxis_transform()  # east in metres, north in parts of the height
    begin = low + 0.03 * (high - low)
    plan.plot(
        [begin, begin + length], [0.03, 0.03], color="black", linewidth=3.0, transform=transform
    )
    plan.text(
        begin + 0.5 * length, 0.04, f"{length:g} m", transform=transform, ha="center", va="bottom"
    )


def scale_length(most: float) -> float:
    """Return the longest of 1, 2 and 5 times a power of ten that is not above a length [m].

    Examples
    --------
    >>> scale_length(73.0), scale_length(0.4), scale_length(2.0)
    (50.0, 0.2, 2.0)
    """
    power = 10.0 ** math.floor(math.log10(most))
    return power * next(digit for digit in (5.0, 2.0, 1.0) if digit * power <= most)


def _place(origin: Sequence[float]) -> str:
    latitude, longitude, altitude = math.degrees(origin[0]), math.degrees(origin[1]), origin[2]
    north, east = "N" if latitude >= 0.0 else "S", "E" if longitude >= 0.0 else "W"
    return f"{abs(latitude):.6f}° {north}, {abs(longitude):.6f}° {east}, {altitude:.1f} m"

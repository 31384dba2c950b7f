"""Figures of joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.plots._axes import AMBER, BLUE, GREEN, ORANGE, label, thinned, titled
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown.joints import JointResult

__all__ = ["plot_joint"]

_COLOURS: Final = (BLUE, ORANGE, GREEN)
_DETAIL_S: Final = 10.0


def plot_joint(result: JointResult, *, title: str = "joint") -> Figure:
    """Draw the angles of a joint and the heading between its sensors.

    Parameters
    ----------
    result : JointResult
        From :func:`strapdown.joints.estimate_joint`.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        Over time: the angles; ten seconds of them from the middle; and the heading of the second
        sensor's world in that of the first, with a band of two standard deviations.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    figure = Figure(figsize=(10.0, 7.6), layout="constrained")
    titled(figure, title)
    whole, detail, heading = figure.subplots(3, 1)
    _angles(whole, result, 0.0, result.duration_s)
    label(whole, "angle [deg]", f"zero: {result.zero}")
    middle = max(0.5 * (result.duration_s - _DETAIL_S), 0.0)
    _angles(detail, result, middle, middle + _DETAIL_S)
    label(detail, "angle [deg]", "ten seconds from the middle")
    t_s = (result.t_ns - result.t_ns[0]) / NS_PER_S
    turn, spread = result.heading / RAD_PER_DEG, 2.0 * result.heading_sigma / RAD_PER_DEG
    heading.fill_between(t_s, turn - spread, turn + spread, color=AMBER, alpha=0.5, linewidth=0.0)
    heading.plot(t_s, turn, color=BLUE, linewidth=1.0, label="second in first")
    label(heading, "heading [deg]", "drift between the sensors, band of two sigma")
    heading.set_xlabel("time since the first sample [s]")
    return figure


def _angles(axis: Axes, result: JointResult, start_s: float, end_s: float) -> None:
    t_s = (result.t_ns - result.t_ns[0]) / NS_PER_S
    inside = (t_s >= start_s) & (t_s <= end_s)
    for name, values, colour in zip(result.angle_names, result.angles.T, _COLOURS, strict=False):
        t, y = thinned(result.t_ns[inside], values[inside] / RAD_PER_DEG)
        since = (t - result.t_ns[0]) / NS_PER_S
        axis.plot(since, y, color=colour, linewidth=1.0, label=name.replace("_", " "))

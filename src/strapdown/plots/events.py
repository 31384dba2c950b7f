"""Pictures of the events in a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.plots._axes import (
    AMBER,
    BLACK,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    label,
    panels,
    thinned,
)
from strapdown.units import NS_PER_S, STANDARD_GRAVITY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown.detection import Events
    from strapdown.series import ImuSeries

__all__ = ["plot_events"]

_STYLES: Final = (
    (ORANGE, "v"), (GREEN, "s"), (PURPLE, "D"), (AMBER, "o"), (SKY, "^"), (BLACK, "X"),
    (ORANGE, "P"), (GREEN, "<"), (PURPLE, ">"), (AMBER, "*"), (SKY, "h"), (BLACK, "p"),
)  # fmt: skip
"""Colour and marker of each kind of event."""


def plot_events(series: ImuSeries, events: Events, *, title: str = "events") -> Figure:
    """Draw the magnitudes of specific force and angular velocity, and every event.

    Parameters
    ----------
    series : ImuSeries
        N samples, in which the events were found.
    events : Events
        Of any kinds; each kind has a colour, a marker and a row.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        Two panels over time with the events as bands, and below them one row a kind.
    """
    kinds = list(dict.fromkeys(events.kind.tolist()))
    figure, axes = panels(3, title)
    start_ns = int(series.t_ns.min()) if len(series) else 0
    quantities = (
        ("specific force [g]", series.specific_force / STANDARD_GRAVITY),
        ("angular velocity [rad/s]", series.angular_velocity),
    )
    for axis, (_, values) in zip(axes, quantities, strict=False):
        t, y = thinned(series.t_ns, np.linalg.norm(values, axis=1))
        axis.plot((t - start_ns) / NS_PER_S, y, color=GREY, linewidth=0.8, label="signal")
    for row, kind in enumerate(kinds):
        of_kind = events.kind == kind
        begin_s = (events.t_start_ns[of_kind] - start_ns) / NS_PER_S
        end_s = (events.t_end_ns[of_kind] - start_ns) / NS_PER_S
        _draw_kind(
            axes, row, kind.replace("_", " "), list(zip(begin_s, end_s - begin_s, strict=True))
        )
    for axis, (quantity, _) in zip(axes, quantities, strict=False):
        label(axis, quantity, "magnitude", columns=len(_STYLES) // 2)
    rows = axes[-1]
    rows.set_yticks(range(len(kinds)), [kind.replace("_", " ") for kind in kinds])
    rows.set_ylim(max(len(kinds), 1) - 0.5, -0.5)
    rows.grid(alpha=0.3)
    return figure


def _draw_kind(axes: list[Axes], row: int, name: str, spans_s: list[tuple[float, float]]) -> None:
    """Draw the events of a kind, by start and duration: bands in panels, bars in its row."""
    colour, marker = _STYLES[row % len(_STYLES)]
    starts_s = [start_s for start_s, _ in spans_s]
    for axis in axes[:-1]:
        axis.broken_barh(
            spans_s, (0.0, 1.0), transform=axis.get_xaxis_transform(),
            color=colour, alpha=0.3, linewidth=0.8,
        )  # fmt: skip
        axis.plot(
            starts_s, [0.95] * len(spans_s), transform=axis.get_xaxis_transform(),
            color=colour, marker=marker, markersize=5.0, linestyle="none", label=name,
        )  # fmt: skip
    axes[-1].broken_barh(spans_s, (row - 0.3, 0.6), color=colour, alpha=0.6, linewidth=0.8)
    axes[-1].plot(
        starts_s, [row] * len(spans_s),
        color=colour, marker=marker, markersize=5.0, linestyle="none",
    )  # fmt: skip

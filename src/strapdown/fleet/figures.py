"""Figures of a study: errors and consistency over the axes that vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.fleet.study import AXES
from strapdown.plots._axes import AMBER, BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, titled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Row = Mapping[str, Any]

__all__ = ["UNITS", "Layout", "plot_metric"]

UNITS: Final = {"rate": "Hz"}
_COLOURS: Final = (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY, BLACK, GREY)
_MARKERS: Final = "osD^vP*X"
_SPREAD: Final = 0.5
"""Width over which the lines of one place are spread; places are 1 apart."""


@dataclass(frozen=True)
class Layout:
    """Assignment of the axes of a study to a figure.

    Parameters
    ----------
    x, line : str
        Axis along the abscissa, and the one with a line for each value.
    panels : sequence of str
        Axes with a panel for each combination of their values.
    """

    x: str
    line: str
    panels: Sequence[str]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Layout:
        """Return the layout for the groups of a study: rates or most values along the abscissa."""
        counts = {name: len(values_of(rows, name)) for name in AXES}
        others = [name for name in AXES if name != "filter"]
        x = max(others, key=lambda name: (name == "rate" and counts[name] > 1, counts[name]))
        panels = [name for name in others if name != x and counts[name] > 1]
        return cls(x, "filter", panels)

    def groups(self, rows: Sequence[Row]) -> dict[str, list[Row]]:
        """Return the rows of each panel by its title."""
        found: dict[str, list[Row]] = {}
        for row in rows:
            title = ", ".join(f"{name} {shown(row[name], name)}" for name in self.panels)
            found.setdefault(title, []).append(row)
        return found


def values_of(rows: Sequence[Row], name: str) -> list[Any]:
    """Return the different values of a column, in order of appearance."""
    return list(dict.fromkeys(row[name] for row in rows))


def shown(value: object, name: str) -> str:
    """Return a value of an axis as text."""
    return f"{value:g} {UNITS[name]}" if name in UNITS else str(value)


def plot_metric(
    rows: Sequence[Row], metric: str, label: str, *, title: str, expected: float | None = None
) -> Figure:
    """Draw a figure of merit: the mean over seeds, and from the smallest to the largest.

    Parameters
    ----------
    rows : sequence of mapping
        The groups of a study, as in ``summary.parquet``.
    metric : str
        Column without ``_mean``, ``_min`` and ``_max``.
    label : str
        Quantity and unit.
    title : str
        Title of the figure.
    expected : float, optional
        A value to mark.

    Returns
    -------
    Figure
        A panel for each combination of axes other than the abscissa and the lines, on a log scale.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)
    from matplotlib.ticker import LogLocator, StrMethodFormatter  # noqa: PLC0415 (as above)

    layout = Layout.of(rows)
    groups = layout.groups(rows)
    figure = Figure(figsize=(10.0, 0.8 + 3.4 * len(groups)), layout="constrained")
    titled(figure, title)
    grid = figure.subplots(len(groups), 1, sharex=True, squeeze=False)
    for (name, members), axis in zip(groups.items(), grid[:, 0], strict=True):
        _panel(axis, layout, members, metric, values_of(rows, layout.line))
        if expected is not None:
            axis.axhline(expected, color=GREY, linewidth=1.0, linestyle="dashed", zorder=1)
        axis.set_yscale("log")
        axis.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.yaxis.set_minor_formatter(StrMethodFormatter("{x:g}"))
        axis.set_ylabel(label)
        axis.set_title(name, loc="right", fontsize="small", color="#555555")
        axis.grid(alpha=0.3)
    handles, texts = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=4, frameon=False)
    _abscissa(grid[-1, 0], layout, values_of(rows, layout.x))
    return figure


def _panel(
    axis: Axes, layout: Layout, rows: Sequence[Row], metric: str, lines: Sequence[str]
) -> None:
    places = values_of(rows, layout.x)
    is_number = layout.x in UNITS
    for number, line in enumerate(lines):
        found = [
            row for row in rows if row[layout.line] == line and row[f"{metric}_mean"] is not None
        ]
        if not found:
            continue
        x = np.array([places.index(row[layout.x]) for row in found], float)
        if is_number:
            x = np.array([row[layout.x] for row in found]) * 1.02 ** (number - len(lines) / 2)
        else:
            x += _SPREAD * ((number + 0.5) / len(lines) - 0.5)
        mean = np.array([row[f"{metric}_mean"] for row in found])
        low, high = (np.array([row[f"{metric}_{end}"] for row in found]) for end in ("min", "max"))
        axis.errorbar(
            x,
            mean,
            [mean - low, high - mean],
            label=line,
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=5.0,
            linewidth=1.0,
            linestyle="solid" if is_number else "none",
            capsize=2.0,
        )


def _abscissa(axis: Axes, layout: Layout, places: Sequence[Any]) -> None:
    """Set the scale and the ticks of the common abscissa."""
    if layout.x in UNITS:
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{place:g}" for place in places])
        axis.minorticks_off()
        axis.set_xlabel(f"{layout.x} [{UNITS[layout.x]}]")
    else:
        axis.set_xticks(range(len(places)), [str(place) for place in places])
        axis.set_xlabel(layout.x)

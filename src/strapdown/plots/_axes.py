"""Primitives of every picture: panels, lines with their peaks, labels, and saving."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from strapdown._words import printable
from strapdown.formats._output import check_ending, replacing
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown._typing import FloatArray, IntArray

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PICTURES",
    "PURPLE",
    "STYLES",
    "draw",
    "label",
    "panels",
    "save",
    "thinned",
]

# Okabe and Ito's palette: safe for colour-blind readers.
BLUE, ORANGE, GREEN, GREY, PURPLE = "#0072B2", "#D55E00", "#009E73", "#9A9A9A", "#CC79A7"
STYLES = ((BLUE, "solid"), (ORANGE, (0, (5, 1))), (GREEN, (0, (2, 1))))
COLUMNS = 1_000  # time bins of the envelope: about one per pixel column
PICTURES = (".png", ".svg", ".pdf")


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
    check_ending(path, PICTURES)
    layout = figure.get_layout_engine()
    if layout is not None:  # while there is one, a figure is drawn twice
        layout.execute(figure)
        figure.set_layout_engine(None)
    with replacing(path, force=force) as partial:
        figure.savefig(partial, format=path.suffix[1:].lower(), dpi=120)
    figure.set_layout_engine(layout)


def panels(count: int, title: str, *, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes over one time, one below the other or in columns."""
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    rows = count // columns
    figure = Figure(figsize=(10.0, 1.0 + 2.2 * rows), layout="constrained")
    figure.suptitle(printable(title).replace("$", r"\$"))
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axis in grid[-1]:
        axis.set_xlabel("time since the first sample [s]")
    return figure, list(grid.T.ravel())


def draw(  # noqa: PLR0913 (a drawing primitive)
    axis: Axes,
    t_ns: IntArray,
    values: FloatArray,
    start_ns: int,
    *,
    labels: Sequence[str | None] = ("x", "y", "z"),
    colour: str | None = None,
) -> None:
    """Draw the columns of ``values`` over seconds since ``start_ns``."""
    for column, (text, (own_colour, dashes)) in enumerate(zip(labels, STYLES, strict=True)):
        t, y = thinned(t_ns, values[:, column])
        axis.plot(
            (t - start_ns) / NS_PER_S,
            y,
            color=colour or own_colour,
            linestyle="solid" if colour else dashes,
            linewidth=2.4 if colour else 1.0,
            label=text,
        )


def label(axis: Axes, quantity: str, frame: str, *, columns: int = 4) -> None:
    """Name quantity with unit, and frame, and draw the legend in so many columns."""
    axis.set_ylabel(quantity)
    axis.set_title(frame, loc="right", fontsize="small", color="#555555")
    axis.grid(alpha=0.3)
    axis.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, fontsize="small", frameon=False
    )


def thinned(t_ns: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
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

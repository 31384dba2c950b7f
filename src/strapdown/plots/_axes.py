"""Primitives of all figures: panels, lines with their peaks, labels, and saving."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown._words import printable
from strapdown.formats._output import check_ending, replacing
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown._typing import FloatArray, IntArray

__all__ = [
    "AMBER",
    "BLACK",
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "PICTURES",
    "PURPLE",
    "SKY",
    "STYLES",
    "YELLOW",
    "draw",
    "label",
    "panels",
    "save",
    "thinned",
    "titled",
]

# Okabe and Ito's palette: safe for colour-blind readers.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
AMBER, SKY, YELLOW, BLACK, GREY = "#E69F00", "#56B4E9", "#F0E442", "#000000", "#9A9A9A"
STYLES = ((BLUE, "solid"), (ORANGE, (0, (5, 1))), (GREEN, (0, (2, 1))))
COLUMNS = 1_000  # time bins of the envelope: about one per pixel column
_FEWEST_IN_BIN = 3
_PALE = 0.4
PICTURES = (".png", ".svg", ".pdf")


def save(figure: Figure, path: Path | str, *, force: bool = False) -> None:
    """Write a figure; the ending of the path chooses the format.

    Parameters
    ----------
    figure : Figure
        As returned by the functions of this package.
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
    """Return a figure and its axes over a common time, one below the other or in columns."""
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    rows = count // columns
    figure = Figure(figsize=(10.0, 1.0 + 2.2 * rows), layout="constrained")
    titled(figure, title)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axis in grid[-1]:
        axis.set_xlabel("time since the first sample [s]")
    return figure, list(grid.T.ravel())


def titled(figure: Figure, title: str) -> None:
    """Set the title of a figure, literally."""
    figure.suptitle(printable(title).replace("$", r"\$"))


def draw(  # noqa: PLR0913 (a drawing primitive)
    axis: Axes,
    t_ns: IntArray,
    values: FloatArray,
    start_ns: int,
    *,
    labels: Sequence[str | None] = ("x", "y", "z"),
    colour: str | None = None,
    period: float = np.inf,
) -> None:
    """Draw the columns of ``values`` over seconds since ``start_ns``.

    Of long signals a pale line joins the extremes of each bin and a full one the means, so that
    three of them can be read over each other. Values with a period are not joined where they wrap.
    """
    is_dense = len(t_ns) // COLUMNS >= _FEWEST_IN_BIN and colour is None
    for column, (text, (own_colour, dashes)) in enumerate(zip(labels, STYLES, strict=True)):
        pieces = _pieces(t_ns, values[:, column], period)
        look: dict[str, Any] = {
            "color": colour or own_colour,
            "linestyle": "solid" if colour else dashes,
            "linewidth": 2.4 if colour else 1.0,
        }
        t, y = _joined(pieces, _extremes)
        pale: dict[str, Any] = {"alpha": _PALE, "zorder": 1.9, "linestyle": "solid"}
        axis.plot((t - start_ns) / NS_PER_S, y, label=text, **look | (pale if is_dense else {}))
        if is_dense:
            t, y = _joined(pieces, _means)
            axis.plot((t - start_ns) / NS_PER_S, y, **look)


def label(axis: Axes, quantity: str, frame: str, *, columns: int = 4) -> None:
    """Label an axis with quantity and unit, and frame, and draw the legend in columns."""
    axis.set_ylabel(quantity)
    axis.set_title(frame, loc="right", fontsize="small", color="#555555")
    axis.grid(alpha=0.3)
    legend = axis.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, fontsize="small", frameon=False
    )
    for handle in legend.get_lines():
        handle.set_alpha(1.0)


def thinned(t_ns: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Break a signal at gaps, and thin each piece to the extremes of its bins."""
    return _joined(_pieces(t_ns, values, np.inf), _extremes)


def _pieces(
    t_ns: IntArray, values: FloatArray, period: float
) -> list[tuple[FloatArray, FloatArray, int]]:
    """Return the pieces of a signal between gaps and wraps, each with the size of its bins."""
    order = np.argsort(t_ns, kind="stable")
    t, y = t_ns[order].astype(np.float64), values[order]
    steps = np.diff(t)
    gap = 5.0 * np.median(steps) + 1.0 if steps.size else np.inf
    breaks = (steps > gap) | (np.abs(np.diff(y)) > period / 2.0)
    edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(t)]
    size = max(1, len(t) // COLUMNS)
    return [(t[a:b], y[a:b], size) for a, b in pairwise(edges)]


def _joined(
    pieces: list[tuple[FloatArray, FloatArray, int]],
    thin: Callable[[FloatArray, FloatArray, int], tuple[FloatArray, FloatArray]],
) -> tuple[FloatArray, FloatArray]:
    """Return one line of thinned pieces, with NaN between them."""
    t, y = map(list, zip(*(thin(*piece) for piece in pieces), strict=True))
    for number in range(len(t) - 1, 0, -1):
        t.insert(number, t[number][:1])
        y.insert(number, np.array([np.nan]))
    return np.concatenate(t), np.concatenate(y)


def _extremes(t: FloatArray, y: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest value of each bin of ``size`` samples, in order."""
    if size < _FEWEST_IN_BIN:
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


def _means(t: FloatArray, y: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each bin of ``size`` samples, and of the remainder."""
    starts = np.arange(0, len(t), size)
    known = np.isfinite(y)
    counts = np.add.reduceat(known.astype(np.float64), starts)
    sums = np.add.reduceat(np.where(known, y, 0.0), starts)
    with np.errstate(invalid="ignore"):  # a bin without a value is NaN
        means = sums / counts
    return np.add.reduceat(t, starts) / np.diff(np.append(starts, len(t))), means

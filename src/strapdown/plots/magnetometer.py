"""Figure of the calibration of a magnetometer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._words import printable
from strapdown.calibration.magnetometer.coverage import (
    FACET_SAMPLES,
    FACETS,
    RINGS,
    coverage_of,
    ring_edges,
)
from strapdown.calibration.magnetometer.readings import read
from strapdown.errors import ValueRangeError
from strapdown.plots._axes import BLUE, GREY, ORANGE
from strapdown.units import MICROTESLA, NS_PER_S

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.calibration import ImuCalibration
    from strapdown.series import ImuSeries

__all__ = ["plot_magnetometer"]

_MOST = 5_000  # points of a panel


def plot_magnetometer(
    magnetic_field: ImuSeries | ArrayLike, calibration: ImuCalibration, *, title: str = ""
) -> Figure:
    """Draw readings of a magnetometer before and after calibration.

    Parameters
    ----------
    magnetic_field : ImuSeries or (N, 3)
        Readings, in the axes of the calibration if they are an array.
    calibration : ImuCalibration
        With a magnetometer.
    title : str, optional

    Returns
    -------
    Figure
        Norm of the field over time; three projections, where the calibrated field is within a
        circle about zero; samples in each of the 32 facets of the sphere, on a map of equal
        areas.

    Raises
    ------
    ValueRangeError
        There is no magnetometer in the calibration, or no magnetic field.
    ShapeError
        The array is not (N, 3).
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    readings = read(magnetic_field)
    triad = calibration.in_frame(readings.body).magnetometer
    if triad is None:
        raise ValueRangeError(
            "expected a calibration of the magnetometer, got none in calibration: pass "
            "ellipsoid(series).calibration"
        )
    if not len(readings.field):
        raise ValueRangeError("expected finite readings of a magnetometer, got none")
    after = triad.calibrated(readings.field)
    before = float(np.cbrt(abs(np.linalg.det(triad.matrix)))) * readings.field
    norm = float(np.median(np.linalg.norm(after, axis=1)))
    size, unit = (MICROTESLA, "µT") if norm < 1e-3 else (norm, "norm of the field")
    figure = Figure(figsize=(10.0, 11.0), layout="constrained")
    figure.suptitle(printable(title or "Magnetometer calibration").replace("$", r"\$"))
    grid = figure.add_gridspec(3, 3, height_ratios=(2.2, 3.2, 3.4))
    t_s = None if readings.t_ns is None else (readings.t_ns - readings.t_ns[0]) / NS_PER_S
    step = max(len(after) // _MOST, 1)
    before, after, norm = before / size, after / size, norm / size
    top = figure.add_subplot(grid[0, :])
    _draw_norms(top, t_s, before, after, unit)
    for column, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        axis = figure.add_subplot(grid[1, column])
        _draw_projection(axis, before[::step], after[::step], (i, j), norm)
        axis.set(xlabel=f"{'xyz'[i]} [{unit}]", ylabel=f"{'xyz'[j]} [{unit}]")
    _draw_facets(figure.add_subplot(grid[2, :]), after)
    return figure


def _draw_norms(
    axis: Axes, t_s: FloatArray | None, before: FloatArray, after: FloatArray, unit: str
) -> None:
    x = np.arange(len(after)) if t_s is None else t_s
    step = max(len(after) // _MOST, 1)
    for field, colour, text in ((before, ORANGE, "before"), (after, BLUE, "after")):
        size = np.linalg.norm(field, axis=1)
        axis.plot(
            x[::step], size[::step], ".", color=colour, markersize=2.0, rasterized=True,
            label=f"{text}: varies by {100.0 * size.std() / size.mean():.1f} %",
        )  # fmt: skip
    axis.set(ylabel=f"norm [{unit}]", ylim=(0.0, None))
    axis.set_xlabel("reading" if t_s is None else "time since the first reading [s]")
    axis.grid(alpha=0.3)
    axis.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize="small", frameon=False,
        markerscale=4.0,
    )  # fmt: skip


def _draw_projection(
    axis: Axes, before: FloatArray, after: FloatArray, axes: tuple[int, int], norm: float
) -> None:
    """Draw two components of the field before and after, and the circle of its norm."""
    i, j = axes
    for field, colour in ((before, ORANGE), (after, BLUE)):
        axis.plot(
            field[:, i], field[:, j], ".", color=colour, markersize=1.5, alpha=0.5, rasterized=True
        )
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    axis.plot(norm * np.cos(angle), norm * np.sin(angle), color="black", linewidth=0.8)
    axis.plot(0.0, 0.0, "+", color="black")
    axis.set_aspect("equal", adjustable="datalim")
    axis.grid(alpha=0.3)


def _draw_facets(axis: Axes, field: FloatArray) -> None:
    """Draw the facets on a cylindrical map of equal areas: azimuth and height."""
    from matplotlib import colormaps  # noqa: PLC0415 (as above)
    from matplotlib.patches import Rectangle  # noqa: PLC0415 (as above)

    cover = coverage_of(field / np.linalg.norm(field, axis=1, keepdims=True))
    colours, edges, facet = colormaps["Blues"], ring_edges(), 0
    most = max(float(np.log1p(cover.counts.max())), 1.0)
    for ring, sectors in enumerate(RINGS):
        for sector in range(sectors):
            count, width = int(cover.counts[facet]), 360.0 / sectors
            covered = count >= FACET_SAMPLES
            shade = 0.15 + 0.6 * float(np.log1p(count)) / most
            patch = Rectangle(
                (sector * width, edges[ring + 1]), width, edges[ring] - edges[ring + 1],
                facecolor=colours(shade) if covered else "white",
                edgecolor=GREY, hatch=None if covered else "//",
            )  # fmt: skip
            axis.add_patch(patch)
            axis.text(
                (sector + 0.5) * width, 0.5 * (edges[ring] + edges[ring + 1]), str(count),
                ha="center", va="center", fontsize="small" if sectors > 1 else "xx-small",
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.6, "pad": 0.5},
            )  # fmt: skip
            facet += 1
    axis.set(xlim=(0.0, 360.0), ylim=(-1.0, 1.0), xticks=range(0, 361, 60))
    axis.set(xlabel="azimuth of the field in the sensor [deg]", ylabel="height (z / norm)")
    axis.set_title(
        f"readings in {FACETS} facets of equal area: {round(cover.share * FACETS)} covered; "
        f"largest empty cone {cover.empty_cone_deg:.0f} deg",
        loc="left", fontsize="medium",
    )  # fmt: skip

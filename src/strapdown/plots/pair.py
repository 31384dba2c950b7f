"""Figures of two sensors on one body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.calibration.pair.grid import Grid
from strapdown.calibration.pair.signals import signals_of
from strapdown.plots._axes import BLUE, GREY, ORANGE, draw, label, panels, thinned
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration import PairResult
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["plot_pair"]


def plot_pair(
    first: ImuSeries,
    second: ImuSeries | Trajectory,
    result: PairResult,
    *,
    title: str = "two sensors on one body",
) -> Figure:
    """Draw angular velocities of two sensors before and after their alignment, and residuals.

    Parameters
    ----------
    first, second : ImuSeries or Trajectory
        As passed to :func:`strapdown.calibration.align_pair`.
    result : PairResult
        What it returned.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        Over the time of the first, averaged over 0.2 s: lengths of the angular velocities, each
        from its first sample on; the same by the clock of the first; residuals of angular
        velocity, and of acceleration if there are any. Residuals are absent where the result is
        from a file.

    Raises
    ------
    ShapeError, TypeError
        As :func:`strapdown.calibration.align_pair`.
    """
    residuals = result.residuals
    differences = []
    if residuals is not None:
        differences.append((residuals.angular_velocity / RAD_PER_DEG, "w residual [deg/s]"))
        if residuals.acceleration is not None:
            differences.append((residuals.acceleration, "a residual [m/s$^2$]"))
    figure, axes = panels(2 + len(differences), title)
    one_ns, one = _speed(first, "first")
    two_ns, two = _speed(second, "second")
    for axis, stamps, frame in (
        (axes[0], two_ns - two_ns[0] + one_ns[0], "before: each from its first sample on"),
        (axes[1], result.first_ns(two_ns), "after: by the clock of the first"),
    ):
        _line(axis, one_ns, one, one_ns[0], GREY, "first")
        _line(axis, stamps, two, one_ns[0], BLUE if axis is axes[1] else ORANGE, "second")
        label(axis, "|w| [deg/s]", frame)
    for axis, (values, quantity) in zip(axes[2:], differences, strict=True):
        assert residuals is not None  # noqa: S101 (there are differences)
        draw(axis, residuals.t_ns, values, int(one_ns[0]))
        label(axis, quantity, "second less first")
    return figure


def _speed(data: ImuSeries | Trajectory, name: str) -> tuple[IntArray, FloatArray]:
    """Return stamps [ns] and length of the averaged angular velocity [deg/s], NaN in gaps."""
    signals = signals_of(data, name)
    grid = Grid.over(*signals.span_s, signals, signals)
    speed = np.linalg.norm(grid.mean(signals.angular_velocity(grid.fine_s)), axis=1)
    speed = np.where(grid.covered(signals.known(grid.fine_s)), speed / RAD_PER_DEG, np.nan)
    return signals.start_ns + np.rint(grid.t_s * NS_PER_S).astype(np.int64), speed


def _line(  # noqa: PLR0913, PLR0917 (a drawing primitive)
    axis: Axes, t_ns: IntArray, values: FloatArray, start_ns: int, colour: str, name: str
) -> None:
    t, y = thinned(t_ns, values)
    width = 2.0 if colour == GREY else 0.8
    axis.plot((t - start_ns) / NS_PER_S, y, color=colour, linewidth=width, label=name)

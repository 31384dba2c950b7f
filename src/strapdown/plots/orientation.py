"""Figures that compare estimates of one orientation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import ShapeError
from strapdown.evaluation import orientation_error
from strapdown.geometry import quaternion
from strapdown.plots._axes import (
    AMBER,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    label,
    panels,
    thinned,
)
from strapdown.series import timebase
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from strapdown._typing import ArrayLike
    from strapdown.series import Trajectory

__all__ = ["plot_comparison"]

_COLOURS: Final = (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY, BLACK, GREY, YELLOW)
_PARTS: Final = ("total", "heading", "inclination")
_LEAST_DEG: Final = 0.01
"""Lower limit of the axes; their scale is logarithmic, and an error may be 0."""


def plot_comparison(
    estimates: Mapping[str, Trajectory],
    reference: Trajectory,
    *,
    removed: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    title: str = "orientation, one line an estimator",
) -> Figure:
    """Draw the errors of estimates against a reference: total, heading, inclination.

    Parameters
    ----------
    estimates : mapping of str to Trajectory
        ENU, from the body frame of the reference.
    reference : Trajectory
        ENU. Rows that are unknown, or not ``moving``, are gaps.
    removed : mapping of str to two (4,), optional
        Constant rotations of the world and of the body, x y z w, that are removed from an
        estimate first: ``removed_rotation`` and ``removed_body_rotation`` of its evaluation.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        Three panels over time, on a log scale, in degrees.

    Raises
    ------
    ShapeError
        There is no estimate.
    """
    if not estimates:
        raise ShapeError("expected at least one estimate to draw, got none")
    figure, axes = panels(3, title)
    start_ns = int(reference.t_ns[0])
    counts = np.ones(len(reference), np.bool_) if reference.moving is None else reference.moving
    for number, (name, estimate) in enumerate(estimates.items()):
        q, r = timebase.orientation_at(estimate, reference.t_ns), reference.q_world_from_body
        if removed is not None:
            world, body = removed[name]
            r = quaternion.multiply(quaternion.multiply(world, r), body)
        error = orientation_error(q, r)
        for axis, part in zip(axes, _PARTS, strict=True):
            degrees = np.where(counts, getattr(error, part) / RAD_PER_DEG, np.nan)
            t, y = thinned(reference.t_ns, np.maximum(degrees, _LEAST_DEG / 2.0))
            colour = _COLOURS[number % len(_COLOURS)]
            axis.plot((t - start_ns) / NS_PER_S, y, color=colour, linewidth=0.9, label=name)
    for axis, part in zip(axes, _PARTS, strict=True):
        axis.set_yscale("log")
        axis.set_ylim(_LEAST_DEG, max(axis.get_ylim()[1], 10.0 * _LEAST_DEG))
        label(axis, f"{part} [deg]", f"world {reference.world}", columns=len(_COLOURS))
    return figure

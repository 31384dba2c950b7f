"""Pictures of what detectors found in a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.plots._axes import BLUE, GREEN, GREY, ORANGE, PURPLE, label, panels, thinned
from strapdown.units import NS_PER_S, STANDARD_GRAVITY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from strapdown.detection import Events
    from strapdown.series import ImuSeries

__all__ = ["plot_events"]

_COLOURS: Final = (ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9", GREY)


def plot_events(series: ImuSeries, events: Events, *, title: str = "events") -> Figure:
    """Draw the magnitudes of specific force and angular velocity, with every event marked.

    Parameters
    ----------
    series : ImuSeries
        N samples, in which the events were found.
    events : Events
        Of any kinds; each kind has a colour.
    title : str, optional
        What stands above.

    Returns
    -------
    Figure
        Two panels over time.
    """
    figure, axes = panels(2, title)
    start_ns = int(series.t_ns.min()) if len(series) else 0
    quantities = (
        ("specific force [g]", series.specific_force / STANDARD_GRAVITY),
        ("angular velocity [rad/s]", series.angular_velocity),
    )
    kinds = list(dict.fromkeys(events.kind.tolist()))
    for axis, (quantity, values) in zip(axes, quantities, strict=True):
        t, y = thinned(series.t_ns, np.linalg.norm(values, axis=1))
        axis.plot((t - start_ns) / NS_PER_S, y, color=BLUE, linewidth=0.8)
        named: set[str] = set()
        for marker in events.to_markers():
            colour = _COLOURS[kinds.index(marker.kind) % len(_COLOURS)]
            begin, end = ((t - start_ns) / NS_PER_S for t in marker[:2])
            text = None if marker.kind in named else marker.kind.replace("_", " ")
            named.add(marker.kind)
            axis.axvspan(begin, end, color=colour, alpha=0.3, label=text)
            axis.axvline(begin, color=colour, linewidth=0.8)
        label(axis, quantity, "magnitude", columns=len(_COLOURS))
    return figure

"""Panels as options of ECharts: plain data, for the live page and for files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.viewer.model import Mark, Panel

__all__ = [
    "LEFT_PX",
    "PANEL_PX",
    "RIGHT_PX",
    "TALL_PX",
    "height_px",
    "logarithmic",
    "marked",
    "options",
    "series_data",
]

LEFT_PX: Final = 64
RIGHT_PX: Final = 20
PANEL_PX: Final = 124
"""Height of a panel with its title."""
TALL_PX: Final = 280
"""The same of a panel with logarithmic axes."""
_TOP_PX: Final = 26
_NAME_PX: Final = 16
_GAP_PX: Final = 44
_ROUNDING: Final = 1e-11
"""Values below it are rounding errors, in every unit of the charts."""
# Okabe and Ito's palette, safe for colour-blind readers, and line types that differ as well.
_COLOURS: Final = {
    False: ("#0072B2", "#D55E00", "#009E73"),
    True: ("#56B4E9", "#E69F00", "#2BD4A4"),
}
_TYPES: Final[tuple[Any, ...]] = ("solid", [6, 2], [2, 2])
_INK: Final = {False: "#1f2933", True: "#e4e7eb"}
_GRID: Final = {False: "#d5dbe1", True: "#3b4650"}


def options(
    panels: Sequence[Panel],
    window_s: tuple[float, float],
    extent_s: tuple[float, float],
    *,
    marks: Sequence[Mark] = (),
    dark: bool = False,
) -> dict[str, Any]:
    """Return the options of one chart over time, with a grid for each panel.

    Parameters
    ----------
    panels : sequence of Panel
        From top to bottom.
    window_s : (2,)
        Shown span [s].
    extent_s : (2,)
        Whole span [s], to which the axes can be zoomed out.
    marks : sequence of Mark, optional
        Events, drawn as bands.
    dark : bool, optional
        Colours for a dark page.

    Returns
    -------
    dict
        Of types that JSON has, and arrays.
    """
    low, high = (round(each, 6) for each in extent_s)
    drawn = _stacked(panels, "value", PANEL_PX, dark=dark)
    for axis in drawn["xAxis"]:
        axis |= {"min": low, "max": high}
        axis["axisLabel"] = axis["axisLabel"] | {"formatter": "{value} s", "alignMaxLabel": "right"}
    drawn["axisPointer"] = {"link": [{"xAxisIndex": "all"}]}
    drawn["dataZoom"] = [
        {
            "id": "zoom",
            "type": "inside",
            "xAxisIndex": "all",
            "filterMode": "none",
            "startValue": window_s[0],
            "endValue": window_s[1],
        }
    ]
    if drawn["series"]:
        drawn["series"][0]["markArea"] = marked(marks, dark=dark)
    return drawn


def marked(marks: Sequence[Mark], *, dark: bool) -> dict[str, Any]:
    """Return events as named bands."""
    return {
        "silent": True,
        "itemStyle": {"color": "#E69F0055"},
        "label": {"position": "insideBottom", "color": _INK[dark], "fontSize": 9},
        "data": [
            [{"xAxis": mark.start_s, "name": mark.kind}, {"xAxis": mark.stop_s}] for mark in marks
        ],
    }


def logarithmic(panels: Sequence[Panel], x_name: str, *, dark: bool = False) -> dict[str, Any]:
    """Return the options of charts with logarithmic axes, whose abscissa has a name."""
    drawn = _stacked(panels, "log", TALL_PX, dark=dark)
    for axis in drawn["xAxis"]:
        axis |= {"name": x_name, "nameLocation": "middle", "nameGap": 22}
    return drawn


def _stacked(panels: Sequence[Panel], scale: str, panel_px: int, *, dark: bool) -> dict[str, Any]:
    """Return the options of panels of a height below each other."""
    ink, count = _INK[dark], max(1, len(panels))
    tops = [_TOP_PX + number * panel_px for number in range(count)]
    height = panel_px - _GAP_PX - (scale == "log") * _NAME_PX
    axis = {
        "type": scale,
        "axisLine": {"lineStyle": {"color": ink}, "onZero": False},
        "splitLine": {"lineStyle": {"color": _GRID[dark]}},
        "axisLabel": {"color": ink, "fontSize": 10},
    }
    heads = list(zip(panels, tops, strict=False))
    return {
        "animation": False,
        "backgroundColor": "transparent",
        "textStyle": {"color": ink},
        "aria": {"enabled": True},
        "tooltip": {"trigger": "axis", "confine": True, "transitionDuration": 0},
        "title": [_title(panel, top - 24, ink) for panel, top in heads],
        "legend": [_legend(panel, top - 24, ink) for panel, top in heads],
        "grid": [
            {
                "left": LEFT_PX,
                "right": RIGHT_PX,
                "top": top,
                "height": height,
                "outerBoundsMode": "none",  # long labels would move the axis from the cursor
            }
            for top in tops
        ],
        "xAxis": [{"gridIndex": number, **axis} for number in range(count)],
        "yAxis": [
            {"gridIndex": number, "scale": True, "splitNumber": 3, **axis}
            for number in range(count)
        ],
        "series": [
            {
                "type": "line",
                "name": line.label,
                "xAxisIndex": number,
                "yAxisIndex": number,
                "showSymbol": False,
                "connectNulls": False,
                "color": _COLOURS[dark][column % 3],
                "lineStyle": {"width": 1.2, "type": _TYPES[column % 3]},
                "data": _compact(line.points),
            }
            for number, panel in enumerate(panels)
            for column, line in enumerate(panel.lines)
        ],
    }


def _title(panel: Panel, top: float, ink: str) -> dict[str, Any]:
    """Return quantity and unit, and the frame in smaller letters."""
    return {
        "text": f"{panel.name} [{panel.unit}]{{frame|  {panel.frame}}}",
        "left": LEFT_PX,
        "top": top,
        "textStyle": {
            "fontSize": 12,
            "color": ink,
            "rich": {"frame": {"fontSize": 10, "color": ink}},
        },
    }


def _legend(panel: Panel, top: float, ink: str) -> dict[str, Any]:
    return {
        "data": [line.label for line in panel.lines],
        "right": RIGHT_PX,
        "top": top,
        "itemHeight": 8,
        "itemWidth": 20,
        "textStyle": {"fontSize": 11, "color": ink},
    }


def height_px(panels: Sequence[Panel], panel_px: int = PANEL_PX) -> int:
    """Return the height of a chart of panels."""
    return _TOP_PX + panel_px * max(1, len(panels))


def series_data(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Return only the data of the series, in the order of :func:`options`."""
    return [{"data": _compact(line.points)} for panel in panels for line in panel.lines]


def _compact(points: FloatArray) -> FloatArray:
    """Return points with the digits that a screen can show."""
    return np.stack([np.round(points[:, 0], 6), _short(points[:, 1])], axis=1)


def _short(values: FloatArray) -> FloatArray:
    """Round to five digits of the largest value; to nothing where all are rounding errors."""
    known = np.abs(values[np.isfinite(values)])
    largest = float(known.max(initial=0.0))
    if largest < _ROUNDING:
        return np.where(np.isfinite(values), 0.0, values)
    return np.round(values, 5 - int(np.floor(np.log10(largest))))

"""Panels as options of ECharts: plain data, for the live page and for files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.viewer.model import Panel

__all__ = ["LEFT_PX", "RIGHT_PX", "options", "series_data"]

LEFT_PX: Final = 64
RIGHT_PX: Final = 20
_TOP_PX: Final = 30
_GAP_PX: Final = 30
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
    height_px: int,
    dark: bool = False,
) -> dict[str, Any]:
    """Return the options of one ECharts chart with a grid for each panel.

    Parameters
    ----------
    panels : sequence of Panel
        From top to bottom.
    window_s : (2,)
        Shown span [s].
    extent_s : (2,)
        Whole span [s], to which the axes can be zoomed out.
    height_px : int
        Height of the chart [px].
    dark : bool, optional
        Colours for a dark page.

    Returns
    -------
    dict
        Of types that JSON has, and arrays.
    """
    ink, count = _INK[dark], max(1, len(panels))
    height = (height_px - _TOP_PX - _GAP_PX * count) / count
    tops = [_TOP_PX + number * (height + _GAP_PX) for number in range(count)]
    axis = {
        "axisLine": {"lineStyle": {"color": ink}},
        "splitLine": {"lineStyle": {"color": _GRID[dark]}},
    }
    return {
        "animation": False,
        "backgroundColor": "transparent",
        "textStyle": {"color": ink},
        "aria": {"enabled": True},
        "axisPointer": {"link": [{"xAxisIndex": "all"}], "label": {"precision": 3}},
        "tooltip": {"trigger": "axis", "confine": True, "transitionDuration": 0},
        "title": [
            {
                "text": f"{panel.name} [{panel.unit}]{{frame|  {panel.frame}}}",
                "left": LEFT_PX,
                "top": top - 22,
                "textStyle": {
                    "fontSize": 12,
                    "color": ink,
                    "rich": {"frame": {"fontSize": 10, "color": ink}},
                },
            }
            for panel, top in zip(panels, tops, strict=False)
        ],
        "legend": [
            {
                "data": [line.label for line in panel.lines],
                "right": RIGHT_PX,
                "top": top - 22,
                "itemHeight": 8,
                "textStyle": {"fontSize": 11, "color": ink},
            }
            for panel, top in zip(panels, tops, strict=False)
        ],
        "grid": [
            {"left": LEFT_PX, "right": RIGHT_PX, "top": top, "height": height} for top in tops
        ],
        "xAxis": [
            {
                "gridIndex": number,
                "type": "value",
                "min": extent_s[0],
                "max": extent_s[1],
                "axisLabel": {"show": number == count - 1, "color": ink},
                **axis,
            }
            for number in range(count)
        ],
        "yAxis": [
            {
                "gridIndex": number,
                "type": "value",
                "scale": True,
                "splitNumber": 3,
                "axisLabel": {"color": ink},
                **axis,
            }
            for number in range(count)
        ],
        "dataZoom": [
            {
                "id": "zoom",
                "type": "inside",
                "xAxisIndex": "all",
                "filterMode": "none",
                "startValue": window_s[0],
                "endValue": window_s[1],
            }
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


def series_data(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Return only the data of the series, in the order of :func:`options`."""
    return [{"data": _compact(line.points)} for panel in panels for line in panel.lines]


def _compact(points: np.ndarray[Any, np.dtype[np.float64]]) -> list[list[float | None]]:
    """Return points with the digits that a screen can show; null where a line breaks."""
    rounded = np.stack([np.round(points[:, 0], 6), _short(points[:, 1])], axis=1)
    return [[t, None if y != y else y] for t, y in rounded.tolist()]  # noqa: PLR0124 (NaN)


def _short(values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Round to five digits of the largest value."""
    known = np.abs(values[np.isfinite(values)])
    largest = float(known.max(initial=0.0))
    return values if largest == 0.0 else np.round(values, 5 - int(np.floor(np.log10(largest))))

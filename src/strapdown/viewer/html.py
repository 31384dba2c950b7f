"""Charts as one HTML document that loads nothing, for notebooks and files."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from strapdown.errors import BackendMissingError
from strapdown.formats import Recording
from strapdown.formats.recording import as_recording
from strapdown.viewer.charts import height_px, options
from strapdown.viewer.model import ViewModel
from strapdown.viewer.sources import RecordingSource

if TYPE_CHECKING:
    from strapdown.series import ImuSeries, Increments, Trajectory

__all__ = ["ChartPage", "chart_page"]

_BINS: Final = 2_000
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="color-scheme" content="light dark">
<style>body{{margin:8px;font-family:sans-serif}}#chart{{width:100%;height:{height}px}}</style></head>
<body><div id="chart" role="img" aria-label="{title}"></div>
<script type="text/plain" id="library">{library}</script>
<script type="text/plain" id="entry">{entry}</script>
<script type="application/json" id="options">{options}</script>
<script type="module">
const text = id => document.getElementById(id).textContent;
const url = code => URL.createObjectURL(new Blob([code], {{type: "text/javascript"}}));
const library = url(text("library"));
const {{echarts}} = await import(url(text("entry").replaceAll(/"\\.\\/[^"]+"/g, `"${{library}}"`)));
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const chart = echarts.init(document.getElementById("chart"));
chart.setOption(JSON.parse(text("options"))[dark ? "dark" : "light"]);
addEventListener("resize", () => chart.resize());
</script></body></html>
"""


class ChartPage:
    """Interactive charts: shown by a notebook, or saved to a file.

    Zoom with the wheel, move by dragging; a click on a name of the legend hides its lines.

    Parameters
    ----------
    title : str
        Of the document.
    html : str
        The whole document, which loads nothing from elsewhere.
    height_px : int
        Height in a notebook [px].
    """

    def __init__(self, title: str, html: str, height_px: int) -> None:
        self.title = title
        self.html = html
        self.height_px = height_px

    def __repr__(self) -> str:
        return f"<ChartPage {self.title!r}: show it in a notebook, or save(path)>"

    def _repr_html_(self) -> str:
        """Return a frame with the document."""
        document = html.escape(self.html)
        title = html.escape(self.title)
        style = f"width:100%;height:{self.height_px + 30}px;border:0"
        return f'<iframe srcdoc="{document}" style="{style}" title="{title}"></iframe>'

    def save(self, path: Path | str) -> None:
        """Write the document to a file, replacing it."""
        Path(path).write_text(self.html, encoding="utf-8")


def chart_page(
    source: Recording | ImuSeries | Trajectory | Increments,
    *,
    topic: str | None = None,
    title: str = "",
) -> ChartPage:
    """Return interactive charts of a recording or a series.

    Lines are reduced to the extremes of 2000 bins, so that peaks remain.

    Parameters
    ----------
    source : Recording, ImuSeries, Trajectory or Increments
        With at least one sample.
    topic : str, optional
        IMU of a recording; by default the one with the most samples.
    title : str, optional
        By default the name of the file, or of the sensor.

    Returns
    -------
    ChartPage

    Raises
    ------
    BackendMissingError
        The extra ``viewer`` is not installed: its package contains the charts' library.
    FormatError
        There is nothing to draw.
    """
    recording = source if isinstance(source, Recording) else as_recording(source)
    shown = RecordingSource(recording, topic=topic, name=title)
    model = ViewModel([shown])
    panels = model.panels(0, bins=_BINS)
    height = height_px(panels)
    drawn = {
        name: options(panels, model.window_s, model.extent_s, dark=dark)
        for name, dark in (("light", False), ("dark", True))
    }
    entry, library = _library()
    name = html.escape(shown.name or "strapdown")
    document = _PAGE.format(
        title=name,
        height=height,
        entry=_as_text(entry),
        library=_as_text(library),
        options=_as_text(json.dumps(drawn, allow_nan=False)),
    )
    return ChartPage(shown.name, document, height)


def _as_text(code: str) -> str:
    """Return text that cannot end its element: within it ``</`` only occurs in strings."""
    return code.replace("</", "<\\/").replace("<!--", "<\\!--")


def _library() -> tuple[str, str]:
    """Return the two modules of ECharts: the entry, and the one that it imports."""
    try:
        folder = files("nicegui").joinpath("elements/echart/dist")
    except ModuleNotFoundError:
        raise BackendMissingError("an interactive figure", extra="viewer") from None
    entry = folder.joinpath("index.js").read_text(encoding="utf-8")
    name = entry.split('from"./', 1)[1].split('"', 1)[0]
    return entry, folder.joinpath(name).read_text(encoding="utf-8")

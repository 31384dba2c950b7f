"""Charts as one HTML document that loads nothing, for notebooks and files."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import BackendMissingError
from strapdown.formats._output import check_ending, replacing
from strapdown.formats.recording import as_recording
from strapdown.viewer.analysis import spectrum_panels
from strapdown.viewer.charts import TALL_PX, height_px, logarithmic, options
from strapdown.viewer.model import ViewModel
from strapdown.viewer.sources import RecordingSource

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.formats import Recording
    from strapdown.series import ImuSeries, Increments, Trajectory

__all__ = ["ChartPage", "chart_page", "spectrum_page"]

_BINS: Final = 1_000
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
const {{schemes, data}} = JSON.parse(text("options"));
const shown = schemes[dark ? 1 : 0];
shown.series.forEach((series, number) => series.data = data[number]);
chart.setOption(shown);
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

    def save(self, path: Path | str, *, force: bool = False) -> None:
        """Write the document.

        Parameters
        ----------
        path : path-like
            Ends in .html.
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
        check_ending(path, (".html",))
        with replacing(path, force=force) as partial:
            partial.write_text(self.html, encoding="utf-8")


def chart_page(
    source: Recording | ImuSeries | Trajectory | Increments,
    *,
    topic: str | None = None,
    title: str = "",
) -> ChartPage:
    """Return interactive charts of a recording or a series.

    Lines are reduced to the extremes of 1000 bins, so that peaks remain.

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
    recording = as_recording(source)
    shown = RecordingSource(recording, topic=topic, name=title)
    model = ViewModel([shown])
    panels = model.panels(0, bins=_BINS)
    drawn = [options(panels, model.window_s, model.extent_s, dark=dark) for dark in (False, True)]
    return _page(shown.name, drawn, height_px(panels))


def spectrum_page(
    source: Recording | ImuSeries, *, topic: str | None = None, title: str = ""
) -> ChartPage:
    """Return interactive charts of the spectrum, as ``plots.plot_spectrum`` draws.

    Parameters
    ----------
    source : Recording or ImuSeries
        With 64 samples in sequence.
    topic : str, optional
        By default the source with the highest rate, for each quantity.
    title : str, optional
        By default the name of the file.

    Returns
    -------
    ChartPage

    Raises
    ------
    BackendMissingError
        As :func:`chart_page`.
    FormatError
        No source has 64 samples in sequence.
    """
    recording = as_recording(source)
    panels = spectrum_panels(recording, topic=topic)
    drawn = [logarithmic(panels, "frequency [Hz]", dark=dark) for dark in (False, True)]
    return _page(title or recording.path.name, drawn, height_px(panels, TALL_PX))


def _page(title: str, drawn: list[dict[str, Any]], height: int) -> ChartPage:
    """Return the document of charts in their light and their dark form."""
    light, dark = drawn
    data = [_with_nulls(each.pop("data")) for each in light["series"]]
    for each in dark["series"]:
        del each["data"]  # the same lines
    entry, library = _library()
    name = title or "strapdown"
    document = _PAGE.format(
        title=html.escape(name),
        height=height,
        entry=_as_text(entry),
        library=_as_text(library),
        options=_as_text(json.dumps({"schemes": drawn, "data": data}, allow_nan=False)),
    )
    return ChartPage(name, document, height)


def _with_nulls(points: FloatArray) -> list[list[float | None]]:
    """Return points as lists, with None where a line breaks: JSON has no NaN."""
    return [[None if value != value else value for value in row] for row in points.tolist()]  # noqa: PLR0124 (NaN)


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

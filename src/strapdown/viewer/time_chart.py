"""A chart over time on the page: panels below each other, their zoom, and the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from strapdown.viewer.charts import LEFT_PX, RIGHT_PX, height_px, marked, options, series_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown.viewer.model import Mark, Panel, ViewModel

__all__ = ["TimeChart", "with_lines"]


class TimeChart:
    """Panels of one source, or of a difference, over the window of a page.

    Parameters
    ----------
    model : ViewModel
        State of the page.
    panels : list of Panel
        Charts at first.
    marks : sequence of Mark, optional
        Events at first.
    dark : bool
        Colours for a dark page.
    on_zoom : callable
        Called with the event of a zoom in the browser.
    """

    def __init__(
        self,
        model: ViewModel,
        panels: list[Panel],
        *,
        marks: Sequence[Mark] = (),
        dark: bool,
        on_zoom: Callable[..., object],
    ) -> None:
        self._model, self._dark = model, dark
        self._panels, self._extent_s = panels, model.extent_s
        self._cursor_at = -1.0
        with ui.element("div").classes("view-stack"):
            self._chart = ui.echart(self._options(marks)).classes("view-chart")
            self._chart.style(f"height: {height_px(panels)}px")
            self._chart.on("chart:datazoom", on_zoom, ["start", "end", "batch"], throttle=0.05)
            self._cursor = ui.element("div").classes("view-cursor")

    @property
    def id(self) -> int:
        """Number of the chart's element."""
        return self._chart.id

    def _options(self, marks: Sequence[Mark]) -> dict[str, Any]:
        window_s, extent_s = self._model.window_s, self._model.extent_s
        return options(self._panels, window_s, extent_s, marks=marks, dark=self._dark)

    def show(
        self, panels: list[Panel], lines: list[dict[str, Any]], marks: Sequence[Mark] = ()
    ) -> None:
        """Send lines, and nothing else where the panels are as before."""
        extent_s = self._model.extent_s
        same = _heads(panels) == _heads(self._panels) and extent_s == self._extent_s
        self._panels, self._extent_s = panels, extent_s
        if same:
            changed: dict[str, Any] = {"series": lines}
            if marks:
                bands = {"markArea": marked(marks, dark=self._dark)}
                changed["series"] = [lines[0] | bands, *lines[1:]]
        else:  # a live source has got its quantities, or a recording is longer than before
            changed = self._options(marks)
            self._chart.style(f"height: {height_px(panels)}px")
        self._chart.run_chart_method("setOption", changed, {"notMerge": not same})

    def show_zoom(self) -> None:
        """Show the window."""
        start, stop = self._model.window_s
        zoom = {"dataZoom": [{"id": "zoom", "startValue": start, "endValue": stop}]}
        self._chart.run_chart_method("setOption", zoom)

    def show_cursor(self) -> None:
        """Move the line at the cursor."""
        start, stop = self._model.window_s
        share = (self._model.cursor_s - start) / (stop - start) if stop > start else 0.0
        if share != self._cursor_at:
            self._cursor_at = share
            left = f"calc({LEFT_PX}px + (100% - {LEFT_PX + RIGHT_PX}px) * {share:.5f})"
            is_inside = 0.0 <= share <= 1.0
            self._cursor.style(f"left: {left}; display: {'block' if is_inside else 'none'}")


def with_lines(panels: list[Panel]) -> tuple[list[Panel], list[dict[str, Any]]]:
    """Return panels with what a page needs to draw them again."""
    return panels, series_data(panels)


def _heads(panels: Sequence[Panel]) -> list[tuple[str, str]]:
    return [(each.name, each.frame) for each in panels]

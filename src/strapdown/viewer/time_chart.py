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

    The framework would walk through data among the options each time: lines are sent beside them.

    Parameters
    ----------
    model : ViewModel
        State of the page.
    on_zoom : callable
        Called with the event of a zoom in the browser.
    """

    def __init__(self, model: ViewModel, *, on_zoom: Callable[..., object]) -> None:
        self._model = model
        self._heads: list[tuple[str, str]] | None = None
        self._extent_s = model.extent_s
        self._cursor_at = -1.0
        with ui.element("div").classes("view-stack") as self._stack:
            self._stack.style(f"height: {height_px(())}px")
            self._chart = ui.echart({}).classes("view-chart")
            self._chart.on("chart:datazoom", on_zoom, ["start", "end", "batch"], throttle=0.05)
            self._cursor = ui.element("div").classes("view-cursor")

    @property
    def id(self) -> int:
        """Number of the chart's element."""
        return self._chart.id

    async def mounted(self, timeout_s: float) -> None:
        """Wait until the browser has made the chart, which takes no lines before.

        Raises
        ------
        TimeoutError
        """
        await ui.run_javascript(
            f"while (!getElement({self.id})?.chart) await new Promise(requestAnimationFrame);"
            "return 0",
            timeout=timeout_s,
        )

    def show(
        self, panels: list[Panel], lines: list[dict[str, Any]], marks: Sequence[Mark] = ()
    ) -> None:
        """Send lines, and nothing else where the panels are as before."""
        heads, extent_s = [(each.name, each.frame) for each in panels], self._model.extent_s
        same = heads == self._heads and extent_s == self._extent_s
        self._heads, self._extent_s = heads, extent_s
        if same:
            changed: dict[str, Any] = {"series": lines}
            if marks:
                bands = {"markArea": marked(marks, dark=self._model.is_dark)}
                changed["series"] = [lines[0] | bands, *lines[1:]]
        else:  # a live source has got its quantities, or a recording is longer than before
            window_s = self._model.window_s
            changed = options(panels, window_s, extent_s, marks=marks, dark=self._model.is_dark)
            self._stack.style(f"height: {height_px(panels)}px")
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

"""The page: health on top, scene and charts, and the timeline."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from nicegui import ui

from strapdown.geometry import WorldFrame
from strapdown.viewer.charts import LEFT_PX, RIGHT_PX, options, series_data
from strapdown.viewer.model import ViewModel
from strapdown.viewer.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nicegui.events import GenericEventArguments, KeyEventArguments

    from strapdown.viewer.sources import Source

__all__ = ["Page"]

_FRAME_S: Final = 1.0 / 30.0
_CHARTS_S: Final = 0.1
_HEALTH_S: Final = 1.0
_HEIGHT_PX: Final = 760
_STALLED_S: Final = 3600.0
HELP: Final = (
    ("space", "play or pause"),
    ("← →", "one sample back or on; with shift ten"),
    ("1 ... 9", "zoom: the whole, and half of the span for each step"),
    ("wheel, drag", "zoom and move the charts; turn the scene"),
    ("?", "this help"),
)


class _Column:
    """Scene, values and charts of one source."""

    def __init__(self, model: ViewModel, number: int, *, dark: bool, zoomed: Any) -> None:  # noqa: ANN401
        self._model, self._number = model, number
        source = model.sources[number]
        world = WorldFrame(source.frames().split(" ", maxsplit=1)[0] or "ENU")
        with (
            ui.element("section").classes("view-source").props(f'aria-label="source {number + 1}"')
        ):
            with ui.row().classes("items-center no-wrap"):
                ui.label(source.name).classes("view-name")
                ui.label(source.frames()).classes("view-badge").props(f"id=frames-{number}")
            self._health = ui.row().classes("view-health").props(f"id=health-{number} role=status")
            with ui.element("div").classes("view-body"):
                with ui.element("div").classes("view-scene").props(f"id=scene-{number}"):
                    self.scene = Scene(world, source.trail(), dark=dark)
                    self._values = ui.label().classes("view-values").props(f"id=values-{number}")
                with ui.element("div").classes("view-charts").props(f"id=charts-{number}"):
                    self.chart = ui.echart(self._options(dark)).classes("view-chart")
                    self.chart.on("chart:datazoom", zoomed)
                    self._cursor = ui.element("div").classes("view-cursor")
        self._dark = dark
        self._count = len(model.panels(number))

    def _options(self, dark: bool) -> dict[str, Any]:  # noqa: FBT001
        model = self._model
        panels = model.panels(self._number)
        extent = model.extent_s
        return options(panels, model.window_s, extent, height_px=_HEIGHT_PX, dark=dark)

    def show_pose(self) -> None:
        """Turn the body, and move the cursor."""
        self.scene.show(*self._model.bodies(self._number))
        start, stop = self._model.window_s
        share = (self._model.cursor_s - start) / (stop - start) if stop > start else 0.0
        left = f"calc({LEFT_PX}px + (100% - {LEFT_PX + RIGHT_PX}px) * {share:.5f})"
        self._cursor.style(f"left: {left}; display: {'block' if 0 <= share <= 1 else 'none'}")

    async def show_charts(self) -> None:
        """Send the lines of the window; return when the page has drawn them."""
        panels = self._model.panels(self._number)
        if len(panels) != self._count:  # the first samples of a live source bring its quantities
            self._count = len(panels)
            changed, replaces = self._options(self._dark), {"notMerge": True}
        else:
            changed, replaces = {"series": series_data(panels)}, {}
        await self.chart.run_chart_method("setOption", changed, replaces, timeout=_STALLED_S)

    def show_values(self) -> None:
        """Write the values at the cursor, and the health of the source."""
        lines = [
            f"{name}  {'  '.join(f'{value:9.3f}' for value in values)} {unit}"
            for name, unit, _, values in self._model.values(self._number)
        ]
        self._values.set_text("\n".join(lines))

    def show_health(self) -> None:
        """Write rate, losses and the like."""
        self._health.clear()
        with self._health:
            for figure in self._model.sources[self._number].health():
                mark = "" if figure.is_good else "⚠ "
                ui.label(f"{mark}{figure.name} {figure.value}").classes(
                    "view-good" if figure.is_good else "view-bad"
                )


class Page:
    """One client's page over shared sources.

    Parameters
    ----------
    sources : sequence of Source
        Shown side by side.
    dark : bool
        Whether the browser prefers dark pages.
    """

    def __init__(self, sources: Sequence[Source], *, dark: bool) -> None:
        self.model = ViewModel(sources)
        self._charts_due = False
        ui.dark_mode(value=dark)
        with ui.element("main").classes("view-main"):
            with ui.element("div").classes("view-sources"):
                self._columns = [
                    _Column(self.model, number, dark=dark, zoomed=self._zoomed)
                    for number in range(len(sources))
                ]
            self._build_timeline()
        self._help = self._build_help()
        ui.keyboard(on_key=self._key)

    def _build_timeline(self) -> None:
        low, high = self.model.extent_s
        with ui.element("footer").classes("view-timeline"):
            self._play = ui.button(icon="play_arrow", on_click=self._toggle)
            self._play.props('flat id=play aria-label="play or pause"')
            self._slider = ui.slider(min=low, max=high, step=(high - low) / 1e4 or 1e-3, value=low)
            self._slider.props('id=timeline aria-label="time in seconds"')
            self._slider.on("update:model-value", self._slid, throttle=0.05)
            self._slider.set_enabled(not self.model.is_live)
            self._time = ui.label().props("id=time")
            self._rate = ui.select([0.25, 0.5, 1.0, 2.0, 4.0, 8.0], value=1.0, label="rate")
            self._rate.props('dense id=rate aria-label="rate of playing"')
            self._rate.on_value_change(lambda event: setattr(self.model, "rate", event.value))
            loop = ui.checkbox("loop", value=self.model.loops).props("id=loop")
            loop.on_value_change(lambda event: setattr(self.model, "loops", event.value))
            ui.button("?", on_click=self._show_help).props('flat aria-label="help"')

    @staticmethod
    def _build_help() -> ui.dialog:
        with ui.dialog().props("id=help") as dialog, ui.card():
            ui.label("Keys").classes("view-name")
            for key, does in HELP:
                ui.label(f"{key}: {does}")
        return dialog

    async def run(self) -> None:
        """Draw frames until the client has gone; each waits for the page to have drawn the last."""
        client = ui.context.client
        before = monotonic()
        health_at = charts_at = 0.0
        while client.has_socket_connection:
            now = monotonic()
            self.model.advance(now - before)
            before = now
            for column in self._columns:
                column.show_pose()
            if now >= charts_at and (
                self._charts_due or (self.model.is_live and self.model.is_playing)
            ):
                self._charts_due = False
                charts_at = now + _CHARTS_S
                for column in self._columns:
                    await column.show_charts()
            if now >= health_at:
                health_at = now + _HEALTH_S
                for column in self._columns:
                    column.show_health()
            for column in self._columns:
                column.show_values()
            self._show_time()
            await client.run_javascript("return 0", timeout=_STALLED_S)
            await asyncio.sleep(max(0.0, _FRAME_S - (monotonic() - now)))

    def _show_time(self) -> None:
        self._slider.set_value(self.model.cursor_s)
        low, high = self.model.extent_s
        self._time.set_text(
            "live" if self.model.is_live else f"{self.model.cursor_s:.3f} s of {high - low:.3f}"
        )
        self._play.props(f"icon={'pause' if self.model.is_playing else 'play_arrow'}")

    def _toggle(self) -> None:
        self.model.toggle()

    def _slid(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, int | float):
            self._seek(float(event.args))

    def _seek(self, time_s: float) -> None:
        window = self.model.window_s
        self.model.seek(time_s)
        self._charts_due |= self.model.window_s != window

    def _zoomed(self, event: GenericEventArguments) -> None:
        """Fetch the lines of a span that was zoomed or moved in the browser."""
        given = event.args if isinstance(event.args, dict) else {}
        part = (given.get("batch") or [given])[0]
        low, high = self.model.extent_s
        share = [part.get("start"), part.get("end")]
        if all(isinstance(each, int | float) and 0 <= each <= 100 for each in share):
            start, stop = (low + (high - low) * float(each) / 100.0 for each in share)
            self.model.zoom(start, stop)
            self._charts_due = True
            self._align_zoom()

    def _align_zoom(self) -> None:
        """Give every chart the window."""
        start, stop = self.model.window_s
        zoom = {"dataZoom": [{"id": "zoom", "startValue": start, "endValue": stop}]}
        for column in self._columns:
            column.chart.run_chart_method("setOption", zoom)

    def _show_help(self) -> None:
        self._help.open()

    def _key(self, event: KeyEventArguments) -> None:
        if not event.action.keydown:
            return
        key, many = str(event.key), 10 if event.modifiers.shift else 1
        if key == " ":
            self._toggle()
        elif key in {"ArrowLeft", "ArrowRight"}:
            window = self.model.window_s
            self.model.step(many if key == "ArrowRight" else -many)
            self._charts_due |= self.model.window_s != window
        elif key.isdecimal() and key != "0":
            self.model.zoom_level(int(key))
            self._charts_due = True
            self._align_zoom()
        elif key == "?":
            self._help.open()

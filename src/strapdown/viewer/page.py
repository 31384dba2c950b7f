"""The page of one client: sources side by side, timeline, keys."""

from __future__ import annotations

import asyncio
import json
import re
from time import monotonic
from typing import TYPE_CHECKING, Final

from nicegui import background_tasks, ui

from strapdown.viewer.column import Column
from strapdown.viewer.model import ViewModel
from strapdown.viewer.time_chart import TimeChart, with_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nicegui import Client
    from nicegui.events import GenericEventArguments, KeyEventArguments

    from strapdown.viewer.sources import Source

__all__ = ["PATIENCE_S", "Page"]

_FRAME_S: Final = 1.0 / 30.0
_CHARTS_S: Final = 0.1
_HEALTH_S: Final = 1.0
_STALLED_S: Final = 3600.0
PATIENCE_S: Final = 30.0
"""Longest wait for a slow browser, and for one that lost its connection [s]."""
_RATES: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_PLACE: Final = re.compile(r"#t=(-?[\d.]+)&z=(-?[\d.]+),(-?[\d.]+)")
_HELP: Final = (
    ("space", "play or pause"),
    ("← →", "one sample back or on; with shift ten"),
    ("1 ... 9", "zoom: the whole, and half of the span for each step"),
    ("f", "frames of display: as recorded, ENU and FLU, NED and FRD"),
    ("wheel, drag", "zoom and move the charts; turn the scene"),
    ("?", "this help"),
)


class Page:
    """One client's page over shared sources; time and zoom are its own.

    Parameters
    ----------
    sources : sequence of Source
        Shown side by side.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self.model = ViewModel(sources)
        self._charts_due = False
        self._place = ""
        self._colours = ui.dark_mode()
        with ui.element("main").classes("view-main"):
            with ui.element("div").classes("view-sources"):
                self._columns = [
                    Column(self.model, number, on_zoom=self._zoomed, on_seek=self._seek)
                    for number in range(len(sources))
                ]
            self._difference = self._build_difference()
            self._build_timeline()
        self._help = _build_help()
        ui.keyboard(on_key=self._key)

    @property
    def _charts(self) -> list[TimeChart]:
        charts = [column.chart for column in self._columns]
        return charts if self._difference is None else [*charts, self._difference]

    def _restore(self, place: str) -> None:
        """Take time and zoom from an address; ignore what is none."""
        found = _PLACE.fullmatch(place)
        if found is None or self.model.is_live:
            return
        try:
            time_s, start_s, stop_s = map(float, found.groups())
        except ValueError:
            return
        self.model.zoom(start_s, stop_s)
        self.model.seek(time_s)

    def _build_difference(self) -> TimeChart | None:
        """Build the charts of the difference of two recordings, below both."""
        difference = self.model.difference
        if difference is None:
            return None
        section = ui.element("section").classes("view-difference")
        with section.props('id=difference aria-label="difference"'):
            with ui.row().classes("view-head"):
                ui.label(f"Difference: {difference.name}").classes("view-name")
                ui.label(difference.alignment).classes("view-badge").props("id=alignment")
            with ui.element("div").classes("view-panels"):
                return TimeChart(self.model, on_zoom=self._zoomed)

    def _build_timeline(self) -> None:
        low, high = self.model.extent_s
        with ui.element("footer").classes("view-timeline"):
            self._play = ui.button(icon="play_arrow", on_click=self.model.toggle)
            self._play.props('flat id=play aria-label="play or pause"')
            self._slider = ui.slider(min=low, max=high, step=(high - low) / 1e4 or 1e-3, value=low)
            self._slider.props('id=timeline aria-label="time in seconds"')
            self._slider.on("update:model-value", self._slid, throttle=0.05)
            self._slider.set_enabled(not self.model.is_live)
            self._time = ui.label().props("id=time")
            rate = ui.select(list(_RATES), value=1.0, label="rate")
            rate.props('dense id=rate aria-label="rate of playing"')
            rate.on_value_change(lambda event: setattr(self.model, "rate", event.value))
            loop = ui.checkbox("loop", value=self.model.loops).props("id=loop")
            loop.on_value_change(lambda event: setattr(self.model, "loops", event.value))
            link = ui.button("link", on_click=self._copy_link).props("flat dense no-caps id=link")
            link.props('aria-label="copy a link to this time and zoom"')
            ui.button("?", on_click=self._show_help).props('flat dense id=help aria-label="help"')

    async def _begin(self, client: Client) -> None:
        """Wait for the browser, and draw health and charts, then the scenes."""
        await client.connected(timeout=PATIENCE_S)
        is_dark, place = await client.run_javascript(
            "return [matchMedia('(prefers-color-scheme: dark)').matches, location.hash]",
            timeout=PATIENCE_S,
        )
        self.model.is_dark = self._colours.value = bool(is_dark)
        self._restore(str(place))
        for chart in self._charts:
            await chart.mounted(_STALLED_S)
        self._show_charts()
        self._show_health()
        await _drawn()
        for column in self._columns:
            column.build_scene()
            background_tasks.create(self._find_events(column))

    async def run(self) -> None:
        """Draw frames as long as the client exists.

        A frame is sent after the page has drawn the one before, so that a slow or hidden page
        gets the newest state when it is ready, and nothing queues up.
        """
        client = ui.context.client
        await self._begin(client)
        before = monotonic()
        health_at = charts_at = 0.0
        while not client.is_deleted:
            now = monotonic()
            if not client.has_socket_connection:
                await asyncio.sleep(_CHARTS_S)
                continue
            self.model.advance(now - before)
            before = now
            self._show_poses()
            running = self.model.is_live and self.model.is_playing
            if now >= charts_at and (self._charts_due or running):
                charts_at = now + _CHARTS_S
                self._show_charts()
            if now >= health_at:
                health_at = now + _HEALTH_S
                self._show_health()
            self._show_time()
            await _drawn()
            for column in self._columns:
                column.note_delay()
            await asyncio.sleep(max(0.0, _FRAME_S - (monotonic() - now)))

    def _show_poses(self) -> None:
        for column in self._columns:
            column.show_pose()
        if self._difference is not None:
            self._difference.show_cursor()

    def _show_charts(self) -> None:
        self._charts_due = False
        for column in self._columns:
            column.show_charts()
        if self._difference is not None:
            self._difference.show(*with_lines(self.model.difference_panels()))

    def _show_health(self) -> None:
        for column in self._columns:
            column.show_health()
        self._extend()
        self._keep_place()

    def _extend(self) -> None:
        """Draw again where a recording has grown that is still being read."""
        extent = self.model.extent_s
        self.model.refresh()
        low, high = self.model.extent_s
        if (low, high) != extent:
            self._slider.props(f"max={high} step={(high - low) / 1e4}")
            self._charts_due = True

    async def _find_events(self, column: Column) -> None:
        await column.find_events()
        self._charts_due = True

    def _show_time(self) -> None:
        model = self.model
        if not model.is_live:
            self._slider.set_value(model.cursor_s)
            self._time.set_text(f"{model.cursor_s:.3f} s of {model.extent_s[1]:.3f}")
        else:
            self._time.set_text("live" if model.is_playing else "paused")
        self._play.props(f"icon={'pause' if model.is_playing else 'play_arrow'}")

    def _keep_place(self) -> None:
        """Write time and zoom into the address, so that a page loaded again begins there."""
        if self.model.is_live or self.model.is_playing:
            return
        start_s, stop_s = self.model.window_s
        place = f"#t={self.model.cursor_s:.3f}&z={start_s:.3f},{stop_s:.3f}"
        if place != self._place:
            self._place = place
            ui.run_javascript(f"history.replaceState(null, '', {json.dumps(place)})")

    async def _copy_link(self) -> None:
        self.model.is_playing &= self.model.is_live
        self._keep_place()
        await ui.run_javascript(
            "try { await navigator.clipboard.writeText(location.href) } catch (error) {} return 0",
            timeout=10.0,
        )
        ui.notify("link to this time copied; it opens in this browser while the viewer runs")

    def _slid(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, int | float):
            self._seek(float(event.args))

    def _seek(self, time_s: float) -> None:
        window = self.model.window_s
        self.model.seek(time_s)
        if self.model.window_s != window:
            self._show_window()

    def _show_window(self) -> None:
        self._charts_due = True
        for chart in self._charts:
            chart.show_zoom()

    def _zoomed(self, event: GenericEventArguments) -> None:
        """Fetch the lines of a span that was zoomed or moved in the browser."""
        given = event.args if isinstance(event.args, dict) else {}
        part = (given.get("batch") or [given])[0]
        low, high = self.model.extent_s
        share = [part.get("start"), part.get("end")]
        if all(isinstance(each, int | float) and 0.0 <= each <= 100.0 for each in share):
            start_s, stop_s = (low + (high - low) * float(each) / 100.0 for each in share)
            self.model.zoom(start_s, stop_s)
            self._show_window()

    def _key(self, event: KeyEventArguments) -> None:
        if not event.action.keydown:
            return
        key, many = str(event.key), 10 if event.modifiers.shift else 1
        if key == " ":
            self.model.toggle()
        elif key in {"ArrowLeft", "ArrowRight"}:
            window = self.model.window_s
            self.model.step(many if key == "ArrowRight" else -many)
            if self.model.window_s != window:
                self._show_window()
        elif key.isdecimal() and key != "0":
            self.model.zoom_level(int(key))
            self._show_window()
        elif key == "f":
            self.model.next_frames()
            self._charts_due = True
        elif key == "?":
            self._show_help()

    def _show_help(self) -> None:
        self._help.open()


async def _drawn() -> None:
    """Wait until the page has drawn what was sent to it."""
    await asyncio.sleep(0)  # the calls of charts are queued by tasks of their own
    await ui.run_javascript("return 0", timeout=_STALLED_S)


def _build_help() -> ui.dialog:
    with ui.dialog() as dialog, ui.card():
        ui.label("Keys").classes("view-name")
        for key, does in _HELP:
            ui.label(f"{key}: {does}")
    return dialog

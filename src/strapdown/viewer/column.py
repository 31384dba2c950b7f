"""One source on the page: health, scene, charts, analysis and events."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from nicegui import run, ui

import strapdown.formats as files
from strapdown.errors import StrapdownError
from strapdown.formats.recording import as_recording
from strapdown.geometry import WorldFrame
from strapdown.units import NS_PER_S
from strapdown.viewer.analysis import allan_panels, spectrum_panels
from strapdown.viewer.bodies import as_text, described
from strapdown.viewer.charts import TALL_PX, height_px, logarithmic
from strapdown.viewer.scene import Scene
from strapdown.viewer.sources import Figure
from strapdown.viewer.time_chart import TimeChart, with_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from nicegui.events import ValueChangeEventArguments

    from strapdown.series import ImuSeries
    from strapdown.viewer.cockpit_tab import CockpitTab
    from strapdown.viewer.model import Panel, ViewModel

__all__ = ["Column", "in_daemon"]

_LATE_S: Final = 0.5
"""Delay of the page that is reported as too long."""
_LOOK_S: Final = 0.2
"""Time between two looks whether a recording is read."""
_MOST_ROWS: Final = 200_000
"""Samples that can be downloaded at one time."""
_SIGNALS, _SPECTRUM, _ALLAN = "Signals", "Spectrum", "Allan"
_EVENTS, _CALIBRATE = "Events", "Calibrate"
_ANALYSES: Final[dict[str, tuple[Callable[[ImuSeries], list[Panel]], str]]] = {
    _SPECTRUM: (spectrum_panels, "frequency [Hz]"),
    _ALLAN: (allan_panels, "cluster time [s]"),
}


class Column:
    """Scene, values and charts of one source.

    Parameters
    ----------
    model : ViewModel
        State of the page.
    number : int
        Of the source.
    on_zoom : callable
        Called with the event of a zoom in the browser.
    on_seek : callable
        Called with a time [s].
    """

    def __init__(
        self,
        model: ViewModel,
        number: int,
        *,
        on_zoom: Callable[..., object],
        on_seek: Callable[[float], object],
    ) -> None:
        self._model, self._number = model, number
        self._source = model.sources[number]
        self._on_seek = on_seek
        self._figures: list[ui.label] = []
        self._posed: object = None
        self._tab = _SIGNALS
        self._cockpit: CockpitTab | None = None
        self._sent_ns = 0
        self.shown_after_s: float | None = None
        section = ui.element("section").classes("view-source")
        with section.props(f'aria-label="source {number + 1}"'):
            self._build_head()
            with ui.element("div").classes("view-body"):
                with ui.element("div").classes("view-scene").props(f"id=scene-{number}"):
                    self._space = ui.element("div").classes("view-space")
                    with ui.element("div").classes("view-text"):
                        self._caption = ui.label().classes("view-caption")
                        self._values = ui.label().classes("view-values")
                        self._values.props(f"id=values-{number}")
                with ui.element("div").classes("view-charts").props(f"id=charts-{number}"):
                    self._build_tabs(on_zoom)

    def _build_head(self) -> None:
        number = self._number
        with ui.row().classes("view-head"):
            ui.label(self._source.name).classes("view-name")
            self._frames = ui.label().classes("view-badge").props(f"id=frames-{number}")
            self._health = ui.row().classes("view-health").props(f"id=health-{number} role=status")
            ui.space()
            for words, action in (("PNG", self._save_picture), ("CSV", self._save_rows)):
                button = ui.button(words, on_click=action).props("flat dense no-caps")
                button.props(f'id={words.lower()}-{number} aria-label="save {words} of the span"')

    def _build_tabs(self, on_zoom: Callable[..., object]) -> None:
        number = self._number
        with ui.tabs(on_change=self._switch).props("dense no-caps align=left") as tabs:
            for name in (_SIGNALS, _SPECTRUM, _ALLAN, _EVENTS, _CALIBRATE):
                ui.tab(name).props(f"id=tab-{name.lower()}-{number}")
        with ui.tab_panels(tabs, value=_SIGNALS, animated=False, keep_alive=True).classes(
            "view-panels"
        ):
            with ui.tab_panel(_SIGNALS):
                self.chart = TimeChart(self._model, on_zoom=on_zoom)
            self._analyses = {}
            for name in _ANALYSES:
                with ui.tab_panel(name):
                    self._analyses[name] = ui.element("div")
            with ui.tab_panel(_EVENTS):
                self._events = ui.element("div")
            with ui.tab_panel(_CALIBRATE):
                self._calibration = ui.element("div")

    def build_scene(self) -> None:
        """Draw the scene: after the charts, as drawing in space starts slowly in software."""
        world = self._source.frames().split(" ", maxsplit=1)[0]
        trail, dark = self._source.trail(), self._model.is_dark
        with self._space:
            self.scene = Scene(WorldFrame(world or "ENU"), trail, dark=dark)

    def show_pose(self) -> None:
        """Turn the body, move the cursor, and write the values at it."""
        model = self._model
        state = model.cursor_s, model.window_s, model.frames, self._source.arrived_ns()
        if state == self._posed:
            return
        self._posed = state
        shown = model.pose(self._number)
        self.scene.show(shown.body, shown.ghost, shown.arrows)
        self._frames.set_text(model.frames_of(self._number))
        self._caption.set_text(described(shown))
        self._values.set_text(
            "\n".join(
                f"{name:<26}{''.join(f'{as_text(value):>10}' for value in values)} {unit}"
                for name, unit, _, values in shown.values
            )
        )
        self.chart.show_cursor()

    def show_charts(self) -> None:
        """Send the lines of the window."""
        if self._tab != _SIGNALS:
            return
        self._sent_ns, (panels, lines) = self._model.drawn(self._number, with_lines)
        self.chart.show(panels, lines, self._model.marks(self._number))

    def note_delay(self) -> None:
        """Note that the page has drawn the newest samples that were sent."""
        if self._sent_ns:
            self.shown_after_s = (time_ns() - self._sent_ns) / NS_PER_S
            self._sent_ns = 0

    def show_health(self) -> None:
        """Write rate, losses and the like; poses are read again, as calibrations change them."""
        self._posed = None
        figures = [*self._model.health(self._number)]
        if self.shown_after_s is not None:
            late = self.shown_after_s > _LATE_S
            figures.insert(1, Figure("shown after", f"{1e3 * self.shown_after_s:.0f} ms", not late))
        for label, figure in zip_longest([*self._figures], figures):
            shown = self._figure() if label is None else label
            shown.set_visibility(figure is not None)
            if figure is not None:
                mark = "" if figure.is_good else "⚠ "
                shown.set_text(f"{mark}{figure.name} {figure.value}")
                state = "view-good" if figure.is_good else "view-bad"
                shown.classes(state, remove="view-good view-bad")

    def _figure(self) -> ui.label:
        """Add a label to the health; labels are kept, because new ones are dear."""
        with self._health:
            label = ui.label()
        self._figures.append(label)
        return label

    async def find_events(self) -> None:
        """Run the detectors, and mark what they find; wait until the recording is read."""
        while self._source.is_loading:  # noqa: ASYNC110 (a thread reads it)
            await asyncio.sleep(_LOOK_S)
        await in_daemon(self._source.detect)
        marks = self._model.marks(self._number)
        self._events.clear()
        with self._events:
            if not marks:
                ui.label("no events" if self._source.events() is not None else "not searched: live")
            for mark in marks:
                words = f"{mark.start_s:10.3f} s  {mark.kind}  {mark.stop_s - mark.start_s:.3f} s"
                button = ui.button(words, on_click=lambda at=mark.start_s: self._on_seek(at))
                button.props("flat dense no-caps").classes("view-event")

    async def _switch(self, event: ValueChangeEventArguments[Any]) -> None:
        self._tab = str(event.value)
        if self._tab == _CALIBRATE and self._cockpit is None:
            self._cockpit = self._build_cockpit()
        if self._cockpit is not None:
            self._cockpit.show(is_shown=self._tab == _CALIBRATE)
        if self._tab in _ANALYSES:
            await self._analyse(self._tab)

    def _build_cockpit(self) -> CockpitTab:
        """Build the tab of calibration when it is first opened: few pages need it."""
        from strapdown.viewer.cockpit_tab import CockpitTab  # noqa: PLC0415 (takes its time)

        with self._calibration:
            return CockpitTab(self._model, self._number)

    async def _analyse(self, name: str) -> None:
        """Draw a spectrum or an Allan deviation of the window."""
        compute, x_name = _ANALYSES[name]
        place = self._analyses[name]
        place.clear()
        with place:
            ui.label("computing ...")
        try:
            series = self._model.series_in_window(self._number)
            panels = [] if series is None else await run.io_bound(compute, series)
        except StrapdownError as error:
            panels, reason = [], str(error)
        else:
            reason = "no IMU samples in the span"
        place.clear()
        with place:
            if not panels:
                ui.label(reason)
                return
            drawn = logarithmic(panels, x_name, dark=self._model.is_dark)
            chart = ui.echart(drawn).classes("view-chart")
            chart.style(f"height: {height_px(panels, TALL_PX)}px")

    async def _save_picture(self) -> None:
        """Let the browser save the charts as a picture."""
        background = "#121212" if self._model.is_dark else "#ffffff"
        await ui.run_javascript(
            f"const link = document.createElement('a'); link.download = 'strapdown.png';"
            f"link.href = getElement({self.chart.id}).chart.getDataURL("
            f"{{pixelRatio: 2, backgroundColor: '{background}'}});"
            f"link.click(); return 0;",
            timeout=30.0,
        )

    async def _save_rows(self) -> None:
        """Let the browser save the samples of the window as CSV."""
        try:
            series = self._model.series_in_window(self._number)
        except StrapdownError as error:
            ui.notify(str(error))
            return
        if series is None or len(series) > _MOST_ROWS:
            ui.notify(
                "no IMU samples in the span"
                if series is None
                else f"{len(series)} samples are too many: zoom to {_MOST_ROWS} or fewer"
            )
            return
        ui.download.content(_as_csv(series), "strapdown.csv")


async def in_daemon(work: Callable[[], object]) -> None:
    """Wait for a function in a thread that does not delay the end of the process."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def working() -> None:
        try:
            work()
        finally:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(done.set)

    Thread(target=working, name="view detect", daemon=True).start()
    await done.wait()


def _as_csv(series: ImuSeries) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "span.csv")
        files.write(path, as_recording(series))
        return path.read_bytes()

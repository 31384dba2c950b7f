"""The tab in which a sensor is calibrated: sphere, stillness, and buttons."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from nicegui import run, ui

from strapdown.calibration import save_calibration
from strapdown.calibration.magnetometer.coverage import facet_of, spiral
from strapdown.errors import StrapdownError
from strapdown.units import NS_PER_S
from strapdown.viewer.cockpit import POINTS, CalibrationKind, Progress, Solution, progress, solve
from strapdown.viewer.signals import Span

if TYPE_CHECKING:
    from strapdown.series import ImuSeries
    from strapdown.viewer.model import ViewModel

__all__ = ["CockpitTab"]

_SEEN: Final = [0.0, 0.45, 0.70]
_EMPTY: Final = [0.80, 0.80, 0.80]
_PERIOD_S: Final = 0.5


class CockpitTab:
    """Calibration of one source from a chosen time on.

    Parameters
    ----------
    model : ViewModel
        State of the page.
    number : int
        Of the source.
    """

    def __init__(self, model: ViewModel, number: int) -> None:
        self._model, self._number = model, number
        self._source = model.sources[number]
        self._begin_ns: int | None = None
        self._solution: Solution | None = None
        self._is_shown = False
        self._points = spiral(POINTS)
        self._facets = facet_of(self._points)
        with ui.row().classes("view-cockpit"):
            self._build_sphere("#1d232a" if model.is_dark else "#f4f6f8")
            with ui.column():
                self._build_controls()
        ui.timer(_PERIOD_S, self._update)

    def _build_sphere(self, background: str) -> None:
        camera = ui.scene.orthographic_camera(size=2.6, near=0.1, far=50.0)
        with ui.scene(
            width=300, height=300, grid=False, camera=camera, background_color=background
        ) as scene:
            self._cloud = ui.scene.point_cloud(
                self._points.tolist(), [_EMPTY] * len(self._points), point_size=6.0
            )
            self._marker = ui.scene.sphere(0.07).material("#d55e00")
            for axis, name in enumerate("xyz"):
                place = [0.0, 0.0, 0.0]
                place[axis] = 1.2
                ui.scene.text(name, "font-weight: 600").move(*place)
        scene.move_camera(x=-12.0, y=-16.0, z=12.0, look_at_x=0, look_at_y=0, look_at_z=0)

    def _build_controls(self) -> None:
        number = self._number
        kinds = {kind: str(kind) for kind in CalibrationKind}
        self._kind = ui.radio(kinds, value=CalibrationKind.POSES).props(f"id=kind-{number}")
        self._rest = ui.number("rest at first [s]", value=30.0, min=1.0, max=600.0)
        begin = ui.button("begin here", on_click=self._begin).props(f"id=begin-{number} no-caps")
        begin.tooltip("take the samples from the present time on")
        self._state = ui.label("not begun").props(f"id=session-{number} role=status")
        with ui.row():
            compute = ui.button("compute", on_click=self._compute)
            compute.props(f"id=compute-{number} no-caps")
            self._apply = ui.button("apply", on_click=self._applied).props(
                f"id=apply-{number} no-caps"
            )
            self._save = ui.button("save", on_click=self._saved).props(f"id=save-{number} no-caps")
        self._apply.disable()
        self._save.disable()
        self._result = ui.label().classes("view-values").props(f"id=result-{number}")

    def show(self, *, is_shown: bool) -> None:
        """Note whether the tab is in front: only then is progress computed."""
        self._is_shown = is_shown

    def _now_ns(self) -> int:
        return self._model.now_ns(self._number)

    def _begin(self) -> None:
        self._begin_ns = self._now_ns()
        self._state.set_text("begun")

    def _session(self) -> ImuSeries | None:
        """Return the samples since the beginning: as measured, without a calibration."""
        if self._begin_ns is None:
            return None
        return self._source.measured_within(Span(self._begin_ns, self._now_ns() + 1))

    async def _update(self) -> None:
        try:
            series = self._session() if self._is_shown else None
        except StrapdownError as error:
            self._state.set_text(str(error))
            return
        if series is None:
            return
        found = await run.io_bound(progress, self._kind.value, series, self._rest_s())
        if found is not None:
            self._show(found, series)

    def _show(self, found: Progress, series: ImuSeries) -> None:
        seconds = (series.t_ns[-1] - series.t_ns[0]) / NS_PER_S
        still = "still" if found.is_still else "moving"
        count = f", {found.attitudes} attitudes" if found.attitudes else ""
        self._state.set_text(f"{seconds:.0f} s, {still}{count}: {found.hint}")
        colours = [_SEEN if found.covered[facet] else _EMPTY for facet in self._facets]
        self._cloud.set_points(self._points.tolist(), colours)
        if found.now is not None:
            self._marker.move(*(1.05 * found.now).tolist())

    def _rest_s(self) -> float:
        return float(self._rest.value or 30.0)

    async def _compute(self) -> None:
        self._result.set_text("computing ...")
        try:
            series = self._session()
            if series is None:
                self._result.set_text("no samples: begin first")
                return
            self._solution = await run.io_bound(solve, self._kind.value, series, self._rest_s())
        except StrapdownError as error:
            self._result.set_text(str(error))
            return
        if self._solution is not None:
            self._result.set_text("\n".join(self._solution.lines))
            self._apply.enable()
            self._save.enable()

    def _applied(self) -> None:
        if self._solution is None:
            return
        try:
            self._source.apply(self._solution.calibration)
        except StrapdownError as error:
            self._result.set_text(str(error))
            return
        self._apply.disable()
        ui.notify("applied to what is shown from now on")

    def _saved(self) -> None:
        """Let the browser save the file."""
        if self._solution is None:
            return
        with TemporaryDirectory() as folder:
            path = Path(folder, "calibration.toml")
            save_calibration(self._solution.calibration, path)
            ui.download.content(path.read_bytes(), "calibration.toml")

"""The three-dimensional part of the page: world axes, body, ghost and trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from nicegui import ui

from strapdown.geometry import WorldFrame
from strapdown.viewer.bodies import scene_from_world

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nicegui.elements.scene.scene_object3d import Object3D

    from strapdown._typing import FloatArray
    from strapdown.viewer.bodies import Body

__all__ = ["Scene"]

# Axes as in most tools: x red, y green, z blue; letters name them for readers who see no colours.
_AXES: Final = (("x", "#d62728"), ("y", "#2ca02c"), ("z", "#1f77b4"))
_WORLD_NAMES: Final = {
    WorldFrame.ENU: ("E", "N", "U"),
    WorldFrame.NED: ("N", "E", "D"),
}
_ARROWS: Final = {
    "gravity": {False: "#7a5195", True: "#c39bdf"},
    "magnetic field": {False: "#8a6508", True: "#d9a520"},
}
"""Colours on light and on dark pages."""
_BODY: Final = "#7f97b2"
_UNKNOWN: Final = "#555555"
_CORNER: Final = np.array([-2.1, 0.9, -2.0])
"""Origin of the drawn world axes, at the lower left of the picture."""
_FLOOR, _DEPTH = 3, -2.0
"""Half of the width of the floor, and its height."""
_REACH: Final = 2.0
"""Largest distance of the trail from the middle of the scene."""


class Scene:
    """Body, ghost and trail of one source, in a scene whose axes are east, north and up.

    Parameters
    ----------
    world : WorldFrame
        World of the source; its axes are drawn and named.
    trail : (N, 3) or None
        Positions [m, world].
    dark : bool
        Colours for a dark page.
    """

    def __init__(self, world: WorldFrame, trail: FloatArray | None, *, dark: bool) -> None:
        background = "#1d232a" if dark else "#f4f6f8"
        camera = ui.scene.orthographic_camera(size=6.0, near=0.1, far=200.0)
        with ui.scene(
            width=10, height=10, grid=False, camera=camera, background_color=background, fps=30
        ) as self.element:
            _draw_floor("#3b4650" if dark else "#d5dbe1")
            self._draw_world(world)
            self._body, self._box = _box(is_ghost=False)
            self._ghost, _ = _box(is_ghost=True)
            self._arrows = {name: _arrow(name, colours[dark]) for name, colours in _ARROWS.items()}
            self._ghost.visible(value=False)
            self._middle, self._scale = self._draw_trail(trail, world)
        self.element.move_camera(x=-30.0, y=-40.0, z=30.0, look_at_x=0, look_at_y=0, look_at_z=0)

    def show(self, body: Body | None, ghost: Body | None, arrows: Mapping[str, FloatArray]) -> None:
        """Turn and move body, ghost and arrows; a body of unknown attitude is pale grey."""
        is_known = body is not None and body.R_scene_from_body is not None
        self._box.material(_BODY if is_known else _UNKNOWN, 1.0 if is_known else 0.3)
        self._place(self._body, body)
        for name, arrow in self._arrows.items():
            arrow.visible(value=name in arrows)
            if name in arrows:
                arrow.rotate_R(np.round(_towards(arrows[name]), 5).tolist())
                arrow.move(self._body.x, self._body.y, self._body.z)
        self._place(self._ghost, ghost)
        self._ghost.visible(value=ghost is not None and ghost.R_scene_from_body is not None)

    def _place(self, thing: Object3D, body: Body | None) -> None:
        if body is None:
            return
        if body.R_scene_from_body is not None:
            thing.rotate_R(np.round(body.R_scene_from_body, 6).tolist())
        if body.position_scene is not None and self._scale:
            thing.move(*((body.position_scene - self._middle) * self._scale).tolist())

    def _draw_world(self, world: WorldFrame) -> None:
        for (_, colour), name, axis in zip(
            _AXES, _WORLD_NAMES.get(world, ("x", "y", "z")), scene_from_world(world).T, strict=True
        ):
            start, end = _CORNER.tolist(), (_CORNER + 0.9 * axis).tolist()
            ui.scene.line(start, end).material(colour)
            ui.scene.text(name, f"color: {colour}; font-weight: 600").move(*end)

    @staticmethod
    def _draw_trail(trail: FloatArray | None, world: WorldFrame) -> tuple[FloatArray, float]:
        """Draw the positions, scaled into the scene; return their middle and the scale."""
        if trail is None or len(trail) < 2:
            return np.zeros(3), 0.0
        points = trail @ scene_from_world(world).T
        low, high = points.min(axis=0), points.max(axis=0)
        middle, reach = (low + high) / 2.0, float((high - low).max()) / 2.0
        if reach == 0.0:
            return middle, 0.0
        scale = _REACH / reach
        placed = ((points - middle) * scale).tolist()
        ui.scene.point_cloud(placed, [[0.6, 0.6, 0.6]] * len(placed), point_size=2.0)
        return middle, scale


def _draw_floor(colour: str) -> None:
    """Draw a grid of units below the body; the framework's own has a ground that hides."""
    for place in range(-_FLOOR, _FLOOR + 1):
        for start, end in (
            ((place, -_FLOOR), (place, _FLOOR)),
            ((-_FLOOR, place), (_FLOOR, place)),
        ):
            ui.scene.line([*start, _DEPTH], [*end, _DEPTH]).material(colour)


def _towards(direction: FloatArray) -> FloatArray:
    """Return a rotation (3, 3) of the z axis to a direction."""
    helper = np.eye(3)[int(np.argmin(np.abs(direction)))]
    x = np.cross(helper, direction)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(direction, x), direction], axis=1)


def _arrow(name: str, colour: str) -> Object3D:
    """Draw a thin arrow along z with its name; hidden at first."""
    with ui.scene.group() as arrow:
        shaft = ui.scene.cylinder(0.02, 0.02, 1.4, 8)
        shaft.rotate(np.pi / 2.0, 0.0, 0.0).move(0.0, 0.0, 0.7).material(colour)
        tip = ui.scene.cylinder(0.0, 0.06, 0.15, 8)
        tip.rotate(np.pi / 2.0, 0.0, 0.0).move(0.0, 0.0, 1.4).material(colour)
        ui.scene.text(name, f"color: {colour}; font-size: 11px").move(0.0, 0.0, 1.6)
    arrow.visible(value=False)
    return arrow


def _box(*, is_ghost: bool) -> tuple[Object3D, Object3D]:
    """Draw a box with its axes, long in x and flat in z; a ghost is drawn by its edges.

    Returns the body and, of it, the box.
    """
    with ui.scene.group() as body:
        box = ui.scene.box(1.6, 1.0, 0.25, is_ghost).material(_BODY)
        for (name, colour), direction in zip(_AXES, np.eye(3), strict=True):
            length, width, height = (np.full(3, 0.06) + direction * 1.3).tolist()
            axis = ui.scene.box(length, width, height, is_ghost)
            axis.move(*(direction * 0.68).tolist()).material(colour)
            if not is_ghost:
                ui.scene.text(name, f"color: {colour}").move(*(direction * 1.45).tolist())
    return body, box

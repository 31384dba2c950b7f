"""The three-dimensional part of the page: world axes, body, ghost and trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from nicegui import ui

from strapdown.geometry import WorldFrame
from strapdown.viewer.model import scene_from_world

if TYPE_CHECKING:
    from nicegui.elements.scene.scene_object3d import Object3D

    from strapdown._typing import FloatArray
    from strapdown.viewer.model import Body

__all__ = ["Scene"]

# Axes as in most tools: x red, y green, z blue; letters name them for readers who see no colours.
_AXES: Final = (("x", "#d62728"), ("y", "#2ca02c"), ("z", "#1f77b4"))
_WORLD_NAMES: Final = {
    WorldFrame.ENU: ("E", "N", "U"),
    WorldFrame.NED: ("N", "E", "D"),
}
_BODY: Final = "#8b98a5"
_UNKNOWN: Final = "#555555"
_CORNER: Final = np.array([-2.0, -2.0, 0.0])
"""Origin of the drawn world axes."""
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
        camera = ui.scene.orthographic_camera(size=5.0, near=0.1, far=200.0)
        with ui.scene(
            width=10, height=10, grid=(10, 10), camera=camera, background_color=background, fps=60
        ) as self.element:
            self._draw_world(world)
            self._body = _box(is_ghost=False)
            self._ghost = _box(is_ghost=True)
            self._ghost.visible(value=False)
            self._middle, self._scale = self._draw_trail(trail, world)
        self.element.move_camera(x=-30.0, y=-40.0, z=30.0, look_at_x=0, look_at_y=0, look_at_z=0)

    def show(self, body: Body | None, ghost: Body | None) -> None:
        """Turn and move body and ghost; a body of unknown attitude is grey."""
        self._place(self._body, body)
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
        ui.scene.point_cloud(placed, [[0.6, 0.6, 0.6]] * len(placed), point_size=0.03)
        return middle, scale


def _box(*, is_ghost: bool) -> Object3D:
    """Draw a box with its axes, long in x and flat in z; a ghost is drawn by its edges."""
    with ui.scene.group() as body:
        ui.scene.box(1.6, 1.0, 0.25, is_ghost).material(_BODY)
        for (name, colour), direction in zip(_AXES, np.eye(3), strict=True):
            length, width, height = (np.full(3, 0.06) + direction * 1.3).tolist()
            axis = ui.scene.box(length, width, height, is_ghost)
            axis.move(*(direction * 0.68).tolist()).material(colour)
            if not is_ghost:
                ui.scene.text(name, f"color: {colour}").move(*(direction * 1.45).tolist())
    return body

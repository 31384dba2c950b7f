"""Substitutes for the PROTOs that most worlds have as ground: ``Floor`` and ``RectangleArena``.

Webots downloads both, and a program would have to run to know their bodies. Where they have no
local file, simple Solids with the sizes in their fields are built here.
"""

from __future__ import annotations

from math import pi
from typing import Final, cast

from strapdown.webots.file.node import Node
from strapdown.webots.file.node_types import coerce
from strapdown.webots.file.releases import is_older

__all__ = ["GROUNDS", "ground"]

GROUNDS: Final = {
    "Floor": "replaced by a plane",
    "RectangleArena": "replaced by a plane and four walls",
}
"""PROTOs by name, with a description of their substitute."""

_SOLID: Final = ("translation", "rotation", "name", "contactMaterial")
_NAMES: Final = {"Floor": "floor", "RectangleArena": "rectangle arena"}


def ground(proto: Node, release: str) -> Node:
    """Return the Solid that replaces a PROTO.

    Parameters
    ----------
    proto : Node
        Of a type in :data:`GROUNDS`, with the fields as written in the file.
    release : str
        Release of its file: before R2022a such a floor had its normal along y, since then along z.

    Raises
    ------
    TypeError, ValueError
        A field has a value of another type.
    """
    solid = Node("Solid", {"name": _NAMES[proto.type], "locked": True})
    for name in _SOLID:
        if name in proto.fields:
            solid.set(name, proto.fields[name])
    if proto.type == "Floor":
        shapes = [Node("Plane", {"size": _size(proto, "size", (10.0, 10.0))})]
    else:
        x, y = size = _size(proto, "floorSize", (1.0, 1.0))
        shapes = [Node("Plane", {"size": size}), *_walls(proto, x, y)]
    upright = (1.0, 0.0, 0.0, -pi / 2) if is_older(release, "R2022a") else (0.0, 0.0, 1.0, 0.0)
    solid.set("boundingObject", Node("Pose", {"rotation": upright, "children": [*shapes]}))
    return solid


def _walls(arena: Node, x: float, y: float) -> list[Node]:
    """Return the walls around a floor of ``x`` by ``y``."""
    thickness, height = _length(arena, "wallThickness", 0.01), _length(arena, "wallHeight", 0.1)
    beside, behind = 0.5 * (x + thickness), 0.5 * (y + thickness)
    long = x + 2.0 * thickness
    places = [
        (beside, 0.0, thickness, y),
        (-beside, 0.0, thickness, y),
        (0.0, behind, long, thickness),
        (0.0, -behind, long, thickness),
    ]
    return [
        Node(
            "Pose",
            {
                "translation": (at_x, at_y, 0.5 * height),
                "children": [Node("Box", {"size": (along_x, along_y, height)})],
            },
        )
        for at_x, at_y, along_x, along_y in places
    ]


def _size(proto: Node, name: str, default: tuple[float, float]) -> tuple[float, ...]:
    """Return two lengths; the default where one is not positive, as in Webots."""
    size = cast("tuple[float, ...]", coerce("SFVec2f", proto.fields.get(name, default)))
    return size if min(size) > 0.0 else default


def _length(proto: Node, name: str, default: float) -> float:
    length = cast("float", coerce("SFFloat", proto.fields.get(name, default)))
    return length if length > 0.0 else default

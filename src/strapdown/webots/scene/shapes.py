"""Bounding objects of Solids as geometries with poses.

Geometries are aligned with z, as in files since R2022a; older ones are rotated when they are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown.webots.scene.joints import rotation_matrix, unit_vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown._typing import FloatArray
    from strapdown.webots.file.node import Node

__all__ = ["Frame", "Shape", "children", "fixed_nodes", "shapes_of", "visible_shapes"]


class Frame(NamedTuple):
    """Axes and origin in some outer frame; ``scale`` is the scaling of lengths by Transforms."""

    R: FloatArray = np.eye(3)
    origin: FloatArray = np.zeros(3)
    scale: FloatArray = np.ones(3)

    def inner(self, node: Node) -> Frame:
        """Return the frame of a child node of this frame; only nodes with a pose change it."""
        if not node.is_a("Pose"):
            return self
        *axis, angle = node.vector("rotation")
        R = rotation_matrix(unit_vector(tuple(axis)), angle)
        scale = np.array(node.vector("scale"))
        return Frame(self.R @ R, self.point(node.vector("translation")), self.scale * scale)

    def point(self, local: FloatArray | tuple[float, ...]) -> FloatArray:
        """Return a point (3,) of this frame in the outer one."""
        turned: FloatArray = self.R @ (self.scale * np.array(local))
        return self.origin + turned


class Shape(NamedTuple):
    """A geometry in the frame of its Solid."""

    kind: str
    """Name of the node, such as ``Box``."""
    size: tuple[float, ...]
    """Box: three lengths. Sphere: radius. Cylinder, Capsule: radius, height. A visible Plane: two
    lengths. Others: empty; a Plane is endless then."""
    frame: Frame
    reflection: float = 1.0
    """Share of infra-red light that its surface returns."""


def shapes_of(solid: Node) -> Iterator[Shape]:
    """Yield the geometries of the bounding object of a Solid."""
    root = solid.node("boundingObject")
    todo = [] if root is None else [(root, Frame())]
    while todo:
        node, outer = todo.pop()
        frame = outer.inner(node)
        if node.is_a("Group"):
            todo.extend((child, frame) for child in reversed(node.nodes("children")))
        elif node.is_a("Shape"):
            geometry = node.node("geometry")
            if geometry is not None:
                yield Shape(geometry.type, _size(geometry, frame.scale), frame)
        else:
            yield Shape(node.type, _size(node, frame.scale), frame)


def visible_shapes(solid: Node) -> Iterator[Shape]:
    """Yield the geometries of a Solid that are drawn, without those of the Solids on it."""
    todo = [(child, Frame()) for child in solid.nodes("children")]
    while todo:
        node, outer = todo.pop()
        if node.type == "Shape":
            geometry = node.node("geometry")
            reflection = _reflection(node.node("appearance"))
            if geometry is not None and reflection > 0.0:
                size = _size(geometry, outer.scale)
                if geometry.type == "Plane":
                    size = tuple(np.array(geometry.vector("size")) * outer.scale[:2])
                yield Shape(geometry.type, size, outer, reflection)
        elif node.is_a("Group") and not node.is_a("Solid"):
            frame = outer.inner(node)
            todo.extend((child, frame) for child in reversed(node.nodes("children")))


def _reflection(appearance: Node | None) -> float:
    """Return the share of infra-red light that a surface returns; 0 if it is invisible.

    The formula is that of the reference manual, DistanceSensor, without textures.
    """
    red = roughness = transparency = 0.0
    if appearance is not None and appearance.type == "PBRAppearance":
        red, *_ = appearance.vector("baseColor")
        roughness, transparency = map(appearance.number, ("roughness", "transparency"))
    elif appearance is not None and appearance.type == "Appearance":
        material = appearance.node("material")
        red, *_ = (1.0,) if material is None else material.vector("diffuseColor")
        transparency = 0.0 if material is None else material.number("transparency")
    else:
        red = 1.0
    return 0.0 if transparency >= 1.0 else 0.2 + 0.8 * red * (1.0 - 0.5 * roughness)


def _size(geometry: Node, scale: FloatArray) -> tuple[float, ...]:
    match geometry.type:
        case "Box":
            return tuple(np.array(geometry.vector("size")) * scale)
        case "Sphere":
            return (geometry.number("radius") * float(scale[0]),)
        case "Cylinder" | "Capsule":
            radius, height = geometry.number("radius"), geometry.number("height")
            return radius * float(scale[0]), height * float(scale[2])
    return ()


def fixed_nodes(solid: Node) -> Iterator[tuple[Node, Frame]]:
    """Yield a Solid and all nodes that are fixed to it, each with its frame in the Solid's.

    The search ends at joints and other nodes without children; these are included with the frame
    of their parent.
    """
    todo = [(solid, Frame())]
    while todo:
        node, frame = todo.pop()
        yield node, frame
        todo.extend((child, frame.inner(child)) for child in reversed(children(node)))


def children(node: Node) -> list[Node]:
    """Return the direct child nodes: those of a group, or the one plugged into a Slot."""
    if node.is_a("Group"):
        return node.nodes("children")
    return node.nodes("endPoint") if node.type == "Slot" else []

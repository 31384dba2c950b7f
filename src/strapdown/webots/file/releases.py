"""Changes between releases of Webots that affect the meaning of a file."""

from __future__ import annotations

import re
from math import pi
from typing import TYPE_CHECKING

from strapdown.webots.file.node import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["is_older", "modernise"]

_RELEASE = re.compile(r"R(?P<year>[0-9]{4})(?P<letter>[a-z])")

_TURNED = frozenset({"Capsule", "Cone", "Cylinder", "Plane"})


def is_older(release: str, than: str) -> bool:
    """Return whether a release comes before another one.

    Parameters
    ----------
    release : str
        The version of a file, such as ``R2021a Revision 1``; names without a year, such as
        ``V8.5.0``, are older than all others.
    than : str
        Such as ``R2020b``.
    """
    return _key(release) < _key(than)


def _key(release: str) -> tuple[int, str]:
    match = _RELEASE.match(release)
    return (int(match["year"]), match["letter"]) if match else (0, release)


def modernise(root: Node, release: str) -> Node:
    """Rewrite a node from a file of some release so that it means the same in R2025a.

    * Before R2022a the axis of a Cylinder, Capsule, Cone and Plane was y instead of z: the node is
      wrapped in a Pose that rotates it.
    * Before R2020b ``controllerArgs`` was one string of words, and before R2018a ``customData``
      was called ``data``.

    Fields given to a PROTO are not changed: only the PROTO knows where they are inserted.

    Returns
    -------
    Node
        The node, or the Pose around it.
    """
    steps: list[Callable[[Node], Node]] = []
    if is_older(release, "R2020b"):
        steps.append(_robot)
    if is_older(release, "R2022a"):
        steps.append(_upright)
    for step in steps:
        for node in list(_known(root)):
            new = step(node)
            if node is root:
                root = new
    return root


def _known(node: Node) -> Iterator[Node]:
    """Yield a node and its descendants, except those below nodes of unknown type."""
    yield node
    if node.known:
        for child in node.children_nodes():
            yield from _known(child)


def _robot(node: Node) -> Node:
    if node.is_a("Robot"):
        arguments = node.fields.get("controllerArgs")
        if isinstance(arguments, list) and len(arguments) == 1:
            node.set("controllerArgs", [*str(arguments[0]).split()])
        if "customData" not in node.fields and "data" in node.fields:
            node.set("customData", node.text("data"))
    return node


def _upright(node: Node) -> Node:
    turned = node.node("geometry") if node.is_a("Shape") else node
    in_shape = node.parent is not None and node.parent.is_a("Shape")
    if turned is None or turned.type not in _TURNED or (turned is node and in_shape):
        return node
    parent, field = node.parent, node.parent_field
    shape = Node("Shape", {"geometry": node}) if turned is node else node
    pose = Node("Pose", {"rotation": (1, 0, 0, -pi / 2), "children": [shape]}, line=node.line)
    if parent is not None:
        replace(parent, field, node, pose)
    return pose


def replace(parent: Node, field: str, old: Node, new: Node) -> None:
    """Replace a node by another one in the field of its parent."""
    value = parent.fields[field]
    if isinstance(value, list):
        parent.put(field, [new if item is old else item for item in value])
    else:
        parent.put(field, new)

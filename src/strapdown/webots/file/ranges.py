"""Ranges of fields: what Webots says of a value out of its range, and puts in its place."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import ValueRangeError
from strapdown.webots.file.conventions import AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown.webots.file.node import Node
    from strapdown.webots.profiles import Profile

__all__ = ["check_changed", "check_noise", "check_read"]

_SYSTEMS: Final = {"local", "WGS84"}

_RANGES: Final[dict[str, tuple[str, Callable[[Any], bool], int | str, str]]] = {
    "resolution": ("Device", lambda v: v == -1 or v > 0, -1, "either -1 or positive"),
    "speedResolution": ("GPS", lambda v: v == -1 or v > 0, -1, "either -1 or positive"),
    "speedNoise": ("GPS", lambda v: v >= 0, 0, "either 0 or positive"),
    "noiseCorrelation": ("GPS", lambda v: 0 <= v <= 1, 0, "between 0 and 1"),
    "noise": ("InertialUnit", lambda v: 0 <= v <= 1, 0, "in range [0, 1]"),
    "basicTimeStep": ("WorldInfo", lambda v: v > 0, 32, "positive"),
    "randomSeed": ("WorldInfo", lambda v: v >= -1, 0, "either -1 or positive"),
    "coordinateSystem": ("WorldInfo", lambda v: v in AXES, "ENU", "NUE, ENU or EUN"),
    "gpsCoordinateSystem": ("WorldInfo", lambda v: v in _SYSTEMS, "local", "local or WGS84"),
}
"""By field: node type, what it may be, what it becomes otherwise, and the words for it."""

_UNSORTED: Final = "The input values of a lookup table must be sorted in increasing order."


def check_read(node: Node) -> Iterator[str]:
    """Put the fields of a node that was read into their ranges, and yield what Webots says.

    The ``noise`` of an InertialUnit is left to :func:`check_noise`.
    """
    for field in list(node.fields) if node.known else ():
        if field != "noise":
            yield from _check(node, field)


def check_noise(node: Node, profile: Profile) -> Iterator[str]:
    """Do the same to the ``noise`` of an InertialUnit, which has a range in the manual alone."""
    if profile.refuses_values:
        yield from _check(node, "noise")


def check_changed(node: Node, field: str, profile: Profile) -> Iterator[str]:
    """Put a field that was set into its range, and yield what Webots says.

    Raises
    ------
    ValueRangeError
        The profile refuses the value.
    """
    wrong = _out_of_range(node, field)
    if wrong is not None and profile.refuses_values:
        raise ValueRangeError(
            f"expected {field} {wrong[1]}, got {node.get(field)!r} for {node}; set another value"
        )
    if field != "noise":
        yield from _check(node, field)


def _check(node: Node, field: str) -> Iterator[str]:
    wrong = _out_of_range(node, field)
    if wrong is not None:
        fallback, rule = wrong
        node.set(field, fallback)
        yield f"Invalid '{field}' changed to {fallback}. The value should be {rule}."
    elif field == "lookupTable":
        inputs = [row[0] for row in node.vectors(field)]
        yield from (_UNSORTED for one, other in pairwise(inputs) if not one < other)


def _out_of_range(node: Node, field: str) -> tuple[int | str, str] | None:
    """Return what a field out of its range becomes, and words for the range; None: it is in it."""
    base, allowed, fallback, rule = _RANGES.get(field, ("", bool, 0, ""))
    return (fallback, rule) if node.is_a(base) and not allowed(node.get(field)) else None

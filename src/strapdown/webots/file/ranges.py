"""Ranges of fields, and Webots' warning and replacement for a value out of range."""

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
    "gaussianWidth": ("DistanceSensor", lambda v: v > 0, 1, "positive"),
    "basicTimeStep": ("WorldInfo", lambda v: v > 0, 32, "positive"),
    "randomSeed": ("WorldInfo", lambda v: v >= -1, 0, "either -1 or positive"),
    "coordinateSystem": ("WorldInfo", lambda v: v in AXES, "ENU", "NUE, ENU or EUN"),
    "gpsCoordinateSystem": ("WorldInfo", lambda v: v in _SYSTEMS, "local", "local or WGS84"),
}
"""By field: node type, condition, replacement value, and the rule in words."""

_UNSORTED: Final = "The input values of a lookup table must be sorted in increasing order."


def check_read(node: Node) -> Iterator[str]:
    """Replace values out of range in a node that was read, and yield Webots' warnings.

    The ``noise`` of an InertialUnit is left to :func:`check_noise`.
    """
    for field in list(node.fields) if node.known else ():
        if field != "noise":
            yield from _check(node, field)


def check_noise(node: Node, profile: Profile) -> Iterator[str]:
    """Do the same for the ``noise`` of an InertialUnit, whose range only the manual defines."""
    if profile.refuses_values:
        yield from _check(node, "noise")


def check_changed(node: Node, field: str, profile: Profile) -> Iterator[str]:
    """Replace a value out of range in a field that was set, and yield Webots' warnings.

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
    """Return replacement value and rule of a field that is out of range; None if it is in range."""
    base, allowed, fallback, rule = _RANGES.get(field, ("", bool, 0, ""))
    return (fallback, rule) if node.is_a(base) and not allowed(node.get(field)) else None

"""Node types of world files: bases, fields, defaults, numbers."""

from __future__ import annotations

from functools import cache
from math import hypot
from typing import Final, NamedTuple

from strapdown.errors import UnknownNameError
from strapdown.webots.file.catalogue import CATALOGUE

__all__ = ["NODE_TYPES", "Field", "coerce", "fields_of", "is_a", "is_known"]

_SIZES = {"SFVec2f": 2, "SFVec3f": 3, "SFColor": 3, "SFRotation": 4}

_CLOSE_TO_ONE: Final = 10000 * 2.0**-52  # an axis so close to unit length stays as written


class Field(NamedTuple):
    """A field of a node type."""

    kind: str
    """Such as ``SFVec3f``; ``SFGravity`` is a number, or the vector of older files."""
    default: object


class _Type(NamedTuple):
    number: int
    bases: tuple[str, ...]
    lines: str


def _read() -> dict[str, _Type]:
    types: dict[str, _Type] = {}
    for block in CATALOGUE.replace("\n    ", "; ").split("\n"):
        head, _, lines = block.partition(";")
        if head:
            name, number, *bases = head.split()
            types[name] = _Type(int(number), tuple(bases), lines)
    return types


_TYPES = _read()

NODE_TYPES: dict[str, int] = {name: kind.number for name, kind in _TYPES.items() if kind.number}
"""Numbers of the node types in the controller interface of Webots R2025a (``nodes.h``)."""


def is_known(type_name: str) -> bool:
    """Return whether a world may hold nodes of this type (abstract bases do not count)."""
    return type_name in NODE_TYPES


@cache
def is_a(type_name: str, base: str) -> bool:
    """Return whether a type is, or is derived from, a base.

    Besides real types there are the bases ``Device``, ``Motor`` (derived from it), ``Joint``,
    ``Geometry`` and ``Light``. A device with a pose is both a ``Solid`` and a ``Device``. An
    unknown type is only itself.
    """
    if type_name == base:
        return True
    known = _TYPES.get(type_name)
    return known is not None and any(is_a(parent, base) for parent in known.bases)


@cache
def fields_of(type_name: str) -> dict[str, Field]:
    """Return the fields of a type by name, those of its bases first.

    Raises
    ------
    UnknownNameError
        The type is not in the catalogue.
    """
    known = _TYPES.get(type_name)
    if known is None:
        raise UnknownNameError("node type", type_name, NODE_TYPES)
    fields: dict[str, Field] = {}
    for base in known.bases:
        fields |= fields_of(base)
    for line in filter(None, map(str.strip, known.lines.split(";"))):
        kind, name, text = line.split(None, 2)
        fields[name] = Field(kind, coerce(kind, _default(text)))
    return fields


def _default(text: str) -> object:
    if text.startswith('"'):
        return text[1:-1]
    if text.startswith("["):
        return [float(word) for word in text[1:-1].split()]
    words = {"TRUE": True, "FALSE": False, "NULL": None}
    if text in words:
        return words[text]
    numbers = tuple(map(float, text.split()))
    return numbers if len(numbers) > 1 else numbers[0]


def coerce(kind: str, value: object) -> object:
    """Return a value in the form of a field type.

    Parameters
    ----------
    kind : str
        Type of the field, such as ``MFVec3f``.
    value : object
        A bool, number, string, node or None, a tuple or list of numbers, or a list of any
        of these. For fields with many values one value alone will do, and so will a flat
        list of the numbers of many vectors.

    Returns
    -------
    object
        bool, int, float, str, a tuple of floats, a node or None; a list of these for ``MF...``.
        The axis of a rotation has unit length; a zero axis becomes 0 0 1.

    Raises
    ------
    TypeError
        Something of another type.
    ValueError
        A wrong count of numbers, or an integer beyond 32 bits.
    """
    if kind.startswith("MF"):
        return _many("SF" + kind[2:], value)
    if kind in _SIZES:
        numbers = _numbers(kind, value)
        if len(numbers) != _SIZES[kind]:
            raise ValueError(f"expected {_SIZES[kind]} numbers of {kind}, got {len(numbers)}")
        return _with_unit_axis(*numbers) if kind == "SFRotation" else tuple(numbers)
    if kind == "SFGravity":
        return coerce("SFVec3f" if isinstance(value, tuple | list) else "SFFloat", value)
    return _one(kind, value)


def _one(kind: str, value: object) -> object:
    if kind == "SFBool" and isinstance(value, bool):
        return value
    if kind == "SFString" and isinstance(value, str):
        return value
    if kind == "SFNode" and not isinstance(value, bool | int | float | str | tuple | list):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        if kind == "SFFloat":
            return float(value)
        if kind == "SFInt32":
            return _integer(value)
    raise TypeError(f"expected a value of {kind}, got {describe(value)}")


def _integer(value: float) -> int:
    if value != value // 1 or not -(2**31) <= value < 2**31:
        raise ValueError(f"expected an integer of 32 bits for SFInt32, got {value}")
    return int(value)


def _numbers(kind: str, value: object) -> list[float]:
    values = value if isinstance(value, tuple | list) else (value,)
    for item_type in {type(item) for item in values}:
        if not issubclass(item_type, int | float) or item_type is bool:
            wrong = next(item for item in values if type(item) is item_type)
            raise TypeError(f"expected numbers of {kind}, got {describe(wrong)}")
    return list(map(float, values))


def _with_unit_axis(x: float, y: float, z: float, angle: float) -> tuple[float, ...]:
    length = hypot(x, y, z)
    if length == 0:
        return 0.0, 0.0, 1.0, angle
    if abs(1 / length - 1) <= _CLOSE_TO_ONE:
        return x, y, z, angle
    if not 1e-150 < length < 1e150:  # the length itself has lost digits
        largest = max(abs(x), abs(y), abs(z))
        return _with_unit_axis(x / largest, y / largest, z / largest, angle)
    return x / length, y / length, z / length, angle


def _many(kind: str, value: object) -> list[object]:
    size = _SIZES.get(kind)
    values = list(value) if isinstance(value, tuple | list) else [value]
    if kind == "SFNode" and None in values:
        raise TypeError("expected nodes of MFNode, got NULL")
    if size is None or any(isinstance(item, tuple | list) for item in values):
        return [coerce(kind, item) for item in values]
    numbers = _numbers(kind, values)
    if len(numbers) % size:
        raise ValueError(f"expected a multiple of {size} numbers for {kind}, got {len(numbers)}")
    return list(zip(*[iter(numbers)] * size, strict=True))


def describe(value: object) -> str:
    """Return a short name of a value, for an error line."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if value is None:
        return "NULL"
    if isinstance(value, int | float | str):
        text = repr(value)
        return text if len(text) <= 40 else f"{text[:37]}..."
    if isinstance(value, tuple | list):
        return f"{len(value)} values"
    return f"a node {getattr(value, 'type', '')}".rstrip()

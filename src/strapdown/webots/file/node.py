"""A node of a world: its fields, and its position in the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.webots.file.node_types import coerce, describe, fields_of, is_a, is_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Node", "Scope", "Value"]

Value: TypeAlias = "bool | int | float | str | tuple[float, ...] | Node | list[Value] | None"
"""Value of a field; the last four types are a vector, a node, a list of values, and no node."""


class Scope(NamedTuple):
    """The file that a node is written in."""

    path: Path | None
    release: str
    addresses: Mapping[str, str]
    """Addresses of PROTO files, by the name of the PROTO."""
    declared: frozenset[str]
    """Names of the PROTOs that the world itself declares, and no file nearer to the node."""


class Node:
    """A node of a world, mutable; two nodes are equal only if they are the same one.

    Parameters
    ----------
    type_name : str
        Such as ``Solid``. A type that the catalogue does not contain is kept with its fields as
        written, and has no effect.
    fields : mapping, optional
        Values by name, as :meth:`set` takes them.
    def_name : str
        The name given by ``DEF``.
    line : int
        Line of the file, from 1; 0 if the node was not read from one.

    Attributes
    ----------
    type : str
        Name of the type; for an expanded PROTO that of its root node.
    proto : str or None
        Name of the PROTO that it is an instance of.
    fields : dict
        Values that were written or set, in that order. Change them through :meth:`set` only.
    parent : Node or None
        The node whose field ``parent_field`` contains this one.
    scope : Scope or None
        Of a node given to a PROTO: the file that it was written in.
    known : bool
        Whether the type is in the catalogue.
    """

    __slots__ = (
        "__weakref__",
        "def_name",
        "fields",
        "known",
        "line",
        "parent",
        "parent_field",
        "proto",
        "scope",
        "type",
    )

    def __init__(
        self,
        type_name: str,
        fields: Mapping[str, Value] | None = None,
        *,
        def_name: str = "",
        line: int = 0,
    ) -> None:
        self.type = type_name
        self.proto: str | None = None
        self.scope: Scope | None = None
        self.def_name = def_name
        self.fields: dict[str, Value] = {}
        self.line = line
        self.parent: Node | None = None
        self.parent_field = ""
        self.known = is_known(type_name)
        for name, value in (fields or {}).items():
            self.set(name, value)

    def __repr__(self) -> str:
        named = self.fields.get("name")
        label = f" {named!r}" if isinstance(named, str) else ""
        define = f"DEF {self.def_name} " if self.def_name else ""
        return f"<{define}{self.type}{label}>"

    def get(self, field: str) -> Value:
        """Return the value of a field: the one written or set, else the default of the type.

        Raises
        ------
        UnknownNameError
            The type has no such field, and none was written.
        """
        if field in self.fields:
            return self.fields[field]
        known = fields_of(self.type) if self.known else {}
        if field not in known:
            raise UnknownNameError(f"field of {self.type}", field, {*known, *self.fields})
        default = cast("Value", known[field].default)
        return list(default) if isinstance(default, list) else default

    def set(self, field: str, value: Value) -> None:
        """Set a field; nodes in the value get this one as their parent.

        Raises
        ------
        UnknownNameError
            The type has no such field.
        TypeError, ValueRangeError
            The value does not fit the type of the field.
        """
        if self.known:
            known = fields_of(self.type)
            if field not in known:
                raise UnknownNameError(f"field of {self.type}", field, known)
            try:
                value = cast("Value", coerce(known[field].kind, value))
            except TypeError as error:
                raise TypeError(f"{self.type}.{field}: {error}") from None
            except (ValueError, OverflowError) as error:
                raise ValueRangeError(f"{self.type}.{field}: {error}") from None
        self.put(field, value)

    def put(self, field: str, value: Value) -> None:
        """Set a field to a value whose type is known to fit."""
        self.fields[field] = value
        for node in _nodes(value):
            node.parent = self
            node.parent_field = field

    def number(self, field: str) -> float:
        """Return the value of a field of one number, as a float."""
        value = self.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(field, "a number", value)
        return float(value)

    def vector(self, field: str) -> tuple[float, ...]:
        """Return the value of a field of 2 to 4 numbers (vector, rotation, color)."""
        value = self.get(field)
        if not isinstance(value, tuple):
            raise self._wrong(field, "a vector", value)
        return value

    def text(self, field: str) -> str:
        """Return the value of a string field."""
        value = self.get(field)
        if not isinstance(value, str):
            raise self._wrong(field, "a string", value)
        return value

    def flag(self, field: str) -> bool:
        """Return the value of a boolean field."""
        value = self.get(field)
        if not isinstance(value, bool):
            raise self._wrong(field, "TRUE or FALSE", value)
        return value

    def numbers(self, field: str) -> list[float]:
        """Return the values of a field of many numbers."""
        value = self.get(field)
        if isinstance(value, list):
            numbers = [item for item in value if isinstance(item, int | float)]
            if len(numbers) == len(value):
                return [float(number) for number in numbers]
        raise self._wrong(field, "numbers", value)

    def vectors(self, field: str) -> list[tuple[float, ...]]:
        """Return the values of a field of many vectors."""
        value = self.get(field)
        if isinstance(value, list):
            vectors = [item for item in value if isinstance(item, tuple)]
            if len(vectors) == len(value):
                return vectors
        raise self._wrong(field, "vectors", value)

    def node(self, field: str) -> Node | None:
        """Return the node of a field, or None."""
        value = self.get(field)
        if value is None or isinstance(value, Node):
            return value
        raise self._wrong(field, "a node", value)

    def nodes(self, field: str) -> list[Node]:
        """Return the nodes of a field with many nodes, one or none, as a new list."""
        return list(_nodes(self.get(field)))

    def children_nodes(self) -> Iterator[Node]:
        """Yield the direct child nodes, in the order of the file."""
        for value in list(self.fields.values()):
            yield from _nodes(value)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all its descendants, depth first, in the order of the file."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(list(node.children_nodes())))

    def ancestors(self) -> Iterator[Node]:
        """Yield the nodes above this one, the nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def is_a(self, base: str) -> bool:
        """Return whether this node's type is, or is derived from, a base."""
        return is_a(self.type, base)

    def copy(self) -> Node:
        """Return a copy of this node and its descendants, without a parent."""
        twin = Node(self.type, def_name=self.def_name, line=self.line)
        twin.proto = self.proto
        twin.scope = self.scope
        for field, value in self.fields.items():
            twin.put(field, _copied(value))
        return twin

    def _wrong(self, field: str, expected: str, value: Value) -> TypeError:
        return TypeError(
            f"{self.type}.{field}: expected {expected}, got {describe(value)} (line {self.line})"
        )


def _nodes(value: Value) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, Node):
                yield item


def _copied(value: Value) -> Value:
    if isinstance(value, Node):
        return value.copy()
    return [_copied(item) for item in value] if isinstance(value, list) else value

"""Thrift's compact protocol, as far as the headers of Parquet need it.

References
----------
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from mmap import mmap

__all__ = [
    "BINARY",
    "I32",
    "I64",
    "LIST",
    "STRUCT",
    "Field",
    "Reader",
    "binary",
    "listed",
    "packed",
    "whole",
]

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, _, STRUCT = range(1, 13)
_WHOLE: Final = (I16, I32, I64)
_DEEPEST: Final = 16
_MOST: Final = 2**16
"""Values of a list: columns, row groups."""
_LARGEST: Final = 64
_SHORT: Final = 15
"""Lists of this length and more have it in a number of its own."""


class Field(NamedTuple):
    """A field of a structure, and where its value is."""

    value: Any
    start: int
    stop: int


class Reader:
    """Reader of structures.

    Parameters
    ----------
    data : bytes-like
        What holds them.
    at : int
        Offset of the first.

    Attributes
    ----------
    at : int
        Offset after what was read.
    """

    def __init__(self, data: bytes | mmap, at: int) -> None:
        self._data, self.at = data, at

    def structure(self, depth: int = 0) -> dict[int, Field]:
        """Read the fields of a structure, by their numbers.

        Raises
        ------
        ValueError
            There is none.
        IndexError
            The data end before it.
        """
        if depth > _DEEPEST:
            raise ValueError("expected fewer structures in structures")
        found: dict[int, Field] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            start = self.at
            found[number] = Field(self._value(head & 15, depth), start, self.at)
        return found

    def _value(self, kind: int, depth: int, *, in_list: bool = False) -> Any:  # noqa: ANN401
        if kind in {TRUE, FALSE}:
            return (self._byte() if in_list else kind) == TRUE
        if kind in _WHOLE:
            return self._signed()
        if kind == STRUCT:
            return self.structure(depth + 1)
        if kind in {LIST, SET}:
            head = self._byte()
            count = head >> 4 if head >> 4 < _SHORT else self._unsigned()
            if count > _MOST:
                raise ValueError(f"expected a list of at most {_MOST} values, got {count}")
            return [self._value(head & 15, depth, in_list=True) for _ in range(count)]
        if kind not in {BYTE, DOUBLE, BINARY}:
            raise ValueError(f"expected a type of a field, got {kind}")
        size = {BYTE: 1, DOUBLE: 8}.get(kind) or self._unsigned()
        start, self.at = self.at, self.at + size
        if self.at > len(self._data):
            raise IndexError("the data end before the field")
        return self._data[start : self.at]

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _unsigned(self) -> int:
        value, shift = 0, 0
        while (byte := self._byte()) >= 0x80:
            if shift > _LARGEST:
                raise ValueError(f"expected a number below 2^{_LARGEST}")
            value, shift = value | (byte & 0x7F) << shift, shift + 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


def whole(value: int) -> bytes:
    """Return a whole number."""
    return _varint(value << 1 ^ value >> 63)


def listed(kind: int, parts: list[bytes]) -> bytes:
    """Return a list of values of one type."""
    count = len(parts)
    head = bytes([count << 4 | kind]) if count < _SHORT else bytes([0xF0 | kind]) + _varint(count)
    return head + b"".join(parts)


def packed(fields: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Return a structure of fields in order, each of number, type and value."""
    data, before = b"", 0
    for number, kind, value in fields:
        data, before = data + bytes([(number - before) << 4 | kind]) + value, number
    return data + b"\0"


def binary(text: bytes) -> bytes:
    """Return text."""
    return _varint(len(text)) + text


def _varint(value: int) -> bytes:
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])

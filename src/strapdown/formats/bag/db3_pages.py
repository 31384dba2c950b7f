"""Pages of an SQLite database, read without SQLite: rows of intact pages of a damaged file.

A table is a tree of pages; its leaves hold the rows. A row is ``varint size, varint number,
payload``, and a payload that does not fit its page continues on a chain of overflow pages. Every
page is looked at once, so that the time depends on the size of the file only, whatever its
pages claim.

References
----------
SQLite file format, https://www.sqlite.org/fileformat2.html, sections 1.3, 1.6 and 2.1.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Cell", "Pages", "Value", "values_of"]

Value: TypeAlias = int | float | bytes | None

_LEAF, _INTERIOR = 0x0D, 0x05
_FILE_HEADER: Final = 100
_HEADS: Final = {_LEAF: 8, _INTERIOR: 12}
_TREE: Final = frozenset({0x02, 0x05, 0x0A, 0x0D})
"""Kinds of pages in the trees of tables and indices."""
_WHOLE: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of integers by their type."""
_REAL: Final = 7


class Cell(NamedTuple):
    """A row: its number, and the place of its payload."""

    number: int
    start: int
    local: int
    """Bytes in its page."""
    size: int
    """Bytes of the payload."""


class Pages:
    """The pages of a database; numbers begin with 1.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    count : int
        Pages, also a last one that is cut.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            empty = not path.stat().st_size
            self.data = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = int.from_bytes(self.data[16:18], "big")
        self._size = 65536 if size <= 1 else size
        usable = self._size - int.from_bytes(self.data[20:21], "big")
        self._usable = usable if usable >= 480 else self._size
        self.count = -(-len(self.data) // self._size)
        self._chained: set[int] = set()

    def cells(self, page: int) -> tuple[list[Cell], int]:
        """Return the rows of a page that is a leaf of a table, and the number of broken ones."""
        begin, end = self._range(page)
        head = begin + (_FILE_HEADER if page == 1 else 0)
        if head >= end or self.data[head] != _LEAF:
            return [], 0
        whole = [self._cell(begin, at, end) for at in self._pointers(begin, head, end)]
        cells = [cell for cell in whole if cell is not None]
        return cells, len(whole) - len(cells)

    def leaves(self, root: int) -> Iterator[int]:
        """Yield the leaves of a table in order, each page once."""
        waiting, seen = [root], set[int]()
        while waiting:
            page = waiting.pop()
            if page in seen or not 1 <= page <= self.count:
                continue
            seen.add(page)
            begin, end = self._range(page)
            head = begin + (_FILE_HEADER if page == 1 else 0)
            kind = self.data[head] if head < end else 0
            if kind == _LEAF:
                yield page
            elif kind == _INTERIOR:
                children = [self._number(at) for at in self._pointers(begin, head, end)]
                waiting += reversed([*children, self._number(head + 8)])

    def payload(self, cell: Cell) -> bytes | None:
        """Return a payload; None where its chain of pages is broken."""
        pieces = [self.data[cell.start : cell.start + cell.local]]
        left, at = cell.size - cell.local, cell.start + cell.local
        while left > 0:
            page = self._number(at)
            if not 1 < page <= self.count or page in self._chained:  # a page has one owner
                return None
            self._chained.add(page)
            begin, end = self._range(page)
            piece = self.data[begin + 4 : min(end, begin + 4 + left, begin + self._usable)]
            pieces.append(piece)
            left -= len(piece)
            at = begin
            if left > 0 and len(piece) < self._usable - 4:
                return None
        return b"".join(pieces)

    @property
    def unread(self) -> int:
        """Pages that are neither of a tree nor part of a payload that was returned."""
        return sum(
            page not in self._chained and self.data[(page - 1) * self._size] not in _TREE
            for page in range(2, self.count + 1)
        )

    def _range(self, page: int) -> tuple[int, int]:
        begin = (page - 1) * self._size
        return begin, min(begin + self._size, len(self.data))

    def _number(self, at: int) -> int:
        return int.from_bytes(self.data[at : at + 4], "big")

    def _pointers(self, begin: int, head: int, end: int) -> list[int]:
        """Return the offsets of the cells of a page; the first of them ends their list."""
        count = int.from_bytes(self.data[head + 3 : head + 5], "big")
        content = begin + int.from_bytes(self.data[head + 5 : head + 7], "big")
        first = head + _HEADS[self.data[head]]
        stop = min(first + 2 * count, end, content if content > first else end)
        raw = self.data[first:stop]
        return [begin + (high << 8 | low) for high, low in zip(raw[::2], raw[1::2], strict=False)]

    def _cell(self, begin: int, at: int, end: int) -> Cell | None:
        size, at = _varint(self.data, at, end)
        number, at = _varint(self.data, at, end)
        local = self._local(size)
        chain = 4 if local < size else 0
        if not 0 < size <= len(self.data) or not 0 < number < 2**63 or at + local + chain > end:
            return None
        return Cell(number, at, local, size) if at > begin else None

    def _local(self, size: int) -> int:
        """Return the bytes of a payload that are in its page."""
        if size <= self._usable - 35:
            return size
        least = (self._usable - 12) * 32 // 255 - 23
        some = least + (size - least) % (self._usable - 4)
        return some if some <= self._usable - 35 else least


def values_of(payload: bytes) -> list[Value] | None:
    """Return the values of a row, text as bytes; None where the payload is no row."""
    end, at = _varint(payload, 0, len(payload))
    if not 0 < end <= len(payload):
        return None
    kinds = []
    while at < end:
        kind, at = _varint(payload, at, end)
        kinds.append(kind)
    found: list[Value] = []
    for kind in kinds:
        size = (kind - 12) // 2 if kind >= 12 else _WHOLE.get(kind, 8 * (kind == _REAL))
        raw = payload[at : at + size]
        if kind < 0 or kind in {10, 11} or len(raw) < size:
            return None
        at += size
        if kind == 0:
            found.append(None)
        elif kind >= 12:
            found.append(raw)
        else:
            found.append(kind - 8 if kind in {8, 9} else int.from_bytes(raw, "big", signed=True))
    return found if at == len(payload) else None


def _varint(data: bytes | mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """Return an unsigned number of 7 bits a byte and the offset after it; -1 beyond the end."""
    number = 0
    for k in range(at, min(at + 8, end)):
        byte = data[k]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, k + 1
    return -1, end

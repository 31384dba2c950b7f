"""Row groups of a Parquet file that is cut: a directory rebuilt from the headers of its pages.

Our files begin with an empty table, which declares their columns and topics. In each row group the
pages of the columns follow in this order, and each page has a header with its size and its number
of values; so the row groups before the cut are found without the directory at the end.

References
----------
Apache Parquet, https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.formats.arrays.thrift_compact import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Reader,
    binary,
    listed,
    packed,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from mmap import mmap

__all__ = ["MAGIC", "Remains", "declaration", "remains"]

MAGIC: Final = b"PAR1"
_TAIL: Final = 8  # u32 size of the directory, magic
_LONGEST: Final = 2**24
"""Bytes at the start of a file among which its empty table is searched for."""
_DATA, _DICTIONARY = 0, 2  # types of pages
_BY_DICTIONARY: Final = 8
_ENCODINGS: Final = (0, 3, _BY_DICTIONARY)  # plain values, runs of levels, dictionary
_ZSTD: Final = 6
_TYPES: Final = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY")


class Remains(NamedTuple):
    """The whole row groups of a file that is cut."""

    directory: bytes
    """A Parquet file without pages, whose directory has these row groups."""
    stop: int
    """Offset after the last of them."""
    begun: int
    """Rows of the row group that is cut, as far as the headers of its pages tell."""


class _Page(NamedTuple):
    start: int
    stop: int
    size: int  # uncompressed, with the header
    rows: int
    encoding: int
    is_dictionary: bool


def declaration(data: bytes | mmap) -> bytes | None:
    """Return the empty table at the start of a file, or None."""
    start = at = len(MAGIC)
    if data[start : start + len(MAGIC)] != MAGIC:
        return None
    while (at := data.find(MAGIC, at + 1, _LONGEST)) > 0:
        if int.from_bytes(data[at - 4 : at], "little") == at - start - _TAIL:
            return data[start : at + len(MAGIC)]
    return None


def remains(data: bytes | mmap, empty: bytes, columns: Sequence[tuple[str, str]]) -> Remains:
    """Return the whole row groups after the empty table.

    Parameters
    ----------
    data : bytes-like
        The file.
    empty : bytes
        Its :func:`declaration`.
    columns : sequence of tuple of str
        Name and physical type of each column; only the first has a dictionary.
    """
    groups: list[bytes] = []
    total, begun, stop = 0, 0, len(MAGIC) + len(empty)
    for pages in _grouped(_pages(data, stop)):
        chunks = _chunks(pages)
        rows = _rows(chunks[0])
        if rows and len(chunks) != len(columns):
            begun = rows
            break
        if rows:
            groups.append(_group(columns, chunks))
            total += rows
        stop = pages[-1].stop
    return Remains(_directory(empty, total, groups), stop, begun)


def _pages(data: bytes | mmap, at: int) -> Iterator[_Page]:
    """Yield the whole pages from an offset on."""
    with suppress(ValueError, IndexError, KeyError, TypeError):
        while True:
            reader = Reader(data, at)
            header = reader.structure()
            kind, size, packed_size = (header[number].value for number in (1, 2, 3))
            rows, encoding = 0, _BY_DICTIONARY
            if kind == _DATA:
                rows, encoding = (header[5].value[number].value for number in (1, 2))
            stop = reader.at + packed_size
            if kind not in {_DATA, _DICTIONARY} or min(size, packed_size, rows, encoding) < 0:
                return
            if stop > len(data):
                return
            yield _Page(at, stop, reader.at - at + size, rows, encoding, kind == _DICTIONARY)
            at = stop


def _grouped(pages: Iterator[_Page]) -> Iterator[list[_Page]]:
    """Yield the pages of each row group, which begins with a dictionary."""
    group: list[_Page] = []
    for page in pages:
        if page.is_dictionary and group:
            yield group
            group = []
        group.append(page)
    if group:
        yield group


def _chunks(pages: list[_Page]) -> list[list[_Page]]:
    """Return the pages of each column of a row group that is there with all its rows."""
    first = [page for page in pages if page.encoding == _BY_DICTIONARY]
    chunks, chunk = [first], list[_Page]()
    for page in pages[len(first) :]:
        chunk.append(page)
        if _rows(chunk) >= _rows(first):
            chunks.append(chunk)
            chunk = []
    return chunks


def _rows(chunk: list[_Page]) -> int:
    return sum(page.rows for page in chunk)


def _group(columns: Sequence[tuple[str, str]], chunks: list[list[_Page]]) -> bytes:
    """Return the entry of a row group in a directory."""
    entries = [_column(*column, chunk) for column, chunk in zip(columns, chunks, strict=True)]
    size = sum(page.size for chunk in chunks for page in chunk)
    parts = (1, LIST, listed(STRUCT, entries)), (2, I64, whole(size)), (3, I64, _count(chunks[0]))
    return packed(parts)


def _column(name: str, kind: str, chunk: list[_Page]) -> bytes:
    """Return the entry of a column in a row group."""
    about = [
        (1, I32, whole(_TYPES.index(kind))),
        (2, LIST, listed(I32, list(map(whole, _ENCODINGS)))),
        (3, LIST, listed(BINARY, [binary(name.encode())])),
        (4, I32, whole(_ZSTD)),
        (5, I64, _count(chunk)),
        (6, I64, whole(sum(page.size for page in chunk))),
        (7, I64, whole(chunk[-1].stop - chunk[0].start)),
        (9, I64, whole(next(page.start for page in chunk if not page.is_dictionary))),
        *((11, I64, whole(page.start)) for page in chunk if page.is_dictionary),
    ]
    return packed([(2, I64, whole(0)), (3, STRUCT, packed(about))])


def _count(chunk: list[_Page]) -> bytes:
    return whole(_rows(chunk))


def _directory(empty: bytes, rows: int, groups: list[bytes]) -> bytes:
    """Return the empty table with other row groups in its directory."""
    fields = Reader(empty, len(MAGIC)).structure()
    count, held = fields[3], fields[4]
    footer = (
        empty[len(MAGIC) : count.start]
        + whole(rows)
        + empty[count.stop : held.start]
        + listed(STRUCT, groups)
        + empty[held.stop : -_TAIL]
    )
    return MAGIC + footer + len(footer).to_bytes(4, "little") + MAGIC

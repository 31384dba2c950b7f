"""Row groups of a Parquet file: opening, checksums, and what is left of a damaged file."""

from __future__ import annotations

import json
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from strapdown._words import counted
from strapdown.errors import BackendMissingError, ChecksumError, FormatError, TruncatedError
from strapdown.formats._guard import foreign_reader
from strapdown.formats._salvage import Places
from strapdown.formats.arrays.parquet_cut import MAGIC, declaration, remains

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import ModuleType

__all__ = ["COUNTS", "Groups", "Loss", "library", "opened", "reading"]

COUNTS: Final = b"strapdown.rows"
"""Metadata entry with the number of rows of each topic."""
_MISMATCH: Final = "CRC checksum verification failed"
"""Words of the library."""


def library() -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and its module of Parquet.

    Raises
    ------
    BackendMissingError
        They are not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 (an optional package)
        import pyarrow.parquet as tables  # noqa: PLC0415 (as above)
    except ImportError:
        raise BackendMissingError("Parquet", extra="parquet") from None
    return pa, tables


class Loss(NamedTuple):
    """Loss at the end of a file that is cut."""

    rows: int
    """Those of the row group that is cut, as far as they are known."""
    size: int
    """Bytes after the last whole row group."""


@contextmanager
def opened(path: Path, *, salvage: bool = False) -> Iterator[tuple[Any, Loss | None]]:
    """Open a table whose pages are checked on reading; in salvage, also one that is cut.

    Raises
    ------
    TruncatedError
        The file is cut; in salvage, if it does not begin with a declaration of its columns.
    FormatError
        Its directory is damaged.
    """
    _, tables = library()
    with path.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
        directory, loss = _directory(path, data, salvage=salvage)
    with reading(path):
        file = tables.ParquetFile(path, metadata=directory, page_checksum_verification=True)
    with file:
        yield file, loss


def _directory(path: Path, data: mmap, *, salvage: bool) -> tuple[Any, Loss | None]:
    """Return a directory of what is left of a cut file, and the loss; None of a whole file."""
    empty = declaration(data)
    only_empty = empty is not None and len(data) == len(MAGIC) + len(empty)
    if data[-len(MAGIC) :] == MAGIC and not only_empty:
        return None, None
    if empty is None or not salvage:
        hint = '; on_error="salvage" gives its whole row groups' if empty else ""
        raise TruncatedError(
            f"expected a table that ends with {MAGIC.decode()}, got damage: the file is cut, "
            f"and its directory, which would be at its end, is lost{hint}",
            path=path,
            offset=len(data),
        )
    arrow, tables = library()
    with reading(path):
        schema = tables.read_metadata(arrow.BufferReader(empty)).schema
        columns = [schema.column(number) for number in range(len(schema))]
        left = remains(data, empty, [(each.name, each.physical_type) for each in columns])
        directory = tables.read_metadata(arrow.BufferReader(left.directory))
    return directory, Loss(left.begun, len(data) - left.stop)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert errors of the library; those of a checksum have a class of their own."""
    try:
        with foreign_reader(path, "Parquet table"):
            yield
    except FormatError as error:
        if _MISMATCH in error.message:
            raise ChecksumError(error.message, path=path) from error
        raise


class Groups:
    """The row groups of an open recording; damaged ones are left out in salvage."""

    def __init__(
        self,
        path: Path,
        file: Any,  # noqa: ANN401 (foreign)
        *,
        salvage: bool,
        only: frozenset[str] | None = None,
        cut: Loss | None = None,
    ) -> None:
        self.places = Places()
        self.lost, self.lost_bytes = cut or (0, 0)
        if cut is not None:
            self.places.note(
                f"the file is cut, {counted(cut.size, 'byte')} after its last whole row group; "
                "rows that would follow are not counted"
            )
        self._path, self._file, self._salvage, self._only = path, file, salvage, only

    def tables(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Yield the intact row groups, each a table."""
        directory = self._file.metadata
        for number in filter(self._has_topic, range(directory.num_row_groups)):
            try:
                with reading(self._path):
                    yield self._file.read_row_group(number, columns=columns)
            except FormatError as error:
                if not self._salvage:
                    hint = f'{error.message}; on_error="salvage" gives the other row groups'
                    raise type(error)(hint, path=self._path) from error
                rows = self.rows(number)
                self.lost += rows
                self.places.note(f"row group {number}: {rows} rows left out: {error.message}")

    def read(self, number: int) -> Any:  # noqa: ANN401 (foreign)
        """Return a row group as a table."""
        with reading(self._path):
            return self._file.read_row_group(number)

    def rows(self, number: int) -> int:
        """Return the number of rows of a row group."""
        return int(self._file.metadata.row_group(number).num_rows)

    def of_topics(self) -> dict[str, list[int]]:
        """Return the numbers of the row groups of each topic.

        Raises
        ------
        ValueError
            A row group may hold several topics.
        """
        found: dict[str, list[int]] = {}
        for number in range(self._file.metadata.num_row_groups):
            group = self._file.metadata.row_group(number)
            columns = map(group.column, range(group.num_columns))
            known = next(each.statistics for each in columns if each.path_in_schema == "topic")
            if known is None or not known.has_min_max or known.min != known.max:
                raise ValueError(f"expected rows of one topic in row group {number}")
            found.setdefault(known.min, []).append(number)
        return found

    def _has_topic(self, number: int) -> bool:
        """Return whether a row group may have rows of a wanted topic."""
        wanted = self._only
        if wanted is None:
            return True
        group = self._file.metadata.row_group(number)
        columns = map(group.column, range(group.num_columns))
        topics = [each.statistics for each in columns if each.path_in_schema == "topic"]
        return all(
            each is None
            or not each.has_min_max
            or any(each.min <= topic <= each.max for topic in wanted)
            for each in topics
        )

    def compare(self, found: Mapping[str, int]) -> None:
        """Compare the rows of each topic with those that were written: pages do not count them."""
        text = (self._file.metadata.metadata or {}).get(COUNTS)
        if text is None or self._only is not None:  # of an older writer, or a part
            return
        expected, got = sum(json.loads(text).values()), sum(found.values())
        if expected == got + self.lost:
            return
        if not self._salvage:
            raise ValueError(f"expected {expected} rows, got {got}")
        self.places.note(f"expected {expected} rows, got {got}")
        self.lost = max(expected - got, 0)

    def table(self) -> Any:  # noqa: ANN401 (foreign)
        """Return the intact row groups as one table."""
        arrow, _ = library()
        empty = self._file.schema_arrow.empty_table()
        return arrow.concat_tables([empty, *self.tables()])

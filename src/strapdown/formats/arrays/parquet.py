"""Parquet: a whole recording as one table, for data analysis tools.

The column ``topic`` names the topic of each row; columns that a topic lacks are null there.
Vectors are stored in columns ``angular_velocity_x`` and so on, covariances in
``..._covariance_xx`` and so on, attitude in ``q_world_from_body_x`` to ``_w``. The metadata entry
``strapdown`` holds the header of each topic. Needs the extra ``parquet``.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import BackendMissingError, FormatError, ShapeError
from strapdown.formats._guard import foreign_reader
from strapdown.formats._output import replacing
from strapdown.formats._series_headers import described, heading, rebuild, recording_of, topics
from strapdown.formats.recording import HOLDS, Recording
from strapdown.formats.reports import WriteReport
from strapdown.series.columns import present
from strapdown.series.tabular import endings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from strapdown._typing import AnyArray, IntArray
    from strapdown.formats._series_headers import Series
    from strapdown.formats.foreign.array_table import ArrayTable
    from strapdown.formats.foreign.plan import ImportPlan

__all__ = ["ParquetWriter", "foreign_table", "parquet_writer", "read", "sniff", "write"]

_MAGIC: Final = b"PAR1"
_KEY: Final = b"strapdown"


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with the magic bytes of Parquet."""
    return head.startswith(_MAGIC)


def read(
    path: Path,
    *,
    salvage: bool,  # noqa: ARG001 (row groups have checksums)
    plan: ImportPlan | None = None,
) -> Recording:
    """Read a recording that :func:`write` wrote, or a table of another program.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Has no effect: a table is read completely or not at all.
    plan : ImportPlan, optional
        Meaning of the columns of another program; by default they are recognised.

    Raises
    ------
    BackendMissingError
        The extra ``parquet`` is not installed.
    FormatError
        The file is damaged, or columns of another program are missing or ambiguous.
    """
    _, tables = _library()
    with foreign_reader(path, "Parquet table"), tables.ParquetFile(path) as file:
        metadata = file.schema_arrow.metadata or {}
        if _KEY not in metadata:
            return foreign_table(path).read(path, plan)
        try:
            description = json.loads(metadata[_KEY])
            columns = _Columns(file.read())
            found = {
                topic: _topic(columns, topic, said) for topic, said in description["topics"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"expected a table that fits its metadata: {error}"
            raise FormatError(reason, path=path) from error
    return recording_of(path, "parquet", found, description)


def foreign_table(path: Path) -> ArrayTable:
    """Return the columns of another program as a table.

    Raises
    ------
    BackendMissingError
        The extra ``parquet`` is not installed.
    FormatError
        The file is damaged.
    """
    from strapdown.formats.foreign.array_table import ArrayTable, columns_of_frame  # noqa: PLC0415 (few need it)

    _, tables = _library()
    with foreign_reader(path, "Parquet table"), tables.ParquetFile(path) as file:
        return ArrayTable(columns_of_frame(file.read()))


def write(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write a recording: every column of every topic.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    BackendMissingError
        The extra ``parquet`` is not installed.
    """
    with parquet_writer(path, force=force) as writer:
        writer.write(recording)
    return WriteReport("parquet", writer.messages)


class ParquetWriter:
    """Writer of a recording block by block; each topic of a block becomes a row group."""

    def __init__(self, path: Path) -> None:
        self.messages = 0
        self.lost: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self._path = path
        self._file: Any = None
        self._said: dict[str, dict[str, Any]] = {}

    def write(self, block: Recording) -> None:
        """Append rows to each topic; the first block declares all topics and columns.

        Raises
        ------
        ShapeError
            A block has other topics, columns or frames than the first.
        """
        arrow, tables = _library()
        parts = [(topic, heading(holds, series), series) for holds, topic, series in topics(block)]
        if self._file is None:
            self._said = {topic: said for topic, said, _ in parts}
            schema = _schema([series for _, _, series in parts], self._said, block.history)
            self._file = tables.ParquetWriter(
                self._path,
                schema,
                compression="zstd",
                use_dictionary=["topic"],  # sensor values rarely repeat
            )
        for topic, said, series in parts:
            if self._said.get(topic) != said:
                raise ShapeError(
                    f"expected {topic} with the columns and frames of the first block, got {said}; "
                    "write it to another file"
                )
            columns = {"topic": arrow.array([topic]).take(np.zeros(len(series), np.int64))}
            for name, _, array in present(series):
                columns |= {key: arrow.array(values) for key, values in _flat(name, array)}
            rows = [
                columns.get(field.name, arrow.nulls(len(series), field.type))
                for field in self._file.schema
            ]
            self._file.write_table(arrow.Table.from_arrays(rows, schema=self._file.schema))
            self.messages += len(series)

    def close(self) -> None:
        """Write the footer."""
        if self._file is None:
            self.write(Recording())
        self._file.close()


@contextmanager
def parquet_writer(path: Path, *, force: bool = False) -> Iterator[ParquetWriter]:
    """Open a file that takes a recording block by block.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    BackendMissingError
        The extra ``parquet`` is not installed.
    """
    _library()
    with replacing(path, force=force) as partial:
        writer = ParquetWriter(partial)
        yield writer
        writer.close()


def _library() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow as pa  # noqa: PLC0415 (an optional package)
        import pyarrow.parquet as tables  # noqa: PLC0415 (as above)
    except ImportError:
        raise BackendMissingError("Parquet", extra="parquet") from None
    return pa, tables


def _schema(series: list[Series], said: dict[str, dict[str, Any]], history: Sequence[str]) -> Any:  # noqa: ANN401 (foreign)
    arrow, _ = _library()
    fields: dict[str, Any] = {"topic": arrow.string()}
    for each in series:
        for name, _, array in present(each):
            for key, values in _flat(name, array[:0]):
                fields[key] = arrow.from_numpy_dtype(values.dtype)
    text = described(said, history)
    return arrow.schema(list(fields.items()), metadata={_KEY: text.encode()})


def _flat(name: str, array: AnyArray) -> Iterator[tuple[str, AnyArray]]:
    """Yield the columns of an array of rows."""
    flat = array.reshape(len(array), int(np.prod(array.shape[1:], dtype=int)))
    for column, end in enumerate(endings(array.shape[1:])):
        yield name + end, np.ascontiguousarray(flat[:, column])


class _Columns:
    """The columns of a table as arrays, each converted once; null reads as zero."""

    def __init__(self, table: Any) -> None:  # noqa: ANN401 (foreign)
        self._table = table
        self._arrays: dict[str, AnyArray] = {}
        topic = table.column("topic").combine_chunks().dictionary_encode()
        self._codes = topic.indices.to_numpy()
        self._topics = topic.dictionary.to_pylist()

    def rows_of(self, topic: str) -> IntArray:
        if topic not in self._topics:
            return np.empty(0, np.int64)
        return np.flatnonzero(self._codes == self._topics.index(topic))

    def __getitem__(self, name: str) -> AnyArray:
        if name not in self._arrays:
            column = self._table.column(name).combine_chunks()
            zero = False if column.type == _library()[0].bool_() else 0
            self._arrays[name] = column.fill_null(zero).to_numpy(zero_copy_only=False)
        return self._arrays[name]


def _topic(columns: _Columns, topic: str, said: dict[str, Any]) -> tuple[str, Series]:
    """Return group and series of one topic."""
    mine = columns.rows_of(topic)
    declared = {
        each.name: each.metadata["column"]
        for each in HOLDS[said["holds"]].__dataclass_fields__.values()
        if "column" in each.metadata
    }
    arrays = {}
    for name in said["columns"]:
        column = declared[name]
        parts = [
            columns[name + end][mine].astype(column.dtype, copy=False)
            for end in endings(column.tail)
        ]
        arrays[name] = np.stack(parts, axis=-1).reshape(len(mine), *column.tail)
    return said["holds"], rebuild(said, arrays)

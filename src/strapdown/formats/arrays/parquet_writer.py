"""Writing of a recording as one Parquet table, block by block."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import ShapeError
from strapdown.formats._output import replacing
from strapdown.formats._series_headers import described, heading, topics
from strapdown.formats.arrays.parquet_groups import COUNTS, library
from strapdown.formats.recording import Recording
from strapdown.series.columns import present
from strapdown.series.tabular import endings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from strapdown._typing import AnyArray
    from strapdown.formats._series_headers import Series

__all__ = ["CHECK", "KEY", "ParquetWriter", "parquet_writer"]

KEY: Final = b"strapdown"
"""Metadata entry with the headers of the topics."""
CHECK: Final = b"strapdown.crc32"
"""Metadata entry with the checksum of the headers; pages have checksums of their own."""
_ROWS: Final = 2**16
"""Most rows of a row group: what a damaged page costs."""


class ParquetWriter:
    """Writer of a recording block by block; a row group holds rows of one topic."""

    def __init__(self, path: Path) -> None:
        self.messages = 0
        self.lost: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self._path = path
        self._sink: Any = None
        self._file: Any = None
        self._said: dict[str, dict[str, Any]] = {}
        self._rows: Counter[str] = Counter()

    def write(self, block: Recording) -> None:
        """Append rows to each topic; the first block declares all topics and columns.

        Raises
        ------
        ShapeError
            A block has other topics, columns or frames than the first.
        """
        arrow, tables = library()
        parts = [(topic, heading(holds, series), series) for holds, topic, series in topics(block)]
        if self._file is None:
            self._said = {topic: said for topic, said, _ in parts}
            schema = _schema([series for _, _, series in parts], self._said, block.history)
            self._sink = arrow.OSFile(str(self._path), "wb")
            self._file = tables.ParquetWriter(
                self._sink,
                schema,
                compression="zstd",
                use_dictionary=["topic"],  # sensor values rarely repeat
                write_page_checksum=True,
            )
            self._sink.write(_empty_table(schema))  # of a file that is cut, it tells the columns
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
            table = arrow.Table.from_arrays(rows, schema=self._file.schema)
            self._file.write_table(table, row_group_size=_ROWS)
            self._rows[topic] += len(series)
            self.messages += len(series)

    def close(self) -> None:
        """Write the footer."""
        if self._file is None:
            self.write(Recording())
        self._file.add_key_value_metadata({COUNTS: json.dumps(self._rows)})
        self._file.close()
        self._sink.close()


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
    library()
    with replacing(path, force=force) as partial:
        writer = ParquetWriter(partial)
        yield writer
        writer.close()


def _schema(series: list[Series], said: dict[str, dict[str, Any]], history: Sequence[str]) -> Any:  # noqa: ANN401 (foreign)
    arrow, _ = library()
    fields: dict[str, Any] = {"topic": arrow.string()}
    for each in series:
        for name, _, array in present(each):
            for key, values in _flat(name, array[:0]):
                fields[key] = arrow.from_numpy_dtype(values.dtype)
    text = described(said, history).encode()
    metadata = {KEY: text, CHECK: f"{zlib.crc32(text):08x}".encode()}
    return arrow.schema(list(fields.items()), metadata=metadata)


def _empty_table(schema: Any) -> bytes:  # noqa: ANN401 (foreign)
    _, tables = library()
    stream = BytesIO()
    tables.ParquetWriter(stream, schema).close()
    return stream.getvalue()


def _flat(name: str, array: AnyArray) -> Iterator[tuple[str, AnyArray]]:
    """Yield the columns of an array of rows."""
    flat = array.reshape(len(array), int(np.prod(array.shape[1:], dtype=int)))
    for column, end in enumerate(endings(array.shape[1:])):
        yield name + end, np.ascontiguousarray(flat[:, column])

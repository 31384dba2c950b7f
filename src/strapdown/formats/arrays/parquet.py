"""Parquet: a whole recording as one table, for data analysis tools.

The column ``topic`` names the topic of each row; columns that a topic lacks are null there.
Vectors are stored in columns ``angular_velocity_x`` and so on, covariances in
``..._covariance_xx`` and so on, attitude in ``q_world_from_body_x`` to ``_w``. The metadata entry
``strapdown`` holds the header of each topic. Pages and headers have a checksum (CRC-32). The file
begins with an empty table of the same columns and headers, for a file that is cut. Needs the extra
``parquet``.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats._aligned import aligned
from strapdown.formats._series_headers import (
    columns_of,
    history_of,
    rebuild,
    recording_of,
    without_rows,
)
from strapdown.formats.arrays.parquet_cut import MAGIC
from strapdown.formats.arrays.parquet_groups import Groups, library, opened, reading
from strapdown.formats.arrays.parquet_writer import CHECK, KEY, parquet_writer
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.reports import ReadReport, WriteReport
from strapdown.formats.summary import Summary, of_stamps
from strapdown.series.tabular import endings
from strapdown.series.timebase import TimeTally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from strapdown._typing import AnyArray, IntArray
    from strapdown.formats._series_headers import Series
    from strapdown.formats.foreign.array_table import ArrayTable
    from strapdown.formats.foreign.plan import ImportPlan
    from strapdown.formats.recording import Recording

__all__ = [
    "ParquetBlocks",
    "blocks",
    "foreign_table",
    "read",
    "sniff",
    "summarize",
    "write",
]


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with the magic bytes of Parquet."""
    return head.startswith(MAGIC)


def read(
    path: Path, *, salvage: bool, plan: ImportPlan | None = None, only: frozenset[str] | None = None
) -> Recording:
    """Read a recording that :func:`write` wrote, or a table of another program.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Leave out damaged row groups of a recording and count their rows, instead of raising an
        error. Of a recording that is cut, the row groups before the cut are read.
    plan : ImportPlan, optional
        Meaning of the columns of another program; by default they are recognised.
    only : frozenset of str, optional
        The only topics to read, of a recording.

    Raises
    ------
    BackendMissingError
        The extra ``parquet`` is not installed.
    TruncatedError
        The file is cut.
    ChecksumError
        The checksum of a page does not match.
    FormatError
        The file is damaged otherwise, or columns of another program are missing or ambiguous.
    """
    with opened(path, salvage=salvage) as (file, cut):
        metadata = file.schema_arrow.metadata or {}
        if KEY not in metadata:
            return foreign_table(path).read(path, plan)
        groups = Groups(path, file, salvage=salvage, only=only, cut=cut)
        try:
            description = _description(metadata)
            columns = _Columns(groups.table())
            found = {
                topic: _topic(columns, topic, said)
                for topic, said in description["topics"].items()
                if only is None or topic in only
            }
            groups.compare({topic: len(series) for topic, (_, series) in found.items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unfit(path, error) from error
    recording = recording_of(path, "parquet", found, description)
    report = replace(
        recording.report,
        lost_messages=groups.lost,
        lost_bytes=groups.lost_bytes,
        damage=tuple(groups.places.lines()),
    )
    return replace(recording, report=report)


def blocks(
    path: Path, *, salvage: bool, only: frozenset[str] | None = None
) -> ParquetBlocks | None:
    """Read a recording block by block, as :func:`read`; None for another table or a cut one."""
    with opened(path, salvage=salvage) as (file, cut):
        ours = KEY in (file.schema_arrow.metadata or {})
    return ParquetBlocks(path, salvage=salvage, only=only) if ours and cut is None else None


class ParquetBlocks:
    """Block-by-block reader of a recording that :func:`write` wrote, in bounded memory.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        As of :func:`read`; a damaged file is read as a whole.
    only : frozenset of str, optional
        The only topics to read.
    """

    def __init__(self, path: Path, *, salvage: bool, only: frozenset[str] | None) -> None:
        self._path, self._salvage, self._only = path, salvage, only
        self.report = ReadReport("parquet")
        self.progress = 0.0

    def __iter__(self) -> Iterator[Recording]:
        """Read the file from its beginning."""
        rows = 0
        try:
            with opened(self._path) as (file, _):
                groups = Groups(self._path, file, salvage=False, only=self._only)
                description = _description(file.schema_arrow.metadata)
                said = {
                    topic: each
                    for topic, each in description["topics"].items()
                    if self._only is None or topic in self._only
                }
                places = groups.of_topics()
                parts = {
                    topic: _parts(groups, topic, each, places.get(topic, []))
                    for topic, each in said.items()
                }
                numbers = (number for topic in said for number in places.get(topic, []))
                total = sum(map(groups.rows, numbers))
                for block in aligned(parts):
                    found = {topic: (said[topic]["holds"], block[topic]) for topic in block}
                    recording = recording_of(self._path, "parquet", found, description)
                    rows += recording.report.messages
                    self.progress = rows / max(rows, total)
                    yield recording
                groups.compare({"": rows})
        except NeedsWhole:
            raise
        except (FormatError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NeedsWhole(f"the file is damaged: {error}", path=self._path) from error
        self.report = ReadReport("parquet", messages=rows)


def _parts(
    groups: Groups, topic: str, said: dict[str, Any], places: Sequence[int]
) -> Iterator[Series]:
    """Yield the row groups of a topic as series; one without rows where there is none."""
    if not places:
        yield without_rows(said)
    for number in places:
        yield _topic(_Columns(groups.read(number)), topic, said)[1]


def summarize(path: Path) -> Summary | None:
    """Summarise a recording that :func:`write` wrote, from its stamps; None for another table.

    Raises
    ------
    BackendMissingError
        The extra ``parquet`` is not installed.
    FormatError
        The file is damaged.
    """
    with opened(path, salvage=True) as (file, cut):
        metadata = file.schema_arrow.metadata or {}
        if KEY not in metadata:
            return None
        groups = Groups(path, file, salvage=True, cut=cut)
        try:
            description = _description(metadata)
            found = {topic: without_rows(said) for topic, said in description["topics"].items()}
            clocks = {topic: TimeTally() for topic in found}
            for table in groups.tables(["topic", "t_ns"]):
                columns = _Columns(table)
                for topic in columns.topics:
                    clocks[topic].add(columns["t_ns"][columns.rows_of(topic)])
            groups.compare({topic: clock.samples for topic, clock in clocks.items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _unfit(path, error) from error
    lost, damage = (groups.lost, groups.lost_bytes), groups.places.lines()
    summary = of_stamps("parquet", found, clocks, lost=lost, damage=damage)
    return replace(summary, history=history_of(description))


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

    with opened(path) as (file, _), reading(path):
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


def _description(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return the headers of the topics, and the history."""
    text = metadata[KEY]
    if metadata.get(CHECK, check := f"{zlib.crc32(text):08x}".encode()) != check:
        raise ValueError("the checksum of the headers of its topics does not match")
    description: dict[str, Any] = json.loads(text)
    return description


class _Columns:
    """The columns of a table as arrays, each converted once; null reads as zero."""

    def __init__(self, table: Any) -> None:  # noqa: ANN401 (foreign)
        self._table = table
        self._arrays: dict[str, AnyArray] = {}
        topic = table.column("topic").combine_chunks().dictionary_encode()
        self._codes = topic.indices.to_numpy()
        self.topics = topic.dictionary.to_pylist()

    def rows_of(self, topic: str) -> IntArray:
        if topic not in self.topics:
            return np.empty(0, np.int64)
        return np.flatnonzero(self._codes == self.topics.index(topic))

    def __getitem__(self, name: str) -> AnyArray:
        if name not in self._arrays:
            column = self._table.column(name).combine_chunks()
            zero = False if column.type == library()[0].bool_() else 0
            self._arrays[name] = column.fill_null(zero).to_numpy(zero_copy_only=False)
        return self._arrays[name]


def _unfit(path: Path, error: Exception) -> FormatError:
    return FormatError(f"expected a table that fits its metadata: {error}", path=path)


def _topic(columns: _Columns, topic: str, said: dict[str, Any]) -> tuple[str, Series]:
    """Return group and series of one topic."""
    mine = columns.rows_of(topic)
    arrays = {}
    for name, column in columns_of(said).items():
        parts = [
            columns[name + end][mine].astype(column.dtype, copy=False)
            for end in endings(column.tail)
        ]
        arrays[name] = np.stack(parts, axis=-1).reshape(len(mine), *column.tail)
    return said["holds"], rebuild(said, arrays)

"""Our own layout of ``.npz``: a whole recording as arrays.

Each column of a topic is an array ``topic/column``, such as ``imu/data/angular_velocity``, and
``strapdown.json`` holds the header of each topic. A column whose rows are all equal is stored as
one row. ``numpy.load`` reads all arrays.
"""

from __future__ import annotations

import json
import struct
import zipfile
from contextlib import contextmanager
from dataclasses import MISSING, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import FormatError, ShapeError, StrapdownError
from strapdown.formats._aligned import aligned
from strapdown.formats._guard import foreign_reader
from strapdown.formats._output import replacing
from strapdown.formats._salvage import Places
from strapdown.formats._series_headers import (
    columns_of,
    described,
    heading,
    history_of,
    rebuild,
    recording_of,
    topics,
    without_rows,
)
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.recording import HOLDS
from strapdown.formats.summary import Summary, of_stamps
from strapdown.series.columns import present
from strapdown.series.timebase import TimeTally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from strapdown._typing import AnyArray
    from strapdown.formats._series_headers import Series
    from strapdown.formats.recording import Recording
    from strapdown.series.columns import Column

__all__ = [
    "DESCRIPTION",
    "LostArrays",
    "NpzWriter",
    "npz_writer",
    "read_blocks",
    "read_recording",
    "summarize",
]

DESCRIPTION: Final = "strapdown.json"
_COPY: Final = 2**20
_PIECE: Final = 2**17
"""Rows that are read at one time."""
_NAMED_AT: Final = 26
"""Place of the lengths of name and extra field in the header of a member."""


class NpzWriter:
    """Writer of a recording block by block; columns are collected in files next to the archive."""

    def __init__(self, folder: Path) -> None:
        self.messages = 0
        self.lost: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self._folder = folder
        self._said: dict[str, dict[str, Any]] = {}
        self._history: tuple[str, ...] = ()
        self._columns: dict[str, _ColumnFile] = {}

    def write(self, block: Recording) -> None:
        """Append rows to each topic; a topic keeps its columns and frames from block to block.

        Raises
        ------
        ShapeError
            A block has other columns or frames than the previous ones.
        """
        self._history = self._history or block.history
        for holds, topic, series in topics(block):
            said = heading(holds, series)
            if self._said.setdefault(topic, said) != said:
                raise ShapeError(
                    f"expected {topic} with the columns and frames of the previous blocks, got "
                    f"{said}; write it to another topic"
                )
            for name, _, array in present(series):
                member = f"{topic}/{name}"
                if member not in self._columns:
                    path = self._folder / str(len(self._columns))
                    self._columns[member] = _ColumnFile(path, array, whole=name == "t_ns")
                self._columns[member].append(array)
            self.messages += len(series)

    def pack(self, path: Path) -> None:
        """Write the archive of all columns."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(DESCRIPTION, described(self._said, self._history))
            for member, column in self._columns.items():
                with archive.open(f"{member}.npy", "w", force_zip64=True) as stream:
                    column.copy_to(stream)


class _ColumnFile:
    """Rows of one column on disk; unless ``whole``, a single row while all are equal."""

    def __init__(self, path: Path, like: AnyArray, *, whole: bool) -> None:
        self._path = path
        self._dtype, self._tail = like.dtype, like.shape[1:]
        self._first: AnyArray = like[:1].copy()
        self._rows = 0
        self._constant = not whole
        path.touch()

    def append(self, rows: AnyArray) -> None:
        if not self._rows:
            self._first = rows[:1].copy()
        if self._constant and not _all_equal(rows, self._first):
            self._constant = False
            with self._path.open("wb") as file:
                for start in range(0, self._rows, _COPY):
                    count = min(_COPY, self._rows - start)
                    file.write(np.repeat(self._first, count, axis=0).tobytes())
        if not self._constant:
            with self._path.open("ab") as file:
                file.write(np.ascontiguousarray(rows).tobytes())
        self._rows += len(rows)

    def copy_to(self, stream: Any) -> None:  # noqa: ANN401 (what zipfile opens)
        rows = min(self._rows, 1) if self._constant else self._rows
        header = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (rows, *self._tail),
        }
        np.lib.format.write_array_header_1_0(stream, header)
        if self._constant:
            stream.write(self._first[:rows].tobytes())
            return
        with self._path.open("rb") as file:
            while data := file.read(_COPY):
                stream.write(data)


def _all_equal(rows: AnyArray, first: AnyArray) -> bool:
    same = rows == first
    if rows.dtype.kind == "f":
        same |= np.isnan(rows) & np.isnan(first)
    return bool(same.all())


@contextmanager
def npz_writer(path: Path, *, force: bool = False) -> Iterator[NpzWriter]:
    """Open an archive that takes a recording block by block.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    """
    with replacing(path, force=force) as partial, TemporaryDirectory(dir=path.parent) as folder:
        writer = NpzWriter(Path(folder))
        yield writer
        writer.pack(partial)


class LostArrays:
    """Arrays that could not be read.

    Attributes
    ----------
    places : Places
        One line for each.
    rows : int
        Rows of the topics that are left out because of them.
    """

    def __init__(self) -> None:
        self.places = Places()
        self.rows = 0

    def add(self, name: str, reason: str) -> None:
        """Add an array."""
        self.places.note(f"{name}: left out: {reason}")


def read_recording(
    path: Path,
    archive: zipfile.ZipFile,
    load: Callable[[str], AnyArray | None],
    lost: LostArrays,
    *,
    only: frozenset[str] | None = None,
) -> Recording:
    """Read what :class:`NpzWriter` wrote.

    Parameters
    ----------
    path : Path
        The file.
    archive : ZipFile
        The open file.
    load : callable
        From the name of an array to the array; None where it is damaged, which is then in
        ``lost``. Without such an array a series has no optional column, or NaN in another; without
        one that NaN cannot replace, such as the stamps, the topic is left out.
    lost : LostArrays
        Counts the rows of such topics.
    only : frozenset of str, optional
        The only topics to read.

    Raises
    ------
    FormatError
        The description is damaged, or an array does not fit it.
    """
    found = {}
    try:
        description = json.loads(archive.read(DESCRIPTION))
        for topic, said in description["topics"].items():
            if only is not None and topic not in only:
                continue
            columns = {name: load(f"{topic}/{name}") for name in said["columns"]}
            whole = {name: array for name, array in columns.items() if array is not None}
            longest = max(map(len, whole.values()), default=0)
            rows = len(whole["t_ns"]) if "t_ns" in whole else longest
            arrays = {name: _spread(array, rows) for name, array in whole.items()}
            if _fill(said, arrays, rows):
                found[topic] = (said["holds"], rebuild(said, arrays))
            else:
                lost.rows += rows
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"expected arrays that fit {DESCRIPTION}: {error}", path=path) from error
    return recording_of(path, "npz", found, description)


def _fill(said: Mapping[str, Any], arrays: dict[str, AnyArray], rows: int) -> bool:
    """Put NaN where an array that a series needs is lost; return whether that is possible."""
    needed = {each.name for each in fields(HOLDS[said["holds"]]) if each.default is MISSING}
    for name, column in columns_of(said).items():
        if name in needed and name not in arrays:
            if np.dtype(column.dtype).kind != "f":
                return False
            arrays[name] = np.full((rows, *column.tail), np.nan)
    return True


def _spread(array: AnyArray, rows: int) -> AnyArray:
    """Return the rows of a column that may be stored as one row."""
    return np.broadcast_to(array, (rows, *array.shape[1:])) if len(array) == 1 else array


def count_rows(archive: zipfile.ZipFile, *, only: frozenset[str] | None) -> int:
    """Return the rows of topics, by the size of their stamps; their headers count as some more."""
    return sum(
        member.file_size // 8
        for member in archive.infolist()
        if (topic := member.filename.removesuffix("/t_ns.npy")) != member.filename
        and (only is None or topic in only)
    )


def read_blocks(
    path: Path, archive: zipfile.ZipFile, *, only: frozenset[str] | None
) -> Iterator[Recording]:
    """Yield the rows of what :class:`NpzWriter` wrote, block by block.

    Raises
    ------
    NeedsWhole
        The archive is damaged, or an array is compressed.
    """
    try:
        with foreign_reader(path, "npz archive"):
            description = json.loads(archive.read(DESCRIPTION))
            said = {
                topic: each
                for topic, each in description["topics"].items()
                if only is None or topic in only
            }
            parts = {topic: _parts(path, archive, topic, each) for topic, each in said.items()}
            for block in aligned(parts):
                found = {topic: (said[topic]["holds"], block[topic]) for topic in block}
                yield recording_of(path, "npz", found, description)
    except NeedsWhole:
        raise
    except StrapdownError as error:
        raise NeedsWhole(f"the archive is damaged: {error}", path=path) from error


def _parts(
    path: Path, archive: zipfile.ZipFile, topic: str, said: Mapping[str, Any]
) -> Iterator[Series]:
    """Yield the rows of a topic part by part."""
    columns = {
        name: _StoredColumn(path, archive, f"{topic}/{name}.npy", column)
        for name, column in columns_of(said).items()
    }
    rows = columns["t_ns"].rows
    for start in range(0, max(rows, 1), _PIECE):
        stop = min(start + _PIECE, rows)
        yield rebuild(said, {name: each.read(start, stop, rows) for name, each in columns.items()})


class _StoredColumn:
    """An array in an archive, checked once, and then read part by part."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, name: str, column: Column) -> None:
        member = archive.getinfo(name)
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name} is compressed")
        with archive.open(member) as stream:
            version = np.lib.format.read_magic(stream)
            if version != (1, 0):
                raise ValueError(f"{name} is of another version")
            shape, by_column, self._dtype = np.lib.format.read_array_header_1_0(stream)
            begin, size = stream.tell(), 0
            while data := stream.read(_COPY):  # the checksum is compared at the end
                size += len(data)
        self._path, self._column = path, column
        self._shape = shape[1:]
        self.rows = shape[0]
        self._row = self._dtype.itemsize * int(np.prod(self._shape, dtype=int))
        if by_column or self._shape != column.tail or size != self.rows * self._row:
            raise ValueError(f"{name} has another shape")
        with path.open("rb") as file:
            file.seek(member.header_offset + _NAMED_AT)
            named, extra = struct.unpack("<HH", file.read(4))
        self._at = member.header_offset + _NAMED_AT + 4 + named + extra + begin

    def read(self, start: int, stop: int, rows: int) -> AnyArray:
        """Return rows; a single row stands for all of ``rows``."""
        if self.rows not in {1, rows}:
            raise ValueError(f"expected {rows} rows, got {self.rows}")
        repeated = self.rows == 1 and rows != 1
        first, count = (0, 1) if repeated else (start, stop - start)
        with self._path.open("rb") as file:
            file.seek(self._at + first * self._row)
            data = file.read(count * self._row)
        array = np.frombuffer(data, self._dtype).reshape(-1, *self._shape)
        array = array.astype(self._column.dtype, copy=False)
        return np.repeat(array, stop - start, axis=0) if repeated else array


def summarize(path: Path, archive: zipfile.ZipFile) -> Summary:
    """Summarise what :class:`NpzWriter` wrote, from its stamps alone.

    Raises
    ------
    FormatError
        The description or a column of stamps is damaged.
    """
    clocks, found = {}, {}
    try:
        description = json.loads(archive.read(DESCRIPTION))
        for topic, said in description["topics"].items():
            found[topic] = without_rows(said)
            with archive.open(f"{topic}/t_ns.npy") as stream:
                clocks[topic] = _clock(stream)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"expected arrays that fit {DESCRIPTION}: {error}", path=path) from error
    return replace(of_stamps("npz", found, clocks), history=history_of(description))


def _clock(stream: IO[bytes]) -> TimeTally:
    """Return the statistics of a column of stamps."""
    np.lib.format.read_magic(stream)
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if len(shape) != 1 or dtype.kind != "i" or dtype.itemsize != np.dtype(np.int64).itemsize:
        raise ValueError(f"expected stamps as 64-bit integers, got {dtype} {shape}")
    clock = TimeTally()
    while data := stream.read(_COPY):
        clock.add(np.frombuffer(data, dtype).astype(np.int64))
    if clock.samples != shape[0]:
        raise ValueError(f"expected {shape[0]} stamps, got {clock.samples}")
    return clock

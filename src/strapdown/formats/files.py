"""Open and write recordings: the reader is found by content, the writer by ending."""

from __future__ import annotations

import os
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from strapdown._checks import as_member
from strapdown._lazy import LazyMapping
from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats._output import refuse
from strapdown.formats.block_reader import BlockReader, Continued, WholeFile
from strapdown.formats.summary import summary_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from os import PathLike

    from strapdown.formats.foreign.plan import ImportPlan
    from strapdown.formats.recording import Recording
    from strapdown.formats.reports import WriteReport
    from strapdown.formats.summary import Summary
    from strapdown.series import (
        BarometerSeries,
        GnssSeries,
        ImuSeries,
        Increments,
        Trajectory,
    )

    Columns: TypeAlias = ImportPlan | str | PathLike[str] | Mapping[str, tuple[str, float]]

__all__ = ["OnError", "check_output", "open", "open_blocks", "summarize", "write"]


class _Reader(Protocol):
    """Interface of the module of each format."""

    def sniff(self, head: bytes, path: Path) -> bool: ...

    def read(self, path: Path, *, salvage: bool) -> Recording: ...


class _TableReader(Protocol):
    """Interface of the modules that read tables of other programs."""

    def read(self, path: Path, *, salvage: bool, plan: ImportPlan | None = None) -> Recording: ...


class _TopicReader(Protocol):
    """Interface of the modules that can read some topics of many."""

    def read(
        self, path: Path, *, salvage: bool, only: frozenset[str] | None = None
    ) -> Recording: ...


class _Blocks(Protocol):
    """Block reader of a format; None where a file can only be read as a whole."""

    def __call__(
        self, path: Path, /, *, salvage: bool, only: frozenset[str] | None = None
    ) -> BlockReader | None: ...


class _Write(Protocol):
    """Writer of a format."""

    def __call__(self, path: Path, recording: Recording, /, *, force: bool) -> WriteReport: ...


class _Summarize(Protocol):
    """Summary of a file by the module of its format; None where only the data can tell."""

    def __call__(self, path: Path, /) -> Summary | None: ...


# Readers are tried in this order; those after the matching one are not imported.
_READERS: Final[Mapping[str, _Reader]] = LazyMapping(
    "reader",
    "strapdown.formats",
    {
        "mcap": "mcap.reader",
        "ulog": "ulog.reader",
        "dataflash": "dataflash.reader",
        "tlog": "mavlink.reader",
        "npz": "arrays.npz",
        "parquet": "arrays.parquet",
        "bag": "bag.reader",
        "rtklib": "gnss.rtklib",
        "nmea": "gnss.nmea",
        "euroc": "text.euroc",
        "tum": "text.tum",
        "csv": "text.csv_file",
        "kitti": "foreign.kitti",
        "folder": "foreign.folder",
        "table": "foreign.text_table",
    },
)
_TABLES: Final[Mapping[str, _TableReader]] = LazyMapping(
    "reader of tables",
    "strapdown.formats",
    {
        "npz": "arrays.npz",
        "parquet": "arrays.parquet",
        "folder": "foreign.folder",
        "table": "foreign.text_table",
    },
)
_BY_TOPIC: Final[Mapping[str, _TopicReader]] = LazyMapping(
    "reader of one topic",
    "strapdown.formats",
    {
        "mcap": "mcap.reader",
        "ulog": "ulog.reader",
        "npz": "arrays.npz",
        "parquet": "arrays.parquet",
        "bag": "bag.reader",
    },
)
_WRITERS: Final[Mapping[str, _Write]] = LazyMapping(
    "writer",
    "strapdown.formats",
    {
        ".mcap": "mcap.writer:write",
        ".bag": "bag.ros1_writer:write",
        "": "bag.ros2_writer:write",
        ".ulg": "ulog.from_recording:write",
        ".csv": "_one_table:write_csv",
        ".tum": "_one_table:write_tum",
        ".npz": "arrays.npz:write",
        ".parquet": "arrays.parquet:write",
    },
)
_BLOCKS: Final[Mapping[str, _Blocks]] = LazyMapping(
    "block reader",
    "strapdown.formats",
    {
        "mcap": "mcap.reader:blocks",
        "ulog": "ulog.reader:blocks",
        "npz": "arrays.npz:blocks",
        "parquet": "arrays.parquet:blocks",
        "bag": "bag.reader:blocks",
        "csv": "text.csv_file:blocks",
    },
)
_SUMMARIES: Final[Mapping[str, _Summarize]] = LazyMapping(
    "summary",
    "strapdown.formats",
    {
        "mcap": "mcap.index:summarize",
        "ulog": "ulog.block_summary:summarize",
        "npz": "arrays.npz:summarize",
        "parquet": "arrays.parquet:summarize",
        "bag": "bag.index:summarize",
        "csv": "text.csv_file:summarize",
        "tum": "text.tum:summarize",
        "euroc": "text.euroc:summarize",
    },
)
_HEAD: Final = 2**16
_BLOCKWISE: Final = 64 * 2**20
"""Files above this size are read in blocks [bytes]; a ULog always is."""
_LARGE: Final = 16 * 2**20
"""Files above this size are not read as a whole for a summary [bytes]."""


class OnError(StrEnum):
    """Treatment of damage by a reader."""

    STRICT = "strict"
    """Raise."""
    SALVAGE = "salvage"
    """Read what can be read, and count the rest in the report."""


def open(  # noqa: A001 (strapdown.open, like gzip.open)
    path: str | PathLike[str],
    *,
    on_error: OnError | str = OnError.STRICT,
    columns: Columns | None = None,
    topic: str | Collection[str] | None = None,
) -> Recording:
    """Read a recording of any format.

    Parameters
    ----------
    path : path-like
        A file, or a folder: a ROS 2 bag, EuRoC, KITTI, or one file per sensor from a phone.
    on_error : {"strict", "salvage"}
        Whether damage is raised, or counted in ``Recording.report``.
    columns : ImportPlan, path-like or mapping, optional
        Meaning of the columns of another program's table, as a plan, or a file that
        ``strapdown import`` wrote; by default they are recognised. For CSV also a mapping from our
        column name to the name in the file and the factor to our unit, such as
        ``{"t_ns": ("Time (s)", 1e9)}``.
    topic : str or collection of str, optional
        The only topics to read, in memory that does not depend on the others. The recording has
        the others too where the format holds one topic, or there is no such topic.

    Returns
    -------
    Recording

    Raises
    ------
    FormatError
        No format is recognised, or the file is damaged: TruncatedError, ChecksumError or
        UnsupportedError where the cause is known. In salvage, only where nothing can be read.
    UnknownNameError
        ``on_error`` is neither of the two, or ``columns`` names a column that does not exist.
    TypeError
        ``path`` is no path, or ``columns`` is no such mapping.
    OSError
        A file cannot be read, such as FileNotFoundError.
    """
    path = _as_path(path)
    salvage = as_member(OnError, on_error, "way to treat damage") is OnError.SALVAGE
    if columns is not None:
        return _by_columns(path, columns, salvage=salvage)
    name = _format_of(path)
    if topic is not None and name in _BY_TOPIC:
        only = frozenset([topic] if isinstance(topic, str) else topic)
        part = _BY_TOPIC[name].read(path, salvage=salvage, only=only)
        if part.span_ns is not None:
            return part
    return _READERS[name].read(path, salvage=salvage)


def _by_columns(path: Path, columns: Columns, *, salvage: bool) -> Recording:
    """Read a table of another program by the meaning of its columns."""
    from strapdown.formats.foreign.plan import ImportPlan  # noqa: PLC0415 (few need it)
    from strapdown.formats.text import csv_file  # noqa: PLC0415 (as above)

    if isinstance(columns, str | os.PathLike):
        columns = ImportPlan.load(columns)
    if not isinstance(columns, ImportPlan):
        return csv_file.read(path, salvage=salvage, columns=columns)
    name = _format_of(path)
    if name not in _TABLES:
        name = "table"
    return _TABLES[name].read(path, salvage=salvage, plan=columns)


@contextmanager
def open_blocks(
    path: str | PathLike[str],
    *,
    on_error: OnError | str = OnError.STRICT,
    columns: Columns | None = None,
    topic: str | Collection[str] | None = None,
) -> Iterator[BlockReader]:
    """Read a recording block by block, in bounded memory.

    A ULog of any size has blocks, and files above 64 MiB in MCAP, bags, npz, Parquet and CSV, in
    our layouts. Others are one block.

    Parameters
    ----------
    path : path-like
        A file, or the folder of a ROS 2 bag or of EuRoC.
    on_error : {"strict", "salvage"}
        Whether damage is raised, or counted in the report.
    columns : ImportPlan, path-like or mapping, optional
        As of :func:`open`.
    topic : str or collection of str, optional
        As of :func:`open`.

    Yields
    ------
    BlockReader
        Iterate over it once: each recording continues the previous one, and a topic has the same
        columns in all. The report is complete after the last. Rows and report are those of
        :func:`open`. Where the rest of a file does not allow that (stamps go back by more than a
        second, a topic or a column begins later), it comes as one last block.

    Raises
    ------
    FormatError, UnknownNameError, OSError
        As :func:`open`; damage of a ULog is raised by the block in which it is found.

    Examples
    --------
    >>> with open_blocks("flight.ulg") as blocks:  # doctest: +SKIP
    ...     for block in blocks:
    ...         print(block.imu["sensor_combined"])
    ...     print(blocks.report)
    """
    path = _as_path(path)

    def whole() -> Recording:
        return open(path, on_error=on_error, columns=columns, topic=topic)

    blocks = None if columns is not None else block_reader(path, on_error=on_error, topic=topic)
    yield WholeFile(whole()) if blocks is None else Continued(blocks, whole)


def block_reader(
    path: Path, *, on_error: OnError | str, topic: str | Collection[str] | None = None
) -> BlockReader | None:
    """Return the blocks of a long file; None of a short one, or where the format has none.

    Iteration raises :class:`~strapdown.formats.block_reader.NeedsWhole` where the rows or the
    report would differ from those of :func:`open`.
    """
    salvage = as_member(OnError, on_error, "way to treat damage") is OnError.SALVAGE
    name = _format_of(path)
    if name not in _BLOCKS or not (name == "ulog" or is_long(path)):
        return None
    if topic is None:
        return _BLOCKS[name](path, salvage=salvage)
    only = frozenset([topic] if isinstance(topic, str) else topic)
    return _BLOCKS[name](path, salvage=salvage, only=only)


def is_long(path: Path) -> bool:
    """Return whether a file is so long that it is read in blocks."""
    return _size(path) > _BLOCKWISE


def summarize(path: str | PathLike[str], *, full: bool = False) -> Summary:
    """Summarise a recording: topics, counts, rates, gaps, frames. Damage is counted.

    A file above 16 MiB is not read as a whole: the summary comes from its index, or from the stamps
    alone, in memory that depends on neither columns nor topics.

    Parameters
    ----------
    path : path-like
        A file or folder, as of :func:`open`.
    full : bool
        Read all data also of a large file, and verify its checksums.

    Returns
    -------
    Summary

    Raises
    ------
    FormatError
        No format is recognised, or nothing can be read.
    TypeError
        ``path`` is no path.
    OSError
        A file cannot be read, such as FileNotFoundError.

    Examples
    --------
    >>> for topic in summarize("flight.ulg").topics:  # doctest: +SKIP
    ...     print(topic.topic, topic.clock)
    """
    path = _as_path(path)
    if not full and _size(path) > _LARGE:
        name = _format_of(path)
        found = _SUMMARIES[name](path) if name in _SUMMARIES else None
        if found is not None:
            return found
    return summary_of(open(path, on_error=OnError.SALVAGE))


def _size(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder."""
    if path.is_dir():
        return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    return path.stat().st_size


def _as_path(path: str | PathLike[str]) -> Path:
    """Return a path; a TypeError of anything else names what was passed."""
    try:
        return Path(path)
    except TypeError:
        raise TypeError(
            "expected the path of a file or folder as str or pathlib.Path, got "
            f"{type(path).__name__}; pass the path first, for an open file its name; "
            "strapdown.formats.foreign.import_frame takes a data frame"
        ) from None


def _format_of(path: Path) -> str:
    """Return the key of the reader of a file, by the content of the file."""
    head = b""
    if not path.is_dir():
        with path.open("rb") as file:
            head = file.read(_HEAD)
    for name, reader in _READERS.items():
        if reader.sniff(head, path):
            return name
    got = f"a file that begins with {head[:16]!r}" if head else "an empty file"
    if path.is_dir():
        got = "a folder without metadata.yaml or mav0; name a file in it"
    raise FormatError(
        "expected MCAP, a ROS bag, ULog, DataFlash, a MAVLink telemetry log, npz arrays, Parquet, "
        "NMEA, a solution of RTKLIB, or a table in text, got " + got,
        path=path,
    )


def write(
    path: str | PathLike[str],
    source: Recording | ImuSeries | Trajectory | Increments | GnssSeries | BarometerSeries,
    *,
    force: bool = False,
) -> WriteReport:
    """Write a recording, or one series, in the format that the ending of ``path`` names.

    The file appears complete or not at all: it is written next to its target, synchronised, and
    renamed.

    Parameters
    ----------
    path : path-like
        Ending in ``.mcap``, ``.bag``, ``.ulg``, ``.npz``, ``.parquet`` (all topics), ``.csv``
        (one series, one trajectory; or increments) or ``.tum`` (one trajectory); without an
        ending, the folder of a ROS 2 bag.
    source : Recording, or a series
        Content of the file; ``Recording(imu={...}, trajectories={...})`` builds a recording. A
        single series gets the topic ``imu/data``, ``pose``, ``vehicle_imu``, ``gnss/fix`` or
        ``barometer``.
    force : bool
        Replace a file that exists.

    Returns
    -------
    WriteReport
        Number of messages, and the content that the format could not hold.

    Raises
    ------
    UnknownNameError
        There is no writer for that ending.
    FileExistsError
        The file exists, and not ``force``. Other errors of the system pass through.
    FormatError
        The recording contains nothing that the format can hold.
    ValueRangeError
        A number does not fit the format, such as a negative stamp in a ROS message.
    TypeError
        ``path`` is no path, or ``source`` is neither a recording nor a series.
    """
    from strapdown.formats.recording import as_recording  # noqa: PLC0415 (only writing needs it)

    path = check_output(path, force=force)
    return _WRITERS[path.suffix.lower()](path, as_recording(source), force=force)


def check_output(path: str | PathLike[str], *, force: bool = False) -> Path:
    """Check a path as :func:`write` does, before the content is computed.

    Parameters
    ----------
    path : path-like
        Where a file is to be written.
    force : bool
        Replace a file that exists.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    UnknownNameError
        There is no writer for that ending.
    FileExistsError
        The file exists, and not ``force``.
    """
    path = _as_path(path)
    if (ending := path.suffix.lower()) not in _WRITERS:
        raise UnknownNameError("writer for the ending", ending, _WRITERS)
    refuse(path, force=force)
    return path

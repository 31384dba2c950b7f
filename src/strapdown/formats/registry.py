"""Readers and writers of the formats, which are imported when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from strapdown._lazy import LazyMapping
from strapdown.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from strapdown.formats.block_reader import BlockReader
    from strapdown.formats.foreign.plan import ImportPlan
    from strapdown.formats.recording import Recording
    from strapdown.formats.reports import WriteReport
    from strapdown.formats.summary import Summary

__all__ = ["BLOCKS", "BY_TOPIC", "READERS", "SUMMARIES", "TABLES", "WRITERS", "format_of"]


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
READERS: Final[Mapping[str, _Reader]] = LazyMapping(
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
TABLES: Final[Mapping[str, _TableReader]] = LazyMapping(
    "reader of tables",
    "strapdown.formats",
    {
        "npz": "arrays.npz",
        "parquet": "arrays.parquet",
        "folder": "foreign.folder",
        "table": "foreign.text_table",
    },
)
BY_TOPIC: Final[Mapping[str, _TopicReader]] = LazyMapping(
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
WRITERS: Final[Mapping[str, _Write]] = LazyMapping(
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
BLOCKS: Final[Mapping[str, _Blocks]] = LazyMapping(
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
SUMMARIES: Final[Mapping[str, _Summarize]] = LazyMapping(
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


def format_of(path: Path) -> str:
    """Return the key of the reader of a file, by the content of the file."""
    head = b""
    if not path.is_dir():
        with path.open("rb") as file:
            head = file.read(_HEAD)
    for name, reader in READERS.items():
        if reader.sniff(head, path):
            return name
    from strapdown.formats.foreign.text_table import lack_of_rows  # noqa: PLC0415 (it was asked last)

    if (what := lack_of_rows(head)) is not None:
        raise FormatError(what, path=path)
    got = f"a file that begins with {head[:16]!r}" if head else "an empty file"
    if path.is_dir():
        got = "a folder without metadata.yaml or mav0; name a file in it"
    raise FormatError(
        "expected MCAP, a ROS bag, ULog, DataFlash, a MAVLink telemetry log, npz arrays, Parquet, "
        "NMEA, a solution of RTKLIB, or a table in text, got " + got,
        path=path,
    )

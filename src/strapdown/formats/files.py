"""Open and write recordings: the reader is found by content, the writer by ending."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from strapdown._checks import as_member
from strapdown.errors import UnknownNameError
from strapdown.formats._output import refuse
from strapdown.formats.registry import BY_TOPIC, READERS, TABLES, WRITERS, format_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from os import PathLike

    from strapdown.formats.foreign.plan import ImportPlan
    from strapdown.formats.recording import Recording
    from strapdown.formats.reports import WriteReport
    from strapdown.series import (
        BarometerSeries,
        GnssSeries,
        ImuSeries,
        Increments,
        Trajectory,
    )

    Columns: TypeAlias = ImportPlan | str | PathLike[str] | Mapping[str, tuple[str, float]]

__all__ = ["OnError", "as_path", "check_output", "is_salvage", "names_of", "open", "write"]


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
    path = as_path(path)
    salvage = is_salvage(on_error)
    if columns is not None:
        return _by_columns(path, columns, salvage=salvage)
    name = format_of(path)
    if topic is not None and name in BY_TOPIC:
        part = BY_TOPIC[name].read(path, salvage=salvage, only=names_of(topic))
        if part.span_ns is not None:
            return part
    return READERS[name].read(path, salvage=salvage)


def _by_columns(path: Path, columns: Columns, *, salvage: bool) -> Recording:
    """Read a table of another program by the meaning of its columns."""
    from strapdown.formats.foreign.plan import ImportPlan  # noqa: PLC0415 (few need it)
    from strapdown.formats.text import csv_file  # noqa: PLC0415 (as above)

    if isinstance(columns, str | os.PathLike):
        columns = ImportPlan.load(columns)
    if not isinstance(columns, ImportPlan):
        return csv_file.read(path, salvage=salvage, columns=columns)
    name = format_of(path)
    if name not in TABLES:
        name = "table"
    return TABLES[name].read(path, salvage=salvage, plan=columns)


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
    return WRITERS[path.suffix.lower()](path, as_recording(source), force=force)


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
    path = as_path(path)
    if (ending := path.suffix.lower()) not in WRITERS:
        raise UnknownNameError("format with the ending", ending, WRITERS, nearest=len(WRITERS))
    refuse(path, force=force)
    return path


def is_salvage(on_error: OnError | str) -> bool:
    """Return whether damage is counted; UnknownNameError of an unknown way to treat it."""
    return as_member(OnError, on_error, "way to treat damage") is OnError.SALVAGE


def names_of(topic: str | Collection[str]) -> frozenset[str]:
    """Return the names of one or several topics."""
    return frozenset([topic] if isinstance(topic, str) else topic)


def as_path(path: str | PathLike[str]) -> Path:
    """Return a path; a TypeError of anything else names what was passed."""
    try:
        return Path(path)
    except TypeError:
        raise TypeError(
            "expected the path of a file or folder as str or pathlib.Path, got "
            f"{type(path).__name__}; pass the path first, for an open file its name; "
            "strapdown.formats.foreign.import_frame takes a data frame"
        ) from None

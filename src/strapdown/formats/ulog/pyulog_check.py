"""Check of a ULog against pyulog, which reads the same records.

Both must find the same rows. pyulog does not detect most damage, so the check is limited to files
in which none was found.

References
----------
https://github.com/PX4/pyulog
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats._guard import foreign_reader
from strapdown.formats._rows import rows_at
from strapdown.formats.ulog.records import HEADER_SIZE, ROW_HEAD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.formats.ulog.records import Bytes, Records, Topic

__all__ = ["second_opinion"]

_LARGEST: Final = 2**28
"""pyulog holds everything in memory; larger files are not checked [bytes]."""
_LARGEST_FORMATS: Final = 2**20
"""pyulog creates an object for every field of every topic, even without rows: limit for the formats
of a file, so that a small file cannot exhaust memory [bytes]."""


def second_opinion(
    data: Bytes, records: Records, offsets: Mapping[Topic, IntArray], *, path: Path
) -> list[str]:
    """Compare the rows of each topic with those that pyulog finds.

    Parameters
    ----------
    data : bytes-like
        The file.
    records : Records
        After the walk.
    offsets : mapping of Topic to (N,) int64
        Starts of the rows of the walk.
    path : Path
        For error messages.

    Returns
    -------
    list of str
        Messages of pyulog; empty where it is not used.

    Raises
    ------
    FormatError
        pyulog disagrees, or fails.
    """
    formats = sum(records.formats.size(topic.name) for topic in records.topics)
    if len(data) > _LARGEST or formats > min(_LARGEST_FORMATS, len(data)) or records.skipped:
        return []  # a record of unknown type can put pyulog into an endless loop
    from pyulog import ULog  # noqa: PLC0415 (a slow import that only logs need)

    # One part without flags: in appended parts pyulog drops rows of earlier subscriptions.
    parts = [data[:HEADER_SIZE], *(data[begin:end] for begin, end in records.parts)]
    talk = io.StringIO()
    with foreign_reader(path, "ULog"), redirect_stdout(talk):
        log = ULog(io.BytesIO(b"".join(parts)))
        seen = {(each.name, each.multi_id): len(each.data["timestamp"]) for each in log.data_list}
    short = {
        topic: int(np.count_nonzero(sizes == 2 + records.formats.least(topic.name)))
        for topic, sizes in _sizes(data, offsets).items()
    }
    # It treats rows with trailing padding as damage.
    padded = any(short[topic] < len(offsets[topic]) for topic in offsets)
    if (log.file_corruption and not padded) or seen != {k: v for k, v in short.items() if v}:
        raise FormatError(
            f"expected {sum(short.values())} rows from pyulog, got {sum(seen.values())}: one of "
            "the two misreads this log; please report it",
            path=path,
        )
    return talk.getvalue().splitlines()


def _sizes(data: Bytes, offsets: Mapping[Topic, IntArray]) -> dict[Topic, NDArray[np.uint16]]:
    """Return the sizes of the rows by their records."""
    return {topic: rows_at(data, at - ROW_HEAD, np.dtype("<u2")) for topic, at in offsets.items()}

"""Long files: read in blocks, and summarised without their data."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from strapdown.formats.block_reader import Continued, WholeFile
from strapdown.formats.files import OnError, as_path, is_salvage, names_of, open  # noqa: A004 (ours)
from strapdown.formats.registry import BLOCKS, SUMMARIES, format_of
from strapdown.formats.summary import summary_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from os import PathLike
    from pathlib import Path

    from strapdown.formats.block_reader import BlockReader
    from strapdown.formats.files import Columns
    from strapdown.formats.recording import Recording
    from strapdown.formats.summary import Summary

__all__ = ["block_reader", "is_long", "open_blocks", "summarize"]

_BLOCKWISE: Final = 64 * 2**20
"""Files above this size are read in blocks [bytes]; a ULog always is."""
_LARGE: Final = 16 * 2**20
"""Files above this size are not read as a whole for a summary [bytes]."""


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
    path = as_path(path)

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
    salvage, name = is_salvage(on_error), format_of(path)
    if name not in BLOCKS or not (name == "ulog" or is_long(path)):
        return None
    only = None if topic is None else names_of(topic)
    return BLOCKS[name](path, salvage=salvage, only=only)


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
    path = as_path(path)
    if not full and _size(path) > _LARGE:
        name = format_of(path)
        found = SUMMARIES[name](path) if name in SUMMARIES else None
        if found is not None:
            return found
    return summary_of(open(path, on_error=OnError.SALVAGE))


def _size(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder."""
    if path.is_dir():
        return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    return path.stat().st_size

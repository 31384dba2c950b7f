"""Block-by-block writing of long recordings, in bounded memory."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from strapdown.errors import UnknownNameError
from strapdown.formats._one_table import csv_writer, tum_writer
from strapdown.formats.arrays.npz_recording import npz_writer
from strapdown.formats.arrays.parquet_writer import parquet_writer
from strapdown.formats.bag.ros1_writer import bag_writer
from strapdown.formats.bag.ros2_writer import ros2_bag_writer
from strapdown.formats.mcap.writer import mcap_writer
from strapdown.formats.ulog.from_recording import ulog_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike

    from strapdown.formats.recording import Recording

__all__ = ["BlockWriter", "block_writer"]


class BlockWriter(Protocol):
    """A file that takes a recording block by block."""

    @property
    def messages(self) -> int:
        """Messages or rows written so far."""
        ...

    @property
    def lost(self) -> Sequence[str]:
        """Content of the blocks that the file cannot hold, one line each."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Further notes for the user, one line each."""
        ...

    def write(self, block: Recording) -> None:
        """Append the rows of a block; topics keep their columns and frames."""
        ...


_WRITERS: Final[dict[str, Callable[..., AbstractContextManager[BlockWriter]]]] = {
    ".mcap": mcap_writer,
    ".bag": bag_writer,
    "": ros2_bag_writer,
    ".ulg": ulog_writer,
    ".csv": csv_writer,
    ".tum": tum_writer,
    ".npz": npz_writer,
    ".parquet": parquet_writer,
}


@contextmanager
def block_writer(path: str | PathLike[str], *, force: bool = False) -> Iterator[BlockWriter]:
    """Open a file for a recording in blocks, each later than the previous one.

    The complete file appears when the ``with`` statement ends without an error.

    Parameters
    ----------
    path : path-like
        Ending in .mcap, .bag, .ulg, .npz, .parquet (any topics), .csv (one IMU, or its
        increments) or .tum (one trajectory); without an ending, the folder of a ROS 2 bag.
    force : bool
        Replace a file that exists.

    Yields
    ------
    BlockWriter

    Raises
    ------
    UnknownNameError
        There is no writer for that ending.
    FileExistsError
        The file exists, and not ``force``.
    BackendMissingError
        The format needs a package that is not installed.

    Examples
    --------
    >>> with block_writer("run.npz") as writer:  # doctest: +SKIP
    ...     for samples in imu.blocks(10_000_000):
    ...         writer.write(Recording(imu={"imu/data": samples.series()}))
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in _WRITERS:
        raise UnknownNameError("format with the ending", ending, _WRITERS, nearest=len(_WRITERS))
    with _WRITERS[ending](path, force=force) as writer:
        yield writer

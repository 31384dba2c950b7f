"""Arrays in ``.npz``: our own layout, those of two public benchmarks, and any other by its names.

* Ours holds a whole recording: see :mod:`strapdown.formats.arrays.npz_recording`.
* BROAD and TUM-VI: see :mod:`strapdown.formats.arrays.npz_benchmarks`. The IMU is
  ``imu["imu"]``, the reference ``trajectories["reference"]``.
"""

from __future__ import annotations

import math
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from strapdown.formats._guard import BoundedPath, foreign_reader
from strapdown.formats.arrays import npz_recording
from strapdown.formats.arrays.npz_benchmarks import BROAD, TUMVI, broad_series, tumvi_series
from strapdown.formats.arrays.npz_recording import (
    DESCRIPTION,
    LostArrays,
    npz_writer,
    read_recording,
)
from strapdown.formats.arrays.zip_members import by_local_headers
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport, WriteReport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from strapdown._typing import AnyArray
    from strapdown.formats.foreign.array_table import ArrayTable
    from strapdown.formats.foreign.plan import ImportPlan
    from strapdown.formats.summary import Summary

__all__ = ["foreign_table", "read", "sniff", "summarize", "write"]

_BAD_CRC: Final = "Bad CRC-32"
"""Words of the library."""
_ZIP: Final = b"PK\x03\x04"
_LARGEST_ARRAY: Final = 256 * 2**20
_TYPES: Final = {"f": np.float64, "i": np.int64, "u": np.uint8, "b": np.bool_}
_HEADERS: Final = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file is a zip archive that begins with an array or our description."""
    return head.startswith(_ZIP) and (b".npy" in head[:300] or DESCRIPTION.encode() in head[:300])


def read(
    path: Path, *, salvage: bool, plan: ImportPlan | None = None, only: frozenset[str] | None = None
) -> Recording:
    """Read a recording in our layout, a BROAD or TUM-VI file, or arrays of another program.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Read the whole arrays of our layout, and report the others, instead of raising an error;
        also those of an archive that is cut.
    plan : ImportPlan, optional
        Meaning of the arrays of another program; by default they are recognised by name.
    only : frozenset of str, optional
        The only topics to read, in our layout.

    Returns
    -------
    Recording
        In our layout as it was written; otherwise ``imu["imu"]`` and
        ``trajectories["reference"]``.

    Raises
    ------
    TruncatedError
        The directory at the end of the archive is missing.
    ChecksumError
        The checksum of an array does not match.
    FormatError
        The archive or an array is damaged otherwise, or an array has another shape or type.
    UnsupportedError
        An array is too large, or compressed in another way.
    """
    with foreign_reader(path, "npz archive"), _opened(path, salvage=salvage) as archive:
        if DESCRIPTION in archive.namelist():
            return _read_ours(path, archive, salvage=salvage, only=only)
        names = {name.removesuffix(".npy") for name in archive.namelist()}
        layout = next((known for known in (BROAD, TUMVI) if known.keys() <= names), None)
        if layout is None or plan is not None:
            return foreign_table(path).read(path, plan)
        arrays = {name: _array(path, archive, name, kind.kind) for name, kind in layout.items()}
        imu, reference = (
            broad_series(path, arrays) if layout is BROAD else tumvi_series(path, arrays)
        )
    report = ReadReport(
        "npz",
        messages=len(imu) + len(reference),
        notes=("the axes of the sensor are called FLU, those of the reference ENU",),
    )
    return Recording(path, report, {"imu": imu}, {"reference": reference})


def blocks(path: Path, *, salvage: bool, only: frozenset[str] | None = None) -> NpzBlocks | None:  # noqa: ARG001 (damage is read as a whole)
    """Read a recording in our layout block by block, as :func:`read`; None for another one."""
    try:
        with foreign_reader(path, "npz archive"), _opened(path) as archive:
            return NpzBlocks(path, only) if DESCRIPTION in archive.namelist() else None
    except FormatError:  # reading the file reports it
        return None


class NpzBlocks:
    """Block-by-block reader of a recording in our layout, in bounded memory.

    Parameters
    ----------
    path : Path
        The file.
    only : frozenset of str, optional
        The only topics to read.
    """

    def __init__(self, path: Path, only: frozenset[str] | None) -> None:
        self._path, self._only = path, only
        self.report = ReadReport("npz")
        self.progress = 0.0

    def __iter__(self) -> Iterator[Recording]:
        """Read the file from its beginning."""
        rows = 0
        with _opened(self._path) as archive:
            total = npz_recording.count_rows(archive, only=self._only)
            for block in npz_recording.read_blocks(self._path, archive, only=self._only):
                rows += block.report.messages
                self.progress = rows / max(rows, total)
                yield block
        self.report = ReadReport("npz", messages=rows)


def summarize(path: Path) -> Summary | None:
    """Summarise an intact recording in our layout; None for another one."""
    try:
        with foreign_reader(path, "npz archive"), _opened(path) as archive:
            ours = DESCRIPTION in archive.namelist()
            return npz_recording.summarize(path, archive) if ours else None
    except FormatError:  # reading the file reports it
        return None


def foreign_table(path: Path) -> ArrayTable:
    """Return the arrays of another program as a table.

    Raises
    ------
    FormatError
        The archive is damaged, or its arrays have no common length.
    """
    from strapdown.formats.foreign.array_table import ArrayTable, columns_of_npz  # noqa: PLC0415 (few need it)

    with foreign_reader(path, "npz archive"), _opened(path) as archive:
        names = sorted(name.removesuffix(".npy") for name in archive.namelist())
        return ArrayTable(
            columns_of_npz(path, {name: _array(path, archive, name) for name in names})
        )


def write(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write a recording: every column of every topic.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    """
    with npz_writer(path, force=force) as writer:
        writer.write(recording)
    return WriteReport("npz", writer.messages)


@contextmanager
def _opened(path: Path, *, salvage: bool = False) -> Iterator[zipfile.ZipFile]:
    """Open an archive; in salvage one of ours also without its directory."""
    with BoundedPath(path).open("rb") as stream:
        if zipfile.is_zipfile(stream):
            with zipfile.ZipFile(stream) as archive:
                yield archive
            return
        archive = by_local_headers(stream)
        if not salvage or DESCRIPTION not in archive.namelist():
            raise TruncatedError(
                "expected a zip directory at the end of the file, got none: the file is cut",
                path=path,
                offset=path.stat().st_size,
            )
        yield archive


def _read_ours(
    path: Path, archive: zipfile.ZipFile, *, salvage: bool, only: frozenset[str] | None
) -> Recording:
    """Read our layout; in salvage, the arrays that are whole."""
    lost = LostArrays()

    def load(name: str) -> AnyArray | None:
        try:
            with foreign_reader(path, "npz archive"):
                return _array(path, archive, name)
        except FormatError as error:
            if not salvage:
                raise _mismatch(path, error) from error
            lost.add(name, error.message)
            return None

    recording = read_recording(path, archive, load, lost, only=only)
    damage = tuple(lost.places.lines())
    if archive.start_dir == 0 and not damage:
        damage = ("the zip directory at the end of the file is lost",)
    report = replace(recording.report, lost_messages=lost.rows, damage=damage)
    return replace(recording, report=report)


def _mismatch(path: Path, error: FormatError) -> FormatError:
    """Return an error of a checksum as such."""
    hint = f'{error.message}; on_error="salvage" reads the other arrays'
    return (ChecksumError if _BAD_CRC in error.message else type(error))(hint, path=path)


def _array(path: Path, archive: zipfile.ZipFile, name: str, kind: str = "fiub") -> AnyArray:
    """Read one array of a kind; no memory is allocated for sizes that are only declared."""
    member = archive.getinfo(f"{name}.npy")
    stored = member.compress_type == zipfile.ZIP_STORED and member.file_size < path.stat().st_size
    if member.file_size > _LARGEST_ARRAY and not stored:
        raise UnsupportedError(
            f"expected array {name} of {_LARGEST_ARRAY} bytes at most, got {member.file_size}",
            path=path,
        )
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnsupportedError(f"expected array {name} stored or deflated", path=path)
    with archive.open(member) as stream:
        shape, by_column, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
        data = stream.read()
    if (
        dtype.kind not in kind
        or dtype.itemsize > 8
        or math.prod(shape) * dtype.itemsize != len(data)
    ):
        raise FormatError(
            f"expected array {name} of type {kind!r}, got {dtype} {shape} in {len(data)} bytes",
            path=path,
        )
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if by_column else "C")
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return array.astype(_TYPES[dtype.kind])

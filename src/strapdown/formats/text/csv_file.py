"""CSV: our own layout, and files of other programs through a map of their columns.

Ours begins with the frames and a header line::

    # strapdown body=FLU world=ENU
    t_ns,angular_velocity_x,angular_velocity_y,...
    1700000000000000000,0.001,-0.002,...

``t_ns`` [ns] comes first, then any of ``angular_velocity_{x,y,z}`` [rad/s, body],
``specific_force_{x,y,z}`` [m/s^2, body], ``magnetic_field_{x,y,z}`` [T, body],
``gyro_clipping`` and ``accel_clipping`` (bits X=1, Y=2, Z=4), ``orientation_{x,y,z,w}`` (world
from body), ``position_{x,y,z}`` [m, world] and ``velocity_{x,y,z}`` [m/s, world]. If one column of
a vector is present, all of its columns must be. An empty cell and ``nan`` are NaN; other lines that
begin with ``#`` are ignored, except for ``# history: ...``, one line for each step of processing.

Angular velocity, specific force, magnetic field and clipping bits become ``imu["imu"]``;
orientation, position and velocity become ``trajectories["trajectory"]``. With the tag
``orientation=sensor`` in the first line the orientation was measured by the sensor itself, and is
also ``q_world_from_body`` of ``imu["imu"]``.

Increments have a separate file, whose first line names no world::

    # strapdown body=FRD
    t_ns,delta_angle_x,...,accel_calibration_count

``t_ns`` is the end of each interval; ``delta_angle_{x,y,z}`` [rad, body],
``delta_velocity_{x,y,z}`` [m/s, body at the middle of the interval], ``delta_angle_dt_ns`` and
``delta_velocity_dt_ns`` [ns] are required; ``gyro_clipping``, ``accel_clipping``,
``gyro_calibration_count`` and ``accel_calibration_count`` are 0 if absent. Together they are
``increments["vehicle_imu"]``.

Written series read back equal except for the identity of the sensor, and writing them again gives
the same bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.errors import FormatError, FrameError, ShapeError, ValueRangeError
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.reports import ReadReport
from strapdown.formats.summary import of_rows
from strapdown.formats.text.csv_columns import NAMES, listed, split_header
from strapdown.formats.text.csv_content import HISTORY, Content
from strapdown.formats.text.lines import Opening, opening_of, read_opening
from strapdown.formats.text.table import read_stamps, read_table, read_tables, write_table
from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory
from strapdown.series.columns import present

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from strapdown._typing import AnyArray
    from strapdown.formats._series_headers import Motion
    from strapdown.formats.recording import Recording
    from strapdown.formats.summary import Summary
    from strapdown.formats.text.csv_columns import ColumnMap

__all__ = ["CsvBlocks", "UnheldColumns", "blocks", "read", "sniff", "summarize", "write"]

_GROUP_OF: Final = {
    "q_world_from_body": "orientation",
    "position_world": "position",
    "velocity_world": "velocity",
}
"""Columns of a series that have another name in the file."""


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with our first line, or a header with ``t_ns``."""
    opening = opening_of(head)
    return opening is not None and (
        opening.tags is not None
        or (len(cells := split_header(opening.line)[1]) > 1 and "t_ns" in cells)
    )


def read(path: Path, *, salvage: bool, columns: ColumnMap | None = None) -> Recording:
    """Read a CSV file.

    Parameters
    ----------
    path : Path
        The file: UTF-8; cells separated by comma, semicolon or tab.
    salvage : bool
        Count damaged rows and leave them out, instead of raising an error.
    columns : mapping, optional
        For a file of another program: from our column name to its column name and the factor to
        our unit, such as ``{"t_ns": ("Time (s)", 1e9), "angular_velocity_x": ("Gyro X (deg/s)",
        RAD_PER_DEG), ...}``. The factor of a column in ns is 1, 1e3, 1e6 or 1e9; decimal times
        are read exactly.

    Returns
    -------
    Recording
        ``imu["imu"]``, ``trajectories["trajectory"]`` and ``increments["vehicle_imu"]``, as far
        as their columns exist.

    Raises
    ------
    FormatError
        The header lacks a column, or a row is damaged; the message names line and column.
    TruncatedError
        The file ends inside a row.
    UnknownNameError
        ``columns`` names a column that does not exist.
    ValueRangeError
        ``columns`` gives an unsupported factor for a time.
    """
    content = Content(path, columns)
    return content.recording(read_table(path, content.layout, salvage=salvage))


def blocks(path: Path, *, salvage: bool, only: frozenset[str] | None = None) -> CsvBlocks:  # noqa: ARG001 (its topics share their rows)
    """Read a file block by block, as :func:`read`."""
    return CsvBlocks(path, salvage=salvage)


class CsvBlocks:
    """Block-by-block reader of a CSV file, in bounded memory.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        As of :func:`read`.
    """

    def __init__(self, path: Path, *, salvage: bool) -> None:
        self._path, self._salvage = path, salvage
        self.report = ReadReport("csv")
        self.progress = 0.0

    def __iter__(self) -> Iterator[Recording]:
        """Read the file from its beginning."""
        content = Content(self._path, None)
        size = self._path.stat().st_size
        rows, last_ns = 0, None
        for table in read_tables(self._path, content.layout, salvage=self._salvage):
            try:
                block = content.recording(table)
            except FormatError as error:
                raise NeedsWhole(error.message, path=self._path) from error
            several = len([*block.imu, *block.trajectories, *block.increments]) > 1
            steps = np.diff(table.t_ns, prepend=table.t_ns[:1] if last_ns is None else last_ns)
            if several and (steps < 0).any():
                raise NeedsWhole("stamps go back, in several series", path=self._path)
            self.progress = min(table.stop / size, 1.0)  # UTF-16 is longer than in UTF-8 or shorter
            if len(table.t_ns):
                last_ns = int(table.t_ns[-1])
                yield block
            rows += len(table.t_ns)
        if not rows:
            raise NeedsWhole("no row can be read", path=self._path)
        self.report = replace(block.report, messages=rows)


def summarize(path: Path) -> Summary:
    """Summarise a CSV file from its stamps and its first rows.

    Raises
    ------
    FormatError
        The header lacks a column, or no row can be read.
    """
    content = Content(path, None)
    first = content.recording(read_table(path, content.layout, salvage=True, blocks=1))
    return of_rows(first, *read_stamps(path, content.layout))


class UnheldColumns(NamedTuple):
    """Content of the series that has no column."""

    samples: Counter[str]
    """Lost samples: number of rows by column."""
    about: dict[str, None]
    """Information about samples, an ordered set: covariances, and the identity of the sensor."""


def write(
    path: Path,
    first: Motion,
    *others: Motion,
    append: bool = False,
    history: Sequence[str] = (),
) -> UnheldColumns:
    """Write one series, or several that share their stamps and frames.

    Parameters
    ----------
    path : Path
        The file; one that exists is replaced.
    first, *others : ImuSeries, Trajectory or Increments
        Series to write. A column in two of them must be equal; increments are written alone.
    append : bool
        Append the rows to a file with the same columns and frames.
    history : sequence of str
        Processing that the samples have passed, one comment line each.

    Returns
    -------
    UnheldColumns
        Content that the file cannot hold.

    Raises
    ------
    FrameError
        The series are in different frames.
    ShapeError
        The file to append to has other columns or frames.
    ValueRangeError
        The series have different stamps or different values in a shared column.
    """
    parts = (first, *others)
    vectors = _common_vectors(parts)
    groups = [group for group in NAMES if group in vectors]
    opening = _opening(parts, groups, history)
    if append and len(first) and read_opening(path) != opening:
        raise ShapeError(
            "expected the columns and frames of the previous rows, got "
            f"{opening.comments[0][2:]!r} with {listed(opening.line.split(','))}; "
            "write another file"
        )
    heading = [] if append else [*opening.comments, opening.line]
    columns = [column for group in groups for column in np.atleast_2d(vectors[group].T)]
    write_table(path, heading, [vectors["t_ns"], *columns], ",", append=append)
    return _unheld(parts)


def _common_vectors(parts: Sequence[Motion]) -> dict[str, AnyArray]:
    """Return the columns of all parts by vector; require equal ones where several have them."""
    vectors: dict[str, AnyArray] = {}
    for part in parts:
        if _frames(part) != _frames(parts[0]):
            raise FrameError(
                f"expected {_frames(parts[0])} throughout one file, got {_frames(part)}; "
                "convert with in_frames()"
            )
        for name, _, array in present(part):
            group = _GROUP_OF.get(name, name)
            if not np.array_equal(vectors.setdefault(group, array), array, equal_nan=True):
                raise ValueRangeError(f"expected equal {name} in all parts of one file; write two")
    return vectors


def _opening(parts: Sequence[Motion], groups: Sequence[str], history: Sequence[str]) -> Opening:
    """Return the lines before the rows: frames, history and header."""
    frames = f"# strapdown {_frames(parts[0])}"
    if any(isinstance(part, ImuSeries) and part.q_world_from_body is not None for part in parts):
        frames += " orientation=sensor"
    steps = (f"{HISTORY}{' '.join(step.split())}" for step in history)
    header = ["t_ns", *(name for group in groups for name in NAMES[group])]
    return Opening((frames, *steps), ",".join(header))


def _unheld(parts: Sequence[Motion]) -> UnheldColumns:
    """Return what the parts have and the file has no column for."""
    unheld = UnheldColumns(Counter(), {})
    for part in parts:
        for name, _, array in present(part):
            has_column = name == "t_ns" or _GROUP_OF.get(name, name) in NAMES
            if has_column or not (name == "moving" or array.any()):
                continue
            if name.endswith("_covariance"):
                unheld.about[name] = None
            else:
                unheld.samples[name] += len(part)
        if not isinstance(part, Trajectory) and part.sensor != SensorIdentity():
            unheld.about[f"the sensor's identity, {part.sensor}"] = None
    return unheld


def _frames(part: Motion) -> str:
    """Return the tags of the first line; increments have no world frame."""
    world = "" if isinstance(part, Increments) else f" world={part.world}"
    return f"body={part.body}{world}"

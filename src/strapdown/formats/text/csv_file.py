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
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from strapdown.errors import (
    FormatError,
    FrameError,
    ShapeError,
    UnknownNameError,
    ValueRangeError,
)
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.formats.summary import of_rows
from strapdown.formats.text.table import (
    Column,
    Layout,
    Opening,
    opening_of,
    read_opening,
    read_stamps,
    read_table,
    read_tables,
    write_table,
)
from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory
from strapdown.series.columns import present
from strapdown.units import NS_PER_MS, NS_PER_S, NS_PER_US, ns_from_decimal_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from strapdown._typing import AnyArray, ByteArray, FloatArray
    from strapdown.formats._series_headers import Motion
    from strapdown.formats.summary import Summary
    from strapdown.formats.text.table import Table
    from strapdown.geometry.frames import BodyFrame, WorldFrame

    ColumnMap: TypeAlias = Mapping[str, tuple[str, float]]

__all__ = ["CsvBlocks", "UnheldColumns", "blocks", "read", "sniff", "summarize", "write"]

_GROUP_OF: Final = {
    "q_world_from_body": "orientation",
    "position_world": "position",
    "velocity_world": "velocity",
}
"""Columns of a series that have another name in the file."""

_VECTORS: Final = ("angular_velocity", "specific_force", "magnetic_field")
_DELTAS: Final = ("delta_angle", "delta_velocity")
_SPANS: Final = ("delta_angle_dt_ns", "delta_velocity_dt_ns")
_BITS: Final = ("gyro_clipping", "accel_clipping")
_COUNTS: Final = ("gyro_calibration_count", "accel_calibration_count")
_POSE: Final = ("orientation", "position", "velocity")
_NAMES: Final = {
    group: (group,)
    if group in {*_SPANS, *_BITS, *_COUNTS}
    else tuple(f"{group}_{axis}" for axis in ("xyzw" if group == "orientation" else "xyz"))
    for group in (*_VECTORS, *_DELTAS, *_SPANS, *_BITS, *_COUNTS, *_POSE)
}
"""Columns of the file by vector, in their order."""

_HISTORY: Final = "# history: "
_INCREMENTS: Final = tuple(name for group in (*_DELTAS, *_SPANS) for name in _NAMES[group])
_DECIMAL_SHIFT: Final = {NS_PER_S: 0, NS_PER_MS: -3, NS_PER_US: -6}


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with our first line, or a header with ``t_ns``."""
    opening = opening_of(head)
    return opening is not None and (
        opening.tags is not None or (len(cells := _header(opening.line)[1]) > 1 and "t_ns" in cells)
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
    content = _Content(path, columns)
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
        content = _Content(self._path, None)
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
    content = _Content(path, None)
    first = content.recording(read_table(path, content.layout, salvage=True, blocks=1))
    return of_rows(first, *read_stamps(path, content.layout))


class _Content:
    """Columns of a file, by its header."""

    def __init__(self, path: Path, columns: ColumnMap | None) -> None:
        self._path, self._opening = path, read_opening(path)
        separator, header = _header(self._opening.line)
        found = _find(path, header, columns)
        stamp = found["t_ns"]
        self._groups = [
            group for group in _NAMES if group not in _SPANS and _NAMES[group][0] in found
        ]
        self.layout = Layout(
            separator=separator,
            width=len(header),
            stamp=stamp,
            read_stamp=_time_reader("t_ns", stamp.factor),
            columns=[found[name] for group in self._groups for name in _NAMES[group]],
            header=1,
            ended=self._opening.tags is not None,
            spans=[
                (found[name], _time_reader(name, found[name].factor))
                for name in _SPANS
                if name in found
            ],
        )
        unread = sorted({*header} - {column.name for column in found.values()})
        self._notes = [f"columns that were not read: {_listed(unread)}"] if unread else []

    def recording(self, table: Table) -> Recording:
        """Return the series of rows."""
        ends = np.cumsum([len(_NAMES[group]) for group in self._groups])
        vectors = dict(zip(self._groups, np.split(table.values, ends[:-1], axis=1), strict=True))
        return _recording(self._path, self._opening, table, vectors, self._notes)


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
    vectors: dict[str, AnyArray] = {}
    unheld = UnheldColumns(Counter(), {})
    parts = (first, *others)
    for part in parts:
        if _frames(part) != _frames(first):
            raise FrameError(
                f"expected {_frames(first)} throughout one file, got {_frames(part)}; "
                "convert with in_frames()"
            )
        for name, _, array in present(part):
            group = _GROUP_OF.get(name, name)
            if not np.array_equal(vectors.setdefault(group, array), array, equal_nan=True):
                raise ValueRangeError(f"expected equal {name} in all parts of one file; write two")
            if group not in _NAMES and name != "t_ns" and (name == "moving" or array.any()):
                if name.endswith("_covariance"):
                    unheld.about[name] = None
                else:
                    unheld.samples[name] += len(part)
        if not isinstance(part, Trajectory) and part.sensor != SensorIdentity():
            unheld.about[f"the sensor's identity, {part.sensor}"] = None
    groups = [group for group in _NAMES if group in vectors]
    header = ["t_ns", *(name for group in groups for name in _NAMES[group])]
    columns = [
        vectors["t_ns"],
        *(column for group in groups for column in np.atleast_2d(vectors[group].T)),
    ]
    frames = f"# strapdown {_frames(first)}"
    if any(isinstance(part, ImuSeries) and part.q_world_from_body is not None for part in parts):
        frames += " orientation=sensor"
    comments = (frames, *(f"{_HISTORY}{' '.join(step.split())}" for step in history))
    opening = Opening(comments, ",".join(header))
    if append and len(first) and read_opening(path) != opening:
        raise ShapeError(
            f"expected the columns and frames of the previous rows, got {frames[2:]!r} with "
            f"{_listed(header)}; write another file"
        )
    heading = [] if append else [*comments, opening.line]
    write_table(path, heading, columns, ",", append=append)
    return unheld


def _frames(part: Motion) -> str:
    """Return the tags of the first line; increments have no world frame."""
    world = "" if isinstance(part, Increments) else f" world={part.world}"
    return f"body={part.body}{world}"


def _header(line: str) -> tuple[str, list[str]]:
    """Return the separator of a header line, and its cells."""
    separator = max(",;\t", key=line.count)
    return separator, [cell.strip(' \t"') for cell in line.split(separator)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_map(columns: ColumnMap, known: set[str]) -> None:
    """Raise an error unless a map has the form of the argument of :func:`read`."""
    example = '{"t_ns": ("Time (s)", 1e9)}'
    if not isinstance(columns, Mapping):
        raise TypeError(
            f"expected columns as a mapping, got {type(columns).__name__}; write {example}"
        )
    for name, column in columns.items():
        if name not in known:
            raise UnknownNameError("CSV column", name, known)
        match column:
            case (str(), Real()):
                pass
            case _:
                raise TypeError(
                    f"expected columns[{name!r}] as the name of a column of the file and the "
                    f"factor to our unit, got {column!r}; write {example}"
                )


def _find(path: Path, header: list[str], columns: ColumnMap | None) -> dict[str, Column]:
    """Return the columns of the file by our names; require complete vectors."""
    known = {"t_ns", *(name for names in _NAMES.values() for name in names)}
    if columns is not None:
        _check_map(columns, known)
    wanted = {name: (name, 1.0) for name in header if name in known} if columns is None else columns
    found = {}
    for name, (theirs, factor) in wanted.items():
        if header.count(theirs) != 1:
            raise FormatError(
                f"expected one column {theirs!r} in the header, got {header.count(theirs)} "
                f"of them among {_listed(header)}",
                path=path,
            )
        found[name] = Column(theirs, header.index(theirs), factor)
    if "delta_angle_x" not in found:
        found = {name: column for name, column in found.items() if name not in _COUNTS}
    if "t_ns" not in found or len(found) == 1:
        raise FormatError(
            f"expected a header with t_ns and at least one vector, got {_listed(header)}; "
            "in Python name foreign columns, "
            'strapdown.open(path, columns={"t_ns": ("Time (s)", 1e9), '
            '"angular_velocity_x": ("Gyro X", 1.0), ...}), or write poses as TUM: '
            "time x y z qx qy qz qw without a header",
            path=path,
        )
    for names in (*_NAMES.values(), _INCREMENTS):
        there = [name for name in names if name in found]
        if there and len(there) < len(names):
            raise FormatError(f"expected {_listed(names)}, got {_listed(there)} only", path=path)
    return found


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))[:200]


def _time_reader(name: str, factor: float) -> Callable[[str], int]:
    """Return an exact reader of times in units of ``factor`` nanoseconds."""
    if factor == 1:
        return int
    if factor not in _DECIMAL_SHIFT:
        raise ValueRangeError(f"expected the factor of {name} as 1, 1e3, 1e6 or 1e9, got {factor}")
    shift = _DECIMAL_SHIFT[int(factor)]
    if shift == 0:
        return ns_from_decimal_seconds

    def read_stamp(text: str) -> int:
        try:
            return ns_from_decimal_seconds(str(Decimal(text).scaleb(shift)))
        except ArithmeticError as error:
            raise ValueError(text) from error

    return read_stamp


def _bytes(path: Path, name: str, values: FloatArray) -> ByteArray:
    """Return a column of clipping bits or counts."""
    with np.errstate(invalid="ignore"):
        whole = values[:, 0].astype(np.uint8)
    if not np.array_equal(whole, values[:, 0]):
        row = int(np.flatnonzero(whole != values[:, 0])[0])
        raise FormatError(
            f"expected {name} as whole numbers from 0 to 255, got {values[row, 0]} in row {row}",
            path=path,
        )
    return whole


def _recording(
    path: Path,
    opening: Opening,
    table: Table,
    vectors: Mapping[str, FloatArray],
    notes: list[str],
) -> Recording:
    """Sort the columns of a file into series, trajectory and increments."""
    body, world, frame_notes = opening.frames(path)
    notes = [*frame_notes, *table.notes, *notes]
    of_sensor = (opening.tags or {}).get("orientation") == "sensor"
    imu, trajectories, increments = {}, {}, {}
    unknown = np.full((len(table.t_ns), 3), np.nan)
    bytes_of = {
        name: _bytes(path, name, vectors[name]) for name in (*_BITS, *_COUNTS) if name in vectors
    }
    if "delta_angle" in vectors:
        delta_angle, delta_velocity = (vectors[group] for group in _DELTAS)
        held = Increments(table.t_ns, delta_angle, delta_velocity, *table.spans_ns.T, body=body)
        increments["vehicle_imu"] = held.replace(**bytes_of)
    if not vectors.keys().isdisjoint(_VECTORS if increments else (*_VECTORS, *_BITS)):
        notes += [f"the file has no {name}: NaN" for name in _VECTORS[:2] if name not in vectors]
        imu["imu"] = ImuSeries(
            table.t_ns,
            vectors.get("angular_velocity", unknown),
            vectors.get("specific_force", unknown),
            magnetic_field=vectors.get("magnetic_field"),
            q_world_from_body=vectors.get("orientation") if of_sensor else None,
            gyro_clipping=bytes_of.get("gyro_clipping"),
            accel_clipping=bytes_of.get("accel_clipping"),
            body=body,
            world=world,
        )
    if not vectors.keys().isdisjoint(_POSE):
        trajectories["trajectory"] = _trajectory(table, vectors, body, world)
    report = ReadReport("csv", len(table.t_ns), table.lost, notes=tuple(notes))
    history = [
        each.removeprefix(_HISTORY) for each in opening.comments if each.startswith(_HISTORY)
    ]
    return Recording(path, report, imu, trajectories, increments, history=tuple(history))


def _trajectory(
    table: Table, vectors: Mapping[str, FloatArray], body: BodyFrame, world: WorldFrame
) -> Trajectory:
    """Return the pose columns of a file; without an orientation it is NaN."""
    return Trajectory(
        table.t_ns,
        vectors.get("orientation", np.full((len(table.t_ns), 4), np.nan)),
        position_world=vectors.get("position"),
        velocity_world=vectors.get("velocity"),
        body=body,
        world=world,
    )

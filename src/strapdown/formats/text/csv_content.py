"""Content of CSV files: from their columns to series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.formats.text.csv_columns import (
    BITS,
    COUNTS,
    DELTAS,
    NAMES,
    POSE,
    SPANS,
    VECTORS,
    find_columns,
    listed,
    split_header,
    time_reader,
)
from strapdown.formats.text.lines import read_opening
from strapdown.formats.text.rows import Layout
from strapdown.series import ImuSeries, Increments, Trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from strapdown._typing import ByteArray, FloatArray
    from strapdown.formats.text.csv_columns import ColumnMap
    from strapdown.formats.text.lines import Opening
    from strapdown.formats.text.table import Table
    from strapdown.geometry.frames import BodyFrame, WorldFrame

__all__ = ["HISTORY", "Content"]

HISTORY: Final = "# history: "
"""Beginning of a comment line with one step of processing."""


class Content:
    """Columns of a file, by its header."""

    def __init__(self, path: Path, columns: ColumnMap | None) -> None:
        self._path, self._opening = path, read_opening(path)
        separator, header = split_header(self._opening.line)
        found = find_columns(path, header, columns)
        stamp = found["t_ns"]
        self._groups = [group for group in NAMES if group not in SPANS and NAMES[group][0] in found]
        self.layout = Layout(
            separator=separator,
            width=len(header),
            stamp=stamp,
            read_stamp=time_reader("t_ns", stamp.factor),
            columns=[found[name] for group in self._groups for name in NAMES[group]],
            header=1,
            ended=self._opening.tags is not None,
            spans=[
                (found[name], time_reader(name, found[name].factor))
                for name in SPANS
                if name in found
            ],
        )
        unread = sorted({*header} - {column.name for column in found.values()})
        self._notes = [f"columns that were not read: {listed(unread)}"] if unread else []

    def recording(self, table: Table) -> Recording:
        """Return the series of rows."""
        ends = np.cumsum([len(NAMES[group]) for group in self._groups])
        vectors = dict(zip(self._groups, np.split(table.values, ends[:-1], axis=1), strict=True))
        return _recording(self._path, self._opening, table, vectors, self._notes)


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
        name: _bytes(path, name, vectors[name]) for name in (*BITS, *COUNTS) if name in vectors
    }
    if "delta_angle" in vectors:
        delta_angle, delta_velocity = (vectors[group] for group in DELTAS)
        held = Increments(table.t_ns, delta_angle, delta_velocity, *table.spans_ns.T, body=body)
        increments["vehicle_imu"] = held.replace(**bytes_of)
    if not vectors.keys().isdisjoint(VECTORS if increments else (*VECTORS, *BITS)):
        notes += [f"the file has no {name}: NaN" for name in VECTORS[:2] if name not in vectors]
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
    if not vectors.keys().isdisjoint(POSE):
        trajectories["trajectory"] = _trajectory(table, vectors, body, world)
    report = ReadReport("csv", len(table.t_ns), table.lost, notes=tuple(notes))
    history = [each.removeprefix(HISTORY) for each in opening.comments if each.startswith(HISTORY)]
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

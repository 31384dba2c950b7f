"""Messages as rows of text: a table, JSON lines, or CSV."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import asdict
from enum import StrEnum
from heapq import merge
from typing import TYPE_CHECKING, Any, TextIO

import typer

from strapdown._words import printable
from strapdown.formats.summary import series_of
from strapdown.messages import RosImu
from strapdown.messages._serial import RosMessage
from strapdown.series.columns import present

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown.formats import Recording
    from strapdown.series.columns import Columns

__all__ = ["Layout", "RowWriter", "message_fields", "recorded_rows"]

MOST = 4
"""Largest number of components of a field in a table; covariances have more."""
AXES = {3: "xyz", 4: "xyzw"}
PX4_QUATERNIONS = ("q", "delta_q_reset")
"""Fields in the order w x y z."""
SHORT = {
    "angular_velocity": "gyro",
    "linear_acceleration": "accel",
    "magnetic_field": "mag",
    "orientation": "quat",
    "position_world": "pos",
    "q_world_from_body": "quat",
    "specific_force": "accel",
    "velocity_world": "vel",
}
"""Short column names in a table."""
NUMBER, TEXT = 13, 20
"""Widths of columns in a table, unless their names are longer."""
ROS_PARTS = ("orientation", "angular_velocity", "linear_acceleration")


class Layout(StrEnum):
    """Format of printed rows."""

    TABLE = "table"
    NDJSON = "ndjson"
    CSV = "csv"


def message_fields(message: Any) -> dict[str, Any]:  # noqa: ANN401 (a message of any type)
    """Return the fields of a message: numbers, lists of numbers and text by name."""
    if isinstance(message, RosImu):
        row: dict[str, Any] = {"stamp_ns": message.header_stamp_ns, "frame_id": message.frame_id}
        for part in ROS_PARTS:
            for name in (part, f"{part}_covariance"):
                row[name] = getattr(message, name).tolist()
        return row
    if isinstance(message, RosMessage):
        return {"stamp_ns": message.header_stamp_ns} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(message).items()
            if name != "header_stamp_ns"
        }
    record = message.to_numpy()
    return {name: _plain(record[name].tolist()) for name in record.dtype.names}


def recorded_rows(recording: Recording) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield topic and fields of every row, ordered by stamp."""
    series = [_rows(*item) for item in series_of(recording)]
    for _, topic, row in merge(*series, key=lambda each: each[0]):
        yield topic, row


def _rows(topic: str, series: Columns) -> Iterator[tuple[int, str, dict[str, Any]]]:
    columns = {
        name: array.reshape(len(series), -1) if array.ndim > 1 else array
        for name, _, array in present(series)
    }
    for k, t_ns in enumerate(series.t_ns.tolist()):
        yield t_ns, topic, {name: array[k].tolist() for name, array in columns.items()}


def _plain(value: Any) -> Any:  # noqa: ANN401 (numbers, a list of them, or bytes)
    return value.decode(errors="replace") if isinstance(value, bytes) else value


class RowWriter:
    """Writer of rows.

    Parameters
    ----------
    out : text file
    layout : Layout
        The heading of a table is repeated where the topic changes; CSV has one heading, so all
        rows must have the same fields.
    """

    def __init__(self, out: TextIO, layout: Layout) -> None:
        self._out, self._layout = out, layout
        self._heading: list[str] = []
        self._widths: list[int] = []
        self._csv = csv.writer(out, lineterminator="\n")
        self.rows = 0

    def write(self, topic: str, row: dict[str, Any]) -> None:
        """Print one row."""
        self.rows += 1
        if self._layout is Layout.NDJSON:
            self._out.write(json.dumps({"topic": topic, **_finite(row)}, allow_nan=False) + "\n")
            return
        if self._layout is Layout.TABLE:
            row = {SHORT.get(name, name): value for name, value in row.items() if _fits(value)}
        flat = dict(_flat(row))
        cells = [printable(value) if isinstance(value, str) else value for value in flat.values()]
        if self._layout is Layout.CSV:
            self._head(list(flat))
            self._csv.writerow(cells)
            return
        heading = [topic, *flat]
        if heading != self._heading:
            self._heading = heading
            self._widths = list(map(_width, flat, cells))
            names = " ".join(map(str.rjust, flat, self._widths))
            self._out.write(f"{printable(topic)}\n{names}\n")
        self._out.write(" ".join(map(_cell, cells, self._widths)) + "\n")

    def flush(self) -> None:
        """Flush the output."""
        self._out.flush()

    def _head(self, names: list[str]) -> None:
        if not self._heading:
            self._heading = names
            self._csv.writerow(names)
        elif names != self._heading:
            raise typer.BadParameter(
                "csv has one heading, and these topics have different fields: choose one",
                param_hint="'--topic'",
            )


def _flat(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each number of a row with its name."""
    for name, value in row.items():
        if isinstance(value, list):
            usual: Sequence[Any] = AXES.get(len(value), range(len(value)))
            axes = "wxyz" if name in PX4_QUATERNIONS else usual
            yield from ((f"{name}_{axis}", each) for axis, each in zip(axes, value, strict=True))
        else:
            yield name, value


def _fits(value: Any) -> bool:  # noqa: ANN401 (as _plain)
    return not isinstance(value, list) or len(value) <= MOST


def _cell(value: Any, width: int) -> str:  # noqa: ANN401 (as _plain)
    return f"{value:{width}.6g}" if isinstance(value, float) else f"{value!s:>{width}}"


def _width(name: str, value: Any) -> int:  # noqa: ANN401 (as _plain)
    return max(len(name), NUMBER if isinstance(value, float) else TEXT)


def _finite(value: Any) -> Any:  # noqa: ANN401 (as _plain, or a row)
    """Replace NaN and infinity, which JSON lacks, by null."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

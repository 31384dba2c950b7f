"""Motion commands of a vehicle: its initial state and its commands, from the tables of a file.

A motion-command file is CSV text: a heading, one row with the initial state, a second heading,
and then one command a row. Headings are for people and are not interpreted; empty cells are
zeros. The layout, the command types and their units are those of the files of gnss-ins-sim:

====== ============================= =============================
type   yaw, pitch, roll [deg]        vx, vy, vz [m/s]
====== ============================= =============================
1      their rates [deg/s]           their rates [m/s^2]
2      targets                       targets
3      changes                       changes
4      targets                       changes
5      changes                       targets
====== ============================= =============================

Angles are those of the sequence yaw, pitch, roll from north-east-down to forward-right-down,
and are never wrapped: a change of 540 deg is a turn and a half. Velocities are components in
body axes.

References
----------
https://github.com/Aceinna/gnss-ins-sim, "Motion Profiles".
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from strapdown._checks import as_finite
from strapdown.errors import FormatError, ShapeError, ValueRangeError
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from strapdown._typing import ArrayLike

    Row = tuple[int, list[str]]  # the number of the line, and its cells
    Parsed = TypeVar("Parsed")

__all__ = ["Command", "CommandType", "InitialState", "read", "sniff"]

_INITIAL: Final = ("lat", "lon", "alt", "vx", "vy", "vz", "yaw", "pitch", "roll")
_COMMAND: Final = ("type", "yaw", "pitch", "roll", "vx", "vy", "vz", "duration", "gps_visible")
_LONGEST_S: Final = 2.0**63 / NS_PER_S  # the range of stamps

Vector: TypeAlias = tuple[float, float, float]


class CommandType(IntEnum):
    """Meaning of the numbers of a command; CHANGE is from the state when the command begins."""

    RATES = 1
    TARGET = 2
    CHANGE = 3
    TARGET_ATTITUDE_CHANGE_VELOCITY = 4
    CHANGE_ATTITUDE_TARGET_VELOCITY = 5

    @property
    def changes_attitude(self) -> bool:
        """Whether angles are changes, not targets."""
        return self in {CommandType.CHANGE, CommandType.CHANGE_ATTITUDE_TARGET_VELOCITY}

    @property
    def changes_velocity(self) -> bool:
        """Whether velocities are changes, not targets."""
        return self in {CommandType.CHANGE, CommandType.TARGET_ATTITUDE_CHANGE_VELOCITY}


@dataclass(frozen=True)
class InitialState:
    """Initial state of a motion.

    Parameters
    ----------
    latitude, longitude : float
        Geodetic [rad].
    height : float
        Above the ellipsoid [m].
    velocity : (3,)
        [m/s, body FRD].
    roll_pitch_yaw : (3,)
        From NED to FRD, ZYX [rad].

    Raises
    ------
    ValueRangeError
        A value is not finite, or the latitude is beyond a pole.
    """

    latitude: float = 0.0
    longitude: float = 0.0
    height: float = 0.0
    velocity: Vector = (0.0, 0.0, 0.0)
    roll_pitch_yaw: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        as_finite([self.latitude, self.longitude, self.height], "lat, lon, alt", (3,))
        object.__setattr__(self, "velocity", _vector(self.velocity, "velocity"))
        object.__setattr__(self, "roll_pitch_yaw", _vector(self.roll_pitch_yaw, "roll_pitch_yaw"))
        if abs(self.latitude) > math.pi / 2.0:
            degrees = self.latitude / RAD_PER_DEG
            raise ValueRangeError(f"expected lat in -90 ... 90 deg, got {degrees:g}")

    @classmethod
    def from_row(cls, row: ArrayLike) -> InitialState:
        """Return the state of a row (9,): lat, lon, alt, vx, vy, vz, yaw, pitch, roll, in deg."""
        latitude, longitude, height, vx, vy, vz, yaw, pitch, roll = _floats(row, "row", 9)
        return cls(
            latitude * RAD_PER_DEG,
            longitude * RAD_PER_DEG,
            height,
            (vx, vy, vz),
            (roll * RAD_PER_DEG, pitch * RAD_PER_DEG, yaw * RAD_PER_DEG),
        )


@dataclass(frozen=True)
class Command:
    """Command to a vehicle.

    Parameters
    ----------
    type : CommandType, or its number
        Meaning of the angles and velocities.
    roll_pitch_yaw : (3,)
        [rad], or [rad/s] where they are rates.
    velocity : (3,)
        [m/s, body FRD], or [m/s^2] where they are rates.
    duration_s : float
        Time for which rates are held, or within which other targets are to be reached [s].
    gps_visible : bool
        Whether satellites are in view meanwhile.

    Raises
    ------
    ValueRangeError
        The type is unknown, a value is not finite, or the duration is negative or
        beyond the range of stamps.
    """

    type: CommandType
    roll_pitch_yaw: Vector
    velocity: Vector
    duration_s: float
    gps_visible: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", _command_type(self.type))
        object.__setattr__(self, "velocity", _vector(self.velocity, "velocity"))
        object.__setattr__(self, "roll_pitch_yaw", _vector(self.roll_pitch_yaw, "roll_pitch_yaw"))
        if not 0.0 <= self.duration_s < _LONGEST_S:
            raise ValueRangeError(
                f"expected a duration from 0 to {_LONGEST_S:.3g} s, got {self.duration_s:g}"
            )

    @classmethod
    def from_row(cls, row: ArrayLike) -> Command:
        """Return the command of a row (9,): type, yaw, pitch, roll, vx, vy, vz, duration, gps."""
        kind, yaw, pitch, roll, vx, vy, vz, duration_s, gps_visible = _floats(row, "row", 9)
        return cls(
            _command_type(kind),
            (roll * RAD_PER_DEG, pitch * RAD_PER_DEG, yaw * RAD_PER_DEG),
            (vx, vy, vz),
            duration_s,
            gps_visible != 0.0,
        )


def sniff(head: bytes) -> bool:
    """Return whether a file holds motion commands, from its first bytes.

    It does where a row of nine numbers is between two headings.
    """
    if b"\0" in head:
        return False
    lines = [line for line in head.decode("utf-8-sig", "replace").splitlines() if line.strip()]
    if len(lines) < 3:
        return False
    heading, initial, second = ([cell.strip() for cell in line.split(",")] for line in lines[:3])
    try:
        _numbers(initial, _INITIAL)
    except ValueRangeError:
        return False
    return _is_heading(heading) and _is_heading(second)


def read(path: str | PathLike[str]) -> tuple[InitialState, list[Command]]:
    """Read a motion-command file.

    Parameters
    ----------
    path : path-like
        The file, UTF-8. Lines without content are left out.

    Raises
    ------
    FormatError
        A heading or all rows are missing, or a row cannot be understood: line and column are
        named.
    """
    path = Path(path)
    rows = _rows(path)
    _skip_heading(rows, path, _INITIAL)
    initial = [_parsed(InitialState.from_row, row, path, _INITIAL) for row in islice(rows, 1)]
    _skip_heading(rows, path, _COMMAND)
    commands = [_parsed(Command.from_row, row, path, _COMMAND) for row in rows]
    if not commands:
        raise FormatError("expected commands below the second heading, got none", path=path)
    return initial[0], commands


def _rows(path: Path) -> Iterator[Row]:
    """Yield the lines that have content."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        try:
            for cells in reader:
                stripped = [cell.strip() for cell in cells]
                if any(stripped):
                    yield reader.line_num, stripped
        except (UnicodeDecodeError, csv.Error) as error:
            where = f"line {reader.line_num + 1}"
            raise FormatError(f"{where}: expected CSV in UTF-8: {error}", path=path) from error


def _skip_heading(rows: Iterator[Row], path: Path, names: Sequence[str]) -> None:
    """Read the next row and require it to be words."""
    number, cells = next(rows, (0, []))
    if not _is_heading(cells):
        got = f"{','.join(cells)[:40]!r} in line {number}" if cells else "the end of the file"
        raise FormatError(f"expected a heading such as {','.join(names)!r}, got {got}", path=path)


def _is_heading(cells: Sequence[str]) -> bool:
    return bool(cells) and cells[0] != "" and _number(cells[0]) is None


def _parsed(
    parse: Callable[[list[float]], Parsed], row: Row, path: Path, names: Sequence[str]
) -> Parsed:
    """Parse a row; the error names its line."""
    number, cells = row
    try:
        return parse(_numbers(cells, names))
    except ValueRangeError as error:
        raise FormatError(f"line {number}: {error}", path=path) from error


def _numbers(cells: Sequence[str], names: Sequence[str]) -> list[float]:
    """Return the cells of a row as finite numbers; empty ones are zero."""
    if len(cells) < len(names) or any(cells[len(names) :]):
        raise ValueRangeError(
            f"expected {len(names)} columns ({', '.join(names)}), got {len(cells)}"
        )
    numbers = []
    for cell, name in zip(cells, names, strict=False):  # a spreadsheet may add empty cells
        number = _number(cell or "0")
        if number is None or not math.isfinite(number):
            raise ValueRangeError(f"column {name!r}: expected a finite number, got {cell[:40]!r}")
        numbers.append(number)
    return numbers


def _number(text: str) -> float | None:
    """Read a number; None where the text is none."""
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _floats(value: ArrayLike, name: str, count: int) -> list[float]:
    array = as_finite(value, name, (count,))
    if array.ndim != 1:
        raise ShapeError(f"expected {name} of shape ({count},), got {array.shape}")
    return [float(x) for x in array]


def _vector(value: ArrayLike, name: str) -> Vector:
    x, y, z = _floats(value, name, 3)
    return x, y, z


def _command_type(value: float) -> CommandType:
    if value not in set(CommandType):
        raise ValueRangeError(f"expected type 1, 2, 3, 4 or 5, got {value!r}")
    return CommandType(int(value))

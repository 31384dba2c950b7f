"""Columns of CSV files: our names, and where they are in a file."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Final, TypeAlias

from strapdown.errors import FormatError, UnknownNameError, ValueRangeError
from strapdown.formats.text.rows import Column
from strapdown.units import NS_PER_MS, NS_PER_S, NS_PER_US, ns_from_decimal_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    ColumnMap: TypeAlias = Mapping[str, tuple[str, float]]

__all__ = [
    "BITS",
    "COUNTS",
    "DELTAS",
    "NAMES",
    "POSE",
    "SPANS",
    "VECTORS",
    "find_columns",
    "listed",
    "split_header",
    "time_reader",
]

VECTORS: Final = ("angular_velocity", "specific_force", "magnetic_field")
DELTAS: Final = ("delta_angle", "delta_velocity")
SPANS: Final = ("delta_angle_dt_ns", "delta_velocity_dt_ns")
BITS: Final = ("gyro_clipping", "accel_clipping")
COUNTS: Final = ("gyro_calibration_count", "accel_calibration_count")
POSE: Final = ("orientation", "position", "velocity")
NAMES: Final = {
    group: (group,)
    if group in {*SPANS, *BITS, *COUNTS}
    else tuple(f"{group}_{axis}" for axis in ("xyzw" if group == "orientation" else "xyz"))
    for group in (*VECTORS, *DELTAS, *SPANS, *BITS, *COUNTS, *POSE)
}
"""Columns of the file by vector, in their order."""
_INCREMENTS: Final = tuple(name for group in (*DELTAS, *SPANS) for name in NAMES[group])
_DECIMAL_SHIFT: Final = {NS_PER_S: 0, NS_PER_MS: -3, NS_PER_US: -6}


def split_header(line: str) -> tuple[str, list[str]]:
    """Return the separator of a header line, and its cells."""
    separator = max(",;\t", key=line.count)
    return separator, [cell.strip(' \t"') for cell in line.split(separator)]


def find_columns(path: Path, header: list[str], columns: ColumnMap | None) -> dict[str, Column]:
    """Return the columns of the file by our names; require complete vectors."""
    known = {"t_ns", *(name for names in NAMES.values() for name in names)}
    if columns is not None:
        _check_map(columns, known)
    wanted = {name: (name, 1.0) for name in header if name in known} if columns is None else columns
    found = {}
    for name, (theirs, factor) in wanted.items():
        if header.count(theirs) != 1:
            raise FormatError(
                f"expected one column {theirs!r} in the header, got {header.count(theirs)} "
                f"of them among {listed(header)}",
                path=path,
            )
        found[name] = Column(theirs, header.index(theirs), factor)
    if "delta_angle_x" not in found:
        found = {name: column for name, column in found.items() if name not in COUNTS}
    if "t_ns" not in found or len(found) == 1:
        raise FormatError(
            f"expected a header with t_ns and at least one vector, got {listed(header)}; "
            "in Python name foreign columns, "
            'strapdown.open(path, columns={"t_ns": ("Time (s)", 1e9), '
            '"angular_velocity_x": ("Gyro X", 1.0), ...}), or write poses as TUM: '
            "time x y z qx qy qz qw without a header",
            path=path,
        )
    for names in (*NAMES.values(), _INCREMENTS):
        there = [name for name in names if name in found]
        if there and len(there) < len(names):
            raise FormatError(f"expected {listed(names)}, got {listed(there)} only", path=path)
    return found


def _check_map(columns: ColumnMap, known: set[str]) -> None:
    """Raise an error unless a map has the form of the argument of ``csv_file.read``."""
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


def listed(names: Iterable[str]) -> str:
    """Return names for an error message."""
    return ", ".join(map(repr, names))[:200]


def time_reader(name: str, factor: float) -> Callable[[str], int]:
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

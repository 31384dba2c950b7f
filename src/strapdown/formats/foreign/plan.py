"""Plan of an import: which columns of a table mean what, in which unit; kept as TOML."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from strapdown._checks import as_finite
from strapdown.errors import FormatError, StrapdownError, UnknownNameError, ValueRangeError
from strapdown.formats._output import replacing
from strapdown.formats.foreign.stamps import WRITTEN
from strapdown.formats.foreign.units import CLOCK, UNITS, factor
from strapdown.geometry.frames import BodyFrame, WorldFrame

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

__all__ = ["ImportPlan", "TimeColumn", "VectorColumns"]

_FORMAT: Final = "strapdown columns 1"
_TIMES: Final = (*CLOCK, *WRITTEN, "samples")


@dataclass(frozen=True)
class TimeColumn:
    """Time stamps of a table.

    Parameters
    ----------
    column : str, optional
        Name of the column; None where rows are counted.
    unit : str
        ``s``, ``ms``, ``us``, ``ns``; written out ``iso8601``, ``time_of_day`` (12:00:00.5),
        ``day_first`` (31.12.2024 12:00) or ``month_first`` (12/31/2024 12:00); ``samples`` for a
        counter or counted rows.
    rate_hz : float, optional
        Counts per second, with ``samples`` only [Hz].
    why : str
        Reason of the choice.

    Raises
    ------
    UnknownNameError, ValueRangeError
        There is no such unit; a rate is missing, not positive, or without ``samples``.
    """

    column: str | None
    unit: str
    rate_hz: float | None = None
    why: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.unit not in _TIMES:
            raise UnknownNameError("unit of time", self.unit, _TIMES)
        if (self.unit == "samples") != (self.rate_hz is not None):
            raise ValueRangeError(
                f"expected rate_hz with unit = 'samples' and only there, got rate_hz = "
                f"{self.rate_hz} with unit = {self.unit!r}"
            )
        if self.rate_hz is not None and not as_finite(self.rate_hz, "rate_hz", ()) > 0.0:
            raise ValueRangeError(f"expected rate_hz above 0, got {self.rate_hz}")
        if self.column is None and self.unit != "samples":
            raise ValueRangeError(f"expected a column of time in {self.unit}, got none")


@dataclass(frozen=True)
class VectorColumns:
    """Columns of a vector.

    Parameters
    ----------
    columns : tuple of str
        Names in the order x y z, of an orientation x y z w; with ``-`` before them the values are
        negated.
    unit : str
        Of the values.
    why : str
        Reason of the choice.
    """

    columns: tuple[str, ...]
    unit: str
    why: str = field(default="", compare=False)


@dataclass(frozen=True)
class ImportPlan:
    """Meaning of the columns of a table.

    Parameters
    ----------
    time : TimeColumn
        Time stamps.
    vectors : mapping of str to VectorColumns
        By quantity: ``angular_velocity``, ``specific_force``, ``magnetic_field``,
        ``orientation`` (world from body), ``position`` (latitude, longitude, altitude [m], with
        the unit of the angles; for ``1e-7 deg`` the altitude is in mm), ``position_sigma`` and
        ``velocity`` (both along east, north and up).
    body : BodyFrame or name
        Directions of the axes.
    world : WorldFrame or name
        Of the orientation.
    name : str
        Name of the preset; empty where the columns were recognised.

    Raises
    ------
    UnknownNameError, ValueRangeError, ValueError
        There is no such quantity, unit or frame; a vector has too few columns.
    """

    time: TimeColumn
    vectors: Mapping[str, VectorColumns]
    body: BodyFrame = BodyFrame.FLU
    world: WorldFrame = WorldFrame.ENU
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", BodyFrame(self.body))
        object.__setattr__(self, "world", WorldFrame(self.world))
        if not self.vectors:
            raise ValueRangeError(f"expected at least one of {', '.join(UNITS)}, got none")
        for quantity, vector in self.vectors.items():
            if quantity not in UNITS:
                raise UnknownNameError("quantity", quantity, UNITS)
            factor(quantity, vector.unit)
            size = 4 if quantity == "orientation" else 3
            if len(vector.columns) != size:
                raise ValueRangeError(
                    f"expected {size} columns of {quantity}, got {len(vector.columns)}"
                )

    def lines(self) -> list[str]:
        """Return the plan for people: column, meaning, unit, reason."""
        time = self.time
        what = f"{time.column or 'rows'} -> time [{time.unit}]"
        if time.rate_hz is not None:
            what = f"{time.column or 'rows'} -> time at {time.rate_hz:g} Hz"
        lines = [_because(what, time.why)]
        for quantity, vector in self.vectors.items():
            unit = "" if quantity == "orientation" else f" [{vector.unit}]"
            what = f"{', '.join(vector.columns)} -> {quantity.replace('_', ' ')}{unit}"
            lines.append(_because(what, vector.why))
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as values for JSON, with the reasons."""
        time = asdict(self.time)
        vectors = {quantity: asdict(vector) for quantity, vector in self.vectors.items()}
        return {"body": str(self.body), "world": str(self.world), "time": time, **vectors}

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the plan to a TOML file, to be edited and read by :meth:`load`.

        Raises
        ------
        FileExistsError
            The file exists, and not ``force``.
        """
        with replacing(Path(path), force=force) as partial:
            partial.write_text("\n".join(self._toml()) + "\n", "utf-8")

    def _toml(self) -> Iterator[str]:
        yield "# Columns in the order x y z (orientation: x y z w); a minus before a name negates"
        yield "# the values. Units of time: s ms us ns iso8601 time_of_day day_first month_first,"
        yield "# or samples with rate_hz."
        yield f"format = {json.dumps(_FORMAT)}"
        yield f'body = "{self.body}"'
        yield f'world = "{self.world}"'
        yield "\n[time]"
        if self.time.why:
            yield f"# {self.time.why}"
        if self.time.column is not None:
            yield f"column = {json.dumps(self.time.column, ensure_ascii=False)}"
        yield f'unit = "{self.time.unit}"'
        if self.time.rate_hz is not None:
            yield f"rate_hz = {self.time.rate_hz!r}"
        for quantity, vector in self.vectors.items():
            yield f"\n[{quantity}]"
            if vector.why:
                yield f"# {vector.why}"
            yield f"columns = {json.dumps(list(vector.columns), ensure_ascii=False)}"
            yield f'unit = "{vector.unit}"'

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ImportPlan:
        """Read a plan from a TOML file.

        Raises
        ------
        FormatError
            It is no plan; the message names the entry.
        OSError
            The file cannot be read.
        """
        path = Path(path)
        try:
            content = tomllib.loads(path.read_text("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FormatError(
                f"expected a plan of columns in TOML, got {error}", path=path
            ) from error
        try:
            return cls.from_dict(content)
        except (StrapdownError, TypeError, ValueError) as error:
            raise FormatError(f"expected a plan of columns, got {error}", path=path) from error

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ImportPlan:
        """Return the plan of a TOML file's content.

        Raises
        ------
        ValueRangeError, UnknownNameError, TypeError, ValueError
            An entry is missing, unknown, or of the wrong kind.
        """
        if content.get("format") != _FORMAT:
            raise ValueRangeError(f"format = {content.get('format')!r} instead of {_FORMAT!r}")
        known = {"format", "body", "world", "time", "name", *UNITS}
        for key in content:
            if key not in known:
                raise UnknownNameError("entry", key, known)
        time = dict(content.get("time", {}))
        vectors = {
            quantity: VectorColumns(
                tuple(map(str, content[quantity].get("columns", ()))),
                str(content[quantity].get("unit", "1" if quantity == "orientation" else "")),
            )
            for quantity in UNITS
            if quantity in content
        }
        labels = {key: content[key] for key in ("body", "world", "name") if key in content}
        rate = time.pop("rate_hz", None)
        return cls(
            TimeColumn(time.pop("column", None), time.pop("unit", "samples"), rate, **time),
            vectors,
            **labels,
        )


def _because(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what

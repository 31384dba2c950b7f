"""Strict reader of data sheets in TOML; errors name the line."""

from __future__ import annotations

import math
import re
import tomllib
from typing import TYPE_CHECKING, Any

from strapdown.errors import FormatError, UnknownNameError
from strapdown.sensors._spec_checks import implausible
from strapdown.sensors.profiles._model import density_of
from strapdown.sensors.profiles.datasheet import Datasheet
from strapdown.sensors.profiles.quantities import DeviceSheet, Quantity, TriadSheet
from strapdown.sensors.units import UNITS, Limit

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["lines_of_keys", "read"]

SETTINGS = ("range", "output_rate", "bandwidth", "resolution", "noise_rms")
"""Numbers that may be several, one for each setting; others may be three, one for each axis."""

LIMITS = ("zero_offset", "scale_tolerance", "misalignment")
SIGNED = ("quadratic",)

KINDS = {
    "range": "{u}",
    "output_rate": "frequency",
    "bandwidth": "frequency",
    "resolution": "{u}",
    "bits": "bits",
    "noise_density": "{u} density",
    "noise_rms": "{u}",
    "bias_instability": "{u}",
    "flicker_coefficient": "{u}",
    "bias_random_walk": "{u} random walk",
    "zero_offset": "{u}",
    "zero_offset_over_temperature": "{u}",
    "zero_offset_per_temperature": "{u} per temperature",
    "scale_tolerance": "ratio",
    "scale_over_temperature": "ratio",
    "scale_per_temperature": "ratio per temperature",
    "misalignment": "small angle",
}
OWN_KINDS = {
    "gyro": {"angle_random_walk": "angle random walk", "g_sensitivity": "rate per acceleration"},
    "accel": {
        "velocity_random_walk": "velocity random walk",
        "quadratic": "acceleration nonlinearity",
    },
    "mag": {},
}
UNIT_OF = {"gyro": "rate", "accel": "acceleration", "mag": "field"}
TRIADS = {
    triad: {**{key: kind.format(u=unit) for key, kind in KINDS.items()}, **OWN_KINDS[triad]}
    for triad, unit in UNIT_OF.items()
}
DEVICE = {"tick": "time", "tick_bits": "bits"}

HEADER = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]")
KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+))*)\s*=""")


def read(data: bytes, *, path: str) -> tuple[Datasheet, list[str]]:
    """Read a sheet, and return the densities that look like mistakes of units.

    Raises
    ------
    FormatError
        The data is no sheet.
    """
    try:
        text = data.decode("utf-8-sig")
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOML and UTF-8 errors are ValueErrors
        raise FormatError(f"expected a data sheet in TOML: {error}", path=path) from error
    return _Reader(text, path).sheet(table)


class _Reader:
    """One file, with its path and the lines of its keys."""

    def __init__(self, text: str, path: str) -> None:
        self._path = path
        self._lines = lines_of_keys(text)
        self._sources: dict[str, dict[str, Any]] = {}

    def sheet(self, table: dict[str, Any]) -> tuple[Datasheet, list[str]]:
        known = ["name", "maker", "density_reading", "notes", "sources", *TRIADS, "device"]
        self._only(table, known, ())
        name = self._text(table, "name", (), default=None)
        maker = self._text(table, "maker", (), default="")
        reading = self._text(table, "density_reading", (), default="")
        notes = table.get("notes", [])
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            raise self._error(("notes",), f"expected a list of texts, got {notes!r}")
        self._read_sources(self._table(table, "sources", ()))
        triads = {triad: self._triad(table, triad) for triad in TRIADS if triad in table}
        device = self._numbers(table, "device", DEVICE)
        sheet = Datasheet(
            name=name,
            maker=maker,
            gyro=triads.get("gyro", TriadSheet()),
            accel=triads.get("accel", TriadSheet()),
            mag=triads.get("mag"),
            device=DeviceSheet(**device),
            notes=tuple(notes),
            density_reading=reading,
        )
        return sheet, [doubt for name in ("gyro", "accel") for doubt in self._doubts(sheet, name)]

    def _triad(self, table: dict[str, Any], triad: str) -> TriadSheet:
        return TriadSheet(**self._numbers(table, triad, TRIADS[triad]))

    def _numbers(self, table: dict[str, Any], part: str, kinds: dict[str, str]) -> dict[str, Any]:
        """Return the numbers of a table by name, and the reasons of ``unknown``."""
        given = self._table(table, part, ())
        self._only(given, [*kinds, "unknown"], (part,))
        reasons = self._table(given, "unknown", (part,))
        where = (part, "unknown")
        self._only(reasons, kinds, where)
        for key in reasons:
            self._text(reasons, key, where, default=None)
            if key in given:
                raise self._error((*where, key), f"expected no {key} in [{part}] next to it")
        numbers: dict[str, Any] = {
            key: self._quantity(given[key], (part, key), kinds[key])
            for key in given
            if key != "unknown"
        }
        return {**numbers, "unknown": tuple(reasons.items())}

    def _quantity(self, given: object, where: tuple[str, str], kind: str) -> Quantity:
        if not isinstance(given, dict):
            form = "{ value = ..., unit = ... }"
            raise self._error(where, f"expected {form}, got {given!r}")
        key = where[1]
        allowed = ["value", "unit", "condition", "max", "at", "source", "page"]
        allowed += ["sided"] if kind.endswith("density") else []
        allowed += ["meaning"] if key in LIMITS else []
        self._only(given, allowed, where)
        unit = self._one_of(given, "unit", UNITS[kind], where, needed=True)
        sided = self._one_of(given, "sided", ("one", "two"), where, needed="sided" in allowed)
        meaning = self._one_of(given, "meaning", [limit.value for limit in Limit], where)
        source = self._sources.get(self._one_of(given, "source", self._sources, where) or "", {})
        most = given.get("max")
        return Quantity(
            value=self._value(given, where),
            unit=str(unit),
            kind=kind,
            sided=sided,  # type: ignore[arg-type]  # one of its two words
            meaning=Limit(meaning) if meaning else None,
            condition=self._one_of(given, "condition", ("typ", "max"), where),
            largest=None if most is None else self._number(most, (*where, "max")),
            at=self._text(given, "at", where, default="") or None,
            source=source.get("title"),
            page=self._text(given, "page", where, default="") or None,
            grade=source.get("grade"),
        )

    def _value(self, given: dict[str, Any], where: tuple[str, str]) -> float | tuple[float, ...]:
        if "value" not in given:
            raise self._error(where, "expected a value, got none")
        value = given["value"]
        key = where[1]
        if not isinstance(value, list):
            number = self._number(value, where)
            if key in ("bits", "tick_bits") and not (number.is_integer() and 2 <= number <= 48):
                raise self._error(where, f"expected a whole number from 2 to 48, got {value}")
            return number
        numbers = tuple(self._number(item, where) for item in value)
        if key in SETTINGS:
            if not numbers or list(numbers) != sorted(set(numbers)):
                raise self._error(where, f"expected rising settings, got {value}")
        elif len(numbers) != 3 or key in ("bits", "tick", "tick_bits"):
            raise self._error(where, f"expected one number, or 3 of three axes, got {value}")
        return numbers

    def _number(self, value: object, where: tuple[str, ...]) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(where, f"expected a number, got {value!r}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        least = -math.inf if where[1] in SIGNED else 0.0
        if not math.isfinite(number) or number < least:
            raise self._error(where, f"expected a finite number, 0 or more, got {number}")
        positive = (*SETTINGS, "tick")
        if number == 0.0 and where[1] in positive:
            raise self._error(where, "expected a number above 0, got 0")
        return number

    def _read_sources(self, table: dict[str, Any]) -> None:
        for key in table:
            source = self._table(table, key, ("sources",))
            where = ("sources", key)
            self._only(source, ("title", "grade"), where)
            self._text(source, "title", where, default=None)
            self._one_of(source, "grade", ("P", "S"), where, needed=True)
            self._sources[key] = source

    def _doubts(self, sheet: Datasheet, name: str) -> Iterable[str]:
        for key in ("noise_density", "angle_random_walk", "velocity_random_walk"):
            quantity = getattr(getattr(sheet, name), key)
            if quantity is None:
                continue
            density = density_of(quantity)
            for value in density if isinstance(density, tuple) else (density,):
                if looks := implausible(name, value):
                    message = f"{quantity} gives a noise density of {value:.3g}, which {looks}"
                    yield str(self._error((name, key), message))

    def _table(self, table: dict[str, Any], key: str, where: tuple[str, ...]) -> dict[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self._error((*where, key), f"expected a table [{key}], got {value!r}")
        return value

    def _only(self, table: dict[str, Any], known: Iterable[str], where: tuple[str, ...]) -> None:
        known = list(known)
        for key in table:
            if key not in known:
                raise self._error((*where, key), str(UnknownNameError("key", key, known)))

    def _text(
        self, table: dict[str, Any], key: str, where: tuple[str, ...], *, default: str | None
    ) -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            got = "none" if value is None else repr(value)
            raise self._error((*where, key), f"expected a text, got {got}")
        return value

    def _one_of(
        self,
        table: dict[str, Any],
        key: str,
        known: Iterable[str],
        where: tuple[str, ...],
        *,
        needed: bool = False,
    ) -> str | None:
        value = table.get(key)
        if value is None and not needed:
            return None
        known = list(known)
        if value not in known:
            got = "none" if value is None else repr(value)
            choice = ", ".join(known) or "no names, since none is declared"
            raise self._error((*where, key), f"expected one of: {choice}; got {got}")
        return str(value)

    def _error(self, where: tuple[str, ...], message: str) -> FormatError:
        line = next(
            (
                self._lines[where[:depth]]
                for depth in range(len(where), 0, -1)
                if where[:depth] in self._lines
            ),
            1,
        )
        return FormatError(f"line {line}: {'.'.join(where)}: {message}", path=self._path)


def lines_of_keys(text: str) -> dict[tuple[str, ...], int]:
    """Return the first line of each table and key, by dotted path; an inline table has one line."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := HEADER.match(line):
            table = _path(header[1])
            lines.setdefault(table, number)
        elif key := KEY.match(line):
            lines.setdefault((*table, *_path(key[1])), number)
    return lines


def _path(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))

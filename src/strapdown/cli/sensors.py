"""``strapdown sensors``: data sheets of the simulator."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from strapdown._words import printable
from strapdown.cli._completion import completed
from strapdown.cli._outcome import Outcome
from strapdown.sensors.profiles import NOT_GIVEN, load_profile, profile_names
from strapdown.sensors.spec import SpecWarning, WhiteNoiseWarning
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from strapdown._typing import FloatArray
    from strapdown.sensors.profiles import Datasheet, Quantity

TAU_S = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
UNIT_OF_ALLAN = {
    "gyro": ("deg/h", RAD_PER_DEG / 3600.0),
    "accel": ("ug", 1e-6 * STANDARD_GRAVITY),
    "mag": ("nT", 1e-9),
}


def sensors(
    sensor: Annotated[
        str | None,
        typer.Argument(
            help="A profile, or a TOML file of your own; all if left out.",
            autocompletion=completed(profile_names()),
        ),
    ] = None,
) -> Outcome:
    """List the sensor profiles, or show the numbers of one, their sources, and the unknown ones.

    Examples
    --------
    strapdown sensors --json

    strapdown sensors mpu6050

    strapdown sensors my_imu.toml --json
    """
    return _list() if sensor is None else _show(sensor)


def _list() -> Outcome:
    sheets = {name: load_profile(name) for name in profile_names()}
    columns = ["profile", "gyro noise", "gyro bias instability", "gyro range"]
    columns += ["accel noise", "accel bias instability", "accel range", "grade"]
    table = _table(columns)
    rows = []
    for name, sheet in sheets.items():
        cells = [
            quantity and str(quantity)
            for triad in (sheet.gyro, sheet.accel)
            for quantity in (triad.white_noise, triad.bias_instability, triad.range)
        ]
        grade = "/".join(sorted({q.grade for _, q in sheet.quantities() if q.grade}))
        table.add_row(name, *(cell or "-" for cell in cells), grade)
        keys = [
            f"{triad}_{key}"
            for triad in ("gyro", "accel")
            for key in ("noise", "bias_instability", "range")
        ]
        rows.append(
            {
                "profile": name,
                "name": sheet.name,
                "maker": sheet.maker,
                **dict(zip(keys, cells, strict=True)),
                "grade": grade,
            }
        )
    return Outcome({"profiles": rows}, [table, "grade: P the maker's document, S secondary"])


def _show(sensor: str) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SpecWarning)
        sheet = load_profile(sensor)
    with warnings.catch_warnings(record=True) as lacking:
        warnings.simplefilter("always", WhiteNoiseWarning)
        warnings.simplefilter("ignore", SpecWarning)  # reported above, with the line
        spec = sheet.spec()
    doubts = [str(warning.message) for warning in (*caught, *lacking)]
    unknown = sheet.unknown()
    curves = spec.allan(TAU_S)
    data = {
        "name": sheet.name,
        "maker": sheet.maker,
        "numbers": {name: asdict(quantity) for name, quantity in sheet.quantities()},
        "readings": sheet.readings(),
        "unknown": unknown,
        "unsourced": list(sheet.unsourced()),
        "notes": list(sheet.notes),
        "warnings": doubts,
        "spec": json.loads(spec.to_json()),
        "allan": {"tau_s": list(TAU_S), **{name: c.tolist() for name, c in curves.items()}},
    }
    view: list[RenderableType] = [
        " ".join(filter(None, (sheet.maker, sheet.name))),
        _numbers(sheet),
        *_readings(sheet),
        *_unknown(unknown),
        _allan(curves),
        *(f"note: {note}" for note in sheet.notes),
    ]
    if sheet.unsourced():
        view.append(f"note: without a source: {', '.join(sheet.unsourced())}")
    view += [f"warning: {doubt}" for doubt in doubts]
    return Outcome(data, view)


def _numbers(sheet: Datasheet) -> Table:
    table = _table(("number", "value", "meaning", "source", "grade"))
    for name, quantity in sheet.quantities():
        source = quantity.source or "no source"
        source += f", p. {quantity.page}" if quantity.page else ""
        _add(table, (name, str(quantity), _says(quantity), source, quantity.grade or ""))
    return table


def _readings(sheet: Datasheet) -> Iterator[str]:
    """Yield a line for the densities that are read alike, for the same reason."""
    readings = sheet.readings()
    for reading in dict.fromkeys(readings.values()):
        names = ", ".join(name for name, own in readings.items() if own == reading)
        yield f"reading: {names}: {reading}"


def _unknown(reasons: dict[str, str]) -> Iterator[str]:
    """Yield a line for each parameter that is unknown for a reason, and one for all others."""
    silent = [name for name, why in reasons.items() if why == NOT_GIVEN]
    yield from (f"unknown: {name}: {why}" for name, why in reasons.items() if why != NOT_GIVEN)
    if silent:
        yield f"not given: {', '.join(silent)}"


def _says(quantity: Quantity) -> str:
    sided = quantity.sided and f"{quantity.sided}-sided"
    meaning = quantity.meaning and f"means {quantity.meaning}"
    return ", ".join(filter(None, (quantity.condition, sided, meaning, quantity.at)))


def _allan(curves: dict[str, FloatArray]) -> Table:
    """Return the Allan deviation of the worst axis."""
    table = _table(("Allan deviation of the model", *(f"{tau:g} s" for tau in TAU_S)))
    for name, curve in curves.items():
        unit, size = UNIT_OF_ALLAN[name]
        figures = np.max(curve, axis=-1) / size
        _add(
            table, (f"{name} [{unit}]", *(f"{figure:.4g}" if figure else "-" for figure in figures))
        )
    return table


def _table(columns: Iterable[str]) -> Table:
    return Table(*columns, box=None, header_style="bold", pad_edge=False)


def _add(table: Table, cells: Iterable[str]) -> None:
    table.add_row(*(escape(printable(cell)) for cell in cells))

"""``strapdown import``: meaning of the columns of a table of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import strapdown.formats as files
from strapdown.cli._common import Force, Input, working
from strapdown.cli._meaning import meaning
from strapdown.cli._outcome import Outcome
from strapdown.cli._streams import as_file, naming
from strapdown.errors import FormatError, StrapdownError
from strapdown.formats._output import check_ending
from strapdown.formats.foreign import Hints, read_sheet, recognised
from strapdown.formats.summary import series_of
from strapdown.geometry import BodyFrame

TABLE = "table"
"""Format of tables of other programs."""


def import_(
    source: Input,
    *,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the meaning of the columns: .toml.")
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            "--names",
            help="Names of the columns, separated by commas; others than time and vectors '-'.",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate", help="Samples per second, where a counter or rows are the time \\[Hz]."
        ),
    ] = None,
    time_unit: Annotated[
        str | None, typer.Option(help="s, ms, us or ns; of dates day_first or month_first.")
    ] = None,
    gyro_unit: Annotated[str | None, typer.Option(help="rad/s or deg/s.")] = None,
    accel_unit: Annotated[str | None, typer.Option(help="m/s^2, g or mg.")] = None,
    mag_unit: Annotated[str | None, typer.Option(help="uT, gauss, mgauss, nT or T.")] = None,
    use: Annotated[
        list[str] | None,
        typer.Option(help="A word in the names of the sensor to take, where there are several."),
    ] = None,
    body: Annotated[BodyFrame | None, typer.Option(help="Directions of the axes.")] = None,
    force: Force = False,
) -> Outcome:
    """Recognise the columns of a table: CSV of any layout, Parquet, npz, a folder of phone files.

    Every verb reads such files by itself where names and values determine the meaning of the
    columns. What they do not determine is asked for; --save keeps the answer, which can be
    edited, for --columns of any verb.

    Examples
    --------
    strapdown import phone.csv

    strapdown import logger.csv --gyro-unit deg/s --rate 100 --save logger.toml

    strapdown import raw.txt --names time,gx,gy,gz,ax,ay,az,- --save raw.toml
    """
    if save is not None:
        check_ending(save, (".toml",))
    given = {"time": time_unit, "angular_velocity": gyro_unit, "specific_force": accel_unit,
             "magnetic_field": mag_unit}  # fmt: skip
    hints = Hints(
        units={quantity: unit for quantity, unit in given.items() if unit is not None},
        rate_hz=rate,
        names=() if names is None else tuple(name.strip() for name in names.split(",")),
        words=tuple(use or ()),
        body=None if body is None else body.value,
    )
    file = as_file(source)
    if not hints.states_columns and (known := _known(source, file)) is not None:
        if save is not None:
            raise FormatError(f"expected a table of another program, got {known.view[0]}")
        return known
    with working(f"reading {source}"), naming(source):
        sheet = read_sheet(file)
    found = recognised(sheet, hints)
    if found.questions or found.plan is None:
        open_ = "; ".join(found.questions) or "no gyro, accelerometer or magnetometer by its name"
        raise FormatError(f"expected columns and units, open: {open_}", path=source)
    view = [*found.plan.lines(), f"axes: {found.plan.body}", *found.notes]
    if save is not None:
        found.plan.save(save, force=force)
        view.append(f"wrote {save}: pass it as --columns {save}")
    data = {"input": str(source), "columns": found.plan.to_dict(), "notes": list(found.notes)}
    return Outcome(data, view)


def _known(source: Path, file: Path) -> Outcome | None:
    """Return what a file that needs no import holds; None of a table of another program."""
    try:
        with working(f"reading {source}"):
            recording = files.open(file, on_error="salvage")
    except (StrapdownError, OSError):
        return None
    form = recording.report.format
    if form == TABLE:
        return None
    meanings = {name: meaning(series) for name, series in series_of(recording)}
    said = f"{form}: units and frames are known, every verb reads it; there is nothing to import"
    view = [said, *(f"{name}: {line}" for name, line in meanings.items())]
    return Outcome({"input": str(source), "format": form, "topics": meanings, "notes": []}, view)

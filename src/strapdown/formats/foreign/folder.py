"""Folders of one file per sensor, as phones export them: Gyroscope.csv, Accelerometer.csv.

The file names are part of the columns' names: column ``x`` of ``Gyroscope.csv`` is
``Gyroscope x``. All sensors are interpolated to the instants of the gyro; outside its own time
a sensor is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.errors import FormatError
from strapdown.formats.foreign import text_table
from strapdown.formats.foreign.array_table import ArrayTable, at_instants
from strapdown.formats.foreign.hints import Hints
from strapdown.formats.foreign.names import meaning_of
from strapdown.formats.foreign.time_search import guess_time

if TYPE_CHECKING:
    from pathlib import Path

    from strapdown._typing import FloatArray, IntArray
    from strapdown.formats.foreign.importing import Content
    from strapdown.formats.foreign.plan import ImportPlan
    from strapdown.formats.recording import Recording

__all__ = ["read", "sniff", "table"]

_ENDINGS: Final = (".csv", ".txt", ".xls")


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a folder holds files that are named after gyro or accelerometer."""
    return path.is_dir() and len(_sensors(path)) > 1


def read(path: Path, *, salvage: bool, plan: ImportPlan | None = None) -> Recording:
    """Read a folder of one table per sensor.

    Parameters
    ----------
    path : Path
        The folder.
    salvage : bool
        Count damaged rows and leave them out, instead of raising an error.
    plan : ImportPlan, optional
        Meaning of the columns; by default they are recognised.

    Raises
    ------
    FormatError
        A file cannot be read, or the unit of its time is not known.
    """
    return table(path, salvage=salvage).read(path, plan)


def table(path: Path, *, salvage: bool) -> ArrayTable:
    """Return all sensors of a folder on the clock of the gyro, else of the first file."""
    contents = {stem: _content(file, salvage=salvage) for stem, file in _sensors(path).items()}
    base = next((stem for stem in contents if _quantity(stem) == "angular_velocity"), None)
    base = base or next(iter(contents))
    t_ns = contents[base].counts
    columns: dict[str, FloatArray | IntArray] = {"time [ns]": t_ns}
    for stem, content in contents.items():
        for name, values in content.values.items():
            columns[f"{stem} {name}"] = at_instants(t_ns, content.counts, values)
    return ArrayTable(columns)


def _sensors(path: Path) -> dict[str, Path]:
    """Return the files that are named after a sensor, by name without ending."""
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in _ENDINGS)
    return {file.stem: file for file in files if _quantity(file.stem) is not None}


def _quantity(stem: str) -> str | None:
    meaning = meaning_of(f"{stem} x")
    return None if meaning is None else meaning.quantity


def _content(path: Path, *, salvage: bool) -> Content:
    """Return the columns of x, y and z of one file, with times in nanoseconds."""
    sheet = text_table.sheet(path)
    time, questions = guess_time(sheet, Hints())
    if time is None:
        raise FormatError("; ".join(questions), path=path)
    meanings = {name: meaning_of(f"{path.stem} {name}") for name in sheet.names}
    axes = [name for name, meaning in meanings.items() if meaning is not None and meaning.axis]
    return text_table.content(path, time, axes, salvage=salvage)

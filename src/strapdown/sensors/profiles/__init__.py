"""Data sheets: the figures that makers print for their parts, with sources.

The built-in sheets are the TOML files in this package. A user's sheet has the same form::

    name = "My IMU"
    density_reading = "0.05 deg/s rms in 100 Hz is the density times sqrt(100 Hz)"

    [sources.sheet]
    title = "MY-IMU data sheet rev. 1.2"
    grade = "P"                        # P the maker's own document, S anything else

    [gyro]
    range = { value = [250, 2000], unit = "deg/s", source = "sheet", page = "3" }
    noise_density = { value = 0.005, unit = "deg/s/sqrt(Hz)", sided = "one", source = "sheet" }
    zero_offset = { value = 1, unit = "deg/s", meaning = "3sigma", source = "sheet" }

    [gyro.unknown]
    bias_instability = "the sheet gives none"

    [accel]
    noise_density = { value = 160, unit = "ug/sqrt(Hz)", sided = "one", source = "sheet" }

A figure that a sheet does not state is not in its file. Sheets print densities without their
sidedness. A file states how each is read (``sided``), and ``density_reading`` the evidence for it.
Built-in files read them one-sided, as the RMS figures in sheets do, unless there is evidence for
the two-sided reading. :meth:`Datasheet.readings` returns both.
"""

from __future__ import annotations

import warnings
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from strapdown.errors import UnknownNameError
from strapdown.sensors.profiles._reader import read
from strapdown.sensors.profiles.datasheet import NOT_GIVEN, Datasheet
from strapdown.sensors.profiles.quantities import DeviceSheet, Quantity, TriadSheet
from strapdown.sensors.spec import SpecWarning

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = [
    "NOT_GIVEN",
    "Datasheet",
    "DeviceSheet",
    "Quantity",
    "TriadSheet",
    "load_profile",
    "profile_names",
]

ENDING = ".toml"


def profile_names() -> tuple[str, ...]:
    """Return the names of the built-in sheets."""
    return tuple(sorted(_built_in()))


def load_profile(name_or_path: str | PathLike[str]) -> Datasheet:
    """Read a data sheet.

    Parameters
    ----------
    name_or_path : str or path-like
        One of :func:`profile_names`, in upper or lower case and with or without dashes; or a TOML
        file: a path, or text that ends in ``.toml``.

    Returns
    -------
    Datasheet

    Warns
    -----
    SpecWarning
        A noise density is out of range by a factor of 57.3 or 60: a mistake of units.

    Raises
    ------
    UnknownNameError
        There is no such sheet.
    FormatError
        The file is no sheet; the message names the line and the key.
    OSError
        The file cannot be read.
    """
    if isinstance(name_or_path, PathLike) or name_or_path.lower().endswith(ENDING):
        source: Traversable = Path(name_or_path)
    else:
        names = {_plain(name): sheet for name, sheet in _built_in().items()}
        if _plain(name_or_path) not in names:
            raise UnknownNameError("sensor profile", name_or_path, profile_names())
        source = names[_plain(name_or_path)]
    sheet, doubts = read(source.read_bytes(), path=str(name_or_path))
    for doubt in doubts:
        warnings.warn(doubt, SpecWarning, stacklevel=2)
    return sheet


def _built_in() -> dict[str, Traversable]:
    folder = files("strapdown.sensors.profiles")
    return {
        entry.name.removesuffix(ENDING): entry
        for entry in folder.iterdir()
        if entry.name.endswith(ENDING)
    }


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")

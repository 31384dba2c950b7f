"""Known layouts of other programs, one TOML file each.

A file is a plan of columns with a ``name``, the columns by which it is recognised (``match``), and
where these are not enough a text above the names (``preamble``).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from strapdown.formats.foreign.plan import ImportPlan

if TYPE_CHECKING:
    from strapdown.formats.foreign.sheet import Sheet

__all__ = ["Preset", "preset_of", "presets"]


@dataclass(frozen=True)
class Preset:
    """A known layout: how it is recognised, and its plan."""

    match: frozenset[str]
    preamble: str
    plan: ImportPlan

    def fits(self, sheet: Sheet) -> bool:
        """Return whether a table has the columns and the preamble of this layout."""
        return self.match <= {*sheet.names} and self.preamble in sheet.preamble


@cache
def presets() -> tuple[Preset, ...]:
    """Return the known layouts."""
    found = []
    for file in sorted(files(__name__).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            content = tomllib.loads(file.read_text("utf-8"))
            match, preamble = frozenset(content.pop("match")), content.pop("preamble", "")
            found.append(Preset(match, preamble, ImportPlan.from_dict(content)))
    return tuple(found)


def preset_of(sheet: Sheet) -> ImportPlan | None:
    """Return the plan of the layout that fits a table; of several the one with most columns."""
    fitting = [preset for preset in presets() if preset.fits(sheet)]
    return max(fitting, key=lambda each: len(each.match)).plan if fitting else None

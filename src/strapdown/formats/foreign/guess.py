"""Recognise the columns of a table: by names and units, and by values where these are silent.

A unit that neither names nor values determine is a question to the user, never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import ShapeError, UnknownNameError
from strapdown.formats.foreign.names import body_rates, meaning_of
from strapdown.formats.foreign.places import places
from strapdown.formats.foreign.plan import ImportPlan, TimeColumn, VectorColumns
from strapdown.formats.foreign.time_search import TimeSearch
from strapdown.formats.foreign.unit_search import UnitSearch, in_words, norms_of
from strapdown.formats.foreign.units import MEASURED, UNITS, factor
from strapdown.geometry.frames import BodyFrame
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown.formats.foreign.hints import Hints
    from strapdown.formats.foreign.names import Meaning
    from strapdown.formats.foreign.sheet import Sheet

__all__ = ["Guess", "guess"]


@dataclass(frozen=True)
class Guess:
    """Recognised columns.

    Parameters
    ----------
    plan : ImportPlan, optional
        None where no vector was found.
    questions : tuple of str
        What neither names nor values determine, one line each; the plan is then incomplete.
    notes : tuple of str
        Columns that are not read, and why.
    """

    plan: ImportPlan | None
    questions: tuple[str, ...]
    notes: tuple[str, ...]


def guess(sheet: Sheet, hints: Hints) -> Guess:
    """Return the meaning of the columns of a table.

    Raises
    ------
    ShapeError
        There is not one name per column.
    UnknownNameError
        No column has a stated word in its name.
    """
    names = hints.names or sheet.names
    if len(names) != len(sheet.names):
        raise ShapeError(
            f"expected {len(sheet.names)} names, one for each column, got {len(names)}"
        )
    meanings = {
        column: meaning
        for column, name, unit in zip(sheet.names, names, sheet.units, strict=True)
        if (meaning := meaning_of(name, unit)) is not None
    }
    meanings |= body_rates(sheet.names, names, sheet.units, meanings)
    if not meanings and sheet.names[0] == "column 1":
        question = f"names of the {len(sheet.names)} columns? (--names time,gx,gy,gz,...)"
        return Guess(None, (question,), ())
    for word in hints.words:
        if not any(word.lower() in column.lower() for column in meanings):
            raise UnknownNameError("sensor with the word", word, meanings)
    times = TimeSearch(sheet, meanings, hints)
    time = times.column()
    search = _VectorSearch(sheet, meanings, hints, time)
    vectors = {q: v for q in MEASURED if (v := search.vector(q)) is not None}
    vectors |= places(sheet, meanings)
    search.mention_unread(vectors)
    plan = (
        ImportPlan(time, vectors, body=BodyFrame(hints.body or "FLU"))
        if time is not None and vectors
        else None
    )
    questions, notes = [*times.questions, *search.questions], [*times.notes, *search.notes]
    return Guess(plan, tuple(questions), tuple(notes))


class _VectorSearch:
    """Search for the vectors of a table: what is open, and what is left out."""

    def __init__(
        self,
        sheet: Sheet,
        meanings: Mapping[str, Meaning],
        hints: Hints,
        time: TimeColumn | None,
    ) -> None:
        self._sheet = sheet
        self._meanings = meanings
        self._words = [word.lower() for word in hints.words]
        accels = self._preferred(self._whole("specific_force")).values()
        self._units = UnitSearch(sheet, meanings, hints.units, time, next(map(_xyz, accels), ()))
        self.questions: list[str] = []
        self.notes: list[str] = []

    def vector(self, quantity: str) -> VectorColumns | None:
        """Return the columns and the unit of a vector; None where the table has none."""
        whole = self._whole(quantity)
        for source, axes in list(whole.items()):
            if quantity == "specific_force" and self._lacks_gravity(axes):
                self._leave_out(axes, "acceleration without gravity, which is no specific force")
                del whole[source]
        whole = self._preferred(whole)
        if not whole:
            return None
        if len(whole) > 1:
            lists = " or ".join(", ".join(_xyz(axes)) for axes in whole.values())
            self.questions.append(f"which {in_words(quantity)}: {lists}? (--use WORD)")
            return None
        (axes,) = whole.values()
        columns = _xyz(axes)
        unit, why = self._units.unit(quantity, columns)
        if unit is None:
            known = ", ".join(UNITS[quantity])
            self.questions.append(f"unit of {', '.join(columns)} ({known})? {why}")
            return None
        return VectorColumns(columns, unit, why)

    def _preferred(self, groups: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Return the vectors with a preferred word in their names, else the calibrated ones."""
        chosen = {
            source: axes
            for source, axes in groups.items()
            if any(word in axes["x"].lower() for word in self._words)
        } or {source: axes for source, axes in groups.items() if "uncal" not in axes["x"].lower()}
        return chosen or groups

    def _lacks_gravity(self, axes: Mapping[str, str]) -> bool:
        """Return whether an acceleration in a stated unit is mostly far below gravity."""
        unit = self._meanings[axes["x"]].unit
        if unit is None:
            return False
        norms = norms_of(self._sheet, _xyz(axes))
        usual = float(np.median(norms)) if len(norms) else STANDARD_GRAVITY
        in_g = 0.85 < usual < 1.15  # another unit than stated, which others report
        return not in_g and usual * factor("specific_force", unit) < 0.5 * STANDARD_GRAVITY

    def _whole(self, quantity: str) -> dict[str, dict[str, str]]:
        """Return the vectors of a quantity with all three axes."""
        groups = self._groups(quantity).items()
        return {source: axes for source, axes in groups if {*"xyz"} <= {*axes}}

    def _groups(self, quantity: str) -> dict[str, dict[str, str]]:
        """Return the columns of each vector of a quantity: name by axis."""
        groups: dict[str, dict[str, str]] = {}
        for name, meaning in self._meanings.items():
            if meaning.quantity == quantity:
                groups.setdefault(meaning.source, {}).setdefault(meaning.axis, name)
        return groups

    def _leave_out(self, axes: Mapping[str, str], why: str) -> None:
        self.notes.append(f"{', '.join(axes.values())}: {why}; not read")

    def mention_unread(self, vectors: Mapping[str, VectorColumns]) -> None:
        """Note what the names state and the import leaves out."""
        read = {column for vector in vectors.values() for column in vector.columns}
        for axes in self._groups("gravity_free").values():
            self._leave_out(axes, "acceleration without gravity, which is no specific force")
        for axes in self._groups("orientation").values():
            self._leave_out(axes, "orientation between frames that the table does not name")
        unknown = [n for n in self._sheet.names if n not in self._meanings and n not in read]
        if unknown:
            self.notes.append(f"columns that were not recognised: {', '.join(unknown)[:200]}")


def _xyz(axes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of a vector in the order of its axes."""
    return tuple(axes[axis] for axis in "xyz")

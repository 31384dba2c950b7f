"""Read a table of another program by a plan, a preset, or recognition of its columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from strapdown._words import counted
from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats.foreign.guess import Guess, guess
from strapdown.formats.foreign.hints import Hints
from strapdown.formats.foreign.places import PLACES, altitude_note, fixes
from strapdown.formats.foreign.presets import preset_of
from strapdown.formats.foreign.stamps import DAY_NS, ns_from_counts, unwrapped
from strapdown.formats.foreign.units import CLOCK, factor
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.geometry.frames import BodyFrame
from strapdown.series import ImuSeries, Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from strapdown._typing import FloatArray, IntArray
    from strapdown.formats.foreign.plan import ImportPlan, TimeColumn
    from strapdown.formats.foreign.sheet import Sheet

__all__ = ["Content", "import_table", "recognised"]


@dataclass(frozen=True)
class Content:
    """Columns that were read.

    Parameters
    ----------
    counts : (N,) int64
        Times [ns], or counts of samples.
    values : mapping of str to (N,) array
        By name of the column.
    lost : int
        Damaged rows.
    notes : tuple of str
        For the user.
    """

    counts: IntArray
    values: Mapping[str, FloatArray]
    lost: int = 0
    notes: tuple[str, ...] = field(default=())


def recognised(sheet: Sheet, hints: Hints | None = None) -> Guess:
    """Return the plan of a known layout, or of the recognition of names and values.

    Parameters
    ----------
    sheet : Sheet
        Names, units and first values, from :func:`read_sheet`.
    hints : Hints, optional
        What the user states; statements about columns or units take precedence over a known layout.

    Returns
    -------
    Guess
        Its ``plan`` is complete if there are no ``questions``.
    """
    hints = Hints() if hints is None else hints
    plan = None if hints.states_columns else preset_of(sheet)
    if plan is None:
        return guess(sheet, hints)
    body = plan.body if hints.body is None else BodyFrame(hints.body)
    return Guess(replace(plan, body=body), (), (f"layout of {plan.name}",))


def import_table(
    path: Path,
    sheet: Sheet,
    plan: ImportPlan | None,
    read: Callable[[TimeColumn, Sequence[str]], Content],
) -> Recording:
    """Return a table as a recording.

    Parameters
    ----------
    path : Path
        For messages.
    sheet : Sheet
        Its names and first values.
    plan : ImportPlan, optional
        Meaning of the columns; by default they are recognised.
    read : callable
        Called with the column of time and the names of the columns of vectors.

    Raises
    ------
    FormatError
        Columns of the plan do not exist; nothing, or not everything, was recognised.
    """
    notes: tuple[str, ...] = ()
    if plan is None:
        found = recognised(sheet)
        plan, notes = _certain(path, sheet, found), found.notes
    _check_columns(path, sheet, plan)
    names = [c.removeprefix("-") for vector in plan.vectors.values() for c in vector.columns]
    content = read(plan.time, names)
    t_ns, notes = _times(content, plan, notes)
    vectors = {quantity: _vector(plan, quantity, content) for quantity in plan.vectors}
    unknown = np.full((len(t_ns), 3), np.nan)
    remarks = [f"axes are taken for {plan.body}"] if vectors.keys() - {*PLACES} else []
    gnss = {}
    if "position" in vectors:
        gnss["gnss"] = fixes(t_ns, vectors)
        remarks.append(altitude_note(plan.vectors["position"]))
    report = ReadReport(
        "table",
        len(t_ns),
        content.lost,
        notes=(*plan.lines(), *remarks, *notes, *content.notes),
    )
    if not vectors.keys() - {*PLACES}:
        return Recording(path, report, gnss=gnss)
    if vectors.keys() - {*PLACES} == {"orientation"}:
        track = Trajectory(t_ns, vectors["orientation"], body=plan.body, world=plan.world)
        return Recording(path, report, trajectories={"trajectory": track}, gnss=gnss)
    series = ImuSeries(
        t_ns,
        vectors.get("angular_velocity", unknown),
        vectors.get("specific_force", unknown),
        magnetic_field=vectors.get("magnetic_field"),
        q_world_from_body=vectors.get("orientation"),
        body=plan.body,
        world=plan.world,
    )
    return Recording(path, report, imu={"imu": series}, gnss=gnss)


def _certain(path: Path, sheet: Sheet, found: Guess) -> ImportPlan:
    """Return the recognised plan, or raise with everything that is open."""
    if found.questions:
        raise FormatError(
            f"expected columns and units that names or values determine, got none for: "
            f"{'; '.join(found.questions)}. Answer by the options of strapdown import, keep the "
            "answers with --save columns.toml, and pass --columns columns.toml",
            path=path,
        )
    if found.plan is None:
        raise FormatError(
            "expected columns of a gyro, an accelerometer, a magnetometer or a position, got "
            f"{', '.join(map(repr, sheet.names))[:200]}; name them in a file of columns "
            "(strapdown import --help)",
            path=path,
        )
    return found.plan


def _check_columns(path: Path, sheet: Sheet, plan: ImportPlan) -> None:
    time = [] if plan.time.column is None else [plan.time.column]
    for name in (*time, *(c for vector in plan.vectors.values() for c in vector.columns)):
        plain = name.removeprefix("-")
        if name not in sheet.names and plain not in sheet.names:
            raise FormatError(str(UnknownNameError("column", plain, sheet.names)), path=path)


def _times(
    content: Content, plan: ImportPlan, notes: tuple[str, ...]
) -> tuple[IntArray, tuple[str, ...]]:
    if plan.time.rate_hz is not None:
        t_ns, wraps = ns_from_counts(content.counts, plan.time.rate_hz)
    elif plan.time.unit in {"ms", "us"}:  # millis() and micros() of a microcontroller
        t_ns, wraps = unwrapped(content.counts, (CLOCK[plan.time.unit] << 32,))
    elif plan.time.unit == "time_of_day":
        t_ns, days = unwrapped(content.counts, (DAY_NS,))
        return t_ns, (*notes, f"midnight passes {counted(days, 'time')}") if days else notes
    else:
        return content.counts, notes
    return t_ns, (*notes, f"the counter wrapped {wraps} times") if wraps else notes


def _vector(plan: ImportPlan, quantity: str, content: Content) -> FloatArray:
    """Return the values (N, 3 or 4) of a vector in SI units."""
    vector = plan.vectors[quantity]
    scale = factor(quantity, vector.unit)
    columns = [
        content.values[name] if name in content.values else -content.values[name.removeprefix("-")]
        for name in vector.columns
    ]
    values = np.column_stack(columns)
    if quantity == "position":
        millimetres = vector.unit == "1e-7 deg"
        return values * [scale, scale, 1e-3 if millimetres else 1.0]
    return values * scale

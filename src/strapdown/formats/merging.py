"""Joining of recordings: parts of one recording in the order of time, and topics of several files.

Stamps count from 1970 in the result where every recording states that origin, so that logs of
several starts of an autopilot are in order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from strapdown._words import counted
from strapdown.errors import FormatError, FrameError, ShapeError, ValueRangeError
from strapdown.formats.recording import HOLDS, Recording
from strapdown.formats.reports import ReadReport
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from strapdown._typing import BoolArray
    from strapdown.series import ImuSeries, Increments, Trajectory

    Held = TypeVar("Held", ImuSeries, Increments, Trajectory)

__all__ = ["merge"]


def merge(recordings: Sequence[Recording]) -> Recording:
    """Join recordings: a topic in several of them continues, other topics are collected.

    Rows of a later part that repeat the last rows of the part before it, value by value, are
    dropped and counted in the notes of the report. The log of PX4 recordings is left out.

    Parameters
    ----------
    recordings : sequence of Recording
        In any order.

    Returns
    -------
    Recording
        Its path is that of the first.

    Raises
    ------
    FormatError
        Two parts of one topic overlap with different samples, have different columns, frames or
        sensors, or only some of the recordings state when their clock began.
    """
    first = recordings[0]
    if len(recordings) == 1:
        return first
    recordings = [_since_1970(each, recordings) for each in recordings]
    dropped: Counter[str] = Counter()
    combined: dict[str, NDArray[np.void]] = {}
    groups: dict[str, Any] = {}
    for holds in HOLDS:
        groups[holds] = {}
        for topic in dict.fromkeys(chain.from_iterable(getattr(r, holds) for r in recordings)):
            parts = [r for r in recordings if topic in getattr(r, holds)]
            groups[holds][topic], kept = _joined(topic, holds, parts, dropped)
            if holds == "imu" and all(topic in r.sensor_combined for r, _ in kept):
                rows = [r.sensor_combined[topic][mask] for r, mask in kept]
                combined[topic] = np.concatenate(rows)
    notes = [
        f"{topic}: {counted(count, 'row')} of a later file repeat rows of the one before: dropped"
        for topic, count in dropped.items()
    ]
    return Recording(
        first.path,
        _report([each.report for each in recordings], notes),
        **groups,
        clock_offset_ns=recordings[0].clock_offset_ns,
        sensor_combined=combined,
        history=tuple(dict.fromkeys(chain.from_iterable(each.history for each in recordings))),
    )


def _since_1970(recording: Recording, others: Sequence[Recording]) -> Recording:
    """Return a recording with stamps since 1970, where all recordings know that origin."""
    offsets = [each.clock_offset_ns for each in others]
    if not any(offsets):
        unknown = [each for each in others if not each.knows_1970]
        if unknown and len(unknown) < len(others):
            raise _clockless(unknown[0])
        return recording
    if not recording.knows_1970:
        raise _clockless(recording)
    shift_ns = recording.clock_offset_ns or 0
    moved: dict[str, Any] = {
        holds: {
            topic: series.replace(t_ns=series.t_ns + shift_ns)
            for topic, series in getattr(recording, holds).items()
        }
        for holds in HOLDS
    }
    return replace(recording, **moved, clock_offset_ns=0)


def _clockless(recording: Recording) -> FormatError:
    return FormatError(
        "expected a recording that states when its clock began, as the others do; its stamps count "
        "from the start of the autopilot and cannot be placed among theirs",
        path=recording.path,
    )


def _joined(
    topic: str, holds: str, parts: Sequence[Recording], dropped: Counter[str]
) -> tuple[Any, list[tuple[Recording, BoolArray]]]:
    """Return the series of one topic, and the kept rows of each part in the order of time."""
    found = [(each, getattr(each, holds)[topic]) for each in parts]
    found = [pair for pair in found if len(pair[1])] or found[:1]
    found.sort(key=lambda pair: int(pair[1].t_ns.min(initial=np.iinfo(np.int64).max)))
    _check_alike(topic, found)
    kept = [np.ones(len(found[0][1]), np.bool_)]
    for (before, earlier), (after, later) in pairwise(found):
        repeated = later.t_ns <= earlier.t_ns.max()
        if repeated.any() and not _repeats(earlier, later, repeated):
            raise FormatError(
                f"expected parts of {topic} one after another, got samples until "
                f"{_seconds(int(earlier.t_ns.max()))} s in {before.path} and from "
                f"{_seconds(int(later.t_ns.min()))} s on; cut one with convert --from and --until, "
                "or convert each separately if they are different sensors",
                path=after.path,
            )
        if repeated.any():
            dropped[topic] += int(np.count_nonzero(repeated))
        kept.append(~repeated)
    series = [each[mask] for (_, each), mask in zip(found, kept, strict=True)]
    whole = type(series[0]).concatenate(series)
    return whole, [(each, mask) for (each, _), mask in zip(found, kept, strict=True)]


def _check_alike(topic: str, found: Sequence[tuple[Recording, Any]]) -> None:
    """Raise unless all parts of a topic have the same columns, frames and sensor."""
    first, series = found[0]
    for recording, part in found[1:]:
        try:
            type(series).concatenate([series[:0], part[:0]])
        except (FrameError, ShapeError, ValueRangeError) as error:
            raise FormatError(
                f"topic {topic} does not continue that of {first.path}: {error}",
                path=recording.path,
            ) from error


def _repeats(earlier: Held, later: Held, repeated: BoolArray) -> bool:
    """Return whether the marked rows are equal to those of the earlier part with their stamps."""
    rows = later[repeated]
    if (np.diff(earlier.t_ns) <= 0).any():
        return False
    at = np.searchsorted(earlier.t_ns, rows.t_ns)
    return rows == earlier[np.minimum(at, len(earlier) - 1)]


def _report(reports: Sequence[ReadReport], notes: Sequence[str]) -> ReadReport:
    """Return the sum of reports; the coverage of intervals is measured again where it is needed."""
    formats = dict.fromkeys(each.format for each in reports)
    skipped: Counter[str] = Counter()
    for each in reports:
        skipped.update(each.skipped)
    return ReadReport(
        " and ".join(formats),
        messages=sum(each.messages for each in reports),
        lost_messages=sum(each.lost_messages for each in reports),
        lost_bytes=sum(each.lost_bytes for each in reports),
        skipped=skipped,
        notes=(*dict.fromkeys(chain.from_iterable(each.notes for each in reports)), *notes),
        damage=tuple(chain.from_iterable(each.damage for each in reports)),
    )


def _seconds(t_ns: int) -> str:
    return f"{t_ns // NS_PER_S}.{t_ns % NS_PER_S:09d}"

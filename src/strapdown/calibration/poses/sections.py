"""Sections of a session: faces on which the device rests, and turns about its axes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.calibration.poses.stills import (
    WINDOW_S,
    Stills,
    restlessness,
    rolling_spread,
    session,
    still_rows,
    window_rows,
)
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["FACES", "Sections", "find_sections", "given_sections", "has_faces_and_turns", "name_of"]

FACES: Final = {f"{axis}_{side}": (k, sign) for k, axis in enumerate("xyz")
                for side, sign in (("p", 1), ("a", -1))}  # fmt: skip
"""Names of the faces: ``x_p`` has the x axis up, ``x_a`` (anti-parallel) down."""
TURNS: Final = {f"{axis}_rot": k for k, axis in enumerate("xyz")}
"""Names of the turns about an axis."""
_STILL: Final = 15.0  # threshold, in the spread of the quietest tenth
_MOVED: Final = 100.0  # spread of a part, in that of the usual section, that is no rest
_FACES: Final = 4  # on which a session of faces rests
_SLANTED: Final = 0.9  # cosine between a face and the vertical below which it is none
_WHOLE: Final = 0.5  # part of the longest turn that makes a turn
_MORE: Final = 1.3  # and part of the usual move between faces


@dataclass(frozen=True, eq=False)
class Sections:
    """Faces and turns.

    Parameters
    ----------
    stills : Stills
        M faces at rest, in order of time.
    axis, sign : (M,) int64
        Axis that is up (+1) or down (-1).
    turn_axis, turn_start, turn_stop : (T,) int64
        Turns: axis and rows; the stop is exclusive.
    slanted : int
        Number of rests on no face, which are left out.
    """

    stills: Stills
    axis: IntArray
    sign: IntArray
    turn_axis: IntArray
    turn_start: IntArray
    turn_stop: IntArray
    slanted: int = 0

    def of_face(self, axis: int, sign: int) -> IntArray:
        """Return the sections of a face."""
        return np.flatnonzero((self.axis == axis) & (self.sign == sign))


def name_of(axis: int, sign: int) -> str:
    """Return a face in words: ``+x up``."""
    return f"{'+' if sign > 0 else '-'}{'xyz'[axis]} up"


def given_sections(series: ImuSeries, rows: IntArray, sections: Mapping[str, Any]) -> Sections:
    """Return the sections that are listed, after a check of each.

    Parameters
    ----------
    series : ImuSeries
        Finite samples of the session.
    rows : (N,) int64
        Their rows in the whole session, to which the sections refer.
    sections : mapping
        Name to start and stop: a pair, or a mapping with ``start`` and ``end``; the stop is
        exclusive.

    Raises
    ------
    UnknownNameError
        A section has another name.
    ValueRangeError
        A section is empty or outside, the sensor moves in it, it shows another face, or the same
        face as another one.
    """
    if np.any(np.diff(rows) < 0):
        raise ValueRangeError(
            "expected stamps in ascending order for sections by row, got a step back; sort the "
            "series, or leave the sections to be found"
        )
    spans = {name: _span(name, value, rows) for name, value in sections.items()}
    faces = sorted((span, name) for name, span in spans.items() if name in FACES)
    turns = sorted((span, name) for name, span in spans.items() if name in TURNS)
    start, stop = (np.array([span[k] for span, _ in faces], np.int64) for k in (0, 1))
    names = [name for _, name in faces]
    if not names:
        raise ValueRangeError(f"expected sections of faces ({', '.join(FACES)}), got none")
    stills = Stills.of(series, start, stop)
    _require_rest(series, stills, names)
    axis, sign, _ = _labels(stills.force)
    for name, *shown in zip(names, axis.tolist(), sign.tolist(), strict=True):
        if tuple(shown) != FACES[name]:
            raise ValueRangeError(
                f"expected {name_of(*FACES[name])} in section {name}, got {name_of(*shown)}: "
                "correct the name, or the axes of the series"
            )
    turn = np.array([[*span, TURNS[name]] for span, name in turns], np.int64).reshape(-1, 3)
    return Sections(stills, axis, sign, turn[:, 2], turn[:, 0], turn[:, 1])


def _span(name: str, value: Any, rows: IntArray) -> tuple[int, int]:  # noqa: ANN401 (two forms)
    if name not in FACES and name not in TURNS:
        raise UnknownNameError("section", name, [*FACES, *TURNS])
    try:
        first, after = (value["start"], value["end"]) if hasattr(value, "keys") else value
        first, after = index(first), index(after)
    except (KeyError, TypeError, ValueError):
        raise ValueRangeError(
            f"expected section {name} as two rows, or as start and end, got {value!r}"
        ) from None
    if not 0 <= first < after <= rows[-1] + 1:
        raise ValueRangeError(
            f"expected section {name} within 0 and {rows[-1] + 1}, start before end, got "
            f"{first} and {after}"
        )
    start, stop = np.searchsorted(rows, [first, after])
    if stop - start < 2:
        raise ValueRangeError(f"expected finite samples in section {name}, got {stop - start}")
    return int(start), int(stop)


def _require_rest(series: ImuSeries, stills: Stills, names: list[str]) -> None:
    """Raise if a sensor moves in a section of a face."""
    size = min(window_rows(series.t_ns), int(np.min(stills.stop - stills.start)))
    for values in (series.specific_force, series.angular_velocity):
        windows = [
            rolling_spread(values[a:b], size)
            for a, b in zip(stills.start, stills.stop, strict=True)
        ]
        usual = float(np.median(np.concatenate(windows)))
        for name, start, spread in zip(names, stills.start, windows, strict=True):
            worst = int(np.argmax(spread))
            if spread[worst] > _MOVED * usual > 0.0:
                at_s = (series.t_ns[start + worst] - series.t_ns[0]) / NS_PER_S
                raise ValueRangeError(
                    f"expected rest in section {name}, got a movement at {at_s:.1f} s; shorten "
                    "the section, or repeat the session"
                )


def _labels(force: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return axis and sign of the largest component, and its part of the whole.

    Readings whose length differs widely have an offset, which the middle of their range removes.
    """
    length = np.linalg.norm(force, axis=1)
    if np.ptp(length) > 0.4 * np.median(length):
        force = force - 0.5 * (force.max(axis=0) + force.min(axis=0))
        length = np.linalg.norm(force, axis=1)
    axis = np.argmax(np.abs(force), axis=1)
    largest = force[np.arange(len(force)), axis]
    return axis, np.sign(largest).astype(np.int64), np.abs(largest) / np.maximum(length, 1e-300)


def has_faces_and_turns(series: ImuSeries) -> bool:
    """Return whether a recording is certainly a session of faces and turns.

    It rests on four faces or more, never in a slanted attitude, and makes a whole turn between two
    rests on one face.

    Parameters
    ----------
    series : ImuSeries
        Recording of N samples.
    """
    try:
        series, _ = session(series, "find faces and turns in")
        found = find_sections(series)
    except ValueRangeError:
        return False
    faces = {*zip(found.axis.tolist(), found.sign.tolist(), strict=True)}
    return len(faces) >= _FACES and not found.slanted and len(found.turn_axis) > 0


def find_sections(series: ImuSeries) -> Sections:
    """Return the sections of a session, by stillness and the largest axis.

    A turn is a movement that begins and ends on one face, and is longer than the usual
    movement from one face to another.

    Raises
    ------
    ValueRangeError
        There is no rest.
    """
    start, stop = still_rows(series, restlessness(series, None), _STILL)
    if not len(start):
        raise ValueRangeError(
            f"expected rests of {WINDOW_S:g} s or more on the faces of the device, got none"
        )
    stills = Stills.of(series, start, stop)
    axis, sign, part = _labels(stills.force)
    level = part > _SLANTED
    if not level.any():
        raise ValueRangeError(
            "expected rests with an axis of the sensor up or down, got only slanted ones; put the "
            "device on its faces, or calibrate from many attitudes"
        )
    stills = Stills.of(series, start[level], stop[level])
    axis, sign = axis[level], sign[level]
    first, after = stills.stop[:-1] - 1, stills.start[1:] + 1
    bias = np.median(stills.rate, axis=0)
    turned = np.array(
        [_integral(series, bias, a, b) for a, b in zip(first, after, strict=True)]
    ).reshape(-1, 3)
    same = (np.diff(axis) == 0) & (np.diff(sign) == 0)
    about = np.abs(turned[np.arange(len(turned)), axis[:-1]])
    moves = np.linalg.norm(turned[~same], axis=1)
    least = max(
        _WHOLE * about[same].max(initial=0.0),
        _MORE * float(np.median(moves)) if len(moves) else 0.0,
    )
    turns = same & (about > least)
    return Sections(
        stills, axis, sign, axis[:-1][turns], first[turns], after[turns], int((~level).sum())
    )


def _integral(series: ImuSeries, bias: FloatArray, start: int, stop: int) -> FloatArray:
    """Return the integral of the gyro by the trapezoid rule."""
    values = series.angular_velocity[start:stop] - bias
    t_s = (series.t_ns[start:stop] - series.t_ns[start]) / NS_PER_S
    return np.asarray(np.trapezoid(values, t_s, axis=0))


def repeated_faces(sections: Sections) -> list[str]:
    """Return the faces that occur more than once."""
    count = Counter(zip(sections.axis.tolist(), sections.sign.tolist(), strict=True))
    return [name_of(*face) for face, times in count.items() if times > 1]


def missing_faces(sections: Sections) -> list[str]:
    """Return the faces that do not occur."""
    return [name_of(*face) for face in FACES.values() if not len(sections.of_face(*face))]

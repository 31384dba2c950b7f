"""Meaning of a column of another program, from its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from strapdown.formats.foreign.units import unit_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Meaning", "body_rates", "meaning_of"]


@dataclass(frozen=True)
class Meaning:
    """Meaning of a column.

    Parameters
    ----------
    quantity : str
        ``"time"``, ``"counter"``, ``"gravity_free"`` (acceleration without gravity), or a vector:
        ``"angular_velocity"``, ``"specific_force"``, ``"magnetic_field"``, ``"orientation"``;
        or of a place on the Earth: ``"position"``, ``"position_sigma"``, ``"velocity"``.
    axis : str
        ``x``, ``y``, ``z`` or ``w``; of a position latitude, longitude, altitude, of a velocity
        east, north, up, or ``d`` down; empty for time and counters.
    unit : str, optional
        As the name states it; None where it does not.
    source : str
        Rest of the name, which the columns of one vector share.
    """

    quantity: str
    axis: str = ""
    unit: str | None = None
    source: str = ""


def _begins(*starts: str) -> Callable[[str], bool]:
    return lambda text: any(word.startswith(starts) for word in text.split())


def _contains(*phrases: str) -> Callable[[str], bool]:
    return lambda text: any(f" {phrase} " in f" {text} " for phrase in phrases)


_QUANTITIES: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("gravity_free", _contains("user acceleration", "free acc", "free acceleration")),
    ("angular_velocity", _contains("angular velocity", "angular rate", "rotation rate", "omega",
                                   "turn rate", "rate of turn", "ang vel", "angvel")),
    ("angular_velocity", _begins("gyr")),
    ("magnetic_field", _begins("mag", "compass")),
    ("specific_force", _contains("specific force", "g force", "gforce")),
    ("specific_force", _begins("acc")),
    ("orientation", _begins("quat", "orient")),
)  # fmt: skip
"""The first whose test holds for the words of a name, in this order."""

_LETTERS: Final[Mapping[str, str]] = {
    "g": "angular_velocity",
    "w": "angular_velocity",
    "a": "specific_force",
    "f": "specific_force",
    "m": "magnetic_field",
    "q": "orientation",
}
"""Names such as ``gx``: one letter and the axis."""

_TURNS: Final[Mapping[str, str]] = {"roll": "x", "pitch": "y", "yaw": "z"}
"""Axes of names such as ``roll_rate``."""

_RATES: Final[Mapping[str, str]] = {"p": "x", "q": "y", "r": "z"}
"""Axes of rates of flight mechanics."""
_GEODETIC: Final[Mapping[str, str]] = {
    "latitude": "x", "lat": "x",
    "longitude": "y", "lon": "y", "lng": "y", "long": "y",
    "altitude": "z", "alt": "z", "height": "z", "elevation": "z",
}  # fmt: skip
_ACCURACIES: Final[Mapping[str, str]] = {
    "horizontal": "x", "hacc": "x", "eph": "x", "vertical": "z", "vacc": "z", "epv": "z",
}  # fmt: skip
_DIRECTIONS: Final[Mapping[str, str]] = {
    "east": "x", "e": "x", "north": "y", "n": "y", "up": "z", "u": "z", "down": "d", "d": "d",
}  # fmt: skip
_VELOCITIES: Final = {"vel", "velocity", "speed"}

_TIME_WORDS: Final = {
    "time", "timestamp", "timestamps", "stamp", "t", "ts", "datetime", "elapsed", "epoch", "zeit",
    "temps",
}  # fmt: skip
_COUNTERS: Final = {"counter", "count", "packet", "index", "sample", "samples", "seq", "frame"}
_TICKS: Final = {"fine", "tick", "ticks"}
_UNIT: Final = re.compile(r"[\[(]([^\])]*)[\])]\s*$")
_ITEM: Final = re.compile(r"\[([0-3])\]$")


def meaning_of(name: str, unit_text: str = "") -> Meaning | None:
    """Return the meaning that the name of a column states; None where it states none.

    Parameters
    ----------
    name : str
        Such as ``Gyroscope X (deg/s)``, ``acc_y_g``, ``field.angular_velocity.z``, ``gyro_rad[0]``.
    unit_text : str
        The unit from a separate row of units.

    Examples
    --------
    >>> meaning_of("Gyroscope X (deg/s)")
    Meaning(quantity='angular_velocity', axis='x', unit='deg/s', source='gyroscope')
    >>> meaning_of("seconds_elapsed").quantity, meaning_of("temperature")
    ('time', None)
    """
    stem, units = _without_unit(name.strip())
    if unit_text:
        units.insert(0, unit_text)
    words = _words(stem)
    for find in (_place, _vector):
        if (found := find(words, units)) is not None:
            return found
    if _TIME_WORDS & {*words} and not _TICKS & {*words}:
        stated = (unit_named(text, "time") for text in (*units, *words))
        return Meaning("time", unit=next((unit for unit in stated if unit), None))
    if (_COUNTERS | _TICKS) & {*words}:
        return Meaning("counter")
    return None


def body_rates(
    columns: Sequence[str],
    names: Sequence[str],
    units: Sequence[str],
    known: Mapping[str, Meaning],
) -> dict[str, Meaning]:
    """Return the meanings of columns named p, q and r, the rates of flight mechanics.

    Parameters
    ----------
    columns, names, units : sequence of str
        Of the table: its names, those to go by, and the row of units.
    known : mapping of str to Meaning
        Meanings of the other columns, by column; with another angular velocity among them, or
        without one of the three letters, there are no such rates.
    """
    if any(meaning.quantity == "angular_velocity" for meaning in known.values()):
        return {}
    found = {}
    for column, name, unit_text in zip(columns, names, units, strict=True):
        stem, stated = _without_unit(name.strip())
        letter, *rest = _words(stem) or [""]
        if letter in _RATES and (not rest or unit_named("".join(rest), "angular_velocity")):
            texts = [unit_text, *stated, "".join(rest)]
            unit = next((u for each in texts if (u := unit_named(each, "angular_velocity"))), None)
            found[column] = Meaning("angular_velocity", _RATES[letter], unit, "p q r")
    return found if {meaning.axis for meaning in found.values()} == {*"xyz"} else {}


def _without_unit(name: str) -> tuple[str, list[str]]:
    """Split off a unit in brackets at the end; an index there becomes an axis."""
    if match := _ITEM.search(name):
        return f"{name[: match.start()]} {'xyz?'[int(match[1])]}", []
    if match := _UNIT.search(name):
        return name[: match.start()], [match[1]]
    return name, []


def _words(text: str) -> list[str]:
    """Return the words of a name in lower case, split at signs and at changes of case."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return re.sub(r"[^a-z0-9/^²°µ]+", " ", text.lower()).split()


def _vector(words: list[str], units: list[str]) -> Meaning | None:
    """Return the meaning of a component of a vector; None of anything else."""
    split = _split_axis(words)
    if split is None:
        return None
    axis, rest = split
    stated = [*units, "".join(rest[-2:]), *rest[-1:]]
    text = " ".join(rest)
    quantity = _LETTERS.get(text) or next((q for q, holds in _QUANTITIES if holds(text)), None)
    letter = _LETTERS.get(rest[0], "") if rest else ""
    if quantity is None and unit_named("".join(rest[1:]), letter):  # gx_dps
        quantity = letter
    if quantity is None or (axis == "w") != (quantity == "orientation" and axis == "w"):
        return None
    if quantity == "orientation":
        return Meaning(quantity, axis, "1", text)
    measured = "specific_force" if quantity == "gravity_free" else quantity
    named = text not in _LETTERS  # the letter of gx is no unit
    unit = next(
        (u for each in stated if named or each in units if (u := unit_named(each, measured))), None
    )
    return Meaning(quantity, axis, unit, text)


def _place(words: list[str], units: list[str]) -> Meaning | None:
    """Return the meaning of a coordinate on the Earth, its accuracy, or a velocity there."""
    accurate = "accuracy" in words or {"hacc", "vacc", "eph", "epv"} & {*words}
    others = " ".join(word for word in words if word != "accuracy")
    if any(holds(others) for _, holds in _QUANTITIES):  # acc_lat: of a lateral acceleration
        return None
    for word in words:
        if accurate and word in _ACCURACIES:
            return Meaning("position_sigma", _ACCURACIES[word], "m")
        if not accurate and word in _GEODETIC:
            stated = (unit_named(text, "position") for text in (*units, *words))
            return Meaning("position", _GEODETIC[word], next((u for u in stated if u), None))
        if _VELOCITIES & {*words} and word in _DIRECTIONS:
            return Meaning("velocity", _DIRECTIONS[word], "m/s")
    return None


def _split_axis(words: list[str]) -> tuple[str, list[str]] | None:
    """Return the axis that a name states, and its other words."""
    if "rate" in words:
        for place, word in enumerate(words):
            if word in _TURNS:
                rest = [each for each in words[place + 1 :] if each != "rate"]
                return _TURNS[word], ["rotation", "rate", *rest]
    for place in reversed(range(len(words))):
        if words[place] in {"x", "y", "z", "w"}:
            return words[place], words[:place] + words[place + 1 :]
    for place in reversed(range(len(words))):
        word, others = words[place], (words[:place], words[place + 1 :])
        for axis, head in ((word[-1], word[:-1]), (word[0], word[1:])):  # gx, accx; xacc
            named = any(holds(head) for _, holds in _QUANTITIES)
            if axis in "xyzw" and (named or (head in _LETTERS and word[-1] == axis)):
                return axis, [*others[0], head, *others[1]]
    return None

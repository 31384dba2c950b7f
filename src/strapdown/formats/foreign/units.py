"""Units of other programs' tables, by their many spellings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from strapdown.errors import UnknownNameError
from strapdown.units import (
    GAUSS,
    MICROTESLA,
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    RAD_PER_DEG,
    STANDARD_GRAVITY,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CLOCK", "MEASURED", "UNITS", "factor", "unit_named"]

CLOCK: Final[Mapping[str, int]] = {"s": NS_PER_S, "ms": NS_PER_MS, "us": NS_PER_US, "ns": 1}
"""Nanoseconds per unit of time."""
MEASURED: Final = ("angular_velocity", "specific_force", "magnetic_field")
"""Quantities that an IMU measures."""

UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "angular_velocity": {
        "rad/s": 1.0,
        "mrad/s": 1e-3,
        "deg/s": RAD_PER_DEG,
        "mdeg/s": 1e-3 * RAD_PER_DEG,
    },
    "specific_force": {
        "m/s^2": 1.0,
        "g": STANDARD_GRAVITY,
        "mg": 1e-3 * STANDARD_GRAVITY,
        "ug": 1e-6 * STANDARD_GRAVITY,
        "cm/s^2": 1e-2,
        "mm/s^2": 1e-3,
    },
    "magnetic_field": {
        "T": 1.0,
        "mT": 1e-3,
        "uT": MICROTESLA,
        "nT": 1e-9,
        "gauss": GAUSS,
        "mgauss": 1e-3 * GAUSS,
    },
    "orientation": {"1": 1.0},
    "position": {"deg": RAD_PER_DEG, "rad": 1.0, "1e-7 deg": 1e-7 * RAD_PER_DEG},
    "position_sigma": {"m": 1.0},
    "velocity": {"m/s": 1.0},
}
"""Factors to SI units, by quantity and unit."""

_SPELLINGS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "time": {
        "s": ("s", "sec", "secs", "second", "seconds"),
        "ms": ("ms", "msec", "millis", "milliseconds", "millisecond"),
        "us": ("us", "usec", "micros", "microseconds", "microsecond"),
        "ns": ("ns", "nsec", "nanos", "nanoseconds", "nanosecond"),
        "iso8601": ("iso", "iso8601", "utc", "rfc3339"),
    },
    "angular_velocity": {
        "rad/s": ("rad/s", "rad/sec", "rads", "rad", "rps", "radps", "rad_s", "radian/s",
                  "radians/s", "rad/second", "rads/s", "rads-1", "rad*s-1"),
        "mrad/s": ("mrad/s",),
        "deg/s": ("deg/s", "deg/sec", "dps", "deg", "degps", "degs", "deg_s", "degree/s",
                  "degrees/s", "degrees/sec", "°/s", "°/sec", "d/s", "deg/second"),
        "mdeg/s": ("mdps", "mdeg/s"),
    },
    "specific_force": {
        "m/s^2": ("m/s^2", "m/s2", "m/s/s", "ms2", "mps2", "m/(s^2)", "m/(sec^2)", "m/sec^2",
                  "m/s**2", "ms-2", "m*s-2", "m_s2", "mss", "meters/second^2"),
        "g": ("g", "gs", "g's", "g0", "gravity"),
        "mg": ("mg", "milli-g"),
        "ug": ("ug",),
        "cm/s^2": ("cm/s^2", "cm/s2", "gal"),
        "mm/s^2": ("mm/s^2", "mm/s2"),
    },
    "magnetic_field": {
        "T": ("t", "tesla"),
        "mT": ("mt", "millitesla"),
        "uT": ("ut", "microtesla"),
        "nT": ("nt", "nanotesla"),
        "gauss": ("g", "ga", "gauss", "gs", "local_flux"),
        "mgauss": ("mg", "mgauss", "mga", "milligauss"),
    },
    "position": {
        "deg": ("deg", "degree", "degrees", "°"),
        "rad": ("rad", "radian", "radians"),
        "1e-7 deg": ("1e-7deg", "dege7"),
    },
}  # fmt: skip

_NUMBER: Final = r"\d+\.?\d*(?:e-?\d+)?"
_SCALED: Final = re.compile(
    rf"(?P<over>{_NUMBER})(?:\s*/\s*(?P<under>{_NUMBER}))?\s*\*?\s*(?P<unit>[^\d\s].*)"
)

_NAMED: Final[dict[str, dict[str, str]]] = {
    quantity: {spelling: unit for unit, spellings in units.items() for spelling in spellings}
    for quantity, units in _SPELLINGS.items()
}


def unit_named(text: str, quantity: str) -> str | None:
    """Return the unit that a text spells for a quantity; None where it spells none.

    Examples
    --------
    >>> unit_named("m/s²", "specific_force"), unit_named("°/s", "angular_velocity")
    ('m/s^2', 'deg/s')
    """
    plain = re.sub(r"\s+", "", text.strip()).lower()
    plain = plain.replace("²", "^2").replace("µ", "u").replace("μ", "u").replace("⁻¹", "-1")
    return _NAMED.get(quantity, {}).get(plain)


def factor(quantity: str, unit: str) -> float:
    """Return the factor from a unit to the SI unit of a quantity.

    A number before the unit is the scale of counts, such as ``1/16384 g`` or ``0.061 mg``.

    Raises
    ------
    UnknownNameError
        There is no such unit of this quantity.

    Examples
    --------
    >>> factor("specific_force", "1/16384 g") * 16384
    9.80665
    """
    if (scaled := _SCALED.fullmatch(unit.strip())) is not None:
        under = float(scaled["under"] or 1.0)
        if under > 0.0 and (over := float(scaled["over"])) > 0.0:
            return over / under * factor(quantity, scaled["unit"])
    units = UNITS[quantity]
    known = unit if unit in units else unit_named(unit, quantity)
    if known is None:
        raise UnknownNameError(f"unit of {quantity}", unit, units)
    return units[known]

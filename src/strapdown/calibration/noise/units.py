"""Units of noise coefficients: stored in SI, shown as data sheets and users write them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.sensors.units import UNITS
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEVIATION", "SHOWN", "STORED", "Shown", "shown", "stored_unit"]


class Shown(NamedTuple):
    """A unit in which a coefficient is shown.

    Parameters
    ----------
    unit : str
        With the sidedness of a spectral density.
    factor : float
        Number of these units in one SI unit.
    """

    unit: str
    factor: float


_ONE_SIDED: Final = math.sqrt(2.0)
_DEG_PER_H: Final = 1.0 / UNITS["rate"]["deg/h"]
_UG: Final = 1.0 / UNITS["acceleration"]["ug"]

STORED: Final[Mapping[str, Mapping[str, str]]] = {
    "rad/s": {
        "Q": "rad",
        "N": "rad/s/sqrt(Hz) two-sided",
        "B": "rad/s",
        "K": "rad/s/sqrt(s)",
        "R": "rad/s^2",
    },
    "m/s^2": {
        "Q": "m/s",
        "N": "m/s^2/sqrt(Hz) two-sided",
        "B": "m/s^2",
        "K": "m/s^2/sqrt(s)",
        "R": "m/s^3",
    },
}
"""SI units of the coefficients, by unit of the channel."""

SHOWN: Final[Mapping[str, Mapping[str, tuple[Shown, ...]]]] = {
    "rad/s": {
        "Q": (Shown("arcsec", 3600.0 / RAD_PER_DEG),),
        "N": (
            Shown("deg/sqrt(h)", 1.0 / UNITS["angle random walk"]["deg/sqrt(h)"]),
            Shown("deg/s/sqrt(Hz) one-sided", _ONE_SIDED / UNITS["rate"]["deg/s"]),
        ),
        "B": (Shown("deg/h", _DEG_PER_H),),
        "K": (Shown("deg/h/sqrt(h)", 1.0 / UNITS["rate random walk"]["deg/h/sqrt(h)"]),),
        "R": (Shown("deg/h/h", _DEG_PER_H * 3600.0),),
    },
    "m/s^2": {
        "Q": (Shown("um/s", 1e6),),
        "N": (
            Shown("m/s/sqrt(h)", 1.0 / UNITS["velocity random walk"]["m/s/sqrt(h)"]),
            Shown("ug/sqrt(Hz) one-sided", _ONE_SIDED * _UG),
        ),
        "B": (Shown("ug", _UG),),
        "K": (Shown("ug/sqrt(h)", 1.0 / UNITS["acceleration random walk"]["ug/sqrt(h)"]),),
        "R": (Shown("ug/h", _UG * 3600.0),),
    },
}
"""Units of data sheets, by unit of the channel."""

DEVIATION: Final[Mapping[str, Shown]] = {
    "rad/s": Shown("deg/h", _DEG_PER_H),
    "m/s^2": Shown("ug", _UG),
}
"""Unit in which a deviation is shown, by unit of the channel."""


def stored_unit(letter: str, unit: str) -> str:
    """Return the SI unit of a coefficient; empty where the unit of the channel is not known."""
    return STORED.get(unit, {}).get(letter, "")


def shown(letter: str, value: float, unit: str) -> dict[str, float]:
    """Return a coefficient in the units of data sheets.

    Parameters
    ----------
    letter : {"Q", "N", "B", "K", "R"}
    value : float
        In SI units.
    unit : str
        Of the channel: ``rad/s`` or ``m/s^2``; of others nothing is returned.

    Examples
    --------
    >>> {unit: round(value, 4) for unit, value in shown("N", 1e-4, "rad/s").items()}
    {'deg/sqrt(h)': 0.3438, 'deg/s/sqrt(Hz) one-sided': 0.0081}
    """
    return {name: value * factor for name, factor in SHOWN.get(unit, {}).get(letter, ())}

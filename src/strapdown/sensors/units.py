"""Conversion of printed figures to parameters of the error model: units and meaning.

Noise density N is the Allan deviation of white noise at 1 s, which is the square root of the
two-sided power spectral density; sheets print the square root of the one-sided one, or a random
walk per square root of an hour. Bias instability B is the coefficient of flicker noise with the
two-sided density B^2 / (2 pi f), whose Allan floor is 0.66428 B.

References
----------
IEEE Std 952-1997, annex C. Sensonor, STIM frequently asked questions (bias instability is the
lowest point of the Allan curve).
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

from strapdown._checks import as_member
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.sensors.noise.flicker import ALLAN_FLOOR
from strapdown.sensors.triad import GaussMarkov, TurnOn
from strapdown.units import GAUSS, MICROTESLA, RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown.sensors.triad import PerAxis

__all__ = [
    "UNITS",
    "Limit",
    "Sided",
    "bias_instability_from_allan_minimum",
    "bias_instability_from_b",
    "from_angle_random_walk",
    "from_velocity_random_walk",
    "gauss_markov_from_diffusion",
    "noise_density_from",
    "to_si",
    "turn_on_from_limit",
]

Sided = Literal["one", "two"]
"""Of a power spectral density: over positive frequencies only, or over both signs."""

HOUR: Final = 3600.0
SQRT_HOUR: Final = 60.0
FOOT: Final = 0.3048

_RATE: Final = {
    "rad/s": 1.0,
    "deg/s": RAD_PER_DEG,
    "mdeg/s": 1e-3 * RAD_PER_DEG,
    "deg/h": RAD_PER_DEG / HOUR,
}
_ACCELERATION: Final = {
    "m/s^2": 1.0,
    "um/s^2": 1e-6,
    "g": STANDARD_GRAVITY,
    "mg": 1e-3 * STANDARD_GRAVITY,
    "ug": 1e-6 * STANDARD_GRAVITY,
}
_FIELD: Final = {"T": 1.0, "uT": MICROTESLA, "nT": 1e-3 * MICROTESLA, "mG": 1e-3 * GAUSS}
_RATIO: Final = {"1": 1.0, "%": 1e-2, "ppm": 1e-6}


def _per(units: dict[str, float], divisor: str, size: float = 1.0) -> dict[str, float]:
    return {f"{unit}/{divisor}": factor / size for unit, factor in units.items()}


UNITS: Final[dict[str, dict[str, float]]] = {
    "rate": _RATE,
    "acceleration": _ACCELERATION,
    "field": _FIELD,
    "rate density": _per(_RATE, "sqrt(Hz)"),
    "acceleration density": _per(_ACCELERATION, "sqrt(Hz)"),
    "field density": _per(_FIELD, "sqrt(Hz)"),
    "angle random walk": {"rad/sqrt(s)": 1.0, "deg/sqrt(h)": RAD_PER_DEG / SQRT_HOUR},
    "velocity random walk": {
        "m/s/sqrt(s)": 1.0,
        "m/s/sqrt(h)": 1.0 / SQRT_HOUR,
        "ft/s/sqrt(h)": FOOT / SQRT_HOUR,
    },
    "rate random walk": {
        **_per(_RATE, "sqrt(s)"),
        **_per(_RATE, "sqrt(h)", SQRT_HOUR),
        "rad/s^2/sqrt(Hz)": 1.0,
        "deg/s^2/sqrt(Hz)": RAD_PER_DEG,
    },
    "acceleration random walk": {
        **_per(_ACCELERATION, "sqrt(s)"),
        **_per(_ACCELERATION, "sqrt(h)", SQRT_HOUR),
        "m/s^3/sqrt(Hz)": 1.0,
    },
    "field random walk": _per(_FIELD, "sqrt(s)"),
    "rate per temperature": _per(_RATE, "K"),
    "acceleration per temperature": _per(_ACCELERATION, "K"),
    "field per temperature": _per(_FIELD, "K"),
    "ratio": _RATIO,
    "ratio per temperature": _per(_RATIO, "K"),
    "small angle": {"rad": 1.0, "mrad": 1e-3, "deg": RAD_PER_DEG, "%": 1e-2},
    "rate per acceleration": {
        "rad/s/(m/s^2)": 1.0,
        **_per(_RATE, "g", STANDARD_GRAVITY),
    },
    "acceleration nonlinearity": {
        "1/(m/s^2)": 1.0,
        "ug/g^2": 1e-6 / STANDARD_GRAVITY,
        "mg/g^2": 1e-3 / STANDARD_GRAVITY,
    },
    "frequency": {"Hz": 1.0, "kHz": 1e3},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6},
    "bits": {"bit": 1.0},
}
"""SI value of one unit, by kind of quantity. ``%`` of a small angle is cross-axis sensitivity."""


class Limit(StrEnum):
    """Meaning of a plus-minus figure for a population of parts."""

    ONE_SIGMA = "1sigma"
    """Standard deviation of a normal distribution."""
    THREE_SIGMA = "3sigma"
    """Three standard deviations of a normal distribution."""
    MAX = "max"
    """No part has more: a uniform distribution."""


def to_si(value: float, unit: str, quantity: str) -> float:
    """Return ``value`` in SI units.

    Parameters
    ----------
    value : float
    unit : str
        One of ``UNITS[quantity]``.
    quantity : str
        A key of :data:`UNITS`, such as ``"rate density"``.

    Raises
    ------
    UnknownNameError
        The unit is none of that quantity.
    """
    if unit not in UNITS[quantity]:
        raise UnknownNameError(f"unit of {quantity}", unit, UNITS[quantity])
    return value * UNITS[quantity][unit]


def noise_density_from(value: float, unit: str, *, sided: Sided) -> float:
    """Return the noise density N of a spectral density as printed.

    Parameters
    ----------
    value : float
    unit : str
        Such as ``"deg/s/sqrt(Hz)"``, ``"ug/sqrt(Hz)"``, ``"uT/sqrt(Hz)"``.
    sided : {"one", "two"}
        Spectrum whose root is printed; spectrum analysers and sheets use one-sided ones. There
        is no default: the difference is a factor of sqrt(2).

    Returns
    -------
    float
        [rad/s/sqrt(Hz)], [m/s^2/sqrt(Hz)] or [T/sqrt(Hz)].

    Raises
    ------
    UnknownNameError
        No density has that unit, or ``sided`` is another word.
    ValueRangeError
        The value is negative or not finite.
    """
    if sided not in ("one", "two"):
        raise UnknownNameError("sidedness", sided, ("one", "two"))
    units = {**UNITS["rate density"], **UNITS["acceleration density"], **UNITS["field density"]}
    if unit not in units:
        raise UnknownNameError("unit of noise density", unit, units)
    two_sided = _magnitude(value, "a noise density") * units[unit]
    return two_sided / math.sqrt(2.0) if sided == "one" else two_sided


def from_angle_random_walk(value: float, unit: str = "deg/sqrt(h)") -> float:
    """Return the noise density N [rad/s/sqrt(Hz)] of an angle random walk.

    Raises
    ------
    UnknownNameError
        It has no such unit.
    ValueRangeError
        The value is negative or not finite.
    """
    return to_si(_magnitude(value, "an angle random walk"), unit, "angle random walk")


def from_velocity_random_walk(value: float, unit: str = "m/s/sqrt(h)") -> float:
    """Return the noise density N [m/s^2/sqrt(Hz)] of a velocity random walk.

    Raises
    ------
    UnknownNameError
        It has no such unit.
    ValueRangeError
        The value is negative or not finite.
    """
    return to_si(_magnitude(value, "a velocity random walk"), unit, "velocity random walk")


def bias_instability_from_allan_minimum(
    minimum: float, noise_density: float, random_walk: float = 0.0
) -> float:
    """Return B of the flicker noise for the printed minimum of the Allan curve.

    White noise and random walk add to the curve: where they cross they alone have
    sqrt(2 N K / sqrt(3)), and B = sqrt(minimum^2 - 2 N K / sqrt(3)) / 0.66428.

    Parameters
    ----------
    minimum : float
        Lowest Allan deviation, called (in-run) bias instability in sheets [u].
    noise_density : float
        N [u/sqrt(Hz)].
    random_walk : float
        K [u/sqrt(s)]; 0 where the sheet gives none.

    Returns
    -------
    float
        B [u].

    Raises
    ------
    ValueRangeError
        White noise and random walk alone have a higher minimum; or a value is negative or not
        finite.
    """
    noise_density = _magnitude(noise_density, "noise_density")
    walk = 2.0 * noise_density * _magnitude(random_walk, "random_walk") / math.sqrt(3.0)
    rest = _magnitude(minimum, "an Allan minimum") ** 2 - walk
    if rest < 0.0:
        raise ValueRangeError(
            f"expected an Allan minimum above that of white noise and random walk alone, "
            f"{math.sqrt(walk):g}, got {minimum:g}; one of the three figures means something else"
        )
    return math.sqrt(rest) / ALLAN_FLOOR


def bias_instability_from_b(value: float, unit: str) -> float:
    """Return B [u] of a flicker coefficient as IEEE Std 952 defines it: only the unit changes.

    Raises
    ------
    UnknownNameError
        No bias has that unit.
    ValueRangeError
        The value is negative or not finite.
    """
    units = {**UNITS["rate"], **UNITS["acceleration"], **UNITS["field"]}
    if unit not in units:
        raise UnknownNameError("unit of bias instability", unit, units)
    return _magnitude(value, "a bias instability") * units[unit]


def gauss_markov_from_diffusion(value: float, correlation_time_s: float) -> GaussMarkov:
    """Return the process of a "dynamic bias" whose size is a diffusion, as in Gazebo's sensors.

    The steady standard deviation is value sqrt(tau / 2), many times the value itself; the Allan
    deviation that results is :attr:`GaussMarkov.allan_peak`.

    Parameters
    ----------
    value : float
        [u/sqrt(s)].
    correlation_time_s : float
        [s].

    Raises
    ------
    ValueRangeError
        A value is negative or not finite, or the correlation time is 0.
    """
    tau = _magnitude(correlation_time_s, "correlation_time_s")
    return GaussMarkov(_magnitude(value, "a diffusion") * math.sqrt(tau / 2.0), tau)


def turn_on_from_limit(limit: PerAxis, meaning: Limit | str) -> TurnOn:
    """Return the distribution behind a plus-minus figure.

    Parameters
    ----------
    limit : float or 3 floats
        The figure [u].
    meaning : {"1sigma", "3sigma", "max"}
        Its meaning. There is no default: sheets differ.

    Raises
    ------
    UnknownNameError
        The meaning is none of these.
    ValueRangeError
        The limit is negative or not finite.
    """
    meaning = as_member(Limit, meaning, "meaning of a limit")
    if meaning is Limit.MAX:
        return TurnOn("uniform", limit)
    sigmas = 3.0 if meaning is Limit.THREE_SIGMA else 1.0
    axes = limit if isinstance(limit, tuple) else (limit, limit, limit)
    return TurnOn("normal", (axes[0] / sigmas, axes[1] / sigmas, axes[2] / sigmas))


def _magnitude(value: float, name: str) -> float:
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueRangeError(f"expected {name} of 0 or more, got {value}")
    return float(value)

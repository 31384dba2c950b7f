"""Checks of the parameters of an error model: rules that convert the fields of frozen classes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from strapdown._checks import as_finite, as_member
from strapdown.errors import ShapeError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from enum import StrEnum

    from strapdown._typing import FloatArray

    Rule: TypeAlias = Callable[[object, str], object]
    Whole: TypeAlias = Callable[[object, str], int]

__all__ = [
    "SpecWarning",
    "WhiteNoiseWarning",
    "array",
    "axes",
    "flags",
    "implausible",
    "instance",
    "many",
    "member",
    "number",
    "optional",
    "per_axis",
    "settle",
    "warn_if_implausible",
    "whole",
]

PLAUSIBLE_DENSITY = {
    "gyro": (1e-7, 1e-3, "rad/s/sqrt(Hz)"),
    "accel": (5e-6, 1e-2, "m/s^2/sqrt(Hz)"),
}
"""Range of noise densities, from ring lasers to consumer parts."""

DEGREES_A_RADIAN = 180.0 / np.pi
SQRT_HOUR = 60.0
"""The square root of an hour in sqrt(s)."""

MISTAKES = {
    ("gyro", "more"): {
        DEGREES_A_RADIAN: "degrees taken for radians",
        SQRT_HOUR: "a random walk in deg/sqrt(h) taken for a density in deg/s/sqrt(Hz)",
    },
    ("gyro", "less"): {
        DEGREES_A_RADIAN: "radians taken for degrees",
        SQRT_HOUR: "a density in deg/s/sqrt(Hz) taken for a random walk in deg/sqrt(h)",
    },
    ("accel", "more"): {
        SQRT_HOUR: "a random walk in m/s/sqrt(h) taken for a density in m/s^2/sqrt(Hz)"
    },
    ("accel", "less"): {
        SQRT_HOUR: "a density in m/s^2/sqrt(Hz) taken for a random walk in m/s/sqrt(h)"
    },
}


class SpecWarning(UserWarning):
    """A parameter that looks like a mistake of units."""


class WhiteNoiseWarning(UserWarning):
    """A part of which no white noise is known: its simulation is nearly ideal."""


def settle(target: object, rules: Mapping[str, Rule]) -> None:
    """Replace fields of a frozen object by their values after the rules."""
    for name, rule in rules.items():
        object.__setattr__(target, name, rule(getattr(target, name), name))


def optional(rule: Rule) -> Rule:
    """Accept ``None`` in addition."""
    return lambda value, name: None if value is None else rule(value, name)


def number(low: float = -np.inf, high: float = np.inf, *, above: float = -np.inf) -> Rule:
    """Expect one finite number from ``low`` to ``high`` that is more than ``above``."""

    def rule(value: object, name: str) -> float:
        return float(_bounded(_shaped(value, name, ()), name, low, high, above))

    return rule


def array(*shape: int) -> Rule:
    """Expect finite numbers of one shape; give nested tuples."""
    return lambda value, name: _tuples(_shaped(value, name, shape).tolist())


def per_axis(low: float = 0.0) -> Rule:
    """Expect one number for all axes, or three."""

    def rule(value: object, name: str) -> object:
        several = isinstance(value, list | tuple) or bool(getattr(value, "ndim", 0))
        numbers = _shaped(value, name, (3,) if several else ())
        return _tuples(_bounded(numbers, name, low).tolist())

    return rule


def axes(rule: Rule) -> Rule:
    """Expect three values of one rule, one an axis."""

    def each(value: object, name: str) -> object:
        if not isinstance(value, list | tuple) or len(value) != 3:
            raise ShapeError(f"expected {name} as 3 tuples, one an axis, got {value!r}")
        return tuple(rule(item, f"{name}[{axis}]") for axis, item in enumerate(value))

    return each


def many(rule: Rule) -> Rule:
    """Expect any number of values of one rule."""

    def each(value: object, name: str) -> object:
        if isinstance(value, str) or not hasattr(value, "__iter__"):
            raise TypeError(f"expected {name} as a tuple, got {value!r}")
        return tuple(rule(item, f"{name}[{index}]") for index, item in enumerate(value))

    return each


def whole(low: int, high: int) -> Whole:
    """Expect a whole number from ``low`` to ``high``."""

    def rule(value: object, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"expected {name} as a whole number, got {value!r}")
        if not low <= value <= high:
            raise ValueRangeError(f"expected {name} from {low} to {high}, got {value}")
        return int(value)

    return rule


def member(enumeration: type[StrEnum], kind: str) -> Rule:
    """Expect a member of an enumeration, or its name."""
    return lambda value, _name: as_member(enumeration, value, kind)


def instance(expected: type) -> Rule:
    """Expect an object of a class."""

    def rule(value: object, name: str) -> object:
        if not isinstance(value, expected):
            raise TypeError(f"expected {name} as {expected.__name__}, got {value!r}")
        return value

    return rule


def flags(value: object, name: str) -> tuple[bool, ...]:
    """Expect three booleans."""
    items = tuple(value) if isinstance(value, list | tuple | np.ndarray) else ()
    if len(items) != 3 or not all(isinstance(item, bool | np.bool_) for item in items):
        raise TypeError(f"expected {name} as 3 booleans, got {value!r}")
    return tuple(bool(item) for item in items)


def implausible(kind: str, density: float) -> str | None:
    """Return the likely mistake of units in a noise density out of range.

    Parameters
    ----------
    kind : {"gyro", "accel"}
    density : float
        N [u/sqrt(Hz)].
    """
    low, high, unit = PLAUSIBLE_DENSITY[kind]
    if density <= 0.0 or low <= density <= high:
        return None
    way, ratio = ("more", density / high) if density > high else ("less", low / density)
    close = {factor: mistake for factor, mistake in MISTAKES[kind, way].items() if ratio <= factor}
    if not close:
        return None
    factors = " or ".join(f"{factor:.3g}" for factor in close)
    return (
        f"is {way} than sensors have ({low:g} to {high:g} {unit}), and would fit if it were "
        f"{factors} times {'less' if way == 'more' else 'more'}: it looks like "
        f"{', or '.join(close.values())}"
    )


def warn_if_implausible(name: str, kind: str, densities: tuple[float, ...] | None) -> None:
    """Warn the caller of a constructor about densities that look like a mistake of units."""
    for density in dict.fromkeys(densities or ()):
        if looks := implausible(kind, density):
            message = f"{name}: {kind}.noise_density {density:g} {looks}"
            warnings.warn(message, SpecWarning, stacklevel=4)  # skips both initialisers


def _shaped(value: object, name: str, shape: tuple[int, ...]) -> FloatArray:
    settled = as_finite(value, name, shape)  # type: ignore[arg-type]  # it checks what came
    if settled.ndim != len(shape):
        raise ShapeError(f"expected {name} of shape {shape}, got {settled.shape}")
    return settled


def _bounded(
    value: FloatArray, name: str, low: float, high: float = np.inf, above: float = -np.inf
) -> FloatArray:
    if not np.all((value >= low) & (value <= high) & (value > above)):
        bound = f"above {above:g}" if above > low else f"of {low:g} or more"
        bound += f", at most {high:g}" if np.isfinite(high) else ""
        raise ValueRangeError(f"expected {name} {bound}, got {value.tolist()}")
    return value


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

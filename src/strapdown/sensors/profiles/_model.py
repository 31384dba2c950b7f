"""Rules that derive an error model from the figures of a sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.errors import ValueRangeError
from strapdown.sensors.spec import TriadSpec, TurnOn
from strapdown.sensors.units import (
    bias_instability_from_allan_minimum,
    noise_density_from,
    turn_on_from_limit,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.sensors.profiles.quantities import Number, Quantity, TriadSheet
    from strapdown.sensors.triad import PerAxis
    from strapdown.sensors.units import Limit

__all__ = ["PARAMETERS", "density_of", "model", "without_white_noise"]

PARAMETERS: dict[str, tuple[str, ...]] = {
    "noise_density": ("noise_density", "angle_random_walk", "velocity_random_walk"),
    "bias_random_walk": ("bias_random_walk",),
    "bias_instability": ("bias_instability",),
    "rate_ramp": (),
    "turn_on_bias": ("zero_offset",),
    "turn_on_scale": ("scale_tolerance",),
    "turn_on_misalignment": ("misalignment",),
    "g_sensitivity": ("g_sensitivity",),
    "g_squared_sensitivity": (),
    "quadratic": ("quadratic",),
    "cubic": (),
    "temperature": (
        "zero_offset_per_temperature",
        "zero_offset_over_temperature",
        "scale_per_temperature",
        "scale_over_temperature",
    ),
    "measurement_range": ("range",),
    "element_range": (),
    "resolution": ("resolution", "bits"),
    "bits": ("bits",),
    "bandwidth": ("bandwidth",),
}
"""The parameters of a triad that may be unknown, and the figures of a sheet that determine them."""

UNUSED = {
    "g_sensitivity": "printed as a magnitude, without the nine signs and sizes",
    "temperature": "printed as a magnitude, without sign",
    "bandwidth": "printed without the order of the filter",
}
"""Parameters that a sheet mentions without a usable figure."""


def model(
    sheet: TriadSheet, chosen_range: float | None, unstated_limits: Limit | str | None
) -> tuple[TriadSpec, dict[str, str]]:
    """Return the error model of a triad, and why parameters are unknown although numbers exist."""
    why = {
        parameter: reason
        for parameter, reason in UNUSED.items()
        if any(getattr(sheet, number) for number in PARAMETERS[parameter])
    }

    def turn_on(parameter: str, quantity: Quantity | None) -> TurnOn | None:
        if quantity is None:
            return None
        meaning = quantity.meaning or unstated_limits
        if meaning is None:
            why[parameter] = f"the source does not say what {quantity} means: 1sigma, 3sigma or max"
            return None
        return turn_on_from_limit(_axes(quantity.si), meaning)

    density = density_of(sheet.white_noise) if sheet.white_noise else None
    walk = _axes(sheet.bias_random_walk.si) if sheet.bias_random_walk else None
    try:
        flicker = _flicker(sheet, density, walk)
    except ValueRangeError as error:
        flicker, why["bias_instability"] = None, str(error)
    full_scale = _choose_range(sheet, chosen_range)
    resolution = _resolution(sheet, full_scale)
    triad = TriadSpec(
        noise_density=density,
        bias_random_walk=walk,
        bias_instability=flicker,
        turn_on_bias=turn_on("turn_on_bias", sheet.zero_offset),
        turn_on_scale=turn_on("turn_on_scale", sheet.scale_tolerance),
        turn_on_misalignment=turn_on("turn_on_misalignment", sheet.misalignment),
        quadratic=_axes(sheet.quadratic.si) if sheet.quadratic else None,
        measurement_range=full_scale,
        resolution=resolution,
        bits=int(sheet.bits.settings[0]) if sheet.bits and resolution else None,
    )
    return triad, why


def density_of(quantity: Quantity) -> PerAxis:
    """Return the noise density N of a printed density, or of a random walk."""
    unit, sided = quantity.unit, quantity.sided
    if sided is None:  # a random walk
        return _axes(quantity.si)
    return _each(lambda value: noise_density_from(value, unit, sided=sided), _axes(quantity.value))


def without_white_noise(triad: TriadSpec) -> str | None:
    """Return the consequence of a white noise that is unknown."""
    if triad.noise_density is not None:
        return None
    if triad == TriadSpec():
        return "no errors are known, so it is ideal"
    return (
        "no white noise is known, so its samples are quieter than those of the part: "
        "set noise_density"
    )


def _flicker(sheet: TriadSheet, density: PerAxis | None, walk: PerAxis | None) -> PerAxis | None:
    if sheet.flicker_coefficient:
        return _axes(sheet.flicker_coefficient.si)
    if sheet.bias_instability is None:
        return None
    if walk is not None and density is None:
        raise ValueRangeError(
            "the Allan minimum holds white noise and random walk, and white noise is unknown"
        )
    minimum = _axes(sheet.bias_instability.si)
    return _each(bias_instability_from_allan_minimum, minimum, density or 0.0, walk or 0.0)


def _choose_range(sheet: TriadSheet, chosen: float | None) -> float | None:
    if sheet.range is None:
        return chosen
    low, high = min(sheet.range.settings), max(sheet.range.settings)
    if chosen is None:
        return high
    if not low * (1.0 - 1e-9) <= chosen <= high * (1.0 + 1e-9):
        raise ValueRangeError(f"expected a range from {low:g} to {high:g}, got {chosen:g}")
    return chosen


def _resolution(sheet: TriadSheet, full_scale: float | None) -> float | None:
    """Return the step of the range; steps grow with ranges."""
    if full_scale and sheet.resolution and sheet.range:
        return max(sheet.resolution.settings) * full_scale / max(sheet.range.settings)
    if sheet.resolution:
        return max(sheet.resolution.settings)
    if full_scale and sheet.bits:
        return float(full_scale * 2.0 ** (1.0 - sheet.bits.settings[0]))
    return None


def _axes(value: Number) -> PerAxis:
    return (value[0], value[1], value[2]) if isinstance(value, tuple) else value


def _each(function: Callable[..., float], *values: PerAxis) -> PerAxis:
    """Call a function with the numbers of each axis; once where there is one for all."""
    if not any(isinstance(value, tuple) for value in values):
        return function(*values)
    axes = [value if isinstance(value, tuple) else (value,) * 3 for value in values]
    x, y, z = (function(*numbers) for numbers in zip(*axes, strict=True))
    return x, y, z

"""The temperature of a sensor over a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.sensors._tables import increasing, like

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["TemperatureProfile", "temperature_table"]

Ambient: TypeAlias = "Callable[[FloatArray], ArrayLike]"


@dataclass(frozen=True)
class TemperatureProfile:
    """Ambient temperature, and the sensor's own heat.

    The sensor is warmer than its surroundings by ``self_heating_K (1 - exp(-t/tau))``, where t
    counts from ``power_on_s``.

    Parameters
    ----------
    ambient : float or callable
        Constant [degC], or a function of the instants (N,) [s] that gives (N,) or one value [degC],
        such as a :func:`temperature_table`.
    self_heating_K : float
        Final temperature rise [K].
    time_constant_s : float
        tau [s].
    power_on_s : float
        Instant at which it begins [s].

    Raises
    ------
    ValueRangeError
        A number is not finite, or the time constant is not positive.
    """

    ambient: float | Ambient = 25.0
    self_heating_K: float = 0.0  # noqa: N815 (the unit)
    time_constant_s: float = 300.0
    power_on_s: float = 0.0

    def __post_init__(self) -> None:
        names = ["self_heating_K", "power_on_s"]
        for name in names if callable(self.ambient) else ["ambient", *names]:
            like(getattr(self, name), name, ())
        if not 0.0 < self.time_constant_s < math.inf:
            raise ValueRangeError(f"expected time_constant_s above 0, got {self.time_constant_s}")

    def at(self, t_s: ArrayLike) -> FloatArray:
        """Return the temperature (N,) [degC] at the instants ``t_s`` (N,) [s].

        Raises
        ------
        ShapeError
            The function of the ambient temperature gives another shape.
        ValueRangeError
            An instant, or a value of the function, is not finite.
        """
        instants = as_finite(t_s, "t_s", ())
        ambient = self.ambient(instants) if callable(self.ambient) else self.ambient
        degrees = as_finite(ambient, "ambient", ())
        if degrees.shape not in {(), instants.shape}:
            raise ShapeError(f"expected ambient of shape {instants.shape}, got {degrees.shape}")
        warm = np.maximum(instants - self.power_on_s, 0.0) / self.time_constant_s
        return degrees - self.self_heating_K * np.expm1(-warm)


def temperature_table(t_s: ArrayLike, temperature_degC: ArrayLike) -> Ambient:
    """Return an ambient temperature that is linear between instants, and constant outside.

    Parameters
    ----------
    t_s : (N,)
        Strictly increasing [s].
    temperature_degC : (N,)
        [degC].

    Raises
    ------
    ShapeError
        The two are not of one shape (N,).
    ValueRangeError
        A value is not finite, or the instants do not increase.
    """
    nodes = increasing(t_s, "t_s").copy()
    degrees = like(temperature_degC, "temperature_degC", nodes.shape).copy()
    return partial(np.interp, xp=nodes, fp=degrees)

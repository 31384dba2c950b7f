"""The numbers of a data sheet, as printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from strapdown.sensors.units import UNITS, Limit, Sided

__all__ = ["DeviceSheet", "Number", "Quantity", "TriadSheet"]

Number: TypeAlias = float | tuple[float, ...]


@dataclass(frozen=True)
class Quantity:
    """One number of a sheet, as printed.

    Parameters
    ----------
    value : float or tuple of float
        In ``unit``. Several are the axes x, y, z; or, of ranges, bandwidths and the like, the
        settings from the smallest to the largest.
    unit : str
        Such as ``"deg/s/sqrt(Hz)"``.
    kind : str
        Kind of quantity, a key of :data:`strapdown.sensors.units.UNITS`.
    sided : {"one", "two"}, optional
        Of a density.
    meaning : Limit, optional
        Of a plus-minus figure; None where the source does not state it.
    condition : {"typ", "max"}, optional
        The column of the sheet.
    largest : float, optional
        The figure of the column ``max`` next to a typical one, in ``unit``.
    at : str, optional
        Conditions in words, such as ``"10 Hz"``.
    source, page : str, optional
        Place of the figure.
    grade : {"P", "S"}, optional
        P the maker's own document, S anything else.
    """

    value: Number
    unit: str
    kind: str
    sided: Sided | None = None
    meaning: Limit | None = None
    condition: str | None = None
    largest: float | None = None
    at: str | None = None
    source: str | None = None
    page: str | None = None
    grade: str | None = None

    @property
    def si(self) -> Number:
        """The value in SI units."""
        factor = UNITS[self.kind][self.unit]
        if isinstance(self.value, tuple):
            return tuple(value * factor for value in self.value)
        return self.value * factor

    @property
    def settings(self) -> tuple[float, ...]:
        """The values in SI units, as a tuple even where there is one."""
        return self.si if isinstance(self.si, tuple) else (self.si,)

    def __str__(self) -> str:
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        text = f"{', '.join(f'{value:g}' for value in values)} {self.unit}"
        return text if self.largest is None else f"{text} (max {self.largest:g})"


@dataclass(frozen=True)
class TriadSheet:
    """Figures of a sheet for three gyros, accelerometers or magnetometers.

    Parameters
    ----------
    range : Quantity, optional
        Full scale, of each setting.
    output_rate : Quantity, optional
        The largest.
    bandwidth : Quantity, optional
        -3 dB frequency of each setting, or of the smallest and the largest.
    resolution : Quantity, optional
        One least significant bit, of each range.
    bits : Quantity, optional
        Width of the output code.
    noise_density : Quantity, optional
        Spectral density of white noise.
    noise_rms : Quantity, optional
        Total noise in a bandwidth.
    angle_random_walk, velocity_random_walk : Quantity, optional
        White noise of gyros and of accelerometers, from the Allan curve.
    bias_instability : Quantity, optional
        The lowest point of the Allan curve.
    flicker_coefficient : Quantity, optional
        B of IEEE Std 952, where the sheet gives it directly.
    bias_random_walk : Quantity, optional
        K, from the rising end of the Allan curve.
    zero_offset : Quantity, optional
        Bias of a new or of a restarted part.
    zero_offset_over_temperature, zero_offset_per_temperature : Quantity, optional
        Its change over the range of temperature, or for each kelvin.
    scale_tolerance : Quantity, optional
        Error of the scale factor.
    scale_over_temperature, scale_per_temperature : Quantity, optional
        Its change.
    misalignment : Quantity, optional
        Of axes; in %, cross-axis sensitivity.
    g_sensitivity : Quantity, optional
        Rate error for each unit of specific force, a magnitude.
    quadratic : Quantity, optional
        Coefficient of f^2 of accelerometers.
    unknown : tuple of (str, str)
        Names of figures that are missing, with the reason.
    """

    range: Quantity | None = None
    output_rate: Quantity | None = None
    bandwidth: Quantity | None = None
    resolution: Quantity | None = None
    bits: Quantity | None = None
    noise_density: Quantity | None = None
    noise_rms: Quantity | None = None
    angle_random_walk: Quantity | None = None
    velocity_random_walk: Quantity | None = None
    bias_instability: Quantity | None = None
    flicker_coefficient: Quantity | None = None
    bias_random_walk: Quantity | None = None
    zero_offset: Quantity | None = None
    zero_offset_over_temperature: Quantity | None = None
    zero_offset_per_temperature: Quantity | None = None
    scale_tolerance: Quantity | None = None
    scale_over_temperature: Quantity | None = None
    scale_per_temperature: Quantity | None = None
    misalignment: Quantity | None = None
    g_sensitivity: Quantity | None = None
    quadratic: Quantity | None = None
    unknown: tuple[tuple[str, str], ...] = ()

    @property
    def white_noise(self) -> Quantity | None:
        """Figure for the white noise of the model: the random walk, else the density."""
        return self.angle_random_walk or self.velocity_random_walk or self.noise_density


@dataclass(frozen=True)
class DeviceSheet:
    """Figures of a sheet for the part as a whole.

    Parameters
    ----------
    tick : Quantity, optional
        Step of the counter that stamps samples.
    tick_bits : Quantity, optional
        Width of the counter.
    unknown : tuple of (str, str)
        Names of figures that are missing, with the reason.
    """

    tick: Quantity | None = None
    tick_bits: Quantity | None = None
    unknown: tuple[tuple[str, str], ...] = ()

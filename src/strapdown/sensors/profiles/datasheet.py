"""A data sheet as frozen numbers, and the error model that follows from it by written rules."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeAlias

from strapdown.errors import ValueRangeError
from strapdown.sensors.profiles._model import PARAMETERS, model
from strapdown.sensors.spec import Clock, ImuSpec
from strapdown.sensors.units import UNITS, Limit, Sided

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

__all__ = ["NOT_GIVEN", "Datasheet", "DeviceSheet", "Quantity", "TriadSheet"]

NOT_GIVEN = "not given"
"""Why a parameter is unknown of which the sheet has nothing."""

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
        What it is a number of, a key of :data:`strapdown.sensors.units.UNITS`.
    sided : {"one", "two"}, optional
        Of a density.
    meaning : Limit, optional
        Of a plus-minus figure; None where the source does not say.
    condition : {"typ", "max"}, optional
        The column of the sheet.
    largest : float, optional
        The figure of the column ``max`` beside a typical one, in ``unit``.
    at : str, optional
        Conditions in words, such as ``"10 Hz"``.
    source, page : str, optional
        Where it stands.
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
    """What a sheet says of three gyros, accelerometers or magnetometers.

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
        B of IEEE Std 952, where that is what the sheet gives.
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
        Names of numbers that are not here, with the reason why.
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
        """What the model's white noise is made of: the random walk, else the density."""
        return self.angle_random_walk or self.velocity_random_walk or self.noise_density


@dataclass(frozen=True)
class DeviceSheet:
    """What a sheet says of the part as a whole.

    Parameters
    ----------
    tick : Quantity, optional
        Step of the counter that stamps samples.
    tick_bits : Quantity, optional
        Width of the counter.
    unknown : tuple of (str, str)
        Names of numbers that are not here, with the reason why.
    """

    tick: Quantity | None = None
    tick_bits: Quantity | None = None
    unknown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Datasheet:
    """A part: every number that is known of it, with its source.

    Parameters
    ----------
    name, maker : str
    gyro, accel : TriadSheet
    mag : TriadSheet, optional
        None is a part without magnetometer, or one of whose magnetometer nothing is known.
    device : DeviceSheet
    notes : tuple of str
        What a reader should know.
    """

    name: str
    maker: str = ""
    gyro: TriadSheet = TriadSheet()
    accel: TriadSheet = TriadSheet()
    mag: TriadSheet | None = None
    device: DeviceSheet = DeviceSheet()
    notes: tuple[str, ...] = ()

    def quantities(self) -> Iterator[tuple[str, Quantity]]:
        """Yield every number by its dotted name, such as ``gyro.noise_density``."""
        for part in ("gyro", "accel", "mag", "device"):
            sheet = getattr(self, part)
            for field in fields(sheet) if sheet else ():
                if isinstance(quantity := getattr(sheet, field.name), Quantity):
                    yield f"{part}.{field.name}", quantity

    def unsourced(self) -> tuple[str, ...]:
        """Return the dotted names of the numbers that stand without a source."""
        return tuple(name for name, quantity in self.quantities() if quantity.source is None)

    def spec(
        self,
        *,
        rate_hz: float | Fraction = 200,
        gyro_range: float | None = None,
        accel_range: float | None = None,
        unstated_limits: Limit | str | None = None,
    ) -> ImuSpec:
        """Return the error model that the numbers give, and nothing that they do not give.

        White noise comes from the angle or velocity random walk where there is one, else from the
        density by its sidedness (divided by sqrt(2) where one-sided). Flicker noise comes from
        the lowest point of the Allan curve, less what white noise and random walk have there.
        A plus-minus figure becomes a turn-on value by its stated meaning. The resolution is that
        of the range, or the range and the width of the code. Sensitivities to temperature and to
        specific force are printed as magnitudes, and bandwidths without the order of the filter:
        they are not used. What stays off is in ``spec.missing()``, and why in :meth:`unknown`.

        Parameters
        ----------
        rate_hz : float or Fraction
            Output samples a second.
        gyro_range, accel_range : float, optional
            The full scale [rad/s], [m/s^2]; the largest by default.
        unstated_limits : {"1sigma", "3sigma", "max"}, optional
            What plus-minus figures without a stated meaning are taken for; left off by default.

        Returns
        -------
        ImuSpec

        Raises
        ------
        ValueRangeError
            The part has no such rate or range.
        UnknownNameError
            ``unstated_limits`` is none of these.
        """
        ranges = {"gyro": gyro_range, "accel": accel_range, "mag": None}
        triads = {
            name: model(sheet, ranges[name], unstated_limits)[0]
            for name, sheet in self._triads().items()
        }
        for name, sheet in self._triads().items():
            if sheet.output_rate and rate_hz > (most := max(sheet.output_rate.settings)):
                raise ValueRangeError(
                    f"expected a rate of at most {most:g} Hz, which the {name} of {self.name} "
                    f"has, got {float(rate_hz):g} Hz"
                )
        tick, tick_bits = self.device.tick, self.device.tick_bits
        return ImuSpec(
            name=self.name,
            rate_hz=rate_hz,
            gyro=triads["gyro"],
            accel=triads["accel"],
            mag=triads.get("mag"),
            clock=Clock(
                tick_s=tick.settings[0] if tick else None,
                tick_bits=int(tick_bits.settings[0]) if tick and tick_bits else None,
            ),
        )

    def unknown(self, *, unstated_limits: Limit | str | None = None) -> dict[str, str]:
        """Return why each parameter that ``spec().missing()`` lists is unknown.

        Parameters
        ----------
        unstated_limits : {"1sigma", "3sigma", "max"}, optional
            As for :meth:`spec`.
        """
        reasons = {}
        for name, sheet in self._triads().items():
            triad, why = model(sheet, None, unstated_limits)
            stated = dict(sheet.unknown)
            for parameter, numbers in PARAMETERS.items():
                of_gyros = parameter.startswith("g_")
                if getattr(triad, parameter) is None and (name == "gyro" or not of_gyros):
                    said = "; ".join(stated[number] for number in numbers if number in stated)
                    reasons[f"{name}.{parameter}"] = why.get(parameter) or said or NOT_GIVEN
        return reasons

    def _triads(self) -> dict[str, TriadSheet]:
        named = {"gyro": self.gyro, "accel": self.accel, "mag": self.mag}
        return {name: sheet for name, sheet in named.items() if sheet is not None}

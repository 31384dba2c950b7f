"""A data sheet as frozen figures, and the error model derived from it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from strapdown.errors import ValueRangeError
from strapdown.sensors.profiles._model import PARAMETERS, model, without_white_noise
from strapdown.sensors.profiles.quantities import DeviceSheet, Quantity, TriadSheet
from strapdown.sensors.spec import Clock, ImuSpec, WhiteNoiseWarning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from strapdown.sensors.units import Limit

__all__ = ["ASSUMED_READING", "NOT_GIVEN", "Datasheet"]

NOT_GIVEN = "not given"
"""Reason for an unknown parameter that the sheet does not mention."""
ASSUMED_READING = "assumed: the sheet does not state it, and a real part may differ by sqrt(2)"
"""Reason for the sidedness of a density for which there is no evidence."""
READINGS = {"one": "one-sided, N = density / sqrt(2)", "two": "two-sided, N = density"}


@dataclass(frozen=True)
class Datasheet:
    """A part: every number that is known of it, with its source.

    Parameters
    ----------
    name, maker : str
    gyro, accel : TriadSheet
    mag : TriadSheet, optional
        None for a part without magnetometer, or without figures for it.
    device : DeviceSheet
    notes : tuple of str
        Remarks for the reader.
    density_reading : str
        Evidence for the sidedness of the densities; empty where it is assumed.
    """

    name: str
    maker: str = ""
    gyro: TriadSheet = field(default_factory=TriadSheet)
    accel: TriadSheet = field(default_factory=TriadSheet)
    mag: TriadSheet | None = None
    device: DeviceSheet = field(default_factory=DeviceSheet)
    notes: tuple[str, ...] = ()
    density_reading: str = ""

    def quantities(self) -> Iterator[tuple[str, Quantity]]:
        """Yield every number by its dotted name, such as ``gyro.noise_density``."""
        for part in ("gyro", "accel", "mag", "device"):
            sheet = getattr(self, part)
            for number in fields(sheet) if sheet else ():
                if isinstance(quantity := getattr(sheet, number.name), Quantity):
                    yield f"{part}.{number.name}", quantity

    def unsourced(self) -> tuple[str, ...]:
        """Return the dotted names of the numbers without a source."""
        return tuple(name for name, quantity in self.quantities() if quantity.source is None)

    def readings(self) -> dict[str, str]:
        """Return the sidedness by which each density is read, with the evidence for it."""
        readings = {}
        for name, sheet in self._triads().items():
            density = sheet.noise_density
            if density is not None and density.sided is not None:
                used = "" if sheet.white_noise is density else " (not used: the random walk is)"
                reason = self.density_reading or ASSUMED_READING
                readings[f"{name}.noise_density"] = f"{READINGS[density.sided]}{used}: {reason}"
        return readings

    def spec(
        self,
        *,
        rate_hz: float | Fraction = 200,
        gyro_range: float | None = None,
        accel_range: float | None = None,
        unstated_limits: Limit | str | None = None,
    ) -> ImuSpec:
        """Return the error model that follows from the figures, without assumptions beyond them.

        White noise comes from the angle or velocity random walk where there is one, else from the
        density by its sidedness (divided by sqrt(2) where one-sided). Flicker noise comes from
        the lowest point of the Allan curve, less the contribution of white noise and random walk.
        A plus-minus figure becomes a turn-on value by its stated meaning. The resolution is that
        of the range, or the range and the width of the code. Sensitivities to temperature and to
        specific force are printed as magnitudes, and bandwidths without the order of the filter:
        they are not used. Terms that stay off are in ``spec.missing()``, the reasons in
        :meth:`unknown`.

        Parameters
        ----------
        rate_hz : float or Fraction
            Output samples a second.
        gyro_range, accel_range : float, optional
            The full scale [rad/s], [m/s^2]; the largest by default.
        unstated_limits : {"1sigma", "3sigma", "max"}, optional
            Meaning of plus-minus figures that do not state it; their terms are off by default.

        Returns
        -------
        ImuSpec

        Warns
        -----
        WhiteNoiseWarning
            A triad has no white noise, so its samples are quieter than those of the part.

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
        for name, triad in triads.items():
            if lacks := without_white_noise(triad):
                warnings.warn(f"{self.name}: {name}: {lacks}", WhiteNoiseWarning, stacklevel=2)
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
        """Return the reason why each parameter in ``spec().missing()`` is unknown.

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

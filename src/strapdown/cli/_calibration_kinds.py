"""Procedures of ``strapdown calibrate`` by name: what each needs, how it runs, its figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from strapdown import calibration as procedures
from strapdown import plots
from strapdown.errors import FormatError

if TYPE_CHECKING:
    from strapdown.calibration import (
        ImuCalibration,
        MagnetometerAlignment,
        MagnetometerFit,
        PoseCalibration,
        RestCalibration,
        TemperatureCalibration,
        TemperatureReadings,
    )
    from strapdown.series import ImuSeries

__all__ = ["KINDS", "Hemisphere", "Options"]


class Result(Protocol):
    """Result of a procedure."""

    @property
    def calibration(self) -> ImuCalibration:
        """The calibration."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Findings, each with the next step."""

    def lines(self) -> list[str]:
        """Return the report for people."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""


class Hemisphere(StrEnum):
    """Half of the Earth, by the dip of its magnetic field."""

    NORTH = "north"
    SOUTH = "south"


@dataclass(frozen=True)
class Options:
    """Options of the verb, in SI units, for every kind.

    Parameters
    ----------
    gravity : float, optional
        [m/s^2].
    latitude, height : float, optional
        [rad], [m].
    initial_still_s : float
        Rest at the beginning [s].
    sections : mapping, optional
        Rows of faces and turns by name.
    turn_deg : float
        Angle of each turn [deg].
    norm : float, optional
        Of the local magnetic field [T].
    hemisphere : Hemisphere, optional
        Where the magnetometer was.
    heading : float, optional
        Of the forward axis at rest, from north towards east [rad].
    temperature : TemperatureReadings, optional
        Of the sensor.
    warm_up_s : float
        Time left out at the start of a recording of temperature [s].
    progress : callable, optional
        Called with the fraction done.
    """

    gravity: float | None = None
    latitude: float | None = None
    height: float | None = None
    initial_still_s: float = 30.0
    sections: Mapping[str, Any] | None = None
    turn_deg: float = 360.0
    norm: float | None = None
    hemisphere: Hemisphere | None = None
    heading: float | None = None
    temperature: TemperatureReadings | None = None
    warm_up_s: float = 60.0
    progress: Callable[[float], object] | None = None


@dataclass(frozen=True)
class Kind:
    """A procedure: what it needs of an IMU, and functions that run and draw it."""

    needs: tuple[str, ...]
    run: Callable[[ImuSeries, Options], Result]
    picture: Callable[..., Any] | None = None


def _multi(series: ImuSeries, options: Options) -> PoseCalibration:
    return procedures.multi_position(
        series,
        gravity=options.gravity,
        latitude=options.latitude,
        height=options.height,
        initial_still_s=options.initial_still_s,
        progress=options.progress,
    )


def _faces(procedure: str) -> Callable[[ImuSeries, Options], PoseCalibration]:
    """Return the call of a procedure that takes faces and turns."""

    def run(series: ImuSeries, options: Options) -> PoseCalibration:
        result: PoseCalibration = getattr(procedures, procedure)(
            series,
            options.sections,
            gravity=options.gravity,
            latitude=options.latitude,
            height=options.height,
            turn_deg=options.turn_deg,
        )
        return result

    return run


def _rest(series: ImuSeries, options: Options) -> RestCalibration:
    return procedures.rest_calibration(
        series, latitude=options.latitude, heading=options.heading, gravity=options.gravity
    )


def _temperature(series: ImuSeries, options: Options) -> TemperatureCalibration:
    if options.temperature is None:
        raise FormatError(
            "expected the temperature of the sensor, the recording has none; pass --temperature "
            "with a CSV file of the columns t_ns or t_s and temperature_c"
        )
    return procedures.temperature_curve(series, options.temperature, warm_up_s=options.warm_up_s)


def _mag(series: ImuSeries, options: Options) -> MagnetometerFit | MagnetometerAlignment:
    """Align the magnetometer by what else was measured: gyro, or poses at rest, or nothing."""
    if not np.isfinite(series.specific_force).any():
        return procedures.ellipsoid(series, norm=options.norm)
    return procedures.align_magnetometer(
        series,
        norm=options.norm,
        method="gyro" if np.isfinite(series.angular_velocity).any() else "poses",
        hemisphere=None if options.hemisphere is None else options.hemisphere.value,
    )


def _draw_mag(series: ImuSeries, result: Result, title: str) -> Any:  # noqa: ANN401 (a figure)
    return plots.plot_magnetometer(series, result.calibration, title=title)


def _draw_temperature(series: ImuSeries, result: TemperatureCalibration, title: str) -> Any:  # noqa: ANN401, ARG001
    return plots.plot_temperature(result, title=title)


def _draw_poses(series: ImuSeries, result: PoseCalibration, title: str) -> Any:  # noqa: ANN401 (a figure)
    return plots.plot_calibration(series, result, title=title)


_BOTH: Final = ("specific_force", "angular_velocity")
KINDS: Final[Mapping[str, Kind]] = {
    "multi": Kind(_BOTH, _multi, _draw_poses),
    "six": Kind(_BOTH, _faces("six_position"), _draw_poses),
    "ferraris": Kind(_BOTH, _faces("ferraris"), _draw_poses),
    "mag": Kind((), _mag, _draw_mag),
    "rest": Kind(_BOTH, _rest),
    "temperature": Kind(_BOTH, _temperature, _draw_temperature),
}
"""Procedures by the name of ``--kind``."""

"""Option ``--declination``: an angle, a place and date, or what a log knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from strapdown.errors import FormatError
from strapdown.estimation import magnetic_declination
from strapdown.units import NS_PER_S, NS_PER_US, RAD_PER_DEG

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown.estimation import OrientationResult
    from strapdown.formats import Recording
    from strapdown.formats.px4.log import Px4Log
    from strapdown.series import ImuSeries

__all__ = [
    "Declination",
    "DeclinationOption",
    "Source",
    "about_heading",
    "headings",
    "parse_declination",
    "to_north",
]

OPTION: Final = "'--declination'"
FIX_3D: Final = 3
LOOK_UP: Final = 1
"""Bit of EKF2_DECL_TYPE: PX4 takes the declination from its table, at the place of a GNSS fix."""
MODERN_US: Final = 1_000_000_000_000_000
"""Time since 1970 [us], in 2001: an earlier one is no time of a GNSS receiver."""

DeclinationOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--declination",
        metavar="DEG|auto|LAT,LON[,DATE]",
        help="Refer heading to true north: degrees east, that of a PX4 or ArduPilot log, or by "
        "the World Magnetic Model at a place [deg] and date (default: of the recording).",
    ),
]


@dataclass(frozen=True)
class Declination:
    """A declination [rad, east] and its origin, in words."""

    angle: float
    origin: str

    def __str__(self) -> str:
        degrees = self.angle / RAD_PER_DEG
        return f"{abs(degrees):.2f} deg {'east' if degrees >= 0.0 else 'west'} ({self.origin})"


Source: TypeAlias = Callable[["Recording", "ImuSeries"], Declination | None]


def to_north(result: OrientationResult, north: Declination | None) -> OrientationResult:
    """Return a result whose heading refers to true north, if there is a declination."""
    return result if north is None else result.to_true_north(north.angle)


def headings(
    result: OrientationResult, north: Declination | None, *, unknown: int | None = None
) -> str:
    """Return what heading refers to, and the rows without one, in words.

    ``unknown`` is the number of these rows where the result is the last of several.
    """
    if not result.uses_magnetic_field:
        return "heading relative to the start"
    words = "magnetic north" if north is None else f"true north: declination {north}"
    if unknown is None:
        unknown = about_heading(result)["attitudes_without_heading"]
    gone = f"; {unknown} attitudes before the first magnetic field are NaN" if unknown else ""
    return words + gone


def about_heading(result: OrientationResult) -> dict[str, Any]:
    """Return what heading refers to, and the rows without one, for JSON."""
    angle, known = result.declination, result.heading_known
    return {
        "declination_deg": None if angle is None else angle / RAD_PER_DEG,
        "attitudes_without_heading": 0 if known is None else int((~known).sum()),
    }


def parse_declination(text: str | None, *, no_mag: bool) -> Source:
    """Return a function of a recording that finds the declination the option asks for.

    Raises
    ------
    BadParameter
        The text is none of the forms, or there is one and no magnetometer.
    """
    if text is None:
        return lambda _recording, _series: None
    if no_mag:
        raise typer.BadParameter("does not go with --no-mag", param_hint=OPTION)
    if text == "auto":
        return lambda recording, _series: _of_log(recording)
    match text.split(","):
        case [degrees]:
            angle = _number(degrees, 180.0, text) * RAD_PER_DEG
            return lambda _recording, _series: Declination(angle, "given")
        case [latitude, longitude, *day] if len(day) < 2:
            place = _number(latitude, 90.0, text), _number(longitude, 360.0, text)
            when = _day(day[0], text) if day else None
            return lambda recording, series: _at(*place, when or _day_of(recording, series))
    raise _bad(text)


def _number(text: str, most: float, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _bad(whole) from None
    if not abs(value) <= most:
        raise _bad(whole)
    return value


def _day(text: str, whole: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise _bad(whole) from None


def _bad(text: str) -> typer.BadParameter:
    return typer.BadParameter(
        "expected degrees east (such as 3.5, at most 180), auto, or latitude and longitude [deg] "
        f"and a date (such as 47.4,8.5,2024-06-30), got {text!r}",
        param_hint=OPTION,
    )


def _at(latitude: float, longitude: float, day: date) -> Declination:
    """Return the declination at a place [deg]."""
    angle = magnetic_declination(latitude * RAD_PER_DEG, longitude * RAD_PER_DEG, day)
    return Declination(angle, f"World Magnetic Model at {latitude:.4f}, {longitude:.4f} on {day}")


def _day_of(recording: Recording, series: ImuSeries) -> date:
    """Return the date of the first sample."""
    if not (recording.knows_1970 and len(series)):
        raise FormatError(
            f"expected the date of the recording for {OPTION}, its stamps count from another "
            "instant than 1970; add the date: LAT,LON,YYYY-MM-DD",
            path=recording.path,
        )
    return _utc(int(series.t_ns[0]) + (recording.clock_offset_ns or 0))


def _utc(since_1970_ns: int) -> date:
    return datetime.fromtimestamp(since_1970_ns / NS_PER_S, UTC).date()


def _of_log(recording: Recording) -> Declination:
    """Return the declination by position or parameters of an autopilot's log."""
    if recording.log is not None:
        return _of_px4(recording, recording.log)
    if recording.report.format == "dataflash":
        return _of_ardupilot(recording)
    raise FormatError(
        f"expected a PX4 or ArduPilot log for {OPTION} auto, got {recording.report.format}; give "
        "degrees, or LAT,LON,YYYY-MM-DD",
        path=recording.path,
    )


def _of_px4(recording: Recording, log: Px4Log) -> Declination:
    """Return what PX4 uses: its table at a GNSS fix if it looks up, otherwise its parameter.

    The World Magnetic Model replaces the table.
    """
    kind, known = (log.parameters.get(f"EKF2_{name}") for name in ("DECL_TYPE", "MAG_DECL"))
    looks_up = kind is None or bool(int(kind) & LOOK_UP)
    if looks_up:
        for name in ("vehicle_gps_position", "sensor_gps"):
            for instance in log.instances(name):
                fix = _px4_fix(log.rows(name, instance), recording.clock_offset_ns)
                if fix is not None:
                    return _at(*fix)
    return _parameter(recording, "EKF2_MAG_DECL", known, 1.0, is_fixed=not looks_up)


def _px4_fix(rows: NDArray[Any], clock_offset_ns: int | None) -> tuple[float, float, date] | None:
    """Return position [deg] and date of the first fix."""
    names = rows.dtype.names or ()
    fixed = rows[rows["fix_type"] >= FIX_3D] if "fix_type" in names else rows[:0]
    if not len(fixed):
        return None
    first = fixed[0]
    if "latitude_deg" in names:
        place = float(first["latitude_deg"]), float(first["longitude_deg"])
    else:
        place = 1e-7 * float(first["lat"]), 1e-7 * float(first["lon"])
    if first["time_utc_usec"] > MODERN_US:
        return *place, _utc(int(first["time_utc_usec"]) * NS_PER_US)
    if clock_offset_ns is None:
        return None
    return *place, _utc(int(first["timestamp"]) * NS_PER_US + clock_offset_ns)


def _of_ardupilot(recording: Recording) -> Declination:
    """Return what ArduPilot uses: by its position if COMPASS_AUTODEC, otherwise COMPASS_DEC."""
    from strapdown.formats.dataflash.records import Records  # noqa: PLC0415 (few need it)

    records = Records(recording.path.read_bytes(), path=recording.path, salvage=True)
    parameters: dict[bytes, float] = {}
    if "PARM" in records.layouts:
        rows = records.rows("PARM")
        values, _ = records.column("PARM", rows, "Value")
        parameters = dict(zip(rows["Name"].tolist(), values.tolist(), strict=True))
    looks_up = parameters.get(b"COMPASS_AUTODEC", 1.0) != 0.0
    if looks_up and recording.clock_offset_ns is not None and "GPS" in records.layouts:
        rows = records.rows("GPS")
        rows = rows[rows["Status"] >= FIX_3D]
        if len(rows):
            latitude, longitude = (
                float(records.column("GPS", rows[:1], name)[0][0]) for name in ("Lat", "Lng")
            )
            at_ns = int(rows["TimeUS"][0]) * NS_PER_US + recording.clock_offset_ns
            return _at(latitude, longitude, _utc(at_ns))
    known = parameters.get(b"COMPASS_DEC")
    return _parameter(recording, "COMPASS_DEC", known, 1.0 / RAD_PER_DEG, is_fixed=not looks_up)


def _parameter(
    recording: Recording, name: str, value: float | None, degrees: float, *, is_fixed: bool
) -> Declination:
    """Return the declination by a parameter; its default of 0 counts only where it is fixed."""
    angle = math.nan if value is None else degrees * float(value) * RAD_PER_DEG
    if not math.isfinite(angle) or (angle == 0.0 and not is_fixed):
        raise FormatError(
            f"expected a GNSS fix with a date or {name} for {OPTION} auto, the log has neither; "
            "give degrees, or LAT,LON,YYYY-MM-DD",
            path=recording.path,
        )
    return Declination(angle, f"{name} of the log")

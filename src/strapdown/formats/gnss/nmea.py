"""Logs of NMEA 0183, the sentences of GNSS receivers.

=========  ====================================================================================
sentence   gives
=========  ====================================================================================
``GGA``    position, kind of fix, satellites; altitude as the sum of that above mean sea level and
           the separation of the geoid
``RMC``    date; velocity in the plane
``GST``    standard deviations of the position
``VTG``    velocity in the plane, where there is no RMC
``HDT``,   heading of the vehicle
``THS``
``ZDA``    date
=========  ====================================================================================

Sentences of one time of day are one fix; those without a time belong to the sentence before them.
The vertical velocity is unknown, NaN. Where a receiver sends no GST, standard deviations are
approximated as HDOP times the user equivalent range error of the kind of fix, and twice that for
the altitude. The fixes are ``gnss["gnss"]``.

References
----------
NMEA 0183, version 4.11; the range errors are those of ROS's ``nmea_navsat_driver``, except that a
differential fix counts as one of WAAS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import BackendMissingError, ChecksumError, FormatError
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.series import FixType, GnssSeries
from strapdown.units import NS_PER_S, NS_PER_US, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["read", "sniff"]

_FIRST: Final = (b"$G", b"$B", b"$Q")
"""Beginnings of the sentences of receivers: of one system, or of several."""
_KNOWN: Final = ("GGA", "RMC", "GST", "VTG", "HDT", "THS", "ZDA")
_TYPES: Final = {
    1: FixType.FIX_3D,
    2: FixType.DIFFERENTIAL,
    3: FixType.FIX_3D,
    4: FixType.RTK_FIXED,
    5: FixType.RTK_FLOAT,
    6: FixType.DEAD_RECKONING,
}
"""By the quality of GGA."""
_RANGE_ERROR: Final = {
    FixType.FIX_3D: 4.0,
    FixType.DIFFERENTIAL: 3.0,
    FixType.RTK_FLOAT: 4.0,
    FixType.RTK_FIXED: 0.02,
}
"""User equivalent range errors by kind of fix [m]."""
_KNOT: Final = 1852.0 / 3600.0
_HALF_DAY: Final = timedelta(hours=12)


@dataclass
class _Epoch:
    """What the sentences of one time of day give; NaN where they do not."""

    of_day: time
    day: date | None = None
    latitude: float = math.nan
    longitude: float = math.nan
    altitude: float = math.nan
    separation: float = math.nan
    kind: FixType = FixType.NO_FIX
    satellites: int = 0
    dilution: float = math.nan
    sigmas: tuple[float, float, float] | None = None
    velocity: tuple[float, float] | None = None
    heading: float = math.nan

    @property
    def covariance(self) -> Any:  # noqa: ANN401 (a row of the array of numpy)
        """Of the position, by GST or approximated; zeros where neither is possible."""
        sigmas = self.sigmas
        if sigmas is None and self.kind in _RANGE_ERROR and self.dilution > 0.0:
            plane = self.dilution * _RANGE_ERROR[self.kind]
            sigmas = (plane, plane, 2.0 * plane)
        return np.diag(np.square((0.0, 0.0, 0.0) if sigmas is None else sigmas))


@dataclass
class _Log:
    """The epochs of a log as its sentences arrive."""

    epochs: list[_Epoch] = field(default_factory=list)
    sentences: int = 0
    skipped: dict[str, int] = field(default_factory=dict)

    def add(self, sentence: Any) -> None:  # noqa: ANN401 (of a library that may be missing)
        """Take one sentence.

        Raises
        ------
        ValueError
            It is damaged.
        """
        kind = sentence.sentence_type
        if kind not in _KNOWN:
            self.skipped[kind] = self.skipped.get(kind, 0) + 1
            return
        of_day = getattr(sentence, "timestamp", None)
        if isinstance(of_day, str):  # the library passes on what it cannot convert
            raise ValueError(of_day)  # noqa: TRY004 (the text is at fault)
        if of_day is not None and (not self.epochs or self.epochs[-1].of_day != of_day):
            self.epochs.append(_Epoch(of_day))
        if self.epochs:
            getattr(self, f"_take_{kind.lower()}")(self.epochs[-1], sentence)
        self.sentences += 1

    def _take_gga(self, epoch: _Epoch, sentence: Any) -> None:  # noqa: ANN401 (as above)
        epoch.kind = _TYPES.get(int(sentence.gps_qual or 0), FixType.NO_FIX)
        epoch.satellites = int(sentence.num_sats or 0)
        epoch.dilution = _number(sentence.horizontal_dil)
        if epoch.kind >= FixType.FIX_2D and sentence.lat and sentence.lon:
            epoch.latitude, epoch.longitude = sentence.latitude, sentence.longitude
            epoch.altitude = _number(sentence.altitude)
            epoch.separation = _number(sentence.geo_sep)

    def _take_rmc(self, epoch: _Epoch, sentence: Any) -> None:  # noqa: ANN401 (as above)
        if isinstance(sentence.datestamp, date):
            epoch.day = sentence.datestamp
        if sentence.status == "A":
            speed, course = _number(sentence.spd_over_grnd), _number(sentence.true_course)
            epoch.velocity = _plane(speed * _KNOT, course)

    def _take_vtg(self, epoch: _Epoch, sentence: Any) -> None:  # noqa: ANN401 (as above)
        if epoch.velocity is None:
            speed, course = _number(sentence.spd_over_grnd_kmph), _number(sentence.true_track)
            epoch.velocity = _plane(speed / 3.6, course)

    def _take_gst(self, epoch: _Epoch, sentence: Any) -> None:  # noqa: ANN401 (as above)
        names = ("std_dev_longitude", "std_dev_latitude", "std_dev_altitude")
        east, north, up = (_number(getattr(sentence, name)) for name in names)
        if min(east, north, up) > 0.0:
            epoch.sigmas = (east, north, up)

    def _take_hdt(self, epoch: _Epoch, sentence: Any) -> None:  # noqa: ANN401 (as above)
        from_north = RAD_PER_DEG * _number(sentence.heading)
        epoch.heading = math.remainder(math.pi / 2.0 - from_north, math.tau)

    def _take_ths(self, epoch: _Epoch, sentence: Any) -> None:  # noqa: ANN401 (as above)
        if sentence.mode != "V":
            self._take_hdt(epoch, sentence)

    def _take_zda(self, epoch: _Epoch, sentence: Any) -> None:  # noqa: ANN401 (as above)
        if sentence.year and sentence.month and sentence.day:
            epoch.day = date(int(sentence.year), int(sentence.month), int(sentence.day))


class _Heading:
    """``THS``, true heading and status, which the library does not know."""

    sentence_type = "THS"

    def __init__(self, line: str) -> None:
        self.heading, self.mode = (*line.split("*", maxsplit=1)[0].split(",")[1:3], "", "")[:2]


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with sentences of a receiver, also behind stamps of a logger."""
    lines = head.split(b"\n")[:20]
    return sum(any(first in line for first in _FIRST) and b"," in line for line in lines) >= 2


def read(path: Path, *, salvage: bool) -> Recording:
    """Read a log of sentences.

    Parameters
    ----------
    path : Path
        The file. What a line has before ``$``, such as the stamp of a logger, is ignored.
    salvage : bool
        Count damaged sentences and leave them out, instead of raising an error.

    Returns
    -------
    Recording
        ``gnss["gnss"]``, ENU, stamped in UTC.

    Raises
    ------
    BackendMissingError
        The extra ``gnss`` is not installed.
    ChecksumError
        A checksum does not match; the message names the line.
    FormatError
        A sentence is damaged in another way, or none has a position.
    """
    log, lost = _Log(), 0
    for number, line in enumerate(path.read_text("ascii", "replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            _take(log, line)
        except FormatError as error:
            if not salvage:
                what = f'line {number}: {error.message}; on_error="salvage" leaves it out'
                raise type(error)(what, path=path) from None
            lost += 1
    if not any(math.isfinite(epoch.latitude) for epoch in log.epochs):
        raise FormatError(
            f"expected GGA sentences with a position, got none in {log.sentences} sentences",
            path=path,
        )
    notes = tuple(_dated(log.epochs)) + tuple(_notes(log.epochs))
    report = ReadReport("nmea", log.sentences, lost, skipped=log.skipped, notes=notes)
    return Recording(path, report, gnss={"gnss": _fixes(log.epochs)})


def _take(log: _Log, line: str) -> None:
    """Add the sentence of a line to a log.

    Raises
    ------
    ChecksumError, FormatError
        It is damaged.
    """
    library = _library()
    text = line[line.find("$") :].strip() if "$" in line else line
    try:
        log.add(library.parse(text))
    except library.ChecksumError:
        raise ChecksumError(f"expected a checksum that matches, got {text[-40:]!r}") from None
    except library.SentenceTypeError:
        log.add(_Heading(text) if text[3:6] == "THS" else _Other(text))
    except (ValueError, TypeError, AttributeError):
        raise FormatError(f"expected a sentence of NMEA 0183, got {text[:60]!r}") from None


@cache
def _library() -> Any:  # noqa: ANN401 (a module that may be missing)
    try:
        return import_module("pynmea2")
    except ImportError:
        raise BackendMissingError("NMEA", extra="gnss") from None


class _Other:
    """A sentence of another kind."""

    def __init__(self, line: str) -> None:
        self.sentence_type = line[1:].split(",", maxsplit=1)[0][2:] or "?"


def _dated(epochs: list[_Epoch]) -> Iterator[str]:
    """Complete the dates of epochs, from the nearest one before or after; yield a note if none."""
    first = next((k for k, epoch in enumerate(epochs) if epoch.day is not None), None)
    if first is None:
        epochs[0].day = date(1970, 1, 1)
        yield "no sentence has a date: stamps count from the beginning of a day"
        first = 0
    for step, order in ((1, range(first + 1, len(epochs))), (-1, range(first - 1, -1, -1))):
        for k in order:
            near, epoch = epochs[k - step], epochs[k]
            if epoch.day is None and near.day is not None:
                ahead = _since_midnight(epoch) - _since_midnight(near)
                days = (ahead < -_HALF_DAY) - (ahead > _HALF_DAY)
                epoch.day = near.day + timedelta(days=days)


def _since_midnight(epoch: _Epoch) -> timedelta:
    t = epoch.of_day
    return timedelta(hours=t.hour, minutes=t.minute, seconds=t.second, microseconds=t.microsecond)


def _stamp(epoch: _Epoch) -> int:
    """Return time since 1970 [ns]."""
    midnight = datetime.combine(epoch.day or date(1970, 1, 1), time(), UTC)
    since = midnight - datetime(1970, 1, 1, tzinfo=UTC) + _since_midnight(epoch)
    return (since.days * 86_400 + since.seconds) * NS_PER_S + since.microseconds * NS_PER_US


def _fixes(epochs: list[_Epoch]) -> GnssSeries:
    separation = np.nan_to_num([epoch.separation for epoch in epochs])
    plane = [epoch.velocity or (math.nan, math.nan) for epoch in epochs]
    heading = np.array([epoch.heading for epoch in epochs])
    return GnssSeries(
        np.array([_stamp(epoch) for epoch in epochs], np.int64),
        RAD_PER_DEG * np.array([epoch.latitude for epoch in epochs]),
        RAD_PER_DEG * np.array([epoch.longitude for epoch in epochs]),
        np.array([epoch.altitude for epoch in epochs]) + separation,
        np.stack([epoch.covariance for epoch in epochs]),
        velocity_world=np.array([(*each, math.nan) for each in plane]),
        heading=heading if np.isfinite(heading).any() else None,
        fix_type=np.array([epoch.kind for epoch in epochs], np.uint8),
        satellites=np.array([min(epoch.satellites, 255) for epoch in epochs], np.uint8),
    )


def _notes(epochs: list[_Epoch]) -> Iterator[str]:
    fixes = [epoch for epoch in epochs if math.isfinite(epoch.latitude)]
    if any(math.isnan(epoch.separation) for epoch in fixes):
        yield "fixes without the separation of the geoid have the altitude above mean sea level"
    approximated = sum(epoch.sigmas is None for epoch in fixes)
    if approximated:
        yield (
            f"{approximated} of {len(fixes)} fixes have no standard deviations (GST): approximated "
            "from HDOP"
        )


def _number(value: object) -> float:
    """Return a field as a number; NaN where it is empty."""
    try:
        return float(str(value))
    except ValueError:
        return math.nan


def _plane(speed: float, course: float) -> tuple[float, float] | None:
    """Return the velocity along east and north [m/s] of a course from north to east [deg]."""
    if speed == 0.0:
        return 0.0, 0.0
    angle = RAD_PER_DEG * course
    velocity = speed * math.sin(angle), speed * math.cos(angle)
    return velocity if math.isfinite(velocity[0]) else None

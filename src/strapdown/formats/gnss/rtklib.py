"""Solutions of RTKLIB, ``.pos``: latitude, longitude, height, with velocities where it wrote them.

Lines that begin with ``%`` are the header; its last one names the time system and the columns::

    %  GPST            latitude(deg) longitude(deg) height(m) Q ns sdn(m) sde(m) sdu(m) ...
    2025/08/28 17:30:39.749 40.0966916 -105.1471665 1601.4350 1 25 0.0099 0.0099 0.0100 ...

Times are calendar or GPS week and seconds, in GPST or UTC; stamps are UTC since 1970. Standard
deviations of two letters are signed roots of covariances. The fixes are ``gnss["gnss"]``.

References
----------
RTKLIB 2.4.2 manual, appendix B.1, and ``src/solution.c``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.errors import FormatError, UnsupportedError
from strapdown.formats.foreign.stamps import ns_from_iso8601
from strapdown.formats.gnss.leap_seconds import VALID_UNTIL, is_beyond, utc_from_gps
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.series import FixType, GnssSeries
from strapdown.units import RAD_PER_DEG, ns_from_decimal_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from strapdown._typing import FloatArray, IntArray

__all__ = ["read", "sniff"]

_POSITION: Final = ("latitude(deg)", "longitude(deg)", "height(m)")
_VELOCITY: Final = ("ve(m/s)", "vn(m/s)", "vu(m/s)")
_POSITION_SIGMAS: Final = ("sde(m)", "sdn(m)", "sdu(m)", "sdne(m)", "sdun(m)", "sdeu(m)")
_VELOCITY_SIGMAS: Final = ("sdve", "sdvn", "sdvu", "sdvne", "sdvun", "sdveu")
"""Standard deviations of east, north and up, and the signed roots of en, nu and ue."""
_TIMES: Final = ("GPST", "UTC", "JST")
_FOREIGN: Final = {
    "x-ecef(m)": "earth-centred positions",
    "e-baseline(m)": "baselines",
    "latitude(d'\")": "degrees, minutes and seconds",
}
_TYPES: Final = {
    1: FixType.RTK_FIXED,
    2: FixType.RTK_FLOAT,
    3: FixType.DIFFERENTIAL,
    4: FixType.DIFFERENTIAL,
    5: FixType.FIX_3D,
    6: FixType.PPP,
}
"""By the quality of RTKLIB: fix, float, SBAS, DGPS, single, PPP."""
_GPS_EPOCH_NS: Final = 315_964_800 * 10**9
_WEEK_NS: Final = 7 * 86_400 * 10**9
_HEAD_LINE: Final = re.compile(rb"^%\s*(GPST|UTC|JST)[\s,]", re.MULTILINE)


class _Header(NamedTuple):
    """Time system, names of the columns behind the time, and whether heights are geodetic."""

    time: str
    columns: list[str]
    above_geoid: bool


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with the header of RTKLIB."""
    return head.startswith(b"%") and _HEAD_LINE.search(head) is not None


def read(path: Path, *, salvage: bool) -> Recording:
    """Read a solution.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count damaged rows and leave them out, instead of raising an error.

    Returns
    -------
    Recording
        ``gnss["gnss"]``, ENU.

    Raises
    ------
    UnsupportedError
        The positions are no latitude, longitude and height in degrees and metres, or the time is
        JST.
    FormatError
        The header lacks columns, or a row is damaged; the message names the line.
    """
    lines = path.read_text("utf-8", "replace").splitlines()
    header = _header_of(path, lines)
    stamps: list[int] = []
    rows: list[list[float]] = []
    lost = 0
    for number, line in _data(lines):
        try:
            stamp, row = _row(line, len(header.columns))
        except ValueError as error:
            if not salvage:
                raise FormatError(
                    f"expected time and {len(header.columns)} numbers in line {number}, got "
                    f'{line[:60]!r} ({error}); on_error="salvage" leaves it out',
                    path=path,
                ) from None
            lost += 1
        else:
            stamps.append(stamp)
            rows.append(row)
    t_ns = np.array(stamps, np.int64)
    values = np.array(rows).reshape(-1, len(header.columns))
    fixes = _fixes(t_ns, dict(zip(header.columns, values.T, strict=True)), header.time)
    report = ReadReport("rtklib", len(fixes), lost, notes=tuple(_notes(header, fixes)))
    return Recording(path, report, gnss={"gnss": fixes})


def _header_of(path: Path, lines: Sequence[str]) -> _Header:
    """Return the header, after a check of what is supported."""
    comments = [line.lstrip("%").strip() for line in lines if line.startswith("%")]
    named = next((line.replace(",", " ").split() for line in comments if _is_heading(line)), None)
    if named is None:
        raise FormatError(f"expected a line of columns after {' or '.join(_TIMES)}", path=path)
    time, *columns = named
    for name, what in _FOREIGN.items():
        if name in columns:
            raise UnsupportedError(
                f"expected latitude, longitude and height in degrees, got {what} ({name}); have "
                "RTKLIB write out-solformat = llh and out-degform = deg",
                path=path,
            )
    if time == "JST":
        raise UnsupportedError(
            "expected GPST or UTC, got JST; have RTKLIB write out-timesys = gpst", path=path
        )
    missing = [name for name in _POSITION if name not in columns]
    if missing:
        raise FormatError(f"expected the column {missing[0]}, got {' '.join(columns)}", path=path)
    return _Header(time, columns, any("/geodetic" in line for line in comments))


def _is_heading(comment: str) -> bool:
    words = comment.replace(",", " ").split()
    return bool(words) and words[0] in _TIMES


def _data(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines with a solution."""
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("%"):
            yield number, line


def _row(line: str, columns: int) -> tuple[int, list[float]]:
    """Return time [ns], in the system of the file, and numbers of a row.

    Raises
    ------
    ValueError
        Something else is there.
    """
    date, time, *cells = line.replace(",", " ").split()
    if len(cells) != columns:
        raise ValueError(f"{len(cells)} numbers")
    if "/" in date:
        t_ns = ns_from_iso8601(f"{date.replace('/', '-')} {time}")
    else:
        t_ns = _GPS_EPOCH_NS + int(date) * _WEEK_NS + ns_from_decimal_seconds(time)
    return t_ns, [float(cell) for cell in cells]


def _fixes(t_ns: IntArray, columns: dict[str, FloatArray], time: str) -> GnssSeries:
    latitude, longitude, height = (columns[name] for name in _POSITION)
    quality = columns.get("Q")
    types = None
    if quality is not None:
        types = np.array([_TYPES.get(int(q), FixType.NO_FIX) for q in quality], np.uint8)
    velocity = None
    if all(name in columns for name in _VELOCITY):
        velocity = np.stack([columns[name] for name in _VELOCITY], axis=-1)
    satellites = columns.get("ns")
    return GnssSeries(
        utc_from_gps(t_ns) if time == "GPST" else t_ns,
        RAD_PER_DEG * latitude,
        RAD_PER_DEG * longitude,
        height,
        _covariance(columns, _POSITION_SIGMAS, len(t_ns)),
        velocity_world=velocity,
        velocity_covariance=(
            None if velocity is None else _covariance(columns, _VELOCITY_SIGMAS, len(t_ns))
        ),
        fix_type=types,
        satellites=None if satellites is None else satellites.astype(np.uint8),
    )


def _covariance(columns: dict[str, FloatArray], names: Sequence[str], rows: int) -> FloatArray:
    """Return covariances (N, 3, 3) along east, north and up; zeros where they are not written."""
    if not all(name in columns for name in names):
        return np.zeros((rows, 3, 3))
    ee, nn, uu, en, nu, ue = (columns[name] * np.abs(columns[name]) for name in names)
    return np.stack([ee, en, ue, en, nn, nu, ue, nu, uu], axis=-1).reshape(-1, 3, 3)


def _notes(header: _Header, fixes: GnssSeries) -> Iterator[str]:
    if header.above_geoid:
        yield "heights are above the geoid, and are kept as they are"
    if header.time == "GPST" and is_beyond(fixes.t_ns):
        yield f"leap seconds are known until {VALID_UNTIL}; 18 s are taken for later times"

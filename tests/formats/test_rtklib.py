"""Solutions of RTKLIB: the file of a walk, and small ones whose numbers are worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

import strapdown
from strapdown.errors import FormatError, UnsupportedError
from strapdown.formats.gnss.leap_seconds import utc_from_gps
from strapdown.series import FixType

HEAD = """\
% program   : RTKLIB ver.2.4.2
% (lat/lon/height=WGS84/ellipsoidal,Q=1:fix,2:float,3:sbas,4:dgps,5:single,6:ppp,ns=# of satellites)
%  GPST                  latitude(deg) longitude(deg)  height(m)   Q  ns   sdn(m)   sde(m)   sdu(m)  sdne(m)  sdeu(m)  sdun(m) age(s)  ratio
"""  # noqa: E501 (as RTKLIB writes it)
ROWS = """\
2013/02/28 00:00:01.500   36.103774764  139.863150700   71.2034   1   9   0.0042   0.0030   0.0081   0.0020  -0.0010   0.0005   0.00    3.2
2013/02/28 00:00:02.000   36.103774800  139.863150800   71.2100   2   8   0.0900   0.1000   0.2000   0.0000   0.0000   0.0000   0.00    1.0
2013/02/28 00:00:02.500   36.103774900  139.863150900   71.2200   5   7   1.0000   2.0000   3.0000   0.0000   0.0000   0.0000   0.00    0.0
"""  # noqa: E501 (as RTKLIB writes it)


def ns(*instant):
    """Return a date and time in UTC as nanoseconds since 1970."""
    return round(datetime(*instant, tzinfo=UTC).timestamp() * 1e3) * 1_000_000


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "rover.pos"
        path.write_text(text)
        return path

    return write


def test_a_solution_of_rtklib(written):
    recording = strapdown.open(written(HEAD + ROWS))
    fixes = recording.gnss_series()
    assert recording.report.format == "rtklib"
    # GPS time was 16 s ahead of UTC in 2013
    assert fixes.t_ns[0] == ns(2013, 2, 27, 23, 59, 45, 500_000)
    assert np.degrees(fixes.latitude) == pytest.approx([36.103774764, 36.1037748, 36.1037749])
    assert np.degrees(fixes.longitude[0]) == pytest.approx(139.8631507, abs=1e-12)
    assert fixes.altitude.tolist() == [71.2034, 71.21, 71.22]
    assert fixes.fix_type.tolist() == [FixType.RTK_FIXED, FixType.RTK_FLOAT, FixType.FIX_3D]
    assert fixes.satellites.tolist() == [9, 8, 7]
    east, north, up = 0.0030, 0.0042, 0.0081
    expected = [
        [east**2, 0.0020**2, -(0.0010**2)],
        [0.0020**2, north**2, 0.0005**2],
        [-(0.0010**2), 0.0005**2, up**2],
    ]
    assert fixes.position_covariance[0] == pytest.approx(np.array(expected))
    assert fixes.velocity_world is None


def test_weeks_and_seconds_and_utc(written):
    rows = ROWS.replace("2013/02/28 00:00:01.500", "1729 345601.500")
    rows = rows.replace("2013/02/28 00:00:02.000", "1729 345602.000")
    rows = rows.replace("2013/02/28 00:00:02.500", "1729 345602.500")
    in_weeks = strapdown.open(written(HEAD + rows)).gnss_series()
    by_date = strapdown.open(written(HEAD + ROWS)).gnss_series()
    assert in_weeks == by_date
    in_utc = strapdown.open(written(HEAD.replace("GPST", "UTC ") + ROWS)).gnss_series()
    assert (in_utc.t_ns - by_date.t_ns).tolist() == [16_000_000_000] * 3


def test_commas_between_the_columns(written):
    def commas(text):
        return "\n".join(",".join(line.split()) for line in text.splitlines()) + "\n"

    rows = commas(ROWS).replace("/28,", "/28 ")
    head = "\n".join([*HEAD.splitlines()[:2], "%  " + commas(HEAD.splitlines()[2])[2:]])
    assert len(strapdown.open(written(head + rows)).gnss_series()) == 3


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ("x-ecef(m) y-ecef(m) z-ecef(m)", "earth-centred positions"),
        ("e-baseline(m) n-baseline(m) u-baseline(m)", "baselines"),
        ("latitude(d'\") longitude(d'\") height(m)", "degrees, minutes and seconds"),
    ],
)
def test_other_positions_are_refused_with_the_setting_to_change(written, columns, what):
    path = written(f"%  GPST  {columns} Q ns\n2013/02/28 00:00:01.5 1 2 3 1 9\n")
    with pytest.raises(UnsupportedError, match=f"{what}.*out-solformat = llh"):
        strapdown.open(path)


def test_japanese_time_is_refused(written):
    with pytest.raises(UnsupportedError, match="out-timesys"):
        strapdown.open(written(HEAD.replace("GPST", "JST ") + ROWS))


def test_heights_above_the_geoid_are_noted(written):
    head = HEAD.replace("ellipsoidal", "geodetic")
    report = strapdown.open(written(head + ROWS)).report
    assert report.notes == ("heights are above the geoid, and are kept as they are",)


def test_a_damaged_row_is_named_or_counted(written):
    damaged = ROWS.replace("71.2100", "71.2x00")
    path = written(HEAD + damaged)
    with pytest.raises(FormatError, match="line 5"):
        strapdown.open(path)
    recording = strapdown.open(path, on_error="salvage")
    assert recording.report.lost_messages == 1
    assert len(recording.gnss_series()) == 2


@pytest.mark.parametrize(
    ("gps", "seconds"),
    [
        ((1980, 1, 6), 0),
        ((1981, 7, 1, 0, 0, 0), 0),
        ((1981, 7, 1, 0, 0, 1), 1),
        ((2005, 12, 31, 12), 13),
        ((2016, 12, 31, 23, 59, 59), 17),
        ((2017, 1, 1, 0, 0, 18), 18),
        ((2025, 8, 28), 18),
    ],
)
def test_leap_seconds(gps, seconds):
    """Of the table GPS-UTC of the U.S. Naval Observatory."""
    t_ns = ns(*gps)
    assert utc_from_gps(np.array([t_ns])).tolist() == [t_ns - seconds * 10**9]


def test_later_times_are_noted(written):
    path = written(HEAD + ROWS.replace("2013/02", "2027/02"))
    (note,) = strapdown.open(path).report.notes
    assert "known until 2026-06-28" in note


def test_the_walk(data_dir):
    recording = strapdown.open(data_dir / "gnss_walk" / "gnss_1730_sf.pos")
    fixes = recording.gnss_series()
    assert recording.report.notes == ()
    assert len(fixes) == 536
    assert fixes.t_ns[0] == ns(2025, 8, 28, 17, 30, 21, 749_000)
    assert fixes.rate_hz == 4.0
    assert np.degrees([fixes.latitude[0], fixes.longitude[0]]) == pytest.approx(
        [40.0966916, -105.1471665]
    )
    assert fixes.velocity_world[0].tolist() == [-0.002, 0.001, 0.027]
    assert fixes.position_covariance[0, 2, 2] == pytest.approx(1e-4)
    assert fixes.velocity_covariance[0, 0, 0] == pytest.approx(0.0494975**2)
    assert {*fixes.fix_type.tolist()} == {FixType.RTK_FIXED, FixType.RTK_FLOAT}
    assert fixes.satellites[0] == 25

"""Logs of NMEA 0183, against pynmea2 and by hand."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import reduce
from operator import xor

import numpy as np
import pynmea2
import pytest

import strapdown
from strapdown.errors import BackendMissingError, ChecksumError, FormatError
from strapdown.formats.gnss import nmea
from strapdown.series import FixType


def sentence(text):
    """Return a sentence with its checksum."""
    return f"${text}*{reduce(xor, text.encode()):02X}\n"


def epoch(clock, *, day="280825", latitude="4005.8014960", quality=4):
    """Return what a receiver with RTK sends for one fix."""
    return (
        sentence(f"GNRMC,{clock},A,{latitude},N,10508.8299900,W,1.944,030.0,{day},,,R")
        + sentence("GNVTG,030.0,T,,M,1.944,N,3.600,K,D")
        + sentence(
            f"GNGGA,{clock},{latitude},N,10508.8299900,W,{quality},25,0.6,1617.435,M,-16.000,M,1.0,0"
        )
        + sentence(f"GNGST,{clock},15,0.02,0.01,45.0,0.012,0.011,0.021")
        + sentence("GNGSA,A,3,02,05,07,,,,,,,,,,1.2,0.6,1.0")
        + sentence("GNTHS,120.0,A")
    )


LOG = epoch("173022.00") + epoch("173022.25") + epoch("173022.50", quality=5)


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "walk.nmea"
        path.write_text(text)
        return path

    return write


def test_a_log_with_all_sentences(written):
    recording = strapdown.open(written(LOG))
    fixes = recording.gnss_series()
    start = datetime(2025, 8, 28, 17, 30, 22, tzinfo=UTC)
    assert fixes.t_ns[0] == int(start.timestamp()) * 10**9
    assert np.diff(fixes.t_ns).tolist() == [250_000_000] * 2
    # 40 degrees 5.801496 minutes, 105 degrees 8.82999 minutes west
    assert np.degrees(fixes.latitude[0]) == pytest.approx(40.0 + 5.801496 / 60.0, abs=1e-12)
    assert np.degrees(fixes.longitude[0]) == pytest.approx(-(105.0 + 8.82999 / 60.0), abs=1e-12)
    assert fixes.altitude[0] == pytest.approx(1617.435 - 16.0)
    assert np.diagonal(fixes.position_covariance[0]) == pytest.approx(
        np.square([0.011, 0.012, 0.021])
    )
    # 1.944 knots are 1.0001 m/s, 30 degrees east of north
    assert fixes.velocity_world[0, :2] == pytest.approx([0.50004, 0.86610], abs=1e-4)
    assert np.isnan(fixes.velocity_world[:, 2]).all()
    assert fixes.heading == pytest.approx(np.radians([-30.0] * 3))
    assert fixes.fix_type.tolist() == [FixType.RTK_FIXED, FixType.RTK_FIXED, FixType.RTK_FLOAT]
    assert fixes.satellites.tolist() == [25, 25, 25]
    assert recording.report.messages == 15
    assert recording.report.skipped == {"GSA": 3}
    assert recording.report.notes == ()


def test_positions_are_those_of_the_library(written):
    rows = [line for line in LOG.splitlines() if "GGA" in line]
    theirs = [pynmea2.parse(line) for line in rows]
    fixes = strapdown.open(written(LOG)).gnss_series()
    assert np.degrees(fixes.latitude) == pytest.approx([each.latitude for each in theirs])
    assert np.degrees(fixes.longitude) == pytest.approx([each.longitude for each in theirs])


def test_without_deviations_they_are_approximated_from_the_dilution(written):
    lines = "".join(line for line in LOG.splitlines(keepends=True) if "GST" not in line)
    recording = strapdown.open(written(lines))
    (note,) = recording.report.notes
    assert note.startswith("3 of 3 fixes have no standard deviations (GST)")
    fixes = recording.gnss_series()
    assert np.diagonal(fixes.position_covariance[0]) == pytest.approx(
        np.square([0.6 * 0.02, 0.6 * 0.02, 0.6 * 0.04])
    )
    assert fixes.position_covariance[2, 0, 0] == pytest.approx((0.6 * 4.0) ** 2)


def test_the_day_changes_at_midnight_also_before_the_first_date(written):
    bare = sentence("GPGGA,235959.50,4005.80,N,10508.83,W,1,8,1.0,1617.4,M,-16.0,M,,")
    fixes = strapdown.open(written(bare + epoch("000000.50", day="010126"))).gnss_series()
    assert np.diff(fixes.t_ns).tolist() == [10**9]
    assert fixes.t_ns[1] == int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 10**9 + 5 * 10**8
    after = sentence("GPGGA,000000.50,4005.80,N,10508.83,W,1,8,1.0,1617.4,M,-16.0,M,,")
    fixes = strapdown.open(written(epoch("235959.50", day="311225") + after)).gnss_series()
    assert np.diff(fixes.t_ns).tolist() == [10**9]


def test_a_log_without_dates_counts_from_the_beginning_of_a_day(written):
    bare = sentence("GPGGA,000001.50,4005.80,N,10508.83,W,1,8,1.0,1617.4,M,,M,,")
    recording = strapdown.open(written(2 * bare))
    assert recording.gnss_series().t_ns.tolist() == [1_500_000_000]
    dates, altitudes, _ = recording.report.notes
    assert "no sentence has a date" in dates
    assert "above mean sea level" in altitudes


def test_no_fix_has_no_position(written):
    lost = sentence("GPGGA,173023.00,,,,,0,00,99.9,,M,,M,,")
    fixes = strapdown.open(written(LOG + lost)).gnss_series()
    assert fixes.has_fix.tolist() == [True, True, True, False]


def test_stamps_of_a_logger_before_the_sentences(written):
    lines = "".join(f"1756402222.1,{line}" for line in LOG.splitlines(keepends=True))
    assert strapdown.open(written(lines)).gnss == strapdown.open(written(LOG)).gnss


def test_the_date_of_zda(written):
    lines = sentence("GPZDA,173022.00,28,08,2025,00,00") + sentence(
        "GPGGA,173022.00,4005.80,N,10508.83,W,1,8,1.0,1617.4,M,-16.0,M,,"
    )
    (stamp,) = strapdown.open(written(lines)).gnss_series().t_ns
    assert stamp == int(datetime(2025, 8, 28, 17, 30, 22, tzinfo=UTC).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (("10508.8299900,W,4", "10508.8299901,W,4"), ChecksumError, "line 3: expected a checksum"),
        (("$GNVTG", "GNVT\x00"), FormatError, "line 2: expected a sentence"),
    ],
)
def test_damage_is_named_or_counted(written, damage, error, message):
    path = written(LOG.replace(*damage, 1))
    with pytest.raises(error, match=message):
        strapdown.open(path)
    recording = strapdown.open(path, on_error="salvage")
    assert recording.report.lost_messages == 1


def test_a_time_that_is_none(written):
    wrong = sentence("GPGGA,17302x.00,4005.80,N,10508.83,W,1,8,1.0,1617.4,M,-16.0,M,,")
    with pytest.raises(FormatError, match="line 19: expected a sentence of NMEA 0183"):
        strapdown.open(written(LOG + wrong))


def test_a_log_without_positions(written):
    with pytest.raises(FormatError, match="expected GGA sentences with a position"):
        strapdown.open(written(2 * sentence("GPZDA,173022.00,28,08,2025,00,00")))


def test_the_missing_library_is_named(written, monkeypatch):
    nmea._library.cache_clear()
    monkeypatch.setitem(sys.modules, "pynmea2", None)
    with pytest.raises(BackendMissingError, match=r"pip install 'strapdown\[gnss\]'"):
        strapdown.open(written(LOG))
    nmea._library.cache_clear()

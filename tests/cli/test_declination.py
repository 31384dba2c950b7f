"""``strapdown fuse --declination``: given, by place and date, and from logs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import typer
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.cli._declination import parse_declination
from strapdown.errors import FormatError
from strapdown.series import ImuSeries

runner = CliRunner()
SINCE_1970_NS = 1_719_792_000_000_000_000  # 1 July 2024
ZURICH_DEG = 3.47  # NOAA's calculator, WMM2020, 1 July 2024 at 47.38, 8.54


def fuse(*arguments):
    return runner.invoke(app, ["fuse", *map(str, arguments)])


@pytest.fixture
def level(tmp_path):
    """Return the path of a recording of a level sensor that points to magnetic north."""
    rows = 200
    series = ImuSeries(
        SINCE_1970_NS + np.arange(rows) * 10_000_000,
        np.zeros((rows, 3)),
        np.full((rows, 3), [0.0, 0.0, 9.81]),
        magnetic_field=np.full((rows, 3), [2e-5, 0.0, -4e-5]),
    )
    strapdown.write(tmp_path / "level.csv", series)
    return tmp_path / "level.csv"


def heading_deg(path):
    q = strapdown.open(path).trajectory().q_world_from_body
    return 90.0 - Rotation.from_quat(q[-1]).as_euler("ZYX", degrees=True)[0]


@pytest.mark.parametrize(
    ("option", "expected", "line"),
    [
        (None, 0.0, "ENU from FLU, magnetic north"),
        ("3.5", 3.5, "true north: declination 3.50 deg east (given)"),
        ("-12", -12.0, "true north: declination 12.00 deg west (given)"),
        ("47.38,8.54", ZURICH_DEG, "World Magnetic Model at 47.3800, 8.5400 on 2024-07-01"),
        ("-80,240,2025-01-01", 68.78, "World Magnetic Model at -80.0000, 240.0000 on 2025-01-01"),
    ],
)
def test_heading_is_that_of_the_declination(level, tmp_path, option, expected, line):
    options = [] if option is None else ["--declination", option]
    done = fuse(level, "-o", tmp_path / "a.csv", *options)
    assert done.exit_code == 0, done.stderr
    assert line in " ".join(done.stdout.split())
    assert heading_deg(tmp_path / "a.csv") == pytest.approx(expected, abs=0.02)


def test_json_states_the_declination(level, tmp_path):
    def data(*options):
        return json.loads(
            fuse(level, "-o", tmp_path / "a.csv", "--force", "--json", *options).stdout
        )

    assert data()["declination_deg"] is None
    assert data("--declination", "4.25")["declination_deg"] == pytest.approx(4.25)
    compared = json.loads(fuse(level, "--compare", "--declination", "2", "--json").stdout)
    assert [row["declination_deg"] for row in compared["estimators"]] == pytest.approx([2.0] * 6)


@pytest.mark.parametrize(
    "text", ["east", "200", "nan", "91,8", "47,8,2024", "47,8,2024-01-01,0", "", "47,", "AUTO"]
)
def test_other_words_are_refused_before_the_work(text, tmp_path):
    done = fuse("none.csv", "-o", tmp_path / "a.csv", "--declination", text)
    assert done.exit_code == 2
    assert "expected degrees east (such as 3.5" in " ".join(done.stderr.split())


def test_a_declination_without_a_magnetometer_is_refused(tmp_path):
    done = fuse("none.csv", "-o", tmp_path / "a.csv", "--declination", "3", "--no-mag")
    assert done.exit_code == 2
    assert "does not go with --no-mag" in done.stderr
    live = fuse("--live", "127.0.0.1:0", "--declination", "3")
    assert live.exit_code == 2
    assert "does not go with --declination" in live.stderr


def test_a_date_beyond_the_models_is_one_line(level, tmp_path):
    done = fuse(level, "-o", tmp_path / "a.csv", "--declination", "47,8,2031-01-01")
    assert done.exit_code == 1
    assert "expected a date from 2010 to 2029" in done.stderr
    assert done.stderr.count("\n") == 1


def test_auto_needs_the_log_of_an_autopilot(level, tmp_path):
    done = fuse(level, "-o", tmp_path / "a.csv", "--declination", "auto")
    assert done.exit_code == 1
    assert "expected a PX4 or ArduPilot log for '--declination' auto, got csv" in done.stderr


@pytest.mark.data
def test_a_px4_log_has_a_fix_or_a_parameter(data_dir):
    """PX4's own table gives 3.32 and 3.99 deg at these places; its grid has 10 deg."""
    auto = parse_declination("auto", no_mag=False)

    def found(name, **changes):
        recording = strapdown.open(data_dir / "px4" / "ulog" / name)
        parameters = dict(recording.log.parameters) | changes
        recording = replace(recording, log=replace(recording.log, parameters=parameters))
        north = auto(recording, recording.imu_series())
        return np.degrees(north.angle), north.origin

    angle, origin = found("sample_px4_events.ulg")
    assert angle == pytest.approx(3.32, abs=0.3)
    assert origin == "World Magnetic Model at 47.3977, 8.5456 on 2024-03-18"
    angle, origin = found("sample_log_small.ulg")
    assert angle == pytest.approx(3.99, abs=0.3)
    assert origin == "World Magnetic Model at 63.4171, 10.4082 on 2021-04-21"
    angle, origin = found("sample_log_small.ulg", EKF2_DECL_TYPE=6)  # does not look up
    assert (angle, origin) == (pytest.approx(3.990821), "EKF2_MAG_DECL of the log")
    assert found("sample_log_small.ulg", EKF2_DECL_TYPE=6, EKF2_MAG_DECL=0.0)[0] == 0.0
    angle, origin = found("sample_appended_multiple.ulg", EKF2_MAG_DECL=2.5)  # without a fix
    assert (angle, origin) == (pytest.approx(2.5), "EKF2_MAG_DECL of the log")
    with pytest.raises(FormatError, match="expected a GNSS fix with a date or EKF2_MAG_DECL"):
        found("sample_appended_multiple.ulg", EKF2_MAG_DECL=0.0)


def test_an_ardupilot_log_has_a_fix_or_a_parameter(ardupilot_log, tmp_path):
    auto = parse_declination("auto", no_mag=False)

    def found(*, seconds=4, **parameters):
        log = ardupilot_log.flight(seconds=seconds)
        for name, value in parameters.items():
            log.add("PARM", 3, name, value, 0.0)
        (tmp_path / "flight.bin").write_bytes(log.data)
        recording = strapdown.open(tmp_path / "flight.bin")
        north = auto(recording, recording.imu_series())
        return np.degrees(north.angle), north.origin

    angle, origin = found()
    assert angle == pytest.approx(2.8, abs=0.1)  # Zurich in December 2019
    assert origin == "World Magnetic Model at 47.3977, 8.5456 on 2019-12-15"
    manual = found(COMPASS_AUTODEC=0.0, COMPASS_DEC=-0.25)
    assert manual == (pytest.approx(-14.3239, abs=1e-3), "COMPASS_DEC of the log")
    # before the first fix
    assert found(seconds=1, COMPASS_DEC=0.05)[0] == pytest.approx(2.8648, abs=1e-3)
    with pytest.raises(FormatError, match="expected a GNSS fix with a date or COMPASS_DEC"):
        found(seconds=1)


def test_a_recording_without_a_date_needs_one_at_a_place(data_dir):
    recording = strapdown.open(data_dir / "px4" / "ulog" / "sample.ulg")
    at = parse_declination("47.4,8.5", no_mag=False)
    with pytest.raises(FormatError, match="add the date: LAT,LON,YYYY-MM-DD"):
        at(recording, recording.imu_series())


def test_the_option_is_a_mistake_of_usage():
    with pytest.raises(typer.BadParameter):
        parse_declination("x", no_mag=False)

"""``strapdown import``, and the options of reading that all verbs share."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.formats import Recording
from strapdown.series import ImuSeries, Trajectory

runner = CliRunner()
ROWS = 500
T_NS = 1_700_000_000_000_000_000 + np.arange(ROWS) * 10_000_000


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def data(*arguments):
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def recording(tmp_path):
    """An IMU at 100 Hz, whose first rate counts the samples, and an attitude at 50 Hz."""
    rates = np.column_stack([np.arange(ROWS), np.zeros(ROWS), np.zeros(ROWS)]) * 1e-3
    force = np.tile([0.0, 0.0, 9.8], (ROWS, 1))
    attitude = np.tile([0.0, 0.0, 0.0, 1.0], (ROWS // 2, 1))
    path = tmp_path / "a.mcap"
    strapdown.write(
        path,
        Recording(
            imu={"imu": ImuSeries(T_NS, rates, force)},
            trajectories={"truth": Trajectory(T_NS[::2], attitude)},
        ),
    )
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "phone.csv"
    rows = [f"{i / 100},0.01,0,0,0,0,9.8" for i in range(ROWS)]
    path.write_text("\n".join(["t,gx,gy,gz,ax,ay,az", *rows]) + "\n")
    return path


def test_what_is_open_is_one_line_and_answers_are_kept(table, tmp_path):
    done = run("import", table)
    assert done.exit_code == 1
    assert "unit of gx, gy, gz (rad/s, mrad/s, deg/s, mdeg/s)?" in done.output
    assert run("info", table).exit_code == 1
    plan = tmp_path / "phone.toml"
    shown = run("import", table, "--gyro-unit", "deg/s", "--body", "FRD", "--save", plan)
    assert shown.exit_code == 0, shown.output
    assert "gx, gy, gz -> angular velocity [deg/s]: the unit is stated" in shown.output
    assert f"--columns {plan}" in shown.output
    assert run("import", table, "--gyro-unit", "deg/s", "--save", plan).exit_code == 1
    topic = data("info", table, "--columns", plan)["topics"][0]
    assert (topic["count"], topic["frames"]["body"]) == (ROWS, "FRD")
    target = tmp_path / "b.mcap"
    lines = run("convert", table, target, "--columns", plan).output
    assert "gx, gy, gz -> angular velocity [deg/s]" in lines
    series = strapdown.open(target).imu_series()
    np.testing.assert_allclose(series.angular_velocity[:, 0], np.radians(0.01), rtol=1e-12)


def test_names_are_given_to_a_table_without(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("".join(f"{i}\t1\t2\t3\t20.5\n" for i in range(100)))
    found = data(
        "import", path, "--names", "sample,gx,gy,gz,-", "--gyro-unit", "deg/s", "--rate", 50
    )
    assert found["columns"]["time"] == {
        "column": "column 1", "unit": "samples", "rate_hz": 50.0, "why": "the rate is stated",
    }  # fmt: skip
    assert found["columns"]["angular_velocity"]["columns"] == ["column 2", "column 3", "column 4"]


def test_a_span_of_time_is_cut_from_every_topic(recording, tmp_path):
    target = tmp_path / "b.mcap"
    assert run("convert", recording, target, "--from", "1.005", "--until", 2).exit_code == 0
    cut = strapdown.open(target)
    (series,), (truth,) = cut.imu.values(), cut.trajectories.values()
    assert (series.t_ns[0], series.t_ns[-1]) == (T_NS[101], T_NS[199])
    np.testing.assert_allclose(series.angular_velocity[:, 0], np.arange(101, 200) * 1e-3)
    assert (truth.t_ns[0], truth.t_ns[-1]) == (T_NS[102], T_NS[198])


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--from", "4"], 100),
        (["--to", "4"], 400),
        (["--from", "2023-11-14T22:13:21Z", "--to", "2023-11-14T23:13:21.5+01:00"], 50),
    ],
)
def test_begin_and_end_are_seconds_or_dates(recording, options, count):
    topics = data("info", recording, *options)["topics"]
    assert {topic["topic"]: topic["count"] for topic in topics}["imu"] == count


def test_an_estimate_is_cut_where_its_verb_reads(recording):
    done = data("detect", recording, "--kind", "still", "--from", 1, "--until", 3)
    (report,) = done["detectors"].values()
    assert report["samples"] == 200


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--from", "7"], 1, "expected samples in the span of time, got none; it lasts 4.990 s"),
        (["--from", "3", "--until", "2"], 2, "expected an end after the begin, got 3 and 2"),
        (["--from", "noon"], 2, "expected seconds, or date and time such as"),
        (["--columns", "none.toml"], 1, "none.toml"),
    ],
)
def test_spans_that_make_no_sense_are_one_line(recording, arguments, code, message):
    done = run("info", recording, *arguments)
    assert done.exit_code == code
    assert message in " ".join(done.output.replace("│", " ").split())


def test_dates_need_a_clock_that_is_known(flight_log):
    done = run("info", flight_log, "--from", "2026-01-01T00:00:00Z")
    text = " ".join(done.output.replace("│", " ").split())
    assert done.exit_code in {1, 2}
    assert "does not state when its clock began" in text or "got none" in text


def test_options_of_reading_are_refused_where_nothing_is_read():
    done = run("fuse", "--live", "ipc:imu", "--from", "3")
    assert done.exit_code == 2
    assert "work for recordings" in " ".join(done.output.replace("│", " ").split())


def test_figures_state_what_was_recognised_and_plans_are_toml(table, tmp_path):
    plan = tmp_path / "phone.toml"
    assert run("import", table, "--gyro-unit", "deg/s", "--save", plan).exit_code == 0
    drawn = run("plot", table, "--columns", plan, "--output", tmp_path / "a.png")
    assert "gx, gy, gz -> angular velocity [deg/s]" in drawn.output
    wrong = run("import", table, "--gyro-unit", "deg/s", "--save", tmp_path / "phone.yaml")
    assert wrong.exit_code == 1
    assert ".toml" in wrong.output


def test_a_log_of_a_moment_has_no_allan_deviation(recording):
    done = run("allan", recording, "--until", "0.5")
    assert done.exit_code == 1
    assert "expected 100 samples or more, better an hour of them, got 50" in done.output


@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet", ".mcap"])
def test_import_of_a_file_of_ours_shows_its_meaning(tmp_path, ending):
    path = tmp_path / f"ours{ending}"
    series = ImuSeries(T_NS, np.zeros((ROWS, 3)), np.ones((ROWS, 3)), body="FRD", world="NED")
    strapdown.write(path, series)
    said = data("import", path)
    assert said["format"] == ending[1:]
    (meaning,) = said["topics"].values()
    assert meaning == "ImuSeries, rad/s and m/s^2, body FRD"
    assert "there is nothing to import" in run("import", path).output
    done = run("import", path, "--save", tmp_path / "columns.toml")
    assert done.exit_code == 1
    assert not (tmp_path / "columns.toml").exists()


def test_counts_stated_as_g_are_refused_with_the_scale_to_state(tmp_path):
    path = tmp_path / "counts.csv"
    rows = [f"{i / 100},{i % 7 - 3},2,{16384 + i % 5}" for i in range(ROWS)]
    path.write_text("\n".join(["t,ax,ay,az", *rows]) + "\n")
    done = run("import", path, "--accel-unit", "g")
    assert done.exit_code == 1
    assert "g is no specific force" in done.output
    assert "--accel-unit '1/16384 g'" in done.output
    columns = tmp_path / "columns.toml"
    data("import", path, "--accel-unit", "1/16384 g", "--save", columns)
    assert 'unit = "1/16384 g"' in columns.read_text()
    back = tmp_path / "back.npz"
    run("convert", path, back, "--columns", columns)
    force = strapdown.open(back).imu_series().specific_force
    assert force[0, 2] == pytest.approx(9.80665, abs=1e-9)


@pytest.mark.parametrize("day", ["2026-11-24T08:00:00Z", "2026-11-24"])
def test_a_date_for_a_table_of_relative_seconds_is_one_clear_line(table, tmp_path, day):
    columns = tmp_path / "columns.toml"
    data("import", table, "--gyro-unit", "rad/s", "--save", columns)
    done = run("info", table, "--columns", columns, "--from", day)
    assert done.exit_code == 2
    text = " ".join(done.output.replace("│", " ").split())
    assert "expected seconds since the first sample" in text
    assert "do not count from 1970, the first is 0 s" in text


def test_info_of_one_topic(recording):
    assert [each["topic"] for each in data("info", recording)["topics"]] == ["imu", "truth"]
    assert [each["topic"] for each in data("info", recording, "--topic", "truth")["topics"]] == [
        "truth"
    ]
    done = run("info", recording, "--topic", "imv")
    assert done.exit_code == 1
    assert "nearest names: 'imu'" in done.output

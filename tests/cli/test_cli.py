"""The command, as a person and as a script use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.cli import demo
from strapdown.cli._app import GROUPS, VERBS, app

COMMAND = str(Path(sys.executable).with_name("strapdown"))
runner = CliRunner()
BRIEF_S = 10.0


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def run_json(*arguments):
    done = run(*arguments, "--json")
    return json.loads(done.stdout), done


pytestmark = pytest.mark.xdist_group("cli")  # they share one run of the demo


@pytest.fixture(scope="module")
def demo_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run("demo", "--output", folder, "--json")
    assert done.exit_code == 0, done.output
    (folder / "report.json").write_text(done.stdout)
    return folder


@pytest.mark.parametrize(
    ("given", "example"),
    [
        (["logs/a.mcap"], "strapdown convert logs/a.mcap a.csv"),
        (["a.ulg", "--topic", "imu"], "strapdown convert a.ulg a.mcap"),
    ],
)
def test_a_conversion_without_a_target_says_that_it_is_missing(given, example, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = runner.invoke(app, ["convert", *given], prog_name="strapdown")
    assert done.exit_code == 2
    assert f"Missing argument 'TARGET', such as in: {example}" in done.output


def test_a_conversion_without_anything_misses_its_source():
    assert "Missing argument 'SOURCE'" in run("convert").output


@pytest.fixture(scope="module")
def brief_dir(tmp_path_factory):
    """What a shorter demo leaves, for all that can be told from it."""
    folder = tmp_path_factory.mktemp("brief")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "DURATION_S", BRIEF_S)
        assert run("demo", "--output", folder).exit_code == 0
    return folder


def test_the_demo_leaves_a_recording_and_a_picture(demo_dir):
    assert (demo_dir / "demo.mcap").stat().st_size > 100_000
    assert (demo_dir / "demo.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_the_demo_prints_its_errors_against_truth(demo_dir):
    report = json.loads((demo_dir / "report.json").read_text())
    errors = [row["orientation_error"] for row in report["estimates"]]
    assert len(errors) >= 2
    for error in errors:
        assert 0.0 < error["inclination_deg"] < error["total_deg"] < 5.0


def test_the_demo_records_what_the_topic_carried(demo_dir):
    recording = strapdown.open(demo_dir / "demo.mcap")
    series = recording.imu["imu/data"]
    truth = recording.trajectories["truth/pose"]
    assert len(series) == len(truth) == 12_000
    assert series.duration_s == pytest.approx(59.995)
    assert recording.increments["fmu/out/vehicle_imu"].body == "FRD"


def test_the_demo_refuses_to_replace_its_files_before_it_begins(brief_dir, monkeypatch):
    monkeypatch.setattr(demo, "simulate", None)
    done = run("demo", "--output", brief_dir)
    assert done.exit_code == 1
    assert "demo.mcap: exists already" in done.stderr


def test_the_demo_gives_the_same_samples_for_the_same_seed(brief_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "DURATION_S", BRIEF_S)
    first = strapdown.open(brief_dir / "demo.mcap").imu["imu/data"]
    assert run("demo", "--output", tmp_path, "--seed", "0").exit_code == 0
    assert strapdown.open(tmp_path / "demo.mcap").imu["imu/data"] == first


def test_the_demo_does_not_replace_what_is_there(brief_dir, monkeypatch):
    monkeypatch.setattr(demo, "DURATION_S", BRIEF_S)
    before = (brief_dir / "demo.mcap").read_bytes()
    done = run("demo", "--output", brief_dir)
    assert done.exit_code == 1
    assert "--force" in done.stderr
    assert (brief_dir / "demo.mcap").read_bytes() == before


def test_info_names_topics_rates_and_frames(brief_dir):
    report, done = run_json("info", brief_dir / "demo.mcap")
    assert done.exit_code == report["exit"] == 0
    topics = {topic["topic"]: topic for topic in report["topics"]}
    assert topics["imu/data"]["count"] == 2_000
    assert topics["imu/data"]["rate_hz"] == pytest.approx(200.0, rel=1e-3)
    assert topics["imu/data"]["frames"] == {"body": "FLU", "world": "ENU"}
    text = run("info", brief_dir / "demo.mcap").stdout
    assert "imu/data" in text
    assert "ENU" in text


@pytest.mark.parametrize("ending", [".csv", ".tum", ".mcap"])
def test_fuse_writes_attitude_that_evaluate_reads(brief_dir, tmp_path, ending):
    out = tmp_path / f"attitude{ending}"
    fused, done = run_json(
        "fuse", brief_dir / "demo.mcap", "--filter", "complementary", "--output", out
    )
    assert done.exit_code == 0
    judged, _ = run_json(
        "evaluate", out, brief_dir / "demo.mcap", "--reference-topic", "truth/pose"
    )
    for key in ("total_deg", "heading_deg", "inclination_deg"):
        expected = fused["orientation_error"][key]
        assert judged["orientation_error"][key] == pytest.approx(expected, abs=1e-6)


def test_fuse_without_the_magnetometer_compares_after_turning_the_heading(brief_dir, tmp_path):
    out = tmp_path / "attitude.csv"
    fused, _ = run_json("fuse", brief_dir / "demo.mcap", "--no-mag", "--output", out)
    assert fused["orientation_error"]["align"] == "heading"
    assert fused["orientation_error"]["inclination_deg"] < 2.0


def test_fuse_refuses_an_imu_without_angular_velocity(tmp_path):
    count = 20
    series = strapdown.ImuSeries(
        np.arange(count) * 10_000_000, np.full((count, 3), np.nan), np.ones((count, 3))
    )
    strapdown.write(tmp_path / "accelerometer.mcap", series)
    done = run("fuse", tmp_path / "accelerometer.mcap", "--output", tmp_path / "a.tum")
    assert done.exit_code == 1
    assert "expected angular velocity to fuse, the IMU has none" in done.stderr


def test_fuse_says_which_way_the_attitude_is_meant(brief_dir, tmp_path):
    done = run("fuse", brief_dir / "demo.mcap", "--output", tmp_path / "a.tum")
    assert "attitude: q_world_from_body, xyzw, ENU from FLU" in done.stdout


def test_convert_to_our_csv_and_back_keeps_every_bit(brief_dir, tmp_path):
    csv, back = tmp_path / "imu.csv", tmp_path / "imu.mcap"
    assert run("convert", brief_dir / "demo.mcap", csv, "--topic", "imu/data").exit_code == 0
    assert csv.read_text().startswith("# strapdown body=FLU world=ENU\nt_ns,angular_velocity_x")
    assert run("convert", csv, back).exit_code == 0
    first = strapdown.open(brief_dir / "demo.mcap").imu["imu/data"]
    again = strapdown.open(back).imu_series()
    for column in ("t_ns", "angular_velocity", "specific_force", "magnetic_field"):
        assert np.array_equal(getattr(first, column), getattr(again, column))


def test_convert_names_what_the_target_cannot_hold(brief_dir, tmp_path):
    report, done = run_json("convert", brief_dir / "demo.mcap", tmp_path / "all.csv")
    assert done.exit_code == report["exit"] == 3
    assert any("fmu/out/vehicle_imu" in line for line in report["lost"])
    assert run("convert", brief_dir / "demo.mcap", tmp_path / "b.csv", "--strict").exit_code == 1


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_plot_draws_a_recording(brief_dir, tmp_path, ending):
    out = tmp_path / f"picture{ending}"
    assert run("plot", brief_dir / "demo.mcap", "--output", out).exit_code == 0
    assert out.stat().st_size > 10_000


def test_a_damaged_file_gives_what_it_holds_and_exit_code_3(brief_dir, tmp_path):
    cut = tmp_path / "cut.mcap"
    data = (brief_dir / "demo.mcap").read_bytes()
    cut.write_bytes(data[: len(data) // 2])
    report, done = run_json("info", cut)
    assert done.exit_code == report["exit"] == 3
    assert report["lost_bytes"] > 0
    assert sum(topic["count"] for topic in report["topics"]) > 1_000
    assert run("info", cut, "--strict").exit_code == 1


def test_a_missing_file_is_one_line_and_exit_code_1(tmp_path):
    done = run("info", tmp_path / "no.mcap")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"strapdown: {tmp_path / 'no.mcap'}: No such file or directory"
    ]


def test_an_unreadable_file_is_one_line_and_json_says_the_same(tmp_path):
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 8)
    report, done = run_json("info", tmp_path / "noise.bin")
    assert done.exit_code == report["exit"] == 1
    assert len(done.stderr.splitlines()) == 1
    assert report["error"] in done.stderr


def test_output_into_a_missing_folder_is_one_line(brief_dir, tmp_path):
    done = run("convert", brief_dir / "demo.mcap", tmp_path / "none" / "out.mcap")
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1


def test_existing_output_stays_unless_forced(brief_dir, tmp_path):
    out = tmp_path / "a.tum"
    out.write_text("mine")
    assert run("fuse", brief_dir / "demo.mcap", "--output", out).exit_code == 1
    assert out.read_text() == "mine"
    assert run("fuse", brief_dir / "demo.mcap", "--output", out, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["fuse", "{demo}", "--filter", "complimentary", "--output", "x.csv"], "complementary"),
        (["fuse", "{demo}", "--topic", "imu/dta", "--output", "x.csv"], "imu/data"),
        (["plot", "{demo}", "--topic", "truth", "--output", "x.png"], "truth/pose"),
    ],
)
def test_a_wrong_name_gives_the_nearest(brief_dir, arguments, nearest):
    done = run(*[text.format(demo=brief_dir / "demo.mcap") for text in arguments])
    assert done.exit_code == 1
    assert nearest in done.stderr


def test_debug_adds_the_traceback(tmp_path):
    assert "Traceback" in run("info", tmp_path / "no.mcap", "--debug").stderr


def test_quiet_prints_nothing_and_keeps_the_exit_code(brief_dir):
    done = run("info", brief_dir / "demo.mcap", "--quiet")
    assert (done.exit_code, done.stdout) == (0, "")


@pytest.mark.parametrize("arguments", [["inf"], ["info"], ["fuse", "x", "--no-such"]])
def test_wrong_usage_is_exit_code_2(arguments):
    assert run(*arguments).exit_code == 2


LEAVES = [
    *(verb for verb in VERBS if verb not in GROUPS),
    *(f"{group} {verb}" for group, verbs in GROUPS.items() for verb in verbs),
]


@pytest.mark.parametrize("group", GROUPS)
def test_the_help_of_a_group_lists_its_verbs(group):
    text = run(group, "--help").stdout
    assert all(f" {verb} " in text for verb in GROUPS[group])


@pytest.mark.parametrize("verb", LEAVES)
def test_the_help_of_every_verb_has_three_examples_and_the_exit_codes(verb):
    text = run(*verb.split(), "--help").stdout
    assert text.count(f"strapdown {verb} ") >= 4  # usage and three examples
    assert "Exit codes" in text


def test_the_installed_command_runs_and_returns_its_exit_code(tmp_path):
    done = subprocess.run(
        [COMMAND, "info", tmp_path / "no.mcap"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_control_characters_of_a_hostile_file_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "hostile.csv"
    path.write_text("t_ns,angular_velocity_x\x1b[31m,[bold]b\n1,2,3\n")
    done = run("info", path)
    assert done.exit_code == 1
    assert "\x1b" not in done.stdout + done.stderr


def test_truth_beside_an_imu_does_not_become_what_the_sensor_said(brief_dir, tmp_path):
    assert run("convert", brief_dir / "demo.mcap", tmp_path / "a.csv").exit_code == 3
    recording = strapdown.open(tmp_path / "a.csv")
    assert recording.imu_series().q_world_from_body is None
    assert len(recording.trajectories["trajectory"]) == 2_000


def test_the_orientation_that_a_sensor_reports_is_a_track_and_stays_its_own(brief_dir, tmp_path):
    recording = strapdown.open(brief_dir / "demo.mcap")
    truth = recording.trajectories["truth/pose"]
    series = recording.imu["imu/data"].replace(q_world_from_body=truth.q_world_from_body)
    strapdown.write(tmp_path / "own.csv", series)
    assert strapdown.open(tmp_path / "own.csv").imu_series().q_world_from_body is not None
    judged, _ = run_json("evaluate", tmp_path / "own.csv", brief_dir / "demo.mcap")
    assert judged["orientation_error"]["total_deg"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "SAME", "SAME", "--topic", "imu"),
        ("fuse", "SAME", "--output", "SAME"),
        ("odometry", "SAME", "--output", "SAME"),
        ("navigate", "SAME", "--output", "SAME"),
        ("detect", "SAME", "--output", "SAME"),
        ("joint", "SAME", "other.csv", "--kind", "ball", "--output", "SAME"),
        ("sim", "--motion", "SAME", "--sensor", "ADIS16470", "--no-picture", "--output", "SAME"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_verb_replaces_its_own_input(brief_dir, tmp_path, arguments):
    same = tmp_path / "imu.csv"
    series = strapdown.open(brief_dir / "demo.mcap").imu_series("imu/data")
    strapdown.write(same, series)
    before = same.read_bytes()
    done = run(*(same if each == "SAME" else each for each in arguments), "--force")
    assert (done.exit_code, same.read_bytes()) == (2, before), done.output
    assert "is the input" in done.output


@pytest.mark.parametrize("verb", ["convert", "integrate"])
def test_a_folder_that_is_missing_is_named(brief_dir, tmp_path, verb):
    done = run(verb, brief_dir / "demo.mcap", tmp_path / "none" / "out.ulg")
    assert done.exit_code == 1
    assert done.stderr.endswith("none: expected a folder that exists; create it first\n")


@pytest.mark.parametrize("arguments", [("demo",), ("study", "rate")], ids=lambda each: each[0])
def test_a_file_in_place_of_a_folder_is_named_as_such(tmp_path, arguments):
    file = tmp_path / "a"
    file.touch()
    done = run(*arguments, "--output", file)
    assert done.exit_code == 2
    said = "".join(done.stderr.replace("│", " ").split())  # lines are wrapped
    assert "'--output'" in said
    assert said.count("isafile") == 1


def test_fuse_with_a_reference_of_another_time_still_writes_and_says_so(brief_dir, tmp_path):
    recording = strapdown.open(brief_dir / "demo.mcap")
    truth = recording.trajectories["truth/pose"]
    late = strapdown.Recording(
        imu={"imu/data": recording.imu["imu/data"]},
        trajectories={"truth": truth.replace(t_ns=truth.t_ns + 10**12)},
    )
    strapdown.write(tmp_path / "late.mcap", late)
    done = run("fuse", tmp_path / "late.mcap", "--output", tmp_path / "a.csv")
    assert done.exit_code == 0
    assert "not compared with truth: expected rows that can be compared" in done.stdout


def test_the_table_of_info_is_not_cut_in_a_narrow_terminal(brief_dir, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = run("info", brief_dir / "demo.mcap").stdout
    assert "200.0 Hz (200.0..200.0)" in text
    assert "\N{HORIZONTAL ELLIPSIS}" not in text


def test_standard_output_that_cannot_be_written_is_one_line(brief_dir):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [COMMAND, "info", brief_dir / "demo.mcap"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "strapdown: No space left on device"
    assert "Traceback" not in done.stderr


def test_a_hostile_file_name_is_drawn_and_listed_without_its_control_characters(
    brief_dir, tmp_path
):
    path = tmp_path / "esc\x1b[31m\nred.mcap"
    path.write_bytes((brief_dir / "demo.mcap").read_bytes())
    assert "\x1b" not in run("info", path).stdout
    assert run("plot", path, "--output", tmp_path / "a.png").exit_code == 0

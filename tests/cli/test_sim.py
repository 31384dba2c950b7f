"""``strapdown sim``, as a person and as a script use it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.cli import sim as verb
from strapdown.cli._app import app
from strapdown.motion import MOTIONS, Mounted
from strapdown.simulation import find_sensor, rest_deviation, simulate
from strapdown.units import STANDARD_GRAVITY

WORLDS = Path(__file__).parents[1] / "motion" / "worlds"
FIELDS = {
    "exit", "lost", "motion", "sensor", "rate_hz", "duration_s", "seed", "sensors", "samples",
    "files", "picture", "clipped", "dropped", "missing", "notes", "warnings",
}  # fmt: skip
runner = CliRunner()


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def quickly(monkeypatch):
    """Leave the picture out, which takes longer than all else."""
    monkeypatch.setattr(verb, "_draw", lambda *_, **__: "")


def run(*arguments):
    return runner.invoke(app, ["sim", *map(str, arguments)])


def strapdown_run(*arguments):
    done = runner.invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def run_json(*arguments):
    done = run(*arguments, "--json")
    return json.loads(done.stdout), done


def names():
    return sorted(entry.name for entry in Path().iterdir())


def failed(done, words):
    """Whether a run failed with one line that has the words, and left nothing."""
    lines = done.stderr.splitlines()
    assert (done.exit_code, done.stdout) == (1, ""), done.output
    assert len(lines) == 1
    assert words in lines[0]
    return True


# -- what comes out --------------------------------------------------------------------------


def test_a_run_leaves_samples_truth_and_a_picture(monkeypatch):
    monkeypatch.setattr(verb.simulation, "rest_deviation", partial(rest_deviation, samples=2**12))
    done = run(
        "--motion", "circle", "--sensor", "MPU-6050", "--rate", 100, "--duration", 3,
        "--seed", 1, "--output", "run.mcap",
    )  # fmt: skip
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "MPU-6050 on circle: 300 samples at 100 Hz over 3 s, seed 1"
    assert lines[1] == "warning: gyro: at this range rounding adds 12% to its noise"
    assert lines[2].startswith(
        "gyro, unknown and therefore off: bias_random_walk, bias_instability,"
    )
    assert "temperature" in lines[3]
    assert lines[-2:] == [
        "wrote run.mcap: 900 messages",
        "wrote run.png: look at it, or run: strapdown info run.mcap",
    ]
    assert done.stderr == ""
    assert names() == ["run.mcap", "run.png"]
    assert Path("run.png").read_bytes().startswith(b"\x89PNG\r\n")
    found = strapdown.open("run.mcap")
    expected = simulate("circle", "MPU-6050", 3.0, rate_hz=100, seed=1)
    assert np.array_equal(found.imu["imu/data"].angular_velocity, expected.samples.angular_velocity)
    assert len(found.trajectories["truth/pose"]) == 300


@pytest.mark.parametrize("sampling", ["mean", "preintegrated", "velocity_difference"])
def test_a_picture_is_drawn_of_every_kind_of_sample(monkeypatch, sampling):
    monkeypatch.setattr(verb.simulation, "rest_deviation", partial(rest_deviation, samples=2**10))
    monkeypatch.setattr(verb, "DRAWN_SAMPLES", 100)
    done = run(
        "--motion", "wander", "--duration", 2, "--sampling", sampling,
        "--output", "run.npz", "--picture", "a.svg",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "wrote a.svg of the first 0.5 s: look at it" in done.stdout
    assert "<svg" in Path("a.svg").read_text()


def test_without_a_picture_there_are_the_samples_alone():
    report, done = run_json(
        "--motion", "circle", "--duration", 1, "--output", "run.npz", "--no-picture"
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert report["picture"] is None
    assert names() == ["run.npz"]


def test_a_picture_and_none_is_a_mistake_of_usage():
    done = run("--motion", "circle", "--output", "a.npz", "--picture", "a.png", "--no-picture")
    assert done.exit_code == 2
    assert "expected --picture or --no-picture" in done.output
    assert names() == []


@pytest.mark.usefixtures("quickly")
def test_json_has_these_fields_and_no_others():
    report, done = run_json(
        "--motion", "circle", "--sensor", "ADIS16470", "--duration", 1, "--sensors", 2,
        "--output", "run.csv", "--truth", "truth.tum",
    )  # fmt: skip
    assert done.exit_code == report["exit"] == 0
    assert set(report) == FIELDS
    assert report["sensors"] == ["imu0", "imu1"]
    assert report["samples"] == 400
    assert report["files"] == {"run.imu0.csv": 200, "run.imu1.csv": 200, "truth.tum": 200}
    assert report["picture"] == "run.png"
    assert report["missing"] == list(find_sensor("ADIS16470").missing())
    assert report["clipped"] == {"gyro": 0, "accel": 0}
    assert (report["seed"], report["rate_hz"], report["duration_s"]) == (0, 200.0, 1.0)
    assert report["notes"] == [
        "CSV has no place for covariances",
        "TUM has no place for velocities",
    ]


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("ending", [".mcap", ".csv", ".npz", ".parquet"])
@pytest.mark.by_default(".mcap", ".csv")
def test_every_output_goes_through_the_other_verbs(ending):
    arguments = ("--motion", "wander", "--sensor", "ADIS16470", "--duration", 20)
    assert run(*arguments, "--output", f"run{ending}").exit_code == 0
    truth = "run.truth.csv" if ending == ".csv" else f"run{ending}"
    topics = strapdown_run("info", f"run{ending}")["topics"]
    assert {topic["count"] for topic in topics} == {4000}
    strapdown_run("fuse", f"run{ending}", "--no-mag", "--output", "attitude.csv")
    judged = strapdown_run("evaluate", "attitude.csv", truth, "--align", "heading")
    assert 0.0 < judged["orientation_error"]["inclination_deg"] < 3.0
    strapdown_run("plot", f"run{ending}", "--output", "again.png")


@pytest.mark.usefixtures("quickly")
def test_many_files_are_listed_by_their_first_and_last():
    done = run("--motion", "circle", "--duration", 1, "--sensors", 5, "--output", "run.csv")
    assert "wrote run.imu0.csv, ..., run.imu4.csv, run.truth.csv: 1200 messages" in done.stdout
    assert len(names()) == 6


@pytest.mark.usefixtures("quickly")
def test_clipping_is_counted_in_the_view():
    done = run("--motion", "spin", "--sensor", "ADIS16495-1", "--duration", 1, "-o", "run.npz")
    assert "clipped: 200 samples of the gyro" in done.stdout  # 360 deg/s at a range of 125 deg/s


@pytest.mark.usefixtures("quickly")
def test_an_ideal_sensor_has_no_list_of_what_is_not_known():
    done = run("--motion", "circle", "--duration", 1, "--output", "run.npz")
    assert "so off" not in done.stdout
    assert "warning" not in done.stdout


@pytest.mark.usefixtures("quickly")
def test_a_part_that_is_better_or_worse_than_one_would_think_is_warned_about():
    arguments = ("--motion", "static", "--duration", 1, "--output", "run.npz", "--force")
    report, _ = run_json(*arguments, "--sensor", "ADIS16495-1")
    (lacks,) = report["warnings"]
    assert lacks.startswith("ADIS16495-1: accel: no white noise is known")
    assert f"warning: {lacks}" in run(*arguments, "--sensor", "ADIS16495-1").stdout
    coarse = ("--sensor", "MPU-6050", "--rate", 100)
    sigma, bit = 0.005 / np.sqrt(2.0) * 10.0, 2000.0 / 32768  # deg/s
    more = np.hypot(1.0, bit / sigma / np.sqrt(12.0)) - 1.0
    report, _ = run_json(*arguments, *coarse)
    assert report["warnings"] == [f"gyro: at this range rounding adds {more:.0%} to its noise"]
    report, _ = run_json(*arguments, *coarse, "--gyro-range", 250, "--accel-range", 4)
    assert report["warnings"] == []
    series = strapdown.open("run.npz").imu["imu/data"]
    steps = series.angular_velocity / np.radians(250.0) * 32768
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)
    report, _ = run_json(*arguments, "--sensor", "LSM6DSV", "--rate", 10)
    assert "the output sticks" in report["warnings"][0]


def test_a_terminated_run_leaves_nothing():
    command = Path(sys.executable).with_name("strapdown")
    run_for_hours = ["sim", "--motion", "circle", "--duration", "1000000", "--output", "run.csv"]
    with subprocess.Popen([command, *run_for_hours]) as process:
        try:
            deadline = time.monotonic() + 30.0
            while not list(Path().glob("*.partial")) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert names() == ["run.csv.partial", "run.truth.csv.partial"]
            process.terminate()
            assert process.wait(timeout=20.0) == 128 + signal.SIGTERM
        finally:
            process.kill()
    assert names() == []


@pytest.mark.usefixtures("quickly")
def test_the_meaning_of_a_limit_turns_it_on():
    arguments = ("--motion", "static", "--sensor", "MPU-6050", "--duration", 1, "--force")
    off, _ = run_json(*arguments, "--output", "a.npz")
    on, _ = run_json(*arguments, "--output", "a.npz", "--unstated-limits", "max")
    assert "gyro.turn_on_bias" in off["missing"]
    assert "gyro.turn_on_bias" not in on["missing"]
    bias = strapdown.open("a.npz").imu["imu/data"].angular_velocity.mean(axis=0)
    assert 0.01 < np.abs(bias).max() < np.radians(20.5)  # a zero-rate output of 20 deg/s


@pytest.mark.usefixtures("quickly")
def test_the_earth_turns_where_one_says_it_is():
    arguments = ("--motion", "static", "--duration", 1, "--output", "a.npz")
    assert run(*arguments, "--wgs84", 0, 45, 100).exit_code == 0
    series = strapdown.open("a.npz").imu["imu/data"]
    assert series.angular_velocity[0] == pytest.approx([0.0, 7.292115e-5, 0.0], rel=1e-6, abs=1e-12)
    assert run(*arguments, "--force").exit_code == 0
    series = strapdown.open("a.npz").imu["imu/data"]
    assert series.specific_force[0] == pytest.approx([0.0, 0.0, STANDARD_GRAVITY], abs=1e-12)


# -- motions of every kind -------------------------------------------------------------------


@pytest.fixture
def walk():
    strapdown.write("walk.tum", Mounted(MOTIONS["wander"]).truth(np.arange(0.0, 5.0, 0.01)))
    return "walk.tum"


@pytest.mark.usefixtures("quickly")
def test_a_trajectory_is_interpolated_or_smoothed(walk):
    for way, notes in ((["interpolate"], 1), (["smooth", "--pose-noise", 1e-3, 0.1], 0)):
        report, done = run_json("--motion", walk, "--poses", *way, "-o", "a.mcap", "--force")
        assert done.exit_code == 0
        assert report["motion"] == "walk.tum"
        told = [n for n in report["notes"] if "the spline is up to 200 times less accurate" in n]
        assert len(told) == notes


@pytest.mark.usefixtures("quickly")
def test_a_world_has_a_site():
    world = WORLDS / "quadrotor.xml"
    report, _ = run_json("--motion", world, "--duration", 0.2, "--output", "a.csv")
    assert report["notes"][0] == "physics in steps of 0.001 s, the IMU on 'imu'"
    assert report["samples"] == 40


@pytest.mark.usefixtures("quickly")
def test_a_recording_is_replayed_with_errors(walk):
    assert run("--motion", walk, "--poses", "interpolate", "-o", "a.mcap").exit_code == 0
    replayed = ("--motion", "a.mcap", "--topic", "imu/data", "--sensor", "MPU-6050")
    report, done = run_json(*replayed, "--output", "b.csv")
    assert done.exit_code == 0
    assert report["files"] == {"b.csv": report["samples"]}


# -- warnings, losses, errors ----------------------------------------------------------------


@pytest.mark.usefixtures("quickly")
def test_a_warning_is_one_line_of_the_view_and_of_json():
    Path("way.tum").write_text("0 0 0 0 0 0 0 1\n5 1 0 0 0 0 1 0\n")
    Path("mine.toml").write_text(
        'name = "Mine"\n[sources.s]\ntitle = "s"\ngrade = "P"\n[gyro]\nnoise_density = '
        '{ value = 0.005, unit = "rad/s/sqrt(Hz)", sided = "one", source = "s" }\n'
    )
    arguments = (
        "--motion", "way.tum", "--poses", "waypoints", "--sensor", "mine.toml",
        "--sampling", "mean", "--output", "a.npz", "--force",
    )  # fmt: skip
    done = run(*arguments)
    warned = [line for line in done.stdout.splitlines() if line.startswith("warning: ")]
    assert len(warned) == 3
    assert "Mine: accel: no errors are known" in warned[1]
    assert "mine.toml: line 6: gyro.noise_density" in warned[0]
    assert "turns by 180.0 deg" in warned[2]
    assert done.stderr == ""
    report, _ = run_json(*arguments)
    assert [f"warning: {line}" for line in report["warnings"]] == warned


@pytest.mark.usefixtures("quickly")
def test_what_a_file_cannot_hold_is_a_loss_with_exit_code_3():
    report, done = run_json(
        "--motion", "spin", "--sensor", "ADIS16495-1", "--duration", 1, "--output", "a.bag"
    )
    assert done.exit_code == report["exit"] == 3
    assert report["lost"] == ["imu/data: gyro_clipping"]  # 360 deg/s at a range of 125 deg/s


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize(
    ("output", "sampling", "names"),
    [
        ("a.ulg", "point", "angular_velocity_covariance, specific_force_covariance, sensor.name, "),
        ("a.ulg", "integral", "sensor.name, "),
        ("a.bag", "point", ""),
        ("a.bag", "integral", "sensor.name, "),
    ],
)
def test_names_and_covariances_that_a_file_cannot_hold_are_notes(output, sampling, names):
    report, done = run_json(
        "--motion", "wander", "--sensor", "ADIS16470", "--duration", 1, "--sampling", sampling,
        "--output", output,
    )  # fmt: skip
    assert (done.exit_code, report["lost"]) == (0, []), done.output
    found = [note.removeprefix("left out of the file: ") for note in report["notes"]]
    assert {*f"{names}trajectory.name".split(", ")} == {*found[0].split(", ")}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--motion", "cirle"], "no motion or file 'cirle'; the nearest names: 'circle'"),
        (["--sensor", "MPU6O50"], "no sensor profile 'MPU6O50'; the nearest names: 'mpu6050'"),
        (["--sensor", "no.toml"], "no.toml: No such file or directory"),
        (["--motion", "chirp", "--duration", "61"], "at most 60 s, the length of chirp, got 61 s"),
        (["--duration", "-1"], "positive duration_s, got -1"),
        (["--duration", "0.001"], "at least one sample"),
        (["--rate", "-5"], "expected rate_hz of 1e-06 or more, at most 1e+09, got -5.0"),
        (["--rate", "nan"], "finite rate_hz"),
        (["--sensor", "mpu6050", "--rate", "9000"], "at most 8000 Hz"),
        (["--seed", "99999999999999999999999"], "a seed from 0 to 2**64 - 1"),
        (["--wgs84", "91", "0", "0"], "a latitude from -90 to 90 deg, got 91"),
        (["--poses", "smooth"], "no poses with a motion by name"),
        (
            ["--truth", "truth.png"],
            "expected an ending of .mcap, .bag, .ulg, .csv, .npz, .parquet, .tum",
        ),
        (["--picture", "picture.doc"], "expected an ending of .png, .svg, .pdf, got '.doc'"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(arguments, words):
    motion = [] if "--motion" in arguments else ["--motion", "circle"]
    assert failed(run(*motion, *arguments, "--output", "run.mcap"), words)
    assert names() == []


def test_a_number_that_is_none_in_a_profile_names_the_line():
    text = 'name = "M"\n[gyro]\nrange = { value = nan, unit = "deg/s" }\n'
    Path("mine.toml").write_text(text)
    done = run("--motion", "circle", "--sensor", "mine.toml", "--output", "a.npz")
    assert failed(done, "mine.toml: line 3: gyro.range")


def test_a_trajectory_asks_how_to_treat_its_poses(walk):
    assert failed(run("--motion", walk, "--output", "a.npz"), "interpolate (poses without noise)")
    done = run("--motion", walk, "--poses", "smooth", "--output", "a.npz")
    assert failed(done, "walk.tum: expected either pose_noise or knots_per_s")


def test_places_are_checked_before_a_motion_is_prepared(monkeypatch):
    monkeypatch.setattr(
        verb.simulation, "find_motion", lambda *_, **__: pytest.fail("it was prepared")
    )
    for output in ("run.txt", "run.tum", "run"):
        done = run("--motion", "circle", "--output", output)
        assert failed(done, "expected an ending of .mcap, .bag, .ulg, .csv, .npz, .parquet, got")
    Path("run.png").write_text("mine")
    done = run("--motion", "circle", "--output", "run.mcap")
    assert failed(done, "run.png: exists already; pass --force")
    assert Path("run.png").read_text() == "mine"


@pytest.mark.usefixtures("quickly")
def test_existing_files_are_replaced_by_force_alone():
    Path("run.npz").write_text("mine")
    arguments = ("--motion", "circle", "--duration", 1, "--output", "run.npz")
    assert failed(run(*arguments), "run.npz: exists already; pass --force")
    assert Path("run.npz").read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0
    assert len(strapdown.open("run.npz").imu["imu/data"]) == 200


@pytest.mark.usefixtures("quickly")
def test_an_interrupted_run_leaves_nothing_and_says_so(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("strapdown.simulation.recorder._account", interrupted)
    done = run("--motion", "circle", "--output", "run.csv", "--truth", "truth.tum")
    assert (done.exit_code, done.stderr) == (130, "strapdown: interrupted\n")
    assert names() == []


def test_a_wrong_choice_is_wrong_usage():
    for option in ("--sampling", "--poses", "--unstated-limits"):
        done = run("--motion", "circle", option, "nonsense", "--output", "run.npz")
        assert done.exit_code == 2

"""``strapdown detect`` and ``strapdown odometry``."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.detection import DETECTORS

runner = CliRunner()
STEP_NS = 5_000_000


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def run_json(*arguments):
    done = run(*arguments, "--json")
    return json.loads(done.stdout), done


@pytest.fixture(scope="module")
def dropped(tmp_path_factory):
    """A device that lies, falls freely from 1.2 s to 1.6 s, and hits the floor."""
    rng = np.random.default_rng(1)
    count = 600
    force = np.tile([0.0, 0.0, 9.81], (count, 1)) + rng.normal(0.0, 0.02, (count, 3))
    force[240:320] = rng.normal(0.0, 0.02, (80, 3))
    force[320:324] = [0.0, 0.0, 80.0]
    series = strapdown.ImuSeries(
        np.arange(count) * STEP_NS, rng.normal(0.0, 0.002, (count, 3)), force
    )
    path = tmp_path_factory.mktemp("dropped") / "dropped.csv"
    strapdown.write(path, series)
    return path


def test_a_drop_is_found_and_said_in_figures(dropped, tmp_path):
    events, picture = tmp_path / "events.json", tmp_path / "events.png"
    data, done = run_json(
        "detect", dropped, "--kind", "free_fall,impact", "-o", events, "--picture", picture
    )
    assert done.exit_code == data["exit"] == 3
    assert data["counts"]["free_fall"] == 1
    assert data["counts"]["impact"] >= 1
    (fall,) = [event for event in data["events"] if event["kind"] == "free_fall"]
    assert fall["t_start_ns"] == pytest.approx(1.2e9, abs=6e6)
    assert fall["t_end_ns"] - fall["t_start_ns"] == pytest.approx(0.4e9, abs=11e6)
    assert json.loads(events.read_text())["events"] == data["events"]
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    view = run("detect", dropped, "--kind", "free_fall").stdout
    assert "free_fall" in view
    assert "start [s]" in view


def test_every_detector_runs_by_name(dropped):
    for name in DETECTORS:
        data, done = run_json("detect", dropped, "--kind", name)
        assert done.exit_code in {0, 3}
        assert list(data["detectors"]) == [name]
        assert data["detectors"][name]["samples"] == 600


def test_nothing_found_is_exit_code_0(tmp_path):
    rng = np.random.default_rng(1)
    force = np.tile([0.0, 0.0, 9.81], (400, 1)) + rng.normal(0.0, 0.02, (400, 3))
    rest = strapdown.ImuSeries(np.arange(400) * STEP_NS, rng.normal(0.0, 0.002, (400, 3)), force)
    strapdown.write(tmp_path / "rest.csv", rest)
    done = run("detect", tmp_path / "rest.csv", "--kind", "free_fall,fall,impact")
    assert done.exit_code == 0
    assert "nothing found" in done.stdout


def test_an_unknown_detector_is_one_line(dropped):
    done = run("detect", dropped, "--kind", "freefall")
    assert done.exit_code == 1
    assert "there is no detector 'freefall'; the nearest names: 'free_fall'" in done.stderr


def test_no_detector_is_a_usage_error(dropped):
    assert run("detect", dropped, "--kind", ",").exit_code == 2


@pytest.mark.parametrize("silent", ["angular_velocity", "specific_force"])
@pytest.mark.parametrize("where", [[], ["--foot"]])
def test_nothing_goes_anywhere_without_one_of_its_sensors(tmp_path, silent, where):
    rows = {
        "angular_velocity": np.zeros((20, 3)),
        "specific_force": np.tile([0.0, 0.0, 9.8], (20, 1)),
        silent: np.full((20, 3), np.nan),
    }
    strapdown.write(tmp_path / "a.csv", strapdown.ImuSeries(np.arange(20) * STEP_NS, **rows))
    done = run("odometry", tmp_path / "a.csv", *where)
    assert done.exit_code == 1
    assert f"expected {silent.replace('_', ' ')} to navigate, the IMU has none" in done.stderr


@pytest.fixture(scope="module")
def walk(data_dir, tmp_path_factory):
    """A real walk of 27 m, as a file of ours."""
    arrays = np.load(data_dir / "pyshoe" / "2017-11-22-11-22-03.npz")
    t_ns = np.round((arrays["t"] - arrays["t"][0]) * 1e9).astype(np.int64)
    rate, force = arrays["gyr"].astype(float), arrays["acc"].astype(float)
    series = strapdown.ImuSeries(t_ns, rate, force, body="FRD", world="NED")
    path = tmp_path_factory.mktemp("walk") / "walk.csv"
    strapdown.write(path, series)
    return path


def test_a_walk_comes_back_to_where_it_began(walk, tmp_path):
    track, picture = tmp_path / "track.csv", tmp_path / "track.png"
    data, done = run_json(
        "odometry", walk, "--foot", "--smooth", "--output", track, "--picture", picture
    )
    assert done.exit_code == 0
    assert data["gait"]["distance_m"] == pytest.approx(27.3, rel=0.05)
    assert data["end_to_start_plane_m"] < 0.5
    assert data["frames"] == {"world": "NED", "body": "FRD"}
    assert strapdown.open(track).trajectory().position_world is not None
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")


def test_the_strides_are_told_in_words(walk):
    told = run("odometry", walk, "--foot").stdout
    assert re.search(r"(?m)^\d+ strides, 2\d\.\d m, median \d\.\d\d m at \d+ steps/min$", told)


def test_without_aiding_the_command_says_how_little_is_known(walk):
    data, done = run_json("odometry", walk)
    assert done.exit_code == 0
    assert data["end_sigma_m"] > 10.0
    assert "gait" not in data


def test_navigators_take_their_parameters(tmp_path):
    up = np.tile([0.0, 0.0, 9.81], (400, 1))
    rest = strapdown.ImuSeries(np.arange(400) * STEP_NS, np.zeros((400, 3)), up)
    strapdown.write(tmp_path / "rest.csv", rest)
    (tmp_path / "noise.toml").write_text("accel_noise = 0.3\n")
    sigma = {}
    for name, options in {
        "usual": [],
        "file": ["--params", tmp_path / "noise.toml"],
        "set": ["--params", tmp_path / "noise.toml", "--set", "accel_noise=3e-3"],
    }.items():
        data, done = run_json("odometry", tmp_path / "rest.csv", *options)
        assert done.exit_code == 0
        assert data["params"] == ({"accel_noise": 0.3} if name == "file" else {})
        sigma[name] = data["end_sigma_m"]
    assert sigma["set"] == sigma["usual"] < 0.5 * sigma["file"]
    data, _ = run_json("odometry", tmp_path / "rest.csv", "--foot", "--set", "contact_height=0.05")
    assert data["params"] == {"contact_height": 0.05}
    done = run("odometry", tmp_path / "rest.csv", "--set", "contact_height=0.05")
    assert done.exit_code == 1
    assert "there is no parameter of NavigatorParams 'contact_height'" in done.stderr
    done = run("odometry", tmp_path / "rest.csv", "--set", "patience=2.5")
    assert "--set: expected patience as a whole number, got '2.5'" in done.stderr


def test_a_smooth_open_loop_is_a_usage_error(walk):
    assert run("odometry", walk, "--smooth").exit_code == 2

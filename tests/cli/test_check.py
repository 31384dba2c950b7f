"""``strapdown check``, and what verbs that estimate make of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.geometry import quaternion
from strapdown.simulation import simulate


@pytest.fixture(scope="module")
def run():
    return simulate("wander", "MPU-6050", 40.0, rate_hz=100, seed=1)


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write_table(path, series):
    rows = np.column_stack([1e-9 * series.t_ns, series.angular_velocity, series.specific_force])
    header = "time (s),gx (rad/s),gy (rad/s),gz (rad/s),ax (m/s^2),ay (m/s^2),az (m/s^2)"
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.12g")
    return path


def test_good_data_exit_with_0(run, tmp_path):
    strapdown.write(tmp_path / "a.mcap", run.samples.series())
    done = command("check", tmp_path / "a.mcap", "--strict")
    assert done.exit_code == 0
    assert "no findings" in done.stdout.splitlines()


def test_findings_exit_with_3_or_strictly_with_1(run, tmp_path):
    series = run.samples.series()
    path = tmp_path / "a.mcap"
    strapdown.write(path, series.replace(angular_velocity=-series.angular_velocity))
    done = command("check", path, "--json")
    report = json.loads(done.stdout)
    assert done.exit_code == report["exit"] == 3
    assert [finding["code"] for finding in report["findings"]] == ["gyro_axes"]
    assert command("check", path, "--strict").exit_code == 1
    assert "mend, in Python: series.replace(angular_velocity=" in command("check", path).stdout


def test_what_mends_a_table_does(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    series = run.samples.series()
    path = write_table(
        tmp_path / "a.csv", series.replace(angular_velocity=57.29577951 * series.angular_velocity)
    )
    done = command("check", path)
    assert done.exit_code == 3
    (line,) = (line for line in done.stdout.splitlines() if "mend: strapdown import" in line)
    mend = line.split("mend: strapdown ")[1].split(";")[0].split()
    assert command(*mend).exit_code == 0
    assert command("check", path, "--columns", "columns.toml").exit_code == 0


@pytest.mark.parametrize("verb", ["fuse", "odometry"])
def test_verbs_that_estimate_doubt_axes(run, tmp_path, verb):
    series = run.samples.series()
    strapdown.write(tmp_path / "good.mcap", series)
    strapdown.write(
        tmp_path / "bad.mcap", series.replace(specific_force=series.specific_force[:, [1, 0, 2]])
    )
    lines = {}
    for name in ("good", "bad"):
        done = command(verb, tmp_path / f"{name}.mcap", "--output", tmp_path / f"{name}.tum")
        lines[name] = [line for line in done.stdout.splitlines() if line.startswith("doubtful")]
    assert lines["good"] == []
    assert len(lines["bad"]) == 1
    assert "likely x and y swapped" in lines["bad"][0]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (quaternion.conjugate, "likely the inverse"),
        (lambda q: np.tile(quaternion.IDENTITY, (len(q), 1)), "never changes"),
    ],
)
def test_an_orientation_that_is_no_reference_is_not_compared(run, tmp_path, wrong, words):
    series = run.samples.series()
    q = run.truth.q_world_from_body
    strapdown.write(tmp_path / "a.mcap", series.replace(q_world_from_body=q))
    strapdown.write(tmp_path / "b.mcap", series.replace(q_world_from_body=wrong(q)))
    good, bad = (command("fuse", tmp_path / f"{name}.mcap", "--output", tmp_path / f"{name}.tum")
                 for name in "ab")  # fmt: skip
    assert "against imu/data: total" in good.stdout
    assert "against imu/data" not in bad.stdout
    (line,) = (line for line in bad.stdout.splitlines() if "not compared with imu/data" in line)
    assert words in line


def test_compare_uses_the_best_smoother_where_an_orientation_is_no_reference(run, tmp_path):
    inverse = quaternion.conjugate(run.truth.q_world_from_body)
    strapdown.write(tmp_path / "a.mcap", run.samples.series().replace(q_world_from_body=inverse))
    done = command("fuse", tmp_path / "a.mcap", "--compare")
    assert "not compared with imu/data" in done.stdout
    assert "smoothed [deg RMS]" in done.stdout

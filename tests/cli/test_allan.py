"""``strapdown allan``."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tomllib
from contextlib import chdir

import numpy as np
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

import strapdown
from strapdown import ImuSeries
from strapdown.cli._app import app
from strapdown.formats import Recording, block_writer
from strapdown.sensors import load_profile

runner = CliRunner()
STEP_NS = 100_000_000
START_NS = 1_780_000_000 * 10**9  # 28 May 2026
LIMITED = """
import resource, sys, threading
from pathlib import Path
from typer.testing import CliRunner
from strapdown.cli._app import app
from strapdown.formats import long_files

threading.stack_size(1 << 18)  # stacks count, and how many threads there are is chance
long_files._BLOCKWISE = 0
short, long, room = *sys.argv[1:3], int(sys.argv[3])
assert CliRunner().invoke(app, ["allan", short]).exit_code == 3
status = dict(line.split(":", 1) for line in Path("/proc/self/status").open())
limit = int(status["VmData"].split()[0]) * 1024 + room
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
done = CliRunner().invoke(app, ["allan", long])
print(done.exit_code, repr(done.exception))
"""
"""Memory is limited to that of a short log and some room; parts of files do not count."""


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def run_json(*arguments):
    done = run(*arguments, "--json")
    return json.loads(done.stdout), done


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """Write an hour of white noise."""
    rng = np.random.default_rng(1)
    count = 36_000
    rate = rng.normal(0.0, 1e-3, (count, 3))
    force = rng.normal([0.0, 0.0, 9.81], 1e-2, (count, 3))
    path = tmp_path_factory.mktemp("still") / "still.mcap"
    strapdown.write(path, ImuSeries(START_NS + np.arange(count) * STEP_NS, rate, force))
    return path


def test_a_log_gives_figures_and_files_for_other_programs(still, tmp_path):
    names = ("allan.png", "psd.svg", "mine.toml", "imu.yaml", "eskf.toml", "curves.csv")
    picture, spectrum, sheet, kalibr, params, data = (tmp_path / name for name in names)
    found, done = run_json(
        "allan", still, "-o", picture, "--spectrum", spectrum, "--sheet", sheet,
        "--kalibr", kalibr, "--params", params, "--inflate", 2, "--data", data,
    )  # fmt: skip
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    assert b"<svg" in spectrum.read_bytes()
    density = 1e-3 / np.sqrt(10.0)
    white = found["noise"]["channels"]["angular_velocity.y"]["coefficients"]["N"]
    assert white["value"] == pytest.approx(density, rel=0.02)
    assert load_profile(sheet).spec().gyro.noise_density == pytest.approx((density,) * 3, rel=0.02)
    assert "still.mcap of 2026-05-28: 1 h at 10 Hz" in sheet.read_text()
    values = YAML(typ="safe").load(kalibr.read_text())
    assert values["gyroscope_noise_density"] == pytest.approx(2.0 * density, rel=0.03)
    numbers = tomllib.loads(params.read_text())
    assert numbers["gyro_noise"] == pytest.approx(2.0 * density, rel=0.03)
    fused = run("fuse", still, "--params", params, "--output", tmp_path / "attitude.csv")
    assert fused.exit_code == 0, fused.output
    rows = list(csv.DictReader(data.read_text().splitlines()))
    assert float(rows[0]["angular_velocity.y"]) == found["allan"]["deviation"][0][1]
    assert found["covariance"]["angular_velocity"][0][0] == pytest.approx(1e-6, rel=0.03)
    assert done.exit_code == found["exit"] == (3 if found["warnings"] else 0)


def test_the_table_has_both_units_intervals_and_the_lowest_points(still):
    text = run("allan", still).stdout
    for words in (
        "deg/sqrt(h)",
        "one-sided",
        "two-sided",
        "95 % interval",
        "at [s]",
        "lowest point",
    ):
        assert words in text
    assert "still.mcap of 2026-05-28" in text


def test_a_model_that_does_not_fit_is_exit_code_3(tmp_path):
    rng = np.random.default_rng(2)
    count = 20_000
    hum = 5e-3 * np.sin(2.0 * np.pi * np.arange(count) / 50.0)
    series = ImuSeries(
        np.arange(count) * STEP_NS,
        rng.normal(0.0, 1e-3, (count, 3)) + hum[:, None],
        rng.normal([0.0, 0.0, 9.81], 1e-2, (count, 3)),
    )
    strapdown.write(tmp_path / "hum.csv", series)
    found, done = run_json("allan", tmp_path / "hum.csv")
    assert done.exit_code == found["exit"] == 3
    assert any("the model does not fit" in warning for warning in found["warnings"])
    assert "warning: angular_velocity.x: the model does not fit" in run(
        "allan", tmp_path / "hum.csv"
    ).stdout.replace("\n", " ")


def test_a_log_that_moved_says_so_before_its_numbers(tmp_path):
    rng, count = np.random.default_rng(3), 6000
    turning = np.where(np.arange(count) > 5000, 1.0, 0.0)[:, None]
    rate = rng.normal(0.0, 1e-3, (count, 3)) + turning
    force = rng.normal([0.0, 0.0, 9.81], 1e-2, (count, 3))
    strapdown.write(tmp_path / "moved.csv", ImuSeries(np.arange(count) * STEP_NS, rate, force))
    text = run("allan", tmp_path / "moved.csv").stdout
    assert 0 < text.index("s of motion") < text.index("95 % interval")


def test_a_recording_of_a_field_alone_is_refused_by_name(tmp_path):
    t_ns, none = np.arange(200) * 10_000_000, np.full((200, 3), np.nan)
    field = np.full((200, 3), 2e-5)
    strapdown.write(tmp_path / "field.csv", ImuSeries(t_ns, none, none, magnetic_field=field))
    done = run("allan", tmp_path / "field.csv")
    assert done.exit_code == 1
    assert "field.csv: expected angular velocity or specific force, got none" in done.output


def test_other_deviations_are_written_without_a_fit(still, tmp_path):
    data = tmp_path / "mdev.csv"
    found, _ = run_json("allan", still, "--kind", "mdev", "--data", data)
    assert found["allan"]["kind"] == "mdev"
    assert "noise" not in found
    assert "model" not in data.read_text()


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("--kind mdev --sheet a.toml", 2, "expected oadev, adev, totdev"),
        ("--kind best", 1, "best"),
        ("--sheet a.txt", 1, ".toml"),
        ("--kalibr a.toml", 1, ".yaml"),
        ("--data a.txt", 1, ".csv"),
        ("--output a.txt", 1, ".png"),
        ("--bandwidth -1", 1, "bandwidth_hz above 0"),
        ("--kalibr a.yaml --inflate 0", 1, "inflate above 0"),
        ("--topic nothing", 1, "nothing"),
    ],
)
def test_wrong_options_are_one_line(still, tmp_path, line, code, words):
    with chdir(tmp_path):
        done = run("allan", still, *line.split())
    assert done.exit_code == code
    assert words in done.output
    assert list(tmp_path.iterdir()) == []


def test_files_are_kept_unless_forced(still, tmp_path):
    sheet = tmp_path / "mine.toml"
    sheet.write_text("mine")
    assert run("allan", still, "--sheet", sheet).exit_code == 1
    assert sheet.read_text() == "mine"
    assert run("allan", still, "--sheet", sheet, "--force").exit_code in {0, 3}
    assert sheet.read_text().startswith('name = "mine"')


@pytest.mark.slow
def test_a_log_of_millions_of_samples_needs_the_memory_of_a_short_one(tmp_path):
    block = np.random.default_rng(1).standard_normal((2, 100_000, 3))
    paths = {}
    for blocks in (1, 20):
        paths[blocks] = tmp_path / f"{blocks}.npz"
        with block_writer(paths[blocks]) as writer:
            for number in range(blocks):
                t_ns = START_NS + (number * 100_000 + np.arange(100_000)) * 10_000_000
                writer.write(Recording(imu={"imu": ImuSeries(t_ns, *block)}))
    room = 32 << 20  # 16 bytes a sample
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, paths.values()), str(room)],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert done.stdout.split()[0] in {"0", "3"}, done.stdout

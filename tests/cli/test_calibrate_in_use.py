"""``strapdown calibrate`` at rest and over temperature, and ``convert`` with temperatures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.calibration import load_calibration
from strapdown.cli._app import app
from strapdown.series import ImuSeries

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def oven(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oven")
    t = np.arange(0.0, 600.0, 0.1)
    celsius = 25.0 - 10.0 * np.cos(2.0 * np.pi * t / 600.0)
    rng = np.random.default_rng(0)
    w = np.outer(celsius - 15.0, [1e-4, 0.0, 0.0]) + 1e-4 * rng.normal(size=(len(t), 3))
    f = [0.0, 0.0, 9.81] + 0.005 * rng.normal(size=(len(t), 3))
    t_ns = 1_700_000_000_000_000_000 + np.round(t * 1e9).astype(np.int64)
    strapdown.write(folder / "oven.mcap", ImuSeries(t_ns, w, f))
    rows = [f"{a},{b}" for a, b in zip(t_ns[::10], celsius[::10], strict=True)]
    (folder / "warm.csv").write_text("\n".join(["t_ns,temperature_c", *rows, ""]))
    return folder


def test_a_recording_at_rest_gives_the_gyro_bias(oven):
    done = run("calibrate", oven / "oven.mcap", "--kind", "rest", "--output", oven / "rest.toml",
               "--latitude", "48", "--heading", "90", "--json")  # fmt: skip
    assert done.exit_code in {0, 3}, done.output
    assert json.loads(done.stdout)["intervals"] > 50
    assert load_calibration(oven / "rest.toml").provenance.method == "rest"


def test_temperature_is_calibrated_and_applied(oven):
    done = run("calibrate", oven / "oven.mcap", "--kind", "temperature", "--temperature",
               oven / "warm.csv", "--output", oven / "warm.toml", "--picture", oven / "warm.png",
               "--warm-up", "30", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["gyro"]["degree"] == [1, 0, 0]
    done = run("convert", oven / "oven.mcap", oven / "flat.mcap", "--calibration",
               oven / "warm.toml", "--temperature", oven / "warm.csv")  # fmt: skip
    assert done.exit_code == 0, done.output
    flat = strapdown.open(oven / "flat.mcap").imu_series().angular_velocity[:, 0]
    assert np.abs([part.mean() for part in np.split(flat, 6)]).max() < 3e-5


@pytest.mark.parametrize("verb", ["calibrate", "convert"])
def test_a_missing_temperature_is_named(oven, verb):
    run("calibrate", oven / "oven.mcap", "--kind", "temperature", "--temperature",
        oven / "warm.csv", "--output", oven / "w.toml")  # fmt: skip
    if verb == "calibrate":
        done = run("calibrate", oven / "oven.mcap", "--kind", "temperature")
    else:
        done = run("convert", oven / "oven.mcap", oven / "x.mcap", "--calibration", oven / "w.toml")
    assert done.exit_code == 1
    assert "pass --temperature" in done.output


def test_a_magnetometer_alone_is_calibrated_by_its_sphere(tmp_path):
    rng = np.random.default_rng(4)
    directions = rng.normal(size=(600, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    matrix, bias = np.diag([1.1, 0.95, 1.0]), np.array([12e-6, -7e-6, 3e-6])
    field = 48e-6 * directions @ np.linalg.inv(matrix).T + bias
    unknown = np.full((600, 3), np.nan)
    t_ns = np.arange(600) * 20_000_000
    strapdown.write(tmp_path / "m.npz", ImuSeries(t_ns, unknown, unknown, magnetic_field=field))
    output, picture = tmp_path / "mag.toml", tmp_path / "mag.png"
    done = run(
        "calibrate", tmp_path / "m.npz", "--kind", "mag", "--norm", 48, "--output", output,
        "--picture", picture,
    )  # fmt: skip
    assert done.exit_code in {0, 3}, done.output
    magnetometer = load_calibration(output).magnetometer
    np.testing.assert_allclose(magnetometer.bias, bias, atol=1e-10)
    np.testing.assert_allclose(magnetometer.matrix, matrix, atol=1e-5)
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    done = run("calibrate", tmp_path / "m.npz", "--kind", "mag", "--norm", 48e-6)
    assert done.exit_code == 3
    assert done.stdout.count("22 to 67 uT: check the unit of the norm") == 1


def test_a_kind_without_a_figure_refuses_one(oven):
    done = run("calibrate", oven / "oven.mcap", "--kind", "rest", "--picture", "a.png")
    assert done.exit_code == 2

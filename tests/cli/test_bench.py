"""``strapdown bench accuracy``: tables, files, and exit codes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from typer.testing import CliRunner

from strapdown.cli._app import app
from strapdown.fleet import accuracy as module
from strapdown.simulation import simulate

HEADING = """Time (s);Vicon Orientation;;;;IMU Acceleration;;;IMU Gyroscope;;;IMU Magnetometer;;;
;W;X;Y;Z;X;Y;Z;X;Y;Z;X;Y;Z;
"""


@pytest.fixture(scope="module")
def repoimu(tmp_path_factory):
    """A simulated trial in the layout of RepoIMU."""
    folder = tmp_path_factory.mktemp("RepoIMU")
    run = simulate("wander", "ideal", 4.0, rate_hz=100, seed=1)
    series, lines = run.samples.series(), []
    for k, (x, y, z, w) in enumerate(run.truth.q_world_from_body):
        numbers = [0.01 * (k + 1), w, x, y, z, *series.specific_force[k]]
        numbers += [*series.angular_velocity[k], 0.0, 0.4, -0.9]
        lines.append(";".join(f"{number:.9g}" for number in numbers))
    path = folder / "TStick_Test02_Trial1.csv"
    path.write_text(HEADING + "\n".join(lines) + "\n")
    return folder


@pytest.fixture(autouse=True)
def few(monkeypatch, threads):
    """Run two estimators, in threads of this process."""
    monkeypatch.setattr(module, "ESTIMATORS", ("mahony", "vqf"))
    monkeypatch.setattr(module, "peer_version", lambda: None)
    original = module.fleet_map
    monkeypatch.setattr(
        module,
        "fleet_map",
        lambda *args, **options: original(*args, **options | {"executor": threads}),
    )


@pytest.fixture
def threads():
    with ThreadPoolExecutor(1) as pool:
        yield pool


def run(*arguments):
    return CliRunner().invoke(app, ["bench", "accuracy", *map(str, arguments)])


def test_the_table_and_the_file_have_the_same_errors(repoimu, tmp_path):
    done = run(repoimu, "--output", tmp_path / "rows.csv")
    assert done.exit_code == 0, done.output
    assert "RepoIMU, held back, 1 recording: mean RMS error [deg]" in done.stdout
    data = json.loads(run(repoimu, "--json").stdout)
    row = data["summary"][1]
    assert (row["library"], row["filter"], row["axes"]) == ("strapdown", "vqf", 9)
    assert f"{row['total_deg']:.2f}" in done.stdout
    assert repr(row["total_deg"]) in (tmp_path / "rows.csv").read_text()


def test_a_damaged_recording_is_reported_with_exit_code_1(repoimu, tmp_path):
    for path in repoimu.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "TStick_Test03_Trial1.csv").write_text(HEADING + "1;2\n")
    done = run(tmp_path)
    assert done.exit_code == 1
    assert "failed: " in done.stdout
    assert "TStick_Test03_Trial1.csv" in done.stdout


def test_a_filter_without_an_estimate_is_counted_with_exit_code_1(repoimu, monkeypatch):
    def lacking(name, series, with_field):
        q = estimate(name, series, with_field)
        return np.full_like(q, np.nan) if name == "vqf" and with_field else q

    estimate = module.estimate
    monkeypatch.setattr(module, "estimate", lacking)
    done = run(repoimu)
    assert done.exit_code == 1
    assert "9D failed" in " ".join(done.stdout.split())
    assert "strapdown vqf failed on 1 recording of RepoIMU, 9D" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "expected the folder of a data set, there is none"),
        (["{empty}"], "or RepoIMU (TStick/TStick_Test*_Trial*.csv), found none"),
        (["{empty}", "--output", "rows.xml"], "expected an ending of .parquet, .csv, .json, .html"),
    ],
)
def test_wrong_input_is_one_message(arguments, message, tmp_path):
    done = run(*(each.replace("{empty}", str(tmp_path)) for each in arguments))
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())

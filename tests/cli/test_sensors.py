"""``strapdown sensors``, as a person and as a script use it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from strapdown.cli._app import app
from strapdown.sensors.profiles import load_profile, profile_names
from strapdown.sensors.spec import ImuSpec

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["sensors", *map(str, arguments)])


def test_the_list_has_every_profile_with_its_printed_figures():
    done = run()
    assert done.exit_code == 0
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert set(profile_names()) < set(rows)
    for text in ("0.34 deg/sqrt(h)", "8 deg/h", "2000 deg/s", "13 ug", "40 g", "P/S"):
        assert text in rows["adis16470"]


def test_the_list_as_json_has_null_for_what_is_unknown():
    rows = {row["profile"]: row for row in json.loads(run("--json").stdout)["profiles"]}
    assert list(rows) == list(profile_names())
    assert rows["adis16495-1"]["accel_noise"] is None
    assert rows["bmi160"]["gyro_bias_instability"] == "6 deg/h (max 10)"
    assert rows["mpu6050"]["grade"] == "P"


def test_one_profile_shows_values_sources_gaps_and_the_curve():
    text = run("stim300").stdout
    for words in (
        "Sensonor STIM300",
        "0.15 deg/sqrt(h)",
        "published model: stim300_model of NavToolkit",
        "0.07 m/s/sqrt(h)",
        "unknown: gyro.turn_on_scale: the source does not say what 500 ppm means",
        "not given: gyro.bias_random_walk",
        "gyro [deg/h]",
        "note: The maker defines bias instability",
    ):
        assert words in text


def test_one_profile_as_json_holds_numbers_and_the_model():
    data = json.loads(run("mpu6050", "--json").stdout)
    density = data["numbers"]["gyro.noise_density"]
    assert (density["value"], density["unit"]) == (0.005, "deg/s/sqrt(Hz)")
    assert (density["sided"], density["page"], density["grade"]) == ("one", "12", "P")
    assert ImuSpec.from_json(json.dumps(data["spec"])) == load_profile("mpu6050").spec()
    assert data["unknown"]["gyro.bias_instability"] == "not given"
    assert data["allan"]["tau_s"][2] == 1.0
    assert data["allan"]["gyro"][2][0] == pytest.approx(6.17e-5, rel=1e-3)


def test_one_profile_shows_how_it_reads_densities_and_what_it_lacks():
    text = run("mpu6050").stdout
    assert "reading: gyro.noise_density, accel.noise_density: one-sided, N = density / sq" in text
    assert "warning" not in text
    lacking = json.loads(run("adis16495-1", "--json").stdout)
    assert lacking["readings"] == {}
    (warning,) = lacking["warnings"]
    assert warning.startswith("ADIS16495-1: accel: no white noise is known")
    assert f"warning: {warning}" in run("adis16495-1").stdout


def test_a_file_of_ones_own_is_shown_with_what_is_doubtful(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "[bold]Mine\\u001b"\n[gyro]\n'
        'noise_density = { value = 0.3, unit = "deg/s/sqrt(Hz)", sided = "one" }\n'
    )
    done = run(path)
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert "[bold]Mine" in done.stdout
    assert "without a source: gyro.noise_density" in done.stdout
    assert "57.3 or 60 times less" in done.stdout
    assert "line 3: gyro.noise_density" in json.loads(run(path, "--json").stdout)["warnings"][0]


def test_a_file_that_is_wrong_is_one_line_and_exit_code_1(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "Mine"\n[gyro]\nnoise = 3\n')
    done = run(path)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"strapdown: {path}: line 3: gyro.noise: there is no key")
    assert len(done.stderr.splitlines()) == 1


def test_a_wrong_name_gives_the_nearest_and_a_missing_file_is_one_line(tmp_path):
    assert "'mpu9250'" in run("mpu92500").stderr
    missing = run(tmp_path / "none.toml")
    assert missing.exit_code == 1
    assert "No such file or directory" in missing.stderr

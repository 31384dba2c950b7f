"""``strapdown calibrate``, and ``convert --calibration``."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.calibration import (
    ImuCalibration,
    TemperatureCurve,
    TriadCalibration,
    load_calibration,
    save_calibration,
)
from strapdown.cli._app import app
from strapdown.formats import Recording
from strapdown.inertial import increments_from_rates

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(sessions, tmp_path_factory):
    """A folder with a session of many attitudes, and one of faces with its sections."""
    folder = tmp_path_factory.mktemp("sessions")
    strapdown.write(folder / "tumble.mcap", sessions.tumbled())
    motion, sections = sessions.faces()
    strapdown.write(folder / "faces.npz", sessions.recorded(motion))
    spans = {name: {"start": start, "end": stop} for name, (start, stop) in sections.items()}
    (folder / "sections.json").write_text(json.dumps(spans))
    return folder


@pytest.fixture(scope="module")
def calibrated(folder):
    done = run("calibrate", folder / "tumble.mcap", "--gravity", "9.80665", "--output",
               folder / "cal.toml", "--picture", folder / "cal.png", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_many_attitudes_become_a_calibration_with_its_origin(calibrated, folder, sessions):
    assert calibrated["kind"] == "multi"
    assert calibrated["findings"] == []
    assert calibrated["residuals"]["norm_left_out_m_s2"] < 0.003
    calibration = load_calibration(folder / "cal.toml")
    np.testing.assert_allclose(calibration.accel.matrix, sessions.ACCEL, atol=1e-3)
    np.testing.assert_allclose(calibration.gyro.matrix, sessions.GYRO, atol=1e-3)
    origin = calibration.provenance
    assert origin.source == "tumble.mcap"
    assert origin.source_sha256 == hashlib.sha256((folder / "tumble.mcap").read_bytes()).hexdigest()
    assert origin.date.startswith("20")
    assert origin.date.endswith("+00:00")
    assert (folder / "cal.png").read_bytes()[:4] == b"\x89PNG"


def test_findings_are_printed_and_give_code_3(folder):
    done = run("calibrate", folder / "faces.npz")
    assert done.exit_code == 3
    assert "kind: six" in done.stdout
    assert "finding: gravity is not known" in done.stdout
    assert "accelerometer from 9 still intervals" in done.stdout


@pytest.mark.parametrize("kind", ["six", "ferraris"])
def test_sections_come_from_a_file(folder, kind, sessions):
    given = ("--sections", folder / "sections.json", "--latitude", "45", "--height", "100")
    done = run("calibrate", folder / "faces.npz", "--kind", kind, *given, "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["gravity_m_s2"] == pytest.approx(9.80589, abs=1e-5)
    np.testing.assert_allclose(data["gyro"]["matrix"], sessions.GYRO, atol=1e-3)
    assert data["still_intervals"] == 6


def test_the_session_of_imucal_needs_no_program(data_dir, tmp_path):
    source = data_dir / "imucal" / "example_ferraris_session.csv"
    sections = data_dir / "imucal" / "example_ferraris_session_list.json"
    columns = tmp_path / "columns.toml"
    assert run("import", source, "--rate", "102.4", "--save", columns).exit_code == 0
    read = (source, "--columns", columns, "--gravity", "9.81", "--json")
    done = run("calibrate", *read, "--kind", "ferraris", "--sections", sections)
    assert done.exit_code == 0, done.output
    theirs = json.loads((data_dir / "imucal" / "ferraris_golden.json").read_text())
    found = json.loads(done.stdout)
    np.testing.assert_allclose(found["accel"]["bias"], theirs["b_a"], atol=1e-8)
    np.testing.assert_allclose(np.degrees(found["gyro"]["bias"]), theirs["b_g"], atol=1e-8)
    alone = json.loads(run("calibrate", *read).stdout)
    assert (alone["kind"], alone["turns"], alone["exit"]) == ("six", 3, 3)


def test_wrong_options_are_named(folder, tmp_path):
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "bad.json").write_text("{")
    source = folder / "faces.npz"
    for arguments, text in (
        (["--kind", "sixes"], "no kind of calibration 'sixes'"),
        (["--sections", tmp_path / "list.json"], "expected sections such as"),
        (["--sections", tmp_path / "bad.json"], "expected sections as JSON"),
        (["--height", "3"], "expected a latitude"),
        (["--kind", "multi", "--gravity", "9.8"], "pass a shorter initial_still_s"),
    ):
        done = run("calibrate", source, *arguments)
        assert done.exit_code == 1
        assert text in done.output


def test_options_without_effect_are_refused(folder, tmp_path):
    (tmp_path / "t.csv").write_text("t_s,temperature_c\n0,20\n")
    for arguments, text in (
        (["--kind", "multi", "--norm", "48"], "no effect on kind multi"),
        (["--kind", "six", "--temperature", tmp_path / "t.csv"], "no effect on kind six"),
        (["--kind", "rest", "--heading", "5"], "expected --latitude with it"),
        (["--sections", folder / "sections.json", "--from", "3"], "rows count from the start"),
        (["--latitude", "400"], "--latitude"),
        (["--scale"], "'--scale'"),
    ):
        done = run("calibrate", folder / "faces.npz", *arguments)
        assert done.exit_code == 2
        assert text in " ".join(done.output.split())


def test_temperatures_make_the_kind(folder, tmp_path):
    (tmp_path / "t.csv").write_text("t_s,temperature_c\n0,20\n1,20\n")
    done = run("calibrate", folder / "faces.npz", "--temperature", tmp_path / "t.csv")
    assert "expected temperatures that span at least 3 bins" in done.output


def test_a_calibration_without_effect_is_not_applied(folder, tmp_path):
    field = ImuCalibration(magnetometer=TriadCalibration(bias=[1e-5, 0.0, 0.0]))
    save_calibration(field, tmp_path / "mag.toml")
    done = run("convert", folder / "tumble.mcap", tmp_path / "out.mcap", "--calibration",
               tmp_path / "mag.toml")  # fmt: skip
    assert done.exit_code == 1
    assert "expected a sensor that mag.toml calibrates, got none" in done.output
    assert not (tmp_path / "out.mcap").exists()


def test_convert_applies_a_calibration(calibrated, folder, tmp_path):
    assert calibrated
    done = run("convert", folder / "tumble.mcap", tmp_path / "out.mcap", "--calibration",
               folder / "cal.toml")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "calibrated by" in done.stdout
    calibration = load_calibration(folder / "cal.toml")
    expected = calibration.apply(strapdown.open(folder / "tumble.mcap").imu_series())
    written = strapdown.open(tmp_path / "out.mcap").imu_series()
    assert written.specific_force.tolist() == expected.specific_force.tolist()
    assert written.angular_velocity.tolist() == expected.angular_velocity.tolist()


def test_convert_calibrates_increments_in_blocks(calibrated, folder, tmp_path, sessions):
    assert calibrated
    series = sessions.tumbled()
    increments, _ = increments_from_rates(series, samples_per_increment=2)
    source = tmp_path / "increments.npz"
    strapdown.write(source, Recording(increments={"vehicle_imu": increments}))
    done = run("convert", source, tmp_path / "out.npz", "--calibration", folder / "cal.toml")
    assert done.exit_code == 0, done.output
    expected = load_calibration(folder / "cal.toml").apply(increments)
    (written,) = strapdown.open(tmp_path / "out.npz").increments.values()
    np.testing.assert_allclose(written.delta_angle, expected.delta_angle, atol=1e-15)
    np.testing.assert_allclose(written.delta_velocity, expected.delta_velocity, atol=1e-15)


def test_one_calibration_is_not_applied_to_several_sensors(calibrated, folder, tmp_path, sessions):
    assert calibrated
    series = sessions.tumbled()[:500]
    source = tmp_path / "two.mcap"
    strapdown.write(source, Recording(imu={"a": series, "b": series}))
    done = run("convert", source, tmp_path / "out.mcap", "--calibration", folder / "cal.toml")
    assert done.exit_code == 1
    assert "got the topics a, b; choose one with --topic" in done.output
    assert not (tmp_path / "out.mcap").exists()
    done = run("convert", source, tmp_path / "out.mcap", "--calibration", folder / "cal.toml",
               "--topic", "b")  # fmt: skip
    assert done.exit_code == 0, done.output
    written = strapdown.open(tmp_path / "out.mcap").imu["b"]
    assert written.specific_force.tolist() != series.specific_force.tolist()


def test_a_calibration_by_temperature_needs_one(folder, tmp_path):
    curve = TemperatureCurve(
        reference_c=25.0, coefficients=np.full((1, 3), 1e-3), lowest_c=0.0, highest_c=50.0
    )
    save_calibration(ImuCalibration(gyro=TriadCalibration(temperature=curve)), tmp_path / "t.toml")
    done = run("convert", folder / "tumble.mcap", tmp_path / "out.mcap", "--calibration",
               tmp_path / "t.toml")  # fmt: skip
    assert done.exit_code == 1
    assert "expected the temperature of the sensor" in done.output
    assert "pass --temperature" in done.output
    assert not (tmp_path / "out.mcap").exists()
    (tmp_path / "late.csv").write_text("t_s,temperature_c\n1000000,20\n1000060,30\n")
    done = run("convert", folder / "tumble.mcap", tmp_path / "out.mcap", "--calibration",
               tmp_path / "t.toml", "--temperature", tmp_path / "late.csv")  # fmt: skip
    assert done.exit_code == 1
    assert "expected temperatures during the recording, got none" in done.output
    assert not (tmp_path / "out.mcap").exists()

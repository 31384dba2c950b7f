"""``strapdown info`` of logs of PX4: how each IMU clipped, vibrated and was calibrated."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pyulog import ULog
from typer.testing import CliRunner

from strapdown.cli._app import app
from strapdown.messages.px4 import VehicleImu

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["info", *map(str, arguments)])


@pytest.fixture(scope="module")
def full_log(px4, flight, tmp_path_factory):
    def edit(rows):
        for imu in (0, 1):
            rows["vehicle_imu", imu] = VehicleImu, flight.windows(imu)

    return px4.write(tmp_path_factory.mktemp("info") / "full.ulg", flight, edit=edit)


@pytest.fixture(scope="module")
def old_log(data_dir):
    path = data_dir / "px4" / "ulog" / "sample_log_small.ulg"
    if not path.is_file():
        pytest.skip(f"no log at {path}")
    return path


def test_the_table_has_two_rows_an_imu(full_log, flight):
    done = run(full_log)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    first = lines.index(next(line for line in lines if line.startswith("IMU "))) + 1
    gyro, accel, other, last = (" ".join(line.split()) for line in lines[first : first + 4])
    windows = len(flight.windows(0)) - 6  # of the dropout
    assert f"0 gyro ICM42688P 0 of {windows} windows, 0 samples count 1 > 2" in gyro
    assert f"0 accel ICM42688P 2 of {windows} windows, 8 samples count 2 > 3" in accel
    assert accel.endswith("m/s^2 warning")
    assert "1 gyro BMI088" in other
    assert "count 2 " in last


def test_json_has_the_same_as_numbers(full_log, flight, px4):
    report = json.loads(run(full_log, "--json").stdout)
    assert [imu["instance"] for imu in report["imus"]] == [0, 1]
    for imu in report["imus"]:
        number = imu["instance"]
        assert imu["gyro_device_id"] == px4.IDS[0][number]
        windows = flight.windows(number)
        lost = (windows["timestamp"] > 602_800_000) & (windows["timestamp"] <= 602_830_000)
        clipped = windows["delta_velocity_clipping"][~lost]
        assert imu["windows"] == len(clipped)
        assert imu["accel_clipping"]["clipped"] == np.count_nonzero(clipped)
        assert imu["accel_clipped_samples"] == flight.sensors["accel", number].clips.sum(0).tolist()
        assert imu["gyro_calibration_counts"] == ([1] if number else [1, 2])
        assert imu["accel_vibration"]["mean"] == pytest.approx(10.3, rel=0.1)
        assert imu["vibration_level"] == "warning"


def test_a_log_of_v1_11_has_three_imus(old_log):
    report = json.loads(run(old_log, "--json").stdout)
    ulog = ULog(str(old_log), ["vehicle_imu", "vehicle_imu_status"])
    assert [imu["accel"] for imu in report["imus"]] == ["ICM20649", "ICM20602", "ICM20948"]
    for imu in report["imus"]:
        status = ulog.get_dataset("vehicle_imu_status", imu["instance"]).data
        windows = ulog.get_dataset("vehicle_imu", imu["instance"]).data
        per_s = 1e6 / np.median(windows["delta_velocity_dt"])
        assert imu["accel_vibration"]["peak"] == pytest.approx(
            float(status["accel_vibration_metric"].max()) * per_s, rel=1e-6
        )
        assert imu["gyro_clipped_samples"] is None
        assert imu["gyro_clipping"] is None
        assert imu["gyro_calibration_counts"] == []


def test_counts_that_a_log_does_not_have_are_not_shown_as_zero(old_log):
    lines = [line for line in run(old_log).stdout.splitlines() if " gyro ICM" in line]
    assert len(lines) == 3
    assert not any("count" in line or " 0 " in line.partition("ICM")[2] for line in lines)
    assert all(line.count("not logged") == 2 for line in lines)


def test_an_imu_whose_vibration_is_not_logged_shows_no_number(px4, flight, tmp_path):
    def edit(rows):
        del rows["vehicle_imu_status", 0], rows["vehicle_imu_status", 1]

    log = px4.write(tmp_path / "a.ulg", flight, edit=edit)
    done = run(log)
    assert done.exit_code == 0
    assert "nan" not in done.stdout
    assert done.stdout.count("not logged") == 4
    (imu, _) = json.loads(run(log, "--json").stdout)["imus"]
    assert (imu["accel_vibration"]["peak"], imu["vibration_level"]) == (None, "")


def test_a_log_without_imus_has_no_such_table(data_dir):
    path = data_dir / "px4" / "ulog" / "sample.ulg"
    if not path.is_file():
        pytest.skip(f"no log at {path}")
    assert "imus" not in json.loads(run(path, "--json").stdout)


def test_what_counts_as_a_gap_stands_below_the_table(old_log):
    lines = run(old_log).stdout.splitlines()
    (line,) = (line for line in lines if line.startswith("a gap is"))
    assert "longer than 5 median steps and 20 ms" in line
    assert any("vehicle_attitude: 1 step above 1.5 times" in line for line in lines)

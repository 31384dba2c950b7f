"""Temperature of recordings and of tables."""

import numpy as np
import pytest

import strapdown
from strapdown.calibration import read_temperature, recorded_temperature
from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats import Recording
from strapdown.series import ImuSeries


@pytest.mark.parametrize("instance", [0, 1, 2])
def test_a_px4_log_has_the_temperature_of_each_of_its_imus(data_dir, instance):
    log = strapdown.open(data_dir / "px4" / "ulog" / "sample_log_small.ulg")
    readings = recorded_temperature(log, f"vehicle_imu.{instance}")
    device = log.increments[f"vehicle_imu.{instance}"].sensor.gyro_device_id
    rows = next(
        rows
        for rows in (log.log.rows("sensor_gyro", i) for i in range(3))
        if rows["device_id"][0] == device
    )
    np.testing.assert_array_equal(readings.celsius, rows["temperature"])
    np.testing.assert_array_equal(readings.t_ns, rows["timestamp_sample"].astype(np.int64) * 1000)


def test_a_log_without_temperature_has_none(data_dir):
    log = strapdown.open(data_dir / "px4" / "ulog" / "sample.ulg")
    assert recorded_temperature(log) is None


def test_other_recordings_have_none():
    zeros = np.zeros((2, 3))
    recording = Recording(imu={"imu": ImuSeries(np.array([0, 1]), zeros, zeros)})
    assert recorded_temperature(recording) is None


def test_an_unknown_topic_is_named(data_dir):
    log = strapdown.open(data_dir / "px4" / "ulog" / "sample_log_small.ulg")
    with pytest.raises(UnknownNameError, match=r"vehicle_imu\.7"):
        recorded_temperature(log, "vehicle_imu.7")


@pytest.mark.parametrize(
    "text",
    [
        "t_ns,temperature_c\n1000000000,20.5\n3000000000,21\n",
        "t_s;x;celsius\n3;0;21\n2;7;\n1;0;20.5\n",  # any order, an empty cell
        "temperature\tt_s\n20.5\t1.0\n21\t3\nnan\t4\n",
    ],
)
def test_a_table_of_temperatures(tmp_path, text):
    path = tmp_path / "warm.csv"
    path.write_text(text)
    readings = read_temperature(path)
    np.testing.assert_array_equal(readings.t_ns, [1_000_000_000, 3_000_000_000])
    np.testing.assert_array_equal(readings.celsius, [20.5, 21.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,temperature\n1,2\n", "a header with t_ns or t_s and temperature_c or"),
        ("t_s,gyro\n1,2\n", "a header with t_ns or t_s"),
        ("t_s,celsius\n1,warm\n", "line 2"),
        ("t_s,celsius\n1,nan\n", "rows with a temperature, got none"),
    ],
)
def test_tables_without_temperatures_are_named(tmp_path, text, message):
    path = tmp_path / "cold.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_temperature(path)
    assert str(path) in str(caught.value)

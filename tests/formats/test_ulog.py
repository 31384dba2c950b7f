"""ULog: the logs of the pyulog project, and the golden log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyulog import ULog

from strapdown.errors import FormatError, TruncatedError
from strapdown.formats.ulog import reader
from strapdown.series import SensorIdentity

if TYPE_CHECKING:
    from pathlib import Path

LOGS = {  # rows of sensor_combined; rows and instances of vehicle_imu
    "sample": (17070, 0, 0),
    "sample_appended_multiple": (2373, 0, 0),
    "sample_log_small": (1298, 12, 3),
    "sample_logging_tagged_and_default_params": (2028, 22, 3),
    "sample_px4_events": (7783, 62, 1),
}


@pytest.fixture(params=LOGS)
def sample(request, data_dir) -> Path:
    return data_dir / "px4" / "ulog" / f"{request.param}.ulg"


def decoded(path: Path, topic: str) -> dict[str, np.ndarray]:
    return ULog(str(path), [topic]).get_dataset(topic).data


def columns(data: dict[str, np.ndarray], name: str, size: int = 3) -> np.ndarray:
    return np.stack([data[f"{name}[{axis}]"] for axis in range(size)], axis=1)


def test_every_log_gives_the_rows_that_it_holds(sample, capsys):
    recording = reader.read(sample, salvage=False)
    rows, increments, instances = LOGS[sample.stem]
    assert len(recording.imu["sensor_combined"]) == rows
    assert {name: len(part) for name, part in recording.increments.items()} == {
        f"vehicle_imu.{k}": increments for k in range(instances)
    }
    assert recording.report.lossless
    assert capsys.readouterr().out == ""


def test_values_are_those_that_pyulog_gives_in_our_order_and_frames(sample):
    recording = reader.read(sample, salvage=False)
    imu, attitude = recording.imu["sensor_combined"], recording.trajectories["vehicle_attitude"]
    data = decoded(sample, "sensor_combined")
    np.testing.assert_array_equal(imu.angular_velocity, columns(data, "gyro_rad"))
    np.testing.assert_array_equal(imu.specific_force, columns(data, "accelerometer_m_s2"))
    assert (imu.body, imu.world) == ("FRD", "NED")
    data = decoded(sample, "vehicle_attitude")
    wxyz = columns(data, "q", 4)
    np.testing.assert_array_equal(attitude.q_world_from_body, wxyz[:, [1, 2, 3, 0]])
    sampled = data.get("timestamp_sample", data["timestamp"])
    np.testing.assert_array_equal(attitude.t_ns, sampled.astype(np.int64) * 1000)
    assert (attitude.body, attitude.world) == ("FRD", "NED")


@pytest.mark.parametrize(
    ("name", "contiguous", "steps"),
    [
        ("sample_log_small", 1296, 1297),
        ("sample_logging_tagged_and_default_params", 2027 - 665, 2027),
        ("sample_px4_events", 7782, 7782),
    ],
)
def test_stamps_are_the_middles_of_intervals_that_touch(name, contiguous, steps, data_dir):
    path = data_dir / "px4" / "ulog" / f"{name}.ulg"
    imu = reader.read(path, salvage=False).imu["sensor_combined"]
    dt_ns = decoded(path, "sensor_combined")["gyro_integral_dt"].astype(np.int64) * 1000
    touching = 2 * np.diff(imu.t_ns) == dt_ns[1:] + dt_ns[:-1]
    assert (np.count_nonzero(touching), len(touching)) == (contiguous, steps)


def test_intervals_in_float_seconds_of_2016_are_whole_microseconds(data_dir):
    path = data_dir / "px4" / "ulog" / "sample_appended_multiple.ulg"
    imu = reader.read(path, salvage=False).imu["sensor_combined"]
    data = decoded(path, "sensor_combined")
    dt_us = [round(float(dt) * 1e6) for dt in data["gyro_integral_dt"]]
    assert dt_us[1:4] == [4001, 3999, 4000]
    expected = data["timestamp"].astype(np.int64) * 1000 - 500 * np.array(dt_us)
    np.testing.assert_array_equal(imu.t_ns, expected)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("sample_log_small", 12),
        ("sample_logging_tagged_and_default_params", 17),
        ("sample_px4_events", 62),
    ],
)
def test_increments_over_their_time_equal_the_logged_rates_bit_for_bit(name, rows, data_dir):
    recording = reader.read(data_dir / "px4" / "ulog" / f"{name}.ulg", salvage=False)
    imu, part = recording.imu["sensor_combined"], recording.increments["vehicle_imu.0"]
    middle = part.t_ns - part.delta_angle_dt_ns // 2
    common, ours, theirs = np.intersect1d(middle, imu.t_ns, return_indices=True)
    assert len(common) == rows
    for delta, dt_ns, rate in (
        (part.delta_angle, part.delta_angle_dt_ns, imu.angular_velocity),
        (part.delta_velocity, part.delta_velocity_dt_ns, imu.specific_force),
    ):
        dt_us = (dt_ns[ours] // 1000).astype(np.float32)
        mean = delta[ours].astype(np.float32) * (np.float32(1e6) / dt_us)[:, None]
        assert mean.dtype == np.float32
        np.testing.assert_array_equal(
            mean.view(np.uint32), rate[theirs].astype(np.float32).view(np.uint32)
        )


def test_three_imus_keep_their_identities_and_their_coverage_is_noted(data_dir):
    recording = reader.read(data_dir / "px4" / "ulog" / "sample_log_small.ulg", salvage=False)
    ids = [part.sensor.gyro_device_id for part in recording.increments.values()]
    assert sorted(ids) == sorted([0x25000A, 0x380022, 0x280022])
    # 12 windows of 5 ms in 5.5 s
    assert "vehicle_imu.0: the intervals cover 1.1% of the time" in recording.report.notes
    assert "dropouts: 1, together 30 ms" in recording.report.notes


def test_dropouts_of_a_log_are_noted(data_dir):
    report = reader.read(data_dir / "px4" / "ulog" / "sample.ulg", salvage=False).report
    assert f"dropouts: 4, together {0 + 26 + 31 + 62} ms" in report.notes
    assert report.messages + sum(report.skipped.values()) == 64_542


@pytest.mark.parametrize(("name", "samples"), [("sample", 6759), ("sample_px4_events", 459)])
def test_each_magnetometer_sample_stands_on_one_row_in_tesla(name, samples, data_dir):
    path = data_dir / "px4" / "ulog" / f"{name}.ulg"
    recording = reader.read(path, salvage=False)
    imu = recording.imu["sensor_combined"]
    there = np.isfinite(imu.magnetic_field).all(axis=1)
    left = samples - np.count_nonzero(there)
    assert left < 0.01 * samples
    notes = " ".join(recording.report.notes)
    assert (f"{left} of {samples} samples were left out" in notes) == (left > 0)
    strength = np.linalg.norm(imu.magnetic_field[there], axis=1)
    assert 2e-5 < np.median(strength) < 7e-5  # the field of the Earth


def test_a_level_vehicle_reads_minus_g_on_the_down_axis(data_dir):
    recording = reader.read(data_dir / "px4" / "ulog" / "sample_px4_events.ulg", salvage=False)
    force = recording.imu["sensor_combined"].specific_force[:200].mean(axis=0)
    np.testing.assert_allclose(force, [0.0, 0.0, -9.8], atol=0.4)


def test_the_golden_log_is_read_field_for_field(data_dir):
    recording = reader.read(data_dir / "px4" / "writer_golden.ulg", salvage=False)
    part = recording.increments["vehicle_imu.0"]
    assert part.t_ns.tolist() == [1_005_000_000, 1_015_000_000]
    assert (
        part.delta_angle.astype(np.float32).tolist()
        == np.float32([[0.001, -0.002, 0.003]] * 2).tolist()
    )
    np.testing.assert_array_equal(part.delta_velocity[:, 2], np.float32(-0.0490332507))
    assert part.delta_angle_dt_ns.tolist() == part.delta_velocity_dt_ns.tolist() == [5_000_000] * 2
    assert (part.gyro_clipping.tolist(), part.accel_clipping.tolist()) == ([0, 0], [4, 4])
    assert part.accel_calibration_count.tolist() == [0, 0]
    assert part.gyro_calibration_count.tolist() == [1, 1]
    assert part.sensor == SensorIdentity("", 0x14010C, 0x14010C)
    assert part.body == "FRD"


def test_a_log_that_is_cut_anywhere_gives_exactly_the_rows_before_the_cut(
    data_dir, stride, tmp_path
):
    data = (data_dir / "px4" / "writer_golden.ulg").read_bytes()
    ends, pos = [16], 16
    while pos < len(data):
        pos += 3 + int.from_bytes(data[pos : pos + 2], "little")
        ends.append(pos)
    rows_end = [
        604 + 3,
        640 + 3 + 62,
    ]  # of the two D records, from the table of records with the data
    path = tmp_path / "cut.ulg"
    for cut in sorted({*range(0, len(data), stride), *ends[:-1]}):
        path.write_bytes(data[:cut])
        rows = sum(end <= cut for end in rows_end)
        if cut in ends:
            got = reader.read(path, salvage=False)
            assert got.report.lossless
        else:
            with pytest.raises(TruncatedError if cut else FormatError) as caught:
                reader.read(path, salvage=False)
            if cut < 16:
                continue
            begin = max(end for end in ends if end <= cut)
            assert caught.value.offset == begin
            got = reader.read(path, salvage=True)
            assert got.report.lost_bytes == cut - begin
        assert sum(map(len, got.increments.values())) == rows

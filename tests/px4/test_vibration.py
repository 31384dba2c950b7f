"""Vibration metrics of windows against logged ones of autopilots."""

from __future__ import annotations

import numpy as np
import pytest
from pyulog import ULog

from strapdown.messages.conversion.px4_rates import sensor_combined_from_vehicle_imu
from strapdown.messages.px4 import VehicleImu
from strapdown.px4.vibration import vehicle_imu_vibration
from strapdown.series import Increments


@pytest.fixture
def topics(data_dir):
    """Return the topics of a sample log by name, instance 0, read by pyulog."""

    def read(name):
        path = data_dir / "px4" / "ulog" / name
        if not path.is_file():
            pytest.skip(f"no log at {path}")
        return {d.name: d.data for d in ULog(str(path)).data_list if d.multi_id == 0}

    return read


def vector(topic, name):
    return np.stack([topic[f"{name}[{axis}]"] for axis in range(3)], axis=1)


def increments_of(combined):
    gyro_us, accel_us = (
        combined[f"{sensor}_integral_dt"].astype(np.int64) for sensor in ("gyro", "accelerometer")
    )
    return Increments(
        combined["timestamp"].astype(np.int64) * 1000,
        vector(combined, "gyro_rad") * (gyro_us * 1e-6)[:, None],
        vector(combined, "accelerometer_m_s2") * (accel_us * 1e-6)[:, None],
        gyro_us * 1000,
        accel_us * 1000,
    )


def errors(topics, *, of_increments):
    """Propagate each logged metric to the next status; return both deviations and the metrics."""
    status, increments = topics["vehicle_imu_status"], increments_of(topics["sensor_combined"])
    stamps_ns = status["timestamp"].astype(np.int64) * 1000
    last = np.searchsorted(increments.t_ns, stamps_ns, "right") - 1
    logged = np.stack([status["accel_vibration_metric"], status["gyro_vibration_metric"]], axis=1)
    ours = [
        [
            metric[-1]
            for metric in vehicle_imu_vibration(
                increments[last[row] : last[row + 1] + 1],
                of_increments=of_increments,
                initial=tuple(logged[row]),
            )
        ]
        for row in range(len(last) - 1)
        if last[row] >= 0
    ]
    wanted = logged[len(logged) - len(ours) :]
    return np.abs(np.array(ours) - wanted), wanted


def test_metrics_go_on_to_those_of_the_next_status(topics):
    deviation, _ = errors(topics("sample_px4_events.ulg"), of_increments=False)
    assert len(deviation) == 30
    assert deviation[:, 0].max() <= 1e-7
    assert deviation[:, 1].max() <= 2e-8


def test_metrics_of_v1_11_are_of_increments(topics):
    deviation, wanted = errors(topics("sample_log_small.ulg"), of_increments=True)
    assert len(deviation) == 5
    assert (deviation / wanted).max() <= 2e-6


@pytest.mark.parametrize(
    ("log", "rows"),
    [
        ("sample_log_small.ulg", 12),
        ("sample_logging_tagged_and_default_params.ulg", 17),
        ("sample_px4_events.ulg", 62),
    ],
)
def test_logged_rates_are_the_logged_increments_over_their_time(topics, log, rows):
    read = topics(log)
    imu, combined = read["vehicle_imu"], read["sensor_combined"]
    records = np.zeros(len(imu["timestamp_sample"]), VehicleImu.dtype)
    for name in ("timestamp_sample", "delta_angle_dt", "delta_velocity_dt"):
        records[name] = imu[name]
    for name in ("delta_angle", "delta_velocity"):
        records[name] = vector(imu, name)
    _, ours, theirs = np.intersect1d(
        records["timestamp_sample"], combined["timestamp"], return_indices=True
    )
    assert len(ours) == rows
    made = sensor_combined_from_vehicle_imu(records[ours])
    for name in ("gyro_rad", "accelerometer_m_s2"):
        assert (made[name] == vector(combined, name)[theirs]).all()


def test_equal_windows_do_not_vibrate_and_none_has_no_metric():
    increments = increments_of(
        {
            "timestamp": np.arange(1, 6) * 5000,
            "gyro_integral_dt": np.full(5, 5000),
            "accelerometer_integral_dt": np.full(5, 5000),
            **{f"gyro_rad[{axis}]": np.full(5, 0.1) for axis in range(3)},
            **{f"accelerometer_m_s2[{axis}]": np.full(5, 1.0) for axis in range(3)},
        }
    )
    accel, gyro = vehicle_imu_vibration(increments, initial=(1.0, 0.0))
    np.testing.assert_allclose(accel, 0.99 ** np.arange(5), rtol=1e-5)
    assert gyro.max() < 1e-8
    assert len(vehicle_imu_vibration(increments[:0])[0]) == 0

"""Health of the IMUs of logs: vibration, clipping and calibration."""

from __future__ import annotations

import numpy as np
import pytest
from pyulog import ULog

import strapdown
from strapdown.formats import Recording
from strapdown.formats.px4.health import imu_health, vibration_of
from strapdown.formats.px4.log import load
from strapdown.messages.px4 import VehicleImu
from strapdown.px4.health import Level

SETTLED = 300


@pytest.fixture(scope="module")
def logs(data_dir):
    folder = data_dir / "px4" / "ulog"
    if not folder.is_dir():
        pytest.skip(f"no logs at {folder}")
    return folder


@pytest.fixture(scope="module")
def full_log(px4, flight, tmp_path_factory):
    """The log of the flight with every window of vehicle_imu."""

    def edit(rows):
        for imu in (0, 1):
            rows["vehicle_imu", imu] = VehicleImu, flight.windows(imu)

    path = tmp_path_factory.mktemp("health") / "full.ulg"
    return px4.write(path, flight, edit=edit, dropout=False)


def test_every_imu_is_named_by_its_devices(flight_log, px4):
    found = imu_health(load(flight_log))
    assert [(imu.instance, imu.gyro, imu.accel) for imu in found] == [
        (0, "ICM42688P", "ICM42688P"),
        (1, "BMI088", "BMI088"),
    ]
    assert [imu.gyro_device_id for imu in found] == list(px4.IDS[0])
    assert [imu.accel_device_id for imu in found] == list(px4.IDS[1])


def test_clipping_is_counted_by_window_and_by_sample_of_the_chip(full_log, flight):
    for imu in imu_health(load(full_log)):
        windows = flight.windows(imu.instance)
        clipped = windows["delta_velocity_clipping"]
        assert imu.windows == imu.accel_clipping.windows == len(windows)
        assert imu.accel_clipping.clipped == np.count_nonzero(clipped) > 0
        assert imu.accel_clipping.by_axis == tuple(np.count_nonzero(clipped & b) for b in (1, 2, 4))
        assert imu.gyro_clipping.clipped == 0
        samples = flight.sensors["accel", imu.instance].clips.sum(axis=0)
        assert imu.accel_clipped_samples == tuple(samples.tolist())
        assert sum(samples.tolist()) > 0
        assert imu.gyro_clipped_samples == (0, 0, 0)


def test_calibration_counts_are_given_in_their_order(full_log):
    first, second = imu_health(load(full_log))
    assert (first.gyro_calibration_counts, first.accel_calibration_counts) == ((1, 2), (2, 3))
    assert (second.gyro_calibration_counts, second.accel_calibration_counts) == ((1,), (2,))


def test_vibration_is_that_of_the_status(flight_log, flight, px4):
    for imu in imu_health(load(flight_log)):
        status = px4.status_of(flight, imu.instance)
        lost = (status["timestamp"] > 602_800_000) & (status["timestamp"] <= 602_830_000)
        status = status[~lost]
        for name in ("gyro", "accel"):
            values = status[f"{name}_vibration_metric"].astype(float)
            report = getattr(imu, f"{name}_vibration")
            assert report.windows == len(values)
            assert report.p50 == np.percentile(values, 50)
            assert report.p99 == np.percentile(values, 99)
            assert report.peak == values.max()
            assert report.peak_t_ns == int(status["timestamp"][values.argmax()]) * 1000
    assert imu.accel_vibration.level is Level.WARNING  # a mean of about 10 m/s^2


def test_v1_11_published_metrics_of_increments_and_no_clipping_of_gyroscopes(logs):
    path = logs / "sample_log_small.ulg"
    found = imu_health(load(path))
    assert [imu.gyro for imu in found] == ["ICM20649", "ICM20602", "ICM20948"]
    ulog = ULog(str(path), ["vehicle_imu", "vehicle_imu_status"])
    for imu in found:
        status = ulog.get_dataset("vehicle_imu_status", imu.instance).data
        windows = ulog.get_dataset("vehicle_imu", imu.instance).data
        window_s = np.median(windows["delta_velocity_dt"].astype(float)) * 1e-6
        metric = status["accel_vibration_metric"].astype(float) / window_s
        assert imu.accel_vibration.peak == pytest.approx(metric.max(), rel=1e-9)
        assert 0.01 < imu.accel_vibration.p50 < 20.0  # m/s^2, not m/s in a window
        assert imu.gyro_clipped_samples is imu.gyro_clipping is None
        assert imu.accel_clipping.windows == len(windows["timestamp"])
        assert imu.gyro_calibration_counts == imu.accel_calibration_counts == ()
        clipped = [int(status[f"accel_clipping[{axis}]"][-1]) for axis in range(3)]
        assert imu.accel_clipped_samples == tuple(clipped)


def test_logs_before_vehicle_imu_have_no_imus_to_describe(logs):
    assert imu_health(load(logs / "sample.ulg")) == []


def test_an_imu_without_status_has_no_vibration(px4, flight, tmp_path):
    def edit(rows):
        del rows["vehicle_imu_status", 0], rows["vehicle_imu_status", 1]

    log = load(px4.write(tmp_path / "a.ulg", flight, edit=edit))
    for imu in imu_health(log):
        assert imu.accel_vibration.windows == 0
        assert np.isnan(imu.accel_vibration.peak)
        assert imu.accel_clipped_samples is None
    # The windows of the voter still give it.
    metrics = vibration_of(strapdown.open(px4.write(tmp_path / "b.ulg", flight, edit=edit,
                                                    dropout=False)))  # fmt: skip
    assert [metric.name for metric in metrics] == ["sensor_combined"]


def recursion(values):
    metric, last, found = 0.0, values[0], []
    for value in values:
        metric = 0.99 * metric + 0.01 * np.linalg.norm(value - last)
        last = value
        found.append(metric)
    return np.array(found)


def test_increments_in_sequence_give_the_metric_once_it_has_settled(full_log):
    increments = strapdown.open(full_log).increments["vehicle_imu.1"]
    (metric,) = vibration_of(Recording(increments={"mine": increments}))
    dt_s = increments.delta_velocity_dt_ns[:, None] * 1e-9
    accel = recursion(increments.delta_velocity / dt_s)
    gyro = recursion(increments.delta_angle / (increments.delta_angle_dt_ns[:, None] * 1e-9))
    assert metric.name == "mine"
    assert metric.t_ns.tolist() == increments.t_ns[SETTLED:].tolist()
    np.testing.assert_allclose(metric.accel, accel[SETTLED:], rtol=1e-4)
    np.testing.assert_allclose(metric.gyro, gyro[SETTLED:], rtol=1e-4)


def test_windows_now_and_then_give_no_metric(flight_log):
    recording = strapdown.open(flight_log)
    increments = recording.increments["vehicle_imu.0"]
    assert vibration_of(Recording(increments={"mine": increments})) == []
    assert {metric.name for metric in vibration_of(recording)} >= {"IMU 0", "IMU 1"}

"""Calibrations that change during a log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from strapdown.messages.px4 import SensorAccel, SensorGyro
from strapdown.px4.calibration import SensorCalibration
from strapdown.px4.calibration_history import LogParameters, calibration_history
from strapdown.px4.vehicle_imu import (
    PipelineSettings,
    Recalibration,
    VehicleImuIntegrator,
    vehicle_imu_from_sensors,
)

DEVICE = 0x260022
PARAMETERS = {"CAL_GYRO1_ID": DEVICE, "CAL_GYRO1_XOFF": 0.5}


def history(changes=(), correction=None, **options):
    parameters = LogParameters(PARAMETERS, changes)
    return calibration_history("gyro", DEVICE, parameters, correction, **options)


def offsets(found):
    return [(t_us, round(float(each.offset[0]), 6), each.count) for t_us, each in found]


def test_the_calibration_of_the_start_holds_from_the_beginning():
    assert offsets(history()) == [(0, 0.5, 1)]


def test_parameters_of_one_time_change_together_and_are_counted_once():
    changes = [(7, "CAL_GYRO1_XOFF", 0.6), (7, "CAL_GYRO1_YOFF", 0.1), (9, "CAL_GYRO1_XOFF", 0.7)]
    found = history(changes)
    assert offsets(found) == [(0, 0.5, 1), (7, 0.6, 2), (9, 0.7, 3)]
    assert found[1][1].offset[1] == np.float32(0.1)


def test_changes_that_the_autopilot_ignores_are_none_unless_they_are_wanted():
    changes = [(7, "CAL_GYRO1_XOFF", 0.505), (8, "SYS_AUTOSTART", 4001)]
    assert offsets(history(changes)) == [(0, 0.5, 1)]
    assert offsets(history(changes, least_change=0.0)) == [(0, 0.5, 1), (7, 0.505, 2)]


def test_offsets_by_temperature_and_parameters_keep_each_other():
    kinds = [("timestamp", "u8"), ("gyro_device_ids", "u4", 4), ("gyro_offset_2", "f4", 3)]
    correction = np.zeros(2, kinds)
    correction["timestamp"], correction["gyro_device_ids"][:, 2] = (5, 9), DEVICE
    correction["gyro_offset_2"][:, 0] = 0.25, 0.125
    found = history([(7, "CAL_GYRO1_XOFF", 0.75)], correction)
    warm = [(t_us, float(each.thermal_offset[0]), float(each.offset[0])) for t_us, each in found]
    assert warm == [(0, 0.0, 0.5), (5, 0.25, 0.5), (7, 0.25, 0.75), (9, 0.125, 0.75)]


def test_an_offset_that_is_no_number_leaves_the_one_before_in_force():
    kinds = [("timestamp", "u8"), ("gyro_device_ids", "u4", 4), ("gyro_offset_2", "f4", 3)]
    correction = np.zeros(3, kinds)
    correction["timestamp"], correction["gyro_device_ids"][:, 2] = (5, 6, 7), DEVICE
    correction["gyro_offset_2"] = [[0.25, 0, 0], [0.5, np.nan, 0], [0.125, 0, 0]]
    found = history((), correction)
    assert [(t_us, float(each.thermal_offset[0])) for t_us, each in found] == [
        (0, 0.0), (5, 0.25), (7, 0.125)
    ]  # fmt: skip
    correction["gyro_offset_2"] = np.inf
    assert offsets(history((), correction)) == [(0, 0.5, 1)]


@pytest.mark.parametrize("mode", ["px4", "savage"])
@pytest.mark.parametrize("rows", [[], [100], [101, 103, 250, 251]])
def test_a_batch_changes_its_calibration_as_a_stream_does(mode, rows):
    rng = np.random.default_rng(3)
    t_us = 1_000_000 + 1250 * np.arange(400)
    gyro, accel = np.zeros(400, SensorGyro.dtype), np.zeros(400, SensorAccel.dtype)
    for records in (gyro, accel):
        records["timestamp"] = records["timestamp_sample"] = t_us
        records["samples"], records["temperature"] = 1, np.nan
        for axis in "xyz":
            records[axis] = rng.normal(size=400)
    changes = [
        Recalibration(
            int(t_us[row]),
            SensorCalibration(offset=(0.01 * row, 0.0, 0.0), count=number + 1),
            SensorCalibration(offset=(0.0, 0.02 * row, 0.0), count=number + 11),
        )
        for number, row in enumerate(rows)
    ]
    settings = PipelineSettings(mode=mode)
    batch = vehicle_imu_from_sensors(gyro, accel, settings, recalibrations=changes).vehicle_imu
    stream = VehicleImuIntegrator(settings)
    found = []
    for row in range(400):
        for change in changes:
            if change.t_us == t_us[row]:
                stream.settings = replace(
                    settings, gyro_calibration=change.gyro, accel_calibration=change.accel
                )
        found += [stream.update_gyro(SensorGyro.from_record(gyro[row])),
                  stream.update_accel(SensorAccel.from_record(accel[row]))]  # fmt: skip
    found = [window for window in found if window is not None]
    assert [w.gyro_calibration_count for w in found] == batch["gyro_calibration_count"].tolist()
    assert [w.accel_calibration_count for w in found] == batch["accel_calibration_count"].tolist()
    assert len({*batch["gyro_calibration_count"].tolist()}) == len({(r - 4) // 4 for r in rows}) + 1
    # Samples before a window have the calibration of their own window, in a stream the current one.
    steady = np.ones(len(found), np.bool_)
    if mode == "savage":
        steady[1:] = np.diff(batch["gyro_calibration_count"].astype(int)) == 0
    for name in ("delta_angle", "delta_velocity"):
        expected = np.array([getattr(window, name) for window in found])
        np.testing.assert_allclose(batch[name][steady], expected[steady], rtol=0, atol=1e-8)

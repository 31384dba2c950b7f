"""Ends of windows from those of a log."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import ShapeError
from strapdown.messages._by_column import as_records
from strapdown.messages.px4 import SensorAccel, SensorGyro, VehicleImu
from strapdown.px4.vehicle_imu import (
    PipelineSettings,
    ScheduledVehicleImu,
    vehicle_imu_from_sensors,
)
from strapdown.px4.window_ends import window_ends

GYRO_US = 1_000_000 + 1250 * np.arange(1, 401)
ACCEL_US = 1_000_300 + 1250 * np.arange(1, 401)


def windows(begins, ends, accel_begins=None, accel_ends=None):
    """Return windows after one message of the gyroscope up to another, by their numbers."""
    records = np.zeros(len(ends), VehicleImu.dtype)
    records["timestamp_sample"] = GYRO_US[ends]
    records["delta_angle_dt"] = GYRO_US[ends] - GYRO_US[begins]
    if accel_ends is not None:
        records["delta_velocity_dt"] = ACCEL_US[accel_ends] - ACCEL_US[accel_begins]
    return records


def test_windows_before_and_between_those_of_the_log_are_whole_or_open():
    found = window_ends(GYRO_US, ACCEL_US, windows([10, 30, 34], [14, 34, 38]))
    gyro = found[:, 0].tolist()
    assert gyro == GYRO_US[[2, 6, 10, 14, 30, 34, 38]].tolist()
    assert found[:, 2].tolist() == [1, 1, 0, 1, 0, 1, 1]
    # An accelerometer of another clock: its last message in time.
    assert (found[:, 1] == found[:, 0] - 950).all()


def test_windows_whose_messages_are_not_in_the_log_are_ignored():
    logged = windows([10, 20, 30], [14, 24, 34])
    logged["timestamp_sample"][1] += np.uint64(3)  # no message has this stamp
    logged["delta_angle_dt"][2] += np.uint32(300)  # nor has one its start
    found = window_ends(GYRO_US, ACCEL_US, logged)
    assert found[:, 0].tolist() == GYRO_US[[2, 6, 10, 14, 34]].tolist()
    assert found[:, 2].tolist() == [1, 1, 0, 1, 0]
    assert window_ends(GYRO_US, ACCEL_US, logged[:0]).shape == (0, 3)
    assert window_ends(GYRO_US[:0], ACCEL_US, logged).shape == (0, 3)


def test_a_length_that_only_a_later_message_explains_moves_the_end_of_the_accelerometer():
    uneven = ACCEL_US.copy()
    uneven[14] += 40  # one length after message 10 only from here
    logged = windows([10], [14])
    logged["delta_velocity_dt"] = uneven[14] - uneven[10]
    found = window_ends(GYRO_US, uneven, logged)
    assert found[-1].tolist() == [GYRO_US[14], uneven[14], 1]


def messages(kind, t_us, seed):
    records = np.zeros(len(t_us), kind.dtype)
    records["timestamp"] = records["timestamp_sample"] = t_us
    values = np.random.default_rng(seed).normal(size=(3, len(t_us)))
    for axis, column in zip("xyz", values, strict=True):
        records[axis] = column
    records["samples"] = 1
    return records


def test_windows_end_as_logged_though_the_autopilot_was_late():
    """Of 5 and 6 messages, where the autopilot was late, and of 4 else; sums are of all."""
    ends = np.cumsum([4] * 10 + [6] + [4] * 5 + [5] + [4] * 60)
    logged = windows(ends[:-1], ends[1:])
    gyro, accel = messages(SensorGyro, GYRO_US, 1), messages(SensorAccel, ACCEL_US, 2)
    settings = PipelineSettings(mode="px4")
    made = vehicle_imu_from_sensors(gyro, accel, settings, logged=logged[[3, 9, 10, 15, 16, 40]])
    rows = made.vehicle_imu
    assert np.array_equal(rows["timestamp_sample"][:70], GYRO_US[ends[:70]])
    assert np.array_equal(rows["delta_angle_dt"][1:70], 1250 * np.diff(ends)[:69])
    free = vehicle_imu_from_sensors(gyro, accel, settings).vehicle_imu
    assert not np.isin(GYRO_US[ends[:70]], free["timestamp_sample"]).all()
    assert np.array_equal(
        rows["timestamp_sample"][1:] - rows["timestamp_sample"][:-1], rows["delta_angle_dt"][1:]
    )  # no time is lost or counted twice
    with pytest.raises(ShapeError, match="VehicleImu"):
        vehicle_imu_from_sensors(gyro, accel, settings, logged=gyro)


def test_a_busy_autopilot_with_two_clocks_is_reproduced_bit_for_bit():
    """Messages arrive late at random, and windows have from 3 to 9 of them."""
    rng = np.random.default_rng(3)
    settings = PipelineSettings(mode="px4")
    sensors, events = [], []
    for number, (kind, step_us) in enumerate(((SensorGyro, 1250), (SensorAccel, 1000))):
        count = 2_000_000 // step_us
        jitter = rng.uniform(-30.0, 30.0, count)
        t_us = 1_000_000 + np.rint(step_us * np.arange(1, count + 1) + jitter).astype(np.int64)
        late_us = np.maximum.accumulate(t_us + 200 + rng.exponential(500.0, count).astype(int))
        sensors.append(messages(kind, t_us, number))
        events += [(int(at), -number, kind, row) for row, at in enumerate(late_us)]
    vehicle, logged = ScheduledVehicleImu(settings), []
    for now_us, number, kind, row in sorted(events, key=lambda event: event[:2]):
        message = kind.from_record(sensors[-number][row])
        message.timestamp = now_us
        if kind is SensorAccel:
            vehicle.publish_accel(message)
        elif window := vehicle.publish_gyro(message, now_us):
            logged.append(window)
    logged = as_records(logged, VehicleImu)
    assert np.ptp(logged["delta_angle_dt"]) > 4 * 1250
    # The log begins within a window, half a second later.
    gyro, accel = (each[each["timestamp_sample"] > 1_500_700] for each in sensors)
    logged = logged[logged["timestamp_sample"] > 1_515_000]
    shares = []
    for known in (logged, None):
        rows = vehicle_imu_from_sensors(gyro, accel, settings, logged=known).vehicle_imu
        _, row, place = np.intersect1d(
            logged["timestamp_sample"], rows["timestamp_sample"], return_indices=True
        )
        same = np.ones(len(row), np.bool_)
        for name in ("delta_angle", "delta_velocity"):
            same &= (logged[name][row] == rows[name][place]).all(axis=1)
        shares.append(same.sum() / len(logged))
    assert shares[0] > 0.98
    assert shares[1] < 0.2

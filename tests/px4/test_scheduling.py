"""Ends of windows, and the autopilot's own scheduling."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown._kernels.compilation import compiled
from strapdown.messages.px4 import SensorAccel, SensorGyro
from strapdown.px4 import channels as kernels
from strapdown.px4 import scheduling
from strapdown.px4.vehicle_imu import PipelineSettings, ScheduledVehicleImu

F = np.float32


@pytest.mark.parametrize(
    ("rate", "gyro_us", "accel_us", "layout"),
    [
        (200, 1250, 1250, (4, 5000, 4, 4375, 4375, 4, 8750)),
        (200, 1000, 1000, (5, 5000, 5, 4500, 4500, 5, 7000)),
        (200, 2500, 2500, (2, 5000, 2, 3750, 3750, 2, 17500)),
        (200, 2444, 2444, (2, 4888, 2, 3666, 3666, 2, 17108)),
        (200, 1500, 1600, (3, 4500, 3, 3750, 4000, 3, 10500)),
        (200, 500, 500, (10, 5000, 10, 4750, 4750, 5, 3500)),
        (200, 125, 125, (40, 5000, 40, 4938, 4938, 5, 1000)),
        (250, 4000, 4000, (1, 4000, 1, 2000, 2000, 1, 20000)),
        (400, 1250, 1250, (2, 2500, 2, 1875, 1875, 2, 8750)),
        (200, 10000, 10000, (1, 10000, 1, 5000, 5000, 1, 20000)),
        (50, 1000, 1000, (20, 20000, 20, 19500, 19500, 5, 7000)),
    ],
)
def test_windows_are_laid_out_as_the_autopilot_does(rate, gyro_us, accel_us, layout):
    interval_us = PipelineSettings(rate_hz=rate).interval_us
    for lay_out in (scheduling.lay_out, compiled(scheduling.lay_out)):
        assert tuple(lay_out(interval_us, F(gyro_us), F(accel_us))) == layout


@pytest.mark.parametrize(
    ("rate", "interval_us"), [(200, 5000), (300, 3333), (10, 20_000), (5000, 1000), (250, 4000)]
)
def test_the_wanted_rate_is_kept_between_50_and_1000(rate, interval_us):
    assert PipelineSettings(rate_hz=rate).interval_us == interval_us


def published(settings, steps=400):
    """Run gyroscope and accelerometer at 800 Hz through the queues of the autopilot."""
    scheduled, windows = ScheduledVehicleImu(settings), []
    for step in range(1, steps):
        stamp = 1_000_000 + step * 1250
        scheduled.publish_accel(
            SensorAccel(timestamp=stamp, timestamp_sample=stamp, samples=1, z=-9.8)
        )
        message = SensorGyro(timestamp=stamp, timestamp_sample=stamp, samples=1, x=0.5)
        window = scheduled.publish_gyro(message, stamp + 200)
        if window:
            windows.append(window)
    return scheduled, windows


def test_callbacks_come_with_whole_windows_and_publish_them():
    scheduled, windows = published(PipelineSettings(mode="px4"))
    stamps = np.array([window.timestamp_sample for window in windows])
    lengths = np.array([window.delta_angle_dt for window in windows])
    assert len(windows) >= 97
    assert (np.diff(stamps) == lengths[1:]).all()
    assert (lengths[1:] == 5000).all()
    assert {window.timestamp - window.timestamp_sample for window in windows} == {200}
    assert scheduled.data_gaps == 0
    assert scheduled.status.gyro_rate_hz == pytest.approx(800.0)


def test_a_late_integrator_loses_what_the_queues_do_not_hold_and_catches_up():
    settings = PipelineSettings(mode="px4")
    scheduled, _ = published(settings, 100)
    for step in range(100, 120):  # no run while twenty messages arrive
        stamp = 1_000_000 + step * 1250
        scheduled._accel.publish(SensorAccel(timestamp_sample=stamp, samples=1))
        scheduled._gyro.publish(SensorGyro(timestamp_sample=stamp, timestamp=stamp, samples=1))
    window = scheduled.run(1_000_000 + 119 * 1250 + 10)
    assert scheduled.data_gaps == 1
    assert window.timestamp_sample == 1_000_000 + 119 * 1250
    assert window.delta_angle_dt > 20_000


def test_the_backup_timer_is_set_at_every_run():
    scheduled, windows = published(PipelineSettings(mode="px4"))
    assert scheduled.wake_us == windows[-1].timestamp + 8750


@pytest.mark.parametrize(
    ("gyro_us", "behind_us", "exactly", "in_float32"),
    [
        (10**6, 625, False, False),
        (10**6, 626, True, True),
        # Above 2^33 us a float32 has steps of 1024 us: most of an interval is lost.
        (2**33 + 2**30, 626, True, False),
        (2**33 + 2**30 + 524, 1000, True, False),
    ],
)
def test_the_lag_of_the_accelerometer_is_compared_exactly_unless_told(
    gyro_us, behind_us, exactly, in_float32
):
    machine = kernels.begin(5000)
    channel = machine.accel._replace(timing=machine.accel.timing._replace(layout_us=F(1250)))
    at = machine._replace(
        gyro=machine.gyro._replace(t_us=gyro_us), accel=channel._replace(t_us=gyro_us - behind_us)
    )
    for is_behind in (scheduling.accel_is_behind, compiled(scheduling.accel_is_behind)):
        assert is_behind(at, False) is exactly
        assert is_behind(at, True) is in_float32

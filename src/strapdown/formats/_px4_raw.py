"""Which topics of a PX4 log hold raw samples, and whether all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats._coverage import LEAST_COVERAGE
from strapdown.messages.px4 import (
    SensorAccel,
    SensorAccelFifo,
    SensorGyro,
    SensorGyroFifo,
    VehicleImuStatus,
)

if TYPE_CHECKING:
    from strapdown.formats.px4_log import Px4Log
    from strapdown.messages.uorb import UorbMessage
    from strapdown.px4.calibration import Sensor

__all__ = ["RAW", "is_whole"]

RAW: Final[dict[Sensor, tuple[type[UorbMessage], ...]]] = {
    "gyro": (SensorGyroFifo, SensorGyro),
    "accel": (SensorAccelFifo, SensorAccel),
}
"""Kinds of messages with the samples of a sensor, the rawest first."""
_SLOWEST_US: Final = 10_000
"""Longest usual step of sensor messages that were logged at their full rate."""


def is_whole(log: Px4Log, kind: type[UorbMessage], instance: int) -> bool:
    """Tell whether packets, or messages of a sensor, were logged at their full rate."""
    if kind in {SensorGyroFifo, SensorAccelFifo}:
        return True
    summary = log.topics[kind.topic, instance]
    if summary.rows < 2:
        return False
    step_us = (summary.last_us - summary.first_us) / (summary.rows - 1)
    longest_us = float(_SLOWEST_US)
    if instance in log.instances(VehicleImuStatus.topic):
        field = f"{kind.topic.removeprefix('sensor_')}_rate_hz"
        rate_hz = float(np.median(log.records(VehicleImuStatus, instance).records[field]))
        longest_us = 1e6 / rate_hz / LEAST_COVERAGE if rate_hz > 0.0 else longest_us
    return step_us <= longest_us

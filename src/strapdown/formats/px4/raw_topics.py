"""Raw samples in a PX4 log: topics that hold all of them, and pairs of sensors of one IMU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.formats._coverage import LEAST_COVERAGE
from strapdown.messages.px4 import (
    SensorAccel,
    SensorAccelFifo,
    SensorGyro,
    SensorGyroFifo,
    VehicleImu,
    VehicleImuStatus,
)
from strapdown.messages.px4_versions import release
from strapdown.px4.calibration_history import LogParameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from strapdown.formats.px4.log import Px4Log
    from strapdown.messages.uorb import UorbMessage
    from strapdown.px4.calibration import Sensor

__all__ = ["RawMessages", "imu_pairs", "parameters_of", "raw_messages", "release_of", "thermal_of"]

_KINDS: Final[dict[Sensor, tuple[type[UorbMessage], ...]]] = {
    "gyro": (SensorGyroFifo, SensorGyro),
    "accel": (SensorAccelFifo, SensorAccel),
}
"""Messages with the samples of a sensor, the rawest first."""
_SLOWEST_US: Final = 10_000
"""Longest mean step of sensor messages that were logged at their full rate."""
_LATEST_CHANGE: Final = (1, 16)
"""Release of the latest change of the integrator."""
_CORRECTION: Final = "sensor_correction"


class RawMessages(NamedTuple):
    """Output of one device: packets, or messages at their full rate."""

    topic: str
    instance: int
    device_id: int
    messages: NDArray[np.void]


def raw_messages(log: Px4Log, sensor: Sensor) -> list[RawMessages]:
    """Return the output of every device of a kind, in the rawest complete form of the log."""
    found: list[RawMessages] = []
    for kind in _KINDS[sensor]:
        known = {raw.device_id for raw in found}
        for instance in log.instances(kind.topic):
            if _is_whole(log, kind, instance):
                messages = log.records(kind, instance).records
                device_id = int(messages["device_id"][-1])
                if device_id not in known:
                    found.append(RawMessages(kind.topic, instance, device_id, messages))
    return found


def imu_pairs(log: Px4Log) -> Iterator[tuple[int, RawMessages, RawMessages]]:
    """Yield number, gyroscope and accelerometer of every IMU.

    Topics number their instances independently, so sensors are paired by the device ids in
    ``vehicle_imu``; without that topic, by the numbers of the instances.
    """
    gyros, accels = raw_messages(log, "gyro"), raw_messages(log, "accel")
    for instance in log.instances(VehicleImu.topic):
        row = log.records(VehicleImu, instance).records[-1]
        pair = [
            next((raw for raw in offered if raw.device_id == row[f"{sensor}_device_id"]), None)
            for sensor, offered in (("gyro", gyros), ("accel", accels))
        ]
        if pair[0] and pair[1]:
            yield instance, pair[0], pair[1]
    if not log.instances(VehicleImu.topic):
        by_instance = {accel.instance: accel for accel in reversed(accels)}
        for gyro in gyros:
            if gyro.instance in by_instance:
                yield gyro.instance, gyro, by_instance[gyro.instance]


def parameters_of(log: Px4Log) -> LogParameters:
    """Return the parameters of a log, with their changes."""
    return LogParameters(log.parameters, log.parameter_changes)


def thermal_of(log: Px4Log) -> NDArray[np.void] | None:
    """Return the thermal offsets of a log, if any."""
    return log.rows(_CORRECTION) if log.instances(_CORRECTION) else None


def release_of(log: Px4Log) -> tuple[int, int]:
    """Return the release of the autopilot; where it is unknown, that of the latest change."""
    said = log.info.get("ver_sw_release")
    return release(said)[:2] if isinstance(said, int) else _LATEST_CHANGE


def _is_whole(log: Px4Log, kind: type[UorbMessage], instance: int) -> bool:
    """Return whether packets, or messages of a sensor, were logged at their full rate."""
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

"""The PX4 log behind the series of a recording: source messages and IMU status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.formats.px4.log import load
from strapdown.messages.px4 import SensorSelection, VehicleImuStatus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.formats.px4.log import Px4Log
    from strapdown.formats.recording import Recording
    from strapdown.messages.uorb import UorbMessage

__all__ = ["SourceLog", "latest"]


class SourceLog:
    """The log that the blocks of a recording were read from, loaded on first use."""

    def __init__(self) -> None:
        self._log: Px4Log | None = None

    def records(self, block: Recording, kind: type[UorbMessage], topic: str) -> NDArray[np.void]:
        """Return the source messages of a series; an empty array without any."""
        place, log = (topic.partition(".")[0], _instance(topic)), self._log_of(block)
        if log is None or place not in log.topics:
            return np.zeros(0, kind.dtype)
        return log.records(kind, place[1], topic=place[0]).records

    def status(self, block: Recording, topic: str) -> NDArray[np.void]:
        """Return ``vehicle_imu_status`` of the IMU of a topic.

        For ``sensor_combined`` that is the IMU in use by ``sensor_selection``; at a change of the
        selection, the latest status of the new one is repeated.
        """
        name = VehicleImuStatus.topic
        if topic not in block.sensor_combined:
            return self.records(block, VehicleImuStatus, f"{name}.{_instance(topic)}")
        log = self._log_of(block)
        numbers = [] if log is None else sorted(n for each, n in log.topics if each == name)
        offered = [self.records(block, VehicleImuStatus, f"{name}.{n}") for n in numbers]
        offered = [status for status in offered if len(status)]
        selection = self.records(block, SensorSelection, SensorSelection.topic)
        found = [np.zeros(0, VehicleImuStatus.dtype)]
        if not len(selection) and len(offered) == 1:
            found = offered
        elif len(selection):
            found += [_while_in_use(status, selection) for status in offered]
        whole = np.concatenate(found).astype(VehicleImuStatus.dtype)  # the aligned type
        return whole[np.argsort(whole["timestamp"], kind="stable")]

    def _log_of(self, block: Recording) -> Px4Log | None:
        if self._log is None:
            self._log = block.log
        if self._log is None and block.report.format == "ulog":
            self._log = load(block.path, salvage=True)
        return self._log


def latest(stamps: NDArray[np.integer], times: NDArray[np.integer]) -> IntArray:
    """Return the row of the latest stamp up to each time; row 0 before the first."""
    return np.maximum(np.searchsorted(stamps, times, side="right") - 1, 0)


def _while_in_use(status: NDArray[np.void], selection: NDArray[np.void]) -> NDArray[np.void]:
    """Return the status of one IMU while its gyroscope is selected."""
    begins = selection["timestamp"]
    t_us = np.union1d(status["timestamp"], begins)
    rows = status[latest(status["timestamp"], t_us)]
    rows["timestamp"] = t_us
    used: NDArray[np.void] = rows[
        rows["gyro_device_id"] == selection["gyro_device_id"][latest(begins, t_us)]
    ]
    return used


def _instance(topic: str) -> int:
    """Return the instance number at the end of a topic name."""
    number = topic.rpartition(".")[2]
    return int(number) if number.isdecimal() else 0

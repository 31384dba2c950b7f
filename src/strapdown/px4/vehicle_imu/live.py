"""``vehicle_imu`` with PX4's scheduling: topic queues, callbacks and a backup timer."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from strapdown.messages.px4 import SensorAccel, SensorGyro, VehicleImu, VehicleImuStatus
from strapdown.px4 import channels as kernels
from strapdown.px4 import scheduling
from strapdown.px4.float32 import EMPTY, is_valid, update
from strapdown.px4.vehicle_imu.stream import as_kernel_message
from strapdown.px4.vehicle_imu.values import room_for, status_records, vehicle_imu_records

if TYPE_CHECKING:
    from strapdown.px4.float32 import Mean
    from strapdown.px4.vehicle_imu.settings import PipelineSettings

__all__ = ["ScheduledVehicleImu"]

_LATENCY_COUNT = 10_000  # windows after which the mean latency restarts

Sensor = TypeVar("Sensor", SensorGyro, SensorAccel)


class _Queue(Generic[Sensor]):
    """A PX4 topic with a single reader: the last messages, numbered."""

    def __init__(self) -> None:
        self._messages: deque[Sensor] = deque(maxlen=kernels.QUEUE)
        self._published = 0
        self._read = 0

    def publish(self, message: Sensor) -> None:
        self._messages.append(message)
        self._published += 1

    def __len__(self) -> int:
        return min(self._published - self._read, len(self._messages))

    @property
    def unread(self) -> int:
        """Number of messages since the last one read, including lost ones."""
        return self._published - self._read

    def take(self) -> tuple[Sensor, bool]:
        """Return the oldest remaining message, and whether others were lost."""
        gap = self.unread > len(self._messages)
        message = self._messages[-len(self)]
        self._read = self._published - len(self) + 1
        return message, gap


class ScheduledVehicleImu:
    """PX4's integrator with its scheduling, for studies of delays, load and losses.

    Messages are published into queues of eight. The integrator runs when enough gyroscope messages
    for a window have arrived, and when the backup timer expires; it then reads the waiting
    messages, and catches up if it is late. Increments are those of px4 mode.

    Parameters
    ----------
    settings : PipelineSettings
        ``mode`` and kinds are ignored.

    Attributes
    ----------
    status : VehicleImuStatus or None
        The last status.
    data_gaps : int
        Number of runs in which messages had been lost.
    wake_us : int
        Time at which the backup timer expires [us].
    """

    def __init__(self, settings: PipelineSettings) -> None:
        self._settings, self._rules = settings, settings.rules
        self._machine = kernels.begin(settings.interval_us)
        self._gyro: _Queue[SensorGyro] = _Queue()
        self._accel: _Queue[SensorAccel] = _Queue()
        self._ids = [0, 0]
        self._gyro_stamp_us = 0
        self._latency: Mean = EMPTY
        self.status: VehicleImuStatus | None = None
        self.data_gaps = 0
        self.wake_us = 0

    def publish_accel(self, message: SensorAccel) -> None:
        """Publish a message of the accelerometer, which does not trigger a run."""
        self._accel.publish(message)

    def publish_gyro(self, message: SensorGyro, now_us: int) -> VehicleImu | None:
        """Publish a message of the gyroscope, and run the integrator if due.

        Parameters
        ----------
        message : SensorGyro
            The message.
        now_us : int
            Time of publication [us].

        Returns
        -------
        VehicleImu or None
            The published window, if any.
        """
        self._gyro.publish(message)
        if self._gyro.unread >= self._machine.plan.updates:
            return self.run(now_us)
        return None

    def run(self, now_us: int) -> VehicleImu | None:
        """Run the integrator once, as at a callback or when the backup timer expires.

        Parameters
        ----------
        now_us : int
            Time [us].

        Returns
        -------
        VehicleImu or None
            The published window, if any.
        """
        self.wake_us = now_us + self._machine.plan.wake_us
        gap = False
        for _ in range(kernels.QUEUE):
            if not (len(self._gyro) or len(self._accel)):
                break
            catch_up = not self._machine.plan.configured or gap or self._is_late()
            consumed = False
            if len(self._gyro) and (catch_up or not kernels.has_window(self._machine.gyro)):
                gap |= self._take_gyro()
                consumed = True
            for _ in range(kernels.QUEUE):
                if not (len(self._accel) and self._wants_accel(gap=gap)):
                    break
                gap |= self._take_accel()
                consumed = True
            self._machine = scheduling.configured(self._machine, self._rules.interval_us)
            if (catch_up or gap) and len(self._gyro):
                continue
            machine = self._machine
            ready = kernels.has_window(machine.gyro) and kernels.has_window(machine.accel)
            if machine.plan.configured and ready:
                self.data_gaps += gap
                return self._publish(now_us)
            if not consumed:
                break
        self.data_gaps += gap
        return None

    def _is_late(self) -> bool:
        """Return whether the latency of windows exceeds the interval of gyroscope messages."""
        interval = self._machine.gyro.timing.layout_us
        return is_valid(self._latency) and bool(self._latency.mean > interval)

    def _wants_accel(self, *, gap: bool) -> bool:
        machine = self._machine
        return (
            gap
            or not machine.plan.configured
            or not kernels.has_window(machine.accel)
            or scheduling.accel_is_behind(machine, self._rules.float32_schedule)
        )

    def _take_gyro(self) -> bool:
        message, gap = self._gyro.take()
        self._ids[0], self._gyro_stamp_us = message.device_id, message.timestamp
        with np.errstate(over="ignore", invalid="ignore"):
            self._machine = kernels.take_gyro(
                self._machine, as_kernel_message(message), self._rules, gap
            )
        return gap

    def _take_accel(self) -> bool:
        message, gap = self._accel.take()
        self._ids[1] = message.device_id
        with np.errstate(over="ignore", invalid="ignore"):
            self._machine = kernels.take_accel(
                self._machine, as_kernel_message(message), self._rules, gap
            )
        return gap

    def _publish(self, now_us: int) -> VehicleImu | None:
        rules, out = self._rules, room_for(1)
        self._machine, window = kernels.close(self._machine, rules)
        if self._latency.number > _LATENCY_COUNT:
            self._latency = EMPTY
        self._latency = update(self._latency, np.float32(now_us - self._gyro_stamp_us))
        if not window.published:
            return None
        ids = self._ids[0], self._ids[1]
        if kernels.status_is_due(self._machine, now_us):
            scheduling.write_status(out, 0, self._machine, rules)
            self._machine = kernels.after_status(self._machine, now_us)
            self.status = VehicleImuStatus.from_record(status_records(out, ids)[0])
            self.status.timestamp = now_us
        scheduling.write_window(out, 0, self._machine, window)
        message = VehicleImu.from_record(
            vehicle_imu_records(out, ids, self._settings.calibration_counts)[0]
        )
        message.timestamp = now_us
        return message

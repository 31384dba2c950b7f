"""``vehicle_imu`` from a stream of messages."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown._checks import as_three
from strapdown.messages.px4 import SIMULATED_DEVICE_ID, VehicleImu, VehicleImuStatus
from strapdown.px4 import channels as kernels
from strapdown.px4 import scheduling
from strapdown.px4._rounding import nearest_us
from strapdown.px4.vehicle_imu.savage import Reading, integrate_recent, slack_ns, without_old
from strapdown.px4.vehicle_imu.settings import Mode, PipelineSettings, VehicleImuReport
from strapdown.px4.vehicle_imu.values import room_for, status_records, vehicle_imu_records
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.messages.px4 import SensorAccel, SensorGyro
    from strapdown.series import Increments

__all__ = ["PipelineState", "VehicleImuIntegrator", "as_kernel_message"]

_NO_TEMPERATURE: Final = np.float32(math.nan)  # one object, so that states compare
_START: Final = -(2**63)
_LONGEST_WINDOW: Final = 4096  # readings kept for savage mode


class Lane(NamedTuple):
    """Waiting messages of one sensor, and its last readings for savage mode."""

    waiting: tuple[kernels.Message, ...] = ()
    recent: tuple[Reading, ...] = ()
    last_ns: int = _START
    device_id: int = SIMULATED_DEVICE_ID


class Held(NamedTuple):
    """A window that is not yet returned: its start and end, and the message."""

    start_ns: int
    end_ns: int
    message: bytes


class PipelineState(NamedTuple):
    """Complete state of the integrator: a value to keep, compare and set."""

    machine: kernels.Machine
    gyro: Lane = Lane()
    accel: Lane = Lane()
    start_ns: int = _START
    held: tuple[Held, ...] = ()


class VehicleImuIntegrator:
    """Computation of ``vehicle_imu`` message by message, equal to ``vehicle_imu_from_sensors``.

    Messages of each sensor are passed in the order of their stamps, those of the two sensors
    roughly so: where a window needs a message of one sensor that has not arrived, up to eight of
    the other wait for it.

    Parameters
    ----------
    settings : PipelineSettings, optional
        By default windows of 5 ms in savage mode.

    Attributes
    ----------
    state : PipelineState
        A value to keep, compare and set.
    status : VehicleImuStatus or None
        The last status.

    Examples
    --------
    >>> integrator = VehicleImuIntegrator(PipelineSettings(mode="px4", rate_hz=250))
    >>> for t_ns in range(0, 60_000_000, 4_000_000):
    ...     window = integrator.update(t_ns, (0.0, 0.0, 0.5), (0.0, 0.0, -9.80665))
    >>> window.delta_angle_dt, round(float(window.delta_angle[2]), 6)
    (4000, 0.002)
    """

    def __init__(self, settings: PipelineSettings | None = None) -> None:
        self.settings = settings or PipelineSettings()
        self.reset()

    def reset(self) -> None:
        """Reset to the state before the first message, including all counts."""
        self.state = PipelineState(kernels.begin(self.settings.interval_us))
        self.status: VehicleImuStatus | None = None
        self._counts = Counter[str]()

    @property
    def settings(self) -> PipelineSettings:
        """Settings; replace them between messages to apply a new calibration."""
        return self._settings

    @settings.setter
    def settings(self, settings: PipelineSettings) -> None:
        self._settings, self._rules = settings, settings.rules

    @property
    def report(self) -> VehicleImuReport:
        """Report of the messages so far."""
        counts, state = self._counts, self.state
        return VehicleImuReport(
            gyro_messages=counts["gyro_messages"],
            accel_messages=counts["accel_messages"],
            not_finite=counts["not_finite"],
            repeated=counts["repeated"],
            out_of_order=counts["out_of_order"],
            windows=counts["windows"],
            left_out=counts["left_out"],
            unfinished=state.machine.gyro.messages - counts["finished"] + len(state.gyro.waiting),
        )

    def update_gyro(self, message: SensorGyro) -> VehicleImu | None:
        """Add a message of the gyroscope.

        Parameters
        ----------
        message : SensorGyro
            Uncalibrated, board FRD.

        Returns
        -------
        VehicleImu or None
            The next window, if one is complete.
        """
        self._add_gyro(*_parts(message))
        return self._next_window(scheduling.UNKNOWN)

    def update_accel(self, message: SensorAccel) -> VehicleImu | None:
        """Add a message of the accelerometer; otherwise as :meth:`update_gyro`."""
        self._add_accel(*_parts(message))
        return self._next_window(scheduling.UNKNOWN)

    def update(
        self, t_ns: int, angular_velocity: Sequence[float], specific_force: Sequence[float]
    ) -> VehicleImu | None:
        """Add one sample of both sensors.

        Parameters
        ----------
        t_ns : int
            Its time [ns].
        angular_velocity, specific_force : sequence of 3 float
            Values at this time [rad/s], [m/s^2, board FRD].

        Returns
        -------
        VehicleImu or None
            The next window, if one is complete.

        Raises
        ------
        TypeError
            The time is not an integer.
        ShapeError
            A vector does not have three components.
        """
        if not isinstance(t_ns, int | np.integer):
            raise TypeError(f"expected t_ns as an integer [ns], got {t_ns!r}")
        rate = as_three(angular_velocity, "angular_velocity")
        force = as_three(specific_force, "specific_force")
        self._add_gyro(Reading(t_ns, rate, 1), _message(t_ns, rate), SIMULATED_DEVICE_ID)
        self._add_accel(Reading(t_ns, force, 1), _message(t_ns, force), SIMULATED_DEVICE_ID)
        return self._next_window(scheduling.UNKNOWN)

    def flush(self) -> list[VehicleImu]:
        """Return the remaining windows, at the end of the stream."""
        windows = []
        while window := self._next_window(scheduling.FAR):
            windows.append(window)
        return windows

    def _add_gyro(self, reading: Reading, message: kernels.Message, device_id: int) -> None:
        self._counts["gyro_messages"] += 1
        state = self.state
        lane = self._added(state.gyro, reading, message, device_id)
        start_ns = lane.last_ns if state.start_ns == _START else state.start_ns
        self.state = state._replace(gyro=lane, start_ns=start_ns)

    def _add_accel(self, reading: Reading, message: kernels.Message, device_id: int) -> None:
        self._counts["accel_messages"] += 1
        lane = self._added(self.state.accel, reading, message, device_id)
        self.state = self.state._replace(accel=lane)

    def _added(
        self, lane: Lane, reading: Reading, message: kernels.Message, device_id: int
    ) -> Lane:
        if not all(map(math.isfinite, reading.value)):
            self._counts["not_finite"] += 1
            return lane
        self._counts["repeated"] += reading.t_ns == lane.last_ns
        self._counts["out_of_order"] += reading.t_ns < lane.last_ns
        recent = lane.recent
        if self._settings.mode is Mode.SAVAGE:
            recent = (*recent[-_LONGEST_WINDOW:], reading)
        return Lane((*lane.waiting, message), recent, reading.t_ns, device_id)

    def _next_window(self, after_us: int) -> VehicleImu | None:
        with np.errstate(over="ignore", invalid="ignore"):
            while self._step(after_us):
                pass
        return self._given_out(is_last=after_us == scheduling.FAR)

    def _step(self, after_us: int) -> bool:
        """Do the next operation; return whether more may follow."""
        state, rules = self.state, self._rules
        gyro, accel = state.gyro.waiting, state.accel.waiting
        step = scheduling.next_step(
            state.machine, rules, *_stamps(gyro, after_us), *_stamps(accel, after_us)
        )
        if step == scheduling.TAKE_GYRO:
            machine = kernels.take_gyro(state.machine, gyro[0], rules, False)  # noqa: FBT003 (kernel)
            state = state._replace(gyro=state.gyro._replace(waiting=gyro[1:]))
        elif step == scheduling.TAKE_ACCEL:
            machine = kernels.take_accel(state.machine, accel[0], rules, False)  # noqa: FBT003 (kernel)
            state = state._replace(accel=state.accel._replace(waiting=accel[1:]))
        else:
            if step == scheduling.PUBLISH:
                self._close()
            return False
        self.state = state._replace(machine=scheduling.configured(machine, rules.interval_us))
        return True

    def _close(self) -> None:
        """End the window, after a status where one is due."""
        state, rules, out = self.state, self._rules, room_for(1)
        machine, window = kernels.close(state.machine, rules)
        ids, end_us = (state.gyro.device_id, state.accel.device_id), machine.gyro.t_us
        self._counts["finished"] = machine.gyro.messages
        self._counts["left_out"] += not window.published
        end_ns = next(
            (r.t_ns for r in state.gyro.recent if nearest_us(r.t_ns) == end_us),
            end_us * NS_PER_US,
        )
        held = state.held
        if window.published:
            if kernels.status_is_due(machine, end_us):
                scheduling.write_status(out, 0, machine, rules)
                machine = kernels.after_status(machine, end_us)
                self.status = VehicleImuStatus.from_record(status_records(out, ids)[0])
            scheduling.write_window(out, 0, machine, window)
            record = vehicle_imu_records(out, ids, self._settings.calibration_counts)
            held = (*held, Held(state.start_ns, end_ns, record.tobytes()))
        self.state = state._replace(machine=machine, start_ns=end_ns, held=held)

    def _given_out(self, *, is_last: bool) -> VehicleImu | None:
        """Return the oldest held window, if all readings that it needs have arrived."""
        state = self.state
        while state.held:
            held = state.held[0]
            message = VehicleImu.from_bytes(held.message)
            if self._settings.mode is Mode.SAVAGE:
                gyro, accel = state.gyro.recent, state.accel.recent
                if not is_last and state.accel.last_ns < held.end_ns - slack_ns(gyro):
                    return None
                row = integrate_recent(gyro, accel, self._settings, held.start_ns, held.end_ns)
                gyro, accel = without_old(gyro, held.end_ns), without_old(accel, held.end_ns)
                state = state._replace(
                    gyro=state.gyro._replace(recent=gyro),
                    accel=state.accel._replace(recent=accel),
                )
                if row is None:
                    self.state = state = state._replace(held=state.held[1:])
                    self._counts["left_out"] += 1
                    continue
                _refine(message, row)
            self.state = state._replace(held=state.held[1:])
            self._counts["windows"] += 1
            return message
        return None


def _refine(message: VehicleImu, row: Increments) -> None:
    """Write the increments of savage mode into a window."""
    message.delta_angle, message.delta_velocity = row.delta_angle[0], row.delta_velocity[0]
    message.delta_angle_dt = nearest_us(int(row.delta_angle_dt_ns[0]))
    message.delta_velocity_dt = nearest_us(int(row.delta_velocity_dt_ns[0]))


def _stamps(waiting: tuple[kernels.Message, ...], after_us: int) -> tuple[int, int]:
    """Return the stamps of the first and the ninth message."""
    return (
        waiting[0].t_us if waiting else after_us,
        waiting[kernels.QUEUE].t_us if len(waiting) > kernels.QUEUE else after_us,
    )


def _parts(message: SensorGyro | SensorAccel) -> tuple[Reading, kernels.Message, int]:
    value, t_ns = (message.x, message.y, message.z), message.timestamp_sample * NS_PER_US
    reading = Reading(t_ns, value, message.samples)
    return reading, as_kernel_message(message), message.device_id


def as_kernel_message(message: SensorGyro | SensorAccel) -> kernels.Message:
    """Return a message in the form of the kernels."""
    known = math.isfinite(message.temperature)
    x, y, z = message.clip_counter.tolist()
    return kernels.Message(
        message.timestamp_sample,
        (np.float32(message.x), np.float32(message.y), np.float32(message.z)),
        np.float32(message.temperature) if known else _NO_TEMPERATURE,
        message.error_count,
        (x, y, z),
        message.samples,
    )


def _message(t_ns: int, value: tuple[float, float, float]) -> kernels.Message:
    x, y, z = map(np.float32, value)
    return kernels.Message(nearest_us(t_ns), (x, y, z), _NO_TEMPERATURE, 0, (0, 0, 0), 1)

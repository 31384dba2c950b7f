"""Settings and results of the computation of ``vehicle_imu``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from strapdown._checks import as_member
from strapdown._html import FieldsAsHtml
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.inertial.increments import as_integrable
from strapdown.px4.calibration import SensorCalibration
from strapdown.px4.channels import Rules
from strapdown.px4.increments import dt_max_s
from strapdown.px4.vehicle_imu.values import as_correction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from strapdown.inertial import IntegrationReport
    from strapdown.samples import SampleKind
    from strapdown.series import Increments

__all__ = [
    "FASTEST_HZ",
    "SLOWEST_HZ",
    "Mode",
    "PipelineResult",
    "PipelineSettings",
    "Recalibration",
    "VehicleImuReport",
]


SLOWEST_HZ: Final = 50.0
FASTEST_HZ: Final = 1000.0
"""Range of the rate of windows, that of ``IMU_INTEG_RATE`` [Hz]."""


class Mode(StrEnum):
    """Integrator of the increments."""

    SAVAGE = "savage"
    """Float64, with P. G. Savage's corrections for coning and sculling."""
    PX4 = "px4"
    """PX4's integrator, bit for bit in float32, with its coning correction one sample late."""


@dataclass(frozen=True)
class PipelineSettings:
    """Settings of the computation of ``vehicle_imu``.

    Parameters
    ----------
    mode : Mode or name
        The integrator. Windows, clipping and status are the same in both modes.
    rate_hz : float
        Wanted rate of the windows (``IMU_INTEG_RATE``) [Hz], limited to 50 to 1000 as in PX4.
    px4_version : tuple of 2 int
        Release of PX4 to follow: since (1, 16) windows continue over gaps; before, a gap ended a
        window after 65.5 ms.
    first_window : "drop" or "keep"
        Treatment of the first window, which PX4 begins at boot, long before the first message.
        By default it is left out.
    gyro_calibration, accel_calibration : SensorCalibration
        Applied to mean rates over windows in px4 mode, as PX4 does, and to every message in savage
        mode. Priority 0 disables the IMU: nothing is published.
    gyro_kind, accel_kind : SampleKind or None
        Kind of the messages, for savage mode. By default it depends on ``samples``: the mean since
        the previous message if more than 1 was averaged, else the value at the stamp.
    float32_schedule : bool
        Compare the stamps of the two sensors in float32, as PX4 does. From nine minutes after boot
        this shifts the windows of the accelerometer.

    Raises
    ------
    UnknownNameError
        There is no such mode, kind or option.
    ValueRangeError
        The rate is not positive and finite, or ``px4_version`` is not a pair.
    TypeError
        ``px4_version`` is not a tuple of integers.
    """

    mode: Mode = Mode.SAVAGE
    rate_hz: float = 200.0
    px4_version: tuple[int, int] = (1, 16)
    first_window: Literal["drop", "keep"] = "drop"
    gyro_calibration: SensorCalibration = field(default_factory=SensorCalibration)
    accel_calibration: SensorCalibration = field(default_factory=SensorCalibration)
    gyro_kind: SampleKind | None = None
    accel_kind: SampleKind | None = None
    float32_schedule: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", as_member(Mode, self.mode, "mode"))
        for name in ("gyro_kind", "accel_kind"):
            object.__setattr__(self, name, as_integrable(getattr(self, name)))
        if self.first_window not in ("drop", "keep"):
            raise UnknownNameError("first_window", self.first_window, ["drop", "keep"])
        if not (math.isfinite(self.rate_hz) and self.rate_hz > 0.0):
            raise ValueRangeError(f"expected rate_hz above 0, got {self.rate_hz}")
        _require_release(self.px4_version)

    @property
    def interval_us(self) -> int:
        """Wanted length of a window [us]."""
        return int(1e6 / min(max(self.rate_hz, SLOWEST_HZ), FASTEST_HZ))

    @property
    def calibration_counts(self) -> tuple[int, int]:
        """Numbers of changes of the calibrations of gyroscope and accelerometer."""
        return self.gyro_calibration.count, self.accel_calibration.count

    @property
    def rules(self) -> Rules:
        """The settings in the form of the kernels."""
        return Rules(
            interval_us=self.interval_us,
            dt_max=dt_max_s(self.px4_version),
            drop_boot=self.first_window == "drop",
            enabled=min(self.gyro_calibration.priority, self.accel_calibration.priority) > 0,
            float32_schedule=self.float32_schedule,
            gyro=as_correction(self.gyro_calibration),
            accel=as_correction(self.accel_calibration),
        )


def _require_release(version: object) -> None:
    form = "expected px4_version as major and minor, such as (1, 16)"
    if not (isinstance(version, tuple) and all(isinstance(part, int) for part in version)):
        raise TypeError(f"{form}, got {version!r}")
    if len(version) != 2 or min(version) < 0:
        raise ValueRangeError(f"{form}, got {version!r}")


class Recalibration(NamedTuple):
    """Calibrations from a time onwards.

    Parameters
    ----------
    t_us : int
        They apply from the first message with this stamp or a later one [us], to the whole window
        that is open then.
    gyro, accel : SensorCalibration
        The new calibrations.
    """

    t_us: int
    gyro: SensorCalibration
    accel: SensorCalibration


@dataclass(frozen=True)
class VehicleImuReport(FieldsAsHtml):
    """Report of the messages and windows.

    Parameters
    ----------
    gyro_messages, accel_messages : int
        Received messages.
    not_finite : int
        Messages of both sensors that were left out because a value was NaN or infinite, or because
        a packet contained no samples.
    repeated, out_of_order : int
        Messages of both sensors whose stamp equals, or precedes, that of the previous message. A
        batch sorts them; in a stream, and at a repeated stamp, PX4 restarts the window.
    windows : int
        Published windows.
    left_out : int
        Windows that were not published: the first, those of a disabled IMU, and in savage mode
        those interrupted by a gap.
    unfinished : int
        Gyroscope messages after the last window.
    integration : IntegrationReport or None
        Report of the integrator in savage mode, for a batch.
    """

    gyro_messages: int
    accel_messages: int
    not_finite: int
    repeated: int
    out_of_order: int
    windows: int
    left_out: int
    unfinished: int
    integration: IntegrationReport | None = None


@dataclass(frozen=True, eq=False)
class PipelineResult:
    """Result of the pipeline for a recording.

    Parameters
    ----------
    vehicle_imu : (N,) array of VehicleImu.dtype
        One row per window; ``timestamp`` equals ``timestamp_sample``.
    status : (M,) array of VehicleImuStatus.dtype
        Ten per second, and one at each window with clipping or a change of an error count.
    increments : Increments
        The windows in body FRD, in savage mode with more digits than ``vehicle_imu``.
    report : VehicleImuReport
        Report of the messages and windows.
    """

    vehicle_imu: NDArray[np.void]
    status: NDArray[np.void]
    increments: Increments
    report: VehicleImuReport

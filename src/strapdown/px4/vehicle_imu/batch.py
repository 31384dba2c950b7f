"""``vehicle_imu`` from whole recordings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.compilation import compiled
from strapdown.geometry.frames import BodyFrame
from strapdown.messages._by_column import as_records
from strapdown.messages.conversion.px4 import (
    increments_from_vehicle_imu,
    vehicle_imu_from_increments,
)
from strapdown.messages.px4 import (
    SIMULATED_DEVICE_ID,
    SensorAccel,
    SensorAccelFifo,
    SensorGyro,
    SensorGyroFifo,
    VehicleImu,
)
from strapdown.px4 import channels as kernels
from strapdown.px4 import scheduling
from strapdown.px4.vehicle_imu.samples import (
    samples_from_fifo,
    samples_from_readings,
    samples_from_records,
)
from strapdown.px4.vehicle_imu.savage import calibrated, integrate_readings
from strapdown.px4.vehicle_imu.settings import (
    Mode,
    PipelineResult,
    PipelineSettings,
    Recalibration,
    VehicleImuReport,
)
from strapdown.px4.vehicle_imu.values import (
    float32_again,
    room_for,
    status_records,
    vehicle_imu_records,
)
from strapdown.px4.window_ends import no_ends, window_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.inertial import Integration
    from strapdown.px4.vehicle_imu.samples import Samples
    from strapdown.px4.vehicle_imu.savage import Readings
    from strapdown.series import ImuSeries, Increments

__all__ = ["vehicle_imu_from_fifo", "vehicle_imu_from_sensors", "vehicle_imu_from_series"]

_ROOM: Final = 1 << 16


def vehicle_imu_from_sensors(
    gyro: NDArray[np.void],
    accel: NDArray[np.void],
    settings: PipelineSettings | None = None,
    *,
    recalibrations: Sequence[Recalibration] = (),
    logged: NDArray[np.void] | None = None,
) -> PipelineResult:
    """Compute ``vehicle_imu`` from the messages of a gyroscope and an accelerometer.

    The result is that of PX4 without its scheduling delays: a window ends with the gyroscope
    message that completes it, and with the accelerometer messages up to that stamp.

    Parameters
    ----------
    gyro : (N,) array of SensorGyro.dtype
        Messages of one gyroscope.
    accel : (M,) array of SensorAccel.dtype
        Messages of one accelerometer.
    settings : PipelineSettings, optional
        By default windows of 5 ms in savage mode.
    recalibrations : sequence of Recalibration, optional
        Later replacements of the calibrations in the settings, in the order of their times.
    logged : (K,) array of VehicleImu.dtype, optional
        Windows of the autopilot, all or some of them: windows then end as these. By default their
        phase follows from the first message.

    Returns
    -------
    PipelineResult

    Raises
    ------
    ShapeError
        The messages have another type.
    ValueRangeError
        A stamp reaches 2^63 ns.
    """
    return _make(
        samples_from_records(gyro, SensorGyro),
        samples_from_records(accel, SensorAccel),
        settings or PipelineSettings(),
        recalibrations=recalibrations,
        logged=logged,
    )


def vehicle_imu_from_fifo(
    gyro: NDArray[np.void],
    accel: NDArray[np.void],
    settings: PipelineSettings | None = None,
    *,
    recalibrations: Sequence[Recalibration] = (),
    logged: NDArray[np.void] | None = None,
) -> PipelineResult:
    """Compute ``vehicle_imu`` from the packets of a gyroscope and an accelerometer.

    Windows, clipping and status are computed from the means of packets that PX4's driver publishes,
    as are increments in px4 mode; in savage mode increments are computed from the samples.

    Parameters
    ----------
    gyro : (N,) array of SensorGyroFifo.dtype
        Packets of one gyroscope.
    accel : (M,) array of SensorAccelFifo.dtype
        Packets of one accelerometer.
    settings : PipelineSettings, optional
        By default windows of 5 ms in savage mode. Samples are values at their stamps.
    recalibrations : sequence of Recalibration, optional
        Later replacements of the calibrations in the settings, in the order of their times.
    logged : (K,) array of VehicleImu.dtype, optional
        Windows of the autopilot, all or some of them: windows then end as these. By default their
        phase follows from the first message.

    Returns
    -------
    PipelineResult

    Raises
    ------
    ShapeError
        The packets have another type.
    ValueRangeError
        A stamp reaches 2^63 ns.
    """
    gyro_means, gyro_samples = samples_from_fifo(gyro, SensorGyroFifo)
    accel_means, accel_samples = samples_from_fifo(accel, SensorAccelFifo)
    return _make(
        gyro_means,
        accel_means,
        settings or PipelineSettings(),
        (gyro_samples, accel_samples),
        recalibrations=recalibrations,
        logged=logged,
    )


def vehicle_imu_from_series(
    series: ImuSeries, settings: PipelineSettings | None = None
) -> PipelineResult:
    """Compute ``vehicle_imu`` from samples at instants: a simulation, a driver, an unrolled FIFO.

    Parameters
    ----------
    series : ImuSeries
        In any body frame; ``angular_velocity`` [rad/s], ``specific_force`` [m/s^2].
    settings : PipelineSettings, optional
        By default windows of 5 ms in savage mode. Kinds default to values at stamps.

    Returns
    -------
    PipelineResult

    Raises
    ------
    ValueRangeError
        A stamp is negative.
    """
    series = series.in_frames(body=BodyFrame.FRD)
    ids = (
        series.sensor.gyro_device_id or SIMULATED_DEVICE_ID,
        series.sensor.accel_device_id or SIMULATED_DEVICE_ID,
    )
    return _make(
        samples_from_readings(series.t_ns, series.angular_velocity, series.gyro_clipping, ids[0]),
        samples_from_readings(series.t_ns, series.specific_force, series.accel_clipping, ids[1]),
        settings or PipelineSettings(),
    )


def _make(  # noqa: PLR0913 (two sensors, each with samples)
    gyro: Samples,
    accel: Samples,
    settings: PipelineSettings,
    readings: tuple[Readings, Readings] | None = None,
    *,
    recalibrations: Sequence[Recalibration] = (),
    logged: NDArray[np.void] | None = None,
) -> PipelineResult:
    """Schedule windows by messages, and integrate these or their source samples."""
    phases = [Recalibration(0, settings.gyro_calibration, settings.accel_calibration)]
    phases += recalibrations
    out, phase = _run(gyro, accel, settings, phases, logged)
    ids = gyro.device_id, accel.device_id
    published = out.windows[:, 0] == 1
    ends_ns = gyro.t_ns[out.windows[:, 1] - 1]
    integration: Integration | None = None
    if settings.mode is Mode.SAVAGE and len(ends_ns):
        readings = readings or (gyro.readings, accel.readings)
        integration = _integrated(readings, settings, phases, phase, ends_ns)
        published &= np.isin(ends_ns, integration.increments.t_ns)
    rows = out._replace(windows=out.windows[published], deltas=out.deltas[published])
    counts = np.array([(each.gyro.count, each.accel.count) for each in phases], np.uint8)
    gyro_counts, accel_counts = counts[phase[published]].T
    records = vehicle_imu_records(rows, ids, (gyro_counts, accel_counts))
    increments = increments_from_vehicle_imu(records)
    if integration is not None:
        better = integration.increments
        increments = _refined(increments, better[np.isin(better.t_ns, ends_ns[published])])
        records = vehicle_imu_from_increments(increments)
    report = VehicleImuReport(
        gyro_messages=gyro.came,
        accel_messages=accel.came,
        not_finite=gyro.not_finite + accel.not_finite,
        repeated=gyro.repeated + accel.repeated,
        out_of_order=gyro.out_of_order + accel.out_of_order,
        windows=len(records),
        left_out=len(published) - len(records),
        unfinished=len(gyro.t_ns) - (int(out.windows[-1, 1]) if len(published) else 0),
        integration=None if integration is None else integration.report,
    )
    return PipelineResult(records, status_records(out, ids), increments, report)


def _integrated(
    readings: tuple[Readings, Readings],
    settings: PipelineSettings,
    phases: Sequence[Recalibration],
    phase: IntArray,
    ends_ns: IntArray,
) -> Integration:
    """Integrate readings between the ends of windows, each with the calibration of its phase."""
    rates, forces = readings
    # The last window of each phase; without any, that of the previous phase.
    last = np.searchsorted(phase, np.arange(len(phases) - 1), "right") - 1
    until_ns = np.where(last >= 0, ends_ns[last], rates.t_ns[0] - 1)
    return integrate_readings(
        calibrated(rates, [each.gyro for each in phases], until_ns),
        calibrated(forces, [each.accel for each in phases], until_ns),
        settings,
        np.append(rates.t_ns[:1], ends_ns),
    )


def _refined(increments: Increments, better: Increments) -> Increments:
    """Return increments with the stamps and deltas of ``better``."""
    return increments.replace(
        t_ns=better.t_ns,
        delta_angle=better.delta_angle,
        delta_velocity=better.delta_velocity,
        delta_angle_dt_ns=better.delta_angle_dt_ns,
        delta_velocity_dt_ns=better.delta_velocity_dt_ns,
    )


def _run(
    gyro: Samples,
    accel: Samples,
    settings: PipelineSettings,
    phases: Sequence[Recalibration],
    logged: NDArray[np.void] | None,
) -> tuple[scheduling.Outputs, IntArray]:
    """Return every window and every status, and the phase of each window."""
    machine, i, j, end = kernels.begin(settings.interval_us), 0, 0, 0
    gyro_inputs, accel_inputs = gyro.inputs, accel.inputs
    ends = no_ends()
    if logged is not None:
        logged = as_records(logged, VehicleImu)
        ends = window_ends(gyro_inputs.whole[:, 0], accel_inputs.whole[:, 0], logged)
    parts, phase_of = [], []
    for number, phase in enumerate(phases):
        rules = replace(settings, gyro_calibration=phase.gyro, accel_calibration=phase.accel).rules
        last = number == len(phases) - 1
        until_us = scheduling.FAR if last else phases[number + 1].t_us
        come = [_before(until_us, inputs) for inputs in (gyro_inputs, accel_inputs)]
        after_us = scheduling.FAR if last else scheduling.UNKNOWN
        while True:
            out = room_for(min(len(come[0].whole) - i + 2, _ROOM))
            machine, (i, j, end, windows, statuses) = compiled(scheduling.run)(
                float32_again(machine), rules, come[0], come[1], after_us, ends,
                (i, j, end, 0, 0), out,
            )  # fmt: skip
            parts.append((out.windows[:windows], out.deltas[:windows],
                          out.statuses[:statuses], out.numbers[:statuses]))  # fmt: skip
            phase_of.append(np.full(windows, number))
            if windows < len(out.windows):
                break
    out = scheduling.Outputs(*map(np.concatenate, zip(*parts, strict=True)))
    return out, np.concatenate(phase_of)


def _before(until_us: int, inputs: scheduling.Inputs) -> scheduling.Inputs:
    """Return the messages before a time."""
    stop = np.searchsorted(inputs.whole[:, 0], until_us)
    return scheduling.Inputs(inputs.whole[:stop], inputs.values[:stop])

"""Health of the IMUs of a PX4 log: devices, vibration, clipping and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.formats._coverage import LEAST_COVERAGE, Coverage
from strapdown.messages.conversion.px4 import increments_from_vehicle_imu
from strapdown.messages.conversion.px4_rates import vehicle_imu_from_sensor_combined
from strapdown.messages.px4 import SensorCombined, VehicleImu, VehicleImuStatus
from strapdown.messages.px4_versions import Upgraded
from strapdown.px4.device_id import DeviceId
from strapdown.px4.health import ClippingReport, VibrationReport, clipping_report, vibration_report
from strapdown.px4.vibration import vehicle_imu_vibration
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from strapdown._typing import FloatArray, IntArray
    from strapdown.formats.px4.log import Px4Log
    from strapdown.formats.recording import Recording
    from strapdown.series import Increments

__all__ = ["ImuHealth", "Metric", "imu_health", "vibration_of"]

_SETTLED: Final = 300
"""Windows after which the metric, a slow mean, no longer depends on its initial value."""


class Metric(NamedTuple):
    """Vibration metrics of one IMU over time."""

    name: str
    t_ns: IntArray
    accel: FloatArray
    """[m/s^2]"""
    gyro: FloatArray
    """[rad/s]"""


@dataclass(frozen=True)
class ImuHealth:
    """One IMU of a log.

    Parameters
    ----------
    instance : int
        Instance of ``vehicle_imu``.
    gyro, accel : str
        Names of the devices; empty where the log does not contain their ids.
    gyro_device_id, accel_device_id : int
        Ids of the devices in parameters and messages.
    windows : int
        Rows of ``vehicle_imu`` in the log.
    gyro_clipping, accel_clipping : ClippingReport, optional
        Clipping in these rows; until 2022 that of the gyroscope was not logged.
    gyro_clipped_samples, accel_clipped_samples : tuple of 3 int, optional
        Saturated samples of the chip since boot, by axis, from ``vehicle_imu_status``.
    gyro_calibration_counts, accel_calibration_counts : tuple of int
        Successive values: more than one means that the calibration changed in flight. Empty in
        logs before v1.12, which have none.
    gyro_vibration, accel_vibration : VibrationReport
        PX4's vibration metric [rad/s], [m/s^2].
    """

    instance: int
    gyro: str
    accel: str
    gyro_device_id: int
    accel_device_id: int
    windows: int
    gyro_clipping: ClippingReport | None
    accel_clipping: ClippingReport | None
    gyro_clipped_samples: tuple[int, ...] | None
    accel_clipped_samples: tuple[int, ...] | None
    gyro_calibration_counts: tuple[int, ...]
    accel_calibration_counts: tuple[int, ...]
    gyro_vibration: VibrationReport
    accel_vibration: VibrationReport


def imu_health(log: Px4Log) -> list[ImuHealth]:
    """Return the health of every IMU of a log that has rows.

    Parameters
    ----------
    log : Px4Log
        The log.

    Returns
    -------
    list of ImuHealth
        In the order of their instances; empty in logs before ``vehicle_imu``.
    """
    vibration = {metric.name: metric for metric in _logged(log)}
    unknown = Metric("", np.empty(0, np.int64), *np.empty((2, 0)))
    return [
        _health(log, instance, vibration.get(_name(instance), unknown))
        for instance in log.instances(VehicleImu.topic)
    ]


def vibration_of(recording: Recording) -> list[Metric]:
    """Return the vibration metrics of every IMU of a recording.

    They come from ``vehicle_imu_status`` where a PX4 log has it; otherwise they are computed from
    increments with consecutive windows, without the first 300, in which the metric settles.

    Parameters
    ----------
    recording : Recording
        Any.

    Returns
    -------
    list of Metric
        One per IMU with the required data.
    """
    if recording.log is not None:
        return [*_logged(recording.log), *_of_windows(_combined(recording.log))]
    return list(_of_windows(dict(recording.increments)))


def _health(log: Px4Log, instance: int, vibration: Metric) -> ImuHealth:
    records, unknown = log.records(VehicleImu, instance)
    status, absent = Upgraded(np.zeros(0, VehicleImuStatus.dtype), ())
    if instance in log.instances(VehicleImuStatus.topic):
        status, absent = log.records(VehicleImuStatus, instance)
    gyro_id, accel_id = (int(records[f"{sensor}_device_id"][-1]) for sensor in ("gyro", "accel"))
    return ImuHealth(
        instance=instance,
        gyro=DeviceId.decode(gyro_id).name if gyro_id else "",
        accel=DeviceId.decode(accel_id).name if accel_id else "",
        gyro_device_id=gyro_id,
        accel_device_id=accel_id,
        windows=len(records),
        gyro_clipping=_clipping(records, unknown, "delta_angle_clipping"),
        accel_clipping=_clipping(records, unknown, "delta_velocity_clipping"),
        gyro_clipped_samples=_totals(status, absent, "gyro_clipping"),
        accel_clipped_samples=_totals(status, absent, "accel_clipping"),
        gyro_calibration_counts=_sequence(records, unknown, "gyro_calibration_count"),
        accel_calibration_counts=_sequence(records, unknown, "accel_calibration_count"),
        gyro_vibration=vibration_report(vibration.t_ns, vibration.gyro),
        accel_vibration=vibration_report(vibration.t_ns, vibration.accel),
    )


def _name(instance: int) -> str:
    return f"IMU {instance}"


def _logged(log: Px4Log) -> Iterator[Metric]:
    """Read the metrics that the autopilot published."""
    for instance in log.instances(VehicleImuStatus.topic):
        status, absent = log.records(VehicleImuStatus, instance)
        accel, gyro = (
            status[f"{sensor}_vibration_metric"].astype(np.float64) for sensor in ("accel", "gyro")
        )
        if (
            "mean_accel" in absent
        ):  # until v1.12 the metrics were computed from increments, not from mean rates
            accel, gyro = accel / _window_s(log, instance), gyro / _window_s(log, instance)
        stamps = status["timestamp"].astype(np.int64) * NS_PER_US
        yield Metric(_name(instance), stamps, accel, gyro)


def _window_s(log: Px4Log, instance: int) -> float:
    """Return the median length of a window of an IMU [s]; NaN where it is not logged."""
    if instance not in log.instances(VehicleImu.topic):
        return np.nan
    lengths = log.records(VehicleImu, instance).records["delta_velocity_dt"]
    return float(np.median(lengths)) * 1e-6 or np.nan


def _totals(
    status: NDArray[np.void], absent: tuple[str, ...], field: str
) -> tuple[int, ...] | None:
    if not len(status) or field in absent:
        return None
    return tuple(status[field][-1].tolist())


def _clipping(
    records: NDArray[np.void], absent: tuple[str, ...], field: str
) -> ClippingReport | None:
    return None if field in absent else clipping_report(records[field])


def _sequence(records: NDArray[np.void], absent: tuple[str, ...], field: str) -> tuple[int, ...]:
    """Return values without consecutive repetitions."""
    if field in absent:
        return ()
    counts = records[field]
    changes = np.append(True, counts[1:] != counts[:-1])
    return tuple(counts[changes[: len(counts)]].tolist())


def _combined(log: Px4Log) -> dict[str, Increments]:
    """Return the windows of the IMU in use."""
    topic = SensorCombined.topic
    if not log.instances(topic):
        return {}
    records = vehicle_imu_from_sensor_combined(log.records(SensorCombined).records)
    return {topic: increments_from_vehicle_imu(records)}


def _of_windows(streams: Mapping[str, Increments]) -> Iterator[Metric]:
    """Compute metrics of streams with consecutive windows."""
    for name, increments in streams.items():
        covered = Coverage.of(increments.t_ns, increments.delta_angle_dt_ns)
        if len(increments) > _SETTLED and covered.share >= LEAST_COVERAGE:
            accel, gyro = vehicle_imu_vibration(increments)
            stamps = increments.t_ns[_SETTLED:]
            yield Metric(name, stamps, *(each[_SETTLED:].astype(float) for each in (accel, gyro)))

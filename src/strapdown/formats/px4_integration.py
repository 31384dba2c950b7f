"""``vehicle_imu`` from any recording: from the rawest samples of every IMU that it holds.

What PX4 logs of one IMU comes in several stages, and the earliest that is whole is integrated:

1. ``sensor_gyro_fifo`` and ``sensor_accel_fifo``: every sample of the chips. In savage mode they
   are unrolled; in px4 mode the packets are averaged, as the driver does.
2. ``sensor_gyro`` and ``sensor_accel``, where they are logged at their full rate.
3. ``sensor_combined``, then ``vehicle_imu``: windows already, which keep their lengths.

Series of other files are samples at instants, unless they are said to be means; the increments
of other files are windows already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from strapdown._version import __version__
from strapdown.errors import FormatError
from strapdown.formats import write
from strapdown.formats._coverage import LEAST_COVERAGE, Coverage
from strapdown.formats._px4_raw import RAW, is_whole
from strapdown.formats.recording import Recording, WriteReport
from strapdown.formats.ulog_writer import LoggedRows, UlogWriter
from strapdown.messages.conversion_px4 import (
    increments_from_vehicle_imu,
    vehicle_imu_from_increments,
)
from strapdown.messages.conversion_px4_rates import vehicle_imu_from_sensor_combined
from strapdown.messages.px4 import (
    SensorCombined,
    SensorGyro,
    SensorGyroFifo,
    SensorSelection,
    VehicleImu,
    VehicleImuStatus,
)
from strapdown.px4.calibration import calibration_from_parameters
from strapdown.px4.driver import messages_from_fifo
from strapdown.px4.vehicle_imu import (
    PipelineResult,
    PipelineSettings,
    vehicle_imu_from_fifo,
    vehicle_imu_from_sensors,
    vehicle_imu_from_series,
)
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from strapdown.formats.px4_log import Px4Log
    from strapdown.px4.calibration import Sensor, SensorCalibration
    from strapdown.series import Increments

__all__ = ["MadeImu", "vehicle_imu_from_recording", "write_vehicle_imu"]

_COARSE: Final = ("scaled_imu", "raw_imu")
_REMEDY: Final = "pass anyway=True (--anyway) to take it all the same"


@dataclass(frozen=True, eq=False)
class MadeImu:
    """``vehicle_imu`` of one IMU, and where it came from.

    Parameters
    ----------
    source : str
        Topics that were integrated, or taken over.
    vehicle_imu : (N,) array of VehicleImu.dtype
        One row a window.
    increments : Increments
        The same, in savage mode with more digits.
    result : PipelineResult or None
        With status and report; None where the source held windows already.
    notes : tuple of str
        What a user should know, one line each.
    """

    source: str
    vehicle_imu: NDArray[np.void]
    increments: Increments
    result: PipelineResult | None
    notes: tuple[str, ...] = ()

    @property
    def lost(self) -> list[str]:
        """What of the source is in no window, one line each."""
        if self.result is None:
            return []
        report, lines = self.result.report, []
        if report.not_finite:
            lines.append(f"{report.not_finite} messages are not finite")
        if report.repeated:
            lines.append(f"{report.repeated} messages repeat a stamp")
        if report.integration is not None and report.integration.gaps:
            lost_s = report.integration.lost_ns / NS_PER_S
            lines.append(f"{report.integration.gaps} gaps, in which {lost_s:.3f} s have no window")
        return lines


def vehicle_imu_from_recording(
    recording: Recording,
    settings: PipelineSettings | None = None,
    *,
    topic: str | None = None,
    anyway: bool = False,
) -> dict[str, MadeImu]:
    """Make ``vehicle_imu`` of every IMU of a recording.

    Parameters
    ----------
    recording : Recording
        Of any format. With a PX4 log the calibration comes from its parameters.
    settings : PipelineSettings, optional
        By default windows of 5 ms in savage mode.
    topic : str, optional
        One topic of the recording, instead of the rawest source.
    anyway : bool
        Take sources that are too coarse, or whose windows leave time out.

    Returns
    -------
    dict of str to MadeImu
        By topic: ``vehicle_imu.0`` and so on.

    Raises
    ------
    FormatError
        The recording holds nothing to integrate, or only what leaves time out.
    UnknownNameError
        There is no such topic.
    """
    settings = settings or PipelineSettings()
    if recording.log is not None and topic is None:
        made = _from_log(recording.log, settings, anyway=anyway)
    else:
        made = {"vehicle_imu.0": _from_topic(recording, settings, topic, anyway=anyway)}
    if not made:
        raise FormatError("expected an IMU to integrate, got none", path=recording.path)
    return made


def write_vehicle_imu(
    path: Path, made: Mapping[str, MadeImu], *, force: bool = False
) -> WriteReport:
    """Write ``vehicle_imu``; a ULog also gets ``vehicle_imu_status``.

    Parameters
    ----------
    path : Path
        Its ending names the format.
    made : mapping of str to MadeImu
        As :func:`vehicle_imu_from_recording` gives them.
    force : bool
        Replace a file that exists.

    Returns
    -------
    WriteReport

    Raises
    ------
    FileExistsError, UnknownNameError, ValueRangeError
        As :func:`strapdown.formats.write`.
    """
    if path.suffix.lower() != ".ulg":
        increments = {name: imu.increments for name, imu in made.items()}
        return write(path, Recording(increments=increments), force=force)
    with UlogWriter(path, force=force) as writer:
        writer.add_info("sys_name", "strapdown")
        writer.add_info("ver_sw", __version__)
        rows = []
        for instance, imu in enumerate(made.values()):
            rows.append(LoggedRows(VehicleImu, instance, imu.vehicle_imu))
            if imu.result is not None:
                rows.append(LoggedRows(VehicleImuStatus, instance, imu.result.status))
        writer.write_many(rows)
    return WriteReport("ulog", writer.rows)


def _from_topic(
    recording: Recording, settings: PipelineSettings, topic: str | None, *, anyway: bool
) -> MadeImu:
    """Integrate the samples of one topic, or take its windows over."""
    name = topic or _longest(recording)
    if name in recording.increments:
        return _windows(name, recording.increments[name], recording, anyway=anyway)
    series = recording.imu_series(name)
    if any(word in name for word in _COARSE) and not anyway:
        raise FormatError(
            "expected more than 1 mG and 1 mrad/s of resolution to integrate; " + _REMEDY,
            path=recording.path,
            topic=name,
        )
    result = vehicle_imu_from_series(series, settings)
    return _made(name, result)


def _longest(recording: Recording) -> str:
    """Return the topic of the IMU that a recording offers first."""
    offered = recording.imu_series()
    for name, series in recording.imu.items():
        if series is offered:
            return name
    return max(recording.increments, key=lambda name: len(recording.increments[name]))


def _windows(name: str, increments: Increments, recording: Recording, *, anyway: bool) -> MadeImu:
    """Take windows over, which are integrated already."""
    share = _share(increments)
    if share < LEAST_COVERAGE and not anyway:
        raise FormatError(
            f"expected windows that cover {LEAST_COVERAGE:.0%} of the time, got {share:.1%}; "
            f"log the samples, or every window; {_REMEDY}",
            path=recording.path,
            topic=name,
        )
    notes = (f"{name} holds windows already: mode and rate do not apply to it",)
    return MadeImu(name, vehicle_imu_from_increments(increments), increments, None, notes)


def _share(increments: Increments) -> float:
    covered = Coverage()
    covered.add(increments.t_ns, increments.delta_angle_dt_ns)
    return covered.share


def _from_log(log: Px4Log, settings: PipelineSettings, *, anyway: bool) -> dict[str, MadeImu]:
    """Integrate the rawest stage that is whole, of every IMU."""
    made = {f"vehicle_imu.{i}": one for i, one in _integrated(log, settings)}
    if made:
        return made
    combined = _combined(log)
    shares = {name: _share(one) for name, one in combined.items()}
    for name, increments in combined.items():
        if shares[name] >= LEAST_COVERAGE or anyway:
            note = f"{name} holds windows already: mode and rate do not apply to it"
            records = vehicle_imu_from_increments(increments)
            return {"vehicle_imu.0": MadeImu(name, records, increments, None, (note,))}
    if combined:
        got = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
        raise FormatError(
            f"expected raw samples, or windows that cover {LEAST_COVERAGE:.0%} of the time, got "
            f"{got}; log FIFOs or at the full rate (SDLOG_PROFILE); {_REMEDY}",
            path=log.path,
        )
    return {}


def _combined(log: Px4Log) -> dict[str, Increments]:
    """Return the windows that a log holds, those of the IMU in use first."""
    found = {}
    if log.instances(SensorCombined.topic):
        selection = None
        if log.instances(SensorSelection.topic):
            selection = log.records(SensorSelection).records
        rows = log.records(SensorCombined).records
        records = vehicle_imu_from_sensor_combined(rows, selection=selection)
        found[SensorCombined.topic] = increments_from_vehicle_imu(records)
    for instance in log.instances(VehicleImu.topic):
        records = log.records(VehicleImu, instance).records
        found[f"{VehicleImu.topic}.{instance}"] = increments_from_vehicle_imu(records)
    return found


def _integrated(log: Px4Log, settings: PipelineSettings) -> Iterator[tuple[int, MadeImu]]:
    """Yield every IMU whose samples the log holds."""
    packets = log.instances(SensorGyroFifo.topic)
    instances = packets or [
        instance
        for instance in log.instances(SensorGyro.topic)
        if is_whole(log, SensorGyro, instance)
    ]
    for instance in instances:
        gyro, accel = _sensor(log, "gyro", instance), _sensor(log, "accel", instance)
        if gyro is None or accel is None:
            continue
        of_gyro, of_accel = _calibration(log, "gyro", gyro), _calibration(log, "accel", accel)
        calibrated = replace(settings, gyro_calibration=of_gyro, accel_calibration=of_accel)
        yield instance, _of_pair(gyro, accel, instance, calibrated, _changed(log))


def _of_pair(
    gyro: NDArray[np.void],
    accel: NDArray[np.void],
    instance: int,
    settings: PipelineSettings,
    notes: tuple[str, ...],
) -> MadeImu:
    """Integrate the messages of a gyroscope and an accelerometer, packets or not."""
    of_gyro, of_accel = (_has_packets(messages) for messages in (gyro, accel))
    source = (
        f"sensor_gyro{'_fifo' * of_gyro}.{instance} and sensor_accel{'_fifo' * of_accel}.{instance}"
    )
    if of_gyro and of_accel:
        return _made(source, vehicle_imu_from_fifo(gyro, accel, settings), notes)
    gyro, accel = (
        messages_from_fifo(each) if _has_packets(each) else each for each in (gyro, accel)
    )
    return _made(source, vehicle_imu_from_sensors(gyro, accel, settings), notes)


def _has_packets(messages: NDArray[np.void]) -> bool:
    return "dt" in (messages.dtype.names or ())


def _made(source: str, result: PipelineResult, notes: tuple[str, ...] = ()) -> MadeImu:
    return MadeImu(source, result.vehicle_imu, result.increments, result, notes)


def _sensor(log: Px4Log, sensor: Sensor, instance: int) -> NDArray[np.void] | None:
    """Return the packets of a sensor, else its messages; None where the log has neither."""
    for kind in RAW[sensor]:
        if instance in log.instances(kind.topic):
            return log.records(kind, instance).records
    return None


def _calibration(log: Px4Log, sensor: Sensor, messages: NDArray[np.void]) -> SensorCalibration:
    """Return the calibration at the start of the log."""
    return calibration_from_parameters(log.parameters, sensor, int(messages["device_id"][0]))


def _changed(log: Px4Log) -> tuple[str, ...]:
    """Say where the calibration changed in flight: only that of the start is applied."""
    names = sorted({one.name for one in log.parameter_changes if one.name.startswith("CAL_")})
    if not names:
        return ()
    return (f"changed in flight, the values of the start are applied: {', '.join(names)}",)

"""``vehicle_imu`` from any recording, computed from the rawest samples of every IMU.

PX4 logs the samples of an IMU at several stages; the earliest complete one is integrated:

1. ``sensor_gyro_fifo`` and ``sensor_accel_fifo``: every sample of the chips. In savage mode they
   are unrolled; in px4 mode the packets are averaged, as the driver does.
2. ``sensor_gyro`` and ``sensor_accel``, where they are logged at their full rate.
3. ``sensor_combined``, then ``vehicle_imu``: windows already, whose lengths are kept.

Series of other files are samples at instants, unless they are set or known to be means;
``sensor_combined`` messages and the increments of other files are windows already.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown._version import __version__
from strapdown.errors import FormatError
from strapdown.formats import write
from strapdown.formats._coverage import (
    ANYWAY,
    LEAST_COVERAGE,
    Coverage,
    refuse_uncovered,
    share_of,
)
from strapdown.formats._mean_rates import with_kinds
from strapdown.formats.px4.logged_windows import agreement, logged_windows, windows_of
from strapdown.formats.px4.raw_topics import imu_pairs, parameters_of, release_of, thermal_of
from strapdown.formats.recording import Recording
from strapdown.formats.reports import WriteReport
from strapdown.formats.ulog.writer import LoggedRows, UlogWriter
from strapdown.messages.conversion.px4 import (
    increments_from_vehicle_imu,
    vehicle_imu_from_increments,
)
from strapdown.messages.conversion.px4_rates import vehicle_imu_from_sensor_combined
from strapdown.messages.px4 import (
    VehicleImu,
    VehicleImuStatus,
)
from strapdown.px4._packets import usable
from strapdown.px4.calibration import LEAST_CHANGE
from strapdown.px4.calibration_history import calibration_history
from strapdown.px4.driver import messages_from_fifo
from strapdown.px4.vehicle_imu import (
    Mode,
    PipelineResult,
    PipelineSettings,
    Recalibration,
    vehicle_imu_from_fifo,
    vehicle_imu_from_sensors,
    vehicle_imu_from_series,
)
from strapdown.units import NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown.formats.px4.log import Px4Log
    from strapdown.formats.px4.raw_topics import RawMessages
    from strapdown.px4.calibration import Sensor, SensorCalibration
    from strapdown.series import Increments

    History: TypeAlias = list[tuple[int, SensorCalibration]]

__all__ = ["MadeImu", "vehicle_imu_from_recording", "write_vehicle_imu"]

_SENSORS: Final[tuple[Sensor, Sensor]] = ("gyro", "accel")
_GAP: Final = 1.5  # multiple of the median step above which a message is missing
_ROUNDED_NS: Final = 2 * NS_PER_US  # rounding of two ends and a length, not a gap
_COARSE: Final = ("scaled_imu", "raw_imu")


@dataclass(frozen=True, eq=False)
class MadeImu:
    """``vehicle_imu`` of one IMU, and its source.

    Parameters
    ----------
    source : str
        Topics that were integrated, or used unchanged.
    vehicle_imu : (N,) array of VehicleImu.dtype
        One row a window.
    increments : Increments
        The same, in savage mode with more digits than ``vehicle_imu``.
    result : PipelineResult or None
        With status and report; None where the source contained windows already.
    notes : tuple of str
        Notes for the user, one line each.
    lost : tuple of str
        Gaps of the source and samples outside windows, one line each.
    """

    source: str
    vehicle_imu: NDArray[np.void]
    increments: Increments
    result: PipelineResult | None
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def shifted(self, shift_ns: int) -> MadeImu:
        """Return the same with all stamps shifted by whole microseconds."""
        result = self.result
        if result is not None:
            result = replace(result, status=_shifted(result.status, shift_ns))
        return replace(
            self,
            vehicle_imu=_shifted(self.vehicle_imu, shift_ns),
            increments=self.increments.replace(t_ns=self.increments.t_ns + shift_ns),
            result=result,
        )


def vehicle_imu_from_recording(
    recording: Recording,
    settings: PipelineSettings | None = None,
    *,
    topic: str | None = None,
    anyway: bool = False,
) -> dict[str, MadeImu]:
    """Compute ``vehicle_imu`` of every IMU of a recording.

    Parameters
    ----------
    recording : Recording
        Of any format. A PX4 log also gives the release, and the calibration from its parameters
        and ``sensor_correction`` with their changes in flight. PX4 ignores changes below 0.01,
        and so does px4 mode; savage mode applies them. In px4 mode windows end as those that the
        log holds of the IMU, unless the settings ask for another rate.
    settings : PipelineSettings, optional
        By default windows of 5 ms in savage mode.
    topic : str, optional
        One topic of the recording, instead of the rawest source.
    anyway : bool
        Accept sources that are too coarse, or whose windows have gaps.

    Returns
    -------
    dict of str to MadeImu
        By topic: ``vehicle_imu.0`` and so on.

    Raises
    ------
    FormatError
        The recording contains nothing to integrate, only streams with gaps, or less than one
        window.
    UnknownNameError
        There is no such topic.
    """
    settings = settings or PipelineSettings()
    if recording.log is not None and topic is None:
        made = _from_log(recording.log, settings, anyway=anyway)
    else:
        made = {"vehicle_imu.0": _from_topic(recording, settings, topic, anyway=anyway)}
    if not any(len(imu.vehicle_imu) for imu in made.values()):
        raise FormatError(
            "expected both sensors of an IMU for at least one window, got none; pass another topic",
            path=recording.path,
            topic=topic or "",
        )
    return made


def write_vehicle_imu(
    path: Path, made: Mapping[str, MadeImu], *, shift_ns: int = 0, force: bool = False
) -> WriteReport:
    """Write ``vehicle_imu``; a ULog also gets ``vehicle_imu_status``.

    Parameters
    ----------
    path : Path
        File to write; the ending selects the format.
    made : mapping of str to MadeImu
        Result of :func:`vehicle_imu_from_recording`.
    shift_ns : int
        Offset added to all stamps, such as the ``clock_offset_ns`` of the recording [ns].
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
    if shift_ns:
        made = {name: imu.shifted(shift_ns) for name, imu in made.items()}
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
    """Integrate the samples of one topic, or use its windows unchanged."""
    name = recording.imu_topic(topic)
    windows = _windows_of(recording, name)
    if windows is not None:
        made = _taken(name, windows)
        if not anyway:
            refuse_uncovered(recording, name, _share(made.increments))
        return made
    series = recording.imu_series(name)
    if any(word in name for word in _COARSE) and not anyway:
        raise FormatError(
            f"expected samples of a finer resolution than those of {name} to integrate; {ANYWAY}",
            path=recording.path,
            topic=name,
        )
    if not anyway:
        refuse_uncovered(recording, name, share_of(recording, name))
    settings, notes = with_kinds(settings, recording, name, anyway=anyway)
    return replace(_made(name, vehicle_imu_from_series(series, settings)), notes=notes)


def _windows_of(recording: Recording, name: str) -> NDArray[np.void] | Increments | None:
    """Return the windows of a topic; None where it holds samples."""
    logged = {} if recording.log is None else logged_windows(recording.log)
    if name in logged:
        return logged[name]
    if name in recording.sensor_combined:
        return vehicle_imu_from_sensor_combined(recording.sensor_combined[name])
    return recording.increments.get(name)


def _taken(name: str, windows: NDArray[np.void] | Increments) -> MadeImu:
    """Use windows unchanged, as they are integrated already."""
    if isinstance(windows, np.ndarray):
        records, increments = windows, increments_from_vehicle_imu(windows)
    else:
        records, increments = vehicle_imu_from_increments(windows), windows
    note = f"{name} holds windows already: mode and rate do not apply to it"
    return MadeImu(name, records, increments, None, (note,), _between(increments))


def _between(increments: Increments) -> tuple[str, ...]:
    """Return a line about gaps between windows, if any."""
    left_ns = np.diff(increments.t_ns) - increments.delta_angle_dt_ns[1:]
    left_ns = left_ns[left_ns > _ROUNDED_NS]
    return (_without_window(int(left_ns.sum()), len(left_ns)),) if len(left_ns) else ()


def _without_window(lost_ns: int, gaps: int) -> str:
    return f"{lost_ns / NS_PER_S:.3f} s have no window, gaps: {gaps}"


def _shifted(records: NDArray[np.void], shift_ns: int) -> NDArray[np.void]:
    shifted = records.copy()
    for name in {"timestamp", "timestamp_sample"}.intersection(records.dtype.names or ()):
        shifted[name] += np.uint64(shift_ns // NS_PER_US)
    return shifted


def _share(increments: Increments) -> float:
    return Coverage.of(increments.t_ns, increments.delta_angle_dt_ns).share


def _from_log(log: Px4Log, settings: PipelineSettings, *, anyway: bool) -> dict[str, MadeImu]:
    """Integrate the rawest complete stage of every IMU."""
    made = {f"vehicle_imu.{i}": one for i, one in _integrated(log, settings)}
    if made:
        return made
    offered = [_taken(name, records) for name, records in logged_windows(log).items()]
    for one in offered:
        if anyway or _share(one.increments) >= LEAST_COVERAGE:
            return {"vehicle_imu.0": one}
    if offered:
        got = ", ".join(f"{one.source} {_share(one.increments):.1%}" for one in offered)
        raise FormatError(
            f"expected raw samples, or windows that cover {LEAST_COVERAGE:.0%} of the time, got "
            f"{got}; log FIFOs or at the full rate (SDLOG_PROFILE); {ANYWAY}",
            path=log.path,
        )
    return {}


def _integrated(log: Px4Log, settings: PipelineSettings) -> Iterator[tuple[int, MadeImu]]:
    """Yield every IMU whose samples are in the log."""
    settings = replace(settings, px4_version=release_of(log))
    # PX4 ignores small changes of a calibration; only px4 mode has to do so.
    least_change = LEAST_CHANGE if settings.mode is Mode.PX4 else 0.0
    parameters, correction = parameters_of(log), thermal_of(log)
    # Savage mode reproduces no autopilot, so the phase of its windows is free.
    windows = logged_windows(log) if settings.mode is Mode.PX4 else None
    pairs = list(imu_pairs(log))
    for instance, gyro, accel in pairs:
        of_gyro, of_accel = (
            calibration_history(
                sensor, raw.device_id, parameters, correction, least_change=least_change
            )
            for sensor, raw in zip(_SENSORS, (gyro, accel), strict=True)
        )
        if windows is None:
            yield instance, _of_pair(gyro, accel, settings, _merged(of_gyro, of_accel))
            continue
        logged = windows_of(
            windows, gyro, accel,
            interval_us=settings.interval_us, is_only_imu=len(pairs) == 1,
        )  # fmt: skip
        made = _of_pair(gyro, accel, settings, _merged(of_gyro, of_accel), logged)
        notes = (*made.notes, *agreement(log, logged, made.vehicle_imu))
        yield instance, replace(made, notes=notes)


def _of_pair(
    gyro: RawMessages,
    accel: RawMessages,
    settings: PipelineSettings,
    calibrations: list[Recalibration],
    logged: NDArray[np.void] | None = None,
) -> MadeImu:
    """Integrate packets or messages of a gyroscope and an accelerometer."""
    begin, *later = calibrations
    settings = replace(settings, gyro_calibration=begin.gyro, accel_calibration=begin.accel)
    rates, forces = gyro.messages, accel.messages
    if _has_packets(rates) and _has_packets(forces):
        result = vehicle_imu_from_fifo(rates, forces, settings, recalibrations=later, logged=logged)
    else:
        rates, forces = (
            messages_from_fifo(each[usable(each)]) if _has_packets(each) else each
            for each in (rates, forces)
        )
        result = vehicle_imu_from_sensors(
            rates, forces, settings, recalibrations=later, logged=logged
        )
    first_us, last_us = gyro.messages["timestamp_sample"][[0, -1]].tolist()
    changes = sum(first_us < each.t_us <= last_us for each in later)
    made = _made(" and ".join(f"{raw.topic}.{raw.instance}" for raw in (gyro, accel)), result)
    return replace(
        made,
        notes=(f"changes of the calibration in flight, each applied: {changes}",) * (changes > 0),
        lost=(*_missing(gyro), *_missing(accel), *made.lost),
    )


def _missing(raw: RawMessages) -> Iterator[str]:
    """Yield a line about gaps between messages, if any."""
    steps_us = np.diff(raw.messages["timestamp_sample"].astype(np.float64))
    usual_us = float(np.median(steps_us)) if len(steps_us) else 0.0
    longer_us = steps_us[steps_us > _GAP * usual_us]
    if len(longer_us):
        lost_s = float((longer_us - usual_us).sum()) * 1e-6
        yield f"{raw.topic}.{raw.instance}: {lost_s:.3f} s of messages, gaps: {len(longer_us)}"


def _merged(gyro: History, accel: History) -> list[Recalibration]:
    """Return the calibrations of both sensors from each time at which one of them changed."""
    times = sorted({t_us for t_us, _ in (*gyro, *accel)})
    return [
        Recalibration(t_us, *(history[bisect_right(history, t_us, key=itemgetter(0)) - 1][1]
                              for history in (gyro, accel)))
        for t_us in times
    ]  # fmt: skip


def _has_packets(messages: NDArray[np.void]) -> bool:
    return "dt" in (messages.dtype.names or ())


def _made(source: str, result: PipelineResult) -> MadeImu:
    report = result.report
    lost = []
    if report.not_finite:
        lost.append(f"{report.not_finite} messages are not finite")
    if report.repeated:
        lost.append(f"{report.repeated} messages repeat a stamp")
    if report.integration is not None and report.integration.gaps:
        lost.append(_without_window(report.integration.lost_ns, report.integration.gaps))
    return MadeImu(source, result.vehicle_imu, result.increments, result, lost=tuple(lost))

"""``strapdown info``: contents of a recording."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from strapdown._words import counted, printable
from strapdown.cli._common import Input, Topic, read_losses, working
from strapdown.cli._outcome import Outcome
from strapdown.cli._reading import open_input
from strapdown.cli._rows import recorded_series
from strapdown.series import timebase
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown.formats import Recording
    from strapdown.formats.px4.health import ImuHealth
    from strapdown.series.columns import Columns

COLUMNS = ("topic", "holds", "count", "rate", "duration", "gaps", "frames")
GAP = "a gap is a step longer than 5 median steps and 20 ms; notes report shorter losses"
_UNKNOWN = "not logged"
IMU_COLUMNS = ("IMU", "sensor", "clipped", "calibration", "vibration p50, p99, peak", "level")


def info(file: Input, *, topic: Topic = None) -> Outcome:
    """Print the contents of a recording: topics, counts, rates, gaps, frames and damage.

    For a PX4 log also firmware, hardware, parameters other than their defaults, warnings, and
    clipping, vibration and calibration of each IMU. A gap is a step longer than
    5 median steps and 20 ms. Of a damaged file the intact messages are listed, with exit code 3.

    Examples
    --------
    strapdown info demo.mcap

    strapdown info flight.ulg --json

    strapdown info logs/*.mcap --topic imu/data --from 10 --to 20
    """
    with working(f"reading {file}"):
        recording = open_input(file)
    if topic is not None:
        recording = recording.only(topic)
    topics = [_describe(name, series) for name, series in recorded_series(recording)]
    report = recording.report
    data = {
        "file": str(file),
        "format": report.format,
        "messages": report.messages,
        "topics": topics,
        "skipped": dict(report.skipped),
        "history": list(recording.history),
        "notes": list(report.notes),
        "lost_messages": report.lost_messages,
        "lost_bytes": report.lost_bytes,
    }
    view: list[RenderableType] = [f"{file}: {report.format}, {report.messages} messages"]
    if topics:
        view += [_table(topics), GAP]
    view += [line for topic in topics for line in _remarks(topic)]
    if recording.log is not None:
        from strapdown.formats.px4.health import imu_health  # noqa: PLC0415 (only PX4 logs)
        from strapdown.formats.ulog.summary import summary_of  # noqa: PLC0415 (as above)

        summary = summary_of(recording.log, epoch_offset_ns=recording.clock_offset_ns)
        data["log"] = summary.data()
        view[1:1] = summary.lines()
        if imus := imu_health(recording.log):
            data["imus"] = [_health_data(imu) for imu in imus]
            view.append(_health_table(imus))
    notes = [*(f"history: {step}" for step in recording.history), *report.notes]
    if report.skipped:
        names = ", ".join(f"{name} {count}" for name, count in report.skipped.items())
        notes.append(f"{len(report.skipped)} topics of other types, with their messages: {names}")
    brief = f"{report.format}, {counted(len(topics), 'topic')}, {_duration_s(recording):.3f} s"
    return Outcome(data, [*view, *notes], read_losses(report), brief=brief)


def _duration_s(recording: Recording) -> float:
    first, last = recording.span_ns or (0, 0)
    return (last - first) / NS_PER_S


def _describe(name: str, series: Columns) -> dict[str, Any]:
    clock = timebase.report(series.t_ns)
    frames = {
        frame: str(getattr(series, frame)) for frame in ("body", "world") if hasattr(series, frame)
    }
    return {
        "topic": name,
        "holds": type(series).__name__,
        "count": clock.samples,
        "duration_s": clock.duration_ns * 1e-9,
        "rate_hz": clock.rate_hz,
        "rate_min_hz": clock.rate_min_hz,
        "rate_max_hz": clock.rate_max_hz,
        "gaps": clock.gaps,
        "longest_gap_s": clock.longest_gap_ns * 1e-9,
        "duplicates": clock.duplicates,
        "backward": clock.backward,
        "frames": frames,
        "columns": list(series.optional_columns),
    }


def _remarks(topic: dict[str, Any]) -> Iterator[str]:
    if topic["columns"]:
        yield f"{topic['topic']} also holds {', '.join(topic['columns'])}"
    if topic["duplicates"] or topic["backward"]:
        yield (
            f"{topic['topic']}: {topic['duplicates']} stamps repeat and {topic['backward']} go back"
        )


def _table(topics: list[dict[str, Any]]) -> Table:
    table = Table(*COLUMNS, box=None, header_style="bold", pad_edge=False)
    for topic in topics:
        rates = "{rate_hz:.1f} Hz ({rate_min_hz:.1f}..{rate_max_hz:.1f})".format(**topic)
        table.add_row(
            escape(printable(topic["topic"])),
            topic["holds"],
            str(topic["count"]),
            rates,
            f"{topic['duration_s']:.3f} s",
            str(topic["gaps"]),
            " from ".join(reversed(topic["frames"].values())),
        )
    return table


def _health_data(imu: ImuHealth) -> dict[str, Any]:
    return {**asdict(imu), "vibration_level": _level(imu)}


def _level(imu: ImuHealth) -> str:
    return str(imu.accel_vibration.level) if imu.accel_vibration.windows else ""


def _health_table(imus: list[ImuHealth]) -> Table:
    """Return two rows for each IMU: its gyroscope and its accelerometer."""
    table = Table(*IMU_COLUMNS, box=None, header_style="bold", pad_edge=False)
    for imu in imus:
        for name, device, clipping, clipped, counts, vibration, unit, level in (
            ("gyro", imu.gyro, imu.gyro_clipping, imu.gyro_clipped_samples,
             imu.gyro_calibration_counts, imu.gyro_vibration, "rad/s", ""),
            ("accel", imu.accel, imu.accel_clipping, imu.accel_clipped_samples,
             imu.accel_calibration_counts, imu.accel_vibration, "m/s^2", _level(imu)),
        ):  # fmt: skip
            shares = []
            if clipping is not None:
                shares.append(f"{clipping.clipped} of {clipping.windows} windows")
            if clipped is not None:
                shares.append(f"{sum(clipped)} samples")
            shaken = f"{vibration.p50:.3g}, {vibration.p99:.3g}, {vibration.peak:.3g} {unit}"
            table.add_row(
                str(imu.instance),
                f"{name} {device}",
                ", ".join(shares) or _UNKNOWN,
                "count " + " > ".join(map(str, counts)) if counts else _UNKNOWN,
                shaken if vibration.windows else _UNKNOWN,
                level,
            )
    return table

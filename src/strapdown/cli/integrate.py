"""``strapdown integrate``: integration of samples to ``vehicle_imu``, and its drift."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.console import RenderableType
from rich.table import Table

from strapdown.cli._common import (
    Clock,
    Force,
    Topic,
    counts_from_1970,
    read_losses,
    refuse_input,
    require_clock,
    require_folder,
    working,
)
from strapdown.cli._outcome import Outcome
from strapdown.cli._reading import open_imu
from strapdown.errors import FormatError
from strapdown.formats import Recording
from strapdown.formats._coverage import LEAST_COVERAGE
from strapdown.formats._output import check_ending
from strapdown.formats.px4.integration import (
    MadeImu,
    vehicle_imu_from_recording,
    write_vehicle_imu,
)
from strapdown.formats.px4.verification import verify_log
from strapdown.formats.rates import SINCE_BOOT
from strapdown.px4.drift import self_test
from strapdown.px4.vehicle_imu import Mode, PipelineSettings
from strapdown.px4.vehicle_imu.settings import FASTEST_HZ, SLOWEST_HZ
from strapdown.samples import SampleKind

COLUMNS = ("motion", "samples", "window", "unit", "uncorrected", "px4", "this mode", "px4 / this")
ENDINGS = (".ulg", ".mcap", ".csv", ".bag", ".npz", ".parquet")
"""Endings of formats that hold increments."""
_RATE_HZ = 200.0
_SAMPLES = 4


def integrate(
    source: Annotated[
        Path | None,
        typer.Argument(help="A recording, recognised by content, or - for standard input."),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Argument(help="The file to write: .ulg, .mcap, .csv, .bag, .npz or .parquet."),
    ] = None,
    *,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode", help="Integrator: Savage's in double precision, or PX4's bit for bit."
        ),
    ] = Mode.SAVAGE,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            help="Windows per second, 50 to 1000; by default IMU_INTEG_RATE, or 200 [Hz].",
        ),
    ] = None,
    topic: Topic = None,
    kind: Annotated[
        Literal["point", "mean", "integral"] | None,
        typer.Option("--kind", help="Kind of the samples, if the source does not state it."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Accept data with gaps or a coarse resolution.")
    ] = False,
    clock: Clock = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Recompute sensor_combined of a PX4 log in PX4's arithmetic, in either mode, and "
            "compare; with a file to write too.",
        ),
    ] = False,
    test: Annotated[
        bool, typer.Option("--self-test", help="Print the drift under coning and sculling.")
    ] = False,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Samples per window of the self-test.")
    ] = None,
    force: Force = False,
) -> Outcome:
    """Integrate the samples of a recording into vehicle_imu: delta angle and delta velocity.

    Of a PX4 log raw FIFO packets are preferred to sensor messages; both are calibrated by the
    logged parameters. Samples of other files are taken as instantaneous, except for topics that
    are known to hold means. Without a file, --self-test prints the drift of an integrator under
    coning and sculling, compared with theory.

    Examples
    --------
    strapdown integrate flight.ulg increments.ulg

    strapdown integrate demo.mcap increments.mcap --rate 100 --topic imu/data

    strapdown integrate flight.ulg increments.ulg --mode px4 --verify

    strapdown integrate --self-test --mode px4 --json
    """
    if test and source is not None:
        raise typer.BadParameter(f"it takes no file, got {source}", param_hint="'--self-test'")
    if test and verify:
        raise typer.BadParameter("it needs a PX4 log, not --self-test", param_hint="'--verify'")
    if test:
        return _self_test(mode, rate, samples)
    if samples is not None:
        raise typer.BadParameter("it needs --self-test", param_hint="'--samples'")
    if rate is not None and not SLOWEST_HZ <= rate <= FASTEST_HZ:
        raise typer.BadParameter(
            f"expected {SLOWEST_HZ:g} to {FASTEST_HZ:g} windows a second, got {rate:g}",
            param_hint="'--rate'",
        )
    if source is None or (target is None and not verify):
        raise typer.BadParameter(
            "expected a recording and a file to write, --verify or --self-test"
        )
    if target is None:
        _refuse_unused({"--rate": rate, "--topic": topic, "--kind": kind, "--clock": clock,
                        "--anyway": anyway, "--force": force})  # fmt: skip
    else:
        _check_target(source, target)
    with working(f"reading {source}"):
        recording = open_imu(source, topic, least=LEAST_COVERAGE)
    parts = [_verified(source, recording)] if verify else []
    if target is not None:
        require_clock(clock, source, known=recording.knows_1970)
        settings = _settings_for(recording, mode, rate, kind)
        with working(f"integrating {source}"):
            made = vehicle_imu_from_recording(recording, settings, topic=topic, anyway=anyway)
        parts.append(_written(recording, made, settings, target, clock, force=force))
    data = {"input": str(source)}
    for part in parts:
        data |= part.data
    lost = [line for part in parts for line in part.lost]
    view = [line for part in parts for line in part.view]
    return Outcome(data, view, [*read_losses(recording.report), *lost])


def _check_target(source: Path, target: Path) -> None:
    """Raise for the input as a target, and for an ending of another kind of file."""
    refuse_input(target, [source])
    require_folder(target)
    check_ending(target, ENDINGS)


def _refuse_unused(options: dict[str, object]) -> None:
    """Raise where an option of the output is given without one."""
    for name, value in options.items():
        if value:
            raise typer.BadParameter("it needs a file to write", param_hint=f"'{name}'")


def _settings_for(
    recording: Recording, mode: Mode, rate_hz: float | None, kind: str | None
) -> PipelineSettings:
    """Return the settings; the rate of windows is by default that of the log, or the usual one."""
    if rate_hz is None:
        logged = {} if recording.log is None else recording.log.parameters
        rate_hz = float(logged.get("IMU_INTEG_RATE", _RATE_HZ))
    of_kind = SampleKind(kind) if kind else None
    return PipelineSettings(mode=mode, rate_hz=rate_hz, gyro_kind=of_kind, accel_kind=of_kind)


def _written(
    recording: Recording,
    made: dict[str, MadeImu],
    settings: PipelineSettings,
    target: Path,
    clock: Clock,
    *,
    force: bool,
) -> Outcome:
    """Write the windows of every IMU."""
    epoch = counts_from_1970(clock, target)
    shift_ns = (recording.clock_offset_ns or 0) if epoch else 0
    with working(f"writing {target}"):
        written = write_vehicle_imu(target, made, shift_ns=shift_ns, force=force)
    notes = [*written.notes, *([SINCE_BOOT] if epoch and not recording.knows_1970 else [])]
    data = {
        "output": str(target),
        "mode": str(settings.mode),
        "messages": written.messages,
        "rate_hz": settings.rate_hz,
        "imus": [_as_data(name, imu) for name, imu in made.items()],
        "notes": notes,
    }
    view = [f"{name}: {_summary(imu)}" for name, imu in made.items()]
    view += [f"{name}: {note}" for name, imu in made.items() for note in imu.notes]
    view += [f"wrote {target}: {written.messages} messages", *notes]
    lost = [f"{name}: {line}" for name, imu in made.items() for line in imu.lost]
    return Outcome(data, view, [*lost, *written.lost])


def _as_data(name: str, imu: MadeImu) -> dict[str, Any]:
    report = None if imu.result is None else asdict(imu.result.report)
    windows = len(imu.vehicle_imu)
    notes = list(imu.notes)
    return {
        "topic": name, "source": imu.source, "windows": windows, "notes": notes, "report": report
    }  # fmt: skip


def _summary(imu: MadeImu) -> str:
    increments = imu.increments
    median_ms = float(np.median(increments.delta_angle_dt_ns)) * 1e-6 if len(increments) else 0.0
    return f"{len(increments)} windows of {median_ms:.3f} ms from {imu.source}"


def _verified(source: Path, recording: Recording) -> Outcome:
    """Recompute the windows of a log, and compare them with the logged ones."""
    if recording.log is None:
        raise FormatError("expected a PX4 log to verify", path=source)
    found = verify_log(recording.log)
    verdict = f"the samples {'give' if found.accepted else 'do NOT give'} the logged windows"
    table = Table("sensor", "other lengths", "largest deviation", "the same bits", box=None)
    table.add_row(
        "gyroscope",
        str(found.gyro_period_mismatches),
        f"{found.max_gyro_residual:.2g} rad/s",
        f"{found.gyro_identical_share:.1%}",
    )
    table.add_row(
        "accelerometer",
        str(found.accel_period_mismatches),
        f"{found.max_accel_residual:.2g} m/s^2",
        f"{found.accel_identical_share:.1%}",
    )
    view: list[RenderableType] = [f"{found.windows} windows compared, in PX4's arithmetic"]
    if found.skipped_rows:
        view.append(
            f"{found.skipped_rows} rows left out: the first, and those at gaps in the log or at "
            "changes of sensor or calibration"
        )
    if found.skipped_packets:
        view.append(f"{found.skipped_packets} rows left out: packets of them are missing")
    view += [table, verdict]
    data = {"accepted": found.accepted, **asdict(found)}
    return Outcome(data, view, [] if found.accepted else [verdict])


def _self_test(mode: Mode, rate: float | None, samples: int | None) -> Outcome:
    """Measure the drift of an integrator."""
    sample_rate = None
    if rate is not None:
        samples = _SAMPLES if samples is None else samples
        sample_rate = rate * samples
    found = self_test(mode, rate_hz=sample_rate, samples_per_window=samples)
    table = Table(*COLUMNS, box=None, header_style="bold", pad_edge=False)
    for row in found.rows:
        gain = f"{row.px4 / row.drift:.3g}" if row.drift else ""
        table.add_row(
            f"{row.motion} {row.amplitude_deg:g} deg, {row.frequency_hz:g} Hz",
            f"{row.rate_hz:g} Hz",
            str(row.samples_per_window),
            row.unit,
            *(f"{value:.3g}" for value in (row.uncorrected, row.px4, row.drift)),
            gain,
        )
    lag_ms, px4_ms, packet_ms = (
        round(seconds * 1e3, 3) + 0.0  # never -0
        for seconds in (found.packet_delay_s, found.px4_packet_delay_s, found.packet_interval_s)
    )
    delays = (
        f"increments of packet means lag {lag_ms:.3f} ms behind, those of PX4 {px4_ms:.3f} ms "
        f"(packets of {packet_ms:g} ms)"
    )
    return Outcome(asdict(found), [f"mode {mode}: drift by motion", table, delays])

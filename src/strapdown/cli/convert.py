"""``strapdown convert``: conversion between formats."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

import strapdown.formats as files
from strapdown.cli._common import (
    OF_RATES,
    Clock,
    Force,
    Input,
    Topic,
    counts_from_1970,
    read_losses,
    require_clock,
    working,
)
from strapdown.cli._outcome import Outcome
from strapdown.cli._reading import input_blocks
from strapdown.cli._streams import DASH, as_file, standard_output
from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats.px4.log import scan_ulog
from strapdown.formats.rates import RateOptions, RateStream
from strapdown.formats.ulog.from_recording import UlogBlockWriter
from strapdown.units import NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from strapdown.calibration import TemperatureReadings
    from strapdown.formats import Recording
    from strapdown.series import ImuSeries, Increments

    Data = TypeVar("Data", ImuSeries, Increments)


class At(StrEnum):
    """Time within an interval that stamps its mean rate."""

    MIDDLE = "middle"
    END = "end"


class Form(StrEnum):
    """Format of standard output."""

    MCAP = "mcap"
    BAG = "bag"
    CSV = "csv"
    TUM = "tum"
    NPZ = "npz"
    PARQUET = "parquet"
    ULG = "ulg"


def convert(
    source: Input,
    target: Annotated[
        Path,
        typer.Argument(
            help="The file to write: .mcap, .bag, .csv, .tum, .npz, .parquet or .ulg; without an "
            "ending, the folder of a ROS 2 bag; - is standard output."
        ),
    ],
    *,
    topic: Topic = None,
    increments: Annotated[
        bool,
        typer.Option("--increments", help="Do not convert increments to rates."),
    ] = False,
    stamp: Annotated[
        At,
        typer.Option("--stamp", help="Time within an interval at which its mean rate is stamped."),
    ] = At.MIDDLE,
    fifo_delay: Annotated[
        bool,
        typer.Option("--fifo-delay", help="Subtract the delay of half a FIFO packet."),
    ] = False,
    attitude: Annotated[
        str | None,
        typer.Option(
            "--attitude",
            help="Topic whose attitude is joined to the IMU, or 'auto'; for .mcap, .bag and .csv.",
        ),
    ] = None,
    noise: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--noise",
            metavar="GYRO ACCEL",
            help="Noise densities, for covariances \\[rad/s/sqrt(Hz), m/s^2/sqrt(Hz)].",
        ),
    ] = None,
    form: Annotated[
        Form | None, typer.Option("--format", help="Format of standard output, for TARGET -.")
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option("--calibration", help="Apply this calibration to the IMU: .toml or .json."),
    ] = None,
    temperature: Annotated[
        Path | None,
        typer.Option(
            "--temperature",
            help="CSV with t_ns or t_s and temperature_c, for a calibration that depends on it; by "
            "default that of the recording.",
        ),
    ] = None,
    clock: Clock = None,
    force: Force = False,
) -> Outcome:
    """Convert a recording to the format given by the ending of TARGET.

    Frames are converted if a format prescribes them (ROS messages: ENU from FLU). For .mcap, .bag
    and .csv, increments become mean rates at the middle of their intervals. From ULog to ULog
    parameters, infos and vehicle_imu_status are copied as well. Samples that the target cannot
    hold are reported, with exit code 3; omitted covariances and sensor names are noted.

    Examples
    --------
    strapdown convert flight.ulg flight.mcap --attitude auto

    strapdown convert demo.mcap imu.csv --topic imu/data

    strapdown convert attitude.csv attitude.tum --force

    strapdown convert raw.mcap calibrated.mcap --calibration cal.toml

    cat flight.ulg | strapdown convert - - --format mcap > flight.mcap
    """
    with _written(target, form) as file:
        if file.exists() and file.samefile(as_file(source)):
            raise typer.BadParameter(f"{target} is the input; write to another file")
        if attitude is not None and file.suffix.lower() not in OF_RATES:
            raise typer.BadParameter(
                f"it works for .mcap, .bag, .csv and ROS 2 bags, where an IMU is rates, got {file}",
                param_hint="'--attitude'",
            )
        gyro_noise, accel_noise = noise or (None, None)
        options = RateOptions(
            rates=file.suffix.lower() in OF_RATES and not increments,
            stamp=stamp.value,
            fifo_delay=fifo_delay,
            attitude=attitude,
            gyro_noise_density=gyro_noise,
            accel_noise_density=accel_noise,
            epoch=counts_from_1970(clock, file),
        )
        applied = None
        if calibration is not None:
            applied = _Calibrator(calibration, source, topic, temperature)
        outcome = _convert(
            source,
            file,
            RateStream(options),
            applied=applied,
            topic=topic,
            clock=clock,
            force=force,
        )
    name = "standard output" if target == DASH else target
    data = {"input": str(source), "output": str(target), **outcome.data}
    if calibration is not None:
        data["notes"].append(f"calibrated by {calibration}")
    view = [f"wrote {name}: {data['messages']} messages", *data["notes"]]
    return replace(outcome, data=data, view=view)


@contextmanager
def _written(target: Path, form: Form | None) -> Iterator[Path]:
    """Yield the file to write: the target, or one that is copied to standard output."""
    if target != DASH:
        if form is not None:
            raise typer.BadParameter(
                "it works for standard output, TARGET -; the ending of a file gives its format",
                param_hint="'--format'",
            )
        yield target
        return
    if form is None:
        raise typer.BadParameter(
            f"expected one of {', '.join(Form)} for standard output, got none",
            param_hint="'--format'",
        )
    with standard_output(form) as file:
        yield file


def _convert(
    source: Path,
    target: Path,
    stream: RateStream,
    *,
    applied: _Calibrator | None,
    topic: str | None,
    clock: Clock,
    force: bool,
) -> Outcome:
    """Convert a recording to a file."""
    with (
        working(f"converting {source}"),
        input_blocks(source) as blocks,
        files.block_writer(target, force=force) as writer,
    ):
        new_log = writer if isinstance(writer, UlogBlockWriter) else None
        calibrated = blocks if applied is None else map(applied, blocks)
        for block in _converted(calibrated, stream, topic):
            require_clock(clock, source, known=not stream.report.since_boot)
            if new_log is not None and blocks.report.format == "ulog":
                shift_us = (stream.report.shifted_ns or 0) // NS_PER_US
                new_log.describe(
                    scan_ulog(as_file(source), salvage=True), shift_us=shift_us, topic=topic
                )
                new_log = None
            writer.write(block)
        if applied is not None:
            applied.check()
        if not writer.messages:
            raise FormatError(
                f"expected an IMU or an attitude that {target.suffix} can hold, got none; there is "
                "nothing to write",
                path=source,
            )
    recognised = blocks.report.notes if blocks.report.format == "table" else ()
    notes = [*recognised, *writer.notes, *stream.report.lines(topic)]
    lost = [*read_losses(blocks.report), *stream.report.lost, *writer.lost]
    return Outcome({"messages": writer.messages, "notes": notes}, [], lost)


class _Calibrator:
    """Calibration of the blocks of a recording.

    Raises
    ------
    FormatError
        The calibration depends on a temperature and there is none, or there are several sensors
        and no topic.
    """

    def __init__(
        self, path: Path, source: Path, topic: str | None, temperature: Path | None
    ) -> None:
        from strapdown import calibration as procedures  # noqa: PLC0415 (only with the option)

        self._calibration = procedures.load_calibration(path)
        self._path, self._source, self._topic = path, source, topic
        self._changes = self._is_warm = False
        self._seen: set[str] = set()
        self._temperature: TemperatureReadings | None = None
        if temperature is not None:
            self._temperature = procedures.read_temperature(temperature)
        elif self._calibration.needs_temperature:
            recording = files.open(as_file(source), on_error="salvage")
            self._temperature = procedures.recorded_temperature(recording, topic)
            if self._temperature is None:
                raise FormatError(
                    f"expected the temperature of the sensor, on which {path.name} depends, the "
                    "recording has none; pass --temperature with a CSV file of the columns t_ns or "
                    "t_s and temperature_c",
                    path=source,
                )

    def __call__(self, block: Recording) -> Recording:
        """Return a block with calibrated samples and increments."""
        self._seen |= {*block.imu, *block.increments}
        if self._topic is None and len(self._seen) > 1:
            raise FormatError(
                "expected one sensor for --calibration, got the topics "
                f"{', '.join(sorted(self._seen))}; choose one with --topic",
                path=self._source,
            )
        chosen = self._topic
        return replace(
            block,
            imu={n: self._applied(s) if chosen in {None, n} else s for n, s in block.imu.items()},
            increments={
                n: self._applied(s) if chosen in {None, n} else s
                for n, s in block.increments.items()
            },
        )

    def check(self) -> None:
        """Check, after the last block, that the calibration had an effect at known temperatures.

        Raises
        ------
        FormatError
            There was no temperature during the recording, or no sample changed.
        """
        if self._seen and not self._is_warm:
            raise FormatError(
                "expected temperatures during the recording, got none; pass stamps on the clock of "
                "the recording",
                path=self._source,
            )
        if self._seen and not self._changes:
            raise FormatError(
                f"expected a sensor that {self._path.name} calibrates, got none: no sample changes",
                path=self._source,
            )

    def _applied(self, data: Data) -> Data:
        """Return calibrated data."""
        calibrated = self._calibration.apply(data, temperature=self._temperature)
        self._changes = self._changes or calibrated != data
        warm = self._temperature
        self._is_warm = (
            self._is_warm
            or warm is None
            or bool(
                len(data)
                and data.t_ns.min() < warm.t_ns[-1] + NS_PER_S
                and data.t_ns.max() > warm.t_ns[0] - NS_PER_S
            )
        )
        return calibrated


def _converted(
    blocks: Iterable[Recording], stream: RateStream, topic: str | None
) -> Iterator[Recording]:
    """Yield the blocks to write; raise if no block has the topic."""
    missing: UnknownNameError | None = None
    found = False
    for block in _through(blocks, stream):
        try:
            chosen = block if topic is None else block.only(topic)
        except UnknownNameError as error:
            missing = missing or error
            continue
        if not chosen.is_empty:
            found = True
            yield chosen
    if missing and not found:
        raise missing


def _through(blocks: Iterable[Recording], stream: RateStream) -> Iterator[Recording]:
    """Yield the blocks as rates, then the remaining rows that waited for an attitude."""
    yield from map(stream.convert, blocks)
    yield stream.finish()

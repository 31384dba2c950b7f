"""``strapdown convert``: conversion between formats."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

import strapdown.formats as files
from strapdown.cli._calibrator import Calibrator
from strapdown.cli._common import (
    OF_RATES,
    Clock,
    Force,
    Topic,
    counts_from_1970,
    read_losses,
    refuse_input,
    require_clock,
    require_folder,
)
from strapdown.cli._in_blocks import from_blocks
from strapdown.cli._outcome import Outcome, say
from strapdown.cli._reading_options import merging, options
from strapdown.cli._reshaping import Reshaping, joined, parse_frames
from strapdown.cli._streams import DASH, as_file, standard_output
from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats._one_table import CsvWriter, TumWriter
from strapdown.formats._series_headers import topics
from strapdown.formats.bag.ros1_writer import BagBlocks
from strapdown.formats.block_reader import NeedsWhole, WholeFile
from strapdown.formats.long_files import is_long
from strapdown.formats.mcap.writer import McapBlocks
from strapdown.formats.px4.log import scan_ulog
from strapdown.formats.rates import RateOptions, RateStream
from strapdown.formats.ulog.from_recording import UlogBlockWriter
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from strapdown.formats import BlockReader, BlockWriter, Recording


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
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE", help="Recordings, recognised by content, or - for standard input."
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            help="The file to write: .mcap, .bag, .csv, .tum, .npz, .parquet or .ulg; without an "
            "ending, the folder of a ROS 2 bag; - is standard output. Of several recordings: a "
            "folder with --format, or a name such as results/{}.mcap, where {} is that of each."
        ),
    ],
    *,
    topic: Topic = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="Join several recordings in the order of time into TARGET."),
    ] = False,
    decimate: Annotated[
        int | None,
        typer.Option(
            "--decimate",
            min=2,
            max=1000,
            help="Keep every n-th sample, after a zero-phase low-pass filter.",
        ),
    ] = None,
    resample: Annotated[
        float | None,
        typer.Option(
            "--resample",
            metavar="HZ",
            help="Interpolate to this rate: vectors linearly, attitude by slerp; gaps stay.",
        ),
    ] = None,
    frame: Annotated[
        list[str] | None,
        typer.Option(
            "--frame", help="Axes of the output: ENU, NED, FLU, FRD, or both as in NED/FRD."
        ),
    ] = None,
    frame_id: Annotated[
        str | None, typer.Option("--frame-id", help="Frame id (name) of the sensor in the output.")
    ] = None,
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
        Form | None,
        typer.Option("--format", help="Format of TARGET - (standard output) or FOLDER."),
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

    --decimate filters and --resample interpolates every topic, in this order, without bridging
    gaps; increments become rates. Calibration, filter and rates are stated in .mcap, .npz,
    .parquet and .csv files. With --merge a topic in several files continues: overlapping parts
    are refused unless their samples are equal.

    Examples
    --------
    strapdown convert flight.ulg flight.mcap --attitude auto

    strapdown convert demo.mcap imu.csv --topic imu/data

    strapdown convert attitude.csv attitude.tum --force

    strapdown convert raw.mcap calibrated.mcap --calibration cal.toml

    strapdown convert logs/*.ulg results/ --format mcap --workers 2

    strapdown convert part1.mcap part2.mcap whole.mcap --merge

    strapdown convert fast.mcap slow.csv --decimate 4 --frame NED/FRD --from 10 --to 70

    cat flight.ulg | strapdown convert - - --format mcap > flight.mcap
    """
    if merge and len(sources) < 2:
        raise typer.BadParameter(
            f"expected two recordings or more and then TARGET, got {sources[0]} and {target}",
            param_hint="'--merge'",
        )
    shape = Reshaping(decimate, resample, parse_frames(frame), frame_id)
    source = sources[0]
    with _written(target, form) as file, merging(sources[1:]):
        refuse_input(file, sources)
        require_folder(file)
        shape.check_target(file)
        if increments and shape.changes_rate:
            raise typer.BadParameter(
                "increments cannot be filtered or interpolated; omit it, so that they become rates",
                param_hint="'--increments'",
            )
        if attitude is not None and file.suffix.lower() not in OF_RATES:
            raise typer.BadParameter(
                f"it works for .mcap, .bag, .csv and ROS 2 bags, where an IMU is rates, got {file}",
                param_hint="'--attitude'",
            )
        gyro_noise, accel_noise = noise or (None, None)
        conversion = RateOptions(
            rates=(file.suffix.lower() in OF_RATES or shape.changes_rate) and not increments,
            stamp=stamp.value,
            fifo_delay=fifo_delay,
            attitude=attitude,
            gyro_noise_density=gyro_noise,
            accel_noise_density=accel_noise,
            epoch=counts_from_1970(clock, file),
        )
        if shape.needs_whole and is_long(as_file(source)):
            say("reading the whole recording into memory: the options need all of its samples")

        def convert_blocks(blocks: BlockReader) -> Outcome:
            applied = None
            if calibration is not None:
                applied = Calibrator(calibration, sources, topic, temperature)
            return _convert(
                source,
                blocks,
                file,
                RateStream(conversion),
                applied=applied,
                shape=deepcopy(shape),
                topic=topic,
                clock=clock,
                force=force,
            )

        only = topic if attitude is None and calibration is None else None
        outcome = from_blocks(source, convert_blocks, topic=only)
    name = "standard output" if target == DASH else target
    inputs = {"inputs": [str(each) for each in sources]} if merge else {}
    data = {"input": str(source), **inputs, "output": str(target), **outcome.data}
    if calibration is not None:
        data["notes"].append(f"calibrated by {calibration}")
    wrote = f"wrote {name}: {data['messages']} messages"
    return replace(outcome, data=data, view=[wrote, *outcome.view, *data["notes"]], brief=wrote)


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
    blocks: BlockReader,
    target: Path,
    stream: RateStream,
    *,
    applied: Calibrator | None,
    shape: Reshaping,
    topic: str | None,
    clock: Clock,
    force: bool,
) -> Outcome:
    """Convert the blocks of a recording to a file."""
    rows: Counter[str] = Counter()
    with files.block_writer(target, force=force) as writer:
        new_log = writer if isinstance(writer, UlogBlockWriter) and not options.merged else None
        calibrated = blocks if applied is None else map(applied, blocks)
        rated = _converted(calibrated, stream, topic)
        for block in map(shape, joined(rated) if shape.needs_whole else rated):
            require_clock(clock, source, known=not stream.report.since_boot)
            if new_log is not None and blocks.report.format == "ulog":
                shift_us = (stream.report.shifted_ns or 0) // NS_PER_US
                new_log.describe(
                    scan_ulog(as_file(source), salvage=True), shift_us=shift_us, topic=topic
                )
                new_log = None
            _check_block(source, blocks, writer, block)
            writer.write(block)
            rows.update({name: len(series) for _, name, series in topics(block)})
        if applied is not None:
            applied.check()
        if not writer.messages:
            raise FormatError(
                f"expected an IMU or an attitude that {target.suffix} can hold, got none; there is "
                "nothing to write",
                path=source,
            )
        taken = _taken(writer, rows)
    recognised = blocks.report.notes if blocks.report.format == "table" or options.merged else ()
    applied_notes = () if applied is None else applied.notes
    notes = [*recognised, *applied_notes, *shape.notes, *writer.notes, *stream.report.lines(topic)]
    lost = [*read_losses(blocks.report), *stream.report.lost, *shape.lost, *writer.lost]
    data = {"messages": writer.messages, "topics": taken, "notes": notes}
    listed = ", ".join(f"{name} ({count} rows)" for name, count in taken.items())
    return Outcome(data, [f"topics: {listed}"], lost)


def _check_block(source: Path, blocks: BlockReader, writer: BlockWriter, block: Recording) -> None:
    """Raise NeedsWhole where the whole would be written otherwise than its blocks.

    A table is to hold the longest of several topics, or messages the magnetic field of rows whose
    stamps repeat, which is then written in every row.
    """
    if isinstance(blocks, WholeFile):
        return
    for topic, series in block.imu.items():
        has_field = series.magnetic_field is not None and isinstance(writer, McapBlocks | BagBlocks)
        if has_field and len(np.unique(series.t_ns)) < len(series):
            raise NeedsWhole(f"stamps of {topic} repeat, which has a magnetic field")
    if not isinstance(writer, CsvWriter | TumWriter):
        return
    several = len(list(topics(block))) > 1 and blocks.report.format != "ulog"
    if several and is_long(as_file(source)):
        raise NeedsWhole("a table holds the longest of its topics; --topic chooses one")


def _taken(writer: BlockWriter, rows: Mapping[str, int]) -> dict[str, int]:
    """Return the rows by topic that a file holds; a table holds one topic."""
    if isinstance(writer, CsvWriter | TumWriter) and writer.topic is not None:
        return {writer.topic: rows[writer.topic]}
    return dict(rows)


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

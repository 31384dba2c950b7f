"""Arguments and helpers that several verbs share."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
import typer

import strapdown.formats as files
from strapdown._words import printable
from strapdown.cli._outcome import is_watched
from strapdown.cli._streams import as_file
from strapdown.errors import FormatError
from strapdown.formats._coverage import LEAST_FUSED, refuse_uncovered, share_of
from strapdown.formats._output import check_ending, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from strapdown.formats import ReadReport, Recording
    from strapdown.series import ImuSeries, Trajectory

__all__ = [
    "OF_RATES",
    "Anyway",
    "Clock",
    "Force",
    "Input",
    "Output",
    "Topic",
    "check_targets",
    "choice_of",
    "counts_from_1970",
    "covered",
    "doubts",
    "frames_of",
    "measured",
    "notes_on",
    "progress_bar",
    "read_losses",
    "refuse_input",
    "require_clock",
    "require_folder",
    "taken",
    "working",
]

OF_RATES = (".mcap", ".bag", ".csv", "")
"""Endings of formats that hold rates with stamps since 1970; "" is a ROS 2 bag."""


class Since(StrEnum):
    """Origin of time stamps."""

    BOOT = "boot"
    EPOCH = "epoch"


Input: TypeAlias = Annotated[
    Path, typer.Argument(help="A recording, recognised by content, or - for standard input.")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace existing output.")]
Topic: TypeAlias = Annotated[
    str | None, typer.Option("--topic", help="The topic to use if the input holds several.")
]
Anyway: TypeAlias = Annotated[
    bool, typer.Option("--anyway", help="Accept a topic whose data cover little of the time.")
]
Clock: TypeAlias = Annotated[
    Since | None,
    typer.Option(
        "--clock",
        help="Origin of time stamps: start of the autopilot or 1970; by default 1970 in .mcap, "
        ".bag and .csv.",
    ),
]
Output: TypeAlias = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]


def counts_from_1970(clock: Since | None, target: Path) -> bool:
    """Return whether the stamps of a file to write are to count from 1970."""
    return target.suffix.lower() in OF_RATES if clock is None else clock is Since.EPOCH


def require_clock(clock: Since | None, source: Path, *, known: bool) -> None:
    """Raise if stamps are to count from 1970 and the source has no offset to that origin."""
    if clock is Since.EPOCH and not known:
        raise FormatError(
            "expected a log that states when its clock began, for --clock epoch; by default stamps "
            "count from the start of the autopilot",
            path=source,
        )


def refuse_input(target: Path, sources: Iterable[Path]) -> None:
    """Raise where a file to write is one that is read, which not even ``--force`` replaces."""
    files_read = [as_file(each) for each in sources] if target.exists() else []
    if any(each.exists() and target.samefile(each) for each in files_read):
        raise typer.BadParameter(f"{target} is the input; write to another file")


def require_folder(target: Path) -> None:
    """Raise where the folder of a file to write does not exist."""
    if not target.parent.is_dir():
        raise FormatError("expected a folder that exists; create it first", path=target.parent)


def check_targets(
    output: Path | None,
    picture: Path | None,
    *,
    force: bool,
    recording: bool = True,
    sources: Sequence[Path] = (),
) -> None:
    """Check output paths before a long run: endings, existing files, inputs, folders."""
    from strapdown.plots._axes import PICTURES  # noqa: PLC0415 (only verbs that draw need it)

    if output is not None and recording:
        files.check_output(output, force=force)
    if picture is not None:
        check_ending(picture, PICTURES)
    for path in (output, picture):
        if path is not None:
            refuse(path, force=force)
            refuse_input(path, sources)
            require_folder(path)


def covered(recording: Recording, topic: str | None, *, anyway: bool) -> str:
    """Return the IMU topic to estimate from; raise if its data cover too little of the time."""
    name = recording.imu_topic(topic)
    if not anyway:
        refuse_uncovered(recording, name, share_of(recording, name), least=LEAST_FUSED)
    return name


def notes_on(recording: Recording, topic: str | None) -> list[str]:
    """Return the notes of the reader, and the IMU topic that is taken, with the others."""
    chosen = recording.imu_topic(topic)
    known = {*recording.imu, *recording.increments, *recording.unread}
    choice = choice_of(chosen, known - {chosen}, is_chosen=topic is not None)
    return [*recording.report.notes, choice]


def choice_of(topic: str, others: Collection[str], *, is_chosen: bool) -> str:
    """Return a line with the topic that is taken, and with the others unless it was chosen."""
    if is_chosen or not others:
        return f"topic {topic}"
    return f"topic {topic}; --topic chooses another: {', '.join(sorted(others))}"


def taken(recording: Recording, topic: str | None) -> dict[str, Any]:
    """Return the IMU topic that is taken, and the number of its samples, for JSON."""
    name = recording.imu_topic(topic)
    held = recording.imu if name in recording.imu else recording.increments
    return {"topic": name, "samples": len(held[name])}


def measured(recording: Recording, topic: str | None, *names: str, to: str) -> ImuSeries:
    """Return the IMU of a recording; raise if a required sensor has no values."""
    series = recording.imu_series(topic)
    if not len(series):
        raise FormatError(f"expected samples to {to}, the IMU has none", path=recording.path)
    for name in names:
        if not np.isfinite(getattr(series, name)).any():
            what = name.replace("_", " ")
            raise FormatError(f"expected {what} to {to}, the IMU has none", path=recording.path)
    return series


def doubts(series: ImuSeries) -> list[str]:
    """Return a line for each contradiction between the values of a series and physics."""
    from strapdown.checking import doubts as found  # noqa: PLC0415 (only verbs that estimate)

    return [f"doubtful: {finding} (strapdown check)" for finding in found(series).findings]


def read_losses(report: ReadReport) -> list[str]:
    """Return one line for each kind of loss in a reader's report."""
    return report.losses()


def frames_of(result: ImuSeries | Trajectory) -> str:
    """Return the line that states the convention of an attitude."""
    return f"attitude: q_world_from_body, xyzw, {result.world} from {result.body}"


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], object] | None]:
    """Yield a function that shows the fraction done on a terminal; None if there is none."""
    if not is_watched():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.markup import escape  # noqa: PLC0415 (as above)
    from rich.progress import Progress  # noqa: PLC0415 (as above)

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(escape(printable(what)), total=1.0)
        yield lambda done: progress.update(task, completed=done)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner with a text on a terminal."""
    if not is_watched():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.text import Text  # noqa: PLC0415 (as above)

    with Console(stderr=True).status(Text(printable(what))):
        yield

"""Arguments and helpers that several verbs share."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from strapdown.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown.formats import ReadReport
    from strapdown.series import ImuSeries, Trajectory

__all__ = [
    "OF_RATES",
    "Clock",
    "Force",
    "Input",
    "Output",
    "Topic",
    "counts_from_1970",
    "frames_of",
    "read_losses",
    "require_clock",
    "working",
]

OF_RATES = (".mcap", ".bag", ".csv")
"""Endings of formats whose users expect rates, and the time of the world."""


class Since(StrEnum):
    """From when stamps count."""

    BOOT = "boot"
    EPOCH = "epoch"


Input: TypeAlias = Annotated[Path, typer.Argument(help="A recording, recognised by content.")]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace existing output.")]
Topic: TypeAlias = Annotated[
    str | None, typer.Option("--topic", help="The topic to use where the input holds several.")
]
Clock: TypeAlias = Annotated[
    Since | None,
    typer.Option(
        "--clock",
        help="Stamps count from the start of the autopilot or from 1970; by default the latter in "
        ".mcap, .bag and .csv.",
    ),
]
Output: TypeAlias = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]


def counts_from_1970(clock: Since | None, target: Path) -> bool:
    """Return whether the stamps of a file to write are to count from 1970."""
    return target.suffix.lower() in OF_RATES if clock is None else clock is Since.EPOCH


def require_clock(clock: Since | None, source: Path, *, known: bool) -> None:
    """Raise where stamps are told to count from 1970, and the source does not know how."""
    if clock is Since.EPOCH and not known:
        raise FormatError(
            "expected a log that says when its clock began, for --clock epoch; by default stamps "
            "count from the start of the autopilot",
            path=source,
        )


def read_losses(report: ReadReport) -> list[str]:
    """Return one line for each kind of loss that a reader counted."""
    lost = []
    if report.lost_messages:
        lost.append(f"{report.lost_messages} messages of the input are damaged")
    if report.lost_bytes:
        lost.append(f"{report.lost_bytes} bytes of the input cannot be read")
    return [*lost, *report.damage]


def frames_of(result: ImuSeries | Trajectory) -> str:
    """Return the line that says how an attitude is meant."""
    return f"attitude: q_world_from_body, xyzw, {result.world} from {result.body}"


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], object] | None]:
    """Hand out a function that takes the fraction done; None where no terminal watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.progress import Progress  # noqa: PLC0415 (as above)

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda done: progress.update(task, completed=done)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is going on, and what."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)

    with Console(stderr=True).status(what):
        yield

"""``strapdown run``: execution of a pipeline."""

from __future__ import annotations

import gc
import math
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from strapdown._words import printable
from strapdown.cli._common import Force, working
from strapdown.cli._live import exit_code, positive
from strapdown.cli._outcome import EXIT_FAILED, Outcome, is_watched, say
from strapdown.webots.run.runner import ended_by_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType

    from strapdown.bridges.live.pipeline import Pipeline, PipelineReport

WATCH_S = 1.0
"""Interval of updates of the table on a terminal."""


def run(
    pipeline: Annotated[
        Path,
        typer.Argument(metavar="PIPELINE.toml", help="A table [KIND.NAME] for each part."),
    ],
    *,
    duration: Annotated[
        float | None,
        typer.Option(help="Seconds; by default until all sources have ended, or Ctrl-C."),
    ] = None,
    force: Force = False,
) -> Outcome:
    """Run a pipeline: sources, stages that convert or estimate, topics and recorders.

    All parts start together and end in the order of the data, so that sent messages are still
    processed. If one fails the others continue. On a terminal a table shows rate, latency and
    losses of each part every second; otherwise a line is printed for every event.

    Exit codes: 1 a part failed; 3 messages were lost; 130 Ctrl-C; otherwise 0, also on SIGTERM.

    The fields of --json: pipeline, running_s, parts (name, kind, state, received, sent, lost,
    rate_hz, running_s, latency_s, longest_s, losses, notes, error).

    Examples
    --------
    strapdown run attitude.toml

    strapdown run attitude.toml --duration 60 --force

    strapdown run attitude.toml --duration 10 --json
    """
    from strapdown.bridges.live.pipeline import Pipeline  # noqa: PLC0415 (loads what any part may need)

    limit_s = positive(duration, "'--duration'")
    with working(f"preparing {pipeline}"):
        running = Pipeline.from_file(pipeline, force=force)
    with running, ended_by_signals(running.stop) as signals, _watching(running) as (say, look):
        running.start(say)
        gc.freeze()  # objects so far are permanent: scanning them would halt all parts for 60 ms
        look()
        end_s = time.monotonic() + limit_s
        while not running.wait(min(WATCH_S, max(end_s - time.monotonic(), 0.0))):
            if time.monotonic() >= end_s:
                running.stop()
                end_s = math.inf
            look()
    report = running.report()
    view: list[RenderableType] = [note for part in report.parts for note in part.notes]
    view += [_table(report), *(f"{part.name}: {part.error}" for part in report.parts if part.error)]
    return Outcome(
        {"pipeline": str(pipeline), **report.to_dict()},
        view,
        report.losses,
        code=EXIT_FAILED if report.failed else exit_code(signals),
    )


@contextmanager
def _watching(
    pipeline: Pipeline,
) -> Iterator[tuple[Callable[[str], object], Callable[[], object]]]:
    """Yield a function that shows an event, and one that shows the state of the parts."""
    if not is_watched():
        yield say, lambda: None
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
    from rich.live import Live  # noqa: PLC0415 (as above)

    console = Console(stderr=True, highlight=False)
    rates = _Rates()
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def look() -> None:
            report = pipeline.report()
            live.update(_table(report, rates.recent(report)), refresh=True)

        yield (lambda line: console.print(printable(line), markup=False)), look


class _Rates:
    """Messages per second since the last update, by part."""

    def __init__(self) -> None:
        self._at_s = time.monotonic()
        self._messages: dict[str, int] = {}

    def recent(self, report: PipelineReport) -> dict[str, float]:
        """Return the rates [Hz]."""
        now_s, before = time.monotonic(), self._messages
        since_s = max(now_s - self._at_s, 1e-3)
        self._at_s = now_s
        self._messages = {part.name: part.messages for part in report.parts}
        return {name: (n - before.get(name, 0)) / since_s for name, n in self._messages.items()}


def _table(report: PipelineReport, rates: dict[str, float] | None = None) -> Table:
    """Return a table with a row for each part; rates are those of the whole run unless given."""
    table = Table(box=None, pad_edge=False)
    table.add_column("part")
    table.add_column("state")
    for name in ("messages", "rate [Hz]", "latency [ms]", "longest [ms]", "lost"):
        table.add_column(Text(name), justify="right")
    for part in report.parts:
        rate_hz = part.rate_hz if rates is None else rates[part.name]
        table.add_row(
            f"{part.kind}.{part.name}",
            str(part.state),
            str(part.messages),
            f"{rate_hz:.1f}",
            _milliseconds(part.latency_s),
            _milliseconds(part.longest_s),
            str(part.lost),
        )
    return table


def _milliseconds(seconds: float) -> str:
    return "" if math.isnan(seconds) else f"{seconds * 1e3:.2f}"

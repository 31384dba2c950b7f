"""``strapdown cat``: messages of a file or a live topic as text."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strapdown._words import counted
from strapdown.cli._common import read_losses
from strapdown.cli._live import exit_code, losses, stopped_by_signals
from strapdown.cli._meaning import meaning
from strapdown.cli._outcome import Outcome, say, until_unread
from strapdown.cli._reading import input_blocks, refuse_reading
from strapdown.cli._rows import (
    Layout,
    RowWriter,
    message_fields,
    recorded_rows,
)
from strapdown.errors import UnknownNameError
from strapdown.formats.summary import series_of
from strapdown.transport.address import await_type, is_address, open_topic, parse_address

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from strapdown.formats import Recording
    from strapdown.transport.address import Address
    from strapdown.transport.topic import Topic

LOOK_S = 0.2
"""Longest wait between checks for signals [s]."""
GLANCE_S = 1.0
"""Time to listen without ``--follow`` and ``--count`` [s]."""


def cat(
    source: Annotated[
        str,
        typer.Argument(help="A recording, - for standard input, or a live topic such as ipc:imu."),
    ],
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow a live topic until Ctrl-C.")
    ] = False,
    layout: Annotated[
        Layout, typer.Option("--format", help="csv holds one topic; table omits covariances.")
    ] = Layout.TABLE,
    count: Annotated[
        int | None,
        typer.Option(min=1, help="End after this many messages; wait for live ones."),
    ] = None,
    topic: Annotated[
        str | None, typer.Option("--topic", help="Topic of a recording to print.")
    ] = None,
) -> Outcome:
    """Print messages of a recording or a live topic.

    Of a recording: samples, increments and poses of all topics, ordered by stamp, in the frames
    of the file. Of a live topic: the messages of one second, or with -f all messages until
    Ctrl-C, after waiting for a publisher. Messages are printed on standard output, everything
    else on standard error, with one line for each topic that gives type, units and frames.

    Exit codes: 3 messages were lost, or the file is damaged; 130 Ctrl-C.

    The fields of --json, printed after the messages: source, messages.

    Examples
    --------
    strapdown cat demo.mcap --count 5

    strapdown cat demo.mcap --topic imu/data --format csv > imu.csv

    strapdown cat ros2:/imu/data -f --format ndjson
    """
    out = RowWriter(sys.stdout, layout)
    lost: list[str] = []
    code = 0
    with until_unread():
        if is_address(source):
            refuse_reading()
            if topic is not None:
                raise typer.BadParameter(
                    "it works for recordings; a live source names its topic itself",
                    param_hint="'--topic'",
                )
            lost, code = _live(parse_address(source), out, count, follow=follow)
        else:
            if follow:
                raise typer.BadParameter("it works for live topics", param_hint="'--follow'")
            lost = _file(Path(source), out, count, topic)
    data = {"source": source, "messages": out.rows}
    read = counted(out.rows, "message")
    if is_address(source) and not (out.rows or follow or count or code):
        read += f" in {GLANCE_S:g} s; --follow waits for more"
    return Outcome(data, [read], lost, code, aside=True)


def _file(path: Path, out: RowWriter, count: int | None, topic: str | None) -> list[str]:
    """Print a recording and return its losses."""
    missing: UnknownNameError | None = None
    shown: set[str] = set()
    with input_blocks(path, topic=topic) as blocks:
        for block in blocks:
            try:
                chosen: Recording = block if topic is None else block.only(topic)
            except UnknownNameError as error:
                missing = error
                continue
            for name, series in series_of(chosen):
                line = f"{name}: {meaning(series)}"
                if len(series) and line not in shown:
                    shown.add(line)
                    say(line)
            for row in recorded_rows(chosen):
                out.write(*row)
                if out.rows == count:
                    out.flush()
                    return []
    if missing and not out.rows:
        raise missing
    out.flush()
    return read_losses(blocks.report)


def _live(
    address: Address, out: RowWriter, count: int | None, *, follow: bool
) -> tuple[list[str], int]:
    """Print received messages; return losses and exit code."""
    with ExitStack() as stack:
        stop, signals = stack.enter_context(stopped_by_signals())
        kind, waited = address.msg_type, False
        if follow or count is not None:
            kind, waited = await_type(
                address, stop=stop, waiting=lambda: say(f"waiting for {address}")
            )
            if kind is None:
                return [], exit_code(signals)
        history = 0 if follow and not waited else None
        handle = stack.enter_context(open_topic(address, kind, history=history))
        limit_s = None if follow or count is not None else GLANCE_S
        for message in _incoming(handle, stop, limit_s):
            if not out.rows:
                say(f"{address.name}: {meaning(handle.msg_type)}")
            out.write(address.name, message_fields(message))
            if not handle.pending_count():
                out.flush()
            if out.rows == count:
                break
        out.flush()
        if out.rows == count:  # messages beyond the count are no losses
            return [], exit_code(signals)
        stats = handle.stats()
        lost = stats.lost_overwritten + stats.lost_transport
        return losses(lost, stats.malformed), exit_code(signals)


def _incoming(handle: Topic[Any], stop: Event, limit_s: float | None) -> Iterator[Any]:
    """Yield messages until stopped, or until the time limit."""
    until = None if limit_s is None else time.monotonic() + limit_s
    while not stop.is_set():
        left = LOOK_S if until is None else min(LOOK_S, until - time.monotonic())
        if left <= 0.0:
            return
        message = handle.recv(timeout=left)
        if message is not None:
            yield message

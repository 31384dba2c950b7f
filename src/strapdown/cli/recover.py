"""``strapdown recover``: intact messages of a damaged recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strapdown._words import counted
from strapdown.cli._common import Force, Output, working
from strapdown.cli._outcome import Outcome
from strapdown.cli._streams import as_file, naming
from strapdown.formats.recovery import recover as recovered


def recover(
    source: Annotated[
        Path,
        typer.Argument(
            help="A damaged recording: .mcap, .bag, .bag.active, .db3, .ulg, ..., or - for "
            "standard input."
        ),
    ],
    *,
    output: Output,
    force: Force = False,
) -> Outcome:
    """Write the intact messages of a damaged recording to a new file, and report losses.

    From MCAP to MCAP intact chunks are copied unchanged, regardless of their types, and the
    losses are noted in the file. Of other formats the messages that strapdown reads are written.
    A file of a killed 'strapdown record' usually lacks only its index, which is rebuilt.

    Exit codes: 3 something was lost; 0 nothing was lost, even if the index was missing.

    The fields of --json: input, output, format, messages, lost_messages, lost_bytes, mended
    (what was broken and cost nothing).

    Examples
    --------
    strapdown recover run.mcap -o whole.mcap

    strapdown recover run.bag.active -o run.bag

    strapdown recover flight.ulg -o flight.mcap --force
    """
    with working(f"recovering {source}"), naming(source):
        report = recovered(as_file(source), output, force=force)
    data = {
        "input": str(source),
        "output": str(output),
        "format": report.format,
        "messages": report.messages,
        "lost_messages": report.lost_messages,
        "lost_bytes": report.lost_bytes,
        "mended": list(report.mended),
    }
    view = [f"wrote {output}: {counted(report.messages, 'message')}"]
    view += [f"mended: {line}" for line in report.mended]
    return Outcome(data, view, report.lost)

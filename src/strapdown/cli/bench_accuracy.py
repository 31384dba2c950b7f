"""``strapdown bench accuracy``: errors of every filter on public data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from strapdown._words import counted
from strapdown.cli._common import Force, check_targets
from strapdown.cli._fleet_progress import watching
from strapdown.cli._outcome import EXIT_FAILED, Outcome
from strapdown.formats._output import check_ending


def accuracy(
    folders: Annotated[
        list[Path], typer.Argument(help="Downloaded data sets: BROAD, TUM VI, RepoIMU.")
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Errors of every recording: .parquet, .csv, .json or .html."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; by default one a processor.")
    ] = None,
    force: Force = False,
) -> Outcome:
    """Measure the accuracy of every filter and smoother on public data sets.

    A folder is recognised by its files, in the layout of the download. All run with their default
    parameters on the same samples, with the magnetic field (9D) and without (6D), and so do the
    filters of the package vqf if it is installed. The tables contain means over the recordings.

    Exit code 1: a recording could not be read, or a filter failed on one.

    Examples
    --------
    strapdown bench accuracy broad

    strapdown bench accuracy broad tumvi RepoIMU --workers 2 --output accuracy.html

    strapdown bench accuracy broad --output accuracy.csv --json
    """
    from strapdown.fleet import measure_accuracy  # noqa: PLC0415 (loads the estimators)
    from strapdown.fleet.accuracy import ENDINGS  # noqa: PLC0415 (as above)
    from strapdown.fleet.estimators import peer_version  # noqa: PLC0415 (as above)

    if output is not None:
        check_ending(output, ENDINGS)
        check_targets(output, None, force=force, recording=False)
    executor = "pool" if workers is None else f"pool:{workers}"
    with watching("accuracy") as progress:
        found = measure_accuracy(folders, executor=executor, progress=progress)
    view = [_table(*each) for each in found.tables()]
    lines = [f"failed: {path}: {error}" for path, error in found.failed.items()]
    errors = [row for row in found.summary() if row["errors"]]
    lines += [
        f"{row['library']} {row['filter']} failed on {counted(row['errors'], 'recording')} of "
        f"{row['data_set']}, {row['axes']}D"
        for row in errors
    ]
    if peer_version() is None:
        lines.append("without the package vqf, which is not installed: pip install vqf")
    if output is not None:
        found.write(output, force=force)
        lines.append(f"wrote {output}: {counted(len(found.rows), 'row')}")
    data = {
        "folders": [str(folder) for folder in folders],
        "output": None if output is None else str(output),
        "summary": found.summary(),
        "failed": found.failed,
    }
    return Outcome(data, [*view, *lines], code=EXIT_FAILED if found.failed or errors else 0)


def _table(title: str, heading: list[str], lines: list[list[str]]) -> Table:
    table = Table(
        title=Text(title), title_justify="left", box=None, header_style="bold", pad_edge=False
    )
    for number, name in enumerate(heading):
        table.add_column(name, justify="right" if number else "left")
    for line in lines:
        table.add_row(*line)
    return table

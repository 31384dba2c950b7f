"""``strapdown report``: the results of a study as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strapdown.cli._common import Force, working
from strapdown.cli._outcome import Outcome


def report(
    results: Annotated[Path, typer.Argument(help="Folder of the results of a study.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page: .html.")],
    force: Force = False,
) -> Outcome:
    """Write the results of a study as one HTML page with tables and pictures.

    The page needs no other file. It has the mean errors over all seeds by motion, sensor, rate,
    fault and filter, their spread, the consistency of the covariances, and the failed units.

    Examples
    --------
    strapdown report results --output report.html

    strapdown report results --output report.html --force

    strapdown report results --output report.html --json
    """
    from strapdown.fleet import write_report  # noqa: PLC0415 (loads what draws)

    with working(f"drawing {results}"):
        best = write_report(results, output, force=force)
    view = ["least inclination error:", *(f"  {line}" for line in best), f"wrote {output}"]
    return Outcome({"results": str(results), "output": str(output), "best": best}, view)

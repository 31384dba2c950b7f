"""``strapdown study``: many simulated runs, each estimated and evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strapdown._words import counted
from strapdown.cli._fleet_progress import watching
from strapdown.cli._outcome import EXIT_FAILED, Outcome

_FAILED_SHOWN = 10


def study(
    study_file: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY.toml", help="A file, or a study by name: filters, gyro, rate."
        ),
    ],
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", file_okay=False, help="Folder of the results.")
    ],
    executor: Annotated[
        str,
        typer.Option(
            metavar="pool[:N]|dask[://HOST:PORT]|tls://HOST:PORT",
            help="Processes of this machine (by default one a processor), or a Dask cluster, "
            "with TLS.",
        ),
    ] = "pool",
) -> Outcome:
    """Simulate motions, sensors, seeds and faults, run filters, and keep their errors.

    The table [grid] has lists of motions, sensors, rates, faults and filters, and a list or
    number of seeds; tables [[run]] list single runs instead. Results: results.parquet with a row
    for each run, summary.parquet with statistics over the seeds, manifest.json with all units of
    work. Runs that the folder has already are not repeated, so a study that was interrupted
    continues.

    Exit code 1: runs failed; the results contain their errors.

    Examples
    --------
    strapdown study filters --output results

    strapdown study study.toml --output results --executor pool:2

    strapdown study study.toml --output results --executor dask://127.0.0.1:8786
    """
    from strapdown.fleet import Study, run_study  # noqa: PLC0415 (loads all that a run may need)

    planned = Study.from_file(study_file)
    with watching(planned.title) as progress:
        manifest = run_study(planned, output, executor=executor, progress=progress)
    failed = manifest.failed
    skipped = len(manifest.units) - manifest.executed
    brief = (
        f"{counted(planned.runs, 'run')} on {counted(len(manifest.units), 'recording')}: "
        f"{manifest.executed} executed, {skipped} done before, {len(failed)} failed"
    )
    view = [*planned.notes, *(f"failed: {unit.error}" for unit in failed[:_FAILED_SHOWN])]
    view += [brief, f"wrote {output}; strapdown report {output} --output report.html draws it"]
    data = {
        "study": str(study_file),
        "output": str(output),
        "runs": planned.runs,
        "units": len(manifest.units),
        "executed": manifest.executed,
        "failed": [{"unit": unit.name, "error": unit.error} for unit in failed],
    }
    return Outcome(data, view, code=EXIT_FAILED if failed else 0)

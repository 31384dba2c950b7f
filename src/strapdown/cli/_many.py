"""One verb over many recordings: a table with a row for each, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer
from rich.table import Table
from rich.text import Text

from strapdown._words import counted, printable, wording
from strapdown.cli._common import progress_bar
from strapdown.cli._outcome import EXIT_FAILED, EXIT_LOSSY, Outcome, exit_code, quietly
from strapdown.cli._reading_options import reading
from strapdown.cli._streams import DASH
from strapdown.cli._unfinished import Job, run_unfinished, start
from strapdown.errors import StrapdownError
from strapdown.fleet import Serial, completed
from strapdown.fleet.execution import KILLED
from strapdown.transport.address import is_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

__all__ = ["Endings", "run_each"]

Endings: TypeAlias = Mapping[str, str]
"""Ending of the files in a folder, by the argument of a verb that names the folder."""

USAGE: Final = 2
_STEM: Final = "{}"
_SEVERITY: Final = (0, EXIT_LOSSY, USAGE, EXIT_FAILED)
"""Exit codes from good to bad; others are worse."""
_TOPICS_SHOWN: Final = 3
_WRONG: Final = "BadParameter: "
"""Begin of the error of wrong options, in a manifest."""


@dataclass(frozen=True)
class _Row:
    """Result for one recording."""

    source: Path
    code: int
    data: Mapping[str, Any] = field(default_factory=dict)
    lost: Sequence[str] = ()
    brief: str = ""
    error: str = ""
    skipped: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return what the verb prints for one recording with ``--json``."""
        if self.error:
            return {"input": str(self.source), "exit": self.code, "error": self.error}
        row = {"input": str(self.source), "exit": self.code, "lost": list(self.lost), **self.data}
        return row | ({"skipped": True} if self.skipped else {})


def run_each(
    verb: Callable[..., Outcome],
    argument: str,
    sources: Sequence[Path],
    arguments: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    endings: Endings,
    workers: int,
    strict: bool,
) -> Outcome:
    """Run a verb for each of several recordings.

    With outputs in a folder, what a run before has done is skipped: the manifest in the folder
    names each recording by its content, the arguments and the version.

    Parameters
    ----------
    verb : callable
        The function of the verb.
    argument : str
        The argument that takes a recording; in ``arguments`` it is ignored.
    sources : sequence of Path
        The recordings.
    arguments, options : mapping
        Arguments of the verb, and options of reading.
    endings : mapping of str to str
        Arguments that name a folder of outputs, with the ending of the files in it; empty where
        ``--format`` gives it.
    workers : int
        Number of processes.
    strict : bool
        Whether a loss counts as failure.

    Returns
    -------
    Outcome
        A table, a list for ``--json``, and the worst exit code.

    Raises
    ------
    typer.BadParameter
        A recording is named twice, two outputs would have one name, or the options are wrong for
        every recording.
    """
    if DASH in sources:
        raise typer.BadParameter("- (standard input) does not go with other recordings")
    if live := [str(path) for path in sources if is_address(str(path))]:
        remedy = "; --magnetometer names a magnetometer" if "magnetometer" in arguments else ""
        raise typer.BadParameter(
            f"expected one live topic, or recordings, got {', '.join(live)}{remedy}"
        )
    repeated = [str(path) for path in dict.fromkeys(sources) if sources.count(path) > 1]
    if repeated:
        raise typer.BadParameter(f"expected each recording once, got {', '.join(repeated)} again")
    is_list = argument == "sources"
    jobs = [
        Job(verb, path, argument, {**arguments, argument: [path] if is_list else path}, options)
        for path in sources
    ]
    jobs = _with_outputs(jobs, endings)
    what = f"{verb.__name__.rstrip('_')} of {counted(len(jobs), 'recording')}"
    with progress_bar(what) as progress:
        if jobs[0].outputs:
            template = next(arguments[name] for name in jobs[0].outputs)
            rows = _unfinished(jobs, template, workers, progress)
        else:
            rows = _every(jobs, workers, progress)
    if strict:
        lossy = {EXIT_LOSSY: EXIT_FAILED}
        rows = [replace(row, code=lossy.get(row.code, row.code)) for row in rows]
    return _outcome(rows)


def _with_outputs(jobs: Sequence[Job], endings: Endings) -> list[Job]:
    """Return the jobs with a file of its own for each output, named by the recording."""
    changed = [dict(job.arguments) for job in jobs]
    outputs: list[dict[str, Path]] = [{} for _ in jobs]
    for name, ending in endings.items():
        template = changed[0].get(name)
        if template is None:
            continue
        taken: dict[Path, Path] = {}
        for job, arguments, files in zip(jobs, changed, outputs, strict=True):
            form = "" if ending else arguments.pop("form", None)
            path = _output(name, template, job.source, f".{form}" if form else ending)
            if path in taken:
                one, two = taken[path], job.source
                alike = one.suffix == two.suffix
                remedy = "run them separately" if alike else f"pass *{one.suffix} or *{two.suffix}"
                raise typer.BadParameter(
                    f"{one} and {two} would both be written to {path}; {remedy}",
                    param_hint=f"'{_spelled(name)}'",
                )
            taken[path] = job.source
            arguments[name] = files[name] = path
        for path in taken:
            path.parent.mkdir(parents=True, exist_ok=True)
    return [
        replace(job, arguments=arguments, outputs=files)
        for job, arguments, files in zip(jobs, changed, outputs, strict=True)
    ]


def _output(name: str, template: Path, source: Path, ending: str) -> Path:
    """Return the output of one recording: ``{}`` is its name without ending."""
    if _STEM in str(template):
        return Path(str(template).replace(_STEM, source.stem))
    if template.suffix or template == DASH or not ending:
        example = f"{'results' if template.suffix else template}/{_STEM}{ending or '.mcap'}"
        raise typer.BadParameter(
            f"expected a folder, or a name with {_STEM} in place of that of each recording, such "
            f"as {example}, got {template}",
            param_hint=f"'{_spelled(name)}'",
        )
    return template / f"{source.stem}{ending}"


def _spelled(name: str) -> str:
    return name.upper() if name == "target" else f"--{name}"


def _every(
    jobs: Sequence[Job], workers: int, progress: Callable[[float], object] | None
) -> list[_Row]:
    """Run every job."""
    rows: dict[int, _Row] = {}
    executor = Serial() if workers == 1 else f"pool:{workers}"
    for number, future in completed(_attempt, jobs, executor):
        try:
            rows[number] = future.result()
        except BrokenExecutor:
            rows[number] = _Row(jobs[number].source, EXIT_FAILED, error=KILLED)
        if progress is not None:
            progress(len(rows) / len(jobs))
    return [rows[number] for number in range(len(jobs))]


def _unfinished(
    jobs: Sequence[Job],
    template: Path,
    workers: int,
    progress: Callable[[float], object] | None,
) -> list[_Row]:
    """Run the jobs that no run before has done, and return the rows of all."""
    manifest = run_unfinished(_as_row, jobs, template, workers, progress)
    rows = []
    for job, (unit, found) in zip(jobs, manifest.rows(), strict=True):
        if unit.error:
            code = USAGE if unit.error.startswith(_WRONG) else EXIT_FAILED
            rows.append(_Row(job.source, code, error=unit.error.removeprefix(_WRONG)))
        else:
            rows.append(_Row(job.source, **found[0], skipped=unit.name in manifest.skipped))
    return rows


def _as_row(job: Job) -> dict[str, Any]:
    """Run one job of a run with outputs; an error is raised."""
    start(job)
    try:
        row = _run(job)
    except typer.BadParameter as error:
        raise typer.BadParameter(_explained(error)) from error
    return {"code": row.code, "data": row.data, "lost": row.lost, "brief": row.brief}


def _attempt(job: Job) -> _Row:
    """Run one job; an error becomes a row."""
    try:
        return _run(job)
    except (StrapdownError, OSError) as error:
        return _Row(job.source, EXIT_FAILED, error=printable(" ".join(wording(error).split())))
    except typer.BadParameter as error:
        return _Row(job.source, USAGE, error=_explained(error))


def _run(job: Job) -> _Row:
    with quietly(), reading(**job.options):
        outcome = job.verb(**job.arguments)
    brief = outcome.brief or next((v for v in reversed(outcome.view) if isinstance(v, str)), "")
    code = exit_code(outcome, strict=False)
    return _Row(job.source, code, outcome.data, tuple(outcome.lost), brief)


def _explained(error: typer.BadParameter) -> str:
    hint = f"{error.param_hint}: ".replace("'", "") if error.param_hint else ""
    return f"{hint}{error.message}"


def _outcome(rows: Sequence[_Row]) -> Outcome:
    """Return the table of all rows."""
    if len({row.error for row in rows}) == 1 and rows[0].code == USAGE:
        raise typer.BadParameter(rows[0].error)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("file", "topic", "samples", "result", "exit"):
        table.add_column(name, justify="right" if name in {"samples", "exit"} else "left")
    for row in rows:
        samples = row.data.get("samples", row.data.get("messages", ""))
        said = row.error.removeprefix(f"{row.source}: ") or row.brief
        cells = (str(row.source), _topic(row.data), str(samples), said)
        table.add_row(*(Text(printable(cell)) for cell in cells), str(row.code))
    failed = sum(1 for row in rows if row.error)
    skipped = sum(row.skipped for row in rows)
    counts = {"failed": failed, "done before, skipped": skipped}
    lines = [f"{count} of {len(rows)} {word}" for word, count in counts.items() if count]
    view: list[RenderableType] = [table, *lines]
    lost = [f"{row.source}: {line}" for row in rows for line in row.lost]
    code = max((row.code for row in rows), key=_severity)
    return Outcome({}, view, lost, code=code, each=[row.to_dict() for row in rows])


def _severity(code: int) -> int:
    return _SEVERITY.index(code) if code in _SEVERITY else len(_SEVERITY)


def _topic(data: Mapping[str, Any]) -> str:
    """Return the topic that was taken, or the names of several."""
    if "topic" in data:
        return str(data["topic"])
    topics = data.get("topics", ())
    names = [str(each["topic"] if isinstance(each, dict) else each) for each in topics]
    more = [f"{len(names) - _TOPICS_SHOWN} more"] if len(names) > _TOPICS_SHOWN else []
    return ", ".join([*names[:_TOPICS_SHOWN], *more])

"""One verb over many recordings: a table with a row for each, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer
from rich.table import Table
from rich.text import Text

from strapdown._words import counted, printable, wording
from strapdown.cli._common import progress_bar
from strapdown.cli._outcome import EXIT_FAILED, Outcome, exit_code, quietly
from strapdown.cli._reading_options import reading
from strapdown.cli._streams import DASH
from strapdown.errors import StrapdownError
from strapdown.fleet import completed
from strapdown.transport.address import is_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

__all__ = ["Endings", "run_each"]

Endings: TypeAlias = Mapping[str, str]
"""Ending of the files in a folder, by the argument of a verb that names the folder."""

USAGE: Final = 2
_STEM: Final = "{}"
_SEVERITY: Final = (0, 3, USAGE, EXIT_FAILED)
"""Exit codes from good to bad; others are worse."""
_TOPICS_SHOWN: Final = 3


@dataclass(frozen=True)
class _Job:
    """One call of a verb, for another process."""

    verb: Callable[..., Outcome]
    source: Path
    arguments: Mapping[str, Any]
    options: Mapping[str, Any]
    strict: bool


@dataclass(frozen=True)
class _Row:
    """Result for one recording."""

    source: Path
    code: int
    data: Mapping[str, Any] = field(default_factory=dict)
    lost: Sequence[str] = ()
    brief: str = ""
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return what the verb prints for one recording with ``--json``."""
        if self.error:
            return {"input": str(self.source), "exit": self.code, "error": self.error}
        return {
            "input": str(self.source), "exit": self.code, "lost": list(self.lost), **self.data
        }  # fmt: skip


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
        raise typer.BadParameter(f"expected one live topic, or recordings, got {', '.join(live)}")
    repeated = [str(path) for path in dict.fromkeys(sources) if sources.count(path) > 1]
    if repeated:
        raise typer.BadParameter(f"expected each recording once, got {', '.join(repeated)} again")
    is_list = argument == "sources"
    jobs = [
        _Job(verb, path, {**arguments, argument: [path] if is_list else path}, options, strict)
        for path in sources
    ]
    jobs = _with_outputs(jobs, endings)
    rows: list[_Row | None] = [None] * len(jobs)
    what = f"{verb.__name__.rstrip('_')} of {counted(len(jobs), 'recording')}"
    with progress_bar(what) as progress:
        for done, (number, row) in enumerate(_results(jobs, workers), 1):
            rows[number] = row
            if progress is not None:
                progress(done / len(jobs))
    return _outcome([row for row in rows if row is not None])


def _with_outputs(jobs: Sequence[_Job], endings: Endings) -> list[_Job]:
    """Return the jobs with a file of its own for each output, named by the recording."""
    changed = [dict(job.arguments) for job in jobs]
    for name, ending in endings.items():
        template = changed[0].get(name)
        if template is None:
            continue
        taken: dict[Path, Path] = {}
        for job, arguments in zip(jobs, changed, strict=True):
            form = "" if ending else arguments.pop("form", None)
            path = _output(name, template, job.source, f".{form}" if form else ending)
            if path in taken:
                raise typer.BadParameter(
                    f"{taken[path]} and {job.source} would both be written to {path}; run them "
                    "separately",
                    param_hint=f"'{_spelled(name)}'",
                )
            taken[path] = job.source
            arguments[name] = path
        for path in taken:
            path.parent.mkdir(parents=True, exist_ok=True)
    return [
        _Job(job.verb, job.source, arguments, job.options, job.strict)
        for job, arguments in zip(jobs, changed, strict=True)
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


def _results(jobs: Sequence[_Job], workers: int) -> Iterator[tuple[int, _Row]]:
    """Yield number and result of each job as it ends."""
    if workers == 1:
        for number, job in enumerate(jobs):
            yield number, _attempt(job)
        return
    for number, future in completed(_attempt, jobs, f"pool:{workers}"):
        try:
            yield number, future.result()
        except BrokenExecutor:
            reason = "its process was killed; it may need more memory than there is"
            yield number, _Row(jobs[number].source, EXIT_FAILED, error=reason)


def _attempt(job: _Job) -> _Row:
    """Run one job; an error becomes a row."""
    try:
        with quietly(), reading(**job.options):
            outcome = job.verb(**job.arguments)
    except (StrapdownError, OSError) as error:
        return _Row(job.source, EXIT_FAILED, error=printable(" ".join(wording(error).split())))
    except typer.BadParameter as error:
        hint = f"{error.param_hint}: ".replace("'", "") if error.param_hint else ""
        return _Row(job.source, USAGE, error=f"{hint}{error.message}")
    brief = outcome.brief or next((v for v in reversed(outcome.view) if isinstance(v, str)), "")
    code = exit_code(outcome, strict=job.strict)
    return _Row(job.source, code, outcome.data, tuple(outcome.lost), brief)


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
    view: list[RenderableType] = [table, *([f"{failed} of {len(rows)} failed"] if failed else [])]
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

"""Runs over many recordings with outputs in a folder: a second run skips what is done."""

from __future__ import annotations

import fcntl
import json
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import ValueRangeError
from strapdown.fleet import Serial
from strapdown.fleet import map as fleet_map
from strapdown.fleet.manifest import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from concurrent.futures import Executor

    from strapdown.cli._outcome import Outcome
    from strapdown.fleet import Manifest

__all__ = ["STATE", "Job", "remove_remains", "run_unfinished"]

STATE: Final = ".strapdown"
"""Folder of the manifest within the folder of the outputs."""
_LOCK: Final = "lock"
_STARTED: Final = "started.json"
_BRACES: Final = "{"


@dataclass(frozen=True)
class Job:
    """One call of a verb, for another process.

    Parameters
    ----------
    verb : callable
        The function of the verb.
    source : Path
        The recording.
    argument : str
        The argument of the verb that takes it.
    arguments, options : mapping
        Arguments of the verb, and options of reading.
    outputs : mapping of str to Path
        Files that it writes, by the argument that names each.
    remains : sequence of Path
        Those of them that a run before may have left unfinished.
    """

    verb: Callable[..., Outcome]
    source: Path
    argument: str
    arguments: Mapping[str, Any]
    options: Mapping[str, Any]
    outputs: Mapping[str, Path] = field(default_factory=dict)
    remains: Sequence[Path] = ()


def run_unfinished(
    task: Callable[[Job], dict[str, Any]],
    jobs: Sequence[Job],
    template: Path,
    workers: int,
    progress: Callable[[float], object] | None,
) -> Manifest:
    """Run the jobs that are not done: with the same input, arguments and version, and outputs.

    Parameters
    ----------
    task : callable
        Runs a job, and returns a row; a failed job raises.
    jobs : sequence of Job
        With outputs.
    template : Path
        Folder of the outputs, or their names with ``{}``.
    workers : int
        Number of processes; 1: this one.
    progress : callable, optional
        Called with the fraction done.

    Raises
    ------
    ValueRangeError
        Another run is writing to the folder.
    """
    folder = _folder(template) / STATE
    executor: Executor | str = Serial() if workers == 1 else f"pool:{workers}"
    with _locked(folder), _started(folder, jobs) as interrupted:
        return fleet_map(
            task,
            [_with_remains(job, interrupted) for job in jobs],
            executor=executor,
            out=folder,
            key=partial(_content, folder.parent),
            complete=_is_complete,
            progress=progress
            and (lambda now: progress((now.skipped + now.executed) / max(now.total, 1))),
        )


def remove_remains(job: Job) -> None:
    """Remove what a run that was interrupted has left of the outputs of a job."""
    for path in job.remains:
        for each in (path, path.with_name(f"{path.name}.partial")):
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink(missing_ok=True)


def _folder(template: Path) -> Path:
    """Return the folder of outputs: the part of the template that all names share."""
    parts = [part for part in (template, *template.parents) if _BRACES not in str(part)]
    return parts[0]


def _content(folder: Path, job: Job) -> dict[str, Any]:
    """Return what the result of a job depends on; ``--force`` is not among it."""
    own = {*job.outputs, job.argument, "force"}
    return {
        "verb": f"{job.verb.__module__}:{job.verb.__qualname__}",
        "input": job.source,
        "outputs": {name: relpath(path, folder) for name, path in job.outputs.items()},
        "arguments": {name: value for name, value in job.arguments.items() if name not in own},
        "options": job.options,
    }


def _is_complete(job: Job) -> bool:
    """Return whether the outputs of a job exist; with ``--force`` they are written again."""
    return not job.arguments.get("force") and all(path.exists() for path in job.outputs.values())


def _with_remains(job: Job, interrupted: AbstractSet[str]) -> Job:
    return replace(job, remains=[path for path in job.outputs.values() if str(path) in interrupted])


@contextmanager
def _started(folder: Path, jobs: Sequence[Job]) -> Iterator[AbstractSet[str]]:
    """List the outputs of this run until it ends; yield those of one that was interrupted."""
    path = folder / _STARTED
    interrupted: set[str] = set()
    with suppress(FileNotFoundError, ValueError):
        interrupted = set(json.loads(path.read_text("utf-8")))
    new = {str(each) for job in jobs for each in job.outputs.values() if not each.exists()}
    write_whole(path, json.dumps(sorted(new | interrupted), indent=1) + "\n")
    yield interrupted
    path.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder for this run; the lock ends with the process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueRangeError(
                f"expected one run at a time for {folder.parent}, another one is writing to it; "
                "wait until it ends, or choose another folder"
            ) from None
        yield

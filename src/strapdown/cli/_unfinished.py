"""Runs over many recordings with outputs in a folder: a second run skips what is done."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import ValueRangeError
from strapdown.fleet import Serial
from strapdown.fleet import map as fleet_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from strapdown.cli._outcome import Outcome
    from strapdown.fleet import Manifest

__all__ = ["STATE", "Job", "run_unfinished", "start"]

STATE: Final = ".strapdown"
"""Folder of the manifest within the folder of the outputs."""
_LOCK: Final = "lock"
_STARTED: Final = "started"
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
    started : Path, optional
        File that exists from the start of the job to the end of the run: while it does, the outputs
        may be unfinished.
    """

    verb: Callable[..., Outcome]
    source: Path
    argument: str
    arguments: Mapping[str, Any]
    options: Mapping[str, Any]
    outputs: Mapping[str, Path] = field(default_factory=dict)
    started: Path | None = None


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
    started = folder / _STARTED
    with _locked(folder):
        started.mkdir(exist_ok=True)
        manifest = fleet_map(
            task,
            [replace(job, started=started / _name(folder, job)) for job in jobs],
            executor=executor,
            out=folder,
            key=partial(_content, folder.parent),
            complete=_is_complete,
            progress=progress
            and (lambda now: progress((now.skipped + now.executed) / max(now.total, 1))),
        )
        shutil.rmtree(started)
        return manifest


def start(job: Job) -> None:
    """Note that a job has started; remove its outputs if a run was interrupted after its start."""
    outputs, started = job.outputs.values(), job.started
    if started is None:
        return
    for path in outputs if started.exists() else ():
        for each in (path, path.with_name(f"{path.name}.partial")):
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink(missing_ok=True)
    if not any(path.exists() for path in outputs):
        started.touch()


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


def _name(folder: Path, job: Job) -> str:
    """Return a name of a job, by its outputs."""
    paths = sorted(relpath(path, folder) for path in job.outputs.values())
    return hashlib.sha256("\0".join(paths).encode()).hexdigest()


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

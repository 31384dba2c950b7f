"""A task for every item, each done once: results in a folder, from which a run continues."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from strapdown._version import __version__
from strapdown._words import printable, wording
from strapdown.errors import StrapdownError
from strapdown.fleet.execution import KILLED, check_executor, completed
from strapdown.fleet.manifest import (
    UNITS,
    Manifest,
    Row,
    Unit,
    keep_times,
    stored,
    unit_path,
    write_whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor, Future

__all__ = ["Progress", "map"]

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Progress:
    """Progress of a run.

    Parameters
    ----------
    total : int
        Units of work.
    skipped : int
        Units that were done before this run.
    executed, failed : int
        Units that this run has executed, and the failed ones among them.
    elapsed_s : float
        Time since the start [s].
    """

    total: int
    skipped: int
    executed: int
    failed: int
    elapsed_s: float

    @property
    def rate_per_s(self) -> float:
        """Executed units per second."""
        return self.executed / self.elapsed_s if self.elapsed_s > 0.0 else math.nan

    @property
    def left_s(self) -> float:
        """Expected time until the end [s]; NaN before the first unit."""
        left = self.total - self.skipped - self.executed
        return left / self.rate_per_s if self.executed and self.elapsed_s > 0.0 else math.nan


class _Result(NamedTuple):
    """Result of a unit, as the other process returns it."""

    rows: str
    error: str
    seconds: float


def map(  # noqa: A001, PLR0913 (the name of this operation everywhere)
    task: Callable[[_Item], Row | Sequence[Row]],
    items: Iterable[_Item],
    *,
    executor: Executor | str | None = None,
    out: Path | str,
    version: str = __version__,
    key: Callable[[_Item], object] | None = None,
    complete: Callable[[_Item], bool] | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Manifest:
    """Run a task for every item and keep its rows; skip what a run before has done.

    A unit of work is an item under the name that is the SHA-256 of the item, the task with its
    configuration, and the version. Its rows are written as one file, by renaming. So a run can
    be killed at any time, and any number of processes, in any order, give the same bytes. A
    unit that fails is listed with its error, and the next run tries it again.

    Parameters
    ----------
    task : callable
        Takes an item and returns a row (a mapping with values of JSON) or several rows. A
        function that other processes can import, or a ``functools.partial`` of one, whose
        arguments are the configuration. Its result has to depend on nothing else.
    items : iterable
        Numbers, strings, paths, and lists and mappings of them. A path to a file or folder counts
        by its content; an item that is repeated is done once.
    executor : Executor or str, optional
        Any executor of ``concurrent.futures``, or a name, as in :func:`completed`.
    out : path-like
        Folder of the results; it is created.
    version : str, optional
        Of the code; by default the version of strapdown. A task of your own needs its own
        version, without which results of its earlier code would be kept.
    key : callable, optional
        Returns the part of an item that its result depends on, in the types of ``items``, which
        the item itself need not have.
    complete : callable, optional
        Returns whether the files that a task writes in addition to its rows still exist; where they
        do not, the item is done again.
    progress : callable, optional
        Called with a :class:`Progress` at the start and after each unit.

    Returns
    -------
    Manifest

    Raises
    ------
    ValueRangeError, BackendMissingError, PeerLostError
        As :func:`completed`.
    TypeError
        An item or a configuration has values of another kind.
    """
    check_executor(executor)
    folder = Path(out)
    (folder / UNITS).mkdir(parents=True, exist_ok=True)
    called = _named(task)
    context = {"task": called, "version": version}
    named, contents = {}, {}
    for item in items:
        content = item if key is None else key(item)
        name = _digest({"item": content, **context})
        named[name], contents[name] = item, _plain(content)
    left = [
        name
        for name, item in named.items()
        if stored(folder, name) is None or not (complete is None or complete(item))
    ]
    errors: dict[str, str] = {}
    seconds: dict[str, float] = {}
    began = time.monotonic()

    def show(executed: int) -> None:
        if progress is not None:
            elapsed = time.monotonic() - began
            skipped = len(named) - len(left)
            progress(Progress(len(named), skipped, executed, len(errors), elapsed))

    show(0)
    results = completed(partial(_attempt, task), [named[name] for name in left], executor)
    for executed, (number, future) in enumerate(results, 1):
        name, result = left[number], _result_of(future)
        if result.error:
            errors[name] = result.error
        else:
            write_whole(unit_path(folder, name), result.rows)
            seconds[name] = round(result.seconds, 6)
        show(executed)
    units = [Unit(name, content, errors.get(name, "")) for name, content in contents.items()]
    skipped = named.keys() - set(left)
    manifest = Manifest(folder, called["function"], version, units, len(left), skipped)
    manifest.write()
    keep_times(folder, seconds)
    return manifest


def _attempt(task: Callable[[_Item], Row | Sequence[Row]], item: _Item) -> _Result:
    """Run a task for an item, in another process; any error becomes a result."""
    began = time.perf_counter()
    try:
        found = task(item)
        rows = [found] if isinstance(found, Mapping) else found
        if isinstance(rows, str) or not all(isinstance(row, Mapping) for row in rows):
            kind, name = type(found).__name__, _named(task)["function"]
            raise TypeError(f"expected rows as mappings, got {kind} from {name}")  # noqa: TRY301
        text = json.dumps(_plain(rows), allow_nan=False) + "\n"
    except Exception as error:  # noqa: BLE001 (a failed unit must not end the others)
        return _Result("", _line(error), time.perf_counter() - began)
    return _Result(text, "", time.perf_counter() - began)


def _result_of(future: Future[_Result]) -> _Result:
    """Return the result that a process has returned, or the reason for which it did not."""
    try:
        return future.result()
    except BrokenExecutor:
        return _Result("", KILLED, 0.0)
    except CancelledError:
        return _Result("", "lost with its scheduler, or cancelled; run again", 0.0)
    except Exception as error:  # noqa: BLE001 (of any executor: lost workers, pickling)
        return _Result("", _line(error), 0.0)


def _line(error: Exception) -> str:
    """Return an error as one line, with the kind of those that are not of this package."""
    kind = "" if isinstance(error, StrapdownError | OSError) else f"{type(error).__name__}: "
    return printable(" ".join(f"{kind}{wording(error)}".split()))


def _named(task: Any) -> dict[str, Any]:  # noqa: ANN401 (any callable)
    """Return the name of a function, and the arguments of a partial one."""
    if isinstance(task, partial):
        inner = _named(task.func)
        return {**inner, "arguments": [*inner["arguments"], list(task.args), task.keywords]}
    return {"function": f"{task.__module__}:{task.__qualname__}", "arguments": []}


def _digest(content: object) -> str:
    """Return the SHA-256 of content, in which files count by what they contain."""
    text = json.dumps(_plain(content, path=_content), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _content(path: Path) -> dict[str, Any]:
    """Return the SHA-256 of a file or of those in a folder, or a path that does not exist."""
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.is_file())
        return {"folder": {str(each.relative_to(path)): _content(each) for each in files}}
    if not path.is_file():
        return {"path": str(path)}
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _plain(value: Any, *, path: Callable[[Path], Any] = str) -> Any:  # noqa: ANN401 (any value of JSON)
    """Return a value in types of JSON; numbers that are not finite are null."""
    if isinstance(value, Path):
        return path(value)
    if isinstance(value, Enum | np.generic | np.ndarray):
        value = value.value if isinstance(value, Enum) else value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(each, path=path) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [_plain(each, path=path) for each in value]
    raise TypeError(
        f"expected numbers, strings, paths, lists and mappings, got {type(value).__name__}"
    )

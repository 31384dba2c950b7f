"""Results of a study: a Parquet table with a row for each run, and one of summaries."""

from __future__ import annotations

import json
import math
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import BackendMissingError, FormatError
from strapdown.fleet.execution import check_executor
from strapdown.fleet.manifest import write_whole
from strapdown.fleet.mapping import map as fleet_map
from strapdown.fleet.statistics import Moments
from strapdown.fleet.study import AXES, METRICS, labelled, simulate_and_evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from strapdown.fleet.manifest import Manifest
    from strapdown.fleet.mapping import Progress
    from strapdown.fleet.study import Study

__all__ = ["RESULTS", "STUDY", "SUMMARY", "read_summary", "run_study", "write_table"]

RESULTS: Final = "results.parquet"
SUMMARY: Final = "summary.parquet"
STUDY: Final = "study.json"

_BLOCK: Final = 4096  # rows in memory at once
_TEXTS: Final = (
    *("motion", "sensor", "fault", "filter", "parameters", "error", "unit"),
    *("data_set", "part", "recording", "library"),
)
_COUNTS: Final = ("seed", "samples", "dof", "runs", "failed", "axes")
_COLUMNS: Final = (
    *(*AXES, "parameters", "seed", "samples"),
    *("inclination_deg", "heading_deg", "total_deg"),
    *("inclination_max_deg", "heading_max_deg", "total_max_deg"),
    *("nees", "nees_lower", "nees_upper", "within", "dof", "error", "unit"),
)


def run_study(
    study: Study,
    out: Path | str,
    *,
    executor: Executor | str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Manifest:
    """Execute the runs of a study that are not done, and write the tables of all.

    Parameters
    ----------
    study : Study
        The runs.
    out : path-like
        Folder of the results. ``results.parquet`` has a row for each run, in the order of the
        study; ``summary.parquet`` one for each group of runs that differ by their seed only.
    executor : Executor or str, optional
        As in :func:`~strapdown.fleet.map`.
    progress : callable, optional
        As in :func:`~strapdown.fleet.map`.

    Returns
    -------
    Manifest

    Raises
    ------
    BackendMissingError
        pyarrow, or Dask if the executor needs it, is not installed.
    ValueRangeError, PeerLostError
        As :func:`~strapdown.fleet.completed`.
    """
    check_executor(executor)
    _parquet()
    manifest = fleet_map(
        simulate_and_evaluate, study.items, executor=executor, out=out, progress=progress
    )
    folder = manifest.folder
    groups: dict[tuple[Any, ...], _Group] = {}
    write_table(folder / RESULTS, _COLUMNS, _grouping(_rows(manifest), groups))
    summaries = (_summary(key, group) for key, group in groups.items())
    write_table(folder / SUMMARY, _summary_columns(), summaries)
    about = {"title": study.title, "text": study.text, "notes": list(study.notes)}
    write_whole(folder / STUDY, json.dumps(about, indent=1) + "\n")
    return manifest


def read_summary(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what a study states about itself, and the rows of its summary.

    Raises
    ------
    FormatError
        The folder has no results of a study.
    BackendMissingError
        pyarrow is not installed.
    """
    _, pq = _parquet()
    path = folder / SUMMARY
    if not path.is_file() or not (folder / STUDY).is_file():
        raise FormatError(
            "expected the results of strapdown study, this file is missing", path=path
        )
    try:
        about: dict[str, Any] = json.loads((folder / STUDY).read_text("utf-8"))
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    except (ValueError, OSError) as error:
        raise FormatError(f"expected a summary ({error}); run the study again", path=path) from None
    return about, rows


class _Group:
    """Statistics of the runs that differ by their seed only."""

    def __init__(self) -> None:
        self.runs = self.failed = 0
        self.moments = dict.fromkeys(METRICS, Moments())

    def add(self, row: Mapping[str, Any]) -> None:
        self.runs += 1
        self.failed += row["error"] is not None
        for name, moments in self.moments.items():
            if row.get(name) is not None:
                self.moments[name] = moments.merge(Moments.of([row[name]]))


def _grouping(
    rows: Iterator[dict[str, Any]], groups: dict[tuple[Any, ...], _Group]
) -> Iterator[dict[str, Any]]:
    """Pass rows on, and add each to its group."""
    for row in rows:
        groups.setdefault(tuple(row[name] for name in AXES), _Group()).add(row)
        yield row


def _rows(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Yield the rows of every run; those of a failed unit have its error."""
    for unit, rows in manifest.rows():
        failed = [labelled(unit.item, each, unit.error) for each in unit.item["filters"]]
        for row in failed if unit.error else rows:
            yield {**row, "unit": unit.name}


def _summary(key: tuple[Any, ...], group: _Group) -> dict[str, Any]:
    row = {**dict(zip(AXES, key, strict=True)), "runs": group.runs, "failed": group.failed}
    for name, moments in group.moments.items():
        known = moments.count > 0
        row[f"{name}_mean"] = moments.mean if known else None
        row[f"{name}_std"] = None if math.isnan(moments.deviation) else moments.deviation
        row[f"{name}_min"] = moments.smallest if known else None
        row[f"{name}_max"] = moments.largest if known else None
    return row


def _summary_columns() -> tuple[str, ...]:
    figures = (f"{name}_{part}" for name in METRICS for part in ("mean", "std", "min", "max"))
    return (*AXES, "runs", "failed", *figures)


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 (an extra)
        import pyarrow.parquet as pq  # noqa: PLC0415 (as above)
    except ImportError:
        raise BackendMissingError("a study", extra="fleet") from None
    return pa, pq


def write_table(path: Path, columns: Sequence[str], rows: Iterator[Mapping[str, Any]]) -> None:
    """Write rows as Parquet, block by block, and rename the file when it is whole.

    Raises
    ------
    BackendMissingError
        pyarrow is not installed.
    """
    pa, pq = _parquet()
    schema = pa.schema([(name, _kind(pa, name)) for name in columns])
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        partial = Path(folder) / path.name
        with pq.ParquetWriter(partial, schema) as writer:
            while block := list(islice(rows, _BLOCK)):
                writer.write_table(pa.Table.from_pylist(block, schema))
        partial.replace(path)


def _kind(pa: Any, name: str) -> Any:  # noqa: ANN401 (pyarrow publishes no types)
    if name in _TEXTS:
        return pa.string()
    return pa.int64() if name in _COUNTS else pa.float64()
